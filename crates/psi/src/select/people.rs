//! People: T's items belong to people. A person counts once if any of its items matches.
//!
//! After step 3, the parties join the bits of each person (`circuit_psi::people`). From then on there are positions in
//! place of bins: at a person's first position is one of its items, with T's numbers and label for the person; other
//! positions have no item. Since a 1 counts at these positions only, T knows it, and not S.

use rand::CryptoRng;
use vesica_circuit::WireBits;
use vesica_net::Channel;

use super::{Input, Owner, Plan, TermKind};
use crate::{
    Result,
    circuit_psi::{
        ots::{OtReceiver, OtSender},
        people::{Joined, Joining},
    },
};

/// The maximum number of items of a person.
pub const MAX_ITEMS_OF_PERSON: usize = 32;

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

    /// The joining of T's people, if items belong to people. Other positions than a person's first do not count.
    pub(super) fn joining(&self) -> Option<Joining> {
        let bins = self.circuit_psi().bins();
        self.people.map(|most| Joining { bins, most, clears: false })
    }

    /// S's shares at T's positions; without people, its shares of the bins.
    pub(super) fn join_hidden(
        &self,
        matches: WireBits,
        ot: Option<&mut OtSender>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<WireBits> {
        let (Some(joining), Some(ot)) = (self.joining(), ot) else { return Ok(matches) };
        joining.hidden(&matches, ot, channel, rng)
    }

    /// T's shares at its positions; without people, its shares of the bins. `items` has the item of each bin.
    pub(super) fn join_known(
        &self,
        matches: WireBits,
        items: Vec<Option<u32>>,
        people: &[Option<u32>],
        ot: Option<&mut OtReceiver>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Joined> {
        match (self.joining(), ot) {
            (Some(joining), Some(ot)) => joining.known(&matches, &items, people, ot, channel, rng),
            _ => Ok(Joined { matches, items }),
        }
    }
}
