//! The point from which an interrupted run resumes.
//!
//! All parties always state whether they keep a journal. They name its run by a hash of the facts agreed on when it
//! began, and state the number of partitions that are done. A run resumes after the partitions that all have done. A
//! party may not go back behind partitions that it has reported as done, because it could use other keys in the
//! partitions that are compared again. The messages use connections on which each party has proven its identity.

use serde::{Deserialize, Serialize};
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    of_others::OfOthers,
};
use vesica_net::{Channel, Mesh};

use crate::joint::Cast;

/// The facts that all parties agreed on when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Distinct keys of each other party.
    pub peer_keys: OfOthers<u64>,
    /// The method's name.
    pub method: String,
    /// The number of partitions.
    pub partitions: u64,
    /// The seed of the run.
    pub seed: [u8; 32],
    /// The line of this side's ledger at which the run began, if it is under an agreement.
    #[serde(default)]
    pub line: Option<u64>,
}

const RESUME: &str = "vesica/resume";

/// Bytes of a party's state, of the hash, and of the number.
const LEN: usize = 1 + 32 + 8;

/// This party keeps no journal.
const NONE: u8 = 0;

/// It begins one.
const NEW: u8 = 1;

/// It has one.
const BEGUN: u8 = 2;

const MALFORMED: &str = "not a point from which a run can resume";

/// The state of a party's journal, as it says it.
#[derive(Clone, Copy)]
struct JournalState([u8; LEN]);

/// A party with which this one cannot resume, by its place among the others, and the reason.
struct Disagreement {
    other: usize,
    difference: Difference,
}

impl JournalState {
    /// Returns the state of a party that has done this number of partitions of its journal's run.
    fn new(begun: Option<&Option<Begun>>, done: u64) -> Self {
        let (word, run) = match begun {
            None => (NONE, [0; 32]),
            Some(None) => (NEW, [0; 32]),
            Some(Some(begun)) => (BEGUN, hash(begun)),
        };
        let mut message = [0; LEN];
        message[0] = word;
        message[1..33].copy_from_slice(&run);
        message[33..].copy_from_slice(&done.to_le_bytes());
        Self(message)
    }

    fn word(&self) -> u8 {
        self.0[0]
    }

    /// Returns the state and the hash of the run.
    fn run(&self) -> &[u8] {
        &self.0[..33]
    }

    fn done(&self) -> u64 {
        self.0[33..].try_into().map(u64::from_le_bytes).unwrap_or_default()
    }

    /// Returns whether a party can be in this state.
    fn is_sound(&self) -> bool {
        match self.word() {
            BEGUN => true,
            NONE | NEW => self.0[1..] == [0; LEN - 1],
            _ => false,
        }
    }

    /// Returns the number of partitions that all parties have done, or that the run begins: `None`.
    ///
    /// If none has done a partition, one may have been interrupted before its journal identified the run. Such a run
    /// begins again. `confirmed` is the number of partitions that all others have reported as done earlier.
    fn point(
        &self,
        others: &[Self],
        confirmed: u64,
    ) -> std::result::Result<Option<u64>, Disagreement> {
        let differs = |theirs: &Self| theirs.run() != self.run();
        let Some(other) = others.iter().position(differs) else {
            if let Some(other) = others.iter().position(|theirs| theirs.done() < confirmed) {
                let difference = Difference {
                    what: "the run to resume",
                    here: format!("the other side had done {confirmed} partitions"),
                    there: format!(
                        "{} are done: its journal is missing or an older copy; remove the journals on {} to begin a new run, \
                         which counts as one",
                        others[other].done(),
                        of_all(others)
                    ),
                };
                return Err(Disagreement { other, difference });
            }
            let least = others.iter().map(Self::done).fold(self.done(), u64::min);
            return Ok((self.word() == BEGUN).then_some(least));
        };
        let mut all = others.iter().chain([self]);
        if all.all(|party| party.done() == 0 && party.word() != NONE) {
            return Ok(None);
        }
        let all = of_all(others);
        let said = |party: &Self, other: &Self| match party.word() {
            NONE => {
                format!("none; name a journal with --resume on {all} or on {}", none_of(others))
            }
            NEW => "a new run".to_owned(),
            _ if other.word() == BEGUN => {
                format!("another run; remove the journals on {all} to start over")
            }
            _ => "a run that has begun; remove its journal to start over".to_owned(),
        };
        let theirs = &others[other];
        let (here, there) = (said(self, theirs), said(theirs, self));
        let difference = Difference { what: "the run to resume", here, there };
        Err(Disagreement { other, difference })
    }
}

