//! Payloads: bytes that the sender attaches to each of its items, and that the receiver gets for the common
//! items. Of any other payload the receiver learns only the length, which is agreed on and the same for all.
//!
//! A protocol that supports payloads has [`Parties::Carrying`](crate::Parties::Carrying) in its entry of the catalogue.
//! [`Protocol::carrying`](crate::Protocol::carrying) gives it a length; [`send`] and [`receive`] run the result.
//! `parts/sealed.rs` explains how payloads are encrypted, and why.
//!
//! A malicious sender can attach anything, just as it can use any item. Even in a protocol that is secure against
//! malicious parties, it can attach bytes that the receiver's program cannot read. If that program ended the run
//! because of such bytes, the sender would see that the item is shared: the program must continue until the sender can
//! no longer observe it.

use vesica_primitives::Block;
use zeroize::Zeroizing;

pub use crate::carrying::{Carrying, WithPayloads, receive, send};
use crate::{Items, Party};

/// The longest payload, in bytes.
pub const MAX_LEN: usize = 1 << 16;

/// A key and a place on the first list, as they are sent with each item of the other lists.
pub(crate) const WRAPPED_LEN: usize = size_of::<Block>() + size_of::<u32>();

/// One payload for each of a sender's items.
#[derive(Clone, Copy)]
pub struct Payloads<'a> {
    len: usize,
    bytes: &'a [u8],
}

impl<'a> Payloads<'a> {
    /// Payloads of `len` bytes, one after another, in the order of their items.
    ///
    /// # Panics
    /// If `len` is 0 or above [`MAX_LEN`], or the last payload is cut.
    pub fn new(len: usize, bytes: &'a [u8]) -> Self {
        assert!((1..=MAX_LEN).contains(&len), "payloads of 1 to {MAX_LEN} bytes");
        assert!(bytes.len().is_multiple_of(len), "whole payloads");
        Self { len, bytes }
    }

    /// The number of payloads.
    pub fn count(self) -> usize {
        self.bytes.len() / self.len
    }

    /// The length of each in bytes.
    pub fn payload_len(self) -> usize {
        self.len
    }

    /// The payload of the item at this position.
    pub fn of(self, position: usize) -> &'a [u8] {
        &self.bytes[position * self.len..][..self.len]
    }
}

/// The receiver's result.
pub struct Opened {
    positions: Vec<u32>,
    /// The place of the payload of each position.
    places: Vec<u32>,
    len: usize,
    bytes: Zeroizing<Vec<u8>>,
}

impl Opened {
    /// The payloads of the items at these positions, one after another.
    pub(crate) fn new(positions: Vec<u32>, len: usize, bytes: Zeroizing<Vec<u8>>) -> Self {
        let mut both: Vec<(u32, u32)> = positions.into_iter().zip(0..).collect();
        both.sort_unstable();
        let (positions, places) = both.into_iter().unzip();
        Self { positions, places, len, bytes }
    }

    /// The positions of the receiver's items that the sender has too, ascending.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The sender's payload of the item at `positions()[i]`.
    ///
    /// # Panics
    /// If there are fewer positions.
    pub fn payload(&self, i: usize) -> &[u8] {
        &self.bytes[self.places[i] as usize * self.len..][..self.len]
    }
}

/// A sender's items, with a payload for each.
#[derive(Clone, Copy)]
pub struct SenderInput<'a> {
    /// The items.
    pub items: Items<'a>,
    /// The payloads, as many as there are items.
    pub payloads: Payloads<'a>,
}

/// A receiver's items, with the length of the sender's payloads.
#[derive(Clone, Copy)]
pub struct ReceiverInput<'a> {
    /// The items.
    pub items: Items<'a>,
    /// Bytes of a payload.
    pub payload_len: usize,
}

/// A sender that attaches payloads.
pub type Sender = dyn for<'a> Party<SenderInput<'a>, ()>;

/// A receiver that opens payloads.
pub type Receiver = dyn for<'a> Party<ReceiverInput<'a>, Opened>;

/// A sender with or without payloads.
pub trait CarryingSender:
    for<'a> Party<Items<'a>, ()> + for<'a> Party<SenderInput<'a>, ()>
{
}

impl<P> CarryingSender for P where
    P: for<'a> Party<Items<'a>, ()> + for<'a> Party<SenderInput<'a>, ()>
{
}

/// A receiver with or without payloads.
pub trait CarryingReceiver:
    for<'a> Party<Items<'a>, Vec<u32>> + for<'a> Party<ReceiverInput<'a>, Opened>
{
}

impl<P> CarryingReceiver for P where
    P: for<'a> Party<Items<'a>, Vec<u32>> + for<'a> Party<ReceiverInput<'a>, Opened>
{
}
