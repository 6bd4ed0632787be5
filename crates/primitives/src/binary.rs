//! Vectors over GF(2): whatever can be added by exclusive or.

use std::ops::{BitXor, BitXorAssign};

use bytemuck::{Pod, Zeroable};
use rand::Rng;
use zeroize::DefaultIsZeroes;

/// A vector over GF(2), such as an integer or a block.
pub trait BinaryVector:
    Pod + Default + PartialEq + Send + Sync + BitXor<Output = Self> + BitXorAssign
{
    /// A uniformly random vector.
    fn random(rng: &mut (impl Rng + ?Sized)) -> Self {
        let mut vector = Self::default();
        rng.fill_bytes(bytemuck::bytes_of_mut(&mut vector));
        vector
    }
}

impl<T> BinaryVector for T where
    T: Pod + Default + PartialEq + Send + Sync + BitXor<Output = Self> + BitXorAssign
{
}

/// A vector of `N` words of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Words<const N: usize>(pub [u64; N]);

impl<const N: usize> Default for Words<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> DefaultIsZeroes for Words<N> {}

impl<const N: usize> BitXor for Words<N> {
    type Output = Self;

    #[inline]
    fn bitxor(mut self, other: Self) -> Self {
        self ^= other;
        self
    }
}

impl<const N: usize> BitXorAssign for Words<N> {
    #[inline]
    fn bitxor_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word ^= other);
    }
}
