//! Sums of vectors, a block at a time. Compilers do not vectorise the portable ones, which add 128-bit integers.

use std::arch::aarch64::{uint8x16_t, vdupq_n_u8, veorq_u8};

use crate::{Block, arch::portable::sums::MAX_STREAMS};

/// Same as [`sums::sums_by_bit`](super::super::portable::sums::sums_by_bit), from the first block on.
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub unsafe fn sums_by_bit<const S: usize>(
    streams: &[Block],
    columns: &mut [Block],
    total: &mut [Block],
) {
    let len = total.len();
    assert_eq!(streams.len(), S * len, "streams as long as the total");
    let streams: &[uint8x16_t] = bytemuck::cast_slice(streams);
    let columns: &mut [uint8x16_t] = bytemuck::cast_slice_mut(columns);
    for (at, total) in total.iter_mut().enumerate() {
        let mut x = [vdupq_n_u8(0); MAX_STREAMS];
        for (i, x) in x[..S].iter_mut().enumerate() {
            *x = streams[i * len + at];
        }
        let (x, first) = halve::<8, 4>(&x);
        let (x, second) = halve::<4, 2>(&x);
        let (x, third) = halve::<2, 1>(&x);
        for (bit, sum) in [first, second, third].into_iter().enumerate() {
            if 1 << bit < S
                && let Some(column) = columns.get_mut(bit * len + at)
            {
                *column = veorq_u8(*column, sum);
            }
        }
        *total = bytemuck::cast(x[0]);
    }
}

/// The sums of pairs, and the sum of all second ones of a pair.
#[target_feature(enable = "neon")]
#[inline]
fn halve<const N: usize, const HALF: usize>(
    x: &[uint8x16_t; N],
) -> ([uint8x16_t; HALF], uint8x16_t) {
    let (mut sums, mut odd) = ([vdupq_n_u8(0); HALF], vdupq_n_u8(0));
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = veorq_u8(x[2 * i], x[2 * i + 1]);
        odd = veorq_u8(odd, x[2 * i + 1]);
    }
    (sums, odd)
}
