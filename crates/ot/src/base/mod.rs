//! Base OTs: random OTs of one seed each, by public-key cryptography, or by way of an extension if hundreds
//! are needed ([`extended`]).

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

/// A base OT, for what is built on whichever suits its adversary.
pub trait BaseOt {
    /// Against whom it keeps its promises.
    const ADVERSARY: Adversary;

    /// Payload bytes of `n` OTs.
    fn bytes(n: usize) -> Bytes;

    /// The sender's side of `n` OTs: two seeds each.
    ///
    /// # Errors
    /// A deviation where the receiver sends what is no group element, or fails a check.
    fn send(n: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>>;

    /// The receiver's side of as many OTs as there are choices: the chosen seed of each.
    ///
    /// # Errors
    /// A deviation where the sender sends what is no group element, or does not open what it
    /// committed to.
    fn receive(choices: &Bits, channel: &mut Channel, rng: &mut dyn CryptoRng)
    -> Result<Vec<Seed>>;
}
