//! Times numbers by group over hidden matches, in one process with one thread a party.
//!
//! `cargo run --release -p vesica-psi --example select -- [LOG2_ITEMS] [ROUNDS] [NUMBER...]` takes the runs with these
//! numbers by turns, or all. It prints for each the number, the median seconds, the bytes that both parties send, and
//! the median ratio to the first run's time in the same round. The run with number 0 reveals the matches.

use std::time::Instant;

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_circuit::Width;
use vesica_net::Channel;
use vesica_params::Laplace;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Set, Sizes,
    circuit_psi::rs21::SILENT,
    receive,
    select::{Cells, Column, Input, Lookup, Owner, Plan, Term},
    send,
};
use vesica_testkit::two_party::{Link, PATIENCE, between};

fn plans(items: usize) -> Vec<(String, Plan)> {
    let sizes = Sizes { sender: items, receiver: items };
    let sum = |owner, index| Term {
        column: Some(Column { owner, index }),
        times: None,
        is_of_item: false,
        width: Width::Bits64,
        noise: None,
    };
    let plan = |terms: Vec<Term>, groups, least| Plan {
        sizes,
        partitions: 1,
        factor_bits: 16,
        terms,
        groups,
        other_groups: 1,
        lookup: None,
        people: None,
        cells: Cells { least, ..Cells::default() },
    };
    let mut plans = vec![("count".to_owned(), plan(vec![], 1, 0))];
    plans.push(("count, sum of S".to_owned(), plan(vec![sum(Owner::Other, 0)], 1, 0)));
    let five = (0..5).map(|i| sum(Owner::Table, i)).collect();
    plans.push(("count, five sums of T".to_owned(), plan(five, 1, 0)));
    for groups in [4, 16, 64, 1024] {
        let name = format!("count, sum of S, {groups} groups of at least 50");
        plans.push((name, plan(vec![sum(Owner::Other, 0)], groups, 50)));
    }
    let noise = |sensitivity| Laplace::new(500_000, sensitivity);
    let noisy_sum = Term { noise: noise(50_000), ..sum(Owner::Other, 0) };
    let noisy = Cells { count_noise: noise(1), least: 50, ..Cells::default() };
    let name = "count, sum of S, 1024 groups of at least 50, with noise".to_owned();
    plans.push((name, Plan { cells: noisy, ..plan(vec![noisy_sum], 1024, 50) }));
    for (labels, groups, rows) in [(1, 1, 1), (4, 16, 1), (4, 16, 4)] {
        let name = format!(
            "count, sum of S, {groups} groups, {labels} labels by 64 positions, {rows} rows"
        );
        let lookup = Some(Lookup { positions: 64, labels, rows });
        let plan = plan(vec![sum(Owner::Other, 0)], groups, 0);
        plans.push((name, Plan { lookup, ..plan }));
    }
    for most in [1, 8] {
        let name = format!("count, sum of T, people of {most} items");
        let plan = plan(vec![sum(Owner::Table, 0)], 1, 0);
        plans.push((name, Plan { people: Some(most), ..plan }));
    }
    plans
}

/// Returns the seconds of a run that reveals the matches, and the bytes that both parties sent.
fn time_of_matches(sets: &[Set; 2]) -> (f64, u64) {
    let start = Instant::now();
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| {
            send(&SILENT, sets[0].items(), 0..=sets[1].len(), channel, rng)?;
            Ok::<_, Error>(channel.meter().sent())
        },
        |channel, rng| {
            receive(&SILENT, sets[1].items(), 0..=sets[0].len(), channel, rng)?;
            Ok::<_, Error>(channel.meter().sent())
        },
    );
    let seconds = start.elapsed().as_secs_f64();
    (seconds, sent.expect("the sender ends well") + received.expect("the receiver ends well"))
}

/// Returns the seconds of a run, and the bytes that both parties sent.
fn time(plan: &Plan, sets: &[Set; 2]) -> (f64, u64) {
    let n = plan.sizes.sender;
    let Lookup { positions, labels, rows } =
        plan.lookup.unwrap_or(Lookup { positions: 0, labels: 1, rows: 1 });
    let values = vec![(0..(n * rows) as i64).collect::<Vec<_>>(); 5];
    let choices: Vec<u8> = (0..n * positions).map(|i| (i % (labels + 1)) as u8).collect();
    let of_other: Vec<u32> = match positions {
        0 => Vec::new(),
        _ => (0..n * rows).map(|i| (i % positions) as u32).collect(),
    };
    let person = |most: usize| (0..n).map(|i| Some((i / most) as u32)).collect();
    let people: Vec<Option<u32>> = plan.people.map(person).unwrap_or_default();
    let labels: Vec<u32> = (0..n * labels).map(|i| (i % plan.groups) as u32).collect();
    let party = |owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
        let receives = owner == Owner::Table;
        let labels = if receives && plan.groups > 1 { &labels[..] } else { &[] };
        let items = sets[usize::from(receives)].items();
        let values_len = if receives { n } else { n * rows };
        let columns: Vec<&[i64]> = values.iter().map(|column| &column[..values_len]).collect();
        let party = plan.on_sets().party(receives, channel, rng)?;
        let input = Input { columns: &columns, labels, ..Input::new(items) };
        let input = match owner {
            Owner::Table => Input { choices: &choices, people: &people, ..input },
            Owner::Other => Input { positions: &of_other, ..input },
        };
        party.run(input, channel, rng)?;
        Ok::<_, Error>(channel.meter().sent())
    };
    let start = Instant::now();
    let (other, table) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| party(Owner::Other, channel, rng),
        |channel, rng| party(Owner::Table, channel, rng),
    );
    let seconds = start.elapsed().as_secs_f64();
    (seconds, other.expect("S ends well") + table.expect("T ends well"))
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let items = 1 << args.next().unwrap_or(16_usize);
    let rounds = args.next().unwrap_or(3);
    let mut rng = StdRng::seed_from_u64(1);
    let shared: Vec<Block> = (0..items / 2).map(|_| Block::random(&mut rng)).collect();
    let mut set = || {
        let mut set = shared.clone();
        set.resize_with(items, || Block::random(&mut rng));
        Set::short(set)
    };
    let sets = [set(), set()];
    let plans = plans(items).into_iter().map(|(name, plan)| (name, Some(plan)));
    let mut runs: Vec<_> = std::iter::once(("matches".to_owned(), None)).chain(plans).collect();
    let chosen: Vec<usize> = args.collect();
    let all = runs.len();
    let chosen = if chosen.is_empty() { (0..all).collect() } else { chosen };
    runs = chosen.iter().map(|number| runs[*number].clone()).collect();
    let mut times = vec![Vec::new(); runs.len()];
    let mut sent = vec![0; runs.len()];
    for _ in 0..rounds {
        for (i, (_, plan)) in runs.iter().enumerate() {
            let (seconds, bytes) = match plan {
                Some(plan) => time(plan, &sets),
                None => time_of_matches(&sets),
            };
            times[i].push(seconds);
            sent[i] = bytes;
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let results = chosen.iter().zip(&runs).zip(times.iter().zip(&sent));
    for ((number, (name, _)), (of_plan, sent)) in results {
        let ratios = of_plan.iter().zip(&times[0]).map(|(a, b)| a / b).collect();
        let (seconds, ratio) = (median(of_plan.clone()), median(ratios));
        let megabytes = *sent as f64 / 1e6;
        println!("{number}. {name}: {seconds:.2} s, {megabytes:.1} MB, {ratio:.2} of the first");
    }
}
