//! A tower of fields, each of degree 2 over the one below, from GF(2^8) to GF(2^128).
//!
//! GF(2^8) is the field of AES, modulo x^8 + x^4 + x^3 + x + 1. Above it, X_0² = g X_0 + 1 with [`G`] for g, and
//! X_(l+1)² = X_l X_(l+1) + 1. An element's upper half is the coefficient of X_l, so an element of a field is the same
//! number, with zeros above, in every field over it. Each polynomial is irreducible, because the traces of g and 1/g
//! are 1 (Wiedemann 1988; Fan and Paar 1997): 1/X_l is X_l plus an element of the field below, so its trace equals the
//! trace of the coefficient of the polynomial by which X_l was defined.
//!
//! The purpose of this form: a factor of a small field multiplies an element byte by byte, or a few bytes at a time.

use super::transform::Twiddles;

/// The coefficient of the lowest extension.
pub const G: u8 = 0x20;

/// The constants of a product by a factor of GF(2^32): for d from 0 to 3, four bytes by which to multiply four bytes
/// after each byte i was exchanged with byte i ⊕ d. All but the first are 0 for a factor of GF(2^8), and the last
/// two for one of GF(2^16). Depends on the factor linearly.
pub type Pattern = u128;

/// The product in GF(2^8).
#[inline(always)]
const fn multiply8(a: u8, b: u8) -> u8 {
    let (mut a, mut product, mut i) = (a, 0, 0);
    while i < 8 {
        product ^= a & (b >> i & 1).wrapping_neg();
        a = a << 1 ^ 0x1b & (a >> 7).wrapping_neg();
        i += 1;
    }
    product
}

/// The product in the field whose elements have 2^`log` bytes.
pub const fn multiply(a: u128, b: u128, log: u32) -> u128 {
    if log == 0 {
        return multiply8(a as u8, b as u8) as u128;
    }
    let half = 4 << log;
    let mask = (1 << half) - 1;
    let (a0, a1, b0, b1) = (a & mask, a >> half, b & mask, b >> half);
    let low = multiply(a0, b0, log - 1);
    let high = multiply(a1, b1, log - 1);
    let middle = multiply(a0 ^ a1, b0 ^ b1, log - 1);
    (low ^ high) | (middle ^ low ^ high ^ by_generator(high, log - 1)) << half
}

/// The product by the coefficient that extends the field whose elements have 2^`log` bytes.
const fn by_generator(a: u128, log: u32) -> u128 {
    if log == 0 {
        return multiply8(a as u8, G) as u128;
    }
    let half = 4 << log;
    let (low, high) = (a & ((1 << half) - 1), a >> half);
    high | (low ^ by_generator(high, log - 1)) << half
}

/// The pattern of a factor.
pub const fn pattern(factor: u32) -> Pattern {
    let (mut pattern, mut from) = (0, 0);
    while from < 4 {
        // The places to which the product takes each byte of the element.
        let column = multiply(factor as u128, 1 << (8 * from), 2);
        let mut to = 0;
        while to < 4 {
            let byte = column >> (8 * to) & 0xff;
            pattern |= byte << (32 * (from ^ to) + 8 * to);
            to += 1;
        }
        from += 1;
    }
    pattern
}

/// The product of an element and the factor of a pattern.
#[inline(always)]
pub fn multiply_by_pattern(x: u128, pattern: Pattern) -> u128 {
    /// The odd ones of units of 8 and of 16 bits.
    const MASKS: [u128; 2] = [u128::MAX / 0x101, u128::MAX / 0x1_0001];
    let swapped = |x: u128, i: usize| x >> (8 << i) & MASKS[i] | (x & MASKS[i]) << (8 << i);
    let mut product = 0;
    for d in 0..4 {
        let part = pattern >> (32 * d) & u128::from(u32::MAX);
        // Patterns are public.
        if part != 0 {
            let x = if d & 1 == 1 { swapped(x, 0) } else { x };
            let x = if d & 2 == 2 { swapped(x, 1) } else { x };
            let in_all_words = u128::MAX / u128::from(u32::MAX);
            product ^= multiply_bytes(x, part * in_all_words);
        }
    }
    product
}

/// The product in GF(2^8) of each byte.
#[inline(always)]
fn multiply_bytes(mut a: u128, b: u128) -> u128 {
    const ONES: u128 = u128::MAX / 0xff;
    let mut product = 0;
    for i in 0..8 {
        product ^= a & ((b >> i & ONES) * 0xff);
        a = ((a & (ONES * 0x7f)) << 1) ^ ((a >> 7 & ONES) * 0x1b);
    }
    product
}

/// Twiddles as patterns.
pub type Patterns = Twiddles<Pattern>;

/// A linear map of values of 64 bits, `BYTES` being 8, or of 128.
pub struct Map<const BYTES: usize> {
    /// The images of single bits.
    images: Vec<u128>,
    /// For each byte of an image and each byte of a value, the contribution of the latter to the former: eight rows of
    /// eight bits, the last bit's first. For processors with an instruction for that.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    pub blocks: [[u64; BYTES]; BYTES],
}

impl<const BYTES: usize> Map<BYTES> {
    /// The map with these images of single bits.
    ///
    /// # Panics
    /// If there are not as many as a value has bits.
    pub fn new(images: Vec<u128>) -> Self {
        assert_eq!(images.len(), 8 * BYTES, "an image for each bit");
        let mut blocks = [[0; BYTES]; BYTES];
        for (bit, image) in images.iter().enumerate() {
            for (to, blocks) in blocks.iter_mut().enumerate() {
                for row in 0..8 {
                    let one = (image >> (8 * to + row) & 1) as u64;
                    blocks[bit / 8] |= one << (8 * (7 - row) + bit % 8);
                }
            }
        }
        Self { images, blocks }
    }

    /// The image of a value.
    #[inline(always)]
    pub fn apply(&self, value: u128) -> u128 {
        self.images
            .iter()
            .enumerate()
            .fold(0, |sum, (i, image)| sum ^ image & (value >> i & 1).wrapping_neg())
    }
}
