//! The time that hashes, ciphers, generators and pseudo-random functions take, by the length of their output,
//! with inputs, seeds and keys of 128 bits, as in Tables 2 to 5 of Liang et al. (2022).

use std::{
    borrow::Cow,
    hash::Hasher,
    hint::black_box,
    time::{Duration, Instant},
};

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde::{Deserialize, Serialize};
use sha2::Digest;
use siphasher::sip128::{Hasher128, SipHasher};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust, Prg},
    hash::{ShortHash, ShortInput},
    secret::Seed,
};

/// The purpose of a primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// From an input to any number of bits; if a digest is too short, the input is hashed again with a counter.
    Hash,
    /// Under a prepared key.
    Cipher,
    /// From a seed to any number of bits, including preparation.
    Generator,
    /// Under a prepared key, from an input to any number of bits.
    Function,
}

impl Kind {
    /// All kinds, each with a word for it and the number of the table of Liang et al.
    pub const ALL: [(Self, &'static str, u32); 4] = [
        (Self::Hash, "Hashes", 2),
        (Self::Cipher, "Ciphers", 3),
        (Self::Generator, "Generators", 4),
        (Self::Function, "Pseudo-random functions", 5),
    ];
}

/// A primitive that is measured.
pub struct Entry {
    /// Its name on the command line.
    pub key: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its components.
    pub title: &'static str,
    /// Fills the output from the input.
    make: fn() -> Box<Fill>,
}

type Fill = dyn FnMut(&[u8; 16], &mut [u8]);

/// One measurement, as printed with `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The primitive's key.
    pub primitive: Cow<'static, str>,
    /// Length of the output; less than a byte counts as one.
    pub bits: usize,
    /// Time of a call: the minimum over five batches.
    pub nanoseconds: f64,
}

/// Batches per measurement, and the minimum duration of each.
const BATCHES: usize = 5;
const BATCH: Duration = Duration::from_millis(2);

/// The output lengths in bits that Liang et al. measured.
pub fn lengths() -> impl Iterator<Item = usize> {
    (0..=20).step_by(2).map(|exponent| 1 << exponent)
}

/// The primitive with this key.
pub fn find(key: &str) -> Option<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.key == key)
}

/// Measures the time of one call.
pub fn run(entry: &Entry, bits: usize) -> Record {
    let mut fill = (entry.make)();
    let mut input = [7; 16];
    let mut out = vec![0; bits.div_ceil(8)];
    let mut batch = |calls: u32| {
        let started = Instant::now();
        for _ in 0..calls {
            fill(black_box(&input), &mut out);
            // Each call depends on the previous one, as in a chain; parallelism exists only within a call.
            input[0] ^= black_box(&out)[0];
        }
        started.elapsed()
    };
    let mut calls = 1;
    while batch(calls) < BATCH && calls < 1 << 24 {
        calls *= 2;
    }
    let times = (0..BATCHES).map(|_| batch(calls).as_secs_f64() * 1e9 / f64::from(calls));
    let nanoseconds = times.fold(f64::INFINITY, f64::min);
    Record { primitive: Cow::Borrowed(entry.key), bits, nanoseconds }
}

macro_rules! entry {
    ($key:literal, $kind:ident, $title:literal, $make:expr) => {
        Entry { key: $key, kind: Kind::$kind, title: $title, make: $make }
    };
}

