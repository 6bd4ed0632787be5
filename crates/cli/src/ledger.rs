//! `ledger`, `verify` and `report`: what was done, and the proof of it.

use std::path::{Path, PathBuf};

use vesica::{
    files::{Protected, check_results},
    partnership::{self, Entry, Event, Ledger, Record, Signed},
    report::{counted, grouped, shown},
};
use vesica_net::{Certificate, Fingerprint};

use crate::{
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
    /// Check that no line was changed, moved, added or taken out, and that the ledger fits to records
    Verify(VerifyLedgerArgs),
    /// List the runs
    Show(WhichArgs),
    /// Print all lines as JSON, without signatures and without what is kept of sets
    Export(WhichArgs),
}

#[derive(clap::Args)]
struct WhichArgs {
    /// The ledger [default: vesica.ledger beside the project file]
    file: Option<PathBuf>,
    /// The identity whose ledger it is [default: that of the project]
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
    /// The project file [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
}

#[derive(clap::Args)]
struct VerifyLedgerArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Records that the ledger has to fit to: so it is found where lines were cut off at the end
    #[arg(long, value_name = "FILE", num_args = 1..)]
    record: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub struct VerifyArgs {
    /// The record
    record: PathBuf,
    /// The fingerprint of a party, or a file with its identity; both parties are to be named
    #[arg(long = "with", value_name = "WHO", required = true)]
    parties: Vec<String>,
}

#[derive(clap::Args)]
pub struct ReportArgs {
    /// The record
    record: PathBuf,
    /// The file for the page; `-` is standard output
    #[arg(long, value_name = "FILE")]
    html: PathBuf,
}

pub fn run(args: &LedgerArgs) -> Result<(), Failure> {
    match &args.command {
        LedgerCommand::Verify(args) => verify_ledger(args),
        LedgerCommand::Show(which) => {
            let (entries, ..) = which.read()?;
            let lines: String = entries.iter().map(|entry| line(entry) + "\n").collect();
            crate::print_lines(&lines)
        }
        LedgerCommand::Export(which) => {
            let (entries, ..) = which.read()?;
            let lines: Result<String, Failure> = entries.iter().map(exported).collect();
            crate::print(&lines?)
        }
    }
}

