//! Correlated OTs with random choices, provided a chunk at a time, so that they are processed while they are in
//! the cache and millions of them are never held at once.
//!
//! The consumer of a chunk takes either random OTs of single bits, packed, or random OTs of blocks.

use vesica_primitives::{Bits, Block};

use crate::correlation_hash::{CorrelationHash, HASH_BATCH};

/// OTs per chunk if an extension makes any requested number at a time: they fit the second-level cache.
pub(crate) const CHUNK: usize = 1 << 13;

/// The maximal number of OTs whose blocks are provided together.
pub const BATCH: usize = HASH_BATCH;

/// A chunk, for the party with Δ.
pub struct SentChunk<'a> {
    hash: &'a mut CorrelationHash,
    delta: Block,
    rows: &'a [Block],
}

impl<'a> SentChunk<'a> {
    pub(crate) fn new(hash: &'a mut CorrelationHash, delta: Block, rows: &'a [Block]) -> Self {
        Self { hash, delta, rows }
    }

    /// The number of OTs left in it.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no OT is left.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Random OT of bits for the next `n` OTs: `each` gets the messages for 0 and those for 1 of up to 64 OTs,
    /// and their number.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn take_bits(&mut self, n: usize, mut each: impl FnMut([u64; 2], usize)) {
        self.take_blocks(n, |zeros, ones| {
            for (zeros, ones) in zeros.chunks(64).zip(ones.chunks(64)) {
                each([lowest_bits(zeros), lowest_bits(ones)], zeros.len());
            }
        });
    }

    /// Random OT of blocks for the next `n` OTs: `each` gets the messages for 0 and those for 1 of up to
    /// [`BATCH`] OTs.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn take_blocks(&mut self, n: usize, each: impl FnMut(&mut [Block], &mut [Block])) {
        let (rows, left) = self.rows.split_at(n);
        self.rows = left;
        self.hash.show_both(self.delta, rows, each);
    }
}

/// A chunk, for the party with choices.
pub struct ReceivedChunk<'a> {
    hash: &'a mut CorrelationHash,
    choices: &'a Bits,
    rows: &'a mut [Block],
    /// The number of OTs taken.
    taken: usize,
}

impl<'a> ReceivedChunk<'a> {
    pub(crate) fn new(
        hash: &'a mut CorrelationHash,
        choices: &'a Bits,
        rows: &'a mut [Block],
    ) -> Self {
        debug_assert_eq!(choices.len(), rows.len(), "a choice for each OT");
        Self { hash, choices, rows, taken: 0 }
    }

    /// The number of OTs left in it.
    pub fn len(&self) -> usize {
        self.rows.len() - self.taken
    }

    /// Whether no OT is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Random OT of bits for the next `n` OTs: `each` gets the choices and the chosen messages of up to 64 OTs,
    /// and their number.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn take_bits(&mut self, n: usize, mut each: impl FnMut([u64; 2], usize)) {
        self.take_blocks(n, |choices, chosen| {
            for (choices, chosen) in choices.iter().zip(chosen.chunks(64)) {
                each([*choices, lowest_bits(chosen)], chosen.len());
            }
        });
    }

    /// Random OT of blocks for the next `n` OTs: `each` gets the choices, packed, and the chosen messages of up
    /// to [`BATCH`] OTs.
    ///
    /// # Panics
    /// If fewer are left.
    pub fn take_blocks(&mut self, n: usize, mut each: impl FnMut([u64; BATCH / 64], &mut [Block])) {
        for rows in self.rows[self.taken..][..n].chunks_mut(BATCH) {
            self.hash.apply_chosen(rows);
            let first = self.taken;
            let choices = [0, 64].map(|skip| {
                let after = rows.len().saturating_sub(skip).min(64);
                bits_from(self.choices, first + skip, after)
            });
            each(choices, rows);
            self.taken += rows.len();
        }
    }
}

