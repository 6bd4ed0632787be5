//! The check that both sides have the memory for a method.
//!
//! Each entry of the catalogue predicts the memory of its parties. Once the sizes of both sets are known, each side
//! compares this with its budget, less the memory in use (including its table and keys), and sends the other the
//! candidates for which it has enough. If sets can be compared in partitions, it also sends the first [`Rung`] on which
//! each candidate fits. A method that does not fit on both sides is not prepared.

use std::cell::OnceCell;

use vesica_core::{
    difference::Difference,
    error::{Error, Result},
    host,
    words::bytes,
};
use vesica_net::Channel;
use vesica_planner::Candidate;

use crate::choice::PlannerInputs;

const ROOM: &str = "vesica/room";

/// The memory that a run may use on this side.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// In total.
    total: u64,
    /// The part that this process does not use yet.
    left: u64,
}

impl Budget {
    /// Creates the budget of a run. The memory that a process holds is known, but not the share of each of several
    /// runs: a quarter of a run's part is for its keys, which go to disk if their hashes take more than an eighth.
    pub fn new(inputs: &PlannerInputs) -> Self {
        let total = inputs.memory.unwrap_or_else(host::budget);
        let in_use = if inputs.is_part { total / 4 } else { host::held() };
        Self { total, left: total.saturating_sub(in_use) }
    }

    /// Returns whether this many bytes fit.
    fn allows(self, needed: f64) -> bool {
        // The system may refuse memory within the budget. A reservation by itself costs nothing.
        needed <= self.left as f64 && Vec::<u8>::new().try_reserve_exact(needed as usize).is_ok()
    }

    /// Returns how many times this many bytes fit.
    pub fn times(self, needed: f64) -> usize {
        (self.left as f64 / needed) as usize
    }

    /// Describes a protocol that does not fit: the only one that could run, or the one that needs the least memory.
    fn refusal(self, key: &str, needed: f64, is_only: bool) -> String {
        let Self { total, left } = self;
        let held = bytes(total.saturating_sub(left) as f64);
        let least = if is_only { "" } else { ", the least of all possible protocols" };
        format!(
            "`{key}` needs about {} here{least}, in addition to {held} in use, and the limit is {}; \
             raise --memory, use smaller sets, or choose another protocol on both sides",
            bytes(needed),
            bytes(total as f64)
        )
    }
}

/// The ways to run in a number of partitions.
#[derive(Debug, Clone, Default)]
pub struct Rung {
    /// The methods that can run, in this many partitions.
    pub candidates: Vec<Candidate>,
    /// Bytes that this side needs besides the candidate's party.
    pub beside: f64,
}

/// The rungs from the fewest partitions to the most, the same on both sides. A rung is computed on first use, because
/// finding the size of a partition takes milliseconds.
pub struct Ladder<'a> {
    rungs: Vec<OnceCell<Rung>>,
    make: Box<dyn Fn(usize) -> Rung + 'a>,
}

impl<'a> Ladder<'a> {
    /// Creates a ladder of this rung and `more` others, each computed by `make`.
    pub fn new(first: Rung, more: usize, make: impl Fn(usize) -> Rung + 'a) -> Self {
        let mut rungs = vec![OnceCell::from(first)];
        rungs.resize_with(1 + more, OnceCell::new);
        Self { rungs, make: Box::new(make) }
    }

    fn len(&self) -> usize {
        self.rungs.len()
    }

    fn get(&self, place: usize) -> &Rung {
        self.rungs[place].get_or_init(|| (self.make)(place))
    }

