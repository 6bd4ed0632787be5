//! Shares of hidden matches: combined they are the plain intersection, and a single share reveals nothing.

#![allow(clippy::unwrap_used)]

use std::collections::{HashMap, HashSet};

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Deviation};
use vesica_psi::{
    Error, Sizes,
    aggregate::{
        Valued,
        shares::{Outline, Shares},
    },
};
use vesica_testkit::{
    assurance,
    conformance::psi::{Sets, UNCOUNTED_BYTES},
    tamper,
    transcript::{self, Transcripts},
    two_party::{self, Link, PATIENCE, between},
};

/// Both sets, and values that use all 64 bits if the outline has them.
pub(crate) struct Input {
    pub(crate) outline: Outline,
    pub(crate) sets: Sets,
    of_sender: Vec<i64>,
    of_receiver: Vec<i64>,
    /// The person of each of the receiver's items, if it has people; some items are nobody's.
    pub(crate) people: Vec<Option<u32>>,
}

impl Input {
    pub(crate) fn random(outline: Outline, shared: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut values = |wanted: bool, n: usize| -> Vec<i64> {
            let edges = [i64::MIN, i64::MAX, -1, 0];
            let random = (0..if wanted { n } else { 0 }).map(|_| rng.random());
            random.enumerate().map(|(i, any)| *edges.get(i).unwrap_or(&any)).collect()
        };
        let of_sender = values(outline.of_sender, outline.sizes.sender);
        let mut of_receiver = values(outline.of_receiver, outline.sizes.receiver);
        let sets = Sets::random(outline.sizes, shared, seed);
        let people = persons(outline, &mut rng);
        for (value, person) in people.iter().enumerate().take(of_receiver.len()) {
            if let Some(first) = people[..value].iter().position(|other| other == person) {
                of_receiver[value] = of_receiver[first];
            }
        }
        Self { outline, sets, of_sender, of_receiver, people }
    }

    fn send(&self, channel: &mut Channel, rng: &mut StdRng) -> Result<Shares, Error> {
        let input = Valued::new(self.sets.sender.items(), &self.of_sender);
        self.run_party(false, input, channel, rng)
    }

    fn receive(&self, channel: &mut Channel, rng: &mut StdRng) -> Result<Shares, Error> {
        let input = Valued::new(self.sets.receiver.items(), &self.of_receiver);
        self.run_party(true, Valued { people: &self.people, ..input }, channel, rng)
    }

