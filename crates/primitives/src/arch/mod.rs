//! Processor-specific kernels, each beside its portable counterpart.
//!
//! `portable` is the reference: every other backend is tested against it. The backend is selected once, at
//! first use, by the processor's capabilities; setting the environment variable `VESICA_PORTABLE` to `1`
//! forces the portable one. The functions of this module take and return plain blocks; no instruction set's
//! types leave it.

/// Runs a kernel of a backend: the kernel of its kind, if one is listed with its architecture, and otherwise the
/// portable one, which comes first.
macro_rules! kernel {
    ($backend:expr, _ => $portable:expr, $($arch:literal $($kind:ident)|+ => $own:expr,)+) => {
        match $backend.0 {
            $(
                // SAFETY: a backend of a kind exists only where the instructions named at the kind were found, and the
                // functions called for it here need no others.
                #[cfg(target_arch = $arch)]
                $($crate::arch::Kind::$kind)|+ => unsafe { $own },
            )+
            _ => $portable,
        }
    };
}

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod accumulate;
mod aes;
pub mod curve25519;
mod opaque;
mod portable;
mod sums;
mod tower;
mod word_sums;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use std::arch::is_aarch64_feature_detected;
use std::sync::LazyLock;

use crate::Block;

/// Inputs that [`Backend::hash`] takes at a time.
pub const HASH_LANES: usize = portable::blake3::LANES;

pub(crate) use portable::{
    tower::{G as TOWER_G, Map, Patterns, pattern},
    transform::{self, Direction, Twiddles},
};

#[cfg(test)]
pub(crate) use portable::tower::{multiply as multiply_tower, multiply_by_pattern};

pub use aes::AesKeys;
pub use opaque::opaque;
pub use portable::blake3::{IV as HASH_IV, KEYED as HASH_KEYED};

/// The environment variable that forces the portable backend when it is `1`.
pub const FORCE_PORTABLE: &str = "VESICA_PORTABLE";

