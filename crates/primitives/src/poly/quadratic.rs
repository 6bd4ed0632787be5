//! Evaluation and interpolation in quadratic time: the fastest method for a few points, and the reference for
//! the others.

use super::{
    DuplicatePoint,
    field::{Field, invert_all},
};

/// Points evaluated side by side, so that products need not wait for each other.
const LANES: usize = 16;

/// The values of a polynomial at points, by Horner's rule.
pub fn evaluate<F: Field>(polynomial: &[F], points: &[F]) -> Vec<F> {
    let mut values = vec![F::ZERO; points.len()];
    for (values, points) in values.chunks_mut(LANES).zip(points.chunks(LANES)) {
        for coefficient in polynomial.iter().rev() {
            F::multiply_each(values, points);
            values.iter_mut().for_each(|value| *value = value.add(*coefficient));
        }
    }
    values
}

/// The polynomial with as many coefficients as points that takes the given values there, by Newton's form: 3/2
/// n² products.
///
/// # Errors
/// If two points are equal.
///
/// # Panics
/// If the numbers of values and points differ.
pub fn newton<F: Field>(points: &[F], values: &[F]) -> Result<Vec<F>, DuplicatePoint> {
    assert_eq!(points.len(), values.len(), "a value for each point");
    // At each remaining point: the part that is missing from its value, and Π (x − x_i) over the points so far.
    let mut missing = values.to_vec();
    let mut product = vec![F::ONE; points.len()];
    let mut factors = points.to_vec();
    let mut divided = Vec::with_capacity(points.len());
    for (k, point) in points.iter().enumerate() {
        if product[k] == F::ZERO {
            return Err(DuplicatePoint);
        }
        let quotient = missing[k].multiply(product[k].invert());
        divided.push(quotient);
        let rest = k + 1..points.len();
        let minus = F::ZERO.subtract(quotient);
        F::add_products(&mut missing[rest.clone()], &product[rest.clone()], minus);
        let others = factors[rest.clone()].iter_mut().zip(&points[rest.clone()]);
        others.for_each(|(factor, other)| *factor = other.subtract(*point));
        F::multiply_each(&mut product[rest.clone()], &factors[rest]);
    }
    Ok(expand(points, &divided))
}

/// The coefficients of Σ_k d_k Π_(i<k) (x − x_i).
fn expand<F: Field>(points: &[F], divided: &[F]) -> Vec<F> {
    // The polynomial so far is at the end; moving its start by one multiplies it by x.
    let mut polynomial = vec![F::ZERO; divided.len()];
    let mut before = Vec::with_capacity(divided.len());
    for (k, (point, quotient)) in points.iter().zip(divided).enumerate().rev() {
        before.clear();
        before.extend_from_slice(&polynomial[k + 1..]);
        polynomial[k] = *quotient;
        F::add_products(&mut polynomial[k..], &before, F::ZERO.subtract(*point));
    }
    polynomial
}

/// Like [`newton`], by the sum of Lagrange polynomials: 3 n² products.
///
/// # Errors
/// If two points are equal.
///
/// # Panics
/// If the numbers of values and points differ.
pub fn lagrange<F: Field>(points: &[F], values: &[F]) -> Result<Vec<F>, DuplicatePoint> {
    assert_eq!(points.len(), values.len(), "a value for each point");
    let nodal = nodal(points);
    let at_points = evaluate(&derivative(&nodal), points);
    let weights = invert_all(&at_points).ok_or(DuplicatePoint)?;
    let mut polynomial = vec![F::ZERO; points.len()];
    let mut quotient = vec![F::ZERO; points.len()];
    for ((point, value), weight) in points.iter().zip(values).zip(weights) {
        let mut carried = F::ZERO;
        for (slot, coefficient) in quotient.iter_mut().zip(&nodal[1..]).rev() {
            carried = coefficient.add(carried.multiply(*point));
            *slot = carried;
        }
        F::add_products(&mut polynomial, &quotient, value.multiply(weight));
    }
    Ok(polynomial)
}

/// Interpolation at a few points, precomputed for any number of lists of values: the inverse of the matrix of
/// their powers.
pub struct Inverse<F> {
    points: Vec<F>,
    /// Row k: the weight of each value in the coefficient of x^k.
    rows: Vec<F>,
}

impl<F: Field> Inverse<F> {
    /// Precomputes for some points in 3 n² products.
    ///
    /// # Errors
    /// If two points are equal.
    pub fn new(points: &[F]) -> Result<Self, DuplicatePoint> {
        let n = points.len();
        let nodal = nodal(points);
        let weights = invert_all(&evaluate(&derivative(&nodal), points)).ok_or(DuplicatePoint)?;
        // The quotients Π (x − x_j) / (x − x_i) for all i side by side, from the highest coefficient down.
        let mut quotients = weights.clone();
        let mut rows = vec![F::ZERO; n * n];
        for k in (0..n).rev() {
            rows[k * n..][..n].copy_from_slice(&quotients);
            F::multiply_each(&mut quotients, points);
            F::add_products(&mut quotients, &weights, nodal[k]);
        }
        Ok(Self { points: points.to_vec(), rows })
    }

    /// The polynomial with as many coefficients as points that takes the given values there, in n² products.
    ///
    /// # Panics
    /// If the numbers of values and points differ.
    pub fn interpolate(&self, values: &[F]) -> Vec<F> {
        assert_eq!(values.len(), self.points.len(), "a value for each point");
        let mut products = vec![F::ZERO; values.len()];
        let rows = self.rows.chunks_exact(values.len().max(1));
        rows.map(|row| {
            products.copy_from_slice(row);
            F::multiply_each(&mut products, values);
            products.iter().fold(F::ZERO, |sum, x| sum.add(*x))
        })
        .collect()
    }

    /// The points.
    pub fn points(&self) -> &[F] {
        &self.points
    }
}

/// Π (x − x_i).
fn nodal<F: Field>(points: &[F]) -> Vec<F> {
    let mut divided = vec![F::ZERO; points.len()];
    divided.push(F::ONE);
    // The last product does not include the last factor.
    expand(&[points, &[F::ZERO]].concat(), &divided)
}

/// The formal derivative.
pub fn derivative<F: Field>(polynomial: &[F]) -> Vec<F> {
    (1..).zip(polynomial.iter().skip(1)).map(|(i, coefficient)| coefficient.times(i)).collect()
}
