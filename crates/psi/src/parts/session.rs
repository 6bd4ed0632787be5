//! Running a protocol: size agreement, then its two phases.

use std::ops::RangeInclusive;

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{Error, Items, Protocol, Receiver, Result, Sender, Setting, Sizes};

/// The maximal number of items of a set: positions are 32 bits wide with two to spare, and the parameters of
/// every protocol are valid up to this size.
pub const MAX_ITEMS: usize = 1 << 28;

const SIZE: &str = "psi/size";

/// A party's first message: the size of its set and a digest of its protocol's name.
const HELLO_LEN: usize = 16;

/// An OT session for one of several runs, which the first run on a connection sets up and all others go on with; for a
/// single run one of its own. `uses` is what a run does with it.
///
/// # Errors
/// Those of `setup` and `uses`.
pub(crate) fn with_ots<S: Send + 'static, T>(
    runs: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
    setup: impl FnOnce(&mut Channel, &mut dyn CryptoRng) -> vesica_net::Result<S>,
    uses: impl FnOnce(&mut S, &mut Channel, &mut dyn CryptoRng) -> Result<T>,
) -> Result<T> {
    let kept = if runs > 1 { channel.take_kept() } else { None };
    let mut session = match kept {
        Some(session) => session,
        None => {
            channel.phase("base-ot");
            setup(channel, rng)?
        }
    };
    let used = uses(&mut session, channel, rng)?;
    if runs > 1 {
        channel.keep(session);
    }
    Ok(used)
}

/// Runs the sender's side of `protocol` on a set of distinct items. Both parties learn the size of the other's
/// set; the sender learns nothing more. If a size was agreed beforehand, pass it as `peer_items`, because a
/// protocol takes as many inputs from the peer as it announces here.
///
/// # Errors
/// [`Error::TooManyItems`] if this set has more than [`MAX_ITEMS`] items or the peer's more than `peer_items`;
/// a deviation if the peer's has fewer; [`Error::Limit`] if the protocol does not support the sizes;
/// [`Error::DuplicateItem`], [`Error::ShortDigests`], and any error of the connection or the peer.
pub fn send(
    protocol: &Protocol,
    items: Items<'_>,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    let items = items.cut_for(protocol)?;
    let sender = prepare_sender(protocol, items.len(), peer_items, channel, rng)?;
    sender.send(items, channel, rng)?;
    Ok(channel.flush()?)
}

/// Runs the receiver's side of `protocol` on a set of distinct items, and returns the positions in `items` of
/// those that the sender has too, in ascending order.
///
/// # Errors
/// Same as [`send`].
pub fn receive(
    protocol: &Protocol,
    items: Items<'_>,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u32>> {
    let items = items.cut_for(protocol)?;
    prepare_receiver(protocol, items.len(), peer_items, channel, rng)?.receive(items, channel, rng)
}

