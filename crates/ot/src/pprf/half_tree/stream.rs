//! Growth of many full trees whose hashed leaves are handed over in pieces instead of being kept.
//!
//! Near their roots trees are narrow, and therefore many are expanded together. Below, each is expanded by itself, and
//! its last level piece by piece, so that all nodes stay in the first-level cache.

use std::ops::Range;

use vesica_primitives::{Block, change_pair};
use zeroize::Zeroizing;

use super::{Hashes, MaskedSums, Trees, opposite, select};

/// Trees that are expanded together while they are narrow.
const TOGETHER: usize = 32;

/// Parents of one tree that are worth a call of the cipher.
const WIDE: usize = 32;

/// Parents of a piece of leaves.
const PIECE: usize = 128;

/// Consecutive leaves of a tree.
pub struct TreePiece<'a> {
    /// The number of the tree.
    pub tree: usize,
    /// The number of the first leaf.
    pub first: usize,
    /// The leaves.
    pub leaves: &'a [Block],
}

/// The nodes of one tree at a level.
struct Expanded<'a> {
    /// The number of the tree.
    tree: usize,
    /// The level; the last has the leaves.
    level: usize,
    /// The sum of the left nodes.
    left: Block,
    /// The nodes, which may be changed; none at the last level, where they are gone.
    nodes: &'a mut [Block],
}

impl Trees<'_> {
    /// Grows some trees, which must be full and have hashed leaves. `take` gets all leaves, tree by tree
    /// and in their order. Returns the masked sums of these trees.
    ///
    /// # Panics
    /// If the range ends beyond the trees, or trees are not full or their leaves not hashed.
    pub fn stream(&self, trees: Range<usize>, take: impl FnMut(TreePiece)) -> Vec<Block> {
        let depth = self.shape().depth();
        let mut sums = self.keys[trees.start * depth..trees.end * depth].to_vec();
        let start = trees.start;
        let tops = &self.first[trees.clone()];
        for (sums, [node, _]) in sums.chunks_exact_mut(depth).zip(tops) {
            sums[0] ^= *node;
        }
        let learn = |expanded: Expanded| {
            sums[(expanded.tree - start) * depth + expanded.level - 1] ^= expanded.left;
        };
        Growth::new(&self.hashes, learn, take).grow(trees, tops.as_flattened());
        sums
    }
}

impl MaskedSums {
    /// Grows some trees, which must be full and have hashed leaves. `points` and `keys` are for all trees: see
    /// [`grow`](Self::grow). `take` gets all leaves, tree by tree and in their order. However, the leaf at the point
    /// and its sibling, which differs in the last bit of its number, are both [`stand_in`](Self::stand_in). Returns
    /// the right value of the sibling, for each tree.
    ///
    /// # Panics
    /// If a length does not fit the shape, a point is not a leaf, or the trees are different ones.
    pub fn stream(
        &self,
        trees: Range<usize>,
        points: &[u32],
        keys: &[Block],
        take: impl FnMut(TreePiece),
    ) -> Zeroizing<Vec<Block>> {
        let (shape, start) = (self.hashes.shape, trees.start);
        let depth = shape.depth();
        assert_eq!(keys.len(), shape.ots(), "as the shape says");
        shape.assert_points(points);
        let sum = |tree: usize, level: usize| {
            let at = tree * depth + level - 1;
            self.sums[at] ^ keys[at]
        };
        let mut siblings: Zeroizing<Vec<Block>> =
            Zeroizing::new(trees.clone().map(|tree| sum(tree, 1)).collect());
        // The sum of all nodes of a level that R has.
        let mut known = siblings.clone();
        let top = |(tree, sibling): (usize, &Block)| match depth {
            1 => [self.of_zero; 2],
            _ => opposite(*sibling, shape.side(points[tree], 1)),
        };
        let tops: Zeroizing<Vec<[Block; 2]>> =
            Zeroizing::new(trees.clone().zip(siblings.iter()).map(top).collect());
        let learn = |Expanded { tree, level, left, nodes }: Expanded| {
            let side = shape.side(points[tree], level);
            let (known, sibling) = (&mut known[tree - start], &mut siblings[tree - start]);
            // As many nodes as there were: the children of a parent add up to it, also the children of zero.
            let sides = [left, *known ^ left];
            *sibling = sum(tree, level) ^ select(sides, 1 - side) ^ self.of_zero;
            *known ^= *sibling;
            if !nodes.is_empty() {
                let change = opposite(*sibling, side).map(|node| node ^ self.of_zero);
                change_pair(nodes, shape.parent(points[tree], level) as u32, change);
            }
        };
        Growth::new(&self.hashes, learn, take).grow(trees, tops.as_flattened());
        self.hashes.finish(&mut siblings);
        siblings
    }

    /// The leaf that [`stream`](Self::stream) has in place of two leaves of each tree.
    pub fn stand_in(&self) -> Block {
        let mut leaf = [self.of_zero];
        self.hashes.finish(&mut leaf);
        leaf[0]
    }
}

/// The growth of some trees. `learn` gets the nodes of each tree at each level but the first, `take` the leaves.
struct Growth<'a, L, T> {
    hashes: &'a Hashes,
    learn: L,
    take: T,
    piece: Zeroizing<Vec<[Block; 2]>>,
}

