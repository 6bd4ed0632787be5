//! The variants of OT: an extension implements correlated OT, and the others are derived from it here.
//!
//! | variant | sender | receiver |
//! |---|---|---|
//! | correlated | q_j; all share Δ | t_j = q_j ⊕ c_j·Δ |
//! | random | two random blocks | the chosen one |
//! | chosen message | two messages of its own | the chosen one |
//!
//! If millions are made, memory that is fresh from the operating system costs more than the OTs in it. The
//! functions that end in `_into` therefore fill memory provided by the caller.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{
    Bits, Block, Delta, Seed,
    aes::{CorrelationRobust, Prg, TweakableCorrelationRobust},
};
use zeroize::{Zeroize, Zeroizing};

use crate::chunks::{CHUNK, ReceivedChunk, SentChunk};

const MESSAGES: &str = "ot/messages";

/// OTs whose masked messages go into one network message: bounds what either side has to hold.
const MESSAGE_CHUNK_BYTES: usize = 1 << 20;

/// OTs that are hashed together: fit the first-level cache.
pub(crate) const HASH_BATCH: usize = 128;

/// Batches that one thread takes at least: fewer are not worth handing over.
const MIN_HASH_BATCHES: usize = 32;

/// An extension whose promises hold against a malicious party, on its side of the protocol and
/// on the other. A protocol that needs that asks for `CotSender + Malicious`, and then a semi-honest
/// extension does not compile in its place.
pub trait Malicious {}

/// The hash that turns correlated OT into random OT, as strong as the adversary asks for, with the
/// number of OTs it was used for. Both parties have to use theirs for the same OTs in the same order.
pub struct CorrelationHash {
    function: Function,
    next: u64,
}

enum Function {
    Plain(CorrelationRobust),
    /// With the OT's number as the tweak: against a party that has a say in the correlated blocks.
    Tweakable(TweakableCorrelationRobust),
}

impl CorrelationHash {
    /// The hash of a session whose public key is `key`, for an extension against `adversary`.
    pub fn new(adversary: Adversary, key: Block) -> Self {
        let function = match adversary {
            Adversary::Malicious => Function::Tweakable(TweakableCorrelationRobust::new(key)),
            _ => Function::Plain(CorrelationRobust::new(key)),
        };
        Self { function, next: 0 }
    }

    /// The hash of a new session, whose key the party with Δ draws, which it protects, and sends
    /// under this label.
    pub(crate) fn draw(
        adversary: Adversary,
        label: &'static str,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let key = Block::random(rng);
        channel.send_slice(label, &[key])?;
        channel.flush()?;
        Ok(Self::new(adversary, key))
    }

    /// The other side of [`CorrelationHash::draw`].
    pub(crate) fn learn(
        adversary: Adversary,
        label: &'static str,
        channel: &mut Channel,
    ) -> Result<Self> {
        let mut key = [Block::ZERO];
        channel.recv_slice(label, &mut key)?;
        Ok(Self::new(adversary, key[0]))
    }

    /// Both outputs of each of the next OTs. The correlated blocks q_j come in the upper half of
    /// `pairs`, which spares a vector of their own.
    pub(crate) fn apply_both(&mut self, delta: Block, mut pairs: &mut [[Block; 2]]) {
        let mut first = self.advance(pairs.len());
        // The first half of the pairs takes the place of no row, and what is left looks the same.
        while pairs.len() > HASH_BATCH {
            let (n, half) = (pairs.len(), pairs.len() / 2);
            let (done, left) = pairs.split_at_mut(half);
            let rows = &left.as_flattened()[n - 2 * half..][..half];
            let batches = done.par_chunks_mut(HASH_BATCH).zip(rows.par_chunks(HASH_BATCH));
            let batches = batches.enumerate().with_min_len(MIN_HASH_BATCHES);
            batches.for_each(|(i, (pairs, rows))| {
                self.function.apply_both(first + (i * HASH_BATCH) as u64, delta, rows, pairs);
            });
            (first, pairs) = (first + half as u64, left);
        }
        let mut rows = [Block::ZERO; HASH_BATCH];
        let rows = &mut rows[..pairs.len()];
        rows.copy_from_slice(&pairs.as_flattened()[pairs.len()..]);
        self.function.apply_both(first, delta, rows, pairs);
        rows.zeroize();
    }

