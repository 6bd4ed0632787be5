//! Marks secret and public data for memcheck, as undefined and defined bytes.

use std::ffi::c_void;

use bytemuck::Pod;
use rand::{Rng, SeedableRng, TryCryptoRng, TryRng, rngs::StdRng};

/// Marks values as secret, in place.
pub fn secret<T: Pod>(values: &mut [T]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
    mark(bytes.as_mut_ptr().cast(), bytes.len(), State::Secret);
}

/// Marks the memory of a value as secret, regardless of its content. The value must not own memory elsewhere, because
/// its addresses would be secret, too.
pub fn secret_object<T>(object: &mut T) {
    mark((&raw mut *object).cast(), size_of::<T>(), State::Secret);
}

/// Marks values as public, in place, because the party reveals them.
pub fn public<T: Pod>(values: &[T]) {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    mark(bytes.as_ptr().cast_mut().cast(), bytes.len(), State::Public);
}

/// Marks the memory of a value as public, like [`secret_object`].
pub fn public_object<T>(object: &T) {
    mark((&raw const *object).cast_mut().cast(), size_of::<T>(), State::Public);
}

/// Returns the number of secret bits in these bytes.
pub fn secret_bits(bytes: &[u8]) -> u64 {
    #[cfg(feature = "memcheck")]
    {
        let mut secret = vec![0u8; bytes.len()];
        let address = bytes.as_ptr().cast_mut().cast();
        let told = crabgrind::memcheck::vbits(address, secret.as_mut_ptr(), bytes.len());
        told.expect("valgrind knows the state of existing bytes");
        secret.iter().map(|bits| u64::from(bits.count_ones())).sum()
    }
    #[cfg(not(feature = "memcheck"))]
    {
        let _ = bytes;
        0
    }
}

#[derive(Clone, Copy)]
enum State {
    Secret,
    Public,
}

#[cfg(feature = "memcheck")]
fn mark(address: *mut c_void, len: usize, state: State) {
    use crabgrind::memcheck::{MemState, mark_mem};
    let state = match state {
        State::Secret => MemState::Undefined,
        State::Public => MemState::Defined,
    };
    // This version of the library takes valgrind's success for an error. The controls show that marks work.
    let _ = mark_mem(address, len, state);
}

/// Without valgrind, nothing is marked.
#[cfg(not(feature = "memcheck"))]
fn mark(_address: *mut c_void, _len: usize, _state: State) {}

/// Returns whether marks have an effect, which is the case under valgrind.
pub fn are_seen() -> bool {
    #[cfg(feature = "memcheck")]
    return crabgrind::run_mode() == crabgrind::RunMode::Valgrind;
    #[cfg(not(feature = "memcheck"))]
    return false;
}

/// A party's randomness, which is entirely secret.
pub struct SecretRng {
    rng: StdRng,
    /// Number of bits.
    drawn: u64,
}

impl SecretRng {
    /// Creates randomness that is always the same for a seed.
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), drawn: 0 }
    }

    /// Returns the number of bits drawn.
    pub fn drawn(&self) -> u64 {
        self.drawn
    }

    fn count<T>(&mut self, values: &[T]) {
        self.drawn += 8 * size_of_val(values) as u64;
    }
}

impl TryRng for SecretRng {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut value = [self.rng.next_u32()];
        secret(&mut value);
        self.count(&value);
        Ok(value[0])
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut value = [self.rng.next_u64()];
        secret(&mut value);
        self.count(&value);
        Ok(value[0])
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.rng.fill_bytes(out);
        secret(out);
        self.count(out);
        Ok(())
    }
}

impl TryCryptoRng for SecretRng {}
