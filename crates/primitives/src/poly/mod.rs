//! Polynomials over finite fields: products, evaluation at many points, interpolation.
//!
//! A polynomial is the list of its coefficients, that of x^0 first. The fields are [`Block`], which is
//! GF(2^128); [`Gf64`], which is GF(2^64); and the prime field [`Fp64`]. Interpolation at n points and
//! evaluation of n coefficients at n points take O(n log² n) operations in each.
//!
//! Which functions run depends on lengths alone, but those of the prime field branch on values, and a
//! duplicate point ends a computation early: **not constant time**. That is enough for points that are
//! hashes of one's own items, on one's own machine. Nothing is wiped.

pub mod domain;
pub mod field;
mod product;
pub mod quadratic;
mod tree;

pub use domain::Domains;
pub use field::{Field, Fp64, Gf64};
pub use product::{multiply, reciprocal};
pub use tree::{Interpolator, Tree};

/// Two points of an interpolation are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicatePoint;

impl std::fmt::Display for DuplicatePoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("two points of an interpolation are equal")
    }
}

impl std::error::Error for DuplicatePoint {}

/// The polynomial with as many coefficients as points that takes the values there, by the quicker
/// method. For several lists of values at the same points, [`Interpolator`].
///
/// # Errors
/// If two points are equal.
///
/// # Panics
/// If there are not as many values as points, or more than 2^(MAX_LOG − 1).
pub fn interpolate<F: Domains>(points: &[F], values: &[F]) -> Result<Vec<F>, DuplicatePoint> {
    if points.len() <= INTERPOLATED_QUADRATICALLY {
        quadratic::newton(points, values)
    } else {
        Ok(Interpolator::new(points)?.interpolate(values))
    }
}

/// The values of a polynomial at points, by the quicker method.
///
/// # Panics
/// If there are more than 2^(MAX_LOG − 1) points.
pub fn evaluate<F: Domains>(polynomial: &[F], points: &[F]) -> Vec<F> {
    if polynomial.len().min(points.len()) <= EVALUATED_QUADRATICALLY {
        quadratic::evaluate(polynomial, points)
    } else {
        Tree::new(points).evaluate(polynomial)
    }
}

/// Up to so many points, Newton's form is quicker than the tree.
const INTERPOLATED_QUADRATICALLY: usize = 64;

/// Up to so many points or coefficients, Horner's rule is quicker than the tree.
const EVALUATED_QUADRATICALLY: usize = 64;

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::Block;

    const SIZES: [usize; 12] = [1, 2, 3, 5, 31, 33, 64, 65, 100, 1000, 1024, 4097];

    fn random<F: Field>(n: usize, rng: &mut StdRng) -> Vec<F> {
        (0..n).map(|_| F::random(rng)).collect()
    }

    fn fast_equals_quadratic<F: Domains>() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in SIZES {
            let points = random::<F>(n, &mut rng);
            let tree = Interpolator::new(&points).unwrap();
            for len in [0, 1, n - 1, n, n + 1, 3 * n + 7] {
                let polynomial = random::<F>(len, &mut rng);
                let expected = quadratic::evaluate(&polynomial, &points);
                assert!(tree.evaluate(&polynomial) == expected, "{n} {len}");
            }
            let values = random::<F>(n, &mut rng);
            let polynomial = tree.interpolate(&values);
            assert!(quadratic::evaluate(&polynomial, &points) == values, "{n}");
            assert!(quadratic::newton(&points, &values) == Ok(polynomial.clone()), "{n}");
            assert!(quadratic::lagrange(&points, &values) == Ok(polynomial), "{n}");
        }
    }

    #[test]
    fn fast_equals_quadratic_in_each_field() {
        fast_equals_quadratic::<Fp64>();
        fast_equals_quadratic::<Gf64>();
        fast_equals_quadratic::<Block>();
    }
}
