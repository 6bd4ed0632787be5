//! GF(2^64) with the carry-less multiplication of FEAT_PMULL, two elements at a time.
//!
//! Two elements take two instructions, and one reduction of both. Everything is processed in lanes, down to the
//! smallest blocks of a transform, where two blocks and their twiddles form one vector.

use std::arch::aarch64::{
    uint64x2_t, vaddq_u64, vdupq_n_u64, veorq_u64, vgetq_lane_u64, vqtbl1q_u8,
    vreinterpretq_u8_u64, vreinterpretq_u64_u8, vshlq_n_u64, vshrq_n_u64, vzip1q_u64, vzip2q_u64,
};

use super::{
    super::portable::transform::{self, Direction, Twiddles},
    clmul::{multiply_lower, multiply_upper},
};

/// Elements per vector.
const LANES: usize = 2;

/// Same as [`gf::multiply64`](super::super::portable::gf::multiply64).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn multiply64(a: u64, b: u64) -> u64 {
    times_one(a, b)
}

/// Adds the products of `factor` and each element of `x` to `sums`, up to the end of the shorter slice.
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn add_products(sums: &mut [u64], x: &[u64], factor: u64) {
    let len = sums.len().min(x.len());
    let (vectors, rest) = sums[..len].as_chunks_mut::<LANES>();
    let (x, rest_x) = x[..len].as_chunks::<LANES>();
    let factors = vdupq_n_u64(factor);
    for (sum, x) in vectors.iter_mut().zip(x) {
        *sum = bytemuck::cast(veorq_u64(load(sum), times(load(x), factors)));
    }
    for (sum, x) in rest.iter_mut().zip(rest_x) {
        *sum ^= times_one(*x, factor);
    }
}

/// Same as [`gf::multiply_each64`](super::super::portable::gf::multiply_each64).
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn multiply_each(values: &mut [u64], factors: &[u64]) {
    let len = values.len().min(factors.len());
    let (vectors, rest) = values[..len].as_chunks_mut::<LANES>();
    let (factors, rest_factors) = factors[..len].as_chunks::<LANES>();
    for (vector, factors) in vectors.iter_mut().zip(factors) {
        *vector = bytemuck::cast(times(load(vector), load(factors)));
    }
    for (value, factor) in rest.iter_mut().zip(rest_factors) {
        *value = times_one(*value, *factor);
    }
}

/// Same as [`transform::additive_by`].
///
/// # Safety
/// The processor must have PMULL.
#[target_feature(enable = "aes,neon")]
pub unsafe fn additive(
    twiddles: &Twiddles<u64>,
    values: &mut [u64],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let fours = values.len() / (2 * LANES) * (2 * LANES);
    let (values, rest) = values.split_at_mut(fours);
    if log > 0 {
        let inner = Inner::new(twiddles, log, coset);
        for node in values.chunks_mut((1 << log).max(2 * LANES)) {
            // Blocks of at least two vectors; smaller blocks, two of them in two vectors, are left to `inner`.
            let outer = 0..log - 1;
            let step = |twiddle, difference| twiddle ^ difference;
            match direction {
                Direction::Forward => {
                    for depth in outer {
                        twiddles
                            .blocks(node, depth, coset, step, |low, high, t| split(low, high, t));
                    }
                    inner.each(twiddles, node, |low, high, twos| split_vectors(low, high, twos));
                }
                Direction::Backward => {
                    inner.each(twiddles, node, |low, high, twos| join_vectors(low, high, twos));
                    for depth in outer.rev() {
                        twiddles
                            .blocks(node, depth, coset, step, |low, high, t| join(low, high, t));
                    }
                }
            }
        }
    }
    // At most one node of two elements, or a few of one.
    transform::additive_by(|a, b| times_one(a, b), twiddles, rest, log, coset, direction);
}

/// Like [`transform::split`], for halves of whole vectors.
#[target_feature(enable = "aes,neon")]
#[inline]
fn split(low: &mut [u64], high: &mut [u64], twiddle: u64) {
    if twiddle == 0 {
        // The first block of each layer.
        high.iter_mut().zip(low).for_each(|(high, low)| *high ^= *low);
        return;
    }
    let twiddles = vdupq_n_u64(twiddle);
    let low = low.as_chunks_mut::<LANES>().0;
    for (low, high) in low.iter_mut().zip(high.as_chunks_mut::<LANES>().0) {
        let [a, b] = split_vectors(load(low), load(high), twiddles);
        *low = bytemuck::cast(a);
        *high = bytemuck::cast(b);
    }
}

/// Like [`transform::join`], for halves of whole vectors.
#[target_feature(enable = "aes,neon")]
#[inline]
fn join(low: &mut [u64], high: &mut [u64], twiddle: u64) {
    if twiddle == 0 {
        high.iter_mut().zip(low).for_each(|(high, low)| *high ^= *low);
        return;
    }
    let twiddles = vdupq_n_u64(twiddle);
    let low = low.as_chunks_mut::<LANES>().0;
    for (low, high) in low.iter_mut().zip(high.as_chunks_mut::<LANES>().0) {
        let [a, b] = join_vectors(load(low), load(high), twiddles);
        *low = bytemuck::cast(a);
        *high = bytemuck::cast(b);
    }
}

