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
//!       malicious::send(1000, UNIFORM, cot, channel, rng)
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
//!       malicious::send(1000, UNIFORM, cot, channel, rng)
//!   }
//!   ```
//! - A short one is malicious as it is: the OTs leave R nothing but the choice of its a, and S nothing at all.
//! - Trees are full: an R that knew all leaves of one would know Δ.
//! - Step 2 makes one additional share, of a value that masks R's challenge. If this step is a shorter VOLE,
//!   that is checked in the same way.
//! - At the end R checks its share before anything is derived from it, by a challenge and an answer of 32
//!   bytes; for the argument see [`check`]. A deviating S can only guess something about R's noise, and is
//!   caught if it guesses wrong; a deviating R can only choose its own a.
//!
//! a is in the whole field. A VOLE with shorter a could be checked in the same way, but its use in PSI is not
//! secure against a deviating R.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, lpn::Lpn};
use vesica_primitives::Block;

use super::{ReceiverShare, SenderShare, random_values};
use crate::{
    Bytes, CotReceiver, CotSender, Malicious, ZeroizingVec,
    extension::softspoken::{self, SmallField},
    pcg::{
        self, Dimensions,
        check::{self, Mask, Polynomial},
    },
};

pub use check::CHECK;

/// Malicious over a malicious OT extension, under LPN with static leakage.
pub const ADVERSARY: Adversary = Adversary::Malicious;

/// Bits of a value.
const BITS: u32 = 128;

/// Payload bytes of a run over malicious SoftSpokenOT, without the OT's setup.
pub fn bytes(len: usize, lpn: Lpn, field: SmallField) -> Bytes {
    let of_ots = |values: usize| softspoken::malicious::bytes(field, values * BITS as usize);
    if lpn.is_short(len) {
        return of_ots(len);
    }
    let dimensions = Dimensions::full(len, lpn);
    let values = match lpn.pieces(len) {
        1 => of_ots(dimensions.blocks + 1),
        _ => bytes(dimensions.blocks + 1, lpn, field),
    };
    let keys = softspoken::malicious::bytes(field, dimensions.ots());
    Bytes {
        to_sender: values.to_sender + keys.to_sender + check::BYTES.to_sender,
        to_receiver: values.to_receiver
            + keys.to_receiver
            + dimensions.bytes()
            + check::BYTES.to_receiver,
    }
}

/// The sender's side of a VOLE of length `len`.
pub fn send(
    len: usize,
    lpn: Lpn,
    cot: &mut (impl CotSender + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<SenderShare> {
    let delta = cot.delta().clone();
    if lpn.is_short(len) {
        return Ok(SenderShare { delta, b: pcg::values::send(len, BITS, cot, channel)? });
    }
    let dimensions = Dimensions::full(len, lpn);
    // 1.
    let noise = pcg::Sender::new(&dimensions, cot, channel)?;
    // 2.
    let shares = match lpn.pieces(len) {
        1 => pcg::values::send(dimensions.blocks + 1, BITS, cot, channel)?,
        _ => send(dimensions.blocks + 1, lpn, cot, channel, rng)?.b,
    };
    let (mask, shares) = shares.split_last().expect("one more than blocks");
    // 3. and 4.
    let mut b = ZeroizingVec::zeros(len);
    let trees = noise.fill(&mut dimensions.space(), &mut b, shares, channel, rng)?;
    check::prove(delta.expose()[0], &trees, *mask, channel)?;
    Ok(SenderShare { delta, b })
}

/// The receiver's side of a VOLE of length `len`.
///
/// # Errors
/// [`CheckFailed`](vesica_net::Deviation::CheckFailed) with [`CHECK`] if the sender's leaves and corrections
/// are inconsistent.
pub fn receive(
    len: usize,
    lpn: Lpn,
    cot: &mut (impl CotReceiver + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<ReceiverShare<Block>> {
    if lpn.is_short(len) {
        let (a, c) = random_values(len, BITS, cot, channel, rng)?;
        channel.flush()?;
        return Ok(ReceiverShare { a, c });
    }
    let dimensions = Dimensions::full(len, lpn);
    let places = dimensions.places(rng);
    // 1.
    let noise = pcg::Receiver::new(&dimensions, &places, cot, channel)?;
    // 2.
    let (values, shares) = match lpn.pieces(len) {
        1 => random_values(dimensions.blocks + 1, BITS, cot, channel, rng)?,
        _ => {
            let ReceiverShare { a, c } = receive(dimensions.blocks + 1, lpn, cot, channel, rng)?;
            (a, c)
        }
    };
    let (value, values) = values.split_last().expect("one more than blocks");
    let (share, shares) = shares.split_last().expect("one more than blocks");
    let mask = Mask { value: *value, share: *share };
    // 3. and 4.
    let polynomial = Polynomial::new(Block::random(rng), dimensions.block);
    let keep = |_, leaves: &mut [Block]| polynomial.of_block(leaves);
    let (mut a, mut c) = (ZeroizingVec::zeros(len), ZeroizingVec::zeros(len));
    let mut space = dimensions.space();
    dimensions.compress_noise(&places, values, &mut space, &mut a);
    let blocks = noise.fill(&mut space, &mut c, shares, keep, channel)?;
    check::verify(&polynomial, &blocks, &places, values, &mask, channel)?;
    Ok(ReceiverShare { a, c })
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
                let share = send(len, lpn, &mut cot, channel, &mut rng)?;
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
                receive(len, lpn, &mut cot, channel, &mut rng)
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
