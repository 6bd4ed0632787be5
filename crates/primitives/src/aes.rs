//! AES-128 (FIPS 197) as a block cipher, as a generator, and as a correlation-robust hash.

use crate::{
    Block,
    arch::{AesKeys, Backend},
    secret::Seed,
};

/// Blocks handled at a time by operations that need scratch space; fits the first-level cache.
const BATCH: usize = 128;

/// An expanded key. Its round keys are zeroized when it is dropped.
pub struct Aes128(AesKeys);

impl Aes128 {
    /// Expands a key.
    pub fn new(key: Block) -> Self {
        Self(AesKeys::expand(Backend::current(), key))
    }

    /// Encrypts one block.
    pub fn encrypt_block(&self, block: Block) -> Block {
        let mut blocks = [block];
        self.encrypt(&mut blocks);
        blocks[0]
    }

    /// Encrypts each block in place.
    pub fn encrypt(&self, blocks: &mut [Block]) {
        self.0.encrypt(blocks);
    }

    /// For at most 128 keys: adds to each sum one bit of the encryption of its point under each key, bit i
    /// under key i.
    ///
    /// # Panics
    /// If there are more keys, or the numbers of sums and points differ.
    pub fn add_bits(keys: &[Self], points: &[Block], sums: &mut [Block]) {
        assert_eq!(points.len(), sums.len(), "a sum for each point");
        let keys: Vec<&AesKeys> = keys.iter().map(|key| &key.0).collect();
        AesKeys::add_bits(&keys, points, sums);
    }
}

/// A pseudo-random generator: AES-128 in counter mode under a seed (NIST SP 800-38A §6.5, with the
/// counter as a little-endian integer that starts at 0).
pub struct Prg {
    aes: Aes128,
    counter: u64,
}

impl Prg {
    /// The generator of a seed.
    pub fn new(seed: &Seed) -> Self {
        Self { aes: Aes128::new(*seed.expose()), counter: 0 }
    }

    /// Fills `out` with the next blocks of the stream.
    pub fn fill(&mut self, out: &mut [Block]) {
        self.aes.0.encrypt_counter(self.counter, out);
        self.counter += out.len() as u64;
    }
}

/// A hash of one block, correlation robust: π(x) ⊕ x for a random permutation π.
///
/// For correlated OT between semi-honest parties (GKWY20 §7.2). π is AES under a public
/// key of the session, which both parties draw together with the session identifier, so that the
/// bound is not shared between sessions.
pub struct CorrelationRobust(Aes128);

impl CorrelationRobust {
    /// The hash of a session whose public key is `key`.
    pub fn new(key: Block) -> Self {
        Self(Aes128::new(key))
    }

    /// Hashes each block in place.
    pub fn apply(&self, blocks: &mut [Block]) {
        self.0.0.feed_forward(blocks);
    }
}

/// A generator that doubles a block: x becomes π_0(x) ⊕ x and π_1(x) ⊕ x, where the π are AES under two public
/// keys of the session. For the nodes of a tree that only one party fills in.
pub struct Doubling([Aes128; 2]);

impl Doubling {
    /// The generator of a session whose public keys are these.
    pub fn new(keys: [Block; 2]) -> Self {
        Self(keys.map(Aes128::new))
    }

    /// Writes the two children of each parent, and returns the sums of the left and of the right children.
    ///
    /// # Panics
    /// If there are not as many pairs of children as parents.
    pub fn double(&self, parents: &[Block], children: &mut [[Block; 2]]) -> [Block; 2] {
        AesKeys::double(self.0.each_ref().map(|aes| &aes.0), parents, children)
    }
}

/// A hash of one block, robust against circular correlations: π(σ(x)) ⊕ σ(x), where π is AES under a public key and
/// σ(high ‖ low) = (high ⊕ low) ‖ high.
///
/// For trees whose nodes differ by a secret from the other party's nodes (Guo et al., EUROCRYPT 2023, §2.2).
pub struct CircularRobust(Aes128);

impl CircularRobust {
    /// The hash under a public key.
    pub fn new(key: Block) -> Self {
        Self(Aes128::new(key))
    }

    /// Hashes each block in place.
    pub fn apply(&self, blocks: &mut [Block]) {
        self.0.0.circular(blocks);
    }

