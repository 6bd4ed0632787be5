//! Multiplication triples: the material of GMW's AND gates, made before anybody knows the inputs (Beaver,
//! CRYPTO 1991; from random OT by Asharov, Lindell, Schneider, Zohner, CCS 2013).
//!
//! A triple is a random bit a, a random vector b of σ bits and their product c = a·b, each as XOR shares of
//! the two parties. With σ = 1 it serves one AND gate; with more, a *vector triple* (Pinkas, Schneider,
//! Zohner, USENIX Security 2014, §3.2), it serves σ AND gates that have one input in common. From two random
//! OTs of σ bits, one in each direction:
//!
//! 1. As the OT's sender, a party gets two messages m_0 and m_1. Its share of b is m_0 ⊕ m_1.
//! 2. As the receiver of the other one, it gets a random choice, which is its share of a, and the chosen
//!    message.
//! 3. Its share of c is the product of its own shares, plus its m_0, plus the message it chose: of each of
//!    a_0·b_1 and a_1·b_0, one party has one summand and the other party the other.
//!
//! The bits come from OTs whose correlation a hash has broken. The two directions are separate OT sessions
//! with a Δ each.
//!
//! Neither party sends anything beyond what the extension sends, so a triple costs what two OTs do, however
//! long b is. The number of triples needed is public: [`Demand`]. They are used once, and are zeroized.
//!
//! Together with them, and from the same OTs, come the distances with which strings are compared:
//! [`Distances`].

mod distances;
mod extension;
mod ots;
mod tape;

use std::collections::BTreeMap;

pub use distances::{Distances, Strings};
pub use extension::Extension;
pub use ots::Ots;
pub(crate) use tape::Tape;

use crate::{Circuit, Party, count::Count};

/// How many triples of which kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// How many, by σ.
    counts: BTreeMap<usize, usize>,
    /// Strings that will be compared, if any.
    strings: Option<Strings>,
}

impl Demand {
    /// So many for single AND gates.
    pub fn singles(ands: usize) -> Self {
        Self::of([(1, ands)])
    }

    /// So many by the length σ of their vectors.
    ///
    /// # Panics
    /// For vectors without a bit.
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

    /// What a circuit needs in so many instances, with a triple for each AND gate.
    pub fn of_ands(circuit: &Circuit, instances: usize) -> Self {
        Self::singles(circuit.ands() * instances)
    }

    /// What a circuit needs in so many instances, with a triple for each multiplication of a bit with a
    /// vector.
    pub fn of_products(circuit: &Circuit, instances: usize) -> Self {
        let levels = circuit.levels();
        let products = levels.iter().flat_map(|level| &level.products);
        Self::of(products.map(|product| (product.right.len(), instances)))
    }

    /// What a program needs that was counted, with a triple for each multiplication of a bit with a vector where
    /// `vectors`, else with one for each AND gate.
    pub fn of_count(count: &Count, vectors: bool) -> Self {
        match vectors {
            true => Self::of(count.products.iter().map(|(&bits, &n)| (bits, n as usize))),
            false => Self::singles(count.ands as usize),
        }
    }

    /// With distances for strings that the first party draws and the second brings.
    pub fn with_distances(self, strings: Strings) -> Self {
        Self { strings: Some(strings), ..self }
    }

    /// Triples of all kinds.
    pub fn triples(&self) -> usize {
        self.counts.values().sum()
    }

    /// OTs of which this party is the sender: one for each triple, and those of distances.
    pub fn ots(&self, sender: Party) -> usize {
        let of_strings = match sender {
            Party::First => self.strings.map_or(0, Strings::ots),
            Party::Second => 0,
        };
        self.triples() + of_strings
    }

    /// AND gates that they are good for.
    pub fn ands(&self) -> usize {
        self.counts.iter().map(|(bits, count)| bits * count).sum()
    }

    /// Pairs of σ and how many, σ ascending.
    pub fn counts(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.counts.iter().map(|(&bits, &count)| (bits, count))
    }
}

impl std::ops::Add for Demand {
    type Output = Self;

    /// # Panics
    /// If both are for strings.
    fn add(self, other: Self) -> Self {
        assert!(self.strings.is_none() || other.strings.is_none(), "one set of strings");
        let strings = self.strings.or(other.strings);
        Self { strings, ..Self::of(self.counts.into_iter().chain(other.counts)) }
    }
}

/// A call for more triples than were made: a mistake of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfTriples {
    /// Length of the vectors, 1 for single AND gates.
    pub bits: usize,
    /// How many were asked for.
    pub needed: usize,
    /// How many were left.
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

/// One party's shares of triples that were not used yet.
#[derive(Default)]
pub struct Triples {
    stock: BTreeMap<usize, Shares>,
    distances: Option<Distances>,
}

/// Shares of triples of one kind.
struct Shares {
    a: Tape,
    /// One for each bit of the vector.
    b: Vec<Tape>,
    c: Vec<Tape>,
}

/// Triples that are taken to be used, a row for each of their bits.
pub(crate) struct Taken {
    pub(crate) a: Vec<u64>,
    pub(crate) b: Vec<Vec<u64>>,
    pub(crate) c: Vec<Vec<u64>>,
}

impl Triples {
    /// How many of σ = `bits` are left.
    pub fn left(&self, bits: usize) -> usize {
        self.stock.get(&bits).map_or(0, |shares| shares.a.left())
    }

    /// Takes what strings are compared with, if it was asked for and not taken yet.
    pub fn take_distances(&mut self) -> Option<Distances> {
        self.distances.take()
    }

    /// Whether there are triples for vectors, or were.
    pub fn has_vectors(&self) -> bool {
        self.stock.keys().any(|&bits| bits > 1)
    }

    /// Takes the next `count` of σ = `bits`.
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
