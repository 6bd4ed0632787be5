//! Many points at once: by vector instructions if the processor has them.

use std::sync::LazyLock;

use curve25519_dalek::{RistrettoPoint, Scalar};
use rand::CryptoRng;
use subtle::Choice;
use zeroize::{Zeroize, Zeroizing};

use super::{
    super::{Batch, Group, OneByOne},
    Ristretto, Table, uniform_bytes,
};
use crate::arch::curve25519::{self, LANES, Points, Vectors};

/// Points of ristretto255, in vectors of eight if the processor has the instructions for them.
pub struct RistrettoBatch(Form);

enum Form {
    OneByOne(OneByOne<Ristretto>),
    /// `len` points; the rest of the last vector is arbitrary.
    Vectors {
        vectors: Vectors,
        points: Vec<Points>,
        len: usize,
    },
}

impl Zeroize for RistrettoBatch {
    fn zeroize(&mut self) {
        match &mut self.0 {
            Form::OneByOne(points) => points.zeroize(),
            Form::Vectors { points, .. } => points.zeroize(),
        }
    }
}

impl RistrettoBatch {
    fn vectors(vectors: Vectors, points: Vec<Points>, len: usize) -> Self {
        Self(Form::Vectors { vectors, points, len })
    }

    fn one_by_one(points: OneByOne<Ristretto>) -> Self {
        Self(Form::OneByOne(points))
    }

    /// Points by RFC 9496's map of uniform bytes.
    pub fn from_uniform(bytes: &[[u8; 64]]) -> Self {
        let Some(vectors) = Vectors::current() else {
            let points = bytes.iter().map(RistrettoPoint::from_uniform_bytes);
            return Self::one_by_one(OneByOne(points.collect()));
        };
        let points = eights(bytes, [0; 64]).map(|bytes| vectors.from_uniform(&bytes));
        Self::vectors(vectors, points.collect(), bytes.len())
    }

    /// Applies one function or the other.
    fn each(
        &self,
        one_by_one: impl FnOnce(&OneByOne<Ristretto>) -> OneByOne<Ristretto>,
        eight: impl FnMut((Vectors, &Points)) -> Points,
    ) -> Self {
        match &self.0 {
            Form::OneByOne(points) => Self::one_by_one(one_by_one(points)),
            Form::Vectors { vectors, points, len } => {
                let points = points.iter().map(|points| (*vectors, points)).map(eight);
                Self::vectors(*vectors, points.collect(), *len)
            }
        }
    }

    /// Both batches are of one form, as this does not change while a program runs.
    fn pairs(
        &self,
        other: &Self,
        one_by_one: impl FnOnce(&OneByOne<Ristretto>, &OneByOne<Ristretto>) -> OneByOne<Ristretto>,
        mut eight: impl FnMut(Vectors, &Points, &Points) -> Points,
    ) -> Self {
        match (&self.0, &other.0) {
            (Form::OneByOne(left), Form::OneByOne(right)) => {
                Self::one_by_one(one_by_one(left, right))
            }
            (Form::Vectors { vectors, points, len }, Form::Vectors { points: others, .. }) => {
                let pairs = points.iter().zip(others);
                let points = pairs.map(|(left, right)| eight(*vectors, left, right));
                Self::vectors(*vectors, points.collect(), *len)
            }
            _ => unreachable!("the instructions of a processor stay the same"),
        }
    }

    fn encoded(
        &self,
        one_by_one: impl FnOnce(&OneByOne<Ristretto>) -> Vec<[u8; 32]>,
        eight: impl Fn(Vectors, &Points) -> [[u8; 32]; LANES],
    ) -> Vec<[u8; 32]> {
        match &self.0 {
            Form::OneByOne(points) => one_by_one(points),
            Form::Vectors { vectors, points, len } => {
                let mut encoded: Vec<_> =
                    points.iter().flat_map(|points| eight(*vectors, points)).collect();
                encoded.truncate(*len);
                encoded
            }
        }
    }
}

impl Batch for RistrettoBatch {
    type Group = Ristretto;

    fn hash(domain: &'static str, inputs: &[impl AsRef<[u8]>]) -> Self {
        let bytes = inputs.iter().map(|input| uniform_bytes(domain, input.as_ref()));
        Self::from_uniform(&Zeroizing::new(bytes.collect::<Vec<_>>()))
    }

    fn random(n: usize, rng: &mut dyn CryptoRng) -> Self {
        let mut bytes = Zeroizing::new(vec![[0; 64]; n]);
        rng.fill_bytes(bytes.as_flattened_mut());
        Self::from_uniform(&bytes)
    }

    fn repeat(element: &RistrettoPoint, n: usize) -> Self {
        let Some(vectors) = Vectors::current() else {
            return Self::one_by_one(OneByOne::repeat(element, n));
        };
        let points = eight_of(vectors, element);
        Self::vectors(vectors, vec![points; n.div_ceil(LANES)], n)
    }

