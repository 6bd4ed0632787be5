//! People: T's items belong to people. A person counts once if any of its items matches.
//!
//! After step 3, T sorts the bins by people and the parties join the bits of each person
//! (`vesica_circuit::any`). From then on there are positions in place of bins: at a person's first position is
//! one of its items, with T's numbers and label for the person; other positions have no item. Since a 1 counts at these
//! positions only, T knows it, and not S. S learns neither how many people there are nor how many items they have,
//! since the lengths depend on the number of bins and the most items of a person only.

use rand::CryptoRng;
use vesica_circuit::{
    WireBits,
    any::{self, Groups},
};
use vesica_net::Channel;
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::Bits;

use super::{Input, Owner, Plan, TermKind};
use crate::Result;

/// The maximum number of items of a person.
pub const MAX_ITEMS_OF_PERSON: usize = 32;

/// The bits of matches at T's positions, and T's item at each, if a person's positions begin there.
pub(super) struct JoinedPeople {
    pub(super) matches: WireBits,
    pub(super) items: Vec<Option<u32>>,
}

impl Plan {
    /// Checks that the plan can count people, if it does.
    ///
    /// # Panics
    /// If it cannot: numbers or groups are of S, there is a look-up, or the sets are in partitions, in which a person's
    /// items lie in several.
    pub(super) fn assert_people(&self) {
        if self.people.is_none() {
            return;
        }
        let is_of_table = |kind| matches!(kind, TermKind::One | TermKind::Table);
        let are = self.terms.iter().all(|term| is_of_table(term.kind()));
        assert!(are, "numbers of people are T's");
        assert!(self.other_groups == 1, "people have no groups of S");
        assert!(self.lookup.is_none(), "people are not looked up");
        assert_eq!(self.partitions, 1, "people are in whole sets");
    }

    /// Checks the number of T's people for `n` items. [`Groups::new`] checks the number of items of each.
    pub(super) fn assert_persons(&self, owner: Owner, n: usize, people: &[Option<u32>]) {
        let is_table = self.people.is_some() && owner == Owner::Table;
        assert_eq!(people.len(), if is_table { n } else { 0 }, "a person, or none, of T's items");
    }

    /// For each of a party's rows, 1 if its numbers are added up, and 0 if they belong to an earlier item of the same
    /// person or to nobody. Empty if all are added up.
    pub(super) fn weights(&self, input: Input<'_>) -> Vec<u128> {
        let mut seen = std::collections::BTreeSet::new();
        let is_first = |person: &Option<u32>| person.is_some_and(|person| seen.insert(person));
        input.people.iter().map(is_first).map(u128::from).collect()
    }

    /// Payload bytes of joining, with S as the sender.
    pub(super) fn people_bytes(
        &self,
        of_random_ots: impl Fn(usize) -> Bytes,
        of_ots: impl Fn(usize) -> Bytes,
    ) -> Bytes {
        match self.people {
            Some(most) => any::bytes(self.circuit_psi().bins(), most, of_random_ots, of_ots),
            None => Bytes { to_sender: 0, to_receiver: 0 },
        }
    }

    /// Bytes of memory of joining.
    pub(super) fn people_memory(&self) -> usize {
        self.people.map_or(0, |most| any::memory(self.circuit_psi().bins(), most))
    }

    /// Flights of joining.
    pub(super) fn people_rounds(&self) -> u32 {
        self.people.map_or(0, any::rounds)
    }

    /// S's shares at T's positions; without people, its shares of the bins.
    pub(super) fn join_hidden(
        &self,
        matches: WireBits,
        ot: Option<&mut impl CotSender>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<WireBits> {
        let (Some(most), Some(ot)) = (self.people, ot) else { return Ok(matches) };
        channel.phase("people");
        Ok(wire(&any::any_hidden(&matches.to_bits(), most, ot, channel, rng)?))
    }

    /// T's shares at its positions; without people, its shares of the bins. `items` has the item of each bin.
    pub(super) fn join_known(
        &self,
        matches: WireBits,
        items: Vec<Option<u32>>,
        people: &[Option<u32>],
        ot: Option<&mut impl CotReceiver>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<JoinedPeople> {
        let (Some(most), Some(ot)) = (self.people, ot) else {
            return Ok(JoinedPeople { matches, items });
        };
        channel.phase("people");
        let person = |item: &Option<u32>| item.and_then(|item| people[item as usize]);
        let groups = Groups::new(&items.iter().map(person).collect::<Vec<_>>(), most);
        let joined = any::any_known(&matches.to_bits(), &groups, ot, channel, rng)?;
        let items = groups.firsts().map(|bin| bin.and_then(|bin| items[bin as usize])).collect();
        Ok(JoinedPeople { matches: wire(&joined), items })
    }
}

/// The bits on one wire.
fn wire(bits: &Bits) -> WireBits {
    let words: &[u64] = bytemuck::cast_slice(bits.blocks());
    WireBits::from_words(1, bits.len(), words[..bits.len().div_ceil(64)].to_vec())
}
