//! Matches that count only if T's table has a label at S's position.

use vesica_testkit::assurance;

use super::*;

fn looked_up(positions: usize, labels: usize, plan: Plan) -> Plan {
    Plan { lookup: Some(Lookup { positions, labels, rows: 1 }), ..plan }
}

/// The same with several rows of an item.
fn with_rows(rows: usize, plan: Plan) -> Plan {
    Plan { lookup: plan.lookup.map(|lookup| Lookup { rows, ..lookup }), ..plan }
}

/// A sum of each side, and one of both.
fn few_terms() -> Vec<Term> {
    let [t, s] = [Owner::Table, Owner::Other].map(|owner| column(owner, 0));
    vec![
        term(t, Some(s), Width::Bits64),
        term(s, None, Width::Bits64),
        term(t, None, Width::Bits64),
    ]
}

/// Returns whether a case of a grid is tried: with every change one in three, by the sum of its coordinates, so that
/// any value of one coordinate meets some of another.
fn is_tried(sum: usize) -> bool {
    assurance::is_in_full() || sum.is_multiple_of(3)
}

#[test]
fn cells_are_as_in_the_clear() {
    let sizes = [(0, 0, 0), (1, 1, 1), (1, 0, 0), (0, 5, 0), (100, 80, 60), (50, 300, 20)];
    for (i, (sender, receiver, shared)) in sizes.into_iter().enumerate() {
        for (j, (positions, labels)) in [(2, 1), (4, 3), (64, 4), (64, 8)].into_iter().enumerate() {
            let groups = [(1, Owner::Table), (3, Owner::Other), (16, Owner::Table)];
            for (k, (groups, learner)) in groups.into_iter().enumerate() {
                if !is_tried(i + j + k) {
                    continue;
                }
                let cells = Cells { learner, ..Cells::default() };
                let plan = Plan { groups, cells, terms: few_terms(), ..plan(sender, receiver) };
                Case::new(looked_up(positions, labels, plan), shared, i as u64).assert_right();
            }
        }
    }
}

#[test]
fn every_number_of_labels_and_positions_works() {
    for labels in 1..=8 {
        for log_positions in (1..=6).filter(|log| is_tried(labels + log)) {
            let plan = Plan { terms: Vec::new(), groups: 5, ..plan(40, 50) };
            Case::new(looked_up(1 << log_positions, labels, plan), 30, labels as u64)
                .assert_right();
        }
    }
}

#[test]
fn every_term_can_be_looked_up() {
    for groups in [1, 3] {
        let plan = Plan { groups, ..plan(120, 100) };
        Case::new(looked_up(16, 2, plan), 80, 1).assert_right();
    }
}

/// Every term, for each row and for each item, and the number of rows.
fn terms_of_rows() -> Vec<Term> {
    let of_item = |term| Term { is_of_item: true, ..term };
    let one = Term { column: None, ..few_terms()[1] };
    let terms = all_terms().into_iter().chain(all_terms().into_iter().map(of_item));
    terms.chain([one, of_item(one)]).collect()
}

#[test]
fn each_row_of_an_item_counts_by_itself() {
    for (sender, receiver, shared, rows, labels, groups) in [
        (0, 0, 0, 2, 2, 3),
        (1, 1, 1, 3, 1, 1),
        (0, 5, 0, 2, 2, 3),
        (90, 70, 60, 2, 1, 1),
        (40, 70, 30, 3, 2, 5),
    ] {
        let plan = Plan { groups, terms: terms_of_rows(), ..plan(sender, receiver) };
        let plan = with_rows(rows, looked_up(8, labels, plan));
        Case::new(plan, shared, rows as u64).assert_right();
    }
    for (rows, labels) in [(1, 2), (2, 2), (5, 3), (16, 8)] {
        let cells = Cells { shows_count: rows % 2 == 0, ..Cells::default() };
        let one = Term { column: None, ..few_terms()[1] };
        let plan = Plan { groups: 4, terms: vec![one], cells, ..plan(40, 50) };
        Case::new(with_rows(rows, looked_up(4, labels, plan)), 30, rows as u64).assert_right();
    }
}

/// The minimum is one of items, and rows of one item do not reach it.
#[test]
fn a_minimum_counts_items_and_not_rows() {
    for (groups, other_groups, labels) in [(1, 3, 2), (3, 2, 1), (4, 1, 3)] {
        for learner in [Owner::Table, Owner::Other] {
            let remainder = labels == 1;
            let cells = Cells { learner, least: 7, remainder, ..Cells::default() };
            let one = Term { column: None, ..few_terms()[1] };
            let terms = few_terms().into_iter().chain([one]).collect();
            let plan = Plan { groups, other_groups, terms, cells, ..plan(90, 120) };
            Case::new(with_rows(3, looked_up(32, labels, plan)), 80, 3).assert_right();
        }
    }
    let cells = Cells { least: 4, ..Cells::default() };
    let plan = Plan { groups: 2, terms: few_terms(), cells, ..plan(20, 20) };
    let mut case = Case::new(with_rows(16, looked_up(2, 1, plan)), 7, 2);
    case.table.counted.fill(true);
    case.other.counted.fill(true);
    case.table.choices.fill(1);
    case.table.labels = (0..20).map(|i| u32::from(i >= 3)).collect();
    let [_, (opened, _)] = case.run();
    let opened = opened.unwrap().cells;
    assert_eq!((&opened[0], opened[1].as_ref().unwrap().count), (&None, Some(4)));
}