/// The nodes of the current level, and room for the next.
struct Nodes([Zeroizing<Vec<Block>>; 2]);

impl Nodes {
    fn new(room: usize) -> Self {
        Self([(); 2].map(|()| Zeroizing::new(vec![Block::ZERO; room])))
    }
}

impl Hashes {
    /// Writes the children of parents; returns the sums of the left ones for each `part` of the parents.
    fn split_parts(
        &self,
        parents: &[Block],
        children: &mut [[Block; 2]],
        part: usize,
    ) -> Vec<Block> {
        if part >= WIDE {
            let parts = parents.chunks(part).zip(children.chunks_mut(part));
            return parts.map(|(parents, children)| self.nodes.split(parents, children)).collect();
        }
        self.nodes.split(parents, children);
        let left = |children: &[[Block; 2]]| {
            children.iter().fold(Block::ZERO, |sum, [left, _]| sum ^ *left)
        };
        children.chunks(part).map(left).collect()
    }
}

impl<'a, L: FnMut(Expanded), T: FnMut(TreePiece)> Growth<'a, L, T> {
    fn new(hashes: &'a Hashes, learn: L, take: T) -> Self {
        assert!(hashes.shape.is_full() && hashes.leaves.is_some(), "full trees of hashed leaves");
        Self { hashes, learn, take, piece: Zeroizing::new(vec![[Block::ZERO; 2]; PIECE]) }
    }

    /// Grows trees from their nodes at level 1.
    fn grow(&mut self, trees: Range<usize>, tops: &[Block]) {
        let depth = self.hashes.shape.depth();
        // The last level whose nodes are kept, and the last that is made of many trees together.
        let last = depth - 1;
        let narrow = last.min(WIDE.trailing_zeros() as usize);
        let mut together = Nodes::new(TOGETHER << narrow);
        let mut single = Nodes::new(1 << last);
        for (start, tops) in trees.clone().step_by(TOGETHER).zip(tops.chunks(2 * TOGETHER)) {
            let trees = start..trees.end.min(start + TOGETHER);
            if depth == 1 {
                self.hand_over(trees, tops);
                continue;
            }
            together.0[0][..tops.len()].copy_from_slice(tops);
            self.expand(&mut together, trees.clone(), 2..narrow + 1);
            let nodes = &together.0[0][..trees.len() << narrow];
            if narrow == last {
                self.finish(trees, nodes);
                continue;
            }
            for (tree, nodes) in trees.zip(nodes.chunks_exact(1 << narrow)) {
                single.0[0][..nodes.len()].copy_from_slice(nodes);
                self.expand(&mut single, tree..tree + 1, narrow + 1..depth);
                self.finish(tree..tree + 1, &single.0[0]);
            }
        }
    }

    /// Replaces the nodes of trees by their descendants at further levels.
    fn expand(&mut self, nodes: &mut Nodes, trees: Range<usize>, levels: Range<usize>) {
        for level in levels {
            let parents = 1 << (level - 1);
            let [now, next] = &mut nodes.0;
            let (now, next) =
                (&now[..trees.len() * parents], &mut next[..trees.len() * 2 * parents]);
            let (children, _) = next.as_chunks_mut::<2>();
            let lefts = self.hashes.split_parts(now, children, parents);
            for ((tree, left), nodes) in
                trees.clone().zip(lefts).zip(next.chunks_exact_mut(2 * parents))
            {
                (self.learn)(Expanded { tree, level, left, nodes });
            }
            nodes.0.swap(0, 1);
        }
    }

    /// Makes the leaves of trees from the nodes of the level before, and hands them over.
    fn finish(&mut self, trees: Range<usize>, nodes: &[Block]) {
        let (level, of_tree) = (self.hashes.shape.depth(), self.hashes.shape.leaves() / 2);
        let part = of_tree.min(PIECE);
        let mut lefts = vec![Block::ZERO; trees.len()];
        for (first, parents) in (0..).step_by(PIECE).zip(nodes.chunks(PIECE)) {
            let children = &mut self.piece[..parents.len()];
            let places = (first..).step_by(part);
            for (place, left) in
                places.clone().zip(self.hashes.split_parts(parents, children, part))
            {
                lefts[place / of_tree] ^= left;
            }
            self.hashes.finish(children.as_flattened_mut());
            for (place, leaves) in places.zip(children.chunks(part)) {
                let (tree, first) = (trees.start + place / of_tree, 2 * (place % of_tree));
                (self.take)(TreePiece { tree, first, leaves: leaves.as_flattened() });
            }
        }
        for (tree, left) in trees.zip(lefts) {
            (self.learn)(Expanded { tree, level, left, nodes: &mut [] });
        }
    }

    /// Hands over the leaves of trees without a level below the first.
    fn hand_over(&mut self, trees: Range<usize>, tops: &[Block]) {
        let mut leaves = Zeroizing::new(tops.to_vec());
        self.hashes.finish(&mut leaves);
        for (tree, leaves) in trees.zip(leaves.chunks_exact(2)) {
            (self.take)(TreePiece { tree, first: 0, leaves });
        }
    }
}