/// Up to 64 bits from bit `first` on.
fn bits_from(bits: &Bits, first: usize, count: usize) -> u64 {
    let words: &[u64] = bytemuck::cast_slice(bits.blocks());
    let (word, shift) = (first / 64, first % 64);
    let at = |word: usize| words.get(word).copied().unwrap_or(0);
    let high = at(word + 1).checked_shl(64 - shift as u32).unwrap_or(0);
    let all = at(word) >> shift | high;
    match count {
        64 => all,
        _ => all & ((1 << count) - 1),
    }
}

/// The lowest bit of each of up to 64 blocks.
pub(crate) fn lowest_bits(blocks: &[Block]) -> u64 {
    let words: &[[u64; 2]] = bytemuck::cast_slice(blocks);
    words.iter().rev().fold(0, |packed, block| packed << 1 | block[0] & 1)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{
        CotReceiver, CotSender,
        two_party::{Ideal, run},
    };

    /// Numbers of OTs that a party takes, alternately bits and blocks.
    const PARTS: [usize; 6] = [1, 64, 130, 0, 1000, 7];

    type Sent = (Vec<[u8; 2]>, Vec<[Block; 2]>);
    type Received = (Vec<[u8; 2]>, Vec<(u8, Block)>);

    fn bit(word: u64, i: usize) -> u8 {
        (word >> i & 1) as u8
    }

    fn sent(n: usize) -> Sent {
        let (mut bits, mut pairs) = Sent::default();
        let mut parts = PARTS.into_iter().cycle();
        run(
            |channel| {
                Ideal::new(3).send_chunks(n, channel, &mut |mut chunk| {
                    while !chunk.is_empty() {
                        let part = parts.next().unwrap().min(chunk.len());
                        chunk.take_bits(part, |words, count| {
                            bits.extend((0..count).map(|i| words.map(|word| bit(word, i))));
                        });
                        let part = parts.next().unwrap().min(chunk.len());
                        chunk.take_blocks(part, |zeros, ones| {
                            assert!(zeros.len() <= BATCH);
                            pairs.extend(zeros.iter().zip(ones).map(|(zero, one)| [*zero, *one]));
                        });
                    }
                })
            },
            |_| (),
        )
        .0
        .unwrap();
        (bits, pairs)
    }

    fn received(n: usize) -> Received {
        let (mut bits, mut blocks) = Received::default();
        let mut parts = PARTS.into_iter().cycle();
        let rng = &mut StdRng::seed_from_u64(9);
        run(
            |channel| {
                Ideal::new(3).receive_chunks(n, channel, rng, &mut |mut chunk| {
                    while !chunk.is_empty() {
                        let part = parts.next().unwrap().min(chunk.len());
                        chunk.take_bits(part, |words, count| {
                            bits.extend((0..count).map(|i| words.map(|word| bit(word, i))));
                        });
                        let part = parts.next().unwrap().min(chunk.len());
                        chunk.take_blocks(part, |choices, rows| {
                            let choice = |i: usize| bit(choices[i / 64], i % 64);
                            blocks
                                .extend(rows.iter().enumerate().map(|(i, row)| (choice(i), *row)));
                        });
                    }
                })
            },
            |_| (),
        )
        .0
        .unwrap();
        (bits, blocks)
    }

    #[test]
    fn chosen_messages_equal_sent_messages() {
        for n in [0, 1, 127, 129, CHUNK, 2 * CHUNK + 77] {
            let ((bits, pairs), (chosen_bits, chosen)) = (sent(n), received(n));
            assert_eq!(bits.len() + pairs.len(), n);
            assert_eq!([bits.len(), pairs.len()], [chosen_bits.len(), chosen.len()]);
            for (pair, [choice, chosen]) in bits.iter().zip(&chosen_bits) {
                assert_eq!(pair[usize::from(*choice)], *chosen);
            }
            for (pair, (choice, chosen)) in pairs.iter().zip(&chosen) {
                assert_eq!(pair[usize::from(*choice)], *chosen);
            }
            if n > CHUNK {
                let ones: u64 = chosen_bits.iter().map(|[choice, _]| u64::from(*choice)).sum();
                assert!(ones.abs_diff(chosen_bits.len() as u64 / 2) < 500);
            }
        }
    }
}
