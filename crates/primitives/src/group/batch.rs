//! Many elements at once, one by one.

use rand::CryptoRng;
use subtle::{Choice, ConditionallySelectable};
use zeroize::Zeroize;

use super::Group;

/// Many elements of a group. With vector instructions of the processor, an operation takes a fraction of the time that
/// it takes one by one, from two elements on.
///
/// Two batches that meet have the same number of elements. Everything is in constant time but decoding.
pub trait Batch: Sized + Send + Sync + Zeroize {
    /// The group.
    type Group: Group;

    /// [`Group::hash`] of each input.
    fn hash(domain: &'static str, inputs: &[impl AsRef<[u8]>]) -> Self;

    /// [`Group::random_element`], `n` times.
    fn random(n: usize, rng: &mut dyn CryptoRng) -> Self;

    /// `n` times the same element.
    fn repeat(element: &Element<Self>, n: usize) -> Self;

    /// [`Group::decode`] of all, or nothing if one of them is refused.
    fn decode(encoded: &[Encoded<Self>]) -> Option<Self>;

    /// s · G for each s.
    fn mul_generator<'a>(scalars: impl Iterator<Item = &'a Scalar<Self>>) -> Self
    where
        Scalar<Self>: 'a;

    /// s · P for each s and the P of the table.
    fn mul_table<'a>(table: &Table<Self>, scalars: impl Iterator<Item = &'a Scalar<Self>>) -> Self
    where
        Scalar<Self>: 'a;

    /// s · P for each P.
    fn mul(&self, scalar: &Scalar<Self>) -> Self;

    /// s · P for each P and the s in its place.
    ///
    /// # Panics
    /// May panic if there are more scalars than elements; elements without one are lost.
    fn mul_each<'a>(&self, scalars: impl Iterator<Item = &'a Scalar<Self>>) -> Self
    where
        Scalar<Self>: 'a;

    /// P + Q for each pair.
    fn add(&self, other: &Self) -> Self;

    /// P − Q for each pair.
    fn sub(&self, other: &Self) -> Self;

    /// For each pair, the element of `other` where the choice is 1.
    fn select(&self, other: &Self, choices: impl Iterator<Item = Choice>) -> Self;

    /// [`Group::encode`] of each.
    fn encode(&self) -> Vec<Encoded<Self>>;

    /// [`Group::encode_multiples`].
    fn encode_multiples(&self) -> Vec<Encoded<Self>>;
}

type Scalar<B> = <<B as Batch>::Group as Group>::Scalar;
type Element<B> = <<B as Batch>::Group as Group>::Element;
type Encoded<B> = <<B as Batch>::Group as Group>::Encoded;
type Table<B> = <<B as Batch>::Group as Group>::Table;

/// A batch whose elements are worked on one by one.
pub struct OneByOne<G: Group>(pub(super) Vec<G::Element>);

impl<G: Group> Zeroize for OneByOne<G> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<G: Group> OneByOne<G> {
    fn pairs(&self, other: &Self, each: impl Fn(&G::Element, &G::Element) -> G::Element) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(p, q)| each(p, q)).collect())
    }
}

impl<G: Group> Batch for OneByOne<G> {
    type Group = G;

    fn hash(domain: &'static str, inputs: &[impl AsRef<[u8]>]) -> Self {
        Self(inputs.iter().map(|input| G::hash(domain, input.as_ref())).collect())
    }

    fn random(n: usize, rng: &mut dyn CryptoRng) -> Self {
        Self((0..n).map(|_| G::random_element(rng)).collect())
    }

    fn repeat(element: &G::Element, n: usize) -> Self {
        Self(vec![*element; n])
    }

    fn decode(encoded: &[G::Encoded]) -> Option<Self> {
        encoded.iter().map(G::decode).collect::<Option<_>>().map(Self)
    }

    fn mul_generator<'a>(scalars: impl Iterator<Item = &'a G::Scalar>) -> Self {
        Self(scalars.map(G::mul_generator).collect())
    }

    fn mul_table<'a>(table: &G::Table, scalars: impl Iterator<Item = &'a G::Scalar>) -> Self {
        Self(scalars.map(|scalar| G::mul_table(table, scalar)).collect())
    }

    fn mul(&self, scalar: &G::Scalar) -> Self {
        Self(self.0.iter().map(|element| G::mul(element, scalar)).collect())
    }

    fn mul_each<'a>(&self, scalars: impl Iterator<Item = &'a G::Scalar>) -> Self {
        Self(self.0.iter().zip(scalars).map(|(element, scalar)| G::mul(element, scalar)).collect())
    }

    fn add(&self, other: &Self) -> Self {
        self.pairs(other, G::add)
    }

    fn sub(&self, other: &Self) -> Self {
        self.pairs(other, G::sub)
    }

    fn select(&self, other: &Self, choices: impl Iterator<Item = Choice>) -> Self {
        let pairs = self.0.iter().zip(&other.0).zip(choices);
        Self(pairs.map(|((p, q), c)| G::Element::conditional_select(p, q, c)).collect())
    }

    fn encode(&self) -> Vec<G::Encoded> {
        self.0.iter().map(G::encode).collect()
    }

    fn encode_multiples(&self) -> Vec<G::Encoded> {
        G::encode_multiples(&self.0)
    }
}
