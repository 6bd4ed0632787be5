//! `ledger`, `verify` and `report`: the runs of the past, and their proof.

use std::path::{Path, PathBuf};

use vesica::{
    Role,
    files::{Protected, check_results},
    partnership::{self, AnyRecord, Entry, JointRecord, Ledger, LedgerEvent, Record, Statement},
    report::{Names, Tense, counted, shown},
};
use vesica_net::{Certificate, Fingerprint};

use crate::{
    agreed,
    document::{self, of_file},
    exit::Failure,
    keygen,
    project::Project,
};

#[derive(clap::Args)]
pub struct LedgerArgs {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(clap::Subcommand)]
enum LedgerCommand {
    /// Check that no line was changed, moved, added or removed
    ///
    /// With records it also checks that the ledger has their runs.
    Verify(VerifyLedgerArgs),
    /// List the runs
    Show(ShowArgs),
    /// Print all lines as JSON, without signatures and sketches of sets
    Export(WhichArgs),
    /// Render all runs as an HTML page
    Page(PageArgs),
}

#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Print JSON, as `vesica ledger export` does
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct PageArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// The file for the page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    /// The name of a party on the page, as in vesica1-…=Acme
    #[arg(long, value_name = "FINGERPRINT=NAME", value_parser = named)]
    name: Vec<(Fingerprint, String)>,
}

#[derive(clap::Args)]
struct WhichArgs {
    /// The ledger
    ///
    /// [default: vesica.ledger beside the project file]
    file: Option<PathBuf>,
    /// The identity whose ledger it is
    ///
    /// [default: the identity of the project]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// The fingerprint of the party whose ledger it is
    ///
    /// It is for a reader that does not have the identity.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "identity", requires = "file")]
    fingerprint: Option<Fingerprint>,
    /// The project file
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
}

#[derive(clap::Args)]
struct VerifyLedgerArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Records whose runs the ledger must have
    ///
    /// They show whether lines at the end of the ledger were cut off.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    record: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The record
    record: PathBuf,
    /// The fingerprint or identity file of a party; name both parties
    #[arg(long = "with", value_name = "WHO", required = true)]
    parties: Vec<String>,
}

#[derive(clap::Args)]
pub struct ReportArgs {
    /// The record
    record: PathBuf,
    /// The file for the page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
    /// The name of a party on the page, as in vesica1-…=Acme
    ///
    /// [default: as in the project file, if there is one]
    #[arg(long, value_name = "FINGERPRINT=NAME", value_parser = named)]
    name: Vec<(Fingerprint, String)>,
    /// The project file
    ///
    /// [default: vesica.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
}

pub fn run(args: &LedgerArgs) -> Result<(), Failure> {
    match &args.command {
        LedgerCommand::Verify(args) => verify_ledger(args),
        LedgerCommand::Show(args) if args.json => export(&args.which),
        LedgerCommand::Show(args) => {
            let (entries, ..) = args.which.read()?;
            let width = entries.iter().map(|entry| shown(&entry.name).chars().count()).max();
            let line = |entry| line(entry, width.unwrap_or(0)) + "\n";
            crate::print_lines(&entries.iter().map(line).collect::<String>())
        }
        LedgerCommand::Export(which) => export(which),
        LedgerCommand::Page(args) => page(args),
    }
}

impl WhichArgs {
    /// Returns its lines, its file, and the certificate of its owner.
    fn read(&self) -> Result<(Vec<Entry>, PathBuf, Certificate), Failure> {
        if let (Some(file), Some(owner)) = (&self.file, self.fingerprint) {
            let (entries, _, certificate) = Ledger::new(file).read_of(owner)?;
            return Ok((entries, file.clone(), certificate));
        }
        let project = match (&self.file, &self.identity) {
            (Some(_), Some(_)) => None,
            _ => Some(Project::open(self.project.as_deref())?),
        };
        let identity = self.identity.clone().or(project.as_ref().map(Project::identity));
        let file =
            self.file.clone().or(project.as_ref().map(|project| project.path("vesica.ledger")));
        let (Some(file), Some(identity)) = (file, identity) else {
            return Err(Failure::usage(
                "name the ledger and its --identity, or the project with --project",
            ));
        };
        if !file.exists() {
            let message = format!(
                "{}: the ledger does not exist yet; the first run creates it",
                file.display()
            );
            return Err(Failure::input(message));
        }
        let certificate = keygen::load(&identity)?.certificate();
        let (entries, _) = Ledger::new(&file).read(&certificate)?;
        Ok((entries, file, certificate))
    }
}

