//! `init`, `invite`, `accept` and `confirm`: from two empty directories to an agreement.

pub mod several;

use std::{
    fs,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
};

use vesica::{
    CheckedKeys, Job, Learns, Offer, Source,
    files::{Delimiter, Destination, KeyColumn},
    joint::Seat,
    partnership::{
        Agreement, AnyAgreement, Invitation, JointInvitation, JointParts, MeetingPlace, Signed,
    },
    queries::Side,
    report::{counted, grouped},
    spec,
};
use vesica_net::Fingerprint;

use crate::{
    agreed::{self, summary_as_text},
    document::{of_file, put_new, read},
    exit::Failure,
    flags::{Flags, required},
    keygen,
    project::{self, JobEntry, Project},
};

/// The size of a table, in bytes, beyond which only its header is read before an agreement is made.
const LARGE: u64 = 64 << 20;

#[derive(clap::Args)]
pub struct InitArgs {
    /// The directory of the project, which is created if it is missing
    #[arg(default_value = ".", value_name = "DIR")]
    directory: PathBuf,
}

#[derive(clap::Args)]
pub struct InviteArgs {
    /// The name of the agreement, and of its job in vesica.toml
    ///
    /// It has letters, digits, hyphens and underscores.
    name: String,
    #[command(flatten)]
    options: Flags<spec::Invited>,
}

#[derive(clap::Args)]
pub struct AcceptArgs {
    /// The file with the invitation; - is standard input
    invitation: PathBuf,
    #[command(flatten)]
    options: Flags<spec::Acceptance>,
}

#[derive(clap::Args)]
pub struct ConfirmArgs {
    /// The file with the reply, or with all parts; - is standard input
    file: PathBuf,
    #[command(flatten)]
    options: Flags<spec::Confirmation>,
}

/// The entry of this side in its own project.
struct OwnJob<'a> {
    partner: &'a spec::PartnerJob,
    table: &'a spec::JobTable,
    /// The place of this side among several parties.
    seat: Option<Seat>,
}

/// Makes a project: an identity and a file with comments.
pub fn init(args: &InitArgs) -> Result<(), Failure> {
    let directory = &args.directory;
    let failed = |path: &Path, error: io::Error| {
        Failure::input(format!("{}: cannot be created: {error}", path.display()))
    };
    fs::create_dir_all(directory).map_err(|error| failed(directory, error))?;
    let (file, identity) = (directory.join(project::FILE), directory.join(spec::IDENTITY));
    if file.exists() {
        let message = format!("{}: already exists; nothing was changed", file.display());
        return Err(Failure::input(message));
    }
    let me = match identity.exists() {
        true => keygen::load(&identity)?,
        false => keygen::generate(&identity)?,
    };
    put_new(&file, project::TEMPLATE)?;
    crate::print(&format!("{}\n", me.fingerprint()))?;
    crate::say(&format!(
        "{} is ready. The line above is this side's fingerprint; {} is its secret key. Next: `vesica invite NAME --key \
         COLUMN …`, or `vesica accept FILE --key COLUMN …` with an invitation.",
        file.display(),
        identity.display()
    ));
    Ok(())
}

