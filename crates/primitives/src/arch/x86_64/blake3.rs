//! The portable compression function, compiled for AVX2.

use super::super::portable::blake3::{self, LANES};

/// As [`blake3::keyed_hash`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn keyed_hash(key: &[u32; 8], inputs: &[[u32; 16]; LANES]) -> [[u32; 4]; LANES] {
    blake3::keyed_hash(key, inputs)
}