/// The first part of [`send`], which needs no items: agrees on sizes and returns a party that is ready for this
/// number of `items`. They must be [cut](Items::cut_for) to what the protocol takes.
///
/// # Errors
/// Same as [`send`].
pub fn prepare_sender(
    protocol: &Protocol,
    items: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Sender>> {
    let sizes = agree_sizes_as_sender(protocol, items, peer_items, channel)?;
    sender_for(protocol, sizes, channel, rng)
}

/// Like [`prepare_sender`], for parties that have already agreed on the protocol and the sizes of their sets.
///
/// # Errors
/// [`Error::Limit`], and any error of the connection or the peer.
pub fn sender_for(
    protocol: &Protocol,
    setting: impl Into<Setting>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Sender>> {
    let setting = Setting { list: protocol.list, ..setting.into() };
    bind_sizes(protocol, supported(protocol, setting.sizes)?, channel);
    (protocol.sender)(setting, channel, rng)
}

/// The sender's part of the agreement on sizes.
pub(crate) fn agree_sizes_as_sender(
    protocol: &Protocol,
    items: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
) -> Result<Sizes> {
    let receiver = agree_size(protocol, items, peer_items, channel)?;
    supported(protocol, Sizes { sender: items, receiver })
}

/// The first part of [`receive`]; see [`prepare_sender`].
///
/// # Errors
/// Same as [`send`].
pub fn prepare_receiver(
    protocol: &Protocol,
    items: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Receiver>> {
    let sender = agree_size(protocol, items, peer_items, channel)?;
    receiver_for(protocol, Sizes { sender, receiver: items }, channel, rng)
}

/// Like [`prepare_receiver`], for parties that have already agreed on the protocol and the sizes of their sets.
///
/// # Errors
/// Same as [`sender_for`].
pub fn receiver_for(
    protocol: &Protocol,
    setting: impl Into<Setting>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Receiver>> {
    let setting = Setting { list: protocol.list, ..setting.into() };
    bind_sizes(protocol, supported(protocol, setting.sizes)?, channel);
    (protocol.receiver)(setting, channel, rng)
}

/// The sizes, if the protocol supports them. Both parties come to the same result.
pub(crate) fn supported(protocol: &Protocol, sizes: Sizes) -> Result<Sizes> {
    match (protocol.limits)(sizes) {
        Ok(()) => Ok(sizes),
        Err(limit) => Err(Error::Limit { protocol: protocol.key, limit }),
    }
}

fn name_of(protocol: &Protocol) -> blake3::Hash {
    blake3::hash(protocol.name().as_bytes())
}

/// Binds the session to a protocol and the sizes of the two sets, as [`sender_for`] and [`receiver_for`] do; for
/// parties that run a protocol's parts one by one.
pub fn bind_sizes(protocol: &Protocol, sizes: Sizes, channel: &mut Channel) {
    bind(&name_of(protocol), sizes, channel);
}

/// Binds the session to what is about to run, by its name's hash, and to the sizes of the two sets.
pub(crate) fn bind(name: &blake3::Hash, sizes: Sizes, channel: &mut Channel) {
    let [sender, receiver] = [sizes.sender, sizes.receiver].map(|size| (size as u64).to_le_bytes());
    channel.bind(SIZE, &[&name.as_bytes()[..], &sender, &receiver].concat());
}

/// Tells the peer the size of this party's set and returns the size of the peer's. Refuses a peer that
/// runs another protocol, whose messages might look the same.
fn agree_size(
    protocol: &Protocol,
    mine: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
) -> Result<usize> {
    agree(&name_of(protocol), mine, peer_items, channel)
}

/// Like [`agree_size`], for parties that identify what they are about to run by a hash.
pub(crate) fn agree(
    name: &blake3::Hash,
    mine: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
) -> Result<usize> {
    let (least, most) = (*peer_items.start(), MAX_ITEMS.min(*peer_items.end()));
    channel.phase("sizes");
    let mut hello = [0; HELLO_LEN];
    hello[..8].copy_from_slice(&(mine as u64).to_le_bytes());
    hello[8..].copy_from_slice(&name.as_bytes()[..HELLO_LEN - 8]);
    let mut theirs = [0; HELLO_LEN];
    channel.exchange(SIZE, &hello, &mut theirs)?;
    if mine > MAX_ITEMS {
        return Err(Error::TooManyItems { items: mine as u64, max: MAX_ITEMS as u64 });
    }
    let (size, other_name) = theirs.split_first_chunk().expect("a size and a name");
    if *other_name != hello[8..] {
        return Err(channel.malformed(SIZE, "of another protocol").into());
    }
    let items = u64::from_le_bytes(*size);
    match usize::try_from(items) {
        Ok(size) if size < least => Err(channel.malformed(SIZE, "fewer items than agreed").into()),
        Ok(size) if size <= most => Ok(size),
        _ => Err(Error::TooManyItems { items, max: most as u64 }),
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::transport::memory;
    use vesica_primitives::Block;

    use super::*;
    use crate::{CATALOGUE, Set};

    fn set(range: std::ops::Range<u128>) -> Set {
        Set::long(range.clone().map(Block).collect(), range.map(|i| Block(i << 64)).collect())
    }

    #[test]
    fn a_small_run() {
        for protocol in CATALOGUE {
            let (a, b) = memory::pair();
            let stall = Duration::from_secs(60);
            let [mut a, mut b] = [a, b].map(|t| Channel::new(t).with_stall_timeout(stall));
            thread::scope(|scope| {
                scope.spawn(move || {
                    let items = set(50..300);
                    let mut rng = StdRng::seed_from_u64(1);
                    send(protocol, items.items(), 0..=1000, &mut a, &mut rng).unwrap();
                    // A receiver that is still computing sends keep-alive messages, and must find somebody
                    // there.
                    a.finish().unwrap();
                });
                let items = set(0..100);
                let mut rng = StdRng::seed_from_u64(2);
                let matches = receive(protocol, items.items(), 0..=1000, &mut b, &mut rng).unwrap();
                b.finish().unwrap();
                assert_eq!(matches, (50..100).collect::<Vec<u32>>(), "{}", protocol.key);
            });
        }
    }
}
