//! Benchmarks of 1-out-of-2 OT extensions per OT, both parties together.
//!
//! Two threads run at once, beside other programs, so the figure is the CPU time of the process rather than
//! wall-clock time. Only calls are measured, without setups. Memory is provided by the caller and has been
//! written to before.
//!
//! The work of a random OT, in blocks of 128 bits, both parties together:
//!
//! | | encrypted for streams | sent | transposed | hashed by the check | encrypted for the hash |
//! |---|---|---|---|---|---|
//! | IKNP03 | 4 | 2 | 2 | 0 | 3 |
//! | ALSZ13 | 3 | 1 | 2 | 0 | 3 |
//! | KOS15 | 3 | 1 | 2 | 2 | 6 |
//! | SoftSpokenOT, k = 2, semi-honest | 3.5 | 0.5 | 2 | 0 | 3 |
//! | SoftSpokenOT, k = 2, malicious | 3.5 | 0.5 | 2 | 2 | 6 |
//!
//! Data that is sent is copied four times, into a buffer and a pipe and out of them. Checked data goes through
//! memory twice more, because it cannot be checked before all of it has arrived.

#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

mod cpu;

use std::{sync::Barrier, thread, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result, transport::memory};
use vesica_ot::{
    CotReceiver, CotSender,
    extension::{
        alsz13, iknp03, kos15,
        softspoken::{SmallField, malicious, semi_honest},
    },
};
use vesica_primitives::{Bits, Block};

const FIELD: SmallField = SmallField::new(2);

/// Numbers of OTs.
const SIZES: [usize; 2] = [1 << 20, 1 << 24];

/// Makes one party of an OT extension.
type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

#[derive(Clone, Copy)]
enum Variant {
    Correlated,
    Random,
}

/// CPU time of `times` calls on one setup.
fn calls<S: CotSender, R: CotReceiver>(
    times: u64,
    n: usize,
    variant: Variant,
    (sender, receiver): (Setup<S>, Setup<R>),
) -> Duration {
    let (left, right) = memory::pair();
    let (mut left, mut right) = (Channel::new(left), Channel::new(right));
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut ot = sender(&mut left, &mut StdRng::seed_from_u64(1)).unwrap();
            let mut pairs = vec![[Block(1); 2]; n];
            left.flush().unwrap();
            barrier.wait();
            for _ in 0..times {
                match variant {
                    Variant::Random => ot.send_random_into(&mut pairs, &mut left).unwrap(),
                    Variant::Correlated => {
                        let out = &mut pairs.as_flattened_mut()[..n];
                        ot.send_correlated_into(out, &mut left).unwrap();
                    }
                }
            }
            left.flush().unwrap();
            barrier.wait();
        });
        let rng = &mut StdRng::seed_from_u64(2);
        let mut ot = receiver(&mut right, rng).unwrap();
        let (choices, mut out) = (Bits::random(n, rng), vec![Block(1); n]);
        right.flush().unwrap();
        barrier.wait();
        let before = cpu::time();
        for _ in 0..times {
            match variant {
                Variant::Random => ot.receive_random_into(&choices, &mut out, &mut right).unwrap(),
                Variant::Correlated => {
                    ot.receive_correlated_into(&choices, &mut out, &mut right).unwrap();
                }
            }
        }
        right.flush().unwrap();
        barrier.wait();
        cpu::time() - before
    })
}

fn extension<S: CotSender, R: CotReceiver>(
    criterion: &mut Criterion,
    name: &str,
    setups: (Setup<S>, Setup<R>),
) {
    for n in SIZES {
        let mut group = criterion.benchmark_group(format!("{name}, 2^{} OTs", n.ilog2()));
        group.sample_size(10).throughput(Throughput::Elements(n as u64));
        for (name, variant) in [("correlated", Variant::Correlated), ("random", Variant::Random)] {
            group.bench_function(name, |bencher| {
                bencher.iter_custom(|times| calls(times, n, variant, setups));
            });
        }
        group.finish();
    }
}

fn extensions(criterion: &mut Criterion) {
    extension(criterion, "iknp03", (iknp03::Sender::setup, iknp03::Receiver::setup));
    extension(criterion, "alsz13", (alsz13::Sender::setup, alsz13::Receiver::setup));
    extension(criterion, "kos15", (kos15::Sender::setup, kos15::Receiver::setup));
    extension::<semi_honest::Sender, semi_honest::Receiver>(
        criterion,
        "softspoken k = 2 semi-honest",
        (
            |channel, rng| semi_honest::Sender::setup(FIELD, channel, rng),
            |channel, rng| semi_honest::Receiver::setup(FIELD, channel, rng),
        ),
    );
    extension::<malicious::Sender, malicious::Receiver>(
        criterion,
        "softspoken k = 2 malicious",
        (
            |channel, rng| malicious::Sender::setup(FIELD, channel, rng),
            |channel, rng| malicious::Receiver::setup(FIELD, channel, rng),
        ),
    );
}

criterion_group!(benches, extensions);
criterion_main!(benches);
