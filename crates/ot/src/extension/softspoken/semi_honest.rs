//! SoftSpokenOT for semi-honest parties.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::group::Ristretto;

use super::{
    SmallField,
    small_field::{self, PuncturedTrees, Trees},
};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    extension::unchecked,
    session,
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: neither the trees nor the columns are checked.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, unchecked::ADVERSARY]);

const SESSION: &str = "softspoken/session";

/// Payload bytes of the setup.
pub fn setup_bytes(field: SmallField) -> Bytes {
    field.setup_bytes::<Base>()
}

/// Payload bytes of a call of `n` correlated or random OTs, all of them to the sender.
pub const fn bytes(field: SmallField, n: usize) -> Bytes {
    Bytes { to_sender: field.bytes(n), to_receiver: 0 }
}

/// The party with Δ, 128 bits.
pub type Sender = unchecked::Sender<small_field::Sender>;

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let trees = PuncturedTrees::receive::<Base>(field, channel, rng)?;
        Ok(Self::new(trees.into_sender(), session))
    }
}

/// The party with choices.
pub type Receiver = unchecked::Receiver<small_field::Receiver>;

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let session = session::learn(SESSION, channel)?;
        let trees = Trees::send::<Base>(field, channel, rng)?;
        Ok(Self::new(trees.into_receiver(), session))
    }
}
