//! OTs after step 3: silent ones over SoftSpokenOT.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{
    Bytes,
    extension::{
        silent,
        softspoken::{SmallField, semi_honest as softspoken},
    },
};
use vesica_params::lpn::{self, Lpn};

use crate::{Adversary, Result};

const FIELD: SmallField = SmallField::new(8);

const LPN: Lpn = lpn::ones(ADVERSARY);

pub(crate) const ADVERSARY: Adversary = softspoken::ADVERSARY;

/// Flights of a setup.
pub(crate) const SETUP_ROUNDS: u32 = 2;

/// Flights of a call, with the messages that are masked.
pub(crate) const CALL_ROUNDS: u32 = 4;

pub(crate) type OtSender = silent::Sender<softspoken::Sender>;
pub(crate) type OtReceiver = silent::Receiver<softspoken::Receiver>;

pub(crate) fn sender(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<OtSender> {
    let cot = softspoken::Sender::setup(FIELD, channel, rng)?;
    Ok(silent::Sender::setup(cot, LPN, channel, rng)?)
}

pub(crate) fn receiver(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<OtReceiver> {
    let cot = softspoken::Receiver::setup(FIELD, channel, rng)?;
    Ok(silent::Receiver::setup(cot, LPN, channel, rng)?)
}

/// Payload bytes of a setup.
pub(crate) fn setup_bytes() -> Bytes {
    softspoken::setup_bytes(FIELD)
}

/// Payload bytes of one call for `n` OTs.
pub(crate) fn bytes(n: usize) -> Bytes {
    bytes_of_random(n) + Bytes { to_sender: n.div_ceil(128) * 16, to_receiver: 0 }
}

/// Payload bytes of one call for `n` OTs with random choices.
pub(crate) fn bytes_of_random(n: usize) -> Bytes {
    silent::bytes(n, LPN, ADVERSARY)
        + softspoken::bytes(FIELD, silent::ots_beneath(n, LPN, ADVERSARY))
}
