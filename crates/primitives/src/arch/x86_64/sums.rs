//! Sums of vectors with 256-bit registers.

use std::arch::x86_64::{
    __m256i, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
};

use crate::{
    Block,
    arch::portable::sums::{self, MAX_STREAMS},
};

/// See [`sums::add_to`], whose loops this compiles for AVX2.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn add_to(to: &mut [Block], from: &[Block]) {
    sums::add_to(to, from);
}

/// See [`sums::sums_by_bit`]: all pairs of blocks. Returns the number of blocks of each stream that this covers, all
/// but at most one.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn sums_by_bit<const S: usize>(
    streams: &[Block],
    columns: &mut [Block],
    total: &mut [Block],
) -> usize {
    let len = total.len();
    let pairs = len / 2;
    assert_eq!(streams.len(), S * len, "streams as long as the total");
    for at in (0..2 * pairs).step_by(2) {
        let mut x = [_mm256_setzero_si256(); MAX_STREAMS];
        for (i, x) in x[..S].iter_mut().enumerate() {
            *x = load(&streams[i * len + at..][..2]);
        }
        let (x, first) = halve::<8, 4>(&x);
        let (x, second) = halve::<4, 2>(&x);
        let (x, third) = halve::<2, 1>(&x);
        for (bit, sum) in [first, second, third].into_iter().enumerate() {
            let place = bit * len + at;
            if 1 << bit < S
                && let Some(column) = columns.get_mut(place..place + 2)
            {
                let sum = _mm256_xor_si256(load(column), sum);
                store(column, sum);
            }
        }
        store(&mut total[at..at + 2], x[0]);
    }
    2 * pairs
}

/// The sums of pairs, and the sum of all second ones of a pair.
#[target_feature(enable = "avx2")]
#[inline]
fn halve<const N: usize, const HALF: usize>(x: &[__m256i; N]) -> ([__m256i; HALF], __m256i) {
    let (mut sums, mut odd) = ([_mm256_setzero_si256(); HALF], _mm256_setzero_si256());
    for (i, sum) in sums.iter_mut().enumerate() {
        *sum = _mm256_xor_si256(x[2 * i], x[2 * i + 1]);
        odd = _mm256_xor_si256(odd, x[2 * i + 1]);
    }
    (sums, odd)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(blocks: &[Block]) -> __m256i {
    assert_eq!(blocks.len(), 2, "two blocks a vector");
    // SAFETY: two blocks have the 32 bytes that are loaded; the load needs no alignment.
    unsafe { _mm256_loadu_si256(blocks.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(blocks: &mut [Block], vector: __m256i) {
    assert_eq!(blocks.len(), 2, "two blocks a vector");
    // SAFETY: as in `load`; the blocks are borrowed mutably.
    unsafe { _mm256_storeu_si256(blocks.as_mut_ptr().cast(), vector) };
}
