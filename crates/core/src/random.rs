//! The randomness of the operating system.

use rand::{
    SeedableRng, TryRng,
    rngs::{StdRng, SysRng},
};

use crate::error::{Error, Result};

/// Returns a generator with a seed from the operating system.
///
/// # Errors
/// [`Error::Bug`] if the system gives no randomness.
pub fn system_rng() -> Result<StdRng> {
    StdRng::try_from_rng(&mut SysRng).map_err(|_| no_randomness())
}

/// Returns random bytes from the operating system.
///
/// # Errors
/// [`Error::Bug`] if the system gives no randomness.
pub fn system_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).map_err(|_| no_randomness())?;
    Ok(bytes)
}

fn no_randomness() -> Error {
    Error::bug("the operating system gives no randomness")
}
