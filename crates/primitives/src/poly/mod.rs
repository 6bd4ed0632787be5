//! Polynomials over finite fields: products, evaluation at many points, interpolation.
//!
//! A polynomial is the list of its coefficients, starting with the coefficient of x^0. The fields are
//! [`Block`](crate::Block), which is GF(2^128); [`Gf64`], which is GF(2^64); and the prime field [`Fp64`].
//! Interpolation at n points and evaluation of n coefficients at n points take O(n log² n) operations in
//! each.
//!
//! The choice of functions depends only on lengths, but functions of the prime field branch on values, and a
//! duplicate point ends a computation early: **not constant time**. That is sufficient for points that are
//! hashes of one's own items, on one's own machine. Nothing is zeroized.

mod cantor;
pub mod domain;
pub mod field;
mod fields;
mod points;
mod product;
pub mod quadratic;
mod ready;
mod tower;
mod tree;

pub use domain::Domains;
pub use field::{Field, Fp64, Gf64};
pub use points::DuplicatePoint;
pub use product::{multiply, reciprocal};
pub use ready::{Evaluator, Interpolator};
pub use tree::Tree;

/// The polynomial with as many coefficients as points that takes the given values there, by the faster method.
/// For several lists of values at the same points, use [`Interpolator`].
///
/// # Errors
/// If two points are equal.
///
/// # Panics
/// If the numbers of values and points differ, or there are more than 2^(MAX_LOG − 1) points.
pub fn interpolate<F: Domains>(points: &[F], values: &[F]) -> Result<Vec<F>, DuplicatePoint> {
    if points.len() <= INTERPOLATED_QUADRATICALLY {
        quadratic::newton(points, values)
    } else {
        Ok(Interpolator::new(points)?.interpolate(values))
    }
}

/// The values of a polynomial at points, by the faster method. For several polynomials, use [`Evaluator`].
///
/// # Panics
/// If there are more than 2^(MAX_LOG − 1) points.
pub fn evaluate<F: Domains>(polynomial: &[F], points: &[F]) -> Vec<F> {
    Evaluator::new(points, polynomial.len()).evaluate(polynomial)
}

