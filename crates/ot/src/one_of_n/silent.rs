//! Silent 1-out-of-8 OT: random bits as messages and random words as choices, from few OTs with little communication.
//! A silent VOLE whose a has three bits takes a word to 1-out-of-8 OT as one bit does to 1-out-of-2 OT (Boyle et al.,
//! CCS 2019, for the correlation; Roy, CRYPTO 2022, for OT from a VOLE in a subspace). Semi-honest.
//!
//! 1. A silent VOLE in a subspace of three bits ([`vole::silent`](crate::vole::silent)): S has Δ and b, R has a and c =
//!    a·Δ + b.
//! 2. S clears the lowest three bits of each b, and R puts a in their place in c. So R has b + L(a), where L(x) is x·Δ
//!    with x as its lowest bits, and need not keep a separately.
//! 3. S's message for the word x is the lowest bit of H(b + L(x)); R's is the lowest bit of H(b + L(a)).
//!
//! For x other than a, b + L(x) is R's entry plus L of something that is not 0: a multiple of Δ except for three bits.
//!
//! An R that tries a value for L(x) tries it for all OTs with the same H at once. So H has another key for every
//! stretch of at most 4096 OTs, which has 2^15 targets: of the 2^125 trials for one target 2^110 remain.
//!
//! Step 2 is done before compressing, which is linear.

use std::slice;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_params::{
    Adversary,
    lpn::{Lpn, NoiseValues},
};
use vesica_primitives::{Block, aes::CorrelationRobust, gf};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    Bytes, CotReceiver, CotSender, ZeroizingVec,
    chunks::lowest_bits,
    pcg::{self, PcgDimensions, ots},
    pprf::{MASKS, masks},
    session,
    stream::Stream,
    vole::Subspace,
};

const SESSION: &str = "silent-ot-8/session";

/// Bits of a word.
pub const WORD_BITS: usize = 3;

/// The number of words, and of messages.
pub const WORDS: usize = 1 << WORD_BITS;

/// The bits that a word replaces.
const LOWEST: u128 = WORDS as u128 - 1;

/// Semi-honest: nothing checks that the trees are correct.
pub const ADVERSARY: Adversary = Adversary::SemiHonest;

/// OTs that are passed on together.
const BATCH: usize = u64::BITS as usize;

/// Batches of a task: fewer are not worth one.
const BATCHES: usize = 8;

/// OTs of the underlying extension for a call of `n` OTs, which are made in one call.
pub fn ots_beneath(n: usize, lpn: Lpn) -> usize {
    let dimensions = PcgDimensions::full(n, lpn);
    dimensions.ots() + WORD_BITS * dimensions.blocks
}

/// Payload bytes of a call of `n` OTs, without the underlying extension.
pub fn bytes(n: usize, lpn: Lpn) -> Bytes {
    Bytes { to_sender: 0, to_receiver: PcgDimensions::full(n, lpn).bytes() }
}

/// Bytes of memory that a party takes for a call of `n` OTs, with the number of threads of the current pool.
pub fn memory(n: usize, lpn: Lpn) -> usize {
    PcgDimensions::full(n, lpn).memory()
}

/// The hashes of a session, one for each stretch of OTs.
struct SilentHashes {
    key: Block,
    next: u64,
}

impl SilentHashes {
    fn new(key: Block) -> Self {
        Self { key, next: 0 }
    }

    fn next(&mut self) -> CorrelationRobust {
        self.next += 1;
        CorrelationRobust::new(self.key ^ Block(self.next.into()))
    }
}

/// The party with Δ.
pub struct Sender<C> {
    cot: C,
    lpn: Lpn,
    hashes: SilentHashes,
    rng: Stream,
}

impl<C: CotSender> Sender<C> {
    /// Uses an extension that has been set up. Draws the session's public hash key.
    ///
    /// # Panics
    /// If the values of the noise are not uniform.
    pub fn setup(cot: C, lpn: Lpn, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert_eq!(lpn.values, NoiseValues::Uniform, "of a VOLE");
        let hashes = SilentHashes::new(session::draw(SESSION, channel, rng)?);
        channel.flush()?;
        Ok(Self { cot, lpn, hashes, rng: Stream::new(rng) })
    }

