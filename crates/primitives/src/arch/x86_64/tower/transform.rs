//! Transforms of the tower of fields.
//!
//! A twiddle of GF(2^8), as in a domain's first 128 blocks, takes one product per vector, one of GF(2^16) two, any
//! other four. Layers are processed two at a time, in nodes that stay in the first-level cache.

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8mul_epi8, _mm512_mask_xor_epi64, _mm512_maskz_mov_epi64, _mm512_rol_epi32,
    _mm512_set1_epi32, _mm512_set4_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_shuffle_epi32, _mm512_shuffle_i64x2, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
};

use super::{
    super::super::portable::{
        tower::{Pattern, Patterns, pattern},
        transform::Direction,
    },
    Vector, WIDTH, add, load, store, sum,
};

/// The pattern of the factor 1.
const ONE: Pattern = pattern(1);

/// A node of up to this many vectors goes through all layers before the next one does: it stays in the
/// first-level cache.
const NEAR: usize = 256;

/// Like [`transform::additive_by`](super::super::super::portable::transform::additive_by), for elements of `BYTES`
/// bytes.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn additive<const BYTES: usize>(
    twiddles: &Patterns,
    values: &mut [u8],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    if log == 0 {
        return;
    }
    let transform = Transform::<BYTES>::new(twiddles, log, coset, direction);
    each_node(values, transform.vectors, |node| match direction {
        Direction::Forward => transform.forward(node, coset.into()),
        Direction::Backward => transform.backward(node, coset.into()),
    });
}

/// Moves each node from a domain to its coset, or back.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn exchange_coset<const BYTES: usize>(
    twiddles: &Patterns,
    values: &mut [u8],
    log: usize,
    to_coset: bool,
) {
    if log == 0 {
        return;
    }
    let there = Transform::<BYTES>::new(twiddles, log, !to_coset, Direction::Backward);
    let back = Transform::<BYTES>::new(twiddles, log, to_coset, Direction::Forward);
    each_node(values, there.vectors, |node| {
        there.backward(node, usize::from(!to_coset));
        back.forward(node, usize::from(to_coset));
    });
}

/// Does `work` for each node of this many vectors, and for a rest that is smaller than a vector.
fn each_node(values: &mut [u8], vectors: usize, work: impl Fn(&mut [Vector])) {
    let (whole, rest) = values.as_chunks_mut::<WIDTH>();
    for node in whole.chunks_exact_mut(vectors) {
        work(node);
    }
    if !rest.is_empty() {
        // Small nodes.
        let mut vector = [0; WIDTH];
        vector[..rest.len()].copy_from_slice(rest);
        work(std::slice::from_mut(&mut vector));
        rest.copy_from_slice(&vector[..rest.len()]);
    }
}

/// The data that all nodes share.
struct Transform<'a, const BYTES: usize> {
    twiddles: &'a Patterns,
    /// Vectors of a node, at least 1.
    vectors: usize,
    /// The last layers, within a vector, from blocks of two elements to blocks of a vector; the patterns of the
    /// first vector whose blocks have the numbers from 0 on.
    inner: [[__m512i; 4]; 3],
    /// The number of inner layers that there are.
    layers: usize,
}

/// The number of parts of a block's factor: one in GF(2^8), two in GF(2^16), more beyond.
#[inline(always)]
const fn parts(last: usize) -> usize {
    // Twiddles of numbers of b bits are sums of β_1 to β_b, and β_0 to β_7 span GF(2^8).
    match usize::BITS - last.leading_zeros() {
        0..=7 => 1,
        8..=15 => 2,
        _ => 4,
    }
}

/// The pattern of a block.
#[inline(always)]
fn twiddle(twiddles: &Patterns, mut number: usize) -> Pattern {
    let mut sum = twiddles.first;
    while number != 0 {
        sum ^= twiddles.powers[number.trailing_zeros() as usize];
        number &= number - 1;
    }
    sum
}

macro_rules! by_parts {
    ($last:expr, $call:ident::<$($fixed:tt),* ; _>($($argument:expr),*)) => {
        match parts($last) {
            1 => $call::<$($fixed,)* 1>($($argument),*),
            2 => $call::<$($fixed,)* 2>($($argument),*),
            _ => $call::<$($fixed,)* 4>($($argument),*),
        }
    };
}

impl<'a, const BYTES: usize> Transform<'a, BYTES> {
    /// Elements of a vector.
    const LANES: usize = WIDTH / BYTES;

