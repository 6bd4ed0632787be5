//! GF(2^64) with PCLMULQDQ, and with VPCLMULQDQ for four elements at a time.
//!
//! Four elements take two instructions of two products each, and one reduction of all of them, which takes as
//! long as the products. Everything is processed in lanes, down to the smallest blocks of a transform, where
//! several blocks and their twiddles form one vector.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_clmulepi64_epi128, _mm256_loadu_si256,
    _mm256_permute2x128_si256, _mm256_set1_epi64x, _mm256_shuffle_epi8, _mm256_slli_epi64,
    _mm256_srli_epi64, _mm256_storeu_si256, _mm256_unpackhi_epi64, _mm256_unpacklo_epi64,
    _mm256_xor_si256,
};

use super::{
    super::portable::{
        gf,
        transform::{self, Direction, Twiddles},
    },
    clmul::clmul,
};

/// Elements per vector.
const LANES: usize = 4;

/// Same as [`gf::multiply64`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply64(a: u64, b: u64) -> u64 {
    gf::multiply64(|a, b| clmul(a, b), a, b)
}

/// Like [`gf::multiply64`], for each element of `x`, added to `sums`.
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn add_products(sums: &mut [u64], x: &[u64], factor: u64) {
    for (sum, x) in sums.iter_mut().zip(x) {
        *sum ^= gf::multiply64(|a, b| clmul(a, b), *x, factor);
    }
}

/// Like [`add_products`], a vector at a time.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn add_products_wide(sums: &mut [u64], x: &[u64], factor: u64) {
    let len = sums.len().min(x.len());
    let (vectors, rest) = sums[..len].as_chunks_mut::<LANES>();
    let (x, rest_x) = x[..len].as_chunks::<LANES>();
    let factors = all(factor);
    for (sum, x) in vectors.iter_mut().zip(x) {
        store(sum, _mm256_xor_si256(load(sum), times(load(x), factors)));
    }
    for (sum, x) in rest.iter_mut().zip(rest_x) {
        *sum ^= gf::multiply64(|a, b| clmul(a, b), *x, factor);
    }
}

/// Same as [`gf::multiply_each64`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn multiply_each(values: &mut [u64], factors: &[u64]) {
    gf::multiply_each64(|a, b| clmul(a, b), values, factors);
}

/// Like [`gf::multiply_each64`], a vector at a time.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn multiply_each_wide(values: &mut [u64], factors: &[u64]) {
    let len = values.len().min(factors.len());
    let (vectors, rest) = values[..len].as_chunks_mut::<LANES>();
    let (factors, rest_factors) = factors[..len].as_chunks::<LANES>();
    for (vector, factors) in vectors.iter_mut().zip(factors) {
        store(vector, times(load(vector), load(factors)));
    }
    gf::multiply_each64(|a, b| clmul(a, b), rest, rest_factors);
}

/// Same as [`transform::additive_by`].
///
/// # Safety
/// The processor must have PCLMULQDQ.
#[target_feature(enable = "pclmulqdq,sse2")]
pub unsafe fn additive(
    twiddles: &Twiddles<u64>,
    values: &mut [u64],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let multiply = |a, b| gf::multiply64(|a, b| clmul(a, b), a, b);
    transform::additive_by(multiply, twiddles, values, log, coset, direction);
}

/// Like [`transform::additive_by`], a vector at a time.
///
/// # Safety
/// The processor must have VPCLMULQDQ, PCLMULQDQ and AVX2.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
pub unsafe fn additive_wide(
    twiddles: &Twiddles<u64>,
    values: &mut [u64],
    log: usize,
    coset: bool,
    direction: Direction,
) {
    let octets = values.len() / (2 * LANES) * (2 * LANES);
    let (values, rest) = values.split_at_mut(octets);
    if log > 0 {
        let inner = Inner::new(twiddles, log, coset);
        for node in values.chunks_mut((1 << log).max(2 * LANES)) {
            // Blocks of at least two vectors; smaller blocks, within two vectors, are left to `inner`.
            let outer = 0..log.saturating_sub(2);
            let step = |twiddle, difference| twiddle ^ difference;
            match direction {
                Direction::Forward => {
                    for depth in outer {
                        twiddles
                            .blocks(node, depth, coset, step, |low, high, t| split(low, high, t));
                    }
                    inner.split(twiddles, node);
                }
                Direction::Backward => {
                    inner.join(twiddles, node);
                    for depth in outer.rev() {
                        twiddles
                            .blocks(node, depth, coset, step, |low, high, t| join(low, high, t));
                    }
                }
            }
        }
    }
    // The remaining nodes, which fill less than two vectors.
    let multiply = |a, b| gf::multiply64(|a, b| clmul(a, b), a, b);
    transform::additive_by(multiply, twiddles, rest, log, coset, direction);
}

