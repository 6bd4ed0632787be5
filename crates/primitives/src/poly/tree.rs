//! Evaluation at many points, and interpolation, in O(n log² n): the product tree over the points.
//!
//! The leaves are x − x_i; a node's polynomial M is the product of its children's. Other implementations keep
//! coefficients and divide with remainder. Here all polynomials are represented by their values on the domains
//! of [`super::domain`], in every step:
//!
//! - *Products.* A node over 2^k points has its values on V_(k+1). The product of two children's values gives
//!   their parent's values on V_(k+1), and thus its remainder modulo s_(k+1). On the coset that remainder has
//!   the same values, up to the value of s_(k+1) there, because M has leading coefficient 1.
//! - *Evaluation*, top down. For the node M over 2^k points and the polynomial f, it holds G = ⌊s_k · (f mod M) / M⌋,
//!   of degree below 2^k: the leading part of a fraction. A child's G is the fraction times the sibling's polynomial,
//!   less its whole part: G' = ⌊(G · M' mod s_k) / s_(k−1)⌋ with the sibling's M' (up to terms that do not matter). The
//!   remainder modulo s_k is a product value by value on V_k; the quotient by s_(k−1) follows from the values on
//!   V_(k−1) and on its coset. At a leaf, G is f(x_i). This is the transpose of the step below (Bostan, Lecerf and
//!   Schost 2003; Bernstein's scaled remainder tree), with one move between a domain and its coset per child.
//! - *Combination*, bottom up: Σ c_i M / (x − x_i) is the left child's sum times the right child's M plus the
//!   right child's sum times the left child's M, of degree below 2^k at each node.
//!
//! If the number of points is not a power of two, the tree is padded with points 0: a subtree that contains
//! only these has M = x^(2^k) and is not stored, except for one that is a sibling.

use super::{
    DuplicatePoint,
    domain::{Domains, MAX_LOG},
    field::invert_all,
    product::{reciprocal, values_on_domain},
    quadratic::derivative,
};

/// The products over a list of points, for evaluation at these points. Takes about 2 n (log n + 2) elements.
pub struct Tree<F> {
    points: Vec<F>,
    /// For each k below the root's, the sibling of each node.
    levels: Vec<Level<F>>,
    /// The values of ⌊s_(k+1) / M⌋ on V_(k+1), for M at the root over 2^k points. The constant term makes no
    /// difference and is omitted.
    reciprocal: Vec<F>,
    /// The coefficients of Π (x − x_i) over the actual points.
    nodal: Vec<F>,
}

impl<F: Domains> Tree<F> {
    /// The tree over at least one point.
    ///
    /// # Panics
    /// If `points` is empty, or has more than 2^(MAX_LOG − 1) points.
    pub fn new(points: &[F]) -> Self {
        let log = points.len().next_power_of_two().ilog2() as usize;
        assert!(!points.is_empty() && log < MAX_LOG, "1 to 2^{} points", MAX_LOG - 1);
        let x = identity::<F>(1);
        let mut nodes = Level {
            low: points.iter().map(|point| x[0].subtract(*point)).collect(),
            high: points.iter().map(|point| x[1].subtract(*point)).collect(),
        };
        let mut levels = Vec::with_capacity(log);
        for k in 0..log {
            nodes.complete(k);
            let parents = nodes.parents(k);
            nodes.exchange_siblings(k);
            levels.push(std::mem::replace(&mut nodes, parents));
        }
        let mut root = [nodes.low, nodes.high].concat();
        F::to_coefficients(&mut root);
        let size = 1 << log;
        root.truncate(size + 1);
        // In descending order; the padding points 0 do not affect it.
        let descending: Vec<F> = root.iter().rev().copied().collect();
        let mut inverse = reciprocal(&descending, size);
        inverse.reverse();
        let mut quotient = vec![F::ZERO];
        quotient.append(&mut inverse);
        let nodal = root.split_off(size - points.len());
        let reciprocal = values_on_domain(&quotient, log + 1);
        Self { points: points.to_vec(), levels, reciprocal, nodal }
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

    /// The number of leaves.
    fn size(&self) -> usize {
        1 << self.levels.len()
    }

    /// Like [`Tree::evaluate`], for at most as many coefficients as leaves.
    fn evaluate_part(&self, polynomial: &[F]) -> Vec<F> {
        let log = self.levels.len();
        let mut low = values_on_domain(polynomial, log + 1);
        F::multiply_each(&mut low, &self.reciprocal);
        let mut fractions = low.split_off(self.size());
        quotients(&low, &mut fractions, log);
        for (k, siblings) in self.levels.iter().enumerate().rev() {
            self.children(&mut fractions, &mut low, siblings, k);
        }
        fractions
    }

    /// Turns the fractions of nodes over 2^(k+1) points into the fractions of their children, in place; `low` is
    /// scratch space shared by all levels.
    fn children(&self, fractions: &mut Vec<F>, low: &mut Vec<F>, siblings: &Level<F>, k: usize) {
        let size = 1 << k;
        low.resize(fractions.len(), F::ZERO);
        by_halves(fractions, low, size, |[on_domain, on_coset], [left, right]| {
            left.copy_from_slice(on_domain);
            right.copy_from_slice(on_domain);
            on_domain.copy_from_slice(on_coset);
        });
        // Without the padding sibling.
        let count = self.points.len().div_ceil(size);
        low.truncate(count * size);
        fractions.truncate(count * size);
        F::multiply_each(low, &siblings.low);
        F::multiply_each(fractions, &siblings.high);
        quotients(low, fractions, k);
    }

    /// The coefficients of Σ c_i Π_(j≠i) (x − x_j), for the `c` at the points.
    fn combine(&self, c: &[F]) -> Vec<F> {
        let (mut sums, mut high) = (c.to_vec(), Vec::with_capacity(self.size()));
        for (k, siblings) in self.levels.iter().enumerate() {
            Self::parents_sums(&mut sums, &mut high, siblings, k);
        }
        F::to_coefficients(&mut sums);
        // Each padding point 0 has contributed a factor x.
        sums.split_off(self.size() - self.points.len())
    }

    /// Turns the sums of nodes over 2^k points into the sums of their parents, in place; `high` is scratch space shared
    /// by all levels.
    fn parents_sums(sums: &mut Vec<F>, high: &mut Vec<F>, siblings: &Level<F>, k: usize) {
        let size = 1 << k;
        high.clear();
        high.extend_from_slice(sums);
        F::to_coset(high, k);
        F::multiply_each(sums, &siblings.low);
        F::multiply_each(high, &siblings.high);
        // The sum of a padding sibling is 0.
        for values in [&mut *sums, &mut *high] {
            values.resize(values.len().next_multiple_of(2 * size), F::ZERO);
        }
        by_halves(sums, high, size, |[left, right], [left_on_coset, right_on_coset]| {
            F::add_each(left, right);
            F::add_each(left_on_coset, right_on_coset);
            right.copy_from_slice(left_on_coset);
        });
    }
}

/// Applies `work` to the two halves, of `size` elements each, of each pair of nodes in both lists.
fn by_halves<F>(
    a: &mut [F],
    b: &mut [F],
    size: usize,
    work: impl Fn([&mut [F]; 2], [&mut [F]; 2]),
) {
    /// For lengths known at compile time, with which calls of `work` are a few instructions.
    fn short<const N: usize, F>(
        a: &mut [F],
        b: &mut [F],
        work: impl Fn([&mut [F]; 2], [&mut [F]; 2]),
    ) {
        let [a, b] = [a, b].map(|x| x.as_chunks_mut::<N>().0.as_chunks_mut::<2>().0);
        for ([a, c], [b, d]) in a.iter_mut().zip(b) {
            work([a, c], [b, d]);
        }
    }
    match size {
        1 => short::<1, F>(a, b, work),
        2 => short::<2, F>(a, b, work),
        4 => short::<4, F>(a, b, work),
        8 => short::<8, F>(a, b, work),
        _ => {
            for (a, b) in a.chunks_exact_mut(2 * size).zip(b.chunks_exact_mut(2 * size)) {
                work(a.split_at_mut(size).into(), b.split_at_mut(size).into());
            }
        }
    }
}

/// Nodes over 2^k points each, represented by their values on V_(k+1).
struct Level<F> {
    /// The values on V_k, node after node.
    low: Vec<F>,
    /// The values on the coset of V_k.
    high: Vec<F>,
}

impl<F: Domains> Level<F> {
    /// Gives the last node a sibling over points 0, if it has none.
    fn complete(&mut self, k: usize) {
        if self.low.len() >> k & 1 == 1 {
            let power = power_of_x::<F>(k);
            let (low, high) = power.split_at(1 << k);
            self.low.extend_from_slice(low);
            self.high.extend_from_slice(high);
        }
    }

