//! Steps 1 to 7: a party's shares of the cells.

use std::ops::Range;

use rand::CryptoRng;
use vesica_circuit::{
    NumberField, RowLayout, arithmetic, scatter,
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_ot::extension::{
    silent,
    softspoken::{SmallField, semi_honest as softspoken},
};
use vesica_params::lpn::{self, Lpn};
use vesica_primitives::{Bits, Block};
use zeroize::Zeroizing;

use super::{
    CellShares, Input, OpenedCells, Owner, Plan, Sharer, Term, TermKind, cells, lookup::Matched,
};
use crate::{
    Items, Result,
    circuit_psi::{ReceiverBins, Receiving, SenderBins, Sending, rs21::Silent},
};

/// Products of a bit of T's factors and a number that one call makes at a time, if it may be split.
const MULTIPLIED_AT_ONCE: usize = 1 << 18;

pub(super) const FIELD: SmallField = SmallField::new(8);

pub(super) const LPN: Lpn = lpn::ones(softspoken::ADVERSARY);

type OtSender = silent::Sender<softspoken::Sender>;
type OtReceiver = silent::Receiver<softspoken::Receiver>;

/// The OTs of steps 4 to 7.
pub(super) struct OtUse {
    /// Whether S sends some: for products with what it knows, for factors, and for groups.
    pub(super) from_other: bool,
    /// Whether T sends some: for products with what it knows, and for a look-up.
    pub(super) from_table: bool,
}

impl Plan {
    pub(super) fn ot_use(&self) -> OtUse {
        let is = |kind: fn(TermKind) -> bool| self.terms.iter().any(|term| kind(term.kind()));
        OtUse {
            from_other: self.counts() || self.groups > 1 || is(|kind| kind != TermKind::Table),
            from_table: !self.terms.is_empty() || self.lookup.is_some(),
        }
    }

    /// The numbers that S knows in a bin: the 1 that is counted, and the masks of its payload.
    pub(super) fn known_to_other(&self) -> KnownNumbers {
        let count = usize::from(self.counts());
        let terms = self.terms.iter().zip(count..);
        let terms = terms.filter(|(term, _)| term.kind() != TermKind::Table);
        self.part((0..count).chain(terms.map(|(_, number)| number)).collect())
    }

    /// The numbers that T knows in a bin: one for each term.
    pub(super) fn known_to_table(&self) -> KnownNumbers {
        let count = usize::from(self.counts());
        self.part((count..count + self.terms.len()).collect())
    }

    fn part(&self, numbers: Vec<usize>) -> KnownNumbers {
        let (_, of_cell) = self.layout();
        let widths: Vec<_> = numbers.iter().map(|number| of_cell[*number].width()).collect();
        let (layout, fields) = RowLayout::new(&widths);
        let fields = fields.into_iter().zip(numbers.iter().map(|number| of_cell[*number]));
        let count = usize::from(self.counts());
        let terms = numbers.iter().map(|number| number.checked_sub(count)).collect();
        KnownNumbers { layout, fields: fields.collect(), terms }
    }

    /// The bits of T's factors that are multiplied in one call: enough for the call to be efficient, and few enough to
    /// be held.
    pub(super) fn bits_at_once(&self, bins: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let bits = self.factor_bits as usize;
        let step = (MULTIPLIED_AT_ONCE / bins.max(1)).clamp(1, bits);
        (0..bits).step_by(step).map(move |start| start..(start + step).min(bits))
    }

    /// The terms with a factor of S's.
    fn carried(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.kind() != TermKind::Table)
    }

    /// The place of each term's number in a payload; for a term of T's only, it means nothing.
    fn payload_places(&self) -> Vec<usize> {
        let mut next = 0;
        let place = |term: &Term| {
            next += usize::from(term.kind() != TermKind::Table);
            next.saturating_sub(1)
        };
        self.terms.iter().map(place).collect()
    }

    /// The terms that are products of numbers of both sides.
    pub(super) fn mixed(&self) -> impl Iterator<Item = &Term> {
        self.terms.iter().filter(|term| term.kind() == TermKind::Mixed)
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
                let cot = softspoken::Sender::setup(FIELD, channel, rng)?;
                ots.sender = Some(silent::Sender::setup(cot, LPN, channel, rng)?);
            } else if needed {
                let cot = softspoken::Receiver::setup(FIELD, channel, rng)?;
                ots.receiver = Some(silent::Receiver::setup(cot, LPN, channel, rng)?);
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

/// Shares of the products of T's factors and S's masks in each bin, for each mixed term, and nothing for the others.
struct Products(Vec<Zeroizing<Vec<u128>>>);

impl Products {
    /// Adds up the shares that `multiply` returns for each mixed term and some bits of T's factors: a row of one number
    /// for each bit and bin.
    fn new(
        plan: &Plan,
        bins: usize,
        mut multiply: impl FnMut(usize, Range<usize>, RowLayout) -> Result<Zeroizing<Vec<u8>>>,
    ) -> Result<Self> {
        let mut products = Vec::with_capacity(plan.terms.len());
        for (i, term) in plan.terms.iter().enumerate() {
            let is_mixed = term.kind() == TermKind::Mixed;
            let mut sums = Zeroizing::new(vec![0_u128; if is_mixed { bins } else { 0 }]);
            let (one, field) = RowLayout::new(&[term.width]);
            for range in plan.bits_at_once(bins).filter(|_| is_mixed) {
                let shares = multiply(i, range, one)?;
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
        let len = plan.masking().len();
        let mut values = Zeroizing::new(vec![0; items.len() * len]);
        if len > 0 {
            for (item, row) in values.chunks_exact_mut(len).enumerate() {
                for (field, term) in fields.iter().zip(plan.carried()) {
                    field.set(row, term.value(Self::ME, input.columns, item) as u128);
                }
                if plan.lookup.is_some() {
                    row[payload.len()] = input.positions[item] as u8;
                }
            }
        }
        let SenderBins { matches, masks, mut triples } =
            party.bins(Items::from(&items[..]), &values, channel, rng)?;
        channel.phase("sums");
        let bins = matches.instances();
        let mask = |bin: usize, i: usize| fields[i].get(&masks[bin * len..]);
        let places = plan.payload_places();
        // 4.
        let products = Products::new(&plan, bins, |term, range, one| {
            let (_, field) = RowLayout::new(&[plan.terms[term].width]);
            let zeros = Bits::zeros(range.len() * bins);
            let mut rows = Zeroizing::new(vec![0; zeros.len() * one.len()]);
            let numbers = range.flat_map(|bit| (0..bins).map(move |bin| (bit, bin)));
            for ((bit, bin), row) in numbers.zip(rows.chunks_exact_mut(one.len())) {
                field[0].set(row, mask(bin, places[term]).wrapping_mul(plan.weight(bit)));
            }
            Ok(arithmetic::scale_known(&zeros, &rows, one, ots.sender(), channel, rng)?)
        })?;
        // 5.
        let counted = match plan.tables() {
            None => vec![matches.to_bits()],
            Some(tables) => {
                channel.phase("look-up");
                let positions = masks.chunks_exact(len).map(|row| row[payload.len()]);
                let positions: Zeroizing<Vec<u8>> = Zeroizing::new(positions.collect());
                let matched = Matched { owner: Self::ME, matches: &matches, triples: &mut triples };
                matched.by_positions(&positions, tables, ots.receiver(), channel)?
            }
        };
        let (layout, _) = plan.layout();
        let (mine, theirs) = (plan.known_to_other(), plan.known_to_table());
        let known = mine.rows(bins, |bin, term| match term {
            None => 1,
            Some(term) if plan.terms[term].kind() == TermKind::Mixed => products.0[term][bin],
            Some(term) => mask(bin, places[term]),
        });
        let mut cells = Zeroizing::new(vec![0; plan.groups * layout.len()]);
        for bits in &counted {
            // 6.
            channel.phase("sums");
            let mut rows = Zeroizing::new(vec![0; bins * layout.len()]);
            if !mine.layout.is_empty() {
                let ot = ots.sender();
                let shares = arithmetic::scale_known(bits, &known, mine.layout, ot, channel, rng)?;
                mine.add_to(&mut rows, layout, &shares);
            }
            if !theirs.layout.is_empty() {
                let ot = ots.receiver();
                let shares = arithmetic::scale_hidden(bits, theirs.layout, ot, channel)?;
                theirs.add_to(&mut rows, layout, &shares);
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
        channel.phase("sums");
        let bins = matches.instances();
        let (payload, fields) = plan.payload();
        let len = plan.masking().len();
        let theirs = |bin: usize, i: usize| fields[i].get(&values[bin * len..]);
        let own = |term: &Term, bin: usize| -> i128 {
            items[bin].map_or(0, |item| term.value(Self::ME, input.columns, item as usize))
        };
        let places = plan.payload_places();
        // 4.
        let products = Products::new(&plan, bins, |term, range, one| {
            let mut choices = Bits::zeros(range.len() * bins);
            let numbers = range.flat_map(|bit| (0..bins).map(move |bin| (bit, bin)));
            for (i, (bit, bin)) in numbers.enumerate() {
                choices.set(i, (own(&plan.terms[term], bin) >> bit & 1) as u8);
            }
            Ok(arithmetic::scale_hidden(&choices, one, ots.receiver(), channel)?)
        })?;
        // 5.
        let counted = match plan.tables() {
            None => vec![matches.to_bits()],
            Some(tables) => {
                channel.phase("look-up");
                let of_item = |item: usize| &input.choices[item * tables.positions..];
                let choices = items
                    .iter()
                    .map(|item| item.map(|item| &of_item(item as usize)[..tables.positions]));
                let words = plan.table_words(choices, tables);
                let turns = values.chunks_exact(len).map(|row| row[payload.len()]);
                let turns: Zeroizing<Vec<u8>> = Zeroizing::new(turns.collect());
                let matched = Matched { owner: Self::ME, matches: &matches, triples: &mut triples };
                matched.by_tables(&words, &turns, tables, ots.sender(), channel, rng)?
            }
        };
        let (layout, _) = plan.layout();
        let (other, mine) = (plan.known_to_other(), plan.known_to_table());
        let known = mine.rows(bins, |bin, i| {
            let i = i.expect("T does not count");
            let term = &plan.terms[i];
            match term.kind() {
                TermKind::Table => own(term, bin) as u128,
                TermKind::Other => theirs(bin, places[i]),
                TermKind::Mixed => (own(term, bin) as u128)
                    .wrapping_mul(theirs(bin, places[i]))
                    .wrapping_add(products.0[i][bin]),
            }
        });
        let mut cells = Zeroizing::new(vec![0; plan.groups * layout.len()]);
        for (number, bits) in counted.iter().enumerate() {
            // 6.
            channel.phase("sums");
            let mut rows = Zeroizing::new(vec![0; bins * layout.len()]);
            if !other.layout.is_empty() {
                let shares = arithmetic::scale_hidden(bits, other.layout, ots.receiver(), channel)?;
                other.add_to(&mut rows, layout, &shares);
            }
            if !mine.layout.is_empty() {
                let ot = ots.sender();
                let shares = arithmetic::scale_known(bits, &known, mine.layout, ot, channel, rng)?;
                mine.add_to(&mut rows, layout, &shares);
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
