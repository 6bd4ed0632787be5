//! Step 5 with a look-up: the matches that T's tables have a label for, by label.
//!
//! S's position of an item travels with the item's numbers: a bin has it in two parts, v' + w modulo the number of
//! positions. T's table of the item gives for each position a bit for each label, at most one 1 among them; the
//! parties get shares of the bits at the position ([`lookup`](vesica_circuit::lookup)), all 0 for a bin without an
//! item. A vector triple multiplies them with the match bit. So T's table decides, at a position that it does not see,
//! whether a match counts and for which label, at the same cost for every table.

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Values as _, WireBits,
    gadgets::{select::keep, wires},
    gmw::{self, Gmw},
    lookup::{self, MAX_BITS, MAX_POSITIONS, TableShape},
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::{Bits, declassify};
use zeroize::Zeroizing;

use super::{Owner, Plan};
use crate::Result;

/// A condition of a match: T's table has a label at S's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The number of positions: a power of two from 2 to 64.
    pub positions: usize,
    /// The number of labels of each of T's items, from 1 to 8.
    pub labels: usize,
}

impl Lookup {
    /// A look-up with at least this many positions.
    ///
    /// # Panics
    /// If there are more than the most, or none or too many labels.
    pub fn holding(positions: usize, labels: usize) -> Self {
        let lookup = Self { positions: positions.next_power_of_two().max(2), labels };
        lookup.assert_sound();
        lookup
    }

    /// Checks the bounds.
    ///
    /// # Panics
    /// If one is exceeded.
    pub(super) fn assert_sound(self) {
        let Self { positions, labels } = self;
        let is_power = positions.is_power_of_two() && (2..=MAX_POSITIONS).contains(&positions);
        assert!(is_power, "a power of two from 2 to {MAX_POSITIONS} positions");
        assert!((1..=MAX_BITS).contains(&labels), "1 to {MAX_BITS} labels of an item");
    }
}

impl Plan {
    /// The tables of a look-up, if there is one. Without groups, an entry says only whether there is a label.
    pub(super) fn tables(&self) -> Option<TableShape> {
        let labels = |lookup: Lookup| if self.groups > 1 { lookup.labels } else { 1 };
        let shape =
            |lookup: Lookup| TableShape { positions: lookup.positions, bits: labels(lookup) };
        self.lookup.map(shape)
    }

    /// Checks the numbers of S's positions and of T's choices for `n` items, and that they are in range.
    pub(super) fn assert_positions(
        &self,
        owner: Owner,
        n: usize,
        positions: &[u32],
        choices: &[u8],
    ) {
        let of_items = |is: Owner, of_item: fn(Lookup) -> usize| match self.lookup {
            Some(lookup) if is == owner => n * of_item(lookup),
            _ => 0,
        };
        assert_eq!(
            positions.len(),
            of_items(Owner::Other, |_| 1),
            "a position of each of S's items"
        );
        let entries = of_items(Owner::Table, |lookup| lookup.positions);
        assert_eq!(choices.len(), entries, "a choice for each of T's items and each position");
        let Some(lookup) = self.lookup else { return };
        let outside = |some, number: usize, bound: usize| some | (number >= bound);
        let of_positions = positions.iter().map(|position| *position as usize);
        let far = of_positions.fold(false, |some, x| outside(some, x, lookup.positions));
        assert!(declassify(u8::from(far)) == 0, "positions are below their number");
        let of_choices = choices.iter().map(|choice| usize::from(*choice));
        let many = of_choices.fold(false, |some, x| outside(some, x, lookup.labels + 1));
        assert!(declassify(u8::from(many)) == 0, "choices are of an item's labels");
    }

    /// The number of labels by which a match may count.
    pub(super) fn labels_of_match(&self) -> usize {
        self.tables().map_or(1, |tables| tables.bits)
    }

    /// The triples of step 5.
    pub(super) fn lookup_demand(&self) -> Demand {
        let demand = |tables: TableShape| {
            Demand::of_products(&of_bin(tables.bits), self.circuit_psi().bins())
        };
        self.tables().map(demand).unwrap_or_default()
    }

    /// Payload bytes of step 5 without its triples, with S as the sender.
    pub(super) fn lookup_bytes(&self, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
        let Some(tables) = self.tables() else { return Bytes { to_sender: 0, to_receiver: 0 } };
        let bins = self.circuit_psi().bins();
        let Bytes { to_sender: to_table, to_receiver: to_other } =
            lookup::bytes(bins, tables, of_ots);
        let gates = gmw::bytes(&of_bin(tables.bits), bins, true);
        Bytes { to_sender: to_other + gates, to_receiver: to_table + gates }
    }