    /// The chosen output of each of the next OTs, in the place of the correlated block t_j.
    pub(crate) fn apply_chosen(&mut self, blocks: &mut [Block]) {
        let first = self.advance(blocks.len());
        let batches = blocks.par_chunks_mut(HASH_BATCH).enumerate().with_min_len(MIN_HASH_BATCHES);
        batches.for_each(|(i, blocks)| {
            self.function.apply(first + (i * HASH_BATCH) as u64, blocks);
        });
    }

    /// Both outputs of each of the next OTs, whose correlated blocks are `rows`, for up to
    /// [`HASH_BATCH`] of them at a time: `each` gets the messages for 0 and those for 1.
    pub(crate) fn show_both(
        &mut self,
        delta: Block,
        rows: &[Block],
        mut each: impl FnMut(&mut [Block], &mut [Block]),
    ) {
        let mut sides = [[Block::ZERO; HASH_BATCH]; 2];
        for rows in rows.chunks(HASH_BATCH) {
            let first = self.advance(rows.len());
            let [zeros, ones] = self.function.both_sides(first, delta, rows, &mut sides);
            each(zeros, ones);
        }
        sides.as_flattened_mut().zeroize();
    }

    /// Takes the numbers of the next `n` OTs and returns the first of them.
    fn advance(&mut self, n: usize) -> u64 {
        let first = self.next;
        self.next += n as u64;
        first
    }
}

impl Function {
    /// Hashes a block of each of the OTs from number `first` on, in place.
    fn apply(&self, first: u64, blocks: &mut [Block]) {
        match self {
            Self::Plain(hash) => hash.apply(blocks),
            Self::Tweakable(hash) => hash.apply(first.into(), blocks),
        }
    }

    /// Both outputs of each of a batch of OTs from number `first` on.
    fn apply_both(&self, first: u64, delta: Block, rows: &[Block], pairs: &mut [[Block; 2]]) {
        let mut sides = [[Block::ZERO; HASH_BATCH]; 2];
        let [zeros, ones] = self.both_sides(first, delta, rows, &mut sides);
        for ((pair, zero), one) in pairs.iter_mut().zip(zeros).zip(ones) {
            *pair = [*zero, *one];
        }
    }

    /// As [`Function::apply_both`], the messages for 0 and those for 1 by themselves.
    fn both_sides<'a>(
        &self,
        first: u64,
        delta: Block,
        rows: &[Block],
        sides: &'a mut [[Block; HASH_BATCH]; 2],
    ) -> [&'a mut [Block]; 2] {
        let [zeros, ones] = sides.each_mut().map(|side| &mut side[..rows.len()]);
        zeros.copy_from_slice(rows);
        ones.iter_mut().zip(rows).for_each(|(one, row)| *one = *row ^ delta);
        self.apply(first, zeros);
        self.apply(first, ones);
        [zeros, ones]
    }
}

/// The sender of an OT extension: it holds Δ.
pub trait CotSender {
    /// Against whom this extension keeps its promises.
    const ADVERSARY: Adversary;

    /// The offset that all correlated OTs of this sender share. Secret.
    fn delta(&self) -> &Delta;

    /// The hash that breaks the correlation.
    fn hash(&mut self) -> &mut CorrelationHash;

    /// Correlated OT: fills `out` with q_j, one for each OT.
    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()>;

