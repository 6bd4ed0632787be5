//! Requirements on every private set intersection. The oracle is a plain set intersection.
//!
//! [`psi_conformance!`](crate::psi_conformance) runs all suites, each as a test.

use std::collections::HashSet;

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_primitives::{Block, aes::Aes128};
use vesica_psi::{DigestLength, Error, List, Protocol, Set, Sizes, receive, send};

use crate::{
    assurance, ideal,
    transcript::{self, Transcripts},
    two_party::{self, Link, PATIENCE, between},
};

/// The cost of a protocol, which limits the sizes of the sets tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Symmetric cryptography for each item.
    Symmetric,
    /// A group operation for each item.
    GroupOperations,
    /// Thousands of gates for each item.
    Circuits,
    /// An operation on integers of thousands of bits for each item.
    BigIntegers,
}

impl Budget {
    /// Numbers of items of both parties: edges, primes, around powers of two.
    fn sizes(self) -> Vec<usize> {
        let sizes = [0, 1, 2, 3, 30, 100, 1000, assurance::trials(5_003, 65_537)];
        let affordable = match self {
            Self::Symmetric => 8,
            Self::GroupOperations => 7,
            Self::Circuits => 6,
            Self::BigIntegers => 5,
        };
        sizes[..affordable].to_vec()
    }

    /// Number of items of the larger party in uneven pairs.
    fn many(self) -> usize {
        match self {
            Self::Symmetric => assurance::trials(7_000, 100_000),
            Self::GroupOperations => assurance::trials(1_025, 2_049),
            Self::Circuits => 513,
            Self::BigIntegers => assurance::trials(17, 65),
        }
    }

    /// Returns this number of items, or the largest number for which there is time. For tests that do not depend on the
    /// number.
    fn of(self, items: usize) -> usize {
        match self {
            Self::Symmetric | Self::GroupOperations => items,
            Self::Circuits => items.div_ceil(4),
            Self::BigIntegers => items.div_ceil(assurance::trials(100, 40)),
        }
    }

    /// Exponents of the sizes for which costs are compared.
    fn cost_exponents(self) -> &'static [u32] {
        match self {
            Self::Symmetric if assurance::is_in_full() => &[8, 12, 16],
            Self::Symmetric => &[8, 12],
            Self::GroupOperations => &[8, 12],
            Self::BigIntegers if !assurance::is_in_full() => &[5],
            Self::Circuits | Self::BigIntegers => &[8],
        }
    }
}

/// Payload bytes each way that the cost formulas omit: set sizes, seeds, keys and the padding of lists to whole
/// words.
pub const UNCOUNTED_BYTES: f64 = 64.0;

/// Two sets of long digests, in random order. A protocol for short digests sees only the low halves, so these
/// are distinct, except in some sets made for protocols with long digests.
#[derive(Clone)]
pub struct Sets {
    /// The sender's.
    pub sender: Set,
    /// The receiver's.
    pub receiver: Set,
}

/// Items with these low halves; high halves are other blocks, one for each low half.
fn with_low_halves(low_halves: Vec<Block>) -> Set {
    let mut high_halves = low_halves.clone();
    Aes128::new(Block(1)).encrypt(&mut high_halves);
    Set::long(low_halves, high_halves)
}

impl Sets {
    /// Sets of random items with `shared` items in common.
    pub fn random(sizes: Sizes, shared: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut fresh = HashSet::new();
        while fresh.len() < sizes.sender + sizes.receiver - shared {
            fresh.insert(Block::random(&mut rng));
        }
        let mut low_halves: Vec<Block> = fresh.into_iter().collect();
        low_halves.sort_unstable();
        low_halves.shuffle(&mut rng);
        Self::overlapping(&with_low_halves(low_halves), sizes, &mut rng)
    }

    /// The first of `all` for the sender, the last for the receiver, each shuffled.
    fn overlapping(all: &Set, sizes: Sizes, rng: &mut StdRng) -> Self {
        let n = all.len() as u32;
        let mut sender: Vec<u32> = (0..sizes.sender as u32).collect();
        let mut receiver: Vec<u32> = (n - sizes.receiver as u32..n).collect();
        sender.shuffle(rng);
        receiver.shuffle(rng);
        Self { sender: all.items().at(&sender), receiver: all.items().at(&receiver) }
    }