    /// Makes `n` OTs: `each` gets the messages of up to 64 of them (in `messages[x]` the messages for word x, the first
    /// OT's in the lowest bit) and their number. Bits beyond it are 0.
    pub fn send(
        &mut self,
        n: usize,
        channel: &mut Channel,
        mut each: impl FnMut(&[u64; WORDS], usize),
    ) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        let dimensions = PcgDimensions::full(n, self.lpn);
        let levels = slice::from_ref(&dimensions);
        let delta = Zeroizing::new(self.cot.delta().expose()[0]);
        let bits = WORD_BITS as u32;
        let ots::Sent { mut keys, shares } =
            ots::send(levels, dimensions.blocks, bits, &mut self.cot, channel)?;
        let (hashes, offsets) = (&mut self.hashes, offsets(*delta));
        let mut show = |rows: &mut [Block]| {
            let hash = hashes.next();
            let batches = rows.par_chunks(BATCH).with_min_len(BATCHES);
            let made: Vec<_> = batches.map(|rows| messages(&hash, &offsets, rows)).collect();
            let made = Zeroizing::new(made);
            made.iter().zip(rows.chunks(BATCH)).for_each(|(made, rows)| each(made, rows.len()));
        };
        let noise = pcg::Sender::new(&dimensions, *delta, keys.remove(0));
        noise.show(&mut show, &shares, channel, &mut self.rng)?;
        Ok(())
    }
}

/// L(x) for every x.
fn offsets(delta: Block) -> Zeroizing<[Block; WORDS]> {
    let of = |x: usize| {
        let x = Block(x as u128);
        Block(gf::multiply128(x, delta).0 & !LOWEST) ^ x
    };
    Zeroizing::new(std::array::from_fn(of))
}

/// Steps 2 and 3 for S, for up to 64 OTs.
fn messages(hash: &CorrelationRobust, offsets: &[Block; WORDS], rows: &[Block]) -> [u64; WORDS] {
    let mut hashed = [Block::ZERO; BATCH];
    let hashed = &mut hashed[..rows.len()];
    let messages = offsets.map(|offset| {
        for (hashed, row) in hashed.iter_mut().zip(rows) {
            *hashed = Block(row.0 & !LOWEST) ^ offset;
        }
        hash.apply(hashed);
        lowest_bits(hashed)
    });
    hashed.zeroize();
    messages
}

/// The party with choices.
pub struct Receiver<C> {
    cot: C,
    lpn: Lpn,
    hashes: SilentHashes,
    rng: Stream,
}

/// Up to 64 OTs of the party with choices, the first in the lowest bit.
#[derive(Clone, Copy, Default, Zeroize)]
pub struct Chosen {
    /// The bits of the words.
    pub words: [u64; WORD_BITS],
    /// The message for each word.
    pub messages: u64,
}

impl<C: CotReceiver> Receiver<C> {
    /// Uses an extension that has been set up. Receives the session's public hash key.
    ///
    /// # Panics
    /// If the values of the noise are not uniform.
    pub fn setup(cot: C, lpn: Lpn, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert_eq!(lpn.values, NoiseValues::Uniform, "of a VOLE");
        let hashes = SilentHashes::new(session::learn(SESSION, channel)?);
        Ok(Self { cot, lpn, hashes, rng: Stream::new(rng) })
    }

    /// The other side of [`Sender::send`]: `each` gets up to 64 OTs, and their number.
    pub fn receive(
        &mut self,
        n: usize,
        channel: &mut Channel,
        mut each: impl FnMut(&Chosen, usize),
    ) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        let dimensions = PcgDimensions::full(n, self.lpn);
        let levels = slice::from_ref(&dimensions);
        let places = [dimensions.places(&mut self.rng)];
        let mut words = ZeroizingVec::<u64>::zeros(dimensions.blocks);
        let bits = WORD_BITS as u32;
        words.fill_with(|| u64::truncate(Block::random(&mut self.rng), bits));
        let ots::Received { mut keys, shares } =
            ots::receive(levels, &places, &words, bits, &mut self.cot, channel)?;
        let hashes = &mut self.hashes;
        let mut show = |rows: &mut [Block]| {
            let hash = hashes.next();
            let batches = rows.par_chunks_mut(BATCH).with_min_len(BATCHES);
            let made: Vec<_> = batches.map(|rows| (choose(&hash, rows), rows.len())).collect();
            let made = Zeroizing::new(made);
            made.iter().for_each(|(chosen, count)| each(chosen, *count));
        };
        let [places] = &places;
        let keep = |i: usize, leaves: &mut [Block]| {
            mark(leaves, places[i], words[i]);
            // Nothing is checked.
            Block::ZERO
        };
        let noise = pcg::Receiver::new(&dimensions, places, keys.remove(0));
        noise.show(&mut show, &shares, keep, channel)?;
        Ok(())
    }
}

/// Step 3 for R, for up to 64 OTs.
fn choose(hash: &CorrelationRobust, rows: &mut [Block]) -> Chosen {
    let bit = |i: usize| {
        let bit_first = rows.iter().rev();
        bit_first.fold(0, |packed, row| packed << 1 | row.low() >> i & 1)
    };
    let words = std::array::from_fn(bit);
    hash.apply(rows);
    Chosen { words, messages: lowest_bits(rows) }
}