    /// Returns the names of the candidates, if any rung has some.
    fn keys(&self) -> Option<Vec<&'static str>> {
        let first = self.rungs().find(|rung| !rung.candidates.is_empty())?;
        Some(first.candidates.iter().map(|candidate| candidate.key).collect())
    }

    /// Returns the place of the first rung from `least` on on which the candidate fits.
    fn place(
        &self,
        key: &str,
        least: usize,
        fits: impl Fn(&Rung, &Candidate) -> bool,
    ) -> Option<usize> {
        let least = least.min(self.len() - 1);
        let mut rungs = self.from(least);
        let found = rungs.find(|(_, rung)| rung.named(key).is_some_and(|way| fits(rung, &way)));
        found.map(|(place, _)| place)
    }

    /// Returns the candidate with as many partitions as it has on the first rung from `place` on on which its sets are
    /// not too large.
    fn way(&self, key: &str, place: usize) -> Option<Candidate> {
        let mut ways = self.from(place).filter_map(|(_, rung)| rung.named(key)).peekable();
        let first = ways.peek().copied();
        ways.find(|way| !is_large(way)).or(first)
    }

    /// Returns the rungs, from the fewest partitions to the most.
    pub fn rungs(&self) -> impl Iterator<Item = &Rung> {
        self.from(0).map(|(_, rung)| rung)
    }

    /// Returns every candidate that fits, in as few partitions as it fits in and is not too large for.
    pub fn fitting(&self, fits: impl Fn(&Candidate) -> bool) -> Vec<Candidate> {
        let keys = self.keys().unwrap_or_default();
        let way = |key| self.way(key, self.place(key, 0, |_, candidate| fits(candidate))?);
        keys.into_iter().filter_map(way).collect()
    }

    /// Returns the rungs from this place on.
    fn from(&self, place: usize) -> impl Iterator<Item = (usize, &Rung)> {
        (place..self.len()).map(|place| (place, self.get(place)))
    }
}

/// The maximum number of items in sets that are compared as a whole, if memory allows it.
const WHOLE: usize = 1 << 23;

/// The maximum number of items in a partition: a protocol's random reads then mostly stay in a processor's cache.
const PART: usize = 1 << 21;

/// Returns whether more partitions would be better, although memory does not require them.
fn is_large(candidate: &Candidate) -> bool {
    let most = if candidate.partitions == 1 { WHOLE } else { PART };
    candidate.sizes.sender.max(candidate.sizes.receiver) > most
}

impl Rung {
    fn named(&self, key: &str) -> Option<Candidate> {
        self.candidates.iter().find(|candidate| candidate.key == key).copied()
    }
}

/// The place of a candidate that does not fit at all.
const NOWHERE: u8 = u8::MAX;

/// This side's statement of its memory.
pub struct Room<'l> {
    ladder: &'l Ladder<'l>,
    /// The candidates of the first rung that has any.
    keys: Vec<&'static str>,
    /// The first rung on which each of them fits here.
    ours: Vec<u8>,
    receives: bool,
    budget: Budget,
}

impl<'l> Room<'l> {
    /// Sends the first rung on which each candidate fits into this side's budget. `least` is the first rung that this
    /// side accepts.
    ///
    /// # Errors
    /// [`Error::Terms`] if no rung has a candidate, and every error of a send.
    pub fn send(
        ladder: &'l Ladder<'l>,
        least: usize,
        receives: bool,
        budget: Budget,
        channel: &mut Channel,
    ) -> Result<Self> {
        let keys = ladder.keys().ok_or_else(nothing)?;
        let mut this = Self { ladder, keys, ours: Vec::new(), receives, budget };
        let fits = |rung: &Rung, way: &Candidate| budget.allows(this.needed(rung, way));
        let place = |key: &&'static str| {
            ladder.place(key, least, fits).map_or(NOWHERE, |place| place as u8)
        };
        this.ours = this.keys.iter().map(place).collect();
        channel.send(ROOM, &this.ours)?;
        Ok(this)
    }

    /// Returns whether there is more than one candidate.
    pub fn is_a_choice(&self) -> bool {
        self.keys.len() > 1
    }

    /// Receives the other side's statement.
    ///
    /// # Errors
    /// Every error of a receive.
    pub fn receive(&self, channel: &mut Channel) -> Result<Vec<u8>> {
        let mut theirs = vec![0; self.ours.len()];
        channel.recv_into(ROOM, &mut theirs)?;
        if theirs.iter().any(|place| *place != NOWHERE && usize::from(*place) >= self.ladder.len())
        {
            return Err(channel.malformed(ROOM, "not a number of partitions").into());
        }
        Ok(theirs)
    }

    /// Returns the candidates for which both sides have the memory, each from the first rung on which it fits both and
    /// its sets are not too large. So one that needs more memory than another has more partitions, and is not left out.
    ///
    /// # Errors
    /// [`Error::Terms`] if nothing fits.
    pub fn agree(&self, theirs: &[u8]) -> Result<Vec<Candidate>> {
        let Self { ladder, keys, ours, .. } = self;
        let both = ours.iter().zip(theirs).map(|(ours, theirs)| (*ours).max(*theirs));
        let fit = keys.iter().zip(both).filter(|(_, place)| *place != NOWHERE);
        let way = |(key, place): (&&str, u8)| ladder.way(key, place.into());
        let candidates: Vec<_> = fit.filter_map(way).collect();
        if candidates.is_empty() { Err(self.refusal(theirs)) } else { Ok(candidates) }
    }

    /// Returns the memory that a candidate needs on this side.
    fn needed(&self, rung: &Rung, candidate: &Candidate) -> f64 {
        rung.beside + candidate.memory.of(self.receives)
    }

    /// Returns the error if no candidate fits; it names the one that needs the least memory on the last rung.
    fn refusal(&self, theirs: &[u8]) -> Error {
        let Self { ladder, keys, ours, budget, .. } = self;
        let last = ladder.rungs().filter(|rung| !rung.candidates.is_empty()).last();
        let Some(last) = last else { return nothing() };
        let by_memory =
            |x: &&Candidate, y: &&Candidate| x.memory.most().total_cmp(&y.memory.most());
        let Some(least) = last.candidates.iter().min_by(by_memory) else { return nothing() };
        let key = least.key;
        let of_key = |places: &[u8]| {
            let place = keys.iter().zip(places).find(|(named, _)| **named == key);
            place.is_some_and(|(_, place)| *place != NOWHERE)
        };
        let enough = format!("enough for `{key}`");
        let here = match of_key(ours) {
            false => {
                let is_only = last.candidates.len() == 1;
                budget.refusal(key, self.needed(last, least), is_only)
            }
            true => enough.clone(),
        };
        let there = match of_key(theirs) {
            false => format!("not enough for `{key}` with sets of this size"),
            true => enough,
        };
        Error::Terms(vec![Difference { what: "memory", here, there }])
    }
}

