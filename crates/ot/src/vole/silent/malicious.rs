//! Silent VOLE over GF(2^128) against malicious parties (Weng et al., S&P 2021; Boyle et al., CCS
//! 2019; with the codes of Raghuraman, Rindal and Tanguy, CRYPTO 2023).
//!
//! It differs from the semi-honest one as follows:
//!
//! - The OT extension must be a malicious one; another does not compile:
//!
//!   ```compile_fail,E0277
//!   # use vesica_ot::{Result, extension::softspoken::semi_honest, vole::silent::malicious};
//!   # use vesica_params::lpn::UNIFORM;
//!   fn share(
//!       cot: &mut semi_honest::Sender,
//!       channel: &mut vesica_net::Channel,
//!       rng: &mut rand::rngs::StdRng,
//!   ) -> Result<vesica_ot::vole::silent::SenderShare> {
//!       malicious::send(1000, UNIFORM, cot, channel, rng).map(|(share, _)| share)
//!   }
//!   ```
//!
//!   while this does:
//!
//!   ```
//!   # use vesica_ot::{Result, extension::softspoken, vole::silent::malicious};
//!   # use vesica_params::lpn::UNIFORM;
//!   fn share(
//!       cot: &mut softspoken::malicious::Sender,
//!       channel: &mut vesica_net::Channel,
//!       rng: &mut rand::rngs::StdRng,
//!   ) -> Result<vesica_ot::vole::silent::SenderShare> {
//!       malicious::send(1000, UNIFORM, cot, channel, rng).map(|(share, _)| share)
//!   }
//!   ```
//! - A short one is malicious as it is: the OTs leave R nothing but the choice of its a, and S nothing at all.
//! - Trees are full: an R that knew all leaves of one would know Δ.
//! - Each level takes one additional share, of a value that masks R's challenge.
//! - At the end R checks every level, by a challenge and an answer of 32 bytes each, before anything that depends on c
//!   leaves it; for the argument see [`check`]. A deviating S can only guess something about R's noise, and is caught
//!   if it guesses wrong; a deviating R can only choose its own a. Neither side waits for the other here: R may use a,
//!   in which nothing that S sent has a part, and S may answer with its next message: [`Unverified`], [`Answers`].
//!
//! a is in the whole field. A VOLE with shorter a could be checked in the same way, but its use in PSI is not
//! secure against a deviating R.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, lpn::Lpn};
use vesica_primitives::Block;
use zeroize::Zeroizing;

use super::{Levels, ReceiverShare, SenderShare, random_values};
use crate::{
    Bytes, CotReceiver, CotSender, Malicious, ZeroizingVec,
    extension::softspoken::{self, SmallField},
    pcg::{
        self, PcgDimensions,
        check::{self, Mask, Polynomial},
        ots,
    },
};

pub use check::CHECK;

/// Malicious over a malicious OT extension, under LPN with static leakage.
pub const ADVERSARY: Adversary = Adversary::Malicious;

/// Bits of a value.
const BITS: u32 = 128;

/// Payload bytes of a run over malicious SoftSpokenOT, without the OT's setup.
pub fn bytes(len: usize, lpn: Lpn, field: SmallField) -> Bytes {
    let all = levels(len, lpn);
    let ots = softspoken::malicious::bytes(field, all.ots(BITS));
    let of_level = |level| {
        let Bytes { to_sender, to_receiver } = check::BYTES;
        Bytes { to_sender, to_receiver: to_receiver + PcgDimensions::bytes(level) }
    };
    all.levels.iter().map(of_level).fold(ots, |sum, bytes| sum + bytes)
}

/// log2 of a bound on the probability that a sender whose noise or Δ is wrong passes other than by a guess that the
/// assumption covers: (N/2^128)^(1/2) for a level of N entries.
pub fn log2_error(len: usize, lpn: Lpn) -> f64 {
    let root = |level: &PcgDimensions| ((level.blocks * level.block) as f64).sqrt();
    levels(len, lpn).levels.iter().map(root).sum::<f64>().log2() - 64.0
}

fn levels(len: usize, lpn: Lpn) -> Levels {
    Levels::new(len, lpn, PcgDimensions::full, 1)
}

/// The answers to the receiver's challenges.
#[must_use]
pub struct Answers(Vec<check::CheckAnswer>);

impl Answers {
    /// Sends them. The caller sends more, or flushes.
    pub fn send(self, channel: &mut Channel) -> Result<()> {
        self.0.into_iter().try_for_each(|answer| answer.send(channel))
    }
}

