//! The tower of fields with GFNI and 512-bit registers: a product in GF(2^8) in each byte, with one instruction.
//!
//! A twiddle of GF(2^8), of which a domain's first 128 blocks have, takes one such product per vector, one of
//! GF(2^16) two, any other four. Layers are processed two at a time, in nodes that stay in the first-level cache.
//! For products of two arbitrary elements, vectors are regrouped so that each holds the same byte of 64 elements;
//! Karatsuba's method then takes 40 products of bytes in GF(2^64) and 121 in GF(2^128).

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8mul_epi8, _mm512_loadu_si512,
    _mm512_mask_shuffle_epi8, _mm512_mask_xor_epi64, _mm512_maskz_mov_epi64, _mm512_rol_epi32,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_set4_epi32,
    _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_shuffle_epi32, _mm512_shuffle_i64x2,
    _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
    _mm512_xor_si512,
};

use super::super::portable::{
    tower::{G, Map, Pattern, Patterns, pattern},
    transform::Direction,
};

/// Bytes of a vector.
const WIDTH: usize = 64;

type Vector = [u8; WIDTH];

/// A node of up to this many vectors goes through all layers before the next one does: it stays in the
/// first-level cache.
const NEAR: usize = 256;

/// Replaces each value by its image under a linear map.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn map64(map: &Map<8>, values: &mut [u64]) {
    let (batches, rest) = values.as_chunks_mut::<64>();
    for batch in batches {
        map_batch64(map, batch);
    }
    if !rest.is_empty() {
        let mut batch = [0; 64];
        batch[..rest.len()].copy_from_slice(rest);
        map_batch64(map, &mut batch);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

/// Like [`map64`], for 128 bits.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn map128(map: &Map<16>, values: &mut [u128]) {
    let (batches, rest) = values.as_chunks_mut::<64>();
    for batch in batches {
        map_batch128(map, batch);
    }
    if !rest.is_empty() {
        let mut batch = [0; 64];
        batch[..rest.len()].copy_from_slice(rest);
        map_batch128(map, &mut batch);
        rest.copy_from_slice(&batch[..rest.len()]);
    }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn map_batch64(map: &Map<8>, values: &mut [u64; 64]) {
    let vectors: &mut [Vector; 8] = bytemuck::cast_mut(values);
    let mut planes = load_all(vectors);
    planes64(&mut planes);
    let mut images = [_mm512_setzero_si512(); 8];
    for (image, blocks) in images.iter_mut().zip(&map.blocks) {
        *image = add_image(*image, &planes, blocks);
    }
    planes64(&mut images);
    for (vector, image) in vectors.iter_mut().zip(images) {
        store(vector, image);
    }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn map_batch128(map: &Map<16>, values: &mut [u128; 64]) {
    let vectors: &mut [Vector; 16] = bytemuck::cast_mut(values);
    let mut planes = planes128(vectors);
    let mut images = [[_mm512_setzero_si512(); 8]; 2];
    for (images, blocks) in images.iter_mut().zip(map.blocks.as_chunks::<8>().0) {
        for (image, blocks) in images.iter_mut().zip(blocks) {
            for (planes, blocks) in planes.iter().zip(blocks.as_chunks().0) {
                *image = add_image(*image, planes, blocks);
            }
        }
    }
    planes = images;
    store_planes128(vectors, planes);
}

/// Adds what eight bytes contribute to one byte of an image.
#[target_feature(enable = "gfni,avx512f")]
#[inline]
fn add_image(mut image: __m512i, planes: &[__m512i; 8], blocks: &[u64; 8]) -> __m512i {
    for i in 0..4 {
        let [a, b] = [2 * i, 2 * i + 1];
        let first =
            _mm512_gf2p8affine_epi64_epi8::<0>(planes[a], _mm512_set1_epi64(blocks[a] as i64));
        let other =
            _mm512_gf2p8affine_epi64_epi8::<0>(planes[b], _mm512_set1_epi64(blocks[b] as i64));
        image = sum(image, first, other);
    }
    image
}

/// Like [`transform::additive_by`](super::super::portable::transform::additive_by), for elements of `BYTES` bytes.
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
    let (vectors, rest) = values.as_chunks_mut::<WIDTH>();
    for node in vectors.chunks_exact_mut(transform.vectors) {
        match direction {
            Direction::Forward => transform.forward(node, coset.into()),
            Direction::Backward => transform.backward(node, coset.into()),
        }
    }
    if !rest.is_empty() {
        // Small nodes that do not fill a vector.
        let mut vector = [0; WIDTH];
        vector[..rest.len()].copy_from_slice(rest);
        let node = std::slice::from_mut(&mut vector);
        match direction {
            Direction::Forward => transform.forward(node, coset.into()),
            Direction::Backward => transform.backward(node, coset.into()),
        }
        rest.copy_from_slice(&vector[..rest.len()]);
    }
}

/// What all nodes share.
struct Transform<'a, const BYTES: usize> {
    twiddles: &'a Patterns,
    /// Vectors of a node, at least 1.
    vectors: usize,
    /// The last layers, within a vector, from blocks of two elements to those of a vector; the patterns of the
    /// first vector whose blocks have the numbers from 0 on.
    inner: [[__m512i; 4]; 3],
    /// The number of inner layers that there are.
    layers: usize,
}

