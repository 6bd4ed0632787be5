//! The check that a sender's sums fit trees (Roy, CRYPTO 2022, the consistency check of its punctured PRF).
//!
//! - **C1.** Each leaf is hashed, with the session identifier and its index, to an output, which takes its place, and
//!   a tag of 256 bits.
//! - **C2.** S → R: the sum of each tree's tags, from which R gets the tag it lacks; and one digest of all tags, which
//!   fixes every leaf.
//! - **C3.** R refuses unless this is the digest of its tags.
//!
//! A malicious sender can still make a guess: a wrong sum in a tree passes if R does not need it. Passing then shows
//! the sender that R's points are in a set of its choice; it is caught with the probability of the other points.
//! Protocols that use this must tolerate that.

use rayon::prelude::*;
use vesica_net::{Channel, Deviation, Result, SessionId};
use vesica_primitives::{Block, are_equal};
use zeroize::Zeroizing;

use super::{Shape, equal};

/// The check by which [`verify`] refuses a sender.
pub const CHECK: &str = "leaves of the punctured PRF";

const TAG_SUMS: &str = "pprf/tag-sums";
const TAG_DIGEST: &str = "pprf/tag-digest";

/// The minimum number of leaves per thread: fewer are not worth a task.
const MIN_LEAVES: usize = 256;

/// A tag of a leaf.
type Tag = [Block; 2];

/// Bytes that the sender sends for the check: a tag for each tree, and a digest.
pub const fn bytes(shape: Shape) -> usize {
    size_of::<Tag>() * (shape.trees + 1)
}

/// The sender's side of the consistency check: replaces each leaf by an output about which the check reveals nothing,
/// and sends the values that fix the leaves.
pub fn prove(shape: Shape, leaves: &mut [Block], channel: &mut Channel) -> Result<()> {
    let tags = hash_leaves(channel.session(), shape, leaves);
    let sums: Vec<Tag> = tags.chunks_exact(shape.leaves).map(sum).collect();
    channel.send_slice(TAG_SUMS, sums.as_flattened())?;
    channel.send(TAG_DIGEST, digest(&tags).as_bytes())
}

/// The receiver's side of the consistency check: replaces each leaf by its output, and leaves the punctured
/// points zero.
///
/// # Errors
/// [`Deviation::CheckFailed`] with [`CHECK`] if the sender's messages fit no trees. The receiver's points must
/// not be used again after that.
pub fn verify(
    shape: Shape,
    points: &[u32],
    leaves: &mut [Block],
    channel: &mut Channel,
) -> Result<()> {
    shape.assert_points(points);
    let mut tags = hash_leaves(channel.session(), shape, leaves);
    let mut sums = vec![[Block::ZERO; 2]; shape.trees];
    channel.recv_slice(TAG_SUMS, sums.as_flattened_mut())?;
    let trees = tags.chunks_exact_mut(shape.leaves).zip(leaves.chunks_exact_mut(shape.leaves));
    for (((tags, leaves), point), sent) in trees.zip(points).zip(sums) {
        let mut missing = sent;
        let is_missing = |i: usize| Block::mask(equal(i, *point as usize));
        for (i, tag) in tags.iter_mut().enumerate() {
            *tag = add(*tag, tag.map(|half| half & is_missing(i)));
            missing = add(missing, *tag);
        }
        for (i, (tag, leaf)) in tags.iter_mut().zip(leaves).enumerate() {
            *tag = add(*tag, missing.map(|half| half & is_missing(i)));
            *leaf ^= *leaf & is_missing(i);
        }
    }
    let mut sent = [0; 32];
    channel.recv_into(TAG_DIGEST, &mut sent)?;
    if are_equal(digest(&tags).as_bytes(), &sent) {
        Ok(())
    } else {
        Err(channel.deviation(Deviation::CheckFailed { check: CHECK }))
    }
}

/// Replaces each leaf by its output and returns its tag.
fn hash_leaves(session: SessionId, shape: Shape, leaves: &mut [Block]) -> Zeroizing<Vec<Tag>> {
    assert_eq!(leaves.len(), shape.total(), "as the shape says");
    let mut tags = vec![[Block::ZERO; 2]; leaves.len()];
    let mut hasher = blake3::Hasher::new_derive_key("vesica pprf leaf v1");
    hasher.update(session.as_bytes());
    let pairs = leaves.par_iter_mut().zip(&mut tags).enumerate();
    pairs.with_min_len(MIN_LEAVES).for_each(|(i, (leaf, tag))| {
        let mut hasher = hasher.clone();
        hasher.update(&(i as u64).to_le_bytes()).update(&leaf.to_bytes());
        let mut expanded = Zeroizing::new([Block::ZERO; 3]);
        hasher.finalize_xof().fill(bytemuck::cast_slice_mut(&mut *expanded));
        *tag = [expanded[0], expanded[1]];
        *leaf = expanded[2];
    });
    Zeroizing::new(tags)
}

fn digest(tags: &[Tag]) -> blake3::Hash {
    blake3::Hasher::new_derive_key("vesica pprf tags v1")
        .update(bytemuck::cast_slice(tags))
        .finalize()
}

fn sum(tags: &[Tag]) -> Tag {
    tags.iter().fold([Block::ZERO; 2], |sum, tag| add(sum, *tag))
}