/// Like [`transform::split`], for halves of whole vectors.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn split(low: &mut [u64], high: &mut [u64], twiddle: u64) {
    let low = low.as_chunks_mut::<LANES>().0;
    let pairs = low.iter_mut().zip(high.as_chunks_mut::<LANES>().0);
    if twiddle == 0 {
        // The first block of each layer.
        pairs.for_each(|(low, high)| store(high, _mm256_xor_si256(load(low), load(high))));
        return;
    }
    let twiddles = all(twiddle);
    for (low, high) in pairs {
        let [a, b] = split_vectors(load(low), load(high), twiddles);
        store(low, a);
        store(high, b);
    }
}

/// Like [`transform::join`], for halves of whole vectors.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn join(low: &mut [u64], high: &mut [u64], twiddle: u64) {
    let low = low.as_chunks_mut::<LANES>().0;
    let pairs = low.iter_mut().zip(high.as_chunks_mut::<LANES>().0);
    if twiddle == 0 {
        pairs.for_each(|(low, high)| store(high, _mm256_xor_si256(load(low), load(high))));
        return;
    }
    let twiddles = all(twiddle);
    for (low, high) in pairs {
        let [a, b] = join_vectors(load(low), load(high), twiddles);
        store(low, a);
        store(high, b);
    }
}

/// The last two layers of a transform, whose blocks have four and two elements, two vectors at a time.
struct Inner {
    /// The twiddles of the first two blocks of four, each twice; `None` if a node has only two elements.
    fours: Option<__m256i>,
    /// The twiddles of the first four blocks of two.
    twos: __m256i,
}

impl Inner {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new(twiddles: &Twiddles<u64>, log: usize, coset: bool) -> Self {
        let of_blocks = |depth: usize, blocks: [usize; LANES]| {
            let coset = if coset { twiddles.powers[depth] } else { twiddles.first };
            let twiddle = |block: usize| {
                // Two vectors may hold several small nodes, and each node begins with block 0.
                let block = block & ((1 << depth) - 1);
                let bits = (0..2).filter(|i| block >> i & 1 == 1);
                bits.fold(coset, |sum, i| sum ^ twiddles.powers[i])
            };
            load(&blocks.map(twiddle))
        };
        Self {
            fours: (log > 1).then(|| of_blocks(log - 2, [0, 0, 1, 1])),
            twos: of_blocks(log - 1, [0, 1, 2, 3]),
        }
    }

    /// Processes a node, or several small ones, two vectors at a time with their twiddles.
    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
    #[inline]
    fn each(
        &self,
        twiddles: &Twiddles<u64>,
        values: &mut [u64],
        butterflies: impl Fn([__m256i; 2], Option<__m256i>, __m256i) -> [__m256i; 2],
    ) {
        let (mut fours, mut twos) = (self.fours, self.twos);
        let octets = values.as_chunks_mut::<{ 2 * LANES }>().0;
        for (number, octet) in (0u32..).zip(octets) {
            let [low, high] = bytemuck::cast_mut::<_, [[u64; LANES]; 2]>(octet);
            let [a, b] = butterflies([load(low), load(high)], fours, twos);
            store(low, a);
            store(high, b);
            // From block 2c to 2 (c + 1), and from 4c to 4 (c + 1): the steps without their lowest powers.
            let i = number.trailing_ones() as usize;
            let next = all(twiddles.steps[i + 1] ^ twiddles.steps[0]);
            fours = fours.map(|fours| _mm256_xor_si256(fours, next));
            twos = _mm256_xor_si256(twos, all(twiddles.steps[i + 2] ^ twiddles.steps[1]));
        }
    }

    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
    #[inline]
    fn split(&self, twiddles: &Twiddles<u64>, values: &mut [u64]) {
        self.each(twiddles, values, |octet, fours, twos| {
            let [mut low, mut high] = halves_of_fours(octet);
            if let Some(fours) = fours {
                [low, high] = split_vectors(low, high, fours);
            }
            let [low, high] = halves_of_twos([low, high]);
            let pair = split_vectors(low, high, twos);
            halves_of_fours(halves_of_twos(pair))
        });
    }

    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
    #[inline]
    fn join(&self, twiddles: &Twiddles<u64>, values: &mut [u64]) {
        self.each(twiddles, values, |octet, fours, twos| {
            let [low, high] = halves_of_twos(halves_of_fours(octet));
            let pair = join_vectors(low, high, twos);
            let [mut low, mut high] = halves_of_twos(pair);
            if let Some(fours) = fours {
                [low, high] = join_vectors(low, high, fours);
            }
            halves_of_fours([low, high])
        });
    }
}

