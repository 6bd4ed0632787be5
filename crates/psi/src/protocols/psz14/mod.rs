//! PSI by set-inclusion tests: Pinkas, Schneider and Zohner (USENIX Security 2014), §5 and §6, with the four
//! methods of hashing items into bins. Semi-honest. [`gbf`] is the paper's other protocol.
//!
//! Offline: the base OTs of the 1-out-of-256 OT extension.
//!
//! 1. Both draw a seed, now that both sets are fixed; under it an item gets pseudo-random bins, and a string of
//!    t bytes to be compared.
//! 2. R gives each item a seat in one of its bins; S puts each of its items into all of its bins.
//! 3. R → S, b·μ instances of the OPRF, one for each of the μ seats of each of the b bins: R gets F_j(x's
//!    string) for the item x in seat j; an empty seat takes a random string.
//! 4. S → R, for each hash function i and seat s of bins: the sorted list of F_j(y's string) over all y, where
//!    j is seat s of the bin to which i leads y.
//! 5. R outputs the x whose value is on the list of its own hash function and seat.
//!
//! | | bins b | seats μ | hash functions |
//! |---|---|---|---|
//! | [`NONE`] | 1 | n_x | 1 |
//! | [`SIMPLE`] | n_x / ln n_x | the maximal load | 1 |
//! | [`BALANCED`] | n_x | the maximal load | 2 |
//! | [`CUCKOO`] | ≈ 1.3 n_x | 1 | 3 |
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. Deviations from the
//! paper, above all three distinct hash functions and no stash: see `docs/protocols/ot-extension.md`.

pub mod gbf;
pub(crate) mod inclusion;

use vesica_params::{
    Failure,
    bins::{balanced, cuckoo, phasing, simple},
};
use vesica_primitives::{Block, aes::Aes128};
use vesica_structures::bins::{BinMap, Entry, Hashed, Table, cuckoo::CuckooTable};

use crate::{Protocol, Result, Setting, Sizes, parts::lists};

use inclusion::{Binned, Seating, Shape, protocol, seated};

const CITATION: &str = "Pinkas, Schneider, Zohner (USENIX Security 2014), §5 and §6";

/// The protocol with cuckoo hashing, the preferred variant.
pub static CUCKOO: Protocol = protocol::<{ cuckoo::HASHES }, Cuckoo>(
    "psz14",
    "set inclusion from 1-out-of-256 OT, cuckoo hashing",
    CITATION,
);

/// Without hashing: compares every item with every item.
pub static NONE: Protocol =
    protocol::<1, None>("psz14-none", "set inclusion from 1-out-of-256 OT, no hashing", CITATION);

/// The protocol with simple hashing.
pub static SIMPLE: Protocol = protocol::<1, Simple>(
    "psz14-simple",
    "set inclusion from 1-out-of-256 OT, simple hashing",
    CITATION,
);

/// The protocol with balanced allocations.
pub static BALANCED: Protocol = protocol::<2, Balanced>(
    "psz14-balanced",
    "set inclusion from 1-out-of-256 OT, balanced allocations",
    CITATION,
);

/// The length of strings in bits, such that no two items of both sets have the same one.
fn string_bits(setting: Setting) -> u32 {
    let Sizes { sender, receiver } = setting.sizes;
    phasing::sound_bits(u128::BITS, receiver, sender, setting.lambda())
}

/// Bytes of the strings.
fn letters(setting: Setting) -> usize {
    string_bits(setting).div_ceil(8) as usize
}

/// The events that two items have the same string, and that R's items do not find their seats.
fn failures(setting: Setting, unseated: f64) -> Vec<Failure> {
    let Sizes { sender, receiver } = setting.sizes;
    let bits = 8 * letters(setting) as u32;
    let equal = phasing::log2_failure(u128::BITS, receiver, sender, bits);
    vec![
        Failure::new("two items have one string", equal),
        Failure::new("an item finds no seat", unseated),
    ]
}

/// Items under two permutations: one gives the bins, the other the string.
pub(crate) struct Permuted<const H: usize> {
    map: BinMap<H>,
    names: Vec<Block>,
    strings: Vec<Block>,
}