/// Makes an invitation.
pub fn invite(args: &InviteArgs) -> Result<(), Failure> {
    let spec = args.options.value()?;
    if spec.circle.parties.is_some() {
        return several::invite(&args.name, &spec);
    }
    if spec.circle.me.is_some() {
        return Err(Failure::usage("--me is for --parties: name all parties, or leave it out"));
    }
    let own = OwnJob { partner: &spec.partner, table: &spec.table, seat: None };
    let project = Project::open(spec.partner.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let terms = &spec.terms;
    let values = terms.answer.column.as_deref();
    if spec.table.field.is_empty() {
        own.key()?;
    }
    let offer = terms.offer(&spec.table, 1, Some(Side::A))?;
    let place = match (&spec.place.address, &spec.relay.relay) {
        (Some(address), _) => MeetingPlace::Here(address.clone()),
        (None, Some(relay)) => MeetingPlace::Relay(relay.clone()),
        (None, None) => MeetingPlace::There,
    };
    let invitation = Invitation::new(&me, &args.name, &offer, place, spec.limits.policy())?;
    let summary = invitation.proposal().summary()?;
    let text = invitation.to_text();
    let file = own.put_invitation(&project, &args.name, &offer, values, &text)?;
    crate::say(&summary_as_text(&summary));
    crate::say(&format!(
        "The invitation is above and in {0}: send it to the other side, by mail or chat. It holds no secret, but \
         anyone who receives it can answer. With the reply: `vesica confirm REPLY`.",
        file.display()
    ));
    Ok(())
}

/// Accepts an invitation.
pub fn accept(args: &AcceptArgs) -> Result<(), Failure> {
    let spec = args.options.value()?;
    let own = OwnJob { partner: &spec.partner, table: &spec.table, seat: None };
    let project = Project::open(spec.partner.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let text = read(&args.invitation)?;
    if JointInvitation::is_in(&text) {
        return several::accept(args, &spec, &text);
    }
    if spec.own.me.is_some() {
        let message = "--me is for invitations to several parties, and this one is to one";
        return Err(Failure::usage(message));
    }
    let invitation = Invitation::from_text(&text).map_err(|e| of_file(&args.invitation, &e))?;
    let proposal = invitation.proposal();
    // The name is a proposal too, and this side may choose another one for itself.
    let name = spec.consent.name.as_ref().unwrap_or(&proposal.name);
    let unusual = proposal.unusual_protocol();
    let offer = completed(args, &spec, &own, invitation.answer()?, unusual)?;
    let values = spec.terms.values.values.as_deref();
    let agreement = invitation.accept(&me, &offer, spec.place.address.clone())?;
    crate::say(&format!(
        "{} proposes the agreement `{}`. In each run under it:",
        proposal.inviter.fingerprint(),
        proposal.name
    ));
    crate::say(&summary_as_text(&agreement.document().summary(Some(me.fingerprint()))?));
    say_other_numbers(&project, me.fingerprint(), agreement.document())?;
    let mut entry = own.entry(name, &offer, values)?;
    entry.agreement_hash = Some(agreement.hash());
    let (file, reply) = (project.path(entry.agreement()), project.path(format!("{name}.reply")));
    let rename = "choose another name for it here with --name";
    project.check_new(&entry, &[&file, &reply], rename)?;
    own.check_table(&project, &offer, values)?;
    if !spec.consent.yes && !asked("Accept?", &args.invitation)? {
        return Err(Failure::declined());
    }
    put_new(&file, &agreement.to_json())?;
    let text = agreement.to_text();
    put_new(&reply, &text)?;
    project.add(&entry)?;
    crate::print(&text)?;
    crate::say(&format!(
        "The reply is above and in {}: send it back. Then compare these words on the phone, which are the same on both \
         sides:\n  {}\nRuns: `vesica run {name}`.",
        reply.display(),
        agreement.check_phrase()
    ));
    Ok(())
}

/// Returns an answering offer with what the accepting side adds. `unusual` describes a protocol that is not for real
/// data.
fn completed(
    args: &AcceptArgs,
    spec: &spec::Acceptance,
    own: &OwnJob<'_>,
    mut offer: Offer,
    unusual: Option<String>,
) -> Result<Offer, Failure> {
    let (names, identifiers) = spec::identifiers(own.key_for(&offer)?);
    if offer.rules.is_none()
        && (names.len() != offer.keys.len() || identifiers != offer.identifiers)
    {
        return Err(Failure::usage(format!(
            "the invitation compares {}, and --key names {}",
            keys_of(offer.keys.len(), &offer.identifiers),
            keys_of(names.len(), &identifiers)
        )));
    }
    let (terms, values) = (&*spec.terms.run, spec.terms.values.values.as_deref());
    offer.allow_research = terms.allow_research;
    offer.max_peer_rows = terms.max_peer_rows;
    if args.options.has("normalize") {
        offer.keys = spec::profiles(names.len(), &terms.normalize)?;
    }
    if let Some(rules) = &offer.rules {
        offer.keys = spec.table.profiles(rules, &offer.keys)?;
    }
    if let Some(columns) = &terms.send {
        let (columns, bytes) = (columns.clone(), terms.send_bytes);
        offer.sends = Some(vesica::files::SentColumns { columns, bytes, rows: 1 });
    }
    if let Some(table) = &mut offer.table {
        table.declared = Some(terms.declared()?);
    } else if let Some(option) =
        ["column", "repeated-keys"].into_iter().find(|name| args.options.has(name))
    {
        return Err(Failure::usage(format!(
            "--{option} is for a query over both tables, and the invitation is for {}",
            offer.query.describe()
        )));
    }
    // For shares, each side may have values or not.
    offer.brings_values |= values.is_some();
    if offer.brings_values != values.is_some() {
        return Err(Failure::usage(
            "this side contributes values: name their column with --values",
        ));
    }
    if let Some(status) = unusual.filter(|_| !terms.allow_research) {
        return Err(Failure::usage(format!(
            "the invitation is for {status}. Pass --allow-research only for a comparison or a measurement"
        )));
    }
    Ok(offer)
}

/// Confirms a reply, or the parts of several parties.
pub fn confirm(args: &ConfirmArgs) -> Result<(), Failure> {
    let text = read(&args.file)?;
    if JointParts::is_in(&text) {
        return several::confirm(args, &text);
    }
    if AnyAgreement::is_joint(&text) {
        return several::adopt(args, &text);
    }
    let options = args.options.value()?;
    let project = Project::open(options.project.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let reply =
        Signed::<Agreement>::from_text(&text).map_err(|error| of_file(&args.file, &error))?;
    let name = reply.document().proposal.name.clone();
    let file = project.path(format!("{name}.invite"));
    if !file.exists() {
        return Err(Failure::input(format!(
            "{}: does not exist: the reply answers the invitation `{name}`, which was not made in this project",
            file.display()
        )));
    }
    let invitation = read(&file)?;
    let invitation = Invitation::from_text(&invitation).map_err(|error| of_file(&file, &error))?;
    let agreement = reply.confirm(&me, &invitation)?;
    let file = project.path(format!("{name}.agreement"));
    if file.symlink_metadata().is_ok() {
        return confirmed_before(&project, &file, &agreement);
    }
    project.check_binding(&file, &agreement.hash())?;
    crate::say(&format!(
        "{} accepted `{name}`. In each run under it:",
        agreement.document().accepter.fingerprint()
    ));
    crate::say(&summary_as_text(&agreement.document().summary(Some(me.fingerprint()))?));
    say_other_numbers(&project, me.fingerprint(), agreement.document())?;
    crate::say(&format!(
        "Compare these words on the phone, which are the same on both sides:\n  {}",
        agreement.check_phrase()
    ));
    if !options.consent.yes && !asked("Are they?", &args.file)? {
        return Err(Failure::declined());
    }
    put_new(&file, &agreement.to_json())?;
    project.bind(&file, &agreement.hash())?;
    say_runs(&project, &file);
    Ok(())
}

/// Names the jobs under the agreement in this file.
fn say_runs(project: &Project, file: &Path) {
    let runs = project.jobs_under(file);
    let runs: Vec<_> = runs.iter().map(|job| format!("`vesica run {job}`")).collect();
    let runs = if runs.is_empty() { "no job is under it".to_owned() } else { runs.join(", ") };
    let name = file.file_name().unwrap_or_default().display();
    crate::say(&format!("The agreement is in {name}. Runs: {runs}."));
}

/// Names the other agreements of the project in which numbers about shared keys are revealed to the partner of this one
/// or about it, if this one is about numbers too.
fn say_other_numbers(
    project: &Project,
    me: Fingerprint,
    agreement: &Agreement,
) -> Result<(), Failure> {
    let is_of_numbers = |agreement: &Agreement| -> Option<Fingerprint> {
        let kind = agreement.offer_of(me).ok()?.query.kind;
        if kind.keeps_rows { None } else { Some(agreement.peer_of(me).ok()?.fingerprint()) }
    };
    let Some(partner) = is_of_numbers(agreement) else { return Ok(()) };
    for file in project.agreements() {
        let Ok(other) = agreed::agreement(&file) else { continue };
        let Some(other) = other.pair().map(Signed::document) else { continue };
        if other.proposal.name != agreement.proposal.name && is_of_numbers(other) == Some(partner) {
            crate::say(&format!(
                "vesica: note: the agreement `{}` reveals numbers about keys shared with this partner, too. If two \
                 answers are about sets that differ by one person, their difference shows that person's value. A \
                 minimum does not prevent this; noise (--epsilon) does",
                other.proposal.name
            ));
        }
    }
    Ok(())
}

/// Accepts the reply that was confirmed before, which changes nothing, and refuses another one. An invitation makes one
/// agreement.
fn confirmed_before(
    project: &Project,
    file: &Path,
    reply: &Signed<Agreement>,
) -> Result<(), Failure> {
    let there = agreed::agreement(file)?;
    let there = there.require_pair("the reply is of")?;
    if there.hash() == reply.hash() {
        project.bind(file, &there.hash())?;
        crate::say(&format!("{} is confirmed already; nothing was changed.", file.display()));
        return Ok(());
    }
    Err(Failure::input(format!(
        "{}: already exists, with {}, and this is another reply to the same invitation, by {}; nothing was changed. For \
         another agreement, make another invitation",
        file.display(),
        there.document().accepter.fingerprint(),
        reply.document().accepter.fingerprint()
    )))
}

impl OwnJob<'_> {
    /// Writes and prints an invitation with this offer, and adds its job to the project. Returns the file.
    fn put_invitation(
        &self,
        project: &Project,
        name: &str,
        offer: &Offer,
        values: Option<&str>,
        text: &str,
    ) -> Result<PathBuf, Failure> {
        let file = project.path(format!("{name}.invite"));
        let entry = self.entry(name, offer, values)?;
        let written = [file.as_path(), &project.path(entry.agreement())];
        project.check_new(&entry, &written, "choose another name")?;
        self.check_table(project, offer, values)?;
        put_new(&file, text)?;
        project.add(&entry)?;
        crate::print(text)?;
        Ok(file)
    }

    /// Returns the columns of each identifier.
    fn key(&self) -> Result<&[Vec<String>], Failure> {
        let key = &self.table.key;
        required((!key.is_empty()).then_some(key), &["key"], "which columns make up the key")
    }

    /// Returns the columns of each identifier for an offer; none if rules make the keys.
    fn key_for(&self, offer: &Offer) -> Result<&[Vec<String>], Failure> {
        match &offer.rules {
            None => self.key(),
            Some(rules) if self.table.field.is_empty() => {
                let names: Vec<_> =
                    rules.fields().iter().map(|name| format!("--field {name}=COLUMN")).collect();
                let rules = rules.numbered();
                Err(Failure::usage(format!(
                    "rows match by rules ({rules}): name the columns of their fields with {}",
                    names.join(" ")
                )))
            }
            Some(_) => Ok(&self.table.key),
        }
    }

    fn entry(&self, name: &str, offer: &Offer, values: Option<&str>) -> Result<JobEntry, Failure> {
        let learns = offer.learns != Learns::Peer;
        let input = self.table.input.clone();
        let output = self.partner.output.clone().or_else(|| {
            let extension = input.as_ref().and_then(|input| input.extension());
            let extension = extension.and_then(|e| e.to_str()).unwrap_or("csv");
            Some(PathBuf::from(format!("{name}.{extension}")))
        });
        Ok(JobEntry {
            name: name.to_owned(),
            input,
            key: self.key_for(offer)?.to_vec(),
            field: self.table.field.clone(),
            answer: values.map(|column| format!("{}:{column}", offer.query.name())),
            output: output.filter(|_| learns),
            output_is_default: self.partner.output.is_none(),
            delimiter: self.table.delimiter.map(Delimiter::name),
            partner: self.partner.partner.clone(),
            agreement_hash: None,
        })
    }

    /// Refuses a table of this side with which no run could begin. A table elsewhere is read by the runs only.
    fn check_table(
        &self,
        project: &Project,
        offer: &Offer,
        values: Option<&str>,
    ) -> Result<(), Failure> {
        let is_local = |input: &&PathBuf| spec::is_file(&input.to_string_lossy());
        let Some(input) = self.table.input.as_ref().filter(is_local) else { return Ok(()) };
        let path = project.path(input);
        let (_, identifiers) = spec::identifiers(&self.table.key);
        let columns = self.table.key_columns(offer.rules.as_ref())?;
        let delimiter = self.table.delimiter.unwrap_or_else(|| Delimiter::of_name(&path));
        // Both sides have a file of shares.
        let shares = (offer.learns == Learns::Nobody).then(|| {
            let named = self.partner.output.as_ref();
            named.map_or_else(|| path.with_extension("shares"), |output| project.path(output))
        });
        let job = Job {
            delimiter,
            values: values.map(str::to_owned),
            seat: self.seat.clone(),
            output: shares.map(Destination::Path),
            ..Job::new(Source::from_path(&path), columns.clone(), offer.clone())
        };
        job.prepare()?;
        if fs::metadata(&path).is_ok_and(|found| found.len() > LARGE) {
            return Ok(());
        }
        let rules = offer.rules.as_ref();
        let rules = rules.map(|rules| rules.on(&columns, &offer.keys)).transpose()?;
        let column = |(name, normalize)| KeyColumn { name, normalize };
        let columns = columns.into_iter().zip(offer.keys.iter().cloned()).map(column).collect();
        let null_values = offer.null_values.clone();
        let keys =
            CheckedKeys { columns, identifiers, rules, null_values, ..CheckedKeys::default() };
        let found = vesica::check(Source::from_path(&path), delimiter, &keys)?;
        let rows = found.findings.rows;
        if rows.used == 0 && rows.read > 0 {
            return Err(Failure::input(format!(
                "{}: none of its {} has a key; `vesica check` shows the reason",
                path.display(),
                counted(rows.read, "row")
            )));
        }
        if rows.null > 0 {
            crate::say(&format!(
                "vesica: note: {} of {} in {} have no key; `vesica check` shows the reason",
                grouped(rows.null),
                counted(rows.read, "row"),
                path.display()
            ));
        }
        Ok(())
    }
}

/// Describes the keys of this many columns, which identifiers divide as these numbers say.
fn keys_of(columns: usize, identifiers: &[u8]) -> String {
    let columns = counted(columns as u64, "column");
    match identifiers.len() {
        0 => format!("keys of {columns}"),
        several => format!("{several} identifiers of {columns} in all"),
    }
}

/// Asks a question about a document; no answer means no.
fn asked(question: &str, document: &Path) -> Result<bool, Failure> {
    if document == Path::new("-") {
        let message = "standard input is the document and cannot answer a question: read the document from a file, or pass --yes";
        return Err(Failure::usage(message));
    }
    let _ = write!(io::stderr().lock(), "{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|e| Failure::input(e.to_string()))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
