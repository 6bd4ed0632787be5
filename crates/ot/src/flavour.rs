//! The flavours of OT: an extension implements correlated OT, the others are derived from it here.
//!
//! | flavour | sender | receiver |
//! |---|---|---|
//! | correlated | q_j; all share Δ | t_j = q_j ⊕ c_j·Δ |
//! | random | two random blocks | the chosen one |
//! | chosen message | two messages of its own | the chosen one |

use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{
    Bits, Block, Delta, Seed,
    aes::{CorrelationRobust, Prg},
};
use zeroize::Zeroizing;

const MESSAGES: &str = "ot/messages";

/// OTs whose masked messages go into one network message: bounds what either side has to hold.
const MESSAGE_CHUNK_BYTES: usize = 1 << 20;

/// The sender of an OT extension: it holds Δ.
pub trait CotSender {
    /// The offset that all correlated OTs of this sender share. Secret.
    fn delta(&self) -> &Delta;

    /// The hash that breaks the correlation.
    fn hash(&self) -> &CorrelationRobust;

    /// Correlated OT: q_j for each of `n` OTs.
    fn send_correlated(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<Block>>;

    /// Random OT: two pseudo-random blocks for each of `n` OTs.
    fn send_random(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
        let correlated = self.send_correlated(n, channel)?;
        let delta = self.delta().expose()[0];
        let mut pairs: Vec<[Block; 2]> = correlated.into_iter().map(|q| [q, q ^ delta]).collect();
        self.hash().apply(pairs.as_flattened_mut());
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
    /// The hash that breaks the correlation.
    fn hash(&self) -> &CorrelationRobust;

    /// Correlated OT: t_j = q_j ⊕ c_j·Δ for each choice c_j.
    fn receive_correlated(&mut self, choices: &Bits, channel: &mut Channel) -> Result<Vec<Block>>;

    /// Random OT: the chosen block of each pair.
    fn receive_random(&mut self, choices: &Bits, channel: &mut Channel) -> Result<Vec<Block>> {
        let mut blocks = self.receive_correlated(choices, channel)?;
        self.hash().apply(&mut blocks);
        Ok(blocks)
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
fn mask(message: &mut [u8], key: Block) {
    if let Some(short) = key.to_bytes().get(..message.len()) {
        message.iter_mut().zip(short).for_each(|(m, k)| *m ^= k);
        return;
    }
    let mut stream = Zeroizing::new(vec![Block::ZERO; message.len().div_ceil(16)]);
    Prg::new(&Seed::new(key)).fill(&mut stream);
    let stream: &[u8] = bytemuck::cast_slice(&stream);
    message.iter_mut().zip(stream).for_each(|(m, k)| *m ^= k);
}
