//! Step 5 with a look-up: the matches that T's tables have a label for, by label.
//!
//! S's position of each row of an item travels with the item's numbers: a bin has it in two parts, v' + w modulo the
//! number of positions. T's table of the item gives for each position a bit for each label, at most one 1 among them;
//! the parties get shares of the bits at the position ([`lookup`](vesica_circuit::lookup)), all 0 for a bin without an
//! item. A vector triple multiplies the bits of all rows with the match bit. So T's table decides, at a position that
//! it does not see, whether a row counts and for which label, at the same cost for every table. An item counts for a
//! label if one of its rows does.
//!
//! All items have the same number of rows. A position for which no table has a label stands for a row that is missing.

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Values as _, Wire, WireBits,
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

/// The most rows of an item.
pub const MAX_ROWS: usize = 16;

/// Bytes of memory of a triple while it is made: the messages of an OT in each direction.
const TRIPLE: usize = 64;

/// A condition of a match: T's table has a label at S's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// The number of positions: a power of two from 2 to 64.
    pub positions: usize,
    /// The number of labels of each of T's items, from 1 to 8.
    pub labels: usize,
    /// The number of rows of each of S's items, from 1 to 16.
    pub rows: usize,
}

impl Lookup {
    /// A look-up with at least this many positions.
    ///
    /// # Panics
    /// If there are more than the most, or none or too many labels or rows.
    pub fn holding(positions: usize, labels: usize, rows: usize) -> Self {
        let lookup = Self { positions: positions.next_power_of_two().max(2), labels, rows };
        lookup.assert_sound();
        lookup
    }

