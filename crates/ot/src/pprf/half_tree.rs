//! Half-trees: trees whose levels each add up to Δ, made puncturable with correlated OTs (Guo, Yang, Wang, Zhang, Xie,
//! Liu and Zhao, EUROCRYPT 2023, §4).
//!
//! A node x has the children H(x) and x ⊕ H(x), where H is robust against circular correlations ([`CircularRobust`])
//! under a public key that the sender draws for the call. S has Δ. Level 1 of a tree is k and k ⊕ Δ for a random k, so
//! that the nodes of every level add up to Δ, and the sum of the right ones is the sum of the left ones plus Δ:
//! correlated OT with that Δ masks both by one block.
//!
//! - **T1.** Correlated OT: S has K_l for each level l of a tree, R has K_l ⊕ c_l·Δ, where c_l is the side that its
//!   path does not take.
//! - **T2.** S → R: the public keys (one, or two if leaves are hashed), and for each tree and level K_l plus the sum of
//!   the left nodes.
//! - **T3.** R gets the sum of the side c_l, subtracts the part that it knows, and so gets the sibling of the node on
//!   its path.
//!
//! A node that is not expanded, because none of its leaves is below ℓ, stands for its leaves in all further sums of
//! right nodes.
//!
//! The missing leaf is Δ plus all others. [`Leaves`] decides how that is handled.
//!
//! **A sender that deviates** can send a wrong sum. It fits a tree for some points only, and nothing here notices it:
//! see [`pcg::check`](crate::pcg::check).
//!
//! **Many targets.** At each level of each tree, R lacks a value that is Δ plus something that it knows. So an R that
//! tries some x can compare H(x) with its values of every tree and level at once; one success gives it Δ. S draws each
//! k, so R does not influence these values, and the keys, so the targets of several calls or runs do not add up. For a
//! piece of a malicious silent VOLE, which is one call, that makes 2^13 to 2^14 targets: of 2^128 trials for one
//! target, about 2^114 evaluations of AES remain.

mod stream;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::{Block, aes::CircularRobust, block};
use zeroize::Zeroizing;

pub use self::stream::TreePiece;

use super::{Shape, equal, opposite, replace_pair, select};

const KEYS: &str = "half-tree/keys";
const SUMS: &str = "half-tree/sums";

/// The leaves of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// The nodes of the last level, which add up to Δ: the leaf that R lacks is Δ plus R's leaves. Trees must be full.
    Correlated,
    /// Their hashes under another key: the leaf that R lacks looks random.
    Hashed,
}

impl Leaves {
    /// Public keys that the sender draws: one for the nodes and, if leaves are hashed, one for these.
    const fn public_keys(self) -> usize {
        match self {
            Self::Correlated => 1,
            Self::Hashed => 2,
        }
    }
}

/// Bytes that the sender sends.
pub const fn bytes(shape: Shape, leaves: Leaves) -> usize {
    size_of::<Block>() * (leaves.public_keys() + shape.ots())
}

/// The hashes of a call.
struct Hashes {
    shape: Shape,
    nodes: CircularRobust,
    leaves: Option<CircularRobust>,
}

impl Hashes {
    /// With as many public keys as there are for such leaves.
    fn new(shape: Shape, leaves: Leaves, public: &[Block]) -> Self {
        if leaves == Leaves::Correlated {
            assert!(shape.is_full(), "leaves that are not there are missing in the sum");
        }
        let mut hashes = public.iter().copied().map(CircularRobust::new);
        let nodes = hashes.next().expect("there is a key for the nodes");
        Self { shape, nodes, leaves: hashes.next() }
    }

    /// Replaces the first `parents` nodes by their children, which fill `nodes`, except that the right one of the last
    /// may have no room. Returns the sum of the left children, and that right one.
    fn expand(&self, nodes: &mut [Block], parents: usize) -> [Block; 2] {
        let mut left = Block::ZERO;
        let spare = super::expand(nodes, parents, |parents, children| {
            left ^= self.nodes.split(parents, children);
        });
        [left, spare]
    }

    /// Makes the leaves of the nodes of the last level.
    fn finish(&self, tree: &mut [Block]) {
        if let Some(leaves) = &self.leaves {
            leaves.apply(tree);
        }
    }
}

