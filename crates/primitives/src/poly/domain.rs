//! Domains: sets of points on which polynomials can be evaluated at once.
//!
//! The domain V_k has 2^k points and is the first half of V_(k+1); the other half is its coset. Its vanishing
//! polynomial s_k has degree 2^k and leading coefficient 1, and is 0 on V_k and a constant on the coset; apart
//! from its highest power, it has no power above half its degree. Moving between coefficients, values on V_k
//! and values on the coset takes O(k · 2^k) operations. The rest of this module relies on nothing else.
//!
//! **Over GF(2^64) and GF(2^128)**, V_k is the span of β_0 to β_(k−1) over GF(2), where β_0 = 1 and β_(i+1)² + β_(i+1)
//! = β_i (Cantor 1989; Gao and Mateer 2010). There s_(k+1) = s_k² + s_k, and s_i maps β_j to β_(j−i), so the twiddle of
//! a block is the sum of the β selected by the bits of its number. The transform is by Lin, Chung and Han (FOCS 2014)
//! in the basis of the products of s_i; converting between that basis and powers of x takes only additions, because s_i
//! has coefficients in GF(2), where 2^w are non-zero if w bits of i are 1.
//!
//! **Over the prime field**, V_k consists of the roots of x^(2^k) = 1, and s_k = x^(2^k) − 1 is −2 on the
//! coset.

use super::field::Field;
use crate::arch::transform::LAYERS;

/// The logarithm of the size of the largest domain.
pub const MAX_LOG: usize = LAYERS;

/// A field with domains. Slices that hold several nodes hold 2^k values for each, one node after another.
pub trait Domains: Field {
    /// The value of s_k on the coset of V_k, for every k.
    const ON_COSET: Self;

    /// The inverse of [`Domains::ON_COSET`].
    const ON_COSET_INVERSE: Self;

    /// Converts the coefficients of a polynomial, as many as V_k has points, to its values on V_k.
    fn to_values(polynomial: &mut [Self]);

    /// The inverse of [`Domains::to_values`].
    fn to_coefficients(values: &mut [Self]);

    /// Converts the values on V_k of polynomials of degree below 2^k to those on the coset.
    fn to_coset(values: &mut [Self], k: usize);

    /// The inverse of [`Domains::to_coset`].
    fn from_coset(values: &mut [Self], k: usize);

    /// The same field in a form in which moves between domains take less time on some processors, or the field
    /// itself.
    type Twin: Domains;

    /// Whether [`Domains::Twin`] is the better form on this processor.
    fn has_twin() -> bool {
        false
    }

    /// These elements in the other form.
    fn to_twins(elements: &[Self]) -> Vec<Self::Twin>;

    /// The inverse of [`Domains::to_twins`].
    fn from_twins(twins: Vec<Self::Twin>) -> Vec<Self>;
}

/// The k of the domain with as many points as there are elements.
///
/// # Panics
/// If such a domain does not exist.
pub(super) fn log_of<T>(elements: &[T]) -> usize {
    assert!(elements.len().is_power_of_two(), "a domain has a power of two of points");
    let log = elements.len().ilog2() as usize;
    assert!(log <= MAX_LOG, "a domain has at most 2^{MAX_LOG} points");
    log
}
