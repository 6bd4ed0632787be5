//! Groups of prime order in which discrete logarithms are hard.

mod batch;
mod ffdhe3072;
mod ristretto;

pub use batch::{Batch, OneByOne};
pub use ffdhe3072::Ffdhe3072;
pub use ristretto::{Ristretto, RistrettoBatch};

use bytemuck::Pod;
use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use zeroize::{Zeroize, Zeroizing};

/// A group of prime order, written additively.
///
/// Elements on the wire are [`Group::Encoded`]; decoding accepts the one canonical encoding of each
/// element and refuses the identity, so that no peer can make a product predictable.
///
/// In some groups, encoding many elements at once is much faster than one by one, provided that the multiple of
/// each by a small F is encoded. To encode many products, [divide](Group::divide) the scalar by F first, and
/// then [encode the multiples](Group::encode_multiples) by F. The value of F does not matter.
pub trait Group: Send + Sync + Sized + 'static {
    /// The name in tables.
    const NAME: &'static str;
    /// An exponent.
    type Scalar: Clone + Zeroize + Send + Sync;
    /// A group element.
    type Element: Copy + Eq + ConditionallySelectable + Zeroize + Send + Sync;
    /// An element's bytes on the wire.
    type Encoded: Pod + Ord + ConditionallySelectable + Zeroize + std::fmt::Debug + Send + Sync;
    /// Multiples of a public element, for many products with it.
    type Table: Send + Sync;
    /// Many elements at once.
    type Batch: Batch<Group = Self>;

    /// A random exponent other than 0. It is uniform, or short if products are slow; products with short ones
    /// only look uniform, under an assumption that the group's documentation states.
    fn random_scalar(rng: &mut dyn CryptoRng) -> Self::Scalar;

    /// 1 / s.
    fn invert(scalar: &Self::Scalar) -> Self::Scalar;

    /// s / F.
    fn divide(scalar: &Self::Scalar) -> Self::Scalar {
        scalar.clone()
    }

    /// A uniformly random element whose discrete logarithm nobody knows.
    fn random_element(rng: &mut dyn CryptoRng) -> Self::Element;

    /// A random oracle from byte strings to elements, in constant time for inputs of the same length; `domain`
    /// separates uses.
    fn hash(domain: &'static str, input: &[u8]) -> Self::Element;

    /// s · G for the generator G.
    fn mul_generator(scalar: &Self::Scalar) -> Self::Element;

    /// s · P, in constant time.
    fn mul(element: &Self::Element, scalar: &Self::Scalar) -> Self::Element;

    /// Multiples of P, for [`Group::mul_table`]. Pays for itself within a hundred products.
    fn table(element: &Self::Element) -> Self::Table;

    /// s · P for the P of the table, in constant time; faster than [`Group::mul`] for an s from
    /// [`Group::random_scalar`], or a part of one.
    fn mul_table(table: &Self::Table, scalar: &Self::Scalar) -> Self::Element;

    /// P + Q.
    fn add(left: &Self::Element, right: &Self::Element) -> Self::Element;

    /// −P; in some groups much slower than [`Group::add`].
    fn negate(element: &Self::Element) -> Self::Element;

    /// P − Q.
    fn sub(left: &Self::Element, right: &Self::Element) -> Self::Element {
        Self::add(left, &Self::negate(right))
    }

    /// The bytes of an element.
    fn encode(element: &Self::Element) -> Self::Encoded;

    /// The bytes of F · P for each P.
    fn encode_multiples(elements: &[Self::Element]) -> Vec<Self::Encoded> {
        elements.iter().map(Self::encode).collect()
    }

    /// The element with these bytes, unless they are not a canonical encoding or encode the identity.
    fn decode(bytes: &Self::Encoded) -> Option<Self::Element>;
}

/// A group that supports arithmetic on scalars, and sending them.
///
/// Scalars made here are uniform and as long as the order, even if [`Group::random_scalar`] draws short ones: a
/// product of short exponents is not short.
pub trait Scalars: Group {
    /// A scalar's bytes. Any integer of this length can be decoded; it represents its residue.
    type EncodedScalar: Pod + Zeroize + Send + Sync;
    /// Enough bytes that the residue of a uniform value is within 2^-128 of uniform.
    type WideScalar: Pod + Zeroize + Send + Sync;