/// Nothing counts, everything counts for one label, or only one position does.
#[test]
fn tables_may_have_no_label_or_only_one() {
    for (groups, labels) in [(1, 1), (4, 3)] {
        let plan = Plan { groups, terms: few_terms(), ..plan(60, 70) };
        let mut case = Case::new(looked_up(64, labels, plan), 40, 1);
        case.table.choices.fill(0);
        assert!(case.cells().iter().all(|(count, _)| *count == 0));
        case.assert_right();
        case.table.choices.fill(labels as u8);
        case.assert_right();
        let counted: u64 = case.cells().iter().map(|(count, _)| count).sum();
        let mut anywhere = case.clone();
        anywhere.plan.lookup = None;
        anywhere.table.labels.truncate(70);
        let matches: u64 = anywhere.cells().iter().map(|(count, _)| count).sum();
        assert_eq!(counted, matches);
        for position in [0, 31, 63] {
            case.table.choices.fill(0);
            case.table.choices[position..].iter_mut().step_by(64).for_each(|choice| *choice = 1);
            case.other.positions.fill(position as u32);
            case.assert_right();
            assert_eq!(case.cells().iter().map(|(count, _)| count).sum::<u64>(), matches);
            case.other.positions.fill(position as u32 ^ 1);
            case.assert_right();
        }
    }
}

#[test]
fn look_ups_go_with_labels_of_both_and_with_minimums() {
    for (groups, other_groups) in [(1, 3), (3, 2)] {
        for (least, remainder) in [(0, false), (3, true)] {
            for learner in [Owner::Table, Owner::Other] {
                let cells = Cells { learner, least, remainder, ..Cells::default() };
                let plan =
                    Plan { groups, other_groups, terms: few_terms(), cells, ..plan(90, 120) };
                Case::new(looked_up(32, 2, plan), 80, least).assert_right();
            }
        }
    }
    for (groups, least, text_len) in [(1, 5, 0), (6, 2, 4), (6, 4, 0)] {
        let learner = if text_len > 0 { Owner::Other } else { Owner::Table };
        let cells = Cells { learner, least, text_len, ..Cells::default() };
        let plan = Plan { groups, cells, ..plan(120, 130) };
        Case::new(looked_up(8, 4, plan), 100, least).assert_right();
    }
    let cells = Cells { threshold: Some(8), shows_count: false, ..Cells::default() };
    for seed in 0..4 {
        let plan = Plan { terms: Vec::new(), cells, ..plan(30, 30) };
        Case::new(looked_up(4, 1, plan), 25, seed).assert_right();
    }
}

/// With noise on every number, so much that no run shows the exact ones, and so little that it does not hide them.
#[test]
fn cells_that_are_looked_up_can_have_noise() {
    let noise = vesica_params::Laplace::new(1_000_000, 1).unwrap();
    let cells = Cells { count_noise: Some(noise), ..Cells::default() };
    let plan = Plan { terms: Vec::new(), groups: 3, cells, ..plan(400, 400) };
    let case = Case::new(looked_up(16, 2, plan), 300, 1);
    let [_, (opened, _)] = case.run();
    for (cell, (count, _)) in opened.unwrap().cells.iter().zip(case.cells()) {
        let noisy = cell.as_ref().unwrap().count.unwrap();
        assert!((noisy - i128::from(count)).abs() <= 40, "{noisy}, {count}");
    }
}

