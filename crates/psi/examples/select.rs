//! Times numbers by group over hidden matches, in one process with one thread a party.
//!
//! `cargo run --release -p vesica-psi --example select -- [LOG2_ITEMS] [ROUNDS]` takes the plans by turns and prints
//! the median seconds, the bytes that both parties send, and the median ratio to the first plan's time in the same
//! round.

use std::time::Instant;

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_circuit::Width;
use vesica_net::Channel;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Set, Sizes,
    select::{Cells, Column, Input, Lookup, Owner, Plan, Term},
};
use vesica_testkit::two_party::{Link, PATIENCE, between};

fn plans(items: usize) -> Vec<(String, Plan)> {
    let sizes = Sizes { sender: items, receiver: items };
    let sum = |owner, index| Term {
        column: Column { owner, index },
        times: None,
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
    for (labels, groups) in [(1, 1), (4, 16)] {
        let name = format!("count, sum of S, {groups} groups, {labels} labels by 64 positions");
        let lookup = Some(Lookup { positions: 64, labels });
        let plan = plan(vec![sum(Owner::Other, 0)], groups, 0);
        plans.push((name, Plan { lookup, ..plan }));
    }
    plans
}

/// Returns the seconds of a run, and the bytes that both parties sent.
fn time(plan: &Plan, sets: &[Set; 2]) -> (f64, u64) {
    let n = plan.sizes.sender;
    let values = vec![(0..n as i64).collect::<Vec<_>>(); 5];
    let columns: Vec<&[i64]> = values.iter().map(|column| &column[..]).collect();
    let Lookup { positions, labels } = plan.lookup.unwrap_or(Lookup { positions: 0, labels: 1 });
    let choices: Vec<u8> = (0..n * positions).map(|i| (i % (labels + 1)) as u8).collect();
    let of_other: Vec<u32> = match positions {
        0 => Vec::new(),
        _ => (0..n).map(|i| (i % positions) as u32).collect(),
    };
    let labels: Vec<u32> = (0..n * labels).map(|i| (i % plan.groups) as u32).collect();
    let party = |owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
        let receives = owner == Owner::Table;
        let labels = if receives && plan.groups > 1 { &labels[..] } else { &[] };
        let items = sets[usize::from(receives)].items();
        let party = plan.on_sets().party(receives, channel, rng)?;
        let input = Input { columns: &columns, labels, ..Input::new(items) };
        let input = match owner {
            Owner::Table => Input { choices: &choices, ..input },
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
    let plans = plans(items);
    let mut times = vec![Vec::new(); plans.len()];
    let mut sent = vec![0; plans.len()];
    for _ in 0..rounds {
        for (i, (_, plan)) in plans.iter().enumerate() {
            let (seconds, bytes) = time(plan, &sets);
            times[i].push(seconds);
            sent[i] = bytes;
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    for ((name, _), (of_plan, sent)) in plans.iter().zip(times.iter().zip(&sent)) {
        let ratios = of_plan.iter().zip(&times[0]).map(|(a, b)| a / b).collect();
        let (seconds, ratio) = (median(of_plan.clone()), median(ratios));
        let megabytes = *sent as f64 / 1e6;
        println!("{name}: {seconds:.2} s, {megabytes:.1} MB, {ratio:.2} of the first");
    }
}
