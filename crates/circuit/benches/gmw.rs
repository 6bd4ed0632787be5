//! Benchmarks of GMW, both parties together: triples, by the extension that makes them, and the online phase.
//!
//! Two threads run at once, beside other programs, so the figure is the CPU time of the process rather than
//! wall-clock time. `RAYON_NUM_THREADS=1` gives each party one thread. Setups are included; they are also
//! measured separately, so that they can be subtracted.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cpu;

use std::{thread, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_circuit::{
    Builder, Circuit, Engine, Party, WireBits,
    gmw::Gmw,
    triples::{Demand, Extension},
};
use vesica_net::{Channel, transport::memory};
use vesica_ot::extension::softspoken::SmallField;

/// AND gates for which triples are made.
const ANDS: usize = 1 << 20;

/// Silent OT: enough for pieces of the same length as with many more triples.
const SILENT_ANDS: usize = 1 << 22;

/// The online comparison: bits of each number, and instances.
const EQUALITY: (usize, usize) = (61, 1 << 17);

fn parties<T: Send>(party: impl Fn(Party, &mut Channel, &mut StdRng) -> T + Sync) -> [T; 2] {
    let (left, right) = memory::pair();
    let run = |role, end, seed| {
        let mut channel = Channel::new(end);
        let made = party(role, &mut channel, &mut StdRng::seed_from_u64(seed));
        channel.finish().unwrap();
        made
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| run(Party::First, left, 1));
        let second = run(Party::Second, right, 2);
        [first.join().unwrap(), second]
    })
}

fn measure(times: u64, mut run: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| run()).sum()
}

fn triples(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("triples");
    group.sample_size(10);
    let vectors = Demand::of([(32, ANDS / 32)]);
    let [softspoken2, softspoken4] = [2, 4].map(|k| Extension::SoftSpoken(SmallField::new(k)));
    for (name, extension, demand) in [
        ("alsz13, setup", Extension::Alsz13, Demand::singles(1)),
        ("alsz13", Extension::Alsz13, Demand::singles(ANDS)),
        ("alsz13, vectors of 32", Extension::Alsz13, vectors.clone()),
        ("softspoken, k = 2", softspoken2, Demand::singles(ANDS)),
        ("softspoken, k = 4", softspoken4, Demand::singles(ANDS)),
        ("silent, setup", Extension::SILENT, Demand::singles(1)),
        ("silent", Extension::SILENT, Demand::singles(SILENT_ANDS)),
        ("silent, vectors of 32", Extension::SILENT, vectors),
    ] {
        group.throughput(Throughput::Elements(demand.ands() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| {
                measure(times, || {
                    let before = cpu::time();
                    drop(parties(|role, channel, rng| {
                        extension.make(role, &demand, channel, rng).unwrap()
                    }));
                    cpu::time() - before
                })
            });
        });
    }
    group.finish();
}

/// Whether two numbers are equal.
fn equality(bits: usize) -> Circuit {
    let mut builder = Builder::new(2 * bits);
    let mut open: Vec<_> = (0..bits as u32)
        .map(|i| {
            let sum = builder.xor(i, bits as u32 + i);
            builder.not(sum)
        })
        .collect();
    while open.len() > 1 {
        let pairs = open.chunks(2).map(|pair| match *pair {
            [left, right] => builder.and(left, right),
            _ => pair[0],
        });
        open = pairs.collect();
    }
    builder.finish(open)
}

fn online(criterion: &mut Criterion) {
    let (bits, instances) = EQUALITY;
    let circuit = equality(bits);
    let demand = Demand::of_ands(&circuit, instances);
    let inputs = WireBits::random(2 * bits, instances, &mut StdRng::seed_from_u64(1));
    let mut group = criterion.benchmark_group("online");
    group.sample_size(10).throughput(Throughput::Elements(demand.ands() as u64));
    group.bench_function("equality of 61 bits", |bencher| {
        bencher.iter_custom(|times| {
            measure(times, || {
                let spent = parties(|role, channel, rng| {
                    let triples = Extension::SILENT.make(role, &demand, channel, rng).unwrap();
                    let mut gmw = Gmw::new(role, triples, channel);
                    let before = cpu::thread_time();
                    gmw.run(&circuit, &inputs).unwrap();
                    cpu::thread_time() - before
                });
                spent.iter().sum()
            })
        });
    });
    group.finish();
}

criterion_group!(benches, triples, online);
criterion_main!(benches);
