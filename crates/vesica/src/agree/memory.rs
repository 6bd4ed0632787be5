//! Whether both sides have the memory for a method.
//!
//! Each entry of the catalogue predicts what its parties take. Once the sizes of both sets are known, each side compares
//! that with its budget, less what it holds already (its table and keys among it), and tells the other for which
//! candidates it has enough. What does not fit on both sides is not prepared.

use vesica_net::Channel;
use vesica_planner::Candidate;

use crate::{
    difference::Difference,
    error::{Error, Result},
    host,
    words::bytes,
};

const ROOM: &str = "vesica/room";

/// The memory that a run may use on this side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// In total.
    total: u64,
    /// What this process does not use yet.
    left: u64,
}

impl Budget {
    /// What the user allowed, or else three quarters of what this process may use.
    pub(crate) fn new(allowed: Option<u64>) -> Self {
        let total = allowed.unwrap_or_else(host::budget);
        Self { total, left: total.saturating_sub(host::resident()) }
    }

    /// Whether this many bytes fit.
    fn allows(self, needed: f64) -> bool {
        // The system may refuse what the budget allows. A reservation alone costs nothing.
        needed <= self.left as f64 && Vec::<u8>::new().try_reserve_exact(needed as usize).is_ok()
    }

    /// What the user is told of something that does not fit.
    fn refusal(self, key: &str, needed: f64) -> String {
        let Self { total, left } = self;
        let held = bytes(total.saturating_sub(left) as f64);
        format!(
            "`{key}` would use about {} here, beside {held} that this side holds already, and the limit is {}; \
             raise --memory, use smaller sets, or choose another protocol on both sides",
            bytes(needed),
            bytes(total as f64)
        )
    }
}

/// The default budget: three quarters of what this process may use.
pub fn default() -> u64 {
    host::memory() / 4 * 3
}

/// Those of the candidates, which are the same on both sides, that fit into both sides' budgets: at least one.
///
/// # Errors
/// [`Error::Terms`] where none does, and what any exchange can meet.
pub(crate) fn agree(
    candidates: &[Candidate],
    receives: bool,
    budget: Budget,
    channel: &mut Channel,
) -> Result<Vec<Candidate>> {
    let needed = |candidate: &Candidate| candidate.memory.of(receives);
    let fit: Vec<u8> = candidates.iter().map(|c| budget.allows(needed(c)).into()).collect();
    let mut theirs = vec![0; fit.len()];
    channel.exchange(ROOM, &fit, &mut theirs)?;
    if theirs.iter().any(|answer| *answer > 1) {
        return Err(channel.malformed(ROOM, "neither yes nor no").into());
    }
    let answers = || candidates.iter().zip(fit.iter().zip(&theirs));
    let both: Vec<_> = answers().filter(|(_, fits)| *fits == (&1, &1)).map(|(c, _)| *c).collect();
    if !both.is_empty() {
        return Ok(both);
    }
    let least = answers().min_by(|(x, _), (y, _)| x.memory.most().total_cmp(&y.memory.most()));
    let (least, (here, there)) = least.ok_or(Error::Bug("there is nothing to choose from"))?;
    let key = least.key;
    let enough = format!("enough for `{key}`");
    let here = match here {
        0 => budget.refusal(key, needed(least)),
        _ => enough.clone(),
    };
    let there = match there {
        0 => format!("not enough for `{key}` with sets of these sizes"),
        _ => enough,
    };
    Err(Error::Terms(vec![Difference { what: "memory", here, there }]))
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use vesica_net::transport::memory;
    use vesica_psi::{Adversary, Memory, Sizes};

    use super::*;
    use crate::Class;

    fn candidates() -> Vec<Candidate> {
        let sizes = Sizes { sender: 1 << 10, receiver: 1 << 10 };
        let mut candidates = Candidate::protocols(sizes, Adversary::SemiHonest);
        candidates.truncate(3);
        for (candidate, gibibytes) in candidates.iter_mut().zip([8.0, 2.0, 4.0]) {
            let bytes = gibibytes * (1u64 << 30) as f64;
            candidate.memory = Memory { sender: bytes, receiver: bytes / 2.0 };
        }
        candidates
    }

    /// What the sender and the receiver come to with budgets of so many GiB.
    fn agreed(sender: u64, receiver: u64) -> [Result<Vec<&'static str>>; 2] {
        let candidates = &candidates();
        let (a, b) = memory::pair();
        let side = move |receives, gibibytes: u64, end| {
            let mut channel = Channel::new(end).with_stall_timeout(Duration::from_secs(20));
            let budget = Budget { total: gibibytes << 30, left: gibibytes << 30 };
            let agreed = agree(candidates, receives, budget, &mut channel);
            agreed.map(|agreed| agreed.iter().map(|candidate| candidate.key).collect())
        };
        thread::scope(|scope| {
            let there = scope.spawn(move || side(true, receiver, b));
            [side(false, sender, a), there.join().unwrap()]
        })
    }

    #[test]
    fn what_does_not_fit_either_side_is_left_out_by_both() {
        let keys: Vec<_> = candidates().iter().map(|candidate| candidate.key).collect();
        for (budgets, fit) in [((8, 8), vec![0, 1, 2]), ((4, 8), vec![1, 2]), ((8, 1), vec![1])] {
            for side in agreed(budgets.0, budgets.1) {
                assert_eq!(side.unwrap(), fit.iter().map(|i| keys[*i]).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn where_nothing_fits_both_say_what_is_needed_and_what_there_is() {
        let key = candidates()[1].key;
        let [sender, receiver] = agreed(1, 8).map(Result::unwrap_err);
        assert_eq!((sender.class(), receiver.class()), (Class::Terms, Class::Terms));
        let (sender, receiver) = (sender.to_string(), receiver.to_string());
        let used = format!("`{key}` would use about 2.0 GiB here");
        for said in [&used[..], "limit is 1.0 GiB", "raise --memory", "there: enough for"] {
            assert!(sender.contains(said), "{said} in {sender}");
        }
        assert!(receiver.contains("there: not enough for") && receiver.contains("here: enough"));
    }

    #[test]
    fn what_the_process_holds_counts() {
        let holds = vec![1u8; 64 << 20];
        let budget = Budget::new(Some(1 << 30));
        assert!(budget.left < (1 << 30) - (holds.len() as u64 / 2));
        assert!(!budget.allows((1u64 << 30) as f64) && budget.allows(1e6));
        assert!(!Budget::new(Some(u64::MAX)).allows(1e18), "the system has not that much");
    }
}