/// All primitives that are measured.
pub static CATALOGUE: &[Entry] = &[
    entry!("sha-256", Hash, "SHA-256, crate `sha2`", || digests::<sha2::Sha256>()),
    entry!("sha-512", Hash, "SHA-512, crate `sha2`", || digests::<sha2::Sha512>()),
    entry!("sha3-256", Hash, "SHA3-256, crate `sha3`", || digests::<sha3::Sha3_256>()),
    entry!("sha3-512", Hash, "SHA3-512, crate `sha3`", || digests::<sha3::Sha3_512>()),
    entry!("blake2b-512", Hash, "BLAKE2b, crate `blake2`", || digests::<blake2::Blake2b512>()),
    entry!("blake2s-256", Hash, "BLAKE2s, crate `blake2`", || digests::<blake2::Blake2s256>()),
    entry!("blake3", Hash, "BLAKE3, crate `blake3`", || Box::new(|input, out| {
        blake3::Hasher::new().update(input).finalize_xof().fill(out);
    })),
    entry!("blake3-lanes", Hash, "BLAKE3, ours, several inputs at once", || Box::new(
        |input, out| lanes(&ShortHash::plain(), input, out)
    )),
    entry!("fixed-key-aes", Hash, "π(x) ⊕ x, π AES-128 under a public key, ours", || {
        let hash = CorrelationRobust::new(Block::ZERO);
        blocks(move |blocks| hash.apply(blocks))
    }),
    entry!("aes-ctr-crate", Cipher, "AES-128 in counter mode, crate `aes`", || {
        let cipher = aes::Aes128::new(&[7; 16].into());
        Box::new(move |input, out| counter(&cipher, input, out))
    }),
    entry!("aes-ctr", Cipher, "AES-128 in counter mode, ours", || {
        let cipher = Aes128::new(Block::ZERO);
        blocks(move |blocks| cipher.encrypt(blocks))
    }),
    entry!("chacha8", Cipher, "ChaCha8, crate `chacha20`", || stream::<chacha20::ChaCha8Rng>()),
    entry!("chacha12", Cipher, "ChaCha12, crate `chacha20`", || stream::<chacha20::ChaCha12Rng>()),
    entry!("chacha20", Cipher, "ChaCha20, crate `chacha20`", || stream::<chacha20::ChaCha20Rng>()),
    entry!("prg-aes", Generator, "AES-128 in counter mode, ours", || {
        let mut scratch = Vec::new();
        Box::new(move |input, out| {
            scratch.resize(out.len().div_ceil(16), Block::ZERO);
            Prg::new(&Seed::new(Block::from_bytes(*input))).fill(&mut scratch);
            give(&scratch, out);
        })
    }),
    entry!("prg-aes-crate", Generator, "AES-128 in counter mode, crate `aes`", || Box::new(
        |input, out| counter(&aes::Aes128::new(&(*input).into()), &[0; 16], out)
    )),
    entry!(
        "prg-chacha12",
        Generator,
        "ChaCha12, crate `chacha20`",
        seeded::<chacha20::ChaCha12Rng>
    ),
    entry!(
        "prg-chacha20",
        Generator,
        "ChaCha20, crate `chacha20`",
        seeded::<chacha20::ChaCha20Rng>
    ),
    entry!("prg-blake3", Generator, "BLAKE3's long output, crate `blake3`", || Box::new(
        |input, out| blake3::Hasher::new().update(input).finalize_xof().fill(out)
    )),
    entry!("prf-aes", Function, "AES-128 in CBC mode of input and counter, ours", || {
        let cipher = Aes128::new(Block::ZERO);
        let mut scratch = Vec::new();
        Box::new(move |input, out| {
            let head = cipher.encrypt_block(Block::from_bytes(*input));
            let count = out.len().div_ceil(16);
            scratch.clear();
            scratch.extend((0..count).map(|i| head ^ numbered(i)));
            cipher.encrypt(&mut scratch);
            give(&scratch, out);
        })
    }),
    entry!("prf-blake3", Function, "BLAKE3 with a key, crate `blake3`", || Box::new(
        |input, out| { blake3::Hasher::new_keyed(&[7; 32]).update(input).finalize_xof().fill(out) }
    )),
    entry!("prf-blake3-lanes", Function, "BLAKE3 with a key, ours, several inputs at once", || {
        let hash = ShortHash::keyed(&[7; 32]);
        Box::new(move |input, out| lanes(&hash, input, out))
    }),
    entry!("prf-siphash", Function, "SipHash-2-4 of 128 bits, crate `siphasher`", || Box::new(
        |input, out| {
            for (i, out) in (0u64..).zip(out.chunks_mut(16)) {
                let mut hash = SipHasher::new_with_keys(7, 7);
                hash.write(input);
                hash.write_u64(i);
                out.copy_from_slice(&hash.finish128().as_bytes()[..out.len()]);
            }
        }
    )),
];

/// Hashes the input with a counter, and concatenates the digests.
fn digests<D: Digest>() -> Box<Fill> {
    let digest = |input: &[u8; 16], out: &mut [u8]| {
        let length = <D as Digest>::output_size();
        for (i, out) in (0u64..).zip(out.chunks_mut(length)) {
            let mut hash = D::new();
            hash.update(input);
            if i > 0 {
                hash.update(i.to_le_bytes());
            }
            out.copy_from_slice(&hash.finalize()[..out.len()]);
        }
    };
    Box::new(digest)
}

