//! The tower of fields with GFNI and 512-bit registers: a product in GF(2^8) in each byte, with one instruction.
//!
//! For products of two arbitrary elements, vectors are regrouped so that each holds the same byte of 64 elements;
//! Karatsuba's method then takes 40 products of bytes in GF(2^64) and 121 in GF(2^128).

mod transform;

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_gf2p8mul_epi8, _mm512_loadu_si512,
    _mm512_mask_shuffle_epi8, _mm512_set1_epi8, _mm512_set1_epi64, _mm512_set4_epi32,
    _mm512_setzero_si512, _mm512_storeu_si512, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
};

pub use transform::{additive, exchange_coset};

use super::super::portable::tower::{G, Map};

/// Bytes of a vector.
const WIDTH: usize = 64;

type Vector = [u8; WIDTH];

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

/// Adds the contribution of eight bytes to one byte of an image.
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
fn add(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn sum(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
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