impl<const H: usize> Permuted<H> {
    fn new(items: &[Block], seed: Block, bins: usize) -> Self {
        let keys = Aes128::new(seed);
        let [names, strings] = [0, 1].map(|purpose| {
            let mut permuted = items.to_vec();
            Aes128::new(keys.encrypt_block(Block(purpose))).encrypt(&mut permuted);
            permuted
        });
        Self { map: BinMap::new(bins), names, strings }
    }
}

impl<const H: usize> Hashed<H> for Permuted<H> {
    fn count(&self) -> usize {
        self.names.len()
    }

    fn bin_count(&self) -> usize {
        self.map.count()
    }

    fn bins(&self, position: usize) -> [u32; H] {
        self.map.bins(self.names[position])
    }

    fn name(&self, position: usize) -> Block {
        self.names[position]
    }
}

impl<const H: usize> Binned<H> for Permuted<H> {
    fn string(&self, entry: Entry) -> Block {
        self.strings[entry.position()]
    }
}

/// All items in one bin.
struct None;

impl Seating<1> for None {
    type Items = Permuted<1>;

    fn shape(setting: Setting) -> Shape {
        Shape { bins: 1, seats: setting.sizes.receiver, letters: letters(setting) }
    }

    fn failures(setting: Setting) -> Vec<Failure> {
        failures(setting, f64::NEG_INFINITY)
    }

    fn bins(items: &[Block], seed: Block, setting: Setting) -> Self::Items {
        Permuted::new(items, seed, Self::shape(setting).bins)
    }

    fn seats(items: &Self::Items, shape: Shape) -> Result<Vec<Option<Entry>>> {
        seated(&lists::all_bins(items)?, shape.seats)
    }
}

/// Each item in its only bin.
struct Simple;

impl Seating<1> for Simple {
    type Items = Permuted<1>;

    fn shape(setting: Setting) -> Shape {
        let receiver = setting.sizes.receiver;
        let bins = simple::published_bins(receiver);
        let seats = simple::max_load(receiver, bins, setting.lambda());
        Shape { bins, seats, letters: letters(setting) }
    }

    fn failures(setting: Setting) -> Vec<Failure> {
        let Shape { bins, seats, .. } = Self::shape(setting);
        failures(setting, simple::log2_failure(setting.sizes.receiver, bins, seats))
    }

    fn bins(items: &[Block], seed: Block, setting: Setting) -> Self::Items {
        Permuted::new(items, seed, Self::shape(setting).bins)
    }

    fn seats(items: &Self::Items, shape: Shape) -> Result<Vec<Option<Entry>>> {
        seated(&lists::all_bins(items)?, shape.seats)
    }
}

/// Each item of R in the emptier of its two bins.
struct Balanced;

impl Seating<2> for Balanced {
    type Items = Permuted<2>;

    fn shape(setting: Setting) -> Shape {
        let receiver = setting.sizes.receiver;
        let bins = receiver.max(2);
        let seats = balanced::max_load(receiver, bins, 2, setting.lambda());
        Shape { bins, seats, letters: letters(setting) }
    }

    fn failures(setting: Setting) -> Vec<Failure> {
        let Shape { bins, seats, .. } = Self::shape(setting);
        failures(setting, balanced::log2_failure(setting.sizes.receiver, bins, 2, seats))
    }

    fn bins(items: &[Block], seed: Block, setting: Setting) -> Self::Items {
        Permuted::new(items, seed, Self::shape(setting).bins)
    }

    fn seats(items: &Self::Items, shape: Shape) -> Result<Vec<Option<Entry>>> {
        seated(&Table::balanced(items)?, shape.seats)
    }
}

/// Cuckoo hashing: each item of R has one of its three bins to itself.
struct Cuckoo;

impl Seating<{ cuckoo::HASHES }> for Cuckoo {
    type Items = Permuted<{ cuckoo::HASHES }>;

    fn shape(setting: Setting) -> Shape {
        let receiver = setting.sizes.receiver;
        let bins = cuckoo::sound::<{ cuckoo::HASHES }>(receiver, setting.lambda()).bins;
        Shape { bins, seats: 1, letters: letters(setting) }
    }

