//! 1-out-of-n OT: the sender has a key for each of n words, and the receiver learns the key of the word it
//! chose.
//!
//! | extension | words | adversary | bits per OT to the sender |
//! |---|---|---|---|
//! | [`kk13`] | 2^8 | semi-honest | 256 |
//! | [`kkrt16`] | 2^128 | semi-honest | 416 to 448, depending on the number of keys computed |
//! | [`oos17`], Walsh–Hadamard | 2^8 | malicious | 256 |
//! | [`oos17`], BCH | 2^76 | malicious | 511 |
//!
//! [`silent`] has random words of three bits and random messages of one bit; it sends next to nothing. The others share
//! one construction ([`rows`]): the matrix of the IKNP family, in which the receiver's row is a codeword of its word.
//! [`matrix`] provides the rows themselves, for protocols that add them up, unchecked or checked as in [`oos17`]. An
//! extension implements random OT, where keys are pseudo-random. OT of chosen messages is derived from it here, and OT
//! made before words are known in [`precomputed`].

mod check;
mod combinations;
pub mod kk13;
pub mod kkrt16;
pub mod matrix;
pub mod oos17;
pub mod precomputed;
pub mod rows;
pub mod silent;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Block, arch::opaque, declassify};
use zeroize::Zeroizing;

use crate::variants::mask;

const MESSAGES: &str = "one-of-n/messages";

/// Bytes of masked messages that go into one network message, unless a single OT has more.
const MESSAGE_CHUNK_BYTES: usize = 1 << 20;

/// The maximal number of messages per OT of chosen messages.
pub const MAX_MESSAGES: usize = 256;

/// The keys of some consecutive OTs, as their sender can compute them.
pub trait Keys: Sync {
    /// The number of OTs.
    fn len(&self) -> usize;

    /// Whether it has zero OTs.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes keys at any number of points of each OT. The points of OT i (counted from the first OT here)
    /// are those from `starts(i)` up to `starts(i + 1)`; `word` gives their words. `keys` receives the keys
    /// from point `starts(0)` on.
    ///
    /// # Panics
    /// If the length of `keys` is not the number of points, or a word has too many bits.
    fn evaluate(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        word: impl Fn(usize) -> Block + Sync,
        keys: &mut [Block],
    );

    /// The key of each OT at one word.
    ///
    /// # Panics
    /// If the numbers of words and OTs differ; and as [`Keys::evaluate`] does.
    fn at(&self, words: &[Block]) -> Vec<Block> {
        assert_eq!(words.len(), self.len(), "a word for each OT");
        let mut keys = vec![Block::ZERO; words.len()];
        self.evaluate(|ot| ot, |point| words[point], &mut keys);
        keys
    }

    /// The keys of each OT at the words 0 to n − 1.
    ///
    /// # Panics
    /// If there are fewer words.
    fn all(&self, n: usize) -> Vec<Block> {
        let mut keys = vec![Block::ZERO; self.len() * n];
        self.evaluate(|ot| ot * n, |point| Block((point % n) as u128), &mut keys);
        keys
    }
}

/// The sender of a 1-out-of-n OT extension.
pub trait Sender {
    /// The adversary against which this extension is secure.
    const ADVERSARY: Adversary;

    /// Bits of a word: n is two to this power.
    const WORD_BITS: usize;

    /// The keys of this extension.
    type Keys: Keys;

    /// Random OT: the keys of `ots` OTs.
    fn send_random(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Keys>;

    /// Random OT: passes on the keys of `ots` OTs in pieces, in order and each as soon as its keys may be used.
    /// If they are used at once, this takes less memory and time.
    fn send_random_pieces(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        show: impl FnMut(&Self::Keys),
    ) -> Result<()>;

    /// Random OT: the keys of each OT at only the words of that OT. `starts` gives for each OT where its words
    /// start among all words, followed by their number; `word(i)` is the i-th. Returns the key of each word.
    ///
    /// This is a batched OPRF: OT j is its instance j, and the key of a word is the value F_j at that point.
    fn send_random_at(
        &mut self,
        starts: &[u32],
        word: impl Fn(usize) -> Block + Sync,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        let ots = starts.len() - 1;
        let mut values = vec![Block::ZERO; starts[ots] as usize];
        let mut done = 0;
        self.send_random_pieces(ots, channel, rng, |keys| {
            let start = |ot: usize| starts[done + ot] as usize;
            keys.evaluate(start, &word, &mut values[start(0)..start(keys.len())]);
            done += keys.len();
        })?;
        Ok(values)
    }

    /// OT of chosen messages: `messages` holds the n messages of each OT one after another, all of `len`
    /// bytes. Costs n·len bytes per OT in addition to the random OT.
    ///
    /// # Panics
    /// If the length of `messages` is not a multiple of `n` times `len`, or `n` exceeds the number of words or
    /// [`MAX_MESSAGES`].
    fn send_chosen(
        &mut self,
        messages: &[u8],
        shape: MessageShape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let MessageShape { n, len } = shape;
        shape.check(Self::WORD_BITS);
        assert!(messages.len().is_multiple_of(n * len), "{n} messages of {len} bytes an OT");
        let ots = messages.len() / (n * len);
        let keys = self.send_random(ots, channel, rng)?;
        let per_chunk = shape.ots_per_chunk();
        let mut masks = Zeroizing::new(vec![Block::ZERO; per_chunk.min(ots) * n]);
        for (i, messages) in messages.chunks(per_chunk * n * len).enumerate() {
            let (first, count) = (i * per_chunk, messages.len() / len);
            let masks = &mut masks[..count];
            // Only the OTs of this chunk have points.
            let starts = |ot: usize| (ot.max(first) - first).saturating_mul(n).min(count);
            keys.evaluate(starts, |point| Block((point % n) as u128), masks);
            let mut masked = messages.to_vec();
            masked.par_chunks_mut(len).zip(masks).for_each(|(message, key)| mask(message, *key));
            channel.send(MESSAGES, &masked)?;
        }
        Ok(())
    }
}

/// The receiver of a 1-out-of-n OT extension.
pub trait Receiver {
    /// The adversary against which this extension is secure.
    const ADVERSARY: Adversary;

