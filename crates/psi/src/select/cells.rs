//! Step 8: what of the cells is shown, and to whom.
//!
//! A circuit takes both parties' shares of a cell. It adds them, adds noise to them, compares the count with the
//! minimum, and keeps what passes; everything else is 0, so that a cell with no match and one with a match too few look
//! alike. It runs in one instance for each cell. If there is a remainder, the numbers that were not kept are added up
//! over all cells in a tree, and judged in the same way.

use std::ops::Range;

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Values as _, Width, Wire, WireBits,
    gadgets::{add::add, compare::at_least, laplace::add_noise, select::keep, wires},
    gmw::{self, Gmw},
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_params::{Laplace, laplace::PRECISION};

use super::{CellShares, Cells, Owner, Plan};
use crate::Result;

const SHARE: &str = "answer/share";

/// The cells as the party that learns them gets them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedCells {
    /// Each group's cell; `None` if it has too few matches.
    pub cells: Vec<Option<OpenedCell>>,
    /// The sum of the cells with too few matches, if the plan has a remainder and it has enough.
    pub remainder: Option<OpenedCell>,
}

/// The numbers of a cell that is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenedCell {
    /// The number of matches, if it is shown. With noise it may be negative.
    pub count: Option<i128>,
    /// Whether there are as many matches as the plan's threshold, if it has one.
    pub reaches: Option<bool>,
    /// The sum of each term.
    pub sums: Vec<i128>,
    /// T's text, if this party is S and the plan has texts.
    pub text: Vec<u8>,
}

/// A number of a cell: its width, and the noise that is added.
type Number = (Width, Option<Laplace>);

/// Random bits that make some noise.
pub(super) fn random_bits(noise: Laplace) -> usize {
    2 * noise.digits() * PRECISION
}

/// Bits of a number after noise, which does not wrap: sums of products are below 2^126, and the noise is below 2^88.
fn noisy_bits(width: Width, noise: Option<Laplace>) -> usize {
    let bits = width.bits();
    noise.map_or(bits, |noise| (bits.max(noise.thresholds().len()) + 2).min(u128::BITS as usize))
}

/// Adds both shares of a number, and noise.
fn total(
    builder: &mut Builder,
    [ours, theirs]: [&[Wire]; 2],
    noise: Option<(Laplace, &[Wire])>,
) -> Vec<Wire> {
    let (mut number, _) = add(builder, ours, theirs, None);
    let Some((noise, random)) = noise else { return number };
    let width = Width::ALL.into_iter().find(|width| width.bits() == number.len());
    let wide = noisy_bits(width.expect("a number of this width"), Some(noise));
    number.resize(wide, number[number.len() - 1]);
    add_noise(builder, &number, random, PRECISION, &noise.thresholds())
}

/// Whether a count is at least a bound; `None` if it always is. A count with noise is signed.
fn reaches(builder: &mut Builder, count: &[Wire], is_noisy: bool, bound: u64) -> Option<Wire> {
    let (sign, magnitude) = count.split_last().expect("a count has bits");
    let bits = if is_noisy { magnitude } else { count };
    // A bound that exceeds any count may be replaced by any other such bound.
    let highest = u128::MAX >> (128 - bits.len());
    let enough = at_least(builder, bits, u128::from(bound).min(highest))?;
    if !is_noisy {
        return Some(enough);
    }
    let positive = builder.not(*sign);
    Some(builder.and(enough, positive))
}

/// The circuits of step 8, and where their outputs are.
struct Judge<'a> {
    plan: &'a Plan,
    numbers: Vec<Number>,
}

impl<'a> Judge<'a> {
    fn new(plan: &'a Plan) -> Self {
        let count = plan.counts().then(|| (plan.count_width(), plan.cells.count_noise));
        let terms = plan.terms.iter().map(|term| (term.width, term.noise));
        Self { plan, numbers: count.into_iter().chain(terms).collect() }
    }

