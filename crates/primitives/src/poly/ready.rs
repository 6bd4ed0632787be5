//! Interpolation and evaluation at a fixed list of points, for many lists of values or many polynomials, each
//! by the faster method.

use super::{
    DuplicatePoint, Tree,
    domain::Domains,
    quadratic::{self, Inverse},
    tree,
};

/// Up to this many points, the inverse matrix is faster than the tree: over GF(2^128), 129 points take 180 µs
/// and 42 µs per list of values, compared with 340 µs and 65 µs; 256 take 550 µs and 200 µs, compared with 390
/// µs and 95 µs.
const INVERTED: usize = 128;

/// Up to this many points or coefficients, Horner's rule is faster than the tree: over GF(2^128), 128 take 49
/// µs and 109 µs, 256 take 239 µs and 253 µs.
const EVALUATED_QUADRATICALLY: usize = 256;

/// Interpolation at a list of points, precomputed for any number of lists of values.
pub struct Interpolator<F: Domains>(Interpolation<F>);

enum Interpolation<F: Domains> {
    Few(Inverse<F>),
    Many(tree::Interpolator<F>),
    /// In the other form of the field.
    Twins(tree::Interpolator<F::Twin>),
}

impl<F: Domains> Interpolator<F> {
    /// Precomputes for some points.
    ///
    /// # Errors
    /// If two points are equal.
    ///
    /// # Panics
    /// Same as [`Tree::new`], except that there may be no points.
    pub fn new(points: &[F]) -> Result<Self, DuplicatePoint> {
        Ok(Self(if points.len() <= INVERTED {
            Interpolation::Few(Inverse::new(points)?)
        } else if F::has_twin() {
            Interpolation::Twins(tree::Interpolator::new(&F::to_twins(points))?)
        } else {
            Interpolation::Many(tree::Interpolator::new(points)?)
        }))
    }

    /// The polynomial with as many coefficients as points that takes the given values there.
    ///
    /// # Panics
    /// If the numbers of values and points differ.
    pub fn interpolate(&self, values: &[F]) -> Vec<F> {
        match &self.0 {
            Interpolation::Few(inverse) => inverse.interpolate(values),
            Interpolation::Many(tree) => tree.interpolate(values),
            Interpolation::Twins(tree) => F::from_twins(tree.interpolate(&F::to_twins(values))),
        }
    }

    /// The values of a polynomial at the points.
    pub fn evaluate(&self, polynomial: &[F]) -> Vec<F> {
        match &self.0 {
            Interpolation::Few(inverse) => quadratic::evaluate(polynomial, inverse.points()),
            Interpolation::Many(tree) => tree.evaluate(polynomial),
            Interpolation::Twins(tree) => F::from_twins(tree.evaluate(&F::to_twins(polynomial))),
        }
    }
}

/// Evaluation at a list of points, precomputed for any number of polynomials.
pub struct Evaluator<F: Domains>(Evaluation<F>);

enum Evaluation<F: Domains> {
    Few(Vec<F>),
    /// Trees over parts of the points.
    Many(Vec<Tree<F>>),
    /// In the other form of the field.
    Twins(Vec<Tree<F::Twin>>),
}

impl<F: Domains> Evaluator<F> {
    /// Precomputes for some points and for polynomials of about `coefficients` coefficients.
    ///
    /// # Panics
    /// If there are more than 2^(MAX_LOG − 1) points or coefficients.
    pub fn new(points: &[F], coefficients: usize) -> Self {
        Self(if coefficients.min(points.len()) <= EVALUATED_QUADRATICALLY {
            Evaluation::Few(points.to_vec())
        } else {
            // A tree with many more leaves than coefficients has levels that gain nothing.
            let parts = points.chunks(coefficients.next_power_of_two());
            if F::has_twin() {
                Evaluation::Twins(parts.map(|points| Tree::new(&F::to_twins(points))).collect())
            } else {
                Evaluation::Many(parts.map(Tree::new).collect())
            }
        })
    }

    /// The values of a polynomial at the points.
    pub fn evaluate(&self, polynomial: &[F]) -> Vec<F> {
        match &self.0 {
            Evaluation::Few(points) => quadratic::evaluate(polynomial, points),
            Evaluation::Many(trees) => {
                trees.iter().flat_map(|tree| tree.evaluate(polynomial)).collect()
            }
            Evaluation::Twins(trees) => {
                let polynomial = F::to_twins(polynomial);
                let values = trees.iter().flat_map(|tree| tree.evaluate(&polynomial)).collect();
                F::from_twins(values)
            }
        }
    }
}