/// Whether a block's number is that of a factor in GF(2^8), with one part, in GF(2^16), with two, or beyond.
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
            for word in 0..WIDTH / 4 {
                let element = 4 * word / BYTES;
                let high = element >> layer & 1 == 1;
                let mut number = element >> (layer + 1);
                if small {
                    number &= (1 << depth) - 1;
                    number |= usize::from(coset) << depth;
                }
                let t = twiddle(twiddles, number);
                let pattern = match (direction, high) {
                    (_, false) => t,
                    (Direction::Forward, true) => t ^ pattern(1),
                    (Direction::Backward, true) => pattern(1),
                };
                for (d, part) in parts.iter_mut().enumerate() {
                    part[word] = (pattern >> (32 * d)) as u32;
                }
            }
            for (vector, part) in patterns.iter_mut().zip(&parts) {
                *vector = load(bytemuck::cast_ref(part));
            }
        }
        Self { twiddles, vectors: (1 << log >> most).max(1), inner, layers }
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

#[target_feature(enable = "avx512f")]
#[inline]
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn sum(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
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

/// Two layers, of which the first has so many blocks of at least four vectors; their numbers start with `number`.
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

/// The layers within each vector. `number` is that of the first vector's block.
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
    BYTES / 8 << layer
}

/// Moves a layer's patterns to other blocks; those of upper halves of [`join`] are always 1.
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

/// Same as [`multiply`](super::super::portable::tower::multiply) in GF(2^64), for each of `values`.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn multiply_each64(values: &mut [u64], factors: &[u64]) {
    let len = values.len().min(factors.len());
    let (batches, rest) = values[..len].as_chunks_mut::<64>();
    let (factors, rest_factors) = factors[..len].as_chunks::<64>();
    for (values, factors) in batches.iter_mut().zip(factors) {
        multiply_batch64(values, factors);
    }
    if !rest.is_empty() {
        let (mut a, mut b) = ([0; 64], [0; 64]);
        a[..rest.len()].copy_from_slice(rest);
        b[..rest.len()].copy_from_slice(rest_factors);
        multiply_batch64(&mut a, &b);
        rest.copy_from_slice(&a[..rest.len()]);
    }
}

