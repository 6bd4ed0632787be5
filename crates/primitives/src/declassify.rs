//! Where a value that was drawn at random stops being a secret.
//!
//! `cargo xtask constant-time` marks all randomness of a party as secret, and reports branches and addresses that depend
//! on it. What a party sends is public once it is sent; what it draws in order to send it, and uses before, is
//! [declassified](declassify) where it is drawn. So is what a party may work on in time that depends on it, with the reason
//! why that is harmless. Otherwise these calls do nothing.

use bytemuck::Pod;
use rand::{TryCryptoRng, TryRng};
use subtle::{Choice, ConstantTimeEq};

/// Says that a value is public from here on: the peer learns it, whatever it learns besides.
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

/// Says so of values where they are.
#[inline(always)]
pub fn declassify_all<T: Pod>(values: &mut [T]) {
    #[cfg(feature = "memcheck")]
    {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        // Fails only where valgrind does not run, and then there is nothing to mark; this version of the library says so
        // where it does run, too.
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

/// Whether two byte strings are equal. Time tells nothing about them but their lengths and the answer, which is public
/// from here on: whether a check fails, for instance.
pub fn are_equal(left: &[u8], right: &[u8]) -> bool {
    declassify_choice(left.ct_eq(right))
}
