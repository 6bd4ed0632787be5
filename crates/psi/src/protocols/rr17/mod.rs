//! The two protocols of Rindal and Rosulek (CCS 2017) against malicious parties: [`dual_execution`] (§5) and
//! [`encode_commit`] (§6). This module holds their common part.
//!
//! Each party hashes its items into b bins, by one hash function, and fills every bin up to μ *slots* with
//! dummies. For each slot there is an instance of an OPRF ([`oos17`](vesica_oprf::oos17)), in which the party
//! learns the value at the point it has in the slot; the other party can evaluate the functions of all slots
//! of an item's bin. A party can have only one point per instance, so b·μ slots are as many inputs, for a
//! malicious party too; and which of the other party's slots an item meets reveals nothing, because items are
//! in random slots of their bin.
//!
//! **Items and points.** The OPRF takes points of 76 bits, items have 256. Under a seed that both tossed once
//! their sets were fixed, BLAKE3 therefore shortens an item to an *image* of 75 + ⌊log b⌋ bits, and phasing
//! (§6.1) splits that into a bin and a rest of 75 bits, the point. Points of 76 bits whose highest bit is set
//! are dummies. Two items with one image have the same point, and a party that finds two such items during the
//! run can use both in one slot: the first such pair takes 2^((75 + log b)/2) hashes. They still count as two
//! items, because the final comparison uses a hash of the *whole* item.

pub mod dual_execution;
pub mod encode_commit;

use rand::{CryptoRng, RngExt};
use vesica_net::Channel;
use vesica_oprf::oos17::{Functions, POINT_BITS};
use vesica_params::{
    Failure,
    bins::{
        padded::{self, Shape},
        phasing, simple,
    },
};
use vesica_primitives::{
    Block, Declassified,
    hash::{ShortHash, ShortInput},
};
use vesica_structures::bins::{
    Table,
    phasing::{Phased, Phasing},
};

use crate::{Cost, Error, Items, Result, Setting, Sizes, parts::tags::refuse_duplicates};

pub use dual_execution::PROTOCOL as DUAL_EXECUTION;
pub use encode_commit::PROTOCOL as ENCODE_COMMIT;

const CITATION: &str = "Rindal, Rosulek (CCS 2017)";

/// Bits of a rest: all bits of a point except one, which distinguishes dummies from items.
const REST_BITS: u32 = POINT_BITS - 1;

/// The approximate cost of an OPRF value to the party that evaluates it, in nanoseconds.
const VALUE_COST: u128 = 200;

/// The approximate cost of an instance to both parties, in nanoseconds.
const INSTANCE_COST: u128 = 450;

/// The cost of a byte in nanoseconds, on a link of 1 Gb/s.
const BYTE_COST: u128 = 8;

/// Items that one thread hashes at a time.
const CHUNK: usize = 1024;

/// Approximate number of values that are computed together, if slots have that many.
const GROUP_VALUES: usize = 1 << 18;

/// The maximal number of instances of a group with more than one slot.
const GROUP_INSTANCES: usize = 1 << 20;

/// The bins with which a run takes about the least time on a link of 1 Gb/s. `work` gives the work for a shape,
/// or `None` if the shape is not possible.
fn fastest(setting: Setting, work: impl Fn(Shape) -> Option<Effort>) -> Shape {
    let Sizes { sender, receiver } = setting.sizes;
    padded::cheapest(receiver, sender, setting.lambda(), |shape| {
        let Effort { cost, values, instances } = work(shape)?;
        let bytes = (cost.bytes_to_sender + cost.bytes_to_receiver) as u128;
        let [values, instances] = [values, instances].map(|count| count as u128);
        Some(BYTE_COST * bytes + VALUE_COST * values + INSTANCE_COST * instances)
    })
}

/// The events that a bin of R, or of S, has too many items.
fn overflows(sizes: Sizes, shape: Shape) -> [Failure; 2] {
    let Shape { bins, receiver, sender } = shape;
    [
        Failure::new("a bin of the receiver overflows", {
            simple::log2_failure(sizes.receiver, bins, receiver)
        }),
        Failure::new("a bin of the sender overflows", {
            simple::log2_failure(sizes.sender, bins, sender)
        }),
    ]
}

/// The work of a run.
struct Effort {
    cost: Cost,
    /// OPRF values that are computed.
    values: usize,
    /// Instances of the OPRF.
    instances: usize,
}

/// Items of 256 bits, and the hash functions of a run.
struct Hashing {
    phasing: Phasing<1>,
    image: ShortHash,
    image_mask: u128,
    /// The seed for the keys of everything else that a protocol hashes.
    seed: Block,
}

