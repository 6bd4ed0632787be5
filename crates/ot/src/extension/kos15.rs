//! Correlated OT by the extension of Keller, Orsini and Scholl (CRYPTO 2015), with the check of their
//! corrected version (IACR ePrint 2015/546, §4). Malicious.
//!
//! **Not the check that was published first.** That one adds up *rows*, each times a random element of
//! GF(2^128), and relies on a lemma about the knowledge of a receiver that passes. The lemma is false
//! (Roy, CRYPTO 2022, appendix D), and no useful choice of parameters repairs its proof (IACR ePrint
//! 2022/1371). Nobody has broken it, but nobody has shown that it is secure. Here *columns* are hashed by a
//! universal hash, as in SoftSpokenOT, whose proof covers this: see [`checked`].
//!
//! 1. Once: κ base OTs with the parties' roles exchanged (MR19, against malicious parties).
//! 2. R → S: κ bits for each of ⌈n/128⌉·128 + 128 rows (see [`columns`]); the code repeats the choice bit.
//!    The last 128 rows have random choices.
//! 3. S → R → S: the challenge and the answer of [`checked`].
//! 4. S holds q_j, R holds t_j = q_j ⊕ (r_j·Δ). Hashes have the OT's number as the tweak.
//!
//! This is SoftSpokenOT for k = 1 with a pair of seeds instead of a tree: a malicious R may guess bits of Δ, is
//! caught at the first wrong guess, and succeeds in any other way with probability at most 2^[`error`]. The
//! base OTs let a malicious party choose its own messages, which that proof allows.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::group::Ristretto;

use super::{checked, columns};
use crate::{
    Bytes,
    base::{BaseOt, mr19::Mr19},
    session,
};

/// The base OTs underneath.
type Base = Mr19<Ristretto>;

/// Malicious, in the model of the base OTs and with an ideal cipher for the hash.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, checked::ADVERSARY]);

const _: () = assert!(matches!(ADVERSARY, Adversary::Malicious), "as the parties' types say");

const SESSION: &str = "kos15/session";

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    super::setup_bytes::<Base>(KAPPA as usize)
}

/// Payload bytes of a call of `n` correlated or random OTs.
pub fn bytes(n: usize) -> Bytes {
    checked::bytes(n, columns::bytes(KAPPA as usize, checked::rows(n)))
}

/// log2 of the probability that a receiver passes the check of a call of `n` OTs with choices
/// that differ between columns, other than by guessing those bits of Δ.
pub fn error(n: usize) -> f64 {
    checked::error(KAPPA as usize, n)
}

/// The party with Δ, 128 bits.
pub type Sender = checked::Sender<columns::Sender>;

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let columns = columns::Sender::setup::<Base>(KAPPA as usize, channel, rng)?;
        Ok(Self::new(columns, session, rng))
    }
}

/// The party with choices.
pub type Receiver = checked::Receiver<columns::Receiver>;

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::learn(SESSION, channel)?;
        let columns = columns::Receiver::setup::<Base>(KAPPA as usize, channel, rng)?;
        Ok(Self::new(columns, session, rng))
    }
}