    fn failures(setting: Setting) -> Vec<Failure> {
        let Shape { bins, .. } = Self::shape(setting);
        let shape = cuckoo::Shape::<{ cuckoo::HASHES }> { bins, stash: 0 };
        failures(setting, shape.log2_failure(setting.sizes.receiver))
    }

    fn bins(items: &[Block], seed: Block, setting: Setting) -> Self::Items {
        Permuted::new(items, seed, Self::shape(setting).bins)
    }

    fn seats(items: &Self::Items, Shape { bins, .. }: Shape) -> Result<Vec<Option<Entry>>> {
        let shape = cuckoo::Shape::<{ cuckoo::HASHES }> { bins, stash: 0 };
        Ok(CuckooTable::new(&items.names, shape)?.bins().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::protocols::kkrt16;

    fn equal(n: usize) -> Sizes {
        Sizes { sender: n, receiver: n }
    }

    fn everyone_is_seated<const H: usize, S: Seating<H>>() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in [0, 1, 2, 3, 100, 2000] {
            let items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
            let shape = S::shape(equal(n).into());
            let binned = S::bins(&items, Block(7), equal(n).into());
            let seats = S::seats(&binned, shape).unwrap();
            assert_eq!(seats.len(), shape.bins * shape.seats);
            let mut seated = vec![0; n];
            for (instance, entry) in seats.iter().enumerate() {
                let Some(entry) = entry else { continue };
                let bin = binned.bins(entry.position())[entry.hash()] as usize;
                assert_eq!(bin, instance / shape.seats);
                seated[entry.position()] += 1;
            }
            assert!(seated.iter().all(|times| *times == 1), "{n} items");
        }
    }

    #[test]
    fn everyone_is_seated_in_one_of_their_bins() {
        everyone_is_seated::<1, None>();
        everyone_is_seated::<1, Simple>();
        everyone_is_seated::<2, Balanced>();
        everyone_is_seated::<3, Cuckoo>();
    }

    #[test]
    fn too_full_a_bin_is_no_table() {
        let items: Vec<Block> = (0..100).map(Block).collect();
        let binned = Permuted::<1>::new(&items, Block(1), 10);
        let table = Table::simple(&binned);
        assert!(seated(&table, table.max_load()).is_ok());
        let error = seated(&table, table.max_load() - 1).unwrap_err();
        assert!(matches!(error, crate::Error::HashingFailure), "{error}");
    }

    /// With few bits, so that they sometimes collide, strings of two sets of 2^5 items collide in at most 2^-λ of the
    /// runs.
    #[test]
    fn strings_collide_as_rarely_as_promised() {
        let (lambda, trials) = (4, 4000);
        let bits = phasing::sound_bits(u128::BITS, 32, 32, lambda);
        let items: Vec<Block> = (0..64).map(Block).collect();
        let collides = |seed: &u128| {
            let strings = Permuted::<1>::new(&items, Block(*seed), 1).strings;
            let cut: std::collections::HashSet<u128> =
                strings.iter().map(|string| string.0 & ((1 << bits) - 1)).collect();
            cut.len() < items.len()
        };
        let collided = (0..trials).filter(collides).count();
        // 2^-λ of them are 250; the standard deviation is 16.
        assert!((100..250 + 64).contains(&collided), "{collided}");
    }

    /// The papers' point: PSZ14's cost per item grows with the length to which items can be truncated, and so
    /// with the sets; KKRT16's does not.
    #[test]
    fn cost_grows_with_the_length_of_strings() {
        assert_eq!(
            [8, 12, 16, 20, 24].map(|e: u32| letters(equal(1 << e).into())),
            [8, 9, 10, 11, 12]
        );
        let to_sender = |protocol: &Protocol, e: u32| {
            protocol.cost(equal(1 << e)).bytes_to_sender / f64::from(1 << e)
        };
        let growth = |protocol| to_sender(protocol, 24) / to_sender(protocol, 12);
        assert!(growth(&CUCKOO) > 12.0 / 9.0, "{}", growth(&CUCKOO));
        assert!(growth(&kkrt16::PROTOCOL) < 1.1, "{}", growth(&kkrt16::PROTOCOL));
    }
}
