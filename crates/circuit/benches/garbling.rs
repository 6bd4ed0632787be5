//! Benchmarks of garbled circuits, each party by itself: equality of 64-bit numbers in 2^16 instances.
//!
//! The garbler's output is discarded and the evaluator reads a recording, so neither waits. Other programs may
//! be running, so the figure is the CPU time of the process, over all its threads.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "../../ot/benches/cpu/mod.rs"]
mod cpu;

use std::{
    io::{self, Read, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_circuit::{
    Engine, Party, Values, WireBits,
    gadgets::{Comparison, compare, select},
    garbling::{Evaluator, Garbler},
    plain,
    programs::waksman,
};
use vesica_net::Channel;
use vesica_primitives::{Block, aes::Rekeyed};
use vesica_testkit::ideal;

const WIDTH: usize = 64;
const INSTANCES: usize = 1 << 16;

/// Records what is written, if enabled, and replays an earlier recording.
#[derive(Clone, Default)]
struct Tape {
    written: Option<Arc<Mutex<Vec<u8>>>>,
    read: Arc<Vec<u8>>,
    at: usize,
}

impl Read for Tape {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = buf.len().min(self.read.len() - self.at);
        buf[..n].copy_from_slice(&self.read[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Tape {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if let Some(written) = &self.written {
            written.lock().unwrap().extend_from_slice(buf);
        }
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// CPU time of running equality `times` times as the garbler.
fn garble(times: u64, tape: Tape) -> Duration {
    let (circuit, mut channel) = (compare::equality(WIDTH), Channel::new(tape));
    let mut rng = StdRng::seed_from_u64(1);
    let mut garbler = Garbler::new(ideal::ot(1).0, &mut channel, &mut rng).unwrap();
    let inputs = WireBits::random(2 * WIDTH, INSTANCES, &mut rng);
    let inputs = garbler.input(Party::First, 2 * WIDTH, INSTANCES, Some(&inputs)).unwrap();
    let before = cpu::time();
    (0..times).for_each(|_| drop(garbler.run(&circuit, &inputs).unwrap()));
    let took = cpu::time() - before;
    garbler.channel().flush().unwrap();
    took
}

/// CPU time of running it once as the evaluator.
fn evaluate(tape: Tape) -> Duration {
    let (circuit, mut channel) = (compare::equality(WIDTH), Channel::new(tape));
    let mut evaluator = Evaluator::new(ideal::ot(1).1, &mut channel).unwrap();
    let inputs = evaluator.input(Party::First, 2 * WIDTH, INSTANCES, None).unwrap();
    let before = cpu::time();
    drop(evaluator.run(&circuit, &inputs).unwrap());
    cpu::time() - before
}

fn parties(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("equality of 64 bits, 2^16 instances");
    let ands = (compare::equality(WIDTH).ands() * INSTANCES) as u64;
    group.sample_size(10).throughput(Throughput::Elements(ands));
    group.bench_function("garbler, AND gates", |bencher| {
        bencher.iter_custom(|times| garble(times, Tape::default()));
    });
    let written = Arc::new(Mutex::new(Vec::new()));
    garble(1, Tape { written: Some(written.clone()), ..Tape::default() });
    let read = Arc::new(std::mem::take(&mut *written.lock().unwrap()));
    group.bench_function("evaluator, AND gates", |bencher| {
        bencher.iter_custom(|times| {
            (0..times).map(|_| evaluate(Tape { read: read.clone(), ..Tape::default() })).sum()
        });
    });
    group.finish();
}

fn hash(criterion: &mut Criterion) {
    const ROWS: usize = 256;
    let mut group = criterion.benchmark_group("hash with a key for each index");
    group.throughput(Throughput::Elements(ROWS as u64));
    let hash = Rekeyed::new(Block(7));
    let mut pairs = [[Block(1), Block(2)]; ROWS];
    group.bench_function("two blocks", |bencher| bencher.iter(|| hash.apply(5, &mut pairs)));
    let mut blocks = [[Block(1)]; ROWS];
    group.bench_function("one block", |bencher| bencher.iter(|| hash.apply(5, &mut blocks)));
    group.finish();
}

fn wire_bits(criterion: &mut Criterion) {
    const MANY: usize = 1 << 20;
    let mut group = criterion.benchmark_group("2^20 instances of 64 wires");
    group.sample_size(10).throughput(Throughput::Elements(MANY as u64));
    let mut rng = StdRng::seed_from_u64(1);
    let bits = WireBits::random(WIDTH, MANY, &mut rng);
    let items = bits.to_items();
    let order = waksman::random(MANY, &mut rng);
    let of = |f: &dyn Fn()| {
        let before = cpu::time();
        f();
        cpu::time() - before
    };
    let mut bench = |name: &str, f: &dyn Fn()| {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| of(f)).sum());
        });
    };
    bench("from items", &|| drop(WireBits::from_items(&items, WIDTH)));
    bench("to items", &|| drop(bits.to_items()));
    bench("gather in random order", &|| drop(bits.gather(&order)));
    bench("join with itself", &|| drop(WireBits::join(&[&bits, &bits])));
    let both = WireBits::stack(&[&bits, &bits]);
    let sorter = select::sorter(WIDTH, Comparison::Small);
    bench("compare and swap in the clear", &|| drop(plain::run(&sorter, &both)));
    group.finish();
}

fn settings(criterion: &mut Criterion) {
    let mut rng = StdRng::seed_from_u64(1);
    let order = waksman::random(1 << 16, &mut rng);
    let network = waksman::Network::new(1 << 16);
    criterion.bench_function("settings of a network of 2^16", |bencher| {
        bencher.iter(|| network.settings(&order));
    });
}

criterion_group!(benches, hash, parties, wire_bits, settings);
criterion_main!(benches);
