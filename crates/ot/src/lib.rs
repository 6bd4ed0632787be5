//! Oblivious transfer: the sender has two messages, the receiver gets the one it chooses; the sender does not
//! learn which, and the receiver does not learn the other.
//!
//! [`base`] makes a few hundred OTs with public-key cryptography; [`extension`] turns those into millions
//! with symmetric cryptography; [`variants`] derives random and chosen-message OT from correlated OT, once for
//! every extension; [`one_of_n`] does the same for more than two messages. The
//! party that holds Δ is the sender of an extension, and the *receiver* of its base OTs, with the bits of Δ
//! as choices.
//!
//! **Must never import** OPRFs, protocols or anything above; hash bins and OKVS do not belong here.

pub mod base;
mod challenge;
pub mod chunks;
mod correlation_hash;
pub mod extension;
pub mod one_of_n;
pub mod pcg;
pub mod pprf;
mod session;
mod stream;
#[cfg(test)]
mod two_party;
pub mod variants;
pub mod vole;
mod zeroizing;

pub use correlation_hash::CorrelationHash;
pub use variants::{CotReceiver, CotSender, Malicious};
pub use vesica_net::{Error, Result};
pub use zeroizing::ZeroizingVec;

/// Payload bytes in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// To the party with Δ.
    pub to_sender: usize,
    /// To the party with choices.
    pub to_receiver: usize,
}

impl std::ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            to_sender: self.to_sender + other.to_sender,
            to_receiver: self.to_receiver + other.to_receiver,
        }
    }
}