    /// A uniform scalar; it is 0 with negligible probability.
    fn uniform_scalar(rng: &mut dyn CryptoRng) -> Self::Scalar {
        let mut wide = Zeroizing::new(<Self::WideScalar as bytemuck::Zeroable>::zeroed());
        rng.fill_bytes(bytemuck::bytes_of_mut(&mut *wide));
        Self::reduce(&wide)
    }

    /// The residue of an integer, in constant time. The least significant byte comes first.
    fn reduce(wide: &Self::WideScalar) -> Self::Scalar;

    /// The bytes of a scalar, the least significant first.
    fn encode_scalar(scalar: &Self::Scalar) -> Self::EncodedScalar;

    /// s · t, in constant time.
    fn multiply_scalars(left: &Self::Scalar, right: &Self::Scalar) -> Self::Scalar;

    /// `one` if the choice is 1, otherwise `zero`, in constant time.
    fn select_scalar(zero: &Self::Scalar, one: &Self::Scalar, choice: Choice) -> Self::Scalar;
}

/// Tests that every group must pass.
#[cfg(test)]
mod conformance {
    use rand::{Rng, SeedableRng, rngs::StdRng};

    use super::*;

    fn obeys_the_laws<G: Group>() {
        let mut rng = StdRng::seed_from_u64(1);
        let p = G::random_element(&mut rng);
        let q = G::hash("test", b"q");
        let s = G::random_scalar(&mut rng);
        assert!(G::add(&p, &q) == G::add(&q, &p));
        assert!(G::sub(&G::add(&p, &q), &q) == p);
        assert!(
            G::mul(&G::add(&p, &q), &s) == G::add(&G::mul(&p, &s), &G::mul(&q, &s)),
            "multiplication distributes"
        );
        assert!(G::mul(&G::mul(&p, &s), &G::invert(&s)) == p);
        let part = G::mul(&p, &G::divide(&s));
        let zero = G::sub(&part, &part);
        let encoded = [G::encode(&zero), G::encode(&G::mul(&p, &s))];
        assert_eq!(G::encode_multiples(&[zero, part]), encoded, "one does not spoil the others");
        let t = G::random_scalar(&mut rng);
        assert!(G::mul(&G::mul_generator(&s), &t) == G::mul(&G::mul_generator(&t), &s));
        let inverse = G::invert(&s);
        assert!(G::mul(&G::mul_generator(&inverse), &s) == G::mul(&G::mul_generator(&s), &inverse));
        assert!(G::add(&G::negate(&p), &p) == zero);
    }

    fn tables_give_products<G: Group>() {
        let mut rng = StdRng::seed_from_u64(4);
        let s = G::random_scalar(&mut rng);
        let elements = [G::mul_generator(&s), G::random_element(&mut rng), G::hash("test", b"p")];
        for p in elements {
            let table = G::table(&p);
            for _ in 0..5 {
                let s = G::random_scalar(&mut rng);
                for s in [G::divide(&s), G::invert(&s), s] {
                    assert!(G::mul_table(&table, &s) == G::mul(&p, &s));
                }
            }
        }
    }

    fn hash_separates_domains_and_inputs<G: Group>() {
        let h = |domain, input: &[u8]| G::encode(&G::hash(domain, input));
        assert_eq!(h("a", b"x"), h("a", b"x"));
        assert_ne!(h("a", b"x"), h("b", b"x"));
        assert_ne!(h("a", b"x"), h("a", b"y"));
        assert_ne!(h("a", b""), h("a", b"\0"));
    }