/// Returns the words for this party and the others.
fn of_all(others: &[JournalState]) -> &'static str {
    if others.len() > 1 { "all sides" } else { "both sides" }
}

/// Returns the words for neither this party nor the others.
fn none_of(others: &[JournalState]) -> &'static str {
    if others.len() > 1 { "none" } else { "neither" }
}

/// The state of this side's journal, which the other side knows.
pub struct Said(JournalState);

impl Said {
    /// Sends the state of the journal, if there is one, and the number of partitions that this side has done.
    ///
    /// # Errors
    /// Every error of a send.
    pub fn send(begun: Option<&Option<Begun>>, done: u64, channel: &mut Channel) -> Result<Self> {
        let state = JournalState::new(begun, done);
        channel.send(RESUME, &state.0)?;
        Ok(Self(state))
    }

    /// Agrees on the number of partitions that both sides have done, or that the run begins: `None`. `confirmed` is the
    /// number of partitions that the other side has reported as done earlier.
    ///
    /// # Errors
    /// [`Error::Terms`] if the sides keep journals of different runs, only one side keeps a journal, or the other side
    /// has done less than it reported earlier; and every error of a receive.
    pub fn agree(self, confirmed: u64, channel: &mut Channel) -> Result<Option<u64>> {
        let mut theirs = JournalState([0; LEN]);
        channel.recv_into(RESUME, &mut theirs.0)?;
        if !theirs.is_sound() {
            return Err(channel.malformed(RESUME, MALFORMED).into());
        }
        let point = self.0.point(&[theirs], confirmed);
        point.map_err(|Disagreement { difference, .. }| Error::Terms(vec![difference]))
    }
}

/// Exchanges such states with all of several parties, and agrees on the number of partitions that all have done, or
/// that the run begins: `None`. `confirmed` is the number of partitions that all others have reported as done earlier.
///
/// # Errors
/// As [`Said::send`] and [`Said::agree`], with the name of a party.
pub fn agree_jointly(
    begun: Option<&Option<Begun>>,
    done: u64,
    confirmed: u64,
    cast: &Cast,
    mesh: &mut Mesh<'_>,
) -> Result<Option<u64>> {
    let ours = JournalState::new(begun, done);
    let all = mesh.all(RESUME, ours.0)?;
    let parties: Vec<_> = mesh.others().collect();
    let others: Vec<_> = parties.iter().map(|party| JournalState(all[*party])).collect();
    if let Some(other) = others.iter().position(|theirs| !theirs.is_sound()) {
        let malformed = mesh.to(parties[other]).malformed(RESUME, MALFORMED);
        return Err(Error::from(malformed).of_party(cast.name(parties[other])));
    }
    ours.point(&others, confirmed).map_err(|Disagreement { other, difference }| {
        Error::Terms(vec![difference]).of_party(cast.name(parties[other]))
    })
}

