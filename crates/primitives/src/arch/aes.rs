//! AES-128 by backend.

use zeroize::Zeroize;

use super::{Backend, Kind, portable};
use crate::Block;

#[cfg(target_arch = "aarch64")]
use super::aarch64;
#[cfg(target_arch = "x86_64")]
use super::x86_64;

/// An expanded AES-128 key, in the layout of its backend. Zeroized when it is dropped.
pub struct AesKeys(Keys);

enum Keys {
    Portable(Box<portable::aes::Keys>),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::aes::Keys),
    #[cfg(target_arch = "x86_64")]
    Vaes(x86_64::aes::Keys),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::aes::Keys),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::aes::Keys),
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
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => Keys::Avx512(unsafe { x86_64::aes::expand(key) }),
            // SAFETY: a backend of this kind exists only where AES was found.
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => Keys::Neon(unsafe { aarch64::aes::expand(key) }),
        })
    }

    /// Encrypts each block in place.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        match &self.0 {
            Keys::Portable(keys) => portable::aes::encrypt(keys, blocks),
            // SAFETY: such keys are made only by a backend of kind Avx2, which has AES-NI.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx2(keys) => unsafe { x86_64::aes::encrypt(keys, blocks) },
            // SAFETY: such keys are made only by backends of these kinds, which have VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) | Keys::Avx512(keys) => unsafe {
                x86_64::aes::encrypt_wide(keys, blocks);
            },
            // SAFETY: such keys are made only by a backend of kind Neon, which has AES.
            #[cfg(target_arch = "aarch64")]
            Keys::Neon(keys) => unsafe { aarch64::aes::encrypt(keys, blocks) },
        }
    }

    /// Encrypts the numbers from `first` on, which must not reach 2^64.
    pub fn encrypt_counter(&self, first: u64, out: &mut [Block]) {
        match &self.0 {
            // SAFETY: such keys are made only by a backend of kind Vaes, which has VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) => unsafe { x86_64::aes::encrypt_counter_wide(keys, first, out) },
            // SAFETY: such keys are made only by a backend of kind Avx512, which has VAES and AVX-512 F.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86_64::aes512::encrypt_counter(keys, first, out) },
            // SAFETY: such keys are made only by a backend of kind Neon, which has AES.
            #[cfg(target_arch = "aarch64")]
            Keys::Neon(keys) => unsafe { aarch64::aes::encrypt_counter(keys, first, out) },
            _ => {
                for (block, number) in out.iter_mut().zip(first..) {
                    *block = Block(number.into());
                }
                self.encrypt(out);
            }
        }
    }

    /// Adds to each block its encryption: the Davies–Meyer construction with a fixed key.
    pub fn feed_forward(&self, blocks: &mut [Block]) {
        match &self.0 {
            // SAFETY: such keys are made only by a backend of kind Vaes, which has VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) => unsafe { x86_64::aes::feed_forward_wide(keys, blocks) },
            // SAFETY: such keys are made only by a backend of kind Avx512, which has VAES and AVX-512 F.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86_64::aes512::feed_forward(keys, blocks) },
            // SAFETY: such keys are made only by a backend of kind Neon, which has AES.
            #[cfg(target_arch = "aarch64")]
            Keys::Neon(keys) => unsafe { aarch64::aes::feed_forward(keys, blocks) },
            _ => {
                let mut images = [Block::ZERO; SMALL_BATCH];
                for batch in blocks.chunks_mut(SMALL_BATCH) {
                    let images = &mut images[..batch.len()];
                    images.copy_from_slice(batch);
                    self.encrypt(images);
                    batch.iter_mut().zip(images).for_each(|(block, image)| *block ^= *image);
                }
            }
        }
    }

    /// For at most 128 keys: adds to each sum one bit of the encryption of its point under each key, bit i under
    /// key i. Goes up to the end of the shorter slice.
    ///
    /// # Panics
    /// If there are more keys.
    pub fn add_bits(keys: &[&Self], points: &[Block], sums: &mut [Block]) {
        assert!(keys.len() <= 128, "a bit of a block for each key");
        let len = points.len().min(sums.len());
        let (points, sums) = (&points[..len], &mut sums[..len]);
        let done = Self::add_bits_of_batches(keys, points, sums);
        let mut images = [Block::ZERO; SMALL_BATCH];
        let batches = points[done..].chunks(SMALL_BATCH);
        for (points, sums) in batches.zip(sums[done..].chunks_mut(SMALL_BATCH)) {
            let images = &mut images[..points.len()];
            for (i, key) in keys.iter().enumerate() {
                images.copy_from_slice(points);
                key.encrypt(images);
                let bit: [u64; 2] = bytemuck::cast(1u128 << i);
                let words: &[[u64; 2]] = bytemuck::cast_slice(images);
                // Words, because compilers do not vectorize over 128-bit integers.
                let sums: &mut [[u64; 2]] = bytemuck::cast_slice_mut(&mut *sums);
                for (sum, image) in sums.iter_mut().zip(words) {
                    sum[0] ^= image[0] & bit[0];
                    sum[1] ^= image[1] & bit[1];
                }
            }
        }
    }

    /// Like [`AesKeys::add_bits`], for the points that fill whole batches of a specific kernel; returns their number.
    fn add_bits_of_batches(keys: &[&Self], points: &[Block], sums: &mut [Block]) -> usize {
        #[cfg(target_arch = "x86_64")]
        {
            let wide: Vec<&x86_64::aes::Keys> = keys
                .iter()
                .filter_map(|key| match &key.0 {
                    Keys::Avx512(keys) => Some(keys),
                    _ => None,
                })
                .collect();
            if wide.len() == keys.len() && !keys.is_empty() {
                // SAFETY: such keys are made only by a backend of kind Avx512, which has VAES and AVX-512 F.
                return unsafe { x86_64::aes512::add_bits(&wide, points, sums) };
            }
        }
        let _ = (keys, points, sums);
        0
    }

    /// Writes for each parent x the children π_0(x) ⊕ x and π_1(x) ⊕ x, where π_i is encryption
    /// under `keys[i]`; returns the sum of the left and of the right children.
    ///
    /// # Panics
    /// If there are not as many pairs of children as parents.
    pub fn double(keys: [&Self; 2], parents: &[Block], children: &mut [[Block; 2]]) -> [Block; 2] {
        assert_eq!(parents.len(), children.len(), "two children each");
        let (done, mut sums) = match [&keys[0].0, &keys[1].0] {
            // SAFETY: such keys are made only by backends of these kinds, which have VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            [Keys::Vaes(left), Keys::Vaes(right)] | [Keys::Avx512(left), Keys::Avx512(right)] => unsafe {
                x86_64::aes::double_wide([left, right], parents, children)
            },
            // SAFETY: such keys are made only by a backend of kind Neon, which has AES.
            #[cfg(target_arch = "aarch64")]
            [Keys::Neon(left), Keys::Neon(right)] => unsafe {
                (parents.len(), aarch64::aes::double([left, right], parents, children))
            },
            _ => (0, [Block::ZERO; 2]),
        };
        let batches = parents[done..].chunks(SMALL_BATCH);
        for (parents, children) in batches.zip(children[done..].chunks_mut(SMALL_BATCH)) {
            for (side, keys) in keys.iter().enumerate() {
                let mut nodes = [Block::ZERO; SMALL_BATCH];
                let nodes = &mut nodes[..parents.len()];
                nodes.copy_from_slice(parents);
                keys.feed_forward(nodes);
                for (child, node) in children.iter_mut().zip(nodes) {
                    child[side] = *node;
                    sums[side] ^= *node;
                }
            }
        }
        sums
    }

    /// Replaces each block x by π(σ(x)) ⊕ σ(x), where π is encryption and σ(high ‖ low) = (high ⊕ low) ‖ high.
    pub fn circular(&self, blocks: &mut [Block]) {
        let done = match &self.0 {
            // SAFETY: such keys are made only by a backend of kind Vaes, which has VAES and AVX2.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) => unsafe { x86_64::aes::circular_wide(keys, blocks) },
            // SAFETY: such keys are made only by a backend of kind Avx512, which has VAES and AVX-512 F.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86_64::aes512::circular(keys, blocks) },
            _ => 0,
        };
        let rest = &mut blocks[done..];
        rest.iter_mut().for_each(|x| *x = sigma(*x));
        self.feed_forward(rest);
    }

    /// Writes for each parent x the children h and x ⊕ h, where h is the result of [`AesKeys::circular`] for x; returns
    /// the sum of the left children.
    ///
    /// # Panics
    /// If there are not as many pairs of children as parents.
    pub fn split(&self, parents: &[Block], children: &mut [[Block; 2]]) -> Block {
        assert_eq!(parents.len(), children.len(), "two children each");
        let (done, mut sum) = match &self.0 {
            // SAFETY: as in `circular`.
            #[cfg(target_arch = "x86_64")]
            Keys::Vaes(keys) => unsafe { x86_64::aes::split_wide(keys, parents, children) },
            // SAFETY: as in `circular`.
            #[cfg(target_arch = "x86_64")]
            Keys::Avx512(keys) => unsafe { x86_64::aes512::split(keys, parents, children) },
            _ => (0, Block::ZERO),
        };
        let mut hashes = [Block::ZERO; SMALL_BATCH];
        let batches = parents[done..].chunks(SMALL_BATCH);
        for (parents, children) in batches.zip(children[done..].chunks_mut(SMALL_BATCH)) {
            let hashes = &mut hashes[..parents.len()];
            hashes.copy_from_slice(parents);
            self.circular(hashes);
            for ((pair, x), hash) in children.iter_mut().zip(parents).zip(hashes) {
                *pair = [*hash, *x ^ *hash];
                sum ^= *hash;
            }
        }
        hashes.zeroize();
        sum
    }
}