    fn run_party(
        &self,
        receives: bool,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<Shares, Error> {
        let sharing = self.outline.functionality();
        sharing.agree(receives, channel)?;
        sharing.party(receives, channel, rng)?.run(input, channel, rng)
    }

    /// Both parties' shares, with randomness of this seed.
    fn run(&self, seed: u64) -> [Shares; 2] {
        let [mut one, mut other] = [2 * seed, 2 * seed + 1].map(StdRng::seed_from_u64);
        let (sender, receiver) = two_party::run(
            Link::Memory,
            move |channel, _| self.send(channel, &mut one),
            move |channel, _| self.receive(channel, &mut other),
        );
        [sender, receiver]
    }

    fn transcripts(&self) -> Transcripts {
        transcript::of(
            |channel, rng| self.send(channel, rng).map(drop),
            |channel, rng| self.receive(channel, rng).map(drop),
        )
    }

    /// For each of the receiver's items, whether both parties have it, or another one of its person, and the values of
    /// both, 0 without any.
    pub(crate) fn expected(&self) -> Vec<(bool, u64, u64)> {
        let mine = self.sets.receiver.items().low_halves();
        let theirs = self.sets.sender.items().low_halves().iter().enumerate();
        let theirs: HashMap<u128, usize> = theirs.map(|(i, low)| (low.0, i)).collect();
        let value = |values: &[i64], i: usize| values.get(i).map_or(0, |value| *value as u64);
        let of = |(i, low): (usize, &vesica_primitives::Block)| match theirs.get(&low.0) {
            Some(&j) => (true, value(&self.of_receiver, i), value(&self.of_sender, j)),
            None => (false, 0, 0),
        };
        let of_items: Vec<_> = mine.iter().enumerate().map(of).collect();
        let of_person = |(item, found): (usize, &(bool, u64, u64))| {
            let Some(Some(person)) = self.people.get(item) else {
                return if self.people.is_empty() { *found } else { (false, 0, 0) };
            };
            let same = (0..of_items.len()).filter(|other| self.people[*other] == Some(*person));
            let found = same.map(|other| of_items[other]).find(|(member, ..)| *member);
            found.unwrap_or_default()
        };
        of_items.iter().enumerate().map(of_person).collect()
    }
}

/// People of different sizes, with their items in any order, and one item in seven of nobody.
fn persons(outline: Outline, rng: &mut StdRng) -> Vec<Option<u32>> {
    let (n, Some(most)) = (outline.sizes.receiver, outline.people) else { return Vec::new() };
    let mut left: Vec<usize> = (0..n).map(|_| most).collect();
    let mut person = || loop {
        let person = rng.random_range(0..left.len());
        if left[person] > 0 {
            left[person] -= 1;
            return 1_000_003 - person as u32;
        }
    };
    (0..n).map(|item| (item % 7 != 6).then(&mut person)).collect()
}

pub(crate) fn outlines(sizes: Sizes) -> impl Iterator<Item = Outline> {
    let kinds = [(false, false), (true, false), (false, true), (true, true)];
    let of_items = kinds.map(|(of_sender, of_receiver)| (of_sender, of_receiver, None));
    let of_people = [(false, Some(3)), (true, Some(3)), (true, Some(1))];
    let of_people = of_people.map(|(of_receiver, most)| (false, of_receiver, most));
    let all = of_items.into_iter().chain(of_people);
    all.map(move |(of_sender, of_receiver, people)| Outline {
        sizes,
        partitions: 1,
        of_sender,
        of_receiver,
        people,
    })
}

/// The shares of values, or zeros without values.
fn or_zeros(values: &Option<zeroize::Zeroizing<Vec<u64>>>, bins: usize) -> Vec<u64> {
    values.as_ref().map_or(vec![0; bins], |values| values.to_vec())
}

#[test]
fn both_shares_are_the_intersection() {
    let few = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 40), (40, 2)];
    let many = [(300, 211), (97, 500)];
    for (place, (sender, receiver)) in few.into_iter().chain(many).enumerate() {
        for (way, outline) in outlines(Sizes { sender, receiver }).enumerate() {
            let numbers = [0, sender.min(receiver) / 2, sender.min(receiver)].into_iter();
            let tried = |(number, _): &(usize, usize)| assurance::tries(place + way, *number, 3);
            for (_, shared) in numbers.enumerate().filter(tried) {
                let input = Input::random(outline, shared, 1 + receiver as u64);
                let [s, r] = input.run(3);
                let bins = outline.bins();
                assert_eq!([s.members.len(), r.members.len()], [bins; 2]);
                assert_eq!(s.of_sender.is_some(), outline.of_sender);
                assert_eq!(s.of_receiver.is_some(), outline.of_receiver);
                assert!(s.items.is_none());
                let xor = |s: &Option<_>, r: &Option<_>| -> Vec<u64> {
                    let both = or_zeros(s, bins).into_iter().zip(or_zeros(r, bins));
                    both.map(|(s, r)| s ^ r).collect()
                };
                let of_sender = xor(&s.of_sender, &r.of_sender);
                let of_receiver = xor(&s.of_receiver, &r.of_receiver);
                let expected = input.expected();
                let mut seen = vec![false; receiver];
                let mut of_people = HashSet::new();
                for (bin, item) in r.items.unwrap().into_iter().enumerate() {
                    let member = s.members[bin] ^ r.members[bin];
                    let found = (member, of_receiver[bin], of_sender[bin]);
                    match item {
                        Some(item) => {
                            seen[item as usize] = true;
                            of_people.extend(input.people.get(item as usize).copied().flatten());
                            assert_eq!(found, expected[item as usize], "{outline:?}");
                        }
                        None => assert_eq!(found, (false, 0, 0), "{outline:?}"),
                    }
                }
                let seen = seen.into_iter().filter(|seen| *seen).count();
                let all: HashSet<_> = input.people.iter().flatten().copied().collect();
                assert_eq!(of_people, all, "each person is at one position");
                let expected = if outline.people.is_some() { all.len() } else { receiver };
                assert_eq!(seen, expected, "each item is in one bin");
            }
        }
    }
}

/// The number of ones among bits that should be uniform.
#[derive(Clone, Copy, Default)]
struct Bits {
    ones: u64,
    all: u64,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        self.ones += u64::from(bit);
        self.all += 1;
    }
}

