//! Steps 1 to 7: a party's shares of the cells.

use std::ops::Range;

use rand::CryptoRng;
use vesica_circuit::{
    NumberField, RowLayout, arithmetic, scatter,
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_primitives::{Bits, Block};
use zeroize::Zeroizing;

use super::{
    Carried, CellShares, Input, OpenedCells, Owner, Plan, Sharer, Term, TermKind, cells,
    lookup::{CountedBins, Matched},
};
use crate::{
    Items, Result,
    circuit_psi::{
        ReceiverBins, Receiving, SenderBins, Sending,
        ots::{self, OtReceiver, OtSender},
        people::Joined,
        rs21::Silent,
    },
};

/// Products of a bit of T's factors and a number that one call makes at a time, if it may be split.
const MULTIPLIED_AT_ONCE: usize = 1 << 18;

/// The OTs of steps 4 to 7.
pub(super) struct OtUse {
    /// Whether S sends some: for products with what it knows, for factors, and for groups.
    pub(super) from_other: bool,
    /// Whether T sends some: for products with what it knows, and for a look-up.
    pub(super) from_table: bool,
}

impl Plan {
    pub(super) fn ot_use(&self) -> OtUse {
        if self.people.is_some() {
            return OtUse { from_other: true, from_table: true };
        }
        let is = |kind: fn(TermKind) -> bool| self.terms.iter().any(|term| kind(term.kind()));
        OtUse {
            from_other: self.counts() || self.groups > 1 || is(|kind| kind != TermKind::Table),
            from_table: is(|kind| kind != TermKind::One) || self.lookup.is_some(),
        }
    }

    /// The numbers of a cell that each bit of a bin is multiplied with: all, or if items have several rows the numbers
    /// of an item first, and then the numbers of each row.
    pub(super) fn scalings(&self) -> Vec<Scaling> {
        let of_row = |row| Scaling { row, of_item: false, of_row: true };
        let of_item = Scaling { row: 0, of_item: true, of_row: false };
        match self.rows_of_item() {
            1 => vec![Scaling { of_item: true, ..of_row(0) }],
            rows => std::iter::once(of_item).chain((0..rows).map(of_row)).collect(),
        }
    }

    /// The numbers that S knows in a bin: the 1 that is counted, unless people are, and the masks of its payload.
    pub(super) fn known_to_other(&self, scaling: Scaling) -> KnownNumbers {
        let is_known = |term: Option<usize>| {
            self.people.is_none()
                && term.is_none_or(|term| self.terms[term].kind() != TermKind::Table)
        };
        self.known(scaling, is_known)
    }

    /// The numbers that T knows in a bin: one for each term that is not 1, or all if people are counted.
    pub(super) fn known_to_table(&self, scaling: Scaling) -> KnownNumbers {
        let is_known = |term: Option<usize>| {
            self.people.is_some()
                || term.is_some_and(|term| self.terms[term].kind() != TermKind::One)
        };
        self.known(scaling, is_known)
    }

    fn known(&self, scaling: Scaling, is_known: impl Fn(Option<usize>) -> bool) -> KnownNumbers {
        let Scaling { of_item, of_row, .. } = scaling;
        let (_, of_cell) = self.layout();
        let count = self.counts().then_some(None);
        let terms = count.into_iter().chain((0..self.terms.len()).map(Some));
        let is_scaled = |term: Option<usize>| {
            let is_of_item = term.is_none_or(|term| self.terms[term].is_of_item);
            if is_of_item { of_item } else { of_row }
        };
        let numbers = terms.zip(of_cell);
        let numbers = numbers.filter(|(term, _)| is_scaled(*term) && is_known(*term));
        let (terms, of_cell): (Vec<_>, Vec<_>) = numbers.unzip();
        let widths: Vec<_> = of_cell.iter().map(|field| field.width()).collect();
        let (layout, fields) = RowLayout::new(&widths);
        KnownNumbers { layout, fields: fields.into_iter().zip(of_cell).collect(), terms }
    }

    /// The bits of T's factors that are multiplied in one call: enough for the call to be efficient, and few enough to
    /// be held.
    pub(super) fn bits_at_once(&self, bins: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let bits = self.factor_bits as usize;
        let step = (MULTIPLIED_AT_ONCE / bins.max(1)).clamp(1, bits);
        (0..bits).step_by(step).map(move |start| start..(start + step).min(bits))
    }

    /// The numbers that travel with items and are multiplied with a number of T's.
    pub(super) fn mixed(&self) -> impl Iterator<Item = &Term> {
        let terms = self.carried().into_iter().map(|one| &self.terms[one.term]);
        terms.filter(|term| term.kind() == TermKind::Mixed)
    }

    /// For each row of an item, the place in a payload of each term's number; it means nothing for a term without a
    /// number of S's there.
    fn payload_places(&self) -> Vec<Vec<usize>> {
        let carried = self.carried();
        let place = |term: usize, row: usize| {
            carried.iter().position(|one| *one == Carried { term, row }).unwrap_or_default()
        };
        let of_row = |row| (0..self.terms.len()).map(|term| place(term, row)).collect();
        (0..self.rows_of_item()).map(of_row).collect()
    }

    /// A party's parts of the positions of each row, from its parts of the values of all bins.
    fn positions<'v>(
        &self,
        values: &'v [u8],
        numbers: usize,
    ) -> impl Iterator<Item = Zeroizing<Vec<u8>>> + use<'v> {
        let len = self.masking().len();
        (0..self.rows_of_item()).map(move |row| {
            let of_bins = values.chunks_exact(len).map(|values| values[numbers + row]);
            Zeroizing::new(of_bins.collect())
        })
    }

    /// The weight of a bit of a factor in two's complement: 2^bit, and −2^bit for the last one.
    fn weight(&self, bit: usize) -> u128 {
        let weight = 1_u128 << bit;
        if bit + 1 == self.factor_bits as usize { weight.wrapping_neg() } else { weight }
    }

    /// The triples of steps 1 to 7, and of step 8 if it follows at once.
    pub(super) fn demand(&self, opens: bool) -> Demand {
        let last = if opens { cells::demand(self) } else { Demand::default() };
        self.circuit_psi().demand::<Silent>() + self.lookup_demand() + last
    }
}