/// Sets the lowest bits to the noise: the word at the place, otherwise 0. Every entry is accessed.
fn mark(leaves: &mut [Block], place: u32, word: u64) {
    let halves: &mut [[u64; 2]] = bytemuck::cast_slice_mut(leaves);
    for (i, halves) in halves.chunks_mut(MASKS).enumerate() {
        for ([low, _], mask) in halves.iter_mut().zip(masks(i * MASKS, place as usize)) {
            *low = *low & !(LOWEST as u64) | mask & word;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::lpn::UNIFORM;

    use super::*;
    use crate::{
        extension::softspoken::{SmallField, semi_honest},
        two_party::run,
    };

    const FIELD: SmallField = SmallField::new(8);

    /// A message of the sender for each word, and a word and a message of the receiver, for each OT.
    type Made = (Vec<[u8; WORDS]>, Vec<(usize, u8)>);

    fn bit(word: u64, i: usize) -> u8 {
        (word >> i & 1) as u8
    }

    /// Calls for these numbers of OTs in one session.
    fn made(calls: &[usize], lpn: Lpn) -> Vec<Made> {
        let (sent, received) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let cot = semi_honest::Sender::setup(FIELD, channel, rng).unwrap();
                let mut ot = Sender::setup(cot, lpn, channel, rng).unwrap();
                let mut call = |n: &usize| {
                    let mut out = Vec::new();
                    let before = channel.meter().received();
                    let each = |messages: &[u64; WORDS], count: usize| {
                        assert!(messages.iter().all(|m| count == 64 || m >> count == 0));
                        out.extend((0..count).map(|i| messages.map(|messages| bit(messages, i))));
                    };
                    ot.send(*n, channel, each).unwrap();
                    let received = (channel.meter().received() - before) as usize;
                    let beneath = if *n > 0 { ots_beneath(*n, lpn) } else { 0 };
                    let predicted = FIELD.bytes(beneath);
                    assert!((predicted..=predicted + 2000 + predicted / 500).contains(&received));
                    out
                };
                calls.iter().map(&mut call).collect::<Vec<_>>()
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let cot = semi_honest::Receiver::setup(FIELD, channel, rng).unwrap();
                let mut ot = Receiver::setup(cot, lpn, channel, rng).unwrap();
                let mut call = |n: &usize| {
                    let mut out = Vec::new();
                    let each = |chosen: &Chosen, count: usize| {
                        let all = chosen.words.iter().chain([&chosen.messages]);
                        assert!(all.clone().all(|bits| count == 64 || bits >> count == 0));
                        out.extend((0..count).map(|i| {
                            let [low, middle, high] = chosen.words.map(|bits| bit(bits, i));
                            (usize::from(low | middle << 1 | high << 2), bit(chosen.messages, i))
                        }));
                    };
                    ot.receive(*n, channel, each).unwrap();
                    out
                };
                calls.iter().map(&mut call).collect::<Vec<_>>()
            },
        );
        sent.into_iter().zip(received).collect()
    }

    /// With one piece, and with several; a session makes other OTs in each call.
    #[test]
    fn chosen_messages_equal_sent_messages() {
        let calls = [1, 0, 63, 65, 768, 769, 5000, 769];
        for lpn in [UNIFORM, UNIFORM.with_piece(2000)] {
            let made = made(&calls, lpn);
            assert_ne!(made[5].0[..64], made[7].0[..64]);
            for (n, (sent, chosen)) in calls.iter().zip(made) {
                assert_eq!([sent.len(), chosen.len()], [*n; 2]);
                for (messages, (word, message)) in sent.iter().zip(chosen) {
                    assert_eq!(messages[word], message, "of {n}");
                }
            }
        }
    }

    /// Words, messages and sums of two messages are balanced, and words and their messages are independent.
    #[test]
    fn words_and_messages_are_random() {
        const N: usize = 1 << 14;
        let made = made(&[N], UNIFORM);
        let (sent, chosen) = &made[0];
        let balanced = |what: &str, expected: f64, count: usize| {
            let deviation = (N as f64 * expected * (1.0 - expected)).sqrt();
            let off = (count as f64 - N as f64 * expected) / deviation;
            assert!(off.abs() < 5.0, "{what}: off by {off}");
        };
        for word in 0..WORDS {
            balanced("a word", 0.125, chosen.iter().filter(|(w, _)| *w == word).count());
            let with_one = chosen.iter().filter(|chosen| **chosen == (word, 1)).count();
            balanced("a word and its message", 0.0625, with_one);
            balanced("a message", 0.5, sent.iter().filter(|m| m[word] == 1).count());
            for other in 0..word {
                balanced("two messages", 0.5, sent.iter().filter(|m| m[word] != m[other]).count());
            }
        }
    }
}