    /// Checks the bounds.
    ///
    /// # Panics
    /// If one is exceeded.
    pub(super) fn assert_sound(self) {
        let Self { positions, labels, rows } = self;
        let is_power = positions.is_power_of_two() && (2..=MAX_POSITIONS).contains(&positions);
        assert!(is_power, "a power of two from 2 to {MAX_POSITIONS} positions");
        assert!((1..=MAX_BITS).contains(&labels), "1 to {MAX_BITS} labels of an item");
        assert!((1..=MAX_ROWS).contains(&rows), "1 to {MAX_ROWS} rows of an item");
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
            of_items(Owner::Other, |lookup| lookup.rows),
            "a position of each row of S's items"
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

    /// The number of rows of each of S's items.
    pub(super) fn rows_of_item(&self) -> usize {
        self.lookup.map_or(1, |lookup| lookup.rows)
    }

    /// The number of rows of a party's items.
    pub(super) fn rows_of(&self, owner: Owner) -> usize {
        if owner == Owner::Other { self.rows_of_item() } else { 1 }
    }

    /// The circuit of a bin, if there is a look-up.
    fn of_bin(&self) -> Option<OfBin> {
        let counts_items = self.counts() || self.terms.iter().any(|term| term.is_of_item);
        let of_bin = |tables: TableShape| OfBin {
            labels: tables.bits,
            rows: self.rows_of_item(),
            counts_items: counts_items && self.rows_of_item() > 1,
        };
        self.tables().map(of_bin)
    }

    /// The triples of step 5.
    pub(super) fn lookup_demand(&self) -> Demand {
        let bins = self.circuit_psi().bins();
        let demand = |of_bin: OfBin| Demand::of_products(&of_bin.circuit(), bins);
        self.of_bin().map(demand).unwrap_or_default()
    }

    /// The depth of the circuit of a bin; 0 without a look-up.
    pub(super) fn lookup_depth(&self) -> u32 {
        self.of_bin().map_or(0, |of_bin| of_bin.circuit().depth() as u32)
    }

    /// Payload bytes of step 5 without its triples, with S as the sender.
    pub(super) fn lookup_bytes(&self, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
        let (Some(tables), Some(of_bin)) = (self.tables(), self.of_bin()) else {
            return Bytes { to_sender: 0, to_receiver: 0 };
        };
        let (bins, rows) = (self.circuit_psi().bins(), self.rows_of_item());
        let Bytes { to_sender: to_table, to_receiver: to_other } =
            lookup::bytes(bins, tables, of_ots);
        let gates = gmw::bytes(&of_bin.circuit(), bins, true);
        Bytes { to_sender: rows * to_other + gates, to_receiver: rows * to_table + gates }
    }

    /// Bytes of memory of step 5: S's and T's.
    pub(super) fn lookup_memory(&self) -> [usize; 2] {
        let (Some(tables), Some(plan)) = (self.tables(), self.lookup) else { return [0; 2] };
        let (bins, sizes) = (self.circuit_psi().bins(), self.sizes);
        let triples = TRIPLE * self.lookup_demand().triples();
        let both = lookup::memory(tables) + bins * (plan.rows + 2 * size_of::<u64>()) + triples;
        let of_other = sizes.sender * plan.rows * size_of::<u32>();
        let of_table = sizes.receiver * plan.positions + bins * tables.bits * size_of::<u64>();
        [both + of_other, both + of_table]
    }
}

/// The shape of the computation on the match bit of a bin and the bits of its entries.
#[derive(Clone, Copy)]
struct OfBin {
    labels: usize,
    rows: usize,
    /// Whether also the item counts, for each label.
    counts_items: bool,
}

impl OfBin {
    /// The match bit times the bits of each entry, row by row, and then for each label whether there is a row.
    fn circuit(self) -> Circuit {
        let Self { labels, rows, counts_items } = self;
        let mut builder = Builder::new(1 + rows * labels);
        let mut outputs = keep(&mut builder, 0, &wires(1, rows * labels));
        let mut any: Vec<Vec<Wire>> = outputs.chunks(labels).map(<[Wire]>::to_vec).collect();
        while counts_items && any.len() > 1 {
            let pairs = any.chunks(2).map(|pair| match pair {
                [one, other] => either(&mut builder, one, other),
                one => one.concat(),
            });
            any = pairs.collect();
        }
        if counts_items {
            outputs.extend(any.concat());
        }
        builder.finish(outputs)
    }
}

/// Bits that are 1 where one of two bits is.
fn either(builder: &mut Builder, one: &[Wire], other: &[Wire]) -> Vec<Wire> {
    let bits = one.iter().zip(other).map(|(&a, &b)| {
        let (sum, both) = (builder.xor(a, b), builder.and(a, b));
        builder.xor(sum, both)
    });
    bits.collect()
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

/// A party's shares of whether bins count for one label.
pub(super) struct CountedBins {
    /// Whether each row of the items counts.
    pub(super) rows: Vec<Bits>,
    /// Whether the items count, if the plan asks that and they have several rows.
    pub(super) items: Option<Bits>,
}

/// A party's shares of whether bins match, and its triples.
pub(super) struct Matched<'a> {
    pub(super) plan: &'a Plan,
    pub(super) owner: Owner,
    pub(super) matches: &'a WireBits,
    pub(super) triples: &'a mut Triples,
}

impl Matched<'_> {
    /// S's shares of whether bins count, for each label. `positions` are its parts of the positions of each row.
    pub(super) fn by_positions(
        self,
        positions: impl Iterator<Item = Zeroizing<Vec<u8>>>,
        tables: TableShape,
        ot: &mut impl CotReceiver,
        channel: &mut Channel,
    ) -> Result<Vec<CountedBins>> {
        let entries: Result<Vec<_>> = positions
            .map(|positions| Ok(lookup::look_up_hidden(&positions, tables, ot, channel)?))
            .collect();
        self.with(&entries?, channel)
    }

    /// T's shares of whether bins count, for each label. `turns` are its parts of the positions of each row.
    pub(super) fn by_tables(
        self,
        words: &[u64],
        turns: impl Iterator<Item = Zeroizing<Vec<u8>>>,
        tables: TableShape,
        ot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<CountedBins>> {
        let entries: Result<Vec<_>> = turns
            .map(|turns| Ok(lookup::look_up_known(words, &turns, tables, ot, channel, rng)?))
            .collect();
        self.with(&entries?, channel)
    }

    fn with(self, entries: &[WireBits], channel: &mut Channel) -> Result<Vec<CountedBins>> {
        let Self { plan, owner, matches, triples } = self;
        let of_bin = plan.of_bin().expect("a plan with a look-up");
        let mut engine = Gmw::new(owner.role(), std::mem::take(triples), channel);
        let inputs: Vec<_> = std::iter::once(matches).chain(entries).collect();
        let counted = engine.run(&of_bin.circuit(), &WireBits::stack(&inputs))?;
        *triples = engine.into_triples();
        let OfBin { labels, rows, counts_items } = of_bin;
        let bits = |row: usize, label: usize| {
            let wire = row * labels + label;
            counted.rows(wire..wire + 1).to_bits()
        };
        let of_label = |label| CountedBins {
            rows: (0..rows).map(|row| bits(row, label)).collect(),
            items: counts_items.then(|| bits(rows, label)),
        };
        Ok((0..labels).map(of_label).collect())
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