    fn encodings_are_canonical<G: Group>() {
        let mut rng = StdRng::seed_from_u64(2);
        let elements: Vec<_> = (0..9).map(|_| G::random_element(&mut rng)).collect();
        let s = G::random_scalar(&mut rng);
        for element in &elements {
            assert!(G::decode(&G::encode(element)) == Some(*element));
        }
        let one_by_one: Vec<_> = elements.iter().map(|e| G::encode(&G::mul(e, &s))).collect();
        let products = |encoded: &[G::Encoded]| {
            let elements = G::Batch::decode(encoded).expect("encoded elements");
            elements.mul(&G::divide(&s)).encode_multiples()
        };
        let encoded: Vec<_> = elements.iter().map(G::encode).collect();
        assert_eq!(products(&encoded), one_by_one);
        assert_eq!(products(&[]), []);

        let identity = G::encode(&G::sub(&elements[0], &elements[0]));
        assert!(G::decode(&identity).is_none(), "the identity is refused");
        let full: G::Encoded = {
            let mut bytes = G::encode(&elements[0]);
            bytemuck::bytes_of_mut(&mut bytes).fill(0xff);
            bytes
        };
        assert!(G::decode(&full).is_none(), "an integer beyond the modulus is refused");
        // Of strings that differ from an encoding in one bit, and of all strings, at least half are not
        // elements; those that are, are canonical.
        let changed = |i: usize| {
            let mut bytes = G::encode(&elements[i % elements.len()]);
            bytemuck::bytes_of_mut(&mut bytes)[i % 16 + 1] ^= 1 << (i % 8);
            bytes
        };
        let mut random = || {
            let mut bytes = full;
            rng.fill_bytes(bytemuck::bytes_of_mut(&mut bytes));
            bytes
        };
        let mut refused = 0;
        for bytes in (0..64).map(changed).chain((0..64).map(|_| random())) {
            match G::decode(&bytes) {
                Some(element) => assert_eq!(G::encode(&element), bytes),
                None => refused += 1,
            }
        }
        assert!((10..128).contains(&refused), "{refused} of 128");
    }

    fn widen<G: Scalars>(encoded: &G::EncodedScalar) -> G::WideScalar {
        let mut wide = <G::WideScalar as bytemuck::Zeroable>::zeroed();
        let bytes = bytemuck::bytes_of(encoded);
        bytemuck::bytes_of_mut(&mut wide)[..bytes.len()].copy_from_slice(bytes);
        wide
    }

    fn scalars_are_a_field<G: Scalars>() {
        let mut rng = StdRng::seed_from_u64(3);
        let [s, t] = [(), ()].map(|()| G::uniform_scalar(&mut rng));
        let short = G::random_scalar(&mut rng);
        let bytes = |scalar: &G::Scalar| bytemuck::bytes_of(&G::encode_scalar(scalar)).to_vec();
        let product = G::multiply_scalars(&s, &t);
        assert_eq!(bytes(&product), bytes(&G::multiply_scalars(&t, &s)));
        assert!(G::mul_generator(&product) == G::mul(&G::mul_generator(&s), &t));
        let other = G::multiply_scalars(&s, &short);
        assert!(G::mul_generator(&other) == G::mul(&G::mul_generator(&s), &short));
        let one = G::multiply_scalars(&s, &G::invert(&s));
        assert_eq!(bytes(&G::multiply_scalars(&one, &t)), bytes(&t));
        assert_eq!(bytes(&G::reduce(&widen::<G>(&G::encode_scalar(&s)))), bytes(&s));
        for (choice, chosen) in [(0, &s), (1, &short)] {
            let selected = G::select_scalar(&s, &short, Choice::from(choice));
            assert_eq!(bytes(&selected), bytes(chosen));
            assert!(G::mul_generator(&selected) == G::mul_generator(chosen));
        }
        // The largest integer: with w its residue and b = 256^len the next, w + 1 is the residue of b.
        let mut wide = <G::WideScalar as bytemuck::Zeroable>::zeroed();
        bytemuck::bytes_of_mut(&mut wide).fill(0xff);
        let largest = G::reduce(&wide);
        bytemuck::bytes_of_mut(&mut wide)[0] = 0xfe;
        let below = G::reduce(&wide);
        let difference = G::sub(&G::mul_generator(&largest), &G::mul_generator(&below));
        assert!(difference == G::mul_generator(&one));
    }