/// Partitions are compared one by one, with look-ups in each.
#[test]
fn partitions_add_up() {
    for (groups, rows) in [(1, 1), (4, 1), (4, 3)] {
        let cells = Cells { least: 3, ..Cells::default() };
        let plan = Plan { partitions: 2, groups, cells, terms: few_terms(), ..plan(60, 70) };
        let plan = with_rows(rows, looked_up(64, 3, plan));
        let parts = [0, 1].map(|i| Case::new(plan.clone(), 40, i));
        let party = |owner, channel: &mut vesica_net::Channel, rng: &mut dyn rand::CryptoRng| {
            let mut shares = Vec::new();
            for case in &parts {
                let side = if owner == Owner::Table { &case.table } else { &case.other };
                let columns: Vec<&[i64]> = side.columns.iter().map(|column| &column[..]).collect();
                let party = plan.on_partition().party(owner == Owner::Table, channel, rng)?;
                shares.push(party.run(case.input(owner, &columns), channel, rng)?);
            }
            let mut total = shares.remove(0);
            shares.iter().for_each(|share| total.add(&plan, share));
            let mut noise = StdRng::seed_from_u64(1);
            plan.open(owner, &total, &[], channel, rng, &mut noise)
        };
        let (_, table) = two_party::run(
            Link::Memory,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        let all = parts.each_ref().map(Case::cells);
        for (group, cell) in table.unwrap().cells.iter().enumerate() {
            let count = all[0][group].0 + all[1][group].0;
            let expected = (count >= 3).then_some(Some(i128::from(count)));
            assert_eq!(cell.as_ref().map(|cell| cell.count), expected);
        }
    }
}

/// Runs that differ in tables, positions, labels and matches send equally many bytes, and as many as predicted.
#[test]
fn lengths_depend_on_the_plan_only() {
    let judged = Cells { least: 3, remainder: true, ..Cells::default() };
    let of_rows = Cells { remainder: false, ..judged };
    let kinds = [
        (Cells::default(), 64, 4, 1),
        (judged, 64, 8, 1),
        (judged, 4, 3, 1),
        (Cells::default(), 2, 1, 1),
        (Cells::default(), 16, 2, 2),
        (of_rows, 16, 3, 5),
    ];
    for (kind, (cells, positions, labels, rows)) in kinds.into_iter().enumerate() {
        let numbers = [1, 10].into_iter().enumerate();
        for (_, groups) in numbers.filter(|(way, _)| assurance::tries(kind, *way, 2)) {
            let plan = Plan { groups, cells, terms: few_terms(), ..plan(700, 900) };
            let plan = with_rows(rows, looked_up(positions, labels, plan));
            let sent = [0, 350, 700].map(|shared| {
                let mut case = Case::new(plan.clone(), shared, shared as u64);
                if shared == 350 {
                    case.table.choices.fill(0);
                    case.table.labels.fill(0);
                    case.other.positions.fill(1);
                }
                let meters = case.metered().map(|(_, meter)| meter);
                let flights = meters[0].rounds().abs_diff(plan.cost().rounds.into());
                // Calls of the extension share their flights now and then.
                let most = if rows == 1 { 4 } else { meters[0].rounds() / 8 };
                assert!(flights <= most, "{} flights: {plan:?}", meters[0].rounds());
                meters.map(|meter| meter.sent())
            });
            assert!(sent.iter().all(|bytes| *bytes == sent[0]), "{sent:?}");
            let cost = plan.cost();
            let predicted = [cost.bytes_to_receiver, cost.bytes_to_sender];
            for (real, predicted) in sent[0].iter().zip(predicted) {
                let off = *real as f64 / predicted;
                assert!((1.0..1.05).contains(&off), "{real} bytes, {predicted}: {plan:?}");
            }
        }
    }
}

#[test]
fn parties_agree_on_the_look_up() {
    let without = Plan { terms: Vec::new(), ..plan(2, 2) };
    let plans = [
        looked_up(4, 1, without.clone()),
        looked_up(8, 1, without.clone()),
        looked_up(4, 2, without.clone()),
        with_rows(2, looked_up(4, 1, without.clone())),
        without,
    ];
    for (i, mine) in plans.iter().enumerate() {
        for (j, yours) in plans.iter().enumerate() {
            let [other, table] = [(mine, false), (yours, true)];
            let agree = |(plan, receives): (&Plan, bool), channel: &mut vesica_net::Channel| {
                plan.on_sets().agree(receives, channel)
            };
            let (left, right) = two_party::between(
                Link::Memory.connect(),
                two_party::PATIENCE,
                |channel, _| agree(other, channel),
                |channel, _| agree(table, channel),
            );
            assert_eq!(left.is_ok() && right.is_ok(), i == j, "{i} and {j}");
        }
    }
}

#[test]
#[should_panic(expected = "choices are of an item's labels")]
fn choices_are_of_an_items_labels() {
    let items = [Block(1)];
    let plan = looked_up(2, 1, Plan { terms: Vec::new(), ..plan(1, 1) });
    let input = Input { choices: &[0, 2], ..Input::new(Items::from(&items[..])) };
    let _ = plan.check(Owner::Table, input);
}

#[test]
#[should_panic(expected = "positions are below their number")]
fn positions_are_below_their_number() {
    let items = [Block(1)];
    let plan = looked_up(2, 1, Plan { terms: Vec::new(), ..plan(1, 1) });
    let input = Input { positions: &[2], ..Input::new(Items::from(&items[..])) };
    let _ = plan.check(Owner::Other, input);
}