/// The sender's side of a VOLE of length `len`. The receiver waits for the answers before it sends anything that
/// depends on its share.
pub fn send(
    len: usize,
    lpn: Lpn,
    cot: &mut (impl CotSender + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(SenderShare, Answers)> {
    let delta = cot.delta().clone();
    let Levels { levels, values } = levels(len, lpn);
    // V1. and V2.
    let ots::Sent { keys, shares: mut b } = ots::send(&levels, values, BITS, cot, channel)?;
    let noises = levels
        .iter()
        .zip(keys)
        .map(|(level, keys)| pcg::Sender::new(level, delta.expose()[0], keys));
    let noises: Vec<_> = noises.collect();
    // V3. and V4., from the shortest level on.
    let mut to_prove = Vec::new();
    for (level, noise) in levels.iter().zip(&noises).rev() {
        let shares = std::mem::replace(&mut b, ZeroizingVec::zeros(level.len));
        let (mask, of_noise) = shares.split_last().expect("one more than blocks");
        let trees = noise.fill(&mut level.space(), &mut b, of_noise, channel, rng)?;
        to_prove.push((trees, Zeroizing::new(*mask)));
    }
    let answers = to_prove.into_iter();
    let answers =
        answers.map(|(trees, mask)| check::prove(delta.expose()[0], &trees, *mask, channel));
    let answers = Answers(answers.collect::<Result<_>>()?);
    Ok((SenderShare { delta, b }, answers))
}

/// The receiver's share, before it has S's answers.
#[must_use]
pub struct Unverified {
    share: ReceiverShare<Block>,
    expected: Vec<check::Expected>,
}

impl Unverified {
    /// The share. Values that depend on a may leave R, since S's messages have no part in a; values that depend on c
    /// may not.
    pub fn share(&self) -> &ReceiverShare<Block> {
        &self.share
    }

    /// The share, once S's answers are here.
    ///
    /// # Errors
    /// [`CheckFailed`](vesica_net::Deviation::CheckFailed) with [`CHECK`] if the sender's leaves and corrections
    /// are inconsistent.
    pub fn verify(self, channel: &mut Channel) -> Result<ReceiverShare<Block>> {
        check::verify(&self.expected, channel)?;
        Ok(self.share)
    }
}

/// The receiver's side of a VOLE of length `len`.
pub fn receive(
    len: usize,
    lpn: Lpn,
    cot: &mut (impl CotReceiver + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Unverified> {
    let Levels { levels, values } = levels(len, lpn);
    // V1. and V2.
    let places: Vec<_> = levels.iter().map(|level| level.places(rng)).collect();
    let mut a = random_values::<Block>(values, BITS, rng);
    let ots::Received { keys, shares: mut c } =
        ots::receive(&levels, &places, &a, BITS, cot, channel)?;
    // V3. and V4., from the shortest level on.
    let mut made = Vec::new();
    for ((level, places), keys) in levels.iter().zip(&places).zip(keys).rev() {
        let values = std::mem::replace(&mut a, ZeroizingVec::zeros(level.len));
        let shares = std::mem::replace(&mut c, ZeroizingVec::zeros(level.len));
        let polynomial = Polynomial::new(Block::random(rng), level.block);
        let keep = |_, leaves: &mut [Block]| polynomial.of_block(leaves);
        let mut space = level.space();
        level.compress_noise(places, &values[..level.blocks], &mut space, &mut a);
        let noise = pcg::Receiver::new(level, places, keys);
        let blocks = noise.fill(&mut space, &mut c, &shares[..level.blocks], keep, channel)?;
        let mask = Mask { value: values[level.blocks], share: shares[level.blocks] };
        made.push((polynomial, blocks, places, values, mask));
    }
    let challenges = made.iter().map(|(polynomial, blocks, places, values, mask)| {
        let values = &values[..places.len()];
        check::challenge(polynomial, blocks, places, values, mask, channel)
    });
    let expected = challenges.collect::<Result<_>>()?;
    Ok(Unverified { share: ReceiverShare { a, c }, expected })
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::lpn::{PUBLISHED, UNIFORM};
    use vesica_primitives::gf;

    use super::*;
    use crate::two_party::run;

    const FIELD: SmallField = SmallField::new(8);

    fn assert_correlated(len: usize, lpn: Lpn) {
        let (sender, receiver) = run(
            |channel| {
                let mut rng = StdRng::seed_from_u64(1);
                let mut cot = softspoken::malicious::Sender::setup(FIELD, channel, &mut rng)?;
                let meter =
                    |channel: &Channel| (channel.meter().sent(), channel.meter().received());
                let before = meter(channel);
                let (share, answers) = send(len, lpn, &mut cot, channel, &mut rng)?;
                answers.send(channel)?;
                channel.flush()?;
                let after = meter(channel);
                let predicted = bytes(len, lpn, FIELD);
                let fits = |counted: u64, predicted: usize| {
                    let predicted = predicted as u64;
                    (predicted..predicted + 4000 + predicted / 200).contains(&counted)
                };
                let counted = [after.0 - before.0, after.1 - before.1];
                assert!(fits(counted[0], predicted.to_receiver), "{counted:?} {predicted:?}");
                assert!(fits(counted[1], predicted.to_sender), "{counted:?} {predicted:?}");
                Ok::<_, vesica_net::Error>(share)
            },
            |channel| {
                let mut rng = StdRng::seed_from_u64(2);
                let mut cot = softspoken::malicious::Receiver::setup(FIELD, channel, &mut rng)?;
                receive(len, lpn, &mut cot, channel, &mut rng)?.verify(channel)
            },
        );
        let (sender, receiver) = (sender.unwrap(), receiver.unwrap());
        assert_eq!([sender.b.len(), receiver.a.len(), receiver.c.len()], [len; 3]);
        let delta = sender.delta.expose()[0];
        for (b, (a, c)) in sender.b.iter().zip(receiver.parts()) {
            assert_eq!(gf::multiply128(a, delta) ^ *b, c);
        }
    }

    #[test]
    fn shares_are_correlated() {
        for len in [0, 1, 768, 769, 6143, 20_011] {
            assert_correlated(len, UNIFORM);
        }
        assert_correlated(1000, PUBLISHED);
        assert_correlated(20_011, UNIFORM.with_piece(5000));
        // 13 pieces, whose values come from 2, whose values come from 1.
        assert_correlated(60_011, UNIFORM.with_piece(5000));
    }
}
