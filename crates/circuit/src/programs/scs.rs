//! The intersection of two sets by sorting, comparing and shuffling (Huang, Evans and Katz, NDSS 2012;
//! Pinkas, Schneider and Zohner, USENIX Security 2014, §3).
//!
//! 1. Each party sorts its own items and inputs them.
//! 2. The two lists are merged; an item of both then occurs twice.
//! 3. Of the items at odd positions, those that occur twice are kept, and the others are replaced by 0.
//! 4. The party that learns nothing permutes the remaining items, by a random permutation that only it knows.
//! 5. The receiver is shown the result.
//!
//! **What the receiver learns.** After step 3 the items are in order, and between two of them there are as many zeros
//! as there are items of either set: the receiver would learn how many items of the other party are between any two of
//! the intersection. After step 4 the items are at random places among zeros, so the output can be computed from only
//! the intersection and the two set sizes. The receiver must not know the permutation, so the other party chooses it;
//! that party sees no result and gains nothing from the permutation. If both are to learn, the receiver informs the
//! other one afterwards: shown the places, the party that knows the permutation would undo it. A permutation that is
//! not random harms only the party that chose it.
//!
//! | for n items each, of σ bits | AND gates with small comparators |
//! |---|---|
//! | merge | 2σ·n·log 2n |
//! | compare | (3σ − 1)(n − 1) + 2σ − 1 |
//! | shuffle | σ(n·log n − n + 1) |
//! | all | σ(3n·log n + 4n) − n |
//!
//! Sets may differ in size and need not be powers of two: nothing is padded.

use vesica_primitives::Block;
use zeroize::Zeroizing;

use super::{duplicates, merge, waksman};
use crate::{Engine, Party, WireBits, count::Count, gadgets::Comparison};

/// The widest item, in bits.
pub const MAX_WIDTH: usize = 128;

/// The parameters that both parties know beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Bits of an item, at most [`MAX_WIDTH`].
    pub width: usize,
    /// The numbers of items of the first and the second party.
    pub sizes: [usize; 2],
    /// The party to which the intersection is revealed.
    pub receiver: Party,
    /// The method of comparing items.
    pub comparison: Comparison,
}

impl Parameters {
    /// The number of places among which the intersection is hidden, which is also the length of the
    /// permutation.
    pub fn places(&self) -> usize {
        (self.sizes[0] + self.sizes[1]) / 2
    }
}

/// Valid input items of one party: sorted, distinct, and not 0, which represents no item.
#[derive(Clone)]
pub struct SortedItems(Zeroizing<Vec<Block>>);

/// Why items are not valid as input. Names no item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadItems {
    /// An item is 0, which represents no item.
    Null,
    /// An item has more bits than agreed.
    TooWide,
    /// Two items are equal.
    Duplicate,
}

impl std::fmt::Display for BadItems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Null => "an item is 0, which stands for no item",
            Self::TooWide => "an item has more bits than were agreed on",
            Self::Duplicate => "two items are equal",
        })
    }
}

impl std::error::Error for BadItems {}