/// Returns a hash that is the same on all parties of a run, and different for any other run, because the seed is.
fn hash(begun: &Begun) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 resumed run");
    hasher.update(&begun.seed).update(&begun.partitions.to_le_bytes());
    *hasher.update(begun.method.as_bytes()).finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use vesica_core::error::Class;
    use vesica_net::transport::memory;

    use super::*;
    use crate::joint::NamedParty;

    fn begun(seed: u8) -> Option<Begun> {
        let method = "rr22".to_owned();
        Some(Begun {
            peer_keys: OfOthers::One(u64::from(seed)),
            method,
            partitions: 8,
            seed: [seed; 32],
            line: None,
        })
    }

    type Side = (Option<Option<Begun>>, u64);

    fn agreed(here: Side, there: Side) -> [Result<Option<u64>>; 2] {
        let (a, b) = memory::pair();
        let side = |(begun, done): Side, end| {
            let mut channel = Channel::new(end).with_stall_timeout(Duration::from_secs(20));
            Said::send(begun.as_ref(), done, &mut channel)?.agree(0, &mut channel)
        };
        thread::scope(|scope| {
            let there = scope.spawn(move || side(there, b));
            [side(here, a), there.join().unwrap()]
        })
    }

    #[test]
    fn a_run_resumes_after_partitions_that_both_have_done() {
        for (here, there, done) in [
            ((None, 0), (None, 0), None),
            ((Some(None), 0), (Some(None), 0), None),
            ((Some(begun(1)), 5), (Some(begun(1)), 4), Some(4)),
            ((Some(begun(1)), 0), (Some(begun(1)), 0), Some(0)),
            ((Some(None), 0), (Some(begun(1)), 0), None),
            ((Some(begun(2)), 0), (Some(begun(1)), 0), None),
        ] {
            for outcome in agreed(here, there) {
                assert_eq!(outcome.unwrap(), done);
            }
        }
    }

    #[test]
    fn different_points_to_resume_from_are_an_error_on_both_sides() {
        for (here, there) in [
            ((None, 0), (Some(None), 0)),
            ((None, 0), (Some(begun(1)), 3)),
            ((Some(None), 0), (Some(begun(1)), 3)),
            ((Some(begun(1)), 3), (Some(begun(2)), 3)),
            ((Some(begun(1)), 0), (Some(begun(2)), 1)),
        ] {
            for outcome in agreed(here, there) {
                assert_eq!(outcome.unwrap_err().class(), Class::Terms);
            }
        }
    }

    #[test]
    fn each_side_learns_what_both_reported() {
        const NOTHING: &str = "none; name a journal with --resume";
        const BEGINS: &str = "a new run";
        const HAS_BEGUN: &str = "a run that has begun; remove its journal";
        const ANOTHER: &str = "another run; remove the journals on both sides";
        for (here, there, said) in [
            ((None, 0), (Some(None), 0), [NOTHING, BEGINS]),
            ((Some(None), 0), (Some(begun(1)), 3), [BEGINS, HAS_BEGUN]),
            ((None, 0), (Some(begun(1)), 3), [NOTHING, HAS_BEGUN]),
            ((Some(begun(1)), 3), (Some(begun(2)), 3), [ANOTHER; 2]),
        ] {
            let [a, b] = agreed(here, there).map(|side| side.unwrap_err().to_string());
            for (told, [here, there]) in [(a, said), (b, [said[1], said[0]])] {
                let (before, after) = told.split_once("; there: ").unwrap();
                assert!(before.contains(&format!("(here: {here}")), "{told}");
                assert!(after.starts_with(there), "{told}");
            }
        }
    }

    #[test]
    fn another_seed_method_or_number_of_partitions_is_another_run() {
        let this = begun(1).unwrap();
        let others = [
            Begun { seed: [2; 32], ..this.clone() },
            Begun { method: "dh".to_owned(), ..this.clone() },
            Begun { partitions: 9, ..this.clone() },
        ];
        assert!(others.iter().all(|other| hash(other) != hash(&this)));
        // Each side's facts about the other may differ.
        assert_eq!(hash(&Begun { peer_keys: OfOthers::One(9), ..this.clone() }), hash(&this));
    }

    /// A side may not report less than it did before, or lose its journal.
    #[test]
    fn a_side_does_not_go_back_behind_what_it_confirmed() {
        for (theirs, done, is_allowed) in [
            (Some(begun(1)), 4, true),
            (Some(begun(1)), 3, true),
            (Some(begun(1)), 2, false),
            (Some(begun(1)), 0, false),
            (Some(None), 0, false),
        ] {
            let (a, b) = memory::pair();
            let outcome = thread::scope(|scope| {
                scope.spawn(move || {
                    let mut peer = Channel::new(b);
                    let said = Said::send(theirs.as_ref(), done, &mut peer).unwrap();
                    let _ = said.agree(0, &mut peer);
                });
                let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(20));
                let said = Said::send(Some(&begun(1)), 5, &mut channel).unwrap();
                said.agree(3, &mut channel)
            });
            match is_allowed {
                true => assert_eq!(outcome.unwrap(), Some(done)),
                false => assert_eq!(outcome.unwrap_err().class(), Class::Terms, "{done}"),
            }
        }
    }

    #[test]
    fn unknown_states_are_refused() {
        for (word, hash, done) in [(3, 0, 0), (NEW, 1, 0), (NONE, 0, 1)] {
            let (a, b) = memory::pair();
            let mut peer = Channel::new(b);
            let message = [&[word][..], &[hash; 32], &[done; 8]].concat();
            peer.send(RESUME, &message).unwrap();
            peer.flush().unwrap();
            let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(20));
            let said = Said::send(Some(&None), 0, &mut channel).unwrap();
            let error = said.agree(0, &mut channel).unwrap_err();
            assert_eq!(error.class(), Class::Peer);
        }
    }

    /// Three parties with these journals, and what each makes of them.
    fn agreed_jointly(sides: [Side; 3], confirmed: u64) -> Vec<Result<Option<u64>>> {
        let party = |name: &str| NamedParty { name: name.into(), fingerprint: name.into() };
        let parties = ["shop", "club", "bank"].map(party).into();
        let cast = &Cast::new(parties, "shop", "bank").unwrap();
        let mut ends: [Vec<Channel>; 3] = Default::default();
        for (left, right) in [(0, 1), (0, 2), (1, 2)] {
            let (one, other) = memory::pair();
            ends[left].push(Channel::new(one));
            ends[right].push(Channel::new(other));
        }
        thread::scope(|scope| {
            let started = ends.into_iter().zip(sides).enumerate();
            let started = started.map(|(me, (mut channels, (begun, done)))| {
                scope.spawn(move || {
                    let mesh = &mut Mesh::new(me, &mut channels);
                    agree_jointly(begun.as_ref(), done, confirmed, cast, mesh)
                })
            });
            let started: Vec<_> = started.collect();
            started.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn several_parties_resume_after_partitions_that_all_have_done() {
        let run = || Some(begun(1));
        for (sides, done) in [
            ([(None, 0), (None, 0), (None, 0)], None),
            ([(Some(None), 0), (Some(None), 0), (Some(None), 0)], None),
            ([(run(), 5), (run(), 4), (run(), 6)], Some(4)),
            ([(run(), 0), (run(), 0), (run(), 3)], Some(0)),
            ([(run(), 0), (Some(None), 0), (Some(begun(2)), 0)], None),
        ] {
            for outcome in agreed_jointly(sides, 0) {
                assert_eq!(outcome.unwrap(), done);
            }
        }
    }

    #[test]
    fn each_of_several_parties_hears_who_has_another_journal() {
        let run = || Some(begun(1));
        const MISSING: &str = "(here: a run that has begun; remove its journal";
        const NEW_HERE: &str = "(here: a new run; there: ";
        const NOTHING: &str =
            "(here: none; name a journal with --resume on all sides or on none; there: ";
        const OTHER: &str = "(here: another run; remove the journals on all sides to start over";
        for (sides, said) in [
            (
                [(run(), 2), (Some(None), 0), (run(), 2)],
                [("club: ", MISSING), ("shop: ", NEW_HERE), ("club: ", MISSING)],
            ),
            (
                [(None, 0), (Some(None), 0), (None, 0)],
                [("club: ", NOTHING), ("shop: ", NEW_HERE), ("club: ", NOTHING)],
            ),
            (
                [(run(), 2), (run(), 2), (Some(begun(2)), 2)],
                [("bank: ", OTHER), ("bank: ", OTHER), ("shop: ", OTHER)],
            ),
        ] {
            for (outcome, (party, said)) in agreed_jointly(sides, 0).into_iter().zip(said) {
                let error = outcome.unwrap_err();
                assert_eq!(error.class(), Class::Terms);
                let error = error.to_string();
                assert!(error.starts_with(party) && error.contains(said), "{error}");
            }
        }
        // The last one has done less than it reported.
        let ended = agreed_jointly([(run(), 4), (run(), 3), (run(), 2)], 3);
        for outcome in &ended[..2] {
            let error = outcome.as_ref().unwrap_err().to_string();
            assert!(error.contains("bank: ") && error.contains("2 are done"), "{error}");
        }
    }
}
