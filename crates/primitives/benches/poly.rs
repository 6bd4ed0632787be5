//! Benchmarks of polynomials, in CPU time of one thread: `cargo bench -p vesica-primitives --bench poly`. First
//! single operations around the lengths at which one method overtakes another, then a table of interpolation
//! times relative to n log² n.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::{SeedableRng, rngs::StdRng};
use rustix::time::{ClockId, clock_gettime};
use vesica_primitives::{
    Block,
    poly::{Domains, Field, Fp64, Gf64, Interpolator, Tree, interpolate, multiply, quadratic},
};

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = processor_time();
    std::hint::black_box(work());
    processor_time() - start
}

fn bench<T>(
    criterion: &mut Criterion,
    group: &str,
    method: &str,
    n: usize,
    mut work: impl FnMut() -> T,
) {
    let mut group = criterion.benchmark_group(group);
    group.sample_size(10).warm_up_time(Duration::from_millis(100));
    group.measurement_time(Duration::from_millis(300));
    group.bench_function(BenchmarkId::new(method, n), |bencher| {
        bencher.iter_custom(|times| timed(|| (0..times).for_each(|_| drop(work()))));
    });
}

fn random<F: Field>(n: usize) -> Vec<F> {
    let mut rng = StdRng::seed_from_u64(n as u64);
    (0..n).map(|_| F::random(&mut rng)).collect()
}

fn schoolbook<F: Field>(a: &[F], b: &[F]) -> Vec<F> {
    let mut product = vec![F::ZERO; a.len() + b.len() - 1];
    for (at, factor) in a.iter().enumerate() {
        F::add_products(&mut product[at..], b, *factor);
    }
    product
}

/// Karatsuba's method for two factors of the same length, a power of two, for comparison with the other two.
fn karatsuba<F: Field>(a: &[F], b: &[F]) -> Vec<F> {
    if a.len() <= 16 {
        return schoolbook(a, b);
    }
    let half = a.len() / 2;
    let sum = |x: &[F]| -> Vec<F> { (0..half).map(|i| x[i].add(x[half + i])).collect() };
    let low = karatsuba(&a[..half], &b[..half]);
    let high = karatsuba(&a[half..], &b[half..]);
    let middle = karatsuba(&sum(a), &sum(b));
    let mut product = low.clone();
    product.push(F::ZERO);
    product.extend(&high);
    for (i, x) in middle.into_iter().enumerate() {
        let both = low[i].add(high[i]);
        product[half + i] = product[half + i].add(x.subtract(both));
    }
    product
}

/// The product on a domain, for any length.
fn on_domain<F: Domains>(a: &[F], b: &[F]) -> Vec<F> {
    let [mut a, mut b] = [a, b].map(|x| [x, &vec![F::ZERO; x.len()]].concat());
    F::to_values(&mut a);
    F::to_values(&mut b);
    F::multiply_each(&mut a, &b);
    F::to_coefficients(&mut a);
    a
}

fn crossovers<F: Domains>(criterion: &mut Criterion, field: &str) {
    let products = format!("{field}, product");
    for n in [8, 16, 32, 64, 128, 256] {
        let (a, b) = (random::<F>(n), random::<F>(n + 1)[1..].to_vec());
        bench(criterion, &products, "schoolbook", n, || schoolbook(&a, &b));
        bench(criterion, &products, "karatsuba", n, || karatsuba(&a, &b));
        bench(criterion, &products, "domain", n, || on_domain(&a, &b));
        bench(criterion, &products, "chosen", n, || multiply(&a, &b));
    }
    for n in [16, 32, 48, 64, 96, 128, 256, 512] {
        let (points, values) = (random::<F>(n), random::<F>(n));
        let name = format!("{field}, interpolation");
        bench(criterion, &name, "newton", n, || quadratic::newton(&points, &values));
        bench(criterion, &name, "tree", n, || {
            Interpolator::new(&points).map(|ready| ready.interpolate(&values))
        });
        let name = format!("{field}, evaluation");
        bench(criterion, &name, "horner", n, || quadratic::evaluate(&values, &points));
        bench(criterion, &name, "tree", n, || Tree::new(&points).evaluate(&values));
    }
}

fn all_crossovers(criterion: &mut Criterion) {
    crossovers::<Block>(criterion, "GF(2^128)");
    crossovers::<Gf64>(criterion, "GF(2^64)");
    crossovers::<Fp64>(criterion, "prime field");
}

/// The shortest of several runs, in seconds.
fn least<T>(runs: usize, mut work: impl FnMut() -> T) -> f64 {
    (0..runs).map(|_| timed(&mut work).as_secs_f64()).fold(f64::INFINITY, f64::min)
}

/// Interpolation of 2^12 to 2^18 points: the time, and its ratio to n log² n, which tends to a constant; the
/// quadratic method up to 2^16.
fn growth<F: Domains>(field: &str) {
    println!(
        "{field}: log n, seconds, ns per n log² n, same points again, evaluation, Newton, ratio"
    );
    for log in 12..=18 {
        let n = 1 << log;
        let (points, values) = (random::<F>(n), random::<F>(n));
        let seconds = least(5, || interpolate(&points, &values));
        let unit = (n * log * log) as f64 / 1e9;
        let Ok(ready) = Interpolator::new(&points) else { continue };
        let again = least(5, || ready.interpolate(&values));
        let evaluation = least(5, || ready.evaluate(&values));
        print!("{log}  {seconds:.5}  {:.3}  {again:.5}  {evaluation:.5}", seconds / unit);
        if log <= 16 {
            let slow = least(2, || quadratic::newton(&points, &values));
            print!("  {slow:.3}  {:.1}", slow / seconds);
        }
        println!();
    }
}

criterion_group!(benches, all_crossovers);

fn main() {
    if !std::env::args().any(|argument| argument == "growth") {
        benches();
    }
    growth::<Block>("GF(2^128)");
    growth::<Gf64>("GF(2^64)");
    growth::<Fp64>("prime field");
}
