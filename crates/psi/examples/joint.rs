//! Times rows among several parties, in one process with one thread a party.
//!
//! `cargo run --release -p vesica-psi --example joint -- [PARTIES] [ROUNDS] [LOG2_ITEMS]…` prints for each size the
//! median seconds, and the megabytes that all parties send, beside the prediction.

use std::time::Instant;

use rand::{SeedableRng, rngs::StdRng};
use rayon::ThreadPoolBuilder;
use vesica_net::Mesh;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Items,
    joint::{JointPlan, JointRows},
};
use vesica_testkit::{parties, two_party::Link};

/// Sets of `items` items; all parties have half of them.
fn sets(parties: usize, items: usize) -> Vec<Vec<Block>> {
    let mut rng = StdRng::seed_from_u64(1);
    let shared: Vec<Block> = (0..items / 2).map(|_| Block::random(&mut rng)).collect();
    let mut set = || {
        let mut set = shared.clone();
        set.resize_with(items, || Block::random(&mut rng));
        set
    };
    (0..parties).map(|_| set()).collect()
}

/// Returns the seconds of a run, and the bytes that all parties sent.
fn time(plan: &JointPlan, sets: &[Vec<Block>]) -> (f64, u64) {
    let party = |me: usize, channels: &mut [vesica_net::Channel], rng: &mut StdRng| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
        pool.install(|| {
            let mut mesh = Mesh::new(me, channels);
            let found = JointRows::new(plan).run(Items::from(&sets[me][..]), &mut mesh, rng)?;
            if let Some(found) = found {
                assert_eq!(found.len(), sets[me].len() / 2, "the items that all have");
            }
            Ok::<_, Error>(mesh.sent())
        })
    };
    let start = Instant::now();
    let sent = parties::run(sets.len(), Link::Memory, party);
    (start.elapsed().as_secs_f64(), sent.iter().sum())
}

fn main() {
    let mut args = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let parties = args.next().unwrap_or(3);
    let rounds = args.next().unwrap_or(3);
    let mut sizes: Vec<usize> = args.collect();
    if sizes.is_empty() {
        sizes = vec![16, 20];
    }
    for log2 in sizes {
        let sets = sets(parties, 1 << log2);
        let plan = JointPlan::new(vec![1 << log2; parties], 0, 1, [0; 32]).expect("few items");
        let predicted = JointRows::new(&plan).cost().bytes / 1e6;
        let mut runs: Vec<(f64, u64)> = (0..rounds).map(|_| time(&plan, &sets)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((best, _), (median, sent)) = (runs[0], runs[rounds / 2]);
        let sent = sent as f64 / 1e6;
        println!(
            "{parties} x 2^{log2}: {median:.2} s ({best:.2} at best), {sent:.1} MB, {predicted:.1} predicted"
        );
    }
}