    #[target_feature(enable = "gfni,avx512f,avx512bw")]
    fn new(twiddles: &'a Patterns, log: usize, coset: bool, direction: Direction) -> Self {
        let most = Self::LANES.ilog2() as usize;
        let mut inner = [[_mm512_setzero_si512(); 4]; 3];
        let layers = most.min(log);
        for (layer, patterns) in inner.iter_mut().enumerate().take(layers) {
            // If nodes are smaller than a vector, each begins with block 0, or its coset's.
            let depth = log - 1 - layer;
            let small = log < most;
            let mut parts = [[0u32; WIDTH / 4]; 4];
            for element in 0..Self::LANES {
                let high = element >> layer & 1 == 1;
                let mut number = element >> (layer + 1);
                if small {
                    number &= (1 << depth) - 1;
                    number |= usize::from(coset) << depth;
                }
                let t = twiddle(twiddles, number);
                let pattern = match (direction, high) {
                    (_, false) => t,
                    (Direction::Forward, true) => t ^ ONE,
                    (Direction::Backward, true) => ONE,
                };
                for (d, part) in parts.iter_mut().enumerate() {
                    let words = &mut part[element * (BYTES / 4)..][..BYTES / 4];
                    words.fill((pattern >> (32 * d)) as u32);
                }
            }
            for (vector, part) in patterns.iter_mut().zip(&parts) {
                *vector = load(bytemuck::cast_ref(part));
            }
        }
        Self { twiddles, vectors: ((1 << log) >> most).max(1), inner, layers }
    }

    /// From coefficients to values, of a block with this number.
    #[target_feature(enable = "gfni,avx512f,avx512bw")]
    fn forward(&self, node: &mut [Vector], number: usize) {
        if node.len() > NEAR {
            let last = 2 * number + 1;
            let twiddles = self.twiddles;
            by_parts!(last, two_layers::<true; _>(twiddles, node, number, 1));
            let quarter = node.len() / 4;
            for (i, node) in node.chunks_exact_mut(quarter).enumerate() {
                self.forward(node, 4 * number + i);
            }
            return;
        }
        let (mut blocks, mut number) = (1, number);
        while node.len() / blocks >= 4 {
            let last = 2 * (number + blocks) - 1;
            let twiddles = self.twiddles;
            by_parts!(last, two_layers::<true; _>(twiddles, node, number, blocks));
            blocks *= 4;
            number *= 4;
        }
        if node.len() / blocks == 2 {
            let last = number + blocks - 1;
            let twiddles = self.twiddles;
            by_parts!(last, one_layer::<true; _>(twiddles, node, number));
            number *= 2;
        }
        let last = (number + node.len()) * Self::LANES / 2 - 1;
        by_parts!(last, inner::<BYTES, true; _>(self, node, number));
    }

    /// From values to coefficients, of a block with this number.
    #[target_feature(enable = "gfni,avx512f,avx512bw")]
    fn backward(&self, node: &mut [Vector], number: usize) {
        let twiddles = self.twiddles;
        if node.len() > NEAR {
            let quarter = node.len() / 4;
            for (i, node) in node.chunks_exact_mut(quarter).enumerate() {
                self.backward(node, 4 * number + i);
            }
            let last = 2 * number + 1;
            by_parts!(last, two_layers::<false; _>(twiddles, node, number, 1));
            return;
        }
        let len = node.len();
        let last = (number + 1) * len * Self::LANES / 2 - 1;
        let first = number * len;
        by_parts!(last, inner::<BYTES, false; _>(self, node, first));
        let mut blocks = len;
        if len.ilog2() % 2 == 1 {
            blocks /= 2;
            let first = number * blocks;
            let last = first + blocks - 1;
            by_parts!(last, one_layer::<false; _>(twiddles, node, first));
        }
        while blocks > 1 {
            blocks /= 4;
            let first = number * blocks;
            let last = 2 * (first + blocks) - 1;
            by_parts!(last, two_layers::<false; _>(twiddles, node, first, blocks));
        }
    }
}

/// A pattern's parts, each in all words.
#[target_feature(enable = "avx512f")]
#[inline]
fn spread<const PARTS: usize>(pattern: Pattern) -> [__m512i; PARTS] {
    let mut vectors = [_mm512_setzero_si512(); PARTS];
    for (d, vector) in vectors.iter_mut().enumerate() {
        *vector = _mm512_set1_epi32((pattern >> (32 * d)) as i32);
    }
    vectors
}

