//! Benchmarks of hash bins with 2^16 and 2^20 items: `cargo bench -p vesica-structures --bench bins`.
//! Criterion's throughput counts items.

use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use rand::{SeedableRng, rngs::StdRng};
use vesica_params::{
    LAMBDA,
    bins::{
        cuckoo::{self, Published, Shape},
        phasing, two_choice,
    },
};
use vesica_primitives::Block;
use vesica_structures::bins::{BinMap, Table, cuckoo::CuckooTable, phasing::Phasing};

fn bins(criterion: &mut Criterion) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    for log in [16, 20] {
        let n = 1usize << log;
        let mut rng = StdRng::seed_from_u64(1);
        let items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
        let mut group = criterion.benchmark_group(format!("bins of 2^{log}"));
        group.sample_size(10).throughput(Throughput::Elements(n as u64));
        many_a_bin(&mut group, &items);
        one_a_bin(&mut group, "cuckoo 2, stash", &items, cuckoo::sound::<2>(n, LAMBDA));
        one_a_bin(&mut group, "cuckoo 3", &items, cuckoo::sound::<3>(n, LAMBDA));
        one_a_bin(&mut group, "cuckoo 4", &items, cuckoo::sound::<4>(n, LAMBDA));
        one_a_bin(&mut group, "cuckoo 5", &items, cuckoo::sound::<5>(n, LAMBDA));
        if let Some(shape) = cuckoo::published::<3>(n, Published::Stash) {
            one_a_bin(&mut group, "cuckoo 3 with stash, as published", &items, shape);
        }
        group.finish();
    }
}

fn many_a_bin(group: &mut BenchmarkGroup<'_, WallTime>, items: &[Block]) {
    let n = items.len();
    let bins = cuckoo::sound::<3>(n, LAMBDA).bins;
    let three = BinMap::<3>::new(bins).of(items);
    group.bench_function("simple 3", |bencher| {
        bencher.iter_with_large_drop(|| Table::simple(&three));
    });
    let two = BinMap::<2>::new(n).of(items);
    group.bench_function("balanced 2", |bencher| {
        bencher.iter_with_large_drop(|| Table::balanced(&two));
    });
    for (name, shape) in [
        ("two-choice, as published", two_choice::published(n)),
        ("two-choice, least capacity", two_choice::sound(n, LAMBDA)),
    ] {
        let few = BinMap::<2>::new(shape.bins).of(items);
        group.bench_function(name, |bencher| {
            bencher.iter_with_large_drop(|| Table::two_choice(&few, shape.capacity));
        });
    }
    let bits = phasing::sound_bits(128, n, n, LAMBDA);
    let short: Vec<Block> = items.iter().map(|item| Block(item.0 >> (128 - bits))).collect();
    for (name, shape) in [
        ("phasing 3, modular", phasing::Shape::modular(bits, bins)),
        ("phasing 3, xor", phasing::Shape::xor(bits, bins.next_power_of_two().ilog2())),
    ] {
        let phasing = Phasing::<3>::new(shape.expect("fewer bins than items"), Block(1));
        group.bench_function(name, |bencher| {
            bencher.iter_with_large_drop(|| phasing.phase(&short));
        });
    }
}

fn one_a_bin<const H: usize>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    items: &[Block],
    shape: Shape<H>,
) {
    group.bench_function(name, |bencher| {
        bencher.iter_with_large_drop(|| CuckooTable::new(black_box(items), shape));
    });
    let hashed = BinMap::<H>::new(shape.bins).of(items);
    group.bench_function(format!("{name}, of set"), |bencher| {
        bencher.iter_with_large_drop(|| CuckooTable::of_set(&hashed, shape.stash));
    });
}

criterion_group!(benches, bins);
criterion_main!(benches);