/// χ² of several kinds of bits, with one degree of freedom each: whether it is at most six standard deviations
/// above its mean.
fn look_uniform(kinds: &[Bits]) -> bool {
    let freedom = kinds.len() as f64;
    let squares = kinds.iter().map(|Bits { ones, all }| {
        assert!(*all >= 30, "enough bits to say something");
        (2.0 * *ones as f64 - *all as f64).powi(2) / *all as f64
    });
    squares.sum::<f64>() <= freedom + 6.0 * (2.0 * freedom).sqrt()
}

/// Each party's shares, over many runs on the same sets: of every bin, and separately of bins whose item is in
/// both sets, those whose item is not and those without an item; and each bit of the values.
#[test]
fn a_share_by_itself_is_uniform() {
    const RUNS: u64 = 40;
    let sizes = Sizes { sender: 90, receiver: 100 };
    let outline =
        Outline { sizes, partitions: 1, of_sender: true, of_receiver: true, people: None };
    let mut input = Input::random(outline, 40, 1);
    // Values that are far from uniform.
    input.of_sender.fill(-1);
    input.of_receiver.fill(1);
    let expected = input.expected();
    let bins = outline.bins();
    let mut of_bins = [vec![Bits::default(); bins], vec![Bits::default(); bins]];
    let mut of_kinds = [[Bits::default(); 3]; 2];
    let mut of_values = [[[Bits::default(); 64]; 3]; 4];
    for seed in 0..RUNS {
        let shares = input.run(100 + seed);
        let items = shares[1].items.clone().unwrap();
        let kind = |bin: usize| match items[bin].map(|item| expected[item as usize].0) {
            Some(true) => 0,
            Some(false) => 1,
            None => 2,
        };
        for (who, shares) in shares.iter().enumerate() {
            for (bin, share) in shares.members.iter().enumerate() {
                of_bins[who][bin].push(*share);
                of_kinds[who][kind(bin)].push(*share);
            }
            for (which, values) in [&shares.of_sender, &shares.of_receiver].into_iter().enumerate()
            {
                for (bin, value) in values.as_ref().unwrap().iter().enumerate() {
                    for (bit, bits) in of_values[2 * who + which][kind(bin)].iter_mut().enumerate()
                    {
                        bits.push(value >> bit & 1 == 1);
                    }
                }
            }
        }
    }
    for (bins, kinds) in of_bins.iter().zip(&of_kinds) {
        assert!(look_uniform(bins));
        assert!(kinds.iter().all(|kind| look_uniform(&[*kind])));
    }
    for (i, bits) in of_values.iter().flatten().enumerate() {
        assert!(look_uniform(bits), "values {i}");
    }
    // The same statistics for shares that are constant, that reveal whether the item is shared, or that have
    // six ones in ten bits: each is noticed.
    let all = of_kinds[0].map(|kind| kind.all);
    for ones in [[0, 0, 0], all, [all[0], 0, 0], all.map(|all| all * 6 / 10)] {
        let pushed = |i: usize| Bits { ones: ones[i], all: all[i] };
        assert!((0..3).any(|i| !look_uniform(&[pushed(i)])));
    }
    let biased = Bits { ones: RUNS * 6 / 10, all: RUNS };
    assert!(!look_uniform(&vec![biased; bins]));
}

#[test]
fn lengths_say_nothing() {
    for outline in outlines(Sizes { sender: 60, receiver: 90 }) {
        let reference = Input::random(outline, 30, 1).transcripts();
        for (shared, seed) in [(0, 2), (60, 3), (29, 4)] {
            let other = Input::random(outline, shared, seed).transcripts();
            assert_eq!(reference.shape(), other.shape(), "{outline:?}");
        }
    }
}

#[test]
fn costs() {
    for n in [1 << 8, 1 << 12] {
        for outline in outlines(Sizes { sender: n, receiver: n }) {
            let sent = Input::random(outline, 10, 5).transcripts();
            let cost = outline.cost();
            for (sent, predicted) in
                [(sent.sender, cost.bytes_to_receiver), (sent.receiver, cost.bytes_to_sender)]
            {
                let off = sent.payload_bytes() as f64 - predicted;
                assert!(
                    -0.05 * predicted <= off && off <= 0.05 * predicted + UNCOUNTED_BYTES,
                    "{outline:?}: {off} beyond {predicted}"
                );
            }
        }
    }
}