/// Byte i ⊕ `D` of each word, at place i.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn exchanged<const D: usize>(x: __m512i) -> __m512i {
    match D {
        1 => _mm512_shuffle_epi8(
            x,
            _mm512_set4_epi32(0x0e0f_0c0d, 0x0a0b_0809, 0x0607_0405, 0x0203_0001),
        ),
        2 => _mm512_rol_epi32::<16>(x),
        _ => _mm512_shuffle_epi8(
            x,
            _mm512_set4_epi32(0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203),
        ),
    }
}

/// `a` plus the product of `x` and a factor.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn add_product<const PARTS: usize>(a: __m512i, x: __m512i, factor: &[__m512i; PARTS]) -> __m512i {
    let product = _mm512_gf2p8mul_epi8(x, factor[0]);
    if PARTS == 1 {
        return add(a, product);
    }
    let product1 = _mm512_gf2p8mul_epi8(exchanged::<1>(x), factor[1]);
    let a = sum(a, product, product1);
    if PARTS == 2 {
        return a;
    }
    let product2 = _mm512_gf2p8mul_epi8(exchanged::<2>(x), factor[2]);
    let product3 = _mm512_gf2p8mul_epi8(exchanged::<3>(x), factor[3]);
    sum(a, product2, product3)
}

/// One layer, of blocks of two vectors whose numbers start with `number`.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
fn one_layer<const FORWARD: bool, const PARTS: usize>(
    twiddles: &Patterns,
    node: &mut [Vector],
    mut number: usize,
) {
    let mut t = twiddle(twiddles, number);
    for [low, high] in node.as_chunks_mut::<2>().0 {
        let factor = spread::<PARTS>(t);
        let (mut a, mut b) = (load(low), load(high));
        if FORWARD {
            a = add_product(a, b, &factor);
            b = add(a, b);
        } else {
            b = add(a, b);
            a = add_product(a, b, &factor);
        }
        store(low, a);
        store(high, b);
        t ^= twiddles.steps[number.trailing_ones() as usize];
        number += 1;
    }
}

/// Two layers; the first has `blocks` blocks of at least four vectors, whose numbers start with `number`.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
fn two_layers<const FORWARD: bool, const PARTS: usize>(
    twiddles: &Patterns,
    node: &mut [Vector],
    mut number: usize,
    blocks: usize,
) {
    let mut outer = twiddle(twiddles, number);
    let mut inner = twiddle(twiddles, 2 * number);
    let len = node.len() / blocks;
    for block in node.chunks_exact_mut(len) {
        let (t, u, v) = (
            spread::<PARTS>(outer),
            spread::<PARTS>(inner),
            spread::<PARTS>(inner ^ twiddles.steps[0]),
        );
        let (low, high) = block.split_at_mut(len / 2);
        let (first, second) = low.split_at_mut(len / 4);
        let (third, fourth) = high.split_at_mut(len / 4);
        let quarters = first.iter_mut().zip(second).zip(third.iter_mut().zip(fourth));
        for ((first, second), (third, fourth)) in quarters {
            let (mut a, mut b) = (load(first), load(second));
            let (mut c, mut d) = (load(third), load(fourth));
            if FORWARD {
                a = add_product(a, c, &t);
                b = add_product(b, d, &t);
                c = add(a, c);
                d = add(b, d);
                a = add_product(a, b, &u);
                c = add_product(c, d, &v);
                b = add(a, b);
                d = add(c, d);
            } else {
                b = add(a, b);
                d = add(c, d);
                a = add_product(a, b, &u);
                c = add_product(c, d, &v);
                c = add(a, c);
                d = add(b, d);
                a = add_product(a, c, &t);
                b = add_product(b, d, &t);
            }
            store(first, a);
            store(second, b);
            store(third, c);
            store(fourth, d);
        }
        let ones = number.trailing_ones() as usize;
        outer ^= twiddles.steps[ones];
        inner ^= twiddles.steps[ones + 1] ^ twiddles.steps[0];
        number += 1;
    }
}

