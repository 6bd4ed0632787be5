//! Numbers by group over hidden matches, compared with a computation in the clear.

mod deviating_peer;
mod lookup;
mod people;

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_circuit::Width;
use vesica_net::Meter;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Items, Set, Sizes,
    select::{
        CellShares, Cells, Column, Input, Lookup, MAX_GROUPS, OpenedCell, OpenedCells, Owner, Plan,
        Term,
    },
};
use vesica_testkit::two_party::{self, Link};

/// A party's data.
#[derive(Clone)]
struct Side {
    set: Set,
    counted: Vec<bool>,
    columns: Vec<Vec<i64>>,
    labels: Vec<u32>,
    positions: Vec<u32>,
    choices: Vec<u8>,
}

impl Side {
    /// Random data, with extreme values among them.
    fn random(items: Vec<Block>, plan: &Plan, owner: Owner, rng: &mut StdRng) -> Self {
        let n = items.len();
        let mut value = |i: usize| match i % 17 {
            0 => 0,
            1 => 30_000,
            2 => -32_768,
            _ => rng.random_range(-1000..1000),
        };
        let Lookup { positions, labels, rows } =
            plan.lookup.unwrap_or(Lookup { positions: 0, labels: 1, rows: 1 });
        let values = if owner == Owner::Other { n * rows } else { n };
        let columns = (0..2).map(|_| (0..values).map(&mut value).collect()).collect();
        let mut below = |count: usize, bound: usize| -> Vec<u32> {
            (0..count).map(|_| rng.random_range(0..bound as u32)).collect()
        };
        let (labels, positions, choices) = match owner {
            Owner::Other => {
                (below(n, plan.other_groups), below(values, positions.max(1)), Vec::new())
            }
            Owner::Table => {
                let choices = below(n * positions, labels + 1);
                let choices = choices.into_iter().map(|choice| choice as u8).collect();
                (below(n * labels, plan.groups), Vec::new(), choices)
            }
        };
        let counted = (0..n).map(|_| rng.random_range(0..5) > 0).collect();
        Self { set: Set::short(items), counted, columns, labels, positions, choices }
    }

    fn position(&self, item: Block) -> Option<usize> {
        let found = self.set.items().low_halves().iter().position(|other| *other == item);
        found.filter(|i| self.counted[*i])
    }
}

fn cell_count(plan: &Plan) -> usize {
    plan.groups * plan.other_groups
}

/// Both parties' data for one run, with the plan.
#[derive(Clone)]
struct Case {
    plan: Plan,
    other: Side,
    table: Side,
    texts: Vec<u8>,
}

impl Case {
    fn new(plan: Plan, shared: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let Sizes { sender, receiver } = plan.sizes;
        let common: Vec<Block> = (0..shared).map(|_| Block::random(&mut rng)).collect();
        let mut side = |n: usize, owner| {
            let mut items = common.clone();
            items.resize_with(n, || Block::random(&mut rng));
            Side::random(items, &plan, owner, &mut rng)
        };
        let other = side(sender, Owner::Other);
        let table = side(receiver, Owner::Table);
        let texts = (0..cell_count(&plan) * plan.cells.text_len).map(|_| rng.random()).collect();
        Self { plan, other, table, texts }
    }

