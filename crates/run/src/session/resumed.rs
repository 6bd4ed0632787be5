//! The progress of a run: where it begins or resumes, and the partitions that are done.

use vesica_agree::resume::{self, Begun};
use vesica_core::{
    error::{Error, Result},
    of_others::OfOthers,
};

use super::{READY, Session, circle::Folds};
use crate::standing::{DONE, Limits, Place};

/// The knowledge of all parties about the sets, and about an earlier attempt.
pub(super) struct JointOpening {
    /// The sizes of all sets.
    pub(super) sizes: Vec<u64>,
    /// The facts of the earlier attempt, if the run is resumed.
    pub(super) begun: Option<Begun>,
    /// Partitions that all have done.
    pub(super) done: u64,
}

impl Session<'_> {
    /// Exchanges the sizes of all sets, which are fixed from here on, agrees on where an interrupted run resumes, and
    /// records that it begins, if the rules of this party allow it.
    pub(super) fn begin_jointly(&mut self, mine: u64) -> Result<JointOpening> {
        let Place { begun, done, peer_done } = self.standing.place()?;
        let sizes = self.all_sizes(mine)?;
        let cast = self.circle()?.terms.cast().clone();
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        let done = resume::agree_jointly(begun.as_ref(), done, peer_done, &cast, &mut mesh)?;
        let begun = begun.flatten().filter(|_| done.is_some());
        let of_others = of_others(&sizes, mesh.me());
        if let Some(begun) = &begun {
            let known = begun.peer_keys.iter().zip(of_others.iter());
            let same = known.map(|(known, size)| known == size);
            if let Some((party, _)) = mesh.others().zip(same).find(|(_, is_same)| !is_same) {
                return Err(mesh.to(party).malformed(READY, "not the set of this run").into());
            }
        }
        let warning = self.standing.admit(mine, of_others, begun.as_ref())?;
        warning.iter().for_each(|warning| self.observer.warning(warning));
        Ok(JointOpening { sizes, begun, done: done.unwrap_or_default() })
    }

    /// Returns whether the sets are compared in one piece, which a journal does not keep.
    pub(super) fn is_whole(&self, partitions: usize) -> bool {
        partitions == 1 && !self.standing.is_kept()
    }

    /// Begins or resumes the journal after `done` partitions, and passes each of their pieces to `show`.
    ///
    /// # Errors
    /// As `Standing::begin`.
    pub(super) fn begin_journal(
        &self,
        begun: Begun,
        limits: Limits,
        done: u64,
        show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let partitions = begun.partitions;
        self.standing.begin(begun, done, limits, show)?;
        if let Some(sessions) = self.standing.sessions().filter(|sessions| *sessions > 1) {
            self.observer.note(&goes_on(done, partitions, sessions));
        }
        Ok(())
    }

    /// Begins or resumes the journal of a party whose folds are its whole part. Otherwise as
    /// `Session::begin_journal`.
    pub(super) fn begin_folds(
        &mut self,
        method: &str,
        done: u64,
        show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let circle = self.circle()?;
        let (me, partner) = (circle.me(), circle.terms.cast().partner(circle.me()));
        let Folds { keys, sizes, partitions, seed } = &circle.folds;
        let begun = Begun {
            peer_keys: of_others(keys, me),
            method: method.to_owned(),
            partitions: *partitions as u64,
            seed: *seed,
            line: None,
        };
        let (peer_keys, of_partition) = (keys[partner], sizes[partner] as u64);
        let limits = Limits {
            peer_keys,
            max_peer_keys: self.terms.max_keys(self.parties.role.other()),
            of_partition,
            is_malicious: false,
        };
        self.begin_journal(begun, limits, done, show)
    }

    /// Returns the number of keys of each other party, which is this one in a run of two.
    pub(super) fn peer_keys(&self, of_two: u64) -> OfOthers<u64> {
        match &self.circle {
            None => OfOthers::One(of_two),
            Some(circle) => of_others(&circle.folds.keys, circle.me()),
        }
    }

    /// Records what this party leaves of a partition, and exchanges with all others how many are on their disks.
    pub(super) fn leave(&mut self, piece: &[u8]) -> Result<()> {
        self.standing.add(piece)?;
        self.exchange_done(false).map(drop)
    }

    /// Refuses to conclude before all parties have all partitions on their disks.
    pub(super) fn require_all_done(&mut self) -> Result<()> {
        let all = self.standing.done();
        let done = self.exchange_done(true)?;
        let Some(behind) = done.iter().position(|done| *done != all) else { return Ok(()) };
        const BEHIND: &str = "not all partitions are done";
        let malformed = match self.mesh() {
            None => self.channel.malformed(DONE, BEHIND),
            Some(mut mesh) => {
                let party = mesh.others().nth(behind).ok_or(Error::bug("a party is behind"))?;
                mesh.to(party).malformed(DONE, BEHIND)
            }
        };
        Err(malformed.into())
    }

    /// Exchanges the numbers of partitions on the disk with all other parties.
    fn exchange_done(&mut self, at_once: bool) -> Result<OfOthers<u64>> {
        match &mut self.circle {
            None => self.standing.exchange_done(at_once, self.channel).map(OfOthers::One),
            Some(circle) => {
                let mesh = &mut circle.mesh(self.channel);
                self.standing.exchange_done_jointly(at_once, mesh).map(OfOthers::Several)
            }
        }
    }
}

/// Returns the sizes of the sets of all parties but this one.
pub(super) fn of_others(sizes: &[u64], me: usize) -> OfOthers<u64> {
    let mut others = sizes.to_vec();
    others.remove(me);
    OfOthers::Several(others)
}

/// Describes where a run resumes after an interruption.
fn goes_on(done: u64, partitions: u64, sessions: u32) -> String {
    let place = match done < partitions {
        true => format!("partition {} of {partitions}", done + 1),
        false => format!("the last step: all {partitions} partitions are compared"),
    };
    format!("the run resumes at {place}; it was started {sessions} times")
}
