//! What an OKVS costs for 2^20 keys, on one thread: `cargo bench -p vesica-structures --bench okvs`.
//! The throughput that criterion prints is in keys; encoding takes 64-bit values, decoding blocks.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_params::{LAMBDA, okvs};
use vesica_primitives::Block;
use vesica_structures::okvs::{Codec, Free, Okvs, rr22::Rr22};

const KEYS: usize = 1 << 20;

fn okvs(criterion: &mut Criterion) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    let mut rng = StdRng::seed_from_u64(1);
    let keys: Vec<Block> = (0..KEYS).map(|_| Block::random(&mut rng)).collect();
    let store = <Rr22>::new(okvs::shape(KEYS, 1 << 15, LAMBDA), Block::random(&mut rng));
    let mut group = criterion.benchmark_group("rr22, clusters of 2^15");
    group.sample_size(20).throughput(Throughput::Elements(KEYS as u64));
    group.bench_function("place", |bencher| bencher.iter(|| store.place(&keys)));
    let placed = store.place(&keys);
    group.bench_function("encode 64 bits", |bencher| {
        bencher.iter(|| {
            store.encode(&placed, |_, key| key.low(), Free::Zero, &mut rng).expect("distinct keys")
        });
    });
    let columns: Vec<Block> = (0..store.columns()).map(|_| Block::random(&mut rng)).collect();
    group.bench_function("decode 128 bits", |bencher| {
        bencher.iter(|| store.decode(&placed, &columns));
    });
    group.finish();
}

criterion_group!(benches, okvs);
criterion_main!(benches);
