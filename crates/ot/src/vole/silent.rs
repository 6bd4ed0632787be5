//! Silent VOLE: a long VOLE from a short one, with little talk (Boyle et al., CCS 2018 and 2019;
//! with the codes of Raghuraman, Rindal and Tanguy, CRYPTO 2023). Semi-honest.
//!
//! R draws noise e: t blocks, each zero but for y_i in a random place α_i. With an OT extension in
//! which S holds Δ:
//!
//! 1. Correlated OT on the bits of the y_i gives shares of y_i·Δ, and random OT on the bits of the
//!    α_i gives the keys of the trees.
//! 2. S → R: a puncturable PRF for each block; S knows all its leaves w, R all but the one at α_i.
//! 3. S → R for each block: the sum of its leaves, plus S's share of y_i·Δ. R sets its missing leaf
//!    so that it has w + e·Δ.
//! 4. Both compress by the transpose of a public code: b = G·w, c = G·(w + e·Δ), a = G·e, where a
//!    looks random by the LPN assumption that `vesica_params::lpn` states.
//!
//! The code is binary, so a stays in the subspace that the y_i are drawn from (subfield VOLE).

use rand::{CryptoRng, RngExt};
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, lpn::Lpn};
use vesica_primitives::{BinaryVector, Bits, Block, Delta, code::ExpandConvolute};

use super::Subspace;
use crate::{Bytes, CotReceiver, CotSender, extension::softspoken::SmallField, pprf};

/// Semi-honest: nothing checks that the trees are what they should be.
pub const ADVERSARY: Adversary = Adversary::SemiHonest;

const CORRECTIONS: &str = "silent-vole/corrections";

/// Payload bytes of a run over SoftSpokenOT, without the OT's setup.
pub fn bytes(len: usize, bits: u32, lpn: Lpn, field: SmallField) -> Bytes {
    let trees = Dimensions::new(len, lpn).trees;
    Bytes {
        to_sender: field.bytes(lpn.blocks * bits as usize) + field.bytes(trees.ots()),
        to_receiver: trees.bytes() + lpn.blocks * size_of::<Block>(),
    }
}

/// What the sender has: c = a·Δ + b.
pub struct SenderShare {
    /// Δ.
    pub delta: Delta,
    /// b.
    pub b: Vec<Block>,
}

/// What the receiver has: c = a·Δ + b.
pub struct ReceiverShare<A> {
    /// a, in the subspace.
    pub a: Vec<A>,
    /// c.
    pub c: Vec<Block>,
}

/// The dimensions of a run.
struct Dimensions {
    block: usize,
    trees: pprf::Shape,
    code: ExpandConvolute,
}

impl Dimensions {
    fn new(len: usize, lpn: Lpn) -> Self {
        let block = lpn.block_len(len);
        let code = ExpandConvolute::new(lpn.dimension(block), lpn.weight);
        Self { block, trees: pprf::Shape::new(lpn.blocks, block), code }
    }

    /// Compresses and keeps what was asked for.
    fn compress<V: BinaryVector>(&self, mut noise: Vec<V>, len: usize) -> Vec<V> {
        self.code.compress(&mut noise);
        noise.truncate(len);
        noise
    }
}

