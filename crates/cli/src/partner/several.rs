//! Agreements among several parties: `invite --parties`, `accept --me`, `gather` and `confirm`.

use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use vesica::{
    joint::{Cast, Seat},
    partnership::{
        AnyAgreement, Inviting, JointInvitation, JointParts, JointProposal, JointReply, Signed,
        confirm,
    },
    spec,
};
use vesica_net::{Identity, Mesh, connect::Event};

use super::{AcceptArgs, ConfirmArgs, OwnJob, asked, completed, say_runs};
use crate::{
    agreed::{self, summary_as_text},
    cancel,
    document::{of_file, put_new, read},
    exit::Failure,
    keygen,
    meet::Teller,
    project::Project,
};

#[derive(clap::Args)]
pub struct GatherArgs {
    /// The file with the invitation, as `vesica invite --parties` wrote it
    invitation: PathBuf,
    /// The files with the replies of all other parties
    #[arg(required = true, value_name = "REPLY")]
    replies: Vec<PathBuf>,
}

/// The interval at which the other parties are kept from giving up.
const PULSE: Duration = Duration::from_millis(200);

/// Makes an invitation to several parties.
pub fn invite(name: &str, spec: &spec::Invited) -> Result<(), Failure> {
    let project = Project::open(spec.partner.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let (cast, number) = spec.circle.cast()?;
    let seat = Some(Seat { cast: cast.clone(), me: number });
    let own = OwnJob { partner: &spec.partner, table: &spec.table, seat };
    let own_name = cast.name(number).to_owned();
    own.key()?;
    let offer = spec.circle.offer(&spec.terms, &spec.table)?;
    let values = spec.terms.answer.column.as_deref();
    let inviting = Inviting {
        name,
        cast: &cast,
        own_name: &own_name,
        address: spec.place.address.clone(),
        relay: spec.relay.relay.clone(),
        policy: spec.limits.policy(),
    };
    let invitation = JointInvitation::new(&me, inviting, &offer)?;
    let summary = invitation.proposal().summary()?;
    let file = own.put_invitation(&project, name, &offer, values, &invitation.to_text())?;
    crate::say(&summary_as_text(&summary));
    crate::say(&next_steps(invitation.proposal(), &file));
    Ok(())
}

/// Returns the steps that follow an invitation, which is in this file.
pub fn next_steps(proposal: &JointProposal, file: &Path) -> String {
    let name = &proposal.name;
    let others = proposal.parties.iter().filter(|party| **party != proposal.inviter.name);
    let accepts: Vec<_> =
        others.map(|party| format!("`vesica accept {name}.invite --me {party}`")).collect();
    format!(
        "The invitation is above and in {}: send it to all other parties, by mail or chat. They answer with {}. With all \
         replies: `vesica gather {name}.invite REPLY …`.",
        file.display(),
        accepts.join(" and ")
    )
}

/// Accepts an invitation to several parties.
pub fn accept(args: &AcceptArgs, spec: &spec::Acceptance, text: &str) -> Result<(), Failure> {
    let project = Project::open(spec.partner.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let invitation = JointInvitation::from_text(text).map_err(|e| of_file(&args.invitation, &e))?;
    let proposal = invitation.proposal();
    let name = spec.consent.name.as_ref().unwrap_or(&proposal.name);
    let own_name = spec.own.me.as_ref().ok_or_else(|| {
        let others = proposal.parties.iter().filter(|party| **party != proposal.inviter.name);
        let others: Vec<_> = others.map(String::as_str).collect();
        Failure::usage(format!(
            "the invitation is to several parties: say with --me which of them this is: {}",
            others.join(", ")
        ))
    })?;
    let answer = invitation.answer(own_name)?;
    let cast = proposal.cast()?;
    // Until all have replied, parties have nothing but names.
    let seat = Some(Seat { me: cast.number_of(own_name)?, cast });
    let own = OwnJob { partner: &spec.partner, table: &spec.table, seat };
    let unusual = proposal.unusual_protocol();
    let offer = completed(args, spec, &own, answer, unusual)?;
    let values = spec.terms.values.values.as_deref();
    let reply = invitation.accept(&me, own_name, &offer, spec.place.address.clone())?;
    crate::say(&format!(
        "{} ({}) proposes the agreement `{}` among {}. In each run under it:",
        proposal.inviter.name,
        proposal.inviter.party.fingerprint(),
        proposal.name,
        proposal.parties.join(", ")
    ));
    crate::say(&summary_as_text(&proposal.summary_for(reply.document())?));
    let entry = own.entry(name, &offer, values)?;
    let file = project.path(format!("{name}.reply"));
    let rename = "choose another name for it here with --name";
    project.check_new(&entry, &[&file, &project.path(entry.agreement())], rename)?;
    own.check_table(&project, &offer, values)?;
    if !spec.consent.yes && !asked("Accept?", &args.invitation)? {
        return Err(Failure::declined());
    }
    let text = reply.to_text();
    put_new(&file, &text)?;
    project.add(&entry)?;
    crate::print(&text)?;
    crate::say(&format!(
        "The reply is above and in {}: send it to {}, who gathers the replies and returns the parts of all parties. Then all \
         run `vesica confirm FILE` at the same time, in a call.",
        file.display(),
        proposal.inviter.name
    ));
    Ok(())
}

/// Gathers the replies of all parties.
pub fn gather(args: &GatherArgs) -> Result<(), Failure> {
    let invitation = JointInvitation::from_text(&read(&args.invitation)?)
        .map_err(|error| of_file(&args.invitation, &error))?;
    let reply = |file: &PathBuf| {
        Signed::<JointReply>::from_text(&read(file)?).map_err(|error| of_file(file, &error))
    };
    let replies = args.replies.iter().map(reply).collect::<Result<Vec<_>, Failure>>()?;
    let gathered = invitation.gather(replies)?;
    let file = args.invitation.with_file_name(format!("{}.parts", gathered.proposal.name));
    let text = gathered.to_text();
    put_new(&file, &text)?;
    crate::print(&text)?;
    let summary = gathered.summary(Some(gathered.proposal.inviter.party.fingerprint()))?;
    crate::say(&summary_as_text(&summary));
    crate::say(&format!(
        "The parts of all parties are above and in {0}: send them to all. Then all run `vesica confirm {1}` at the same time, \
         in a call in which they compare six words.",
        file.display(),
        file.file_name().unwrap_or_default().display()
    ));
    Ok(())
}

/// Meets all other parties, compares the check phrase, and signs the agreement.
pub fn confirm(args: &ConfirmArgs, text: &str) -> Result<(), Failure> {
    let cancel = cancel::on_signal()?;
    let options = args.options.value()?;
    let project = Project::open(options.project.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let gathered = JointParts::from_text(text).map_err(|error| of_file(&args.file, &error))?;
    let seat = Seat { cast: gathered.cast()?, me: gathered.number_of(me.fingerprint())? };
    let name = own_job(&project, &gathered, &me)?;
    let file = project.path(format!("{name}.agreement"));
    if file.symlink_metadata().is_ok() {
        return Err(Failure::input(format!(
            "{}: already exists; nothing was changed. For another agreement, make another invitation",
            file.display()
        )));
    }
    crate::say("In each run under this agreement:");
    crate::say(&summary_as_text(&gathered.summary(Some(me.fingerprint()))?));
    let connection = spec::Connection {
        listen: options.meeting.listen.clone(),
        wait: options.meeting.wait,
        ..spec::Connection::default()
    };
    let teller = Teller::new(false, false, connection.wait);
    let tell = |event: &Event<'_>| teller.tell(event);
    let print = me.fingerprint();
    let meeting = crate::run::meeting(&me, &print, &connection, &cancel, &tell);
    let venue = connection.venue(Some(&gathered));
    let mut met = venue.meet(&seat, &gathered.members(), &meeting, None)?;
    let channels = met.channels.into_iter();
    met.channels =
        channels.map(|channel| crate::run::limited(channel, &connection, &cancel)).collect();
    let mut mesh = Mesh::new(seat.me, &mut met.channels);
    let agreed = agree(args, options.consent.yes, &gathered, &seat.cast, &me, &mut mesh);
    let agreement = agreed.inspect_err(|_| mesh.abort(vesica_net::AbortReason::Cancelled))?;
    met.part();
    put_new(&file, &agreement.to_json())?;
    project.bind(&file, &agreement.hash())?;
    say_runs(&project, &file);
    Ok(())
}

/// Draws the check phrase, asks whether it is the same everywhere, and exchanges the signatures.
fn agree(
    args: &ConfirmArgs,
    yes: bool,
    gathered: &JointParts,
    cast: &Cast,
    me: &Identity,
    mesh: &mut Mesh<'_>,
) -> Result<AnyAgreement, Failure> {
    let agreement = confirm::draw(gathered, mesh)?;
    crate::say(&format!(
        "Compare these words in a call of all {} parties:\n  {}",
        cast.parties.len(),
        agreement.check_phrase()
    ));
    if !yes && !asked_meanwhile(&args.file, mesh)? {
        return Err(Failure::declined());
    }
    Ok(confirm::sign(agreement, me, mesh)?.into())
}

/// Asks whether the words are the same, and meanwhile keeps the other parties from giving up.
fn asked_meanwhile(document: &Path, mesh: &mut Mesh<'_>) -> Result<bool, Failure> {
    let (done, waiting) = mpsc::sync_channel(1);
    let document = document.to_owned();
    thread::spawn(move || {
        // Nobody receives this if another party stopped first.
        let _ = done.send(asked("Are they the same for all?", &document));
    });
    loop {
        match waiting.recv_timeout(PULSE) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) => mesh.keep_alive().map_err(vesica::Error::from)?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::bug("a question has an answer"));
            }
        }
    }
}

