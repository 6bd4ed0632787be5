//! The domains of the fields that polynomials are over.

use std::sync::LazyLock;

use super::{
    cantor,
    domain::{Domains, log_of},
    field::{Field, Fp64, Gf64},
    tower::Tower,
};
use crate::{
    Block,
    arch::{
        Backend,
        transform::{self, Direction, LAYERS, Twiddles},
    },
};

/// Values that go through two transforms before the next ones do, unless a node has more: this many stay in the
/// first-level cache.
const NEAR: usize = 1 << 10;

/// A field of characteristic 2, which holds an element in a word, and its transform.
macro_rules! binary_field {
    ($field:ident, $word:ty, $additive:ident) => {
        impl Domains for $field {
            const ON_COSET: Self = Self(1);
            const ON_COSET_INVERSE: Self = Self(1);

            fn to_values(polynomial: &mut [Self]) {
                cantor::to_domain_basis(polynomial);
                $additive(polynomial, log_of(polynomial), false, Direction::Forward);
            }

            fn to_coefficients(values: &mut [Self]) {
                $additive(values, log_of(values), false, Direction::Backward);
                cantor::from_domain_basis(values);
            }

            fn to_coset(values: &mut [Self], k: usize) {
                for values in values.chunks_mut(NEAR.max(1 << k)) {
                    $additive(values, k, false, Direction::Backward);
                    $additive(values, k, true, Direction::Forward);
                }
            }

            fn from_coset(values: &mut [Self], k: usize) {
                for values in values.chunks_mut(NEAR.max(1 << k)) {
                    $additive(values, k, true, Direction::Backward);
                    $additive(values, k, false, Direction::Forward);
                }
            }

            type Twin = Tower<$word>;

            fn has_twin() -> bool {
                Backend::current().has_tower()
            }

            fn to_twins(elements: &[Self]) -> Vec<Tower<$word>> {
                Tower::of(bytemuck::cast_slice(elements))
            }

            fn from_twins(twins: Vec<Tower<$word>>) -> Vec<Self> {
                Tower::back(twins).into_iter().map(Self).collect()
            }
        }
    };
}

binary_field!(Block, u128, additive128);
binary_field!(Gf64, u64, additive64);

fn additive128(values: &mut [Block], log: usize, coset: bool, direction: Direction) {
    static TWIDDLES: LazyLock<Twiddles<Block>> =
        LazyLock::new(|| cantor::twiddles(128, |i| Block(1 << i), |x| x));
    Backend::current().additive128(&TWIDDLES, values, log, coset, direction);
}

fn additive64(values: &mut [Gf64], log: usize, coset: bool, direction: Direction) {
    static TWIDDLES: LazyLock<Twiddles<u64>> =
        LazyLock::new(|| cantor::twiddles(64, |i| Gf64(1 << i), |x| x.0));
    let values = bytemuck::cast_slice_mut(values);
    Backend::current().additive64(&TWIDDLES, values, log, coset, direction);
}

impl Domains for Fp64 {
    const ON_COSET: Self = Self::new(Self::P - 2);
    // (p − 1) / 2 times −2 is 1 − p.
    const ON_COSET_INVERSE: Self = Self::new((Self::P - 1) / 2);

    fn to_values(polynomial: &mut [Self]) {
        roots_forward(polynomial, log_of(polynomial), false);
    }

    fn to_coefficients(values: &mut [Self]) {
        roots_backward(values, log_of(values), false);
    }

    fn to_coset(values: &mut [Self], k: usize) {
        roots_backward(values, k, false);
        roots_forward(values, k, true);
    }

    fn from_coset(values: &mut [Self], k: usize) {
        roots_backward(values, k, true);
        roots_forward(values, k, false);
    }

    type Twin = Self;

    fn to_twins(elements: &[Self]) -> Vec<Self> {
        elements.to_vec()
    }

    fn from_twins(twins: Vec<Self>) -> Vec<Self> {
        twins
    }
}

fn roots_forward(values: &mut [Fp64], log: usize, coset: bool) {
    static TWIDDLES: LazyLock<Twiddles<Fp64>> = LazyLock::new(|| root_twiddles(false));
    let butterfly = |low: &mut [Fp64], high: &mut [Fp64], twiddle: Fp64| {
        for (low, high) in low.iter_mut().zip(high) {
            let (a, b) = (*low, high.multiply(twiddle));
            (*low, *high) = (a.add(b), a.subtract(b));
        }
    };
    transform::forward(&TWIDDLES, values, log, coset, Fp64::multiply, butterfly);
}