fn add(a: Tag, b: Tag) -> Tag {
    [a[0] ^ b[0], a[1] ^ b[1]]
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::Error;
    use vesica_primitives::aes::Doubling;

    use super::*;
    use crate::{
        pprf::ggm::{
            GENERATOR, SUMS, grow, receive, send,
            tests::{Setup, setup},
        },
        two_party::run,
    };

    /// A run with the check, with a sender that changes its sums and its tags.
    fn exchange(
        s: &Setup,
        change_sums: impl Fn(&mut [[Block; 2]]) + Sync,
        change_tags: impl Fn(&mut [Tag]) + Sync,
    ) -> (Vec<Block>, Result<Vec<Block>>) {
        run(
            |channel| {
                let generator = Doubling::new([Block(1), Block(2)]);
                channel.send_slice(GENERATOR, &[Block(1), Block(2)]).unwrap();
                let mut leaves = vec![Block::ZERO; s.shape.total()];
                let depth = s.shape.depth();
                let trees = leaves.chunks_exact_mut(s.shape.leaves).zip(s.keys.chunks(depth));
                let mut sums: Vec<[Block; 2]> =
                    trees.flat_map(|(tree, keys)| grow(&generator, s.shape, keys, tree)).collect();
                change_sums(&mut sums);
                channel.send_slice(SUMS, sums.as_flattened()).unwrap();
                let mut tags = hash_leaves(channel.session(), s.shape, &mut leaves);
                let tag_sums: Vec<Tag> = tags.chunks_exact(s.shape.leaves).map(sum).collect();
                change_tags(&mut tags);
                channel.send_slice(TAG_SUMS, tag_sums.as_flattened()).unwrap();
                channel.send(TAG_DIGEST, digest(&tags).as_bytes()).unwrap();
                channel.flush().unwrap();
                leaves
            },
            |channel| {
                let mut leaves = vec![Block::ZERO; s.shape.total()];
                receive(s.shape, &s.points, &s.chosen, &mut leaves, channel)?;
                verify(s.shape, &s.points, &mut leaves, channel)?;
                Ok(leaves)
            },
        )
    }

    fn is_refused(result: &Result<Vec<Block>>) -> bool {
        matches!(
            result,
            Err(Error::Peer { deviation: Deviation::CheckFailed { check: CHECK }, .. })
        )
    }

    #[test]
    fn a_tag_for_each_tree_and_a_digest_are_sent() {
        let s = setup(9, 13, 3);
        let (sent, ()) = run(
            |channel| {
                let mut leaves = vec![Block::ZERO; s.shape.total()];
                prove(s.shape, &mut leaves, channel).unwrap();
                channel.flush().unwrap();
                channel.meter().sent() as usize
            },
            |channel| {
                let mut tags = vec![0; 9 * 32];
                channel.recv_into(TAG_SUMS, &mut tags).unwrap();
                channel.recv_into(TAG_DIGEST, &mut [0; 32]).unwrap();
            },
        );
        assert_eq!(bytes(s.shape), 10 * 32);
        // Each of the two messages has a label, a length and a byte before its segment.
        assert_eq!(sent, 10 * 32 + TAG_SUMS.len() + TAG_DIGEST.len() + 2 * 10);
    }

    #[test]
    fn an_honest_sender_passes_with_outputs_that_agree() {
        let s = setup(9, 13, 3);
        let mut rng = StdRng::seed_from_u64(1);
        let (sent, received) = run(
            |channel| {
                let mut leaves = vec![Block::ZERO; s.shape.total()];
                send(s.shape, &s.keys, &mut leaves, channel, &mut rng).unwrap();
                let before = leaves.clone();
                prove(s.shape, &mut leaves, channel).unwrap();
                channel.flush().unwrap();
                assert!(before.iter().zip(&leaves).all(|(before, after)| before != after));
                leaves
            },
            |channel| {
                let mut leaves = vec![Block::ZERO; s.shape.total()];
                receive(s.shape, &s.points, &s.chosen, &mut leaves, channel).unwrap();
                verify(s.shape, &s.points, &mut leaves, channel).unwrap();
                leaves
            },
        );
        for (i, (sent, received)) in sent.iter().zip(received).enumerate() {
            let missing = i % 13 == s.points[i / 13] as usize;
            assert_eq!(received, if missing { Block::ZERO } else { *sent });
        }
    }

    /// A sum is used if the receiver's path takes the other side and the sibling exists; only then does a wrong
    /// one do harm, and then it is caught.
    #[test]
    fn a_wrong_sum_is_refused_wherever_it_is_used() {
        let leaves = 8;
        for seed in 0..30 {
            let s = setup(4, leaves, seed);
            for tree in 0..4 {
                for level in 2..=s.shape.depth() {
                    for side in 0..2 {
                        let at = tree * (s.shape.depth() - 1) + level - 2;
                        let (sent, received) =
                            exchange(&s, |sums| sums[at][side].0 ^= 1 << (seed * 4), |_| {});
                        let used = usize::from(s.shape.side(s.points[tree], level)) != side;
                        assert_eq!(is_refused(&received), used, "{seed} {tree} {level} {side}");
                        if let Ok(received) = received {
                            let differ = |(a, b): &(&Block, &Block)| a != b;
                            let differing = sent.iter().zip(&received).filter(differ).count();
                            assert_eq!(differing, 4, "only the punctured leaves");
                        }
                    }
                }
            }
            let (_, received) = exchange(&s, |sums| sums[5] = [Block(7), Block(8)], |_| {});
            assert!(is_refused(&received), "both sums of a level wrong");
        }
    }

    #[test]
    fn a_wrong_tag_is_refused_for_every_leaf() {
        let s = setup(3, 5, 8);
        for leaf in 0..s.shape.total() {
            let (_, received) = exchange(&s, |_| {}, |tags| tags[leaf][leaf % 2].0 ^= 1 << leaf);
            assert!(is_refused(&received), "{leaf}");
        }
    }

    #[test]
    fn messages_of_the_wrong_ot_are_refused() {
        let mut s = setup(3, 8, 4);
        s.chosen[4].0 ^= 1 << 99;
        assert!(is_refused(&exchange(&s, |_| {}, |_| {}).1));
    }
}