/// The layers within each vector. `number` is the number of the first vector's block.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
fn inner<const BYTES: usize, const FORWARD: bool, const PARTS: usize>(
    transform: &Transform<'_, BYTES>,
    node: &mut [Vector],
    mut number: usize,
) {
    let twiddles = transform.twiddles;
    let most = Transform::<BYTES>::LANES.ilog2() as usize;
    let layers = transform.layers;
    let mut patterns = [[_mm512_setzero_si512(); PARTS]; 3];
    // Nodes smaller than a vector: their patterns are complete.
    let steps = layers == most;
    for (layer, patterns) in patterns.iter_mut().enumerate().take(layers) {
        patterns.copy_from_slice(&transform.inner[layer][..PARTS]);
        if steps {
            let shift = most - 1 - layer;
            let step = twiddle(twiddles, number << shift);
            add_step::<FORWARD, BYTES, PARTS>(patterns, step, layer);
        }
    }
    for vector in node {
        let mut x = load(vector);
        if FORWARD {
            if most > 2 && layers > 2 {
                x = split::<BYTES, 2, PARTS>(x, &patterns[2]);
            }
            if layers > 1 {
                x = split::<BYTES, 1, PARTS>(x, &patterns[1]);
            }
            x = split::<BYTES, 0, PARTS>(x, &patterns[0]);
        } else {
            x = join::<BYTES, 0, PARTS>(x, &patterns[0]);
            if layers > 1 {
                x = join::<BYTES, 1, PARTS>(x, &patterns[1]);
            }
            if most > 2 && layers > 2 {
                x = join::<BYTES, 2, PARTS>(x, &patterns[2]);
            }
        }
        store(vector, x);
        if steps {
            let ones = number.trailing_ones() as usize;
            for (layer, patterns) in patterns.iter_mut().enumerate().take(most) {
                let shift = most - 1 - layer;
                let mut step = twiddles.steps[ones + shift];
                if shift > 0 {
                    step ^= twiddles.steps[shift - 1];
                }
                add_step::<FORWARD, BYTES, PARTS>(patterns, step, layer);
            }
            number += 1;
        }
    }
}

/// Qwords between the two elements of a butterfly.
const fn distance<const BYTES: usize>(layer: usize) -> usize {
    (BYTES / 8) << layer
}

/// Moves a layer's patterns to other blocks; the patterns of upper halves of [`join`] are always 1.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_step<const FORWARD: bool, const BYTES: usize, const PARTS: usize>(
    patterns: &mut [__m512i; PARTS],
    step: Pattern,
    layer: usize,
) {
    let steps = spread::<PARTS>(step);
    for (pattern, step) in patterns.iter_mut().zip(steps) {
        *pattern = if FORWARD {
            add(*pattern, step)
        } else {
            _mm512_mask_xor_epi64(*pattern, low_lanes(distance::<BYTES>(layer)), *pattern, step)
        };
    }
}

/// The qwords of lower halves.
#[inline(always)]
const fn low_lanes(distance: usize) -> u8 {
    match distance {
        1 => 0x55,
        2 => 0x33,
        _ => 0x0f,
    }
}

/// From coefficients to values, with the twiddle in the lower half of each block and one more in the upper.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn split<const BYTES: usize, const LAYER: usize, const PARTS: usize>(
    x: __m512i,
    factor: &[__m512i; PARTS],
) -> __m512i {
    let (low, high) = match distance::<BYTES>(LAYER) {
        1 => (_mm512_unpacklo_epi64(x, x), _mm512_unpackhi_epi64(x, x)),
        2 => (_mm512_shuffle_i64x2::<0xa0>(x, x), _mm512_shuffle_i64x2::<0xf5>(x, x)),
        _ => (_mm512_shuffle_i64x2::<0x44>(x, x), _mm512_shuffle_i64x2::<0xee>(x, x)),
    };
    add_product(low, high, factor)
}

/// From values to coefficients, with the twiddle in the lower half of each block and 1 in the upper.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn join<const BYTES: usize, const LAYER: usize, const PARTS: usize>(
    x: __m512i,
    factor: &[__m512i; PARTS],
) -> __m512i {
    let distance = distance::<BYTES>(LAYER);
    let swapped = match distance {
        1 => _mm512_shuffle_epi32::<0x4e>(x),
        2 => _mm512_shuffle_i64x2::<0xb1>(x, x),
        _ => _mm512_shuffle_i64x2::<0x4e>(x, x),
    };
    let low = _mm512_maskz_mov_epi64(low_lanes(distance), x);
    add_product(low, add(x, swapped), factor)
}