/// A set of kernels. A value other than `Portable` exists only if the processor was found to have the required
/// instructions; the calls below rely on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backend(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Plain Rust.
    Portable,
    /// AES-NI, PCLMULQDQ and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// VAES, VPCLMULQDQ and all of the above.
    #[cfg(target_arch = "x86_64")]
    Vaes,
    /// AVX-512 F, VL and BW, GFNI, and all of the above. Kernels without a specific version use the version of `Vaes`.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AES, PMULL and NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Backend {
    /// Plain Rust without explicit vector instructions.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// The best backend of this processor, unless the environment forces the portable one.
    pub fn current() -> Self {
        static CURRENT: LazyLock<Backend> = LazyLock::new(|| {
            if std::env::var_os(FORCE_PORTABLE).is_some_and(|value| value == "1") {
                Backend::PORTABLE
            } else {
                Backend::available().last().copied().unwrap_or(Backend::PORTABLE)
            }
        });
        *CURRENT
    }

    /// Every backend that this processor can run, from slow to fast.
    pub fn available() -> Vec<Self> {
        #[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), expect(unused_mut))]
        let mut backends = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("avx2")
        {
            backends.push(Self(Kind::Avx2));
            if is_x86_feature_detected!("vaes") && is_x86_feature_detected!("vpclmulqdq") {
                backends.push(Self(Kind::Vaes));
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("gfni")
                {
                    backends.push(Self(Kind::Avx512));
                }
            }
        }
        // The kernels take blocks for vectors, whose bytes have that order.
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if is_aarch64_feature_detected!("neon")
            && is_aarch64_feature_detected!("aes")
            && is_aarch64_feature_detected!("pmull")
        {
            backends.push(Self(Kind::Neon));
        }
        backends
    }

    /// BLAKE3 of eight inputs of at most 64 bytes each, padded with 0; keyed if `mode` is [`HASH_KEYED`],
    /// without a key if it is 0 and the key is [`HASH_IV`]. Returns the first 32 bytes of the block of each
    /// extended output with the given number; a digest belongs to block 0.
    pub fn hash(
        self,
        key: &[u32; 8],
        mode: u32,
        inputs: &[[u32; 16]; HASH_LANES],
        lens: &[u32; HASH_LANES],
        numbers: &[u64; HASH_LANES],
    ) -> [[u32; 8]; HASH_LANES] {
        kernel!(
            self,
            _ => portable::blake3::hash(key, mode, inputs, lens, numbers),
            "x86_64" Avx2 | Vaes => x86_64::blake3::hash(key, mode, inputs, lens, numbers),
            "x86_64" Avx512 => x86_64::blake3::hash_long(key, mode, inputs, lens, numbers),
            "aarch64" Neon => aarch64::blake3::hash(key, mode, inputs, lens, numbers),
        )
    }

    /// The product in GF(2^64); see [`crate::gf`].
    pub fn multiply64(self, a: u64, b: u64) -> u64 {
        kernel!(
            self,
            _ => portable::gf::multiply64(portable::clmul::multiply, a, b),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::gf64::multiply64(a, b),
            "aarch64" Neon => aarch64::gf64::multiply64(a, b),
        )
    }

    /// The product in GF(2^128); see [`crate::gf`].
    pub fn multiply128(self, a: Block, b: Block) -> Block {
        kernel!(
            self,
            _ => Block(portable::gf::multiply128(portable::clmul::multiply, a.0, b.0)),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::clmul::multiply128(a, b),
            "aarch64" Neon => aarch64::clmul::multiply128(a, b),
        )
    }

    /// Adds `factor` times each of `x` to `sums`; see [`crate::gf`].
    pub fn add_products128(self, sums: &mut [Block], x: &[Block], factor: Block) {
        kernel!(
            self,
            _ => portable::gf::add_products128(portable::clmul::multiply, sums, x, factor),
            "x86_64" Avx2 => x86_64::clmul::add_products128(sums, x, factor),
            "x86_64" Vaes | Avx512 => x86_64::clmul::add_products128_wide(sums, x, factor),
            "aarch64" Neon => aarch64::clmul::add_products128(sums, x, factor),
        )
    }

    /// Adds `factor` times each of `x` to `sums`, in GF(2^128); see [`crate::gf`].
    pub fn add_products64(self, sums: &mut [Block], x: &[u64], factor: Block) {
        kernel!(
            self,
            _ => portable::gf::add_products64(portable::clmul::multiply, sums, x, factor),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::clmul::add_products64(sums, x, factor),
            "aarch64" Neon => aarch64::clmul::add_products64(sums, x, factor),
        )
    }

    /// Adds `factor` times each of `x` to `sums`, in GF(2^64), up to the end of the shorter slice.
    pub fn add_products_gf64(self, sums: &mut [u64], x: &[u64], factor: u64) {
        kernel!(
            self,
            _ => {
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum ^= portable::gf::multiply64(portable::clmul::multiply, *x, factor);
                }
            },
            "x86_64" Avx2 => x86_64::gf64::add_products(sums, x, factor),
            "x86_64" Vaes | Avx512 => x86_64::gf64::add_products_wide(sums, x, factor),
            "aarch64" Neon => aarch64::gf64::add_products(sums, x, factor),
        )
    }

    /// Multiplies each of `values` by its factor in GF(2^128), up to the end of the shorter slice.
    pub fn multiply_each128(self, values: &mut [Block], factors: &[Block]) {
        kernel!(
            self,
            _ => portable::gf::multiply_each128(portable::clmul::multiply, values, factors),
            "x86_64" Avx2 => x86_64::clmul::multiply_each128(values, factors),
            "x86_64" Vaes | Avx512 => x86_64::clmul::multiply_each128_wide(values, factors),
            "aarch64" Neon => aarch64::clmul::multiply_each128(values, factors),
        )
    }

    /// Multiplies each of `values` by its factor in GF(2^64), up to the end of the shorter slice.
    pub fn multiply_each64(self, values: &mut [u64], factors: &[u64]) {
        kernel!(
            self,
            _ => portable::gf::multiply_each64(portable::clmul::multiply, values, factors),
            "x86_64" Avx2 => x86_64::gf64::multiply_each(values, factors),
            "x86_64" Vaes | Avx512 => x86_64::gf64::multiply_each_wide(values, factors),
            "aarch64" Neon => aarch64::gf64::multiply_each(values, factors),
        )
    }

    /// Transforms each node of 2^`log` elements of GF(2^128) on a domain or its coset; see
    /// [`crate::poly`].
    pub(crate) fn additive128(
        self,
        twiddles: &Twiddles<Block>,
        values: &mut [Block],
        log: usize,
        coset: bool,
        direction: Direction,
    ) {
        kernel!(
            self,
            _ => {
                let clmul = portable::clmul::multiply;
                let multiply =
                    |a: Block, b: Block| Block(portable::gf::multiply128(clmul, a.0, b.0));
                transform::additive_by(multiply, twiddles, values, log, coset, direction);
            },
            "x86_64" Avx2 => x86_64::clmul::additive128(twiddles, values, log, coset, direction),
            "x86_64" Vaes | Avx512 => x86_64::clmul::additive128_wide(twiddles, values, log, coset, direction),
            "aarch64" Neon => aarch64::clmul::additive128(twiddles, values, log, coset, direction),
        )
    }

    /// Like [`Backend::additive128`], for GF(2^64).
    pub(crate) fn additive64(
        self,
        twiddles: &Twiddles<u64>,
        values: &mut [u64],
        log: usize,
        coset: bool,
        direction: Direction,
    ) {
        kernel!(
            self,
            _ => {
                let multiply = |a, b| portable::gf::multiply64(portable::clmul::multiply, a, b);
                transform::additive_by(multiply, twiddles, values, log, coset, direction);
            },
            "x86_64" Avx2 => x86_64::gf64::additive(twiddles, values, log, coset, direction),
            "x86_64" Vaes | Avx512 => x86_64::gf64::additive_wide(twiddles, values, log, coset, direction),
            "aarch64" Neon => aarch64::gf64::additive(twiddles, values, log, coset, direction),
        )
    }

    /// The inner product over GF(2^128); see [`crate::gf`].
    pub fn inner_product128(self, a: &[Block], b: &[Block]) -> Block {
        assert_eq!(a.len(), b.len(), "as many factors");
        kernel!(
            self,
            _ => Block(portable::gf::inner_product128(portable::clmul::multiply, a, b)),
            "x86_64" Avx2 => x86_64::clmul::inner_product128(a, b),
            "x86_64" Vaes | Avx512 => x86_64::clmul::inner_product128_wide(a, b),
            "aarch64" Neon => aarch64::clmul::inner_product128(a, b),
        )
    }

    /// Replaces each x of row `i` by π(σ(x)) ⊕ σ(x), where π is AES under `session` ⊕ (`first` + i), which
    /// must not reach 2^128, and σ(high ‖ low) = (high ⊕ low) ‖ high.
    pub fn rekeyed_hash<const N: usize>(
        self,
        session: Block,
        first: u128,
        rows: &mut [[Block; N]],
    ) {
        kernel!(
            self,
            _ => portable::rekeyed::hash(session, first, rows),
            "x86_64" Avx2 => x86_64::rekeyed::hash(session, first, rows),
            "x86_64" Vaes | Avx512 => x86_64::rekeyed::hash_wide(session, first, rows),
            "aarch64" Neon => aarch64::rekeyed::hash(session, first, rows),
        )
    }

    /// Transposes a 128 × 128 bit matrix in place: bit `c` of row `r` is swapped with bit `r` of row `c`.
    pub fn transpose(self, rows: &mut [Block; 128]) {
        kernel!(
            self,
            _ => portable::transpose::transpose(rows),
            "x86_64" Avx2 | Vaes | Avx512 => x86_64::transpose::transpose(rows),
            "aarch64" Neon => aarch64::transpose::transpose(rows),
        )
    }
}

