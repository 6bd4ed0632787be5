//! Intersections by the protocols of the catalogue: agreement on sizes, then a protocol's two phases.

use std::ops::RangeInclusive;

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{
    Error, Functionality, Items, Protocol, Receiver, Result, Sender, Setting, Sizes,
    parts::session::agree,
};

/// An intersection of two sets of agreed sizes by a protocol.
pub type Intersection<'a> = Functionality<Sender, Receiver, (&'a Protocol, Setting)>;

impl Protocol {
    /// The intersection of sets of these sizes, or one of several. The parties take items that are
    /// [cut](Items::cut_for) to the length that the protocol takes.
    ///
    /// # Errors
    /// [`Error::Limit`] if the protocol does not support the sizes. Both parties reach the same result.
    pub fn on(&self, setting: impl Into<Setting>) -> Result<Intersection<'_>> {
        let setting = self.supported(setting.into())?;
        Ok(Functionality {
            name: self.hash(),
            sizes: setting.sizes,
            known: (self, setting),
            sender: |(protocol, setting), channel, rng| protocol.sender(setting, channel, rng),
            receiver: |(protocol, setting), channel, rng| protocol.receiver(setting, channel, rng),
        })
    }

    /// Agrees on the protocol and the sizes with a receiver, for a set of this number of items.
    ///
    /// # Errors
    /// The errors of [`send`] about sizes.
    pub fn with_receiver(
        &self,
        items: usize,
        peer_items: RangeInclusive<usize>,
        channel: &mut Channel,
    ) -> Result<Intersection<'_>> {
        let receiver = agree(&self.hash(), items, peer_items, channel)?;
        self.on(Sizes { sender: items, receiver })
    }

    /// Agrees on the protocol and the sizes with a sender, as [`Protocol::with_receiver`] with a receiver.
    ///
    /// # Errors
    /// The errors of [`send`] about sizes.
    pub fn with_sender(
        &self,
        items: usize,
        peer_items: RangeInclusive<usize>,
        channel: &mut Channel,
    ) -> Result<Intersection<'_>> {
        let sender = agree(&self.hash(), items, peer_items, channel)?;
        self.on(Sizes { sender, receiver: items })
    }

    /// The setting with the protocol's own form of the list, if it supports the sizes.
    pub(crate) fn supported(&self, setting: Setting) -> Result<Setting> {
        match (self.limits)(setting.sizes) {
            Ok(()) => Ok(self.setting(setting)),
            Err(limit) => Err(Error::Limit { protocol: self.key, limit }),
        }
    }

    fn hash(&self) -> blake3::Hash {
        blake3::hash(self.name().as_bytes())
    }
}

/// Runs the sender's side of `protocol` on a set of distinct items. Both parties learn the size of the other's
/// set; the sender learns nothing more. If a size was agreed beforehand, pass it as `peer_items`, because a
/// protocol takes as many inputs from the peer as it announces here.
///
/// # Errors
/// [`Error::TooManyItems`] if this set has more than [`MAX_ITEMS`](crate::MAX_ITEMS) items or the peer's more than
/// `peer_items`; a deviation if the peer's has fewer; [`Error::Limit`] if the protocol does not support the sizes;
/// [`Error::DuplicateItem`], [`Error::ShortDigests`], and any error of the connection or the peer.
pub fn send(
    protocol: &Protocol,
    items: Items<'_>,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    let items = items.cut_for(protocol)?;
    let intersection = protocol.with_receiver(items.len(), peer_items, channel)?;
    intersection.sender(channel, rng)?.run(items, channel, rng)?;
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
    let intersection = protocol.with_sender(items.len(), peer_items, channel)?;
    intersection.receiver(channel, rng)?.run(items, channel, rng)
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
                    // A receiver that is still computing sends keep-alive messages, so the sender must stay connected.
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