    /// The parents of complete nodes.
    fn parents(&self, k: usize) -> Self {
        let size = 1 << k;
        let [mut low, mut right] = [(); 2].map(|()| Vec::with_capacity(self.low.len()));
        let pairs = self.low.chunks_exact(2 * size).zip(self.high.chunks_exact(2 * size));
        for (on_domain, on_coset) in pairs {
            for children in [on_domain, on_coset] {
                low.extend_from_slice(&children[..size]);
                right.extend_from_slice(&children[size..]);
            }
        }
        F::multiply_each(&mut low, &right);
        let mut high = low.clone();
        F::to_coset(&mut high, k + 1);
        high.iter_mut().for_each(|x| *x = x.add(F::ON_COSET));
        Self { low, high }
    }

    /// Replaces each node by its sibling.
    fn exchange_siblings(&mut self, k: usize) {
        let size = 1 << k;
        for values in [&mut self.low, &mut self.high] {
            for pair in values.chunks_exact_mut(2 * size) {
                let (left, right) = pair.split_at_mut(size);
                left.swap_with_slice(right);
            }
        }
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

/// For polynomials of degree below 2^(k+1), with `low` their values on V_k: converts their values on the coset
/// to the values on V_k of the quotients by s_k.
fn quotients<F: Domains>(low: &[F], high: &mut [F], k: usize) {
    // On V_k, f = q s_k + r equals r; on the coset, it is q times a constant, plus r.
    F::from_coset(high, k);
    for (high, low) in high.iter_mut().zip(low) {
        *high = high.subtract(*low);
    }
    if F::ON_COSET_INVERSE != F::ONE {
        high.iter_mut().for_each(|x| *x = x.multiply(F::ON_COSET_INVERSE));
    }
}

/// Interpolation at a list of points, precomputed for any number of lists of values.
pub struct Interpolator<F> {
    tree: Tree<F>,
    /// 1 / Π_(j≠i) (x_i − x_j).
    weights: Vec<F>,
}

impl<F: Domains> Interpolator<F> {
    /// Precomputes for some points.
    ///
    /// # Errors
    /// If two points are equal.
    ///
    /// # Panics
    /// Same as [`Tree::new`].
    pub fn new(points: &[F]) -> Result<Self, DuplicatePoint> {
        let tree = Tree::new(points);
        let slopes = tree.evaluate(&derivative(&tree.nodal));
        let weights = invert_all(&slopes).ok_or(DuplicatePoint)?;
        Ok(Self { tree, weights })
    }

    /// The polynomial with as many coefficients as points that takes the given values there.
    ///
    /// # Panics
    /// If the numbers of values and points differ.
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
