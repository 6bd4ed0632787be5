//! Vectors over GF(2): types whose addition is exclusive or.

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

    /// This vector if `keep` is all ones, zero if it is all zeros; without a branch.
    #[inline(always)]
    fn masked(mut self, keep: u8) -> Self {
        bytemuck::bytes_of_mut(&mut self).iter_mut().for_each(|byte| *byte &= keep);
        self
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

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
}

impl<const N: usize> BitXorAssign for Words<N> {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Self) {
        *self = *self ^ other;
    }
}

/// The unit in which a processor fetches memory: 512 bits, aligned to a cache line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct CacheLine([u64; 8]);

impl DefaultIsZeroes for CacheLine {}

impl BitXor for CacheLine {
    type Output = Self;

    #[inline(always)]
    fn bitxor(mut self, other: Self) -> Self {
        self ^= other;
        self
    }
}

impl BitXorAssign for CacheLine {
    #[inline(always)]
    fn bitxor_assign(&mut self, other: Self) {
        // A loop, which compilers vectorise.
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word ^= other;
        }
    }
}
