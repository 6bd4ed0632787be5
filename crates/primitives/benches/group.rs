//! Operations in ristretto255: one by one, and many at once. `VESICA_PORTABLE=1` measures batches without vector
//! instructions.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use rand::{SeedableRng, rngs::StdRng};
use vesica_primitives::group::{Batch, Group, Ristretto};

type Points = <Ristretto as Group>::Batch;

/// Points of a batch.
const MANY: usize = 64;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let mut rng = StdRng::seed_from_u64(1);
    let scalars: Vec<_> = (0..MANY).map(|_| Ristretto::random_scalar(&mut rng)).collect();
    let [s, t] = [scalars[0], scalars[1]];
    let inputs: Vec<_> = (0..MANY as u128).map(u128::to_le_bytes).collect();
    let p = Ristretto::hash("bench", &inputs[0]);
    let encoded = Ristretto::encode(&p);
    let points = Points::hash("bench", &inputs);
    let all_encoded = points.encode();
    let table = Ristretto::table(&p);

    let mut one = criterion.benchmark_group("one");
    one.bench_function("hash", |b| b.iter(|| Ristretto::hash("bench", black_box(&inputs[0]))));
    one.bench_function("decode", |b| b.iter(|| Ristretto::decode(black_box(&encoded))));
    one.bench_function("encode", |b| b.iter(|| Ristretto::encode(black_box(&p))));
    one.bench_function("product", |b| b.iter(|| Ristretto::mul(black_box(&p), &s)));
    one.bench_function("product with the generator", |b| {
        b.iter(|| Ristretto::mul_generator(black_box(&t)));
    });
    one.finish();

    let mut many = criterion.benchmark_group("many");
    many.throughput(Throughput::Elements(MANY as u64));
    many.bench_function("hash", |b| b.iter(|| Points::hash("bench", black_box(&inputs))));
    many.bench_function("decode", |b| b.iter(|| Points::decode(black_box(&all_encoded))));
    many.bench_function("encode", |b| b.iter(|| black_box(&points).encode()));
    many.bench_function("product", |b| b.iter(|| black_box(&points).mul(&s)));
    many.bench_function("product, each with its scalar", |b| {
        b.iter(|| black_box(&points).mul_each(scalars.iter()));
    });
    many.bench_function("product with the generator", |b| {
        b.iter(|| Points::mul_generator(black_box(&scalars).iter()));
    });
    many.bench_function("product by a table", |b| {
        b.iter(|| Points::mul_table(&table, black_box(&scalars).iter()));
    });
    many.finish();

    criterion.final_summary();
}
