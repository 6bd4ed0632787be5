//! Multiplication triples: the material of GMW's AND gates, made before the inputs are known (Beaver, CRYPTO
//! 1991; from random OT by Asharov, Lindell, Schneider, Zohner, CCS 2013).
//!
//! A triple is a random bit a, a random vector b of σ bits and their product c = a·b, each as XOR shares of
//! the two parties. With σ = 1 it serves one AND gate; with more, a *vector triple* (Pinkas, Schneider,
//! Zohner, USENIX Security 2014, §3.2), it serves σ AND gates that have one input in common. From two random
//! OTs of σ bits, one in each direction:
//!
//! 1. As the OT's sender, a party gets two messages m_0 and m_1. Its share of b is m_0 ⊕ m_1.
//! 2. As the receiver of the other one, it gets a random choice, which is its share of a, and the chosen
//!    message.
//! 3. Its share of c is the product of its own shares, plus its m_0, plus the message it chose: the latter two
//!    are shares of a_0·b_1 and a_1·b_0.
//!
//! The bits come from OTs whose correlation has been broken by a hash. The two directions are separate OT
//! sessions, each with its own Δ.
//!
//! The parties send only the messages of the extension, so a triple costs two OTs for any length of b.
//! The number of triples needed is public: [`Demand`]. Each is used once, and is zeroized.
//!
//! OTs for comparing strings are made together with triples: [`Digits`].

mod digits;
mod extension;
mod ots;
mod tape;

use std::collections::BTreeMap;

pub use digits::{Digits, Strings};
pub use extension::Extension;
pub use ots::Ots;
pub(crate) use tape::Tape;

use crate::{Circuit, count::Count};

/// The number of triples of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// The number for each σ.
    counts: BTreeMap<usize, usize>,
    /// Strings to be compared, if any.
    strings: Option<Strings>,
}

impl Demand {
    /// `ands` triples for single AND gates.
    pub fn singles(ands: usize) -> Self {
        Self::of([(1, ands)])
    }

    /// The given numbers of triples by the length σ of their vectors.
    ///
    /// # Panics
    /// For vectors without bits.
    pub fn of(counts: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut demand = Self::default();
        for (bits, count) in counts {
            assert!(bits > 0, "a vector has a bit");
            if count > 0 {
                *demand.counts.entry(bits).or_default() += count;
            }
        }
        demand
    }

    /// The demand of a circuit in `instances` instances, with one triple for each AND gate.
    pub fn of_ands(circuit: &Circuit, instances: usize) -> Self {
        Self::singles(circuit.ands() * instances)
    }

    /// The demand of a circuit in `instances` instances, with one triple for each multiplication of a bit with a
    /// vector.
    pub fn of_products(circuit: &Circuit, instances: usize) -> Self {
        let levels = circuit.levels();
        let products = levels.iter().flat_map(|level| &level.products);
        Self::of(products.map(|product| (product.right.len(), instances)))
    }

    /// The demand of a counted program, with one triple for each multiplication of a bit with a vector if
    /// `vectors`, otherwise with one for each AND gate.
    pub fn of_count(count: &Count, vectors: bool) -> Self {
        match vectors {
            true => Self::of(count.products.iter().map(|(&bits, &n)| (bits, n as usize))),
            false => Self::singles(count.ands as usize),
        }
    }

    /// Adds the demand of comparing strings.
    pub fn with_strings(self, strings: Strings) -> Self {
        Self { strings: Some(strings), ..self }
    }

    /// The number of triples of all kinds.
    pub fn triples(&self) -> usize {
        self.counts.values().sum()
    }

    /// Whether nothing is needed.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.strings.is_none()
    }

    /// The strings to be compared, if any.
    pub(crate) fn strings(&self) -> Option<Strings> {
        self.strings
    }

    /// The number of AND gates that these triples serve.
    pub fn ands(&self) -> usize {
        self.counts.iter().map(|(bits, count)| bits * count).sum()
    }

    /// Pairs of σ and the number of triples, in ascending order of σ.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.counts.iter().map(|(&bits, &count)| (bits, count))
    }
}

impl std::ops::Add for Demand {
    type Output = Self;

    /// # Panics
    /// If both include strings.
    fn add(self, other: Self) -> Self {
        assert!(self.strings.is_none() || other.strings.is_none(), "one set of strings");
        let strings = self.strings.or(other.strings);
        Self { strings, ..Self::of(self.counts.into_iter().chain(other.counts)) }
    }
}

/// More triples were requested than made: a bug in this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfTriples {
    /// Length of the vectors; 1 for single AND gates.
    pub bits: usize,
    /// The number requested.
    pub needed: usize,
    /// The number left.
    pub left: usize,
}

impl std::fmt::Display for OutOfTriples {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bits, needed, left } = self;
        write!(
            f,
            "{needed} multiplication triples of {bits} bits were asked for where {left} are left; \
             this is a mistake in the program, please report it"
        )
    }
}

impl std::error::Error for OutOfTriples {}

/// One party's shares of the unused triples.
#[derive(Default)]
pub struct Triples {
    stock: BTreeMap<usize, Shares>,
    digits: Option<Digits>,
}

/// Shares of triples of one kind.
struct Shares {
    a: Tape,
    /// One for each bit of the vector.
    b: Vec<Tape>,
    c: Vec<Tape>,
}

/// Triples taken for use, one row for each of their bits.
pub(crate) struct Taken {
    pub(crate) a: Vec<u64>,
    pub(crate) b: Vec<Vec<u64>>,
    pub(crate) c: Vec<Vec<u64>>,
}

impl Triples {
    /// The number of triples of σ = `bits` that are left.
    pub fn left(&self, bits: usize) -> usize {
        self.stock.get(&bits).map_or(0, |shares| shares.a.left())
    }

    /// Takes the OTs for comparing strings, if they were requested and not taken yet.
    pub fn take_digits(&mut self) -> Option<Digits> {
        self.digits.take()
    }

    /// Whether triples for vectors are left.
    pub fn has_vectors(&self) -> bool {
        self.stock.iter().any(|(&bits, shares)| bits > 1 && shares.a.left() > 0)
    }

    /// Takes the next `count` triples of σ = `bits`.
    pub(crate) fn take(&mut self, bits: usize, count: usize) -> Result<Taken, OutOfTriples> {
        let left = self.left(bits);
        match self.stock.get_mut(&bits) {
            Some(shares) if count <= left => Ok(shares.take(count)),
            _ if count == 0 => Ok(Taken::nothing(bits)),
            _ => Err(OutOfTriples { bits, needed: count, left }),
        }
    }
}

impl Shares {
    fn take(&mut self, count: usize) -> Taken {
        let rows = |tapes: &mut Vec<Tape>| tapes.iter_mut().map(|t| t.take_row(count)).collect();
        Taken { a: self.a.take_row(count), b: rows(&mut self.b), c: rows(&mut self.c) }
    }
}

impl Taken {
    fn nothing(bits: usize) -> Self {
        Self { a: Vec::new(), b: vec![Vec::new(); bits], c: vec![Vec::new(); bits] }
    }
}

#[cfg(test)]
pub(crate) mod tests;
