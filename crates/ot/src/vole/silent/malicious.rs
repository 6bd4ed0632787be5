//! Silent VOLE over GF(2^128) against parties that deviate (Weng et al., S&P 2021; Boyle et al., CCS
//! 2019; with the codes of Raghuraman, Rindal and Tanguy, CRYPTO 2023).
//!
//! As the semi-honest one, but for this:
//!
//! - The OT extension has to be one for malicious parties; another does not compile:
//!
//!   ```compile_fail,E0277
//!   # use vesica_ot::{Result, extension::softspoken::semi_honest, vole::silent::malicious};
//!   # use vesica_params::lpn::FAST;
//!   fn share(
//!       cot: &mut semi_honest::Sender,
//!       channel: &mut vesica_net::Channel,
//!       rng: &mut rand::rngs::StdRng,
//!   ) -> Result<vesica_ot::vole::silent::SenderShare> {
//!       malicious::send(1000, FAST, cot, channel, rng)
//!   }
//!   ```
//!
//!   while this does:
//!
//!   ```
//!   # use vesica_ot::{Result, extension::softspoken, vole::silent::malicious};
//!   # use vesica_params::lpn::FAST;
//!   fn share(
//!       cot: &mut softspoken::malicious::Sender,
//!       channel: &mut vesica_net::Channel,
//!       rng: &mut rand::rngs::StdRng,
//!   ) -> Result<vesica_ot::vole::silent::SenderShare> {
//!       malicious::send(1000, FAST, cot, channel, rng)
//!   }
//!   ```
//! - Trees are full: an R that left one would know Δ.
//! - Step 1 makes shares of one value more, which masks R's challenge.
//! - After step 3, R checks what it has before anything is made of it:
//!   a challenge, and an answer of 32 bytes. The argument stands with the check, in
//!   `crates/ot/src/noise/check.rs`. What is left to an S that deviates is to guess something about R's
//!   noise and to be caught if it guesses wrong; what is left to an R that does is to choose its own a.
//!
//! a is in the whole field. A VOLE with shorter a could be checked just so, but what it is for in PSI
//! cannot stand an R that deviates.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, lpn::Lpn};
use vesica_primitives::Block;
use zeroize::Zeroizing;

use super::{Noise, ReceiverShare, SenderShare, receive_values, send_values};
use crate::{
    Bytes, CotReceiver, CotSender, Malicious,
    extension::softspoken::{self, SmallField},
    noise::{
        self, Dimensions,
        check::{self, Mask},
    },
};

pub use check::CHECK;

/// Malicious, over an OT extension that is, under LPN with static leakage.
pub const ADVERSARY: Adversary = Adversary::Malicious;

/// Bits of a value.
const BITS: u32 = 128;

/// Payload bytes of a run over malicious SoftSpokenOT, without the OT's setup.
pub fn bytes(len: usize, lpn: Lpn, field: SmallField) -> Bytes {
    let dimensions = Dimensions::full(len, lpn);
    let values = softspoken::malicious::bytes(field, (dimensions.blocks + 1) * BITS as usize);
    let keys = softspoken::malicious::bytes(field, dimensions.trees.ots());
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
    let dimensions = Dimensions::full(len, lpn);
    // 1.
    let shares = send_values(dimensions.blocks + 1, BITS, cot, channel)?;
    let (mask, shares) = shares.split_last().expect("one more than blocks");
    // 2. and 3.
    let leaves = noise::send(&dimensions, shares, cot, channel, rng)?;
    check::prove(cot.delta().expose()[0], &leaves, *mask, channel)?;
    // 4.
    Ok(SenderShare { delta: cot.delta().clone(), b: dimensions.compress(leaves, len) })
}

/// The receiver's side of a VOLE of length `len`.
///
/// # Errors
/// [`CheckFailed`](vesica_net::Deviation::CheckFailed) with [`CHECK`] where the sender's leaves and
/// corrections do not belong together.
pub fn receive(
    len: usize,
    lpn: Lpn,
    cot: &mut (impl CotReceiver + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<ReceiverShare<Block>> {
    let dimensions = Dimensions::full(len, lpn);
    let Noise { places, values } = Noise::<Block>::random(&dimensions, BITS, rng);
    let value = Block::random(rng);
    // 1.
    let all = Zeroizing::new([&values[..], &[value]].concat());
    let shares = receive_values(&all, BITS, cot, channel)?;
    let (share, shares) = shares.split_last().expect("one more than blocks");
    let mask = Mask { value, share: *share };
    // 2. and 3.
    let leaves = noise::receive(&dimensions, &places, shares, cot, channel)?;
    check::verify(&places, &values, &leaves, &mask, channel, rng)?;
    // 4.
    let a = dimensions.compress(dimensions.sparse(&places, &values), len);
    Ok(ReceiverShare { a, c: dimensions.compress(leaves, len) })
}