    /// Correlated OT: q_j for each of `n` OTs.
    fn send_correlated(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<Block>> {
        let mut out = vec![Block::ZERO; n];
        self.send_correlated_into(&mut out, channel)?;
        Ok(out)
    }

    /// Correlated OT of random choices: `each` gets `n` of them, chunk by chunk in their order. Nothing that
    /// is made of them may leave this party before all are there: an extension may check them at the end.
    fn send_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        each: &mut dyn FnMut(SentChunk<'_>),
    ) -> Result<()> {
        let mut rows = Zeroizing::new(vec![Block::ZERO; n.min(CHUNK)]);
        for done in (0..n).step_by(CHUNK) {
            let rows = &mut rows[..CHUNK.min(n - done)];
            self.send_correlated_into(rows, channel)?;
            let delta = Zeroizing::new(self.delta().expose()[0]);
            each(SentChunk::new(self.hash(), *delta, rows));
        }
        Ok(())
    }

    /// Random OT: fills `pairs` with two pseudo-random blocks for each OT.
    fn send_random_into(&mut self, pairs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        let n = pairs.len();
        self.send_correlated_into(&mut pairs.as_flattened_mut()[n..], channel)?;
        let delta = self.delta().expose()[0];
        self.hash().apply_both(delta, pairs);
        Ok(())
    }

    /// Random OT: two pseudo-random blocks for each of `n` OTs.
    fn send_random(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
        let mut pairs = vec![[Block::ZERO; 2]; n];
        self.send_random_into(&mut pairs, channel)?;
        Ok(pairs)
    }

    /// Chosen-message OT: `messages` holds the two messages of each OT one after the other, all of
    /// `len` bytes. Costs 2·len bytes an OT beyond the correlated OT.
    ///
    /// # Panics
    /// Where `messages` is not made of pairs of `len` bytes.
    fn send_chosen(&mut self, messages: &[u8], len: usize, channel: &mut Channel) -> Result<()> {
        assert!(len > 0 && messages.len().is_multiple_of(2 * len), "pairs of {len} bytes");
        let keys = Zeroizing::new(self.send_random(messages.len() / (2 * len), channel)?);
        let keys = keys.as_flattened();
        let per_chunk = ots_per_chunk(len) * 2;
        for (messages, keys) in messages.chunks(per_chunk * len).zip(keys.chunks(per_chunk)) {
            let mut masked = messages.to_vec();
            masked.par_chunks_mut(len).zip(keys).for_each(|(message, key)| mask(message, *key));
            channel.send(MESSAGES, &masked)?;
        }
        Ok(())
    }
}

/// The receiver of an OT extension: it holds choices.
pub trait CotReceiver {
    /// Against whom this extension keeps its promises.
    const ADVERSARY: Adversary;

    /// The hash that breaks the correlation.
    fn hash(&mut self) -> &mut CorrelationHash;

    /// Correlated OT: fills `out` with t_j = q_j ⊕ c_j·Δ for each choice c_j.
    ///
    /// # Panics
    /// Where there are not as many blocks as choices.
    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()>;

    /// Correlated OT: t_j = q_j ⊕ c_j·Δ for each choice c_j.
    fn receive_correlated(&mut self, choices: &Bits, channel: &mut Channel) -> Result<Vec<Block>> {
        let mut out = vec![Block::ZERO; choices.len()];
        self.receive_correlated_into(choices, &mut out, channel)?;
        Ok(out)
    }

    /// The other side of [`CotSender::send_chunks`], with the same caution. An extension
    /// whose choices are random by themselves has no use for `rng`, and saves what it costs to change them.
    fn receive_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(ReceivedChunk<'_>),
    ) -> Result<()> {
        let mut rows = Zeroizing::new(vec![Block::ZERO; n.min(CHUNK)]);
        for done in (0..n).step_by(CHUNK) {
            let rows = &mut rows[..CHUNK.min(n - done)];
            let choices = Bits::random(rows.len(), rng);
            self.receive_correlated_into(&choices, rows, channel)?;
            each(ReceivedChunk::new(self.hash(), &choices, rows));
        }
        Ok(())
    }

    /// Random OT: fills `out` with the chosen block of each pair.
    ///
    /// # Panics
    /// Where there are not as many blocks as choices.
    fn receive_random_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        self.receive_correlated_into(choices, out, channel)?;
        self.hash().apply_chosen(out);
        Ok(())
    }

    /// Random OT: the chosen block of each pair.
    fn receive_random(&mut self, choices: &Bits, channel: &mut Channel) -> Result<Vec<Block>> {
        let mut out = vec![Block::ZERO; choices.len()];
        self.receive_random_into(choices, &mut out, channel)?;
        Ok(out)
    }

