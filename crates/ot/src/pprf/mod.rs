//! Puncturable pseudo-random functions by trees, many at once: the sender gets every leaf of every tree, the
//! receiver all leaves but one of each tree. The receiver chooses that leaf, and the sender does not learn which it is.
//!
//! There are ℓ leaves per tree and D = ⌈log ℓ⌉ levels, and an OT for each tree and level, in which the receiver chooses
//! the side that its path does not take. ℓ need not be a power of two: a node without a leaf below ℓ is not expanded.
//!
//! - [`ggm`]: from random OTs, two blocks a level.
//! - [`half_tree`]: from correlated OTs, one block a level, and one AES call for a node instead of two.
//!
//! A malicious receiver can choose a path that leaves the tree if ℓ is not a power of two, and so learn every leaf. A
//! protocol that must withstand such a receiver must use full trees ([`Shape::is_full`]).
//!
//! Neither the memory accesses nor the time taken depend on the receiver's points.

pub mod consistency;
pub mod ggm;
pub mod half_tree;

use std::{array, hint::black_box};

use vesica_primitives::{Bits, Block, declassify, threads};
use zeroize::Zeroize;

/// The maximal number of leaves of a tree.
pub const MAX_LEAVES: usize = 1 << 31;

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

    /// OTs needed: one for each tree and level. Level l (from 1) of tree i is number
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

    /// The receiver's choices in the OTs: at each level the side that its path does not take.
    ///
    /// # Panics
    /// If the numbers of points and trees differ, or a point is not below the number of leaves.
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

    /// The number of the parent of the path's node at `level`, from the left.
    fn parent(self, point: u32, level: usize) -> usize {
        (point >> (self.depth() - level + 1)) as usize
    }

    fn assert_points(self, points: &[u32]) {
        assert_eq!(points.len(), self.trees, "a point for each tree");
        // Points are secret; that they are leaves is not.
        let outside = |point: &u32| u8::from(*point as usize >= self.leaves);
        let some = points.iter().fold(0, |some, point| some | outside(point));
        assert!(declassify(some) == 0, "a point is the number of a leaf");
    }

    /// Returns the result of `make(i, tree)` for each tree i, on all threads, where `entries` has one entry for each
    /// leaf.
    pub(crate) fn each<V: Send, T: Default + Send>(
        self,
        entries: &mut [V],
        make: impl Fn(usize, &mut [V]) -> T + Sync,
    ) -> Vec<T> {
        self.each_with(entries, || (), |(), i, tree| make(i, tree))
    }

    /// The same with the result of `scratch`, which is made for several trees.
    pub(crate) fn each_with<V: Send, S, T: Default + Send>(
        self,
        entries: &mut [V],
        scratch: impl Fn() -> S + Sync,
        make: impl Fn(&mut S, usize, &mut [V]) -> T + Sync,
    ) -> Vec<T> {
        assert_eq!(entries.len(), self.total(), "as the shape says");
        let mut made: Vec<T> = Vec::new();
        made.resize_with(self.trees, T::default);
        // Fewer leaves are not worth a task.
        let task = MIN_LEAVES.div_ceil(self.leaves);
        let tasks = entries.chunks_mut(task * self.leaves).zip(made.chunks_mut(task));
        threads::for_each(tasks.enumerate(), |(number, (entries, made))| {
            let mut scratch = scratch();
            let trees = entries.chunks_exact_mut(self.leaves).zip(made);
            for (i, (tree, made)) in (number * task..).zip(trees) {
                *made = make(&mut scratch, i, tree);
            }
        });
        made
    }
}

/// Replaces the first `parents` nodes by the children that `split` makes of them, which fill `nodes`: two for each,
/// except that the right one of the last may have no room. Returns that one, or zero.
fn expand(
    nodes: &mut [Block],
    parents: usize,
    mut split: impl FnMut(&[Block], &mut [[Block; 2]]),
) -> Block {
    let (mut end, mut spare) = (parents, Block::ZERO);
    // From the back, so that children overwrite only parents that have been expanded.
    if !nodes.len().is_multiple_of(2) {
        end -= 1;
        let mut pair = [[Block::ZERO; 2]];
        split(&[nodes[end]], &mut pair);
        [nodes[2 * end], spare] = pair[0];
    }
    let mut kept = [Block::ZERO; BATCH];
    while end > 0 {
        let start = (end - 1) / BATCH * BATCH;
        let kept = &mut kept[..end - start];
        kept.copy_from_slice(&nodes[start..end]);
        let (children, _) = nodes[2 * start..2 * end].as_chunks_mut();
        split(kept, children);
        end = start;
    }
    kept.zeroize();
    spare
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

/// For each number from `first` on all ones if it is `secret`, and otherwise zeros. A compiler that knew their origin
/// would branch instead; computing [`MASKS`] at a time costs little.
pub(crate) fn masks(first: usize, secret: usize) -> [u64; MASKS] {
    black_box(array::from_fn(|i| u64::from(equal(first + i, secret)).wrapping_neg()))
}

/// 1 if the two are equal, otherwise 0; without a branch. For numbers below 2^63.
pub(crate) fn equal(a: usize, b: usize) -> u8 {
    (((a ^ b) as u64).wrapping_sub(1) >> 63) as u8
}
