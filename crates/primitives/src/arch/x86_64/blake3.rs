//! Eight blocks of BLAKE3 at once with AVX2: a vector holds the same word of each.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_or_si256, _mm256_permute2x128_si256, _mm256_set1_epi32,
    _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use super::super::portable::blake3::{IV, LANES, SCHEDULE, WHOLE};

/// Turns every word right by whole bytes, as the mask says.
macro_rules! turn_bytes {
    ($x:expr, $mask:expr) => {
        _mm256_shuffle_epi8($x, $mask)
    };
}

/// Turns every word right by this many bits.
macro_rules! turn {
    ($x:expr, $bits:literal) => {{
        let x = $x;
        _mm256_or_si256(_mm256_srli_epi32::<$bits>(x), _mm256_slli_epi32::<{ 32 - $bits }>(x))
    }};
}

/// As the portable `hash`.
///
/// # Safety
/// The processor must have AVX2.
#[target_feature(enable = "avx2")]
pub unsafe fn hash(
    (key, mode): (&[u32; 8], u32),
    inputs: &[[u32; 16]; LANES],
    lens: &[u32; LANES],
    numbers: &[u64; LANES],
) -> [[u32; 8]; LANES] {
    let half = |lane: usize, from: usize| -> __m256i {
        bytemuck::pod_read_unaligned(bytemuck::cast_slice(&inputs[lane][from..from + 8]))
    };
    let low = transpose(std::array::from_fn(|lane| half(lane, 0)));
    let high = transpose(std::array::from_fn(|lane| half(lane, 8)));
    let m: [__m256i; 16] = std::array::from_fn(|i| if i < 8 { low[i] } else { high[i - 8] });

    let by_two = [2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13];
    let by_one = [1, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12];
    let [by_two, by_one] = [by_two, by_one].map(|bytes: [i8; 16]| byte_mask(bytes));

    let words = [IV[0], IV[1], IV[2], IV[3], 0, 0, 0, WHOLE | mode];
    let mut v: [__m256i; 16] =
        std::array::from_fn(
            |i| _mm256_set1_epi32(if i < 8 { key[i] } else { words[i - 8] } as i32),
        );
    let halves = [numbers.map(|number| number as u32), numbers.map(|number| (number >> 32) as u32)];
    [v[12], v[13]] = bytemuck::cast(halves);
    v[14] = bytemuck::pod_read_unaligned(bytemuck::cast_slice(lens));

    // The quarter round G. Macros, so that every index is a constant and every vector a register.
    macro_rules! mix {
        ($a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
            v[$a] = _mm256_add_epi32(_mm256_add_epi32(v[$a], v[$b]), $x);
            v[$d] = turn_bytes!(_mm256_xor_si256(v[$d], v[$a]), by_two);
            v[$c] = _mm256_add_epi32(v[$c], v[$d]);
            v[$b] = turn!(_mm256_xor_si256(v[$b], v[$c]), 12);
            v[$a] = _mm256_add_epi32(_mm256_add_epi32(v[$a], v[$b]), $y);
            v[$d] = turn_bytes!(_mm256_xor_si256(v[$d], v[$a]), by_one);
            v[$c] = _mm256_add_epi32(v[$c], v[$d]);
            v[$b] = turn!(_mm256_xor_si256(v[$b], v[$c]), 7);
        };
    }
    macro_rules! round {
        ($round:literal) => {
            const WORDS: [usize; 16] = SCHEDULE[$round];
            mix!(0, 4, 8, 12, m[WORDS[0]], m[WORDS[1]]);
            mix!(1, 5, 9, 13, m[WORDS[2]], m[WORDS[3]]);
            mix!(2, 6, 10, 14, m[WORDS[4]], m[WORDS[5]]);
            mix!(3, 7, 11, 15, m[WORDS[6]], m[WORDS[7]]);
            mix!(0, 5, 10, 15, m[WORDS[8]], m[WORDS[9]]);
            mix!(1, 6, 11, 12, m[WORDS[10]], m[WORDS[11]]);
            mix!(2, 7, 8, 13, m[WORDS[12]], m[WORDS[13]]);
            mix!(3, 4, 9, 14, m[WORDS[14]], m[WORDS[15]]);
        };
    }
    {
        round!(0);
    }
    {
        round!(1);
    }
    {
        round!(2);
    }
    {
        round!(3);
    }
    {
        round!(4);
    }
    {
        round!(5);
    }
    {
        round!(6);
    }
    let out = transpose(std::array::from_fn(|i| _mm256_xor_si256(v[i], v[i + 8])));
    bytemuck::cast(out)
}

/// A mask for both halves of a vector.
#[target_feature(enable = "avx2")]
fn byte_mask(b: [i8; 16]) -> __m256i {
    bytemuck::cast([b, b])
}

/// Exchanges words and lanes.
#[target_feature(enable = "avx2")]
fn transpose(rows: [__m256i; 8]) -> [__m256i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let pairs = [[a, b], [c, d], [e, f], [g, h]];
    let [ab, cd, ef, gh] =
        pairs.map(|[x, y]| [_mm256_unpacklo_epi32(x, y), _mm256_unpackhi_epi32(x, y)]);
    let fours = [[ab, cd], [ef, gh]].map(|[x, y]| {
        [
            _mm256_unpacklo_epi64(x[0], y[0]),
            _mm256_unpackhi_epi64(x[0], y[0]),
            _mm256_unpacklo_epi64(x[1], y[1]),
            _mm256_unpackhi_epi64(x[1], y[1]),
        ]
    });
    std::array::from_fn(|i| match i {
        0..4 => _mm256_permute2x128_si256::<0x20>(fours[0][i], fours[1][i]),
        _ => _mm256_permute2x128_si256::<0x31>(fours[0][i - 4], fours[1][i - 4]),
    })
}
