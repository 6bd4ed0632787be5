//! The variants of OT: an extension implements correlated OT, and the others are derived from it here.
//!
//! | variant | sender | receiver |
//! |---|---|---|
//! | correlated | q_j; all share Δ | t_j = q_j ⊕ c_j·Δ |
//! | random | two random blocks | the chosen one |
//! | chosen message | two messages of its own | the chosen one |
//!
//! If millions are made, fresh memory from the operating system costs more than the OTs in it. The functions
//! that end in `_into` therefore fill memory provided by the caller.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, Seed, aes::Prg, arch::opaque};
use zeroize::Zeroizing;

use crate::{
    chunks::{CHUNK, ReceivedChunk, SentChunk},
    correlation_hash::CorrelationHash,
};

const MESSAGES: &str = "ot/messages";

/// Bytes of masked messages that go into one network message, which bounds the memory of either side.
const MESSAGE_CHUNK_BYTES: usize = 1 << 20;

/// An extension that is secure against a malicious party on either side. A protocol that needs this requires
/// `CotSender + Malicious`, and then does not compile with a semi-honest extension.
pub trait Malicious {}

/// The sender of an OT extension: it holds Δ.
pub trait CotSender {
    /// The adversary against which this extension is secure.
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

    /// Correlated OT with random choices: `each` gets `n` of them, chunk by chunk in order. Nothing derived
    /// from them may leave this party before all have been made: an extension may check them at the end.
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

    /// Chosen-message OT: `messages` holds the two messages of each OT one after another, all of `len` bytes.
    /// Costs 2·len bytes per OT in addition to the correlated OT.
    ///
    /// # Panics
    /// If `messages` does not consist of pairs of `len` bytes.
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

/// For those who use an extension for a while only.
impl<C: CotSender> CotSender for &mut C {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn delta(&self) -> &Delta {
        (**self).delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        (**self).hash()
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        (**self).send_correlated_into(out, channel)
    }

    fn send_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        each: &mut dyn FnMut(SentChunk<'_>),
    ) -> Result<()> {
        (**self).send_chunks(n, channel, each)
    }
}

/// The receiver of an OT extension: it holds choices.
pub trait CotReceiver {
    /// The adversary against which this extension is secure.
    const ADVERSARY: Adversary;

    /// The hash that breaks the correlation.
    fn hash(&mut self) -> &mut CorrelationHash;

    /// Correlated OT: fills `out` with t_j = q_j ⊕ c_j·Δ for each choice c_j.
    ///
    /// # Panics
    /// If the numbers of blocks and choices differ.
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

    /// The other side of [`CotSender::send_chunks`], with the same caution. An extension whose choices are
    /// already random does not use `rng`, and saves the cost of changing them.
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
    /// If the numbers of blocks and choices differ.
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

    /// Chosen-message OT: the chosen messages of `len` bytes, one after another.
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
                // Or the compiler would branch on the choice.
                let select = (opaque(choice.into()) as u8).wrapping_neg();
                for ((out, zero), one) in out.iter_mut().zip(&pair[..len]).zip(&pair[len..]) {
                    *out = zero ^ ((zero ^ one) & select);
                }
                mask(out, *key);
            });
        }
        Ok(chosen)
    }
}

/// For those who use an extension for a while only.
impl<C: CotReceiver> CotReceiver for &mut C {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn hash(&mut self) -> &mut CorrelationHash {
        (**self).hash()
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        (**self).receive_correlated_into(choices, out, channel)
    }

    fn receive_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(ReceivedChunk<'_>),
    ) -> Result<()> {
        (**self).receive_chunks(n, channel, rng, each)
    }
}

fn ots_per_chunk(len: usize) -> usize {
    (MESSAGE_CHUNK_BYTES / (2 * len)).max(1)
}

/// Adds the key's stream to a message. A key is used once, so a short message uses the key itself.
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
