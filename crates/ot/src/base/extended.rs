//! Base OTs by way of an OT extension, for codes of some hundred columns: public-key cryptography for 128 of
//! them, and symmetric cryptography for all that are requested.
//!
//! It combines [`Mr19`] and the [malicious SoftSpokenOT](crate::extension::softspoken::malicious), whose roles carry
//! over to the resulting OTs: R's choices are the choices of the extension; S, which gets both seeds, holds its Δ and
//! is therefore the receiver of the 128. In an extension built on this, the roles are exchanged once more.
//!
//! Compared with plain MR19 it takes up to six more flights and saves three quarters of the work, about 80 ms for 511
//! OTs, so it is faster if a round trip takes less than about 25 ms.
//!
//! Against malicious parties it provides the same as MR19, random OTs in which a malicious party may choose its own
//! messages:
//!
//! - **Seeds are hashes.** Rows share Δ, so a stream derived from one would be related to a stream from any other.
//!   Seeds are hashes of the rows, with the number of the OT as the tweak, and are unrelated.
//! - **What R may guess.** The checks allow R to guess some bits of Δ and be caught if it is wrong: k bits, with
//!   probability 2^-k. The seeds that it did not choose are then hashes under κ − k bits that it does not know, just as
//!   if it had guessed the k bits later. Δ is not used after the seeds, and a second call is not possible. Whether R
//!   was caught depends on nothing but Δ, which is fresh.
//! - **S** has nothing to guess: choices are masked by streams that it lacks, and the answer to the check by
//!   rows of its own.
//! - **Domains.** The hash is a cipher under a key of the session, and so are the trees; a seed is an independent key
//!   for its user, and never an input of that hash. Messages of the extension have other labels than the protocol
//!   above, so they cannot be confused.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Seed, group::Ristretto};
use zeroize::Zeroizing;

use super::{BaseOt, mr19::Mr19};
use crate::{
    Bytes, CotReceiver, CotSender,
    extension::softspoken::{SmallField, malicious as extension},
};

/// The field with the fewest bytes; the trees cost a millisecond.
const FIELD: SmallField = SmallField::new(8);

/// The number of OTs that the extension itself needs: up to this many are made without it.
const FEW: usize = FIELD.base_ots();

type Base = Mr19<Ristretto>;

/// Random OTs against malicious parties, for some hundreds at a time.
pub struct Extended;

impl BaseOt for Extended {
    const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, extension::ADVERSARY]);

    fn bytes(n: usize) -> Bytes {
        match n {
            ..=FEW => Base::bytes(n),
            _ => extension::setup_bytes(FIELD) + extension::bytes(FIELD, n),
        }
    }

    /// # Errors
    /// Errors of both parts; a deviation if the receiver fails a check of the extension.
    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>> {
        if n <= FEW {
            return Base::send(n, channel, rng);
        }
        let mut ot = extension::Sender::setup(FIELD, channel, rng)?;
        let pairs = Zeroizing::new(ot.send_random(n, channel)?);
        Ok(pairs.iter().map(|pair| pair.map(Seed::new)).collect())
    }

    fn receive(
        choices: &Bits,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Seed>> {
        if choices.len() <= FEW {
            return Base::receive(choices, channel, rng);
        }
        let mut ot = extension::Receiver::setup(FIELD, channel, rng)?;
        let chosen = Zeroizing::new(ot.receive_random(choices, channel)?);
        Ok(chosen.iter().map(|seed| Seed::new(*seed)).collect())
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::two_party::run;

    #[test]
    fn seeds_are_those_of_the_choices_and_all_different() {
        for n in [0, 1, FEW, FEW + 1, 511] {
            let choices: Bits = (0..n).map(|i| i % 3 == 1).collect();
            let (pairs, chosen) = run(
                |channel| Extended::send(n, channel, &mut StdRng::seed_from_u64(1)).unwrap(),
                |channel| {
                    Extended::receive(&choices, channel, &mut StdRng::seed_from_u64(2)).unwrap()
                },
            );
            assert_eq!([pairs.len(), chosen.len()], [n; 2]);
            let mut all = Vec::new();
            for ((pair, chosen), choice) in pairs.iter().zip(&chosen).zip(choices.iter()) {
                assert_eq!(pair[usize::from(choice)].expose(), chosen.expose());
                all.extend(pair.iter().map(|seed| *seed.expose()));
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2 * n);
        }
    }
}
