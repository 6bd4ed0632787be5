//! Sums of 32-bit words with 256-bit and with 512-bit registers.

use std::arch::x86_64::{
    __m256i, __m512i, _mm256_add_epi64, _mm256_and_si256, _mm256_loadu_si256, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_srli_epi64, _mm256_storeu_si256, _mm512_add_epi64,
    _mm512_and_si512, _mm512_loadu_si512, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64, _mm512_storeu_si512,
};

use crate::{Block, arch::portable::word_sums};

/// Vectors of sums that are kept in registers while one vector after another is added to them.
const KEPT: usize = 4;

/// The kernels for one width of registers.
macro_rules! kernels {
    (
        $feature:literal, $vector:ty, $lanes:literal, $name:literal,
        $add:ident, $add_masked:ident, $load:ident, $store:ident,
        $loadu:ident, $storeu:ident, $zero:ident, $set:ident, $plus:ident, $and:ident, $shift:ident
    ) => {
        /// See [`word_sums::add`].
        ///
        /// # Safety
        #[doc = concat!("The processor must have ", $name, ".")]
        #[target_feature(enable = $feature)]
        pub unsafe fn $add(
            even: &mut [u64],
            odd: &mut [u64],
            blocks: &[Block],
            totals: &mut [u64; 4],
        ) {
            let low_words = $set(i64::from(u32::MAX));
            let mut sums = [$zero(); 2];
            let (vectors, _) = bytemuck::cast_slice::<_, u64>(blocks).as_chunks::<$lanes>();
            let (evens, last_even) = even.as_chunks_mut::<$lanes>();
            let (odds, last_odd) = odd.as_chunks_mut::<$lanes>();
            for ((even, odd), halves) in evens.iter_mut().zip(odds).zip(vectors) {
                let halves = $load(halves);
                let (low, high) = ($and(halves, low_words), $shift::<32>(halves));
                $store(even, $plus($load(even), low));
                $store(odd, $plus($load(odd), high));
                sums = [$plus(sums[0], low), $plus(sums[1], high)];
            }
            for (first, sum) in sums.into_iter().enumerate() {
                let mut lanes = [0; $lanes];
                $store(&mut lanes, sum);
                for pair in lanes.as_chunks::<2>().0 {
                    totals[first] += pair[0];
                    totals[first + 2] += pair[1];
                }
            }
            let rest = &blocks[vectors.len() * ($lanes / 2)..];
            word_sums::add(last_even, last_odd, rest, totals);
        }

        /// See [`word_sums::add_masked`].
        ///
        /// # Safety
        #[doc = concat!("The processor must have ", $name, ".")]
        #[target_feature(enable = $feature)]
        pub unsafe fn $add_masked(sums: &mut [u64], values: &[u64], masks: &[u64]) {
            let len = sums.len();
            let (groups, rest) = sums.as_chunks_mut::<{ KEPT * $lanes }>();
            let whole = groups.len() * KEPT * $lanes;
            for (i, group) in groups.iter_mut().enumerate() {
                let (vectors, _) = group.as_chunks_mut::<$lanes>();
                let mut kept = [$zero(); KEPT];
                for (kept, vector) in kept.iter_mut().zip(&*vectors) {
                    *kept = $load(vector);
                }
                for (values, mask) in values.chunks_exact(len).zip(masks) {
                    let mask = $set(*mask as i64);
                    let (values, _) =
                        values[i * KEPT * $lanes..][..KEPT * $lanes].as_chunks::<$lanes>();
                    for (kept, value) in kept.iter_mut().zip(values) {
                        *kept = $plus(*kept, $and($load(value), mask));
                    }
                }
                for (vector, kept) in vectors.iter_mut().zip(kept) {
                    $store(vector, kept);
                }
            }
            word_sums::add_masked(rest, whole, len, values, masks);
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn $load(words: &[u64; $lanes]) -> $vector {
            // SAFETY: the words have as many bytes as are loaded; the load needs no alignment.
            unsafe { $loadu(words.as_ptr().cast()) }
        }

        #[target_feature(enable = $feature)]
        #[inline]
        fn $store(words: &mut [u64; $lanes], vector: $vector) {
            // SAFETY: as for loads; the words are borrowed mutably.
            unsafe { $storeu(words.as_mut_ptr().cast(), vector) }
        }
    };
}

kernels!(
    "avx2",
    __m256i,
    4,
    "AVX2",
    add,
    add_masked,
    load,
    store,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_setzero_si256,
    _mm256_set1_epi64x,
    _mm256_add_epi64,
    _mm256_and_si256,
    _mm256_srli_epi64
);
kernels!(
    "avx512f",
    __m512i,
    8,
    "AVX-512 F",
    add_long,
    add_masked_long,
    load_long,
    store_long,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_setzero_si512,
    _mm512_set1_epi64,
    _mm512_add_epi64,
    _mm512_and_si512,
    _mm512_srli_epi64
);

/// See [`word_sums::xor_masked`].
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn xor_masked(blocks: &mut [Block], pattern: &[Block], masks: &[u64]) {
    word_sums::xor_masked(blocks, pattern, masks);
}