    /// The sizes of both sets.
    pub fn sizes(&self) -> Sizes {
        Sizes { sender: self.sender.len(), receiver: self.receiver.len() }
    }

    /// The expected output of the receiver.
    pub fn expected(&self) -> Vec<u32> {
        ideal::intersection(self.receiver.items(), self.sender.items())
    }
}

/// Runs a protocol on two sets and returns the receiver's output.
pub fn matches(protocol: &Protocol, sets: &Sets, link: Link, sender_left: bool) -> Vec<u32> {
    let most = sets.sender.len().max(sets.receiver.len());
    let sender = |channel: &mut _, rng: &mut StdRng| {
        send(protocol, sets.sender.items(), 0..=most, channel, rng)
    };
    let receiver = |channel: &mut _, rng: &mut StdRng| {
        receive(protocol, sets.receiver.items(), 0..=most, channel, rng)
    };
    two_party::run_at_either_end(link, sender_left, sender, receiver).1
}

fn check(protocol: &Protocol, sets: &Sets, what: &str) {
    let found = matches(protocol, sets, Link::Memory, true);
    let expected = sets.expected();
    // Unlike `assert_eq`, this does not print two lists of thousands of items.
    assert!(
        found == expected,
        "{} on {what}, {:?}: {} matches instead of {}",
        protocol.key,
        sets.sizes(),
        found.len(),
        expected.len()
    );
}

/// Returns whether a suite tries this case on a protocol. With every change, one in `one_in` cases is tried, and
/// protocols with different names get different cases.
fn tries(protocol: &Protocol, case: usize, one_in: usize) -> bool {
    assurance::tries(protocol.key.bytes().map(usize::from).sum(), case, one_in)
}

/// Sets of equal size with nothing, half and everything in common; with every change, each size with one of these.
pub fn equal_sizes(protocol: &Protocol, budget: Budget) {
    for (i, n) in budget.sizes().into_iter().enumerate() {
        let overlaps = if n > 1000 { vec![n / 2] } else { vec![0, n / 2, n] };
        let several = overlaps.len();
        for (j, shared) in overlaps.into_iter().enumerate() {
            if tries(protocol, i + j, several) {
                let sets = Sets::random(Sizes { sender: n, receiver: n }, shared, n as u64);
                check(protocol, &sets, "random items");
            }
        }
    }
}

/// One party with far more items than the other, one with none, and unrelated sizes. Both with nothing and with as much
/// as possible in common or, with every change, with one of the two, and with half of the sizes.
pub fn uneven_sizes(protocol: &Protocol, budget: Budget) {
    let (many, thousand, few, more) =
        (budget.many(), budget.of(1000), budget.of(127), budget.of(1009));
    let sizes = [
        (1, many),
        (many, 1),
        (0, thousand),
        (thousand, 0),
        (1, 0),
        (0, 1),
        (few, more),
        (more, few),
    ];
    for (i, (sender, receiver)) in sizes.into_iter().enumerate() {
        for (j, shared) in [0, sender.min(receiver)].into_iter().enumerate() {
            if tries(protocol, i + j, 4) {
                let sets = Sets::random(Sizes { sender, receiver }, shared, 3);
                check(protocol, &sets, "uneven sets");
            }
        }
    }
}

