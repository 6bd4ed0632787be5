//! Benchmarks of base OTs: wall-clock time from the first message to the last seed of both parties, each on a
//! thread of its own, connected by memory.
//!
//! One party often waits for the other, and otherwise uses all cores, so other running programs affect the
//! results.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::{
    thread,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, transport::memory};
use vesica_ot::base::{BaseOt, co15::Co15, mr19::Mr19, np01::Np01};
use vesica_primitives::{
    Bits,
    group::{Ffdhe3072, Group, Ristretto},
};

/// Numbers of OTs, as extensions need them for their codes.
const SIZES: [usize; 4] = [128, 256, 512, 1024];

/// Time of `times` runs of both parties.
fn parties<B: BaseOt>(n: usize, times: u64) -> Duration {
    let choices = Bits::random(n, &mut StdRng::seed_from_u64(n as u64));
    let mut total = Duration::ZERO;
    for seed in 0..times {
        let (left, right) = memory::pair();
        let (mut left, mut right) = (Channel::new(left), Channel::new(right));
        let start = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| B::send(n, &mut left, &mut StdRng::seed_from_u64(2 * seed)).unwrap());
            B::receive(&choices, &mut right, &mut StdRng::seed_from_u64(2 * seed + 1)).unwrap();
        });
        total += start.elapsed();
    }
    total
}

fn base<B: BaseOt>(criterion: &mut Criterion, name: &str) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10);
    for n in SIZES {
        group.bench_function(BenchmarkId::from_parameter(n), |bencher| {
            bencher.iter_custom(|times| parties::<B>(n, times));
        });
    }
    group.finish();
}

fn over<G: Group>(criterion: &mut Criterion) {
    base::<Np01<G>>(criterion, &format!("np01, {}", G::NAME));
    base::<Co15<G>>(criterion, &format!("co15, {}", G::NAME));
    base::<Mr19<G>>(criterion, &format!("mr19, {}", G::NAME));
}

criterion_group!(benches, over::<Ristretto>, over::<Ffdhe3072>);
criterion_main!(benches);
