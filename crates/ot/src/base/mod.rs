//! Base OTs: random OTs of one seed each, by public-key cryptography, or through an extension if hundreds are
//! needed ([`extended`]).

pub mod co15;
pub mod extended;
pub mod mr19;
pub mod np01;
mod seeds;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Seed};

use crate::Bytes;

/// A base OT, for protocols that are generic over it.
pub trait BaseOt {
    /// The adversary against which it is secure.
    const ADVERSARY: Adversary;

    /// Payload bytes of `n` OTs.
    fn bytes(n: usize) -> Bytes;

    /// The sender's side of `n` OTs: two seeds each.
    ///
    /// # Errors
    /// A deviation if the receiver sends something that is not a group element, or fails a check.
    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>>;

    /// The receiver's side of as many OTs as there are choices: the chosen seed of each.
    ///
    /// # Errors
    /// A deviation if the sender sends something that is not a group element, or does not open its commitment.
    fn receive(choices: &Bits, channel: &mut Channel, rng: &mut dyn CryptoRng)
    -> Result<Vec<Seed>>;
}
