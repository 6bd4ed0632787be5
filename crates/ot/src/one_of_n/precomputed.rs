//! 1-out-of-n OT made ahead of time (Beaver, CRYPTO 1995), over any extension, whose security it inherits.
//!
//! 1. Offline, before words are known: random OT of random words r_j. S keeps its keys, R keeps r_j and the key
//!    of each OT at r_j.
//! 2. Online, for R's words w_j, R → S: w_j ⊕ r_j, as many bits as a word has. As its key for a word v, S uses
//!    the key at v ⊕ w_j ⊕ r_j, which for v = w_j is the one that R has.
//!
//! r_j is used once, and hides w_j. An R that sends something else has only chosen another word.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::{
    Block,
    code::are_words,
    packed::{pack_into, packed_len, unpack},
};
use zeroize::Zeroizing;

use super::{Keys, Receiver, Sender};

const SHIFTS: &str = "one-of-n/shifts";

/// Payload bytes of step 2 for `ots` OTs with words of `word_bits` bits, all of them to the sender.
pub fn bytes(ots: usize, word_bits: usize) -> usize {
    packed_len(ots, word_bits as u32)
}

/// S's keys before R has chosen.
pub struct Prepared<K> {
    keys: K,
    word_bits: usize,
}

impl<K: Keys> Prepared<K> {
    /// Step 1 for `ots` OTs.
    pub fn new<S: Sender<Keys = K>>(
        sender: &mut S,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        Ok(Self { keys: sender.send_random(ots, channel, rng)?, word_bits: S::WORD_BITS })
    }

    /// Step 2: the keys shifted by R's message.
    pub fn choose(self, channel: &mut Channel) -> Result<Shifted<K>> {
        let (ots, bits) = (self.keys.len(), self.word_bits);
        let mut packed = vec![0; bytes(ots, bits)];
        channel.recv_into(SHIFTS, &mut packed)?;
        let shifts = unpack(&packed, ots, bits as u32).map(Block).collect();
        Ok(Shifted { keys: self.keys, shifts })
    }
}

/// Keys at words that are shifted, for each OT by its own number.
pub struct Shifted<K> {
    keys: K,
    shifts: Vec<Block>,
}

impl<K: Keys> Keys for Shifted<K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn evaluate(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        word: impl Fn(usize) -> Block + Sync,
        keys: &mut [Block],
    ) {
        let first = starts(0);
        let points = |ot: usize| starts(ot + 1) - starts(ot);
        let shifts = self.shifts.iter().enumerate();
        let shifts: Vec<Block> =
            shifts.flat_map(|(ot, shift)| std::iter::repeat_n(*shift, points(ot))).collect();
        self.keys.evaluate(&starts, |point| word(point) ^ shifts[point - first], keys);
    }
}

/// R's keys before it has chosen.
pub struct Drawn {
    words: Zeroizing<Vec<Block>>,
    keys: Vec<Block>,
    word_bits: usize,
}

impl Drawn {
    /// Step 1 for `ots` OTs.
    pub fn new<R: Receiver>(
        receiver: &mut R,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let word = |_| Block(Block::random(rng).0 >> (128 - R::WORD_BITS));
        let words: Zeroizing<Vec<Block>> = Zeroizing::new((0..ots).map(word).collect());
        let keys = receiver.receive_random(&words, channel, rng)?;
        Ok(Self { words, keys, word_bits: R::WORD_BITS })
    }

    /// Step 2: the key of each OT at the word chosen for it.
    ///
    /// # Panics
    /// If the numbers of words and OTs differ, or a word has too many bits.
    pub fn choose(self, words: &[Block], channel: &mut Channel) -> Result<Vec<Block>> {
        assert_eq!(words.len(), self.words.len(), "a word for each OT");
        assert!(are_words(words, self.word_bits), "words of {} bits", self.word_bits);
        let shifts = words.iter().zip(&*self.words).map(|(word, random)| (*word ^ *random).0);
        let mut packed = Vec::new();
        pack_into(&mut packed, shifts, self.word_bits as u32);
        channel.send(SHIFTS, &packed)?;
        channel.flush()?;
        Ok(self.keys)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_primitives::code::Bch;

    use super::*;
    use crate::{
        one_of_n::{kk13, kkrt16, oos17},
        two_party::run,
    };

    type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

    /// Keys agree at the chosen words, and nowhere else, with several points per OT.
    fn assert_agree<S: Sender, R: Receiver>(sender: Setup<S>, receiver: Setup<R>)
    where
        S::Keys: Send,
    {
        for ots in [0, 1, 127, 300] {
            let rng = &mut StdRng::seed_from_u64(3);
            let words: Vec<Block> =
                (0..ots).map(|_| Block(rng.random::<u128>() >> (128 - R::WORD_BITS))).collect();
            let ((own, others, both), received) = run(
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(1);
                    let mut ot = sender(channel, rng).unwrap();
                    let prepared = Prepared::new(&mut ot, ots, channel, rng).unwrap();
                    channel.flush().unwrap();
                    let keys = prepared.choose(channel).unwrap();
                    let others: Vec<Block> = words.iter().map(|word| *word ^ Block(1)).collect();
                    let mut both = vec![Block::ZERO; 2 * ots];
                    let word = |point: usize| [&words, &others][point % 2][point / 2];
                    keys.evaluate(|ot| 2 * ot, word, &mut both);
                    (keys.at(&words), keys.at(&others), both)
                },
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(2);
                    let mut ot = receiver(channel, rng).unwrap();
                    let drawn = Drawn::new(&mut ot, ots, channel, rng).unwrap();
                    let before = channel.meter().sent();
                    let keys = drawn.choose(&words, channel).unwrap();
                    let sent = (channel.meter().sent() - before) as usize;
                    let least = bytes(ots, R::WORD_BITS);
                    assert!((least..least + 100).contains(&sent), "{sent} for {least}");
                    keys
                },
            );
            assert_eq!(own, received);
            for (i, key) in received.iter().enumerate() {
                assert_ne!(others[i], *key);
                assert_eq!(both[2 * i..2 * i + 2], [own[i], others[i]]);
            }
        }
    }

    #[test]
    fn keys_agree_at_words_chosen_later() {
        assert_agree(kk13::Sender::setup, kk13::Receiver::setup);
        assert_agree(
            |channel, rng| kkrt16::Sender::setup(448, channel, rng),
            |channel, rng| kkrt16::Receiver::setup(448, channel, rng),
        );
        assert_agree(
            |channel, rng| oos17::Sender::setup(Bch::new(), channel, rng),
            |channel, rng| oos17::Receiver::setup(Bch::new(), channel, rng),
        );
    }
}
