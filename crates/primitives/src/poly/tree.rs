//! Evaluation at many points, and interpolation, in O(n log² n): the tree of products over the points.
//!
//! The leaves are x − x_i; a node's polynomial M is the product of its children's. Where others keep
//! coefficients and divide with remainder, all polynomials here stand as values on the domains of
//! [`super::domain`], and no step leaves them:
//!
//! - *Products.* A node over 2^k points has its values on V_(k+1). Two children's, multiplied, are their
//!   parent's on V_(k+1), and its remainder modulo s_(k+1). That has the same values on the coset but for
//!   what s_(k+1) is there, as M has the leading coefficient 1.
//! - *Evaluation*, downwards. For the node M over 2^k points and the polynomial f, it holds
//!   G = ⌊s_k · (f mod M) / M⌋, of degree below 2^k: the leading part of a fraction. A child's is that
//!   of the fraction times the sibling's polynomial, less its whole part:
//!   G' = ⌊(G · M' mod s_k) / s_(k−1)⌋ with the sibling's M' (up to terms that do not count). The
//!   remainder modulo s_k is a product value by value on V_k; the quotient by s_(k−1) follows from the
//!   values on V_(k−1) and on its coset. At a leaf, G is f(x_i). This is the transposed of the step below
//!   (Bostan, Lecerf and Schost 2003; Bernstein's scaled remainder tree), with one move between a domain
//!   and its coset a child.
//! - *Combination*, upwards: Σ c_i M / (x − x_i) is the left child's sum times the right child's M and
//!   the other way round, of degree below 2^k at each node.
//!
//! Where the number of points is no power of two, the tree ends with points 0 that are no one's: a
//! subtree of only such has M = x^(2^k) and is not stored but for the one that is a sibling.

use super::{
    DuplicatePoint,
    domain::{Domains, MAX_LOG},
    field::invert_all,
    product::reciprocal,
    quadratic::derivative,
};

/// The products over a list of points, made ready to evaluate there. Takes about 2 n (log n + 2)
/// elements.
pub struct Tree<F> {
    points: Vec<F>,
    /// For each k below the root's, each node's 2^(k+1) values.
    levels: Vec<Vec<F>>,
    /// The values of ⌊s_(k+1) / M⌋ on V_(k+1), for M at the root over 2^k points; its constant term,
    /// which makes no difference, is left out.
    reciprocal: Vec<F>,
    /// The coefficients of Π (x − x_i) over the points that count.
    nodal: Vec<F>,
}

impl<F: Domains> Tree<F> {
    /// The tree over at least one point.
    ///
    /// # Panics
    /// If there is no point, or more than 2^(MAX_LOG − 1).
    pub fn new(points: &[F]) -> Self {
        let log = points.len().next_power_of_two().ilog2() as usize;
        assert!(!points.is_empty() && log < MAX_LOG, "1 to 2^{} points", MAX_LOG - 1);
        let x = identity::<F>(1);
        let mut nodes: Vec<F> = points
            .iter()
            .flat_map(|point| [x[0].subtract(*point), x[1].subtract(*point)])
            .collect();
        let mut levels = Vec::with_capacity(log);
        for k in 0..log {
            if nodes.len() >> (k + 1) & 1 == 1 {
                nodes.extend(power_of_x::<F>(k));
            }
            let parents = parents(&nodes, k);
            levels.push(std::mem::replace(&mut nodes, parents));
        }
        let mut root = nodes;
        F::to_coefficients(&mut root);
        let size = 1 << log;
        root.truncate(size + 1);
        // In descending order, which the points at 0 do not change.
        let descending: Vec<F> = root.iter().rev().copied().collect();
        let mut inverse = reciprocal(&descending, size);
        inverse.reverse();
        let mut quotient = vec![F::ZERO];
        quotient.append(&mut inverse);
        quotient.resize(2 * size, F::ZERO);
        F::to_values(&mut quotient);
        let nodal = root.split_off(size - points.len());
        Self { points: points.to_vec(), levels, reciprocal: quotient, nodal }
    }

    /// The values of a polynomial at the points.
    pub fn evaluate(&self, polynomial: &[F]) -> Vec<F> {
        let size = self.size();
        // For more coefficients than leaves: Horner's rule in x^size.
        let mut parts = polynomial.chunks(size).rev();
        let Some(highest) = parts.next() else {
            return vec![F::ZERO; self.points.len()];
        };
        let mut values = self.evaluate_part(highest);
        if polynomial.len() > size {
            let mut powers = self.points.clone();
            for _ in 0..size.ilog2() {
                powers.iter_mut().for_each(|x| *x = x.multiply(*x));
            }
            for part in parts {
                F::multiply_each(&mut values, &powers);
                F::add_each(&mut values, &self.evaluate_part(part));
            }
        }
        values
    }

    /// How many leaves there are.
    fn size(&self) -> usize {
        1 << self.levels.len()
    }

    /// As [`Tree::evaluate`] for at most as many coefficients as leaves.
    fn evaluate_part(&self, polynomial: &[F]) -> Vec<F> {
        let log = self.levels.len();
        let mut values = polynomial.to_vec();
        values.resize(2 * self.size(), F::ZERO);
        F::to_values(&mut values);
        F::multiply_each(&mut values, &self.reciprocal);
        let mut fractions = values.split_off(self.size());
        quotients(&values, &mut fractions, log);
        for (k, nodes) in self.levels.iter().enumerate().rev() {
            fractions = self.children(&fractions, nodes, k);
        }
        fractions
    }

