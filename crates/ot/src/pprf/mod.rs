//! Puncturable pseudo-random functions by the trees of Goldreich, Goldwasser and Micali, many at once: the
//! sender gets every leaf of every tree, the receiver all leaves but one of each tree. The receiver chooses
//! that leaf, and the sender does not learn which it is.
//!
//! A node's children are π_0(s) ⊕ s and π_1(s) ⊕ s, where the π are AES under two public keys that the sender
//! draws for the call: the secrecy of the missing leaf depends on them. There are ℓ leaves per tree and D =
//! ⌈log ℓ⌉ levels, and a random OT for each tree and level, in which the receiver chooses the side that its
//! path does not take:
//!
//! 1. The two messages of a tree's first OT are its nodes at level 1.
//! 2. S → R: the keys of π, and for each tree and each level from 2 to D the sum of the left and the sum of the
//!    right nodes, each masked with one message of that level's OT.
//! 3. R unmasks the sum of the side it does not take, subtracts what it knows of it, and so gets the sibling of
//!    the node on its path.
//!
//! ℓ need not be a power of two: a node without a leaf below ℓ is neither expanded nor summed.
//!
//! Against malicious parties:
//!
//! - A sender can send sums that fit no tree; [`consistency`] catches it.
//! - A receiver can choose a path that leaves the tree if ℓ is not a power of two: at a node that has no right
//!   child it goes right, and learns every leaf. A protocol that must withstand such a receiver must use full
//!   trees ([`Shape::is_full`]).
//!
//! **Many targets.** The trees of a call share the two keys, so an R that tries some s can compare π_0(s) ⊕ s
//! and π_1(s) ⊕ s with what it knows of every tree and level at once. It lacks one node at each level of each
//! tree, and one of them is enough to find that tree's missing leaf. For a piece of a malicious silent VOLE,
//! which is one call, that makes 2^13 to 2^14 targets: of 2^128 trials for one target, about 2^114 evaluations
//! of AES remain. Keys are fresh for each call, so the targets of several calls or runs do not add up.
//!
//! Neither the memory accesses nor the time taken depend on the receiver's points.

pub mod consistency;

use std::{array, hint::black_box};

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block, aes::Doubling, declassify};

/// The maximal number of leaves of a tree.
pub const MAX_LEAVES: usize = 1 << 31;

const GENERATOR: &str = "pprf/generator";
const SUMS: &str = "pprf/sums";

/// Parents expanded together: enough to fill the cipher's pipeline, and few enough for the first-level cache.
const BATCH: usize = 256;

/// The minimum number of leaves per thread: fewer are not worth a task.
const MIN_LEAVES: usize = 4096;

/// The number of trees and their number of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    trees: usize,
    leaves: usize,
}

impl Shape {
    /// `trees` trees of `leaves` leaves each.
    ///
    /// # Panics
    /// If a tree has fewer than 2 or more than [`MAX_LEAVES`] leaves.
    pub const fn new(trees: usize, leaves: usize) -> Self {
        assert!(2 <= leaves && leaves <= MAX_LEAVES, "a tree has 2 to 2^31 leaves");
        Self { trees, leaves }
    }

    /// Levels of a tree below its root, D = ⌈log2 leaves⌉.
    pub const fn depth(self) -> usize {
        self.leaves.next_power_of_two().trailing_zeros() as usize
    }

    /// Random OTs needed: one for each tree and level. Level l (from 1) of tree i is number
    /// i·D + l − 1.
    pub const fn ots(self) -> usize {
        self.trees * self.depth()
    }

    /// The number of trees.
    pub const fn trees(self) -> usize {
        self.trees
    }

    /// Leaves of a tree.
    pub const fn leaves(self) -> usize {
        self.leaves
    }

    /// Whether a tree has as many leaves as its depth allows, so that every path ends at one.
    pub const fn is_full(self) -> bool {
        self.leaves.is_power_of_two()
    }

    /// Leaves of all trees.
    pub const fn total(self) -> usize {
        self.trees * self.leaves
    }

    /// Bytes that the sender sends, without [`consistency`].
    pub const fn bytes(self) -> usize {
        32 + 32 * self.trees * (self.depth() - 1)
    }