/// Up to this many points, Newton's form is about as fast as the tree. It needs one inversion per point, the
/// tree only one in all: over GF(2^128), 16 points take 36 µs and 20 µs, 64 points 150 µs and 85 µs.
pub const INTERPOLATED_QUADRATICALLY: usize = 8;

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::Block;

    fn random<F: Field>(n: usize, rng: &mut StdRng) -> Vec<F> {
        (0..n).map(|_| F::random(rng)).collect()
    }

    fn fast_equals_quadratic<F: Domains>() {
        each_equals_quadratic::<F>(&[1, 2, 3, 5, 31, 33, 64, 65, 100]);
        assert!(interpolate::<F>(&[], &[]) == Ok(Vec::new()));
        assert!(quadratic::lagrange::<F>(&[], &[]) == Ok(Vec::new()));
        assert!(evaluate::<F>(&[F::ONE], &[]).is_empty());
    }

    /// With the portable kernels this takes minutes, so that only `cargo xtask assure` runs it with them.
    fn fast_equals_quadratic_for_thousands<F: Domains>() {
        each_equals_quadratic::<F>(&[1000, 1024, 2049]);
    }

    fn each_equals_quadratic<F: Domains>(sizes: &[usize]) {
        let mut rng = StdRng::seed_from_u64(1);
        for &n in sizes {
            // The points include 0 and 1, which are also points of the domains.
            let mut points = random::<F>(n, &mut rng);
            points[0] = F::ZERO;
            points[n / 2] = F::ONE;
            let tree = tree::Interpolator::new(&points).unwrap();
            for len in [0, 1, n - 1, n, n + 1, 3 * n + 7] {
                let polynomial = random::<F>(len, &mut rng);
                let expected = quadratic::evaluate(&polynomial, &points);
                assert!(tree.evaluate(&polynomial) == expected, "{n} {len}");
                assert!(evaluate(&polynomial, &points) == expected, "{n} {len}");
            }
            let values = random::<F>(n, &mut rng);
            let polynomial = tree.interpolate(&values);
            assert!(quadratic::evaluate(&polynomial, &points) == values, "{n}");
            assert!(quadratic::newton(&points, &values) == Ok(polynomial.clone()), "{n}");
            assert!(Interpolator::new(&points).unwrap().interpolate(&values) == polynomial, "{n}");
            assert!(interpolate(&points, &values) == Ok(polynomial.clone()), "{n}");
            if n <= 1024 {
                assert!(quadratic::lagrange(&points, &values) == Ok(polynomial), "{n}");
            }
        }
    }

    fn interpolation_is_linear<F: Domains>() {
        let mut rng = StdRng::seed_from_u64(2);
        let ready = Interpolator::new(&random::<F>(300, &mut rng)).unwrap();
        let [a, b] = [(); 2].map(|()| random::<F>(300, &mut rng));
        let factor = F::random(&mut rng);
        let mut sum = a.clone();
        F::add_products(&mut sum, &b, factor);
        let [mut a, b, sum] = [a, b, sum].map(|values| ready.interpolate(&values));
        F::add_products(&mut a, &b, factor);
        assert!(a == sum);
    }

    fn equal_points_are_refused<F: Domains>() {
        let mut rng = StdRng::seed_from_u64(3);
        for n in [2, 3, 60, 100, 1000] {
            let mut points = random::<F>(n, &mut rng);
            points[n - 1] = points[n / 3];
            assert!(tree::Interpolator::new(&points).is_err());
            assert!(Interpolator::new(&points).is_err());
            assert!(interpolate(&points, &points) == Err(DuplicatePoint));
            assert!(quadratic::lagrange(&points, &points) == Err(DuplicatePoint));
        }
    }

    fn products_are_sums_of_products<F: Domains>() {
        let mut rng = StdRng::seed_from_u64(4);
        for [m, n] in [[0, 5], [1, 1], [32, 40], [33, 33], [40, 500], [65, 70], [513, 512]] {
            let (a, b) = (random::<F>(m, &mut rng), random::<F>(n, &mut rng));
            let product = multiply(&a, &b);
            assert_eq!(product.len(), if m == 0 { 0 } else { m + n - 1 });
            for at in 0..product.len() {
                let pairs = (0..m).filter(|i| *i <= at && at - i < n);
                let sum = pairs.fold(F::ZERO, |sum, i| sum.add(a[i].multiply(b[at - i])));
                assert!(product[at] == sum, "{m} {n}");
            }
        }
    }

    fn a_series_times_its_reciprocal_is_1<F: Domains>() {
        let mut rng = StdRng::seed_from_u64(5);
        for len in [1, 2, 3, 100, 257] {
            let series = random::<F>(90, &mut rng);
            let mut product = multiply(&series, &reciprocal(&series, len));
            product.truncate(len);
            assert!(product[0] == F::ONE && product[1..].iter().all(|x| *x == F::ZERO));
        }
    }

    macro_rules! in_each_field {
        ($($test:ident),* $(,)?) => {
            mod prime_field { $(#[test] fn $test() { super::$test::<super::Fp64>(); })* }
            mod gf64 { $(#[test] fn $test() { super::$test::<super::Gf64>(); })* }
            mod tower64 { $(#[test] fn $test() { super::$test::<super::tower::Tower<u64>>(); })* }
            mod tower128 { $(#[test] fn $test() { super::$test::<super::tower::Tower<u128>>(); })* }
            mod gf128 { $(#[test] fn $test() { super::$test::<super::Block>(); })* }
        };
    }

    in_each_field!(
        fast_equals_quadratic,
        fast_equals_quadratic_for_thousands,
        interpolation_is_linear,
        equal_points_are_refused,
        products_are_sums_of_products,
        a_series_times_its_reciprocal_is_1,
    );
}