    /// Whether all shares are opened, without a circuit.
    fn is_open(&self) -> bool {
        !self.plan.cells.is_judged() && self.numbers.iter().all(|(_, noise)| noise.is_none())
    }

    fn random_bits(&self) -> usize {
        self.numbers.iter().filter_map(|(_, noise)| noise.map(random_bits)).sum()
    }

    /// The numbers of a cell that are shown.
    fn shown(&self) -> Range<usize> {
        let hidden = self.plan.counts() && !self.plan.cells.shows_count;
        usize::from(hidden)..self.numbers.len()
    }

    /// Bits of the shown outputs for a cell.
    fn shown_bits(&self) -> usize {
        let Cells { least, threshold, text_len, .. } = self.plan.cells;
        let pass = usize::from(least > 0);
        match threshold {
            // "At least 0" is known beforehand.
            Some(threshold) => pass + usize::from(threshold > 0),
            None => {
                let numbers = self.numbers[self.shown()].iter();
                let numbers = numbers.map(|(width, noise)| noisy_bits(*width, *noise));
                pass + numbers.sum::<usize>() + 8 * text_len
            }
        }
    }

    /// The circuit of a cell. Inputs: for each number S's share and T's, T's text, and random bits. Outputs: whether
    /// there are enough matches, if the plan has a minimum; what is shown, or 0; and the numbers that are not shown, if
    /// there is a remainder.
    fn of_cell(&self) -> Circuit {
        let Cells { least, threshold, text_len, remainder, .. } = self.plan.cells;
        let shares: usize = self.numbers.iter().map(|(width, _)| 2 * width.bits()).sum();
        let mut builder = Builder::new(shares + 8 * text_len + self.random_bits());
        let text = wires(shares, 8 * text_len);
        let (mut next, mut next_random) = (0, shares + 8 * text_len);
        let mut totals = Vec::new();
        for (width, noise) in &self.numbers {
            let [ours, theirs] =
                [0, 1].map(|share| wires(next + share * width.bits(), width.bits()));
            next += 2 * width.bits();
            let random = noise.map(|noise| (noise, wires(next_random, random_bits(noise))));
            next_random += noise.map_or(0, random_bits);
            let noise = random.as_ref().map(|(noise, random)| (*noise, &random[..]));
            totals.push(total(&mut builder, [&ours, &theirs], noise));
        }
        let is_noisy = self.plan.cells.count_noise.is_some();
        let mut count = |bound| reaches(&mut builder, &totals[0], is_noisy, bound);
        let enough = if least > 0 { count(least) } else { None };
        let shown: Vec<Wire> = match threshold {
            Some(threshold) => count(threshold).into_iter().collect(),
            None => [totals[self.shown()].concat(), text].concat(),
        };
        let Some(enough) = enough else { return builder.finish(shown) };
        let kept = keep(&mut builder, enough, &shown);
        let mut outputs = [vec![enough], kept].concat();
        if remainder {
            let all = totals.concat();
            let kept = keep(&mut builder, enough, &all);
            let left = all.iter().zip(&kept).map(|(all, kept)| builder.xor(*all, *kept));
            outputs.extend(left.collect::<Vec<_>>());
        }
        builder.finish(outputs)
    }

    /// Adds two rows of numbers.
    fn of_pair(&self) -> Circuit {
        let bits: usize = self.numbers.iter().map(|(width, _)| width.bits()).sum();
        let mut builder = Builder::new(2 * bits);
        let mut next = 0;
        let mut sums = Vec::new();
        for (width, _) in &self.numbers {
            let [a, b] = [next, bits + next].map(|first| wires(first, width.bits()));
            sums.extend(add(&mut builder, &a, &b, None).0);
            next += width.bits();
        }
        builder.finish(sums)
    }

