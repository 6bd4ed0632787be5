//! Benchmarks of filters on one thread: `cargo bench -p vesica-structures --bench filter`. Criterion's
//! throughput counts inserted items, and queries for values that are not in the filter.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{SeedableRng, rngs::StdRng};
use vesica_params::{
    Adversary, LAMBDA,
    filter::{BloomShape, CuckooShape, ListShape, Rate, SortedListShape, VacuumShape},
};
use vesica_primitives::Block;
use vesica_structures::filter::{Bloom, Cuckoo, Filter, List, MobileCuckoo, SortedList, Vacuum};

const STRICT: &str = "2^-(λ + log n) is within reach";

fn filters(criterion: &mut Criterion) {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("the first pool");
    for log in [16, 20] {
        let n = 1 << log;
        let rate = Rate::sound(Adversary::SemiHonest, n, LAMBDA).expect(STRICT);
        let name = |filter: &str| format!("{filter}, 2^{log} items");
        let list = ListShape::new(n, rate).expect(STRICT);
        costs::<List>(criterion, &name("list"), n, list);
        costs::<SortedList>(criterion, &name("sorted list"), n, SortedListShape(list));
        costs::<Bloom>(criterion, &name("bloom"), n, BloomShape::new(n, rate));
        costs::<Bloom>(criterion, &name("distinct bloom"), n, BloomShape::distinct(n, rate));
        let cuckoo = CuckooShape::new(n, rate).expect(STRICT);
        costs::<Cuckoo>(criterion, &name("cuckoo"), n, cuckoo);
        let mobile = CuckooShape::mobile(n, rate).expect(STRICT);
        costs::<MobileCuckoo>(criterion, &name("mobile cuckoo"), n, mobile);
        let vacuum = VacuumShape::new(n, rate).expect(STRICT);
        costs::<Vacuum>(criterion, &name("vacuum"), n, vacuum);
    }
}

fn costs<F: Filter>(criterion: &mut Criterion, name: &str, n: usize, shape: F::Shape) {
    let mut rng = StdRng::seed_from_u64(1);
    let mut random = || (0..n).map(|_| Block::random(&mut rng)).collect::<Vec<_>>();
    let (items, values) = (random(), random());
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(n as u64));
    group.bench_function("build", |bencher| {
        bencher.iter_with_large_drop(|| F::build(&items, shape));
    });
    let filter = F::build(&items, shape).expect("random items in a shape made for them");
    group.bench_function("query", |bencher| {
        bencher.iter(|| values.iter().filter(|value| filter.contains(**value)).count());
    });
    let bytes = filter.encode();
    group.bench_function("encode", |bencher| bencher.iter_with_large_drop(|| filter.encode()));
    group.bench_function("decode", |bencher| {
        bencher.iter_with_large_drop(|| F::decode(&bytes, shape));
    });
    group.finish();
}

criterion_group!(benches, filters);
criterion_main!(benches);