    /// From the fractions of nodes over 2^(k+1) points to those of their children.
    fn children(&self, fractions: &[F], nodes: &[F], k: usize) -> Vec<F> {
        let size = 1 << k;
        let count = self.points.len().div_ceil(size);
        let mut low = Vec::with_capacity(count * size);
        let mut high = Vec::with_capacity(count * size);
        let mut product = Vec::with_capacity(2 * size);
        for child in 0..count {
            let fraction = &fractions[child / 2 * 2 * size..][..2 * size];
            let sibling = &nodes[(child ^ 1) * 2 * size..][..2 * size];
            product.clear();
            product.extend_from_slice(fraction);
            F::multiply_each(&mut product, sibling);
            low.extend_from_slice(&product[..size]);
            high.extend_from_slice(&product[size..]);
        }
        quotients(&low, &mut high, k);
        high
    }

    /// The coefficients of Σ c_i Π_(j≠i) (x − x_j), for the `c` at the points.
    fn combine(&self, c: &[F]) -> Vec<F> {
        let mut sums = c.to_vec();
        for (k, nodes) in self.levels.iter().enumerate() {
            sums = self.parents_sums(sums, nodes, k);
        }
        F::to_coefficients(&mut sums);
        // The points at 0 have multiplied it by as many x.
        sums.split_off(self.size() - self.points.len())
    }

    /// From sums of nodes over 2^k points to those of their parents.
    fn parents_sums(&self, sums: Vec<F>, nodes: &[F], k: usize) -> Vec<F> {
        let size = 1 << k;
        let mut on_coset = sums.clone();
        F::to_coset(&mut on_coset, k);
        let mut parents = Vec::with_capacity(sums.len().next_multiple_of(2 * size));
        let mut product = Vec::with_capacity(2 * size);
        let both = sums.chunks_exact(size).zip(on_coset.chunks_exact(size));
        for (child, (low, high)) in both.enumerate() {
            let sibling = &nodes[(child ^ 1) * 2 * size..][..2 * size];
            product.clear();
            product.extend_from_slice(low);
            product.extend_from_slice(high);
            F::multiply_each(&mut product, sibling);
            if child % 2 == 0 {
                parents.extend_from_slice(&product);
            } else {
                F::add_each(&mut parents[child / 2 * 2 * size..], &product);
            }
        }
        parents
    }
}

/// The values of x on V_log.
fn identity<F: Domains>(log: usize) -> Vec<F> {
    let mut values = vec![F::ZERO; 1 << log];
    values[1] = F::ONE;
    F::to_values(&mut values);
    values
}

/// The values on V_(k+1) of x^(2^k).
fn power_of_x<F: Domains>(k: usize) -> Vec<F> {
    let mut values = identity::<F>(k + 1);
    for _ in 0..k {
        values.iter_mut().for_each(|x| *x = x.multiply(*x));
    }
    values
}

/// From nodes over 2^k points to their parents.
fn parents<F: Domains>(nodes: &[F], k: usize) -> Vec<F> {
    let size = 2 << k;
    let mut products = Vec::with_capacity(nodes.len() / 2);
    for pair in nodes.chunks_exact(2 * size) {
        let (left, right) = pair.split_at(size);
        let start = products.len();
        products.extend_from_slice(left);
        F::multiply_each(&mut products[start..], right);
    }
    let mut on_coset = products.clone();
    F::to_coset(&mut on_coset, k + 1);
    let mut parents = Vec::with_capacity(nodes.len());
    for (low, high) in products.chunks_exact(size).zip(on_coset.chunks_exact(size)) {
        parents.extend_from_slice(low);
        parents.extend(high.iter().map(|x| x.add(F::ON_COSET)));
    }
    parents
}

/// For polynomials of degree below 2^(k+1), with `low` their values on V_k: turns their values on the
/// coset into the values on V_k of the quotients by s_k.
fn quotients<F: Domains>(low: &[F], high: &mut [F], k: usize) {
    // On V_k, f = q s_k + r is r; on the coset, it is q times a constant + r.
    F::from_coset(high, k);
    for (high, low) in high.iter_mut().zip(low) {
        *high = high.subtract(*low).multiply(F::ON_COSET_INVERSE);
    }
}

/// Interpolation at a list of points, made ready for any number of lists of values.
pub struct Interpolator<F> {
    tree: Tree<F>,
    /// 1 / Π_(j≠i) (x_i − x_j).
    weights: Vec<F>,
}

impl<F: Domains> Interpolator<F> {
    /// Gets ready for some points.
    ///
    /// # Errors
    /// If two of them are equal.
    ///
    /// # Panics
    /// As [`Tree::new`].
    pub fn new(points: &[F]) -> Result<Self, DuplicatePoint> {
        let tree = Tree::new(points);
        let slopes = tree.evaluate(&derivative(&tree.nodal));
        let weights = invert_all(&slopes).ok_or(DuplicatePoint)?;
        Ok(Self { tree, weights })
    }

    /// The polynomial with as many coefficients as points that takes the values there.
    ///
    /// # Panics
    /// If there are not as many values as points.
    pub fn interpolate(&self, values: &[F]) -> Vec<F> {
        assert_eq!(values.len(), self.weights.len(), "a value for each point");
        let mut c = values.to_vec();
        F::multiply_each(&mut c, &self.weights);
        self.tree.combine(&c)
    }

    /// The values of a polynomial at the points.
    pub fn evaluate(&self, polynomial: &[F]) -> Vec<F> {
        self.tree.evaluate(polynomial)
    }
}