/// σ, whose sum with the identity is invertible, too.
fn sigma(x: Block) -> Block {
    let [low, high]: [u64; 2] = bytemuck::cast(x);
    bytemuck::cast([high, high ^ low])
}

/// Blocks handled at a time by operations that need scratch space.
const SMALL_BATCH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circular_hashes_are_those_of_their_definition_on_every_backend() {
        let x: Vec<Block> =
            (0..97).map(|i| Block((u128::MAX / 7).wrapping_mul(i + 1) ^ i << 100)).collect();
        for backend in Backend::available() {
            let keys = AesKeys::expand(backend, Block(99));
            let by_hand = |x: &Block| {
                let turned = Block((x.0 >> 64 ^ x.0) << 64 | x.0 >> 64);
                let mut image = [turned];
                keys.encrypt(&mut image);
                image[0] ^ turned
            };
            for n in [0, 1, 15, 16, 17, 32, 33, 64, 97] {
                let expected: Vec<Block> = x[..n].iter().map(by_hand).collect();
                let mut hashes = x[..n].to_vec();
                keys.circular(&mut hashes);
                assert_eq!(hashes, expected, "{backend:?}, {n} blocks");
                let mut children = vec![[Block::ZERO; 2]; n];
                let left = keys.split(&x[..n], &mut children);
                let pairs = x.iter().zip(&expected).map(|(x, hash)| [*hash, *x ^ *hash]);
                assert!(children.iter().copied().eq(pairs), "{backend:?}, {n} blocks");
                assert_eq!(left, expected.iter().fold(Block::ZERO, |sum, hash| sum ^ *hash));
            }
        }
    }

    #[test]
    fn each_key_adds_its_bit_on_every_backend() {
        let block = |i: u128| {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            Block(mixed ^ mixed >> 61)
        };
        let points: Vec<Block> = (0..101).map(block).collect();
        for (width, n) in [(0, 5), (1, 1), (63, 31), (64, 32), (65, 33), (128, 63), (128, 101)] {
            for backend in Backend::available() {
                let keys: Vec<AesKeys> =
                    (0..width).map(|i| AesKeys::expand(backend, block(1000 + i))).collect();
                let keys: Vec<&AesKeys> = keys.iter().collect();
                let mut sums = vec![Block(u128::MAX / 3); n];
                AesKeys::add_bits(&keys, &points, &mut sums);
                for (point, sum) in points.iter().zip(&sums) {
                    let bits = keys.iter().enumerate().map(|(i, key)| {
                        let mut image = [*point];
                        key.encrypt(&mut image);
                        image[0].0 & 1 << i
                    });
                    let expected = bits.fold(u128::MAX / 3, |sum, bit| sum ^ bit);
                    assert_eq!(sum.0, expected, "{backend:?}, {width} keys, {n} points");
                }
            }
        }
    }
}
