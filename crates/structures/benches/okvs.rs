//! Benchmarks of OKVS with 2^20 keys, on one thread: `cargo bench -p vesica-structures --bench okvs`.
//! Criterion's throughput counts keys; encoding takes 64-bit values if the store supports them, decoding
//! blocks.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_params::{
    LAMBDA,
    okvs::{self, Excess},
};
use vesica_primitives::{BinaryVector, Block};
use vesica_structures::okvs::{
    Codec, Field, Free, Okvs, band::Band, depth_first::DepthFirst, paxos::Paxos, rr22::Rr22,
};

const KEYS: usize = 1 << 20;

/// Clusters that fit a cache.
const SMALL: usize = 1 << 15;

fn clusters(criterion: &mut Criterion) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    let store = <Rr22>::new(okvs::shape(KEYS, SMALL, LAMBDA), Block(1));
    costs(criterion, "rr22, clusters of 2^15", &store, |key| key.low());
}

fn over_field(criterion: &mut Criterion) {
    let store = Rr22::<Field>::new(okvs::shape_over_field(KEYS, SMALL, LAMBDA), Block(1));
    costs(criterion, "rr22 over GF(2^128), clusters of 2^15", &store, |key| key);
}

fn one_cluster(criterion: &mut Criterion) {
    let store = <Rr22>::new(okvs::shape(KEYS, usize::MAX, LAMBDA), Block(1));
    costs(criterion, "rr22, one cluster", &store, |key| key.low());
}

fn two_core(criterion: &mut Criterion) {
    let store = Paxos::new(okvs::paxos(KEYS, LAMBDA), Block(1));
    costs(criterion, "paxos", &store, |key| key.low());
}

fn depth_first(criterion: &mut Criterion) {
    let store = DepthFirst::new(okvs::paxos(KEYS, LAMBDA), Block(1));
    costs(criterion, "paxos by depth-first search", &store, |key| key.low());
}

fn bands(criterion: &mut Criterion) {
    for excess in [Excess::Percent3, Excess::Percent5, Excess::Percent7, Excess::Percent10] {
        let store = Band::new(okvs::band(KEYS, usize::MAX, excess, LAMBDA), Block(1));
        let name = format!("band, {} in 100 more columns", excess.percent());
        costs(criterion, &name, &store, |key| key.low());
    }
    let store = Band::new(okvs::band(KEYS, SMALL, Excess::Percent5, LAMBDA), Block(1));
    costs(criterion, "band, 5 in 100 more columns, clusters of 2^15", &store, |key| key.low());
}

fn costs<V: BinaryVector>(
    criterion: &mut Criterion,
    name: &str,
    store: &(impl Codec<V> + Codec<Block>),
    value: impl Fn(Block) -> V + Sync,
) {
    println!("{name}: {:.4} columns a key", store.columns() as f64 / KEYS as f64);
    let mut rng = StdRng::seed_from_u64(1);
    let keys: Vec<Block> = (0..KEYS).map(|_| Block::random(&mut rng)).collect();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20).throughput(Throughput::Elements(KEYS as u64));
    group.bench_function("place", |bencher| bencher.iter(|| store.place(&keys)));
    let placed = store.place(&keys);
    group.bench_function("encode", |bencher| {
        let encode = || store.encode(&placed, |_, key| value(key), Free::Zero, &mut rng);
        bencher.iter_with_large_drop(encode);
    });
    let columns: Vec<Block> = (0..store.columns()).map(|_| Block::random(&mut rng)).collect();
    group.bench_function("decode 128 bits", |bencher| {
        bencher.iter(|| store.decode(&placed, &columns));
    });
    group.finish();
}

criterion_group!(benches, clusters, over_field, one_cluster, two_core, depth_first, bands);
criterion_main!(benches);