/// Same as [`multiply`](super::super::portable::tower::multiply) in GF(2^128), for each of `values`.
///
/// # Safety
/// The processor must have AVX-512 F and BW and GFNI.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
pub unsafe fn multiply_each128(values: &mut [u128], factors: &[u128]) {
    let len = values.len().min(factors.len());
    let (batches, rest) = values[..len].as_chunks_mut::<64>();
    let (factors, rest_factors) = factors[..len].as_chunks::<64>();
    for (values, factors) in batches.iter_mut().zip(factors) {
        multiply_batch128(values, factors);
    }
    if !rest.is_empty() {
        let (mut a, mut b) = ([0; 64], [0; 64]);
        a[..rest.len()].copy_from_slice(rest);
        b[..rest.len()].copy_from_slice(rest_factors);
        multiply_batch128(&mut a, &b);
        rest.copy_from_slice(&a[..rest.len()]);
    }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiply_batch64(values: &mut [u64; 64], factors: &[u64; 64]) {
    let vectors: &mut [Vector; 8] = bytemuck::cast_mut(values);
    let mut a = load_all(vectors);
    let mut b = load_all(bytemuck::cast_ref(factors));
    planes64(&mut a);
    planes64(&mut b);
    let mut product = multiply64(&a, &b);
    planes64(&mut product);
    for (vector, product) in vectors.iter_mut().zip(product) {
        store(vector, product);
    }
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiply_batch128(values: &mut [u128; 64], factors: &[u128; 64]) {
    let vectors: &mut [Vector; 16] = bytemuck::cast_mut(values);
    let mut a = planes128(vectors);
    let mut b = planes128(bytemuck::cast_ref(factors));
    let low = multiply64(&a[0], &b[0]);
    let high = multiply64(&a[1], &b[1]);
    for i in 0..8 {
        a[0][i] = add(a[0][i], a[1][i]);
        b[0][i] = add(b[0][i], b[1][i]);
    }
    let middle = multiply64(&a[0], &b[0]);
    let moved = by_generator64(&high);
    let [mut lower, mut upper] = [[_mm512_setzero_si512(); 8]; 2];
    for i in 0..8 {
        lower[i] = add(low[i], high[i]);
        upper[i] = sum(middle[i], lower[i], moved[i]);
    }
    store_planes128(vectors, [lower, upper]);
}

/// Vectors of the bytes of 64 elements of 16 bytes.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn planes128(vectors: &[Vector; 16]) -> [[__m512i; 8]; 2] {
    let mut planes = [[_mm512_setzero_si512(); 8]; 2];
    for i in 0..8 {
        let (a, b) = (load(&vectors[i]), load(&vectors[i + 8]));
        planes[0][i] = _mm512_unpacklo_epi64(a, b);
        planes[1][i] = _mm512_unpackhi_epi64(a, b);
    }
    planes64(&mut planes[0]);
    planes64(&mut planes[1]);
    planes
}

/// The inverse of [`planes128`].
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn store_planes128(vectors: &mut [Vector; 16], mut planes: [[__m512i; 8]; 2]) {
    planes64(&mut planes[0]);
    planes64(&mut planes[1]);
    for i in 0..8 {
        let (a, b) = (planes[0][i], planes[1][i]);
        store(&mut vectors[i], _mm512_unpacklo_epi64(a, b));
        store(&mut vectors[i + 8], _mm512_unpackhi_epi64(a, b));
    }
}

/// From vectors of eight elements of eight bytes to vectors of one byte of 64 elements, and back.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn planes64(vectors: &mut [__m512i; 8]) {
    for i in 0..4 {
        let swap = _mm512_set4_epi32(0x0b0a_0908, 0x0f0e_0d0c, 0x0302_0100, 0x0706_0504);
        exchange(vectors, [i, i + 4], swap, 0x0f0f_0f0f_0f0f_0f0f);
    }
    for i in [0, 1, 4, 5] {
        let swap = _mm512_set4_epi32(0x0d0c_0f0e, 0x0908_0b0a, 0x0504_0706, 0x0100_0302);
        exchange(vectors, [i, i + 2], swap, 0x3333_3333_3333_3333);
    }
    for i in [0, 2, 4, 6] {
        let swap = _mm512_set4_epi32(0x0e0f_0c0d, 0x0a0b_0809, 0x0607_0405, 0x0203_0001);
        exchange(vectors, [i, i + 1], swap, 0x5555_5555_5555_5555);
    }
}