    /// Judges the remainder, whose numbers are the inputs.
    fn of_remainder(&self) -> Circuit {
        let bits: Vec<usize> = self.numbers.iter().map(|(width, _)| width.bits()).collect();
        let all = bits.iter().sum();
        let mut builder = Builder::new(all);
        let hidden: usize = bits[..self.shown().start].iter().sum();
        let enough = reaches(&mut builder, &wires(0, bits[0]), false, self.plan.cells.least);
        let enough = enough.expect("a remainder has a minimum");
        let kept = keep(&mut builder, enough, &wires(hidden, all - hidden));
        builder.finish([vec![enough], kept].concat())
    }

    /// The numbers of instances in which pairs are added, level by level.
    fn levels(&self) -> impl Iterator<Item = usize> + use<> {
        let halves = |n: usize| (n > 1).then(|| (n / 2, n.div_ceil(2)));
        let mut left = self.plan.groups;
        std::iter::from_fn(move || {
            let (pairs, next) = halves(left)?;
            left = next;
            Some(pairs)
        })
    }

    /// Reads a cell from the bits that are shown of it.
    fn read(&self, shown: &WireBits, instance: usize) -> Option<OpenedCell> {
        let Cells { least, threshold, .. } = self.plan.cells;
        let next = std::cell::Cell::new(0);
        let take = |bits: usize| {
            let wires = next.get()..next.get() + bits;
            next.set(wires.end);
            wires
                .rev()
                .fold(0_u128, |number, wire| number << 1 | u128::from(shown.get(wire, instance)))
        };
        if least > 0 && take(1) == 0 {
            return None;
        }
        let mut cell = OpenedCell::default();
        if let Some(threshold) = threshold {
            cell.reaches = Some(threshold == 0 || take(1) == 1);
            return Some(cell);
        }
        for number in self.shown() {
            let (width, noise) = self.numbers[number];
            let bits = noisy_bits(width, noise);
            let is_count = number == 0 && self.plan.counts();
            let unused = if is_count && noise.is_none() { 0 } else { 128 - bits };
            let number = (take(bits) << unused) as i128 >> unused;
            if is_count { cell.count = Some(number) } else { cell.sums.push(number) }
        }
        // A remainder has no text.
        let rest = (shown.wires() - next.get()) / 8;
        cell.text = (0..rest).map(|_| take(8) as u8).collect();
        Some(cell)
    }

    /// This party's inputs: its shares, its text and its random bits. The other party's inputs are 0.
    fn inputs(
        &self,
        party: Owner,
        share: &CellShares,
        texts: &[u8],
        circuit: &Circuit,
        rng: &mut dyn CryptoRng,
    ) -> WireBits {
        let Plan { groups, cells: Cells { text_len, .. }, .. } = *self.plan;
        let mut inputs = WireBits::zeros(circuit.inputs(), groups);
        let (layout, fields) = self.plan.layout();
        let mut next = 0;
        for field in fields {
            let bits = field.width().bits();
            let first = next + if party == Owner::Other { 0 } else { bits };
            for (cell, row) in share.cells.chunks_exact(layout.len()).enumerate() {
                let number = field.get(row);
                (0..bits).for_each(|bit| inputs.set(first + bit, cell, number >> bit & 1 == 1));
            }
            next += 2 * bits;
        }
        if party == Owner::Table && text_len > 0 {
            for (cell, text) in texts.chunks_exact(text_len).enumerate() {
                let bits = text.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
                (next..).zip(bits).for_each(|(wire, bit)| inputs.set(wire, cell, bit));
            }
        }
        next += 8 * text_len;
        let random = WireBits::random(self.random_bits(), groups, rng);
        for wire in 0..random.wires() {
            inputs.row_mut(next + wire).copy_from_slice(random.row(wire));
        }
        inputs
    }
}

/// The triples of step 8.
pub(super) fn demand(plan: &Plan) -> Demand {
    let judge = Judge::new(plan);
    if judge.is_open() {
        return Demand::default();
    }
    let mut demand = Demand::of_ands(&judge.of_cell(), plan.groups);
    if plan.cells.remainder {
        let pair = judge.of_pair();
        demand = judge.levels().fold(demand, |sum, n| sum + Demand::of_ands(&pair, n));
        demand = demand + Demand::of_ands(&judge.of_remainder(), 1);
    }
    demand
}

