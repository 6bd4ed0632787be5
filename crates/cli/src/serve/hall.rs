//! The jobs of a service among several parties, and their callers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use vesica::joint::{Met, ServedParties};
use vesica_net::{CancelToken, connect::Lobby};

use crate::{
    exit::Failure,
    log::Facts,
    run::{self, Run},
};

/// A job with an agreement among several parties.
pub struct JointJob {
    pub name: String,
    pub parties: ServedParties,
    pub run: Run,
    pub hall: Arc<Hall>,
}

/// The place of an agreement's callers, which outlives changes of its job.
pub struct Hall {
    lobby: Lobby,
    /// Whether a run gathers or runs. There is one at a time.
    is_busy: AtomicBool,
}

/// A hall's only run, until it is dropped.
pub struct Busy(Arc<Hall>);

impl Hall {
    /// Creates the hall of these parties.
    pub fn new(parties: &ServedParties) -> Self {
        Self { lobby: parties.lobby(), is_busy: AtomicBool::new(false) }
    }

    pub fn lobby(&self) -> &Lobby {
        &self.lobby
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::SeqCst);
    }
}

impl JointJob {
    /// Returns a place for a run of this job, if a party calls this side and no run of its agreement is under way.
    pub fn begin(&self) -> Option<Busy> {
        let hall = &self.hall;
        let begins = hall.lobby.is_called() && !hall.is_busy.swap(true, Ordering::SeqCst);
        begins.then(|| Busy(hall.clone()))
    }

    /// Returns whether parties are joined here that cannot reach each other.
    pub fn joins(&self) -> bool {
        self.hall.lobby.joins()
    }

    /// Returns the facts about this job's run.
    pub fn about(&self) -> Facts {
        let ServedParties { seat, members, .. } = &self.parties;
        let names = members.iter().enumerate().filter(|(party, _)| *party != seat.me);
        let names: Vec<_> = names.map(|(_, member)| member.name.as_str()).collect();
        vec![("job", self.name.as_str().into()), ("parties", names.join(", ").into())]
    }

    /// Connects this side with all parties.
    pub fn gather(&self, leave: &CancelToken) -> Result<Met, Failure> {
        let spec = &self.run.job;
        let me = self.run.identity()?;
        let partnership = spec.partnership(|| Ok::<_, Failure>(me.clone()))?;
        let partnership =
            partnership.ok_or(Failure::bug("a job that is served has an agreement"))?;
        let print = me.fingerprint();
        let meeting = run::meeting(&me, &print, &spec.connection, leave, &|_| {});
        Ok(self.parties.meet(&self.hall.lobby, &meeting, &partnership)?)
    }
}