impl SortedItems {
    /// Checks and sorts items of at most `width` bits.
    pub fn new(items: Vec<Block>, width: usize) -> Result<Self, BadItems> {
        let mut items = Zeroizing::new(items);
        items.sort_unstable();
        if items.first() == Some(&Block::ZERO) {
            return Err(BadItems::Null);
        }
        let is_too_wide = |item: &Block| width < MAX_WIDTH && item.0 >> width != 0;
        if items.last().is_some_and(is_too_wide) {
            return Err(BadItems::TooWide);
        }
        if items.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(BadItems::Duplicate);
        }
        Ok(Self(items))
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The inputs known on this side: a party's own, or all of them for an engine that represents both parties.
#[derive(Clone, Copy, Default)]
pub struct KnownInputs<'a> {
    /// The items of the first and of the second party.
    pub items: [Option<&'a SortedItems>; 2],
    /// The permutation of [`Parameters::places`] places, known to the party that is not the receiver; see
    /// [`waksman::random`].
    pub permutation: Option<&'a [u32]>,
}

/// Runs all steps. Returns the common items, in an order that reveals nothing, only to the receiver.
///
/// # Panics
/// If the inputs known on this side do not fit the terms.
pub fn intersect<E: Engine>(
    engine: &mut E,
    terms: &Parameters,
    known: KnownInputs<'_>,
) -> Result<Option<Vec<Block>>, E::Error> {
    let shown = {
        let kept = kept(engine, terms, known)?;
        let owner = terms.receiver.other();
        let permuted = waksman::permute(engine, kept, owner, known.permutation)?;
        engine.reveal(&permuted, terms.receiver)?
    };
    Ok(shown.map(|shown| {
        let mut items = shown.to_blocks();
        items.retain(|item| *item != Block::ZERO);
        items
    }))
}

/// The cost of [`intersect`], computed only from the lengths of its lists. It equals the result of the counting engine,
/// without building the lists.
pub fn count(terms: &Parameters) -> Count {
    let Parameters { width, sizes, receiver, comparison } = *terms;
    let bits = |items: usize| (items * width) as u64;
    let mut count = Count { inputs: sizes.map(bits), ..Count::default() };
    merge::count(&mut count, width, sizes.iter().sum(), comparison);
    duplicates::count(&mut count, width, sizes.iter().sum());
    waksman::count(&mut count, width, terms.places(), receiver.other());
    count.revealed[receiver as usize] = bits(terms.places());
    count
}

/// Steps 1 to 3: the common items, with 0 in place of others, in an order that would reveal more than the
/// intersection.
fn kept<E: Engine>(
    engine: &mut E,
    terms: &Parameters,
    known: KnownInputs<'_>,
) -> Result<E::Values, E::Error> {
    assert!((1..=MAX_WIDTH).contains(&terms.width), "items of 1 to {MAX_WIDTH} bits");
    let mut put_in = |owner: Party| {
        let bits =
            known.items[owner as usize].map(|items| WireBits::from_blocks(&items.0, terms.width));
        engine.input(owner, terms.width, terms.sizes[owner as usize], bits.as_ref())
    };
    let [first, second] = [put_in(Party::First)?, put_in(Party::Second)?];
    let sorted = merge::merge(engine, &first, &second, terms.comparison)?;
    let candidates = duplicates::find(engine, &sorted)?;
    duplicates::kept(engine, &candidates)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;
    use crate::plain::Plain;

    /// The table of PSZ14's circuit for items of 32 bits.
    #[test]
    fn the_number_of_gates_is_as_expected() {
        for (log, small, shallow) in [
            (8, 229_120, 360_448),
            (10, 1_113_088, 1_755_136),
            (12, 5_238_784, 8_273_920),
            (16, 108_986_368, 172_490_752),
            (18, 486_277_120, 770_179_072),
        ] {
            let n = 1 << log;
            let by_formula = 32 * (3 * n * log + 4 * n) - n;
            let [few, flat] = [Comparison::Small, Comparison::Shallow].map(|comparison| {
                count(&Parameters { width: 32, sizes: [n; 2], receiver: Party::Second, comparison })
            });
            assert_eq!((few.ands, by_formula as u64), (small, small));
            assert_eq!(few.products[&32], (2 * n * log + n + 1) as u64);
            assert_eq!(flat.ands, shallow);
            assert_eq!(flat.revealed, [0, 32 * n as u64]);
        }
    }

    #[test]
    fn lengths_are_enough_to_count() {
        let small = (0..36).flat_map(|first| (0..36).map(move |second| [first, second]));
        let large = [[0, 700], [511, 513], [512, 512], [1025, 1], [333, 1400], [4096, 4096]];
        for (i, sizes) in small.chain(large).enumerate() {
            let receiver = [Party::First, Party::Second][i % 2];
            let comparison = [Comparison::Small, Comparison::Shallow][i / 2 % 2];
            let terms = Parameters { width: [1, 2, 7, 20, 61][i % 5], sizes, receiver, comparison };
            let mut by_engine = Count::default();
            let Ok(shown) = intersect(&mut by_engine, &terms, KnownInputs::default());
            assert!(shown.is_none());
            assert_eq!(count(&terms), by_engine, "{terms:?}");
        }
    }

    #[test]
    fn the_receiver_learns_the_intersection() {
        let mut rng = StdRng::seed_from_u64(1);
        for round in 0..300 {
            let width = [8, 20, 64, 100, 128][round % 5];
            let sizes = [0, 1].map(|_| [0, 1, 2, 3, 7, 16, 31, 64, 100][rng.random_range(0..9)]);
            let receiver = [Party::First, Party::Second][round % 2];
            let comparison = [Comparison::Small, Comparison::Shallow][round / 2 % 2];
            let terms = Parameters { width, sizes, receiver, comparison };
            // From a small range, so that the lowest and the highest numbers sometimes occur.
            let pool: Vec<u128> = (1..=128)
                .map(|i| if i % 2 == 0 { i } else { u128::MAX >> (128 - width) ^ i >> 1 })
                .collect();
            let mut draw = |n: usize| -> BTreeSet<u128> {
                let mut set = BTreeSet::new();
                while set.len() < n {
                    set.insert(pool[rng.random_range(0..pool.len())]);
                }
                set
            };
            let sets = sizes.map(&mut draw);
            let items = sets.each_ref().map(|set| {
                SortedItems::new(set.iter().rev().map(|&item| Block(item)).collect(), width)
                    .unwrap()
            });
            let permutation = waksman::random(terms.places(), &mut rng);
            let known =
                KnownInputs { items: items.each_ref().map(Some), permutation: Some(&permutation) };
            let Ok(shown) = intersect(&mut Plain, &terms, known);
            let mut shown: Vec<u128> = shown.unwrap().into_iter().map(|item| item.0).collect();
            shown.sort_unstable();
            let expected: Vec<u128> = sets[0].intersection(&sets[1]).copied().collect();
            assert_eq!(shown, expected, "{terms:?}");
        }
    }

    /// The place of the only common item does not depend on how many other items are smaller.
    #[test]
    fn places_say_nothing() {
        const RUNS: usize = 2000;
        let mut rng = StdRng::seed_from_u64(2);
        let terms = Parameters {
            width: 8,
            sizes: [4, 4],
            receiver: Party::First,
            comparison: Comparison::Small,
        };
        for others in [[1, 2, 3], [91, 92, 93]] {
            let items = [[50, others[0], others[1], others[2]], [50, 60, 61, 62]]
                .map(|items| SortedItems::new(items.map(Block).to_vec(), 8).unwrap());
            let mut seen = [0u32; 4];
            for _ in 0..RUNS {
                let permutation = waksman::random(4, &mut rng);
                let known = KnownInputs {
                    items: items.each_ref().map(Some),
                    permutation: Some(&permutation),
                };
                let Ok(kept) = kept(&mut Plain, &terms, known);
                let Ok(permuted) =
                    waksman::permute(&mut Plain, kept, Party::Second, Some(&permutation));
                let place = permuted.to_items().iter().position(|&item| item == 50);
                seen[place.unwrap()] += 1;
            }
            assert!(seen.iter().all(|count| count.abs_diff(500) < 90), "{seen:?}");
        }
    }

    #[test]
    fn items_that_cannot_be_put_in_are_refused() {
        let new =
            |items: &[u128]| SortedItems::new(items.iter().map(|&item| Block(item)).collect(), 9);
        assert_eq!(new(&[3, 0, 1]).err(), Some(BadItems::Null));
        assert_eq!(new(&[3, 512, 1]).err(), Some(BadItems::TooWide));
        assert_eq!(new(&[3, 511, 3]).err(), Some(BadItems::Duplicate));
        assert_eq!(new(&[3, 511, 1]).unwrap().len(), 3);
        assert!(new(&[]).unwrap().is_empty());
        assert!(SortedItems::new(vec![Block(u128::MAX)], MAX_WIDTH).is_ok());
    }
}