    /// The numbers of each group: the count and the sum of each term.
    fn cells(&self) -> Vec<(u64, Vec<i128>)> {
        let mut cells = vec![(0, vec![0; self.plan.terms.len()]); cell_count(&self.plan)];
        for (j, item) in self.table.set.items().low_halves().iter().enumerate() {
            let (Some(i), true) = (self.other.position(*item), self.table.counted[j]) else {
                continue;
            };
            let of_other =
                if self.plan.other_groups > 1 { self.other.labels[i] as usize } else { 0 };
            let mut counted = BTreeSet::new();
            let rows = self.plan.lookup.map_or(1, |lookup| lookup.rows);
            for row in i * rows..(i + 1) * rows {
                let mut label = j;
                if let Some(Lookup { positions, labels, .. }) = self.plan.lookup {
                    let at = self.other.positions[row] as usize;
                    match self.table.choices[j * positions..][..positions][at] {
                        0 => continue,
                        choice => label = j * labels + usize::from(choice) - 1,
                    }
                }
                // An item counts once for each of its labels, even for two of one group.
                let is_new = counted.insert(if self.plan.groups > 1 { label } else { 0 });
                let label =
                    if self.plan.groups > 1 { self.table.labels[label] as usize } else { 0 };
                let (count, sums) = &mut cells[label * self.plan.other_groups + of_other];
                *count += u64::from(is_new);
                for (sum, term) in sums.iter_mut().zip(&self.plan.terms) {
                    let from = if term.is_of_item { i * rows } else { row };
                    let value = |column: Column| match column.owner {
                        Owner::Table => i128::from(self.table.columns[column.index][j]),
                        Owner::Other => i128::from(self.other.columns[column.index][from]),
                    };
                    if is_new || !term.is_of_item {
                        *sum += term.column.map_or(1, value) * term.times.map_or(1, value);
                    }
                }
            }
        }
        cells
    }

    /// The cells that their learner should get.
    fn expected(&self) -> OpenedCells {
        let Cells { learner, least, shows_count, threshold, remainder, text_len, .. } =
            self.plan.cells;
        let show = |(count, sums): &(u64, Vec<i128>), text: &[u8]| {
            (*count >= least).then(|| OpenedCell {
                count: (shows_count && threshold.is_none()).then(|| i128::from(*count)),
                reaches: threshold.map(|threshold| *count >= threshold),
                sums: if threshold.is_none() { sums.clone() } else { Vec::new() },
                text: if learner == Owner::Other { text.to_vec() } else { Vec::new() },
            })
        };
        let cells = self.cells();
        let shown = cells
            .iter()
            .enumerate()
            .map(|(i, cell)| show(cell, &self.texts[i * text_len..][..text_len]));
        let few = cells.iter().filter(|(count, _)| *count < least);
        let rest = few.fold((0, vec![0; self.plan.terms.len()]), |(count, sums), cell| {
            (count + cell.0, sums.iter().zip(&cell.1).map(|(a, b)| a + b).collect())
        });
        let remainder = if remainder { show(&rest, &[]) } else { None };
        OpenedCells { cells: shown.collect(), remainder }
    }

    fn input<'a>(&'a self, owner: Owner, columns: &'a [&'a [i64]]) -> Input<'a> {
        let side = if owner == Owner::Table { &self.table } else { &self.other };
        let groups = if owner == Owner::Table { self.plan.groups } else { self.plan.other_groups };
        let labelled = groups > 1;
        Input {
            items: side.set.items(),
            counted: Some(&side.counted),
            columns,
            positions: if self.plan.lookup.is_some() { &side.positions } else { &[] },
            choices: &side.choices,
            people: &[],
            labels: if labelled { &side.labels } else { &[] },
            texts: if owner == Owner::Table { &self.texts } else { &[] },
        }
    }

    /// A run on whole sets; returns each party's result, and the bytes that each sent.
    fn run(&self) -> [(Option<OpenedCells>, u64); 2] {
        self.metered().map(|(opened, meter)| (opened, meter.sent()))
    }

    /// A run on whole sets; returns each party's result and its meter.
    fn metered(&self) -> [(Option<OpenedCells>, Meter); 2] {
        let party = |owner, channel: &mut vesica_net::Channel, rng: &mut dyn rand::CryptoRng| {
            let side = if owner == Owner::Table { &self.table } else { &self.other };
            let columns: Vec<&[i64]> = side.columns.iter().map(|column| &column[..]).collect();
            let selection = self.plan.on_sets();
            selection.agree(owner == Owner::Table, channel)?;
            let party = selection.party(owner == Owner::Table, channel, rng)?;
            let opened = party.run(self.input(owner, &columns), channel, rng)?;
            Ok::<_, Error>((opened, channel.meter().clone()))
        };
        let (other, table) = two_party::run(
            Link::Memory,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        [other, table]
    }

    fn assert_right(&self) {
        let [(other, _), (table, _)] = self.run();
        let (learned, nothing) = match self.plan.cells.learner {
            Owner::Table => (table, other),
            Owner::Other => (other, table),
        };
        assert_eq!(nothing, None, "{:?}", self.plan);
        assert_eq!(learned, Some(self.expected()), "{:?}", self.plan);
    }
}

