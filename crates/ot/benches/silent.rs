//! Benchmarks of silent OT and silent VOLE, both parties together.
//!
//! Two threads run at once, beside other programs, so the figure is the CPU time of the process rather than
//! wall-clock time. Setups of the underlying OT extension are included; they are also measured separately, so
//! that they can be subtracted.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cpu;

use std::{thread, time::Duration};

use criterion::{Criterion, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, transport::memory};
use vesica_ot::{
    CotReceiver, CotSender,
    extension::{
        silent as silent_ot,
        softspoken::{SmallField, malicious, semi_honest},
    },
    vole::silent,
};
use vesica_params::lpn::{GUESSED_ONES, Lpn, ONES, PUBLISHED, UNIFORM};
use vesica_primitives::{BinaryVector, Block, code::BlockAccumulate};

const FIELD: SmallField = SmallField::new(8);

/// OTs, and entries of a VOLE.
const LEN: usize = 1 << 20;

/// CPU time of `times` runs of two parties.
fn parties(
    times: u64,
    sender: impl Fn(&mut Channel, &mut StdRng) + Sync,
    receiver: impl Fn(&mut Channel, &mut StdRng) + Sync,
) -> Duration {
    let before = cpu::time();
    for seed in 0..times {
        let (left, right) = memory::pair();
        let (mut left, mut right) = (Channel::new(left), Channel::new(right));
        thread::scope(|scope| {
            scope.spawn(|| {
                sender(&mut left, &mut StdRng::seed_from_u64(2 * seed));
                left.flush().unwrap();
            });
            receiver(&mut right, &mut StdRng::seed_from_u64(2 * seed + 1));
            right.flush().unwrap();
        });
    }
    cpu::time() - before
}

fn setups(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("setup, to be taken off");
    group.sample_size(10);
    group.bench_function("softspoken semi-honest", |bencher| {
        bencher.iter_custom(|times| {
            parties(
                times,
                |channel, rng| drop(semi_honest::Sender::setup(FIELD, channel, rng).unwrap()),
                |channel, rng| drop(semi_honest::Receiver::setup(FIELD, channel, rng).unwrap()),
            )
        });
    });
    group.bench_function("softspoken malicious", |bencher| {
        bencher.iter_custom(|times| {
            parties(
                times,
                |channel, rng| drop(malicious::Sender::setup(FIELD, channel, rng).unwrap()),
                |channel, rng| drop(malicious::Receiver::setup(FIELD, channel, rng).unwrap()),
            )
        });
    });
    group.finish();
}

fn vole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("silent VOLE, 2^20 entries");
    group.sample_size(10);
    group.bench_function("60 bits, semi-honest", |bencher| {
        bencher.iter_custom(|times| {
            parties(
                times,
                |channel, rng| {
                    let mut cot = semi_honest::Sender::setup(FIELD, channel, rng).unwrap();
                    drop(silent::send(LEN, 60, UNIFORM, &mut cot, channel, rng).unwrap());
                },
                |channel, rng| {
                    let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng).unwrap();
                    drop(silent::receive::<u64>(LEN, 60, UNIFORM, &mut cot, channel, rng).unwrap());
                },
            )
        });
    });
    group.bench_function("128 bits, malicious", |bencher| {
        bencher.iter_custom(|times| {
            parties(
                times,
                |channel, rng| {
                    let mut cot = malicious::Sender::setup(FIELD, channel, rng).unwrap();
                    let (share, answers) =
                        silent::malicious::send(LEN, UNIFORM, &mut cot, channel, rng).unwrap();
                    answers.send(channel).unwrap();
                    channel.flush().unwrap();
                    drop(share);
                },
                |channel, rng| {
                    let mut cot = malicious::Receiver::setup(FIELD, channel, rng).unwrap();
                    let share =
                        silent::malicious::receive(LEN, UNIFORM, &mut cot, channel, rng).unwrap();
                    drop(share.verify(channel).unwrap());
                },
            )
        });
    });
    group.finish();
}

fn extend<S: CotSender, R: CotReceiver>(
    times: u64,
    lpn: Lpn,
    sender: impl Fn(&mut Channel, &mut StdRng) -> S + Sync,
    receiver: impl Fn(&mut Channel, &mut StdRng) -> R + Sync,
) -> Duration {
    parties(
        times,
        |channel, rng| {
            let cot = sender(channel, rng);
            let mut ot = silent_ot::Sender::setup(cot, lpn, channel, rng).unwrap();
            drop(ot.extend_random(LEN, channel).unwrap());
        },
        |channel, rng| {
            let cot = receiver(channel, rng);
            let mut ot = silent_ot::Receiver::setup(cot, lpn, channel, rng).unwrap();
            drop(ot.extend_random(LEN, channel).unwrap());
        },
    )
}

fn ot(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("silent OT, 2^20 random OTs of random choices");
    group.sample_size(10);
    group.bench_function("semi-honest", |bencher| {
        bencher.iter_custom(|times| {
            extend(
                times,
                ONES,
                |channel, rng| semi_honest::Sender::setup(FIELD, channel, rng).unwrap(),
                |channel, rng| semi_honest::Receiver::setup(FIELD, channel, rng).unwrap(),
            )
        });
    });
    group.bench_function("malicious", |bencher| {
        bencher.iter_custom(|times| {
            extend(
                times,
                GUESSED_ONES,
                |channel, rng| malicious::Sender::setup(FIELD, channel, rng).unwrap(),
                |channel, rng| malicious::Receiver::setup(FIELD, channel, rng).unwrap(),
            )
        });
    });
    group.finish();
}

/// The cost of compressing for one party, by the kind of entry: one piece, and everything at once.
fn compress(criterion: &mut Criterion) {
    fn of<V: BinaryVector>(criterion: &mut Criterion, name: &str) {
        for lpn in [UNIFORM, PUBLISHED] {
            for length in [lpn.piece, LEN] {
                let block = lpn.block_len(length);
                let code = BlockAccumulate::new(lpn.code_len(block), lpn.accumulators);
                let (mut noise, mut scratch) =
                    (vec![V::default(); code.length()], vec![V::default(); code.length()]);
                let mut out = vec![V::default(); length];
                let name =
                    format!("compressing {length} {name}, {} accumulators", lpn.accumulators);
                criterion.bench_function(&name, |bencher| {
                    bencher.iter(|| code.compress(lpn.blocks, &mut noise, &mut scratch, &mut out));
                });
            }
        }
    }
    of::<Block>(criterion, "blocks");
    of::<u64>(criterion, "numbers of 64 bits");
}

criterion_group!(benches, setups, vole, ot, compress);
criterion_main!(benches);