impl WhichArgs {
    /// Its lines, the file, and whose it is.
    fn read(&self) -> Result<(Vec<Entry>, PathBuf, Certificate), Failure> {
        let project = match (&self.file, &self.identity) {
            (Some(_), Some(_)) => None,
            _ => Some(Project::open(self.project.as_deref())?),
        };
        let identity = self.identity.clone().or(project.as_ref().map(Project::identity));
        let file =
            self.file.clone().or(project.as_ref().map(|project| project.path("vesica.ledger")));
        let (Some(file), Some(identity)) = (file, identity) else {
            return Err(Failure::usage("name the ledger and --identity, or a project"));
        };
        if !file.exists() {
            let message =
                format!("{}: there is no ledger yet; the first run makes it", file.display());
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
        let (document, hash) = (record.document(), record.hash());
        let of_mine = |side: &&partnership::Statement| side.party.fingerprint() == me;
        let Some(mine) = [&document.a, &document.b].into_iter().find(of_mine) else {
            let message = format!("{}: this identity is no party of the record", path.display());
            return Err(Failure::input(message));
        };
        let is_noted = entries.iter().any(
            |entry| matches!(&entry.event, Event::Succeeded { record, .. } if *record == hash),
        );
        let lines = entries.len() as u64;
        if lines < mine.ledger.lines || !is_noted {
            return Err(Failure::input(format!(
                "{}: lines are missing at the end: {} is of a run that is not in it, and when it was signed there were {}",
                file.display(),
                path.display(),
                counted(mine.ledger.lines, "line"),
            )));
        }
    }
    let records = match args.record.len() as u64 {
        0 => String::new(),
        records => format!(", and fits to {}", counted(records, "record")),
    };
    crate::print(&format!(
        "{}: {}, whole and unchanged{records}\n",
        file.display(),
        counted(entries.len() as u64, "line")
    ))
}

/// A line for people.
fn line(entry: &Entry) -> String {
    let Entry { number, time, name, event, .. } = entry;
    let what = match event {
        Event::Began { keys, peer_keys, .. } => {
            format!("{} here, {} there", counted(*keys, "key"), grouped(*peer_keys))
        }
        Event::WentOn { run, session } => {
            format!("the run of line {run} was started again, {session} times in all")
        }
        Event::Revealed { matches, .. } => counted(*matches, "shared key"),
        Event::Refused { rule, reason, .. } => format!("{rule}: {reason}"),
        Event::Failed { reason, .. } => reason.clone(),
        Event::Succeeded { matches: Some(matches), .. } => counted(*matches, "shared key"),
        Event::Succeeded { matches: None, .. } => "the other side learned the result".to_owned(),
    };
    // A text of the other side must not look like a line of its own.
    let (name, what) = (shown(name), shown(&what));
    format!("{number:>5}  {time}  {name}  {:<9}  {what}", event.word())
}

/// A line as JSON without what is kept of sets.
fn exported(entry: &Entry) -> Result<String, Failure> {
    let mut value = serde_json::to_value(entry).map_err(|_| Failure::bug("a line has JSON"))?;
    if let Some(began) = value.pointer_mut("/event/began").and_then(|began| began.as_object_mut()) {
        began.remove("sketch");
    }
    Ok(format!("{value}\n"))
}

/// Checks a record for somebody who has the two fingerprints.
pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let record = record(&args.record)?;
    let named: Result<Vec<Fingerprint>, Failure> =
        args.parties.iter().map(|who| party(who)).collect();
    let named = named?;
    let document = record.document();
    let parties = [&document.a, &document.b].map(|side| side.party.fingerprint());
    if let Some(stranger) = named.iter().find(|who| !parties.contains(who)) {
        let message = format!("{}: {stranger} is no party of it", args.record.display());
        return Err(Failure::input(message));
    }
    if let Some(unnamed) = parties.iter().find(|party| !named.contains(party)) {
        return Err(Failure::input(format!(
            "{}: {unnamed} is a party of it, too; if that is who it should be, name it with --with",
            args.record.display()
        )));
    }
    crate::print_lines(&format!(
        "{}: both parties signed it, and nobody changed it since\nagreement  {} {}\nrun        {} to {}\nkeys       {} \
         of {}\n           {} of {}\n",
        args.record.display(),
        document.name,
        document.agreement,
        document.a.started,
        document.a.ended,
        grouped(document.a.keys),
        parties[0],
        grouped(document.b.keys),
        parties[1],
    ))
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

/// The record in a file, with both signatures.
fn record(path: &Path) -> Result<Signed<Record>, Failure> {
    let record = Signed::<Record>::from_json(&document::read(path)?)
        .map_err(|error| of_file(path, &error))?;
    record.require_all().map_err(|error| of_file(path, &error))?;
    Ok(record)
}

/// Makes a page of a record.
pub fn report(args: &ReportArgs) -> Result<(), Failure> {
    let page = partnership::page(&record(&args.record)?);
    if args.html == Path::new("-") {
        return crate::print(&page);
    }
    let record = Protected::new("the record", &args.record);
    check_results(&[Protected::new("the page", &args.html)], &[record], None)?;
    document::put(&args.html, &page)
}

#[cfg(test)]
mod tests {
    use vesica::{Class, partnership::Moment};

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
            peer: text(),
            event: Event::Failed { run: None, class: Class::Peer, reason },
        };
        let line = line(&entry);
        let said =
            "ac\u{fffd}me  failed     no\u{fffd}    4  2026  acme  succeeded\u{fffd}[2K\u{fffd}";
        assert!(line.ends_with(said), "{line}");
    }
}
