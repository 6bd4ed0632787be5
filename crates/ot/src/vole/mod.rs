//! Vector oblivious linear evaluation: one party holds Δ and b, the other a and c, with
//! c_i = a_i·Δ + b_i in GF(2^128) for every i.
//!
//! The party that holds Δ is the sender. The a_i may be confined to a subspace of the field over GF(2), such as the
//! polynomials of degree below 64: a value masked by one then takes only that many bits.

pub mod silent;

use vesica_primitives::{BinaryVector, Block, gf};
use zeroize::DefaultIsZeroes;

/// A subspace of GF(2^128) over GF(2).
pub trait Subspace: BinaryVector + DefaultIsZeroes {
    /// An upper bound on its dimension: bits of its representation.
    const BITS: u32;

    /// The element as a member of the field.
    fn embed(self) -> Block;

    /// The first `bits` bits of a block.
    fn truncate(block: Block, bits: u32) -> Self;

    /// Adds `factor` · x_i to `sums`_i for every i, in the field.
    fn add_products(sums: &mut [Block], x: &[Self], factor: Block);
}

impl Subspace for u64 {
    const BITS: u32 = 64;
    fn embed(self) -> Block {
        Block(self.into())
    }

    fn truncate(block: Block, bits: u32) -> Self {
        block.low() & u64::MAX.checked_shr(64 - bits).unwrap_or(0)
    }

    fn add_products(sums: &mut [Block], x: &[Self], factor: Block) {
        gf::add_products64(sums, x, factor);
    }
}

impl Subspace for Block {
    const BITS: u32 = 128;
    fn embed(self) -> Block {
        self
    }

    fn truncate(block: Block, bits: u32) -> Self {
        Block(block.0 & u128::MAX.checked_shr(128 - bits).unwrap_or(0))
    }

    fn add_products(sums: &mut [Block], x: &[Self], factor: Block) {
        gf::add_products128(sums, x, factor);
    }
}