/// Works like [`digests`], several digests at a time.
fn lanes(hash: &ShortHash, input: &[u8; 16], out: &mut [u8]) {
    let count = out.len().div_ceil(32) as u64;
    let inputs = (0..count).map(|i| {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(input);
        bytes[16..].copy_from_slice(&i.to_le_bytes());
        ShortInput::new(&bytes).expect("24 bytes are short")
    });
    let mut places = out.chunks_mut(32);
    hash.hash(inputs, |digest| {
        if let Some(place) = places.next() {
            place.copy_from_slice(&digest[..place.len()]);
        }
    });
}

/// The result of `change` on blocks of the input ⊕ a counter.
fn blocks(change: impl Fn(&mut [Block]) + 'static) -> Box<Fill> {
    let mut scratch = Vec::new();
    Box::new(move |input, out| {
        let first = Block::from_bytes(*input);
        scratch.clear();
        scratch.extend((0..out.len().div_ceil(16)).map(|i| first ^ numbered(i)));
        change(&mut scratch);
        give(&scratch, out);
    })
}

/// A counter as a block.
fn numbered(i: usize) -> Block {
    Block::from_bytes((i as u128).to_le_bytes())
}

fn give(scratch: &[Block], out: &mut [u8]) {
    let bytes: &[u8] = bytemuck::cast_slice(scratch);
    out.copy_from_slice(&bytes[..out.len()]);
}

fn counter(cipher: &aes::Aes128, input: &[u8; 16], out: &mut [u8]) {
    let first = u128::from_le_bytes(*input);
    for (i, out) in (0u128..).step_by(64).zip(out.chunks_mut(16 * 64)) {
        let mut scratch = [aes::Block::default(); 64];
        let scratch = &mut scratch[..out.len().div_ceil(16)];
        for (j, block) in (i..).zip(scratch.iter_mut()) {
            *block = first.wrapping_add(j).to_le_bytes().into();
        }
        cipher.encrypt_blocks(scratch);
        for (out, block) in out.chunks_mut(16).zip(scratch) {
            out.copy_from_slice(&block[..out.len()]);
        }
    }
}

fn stream<G: SeedableRng + Rng + 'static>() -> Box<Fill> {
    let mut generator = G::from_rng(&mut StdRng::seed_from_u64(7));
    Box::new(move |_, out| generator.fill_bytes(out))
}

fn seeded<G: SeedableRng<Seed = [u8; 32]> + Rng + 'static>() -> Box<Fill> {
    Box::new(|input, out| {
        let mut seed = [0; 32];
        seed[..16].copy_from_slice(input);
        G::from_seed(seed).fill_bytes(out);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(key: &str, bits: usize) -> Vec<u8> {
        let mut out = vec![0; bits.div_ceil(8)];
        (find(key).unwrap().make)()(&[1; 16], &mut out);
        out
    }

    #[test]
    fn all_fill_whatever_length_from_their_input() {
        for entry in CATALOGUE {
            let mut fill = (entry.make)();
            let (mut one, mut other) = (vec![0; 1001], vec![0; 1001]);
            fill(&[1; 16], &mut one);
            fill(&[2; 16], &mut other);
            assert_ne!(one, other, "{}", entry.key);
            assert!(one.chunks(13).all(|part| part.iter().any(|byte| *byte != 0)), "{}", entry.key);
            let record = run(entry, 1);
            assert!(record.nanoseconds > 0.0, "{}", entry.key);
        }
    }

    #[test]
    fn the_same_by_two_ways_is_the_same() {
        assert_eq!(output("sha-256", 256), sha2::Sha256::digest([1; 16]).to_vec());
        assert_eq!(output("prg-aes", 4096), output("prg-aes-crate", 4096));
        assert_eq!(output("blake3", 256), blake3::hash(&[1; 16]).as_bytes());
        assert_eq!(output("blake3", 999)[..64], output("prg-blake3", 512)[..]);
        for (i, digest) in (0u64..).zip(output("blake3-lanes", 1024).chunks(32)) {
            let input = [&[1; 16][..], &i.to_le_bytes()].concat();
            assert_eq!(digest, blake3::hash(&input).as_bytes());
        }
    }
}