fn verify_ledger(args: &VerifyLedgerArgs) -> Result<(), Failure> {
    let (entries, file, certificate) = args.which.read()?;
    let me = certificate.fingerprint();
    for path in &args.record {
        let record = record(path)?;
        let hash = record.hash();
        let of_mine = |side: &&Statement| side.party.fingerprint() == me;
        let Some(mine) = record.statements().into_iter().find(of_mine) else {
            let message = format!("{}: this identity is not a party of the record", path.display());
            return Err(Failure::input(message));
        };
        let is_noted = entries.iter().any(
            |entry| matches!(&entry.event, LedgerEvent::Succeeded { record, .. } if *record == hash),
        );
        let lines = entries.len() as u64;
        if lines < mine.ledger.lines || !is_noted {
            return Err(Failure::input(format!(
                "{}: lines are missing at the end: the run of {} is not in the ledger, which then had {}",
                file.display(),
                path.display(),
                counted(mine.ledger.lines, "line"),
            )));
        }
    }
    let records = match args.record.len() as u64 {
        0 => String::new(),
        records => format!(", and matches {}", counted(records, "record")),
    };
    crate::print(&format!(
        "{}: {}, whole and unchanged{records}\n",
        file.display(),
        counted(entries.len() as u64, "line")
    ))
}

/// Returns a line for people, in which the name has this width.
fn line(entry: &Entry, width: usize) -> String {
    let Entry { number, time, name, event, .. } = entry;
    // A text of the other side must not look like a line of its own.
    let what = event.sentence();
    let (name, what) = (shown(name), shown(&what));
    format!("{number:>5}  {time}  {name:<width$}  {:<9}  {what}", event.word())
}

fn export(which: &WhichArgs) -> Result<(), Failure> {
    let (entries, ..) = which.read()?;
    let lines: Result<String, Failure> = entries.iter().map(exported).collect();
    crate::print(&lines?)
}

/// Makes a page of a whole ledger.
fn page(args: &PageArgs) -> Result<(), Failure> {
    let (entries, file, certificate) = args.which.read()?;
    let names = Called::new(&args.name, args.which.project.as_deref());
    let owner = names.of(certificate.fingerprint());
    let name = |peer: &str| peer.parse().map_or_else(|_| peer.to_owned(), |peer| names.of(peer));
    let page = partnership::ledger_page(&entries, &owner, &name);
    put_page(&args.html, &page, Protected::new("the ledger", file))
}

fn put_page(html: &Path, page: &str, made_from: Protected) -> Result<(), Failure> {
    if html == Path::new("-") {
        return crate::print(page);
    }
    check_results(&[Protected::new("the page", html)], &[made_from], None)?;
    document::put(html, page)
}

/// Names of parties for people, from the command line or else from a project.
struct Called {
    given: Vec<(Fingerprint, String)>,
}

impl Called {
    /// Collects the names. A project that cannot be read has none.
    fn new(given: &[(Fingerprint, String)], project: Option<&Path>) -> Self {
        let mut given = given.to_vec();
        if let Ok(project) = Project::open(project) {
            for name in project.jobs() {
                let Ok(job) = project.specified(&name, Vec::new()) else { continue };
                let (Some(file), Some(partner)) = (job.parties.agreement, job.parties.partner)
                else {
                    continue;
                };
                let Ok(agreement) = agreed::agreement(&file) else { continue };
                let me = own(&project);
                let parties = agreement.parties().into_iter().map(|party| party.fingerprint());
                let mut others = parties.filter(|party| Some(*party) != me);
                // A name of this side for the partner is for one.
                if let (Some(peer), None) = (others.next(), others.next()) {
                    given.push((peer, partner.clone()));
                }
            }
            if let (Some(me), Some(name)) = (own(&project), project.own_name()) {
                given.push((me, name.to_owned()));
            }
        }
        Self { given }
    }

    /// Returns the name of a party, or the beginning of its fingerprint.
    fn of(&self, party: Fingerprint) -> String {
        match self.given.iter().find(|(known, _)| *known == party) {
            Some((_, name)) => name.clone(),
            None => party.to_string().chars().take("vesica1-cb6k-2h9h".len()).collect(),
        }
    }
}

/// This side of a project, if its identity is there.
fn own(project: &Project) -> Option<Fingerprint> {
    vesica::files::load_identity(&project.identity()).ok().map(|me| me.fingerprint())
}

/// Reads a fingerprint and a name for it.
fn named(text: &str) -> Result<(Fingerprint, String), String> {
    let (party, name) = text.split_once('=').ok_or("expected a fingerprint, = and a name")?;
    let party = party.parse().map_err(|_| format!("`{party}` is not a fingerprint"))?;
    match name.trim() {
        "" => Err("the name is empty".to_owned()),
        name => Ok((party, name.to_owned())),
    }
}

/// Returns a line as JSON, without the sketch of the set.
fn exported(entry: &Entry) -> Result<String, Failure> {
    let mut value = serde_json::to_value(entry).map_err(|_| Failure::bug("a line has JSON"))?;
    if let Some(began) = value.pointer_mut("/event/began").and_then(|began| began.as_object_mut()) {
        began.remove("sketch");
    }
    Ok(format!("{value}\n"))
}

