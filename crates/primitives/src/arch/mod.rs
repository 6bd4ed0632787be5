//! Kernels that depend on the processor, each beside its portable twin.
//!
//! `portable` is the truth: every other backend is tested against it. The backend is chosen once, at
//! first use, by what the processor can do; setting the environment variable `VESICA_PORTABLE` to
//! `1` forces the portable one. Functions of this module take and return plain blocks; no type of an
//! instruction set leaves it.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::LazyLock;

use crate::Block;

/// Inputs that [`Backend::keyed_hash`] takes at a time.
pub const HASH_LANES: usize = portable::blake3::LANES;

/// The environment variable that forces the portable backend when it is `1`.
pub const FORCE_PORTABLE: &str = "VESICA_PORTABLE";

/// A set of kernels. A value other than `Portable` exists only where the processor was found to have
/// what it needs; that is what the calls below rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backend(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Plain Rust.
    Portable,
    /// AES-NI and AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// VAES, AES-NI and AVX2.
    #[cfg(target_arch = "x86_64")]
    Vaes,
}

impl Backend {
    /// Plain Rust without vector instructions of its own.
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
        let mut backends = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx2") {
            backends.push(Self(Kind::Avx2));
            if is_x86_feature_detected!("vaes") {
                backends.push(Self(Kind::Vaes));
            }
        }
        backends
    }

    /// The first 128 bits of BLAKE3's keyed hash of each 64-byte input, eight at a time.
    pub fn keyed_hash(
        self,
        key: &[u32; 8],
        inputs: &[[u32; 16]; HASH_LANES],
    ) -> [[u32; 4]; HASH_LANES] {
        match self.0 {
            Kind::Portable => portable::blake3::keyed_hash(key, inputs),
            // SAFETY: a backend of these kinds exists only where AVX2 was found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Vaes => unsafe { x86_64::blake3::keyed_hash(key, inputs) },
        }
    }

    /// Transposes a 128 × 128 bit matrix in place: bit `c` of row `r` changes places with bit `r` of
    /// row `c`.
    pub fn transpose(self, rows: &mut [Block; 128]) {
        match self.0 {
            Kind::Portable => portable::transpose::transpose(rows),
            // SAFETY: a backend of these kinds exists only where AVX2 was found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Vaes => unsafe { x86_64::transpose::transpose(rows) },
        }
    }
}

/// An expanded AES-128 key, in the layout of its backend. Wiped when it is dropped.
pub struct AesKeys(Keys);

enum Keys {
    Portable(Box<portable::aes::Keys>),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::aes::Keys),
    #[cfg(target_arch = "x86_64")]
    Vaes(x86_64::aes::Keys),
}

impl AesKeys {
    /// Expands a key (FIPS 197 §5.2).
    pub fn expand(backend: Backend, key: Block) -> Self {
        Self(match backend.0 {
            Kind::Portable => Keys::Portable(Box::new(portable::aes::expand(key))),
            // SAFETY: a backend of this kind exists only where AES-NI was found.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => Keys::Avx2(unsafe { x86_64::aes::expand(key) }),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Vaes => Keys::Vaes(unsafe { x86_64::aes::expand(key) }),
        })
    }

    /// Encrypts each block in place.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        match &self.0 {
            Keys::Portable(keys) => portable::aes::encrypt(keys, blocks),
            // SAFETY: such keys are made only by a backend of kind Avx2, which has AES-NI.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx2(keys) => unsafe { x86_64::aes::encrypt(keys, blocks) },
            // SAFETY: such keys are made only by a backend of kind Vaes, which has VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) => unsafe { x86_64::aes::encrypt_wide(keys, blocks) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(n: usize) -> Vec<Block> {
        let mix =
            |i: usize| (i as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        (0..n).map(|i| Block(mix(i) ^ (mix(i) >> 61))).collect()
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
    fn keyed_hash_is_blake3() {
        let key = [9; 32];
        let key_words = std::array::from_fn(|i| {
            u32::from_le_bytes(std::array::from_fn(|byte| key[4 * i + byte]))
        });
        let blocks = pattern(4 * HASH_LANES);
        let inputs: &[[u32; 16]] = bytemuck::cast_slice(&blocks);
        let inputs = inputs.try_into().unwrap();
        for backend in Backend::available() {
            let outputs = backend.keyed_hash(&key_words, inputs);
            for (output, input) in outputs.iter().zip(inputs) {
                let expected = blake3::keyed_hash(&key, bytemuck::bytes_of(input));
                assert_eq!(bytemuck::bytes_of(output), &expected.as_bytes()[..16], "{backend:?}");
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