fn column(owner: Owner, index: usize) -> Column {
    Column { owner, index }
}

fn term(column: Column, times: Option<Column>, width: Width) -> Term {
    Term { column: Some(column), times, is_of_item: false, width, noise: None }
}

/// Every kind of term: sums, squares and products of each party's columns, and of both parties'.
fn all_terms() -> Vec<Term> {
    let [t, u] = [0, 1].map(|i| column(Owner::Table, i));
    let [s, r] = [0, 1].map(|i| column(Owner::Other, i));
    vec![
        term(t, None, Width::Bits64),
        term(s, None, Width::Bits32),
        term(s, Some(s), Width::Bits128),
        term(t, Some(s), Width::Bits64),
        term(u, None, Width::Bits64),
        term(t, Some(u), Width::Bits64),
        term(r, Some(u), Width::Bits128),
        term(r, None, Width::Bits64),
    ]
}

fn plan(sender: usize, receiver: usize) -> Plan {
    Plan {
        sizes: Sizes { sender, receiver },
        partitions: 1,
        factor_bits: 16,
        terms: all_terms(),
        groups: 1,
        other_groups: 1,
        lookup: None,
        people: None,
        cells: Cells::default(),
    }
}

#[test]
fn cells_are_as_in_the_clear() {
    let sizes =
        [(0, 0, 0), (1, 1, 1), (1, 0, 0), (0, 5, 0), (100, 80, 40), (300, 200, 200), (50, 500, 20)];
    for (i, (sender, receiver, shared)) in sizes.into_iter().enumerate() {
        for groups in [1, 2, 5, 33] {
            for learner in [Owner::Table, Owner::Other] {
                let cells = Cells { learner, ..Cells::default() };
                let plan = Plan { groups, cells, ..plan(sender, receiver) };
                Case::new(plan, shared, i as u64).assert_right();
            }
        }
    }
}

#[test]
fn each_term_can_stand_alone() {
    for term in all_terms() {
        for (shows_count, groups) in [(true, 1), (false, 1), (false, 4)] {
            let cells = Cells { shows_count, ..Cells::default() };
            let plan = Plan { terms: vec![term], groups, cells, ..plan(60, 70) };
            Case::new(plan, 30, 3).assert_right();
        }
    }
    Case::new(Plan { terms: vec![], groups: 7, ..plan(60, 70) }, 30, 4).assert_right();
}

#[test]
fn cells_with_too_few_matches_are_withheld() {
    for learner in [Owner::Table, Owner::Other] {
        for (least, remainder, shows_count) in [
            (1, false, true),
            (4, false, false),
            (6, true, true),
            (9, true, false),
            (1000, true, true),
        ] {
            let text_len = if learner == Owner::Other && !remainder { 5 } else { 0 };
            let cells =
                Cells { learner, least, remainder, shows_count, text_len, ..Cells::default() };
            for groups in [2, 13, 16] {
                let plan = Plan { groups, cells, ..plan(120, 130) };
                Case::new(plan, 90, least + groups as u64).assert_right();
            }
        }
    }
    let cells = Cells {
        learner: Owner::Other,
        least: 5,
        remainder: true,
        text_len: 32,
        ..Cells::default()
    };
    Case::new(Plan { groups: 9, cells, ..plan(120, 130) }, 60, 1).assert_right();
}

