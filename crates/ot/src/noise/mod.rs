//! Shares of noise times Δ, the core of everything silent: S gets a vector w, R has the noise e and
//! gets w + e·Δ. Both then compress what they have.
//!
//! The noise is *regular*: blocks, each zero but for a value y_i in a random place α_i that only R
//! knows. Before, S has Q_i and R has Q_i + y_i·Δ; how depends on where the y_i come from. With an OT
//! extension:
//!
//! 1. Random OT on the bits of the α_i gives the keys of the trees.
//! 2. S → R: a puncturable PRF for each block; S knows all its leaves w, R all but the one at α_i.
//! 3. S → R for each block: the sum of its leaves, plus Q_i. R adds its own share and the leaves that
//!    it has, which gives it the missing leaf plus y_i·Δ.
//!
//! Against an S that deviates, [`check`]. Against an R that does, the trees have to be full: an R that
//! knew all leaves of a block would have Q_i from step 3, and so y_i·Δ for a y_i of its choice.
//! [`Dimensions::full`] takes more blocks instead of longer ones, so that there is no leaf which is
//! not an entry of the noise.

pub mod check;
pub mod values;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::lpn::Lpn;
use vesica_primitives::{BinaryVector, Block, block::add_to, code::ExpandConvolute};
use zeroize::Zeroizing;

use crate::{
    CotReceiver, CotSender, Wiped,
    pprf::{self, equal},
    vole::Subspace,
};

const CORRECTIONS: &str = "noise/corrections";

/// The dimensions of a run.
pub struct Dimensions {
    /// Blocks of the noise.
    pub blocks: usize,
    /// Entries of a block.
    pub block: usize,
    /// The trees, one for each block, with a leaf for each entry.
    pub trees: pprf::Shape,
    code: ExpandConvolute,
}

impl Dimensions {
    /// For `len` entries after compressing, with as few entries before as possible.
    pub fn new(len: usize, lpn: Lpn) -> Self {
        Self::of_blocks(lpn, lpn.block_len(len))
    }

    /// As [`Dimensions::new`], with full trees.
    pub fn full(len: usize, lpn: Lpn) -> Self {
        let lpn = lpn.with_full_blocks(len);
        let dimensions = Self::of_blocks(lpn, lpn.block_len(len).next_power_of_two());
        assert!(dimensions.trees.is_full(), "as rounded");
        dimensions
    }

    fn of_blocks(lpn: Lpn, block: usize) -> Self {
        let code = ExpandConvolute::new(lpn.dimension(block), lpn.weight);
        let trees = pprf::Shape::new(lpn.blocks, block);
        // The leaves of a tree of one level are the messages of its OT themselves: no key that is
        // drawn for this call would stand between the OT extension and the shares.
        assert!(trees.depth() > 1, "trees of more than one level");
        Self { blocks: lpn.blocks, block, trees, code }
    }

    /// Payload bytes that go to the receiver.
    pub fn bytes(&self) -> usize {
        self.trees.bytes() + self.blocks * size_of::<Block>()
    }

    /// Compresses and keeps what was asked for.
    pub fn compress<V: BinaryVector + zeroize::DefaultIsZeroes>(
        &self,
        mut noise: Wiped<V>,
        len: usize,
    ) -> Wiped<V> {
        self.code.compress(&mut noise);
        noise.truncate(len);
        noise
    }
}