    /// Bytes of memory of step 5: S's and T's.
    pub(super) fn lookup_memory(&self) -> [usize; 2] {
        let (Some(tables), Some(plan)) = (self.tables(), self.lookup) else { return [0; 2] };
        let (bins, sizes) = (self.circuit_psi().bins(), self.sizes);
        let both = lookup::memory(tables) + bins * (1 + 2 * size_of::<u64>());
        let of_other = sizes.sender * size_of::<u32>();
        let of_table = sizes.receiver * plan.positions + bins * tables.bits * size_of::<u64>();
        [both + of_other, both + of_table]
    }
}

/// The circuit of a bin: the match bit times the bits of an entry.
fn of_bin(bits: usize) -> Circuit {
    let mut builder = Builder::new(1 + bits);
    let kept = keep(&mut builder, 0, &wires(1, bits));
    builder.finish(kept)
}

/// Each byte's lowest bit.
const LOWEST: u64 = 0x0101_0101_0101_0101;

/// A word whose bit x says whether the table has this number at position x. Both are below 128.
fn places(choices: &[u8], number: u8) -> u64 {
    let mut places = 0;
    for (first, eight) in (0..).step_by(8).zip(choices.chunks(8)) {
        let mut bytes = [0; 8];
        bytes[..eight.len()].copy_from_slice(eight);
        let changes = u64::from_le_bytes(bytes) ^ (u64::from(number) * LOWEST);
        // The highest bit of a byte becomes 1 unless the byte is 0.
        let same = !((changes + 0x7f * LOWEST) >> 7) & LOWEST;
        // The lowest bits of all bytes, side by side in the highest byte.
        places |= (same.wrapping_mul(0x0102_0408_1020_4080) >> 56) << first;
    }
    places
}

impl Plan {
    /// The words of T's tables, bin by bin: `choices` has the choices of all positions for the item of each bin, if it
    /// has one.
    pub(super) fn table_words<'a>(
        &self,
        choices: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
        tables: TableShape,
    ) -> Zeroizing<Vec<u64>> {
        let mut words = Zeroizing::new(Vec::with_capacity(choices.len() * tables.bits));
        let all = u64::MAX >> (64 - tables.positions);
        for choices in choices {
            let word = |choices, label| match self.groups {
                1 => !places(choices, 0) & all,
                _ => places(choices, label + 1) & all,
            };
            let labels = 0..tables.bits as u8;
            words.extend(labels.map(|label| choices.map_or(0, |choices| word(choices, label))));
        }
        words
    }
}

/// A party's shares of whether bins match, and its triples.
pub(super) struct Matched<'a> {
    pub(super) owner: Owner,
    pub(super) matches: &'a WireBits,
    pub(super) triples: &'a mut Triples,
}

impl Matched<'_> {
    /// S's shares of whether bins count, for each label. `positions` are its parts of the positions.
    pub(super) fn by_positions(
        self,
        positions: &[u8],
        tables: TableShape,
        ot: &mut impl CotReceiver,
        channel: &mut Channel,
    ) -> Result<Vec<Bits>> {
        let entries = lookup::look_up_hidden(positions, tables, ot, channel)?;
        self.with(&entries, channel)
    }

    /// T's shares of whether bins count, for each label. `turns` are its parts of the positions.
    pub(super) fn by_tables(
        self,
        words: &[u64],
        turns: &[u8],
        tables: TableShape,
        ot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Bits>> {
        let entries = lookup::look_up_known(words, turns, tables, ot, channel, rng)?;
        self.with(&entries, channel)
    }

    fn with(self, entries: &WireBits, channel: &mut Channel) -> Result<Vec<Bits>> {
        let Self { owner, matches, triples } = self;
        let mut engine = Gmw::new(owner.role(), std::mem::take(triples), channel);
        let inputs = WireBits::stack(&[matches, entries]);
        let counted = engine.run(&of_bin(entries.wires()), &inputs)?;
        *triples = engine.into_triples();
        Ok((0..counted.wires()).map(|label| counted.rows(label..label + 1).to_bits()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_number() {
        for positions in [2, 4, 8, 16, 32, 64] {
            for seed in 0..50 {
                let choices: Vec<u8> =
                    (0..positions).map(|x| (x * 7 + seed * x / 3) as u8 % 9).collect();
                for number in 1..=8 {
                    let found = places(&choices, number);
                    let expected = |x: usize| x < positions && choices[x] == number;
                    assert!((0..64).all(|x| (found >> x & 1 == 1) == expected(x)), "{choices:?}");
                }
            }
            let all = |number: u8| places(&vec![number; positions], number);
            assert!((1..=8).all(|number| all(number) == u64::MAX >> (64 - positions)));
        }
    }
}