    /// The receiver's choices in the OTs: at each level the side that its path does not take.
    ///
    /// # Panics
    /// If the number of points is not that of the trees, or a point is not below the number of leaves.
    pub fn choices(self, points: &[u32]) -> Bits {
        self.assert_points(points);
        let depth = self.depth();
        Bits::from_fn(self.ots(), |i| 1 - self.side(points[i / depth], i % depth + 1))
    }

    /// The side that the path to `point` takes to level `level`: 0 is left.
    fn side(self, point: u32, level: usize) -> u8 {
        (point >> (self.depth() - level) & 1) as u8
    }

    /// Nodes of a tree at `level` that have a leaf.
    fn width(self, level: usize) -> usize {
        self.leaves.div_ceil(1 << (self.depth() - level))
    }

    fn assert_points(self, points: &[u32]) {
        assert_eq!(points.len(), self.trees, "a point for each tree");
        // Points are secret; that they are leaves is not.
        let outside = |point: &u32| u8::from(*point as usize >= self.leaves);
        let some = points.iter().fold(0, |some, point| some | outside(point));
        assert!(declassify(some) == 0, "a point is the number of a leaf");
    }

    /// The minimum number of trees per thread.
    pub(crate) fn trees_per_task(self) -> usize {
        MIN_LEAVES.div_ceil(self.leaves)
    }
}

/// The sender's side: fills `leaves` with the leaves of all trees, one tree after another. `keys` are the
/// messages of the random OTs (see [`Shape::ots`]), which must not be used for anything else.
///
/// # Panics
/// If a length does not fit the shape.
pub fn send(
    shape: Shape,
    keys: &[[Block; 2]],
    leaves: &mut [Block],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    Trees::new(shape, keys, rng).send(leaves, |_, _| (), channel).map(drop)
}

/// The sender's trees, which can be grown again.
pub struct Trees<'a> {
    shape: Shape,
    keys: &'a [[Block; 2]],
    public: [Block; 2],
    generator: Doubling,
}

impl<'a> Trees<'a> {
    /// Trees from the messages of the random OTs.
    ///
    /// # Panics
    /// If the number of messages is not that of the shape.
    pub fn new(shape: Shape, keys: &'a [[Block; 2]], rng: &mut dyn CryptoRng) -> Self {
        assert_eq!(keys.len(), shape.ots(), "as the shape says");
        let public = [Block::random(rng), Block::random(rng)];
        Self { shape, keys, public, generator: Doubling::new(public) }
    }

    /// Their shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Like [`send`]; `finish(i, leaves)` gets the leaves of tree i as soon as they are available, while they
    /// are in the cache. Returns its results, one per tree.
    pub fn send<T: Send>(
        &self,
        leaves: &mut [Block],
        finish: impl Fn(usize, &[Block]) -> T + Sync,
        channel: &mut Channel,
    ) -> Result<Vec<T>> {
        let (sums, finished): (Vec<Vec<[Block; 2]>>, Vec<T>) = self.grow(leaves, &finish).unzip();
        self.send_sums(&sums.concat(), channel)?;
        Ok(finished)
    }

    /// Grows tree `i` alone; returns its masked sums.
    pub fn grow_one(&self, i: usize, leaves: &mut [Block]) -> Vec<[Block; 2]> {
        let depth = self.shape.depth();
        grow(&self.generator, self.shape, &self.keys[i * depth..][..depth], leaves)
    }

    /// Sends the masked sums of all trees.
    pub fn send_sums(&self, sums: &[[Block; 2]], channel: &mut Channel) -> Result<()> {
        channel.send_slice(GENERATOR, &self.public)?;
        channel.send_slice(SUMS, sums.as_flattened())
    }

    /// Grows the trees once more and returns the results of `finish`, one per tree: if there are many leaves,
    /// this is faster than keeping them.
    pub fn again<T: Send>(
        &self,
        leaves: &mut [Block],
        finish: impl Fn(usize, &[Block]) -> T + Sync,
    ) -> Vec<T> {
        self.grow(leaves, &finish).map(|(_, finished)| finished).collect()
    }

