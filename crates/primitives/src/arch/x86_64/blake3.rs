//! The portable compression function, compiled for AVX2.

use super::super::portable::blake3::{self, LANES};

/// As [`blake3::hash`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn hash(
    key: &[u32; 8],
    mode: u32,
    inputs: &[[u32; 16]; LANES],
    lens: &[u32; LANES],
) -> [[u32; 8]; LANES] {
    blake3::hash(key, mode, inputs, lens)
}