/// The sender's trees, which can be grown again.
pub struct Trees<'a> {
    hashes: Hashes,
    public: Vec<Block>,
    /// The K of all trees.
    keys: &'a [Block],
    /// The two nodes of level 1 of each tree.
    first: Zeroizing<Vec<[Block; 2]>>,
}

impl<'a> Trees<'a> {
    /// Trees for correlated OTs with Δ in which S has `keys` (see [`Shape::ots`]), which must not be used for anything
    /// else.
    ///
    /// # Panics
    /// If the number of keys does not match the shape, or the leaves of trees that are not full are correlated.
    pub fn new(
        shape: Shape,
        leaves: Leaves,
        delta: Block,
        keys: &'a [Block],
        rng: &mut dyn CryptoRng,
    ) -> Self {
        assert_eq!(keys.len(), shape.ots(), "as the shape says");
        let public: Vec<Block> = (0..leaves.public_keys()).map(|_| Block::random(rng)).collect();
        let mut first = || {
            let k = Block::random(rng);
            [k, k ^ delta]
        };
        let first = Zeroizing::new((0..shape.trees()).map(|_| first()).collect());
        Self { hashes: Hashes::new(shape, leaves, &public), public, keys, first }
    }

    /// Their shape.
    pub fn shape(&self) -> Shape {
        self.hashes.shape
    }

    /// Fills `leaves` with the leaves of all trees, one tree after another. `finish(i, leaves)` gets the leaves of tree
    /// i as soon as they are available, while they are in the cache. Returns the masked sums of all trees, which are
    /// for [`send_sums`](Self::send_sums), and the results of `finish`, one per tree.
    ///
    /// # Panics
    /// If there are more or fewer leaves.
    pub fn grow<T: Default + Send>(
        &self,
        leaves: &mut [Block],
        finish: impl Fn(usize, &[Block]) -> T + Sync,
    ) -> (Vec<Block>, Vec<T>) {
        let grown = self.shape().each(leaves, |i, tree| (self.grow_one(i, tree), finish(i, tree)));
        let (sums, finished): (Vec<Vec<Block>>, Vec<T>) = grown.into_iter().unzip();
        (sums.concat(), finished)
    }

    /// Grows only tree `i`; returns its masked sums.
    pub fn grow_one(&self, i: usize, tree: &mut [Block]) -> Vec<Block> {
        let (hashes, shape) = (&self.hashes, self.shape());
        let keys = &self.keys[i * shape.depth()..][..shape.depth()];
        tree[..2].copy_from_slice(&self.first[i]);
        let mut sums = Vec::with_capacity(keys.len());
        sums.push(keys[0] ^ tree[0]);
        sums.extend((2..=shape.depth()).zip(&keys[1..]).map(|(level, key)| {
            let nodes = &mut tree[..shape.width(level)];
            let [left, _] = hashes.expand(nodes, shape.width(level - 1));
            *key ^ left
        }));
        hashes.finish(tree);
        sums
    }

    /// Step T2: sends the masked sums of all trees.
    pub fn send_sums(&self, sums: &[Block], channel: &mut Channel) -> Result<()> {
        channel.send_slice(KEYS, &self.public)?;
        channel.send_slice(SUMS, sums)
    }

    /// Grows the trees once more and returns the results of `finish`, one per tree: if there are many leaves,
    /// this is faster than keeping them.
    pub fn again<T: Default + Send>(
        &self,
        leaves: &mut [Block],
        finish: impl Fn(usize, &[Block]) -> T + Sync,
    ) -> Vec<T> {
        self.shape().each(leaves, |i, tree| {
            self.grow_one(i, tree);
            finish(i, tree)
        })
    }
}

/// The sender's message.
pub struct MaskedSums {
    hashes: Hashes,
    sums: Vec<Block>,
    /// H(0): both children of the zero that stands for an unknown node, which are included in sums.
    of_zero: Block,
}