    /// The masked sums of each tree, and the result of `finish` for its leaves.
    fn grow<T: Send>(
        &self,
        leaves: &mut [Block],
        finish: &(impl Fn(usize, &[Block]) -> T + Sync),
    ) -> impl IndexedParallelIterator<Item = (Vec<[Block; 2]>, T)> {
        let shape = self.shape;
        assert_eq!(leaves.len(), shape.total(), "as the shape says");
        let keys = self.keys.par_chunks_exact(shape.depth());
        let trees = leaves.par_chunks_exact_mut(shape.leaves).zip(keys).enumerate();
        trees.with_min_len(shape.trees_per_task()).map(move |(i, (tree, keys))| {
            (grow(&self.generator, shape, keys, tree), finish(i, tree))
        })
    }
}

/// The receiver's side: fills `leaves` with the leaves of all trees, zero at the punctured points.
/// `keys` are the messages it chose in the random OTs by [`Shape::choices`].
///
/// # Errors
/// Only those of receiving: sums that fit no tree are not noticed here, see [`consistency`].
///
/// # Panics
/// If a length does not fit the shape, or a point is not a leaf.
pub fn receive(
    shape: Shape,
    points: &[u32],
    keys: &[Block],
    leaves: &mut [Block],
    channel: &mut Channel,
) -> Result<()> {
    MaskedSums::receive(shape, channel)?.grow(points, keys, leaves, |_, _| ());
    Ok(())
}

/// The sender's message.
pub struct MaskedSums {
    shape: Shape,
    generator: Doubling,
    sums: Vec<[Block; 2]>,
}

impl MaskedSums {
    /// The receiver's side of [`Trees::send`].
    pub fn receive(shape: Shape, channel: &mut Channel) -> Result<Self> {
        let mut public = [Block::ZERO; 2];
        channel.recv_slice(GENERATOR, &mut public)?;
        let mut sums = vec![[Block::ZERO; 2]; shape.trees * (shape.depth() - 1)];
        channel.recv_slice(SUMS, sums.as_flattened_mut())?;
        Ok(Self { shape, generator: Doubling::new(public), sums })
    }

    /// Like [`receive`], but `finish(i, leaves)` gets the leaves of tree i as soon as they are available, while
    /// they are in the cache, and may change them. Returns its results, one per tree.
    ///
    /// # Panics
    /// Same as [`receive`].
    pub fn grow<T: Send>(
        &self,
        points: &[u32],
        keys: &[Block],
        leaves: &mut [Block],
        finish: impl Fn(usize, &mut [Block]) -> T + Sync,
    ) -> Vec<T> {
        let shape = self.shape;
        assert_eq!([keys.len(), leaves.len()], [shape.ots(), shape.total()], "as the shape says");
        shape.assert_points(points);
        let trees = leaves.par_chunks_exact_mut(shape.leaves).enumerate();
        let grown = trees.with_min_len(shape.trees_per_task()).map(|(i, tree)| {
            self.grow_one(i, points, keys, tree);
            finish(i, tree)
        });
        grown.collect()
    }

    /// Grows tree `i` alone, given the points and keys of all trees.
    pub fn grow_one(&self, i: usize, points: &[u32], keys: &[Block], tree: &mut [Block]) {
        let depth = self.shape.depth();
        let keys = &keys[i * depth..][..depth];
        let sums = &self.sums[i * (depth - 1)..][..depth - 1];
        grow_punctured(&self.generator, self.shape, points[i], keys, sums, tree);
    }
}

/// Replaces the first `parents` nodes by their children, which fill `nodes`: two for each, except that the last
/// may have only one. Returns the sum of the left children and that of the right ones.
fn expand(generator: &Doubling, nodes: &mut [Block], parents: usize) -> [Block; 2] {
    let mut sums = [Block::ZERO; 2];
    let mut end = parents;
    // From the back, so that children overwrite only parents that have been expanded.
    if !nodes.len().is_multiple_of(2) {
        end -= 1;
        [sums[0], _] = generator.double(&[nodes[end]], &mut [[Block::ZERO; 2]]);
        nodes[2 * end] = sums[0];
    }
    let mut kept = [Block::ZERO; BATCH];
    while end > 0 {
        let start = (end - 1) / BATCH * BATCH;
        let kept = &mut kept[..end - start];
        kept.copy_from_slice(&nodes[start..end]);
        let (children, _) = nodes[2 * start..2 * end].as_chunks_mut();
        let [left, right] = generator.double(kept, children);
        sums = [sums[0] ^ left, sums[1] ^ right];
        end = start;
    }
    sums
}

