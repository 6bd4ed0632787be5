//! Eight blocks of BLAKE3 at once with AVX2: a vector holds the same word of each block. AVX-512 has as many registers
//! as there are words of state and input, and an instruction that rotates.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srli_epi32,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use super::super::portable::blake3::{IV, LANES, SCHEDULE, WHOLE};

/// Rotates every word right by whole bytes, given by a shuffle mask.
macro_rules! turn_bytes {
    ($x:expr, $mask:expr) => {
        _mm256_shuffle_epi8($x, $mask)
    };
}

/// Rotates every word right by this many bits.
macro_rules! turn {
    ($x:expr, $bits:literal) => {{
        let x = $x;
        _mm256_or_si256(_mm256_srli_epi32::<$bits>(x), _mm256_slli_epi32::<{ 32 - $bits }>(x))
    }};
}

/// Words `$from` to `$from + 7` of all lanes, a vector for each word.
///
/// Macros rather than closures: a function of the standard library that takes a closure is not compiled for the
/// instructions of its caller, so it would become calls with all vectors in memory.
macro_rules! words_of_lanes {
    ($inputs:ident, $from:literal) => {
        transpose(words_of_lanes!(@ $inputs, $from, 0 1 2 3 4 5 6 7))
    };
    (@ $inputs:ident, $from:literal, $($lane:literal)*) => {
        [$(bytemuck::pod_read_unaligned(
            bytemuck::cast_slice(&$inputs[$lane][$from..$from + 8])
        )),*]
    };
}

/// The quarter round G. A macro, so that every index is a constant and every vector a register.
macro_rules! mix {
    ($v:ident, $masks:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        $v[$a] = _mm256_add_epi32(_mm256_add_epi32($v[$a], $v[$b]), $x);
        $v[$d] = turn_bytes!(_mm256_xor_si256($v[$d], $v[$a]), $masks[0]);
        $v[$c] = _mm256_add_epi32($v[$c], $v[$d]);
        $v[$b] = turn!(_mm256_xor_si256($v[$b], $v[$c]), 12);
        $v[$a] = _mm256_add_epi32(_mm256_add_epi32($v[$a], $v[$b]), $y);
        $v[$d] = turn_bytes!(_mm256_xor_si256($v[$d], $v[$a]), $masks[1]);
        $v[$c] = _mm256_add_epi32($v[$c], $v[$d]);
        $v[$b] = turn!(_mm256_xor_si256($v[$b], $v[$c]), 7);
    };
}

macro_rules! round {
    ($v:ident, $m:ident, $masks:ident, $round:literal) => {{
        const WORDS: [usize; 16] = SCHEDULE[$round];
        mix!($v, $masks, 0, 4, 8, 12, $m[WORDS[0]], $m[WORDS[1]]);
        mix!($v, $masks, 1, 5, 9, 13, $m[WORDS[2]], $m[WORDS[3]]);
        mix!($v, $masks, 2, 6, 10, 14, $m[WORDS[4]], $m[WORDS[5]]);
        mix!($v, $masks, 3, 7, 11, 15, $m[WORDS[6]], $m[WORDS[7]]);
        mix!($v, $masks, 0, 5, 10, 15, $m[WORDS[8]], $m[WORDS[9]]);
        mix!($v, $masks, 1, 6, 11, 12, $m[WORDS[10]], $m[WORDS[11]]);
        mix!($v, $masks, 2, 7, 8, 13, $m[WORDS[12]], $m[WORDS[13]]);
        mix!($v, $masks, 3, 4, 9, 14, $m[WORDS[14]], $m[WORDS[15]]);
    }};
}

macro_rules! compiled {
    ($name:ident, $features:literal, $needs:literal) => {
        /// Same as the portable `hash`.
        ///
        /// # Safety
        #[doc = $needs]
        #[target_feature(enable = $features)]
        pub unsafe fn $name(
            key: &[u32; 8],
            mode: u32,
            inputs: &[[u32; 16]; LANES],
            lens: &[u32; LANES],
            numbers: &[u64; LANES],
        ) -> [[u32; 8]; LANES] {
            let (low, high) = (words_of_lanes!(inputs, 0), words_of_lanes!(inputs, 8));
            let m: [__m256i; 16] = bytemuck::cast([low, high]);
            // By two bytes, and by one.
            let masks = [
                byte_mask([2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13]),
                byte_mask([1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12]),
            ];

            let mut v = [_mm256_setzero_si256(); 16];
            for (v, word) in v.iter_mut().zip(key) {
                *v = _mm256_set1_epi32(*word as i32);
            }
            for (v, word) in v[8..12].iter_mut().zip(IV) {
                *v = _mm256_set1_epi32(word as i32);
            }
            let (mut low, mut high) = ([0; LANES], [0; LANES]);
            for ((low, high), number) in low.iter_mut().zip(&mut high).zip(numbers) {
                (*low, *high) = (*number as u32, (*number >> 32) as u32);
            }
            [v[12], v[13]] = bytemuck::cast([low, high]);
            v[14] = bytemuck::pod_read_unaligned(bytemuck::cast_slice(lens));
            v[15] = _mm256_set1_epi32((WHOLE | mode) as i32);

            round!(v, m, masks, 0);
            round!(v, m, masks, 1);
            round!(v, m, masks, 2);
            round!(v, m, masks, 3);
            round!(v, m, masks, 4);
            round!(v, m, masks, 5);
            round!(v, m, masks, 6);
            let mut out = [_mm256_setzero_si256(); 8];
            for (i, out) in out.iter_mut().enumerate() {
                *out = _mm256_xor_si256(v[i], v[i + 8]);
            }
            bytemuck::cast(transpose(out))
        }
    };
}

compiled!(hash, "avx2", "The processor must have AVX2.");
compiled!(
    hash_long,
    "avx512f,avx512vl,avx2",
    "The processor must have AVX-512 F and VL, and AVX2."
);

/// A mask for both halves of a vector.
#[target_feature(enable = "avx2")]
fn byte_mask(b: [i8; 16]) -> __m256i {
    bytemuck::cast([b, b])
}

/// Transposes words and lanes.
#[target_feature(enable = "avx2")]
#[inline]
fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (ab, cd) = (pairs(a, b), pairs(c, d));
    let (ef, gh) = (pairs(e, f), pairs(g, h));
    let (above, below) = (fours(ab, cd), fours(ef, gh));
    let mut out = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        out[i] = _mm256_permute2x128_si256::<0x20>(above[i], below[i]);
        out[i + 4] = _mm256_permute2x128_si256::<0x31>(above[i], below[i]);
    }
    out
}

/// The first step of [`transpose`]: pairs of words.
#[target_feature(enable = "avx2")]
#[inline]
fn pairs(x: __m256i, y: __m256i) -> [__m256i; 2] {
    [_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y)]
}

/// The second step: four words each.
#[target_feature(enable = "avx2")]
#[inline]
fn fours(x: [__m256i; 2], y: [__m256i; 2]) -> [__m256i; 4] {
    [
        _mm256_unpacklo_epi64(x[0], y[0]),
        _mm256_unpackhi_epi64(x[0], y[0]),
        _mm256_unpacklo_epi64(x[1], y[1]),
        _mm256_unpackhi_epi64(x[1], y[1]),
    ]
}
