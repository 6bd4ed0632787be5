//! The trees of Goldreich, Goldwasser and Micali (J. ACM 1986), made puncturable with random OTs.
//!
//! A node's children are π_0(s) ⊕ s and π_1(s) ⊕ s, where the π are AES under two public keys that the sender
//! draws for the call: the secrecy of the missing leaf depends on them.
//!
//! - **T1.** The two messages of a tree's first OT are its nodes at level 1.
//! - **T2.** S → R: the keys of π, and for each tree and each level from 2 to D the sum of the left and the sum of the
//!   right nodes, each masked with one message of that level's OT.
//! - **T3.** R unmasks the sum of the side it does not take, subtracts the part that it knows, and so gets the sibling
//!   of the node on its path.
//!
//! A sender can send sums that fit no tree; [`consistency`](super::consistency) catches it.
//!
//! **Many targets.** The trees of a call share the two keys, so an R that tries some s can compare π_0(s) ⊕ s and
//! π_1(s) ⊕ s with its values of every tree and level at once. It lacks one node at each level of each tree. Keys are
//! fresh for each call, so the targets of several calls or runs do not add up: for T trees, 2^128 / (T·D) evaluations
//! of AES remain.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::{Block, aes::Doubling};

use super::{Shape, opposite, replace_pair, select};

pub(super) const GENERATOR: &str = "pprf/generator";
pub(super) const SUMS: &str = "pprf/sums";

/// Bytes that the sender sends, without [`consistency`](super::consistency).
pub const fn bytes(shape: Shape) -> usize {
    32 + 32 * shape.trees() * (shape.depth() - 1)
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
    assert_eq!([keys.len(), leaves.len()], [shape.ots(), shape.total()], "as the shape says");
    let public = [Block::random(rng), Block::random(rng)];
    let generator = Doubling::new(public);
    let sums = shape.each(leaves, |i, tree| {
        let keys = &keys[i * shape.depth()..][..shape.depth()];
        grow(&generator, shape, keys, tree)
    });
    channel.send_slice(GENERATOR, &public)?;
    channel.send_slice(SUMS, sums.concat().as_flattened())
}

/// The receiver's side: fills `leaves` with the leaves of all trees, zero at the punctured points.
/// `keys` are the messages it chose in the random OTs by [`Shape::choices`].
///
/// # Errors
/// Only errors of receiving: sums that fit no tree are not noticed here, see [`consistency`](super::consistency).
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
    assert_eq!([keys.len(), leaves.len()], [shape.ots(), shape.total()], "as the shape says");
    shape.assert_points(points);
    let mut public = [Block::ZERO; 2];
    channel.recv_slice(GENERATOR, &mut public)?;
    let levels = shape.depth() - 1;
    let mut sums = vec![[Block::ZERO; 2]; shape.trees() * levels];
    channel.recv_slice(SUMS, sums.as_flattened_mut())?;
    let generator = Doubling::new(public);
    shape.each(leaves, |i, tree| {
        let keys = &keys[i * shape.depth()..][..shape.depth()];
        grow_punctured(&generator, shape, points[i], keys, &sums[i * levels..][..levels], tree);
    });
    Ok(())
}

/// Replaces the first `parents` nodes by their children, which fill `nodes`: two for each, except that the last
/// may have only one. Returns the sums of the left and of the right children.
fn expand(generator: &Doubling, nodes: &mut [Block], parents: usize) -> [Block; 2] {
    let mut sums = [Block::ZERO; 2];
    let spare = super::expand(nodes, parents, |parents, children| {
        let [left, right] = generator.double(parents, children);
        sums = [sums[0] ^ left, sums[1] ^ right];
    });
    [sums[0], sums[1] ^ spare]
}

/// Grows a tree from the messages of its OTs; returns the masked sums of levels 2 to D.
pub(super) fn grow(
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
        replace_pair(nodes, shape.parent(point, level), opposite(sibling, side));
    }
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
                let least = bytes(s.shape);
                let most = least + least / 1000 + 2 * 64;
                assert!((least..=most).contains(&(channel.meter().sent() as usize)));
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