impl MaskedSums {
    /// The receiver's side of [`Trees::send_sums`].
    ///
    /// # Errors
    /// Only errors of receiving: sums that fit no tree are not noticed here.
    ///
    /// # Panics
    /// If the leaves of trees that are not full are correlated.
    pub fn receive(shape: Shape, leaves: Leaves, channel: &mut Channel) -> Result<Self> {
        let mut public = vec![Block::ZERO; leaves.public_keys()];
        channel.recv_slice(KEYS, &mut public)?;
        let mut sums = vec![Block::ZERO; shape.ots()];
        channel.recv_slice(SUMS, &mut sums)?;
        let hashes = Hashes::new(shape, leaves, &public);
        let of_zero = hashes.nodes.split(&[Block::ZERO], &mut [[Block::ZERO; 2]]);
        Ok(Self { hashes, sums, of_zero })
    }

    /// Fills `leaves` with the leaves of all trees; the values at the punctured points are meaningless. `keys` are R's
    /// blocks from the correlated OTs with its [choices](Shape::choices). `finish(i, leaves)` gets the leaves of tree i
    /// as soon as they are available, while they are in the cache, and may change them. Returns its results, one per
    /// tree.
    ///
    /// # Panics
    /// If a length does not fit the shape, or a point is not a leaf.
    pub fn grow<T: Default + Send>(
        &self,
        points: &[u32],
        keys: &[Block],
        leaves: &mut [Block],
        finish: impl Fn(usize, &mut [Block]) -> T + Sync,
    ) -> Vec<T> {
        let shape = self.hashes.shape;
        assert_eq!(keys.len(), shape.ots(), "as the shape says");
        shape.assert_points(points);
        shape.each(leaves, |i, tree| {
            self.grow_one(i, points, keys, tree);
            finish(i, tree)
        })
    }