    fn many_are_as_each<G: Group>() {
        let mut rng = StdRng::seed_from_u64(5);
        let base = G::random_element(&mut rng);
        let table = G::table(&base);
        for n in [0, 1, 2, 7, 8, 9, 17] {
            let scalars: Vec<_> = (0..n).map(|_| G::random_scalar(&mut rng)).collect();
            let inputs: Vec<_> = (0..n as u8).map(|i| [i; 3]).collect();
            let p = G::Batch::hash("test", &inputs);
            let each: Vec<_> = inputs.iter().map(|input| G::hash("test", input)).collect();
            let encoded =
                |elements: &[G::Element]| -> Vec<_> { elements.iter().map(G::encode).collect() };
            assert_eq!(p.encode(), encoded(&each));
            assert_eq!(p.encode_multiples(), G::encode_multiples(&each));
            let pairs = || each.iter().zip(&scalars);
            let products: Vec<_> = pairs().map(|(p, s)| G::mul(p, s)).collect();
            let multiplied = p.mul_each(scalars.iter());
            assert_eq!(multiplied.encode(), encoded(&products));
            let s = G::divide(&G::random_scalar(&mut rng));
            let with_one: Vec<_> = each.iter().map(|p| G::mul(p, &s)).collect();
            assert_eq!(p.mul(&s).encode(), encoded(&with_one));
            let of_table: Vec<_> = scalars.iter().map(|s| G::mul(&base, s)).collect();
            assert_eq!(G::Batch::mul_table(&table, scalars.iter()).encode(), encoded(&of_table));
            let repeated = G::Batch::repeat(&base, n).mul_each(scalars.iter());
            assert_eq!(repeated.encode(), encoded(&of_table));
            let of_generator: Vec<_> = scalars.iter().map(G::mul_generator).collect();
            assert_eq!(G::Batch::mul_generator(scalars.iter()).encode(), encoded(&of_generator));
            let both = || each.iter().zip(&products);
            let sums: Vec<_> = both().map(|(p, q)| G::add(p, q)).collect();
            assert_eq!(p.add(&multiplied).encode(), encoded(&sums));
            let differences: Vec<_> = both().map(|(p, q)| G::sub(p, q)).collect();
            assert_eq!(p.sub(&multiplied).encode(), encoded(&differences));
            let choices = || (0..n).map(|i| Choice::from((i % 3 == 0) as u8));
            let chosen: Vec<_> = both()
                .zip(choices())
                .map(|((p, q), c)| G::Element::conditional_select(p, q, c))
                .collect();
            assert_eq!(p.select(&multiplied, choices()).encode(), encoded(&chosen));
            let zero = p.sub(&p).encode();
            assert!(zero.iter().all(|zero| *zero == G::encode(&G::sub(&base, &base))));

            let decoded = G::Batch::decode(&p.encode()).map(|decoded| decoded.encode());
            assert_eq!(decoded, Some(p.encode()));
            for i in 0..n {
                let mut spoilt = p.encode();
                spoilt[i] = zero[0];
                assert!(G::Batch::decode(&spoilt).is_none(), "the identity is refused");
                bytemuck::bytes_of_mut(&mut spoilt[i]).fill(0xff);
                assert!(G::Batch::decode(&spoilt).is_none());
            }
            let random = G::Batch::random(n, &mut rng).encode();
            assert!(random.iter().all(|encoded| G::decode(encoded).is_some()));
            assert_eq!(random.iter().collect::<std::collections::BTreeSet<_>>().len(), n);
        }
    }

    fn conforms<G: Scalars>() {
        many_are_as_each::<G>();
        obeys_the_laws::<G>();
        tables_give_products::<G>();
        scalars_are_a_field::<G>();
        hash_separates_domains_and_inputs::<G>();
        encodings_are_canonical::<G>();
    }

    #[test]
    fn ristretto() {
        conforms::<Ristretto>();
    }

    #[test]
    fn ffdhe3072() {
        conforms::<Ffdhe3072>();
    }
}
