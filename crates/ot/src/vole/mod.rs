//! Vector oblivious linear evaluation: one party holds Δ and b, the other a and c, with
//! c_i = a_i·Δ + b_i in GF(2^128) for every i.
//!
//! The party that holds Δ is the sender. The a_i may be confined to a subspace of the field over GF(2), such as the
//! polynomials of degree below 64: a value masked by one then takes only that many bits.

pub mod silent;

use vesica_primitives::{BinaryVector, Block, Words, gf};
use zeroize::DefaultIsZeroes;

/// A subspace of GF(2^128) over GF(2).
pub trait Subspace: BinaryVector + DefaultIsZeroes {
    /// An upper bound on its dimension: bits of its representation.
    const BITS: u32;

    /// An element together with one of the field, adjacent in memory so that one access gets both.
    type Joint: BinaryVector + DefaultIsZeroes;

    /// Joins this element with one of the field.
    fn join(self, other: Block) -> Self::Joint;

    /// Splits a joint element.
    fn part(joint: Self::Joint) -> (Self, Block);

    /// The element as a member of the field.
    fn embed(self) -> Block;

    /// The first `bits` bits of a block.
    fn truncate(block: Block, bits: u32) -> Self;

    /// Adds `factor` · x_i to `sums`_i for every i, in the field.
    fn add_products(sums: &mut [Block], x: &[Self], factor: Block);
}

impl Subspace for u64 {
    const BITS: u32 = 64;
    type Joint = Words<3>;

    #[inline]
    fn join(self, other: Block) -> Words<3> {
        Words([self, other.low(), other.high()])
    }

    #[inline]
    fn part(Words([own, low, high]): Words<3>) -> (Self, Block) {
        (own, block(low, high))
    }

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
    type Joint = Words<4>;

    #[inline]
    fn join(self, other: Block) -> Words<4> {
        Words([self.low(), self.high(), other.low(), other.high()])
    }

    #[inline]
    fn part(Words([own_low, own_high, low, high]): Words<4>) -> (Self, Block) {
        (block(own_low, own_high), block(low, high))
    }

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

#[inline]
fn block(low: u64, high: u64) -> Block {
    Block(u128::from(low) | u128::from(high) << 64)
}