#[test]
fn rounds() {
    for (sender, receiver) in [(1, 1), (100, 100), (7, 100)] {
        for outline in outlines(Sizes { sender, receiver }) {
            let input = Input::random(outline, 1, 9);
            let (sent, received) = two_party::run(
                Link::Memory,
                |channel, rng| {
                    input.send(channel, rng)?;
                    Ok::<_, Error>(channel.meter().rounds())
                },
                |channel, rng| {
                    input.receive(channel, rng)?;
                    Ok(channel.meter().rounds())
                },
            );
            assert_eq!([sent, received], [u64::from(outline.cost().rounds); 2], "{outline:?}");
        }
    }
}

/// Parties that disagree on who has values, or on sizes, do not run.
#[test]
fn another_outline_is_another_run() {
    let sizes = Sizes { sender: 10, receiver: 10 };
    let larger = Sizes { sender: 11, receiver: 10 };
    for outline in outlines(sizes) {
        let others = outlines(sizes).filter(|other| *other != outline);
        for other in others.chain(outlines(larger)) {
            let [one, other] = [outline, other].map(|outline| Input::random(outline, 5, 7));
            let (sent, received) = between(
                Link::Memory.connect(),
                PATIENCE,
                |channel, rng| other.send(channel, rng),
                |channel, rng| one.receive(channel, rng),
            );
            assert!(sent.is_err() && received.is_err());
        }
    }
}

#[test]
fn an_item_that_comes_twice_is_refused() {
    let outline = Outline {
        sizes: Sizes { sender: 20, receiver: 20 },
        partitions: 1,
        of_sender: true,
        of_receiver: true,
        people: None,
    };
    let mut input = Input::random(outline, 5, 6);
    let positions: Vec<u32> = (0..19).chain([3]).collect();
    input.sets.receiver = input.sets.receiver.items().at(&positions);
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| input.send(channel, rng),
        |channel, rng| input.receive(channel, rng),
    );
    assert!(sent.is_err());
    assert!(matches!(received, Err(Error::DuplicateItem { first: 3, second: 19 })));
}

/// Steps of sharing that do not occur in a run for rows, and some that shares depend on.
fn is_step_of_sharing(label: &str) -> bool {
    ["psi/size", "psi/seed-opening", "opprf/hint", "gmw/ands"].contains(&label)
}

/// To a caller, a size beyond the agreed bound is the peer's fault.
pub(crate) fn blame(error: Error) -> vesica_net::Error {
    match error {
        Error::Channel(error) => error,
        Error::TooManyItems { .. } => vesica_net::Error::Peer {
            phase: "sizes",
            deviation: Deviation::Malformed { label: "psi/size", what: "too many" },
        },
        other => panic!("nothing that a peer does may end in: {other}"),
    }
}

/// A deviating peer is noticed, or the result is shares of something else, in the agreed shape; nobody panics
/// or waits forever.
fn against_a_peer_that_deviates(outline: Outline) {
    let input = Input::random(outline, 2, 11);
    let sending = |channel: &mut Channel, rng: &mut StdRng| input.send(channel, rng).map_err(blame);
    let receiving =
        |channel: &mut Channel, rng: &mut StdRng| input.receive(channel, rng).map_err(blame);
    let has_the_shape = |shares: Shares| {
        let bins = outline.bins();
        let values =
            [(shares.of_sender, outline.of_sender), (shares.of_receiver, outline.of_receiver)];
        values
            .into_iter()
            .all(|(values, wanted)| values.map(|values| values.len()) == wanted.then_some(bins))
            && shares.members.len() == bins
    };
    tamper::against_at(is_step_of_sharing, sending, receiving, |case, shares| {
        let items = shares.items.iter().flatten().flatten().count();
        let most = outline.sizes.receiver;
        let are_all = if outline.people.is_some() { items <= most } else { items == most };
        assert!(are_all && has_the_shape(shares), "{case:?}");
    });
    tamper::against_at(is_step_of_sharing, receiving, sending, |case, shares| {
        assert!(has_the_shape(shares), "{case:?}");
    });
}

#[test]
fn a_peer_that_deviates_does_no_more_than_spoil_the_shares() {
    for outline in outlines(Sizes { sender: 4, receiver: 3 }) {
        // None and all; the cases in between have fewer bits of the same kind.
        if outline.of_sender == outline.of_receiver {
            against_a_peer_that_deviates(outline);
        }
    }
}