/// Returns the error if no protocol accepts sets of these sizes, in any number of partitions.
fn nothing() -> Error {
    let none = "no protocol accepts sets of these sizes, as a whole or in partitions".to_owned();
    Error::Terms(vec![Difference::of_both("sizes of the sets", none)])
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use vesica_core::error::Class;
    use vesica_net::transport::memory;
    use vesica_psi::{Adversary, Memory, Sizes};

    use super::*;

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

    /// Returns the remaining candidates on which the sender and the receiver agree, with their numbers of partitions,
    /// for budgets of this many bytes. The sender accepts no rung before `least`.
    fn settled(
        rungs: &[Rung],
        least: usize,
        sender: u64,
        receiver: u64,
    ) -> [Result<Vec<(&'static str, usize)>>; 2] {
        let (a, b) = memory::pair();
        let side = move |receives, bytes: u64, least, end| {
            let mut channel = Channel::new(end).with_stall_timeout(Duration::from_secs(20));
            let budget = Budget { total: bytes, left: bytes };
            let more = rungs.len() - 1;
            let ladder = Ladder::new(rungs[0].clone(), more, |place| rungs[place].clone());
            let room = Room::send(&ladder, least, receives, budget, &mut channel)?;
            let candidates = room.agree(&room.receive(&mut channel)?)?;
            Ok(candidates.iter().map(|candidate| (candidate.key, candidate.partitions)).collect())
        };
        thread::scope(|scope| {
            let there = scope.spawn(move || side(true, receiver, 0, b));
            [side(false, sender, least, a), there.join().unwrap()]
        })
    }

    fn whole() -> [Rung; 1] {
        [Rung { candidates: candidates(), beside: 0.0 }]
    }

    /// Returns the candidates on which the sender and the receiver agree, with budgets of this many GiB.
    fn agreed(sender: u64, receiver: u64) -> [Result<Vec<&'static str>>; 2] {
        let sides = settled(&whole(), 0, sender << 30, receiver << 30);
        sides.map(|side| side.map(|ways| ways.into_iter().map(|(key, _)| key).collect()))
    }

    #[test]
    fn candidates_that_do_not_fit_one_side_are_left_out_by_both() {
        let keys: Vec<_> = candidates().iter().map(|candidate| candidate.key).collect();
        for (budgets, fit) in [((8, 8), vec![0, 1, 2]), ((4, 8), vec![1, 2]), ((8, 1), vec![1])] {
            for side in agreed(budgets.0, budgets.1) {
                assert_eq!(side.unwrap(), fit.iter().map(|i| keys[*i]).collect::<Vec<_>>());
            }
        }
    }

    /// Each side sends the number of partitions from which a candidate fits, and the larger one counts. A candidate
    /// that needs more memory has more partitions.
    #[test]
    fn sets_are_divided_until_something_fits_both_sides() {
        let rungs: Vec<_> = (0..4)
            .map(|halvings| {
                let mut candidates = candidates();
                for candidate in &mut candidates {
                    candidate.partitions = 1 << halvings;
                    let Memory { sender, receiver } = candidate.memory;
                    let part = f64::from(1 << halvings);
                    candidate.memory = Memory { sender: sender / part, receiver: receiver / part };
                }
                Rung { candidates, beside: 0.0 }
            })
            .collect();
        let agreed = |least: usize, sender: u64, receiver: u64| {
            let [here, there] = settled(&rungs, least, sender << 20, receiver << 20);
            assert_eq!(here.as_ref().ok(), there.as_ref().ok());
            here.ok()
        };
        let keys: Vec<_> = candidates().iter().map(|candidate| candidate.key).collect();
        let fit = |partitions: &[usize]| {
            let ways = keys.iter().copied().zip(partitions.iter().copied());
            Some(ways.filter(|(_, partitions)| *partitions > 0).collect::<Vec<_>>())
        };
        // The candidates need 8, 2 and 4 GiB on the sender's side and half of that on the receiver's.
        assert_eq!(agreed(0, 8192, 8192), fit(&[1, 1, 1]));
        assert_eq!(agreed(0, 1024, 8192), fit(&[8, 2, 4]));
        assert_eq!(agreed(0, 8192, 256), fit(&[0, 4, 8]));
        assert_eq!(agreed(2, 8192, 1024), fit(&[4, 4, 4]));
        assert_eq!(agreed(9, 8192, 8192), fit(&[8, 8, 8]));
        assert_eq!(agreed(0, 100, 8192), None);
    }

    #[test]
    fn large_sets_are_divided_though_both_have_the_memory() {
        let rung = |partitions, receiver| {
            let mut candidates = candidates();
            candidates.iter_mut().for_each(|candidate| {
                candidate.partitions = partitions;
                candidate.sizes = Sizes { sender: 10, receiver };
                candidate.memory = Memory { sender: 1e6, receiver: 1e6 };
            });
            Rung { candidates, beside: 0.0 }
        };
        let agreed = |sizes: [usize; 3]| {
            let rungs = [1, 2, 4].into_iter().zip(sizes).map(|(parts, size)| rung(parts, size));
            let rungs: Vec<_> = rungs.collect();
            settled(&rungs, 0, 1 << 30, 1 << 30).map(|side| side.unwrap()[0].1)
        };
        assert_eq!(agreed([8_388_608, 1, 1]), [1; 2]);
        assert_eq!(agreed([8_388_609, 2_097_152, 1]), [2; 2]);
        assert_eq!(agreed([8_388_609, 2_097_153, 2_097_152]), [4; 2]);
        // If no rung is small enough, the first one is used.
        assert_eq!(agreed([8_388_609; 3]), [1; 2]);
        // A rung without candidates does not count.
        let rungs = [rung(1, 8_388_609), Rung::default(), rung(4, 1)];
        let sides = settled(&rungs, 0, 1 << 30, 1 << 30);
        assert_eq!(sides.map(|side| side.unwrap()[0].1), [4; 2]);
    }

    /// A budget suffices if it is exactly the memory of a side's own part and of everything else that it holds.
    #[test]
    fn the_last_byte_counts() {
        let [mut rung] = whole();
        rung.candidates.truncate(1);
        rung.candidates[0].memory = Memory { sender: 3e6, receiver: 1e6 };
        rung.beside = 5e5;
        let fits = |sender, receiver| {
            let sides = settled(std::slice::from_ref(&rung), 0, sender, receiver);
            sides.iter().all(Result::is_ok)
        };
        assert!(fits(3_500_000, 1_500_000));
        assert!(!fits(3_499_999, 1_500_000) && !fits(3_500_000, 1_499_999));
        let budget = Budget { total: 100, left: 10 };
        assert_eq!((budget.times(3.0), budget.times(5.0), budget.times(11.0)), (3, 2, 0));
    }

    #[test]
    fn a_single_candidate_is_not_a_choice() {
        for (candidates, is_a_choice) in [(1, false), (2, true)] {
            let [mut rung] = whole();
            rung.candidates.truncate(candidates);
            let ladder = Ladder::new(rung.clone(), 0, |_| rung.clone());
            let budget = Budget { total: 0, left: 0 };
            let mut channel = Channel::new(memory::pair().0);
            let room = Room::send(&ladder, 0, true, budget, &mut channel).unwrap();
            assert_eq!(room.is_a_choice(), is_a_choice);
        }
    }

    /// A size claimed by the other side can cause this.
    #[test]
    fn sets_that_no_candidate_takes_are_refused_as_terms() {
        for rungs in [vec![Rung::default()], vec![Rung::default(); 2]] {
            for side in settled(&rungs, 0, 1 << 30, 1 << 30) {
                let error = side.unwrap_err();
                assert_eq!(error.class(), Class::Terms, "{error}");
                assert!(error.to_string().contains("sets of these sizes"), "{error}");
            }
        }
    }

    #[test]
    fn a_place_beyond_the_last_rung_is_refused() {
        let rungs = whole();
        for (place, said) in [(1, "not a number of partitions"), (NOWHERE, "memory")] {
            let (a, b) = memory::pair();
            let mut peer = Channel::new(b);
            peer.send(ROOM, &[place; 3]).unwrap();
            peer.flush().unwrap();
            let mut channel = Channel::new(a).with_stall_timeout(Duration::from_secs(20));
            let ladder = Ladder::new(rungs[0].clone(), 0, |_| rungs[0].clone());
            let budget = Budget { total: 1 << 40, left: 1 << 33 };
            let room = Room::send(&ladder, 0, true, budget, &mut channel).unwrap();
            let received = room.receive(&mut channel);
            let error = received.and_then(|theirs| room.agree(&theirs)).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn if_nothing_fits_both_sides_name_the_need_and_the_budget() {
        let key = candidates()[1].key;
        let [sender, receiver] = agreed(1, 8).map(Result::unwrap_err);
        assert_eq!((sender.class(), receiver.class()), (Class::Terms, Class::Terms));
        let (sender, receiver) = (sender.to_string(), receiver.to_string());
        let used = format!(
            "`{key}` needs about 2.0 GiB here, the least of all possible protocols, in addition to"
        );
        for said in [&used[..], "limit is 1.0 GiB", "raise --memory", "there: enough for"] {
            assert!(sender.contains(said), "{said} in {sender}");
        }
        assert!(receiver.contains("there: not enough for") && receiver.contains("here: enough"));
    }

    #[test]
    fn if_each_side_fits_another_candidate_the_smaller_is_named() {
        let [mut rung] = whole();
        rung.candidates.truncate(2);
        rung.candidates[0].memory = Memory { sender: 1e6, receiver: 1e12 };
        rung.candidates[1].memory = Memory { sender: 1e11, receiver: 1e6 };
        let key = rung.candidates[1].key;
        let sides = settled(&[rung], 0, 1 << 30, 1 << 30);
        let [sender, receiver] = sides.map(|side| side.unwrap_err().to_string());
        let needed = format!("here: `{key}` needs about 93.1 GiB here");
        let enough = format!("there: enough for `{key}`)");
        assert!(sender.contains(&needed) && sender.contains(&enough), "{sender}");
        let enough = format!("here: enough for `{key}`; there: not enough for `{key}`");
        assert!(receiver.contains(&enough), "{receiver}");
    }

    #[test]
    fn the_memory_in_use_counts() {
        let holds = vec![1u8; 64 << 20];
        let of = |memory, is_part| {
            let memory = Some(memory);
            Budget::new(&PlannerInputs { memory, is_part, ..PlannerInputs::default() })
        };
        let budget = of(1 << 30, false);
        assert!(budget.left < (1 << 30) - (holds.len() as u64 / 2));
        assert!(!budget.allows((1u64 << 30) as f64) && budget.allows(1e6));
        assert!(!of(u64::MAX, false).allows(1e18), "the system does not have that much");
        // Other runs do not.
        assert!(of(64 << 20, true).left > 32 << 20);
    }
}