/// Prefetches memory that will be read soon, so that it arrives while something else is computed. This affects
/// only time, and without such an instruction nothing happens; so it needs no backend.
#[inline(always)]
pub fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    x86_64::prefetch(what);
    #[cfg(target_arch = "aarch64")]
    aarch64::prefetch(what);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = what;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(n: usize) -> Vec<Block> {
        let mix =
            |i: usize| (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        (0..n).map(|i| Block(mix(i) ^ (mix(i) >> 61))).collect()
    }

    /// A caller that runs these tests for a backend can name it here, so that they do not pass without it: the
    /// emulation of a processor depends on its version and options.
    #[test]
    fn the_backend_that_is_meant_is_tested() {
        let Ok(meant) = std::env::var("VESICA_TESTED_BACKEND") else { return };
        let available = Backend::available();
        let found = available.iter().any(|Backend(kind)| format!("{kind:?}") == meant);
        assert!(found, "{meant} is not among {available:?}");
    }

    /// FIPS 197 appendix C.1.
    #[test]
    fn aes_known_answer() {
        let key = Block::from_bytes(std::array::from_fn(|i| i as u8));
        let plain = Block::from_bytes(std::array::from_fn(|i| i as u8 * 0x11));
        let cipher = Block::from_bytes([
            0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4,
            0xc5, 0x5a,
        ]);
        for backend in Backend::available() {
            let mut block = [plain];
            AesKeys::expand(backend, key).encrypt(&mut block);
            assert_eq!(block[0], cipher, "{backend:?}");
        }
    }

    #[test]
    fn aes_backends_agree_at_every_length_around_a_batch() {
        for key in pattern(20) {
            for n in 0..70 {
                let mut expected = pattern(n);
                AesKeys::expand(Backend::PORTABLE, key).encrypt(&mut expected);
                for backend in Backend::available() {
                    let mut blocks = pattern(n);
                    AesKeys::expand(backend, key).encrypt(&mut blocks);
                    assert_eq!(blocks, expected, "{backend:?}, {n} blocks");
                }
            }
        }
    }

    #[test]
    fn each_index_has_a_key_of_its_own() {
        let (session, first) = (Block(u128::MAX / 7), 1 << 90 | 0xffff_fffa);
        for n in 0..40 {
            let rows: Vec<[Block; 2]> = pattern(2 * n).as_chunks().0.to_vec();
            let expected: Vec<[Block; 2]> = (first..)
                .zip(&rows)
                .map(|(index, row)| {
                    let keys = AesKeys::expand(Backend::PORTABLE, session ^ Block(index));
                    row.map(|x| {
                        let mixed = u128::from(x.high() ^ x.low()) << 64 | u128::from(x.high());
                        let mut image = [Block(mixed)];
                        keys.encrypt(&mut image);
                        image[0] ^ Block(mixed)
                    })
                })
                .collect();
            for backend in Backend::available() {
                let mut both = rows.clone();
                backend.rekeyed_hash(session, first, &mut both);
                assert_eq!(both, expected, "{backend:?}, {n} rows");
                let mut one: Vec<[Block; 1]> = rows.iter().map(|row| [row[1]]).collect();
                backend.rekeyed_hash(session, first, &mut one);
                assert!(one.iter().zip(&expected).all(|(one, both)| one[0] == both[1]));
            }
        }
    }

    #[test]
    fn counters_and_feed_forward_are_made_of_encryption() {
        for n in 0..70 {
            for backend in Backend::available() {
                let keys = AesKeys::expand(backend, Block(17));
                for first in [0, 5, u64::MAX - 100] {
                    let mut expected: Vec<Block> =
                        (0..n as u128).map(|i| Block(u128::from(first) + i)).collect();
                    keys.encrypt(&mut expected);
                    let mut stream = vec![Block(9); n];
                    keys.encrypt_counter(first, &mut stream);
                    assert_eq!(stream, expected, "{backend:?}, {n} blocks");
                }
                let mut images = pattern(n);
                keys.encrypt(&mut images);
                let mut blocks = pattern(n);
                keys.feed_forward(&mut blocks);
                let expected = pattern(n).into_iter().zip(images).map(|(x, image)| x ^ image);
                assert!(blocks.into_iter().eq(expected), "{backend:?}, {n} blocks");
            }
        }
    }

    #[test]
    fn children_are_what_they_say() {
        for n in 0..70 {
            for backend in Backend::available() {
                let keys = [Block(1), Block(2)].map(|key| AesKeys::expand(backend, key));
                let mut children = vec![[Block(9); 2]; n];
                let sums = AesKeys::double(keys.each_ref(), &pattern(n), &mut children);
                for (side, keys) in keys.iter().enumerate() {
                    let mut expected = pattern(n);
                    keys.feed_forward(&mut expected);
                    let nodes: Vec<Block> = children.iter().map(|pair| pair[side]).collect();
                    assert_eq!(nodes, expected, "{backend:?}, {n} parents");
                    let sum = nodes.into_iter().fold(Block::ZERO, |sum, node| sum ^ node);
                    assert_eq!(sums[side], sum, "{backend:?}, {n} parents");
                }
            }
        }
    }

    #[test]
    fn hash_is_blake3() {
        let key = [9; 32];
        let key_words = std::array::from_fn(|i| {
            u32::from_le_bytes(std::array::from_fn(|byte| key[4 * i + byte]))
        });
        let blocks = pattern(4 * HASH_LANES);
        // Every length, and different lengths in one call.
        for first in 0..=64u32 {
            let lens: [u32; HASH_LANES] =
                std::array::from_fn(|lane| (first + 9 * lane as u32) % 65);
            let mut padded = blocks.clone();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut padded);
            for (input, len) in bytes.chunks_mut(64).zip(lens) {
                input[len as usize..].fill(0);
            }
            let words: &[[u32; 16]] = bytemuck::cast_slice(&padded);
            let (words, bytes) =
                (words.try_into().unwrap(), bytemuck::cast_slice::<_, u8>(&padded));
            // The crate cannot seek to the very last blocks.
            let numbers =
                std::array::from_fn(|lane| [0, 1, 7 << 29, 1 << 57][(lane + first as usize) % 4]);
            for backend in Backend::available() {
                let extended = backend.hash(&key_words, HASH_KEYED, words, &lens, &numbers);
                let keyed = backend.hash(&key_words, HASH_KEYED, words, &lens, &[0; HASH_LANES]);
                let plain = backend.hash(&HASH_IV, 0, words, &lens, &[0; HASH_LANES]);
                for (lane, input) in bytes.chunks(64).enumerate() {
                    let input = &input[..lens[lane] as usize];
                    let mut output = blake3::Hasher::new_keyed(&key).update(input).finalize_xof();
                    output.set_position(64 * numbers[lane]);
                    let mut expected = [0; 32];
                    output.fill(&mut expected);
                    assert_eq!(bytemuck::bytes_of(&extended[lane]), expected, "{backend:?}");
                    let expected = blake3::keyed_hash(&key, input);
                    assert_eq!(
                        bytemuck::bytes_of(&keyed[lane]),
                        expected.as_bytes(),
                        "{backend:?}"
                    );
                    let expected = blake3::hash(input);
                    assert_eq!(
                        bytemuck::bytes_of(&plain[lane]),
                        expected.as_bytes(),
                        "{backend:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn transposition_is_what_it_says() {
        let bit = |rows: &[Block], r: usize, c: usize| rows[r].0 >> c & 1;
        for backend in Backend::available() {
            let before: [Block; 128] = pattern(128).try_into().unwrap();
            let mut after = before;
            backend.transpose(&mut after);
            for r in 0..128 {
                for c in 0..128 {
                    assert_eq!(bit(&before, r, c), bit(&after, c, r), "{backend:?} {r} {c}");
                }
            }
        }
    }
}