/// S's side, where `shares` are the Q_i; returns w.
pub fn send(
    dimensions: &Dimensions,
    shares: &[Block],
    cot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Wiped<Block>> {
    // 1.
    let keys = Zeroizing::new(cot.send_random(dimensions.trees.ots(), channel)?);
    // 2. and, while a tree's leaves are in the cache, 3.
    let mut leaves = Wiped::zeros(dimensions.trees.total());
    let correct = |i: usize, leaves: &mut [Block]| sum(leaves) ^ shares[i];
    let corrections = pprf::send_with(dimensions.trees, &keys, &mut leaves, correct, channel, rng)?;
    channel.send_slice(CORRECTIONS, &corrections)?;
    channel.flush()?;
    Ok(leaves)
}

/// R's side, where `places` are the α_i and `shares` the Q_i + y_i·Δ; returns w + e·Δ.
pub fn receive(
    dimensions: &Dimensions,
    places: &[u32],
    shares: &[Block],
    cot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Wiped<Block>> {
    let Received { keys, trees, sums } = Received::new(dimensions, places, shares, cot, channel)?;
    let mut leaves = Wiped::zeros(dimensions.trees.total());
    trees.grow(places, &keys, &mut leaves, |i, leaves| complete(leaves, places[i], sums[i]));
    Ok(leaves)
}

/// As [`receive`], with e beside it: y_i for each of `values` at its place.
pub fn receive_with<A: Subspace>(
    dimensions: &Dimensions,
    places: &[u32],
    values: &[A],
    shares: &[Block],
    cot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Wiped<A::Joint>> {
    let Received { keys, trees, sums } = Received::new(dimensions, places, shares, cot, channel)?;
    let mut joint = Wiped::zeros(dimensions.trees.total());
    trees.grow_into(places, &keys, &mut joint, |i, leaves, joint| {
        complete(leaves, places[i], sums[i]);
        let value = values[i].embed();
        for (j, (joint, leaf)) in joint.iter_mut().zip(leaves).enumerate() {
            let noise = value & Block::mask(equal(j, places[i] as usize));
            *joint = A::truncate(noise, A::BITS).join(*leaf);
        }
    });
    Ok(joint)
}

/// What R has before it grows its trees.
struct Received {
    keys: Zeroizing<Vec<Block>>,
    trees: pprf::MaskedSums,
    /// For each block, the sum of its leaves plus y_i·Δ.
    sums: Zeroizing<Vec<Block>>,
}

impl Received {
    fn new(
        dimensions: &Dimensions,
        places: &[u32],
        shares: &[Block],
        cot: &mut impl CotReceiver,
        channel: &mut Channel,
    ) -> Result<Self> {
        // 1.
        let keys = cot.receive_random(&dimensions.trees.choices(places), channel)?;
        // 2. and 3.
        let trees = pprf::MaskedSums::receive(dimensions.trees, channel)?;
        let mut sums = Zeroizing::new(vec![Block::ZERO; dimensions.blocks]);
        channel.recv_slice(CORRECTIONS, &mut sums)?;
        add_to(&mut sums, shares);
        Ok(Self { keys: Zeroizing::new(keys), trees, sums })
    }
}

/// Puts in the missing leaf, which is still 0.
fn complete(leaves: &mut [Block], place: u32, with_missing: Block) {
    let missing = sum(leaves) ^ with_missing;
    add_at(leaves, place, missing);
}

fn sum(leaves: &[Block]) -> Block {
    // Words, because compilers do not vectorize over 128-bit integers.
    let words: &[[u64; 2]] = bytemuck::cast_slice(leaves);
    let sum = words.iter().fold([0; 2], |sum, leaf| [sum[0] ^ leaf[0], sum[1] ^ leaf[1]]);
    bytemuck::cast(sum)
}

/// Adds `value` to the entry at a secret place. Every entry is touched, so that the caches do not tell
/// which was meant.
fn add_at<V: BinaryVector>(entries: &mut [V], place: u32, value: V) {
    let words: &mut [u64] = bytemuck::cast_slice_mut(entries);
    let value: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&value));
    for (i, entry) in words.chunks_exact_mut(size_of::<V>() / size_of::<u64>()).enumerate() {
        let mask = u64::from(equal(i, place as usize)).wrapping_neg();
        entry.iter_mut().zip(value).for_each(|(word, value)| *word ^= value & mask);
    }
}

#[cfg(test)]
mod tests {
    use vesica_params::lpn::{BITS, CONSERVATIVE, FAST};

    use super::*;

    #[test]
    fn a_value_gets_to_its_place_and_nowhere_else() {
        for len in [1, 2, 3, 16, 37] {
            for place in 0..len {
                let mut narrow: Vec<u64> = (0..len as u64).collect();
                add_at(&mut narrow, place as u32, 1 << 50);
                let expected = |i: usize| i as u64 ^ if i == place { 1 << 50 } else { 0 };
                assert!((0..len).all(|i| narrow[i] == expected(i)));
                let mut wide: Vec<Block> = (0..len as u128).map(|i| Block(i << 70)).collect();
                add_at(&mut wide, place as u32, Block(1));
                let expected = |i: usize| Block((i as u128) << 70 | u128::from(i == place));
                assert!((0..len).all(|i| wide[i] == expected(i)));
            }
        }
    }

    #[test]
    fn full_trees_have_no_more_leaves_than_entries() {
        for lpn in [FAST, CONSERVATIVE, BITS] {
            for len in [0, 1, 100, 6144, 6145, 50_000, 1 << 20, 1_373_000, 1 << 24] {
                let full = Dimensions::full(len, lpn);
                assert!(full.blocks >= lpn.blocks && full.blocks < 2 * lpn.blocks + 16);
                assert!(full.code.dimension() >= len);
                let least = Dimensions::new(len, lpn).trees.total();
                assert!(full.trees.total() <= least + 16 * full.block, "{len}");
            }
        }
    }
}