/// A party's OT sessions.
struct Ots {
    sender: Option<OtSender>,
    receiver: Option<OtReceiver>,
}

impl Ots {
    /// Sets up the sessions: S's as the sender first, then T's.
    fn setup(
        plan: &Plan,
        me: Owner,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        channel.phase("ot");
        let OtUse { from_other, from_table } = plan.ot_use();
        let mut ots = Self { sender: None, receiver: None };
        for (who, needed) in [(Owner::Other, from_other), (Owner::Table, from_table)] {
            if needed && who == me {
                ots.sender = Some(ots::sender(channel, rng)?);
            } else if needed {
                ots.receiver = Some(ots::receiver(channel, rng)?);
            }
        }
        Ok(ots)
    }

    fn sender(&mut self) -> &mut OtSender {
        self.sender.as_mut().expect("set up where this party sends")
    }

    fn receiver(&mut self) -> &mut OtReceiver {
        self.receiver.as_mut().expect("set up where the other party sends")
    }
}

/// A party that is ready for its input. `OPENS` says whether step 8 follows at once.
pub(super) struct CellSharing<P, const OPENS: bool> {
    plan: Plan,
    party: P,
    ots: Ots,
}

impl<const OPENS: bool> CellSharing<Sending<Silent>, OPENS> {
    pub(super) fn sender(
        plan: Plan,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = Sending::prepare(plan.circuit_psi(), &plan.demand(OPENS), channel, rng)?;
        let ots = Ots::setup(&plan, Owner::Other, channel, rng)?;
        Ok(Self { plan, party, ots })
    }
}

impl<const OPENS: bool> CellSharing<Receiving<Silent>, OPENS> {
    pub(super) fn receiver(
        plan: Plan,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = Receiving::prepare(plan.circuit_psi(), &plan.demand(OPENS), channel, rng)?;
        let ots = Ots::setup(&plan, Owner::Table, channel, rng)?;
        Ok(Self { plan, party, ots })
    }
}

