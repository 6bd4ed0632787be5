//! The steps of a block–accumulate code with 256-bit registers: the portable loops, compiled for AVX2. The step with
//! the most additions is compiled for AVX-512, which adds three words at once.

use crate::{Words, arch::portable::accumulate};

/// See [`accumulate::accumulate_columns`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn accumulate_columns<const W: usize>(entries: &mut [Words<W>], width: usize) {
    accumulate::accumulate_columns(entries, width);
}

/// See [`accumulate::accumulate_permuted`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn accumulate_permuted<const W: usize>(
    from: &[Words<W>],
    places: &[u32],
    to: &mut [Words<W>],
) {
    accumulate::accumulate_permuted(from, places, to);
}

/// See [`accumulate::golay`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn golay<const W: usize>(from: &[Words<W>], places: &[u32], out: &mut [Words<W>]) {
    accumulate::golay(from, places, out);
}

/// See [`accumulate::golay`].
///
/// # Safety
/// The processor must have AVX-512 F and VL.
#[target_feature(enable = "avx512f,avx512vl")]
pub unsafe fn golay_long<const W: usize>(from: &[Words<W>], places: &[u32], out: &mut [Words<W>]) {
    accumulate::golay(from, places, out);
}
