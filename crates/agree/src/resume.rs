//! The point from which an interrupted run resumes.
//!
//! Both sides always state whether they keep a journal. They name its run by a hash of the facts agreed on when it
//! began, and state the number of partitions that are done. A run resumes after the partitions that both have done. A
//! side may not go back behind partitions that it has reported as done, because it could use other keys in the
//! partitions that are compared again. The messages use a connection on which each side has proven its identity.

use serde::{Deserialize, Serialize};
use vesica_core::{
    difference::Difference,
    error::{Error, Result},
};
use vesica_net::Channel;

/// The facts that both sides agreed on when the run began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begun {
    /// Distinct keys of the other side.
    pub peer_keys: u64,
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

/// Bytes of a side's state, of the hash, and of the number.
const LEN: usize = 1 + 32 + 8;

/// This side keeps no journal.
const NONE: u8 = 0;

/// It begins one.
const NEW: u8 = 1;

/// It has one.
const BEGUN: u8 = 2;

/// This side's statement about its journal.
pub struct Said {
    message: [u8; LEN],
    done: u64,
}

impl Said {
    /// Sends the state of the journal, if there is one, and the number of partitions that this side has done.
    ///
    /// # Errors
    /// Every error of a send.
    pub fn send(begun: Option<&Option<Begun>>, done: u64, channel: &mut Channel) -> Result<Self> {
        let (word, run) = match begun {
            None => (NONE, [0; 32]),
            Some(None) => (NEW, [0; 32]),
            Some(Some(begun)) => (BEGUN, hash(begun)),
        };
        let mut message = [0; LEN];
        message[0] = word;
        message[1..33].copy_from_slice(&run);
        message[33..].copy_from_slice(&done.to_le_bytes());
        channel.send(RESUME, &message)?;
        Ok(Self { message, done })
    }

    /// Agrees on the number of partitions that both sides have done, or that the run begins: `None`.
    ///
    /// If neither has done a partition, one may have been interrupted before its journal identified the run. Such a run
    /// begins again. `confirmed` is the number of partitions that the other side has reported as done earlier.
    ///
    /// # Errors
    /// [`Error::Terms`] if the sides keep journals of different runs, only one side keeps a journal, or the other side
    /// has done less than it reported earlier; and every error of a receive.
    pub fn agree(self, confirmed: u64, channel: &mut Channel) -> Result<Option<u64>> {
        let Self { message: ours, done } = self;
        let word = ours[0];
        let mut theirs = [0; LEN];
        channel.recv_into(RESUME, &mut theirs)?;
        let their_done = theirs[33..].try_into().map(u64::from_le_bytes).unwrap_or_default();
        if theirs[0] > BEGUN || theirs[0] != BEGUN && (theirs[1..33] != [0; 32] || their_done != 0)
        {
            return Err(channel
                .malformed(RESUME, "not a point from which a run can resume")
                .into());
        }
        let is_new = done == 0 && their_done == 0 && word != NONE && theirs[0] != NONE;
        if theirs[..33] == ours[..33] {
            if their_done < confirmed {
                return Err(Error::Terms(vec![Difference {
                    what: "the run to resume",
                    here: format!("the other side had done {confirmed} partitions"),
                    there: format!(
                        "{their_done} are done: its journal is missing or an older copy; remove the journals on both sides to begin \
                         a new run, which counts as one"
                    ),
                }]));
            }
            return Ok((word == BEGUN).then(|| done.min(their_done)));
        } else if is_new {
            return Ok(None);
        }
        let said = |word, other| {
            let said = match word {
                NONE => "none; name a journal with --resume on both sides or on neither",
                NEW => "a new run",
                _ if other == BEGUN => {
                    "another run; remove the journals on both sides to start over"
                }
                _ => "a run that has begun; remove its journal to start over",
            };
            said.to_owned()
        };
        let (here, there) = (said(word, theirs[0]), said(theirs[0], word));
        Err(Error::Terms(vec![Difference { what: "the run to resume", here, there }]))
    }
}

/// Returns a hash that is the same on both sides of a run, and different for any other run, because the seed is.
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

    fn begun(seed: u8) -> Option<Begun> {
        let method = "rr22".to_owned();
        Some(Begun {
            peer_keys: u64::from(seed),
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
        assert_eq!(hash(&Begun { peer_keys: 9, ..this.clone() }), hash(&this));
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
}