/// Labels of both parties, or of S only.
#[test]
fn labels_of_both_make_cells_together() {
    let product_of_table = |term: &Term| {
        let owners = [term.column, term.times].map(|one| one.map(|one| one.owner));
        owners == [Some(Owner::Table); 2]
    };
    let terms: Vec<_> = all_terms().into_iter().filter(|term| !product_of_table(term)).collect();
    for (i, (groups, other_groups)) in [(1, 3), (4, 2), (3, 5)].into_iter().enumerate() {
        for learner in [Owner::Table, Owner::Other] {
            for (least, remainder) in [(0, false), (3, true)] {
                let cells = Cells { learner, least, remainder, ..Cells::default() };
                let plan =
                    Plan { groups, other_groups, terms: terms.clone(), cells, ..plan(90, 120) };
                Case::new(plan, 60, i as u64).assert_right();
            }
        }
    }
    let cells = Cells { least: 2, text_len: 3, learner: Owner::Other, ..Cells::default() };
    let plan = Plan { groups: 4, other_groups: 2, terms: Vec::new(), cells, ..plan(50, 70) };
    Case::new(plan, 30, 9).assert_right();
}

/// A cell with k − 1 matches is withheld, one with k is not, and one with none looks like one with k − 1.
#[test]
fn the_minimum_is_exact() {
    let cells = Cells { least: 4, ..Cells::default() };
    let terms = vec![term(column(Owner::Other, 0), None, Width::Bits64)];
    let mut case = Case::new(Plan { groups: 3, terms, cells, ..plan(20, 20) }, 7, 2);
    case.table.counted.fill(true);
    case.other.counted.fill(true);
    case.table.labels = (0..20).map(|i| if i < 3 { 0 } else { 1 }).collect();
    let [_, (opened, _)] = case.run();
    let opened = opened.unwrap().cells;
    assert_eq!(opened[1].as_ref().unwrap().count, Some(4));
    assert_eq!((&opened[0], &opened[2]), (&None, &None));
}

#[test]
fn only_whether_a_threshold_is_reached_is_shown() {
    for threshold in [0, 1, 10, 11, 1 << 40] {
        for least in [0, 5] {
            let cells =
                Cells { threshold: Some(threshold), least, shows_count: false, ..Cells::default() };
            let mut case = Case::new(Plan { terms: vec![], cells, ..plan(30, 30) }, 10, 2);
            case.table.counted.fill(true);
            case.other.counted.fill(true);
            case.assert_right();
        }
    }
}

#[test]
fn there_may_be_as_many_groups_as_allowed() {
    let terms = vec![term(column(Owner::Other, 0), None, Width::Bits64)];
    let cells = Cells { least: 2, ..Cells::default() };
    Case::new(Plan { groups: MAX_GROUPS, terms, cells, ..plan(300, 300) }, 200, 1).assert_right();
}

