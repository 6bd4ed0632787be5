//! SoftSpokenOT against malicious parties.
//!
//! A malicious R that faces the checks of [`consistency`](pprf::consistency) and [`checked`] can only guess
//! some bits of Δ, and is caught if a guess is wrong; S then says so and Δ is never used again. A correlated OT
//! is hashed with its number as the tweak. Against a malicious S there is nothing to check: R's choices are
//! masked by a stream that S lacks, and its answer by rows of its own.
//!
//! A call of n OTs, which takes one round more than the semi-honest one:
//!
//! 1. R → S: step 3 of the extension for ⌈n/128⌉·128 + 128 rows.
//! 2. S → R → S: the challenge and the answer of [`checked`].
//! 3. Only then are columns turned into rows.
//!
//! Apart from guesses, R succeeds with probability at most 2^[`error`]. The base OTs (MR19) let a malicious
//! party choose its own messages, which SoftSpokenOT is proven to allow.

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
    base::{BaseOt, mr19::Mr19},
    extension::checked,
    pprf, session,
};

/// The base OTs underneath.
type Base = Mr19<Ristretto>;

/// Malicious, in the model of the base OTs and with an ideal cipher for the trees and the hash.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, checked::ADVERSARY]);

const _: () = assert!(matches!(ADVERSARY, Adversary::Malicious), "as the parties' types say");

const SESSION: &str = "softspoken/session";

/// Payload bytes of the setup.
pub fn setup_bytes(field: SmallField) -> Bytes {
    let trees = field.setup_bytes::<Base>();
    Bytes { to_sender: trees.to_sender + pprf::consistency::bytes(field.shape()), ..trees }
}

/// log2 of the probability that a receiver passes the check of a call of `n` OTs with choices
/// that differ between chunks of Δ, other than by guessing those chunks.
pub fn error(field: SmallField, n: usize) -> f64 {
    checked::error(field.chunks(), n)
}

/// Payload bytes of a call of `n` correlated or random OTs.
pub const fn bytes(field: SmallField, n: usize) -> Bytes {
    checked::bytes(n, field.bytes(checked::rows(n)))
}

/// The party with Δ, 128 bits.
pub type Sender = checked::Sender<small_field::Sender>;

impl Sender {
    /// Step 1 of the extension with its check, and agreement on the session's public hash key.
    ///
    /// # Errors
    /// A deviation if the receiver's trees fail the check.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let mut trees = PuncturedTrees::receive::<Base>(field, channel, rng)?;
        trees.verify(channel)?;
        Ok(Self::new(trees.into_sender(), session, rng))
    }
}

/// The party with choices.
pub type Receiver = checked::Receiver<small_field::Receiver>;

impl Receiver {
    /// Step 1 of the extension with its proof, and agreement on the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let session = session::learn(SESSION, channel)?;
        let mut trees = Trees::send::<Base>(field, channel, rng)?;
        trees.prove(channel)?;
        Ok(Self::new(trees.into_receiver(), session, rng))
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::{Deviation, Error};

    use super::*;
    use crate::two_party::run;

    /// The trees of the setup: a wrong sum is refused unless Δ does not need it.
    #[test]
    fn inconsistent_trees_are_refused_in_the_setup() {
        let field = SmallField::new(3);
        let mut refused = 0;
        for seed in 0..20 {
            let (sender, _) = run(
                |channel| Sender::setup(field, channel, &mut StdRng::seed_from_u64(seed)).err(),
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(100 + seed);
                    session::learn(SESSION, channel).unwrap();
                    let mut trees = Trees::send_falsely::<Base>(field, channel, rng).unwrap();
                    trees.prove(channel).unwrap();
                    channel.flush().unwrap();
                },
            );
            let Some(error) = sender else { panic!("43 chunks were guessed") };
            let Error::Peer { deviation: Deviation::CheckFailed { check }, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(check, pprf::consistency::CHECK);
            refused += 1;
        }
        assert_eq!(refused, 20);
    }

    #[test]
    fn the_error_is_what_its_formula_says() {
        // C(64, 2) = 2016 pairs and 8192 values of χ for each.
        let by_hand = (2016.0f64 * 8192.0).log2() - 128.0;
        assert!((error(SmallField::new(2), 1 << 20) - by_hand).abs() < 1e-9);
        assert!((by_hand - -104.0).abs() < 0.1);
        for bits in 1..=SmallField::MAX_BITS {
            assert!(error(SmallField::new(bits), 1 << 39) < -82.0);
        }
    }
}