/// The sender's side of a VOLE of length `len` whose a has `bits` bits.
pub fn send(
    len: usize,
    bits: u32,
    lpn: Lpn,
    cot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<SenderShare> {
    let dimensions = Dimensions::new(len, lpn);
    // 1.
    let shares = cot.send_correlated(lpn.blocks * bits as usize, channel)?;
    let shares: Vec<Block> = shares.chunks_exact(bits as usize).map(combine).collect();
    let trees = dimensions.trees;
    let keys = cot.send_random(trees.ots(), channel)?;
    // 2.
    let mut leaves = vec![Block::ZERO; trees.total()];
    pprf::send(trees, &keys, &mut leaves, channel, rng)?;
    // 3.
    let blocks = leaves.chunks_exact(dimensions.block).zip(shares);
    let corrections: Vec<Block> =
        blocks.map(|(leaves, share)| leaves.iter().fold(share, |sum, leaf| sum ^ *leaf)).collect();
    channel.send_slice(CORRECTIONS, &corrections)?;
    channel.flush()?;
    // 4.
    Ok(SenderShare { delta: cot.delta().clone(), b: dimensions.compress(leaves, len) })
}

/// The receiver's side of a VOLE of length `len` whose a has `bits` bits.
///
/// # Panics
/// If the subspace has fewer bits.
pub fn receive<A: Subspace>(
    len: usize,
    bits: u32,
    lpn: Lpn,
    cot: &mut impl CotReceiver,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<ReceiverShare<A>> {
    assert!(bits <= A::BITS, "{bits} bits fit the subspace");
    let dimensions = Dimensions::new(len, lpn);
    let places: Vec<u32> =
        (0..lpn.blocks).map(|_| rng.random_range(0..dimensions.block as u32)).collect();
    let values: Vec<A> = (0..lpn.blocks).map(|_| A::truncate(Block::random(rng), bits)).collect();
    // 1.
    let value_bits: Bits =
        values.iter().flat_map(|y| (0..bits).map(move |bit| y.embed().0 >> bit & 1 == 1)).collect();
    let shares = cot.receive_correlated(&value_bits, channel)?;
    let shares: Vec<Block> = shares.chunks_exact(bits as usize).map(combine).collect();
    let trees = dimensions.trees;
    let keys = cot.receive_random(&trees.choices(&places), channel)?;
    // 2.
    let mut leaves = vec![Block::ZERO; trees.total()];
    pprf::receive(trees, &places, &keys, &mut leaves, channel)?;
    // 3.
    let mut corrections = vec![Block::ZERO; lpn.blocks];
    channel.recv_slice(CORRECTIONS, &mut corrections)?;
    let mut noise = vec![A::default(); lpn.blocks * dimensions.block];
    for (i, place) in places.iter().enumerate() {
        let known = &mut leaves[i * dimensions.block..][..dimensions.block];
        // The missing leaf is still 0.
        let sum = known.iter().fold(corrections[i] ^ shares[i], |sum, leaf| sum ^ *leaf);
        known[*place as usize] = sum;
        noise[i * dimensions.block + *place as usize] = values[i];
    }
    // 4.
    Ok(ReceiverShare { a: dimensions.compress(noise, len), c: dimensions.compress(leaves, len) })
}

/// Σ x^i · share_i in GF(2^128): from shares of bit i times Δ to one of the number times Δ.
fn combine(shares: &[Block]) -> Block {
    shares.iter().rev().fold(Block::ZERO, |sum, share| {
        // Times x, modulo x^128 + x^7 + x^2 + x + 1, without a branch.
        let carry = (sum.0 >> 127).wrapping_neg() & 0x87;
        Block(sum.0 << 1 ^ carry) ^ *share
    })
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::lpn::{CONSERVATIVE, FAST};
    use vesica_primitives::gf;

    use super::*;
    use crate::{extension::softspoken::semi_honest, two_party};

    const FIELD: SmallField = SmallField::new(8);

    fn shares<A: Subspace>(len: usize, bits: u32, lpn: Lpn) -> (SenderShare, ReceiverShare<A>) {
        let (sender, receiver) = two_party::run(
            |channel| {
                let mut rng = StdRng::seed_from_u64(1);
                let mut cot = semi_honest::Sender::setup(FIELD, channel, &mut rng)?;
                let before = channel.meter().received();
                let share = send(len, bits, lpn, &mut cot, channel, &mut rng)?;
                let received = channel.meter().received() - before;
                let predicted = bytes(len, bits, lpn, FIELD).to_sender as u64;
                assert!((predicted..predicted + 2000 + predicted / 500).contains(&received));
                Ok::<_, vesica_net::Error>(share)
            },
            |channel| {
                let mut rng = StdRng::seed_from_u64(2);
                let mut cot = semi_honest::Receiver::setup(FIELD, channel, &mut rng)?;
                receive(len, bits, lpn, &mut cot, channel, &mut rng)
            },
        );
        (sender.unwrap(), receiver.unwrap())
    }

    fn assert_correlated<A: Subspace>(len: usize, bits: u32, lpn: Lpn) {
        let (sender, receiver) = shares::<A>(len, bits, lpn);
        assert_eq!([sender.b.len(), receiver.a.len(), receiver.c.len()], [len; 3]);
        let delta = sender.delta.expose()[0];
        for ((a, b), c) in receiver.a.iter().zip(&sender.b).zip(&receiver.c) {
            assert_eq!(gf::multiply128(a.embed(), delta) ^ *b, *c);
            assert!(bits == 128 || a.embed().0 >> bits == 0, "a stays in its subspace");
        }
    }

    #[test]
    fn shares_are_correlated() {
        for len in [0, 1, 100, 5000, 20_011] {
            assert_correlated::<u64>(len, 60, FAST);
        }
        assert_correlated::<u64>(3000, 64, FAST);
        assert_correlated::<u64>(3000, 41, CONSERVATIVE);
        assert_correlated::<Block>(3000, 128, FAST);
    }

    /// a and b look random: bits are balanced, and no value comes twice.
    #[test]
    fn shares_look_random() {
        let (len, bits) = (20_000, 60);
        let (sender, receiver) = shares::<u64>(len, bits, FAST);
        let balanced = |ones: u32, total: usize| {
            let deviation = (f64::from(ones) - total as f64 / 2.0) / (total as f64).sqrt();
            assert!(deviation.abs() < 4.0, "{ones} of {total}");
        };
        let (mut a, mut b) = (receiver.a, sender.b);
        balanced(a.iter().map(|a| a.count_ones()).sum(), len * bits as usize);
        balanced(b.iter().map(|b| b.0.count_ones()).sum(), len * 128);
        a.sort_unstable();
        a.dedup();
        b.sort_unstable();
        b.dedup();
        assert_eq!([a.len(), b.len()], [len; 2]);
    }
}
