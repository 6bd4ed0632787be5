//! Whether the time of an operation depends on its secret: for a fixed secret and for random ones, compared by Welch's
//! t-test, after Reparaz, Balasch and Verbauwhede (DATE 2017, "dudect"). Run it by hand on a quiet machine:
//! `cargo bench -p vesica-primitives --bench timing`; docs/security/constant-time.md says how to read it.

use std::{hint::black_box, time::Instant};

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_primitives::{
    Block,
    arch::Backend,
    are_equal, gf,
    group::{Batch, Ffdhe3072, Group, Ristretto, Scalars},
    paillier, rsa,
};

/// Random secrets of an operation. The fixed one is stored as often, among them, so that caches do not distinguish the
/// classes.
const SECRETS: usize = 256;

/// The share of the slowest measurements that are dropped as interruptions, in percent.
const DROPPED: usize = 10;

/// A |t| beyond this is not a coincidence.
const SUSPICIOUS: f64 = 5.0;

/// Measures an operation `samples` times, each of `repeated` calls; returns t.
fn compare<S: Clone, R>(
    times: (usize, usize),
    fixed: impl FnMut() -> S,
    random: impl FnMut() -> S,
    operation: impl Fn(&S) -> R,
) -> f64 {
    compare_prepared(times, fixed, random, S::clone, operation)
}

/// The same for an operation on a value made from a secret; making it is not measured.
///
/// Time depends on where a secret is stored, which would look like a leak. So an operation's input is made just before
/// it, and always in the same place.
fn compare_prepared<S, P, R>(
    (samples, repeated): (usize, usize),
    mut fixed: impl FnMut() -> S,
    random: impl FnMut() -> S,
    prepare: impl Fn(&S) -> P,
    operation: impl Fn(&P) -> R,
) -> f64 {
    let mut rng = StdRng::seed_from_u64(1);
    let random = std::iter::repeat_with(random).map(|secret| (1, secret)).take(SECRETS);
    let mut secrets: Vec<(usize, S)> = (0..SECRETS).map(|_| (0, fixed())).chain(random).collect();
    secrets.shuffle(&mut rng);
    let mut times: Vec<(usize, f64)> = (0..samples)
        .map(|_| {
            let (class, secret) = &secrets[rng.random_range(0..2 * SECRETS)];
            let prepared = prepare(secret);
            let started = Instant::now();
            for _ in 0..repeated {
                black_box(operation(black_box(&prepared)));
            }
            (*class, started.elapsed().as_nanos() as f64)
        })
        // The first ones find caches and branch predictors cold.
        .skip(samples / 20)
        .collect();
    times.sort_unstable_by(|(_, x), (_, y)| x.total_cmp(y));
    times.truncate(times.len() - times.len() * DROPPED / 100);
    welch([0, 1].map(|class| {
        let of_class = times.iter().filter(move |(of, _)| *of == class).map(|(_, time)| *time);
        of_class.collect::<Vec<f64>>()
    }))
}

/// The statistic of Welch's test for equal means.
fn welch(classes: [Vec<f64>; 2]) -> f64 {
    let [(mean_0, error_0), (mean_1, error_1)] = classes.map(|times| {
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, variance / n)
    });
    (mean_0 - mean_1) / (error_0 + error_1).sqrt()
}

fn report(name: &str, t: f64) {
    let verdict = if t.abs() > SUSPICIOUS { "DEPENDS on the secret" } else { "no difference" };
    println!("{name:48} |t| = {:8.2}   {verdict}", t.abs());
}

/// The scalar 1, as all operations on scalars that are fixed have it.
fn one<G: Scalars>() -> G::Scalar {
    let s = G::random_scalar(&mut StdRng::seed_from_u64(2));
    G::multiply_scalars(&s, &G::invert(&s))
}

/// The scalar 1 against random ones, and a fixed element or input against random ones.
fn group<G: Scalars>(samples: usize, rng: &mut StdRng) {
    let one = one::<G>;
    let element = G::hash("timing", b"element");
    let seed = rng.next_u64();
    let scalars = || {
        let mut rng = StdRng::seed_from_u64(seed);
        move || G::uniform_scalar(&mut rng)
    };
    let t = compare((samples, 1), one, scalars(), |s| G::mul(&element, s));
    report(&format!("{}: s·P", G::NAME), t);
    let t = compare((samples, 1), one, scalars(), |s| G::mul_generator(s));
    report(&format!("{}: s·G", G::NAME), t);
    let t = compare((samples, 1), one, scalars(), |s| G::invert(s));
    report(&format!("{}: 1/s", G::NAME), t);
    let t = compare((samples, 1), || [0; 16], inputs(rng.next_u64()), |x| G::hash("timing", x));
    report(&format!("{}: H(x)", G::NAME), t);
    let t = compare((samples, 1), || element, elements::<G>(rng.next_u64()), G::encode);
    report(&format!("{}: encoding", G::NAME), t);
}

fn inputs(seed: u64) -> impl FnMut() -> [u8; 16] {
    let mut rng = StdRng::seed_from_u64(seed);
    move || rng.random()
}

fn elements<G: Scalars>(seed: u64) -> impl FnMut() -> G::Element {
    let mut rng = StdRng::seed_from_u64(seed);
    move || G::random_element(&mut rng)
}

