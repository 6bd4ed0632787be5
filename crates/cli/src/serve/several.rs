//! The runs of a service among several parties.
//!
//! The parties' calls arrive one by one, in the hall of their agreement. The first call to this side begins a
//! gathering; when all have come, their run waits for its turn like any other.

use std::{mem, time::Instant};

use vesica::{Role, joint::Met};
use vesica_net::{
    AbortReason, Channel, Fingerprint, Mesh,
    connect::{Connection, Hello},
};

use super::{
    Service,
    hall::{Busy, JointJob},
    jobs::Jobs,
    reason, stays,
};
use crate::{
    exit::Failure,
    run::{self, AmongRun, Meet},
};

/// Parties that have gathered already.
struct GatheredParties(Option<Met>);

impl Meet for GatheredParties {
    fn two(&mut self, _: &run::Met<'_>) -> Result<(Role, Channel), Failure> {
        Err(Failure::bug("these are several parties"))
    }

    fn several(&mut self, _: &AmongRun<'_>) -> Result<Met, Failure> {
        self.0.take().ok_or(Failure::bug("channels are used once"))
    }
}

impl Service {
    /// Lets a caller of several parties into the hall of its agreement.
    pub fn seat(&self, caller: Fingerprint, mut connection: Connection, jobs: &Jobs) {
        let Ok(hello) = Hello::receive(&mut connection, &self.leave) else { return };
        let placed = match jobs.joint.get(&hello.name) {
            Some(job) => job.hall.lobby().place(caller, hello, connection),
            None => {
                hello.refuse(connection);
                Err(vesica_net::Error::OtherGathering { caller })
            }
        };
        if placed.is_err() {
            let why = "it names an agreement that it does not have with this side";
            self.turned_away(caller, why.to_owned());
        }
    }

    /// Gathers the parties of a job, and runs it with them.
    pub fn run_among(&self, job: &JointJob, busy: Busy) {
        let mut met = match job.gather(&self.leave) {
            Ok(met) => met,
            Err(failure) => {
                let why = ("why", failure.message.into());
                return self.log.event("not gathered", &[job.about(), vec![why]].concat());
            }
        };
        let waiting = Instant::now();
        let Some(turn) = self.turns.begin_while(|| met.channels.iter_mut().all(stays)) else {
            self.log.event("left while waiting", &job.about());
            return abort(job, &mut met.channels, AbortReason::Cancelled);
        };
        let waited = waiting.elapsed();
        self.log.event("began", &job.about());
        let among = mem::take(&mut met.channels).into_iter().map(|mut channel| {
            channel.leave_out(waited);
            self.with_turn(channel)
        });
        met.channels = among.collect();
        let mut gathered = GatheredParties(Some(met));
        let (report, _) = job.run.carried_out(&self.stop, &mut gathered);
        if let Some(mut met) = gathered.0 {
            abort(job, &mut met.channels, reason(&report));
        }
        drop(turn);
        drop(busy);
        self.ended(&job.name, job.about(), &report, waited);
    }
}

/// Gives all other parties the reason why this one does not go on.
fn abort(job: &JointJob, channels: &mut [Channel], reason: AbortReason) {
    Mesh::new(job.parties.seat.me, channels).abort(reason);
}
