//! People after step 3: T's items belong to people, and the bits of each person are joined (`vesica_circuit::any`).
//!
//! From then on there are positions in place of bins: at a person's first position is one of its items, other positions
//! have no item. S learns neither how many people there are nor how many items they have, since the lengths depend on
//! the number of bins and the most items of a person only.

use rand::CryptoRng;
use vesica_circuit::{
    WireBits,
    any::{self, Groups},
};
use vesica_net::Channel;
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::Bits;

use super::ots;
use crate::Result;

/// The parameters of joining.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joining {
    /// The number of bins.
    pub(crate) bins: usize,
    /// The maximum number of items of a person.
    pub(crate) most: usize,
    /// Whether positions at which no person begins get 0, so that bits may be opened or kept. Otherwise they have bits
    /// of the rest of a person's items, which say how many of them match.
    pub(crate) clears: bool,
}

/// The bits of matches at T's positions, and T's item at each, if a person's positions begin there.
pub(crate) struct Joined {
    pub(crate) matches: WireBits,
    pub(crate) items: Vec<Option<u32>>,
}

impl Joining {
    /// Payload bytes, with S as the sender.
    pub(crate) fn bytes(self) -> Bytes {
        let Self { bins, most, clears } = self;
        let joined = any::bytes(bins, most, ots::bytes_of_random, ots::bytes);
        if clears { joined + any::bytes_of_firsts(bins, ots::bytes) } else { joined }
    }

    /// Bytes of memory.
    pub(crate) fn memory(self) -> usize {
        let joined = any::memory(self.bins, self.most);
        if self.clears { joined.max(any::memory_of_firsts(self.bins)) } else { joined }
    }

    /// Flights.
    pub(crate) fn rounds(self) -> u32 {
        any::rounds(self.most) + if self.clears { any::ROUNDS_OF_FIRSTS } else { 0 }
    }

    /// S's shares at T's positions.
    pub(crate) fn hidden(
        self,
        matches: &WireBits,
        ot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<WireBits> {
        channel.phase("people");
        let mut joined = any::any_hidden(&matches.to_bits(), self.most, ot, channel, rng)?;
        if self.clears {
            joined = any::firsts_hidden(&joined, ot, channel, rng)?;
        }
        Ok(wire(&joined))
    }

    /// T's shares at its positions. `items` has the item of each bin, `people` the person of each item.
    pub(crate) fn known(
        self,
        matches: &WireBits,
        items: &[Option<u32>],
        people: &[Option<u32>],
        ot: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Joined> {
        channel.phase("people");
        let person = |item: &Option<u32>| item.and_then(|item| people[item as usize]);
        let groups = Groups::new(&items.iter().map(person).collect::<Vec<_>>(), self.most);
        let mut joined = any::any_known(&matches.to_bits(), &groups, ot, channel, rng)?;
        if self.clears {
            joined = any::firsts_known(&joined, &groups, ot, channel)?;
        }
        let items = groups.firsts().map(|bin| bin.and_then(|bin| items[bin as usize])).collect();
        Ok(Joined { matches: wire(&joined), items })
    }
}

/// The bits on one wire.
fn wire(bits: &Bits) -> WireBits {
    let words: &[u64] = bytemuck::cast_slice(bits.blocks());
    WireBits::from_words(1, bits.len(), words[..bits.len().div_ceil(64)].to_vec())
}