/// Partitions are compared one by one; only their total is opened.
#[test]
fn partitions_add_up() {
    for (least, groups) in [(0, 1), (0, 6), (8, 6)] {
        let cells = Cells { least, ..Cells::default() };
        let plan = Plan { partitions: 3, groups, cells, ..plan(60, 70) };
        let parts: Vec<Case> = (0..3).map(|i| Case::new(plan.clone(), 20 + i, i as u64)).collect();
        let party = |owner, channel: &mut vesica_net::Channel, rng: &mut dyn rand::CryptoRng| {
            let mut total: Option<CellShares> = None;
            for case in &parts {
                let side = if owner == Owner::Table { &case.table } else { &case.other };
                let columns: Vec<&[i64]> = side.columns.iter().map(|column| &column[..]).collect();
                let party = plan.on_partition().party(owner == Owner::Table, channel, rng)?;
                let share = party.run(case.input(owner, &columns), channel, rng)?;
                let share = CellShares::from_bytes(&plan, share.as_bytes()).unwrap();
                match &mut total {
                    Some(total) => total.add(&plan, &share),
                    None => total = Some(share),
                }
            }
            let mut noise = StdRng::seed_from_u64(1);
            plan.open(owner, &total.unwrap(), &[], channel, rng, &mut noise)
        };
        let (other, table) = two_party::run(
            Link::Memory,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        assert_eq!(other, None);
        let opened = table.unwrap();
        let all: Vec<_> = parts.iter().map(Case::cells).collect();
        for (group, cell) in opened.cells.iter().enumerate() {
            let count: u64 = all.iter().map(|cells| cells[group].0).sum();
            assert_eq!(cell.is_some(), count >= least);
            let Some(cell) = cell else { continue };
            assert_eq!(cell.count, Some(count.into()));
            for (term, sum) in cell.sums.iter().enumerate() {
                assert_eq!(*sum, all.iter().map(|cells| cells[group].1[term]).sum::<i128>());
            }
        }
    }
}

/// Runs that differ in labels, marks, values and matches send equally many bytes, and as many as predicted.
#[test]
fn lengths_depend_on_the_plan_only() {
    let judged = Cells { least: 3, remainder: true, ..Cells::default() };
    let texts = Cells { learner: Owner::Other, least: 3, text_len: 8, ..Cells::default() };
    for cells in
        [Cells::default(), Cells { learner: Owner::Other, ..Cells::default() }, judged, texts]
    {
        for groups in [1, 10] {
            let plan = Plan { groups, cells, ..plan(700, 900) };
            let sent = [0, 350, 700].map(|shared| {
                let mut case = Case::new(plan.clone(), shared, shared as u64);
                if shared == 350 {
                    case.table.labels.fill(0);
                    case.table.counted.fill(false);
                    case.other.columns.iter_mut().for_each(|column| column.fill(0));
                }
                case.run().map(|(_, sent)| sent)
            });
            assert!(sent.iter().all(|bytes| *bytes == sent[0]), "{sent:?}");
            let cost = plan.cost();
            for (real, predicted) in
                sent[0].iter().zip([cost.bytes_to_receiver, cost.bytes_to_sender])
            {
                let off = *real as f64 / predicted;
                assert!(
                    (1.0..1.05).contains(&off),
                    "{real} bytes, {predicted} predicted: {plan:?}"
                );
            }
        }
    }
}

#[test]
fn values_whose_sums_could_wrap_are_refused() {
    let n = 3;
    let one = |width, times: Option<Column>, owner| Plan {
        terms: vec![term(column(owner, 0), times, width)],
        ..plan(n, n)
    };
    let items: Vec<Block> = (0..n as u128).map(Block).collect();
    let check = |plan: &Plan, owner, values: [i64; 3]| {
        let columns = [&values[..], &values[..]];
        plan.check(owner, Input { columns: &columns, ..Input::new(Items::from(&items[..])) })
    };
    let own = |owner| Some(column(owner, 0));
    for owner in [Owner::Table, Owner::Other] {
        let refused =
            |plan: &Plan, values| matches!(check(plan, owner, values), Err(Error::SumTooLarge));
        let sum = one(Width::Bits64, None, owner);
        assert!(!refused(&sum, [i64::MAX, 0, 0]) && refused(&sum, [i64::MAX, 0, -1]));
        let sum = one(Width::Bits32, None, owner);
        assert!(
            !refused(&sum, [1 << 30, -(1 << 30) + 1, 0]) && refused(&sum, [1 << 30, 1 << 30, 0])
        );
        let square = one(Width::Bits64, own(owner), owner);
        assert!(
            !refused(&square, [3_037_000_499, 0, 0]) && refused(&square, [3_037_000_500, 0, 0])
        );
        let square = one(Width::Bits128, own(owner), owner);
        assert!(!refused(&square, [i64::MIN, 0, 0]) && refused(&square, [i64::MIN, i64::MIN, 0]));
    }
    let product = one(Width::Bits64, own(Owner::Other), Owner::Table);
    let refused = |owner, values| matches!(check(&product, owner, values), Err(Error::SumTooLarge));
    assert!(!refused(Owner::Table, [32_767, -32_768, 0]) && refused(Owner::Table, [32_768, 0, 0]));
    assert!(
        !refused(Owner::Other, [(1 << 48) - 1, 0, 0]) && refused(Owner::Other, [1 << 48, 0, 0])
    );
}
