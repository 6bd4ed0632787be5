//! Marks for random values that stop being secret.
//!
//! `cargo xtask constant-time` marks all randomness of a party as secret, and reports branches and addresses that
//! depend on it. A value is public once it is sent; a value that is drawn to be sent, and used before, is
//! [declassified](declassify) where it is drawn. So is a value on which time may depend, with the reason why that is
//! harmless. Otherwise these calls do nothing.

use bytemuck::Pod;
use rand::{TryCryptoRng, TryRng};
use subtle::{Choice, ConstantTimeEq};

/// Marks a value as public from here on: the peer learns it in any case.
#[must_use]
#[inline(always)]
pub fn declassify<T: Pod>(value: T) -> T {
    #[cfg(feature = "memcheck")]
    let value = {
        let mut value = value;
        declassify_all(std::slice::from_mut(&mut value));
        value
    };
    value
}

/// Marks values as public, in place.
#[inline(always)]
pub fn declassify_all<T: Pod>(values: &mut [T]) {
    #[cfg(feature = "memcheck")]
    {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        // Fails only without valgrind, and then nothing needs to be marked; this version of the library reports failure
        // under valgrind, too.
        let _ = crabgrind::memcheck::mark_mem(
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            crabgrind::memcheck::MemState::Defined,
        );
    }
    #[cfg(not(feature = "memcheck"))]
    let _ = values;
}

/// A source whose values are public, or may be used in time that depends on them.
pub struct Declassified<R>(
    /// The source of the values.
    pub R,
);

impl<R: TryRng> TryRng for Declassified<R> {
    type Error = R::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0.try_next_u32().map(declassify)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0.try_next_u64().map(declassify)
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        self.0.try_fill_bytes(out)?;
        declassify_all(out);
        Ok(())
    }
}

impl<R: TryCryptoRng> TryCryptoRng for Declassified<R> {}

/// A secret choice whose outcome is public from here on.
pub fn declassify_choice(choice: Choice) -> bool {
    declassify(choice.unwrap_u8()) == 1
}

/// Whether two byte strings are equal. Time reveals nothing about them except their lengths and the answer, which is
/// public from here on: whether a check fails, for instance.
pub fn are_equal(left: &[u8], right: &[u8]) -> bool {
    declassify_choice(left.ct_eq(right))
}
