//! The basic unit of almost everything: 128 bits.

mod sums;

use std::ops::{BitAnd, BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use rand::Rng;
use zeroize::DefaultIsZeroes;

pub use self::sums::{add_to, sum, sums_by_bit};

use crate::arch::opaque;

/// 128 bits. As an integer, bit `i` has the value 2^i; in memory and on the wire, little endian.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct Block(pub u128);

impl Block {
    /// All bits zero.
    pub const ZERO: Self = Self(0);

    /// A uniformly random block.
    pub fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        Self::from_bytes(bytes)
    }

    /// The block with these bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_le_bytes(bytes))
    }

    /// The block's bytes.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    /// The lower 64 bits.
    pub const fn low(self) -> u64 {
        self.0 as u64
    }

    /// The upper 64 bits.
    pub const fn high(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// All ones if `bit` is 1, all zeros if it is 0; without a branch. A compiler that knew these are the only values
    /// would branch on the bit instead.
    pub fn mask(bit: u8) -> Self {
        debug_assert!(bit <= 1);
        let half = u128::from(opaque(bit.into()).wrapping_neg());
        Self(half << 64 | half)
    }
}

impl DefaultIsZeroes for Block {}

impl BitXor for Block {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl BitXorAssign for Block {
    fn bitxor_assign(&mut self, other: Self) {
        self.0 ^= other.0;
    }
}

impl BitAnd for Block {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}