/// Prepares a party that computes its share of the cells of one partition, without labels of S.
pub(super) fn prepare(
    plan: Plan,
    me: Owner,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<Sharer>> {
    Ok(match me {
        Owner::Other => Box::new(CellSharing::<_, false>::sender(plan, channel, rng)?),
        Owner::Table => Box::new(CellSharing::<_, false>::receiver(plan, channel, rng)?),
    })
}

/// A party of either kind.
trait Shares {
    const ME: Owner;

    /// Steps 1 to 7.
    fn share(
        self,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Plan, CellShares, Triples)>;
}

impl<P: Send, const OPENS: bool> crate::Party<Input<'_>, Option<OpenedCells>>
    for CellSharing<P, OPENS>
where
    Self: Shares,
{
    fn run(
        self: Box<Self>,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<OpenedCells>> {
        let (plan, share, triples) = self.share(input, channel, rng)?;
        cells::open(&plan, Self::ME, &share, input.texts, triples, channel, rng)
    }
}

impl<P: Send, const OPENS: bool> crate::Party<Input<'_>, CellShares> for CellSharing<P, OPENS>
where
    Self: Shares,
{
    fn run(
        self: Box<Self>,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<CellShares> {
        let (_, share, _) = self.share(input, channel, rng)?;
        Ok(channel.flush().map(|()| share)?)
    }
}

/// Checks the input. A partition says nothing about sums over all of them.
fn check<const OPENS: bool>(plan: &Plan, me: Owner, input: Input<'_>) -> Result<()> {
    if OPENS {
        return plan.check(me, input);
    }
    plan.assert_shapes(me, input);
    Ok(())
}

/// The items that count; a random block stands in for each of the others, which matches nothing.
fn counted(input: Input<'_>, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<Block>> {
    let mut items = Zeroizing::new(input.items.low_halves().to_vec());
    for (item, counted) in items.iter_mut().zip(input.counted.into_iter().flatten()) {
        let other = Block::random(rng);
        *item = *item ^ (*item ^ other) & Block::mask(u8::from(!counted));
    }
    items
}

/// The numbers of a cell that one bit of a bin is multiplied with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaling {
    /// The row from which S's values are, and to which the bit belongs if no number is of the item.
    row: usize,
    /// Whether an item's numbers are among them.
    of_item: bool,
    /// Whether a row's numbers are.
    of_row: bool,
}

impl Scaling {
    /// The bits of all bins.
    fn bits(self, counted: &CountedBins) -> Option<&Bits> {
        let row = &counted.rows[self.row];
        if self.of_row { Some(row) } else { counted.items.as_ref() }
    }
}

/// Numbers of a bin that one party knows, with their places in a row of their own and in a cell's.
pub(super) struct KnownNumbers {
    pub(super) layout: RowLayout,
    fields: Vec<(NumberField, NumberField)>,
    /// The term of each number; `None` for the count.
    terms: Vec<Option<usize>>,
}

impl KnownNumbers {
    /// Rows with the numbers that `number` gives for each bin and term, or for the count.
    fn rows(
        &self,
        bins: usize,
        number: impl Fn(usize, Option<usize>) -> u128,
    ) -> Zeroizing<Vec<u8>> {
        let mut rows = Zeroizing::new(vec![0; bins * self.layout.len()]);
        for (bin, row) in rows.chunks_exact_mut(self.layout.len().max(1)).enumerate() {
            for ((field, _), term) in self.fields.iter().zip(&self.terms) {
                field.set(row, number(bin, *term));
            }
        }
        rows
    }

    /// Adds shares of the part's rows to rows of cells.
    fn add_to(&self, cells: &mut [u8], of_cell: RowLayout, rows: &[u8]) {
        let rows = rows.chunks_exact(self.layout.len());
        for (cell, row) in cells.chunks_exact_mut(of_cell.len()).zip(rows) {
            for (field, of_cell) in &self.fields {
                of_cell.set(cell, of_cell.get(cell).wrapping_add(field.get(row)));
            }
        }
    }
}

/// Shares of the products of T's factors and S's masks in each bin, for each number of S that travels with items and
/// is multiplied, and nothing for the others.
struct Products(Vec<Zeroizing<Vec<u128>>>);

impl Products {
    /// Adds up the shares that `multiply` returns for each number, by its place, and some bits of T's factors: a row of
    /// one number for each bit and bin.
    fn new(
        plan: &Plan,
        bins: usize,
        mut multiply: impl FnMut(usize, Range<usize>, RowLayout) -> Result<Zeroizing<Vec<u8>>>,
    ) -> Result<Self> {
        let carried = plan.carried();
        let mut products = Vec::with_capacity(carried.len());
        for (place, one) in carried.iter().enumerate() {
            let term = &plan.terms[one.term];
            let is_mixed = term.kind() == TermKind::Mixed;
            let mut sums = Zeroizing::new(vec![0_u128; if is_mixed { bins } else { 0 }]);
            let (one, field) = RowLayout::new(&[term.width]);
            for range in plan.bits_at_once(bins).filter(|_| is_mixed) {
                let shares = multiply(place, range, one)?;
                for (row, sum) in shares.chunks_exact(one.len()).zip((0..bins).cycle()) {
                    sums[sum] = sums[sum].wrapping_add(field[0].get(row));
                }
            }
            products.push(sums);
        }
        Ok(Self(products))
    }
}

impl<const OPENS: bool> Shares for CellSharing<Sending<Silent>, OPENS> {
    const ME: Owner = Owner::Other;

    fn share(
        self,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Plan, CellShares, Triples)> {
        let Self { plan, party, mut ots } = self;
        check::<OPENS>(&plan, Self::ME, input)?;
        let items = counted(input, rng);
        let (payload, fields) = plan.payload();
        let (len, carried, rows_of_item) =
            (plan.masking().len(), plan.carried(), plan.rows_of_item());
        let mut values = Zeroizing::new(vec![0; items.len() * len]);
        for (item, row) in values.chunks_exact_mut(len.max(1)).enumerate() {
            let first = item * rows_of_item;
            for (field, Carried { term, row: at }) in fields.iter().zip(&carried) {
                let value = plan.terms[*term].value(Self::ME, input.columns, first + at);
                field.set(row, value as u128);
            }
            let positions = input.positions.get(first..first + rows_of_item).unwrap_or_default();
            let bytes = row[payload.len()..].iter_mut();
            bytes.zip(positions).for_each(|(byte, position)| *byte = *position as u8);
        }
        let SenderBins { matches, masks, mut triples } =
            party.bins(Items::from(&items[..]), &values, channel, rng)?;
        let matches = plan.join_hidden(matches, ots.sender.as_mut(), channel, rng)?;
        channel.phase("sums");
        let bins = matches.instances();
        let mask = |bin: usize, i: usize| fields[i].get(&masks[bin * len..]);
        let places = plan.payload_places();
        // 4.
        let products = Products::new(&plan, bins, |place, range, one| {
            let (_, field) = RowLayout::new(&[fields[place].width()]);
            let zeros = Bits::zeros(range.len() * bins);
            let mut rows = Zeroizing::new(vec![0; zeros.len() * one.len()]);
            let numbers = range.flat_map(|bit| (0..bins).map(move |bin| (bit, bin)));
            for ((bit, bin), row) in numbers.zip(rows.chunks_exact_mut(one.len())) {
                field[0].set(row, mask(bin, place).wrapping_mul(plan.weight(bit)));
            }
            Ok(arithmetic::scale_known(&zeros, &rows, one, ots.sender(), channel, rng)?)
        })?;
        // 5.
        let counted = match plan.tables() {
            None => vec![CountedBins { rows: vec![matches.to_bits()], items: None }],
            Some(tables) => {
                channel.phase("look-up");
                let positions = plan.positions(&masks, payload.len());
                let matched = Matched {
                    plan: &plan,
                    owner: Self::ME,
                    matches: &matches,
                    triples: &mut triples,
                };
                matched.by_positions(positions, tables, ots.receiver(), channel)?
            }
        };
        let (layout, _) = plan.layout();
        let known = |scaling: Scaling, bin: usize, term: Option<usize>| {
            let Some(term) = term else { return 1 };
            let place = places[scaling.row][term];
            match plan.terms[term].kind() {
                TermKind::Mixed => products.0[place][bin],
                TermKind::One => 1,
                _ => mask(bin, place),
            }
        };
        let mut cells = Zeroizing::new(vec![0; plan.groups * layout.len()]);
        for counted in &counted {
            // 6.
            channel.phase("sums");
            let mut rows = Zeroizing::new(vec![0; bins * layout.len()]);
            for scaling in plan.scalings() {
                let Some(bits) = scaling.bits(counted) else { continue };
                let (mine, theirs) = (plan.known_to_other(scaling), plan.known_to_table(scaling));
                if !mine.layout.is_empty() {
                    let known = mine.rows(bins, |bin, term| known(scaling, bin, term));
                    let (of_part, ot) = (mine.layout, ots.sender());
                    let shares = arithmetic::scale_known(bits, &known, of_part, ot, channel, rng)?;
                    mine.add_to(&mut rows, layout, &shares);
                }
                if !theirs.layout.is_empty() {
                    let ot = ots.receiver();
                    let shares = arithmetic::scale_hidden(bits, theirs.layout, ot, channel)?;
                    theirs.add_to(&mut rows, layout, &shares);
                }
            }
            // 7.
            let shares = match plan.groups {
                1 => Zeroizing::new(layout.sum(&rows)),
                groups => {
                    channel.phase("groups");
                    scatter::scatter_hidden(&rows, layout, groups, ots.sender(), channel, rng)?
                }
            };
            layout.add_all(&mut cells, &shares);
        }
        Ok((plan, CellShares { cells: std::mem::take(&mut cells) }, triples))
    }
}

impl<const OPENS: bool> Shares for CellSharing<Receiving<Silent>, OPENS> {
    const ME: Owner = Owner::Table;

    fn share(
        self,
        input: Input<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Plan, CellShares, Triples)> {
        let Self { plan, party, mut ots } = self;
        check::<OPENS>(&plan, Self::ME, input)?;
        let placed = counted(input, rng);
        let ReceiverBins { matches, values, items, mut triples } =
            party.bins(Items::from(&placed[..]), channel, rng)?;
        let ot = ots.receiver.as_mut();
        let Joined { matches, items } =
            plan.join_known(matches, items, input.people, ot, channel, rng)?;
        channel.phase("sums");
        let bins = matches.instances();
        let (payload, fields) = plan.payload();
        let len = plan.masking().len();
        let theirs = |bin: usize, i: usize| fields[i].get(&values[bin * len..]);
        let own = |term: &Term, bin: usize| -> i128 {
            items[bin].map_or(0, |item| term.value(Self::ME, input.columns, item as usize))
        };
        let (carried, places) = (plan.carried(), plan.payload_places());
        // 4.
        let products = Products::new(&plan, bins, |place, range, one| {
            let term = &plan.terms[carried[place].term];
            let mut choices = Bits::zeros(range.len() * bins);
            let numbers = range.flat_map(|bit| (0..bins).map(move |bin| (bit, bin)));
            for (i, (bit, bin)) in numbers.enumerate() {
                choices.set(i, (own(term, bin) >> bit & 1) as u8);
            }
            Ok(arithmetic::scale_hidden(&choices, one, ots.receiver(), channel)?)
        })?;
        // 5.
        let counted = match plan.tables() {
            None => vec![CountedBins { rows: vec![matches.to_bits()], items: None }],
            Some(tables) => {
                channel.phase("look-up");
                let of_item = |item: usize| &input.choices[item * tables.positions..];
                let choices = items
                    .iter()
                    .map(|item| item.map(|item| &of_item(item as usize)[..tables.positions]));
                let words = plan.table_words(choices, tables);
                let turns = plan.positions(&values, payload.len());
                let matched = Matched {
                    plan: &plan,
                    owner: Self::ME,
                    matches: &matches,
                    triples: &mut triples,
                };
                matched.by_tables(&words, turns, tables, ots.sender(), channel, rng)?
            }
        };
        let (layout, _) = plan.layout();
        let known = |scaling: Scaling, bin: usize, term: Option<usize>| {
            // T counts people only, once for each.
            let one = u128::from(items[bin].is_some());
            let Some(i) = term else { return one };
            let (term, place) = (&plan.terms[i], places[scaling.row][i]);
            match term.kind() {
                TermKind::One => one,
                TermKind::Table => own(term, bin) as u128,
                TermKind::Other => theirs(bin, place),
                TermKind::Mixed => (own(term, bin) as u128)
                    .wrapping_mul(theirs(bin, place))
                    .wrapping_add(products.0[place][bin]),
            }
        };
        let mut cells = Zeroizing::new(vec![0; plan.groups * layout.len()]);
        for (number, of_label) in counted.iter().enumerate() {
            // 6.
            channel.phase("sums");
            let mut rows = Zeroizing::new(vec![0; bins * layout.len()]);
            for scaling in plan.scalings() {
                let Some(bits) = scaling.bits(of_label) else { continue };
                let (other, mine) = (plan.known_to_other(scaling), plan.known_to_table(scaling));
                if !other.layout.is_empty() {
                    let ot = ots.receiver();
                    let shares = arithmetic::scale_hidden(bits, other.layout, ot, channel)?;
                    other.add_to(&mut rows, layout, &shares);
                }
                if !mine.layout.is_empty() {
                    let known = mine.rows(bins, |bin, term| known(scaling, bin, term));
                    let (of_part, ot) = (mine.layout, ots.sender());
                    let shares = arithmetic::scale_known(bits, &known, of_part, ot, channel, rng)?;
                    mine.add_to(&mut rows, layout, &shares);
                }
            }
            // 7.
            let shares = match plan.groups {
                1 => Zeroizing::new(layout.sum(&rows)),
                groups => {
                    channel.phase("groups");
                    let place = |item: u32| item as usize * counted.len() + number;
                    let label =
                        |item: &Option<u32>| item.map_or(0, |item| input.labels[place(item)]);
                    let labels: Zeroizing<Vec<u32>> =
                        Zeroizing::new(items.iter().map(label).collect());
                    let ot = ots.receiver();
                    scatter::scatter_known(&rows, &labels, layout, groups, ot, channel)?
                }
            };
            layout.add_all(&mut cells, &shares);
        }
        Ok((plan, CellShares { cells: std::mem::take(&mut cells) }, triples))
    }
}