/// From 0123 and 4567 to 0145 and 2367, and back.
#[target_feature(enable = "avx2")]
#[inline]
fn halves_of_fours([a, b]: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x31>(a, b)]
}

/// From 0145 and 2367 to 0246 and 1357, and back.
#[target_feature(enable = "avx2")]
#[inline]
fn halves_of_twos([a, b]: [__m256i; 2]) -> [__m256i; 2] {
    [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)]
}

/// Like [`transform::split`], in each lane.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn split_vectors(low: __m256i, high: __m256i, twiddles: __m256i) -> [__m256i; 2] {
    let low = _mm256_xor_si256(low, times(high, twiddles));
    [low, _mm256_xor_si256(low, high)]
}

/// Like [`transform::join`], in each lane.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn join_vectors(low: __m256i, high: __m256i, twiddles: __m256i) -> [__m256i; 2] {
    let high = _mm256_xor_si256(low, high);
    [_mm256_xor_si256(low, times(high, twiddles)), high]
}

/// The product in each lane.
#[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
#[inline]
fn times(x: __m256i, y: __m256i) -> __m256i {
    let even = _mm256_clmulepi64_epi128::<0x00>(x, y);
    let odd = _mm256_clmulepi64_epi128::<0x11>(x, y);
    let low = _mm256_unpacklo_epi64(even, odd);
    let high = _mm256_unpackhi_epi64(even, odd);
    // x^64 = x^4 + x^3 + x + 1 = (x + 1) (x^3 + 1). The bits that the upper four bits of `high` leave above x^64 are
    // folded once more, by a table with one byte for each value.
    let folded = _mm256_xor_si256(high, _mm256_add_epi64(high, high));
    let folded = _mm256_xor_si256(folded, _mm256_slli_epi64::<3>(folded));
    let above = _mm256_shuffle_epi8(load(&FOLDED_TWICE), _mm256_srli_epi64::<60>(high));
    _mm256_xor_si256(_mm256_xor_si256(low, folded), above)
}

/// For each value of the upper four bits of a word: the bits that they leave above x^64 when multiplied by x^64,
/// folded. In both halves of a vector.
const FOLDED_TWICE: [u64; LANES] = {
    let mut table = [0; 2];
    let mut bits = 0;
    while bits < 16 {
        let above = bits ^ bits >> 1 ^ bits >> 3;
        let folded = above ^ above << 1 ^ above << 3 ^ above << 4;
        table[bits as usize / 8] |= folded << (bits % 8 * 8);
        bits += 1;
    }
    [table[0], table[1], table[0], table[1]]
};

#[target_feature(enable = "avx2")]
#[inline]
fn all(element: u64) -> __m256i {
    _mm256_set1_epi64x(element as i64)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(vector: &[u64; LANES]) -> __m256i {
    // SAFETY: the vector is 32 bytes, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(vector: &mut [u64; LANES], values: __m256i) {
    // SAFETY: the vector is 32 bytes, and the store needs no alignment.
    unsafe { _mm256_storeu_si256(vector.as_mut_ptr().cast(), values) }
}