/// Takes over an agreement that this side has signed, from the file of another party.
pub fn adopt(args: &ConfirmArgs, text: &str) -> Result<(), Failure> {
    let options = args.options.value()?;
    let project = Project::open(options.project.project.as_deref())?;
    let me = keygen::load(&project.identity())?;
    let agreement = AnyAgreement::from_file(text).map_err(|error| of_file(&args.file, &error))?;
    let gathered = agreement.joint().ok_or(Failure::bug("the agreement is among several"))?;
    let name = own_job(&project, gathered, &me)?;
    let file = project.path(format!("{name}.agreement"));
    project.check_binding(&file, &agreement.hash())?;
    match file.exists() {
        true if agreed::agreement(&file)?.hash() == agreement.hash() => {}
        _ => put_new(&file, &agreement.to_json())?,
    }
    project.bind(&file, &agreement.hash())?;
    say_runs(&project, &file);
    Ok(())
}

/// Returns the name of this side's job for the agreement, whose part must be the one that this side sent.
fn own_job(project: &Project, gathered: &JointParts, me: &Identity) -> Result<String, Failure> {
    let proposal = &gathered.proposal;
    if proposal.inviter.party.fingerprint() == me.fingerprint() {
        let file = project.path(format!("{}.invite", proposal.name));
        let invitation =
            JointInvitation::from_text(&read(&file)?).map_err(|error| of_file(&file, &error))?;
        gathered.require_invitation(&invitation)?;
        return Ok(proposal.name.clone());
    }
    let sent = |job: &String| {
        let text = read(&project.path(format!("{job}.reply"))).ok()?;
        let reply = Signed::<JointReply>::from_text(&text).ok()?;
        gathered.has(&reply).then(|| job.clone())
    };
    project.jobs().iter().find_map(sent).ok_or_else(|| {
        Failure::input(format!(
            "the parts of `{}` do not have a reply that this project made; nothing was changed",
            proposal.name
        ))
    })
}