impl Hashing {
    /// For this number of bins, under a seed that both parties tossed.
    fn new(bins: usize, seed: Block) -> Self {
        let bits = REST_BITS + bins.ilog2();
        let shape = phasing::Shape::modular(bits, bins).expect("bits for the number of a bin");
        let root = vesica_primitives::aes::Aes128::new(seed);
        Self {
            phasing: Phasing::new(shape, root.encrypt_block(Block::ZERO)),
            image: keyed("vesica rr17 image v1", seed),
            image_mask: u128::MAX >> (128 - bits),
            seed,
        }
    }

    /// The hash for this purpose.
    fn keyed(&self, context: &str) -> ShortHash {
        keyed(context, self.seed)
    }

    /// The images of items.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`] if two are equal.
    fn images(&self, items: Items<'_>) -> Result<Vec<Block>> {
        let input = |position| short(&[&item(items, position)]);
        let mut images = Vec::with_capacity(items.len());
        self.image.hash((0..items.len()).map(input), |digest| {
            images.push(Block(first(&digest).0 & self.image_mask));
        });
        let phased = self.phased(&images);
        // Equal items have equal images; the converse is almost certain.
        if Table::simple(&phased).duplicate(&phased).is_some() {
            refuse_duplicates(items)?;
        }
        Ok(images)
    }

    fn phased(&self, images: &[Block]) -> Phased<1> {
        self.phasing.phase(images).expect("images have the bits of the shape")
    }

    /// Puts items with these images into their bins.
    fn bin(&self, images: &[Block]) -> Binned {
        let table = Table::simple(&self.phased(images));
        let rest = |position| Block(self.phasing.store(images[position], 0).rest);
        let rests = table.entries().iter().map(|entry| rest(entry.position())).collect();
        Binned { table, rests }
    }
}

fn keyed(context: &str, seed: Block) -> ShortHash {
    ShortHash::keyed(&blake3::derive_key(context, &seed.to_bytes()))
}

/// An item, whole.
fn item(items: Items<'_>, position: usize) -> [u8; 32] {
    bytemuck::cast([items.low_halves()[position], items.high_halves()[position]])
}

/// The concatenation of parts, as input of a hash.
fn short(parts: &[&[u8]]) -> ShortInput {
    let (mut bytes, mut len) = ([0; vesica_primitives::hash::SHORT], 0);
    for part in parts {
        bytes[len..][..part.len()].copy_from_slice(part);
        len += part.len();
    }
    ShortInput::new(&bytes[..len]).expect("no longer than the array")
}

/// The first half of a digest.
fn first(digest: &[u8; 32]) -> Block {
    bytemuck::cast::<_, [Block; 2]>(*digest)[0]
}

/// Items in their bins. An *entry* is an item, numbered in the order of bins.
struct Binned {
    table: Table,
    /// The rest of each entry.
    rests: Vec<Block>,
}

impl Binned {
    fn len(&self) -> usize {
        self.rests.len()
    }

    /// The position of an entry's item in its party's set.
    fn position(&self, entry: usize) -> usize {
        self.table.entries()[entry].position()
    }

    /// Puts the items of each bin into random ones of its `slots`, and dummies into the others.
    ///
    /// # Errors
    /// [`Error::HashingFailure`] if a bin has more items than slots.
    fn fill(&self, slots: usize, rng: &mut dyn CryptoRng) -> Result<Rr17Slots> {
        if self.table.max_load() > slots {
            return Err(Error::HashingFailure);
        }
        let bins = self.table.bin_count();
        let mut points: Vec<Block> = (0..bins * slots).map(|_| dummy(rng)).collect();
        let mut of_entry = Vec::with_capacity(self.len());
        // For any order, shuffling its front makes a random choice. Only caches can make time depend on it.
        let rng = &mut Declassified(rng);
        let mut order: Vec<usize> = (0..slots).collect();
        for (bin, bounds) in self.table.starts().array_windows().enumerate() {
            let [start, end] = bounds.map(|bound| bound as usize);
            for (i, rest) in self.rests[start..end].iter().enumerate() {
                order.swap(i, rng.random_range(i..slots));
                points[order[i] * bins + bin] = *rest;
                of_entry.push((order[i] * bins + bin) as u32);
            }
        }
        Ok(Rr17Slots { points, of_entry })
    }

    /// Evaluates the functions of `slots` slots per bin at all entries, some slots at a time: passes on each
    /// group's first slot and its values, slot by slot.
    fn evaluate(
        &self,
        functions: &Functions,
        slots: usize,
        channel: &mut Channel,
        mut show: impl FnMut(usize, &[Block]),
    ) -> Result<()> {
        let (n, bins) = (self.len(), self.table.bin_count());
        if n == 0 {
            return Ok(());
        }
        let together = (GROUP_VALUES / n).min(GROUP_INSTANCES / bins).max(1);
        let points = functions.encode(&self.rests);
        let mut values = vec![Block::ZERO; n * together.min(slots)];
        for slot in (0..slots).step_by(together) {
            let count = together.min(slots - slot);
            let of_slot =
                |i: usize| self.table.starts()[..bins].iter().map(move |s| s + (i * n) as u32);
            let starts: Vec<u32> =
                (0..count).flat_map(of_slot).chain([(count * n) as u32]).collect();
            let values = &mut values[..count * n];
            functions.evaluate(slot * bins, &starts, &points, |point| point % n, values);
            show(slot, values);
            channel.keep_alive()?;
        }
        Ok(())
    }
}