/// Checks a record for a reader that has the two fingerprints.
pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let record = record(&args.record)?;
    let named: Result<Vec<Fingerprint>, Failure> =
        args.parties.iter().map(|who| party(who)).collect();
    let named = named?;
    let parties: Vec<_> =
        record.statements().into_iter().map(|side| side.party.fingerprint()).collect();
    if let Some(stranger) = named.iter().find(|who| !parties.contains(who)) {
        let message = format!("{}: {stranger} is not a party of the record", args.record.display());
        return Err(Failure::input(message));
    }
    if let Some(unnamed) = parties.iter().find(|party| !named.contains(party)) {
        return Err(Failure::input(format!(
            "{}: {unnamed} is a party, too; if you expected this one, name it with --with",
            args.record.display()
        )));
    }
    let (name, agreement, agreed) = match &record {
        AnyRecord::Pair(record) => {
            let Record { name, agreement, agreed, .. } = record.document();
            (name, agreement, agreed)
        }
        AnyRecord::Joint(record) => {
            let JointRecord { name, agreement, agreed, .. } = record.document();
            (name, agreement, agreed)
        }
    };
    let signers = if parties.len() == 2 { "both" } else { "all" };
    let mut text = format!(
        "{}: signed by {signers} parties, and unchanged\nagreement  {name} {agreement}, accepted {agreed}\n",
        args.record.display(),
    );
    for side in record.statements() {
        text += &format!(
            "run        {} to {}, {} of {}\n",
            side.started,
            side.ended,
            counted(side.keys, "key"),
            side.party.fingerprint()
        );
    }
    if let Some(apart) = clocks_apart(&record.statements()) {
        text += &format!("clocks     they differ by about {apart}\n");
    }
    let lines = match &record {
        AnyRecord::Pair(record) => {
            let names = Names::new(parties[0].to_string(), parties[1].to_string());
            record.document().disclosure.lines(Role::A, &names, Tense::Past)
        }
        AnyRecord::Joint(record) => record.document().lines(),
    };
    for line in lines {
        text += &format!("  - {line}\n");
    }
    crate::print_lines(&text)
}

/// Returns the largest difference between clocks of parties at the end of the run, if it is large.
fn clocks_apart(sides: &[&Statement]) -> Option<String> {
    const LARGE: u64 = 15;
    let ends = sides.iter().map(|side| side.ended.minutes());
    let apart = ends.clone().max()?.abs_diff(ends.min()?);
    (apart >= LARGE).then(|| match apart {
        minutes if minutes < 120 => counted(minutes, "minute"),
        minutes if minutes < 2 * 24 * 60 => counted(minutes / 60, "hour"),
        minutes => counted(minutes / (24 * 60), "day"),
    })
}

fn party(who: &str) -> Result<Fingerprint, Failure> {
    if let Ok(fingerprint) = who.parse() {
        return Ok(fingerprint);
    }
    if Path::new(who).exists() {
        return Ok(keygen::load(Path::new(who))?.fingerprint());
    }
    Err(Failure::usage(format!("`{who}` is neither a fingerprint nor a file with an identity")))
}

/// Reads the record in a file, with all signatures.
fn record(path: &Path) -> Result<AnyRecord, Failure> {
    AnyRecord::from_json(&document::read(path)?).map_err(|error| of_file(path, &error))
}

/// Makes a page of a record.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let record = record(&args.record)?;
    let names = Called::new(&args.name, args.project.as_deref());
    let page = match &record {
        AnyRecord::Pair(record) => {
            let Record { a, b, .. } = record.document();
            let [a, b] = [a, b].map(|side| names.of(side.party.fingerprint()));
            partnership::page(record, [&a, &b])
        }
        AnyRecord::Joint(record) => partnership::joint_page(record),
    };
    put_page(&args.html, &page, Protected::new("the record", &args.record))
}

#[cfg(test)]
mod tests {
    use vesica::{
        Class,
        partnership::{Moment, OfOthers},
    };

    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_the_other_side_has_said() {
        let reason = "no\n    4  2026  acme  succeeded\u{1b}[2K\u{202e}".to_owned();
        let text = String::new;
        let entry = Entry {
            number: 3,
            previous: text(),
            time: Moment::now(),
            agreement: text(),
            name: "ac\u{2028}me".to_owned(),
            peer: OfOthers::One(text()),
            owner: None,
            event: LedgerEvent::Failed { run: None, class: Class::Peer, reason },
        };
        let line = line(&entry, 0);
        let said =
            "ac\u{fffd}me  failed     no\u{fffd}    4  2026  acme  succeeded\u{fffd}[2K\u{fffd}";
        assert!(line.ends_with(said), "{line}");
    }
}