/// Elements of a batch: more than the lanes of a vector, and no multiple of them.
const BATCH: usize = 20;

/// The same with many elements at once.
fn batch<G: Scalars>(samples: usize, rng: &mut StdRng) {
    let seed = rng.next_u64();
    let scalars = |seed| {
        let mut rng = StdRng::seed_from_u64(seed);
        move || -> Vec<G::Scalar> { (0..BATCH).map(|_| G::uniform_scalar(&mut rng)).collect() }
    };
    let ones = || vec![one::<G>(); BATCH];
    let base = G::hash("timing", b"element");
    let (batch, table) = (G::Batch::repeat(&base, BATCH), G::table(&base));
    let t = compare((samples, 1), ones, scalars(seed), |s| batch.mul(&s[0]));
    report(&format!("{}, {BATCH} at once: s·P", G::NAME), t);
    let t = compare((samples, 1), ones, scalars(seed), |s| batch.mul_each(s.iter()));
    report(&format!("{}, {BATCH} at once: s·P for each s", G::NAME), t);
    let t = compare((samples, 1), ones, scalars(seed), |s| G::Batch::mul_table(&table, s.iter()));
    report(&format!("{}, {BATCH} at once: s·P by a table", G::NAME), t);
    let t = compare((samples, 1), ones, scalars(seed), |s| G::Batch::mul_generator(s.iter()));
    report(&format!("{}, {BATCH} at once: s·G", G::NAME), t);
    let many = |seed| {
        let mut input = inputs(seed);
        move || -> Vec<[u8; 16]> { (0..BATCH).map(|_| input()).collect() }
    };
    let fixed = || vec![[0; 16]; BATCH];
    let t = compare((samples, 1), fixed, many(seed), |x| G::Batch::hash("timing", x));
    report(&format!("{}, {BATCH} at once: H(x)", G::NAME), t);
    let prepare = |x: &Vec<[u8; 16]>| G::Batch::hash("timing", x);
    let encode = Batch::encode_multiples;
    let t = compare_prepared((samples, 1), fixed, many(seed), prepare, encode);
    report(&format!("{}, {BATCH} at once: encoding", G::NAME), t);
}

/// Bytes that are compared: enough to show where a comparison ends.
const COMPARED: usize = 1 << 10;

/// Bytes that are equal to others against bytes that differ from them, nearly always in the first place.
fn comparison(equal: impl Fn(&[u8], &[u8]) -> bool, rng: &mut StdRng) -> f64 {
    let mut bytes = vec![0u8; COMPARED];
    rng.fill_bytes(&mut bytes);
    let random = || -> Vec<u8> { (0..COMPARED).map(|_| rng.random()).collect() };
    compare((40_000, 10), || bytes.clone(), random, |other| equal(&bytes, other))
}

/// A leaky operation: it multiplies for each bit that is 1.
fn leaky_power(exponent: &u64) -> u64 {
    let mut power = 1u64;
    for bit in (0..64).rev() {
        power = black_box(power.wrapping_mul(power));
        if black_box(exponent >> bit & 1) == 1 {
            power = black_box(power.wrapping_mul(7));
        }
    }
    power
}

fn main() {
    let rng = &mut StdRng::seed_from_u64(3);
    println!("kernels: {:?}", Backend::current());
    let power = compare((40_000, 20), || 1u64, || rng.next_u64(), leaky_power);
    report("control: a power that branches on bits", power);
    let slices = comparison(|left, right| left == right, rng);
    report("control: slices compared by ==", slices);
    let [one, other] = [1, 2].map(elements::<Ristretto>);
    let same = compare((20_000, 1), one, other, Ristretto::encode);
    report("control: random elements, encoded, and others", same);
    let found = [power, slices].iter().all(|t| t.abs() > SUSPICIOUS);
    assert!(found, "what depends on its secret must be found");
    report("bytes compared by are_equal", comparison(are_equal, rng));
    let x = Block::random(rng);
    let t = compare((40_000, 50), || Block(1), || Block::random(rng), |y| gf::multiply128(x, *y));
    report("GF(2^128): x·y", t);
    let t = compare((20_000, 1), || Block(1), || Block::random(rng), |y| gf::invert128(*y));
    report("GF(2^128): 1/y", t);
    let t = compare((40_000, 50), || 1, || rng.next_u64(), |y| gf::multiply64(x.low(), *y));
    report("GF(2^64): x·y", t);
    group::<Ristretto>(20_000, rng);
    batch::<Ristretto>(4_000, rng);
    group::<Ffdhe3072>(1_000, rng);
    let key = rsa::Key::generate(rng);
    let x = key.public().raise(&key.public().hash("timing", b"fixed"));
    let fixed = || key.public().multiply(&x, &x);
    let t = compare((1_000, 1), fixed, || key.public().random(rng), |x| key.root(x));
    report("RSA: a root, by its argument", t);
    let key = paillier::Key::generate(rng);
    let t = compare(
        (40_000, 20),
        || 1i64,
        || -(rng.random_range(1..=i64::MAX)),
        |x| key.public().plain(*x),
    );
    report("Paillier: an integer, by its sign", t);
}