/// Items that do not look random: neighbours of various kinds, and zero. With every change, a quarter of the cases.
pub fn odd_items(protocol: &Protocol, budget: Budget) {
    let mut rng = StdRng::seed_from_u64(4);
    let base = Block::random(&mut rng);
    let n = budget.of(900) as u128;
    let bits = (0..128).step_by(128 / budget.of(1000).min(128));
    let mut cases = vec![
        (thirds((0..n).map(Block).collect()), "sequential items from zero on"),
        (thirds((0..n).map(|i| Block(i << 100)).collect()), "items that differ in high bits only"),
        (
            thirds(bits.map(|bit| base ^ Block(1 << bit)).collect()),
            "items at distance two of each other",
        ),
    ];
    let extremes = [Block::ZERO, Block(u128::MAX), Block(1)];
    for (sender, receiver) in [(&extremes[..1], &extremes[..]), (&extremes[..], &extremes[1..2])] {
        let [sender, receiver] =
            [sender, receiver].map(|low_halves| with_low_halves(low_halves.to_vec()));
        cases.push((Sets { sender, receiver }, "the items of all zeros and all ones"));
    }
    // The receiver's x against the sender's x ⊕ 1, x ⊕ 2 and x ⊕ 3: if a hash index is mixed into items
    // carelessly, they collide.
    let xs: Vec<Block> = (0..budget.of(200)).map(|_| Block(rng.random::<u128>() & !3)).collect();
    let neighbours: Vec<Block> =
        xs.iter().flat_map(|x| [1, 2, 3].map(|index| *x ^ Block(index))).collect();
    let all = with_low_halves([&xs[..], &neighbours[..]].concat());
    let [xs, neighbours] = [xs, neighbours].map(with_low_halves);
    for (sender, receiver, what) in [
        (&neighbours, &xs, "neighbours only"),
        (&all, &xs, "neighbours on the sender's side"),
        (&neighbours, &all, "neighbours on the receiver's side"),
    ] {
        cases.push((Sets { sender: sender.clone(), receiver: receiver.clone() }, what));
    }
    let cases = cases.into_iter().enumerate().filter(|(case, _)| tries(protocol, *case, 4));
    cases.for_each(|(_, (sets, what))| check(protocol, &sets, what));
    if protocol.digest == DigestLength::Long {
        halves_in_common().into_iter().for_each(|(sets, what)| check(protocol, &sets, what));
    }
}

/// Different items with the same low half, and with the same high half.
fn halves_in_common() -> [(Sets, &'static str); 3] {
    let blocks: Vec<Block> = (0..300).map(Block).collect();
    let few: Vec<Block> = (0..300).map(|i| Block(i / 3)).collect();
    let other_high_halves = blocks.iter().map(|block| *block ^ Block(1 << 90)).collect();
    let sender = Set::long(blocks.clone(), blocks.clone());
    let others = Sets { sender, receiver: Set::long(blocks.clone(), other_high_halves) };
    [
        (thirds_of(&Set::long(few.clone(), blocks.clone())), "items that share low halves"),
        (thirds_of(&Set::long(blocks, few)), "items that share high halves"),
        (others, "the same low halves with other high halves"),
    ]
}

/// Items with these low halves: the first two thirds against the last two.
fn thirds(low_halves: Vec<Block>) -> Sets {
    thirds_of(&with_low_halves(low_halves))
}

fn thirds_of(all: &Set) -> Sets {
    let n = 2 * all.len() / 3;
    let sizes = Sizes { sender: n, receiver: n };
    Sets::overlapping(all, sizes, &mut StdRng::seed_from_u64(15))
}

/// Over every link, with either party listening; with every change, over one in four combinations, which differ
/// between protocols.
pub fn links(protocol: &Protocol, budget: Budget) {
    let n = if budget == Budget::Symmetric { 20_011 } else { budget.of(307) };
    let ways = Link::ALL.into_iter().flat_map(|link| [(link, true), (link, false)]).enumerate();
    for (way, (link, sender_left)) in ways {
        if tries(protocol, way, 4) {
            let sets = Sets::random(Sizes { sender: n, receiver: n / 3 }, n / 7, 5);
            assert!(
                matches(protocol, &sets, link, sender_left) == sets.expected(),
                "{} over {link:?}",
                protocol.key
            );
        }
    }
}

/// A set that contains an item twice, or is too large, is refused, and the other party fails, too. With every change,
/// half of the sizes.
pub fn refusals(protocol: &Protocol) {
    for (_, n) in [2, 3, 100, 1009].into_iter().enumerate().filter(|(i, _)| tries(protocol, *i, 2))
    {
        let sets = Sets::random(Sizes { sender: n, receiver: n }, n / 2, 6);
        let mut positions: Vec<u32> = (0..n as u32).collect();
        positions[n - 1] = positions[n / 3];
        let twice = |set: &Set| set.items().at(&positions);
        let (sent, received) =
            outcomes(protocol, &Sets { sender: twice(&sets.sender), ..sets.clone() }, usize::MAX);
        assert!(names(&sent.unwrap_err(), n / 3, n - 1) && received.is_err(), "{}", protocol.key);
        let (sent, received) =
            outcomes(protocol, &Sets { receiver: twice(&sets.receiver), ..sets }, usize::MAX);
        assert!(names(&received.unwrap_err(), n / 3, n - 1) && sent.is_err(), "{}", protocol.key);
    }
    for (sender, receiver) in [(101, 10), (10, 101)] {
        let sets = Sets::random(Sizes { sender, receiver }, 5, 7);
        let (sent, received) = outcomes(protocol, &sets, 100);
        // The other side refuses, and the party with too many items learns the reason.
        let (refusing, refused) = match sender {
            101 => (received.unwrap_err(), sent.unwrap_err()),
            _ => (sent.unwrap_err(), received.unwrap_err()),
        };
        let too_many = matches!(refusing, Error::TooManyItems { items: 101, max: 100 });
        assert!(too_many, "{}: {refusing}", protocol.key);
        assert!(matches!(refused, Error::Channel(_)), "{}: {refused}", protocol.key);
    }
}

fn names(error: &Error, a: usize, b: usize) -> bool {
    matches!(error, Error::DuplicateItem { first, second } if (*first, *second) == (a, b))
}

/// The outcome of each party.
fn outcomes(
    protocol: &Protocol,
    sets: &Sets,
    max_items: usize,
) -> (Result<(), Error>, Result<Vec<u32>, Error>) {
    between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| send(protocol, sets.sender.items(), 0..=max_items, channel, rng),
        |channel, rng| receive(protocol, sets.receiver.items(), 0..=max_items, channel, rng),
    )
}