fn roots_backward(values: &mut [Fp64], log: usize, coset: bool) {
    static TWIDDLES: LazyLock<Twiddles<Fp64>> = LazyLock::new(|| root_twiddles(true));
    let butterfly = |low: &mut [Fp64], high: &mut [Fp64], twiddle: Fp64| {
        for (low, high) in low.iter_mut().zip(high) {
            let (a, b) = (*low, *high);
            (*low, *high) = (a.add(b).half(), a.subtract(b).half().multiply(twiddle));
        }
    };
    transform::backward(&TWIDDLES, values, log, coset, Fp64::multiply, butterfly);
}

/// Block c, whose bits are c_0, c_1 and so on, has the root of unity with the exponent Σ c_i / 2^(i+2)
/// of a full turn, or its inverse.
fn root_twiddles(inverse: bool) -> Twiddles<Fp64> {
    /// A non-square, which generates the group.
    const GENERATOR: Fp64 = Fp64::new(7);
    let part = |log: usize| {
        let root = GENERATOR.power((Fp64::P - 1) >> log);
        if inverse { root.invert() } else { root }
    };
    let powers: [Fp64; LAYERS] = std::array::from_fn(|i| part(i + 2));
    let lower = |i: usize| powers[..i].iter().fold(Fp64::ONE, |product, x| product.multiply(*x));
    let steps = std::array::from_fn(|i| powers[i].multiply(lower(i).invert()));
    Twiddles { first: Fp64::ONE, powers, steps }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::poly::quadratic::evaluate;

    fn random<F: Field>(n: usize) -> Vec<F> {
        let mut rng = StdRng::seed_from_u64(n as u64);
        (0..n).map(|_| F::random(&mut rng)).collect()
    }

    /// The points of V_k, in order: the values of x.
    fn points<F: Domains>(k: usize) -> Vec<F> {
        let mut points = vec![F::ZERO; 1 << k];
        points[1] = F::ONE;
        F::to_values(&mut points);
        points
    }

    fn domains_are_what_they_say<F: Domains>() {
        let all = points::<F>(10);
        for k in 0..10 {
            let size = 1 << k;
            let (domain, rest) = all.split_at(size);
            assert!(k == 0 || points::<F>(k) == domain);
            // The vanishing polynomial, on the coset.
            for x in &rest[..size] {
                let product = domain.iter().fold(F::ONE, |p, point| p.multiply(x.subtract(*point)));
                assert!(product == F::ON_COSET, "{k}");
            }
            assert!(F::ON_COSET.multiply(F::ON_COSET_INVERSE) == F::ONE);
            let polynomial = random::<F>(size);
            let mut values = polynomial.clone();
            F::to_values(&mut values);
            assert!(values == evaluate(&polynomial, domain), "{k}");
            // Two nodes side by side.
            let mut moved = [values.clone(), values.clone()].concat();
            F::to_coset(&mut moved, k);
            let expected = evaluate(&polynomial, &rest[..size]);
            assert!(moved == [expected.clone(), expected].concat(), "{k}");
            F::from_coset(&mut moved, k);
            assert!(moved[size..] == values, "{k}");
            F::to_coefficients(&mut values);
            assert!(values == polynomial, "{k}");
        }
    }

    #[test]
    fn domains_are_what_they_say_in_each_field() {
        domains_are_what_they_say::<Block>();
        domains_are_what_they_say::<Gf64>();
        domains_are_what_they_say::<Fp64>();
        domains_are_what_they_say::<Tower<u64>>();
        domains_are_what_they_say::<Tower<u128>>();
    }

    #[test]
    fn the_basis_is_cantors() {
        let basis = cantor::basis(128, |i| Block(1 << i));
        assert_eq!(basis[0], Block(1));
        assert!(basis.array_windows().all(|[a, b]| b.multiply(*b) ^ *b == *a));
        let basis = cantor::basis(64, |i| Gf64(1 << i));
        assert!(basis.array_windows().all(|[a, b]| b.multiply(*b).add(*b) == *a));
    }

    #[test]
    fn backends_transform_alike() {
        for log in 0..8 {
            for coset in [false, true] {
                for direction in [Direction::Forward, Direction::Backward] {
                    let wide = cantor::twiddles(128, |i| Block(1 << i), |x| x);
                    let narrow = cantor::twiddles(64, |i| Gf64(1 << i), |x| x.0);
                    let values = random::<Block>(5 << log);
                    let halves: Vec<u64> = values.iter().map(|value| value.low()).collect();
                    let results = Backend::available().into_iter().map(|backend| {
                        let (mut values, mut halves) = (values.clone(), halves.clone());
                        backend.additive128(&wide, &mut values, log, coset, direction);
                        backend.additive64(&narrow, &mut halves, log, coset, direction);
                        (values, halves)
                    });
                    let results: Vec<_> = results.collect();
                    assert!(results.array_windows().all(|[a, b]| a == b), "{log}");
                }
            }
        }
    }
}