/// Exchanges the upper halves of one vector's groups of bytes with the lower halves of another's. `swap` swaps the
/// halves of each group, and `low` selects the lower.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn exchange(vectors: &mut [__m512i; 8], [i, j]: [usize; 2], swap: __m512i, low: u64) {
    let (a, b) = (vectors[i], vectors[j]);
    vectors[i] = _mm512_mask_shuffle_epi8(a, !low, b, swap);
    vectors[j] = _mm512_mask_shuffle_epi8(b, low, a, swap);
}

/// The product in GF(2^16), byte by byte in vectors of their own.
#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiply16(a: [__m512i; 2], b: [__m512i; 2]) -> [__m512i; 2] {
    let low = _mm512_gf2p8mul_epi8(a[0], b[0]);
    let high = _mm512_gf2p8mul_epi8(a[1], b[1]);
    let middle = _mm512_gf2p8mul_epi8(add(a[0], a[1]), add(b[0], b[1]));
    // Both the product itself and its multiple by g.
    let moved = _mm512_gf2p8mul_epi8(high, _mm512_set1_epi8((G ^ 1) as i8));
    [add(low, high), sum(middle, low, moved)]
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn by_generator16(a: [__m512i; 2]) -> [__m512i; 2] {
    [a[1], add(a[0], _mm512_gf2p8mul_epi8(a[1], _mm512_set1_epi8(G as i8)))]
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiply32(a: [__m512i; 4], b: [__m512i; 4]) -> [__m512i; 4] {
    let low = multiply16([a[0], a[1]], [b[0], b[1]]);
    let high = multiply16([a[2], a[3]], [b[2], b[3]]);
    let middle = multiply16([add(a[0], a[2]), add(a[1], a[3])], [add(b[0], b[2]), add(b[1], b[3])]);
    let moved = by_generator16(high);
    let [p, q] = [add(low[0], high[0]), add(low[1], high[1])];
    [p, q, sum(middle[0], p, moved[0]), sum(middle[1], q, moved[1])]
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn by_generator32(a: [__m512i; 4]) -> [__m512i; 4] {
    let moved = by_generator16([a[2], a[3]]);
    [a[2], a[3], add(a[0], moved[0]), add(a[1], moved[1])]
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn multiply64(a: &[__m512i; 8], b: &[__m512i; 8]) -> [__m512i; 8] {
    let (a0, a1) = ([a[0], a[1], a[2], a[3]], [a[4], a[5], a[6], a[7]]);
    let (b0, b1) = ([b[0], b[1], b[2], b[3]], [b[4], b[5], b[6], b[7]]);
    let low = multiply32(a0, b0);
    let high = multiply32(a1, b1);
    let (mut a, mut b) = (a0, b0);
    for i in 0..4 {
        a[i] = add(a0[i], a1[i]);
        b[i] = add(b0[i], b1[i]);
    }
    let middle = multiply32(a, b);
    let moved = by_generator32(high);
    let mut product = [_mm512_setzero_si512(); 8];
    for i in 0..4 {
        product[i] = add(low[i], high[i]);
        product[i + 4] = sum(middle[i], product[i], moved[i]);
    }
    product
}

#[target_feature(enable = "gfni,avx512f,avx512bw")]
#[inline]
fn by_generator64(a: &[__m512i; 8]) -> [__m512i; 8] {
    let moved = by_generator32([a[4], a[5], a[6], a[7]]);
    let mut product = *a;
    for i in 0..4 {
        product[i] = a[i + 4];
        product[i + 4] = add(a[i], moved[i]);
    }
    product
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_all(vectors: &[Vector; 8]) -> [__m512i; 8] {
    let mut loaded = [_mm512_setzero_si512(); 8];
    for (loaded, vector) in loaded.iter_mut().zip(vectors) {
        *loaded = load(vector);
    }
    loaded
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(vector: &Vector) -> __m512i {
    // SAFETY: the vector is 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(vector: &mut Vector, values: __m512i) {
    // SAFETY: the vector is 64 bytes, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(vector.as_mut_ptr().cast(), values) }
}