    /// The two children of each parent x: its hash, and x plus its hash. Returns the sum of the left children.
    ///
    /// # Panics
    /// If there are not as many pairs of children as parents.
    pub fn split(&self, parents: &[Block], children: &mut [[Block; 2]]) -> Block {
        self.0.0.split(parents, children)
    }
}

/// A hash of one block and its index, tweakable correlation robust: π(π(x) ⊕ i) ⊕ π(x).
///
/// For OT against malicious parties, where the other side may influence x (GKWY20 §7.4).
pub struct TweakableCorrelationRobust(Aes128);

impl TweakableCorrelationRobust {
    /// The hash of a session whose public key is `key`.
    pub fn new(key: Block) -> Self {
        Self(Aes128::new(key))
    }

    /// Hashes each block in place; the tweak of `blocks[k]` is `first + k`.
    pub fn apply(&self, first: u128, blocks: &mut [Block]) {
        let mut images = [Block::ZERO; BATCH];
        let mut tweak = first;
        for batch in blocks.chunks_mut(BATCH) {
            self.0.encrypt(batch);
            let images = &mut images[..batch.len()];
            for (image, block) in images.iter_mut().zip(&*batch) {
                *image = *block ^ Block(tweak);
                tweak = tweak.wrapping_add(1);
            }
            self.0.encrypt(images);
            for (block, image) in batch.iter_mut().zip(images) {
                *block ^= *image;
            }
        }
    }
}

/// A hash of blocks and an index, tweakable and robust against circular correlations: π(σ(x)) ⊕ σ(x), where π
/// is AES under a key that depends only on the index and σ(high ‖ low) = (high ⊕ low) ‖ high.
///
/// For garbled circuits (Guo, Katz, Wang, Weng and Yu, CRYPTO 2020). Under one fixed key, one guess tests all
/// gates of all runs at once: an attacker that sees C hashes finds the offset in 2^128 / C steps. With a key
/// for each index, and a random first index in each session, one guess tests one gate.
pub struct Rekeyed {
    session: Block,
    backend: Backend,
}

impl Rekeyed {
    /// The hash of a session whose public number is `session`.
    pub fn new(session: Block) -> Self {
        Self { session, backend: Backend::current() }
    }

    /// Hashes each block in place; the index of `rows[k]` is `first + k`. In a session, an index may be used
    /// for one row only, and a row has few blocks.
    pub fn apply<const N: usize>(&self, first: u128, rows: &mut [[Block; N]]) {
        self.backend.rekeyed_hash(self.session, first, rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_does_not_depend_on_how_it_is_drawn() {
        let seed = Seed::new(Block(7));
        let mut whole = vec![Block::ZERO; 1000];
        Prg::new(&seed).fill(&mut whole);
        let mut parts = vec![Block::ZERO; 1000];
        let mut prg = Prg::new(&seed);
        let (mut rest, mut n) = (&mut parts[..], 1);
        while !rest.is_empty() {
            let (head, tail) = rest.split_at_mut(n.min(rest.len()));
            prg.fill(head);
            (rest, n) = (tail, n * 2);
        }
        assert_eq!(whole, parts);
        assert_eq!(whole[999], Aes128::new(Block(7)).encrypt_block(Block(999)));
    }

    #[test]
    fn hashes_equal_their_definition() {
        let key = Block(99);
        let pi = |x: Block| Aes128::new(key).encrypt_block(x);
        let input: Vec<Block> = (0..300).map(|i| Block((i * i) << (i % 100))).collect();
        let mut robust = input.clone();
        CorrelationRobust::new(key).apply(&mut robust);
        let mut tweaked = input.clone();
        TweakableCorrelationRobust::new(key).apply(5, &mut tweaked);
        let circular = CircularRobust::new(key);
        let mut hashed = input.clone();
        circular.apply(&mut hashed);
        let mut children = vec![[Block::ZERO; 2]; input.len()];
        let left = circular.split(&input, &mut children);
        assert_eq!(left, hashed.iter().fold(Block::ZERO, |sum, hash| sum ^ *hash));
        for (i, x) in input.into_iter().enumerate() {
            assert_eq!(robust[i], pi(x) ^ x);
            let turned = Block((x.0 >> 64 ^ x.0) << 64 | x.0 >> 64);
            assert_eq!(hashed[i], pi(turned) ^ turned);
            assert_eq!(children[i], [hashed[i], x ^ hashed[i]]);
            assert_eq!(tweaked[i], pi(pi(x) ^ Block(5 + i as u128)) ^ pi(x));
        }
    }
}