    /// Grows only tree `i`, given the points and keys of all trees.
    pub fn grow_one(&self, i: usize, points: &[u32], keys: &[Block], tree: &mut [Block]) {
        let (hashes, shape, point) = (&self.hashes, self.hashes.shape, points[i]);
        let first = i * shape.depth();
        let levels = self.sums[first..].iter().zip(&keys[first..][..shape.depth()]);
        let mut sums = (1..).zip(levels).map(|(level, (masked, key))| (level, *masked ^ *key));
        let (_, other) = sums.next().expect("trees have a level");
        tree[..2].copy_from_slice(&opposite(other, shape.side(point, 1)));
        // The sum of the nodes that are not expanded.
        let mut beyond = Block::ZERO;
        for (level, sum) in sums {
            let (parents, side) = (shape.width(level - 1), shape.side(point, level));
            let all = block::sum(&tree[..parents]);
            let nodes = &mut tree[..shape.width(level)];
            let [left, mut spare] = hashes.expand(nodes, parents);
            let known = [left, all ^ left ^ beyond];
            let sibling = sum ^ select(known, 1 - side) ^ self.of_zero;
            let (parent, pair) = (shape.parent(point, level), opposite(sibling, side));
            replace_pair(nodes, parent, pair);
            if !nodes.len().is_multiple_of(2) {
                spare = select([spare, pair[1]], equal(nodes.len() / 2, parent));
                beyond ^= spare;
            }
        }
        hashes.finish(tree);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use vesica_primitives::aes::Aes128;

    use super::*;
    use crate::two_party::run;

    const DELTA: Block = Block(0x0123_4567_89ab_cdef_8888_7777_6666_5555);

    /// The parties' inputs.
    struct Setup {
        shape: Shape,
        keys: Vec<Block>,
        points: Vec<u32>,
        received: Vec<Block>,
    }

    impl Setup {
        fn new(trees: usize, leaves: usize, seed: u64) -> Self {
            let mut rng = StdRng::seed_from_u64(seed);
            let shape = Shape::new(trees, leaves);
            let keys: Vec<Block> = (0..shape.ots()).map(|_| Block::random(&mut rng)).collect();
            let points = (0..trees).map(|_| rng.random_range(0..leaves as u32)).collect();
            Self { shape, keys, points, received: Vec::new() }.with_choices()
        }

        fn with_choices(mut self) -> Self {
            let choices = self.shape.choices(&self.points);
            let keys = self.keys.iter().zip(choices.iter());
            self.received =
                keys.map(|(key, choice)| *key ^ (DELTA & Block::mask(choice))).collect();
            self
        }

        /// An honest run, after checking the number of bytes sent.
        fn exchange(&self, leaves: Leaves) -> (Vec<Block>, Vec<Block>) {
            run(
                |channel| {
                    let mut out = vec![Block(9); self.shape.total()];
                    let mut rng = StdRng::seed_from_u64(5);
                    let trees = Trees::new(self.shape, leaves, DELTA, &self.keys, &mut rng);
                    let (sums, _) = trees.grow(&mut out, |_, _| ());
                    trees.send_sums(&sums, channel).unwrap();
                    // The two messages have labels and lengths, too.
                    let least = bytes(self.shape, leaves);
                    let most = least + least / 1000 + 2 * 64;
                    assert!((least..=most).contains(&(channel.meter().sent() as usize)));
                    let mut again = vec![Block(9); self.shape.total()];
                    trees.again(&mut again, |_, _| ());
                    assert_eq!(again, out);
                    out
                },
                |channel| {
                    let mut out = vec![Block(9); self.shape.total()];
                    let sums = MaskedSums::receive(self.shape, leaves, channel).unwrap();
                    sums.grow(&self.points, &self.received, &mut out, |_, _| ());
                    out
                },
            )
        }

        /// Asserts that the leaves of S and R are right everywhere except at the points.
        fn assert_right(&self, leaves: Leaves) {
            let (sent, received) = self.exchange(leaves);
            let mut rng = StdRng::seed_from_u64(5);
            let public: Vec<Block> =
                (0..leaves.public_keys()).map(|_| Block::random(&mut rng)).collect();
            let trees = sent.chunks(self.shape.leaves()).zip(received.chunks(self.shape.leaves()));
            for ((sent, received), point) in trees.zip(&self.points) {
                let k = Block::random(&mut rng);
                for (i, (leaf, received)) in sent.iter().zip(received).enumerate() {
                    let node = node_by_hand(public[0], k, self.shape.depth(), i);
                    let by_hand = match leaves {
                        Leaves::Correlated => node,
                        Leaves::Hashed => hash(public[1], node),
                    };
                    assert_eq!(*leaf, by_hand, "{:?}, leaf {i}", self.shape);
                    assert_eq!(received == leaf, i != *point as usize, "{:?}, {i}", self.shape);
                }
                if leaves == Leaves::Correlated {
                    assert_eq!(block::sum(sent), DELTA);
                }
            }
        }
    }

    fn hash(key: Block, x: Block) -> Block {
        let turned = Block((x.0 >> 64 ^ x.0) << 64 | x.0 >> 64);
        Aes128::new(key).encrypt_block(turned) ^ turned
    }

    /// A node of the last level by its definition, from level 1 down.
    fn node_by_hand(key: Block, k: Block, depth: usize, leaf: usize) -> Block {
        let bit = |level: usize| leaf >> (depth - level) & 1 == 1;
        let first = if bit(1) { k ^ DELTA } else { k };
        (2..=depth).fold(first, |node, level| {
            let hash = hash(key, node);
            if bit(level) { node ^ hash } else { hash }
        })
    }

    #[test]
    fn all_leaves_but_the_punctured_one_agree() {
        for leaves in [2, 3, 4, 5, 7, 8, 9, 100, 127, 128, 129, 255, 256, 257, 1000, 1024, 10_007] {
            for trees in [0, 1, 3, 20] {
                let setup = Setup::new(trees, leaves, leaves as u64);
                setup.assert_right(Leaves::Hashed);
                if leaves.is_power_of_two() {
                    setup.assert_right(Leaves::Correlated);
                }
            }
        }
    }

    #[test]
    fn every_point_of_a_tree_can_be_punctured() {
        for leaves in [2, 3, 5, 6, 9, 11, 13, 16, 21] {
            let mut setup = Setup::new(leaves, leaves, 1);
            setup.points = (0..leaves as u32).collect();
            setup.with_choices().assert_right(Leaves::Hashed);
        }
    }

    /// The correlated leaf that the receiver lacks is Δ plus the others.
    #[test]
    fn the_other_leaves_add_up_to_the_missing_one_and_the_difference() {
        let setup = Setup::new(7, 64, 3);
        let (sent, received) = setup.exchange(Leaves::Correlated);
        for (i, point) in setup.points.iter().enumerate() {
            let (sent, received) = (&sent[i * 64..][..64], &received[i * 64..][..64]);
            assert_eq!(block::sum(received), sent[*point as usize] ^ DELTA);
        }
    }
}