/// Grows a tree from the messages of its OTs; returns the masked sums of levels 2 to D.
fn grow(
    generator: &Doubling,
    shape: Shape,
    keys: &[[Block; 2]],
    tree: &mut [Block],
) -> Vec<[Block; 2]> {
    tree[..2].copy_from_slice(&keys[0]);
    let levels = (2..=shape.depth()).zip(&keys[1..]);
    let sums = levels.map(|(level, masks)| {
        let [left, right] =
            expand(generator, &mut tree[..shape.width(level)], shape.width(level - 1));
        [left ^ masks[0], right ^ masks[1]]
    });
    sums.collect()
}

/// Grows a tree except for the leaf `point`, which is left zero like every node above it.
fn grow_punctured(
    generator: &Doubling,
    shape: Shape,
    point: u32,
    keys: &[Block],
    masked_sums: &[[Block; 2]],
    tree: &mut [Block],
) {
    // The children of the zero that stands for an unknown node, which are included in the sums.
    let [left, right] = generator.double(&[Block::ZERO], &mut [[Block::ZERO; 2]]);
    let sides = opposite(keys[0], shape.side(point, 1));
    tree[..2].copy_from_slice(&sides);
    for ((level, masked), mask) in (2..=shape.depth()).zip(masked_sums).zip(&keys[1..]) {
        let nodes = &mut tree[..shape.width(level)];
        let known = expand(generator, nodes, shape.width(level - 1));
        let side = shape.side(point, level);
        let sibling = [masked[0] ^ known[0] ^ left, masked[1] ^ known[1] ^ right];
        let sibling = select(sibling, 1 - side) ^ *mask;
        let parent = (point >> (shape.depth() - level + 1)) as usize;
        replace_pair(nodes, parent, opposite(sibling, side));
    }
}

/// A pair with `node` opposite `side`, and zero on that side.
fn opposite(node: Block, side: u8) -> [Block; 2] {
    let left = node & Block::mask(side);
    [left, node ^ left]
}

/// One of two values, selected by a secret bit.
fn select(pair: [Block; 2], bit: u8) -> Block {
    pair[0] ^ ((pair[0] ^ pair[1]) & Block::mask(bit))
}

/// Replaces pair number `secret` by `pair`; the right node of the last pair may be missing. Every pair is
/// accessed, so that the caches do not reveal which one was meant.
fn replace_pair(nodes: &mut [Block], secret: usize, pair: [Block; 2]) {
    let (pairs, last) = nodes.as_chunks_mut::<2>();
    if let [only] = last {
        *only = select([*only, pair[0]], equal(pairs.len(), secret));
    }
    // Words, because compilers do not vectorize over 128-bit integers.
    let pairs: &mut [[u64; 4]] = bytemuck::cast_slice_mut(pairs);
    let new: [u64; 4] = bytemuck::cast(pair);
    for (i, pairs) in pairs.chunks_mut(MASKS).enumerate() {
        for (words, mask) in pairs.iter_mut().zip(masks(i * MASKS, secret)) {
            for (word, new) in words.iter_mut().zip(new) {
                *word ^= (*word ^ new) & mask;
            }
        }
    }
}

/// Masks that are made at a time.
pub(crate) const MASKS: usize = 16;

/// For each number from `first` on all ones if it is `secret`, and otherwise zeros. A compiler that knew where these come
/// from would branch instead; so many at a time cost little.
pub(crate) fn masks(first: usize, secret: usize) -> [u64; MASKS] {
    black_box(array::from_fn(|i| u64::from(equal(first + i, secret)).wrapping_neg()))
}

/// 1 if the two are equal, otherwise 0; without a branch. For numbers below 2^63.
pub(crate) fn equal(a: usize, b: usize) -> u8 {
    (((a ^ b) as u64).wrapping_sub(1) >> 63) as u8
}

