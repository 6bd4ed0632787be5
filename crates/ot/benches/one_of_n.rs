//! Benchmarks of 1-out-of-n OT, both parties together: the receiver's key and the sender's key at one word of
//! each OT.
//!
//! Two threads run at once, beside other programs, so the figure is the CPU time of the process rather than
//! wall-clock time. Setups are not included.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cpu;

use std::{sync::Barrier, thread, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{CryptoRng, RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result, transport::memory};
use vesica_ot::one_of_n::{Keys, Receiver, Sender, kk13, kkrt16, oos17};
use vesica_params::{LAMBDA, code};
use vesica_primitives::{
    Block,
    code::{Bch, Code, LinearCode, PseudoRandomCode, WalshHadamard},
};

const OTS: usize = 1 << 20;

type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

/// CPU time of `times` runs of random OT.
fn random<S: Sender, R: Receiver>(times: u64, sender: Setup<S>, receiver: Setup<R>) -> Duration {
    let rng = &mut StdRng::seed_from_u64(1);
    let word = |rng: &mut StdRng| Block(rng.random::<u128>() >> (128 - S::WORD_BITS));
    let theirs: Vec<Block> = (0..OTS).map(|_| word(rng)).collect();
    let words: Vec<Block> = (0..OTS).map(|_| word(rng)).collect();
    // Not zeros, which the operating system would provide only when they are first written to.
    let (mut sent, mut received) = (vec![Block(1); OTS], vec![Block(1); OTS]);
    let mut total = Duration::ZERO;
    for seed in 0..times {
        let (left, right) = memory::pair();
        let (mut left, mut right) = (Channel::new(left), Channel::new(right));
        let barrier = Barrier::new(2);
        let (sent, received) = (&mut sent, &mut received);
        parties(
            || {
                let rng = &mut StdRng::seed_from_u64(2 * seed);
                let mut ot = sender(&mut left, rng).unwrap();
                left.flush().unwrap();
                barrier.wait();
                let mut done = 0;
                ot.send_random_pieces(OTS, &mut left, rng, |keys| {
                    let first = done;
                    done += keys.len();
                    keys.evaluate(|ot| ot, |ot| theirs[first + ot], &mut sent[first..done]);
                })
                .unwrap();
                barrier.wait();
            },
            || {
                let rng = &mut StdRng::seed_from_u64(2 * seed + 1);
                let mut ot = receiver(&mut right, rng).unwrap();
                right.flush().unwrap();
                barrier.wait();
                let before = cpu::time();
                ot.receive_random_into(&words, received, &mut right, rng).unwrap();
                barrier.wait();
                total += cpu::time() - before;
            },
        );
    }
    total
}

/// Runs two parties, each on a pool of its own with one thread, as in the product.
fn parties(left: impl FnOnce() + Send, right: impl FnOnce() + Send) {
    let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| pool().install(left));
        pool().install(right);
    });
}

fn extensions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("2^20 random 1-out-of-n OTs");
    group.sample_size(10).throughput(Throughput::Elements(OTS as u64));
    group.bench_function("kk13, n = 2^8", |bencher| {
        bencher.iter_custom(|times| random(times, kk13::Sender::setup, kk13::Receiver::setup));
    });
    group.bench_function("kkrt16, n = 2^128", |bencher| {
        bencher.iter_custom(|times| {
            random(
                times,
                |channel, rng| kkrt16::Sender::setup(code::width(3 * OTS, LAMBDA), channel, rng),
                |channel, rng| kkrt16::Receiver::setup(code::width(3 * OTS, LAMBDA), channel, rng),
            )
        });
    });
    group.bench_function("oos17, n = 2^8", |bencher| {
        bencher.iter_custom(|times| {
            random(
                times,
                |channel, rng| oos17::Sender::setup(WalshHadamard, channel, rng),
                |channel, rng| oos17::Receiver::setup(WalshHadamard, channel, rng),
            )
        });
    });
    group.bench_function("oos17, n = 2^76", |bencher| {
        bencher.iter_custom(|times| {
            random(
                times,
                |channel, rng| oos17::Sender::setup(Bch::new(), channel, rng),
                |channel, rng| oos17::Receiver::setup(Bch::new(), channel, rng),
            )
        });
    });
    group.finish();
}

/// The cost of encoding, into rows as by senders and into columns as by receivers.
fn codes(criterion: &mut Criterion) {
    fn of<C: Code>(criterion: &mut Criterion, name: &str, code: &C) {
        let rng = &mut StdRng::seed_from_u64(1);
        let words: Vec<Block> =
            (0..4096).map(|_| Block(rng.random::<u128>() >> (128 - C::DIMENSION))).collect();
        let mut rows: Vec<C::Row> = vec![bytemuck::Zeroable::zeroed(); words.len()];
        let mut columns = vec![Block::ZERO; code.width() * words.len() / 128];
        let mut group = criterion.benchmark_group("4096 codewords");
        group.bench_function(format!("{name}, rows"), |bencher| {
            bencher.iter(|| code.encode(&words, &mut rows));
        });
        group.bench_function(format!("{name}, columns"), |bencher| {
            bencher.iter(|| code.encode_columns(&words, &mut columns));
        });
        group.finish();
    }
    of(criterion, "walsh-hadamard", &WalshHadamard);
    of(criterion, "bch", &Bch::new());
    let key = vesica_primitives::Seed::new(Block(1));
    of(criterion, "pseudo-random", &PseudoRandomCode::new(&key, Bch::WIDTH));
}

criterion_group!(benches, extensions, codes);
criterion_main!(benches);
