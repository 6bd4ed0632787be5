//! Correlated OT by the extension of Asharov, Lindell, Schneider and Zohner (CCS 2013), protocol 4 of §5.3,
//! which improves IKNP03. Semi-honest.
//!
//! 1. Once: κ base OTs with the parties' roles exchanged.
//! 2. R → S: κ bits for each OT (see [`columns`]); the code repeats the choice bit.
//! 3. S holds q_j, R holds t_j = q_j ⊕ (r_j·Δ).

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::group::Ristretto;

use super::{columns, unchecked};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    session,
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing checks that a receiver repeats one choice bit along a row.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, unchecked::ADVERSARY]);

const SESSION: &str = "alsz13/session";

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    super::setup_bytes::<Base>(KAPPA as usize)
}

/// Payload bytes of a call of `n` correlated or random OTs, all of them to the sender.
pub fn bytes(n: usize) -> Bytes {
    Bytes { to_sender: columns::bytes(KAPPA as usize, n), to_receiver: 0 }
}

/// The party with Δ, 128 bits.
pub type Sender = unchecked::Sender<columns::Sender>;

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let columns = columns::Sender::setup::<Base>(KAPPA as usize, channel, rng)?;
        Ok(Self::new(columns, session))
    }
}

/// The party with choices.
pub type Receiver = unchecked::Receiver<columns::Receiver>;

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::learn(SESSION, channel)?;
        let columns = columns::Receiver::setup::<Base>(KAPPA as usize, channel, rng)?;
        Ok(Self::new(columns, session))
    }
}