#[cfg(test)]
pub(super) mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use vesica_primitives::aes::Aes128;

    use super::*;
    use crate::two_party::run;

    /// The parties' inputs.
    pub struct Setup {
        pub shape: Shape,
        pub keys: Vec<[Block; 2]>,
        pub points: Vec<u32>,
        pub chosen: Vec<Block>,
    }

    pub fn setup(trees: usize, leaves: usize, seed: u64) -> Setup {
        let mut rng = StdRng::seed_from_u64(seed);
        let shape = Shape::new(trees, leaves);
        let keys: Vec<[Block; 2]> =
            (0..shape.ots()).map(|_| [(); 2].map(|()| Block::random(&mut rng))).collect();
        let points: Vec<u32> = (0..trees).map(|_| rng.random_range(0..leaves as u32)).collect();
        let choices = shape.choices(&points);
        let chosen = keys.iter().zip(choices.iter()).map(|(k, c)| k[usize::from(c)]).collect();
        Setup { shape, keys, points, chosen }
    }

    /// An honest run, after checking the number of bytes sent.
    fn exchange(s: &Setup) -> (Vec<Block>, Vec<Block>) {
        run(
            |channel| {
                let mut out = vec![Block(9); s.shape.total()];
                let mut rng = StdRng::seed_from_u64(5);
                send(s.shape, &s.keys, &mut out, channel, &mut rng).unwrap();
                // The two messages have labels and lengths, too.
                let most = s.shape.bytes() + s.shape.bytes() / 1000 + 2 * 64;
                assert!((s.shape.bytes()..=most).contains(&(channel.meter().sent() as usize)));
                out
            },
            |channel| {
                let mut out = vec![Block(9); s.shape.total()];
                receive(s.shape, &s.points, &s.chosen, &mut out, channel).unwrap();
                out
            },
        )
    }

    /// A leaf by its definition, from the message of the first OT down.
    fn leaf_by_hand(public: [Block; 2], first: &[Block; 2], depth: usize, leaf: usize) -> Block {
        let bit = |level: usize| leaf >> (depth - level) & 1;
        (2..=depth).fold(first[bit(1)], |node, level| {
            Aes128::new(public[bit(level)]).encrypt_block(node) ^ node
        })
    }

    #[test]
    fn all_leaves_but_the_punctured_one_agree() {
        for leaves in [2, 3, 4, 5, 7, 8, 9, 100, 127, 128, 129, 255, 256, 257, 1000, 10_007] {
            for trees in [0, 1, 3, 20] {
                let s = setup(trees, leaves, leaves as u64);
                let (sent, received) = exchange(&s);
                let mut rng = StdRng::seed_from_u64(5);
                let public = [Block::random(&mut rng), Block::random(&mut rng)];
                for tree in 0..trees {
                    let first = &s.keys[tree * s.shape.depth()];
                    for leaf in 0..leaves {
                        let i = tree * leaves + leaf;
                        let by_hand = leaf_by_hand(public, first, s.shape.depth(), leaf);
                        assert_eq!(sent[i], by_hand, "{leaves} leaves, leaf {leaf}");
                        let punctured = leaf == s.points[tree] as usize;
                        let expected = if punctured { Block::ZERO } else { by_hand };
                        assert_eq!(received[i], expected, "{leaves} leaves, leaf {leaf}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_point_of_a_tree_can_be_punctured() {
        for leaves in [2, 3, 6, 13, 16] {
            let mut s = setup(leaves, leaves, 1);
            s.points = (0..leaves as u32).collect();
            let choices = s.shape.choices(&s.points);
            s.chosen = s.keys.iter().zip(choices.iter()).map(|(k, c)| k[usize::from(c)]).collect();
            let (sent, received) = exchange(&s);
            for (i, (sent, received)) in sent.iter().zip(&received).enumerate() {
                let missing = i / leaves == i % leaves;
                assert_eq!(*received, if missing { Block::ZERO } else { *sent }, "{leaves}: {i}");
            }
            assert!(sent.iter().all(|leaf| *leaf != Block::ZERO));
        }
    }
}
