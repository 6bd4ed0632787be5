//! Silent VOLE: a long VOLE from a short one, with little communication (Boyle et al., CCS 2018 and 2019; with
//! the codes of Raghuraman, Rindal and Tanguy, CRYPTO 2023). Semi-honest.
//!
//! R draws noise e: t blocks, each zero except for y_i at a random place α_i. With an OT extension in which S
//! holds Δ:
//!
//! - **V1.** Correlated OT on the bits of the α_i gives the keys of puncturable PRFs.
//! - **V2.** Correlated OT on the bits of the y_i gives shares of y_i·Δ.
//! - **V3.** From these S and R make w and w + e·Δ, with the PRFs and a correction for each block.
//! - **V4.** Both compress by the transpose of a public code: b = G·w, c = G·(w + e·Δ), a = G·e, where a
//!   looks random by the LPN assumption that `vesica_params::lpn` states.
//!
//! If its length is at most t ([`Lpn::is_short`]), noise is not needed, and step V2 by itself makes the VOLE: the a_i
//! are the y_i.
//!
//! If it is more than one piece ([`Lpn::piece`]), each piece has its own noise. Its y_i are then entries of a shorter
//! silent VOLE instead of fresh ones, which takes fewer bytes than step V2; Weng et al. (S&P 2021) extend one VOLE by
//! another in this way. So the y_i of long ones look random by LPN, too. Such a VOLE has *levels*: the first is the
//! VOLE itself, the last is short enough to take its y_i from step V2. The OTs of all levels are made in one call,
//! before anything else, so that their number costs no round trips.
//!
//! The code is binary, so a stays in the subspace from which the y_i are drawn (subfield VOLE).

pub mod malicious;

use super::Subspace;
use crate::{
    Bytes, CotReceiver, CotSender, ZeroizingVec,
    extension::softspoken::SmallField,
    pcg::{self, PcgDimensions, ots},
};
use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, lpn::Lpn};
use vesica_primitives::{Block, Delta};

/// Semi-honest: nothing checks that the trees are correct.
pub const ADVERSARY: Adversary = Adversary::SemiHonest;

/// Payload bytes of a run over SoftSpokenOT, without the OT's setup.
pub fn bytes(len: usize, bits: u32, lpn: Lpn, field: SmallField) -> Bytes {
    let all = Levels::new(len, lpn, PcgDimensions::new, 0);
    Bytes {
        to_sender: field.bytes(all.ots(bits)),
        to_receiver: all.levels.iter().map(PcgDimensions::bytes).sum(),
    }
}

/// The levels from which a VOLE is made.
struct Levels {
    /// The dimensions of each level, the VOLE's own first; none if it is short.
    levels: Vec<PcgDimensions>,
    /// The values that the last level takes from OTs.
    values: usize,
}

impl Levels {
    /// For a VOLE of length `len`, where each level takes `masks` values in addition to the values of its noise.
    fn new(
        len: usize,
        lpn: Lpn,
        dimensions: impl Fn(usize, Lpn) -> PcgDimensions,
        masks: usize,
    ) -> Self {
        let (mut levels, mut values) = (Vec::new(), len);
        while !lpn.is_short(values) {
            let pieces = lpn.pieces(values);
            let level = dimensions(values, lpn);
            values = level.blocks + masks;
            levels.push(level);
            if pieces == 1 {
                break;
            }
        }
        Self { levels, values }
    }

    /// OTs of the one call, for values of `bits` bits.
    fn ots(&self, bits: u32) -> usize {
        let of_trees: usize = self.levels.iter().map(PcgDimensions::ots).sum();
        of_trees + self.values * bits as usize
    }
}

/// The sender's share of c = a·Δ + b.
pub struct SenderShare {
    /// Δ.
    pub delta: Delta,
    /// b.
    pub b: ZeroizingVec<Block>,
}

/// The receiver's share of c = a·Δ + b.
pub struct ReceiverShare<A: Subspace> {
    /// a, in the subspace.
    pub a: ZeroizingVec<A>,
    /// c.
    pub c: ZeroizingVec<Block>,
}

