//! Vectors over GF(2): whatever can be added by exclusive or.

use std::ops::{BitXor, BitXorAssign};

use bytemuck::Pod;
use rand::Rng;

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
