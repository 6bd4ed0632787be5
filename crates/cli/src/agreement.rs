//! `agreement`: shows, renews or revokes an agreement.

use std::path::PathBuf;

use vesica::{
    partnership::{AnyAgreement, Invitation, JointInvitation, Part, Partnership, Policy},
    spec,
};
use vesica_net::Fingerprint;

use crate::{
    agreed, document::put_new, exit::Failure, flags::Flags, keygen, partner::several,
    project::Project,
};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AgreementArgs {
    #[command(subcommand)]
    command: Option<AgreementCommand>,
    #[command(flatten)]
    show: ShowArgs,
}

#[derive(clap::Subcommand)]
enum AgreementCommand {
    /// Invite all parties to another agreement with the same terms
    Renew(Box<RenewArgs>),
    /// Permit no more runs under an agreement
    Revoke(RevokeArgs),
}

#[derive(clap::Args)]
struct ShowArgs {
    /// The agreement: its file, or a job of vesica.toml
    #[arg(value_name = "AGREEMENT", required = true)]
    which: Option<PathBuf>,
    /// The project file
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct RenewArgs {
    /// The job whose agreement it is
    job: String,
    /// The name of the new agreement and of its job
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The project file
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
    /// The limits of the new agreement, which replace all the old ones.
    #[command(flatten)]
    policy: Flags<spec::Limits>,
}

#[derive(clap::Args)]
struct RevokeArgs {
    /// The job whose agreement it is
    job: String,
    /// The project file
    ///
    /// [default: vesica.toml]
    #[arg(long, value_name = "FILE")]
    project: Option<PathBuf>,
}

pub fn agreement(args: &AgreementArgs) -> Result<(), Failure> {
    match &args.command {
        None => show(&args.show),
        Some(AgreementCommand::Renew(args)) => renew(args),
        Some(AgreementCommand::Revoke(args)) => revoke(args),
    }
}

/// Shows an agreement from the point of view of this side, if it is a party of it.
fn show(args: &ShowArgs) -> Result<(), Failure> {
    let which = args.which.as_deref().ok_or(Failure::bug("an agreement is named"))?;
    let project = Project::open(args.project.as_deref());
    let file = match (&project, which.to_str()) {
        (Ok(project), Some(job)) if !which.exists() && project.jobs().iter().any(|j| j == job) => {
            let specified = project.specified(job, Vec::new())?;
            specified.parties.agreement.ok_or_else(|| no_agreement(job))?
        }
        _ => which.to_owned(),
    };
    let signed = agreed::agreement(&file)?;
    let me = project.ok().filter(|project| project.identity().exists());
    let me = me.map(|project| keygen::load(&project.identity())).transpose()?;
    let summary = signed.summary(me.map(|me| me.fingerprint()))?;
    if args.json {
        return crate::print(&(agreed::summary_as_json(&summary)? + "\n"));
    }
    let parties: String = match &signed {
        AnyAgreement::Pair(pair) => {
            let agreement = pair.document();
            let parties = [
                ("inviter", agreement.proposal.inviter.fingerprint()),
                ("accepter", agreement.accepter.fingerprint()),
            ];
            let line = |(what, party): (&str, Fingerprint)| {
                format!("{what:<10} {party}{}\n", has_signed(&signed, party))
            };
            parties.map(line).concat()
        }
        AnyAgreement::Joint(joint) => {
            let agreement = &joint.document().gathered;
            let parties = agreement.parts().into_iter();
            let line =
                |part: &Part| format!("party      {} {}\n", part.name, part.party.fingerprint());
            parties.map(line).collect()
        }
    };
    let head = format!(
        "agreement  {}\nhash       {}\nwords      {}\n{parties}made       {}\naccepted   {}\n",
        signed.name(),
        signed.hash(),
        signed.check_phrase(),
        signed.made(),
        signed.accepted(),
    );
    crate::print_lines(&format!("{head}In each run:\n{}\n", agreed::summary_as_text(&summary)))
}

fn has_signed(agreement: &AnyAgreement, party: Fingerprint) -> &'static str {
    if agreement.is_signed_by(party) { "" } else { " (has not signed yet)" }
}

fn no_agreement(job: &str) -> Failure {
    Failure::usage(format!("job `{job}` has no agreement"))
}

/// Makes an invitation to another agreement, and a job like the old one.
fn renew(args: &RenewArgs) -> Result<(), Failure> {
    let project = Project::open(args.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let old = project.specified(&args.job, Vec::new())?;
    let agreement = agreed::of_job(&old)?.ok_or_else(|| no_agreement(&args.job))?;
    let policy = match args.policy.value()?.policy() {
        policy if policy != Policy::default() => policy,
        // Without the day that is over or soon will be.
        _ => Policy { expires: None, ..agreement.policy().clone() },
    };
    let entry = project.renewed(&args.job, &args.name)?;
    let file = project.path(format!("{}.invite", args.name));
    let written = [file.as_path(), &project.path(format!("{}.agreement", args.name))];
    project.check_new_job(&args.name, &entry, &written, "choose another name")?;
    let (text, summary, next) = match &agreement {
        AnyAgreement::Pair(agreement) => {
            let invitation = Invitation::renew(&me, &args.name, agreement.document(), policy)?;
            let next = format!(
                "The invitation is above and in {}: send it to the other side. With the reply: `vesica confirm REPLY`.",
                file.display()
            );
            (invitation.to_text(), invitation.proposal().summary()?, next)
        }
        AnyAgreement::Joint(agreement) => {
            let gathered = &agreement.document().gathered;
            let invitation = JointInvitation::renew(&me, &args.name, gathered, policy)?;
            let next = several::next_steps(invitation.proposal(), &file);
            (invitation.to_text(), invitation.proposal().summary()?, next)
        }
    };
    put_new(&file, &text)?;
    project.add_job(&args.name, &entry)?;
    crate::print(&text)?;
    crate::say(&agreed::summary_as_text(&summary));
    crate::say(&format!(
        "{next} Runs of the old agreement go on as before: `vesica agreement revoke {}` ends them.",
        args.job
    ));
    Ok(())
}

/// Notes in the ledger that an agreement is revoked.
fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let project = Project::open(args.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let job = project.specified(&args.job, Vec::new())?;
    let agreement = agreed::of_job(&job)?.ok_or_else(|| no_agreement(&args.job))?;
    let ledger = job.ledger().ok_or_else(|| no_agreement(&args.job))?;
    Partnership::new(me.into(), agreement, ledger, Policy::default())?.revoke()?;
    crate::say(&format!(
        "The agreement of job `{0}` is revoked: this side refuses further runs, and says so to the other side when it calls. The \
         line in the ledger cannot be removed; `vesica agreement renew {0} --name NAME` makes another agreement.",
        args.job
    ));
    Ok(())
}