    /// Bits of a word: n is two to this power.
    const WORD_BITS: usize;

    /// Random OT: fills `keys` with the key of each OT at the word chosen for it.
    ///
    /// # Panics
    /// If the numbers of keys and words differ, or a word has too many bits.
    fn receive_random_into(
        &mut self,
        words: &[Block],
        keys: &mut [Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()>;

    /// Random OT: the key of each OT at the word chosen for it.
    ///
    /// # Panics
    /// If a word has too many bits.
    fn receive_random(
        &mut self,
        words: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        let mut keys = vec![Block::ZERO; words.len()];
        self.receive_random_into(words, &mut keys, channel, rng)?;
        Ok(keys)
    }

    /// OT of chosen messages: the chosen message of each OT, one after another, where an OT has `n` messages of
    /// `len` bytes.
    ///
    /// # Panics
    /// If a choice is not below n, or under the sender's conditions on `n` and `len`.
    fn receive_chosen(
        &mut self,
        choices: &[u8],
        shape: MessageShape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>> {
        let MessageShape { n, len } = shape;
        shape.check(Self::WORD_BITS);
        // Choices are secret; that there is a message for each is not.
        let outside = |choice: &u8| u8::from(usize::from(*choice) >= n);
        let some = choices.iter().fold(0, |some, choice| some | outside(choice));
        assert!(declassify(some) == 0, "choices below {n}");
        let words = choices.iter().map(|choice| Block((*choice).into()));
        let words: Zeroizing<Vec<Block>> = Zeroizing::new(words.collect());
        let keys = Zeroizing::new(self.receive_random(&words, channel, rng)?);
        let mut chosen = vec![0; choices.len() * len];
        let per_chunk = shape.ots_per_chunk();
        let chunks = chosen.chunks_mut(per_chunk * len).zip(choices.chunks(per_chunk));
        for ((out, choices), keys) in chunks.zip(keys.chunks(per_chunk)) {
            let mut masked = vec![0; n * out.len()];
            channel.recv_into(MESSAGES, &mut masked)?;
            let ots = out.par_chunks_mut(len).zip(masked.par_chunks(n * len));
            ots.zip(choices).zip(keys).for_each(|(((out, messages), choice), key)| {
                select(messages, *choice, out);
                mask(out, *key);
            });
        }
        Ok(chosen)
    }
}

/// The messages of an OT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageShape {
    /// The number of messages, from 1 to [`MAX_MESSAGES`].
    pub n: usize,
    /// The bytes of a message, at least 1.
    pub len: usize,
}

impl MessageShape {
    /// Asserts that words of this many bits can name the messages.
    fn check(self, word_bits: usize) {
        assert!(
            self.len > 0 && (1..=MAX_MESSAGES).contains(&self.n),
            "1 to {MAX_MESSAGES} messages, which have a length"
        );
        assert!(self.n <= 1 << word_bits.min(8), "a word for each message");
    }

    /// Returns the number of OTs whose messages are sent together.
    fn ots_per_chunk(self) -> usize {
        (MESSAGE_CHUNK_BYTES / (self.n * self.len)).max(1)
    }
}

/// Writes the message with this number to `out`, which must be 0; reads all of them.
fn select(messages: &[u8], choice: u8, out: &mut [u8]) {
    for (number, message) in (0..=u8::MAX).zip(messages.chunks_exact(out.len())) {
        // x − 1 is negative only for x = 0.
        let is_chosen = u64::from(number ^ choice).wrapping_sub(1) >> 63;
        let select = (opaque(is_chosen) as u8).wrapping_neg();
        out.iter_mut().zip(message).for_each(|(out, message)| *out |= message & select);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_message_is_selected() {
        let messages: Vec<u8> = (0..256 * 3).map(|i| (i * 7) as u8).collect();
        for choice in 0..=255 {
            let mut out = [0; 3];
            select(&messages, choice, &mut out);
            assert_eq!(out, messages[3 * usize::from(choice)..][..3]);
        }
    }
}
