//! The jobs that a service serves.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use vesica::{
    Source,
    joint::{Seat, ServedParties},
    partnership::AnyAgreement,
    spec, to_bind,
};
use vesica_net::{Fingerprint, connect::GatheringName};

use super::hall::{Hall, JointJob};
use crate::{
    agreed,
    exit::{self, Failure},
    log::Log,
    project::Project,
    run::Run,
};

/// A job with an agreement between two.
pub struct Job {
    pub name: String,
    /// The other party of its agreement.
    pub peer: Fingerprint,
    pub run: Run,
}

/// All jobs under agreements in which this side listens.
#[derive(Default)]
pub struct Jobs {
    /// The jobs of two parties, by the hash of the agreement.
    pub jobs: BTreeMap<String, Arc<Job>>,
    /// The jobs of several parties.
    pub joint: BTreeMap<GatheringName, Arc<JointJob>>,
    pub partners: BTreeSet<Fingerprint>,
    pub addresses: BTreeSet<String>,
    /// The jobs that are not served, each with the reason.
    left_out: BTreeMap<String, String>,
    /// The first of these reasons that is a fault of a file.
    pub fault: Option<String>,
    /// The jobs whose input is missing, and the input.
    without_input: BTreeMap<String, String>,
}

/// The part of the machine that each run has.
#[derive(Debug, Clone, Copy)]
pub struct ServeShare {
    pub memory: u64,
    pub threads: usize,
}

impl ServeShare {
    /// Lets a job use no more memory than this, and as many threads unless the job says otherwise.
    fn apply_to(self, job: &mut spec::Job) {
        let resources = &mut job.resources;
        resources.memory = Some(resources.memory.map_or(self.memory, |most| most.min(self.memory)));
        resources.threads = if resources.threads == 0 { self.threads } else { resources.threads };
    }
}

/// Returns the input of a job, if it is a missing file.
fn missing_input(job: &spec::Job) -> Option<&Path> {
    let input = job.table.input.as_deref()?;
    let is_file = matches!(Source::from_path(input), Source::File(_));
    (is_file && !input.exists()).then_some(input)
}

/// The parties of a job that is served, and the address at which this side listens.
struct ServedJob {
    agreement: AnyAgreement,
    address: String,
    parties: JobParties,
}

/// The other parties of a job.
enum JobParties {
    One(Fingerprint),
    Several(ServedParties),
}

impl Jobs {
    /// Reads the jobs of the project. The callers of several parties who wait stay in the lobbies of `before`.
    pub fn read(
        project: &Project,
        me: Fingerprint,
        share: ServeShare,
        before: &Self,
    ) -> Result<Self, Failure> {
        let mut all = Self::default();
        project.check_files()?;
        for name in project.jobs() {
            let mut job = project.specified(&name, Vec::new())?;
            if let Some(input) = missing_input(&job) {
                all.without_input.insert(name.clone(), input.display().to_string());
            }
            let ServedJob { agreement, address, parties } = match ServedJob::of(&job, me) {
                Ok(served) => served,
                Err(failure) => {
                    if failure.code == exit::INPUT {
                        all.fault.get_or_insert(failure.message.clone());
                    }
                    all.left_out.insert(name, failure.message);
                    continue;
                }
            };
            all.addresses.insert(address);
            share.apply_to(&mut job);
            let run = Run::served(job, project.protected(&name), agreement.hash());
            match parties {
                JobParties::One(peer) => {
                    all.partners.insert(peer);
                    all.jobs.insert(agreement.hash(), Arc::new(Job { name, peer, run }));
                }
                JobParties::Several(parties) => {
                    let others = parties.members.iter().map(|member| member.fingerprint);
                    all.partners.extend(others.filter(|party| *party != me));
                    let earlier = before.joint.get(&parties.name);
                    let hall = earlier.map(|job| job.hall.clone());
                    let hall = hall.unwrap_or_else(|| Arc::new(Hall::new(&parties)));
                    let gathering = parties.name;
                    all.joint.insert(gathering, Arc::new(JointJob { name, parties, run, hall }));
                }
            }
        }
        Ok(all)
    }

    /// Returns the number of jobs.
    pub fn len(&self) -> usize {
        self.jobs.len() + self.joint.len()
    }

    /// Logs the jobs that are not served or would fail, unless they were in the same state in `before`.
    pub fn tell_since(&self, before: &Self, log: Log) {
        for (job, why) in &self.left_out {
            if before.left_out.get(job) != Some(why) {
                log.event(
                    "not served",
                    &[("job", job.as_str().into()), ("why", why.as_str().into())],
                );
            }
        }
        for (job, input) in &self.without_input {
            if before.without_input.get(job) != Some(input) {
                let facts = [("job", job.as_str().into()), ("input", input.as_str().into())];
                log.event("input missing", &facts);
            }
        }
    }
}

impl ServedJob {
    /// Returns the parties of a job under an agreement in which this side listens.
    ///
    /// # Errors
    /// The reason for which the job is not served.
    fn of(job: &spec::Job, me: Fingerprint) -> Result<Self, Failure> {
        let file = job.parties.agreement.as_ref();
        let file = file.ok_or_else(|| Failure::usage("it has no agreement"))?;
        let missing =
            || Failure::usage(format!("the agreement {} does not exist yet", file.display()));
        let agreement = agreed::of_job(job)?.ok_or_else(missing)?;
        let there = || Failure::usage("this side does not listen under its agreement");
        let (address, parties) = match (agreement.pair(), agreement.joint()) {
            (Some(pair), _) => {
                let pair = pair.document();
                let address = pair.listens(me).ok_or_else(there)?;
                (to_bind(address), JobParties::One(pair.peer_of(me)?.fingerprint()))
            }
            (None, Some(joint)) => {
                let (seat, members) =
                    (Seat { cast: joint.cast()?, me: joint.number_of(me)? }, joint.members());
                let address = members[seat.me].address.clone();
                let address = address.filter(|_| joint.proposal.relay.is_none());
                let address = to_bind(&address.ok_or_else(there)?);
                let parties = ServedParties::new(seat, members, &agreement.hash())?;
                (address, JobParties::Several(parties))
            }
            (None, None) => return Err(Failure::bug("an agreement is between two or several")),
        };
        Ok(Self { agreement, address, parties })
    }
}