/// The last layer of a transform, whose blocks have two elements, two vectors at a time.
struct Inner {
    /// The twiddles of the first two blocks.
    twos: uint64x2_t,
}

impl Inner {
    #[target_feature(enable = "neon")]
    #[inline]
    fn new(twiddles: &Twiddles<u64>, log: usize, coset: bool) -> Self {
        let first = if coset { twiddles.powers[log - 1] } else { twiddles.first };
        // Nodes of two elements have one block each.
        let second = if log == 1 { first } else { first ^ twiddles.powers[0] };
        Self { twos: bytemuck::cast([first, second]) }
    }

    /// Processes a node, or two small ones, two vectors at a time with their twiddles.
    #[target_feature(enable = "aes,neon")]
    #[inline]
    fn each(
        &self,
        twiddles: &Twiddles<u64>,
        values: &mut [u64],
        butterfly: impl Fn(uint64x2_t, uint64x2_t, uint64x2_t) -> [uint64x2_t; 2],
    ) {
        let mut twos = self.twos;
        let fours = values.as_chunks_mut::<{ 2 * LANES }>().0;
        for (number, four) in (0u32..).zip(fours) {
            let [a, b]: [uint64x2_t; 2] = bytemuck::cast(*four);
            let [low, high] = butterfly(vzip1q_u64(a, b), vzip2q_u64(a, b), twos);
            *four = bytemuck::cast([vzip1q_u64(low, high), vzip2q_u64(low, high)]);
            // From block 2c to 2 (c + 1): the step without its lowest power.
            let i = number.trailing_ones() as usize;
            let next = vdupq_n_u64(twiddles.steps[i + 1] ^ twiddles.steps[0]);
            twos = veorq_u64(twos, next);
        }
    }
}

/// Like [`transform::split`], in each lane.
#[target_feature(enable = "aes,neon")]
#[inline]
fn split_vectors(low: uint64x2_t, high: uint64x2_t, twiddles: uint64x2_t) -> [uint64x2_t; 2] {
    let low = veorq_u64(low, times(high, twiddles));
    [low, veorq_u64(low, high)]
}

/// Like [`transform::join`], in each lane.
#[target_feature(enable = "aes,neon")]
#[inline]
fn join_vectors(low: uint64x2_t, high: uint64x2_t, twiddles: uint64x2_t) -> [uint64x2_t; 2] {
    let high = veorq_u64(low, high);
    [veorq_u64(low, times(high, twiddles)), high]
}

/// The product in each lane.
#[target_feature(enable = "aes,neon")]
#[inline]
fn times(x: uint64x2_t, y: uint64x2_t) -> uint64x2_t {
    let (even, odd) = (multiply_lower(x, y), multiply_upper(x, y));
    let (low, high) = (vzip1q_u64(even, odd), vzip2q_u64(even, odd));
    // x^64 = x^4 + x^3 + x + 1 = (x + 1) (x^3 + 1). The bits that the upper four bits of `high` leave above x^64 are
    // folded once more, by a table with one byte for each value.
    let folded = veorq_u64(high, vaddq_u64(high, high));
    let folded = veorq_u64(folded, vshlq_n_u64::<3>(folded));
    let upper_bits = vreinterpretq_u8_u64(vshrq_n_u64::<60>(high));
    let above = vqtbl1q_u8(bytemuck::cast(FOLDED_TWICE), upper_bits);
    veorq_u64(veorq_u64(low, folded), vreinterpretq_u64_u8(above))
}

/// The product of two elements, reduced by two more multiplications, which keep it in the lower lane.
#[target_feature(enable = "aes,neon")]
#[inline]
fn times_one(a: u64, b: u64) -> u64 {
    let modulus = vdupq_n_u64(0x1b);
    let product = multiply_lower(vdupq_n_u64(a), vdupq_n_u64(b));
    let folded = multiply_upper(product, modulus);
    let above = multiply_upper(folded, modulus);
    vgetq_lane_u64::<0>(veorq_u64(product, veorq_u64(folded, above)))
}

/// For each value of the upper four bits of a word: the bits that they leave above x^64 when multiplied by x^64,
/// folded.
const FOLDED_TWICE: [u8; 16] = {
    let mut table = [0; 16];
    let mut bits = 0u8;
    while bits < 16 {
        let above = bits ^ bits >> 1 ^ bits >> 3;
        table[bits as usize] = above ^ above << 1 ^ above << 3 ^ above << 4;
        bits += 1;
    }
    table
};

#[target_feature(enable = "neon")]
#[inline]
fn load(vector: &[u64; LANES]) -> uint64x2_t {
    bytemuck::cast(*vector)
}
