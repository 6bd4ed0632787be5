//! Eight blocks of BLAKE3 with NEON, four at a time: a vector holds the same word of each of four blocks. Twice as many
//! would not fit in the registers, because the state already takes half of them.

use std::arch::aarch64::{
    uint32x4_t, vaddq_u32, vdupq_n_u32, veorq_u32, vqtbl1q_u8, vreinterpretq_u8_u32,
    vreinterpretq_u16_u32, vreinterpretq_u32_u8, vreinterpretq_u32_u16, vreinterpretq_u32_u64,
    vreinterpretq_u64_u32, vrev32q_u16, vshlq_n_u32, vsriq_n_u32, vtrn1q_u32, vtrn1q_u64,
    vtrn2q_u32, vtrn2q_u64,
};

use super::super::portable::blake3::{IV, LANES, SCHEDULE, WHOLE};

/// Lanes of a vector.
const WIDTH: usize = 4;

/// Rotates every word right by this many bits.
macro_rules! turn {
    ($x:expr, 16, $mask:ident) => {
        vreinterpretq_u32_u16(vrev32q_u16(vreinterpretq_u16_u32($x)))
    };
    ($x:expr, 8, $mask:ident) => {
        vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_u32($x), $mask))
    };
    ($x:expr, $bits:literal) => {{
        let x = $x;
        vsriq_n_u32::<$bits>(vshlq_n_u32::<{ 32 - $bits }>(x), x)
    }};
}

/// The quarter round G. A macro, so that every index is a constant and every vector a register.
macro_rules! mix {
    ($v:ident, $mask:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        $v[$a] = vaddq_u32(vaddq_u32($v[$a], $v[$b]), $x);
        $v[$d] = turn!(veorq_u32($v[$d], $v[$a]), 16, $mask);
        $v[$c] = vaddq_u32($v[$c], $v[$d]);
        $v[$b] = turn!(veorq_u32($v[$b], $v[$c]), 12);
        $v[$a] = vaddq_u32(vaddq_u32($v[$a], $v[$b]), $y);
        $v[$d] = turn!(veorq_u32($v[$d], $v[$a]), 8, $mask);
        $v[$c] = vaddq_u32($v[$c], $v[$d]);
        $v[$b] = turn!(veorq_u32($v[$b], $v[$c]), 7);
    };
}

macro_rules! round {
    ($v:ident, $m:ident, $mask:ident, $round:literal) => {{
        const WORDS: [usize; 16] = SCHEDULE[$round];
        mix!($v, $mask, 0, 4, 8, 12, $m[WORDS[0]], $m[WORDS[1]]);
        mix!($v, $mask, 1, 5, 9, 13, $m[WORDS[2]], $m[WORDS[3]]);
        mix!($v, $mask, 2, 6, 10, 14, $m[WORDS[4]], $m[WORDS[5]]);
        mix!($v, $mask, 3, 7, 11, 15, $m[WORDS[6]], $m[WORDS[7]]);
        mix!($v, $mask, 0, 5, 10, 15, $m[WORDS[8]], $m[WORDS[9]]);
        mix!($v, $mask, 1, 6, 11, 12, $m[WORDS[10]], $m[WORDS[11]]);
        mix!($v, $mask, 2, 7, 8, 13, $m[WORDS[12]], $m[WORDS[13]]);
        mix!($v, $mask, 3, 4, 9, 14, $m[WORDS[14]], $m[WORDS[15]]);
    }};
}

/// Same as the portable `hash`.
///
/// # Safety
/// The processor must have NEON.
#[target_feature(enable = "neon")]
pub unsafe fn hash(
    key: &[u32; 8],
    mode: u32,
    inputs: &[[u32; 16]; LANES],
    lens: &[u32; LANES],
    numbers: &[u64; LANES],
) -> [[u32; 8]; LANES] {
    let mut out = [[0; 8]; LANES];
    let inputs = inputs.as_chunks::<WIDTH>().0.iter().zip(lens.as_chunks::<WIDTH>().0);
    let inputs = inputs.zip(numbers.as_chunks::<WIDTH>().0);
    for (out, ((inputs, lens), numbers)) in out.as_chunks_mut::<WIDTH>().0.iter_mut().zip(inputs) {
        *out = hash_vector(key, mode, inputs, lens, numbers);
    }
    out
}

#[target_feature(enable = "neon")]
#[inline]
fn hash_vector(
    key: &[u32; 8],
    mode: u32,
    inputs: &[[u32; 16]; WIDTH],
    lens: &[u32; WIDTH],
    numbers: &[u64; WIDTH],
) -> [[u32; 8]; WIDTH] {
    let mut m = [vdupq_n_u32(0); 16];
    for (i, words) in m.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
        for (words, input) in words.iter_mut().zip(inputs) {
            *words = bytemuck::cast(input.as_chunks::<WIDTH>().0[i]);
        }
        *words = transpose(*words);
    }
    // By a byte.
    let mask = bytemuck::cast([1u8, 2, 3, 0, 5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12]);

    let mut v = [vdupq_n_u32(0); 16];
    for (v, word) in v.iter_mut().zip(key.iter().chain(&IV[..4])) {
        *v = vdupq_n_u32(*word);
    }
    let (mut low, mut high) = ([0; WIDTH], [0; WIDTH]);
    for ((low, high), number) in low.iter_mut().zip(&mut high).zip(numbers) {
        (*low, *high) = (*number as u32, (*number >> 32) as u32);
    }
    [v[12], v[13], v[14]] = bytemuck::cast([low, high, *lens]);
    v[15] = vdupq_n_u32(WHOLE | mode);

    round!(v, m, mask, 0);
    round!(v, m, mask, 1);
    round!(v, m, mask, 2);
    round!(v, m, mask, 3);
    round!(v, m, mask, 4);
    round!(v, m, mask, 5);
    round!(v, m, mask, 6);
    let (mut first, mut second) = ([vdupq_n_u32(0); WIDTH], [vdupq_n_u32(0); WIDTH]);
    for i in 0..WIDTH {
        first[i] = veorq_u32(v[i], v[i + 8]);
        second[i] = veorq_u32(v[i + 4], v[i + 12]);
    }
    let (first, second) = (transpose(first), transpose(second));
    let mut out = [[0; 8]; WIDTH];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = bytemuck::cast([first[lane], second[lane]]);
    }
    out
}

/// Transposes four words and four lanes.
#[target_feature(enable = "neon")]
#[inline]
fn transpose([a, b, c, d]: [uint32x4_t; 4]) -> [uint32x4_t; 4] {
    // Words 0 and 2, and words 1 and 3, of two lanes.
    let (even_ab, odd_ab) = (vtrn1q_u32(a, b), vtrn2q_u32(a, b));
    let (even_cd, odd_cd) = (vtrn1q_u32(c, d), vtrn2q_u32(c, d));
    let (zero, two) = pairs(even_ab, even_cd);
    let (one, three) = pairs(odd_ab, odd_cd);
    [zero, one, two, three]
}

/// The lower halves of two vectors, and the upper ones.
#[target_feature(enable = "neon")]
#[inline]
fn pairs(x: uint32x4_t, y: uint32x4_t) -> (uint32x4_t, uint32x4_t) {
    let (x, y) = (vreinterpretq_u64_u32(x), vreinterpretq_u64_u32(y));
    (vreinterpretq_u32_u64(vtrn1q_u64(x, y)), vreinterpretq_u32_u64(vtrn2q_u64(x, y)))
}