/// Runs a protocol on two sets and returns what both parties sent.
pub fn transcripts(protocol: &Protocol, sets: &Sets) -> Transcripts {
    let most = sets.sender.len().max(sets.receiver.len());
    transcript::of(
        |channel, rng| send(protocol, sets.sender.items(), 0..=most, channel, rng),
        |channel, rng| {
            let found = receive(protocol, sets.receiver.items(), 0..=most, channel, rng)?;
            assert!(found == sets.expected());
            Ok::<_, Error>(())
        },
    )
}

/// The number of flights is the catalogue's, including the agreement on sizes, for sets that fit one chunk of
/// every protocol. With every change, one of the four sizes.
pub fn rounds(protocol: &Protocol, budget: Budget) {
    let n = budget.of(900);
    let sizes = [(1, 1), (n, n), (n, 7), (7, n)].into_iter().enumerate();
    for (_, (sender, receiver)) in sizes.filter(|(i, _)| tries(protocol, *i, 4)) {
        let sizes = Sizes { sender, receiver };
        let sets = Sets::random(sizes, 1, 14);
        let (sent, received) = two_party::run(
            Link::Memory,
            |channel, rng| {
                send(protocol, sets.sender.items(), 0..=n, channel, rng)?;
                Ok(channel.meter().rounds())
            },
            |channel, rng| {
                receive(protocol, sets.receiver.items(), 0..=n, channel, rng)?;
                Ok::<_, Error>(channel.meter().rounds())
            },
        );
        let predicted = u64::from(protocol.cost(sizes).rounds);
        assert_eq!([sent, received], [predicted; 2], "{} at {sizes:?}", protocol.key);
    }
}

/// Payload bytes each way are within 3 % of the catalogue's formula and [`UNCOUNTED_BYTES`]. With every change, half of
/// the sizes.
pub fn costs(protocol: &Protocol, budget: Budget) {
    let mut sizes: Vec<Sizes> = budget
        .cost_exponents()
        .iter()
        .map(|e| Sizes { sender: 1 << e, receiver: 1 << e })
        .collect();
    sizes.extend(
        [(1000, 10), (10, 1000), (0, 100), (100, 0)]
            .map(|(s, r)| Sizes { sender: budget.of(s), receiver: budget.of(r) }),
    );
    for (_, sizes) in sizes.into_iter().enumerate().filter(|(i, _)| tries(protocol, *i, 2)) {
        let both = transcripts(protocol, &Sets::random(sizes, sizes.sender.min(sizes.receiver), 8));
        let cost = protocol.cost(sizes);
        for (who, sent, predicted) in [
            ("sender", both.sender, cost.bytes_to_receiver),
            ("receiver", both.receiver, cost.bytes_to_sender),
        ] {
            let sent = sent.payload_bytes() as f64;
            let off = sent - predicted;
            assert!(
                -0.03 * predicted <= off && off <= 0.03 * predicted + UNCOUNTED_BYTES,
                "{}: the {who} sent {sent} bytes at {sizes:?}, the catalogue says {predicted}",
                protocol.key
            );
        }
    }
}