    fn decode(encoded: &[[u8; 32]]) -> Option<Self> {
        let Some(vectors) = Vectors::current() else {
            return OneByOne::decode(encoded).map(Self::one_by_one);
        };
        // The fill of the last vector is an encoding too.
        let filling = *encoded.first().unwrap_or(&[0; 32]);
        let points = eights(encoded, filling).map(|encoded| {
            let (points, are_points) = vectors.decode(&encoded);
            (are_points == u8::MAX).then_some(points)
        });
        Some(Self::vectors(vectors, points.collect::<Option<_>>()?, encoded.len()))
    }

    fn mul_generator<'a>(scalars: impl Iterator<Item = &'a Scalar>) -> Self {
        static GENERATOR: LazyLock<Table> =
            LazyLock::new(|| Ristretto::table(&Ristretto::mul_generator(&Scalar::ONE)));
        match Vectors::current() {
            Some(_) => Self::mul_table(&GENERATOR, scalars),
            None => Self::one_by_one(OneByOne::mul_generator(scalars)),
        }
    }

    fn mul_table<'a>(table: &Table, scalars: impl Iterator<Item = &'a Scalar>) -> Self {
        let (vectors, table) = match table {
            Table::OneByOne(_) => return Self::one_by_one(OneByOne::mul_table(table, scalars)),
            Table::Vectors(vectors, table) => (*vectors, table),
        };
        let (scalars, len) = digits(scalars);
        let points = scalars.iter().map(|digits| vectors.mul_table(table, digits));
        Self::vectors(vectors, points.collect(), len)
    }

    fn mul(&self, scalar: &Scalar) -> Self {
        let digits = Zeroizing::new(curve25519::digits(&[scalar.to_bytes(); LANES]));
        self.each(|points| points.mul(scalar), |(vectors, points)| vectors.mul(points, &digits))
    }

    fn mul_each<'a>(&self, scalars: impl Iterator<Item = &'a Scalar>) -> Self {
        match &self.0 {
            Form::OneByOne(points) => Self::one_by_one(points.mul_each(scalars)),
            Form::Vectors { vectors, points, .. } => {
                let (scalars, len) = digits(scalars);
                let products = points.iter().zip(scalars.iter());
                let products = products.map(|(points, digits)| vectors.mul(points, digits));
                Self::vectors(*vectors, products.collect(), len)
            }
        }
    }

    fn add(&self, other: &Self) -> Self {
        self.pairs(other, OneByOne::add, Vectors::add)
    }

    fn sub(&self, other: &Self) -> Self {
        self.pairs(other, OneByOne::sub, Vectors::sub)
    }

    fn select(&self, other: &Self, choices: impl Iterator<Item = Choice>) -> Self {
        let choices = Zeroizing::new(choices.map(|choice| choice.unwrap_u8()).collect::<Vec<_>>());
        let mut lanes = choices.chunks(LANES).map(|choices| {
            choices.iter().zip(0..).fold(0, |lanes, (choice, lane)| lanes | choice << lane)
        });
        self.pairs(
            other,
            |left, right| left.select(right, choices.iter().map(|choice| Choice::from(*choice))),
            |vectors, left, right| vectors.select(left, right, lanes.next().unwrap_or(0)),
        )
    }

    fn encode(&self) -> Vec<[u8; 32]> {
        self.encoded(OneByOne::encode, Vectors::encode)
    }

    fn encode_multiples(&self) -> Vec<[u8; 32]> {
        let twice = |vectors: Vectors, points: &_| vectors.encode(&vectors.double(points));
        self.encoded(OneByOne::encode_multiples, twice)
    }
}

/// The digits of scalars, eight at a time, and how many scalars there are.
fn digits<'a>(
    scalars: impl Iterator<Item = &'a Scalar>,
) -> (Zeroizing<Vec<curve25519::Digits>>, usize) {
    let bytes = Zeroizing::new(scalars.map(Scalar::to_bytes).collect::<Vec<_>>());
    let digits = eights(&bytes, [0; 32]).map(|bytes| curve25519::digits(&bytes)).collect();
    (Zeroizing::new(digits), bytes.len())
}

/// Eight of `all` at a time, with `filling` after the last ones.
fn eights<T: Copy>(all: &[T], filling: T) -> impl Iterator<Item = [T; LANES]> {
    all.chunks(LANES)
        .map(move |some| std::array::from_fn(|lane| *some.get(lane).unwrap_or(&filling)))
}

/// A vector of one point.
pub(super) fn eight_of(vectors: Vectors, point: &RistrettoPoint) -> Points {
    // The identity is refused, and is among the points all the same.
    vectors.decode(&[Ristretto::encode(point); LANES]).0
}