/// A point that belongs to no item.
fn dummy(rng: &mut dyn CryptoRng) -> Block {
    Block(Block::random(rng).0 >> (128 - REST_BITS) | 1 << REST_BITS)
}

/// The contents of a party's slots. The instance of slot i of a bin has the number i·b + bin.
struct Rr17Slots {
    /// The point of each instance.
    points: Vec<Block>,
    /// The instance of each entry.
    of_entry: Vec<u32>,
}

impl Rr17Slots {
    /// Selects each entry's value from values given for each instance.
    fn pick(&self, of_instances: &[Block]) -> Vec<Block> {
        self.of_entry.iter().map(|instance| of_instances[*instance as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::Set;

    fn random_set(n: usize, rng: &mut StdRng) -> Set {
        let mut blocks = || (0..n).map(|_| Block::random(rng)).collect();
        Set::long(blocks(), blocks())
    }

    fn binned(n: usize, bins: usize, rng: &mut StdRng) -> Binned {
        let hashing = Hashing::new(bins, Block::random(rng));
        let set = random_set(n, rng);
        hashing.bin(&hashing.images(set.items()).unwrap())
    }

    #[test]
    fn slots_hold_each_item_in_its_bin_and_dummies_elsewhere() {
        let rng = &mut StdRng::seed_from_u64(1);
        let (n, bins, slots) = (1000, 100, 32);
        let binned = binned(n, bins, rng);
        let filled = binned.fill(slots, rng).unwrap();
        assert_eq!(filled.points.len(), bins * slots);
        assert_eq!(filled.pick(&filled.points), binned.rests);
        for (bin, bounds) in binned.table.starts().array_windows().enumerate() {
            let [start, end] = bounds.map(|bound| bound as usize);
            let instances = &filled.of_entry[start..end];
            assert!(instances.iter().all(|instance| *instance as usize % bins == bin));
        }
        let is_dummy = |point: &&Block| point.0 >> REST_BITS == 1;
        assert_eq!(filled.points.iter().filter(is_dummy).count(), bins * slots - n);
        assert!(filled.points.iter().all(|point| point.0 >> POINT_BITS == 0));
        assert!(binned.rests.iter().all(|rest| rest.0 >> REST_BITS == 0));
    }

    /// For every load of a bin and every position, an item is equally likely to be in each slot.
    #[test]
    fn slots_are_uniform() {
        let rng = &mut StdRng::seed_from_u64(2);
        let (n, slots, trials) = (3, 5, 2000);
        let binned = binned(n, 1, rng);
        let mut seen = vec![[0usize; 5]; n];
        for _ in 0..trials {
            let filled = binned.fill(slots, rng).unwrap();
            filled
                .of_entry
                .iter()
                .zip(&mut seen)
                .for_each(|(slot, seen)| seen[*slot as usize] += 1);
        }
        // Five standard deviations of a binomial with 2,000 trials and probability 1/5.
        assert!(seen.iter().flatten().all(|count| count.abs_diff(trials / slots) < 90), "{seen:?}");
    }

    #[test]
    fn a_bin_that_is_too_full_is_refused() {
        let rng = &mut StdRng::seed_from_u64(3);
        let binned = binned(50, 1, rng);
        assert!(matches!(binned.fill(49, rng), Err(Error::HashingFailure)));
        assert!(binned.fill(50, rng).is_ok());
    }

    /// Images depend on both halves of an item, and on the seed.
    #[test]
    fn images_depend_on_all_of_an_item() {
        let rng = &mut StdRng::seed_from_u64(4);
        let image = |seed, low, high| {
            let set = Set::long(vec![Block(low)], vec![Block(high)]);
            Hashing::new(16, Block(seed)).images(set.items()).unwrap()[0]
        };
        let here = image(1, 2, 3);
        assert!(here.0 >> (REST_BITS + 4) == 0);
        assert!([image(2, 2, 3), image(1, 3, 3), image(1, 2, 2)].iter().all(|i| *i != here));
        let set = random_set(9, rng);
        let twice = set.items().at(&[0, 1, 2, 3, 1]);
        let refused = Hashing::new(16, Block(1)).images(twice.items());
        assert!(matches!(refused, Err(Error::DuplicateItem { first: 1, second: 4 })));
    }
}