/// With each filter in place of the list: the same matches, and the number of bytes in the catalogue. With every
/// change, each filter with some of the sizes.
pub fn filters(protocol: &Protocol, budget: Budget) {
    let filtered = List::FILTERS.into_iter().filter_map(|list| protocol.with_list(list));
    for (i, filtered) in filtered.enumerate() {
        let sizes = [(0, 3), (3, 0), (1, 1), (700, 300), (64, 900)].into_iter().enumerate();
        for (_, (sender, receiver)) in sizes.filter(|(j, _)| tries(protocol, i + j, 3)) {
            let sizes = Sizes { sender: budget.of(sender), receiver: budget.of(receiver) };
            let least = sizes.sender.min(sizes.receiver);
            let sets = Sets::random(sizes, least.div_ceil(2), 16);
            let sent = transcripts(&filtered, &sets).sender.payload_bytes() as f64;
            let predicted = filtered.cost(sizes).bytes_to_receiver;
            let off = sent - predicted;
            assert!(
                -0.03 * predicted <= off && off <= 0.03 * predicted + UNCOUNTED_BYTES,
                "{}: {sent} bytes at {sizes:?}, the catalogue says {predicted}",
                filtered.name()
            );
        }
    }
}

/// An observer's view depends only on the sizes of the sets: not on the items, and not on the number of shared ones.
/// With every change, one other run of each size is compared.
pub fn equal_lengths(protocol: &Protocol, budget: Budget) {
    let sizes = [(1, 1), (100, 100), (300, 20), (20, 300)].into_iter().enumerate();
    for (i, (sender, receiver)) in sizes {
        let (sender, receiver) = (budget.of(sender), budget.of(receiver));
        let sizes = Sizes { sender, receiver };
        let least = sender.min(receiver);
        let reference = transcripts(protocol, &Sets::random(sizes, 0, 9));
        let sequential = with_low_halves((0..(sender + receiver) as u128).map(Block).collect());
        let others = [
            Sets::random(sizes, least, 10),
            Sets::random(sizes, least / 2, 11),
            Sets::overlapping(&sequential, sizes, &mut StdRng::seed_from_u64(12)),
        ];
        for (_, sets) in others.into_iter().enumerate().filter(|(j, _)| tries(protocol, i + j, 3)) {
            let other = transcripts(protocol, &sets);
            assert_eq!(reference.shape(), other.shape(), "{} at {sizes:?}", protocol.key);
        }
    }
}

/// A million items, plus three.
pub fn large(protocol: &Protocol) {
    let (n, prime) = (1_000_000, 999_983);
    let half = |sender: usize, receiver: usize, seed: u64| {
        let sizes = Sizes { sender, receiver };
        Sets::random(sizes, sender.min(receiver).div_ceil(2), seed)
    };
    for (sender, receiver) in [(prime, prime), (n, 1), (1, n), (n, n / 10), (n / 10, n)] {
        check(protocol, &half(sender, receiver, 13), "many items");
    }
    for seed in 0..10 {
        check(protocol, &half(n, n, seed), "many items again");
    }
}

/// Runs the whole suite on one protocol: `psi_conformance!(name, &protocol, budget)` creates a module `name`
/// with a test for each suite.
#[macro_export]
macro_rules! psi_conformance {
    ($name:ident, $protocol:expr, $budget:expr) => {
        mod $name {
            use $crate::conformance::psi::{self, Budget};

            #[test]
            fn equal_sizes() {
                psi::equal_sizes($protocol, $budget);
            }

            #[test]
            fn uneven_sizes() {
                psi::uneven_sizes($protocol, $budget);
            }

            #[test]
            fn odd_items() {
                psi::odd_items($protocol, $budget);
            }

            #[test]
            fn links() {
                psi::links($protocol, $budget);
            }

            #[test]
            fn refusals() {
                psi::refusals($protocol);
            }

            #[test]
            fn costs() {
                psi::costs($protocol, $budget);
            }

            #[test]
            fn rounds() {
                psi::rounds($protocol, $budget);
            }

            #[test]
            fn equal_lengths() {
                psi::equal_lengths($protocol, $budget);
            }

            #[test]
            fn filters() {
                psi::filters($protocol, $budget);
            }
        }
    };
}
