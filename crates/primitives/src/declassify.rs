//! Where a value that was drawn at random stops being a secret.
//!
//! `cargo xtask constant-time` marks all randomness of a party as secret, and reports branches and addresses that depend
//! on it. What a party sends is public once it is sent; what it draws in order to send it, and uses before, is
//! [declassified](declassify) where it is drawn. Otherwise these calls do nothing.

use bytemuck::Pod;
use subtle::{Choice, ConstantTimeEq};

/// Says that a value is public from here on: the peer learns it, whatever it learns besides.
#[must_use]
#[inline(always)]
pub fn declassify<T: Pod>(value: T) -> T {
    #[cfg(feature = "memcheck")]
    let value = {
        let mut value = value;
        let bytes: &mut [u8] = bytemuck::bytes_of_mut(&mut value);
        // Fails only where valgrind does not run, and then there is nothing to mark; this version of the library says so
        // where it does run, too.
        let _ = crabgrind::memcheck::mark_mem(
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            crabgrind::memcheck::MemState::Defined,
        );
        value
    };
    value
}

/// A secret choice whose outcome is public from here on.
pub fn declassify_choice(choice: Choice) -> bool {
    declassify(choice.unwrap_u8()) == 1
}

/// Whether two byte strings are equal. Time tells nothing about them but their lengths and the answer, which is public
/// from here on: whether a check fails, for instance.
pub fn are_equal(left: &[u8], right: &[u8]) -> bool {
    declassify_choice(left.ct_eq(right))
}
