//! The portable transposition, compiled for AVX2.

use super::super::portable;
use crate::Block;

/// As [`portable::transpose::transpose`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn transpose(rows: &mut [Block; 128]) {
    portable::transpose::transpose(rows);
}