impl<A: Subspace> ReceiverShare<A> {
    /// The entries of a and c.
    pub fn parts(&self) -> impl Iterator<Item = (A, Block)> {
        self.a.iter().copied().zip(self.c.iter().copied())
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
    let delta = cot.delta().clone();
    let Levels { levels, values } = Levels::new(len, lpn, PcgDimensions::new, 0);
    // V1. and V2.
    let ots::Sent { keys, shares: mut b } = ots::send(&levels, values, bits, cot, channel)?;
    // V3. and V4., from the shortest level on.
    for (level, keys) in levels.iter().zip(keys).rev() {
        let shares = std::mem::replace(&mut b, ZeroizingVec::zeros(level.len));
        let noise = pcg::Sender::new(level, delta.expose()[0], keys);
        noise.fill(&mut level.space(), &mut b, &shares, channel, rng)?;
    }
    Ok(SenderShare { delta, b })
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
    let Levels { levels, values } = Levels::new(len, lpn, PcgDimensions::new, 0);
    // V1. and V2.
    let places: Vec<_> = levels.iter().map(|level| level.places(rng)).collect();
    let mut a = random_values::<A>(values, bits, rng);
    let ots::Received { keys, shares: mut c } =
        ots::receive(&levels, &places, &a, bits, cot, channel)?;
    // V3. and V4., from the shortest level on.
    for ((level, places), keys) in levels.iter().zip(&places).zip(keys).rev() {
        let values = std::mem::replace(&mut a, ZeroizingVec::zeros(level.len));
        let shares = std::mem::replace(&mut c, ZeroizingVec::zeros(level.len));
        let mut space = level.space();
        level.compress_noise(places, &values, &mut space, &mut a);
        let noise = pcg::Receiver::new(level, places, keys);
        noise.fill(&mut space, &mut c, &shares, |_, _| (), channel)?;
    }
    Ok(ReceiverShare { a, c })
}

/// `count` random y_i of `bits` bits.
fn random_values<A: Subspace>(count: usize, bits: u32, rng: &mut dyn CryptoRng) -> ZeroizingVec<A> {
    let mut values = ZeroizingVec::zeros(count);
    values.fill_with(|| A::truncate(Block::random(rng), bits));
    values
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_params::lpn::{PUBLISHED, UNIFORM};
    use vesica_primitives::gf;

    use zeroize::DefaultIsZeroes;

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
        for (b, (a, c)) in sender.b.iter().zip(receiver.parts()) {
            assert_eq!(gf::multiply128(a.embed(), delta) ^ *b, c);
            assert!(bits == 128 || a.embed().0 >> bits == 0, "a stays in its subspace");
        }
    }

    #[test]
    fn shares_are_correlated() {
        for len in [0, 1, 100, 768, 769, 5000, 20_011] {
            assert_correlated::<u64>(len, 60, UNIFORM);
        }
        assert_correlated::<u64>(3000, 64, UNIFORM);
        assert_correlated::<u64>(3000, 41, PUBLISHED);
        for bits in 8..=12 {
            assert_correlated::<u64>(6200, bits, UNIFORM);
        }
        // Many pieces, whose values come from a VOLE that itself has several pieces.
        for len in [5001, 20_011] {
            assert_correlated::<u64>(len, 60, UNIFORM.with_piece(2500));
        }
        assert_correlated::<Block>(3000, 128, UNIFORM);
    }

    /// The rank over GF(2) of some random entries, more than twice as many as bits.
    fn rank<A: Subspace>(entries: &[A], bits: u32, rng: &mut StdRng) -> u32 {
        let mut basis = [0u128; 128];
        for _ in 0..(bits + 64).max(150) {
            let mut x = entries[rng.random_range(0..entries.len())].embed().0;
            while x != 0 {
                let pivot = &mut basis[x.ilog2() as usize];
                if *pivot == 0 {
                    *pivot = x;
                }
                x ^= *pivot;
            }
        }
        basis.iter().map(|x| u32::from(*x != 0)).sum()
    }

    fn assert_full_rank<A: Subspace + DefaultIsZeroes>(bits: u32) {
        let rng = &mut StdRng::seed_from_u64(bits.into());
        let compressed = |blocks: usize, rng: &mut StdRng| {
            let len = 5000;
            let dimensions = PcgDimensions::new(len, Lpn { blocks, least: 0, ..UNIFORM });
            let mut sparse = ZeroizingVec::<A>::zeros(dimensions.blocks * dimensions.block);
            for (i, place) in dimensions.places(rng).iter().enumerate() {
                let value = A::truncate(Block::random(rng), bits);
                sparse[i * dimensions.block + *place as usize] = value;
            }
            let (mut scratch, mut out) =
                (ZeroizingVec::zeros(sparse.len()), ZeroizingVec::zeros(len));
            dimensions.code.compress(blocks, &mut sparse, &mut scratch, &mut out);
            out
        };
        for _ in 0..5 {
            assert_eq!(rank(&compressed(UNIFORM.blocks, rng), bits, rng), bits);
        }
        let a: Vec<A> = shares::<A>(5000, bits, UNIFORM).1.parts().map(|(a, _)| a).collect();
        assert_eq!(rank(&a, bits, rng), bits);
        // With fewer blocks than bits, values span less than the subspace.
        let few = bits as usize / 2 / 24 * 24;
        assert!(rank(&compressed(few, rng), bits, rng) <= few as u32);
    }

    #[test]
    fn entries_span_the_subspace() {
        assert_full_rank::<u64>(60);
        assert_full_rank::<Block>(128);
    }

    /// a and b look random: bits are balanced, and no value is repeated.
    #[test]
    fn shares_look_random() {
        let (len, bits) = (20_000, 60);
        let (sender, receiver) = shares::<u64>(len, bits, UNIFORM);
        let balanced = |ones: u32, total: usize| {
            let deviation = (f64::from(ones) - total as f64 / 2.0) / (total as f64).sqrt();
            assert!(deviation.abs() < 4.0, "{ones} of {total}");
        };
        let a: Vec<u64> = receiver.parts().map(|(a, _)| a).collect();
        let b = sender.b;
        balanced(a.iter().map(|a| a.count_ones()).sum(), len * bits as usize);
        balanced(b.iter().map(|b| b.0.count_ones()).sum(), len * 128);
        let (mut a, mut b) = (a, b.to_vec());
        a.sort_unstable();
        a.dedup();
        b.sort_unstable();
        b.dedup();
        assert_eq!([a.len(), b.len()], [len; 2]);
    }
}
