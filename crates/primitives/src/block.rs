//! The basic unit of almost everything: 128 bits.

use std::ops::{BitAnd, BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use rand::Rng;
use zeroize::DefaultIsZeroes;

use crate::arch::{Backend, opaque};

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

    /// All ones if `bit` is 1, all zeros if it is 0; without a branch. A compiler that knew these are the only values would
    /// branch on the bit instead.
    pub fn mask(bit: u8) -> Self {
        debug_assert!(bit <= 1);
        let half = u128::from(opaque(bit.into()).wrapping_neg());
        Self(half << 64 | half)
    }
}

impl DefaultIsZeroes for Block {}

/// Adds `from` to `to`, block by block.
///
/// # Panics
/// If they differ in length.
pub fn add_to(to: &mut [Block], from: &[Block]) {
    assert_eq!(to.len(), from.len(), "as many blocks");
    Backend::current().add_to(to, from);
}

/// The sum of blocks.
pub fn sum(blocks: &[Block]) -> Block {
    // Words, because compilers do not vectorize over 128-bit integers.
    let words: &[[u64; 2]] = bytemuck::cast_slice(blocks);
    let sum = words.iter().fold([0; 2], |sum, word| [sum[0] ^ word[0], sum[1] ^ word[1]]);
    bytemuck::cast(sum)
}

/// The largest number of streams that [`sums_by_bit`] adds up.
pub(crate) const MAX_STREAMS: usize = 8;

/// Adds the sum of the streams whose number has bit b to column b, and writes the sum of all of them to `total`. There
/// are two, four or eight streams, one after the other, each as long as `total`, as are columns. Columns for which there
/// is no room are dropped.
///
/// # Panics
/// If there are other numbers of streams.
pub fn sums_by_bit(streams: &[Block], columns: &mut [Block], total: &mut [Block]) {
    let (backend, len) = (Backend::current(), total.len());
    match streams.len() {
        blocks if blocks == 2 * len => backend.sums_by_bit::<2>(streams, columns, total),
        blocks if blocks == 4 * len => backend.sums_by_bit::<4>(streams, columns, total),
        blocks if blocks == 8 * len => backend.sums_by_bit::<8>(streams, columns, total),
        blocks => panic!("{blocks} blocks are not two, four or eight streams of {len}"),
    }
}

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