/// Payload bytes of step 8 without its triples: to the party that learns the cells, and to the other.
pub(super) fn bytes(plan: &Plan) -> [usize; 2] {
    let judge = Judge::new(plan);
    if judge.is_open() {
        return [plan.groups * plan.layout().0.len(), 0];
    }
    let mut gates = gmw::bytes(&judge.of_cell(), plan.groups, false);
    let mut shown = gmw::reveal_bytes(judge.shown_bits(), plan.groups);
    if plan.cells.remainder {
        let pair = judge.of_pair();
        gates += judge.levels().map(|n| gmw::bytes(&pair, n, false)).sum::<usize>();
        let last = judge.of_remainder();
        gates += gmw::bytes(&last, 1, false);
        shown += gmw::reveal_bytes(last.outputs().len(), 1);
    }
    [gates + shown, gates]
}

/// AND gates of step 8 one after another; `None` without a circuit.
pub(super) fn depth(plan: &Plan) -> Option<u32> {
    let judge = Judge::new(plan);
    if judge.is_open() {
        return None;
    }
    let mut depth = judge.of_cell().depth();
    if plan.cells.remainder {
        depth += judge.levels().count() * judge.of_pair().depth() + judge.of_remainder().depth();
    }
    Some(depth as u32)
}

/// Opens the cells to the party that learns them. `noise` makes this party's part of the noise.
pub(super) fn open(
    plan: &Plan,
    party: Owner,
    share: &CellShares,
    texts: &[u8],
    triples: Triples,
    channel: &mut Channel,
    noise: &mut dyn CryptoRng,
) -> Result<Option<OpenedCells>> {
    channel.phase("answer");
    let learner = plan.cells.learner;
    let judge = Judge::new(plan);
    if party == Owner::Table {
        assert_eq!(texts.len(), plan.groups * plan.cells.text_len, "a text for each cell");
    }
    if judge.is_open() {
        if party != learner {
            channel.reveal()?;
            channel.send_slice(SHARE, &share.cells)?;
            channel.flush()?;
            return Ok(None);
        }
        let mut cells = vec![0; share.cells.len()];
        channel.recv_slice(SHARE, &mut cells)?;
        let (layout, fields) = plan.layout();
        layout.add_all(&mut cells, &share.cells);
        let shown = |row: &[u8]| {
            let mut numbers = fields[judge.shown()].iter();
            let count = plan.cells.shows_count.then(|| numbers.next()).flatten();
            let count = count.map(|field| field.get(row) as i128);
            let sums = numbers.map(|field| field.signed(row)).collect();
            Some(OpenedCell { count, sums, ..OpenedCell::default() })
        };
        let cells = cells.chunks_exact(layout.len()).map(shown).collect();
        return Ok(Some(OpenedCells { cells, remainder: None }));
    }
    let circuit = judge.of_cell();
    let inputs = judge.inputs(party, share, texts, &circuit, noise);
    let mut engine = Gmw::new(party.role(), triples, channel);
    let outputs = engine.run(&circuit, &inputs)?;
    let bits = judge.shown_bits();
    let mut left = None;
    if plan.cells.remainder {
        let pair = judge.of_pair();
        let mut rows = outputs.rows(bits..outputs.wires());
        for pairs in judge.levels() {
            let n = rows.instances() as u32;
            let pairs = pairs as u32;
            let [first, second, odd] = [0..pairs, pairs..2 * pairs, 2 * pairs..n]
                .map(|some| rows.gather(&some.collect::<Vec<_>>()));
            let sums = engine.run(&pair, &WireBits::stack(&[&first, &second]))?;
            rows = WireBits::join(&[&sums, &odd]);
        }
        left = Some(engine.run(&judge.of_remainder(), &rows)?);
    }
    let triples = engine.into_triples();
    if party != learner {
        channel.reveal()?;
    }
    let judged = outputs.rows(0..bits);
    let mut engine = Gmw::new(party.role(), triples, channel);
    let remainder = match left {
        Some(left) => engine.reveal(&left, learner.role())?,
        None => None,
    };
    let shown = engine.reveal(&judged, learner.role())?;
    channel.flush()?;
    Ok(shown.map(|shown| OpenedCells {
        cells: (0..plan.groups).map(|cell| judge.read(&shown, cell)).collect(),
        remainder: remainder.and_then(|shown| judge.read(&shown, 0)),
    }))
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, TryCryptoRng, TryRng, rngs::StdRng};
    use vesica_testkit::two_party::{self, Link};

    use super::*;
    use crate::Sizes;

    /// Random bits that are all the same.
    struct Stuck(u8);

    impl TryRng for Stuck {
        type Error = std::convert::Infallible;

        fn try_next_u32(&mut self) -> std::result::Result<u32, Self::Error> {
            Ok(u32::from_ne_bytes([self.0; 4]))
        }

        fn try_next_u64(&mut self) -> std::result::Result<u64, Self::Error> {
            Ok(u64::from_ne_bytes([self.0; 8]))
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Self::Error> {
            bytes.fill(self.0);
            Ok(())
        }
    }

    impl TryCryptoRng for Stuck {}

    const CELLS: usize = 512;

    /// The noisy counts of cells with three matches each; a party may use the same bit instead of drawing random ones.
    fn sample(noise: Laplace, stuck: Option<(Owner, u8)>) -> Vec<i128> {
        let sizes = Sizes { sender: 10, receiver: 10 };
        let cells = Cells { count_noise: Some(noise), ..Cells::default() };
        let plan = Plan {
            sizes,
            partitions: 1,
            factor_bits: 64,
            terms: vec![],
            groups: CELLS,
            other_groups: 1,
            lookup: None,
            people: None,
            cells,
        };
        let party = |owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
            let share: u32 = if owner == Owner::Table { 5 } else { 2_u32.wrapping_neg() };
            let bytes: Vec<u8> = (0..CELLS).flat_map(|_| share.to_le_bytes()).collect();
            let share = CellShares::from_bytes(&plan, &bytes).unwrap();
            let mut own = StdRng::from_rng(&mut *rng);
            match stuck.filter(|(who, _)| *who == owner) {
                Some((_, byte)) => plan.open(owner, &share, &[], channel, rng, &mut Stuck(byte)),
                None => plan.open(owner, &share, &[], channel, rng, &mut own),
            }
        };
        let (_, opened) = two_party::run(
            Link::Memory,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        let cells = opened.expect("shown to the table's side").cells;
        cells.into_iter().map(|cell| cell.unwrap().count.unwrap()).collect()
    }

    /// Neither party changes the distribution by choosing its bits: each value comes as often as it should, but for six
    /// standard deviations. Cells draw their noise independently of each other.
    #[test]
    fn a_party_that_does_not_draw_its_bits_changes_nothing() {
        let noise = Laplace::new(1_000_000, 1).unwrap();
        let q = (-1.0_f64).exp();
        for stuck in [None, Some((Owner::Other, 0)), Some((Owner::Table, 255))] {
            let found = sample(noise, stuck);
            assert_eq!(found.len(), CELLS);
            for value in -20_i32..=20 {
                let share = (1.0 - q) / (1.0 + q) * q.powi(value.abs());
                let expected = share * CELLS as f64;
                let count = found.iter().filter(|noisy| **noisy == i128::from(value) + 3).count();
                let off = (count as f64 - expected).abs();
                assert!(off <= 6.0 * expected.sqrt() + 6.0, "{value}: {count}, {expected}");
            }
            let pairs = found.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64;
            let alike = ((1.0 - q) / (1.0 + q)).powi(2) * (1.0 + q * q) / (1.0 - q * q);
            let expected = alike * CELLS as f64;
            assert!((pairs - expected).abs() <= 6.0 * expected.sqrt() + 6.0, "{pairs}, {expected}");
        }
    }
}
