//! The bare matrix of a 1-out-of-n OT extension under a linear code, for protocols that add rows before hashing
//! them.
//!
//! S holds q_j = t_j ⊕ (C(w_j) ∧ Δ), R holds t_j for its word w_j, as in [`rows`](super::rows). Since C is
//! linear, the same holds for sums: for any set of rows, the sum of q is the sum of t ⊕ (C(sum of w) ∧ Δ).
//!
//! Rows come in pieces. [`unchecked`] is semi-honest and releases each piece as soon as it is available;
//! [`checked`] releases none before all are checked.

pub mod checked;
pub mod unchecked;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Block, code::LinearCode};

use crate::{Bytes, extension::columns};

/// The number of rows of a matrix, and of its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces {
    /// The number of pieces.
    pub count: usize,
    /// Rows per piece, at least 1.
    pub rows: usize,
}

impl Pieces {
    /// Rows of all pieces.
    fn all(self) -> usize {
        self.count * self.rows
    }

    /// Bytes of the masked columns for a code of `width` bits.
    fn bytes(self, width: usize) -> usize {
        self.count * columns::bytes(width, self.rows)
    }
}

/// The party with Δ.
pub trait Sender<C: LinearCode>: Send + Sized {
    /// The adversary against which the extension is secure.
    const ADVERSARY: Adversary;

    /// Payload bytes of the setup.
    fn setup_bytes() -> Bytes;

    /// Payload bytes of all rows.
    fn bytes(pieces: Pieces) -> Bytes;

    /// The base OTs.
    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self>;

    /// Passes on the number of each piece, its rows q, and Δ, in order and each as soon as it may be used.
    fn extend(
        self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        show: impl FnMut(usize, &[C::Row], &C::Row),
    ) -> Result<()>;
}

/// The party with words.
pub trait Receiver<C: LinearCode>: Send + Sized {
    /// The adversary against which the extension is secure.
    const ADVERSARY: Adversary;

    /// The base OTs.
    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self>;

    /// The rows t of the next piece, one for each word.
    ///
    /// # Panics
    /// If there are not as many words as rows in a piece, or a word has too many bits.
    fn extend(&mut self, words: &[Block], channel: &mut Channel) -> Result<&[C::Row]>;

    /// The steps after the last piece.
    fn finish(self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_primitives::code::{Code, Concatenated, Row, ShortBch};

    use super::*;
    use crate::{extension::columns::CHUNK_ROWS, two_party::run};

    fn sum<R: Row>(rows: &[R]) -> R {
        rows.iter().fold(R::zeroed(), |mut sum, row| {
            sum.add(row);
            sum
        })
    }

    fn blocks<R: Row>(row: &R) -> &[Block] {
        bytemuck::cast_slice(std::slice::from_ref(row))
    }

    fn sums_of_rows_are_rows_of_sums<C, S, R>()
    where
        C: LinearCode + Default,
        S: Sender<C>,
        R: Receiver<C>,
    {
        let bits = <C as LinearCode>::DIMENSION;
        for (count, rows) in [(1, 1), (3, 2), (2, 128), (2, CHUNK_ROWS), (1, 2 * CHUNK_ROWS + 5)] {
            let (pieces, n) = (Pieces { count, rows }, count * rows);
            let mut rng = StdRng::seed_from_u64(1);
            let words: Vec<Block> =
                (0..n).map(|_| Block(rng.random::<u128>() >> (128 - bits))).collect();
            let ((delta, q, bytes), t) = run(
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(2);
                    let sender = S::setup(C::default(), pieces, channel, rng).unwrap();
                    let (mut q, mut delta) = (Vec::new(), C::Row::zeroed());
                    let before = channel.meter().received();
                    let show = |piece: usize, shown: &[C::Row], of: &C::Row| {
                        assert_eq!((piece * rows, shown.len()), (q.len(), rows));
                        q.extend_from_slice(shown);
                        delta = *of;
                    };
                    sender.extend(channel, rng, show).unwrap();
                    (delta, q, (channel.meter().received() - before) as usize)
                },
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(3);
                    let mut receiver = R::setup(C::default(), pieces, channel, rng).unwrap();
                    let mut t = Vec::new();
                    for words in words.chunks(rows) {
                        t.extend_from_slice(receiver.extend(words, channel).unwrap());
                    }
                    receiver.finish(channel, rng).unwrap();
                    t
                },
            );
            let expected = S::bytes(pieces).to_sender;
            assert!((expected..expected + 300).contains(&bytes), "{bytes} for {expected}");
            for of in [0..1, 0..n, n / 3..n, n - 1..n] {
                let word = words[of.clone()].iter().fold(Block::ZERO, |sum, word| sum ^ *word);
                let mut codeword = [C::Row::zeroed()];
                C::default().encode(&[word], &mut codeword);
                let expected = sum(&t[of.clone()]).add_masked(&codeword[0], &delta);
                assert_eq!(blocks(&expected), blocks(&sum(&q[of])));
            }
        }
    }

    #[test]
    fn sums_of_unchecked_rows_are_rows_of_sums() {
        type Code = ShortBch;
        sums_of_rows_are_rows_of_sums::<Code, unchecked::Sender<Code>, unchecked::Receiver<Code>>();
    }

    #[test]
    fn sums_of_checked_rows_are_rows_of_sums() {
        type Code = Concatenated;
        sums_of_rows_are_rows_of_sums::<Code, checked::Sender<Code>, checked::Receiver<Code>>();
    }
}