    /// Chosen-message OT: the chosen messages of `len` bytes, one after the other.
    fn receive_chosen(
        &mut self,
        choices: &Bits,
        len: usize,
        channel: &mut Channel,
    ) -> Result<Vec<u8>> {
        assert!(len > 0, "messages have a length");
        let keys = Zeroizing::new(self.receive_random(choices, channel)?);
        let mut chosen = vec![0; choices.len() * len];
        let per_chunk = ots_per_chunk(len);
        for (chunk, (out, keys)) in
            chosen.chunks_mut(per_chunk * len).zip(keys.chunks(per_chunk)).enumerate()
        {
            let mut masked = Zeroizing::new(vec![0; 2 * out.len()]);
            channel.recv_into(MESSAGES, &mut masked)?;
            let ots = out.par_chunks_mut(len).zip(masked.par_chunks(2 * len)).zip(keys);
            ots.enumerate().for_each(|(i, ((out, pair), key))| {
                let choice = choices.get(chunk * per_chunk + i);
                let select = choice.wrapping_neg();
                for ((out, zero), one) in out.iter_mut().zip(&pair[..len]).zip(&pair[len..]) {
                    *out = zero ^ ((zero ^ one) & select);
                }
                mask(out, *key);
            });
        }
        Ok(chosen)
    }
}

fn ots_per_chunk(len: usize) -> usize {
    (MESSAGE_CHUNK_BYTES / (2 * len)).max(1)
}

/// Adds the key's stream to a message. A key is used once, so short messages take it as it is.
pub(crate) fn mask(message: &mut [u8], key: Block) {
    if let Some(short) = key.to_bytes().get(..message.len()) {
        message.iter_mut().zip(short).for_each(|(m, k)| *m ^= k);
        return;
    }
    let mut stream = Zeroizing::new(vec![Block::ZERO; message.len().div_ceil(16)]);
    Prg::new(&Seed::new(key)).fill(&mut stream);
    let stream: &[u8] = bytemuck::cast_slice(&stream);
    message.iter_mut().zip(stream).for_each(|(m, k)| *m ^= k);
}

#[cfg(test)]
mod tests {
    use vesica_primitives::aes::Aes128;

    use super::*;

    /// The definitions in the module's own words, one OT at a time.
    fn by_hand(adversary: Adversary, key: Block, number: u128, x: Block) -> Block {
        let pi = |x: Block| Aes128::new(key).encrypt_block(x);
        match adversary {
            Adversary::Malicious => pi(pi(x) ^ Block(number)) ^ pi(x),
            _ => pi(x) ^ x,
        }
    }

    #[test]
    fn both_parties_hash_by_the_number_of_the_ot() {
        let (key, delta) = (Block(77), Block(u128::MAX / 5));
        for adversary in [Adversary::SemiHonest, Adversary::Malicious] {
            let mut sender = CorrelationHash::new(adversary, key);
            let mut receiver = CorrelationHash::new(adversary, key);
            let mut number = 0;
            for n in [0, 1, 2, 3, 127, 128, 129, 4095, 4096, 4097, 10_000] {
                let rows: Vec<Block> = (0..n as u128).map(|i| Block(i * i + number)).collect();
                let mut pairs = vec![[Block::ZERO; 2]; n];
                pairs.as_flattened_mut()[n..].copy_from_slice(&rows);
                sender.apply_both(delta, &mut pairs);
                let mut chosen: Vec<Block> = rows
                    .iter()
                    .enumerate()
                    .map(|(i, q)| if i % 3 == 0 { *q ^ delta } else { *q })
                    .collect();
                receiver.apply_chosen(&mut chosen);
                for (i, row) in rows.iter().enumerate() {
                    let expected = [*row, *row ^ delta].map(|x| by_hand(adversary, key, number, x));
                    assert_eq!(pairs[i], expected, "{adversary:?}, {i} of {n}");
                    assert_eq!(chosen[i], expected[usize::from(i % 3 == 0)]);
                    number += 1;
                }
            }
        }
    }
}
