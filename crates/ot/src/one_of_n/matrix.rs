//! The matrix of a 1-out-of-n OT extension under a linear code, bare: for protocols that add rows
//! before they hash them. Semi-honest.
//!
//! S holds q_j = t_j ⊕ (C(w_j) ∧ Δ), R holds t_j for its word w_j, as in [`rows`]. Since C is
//! linear, the same holds of sums: for any set of rows, the sum of q is that of t ⊕ (C(sum of w) ∧ Δ).

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{LinearCode, Row},
    group::Ristretto,
    matrix::columns_to_rows,
};
use zeroize::Zeroizing;

use super::rows::{self, Room};
use crate::{
    Bytes, Wiped,
    base::{BaseOt, np01::Np01},
    extension::columns::{self, CHUNK_ROWS},
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing ties the receiver to codewords.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

/// Payload bytes of the setup.
pub fn setup_bytes<C: LinearCode>() -> Bytes {
    let base = Base::bytes(C::WIDTH);
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
}

/// Payload bytes of a call for `rows` rows, all of them to the sender.
pub fn bytes<C: LinearCode>(rows: usize) -> usize {
    columns::bytes(C::WIDTH, rows)
}

/// The party with Δ.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    delta: Zeroizing<C::Row>,
    /// The columns of the last rows, of which only the room matters.
    q: Wiped<Block>,
}

impl<C: LinearCode> Sender<C> {
    /// The base OTs.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let delta = Zeroizing::new(C::Row::from_blocks(columns.delta().expose()));
        Ok(Self { columns, delta, q: Wiped::zeros(C::WIDTH * CHUNK_ROWS / 128) })
    }

    /// Δ.
    pub fn delta(&self) -> &C::Row {
        &self.delta
    }

    /// Fills `rows` with the next rows q.
    pub fn extend(&mut self, rows: &mut [C::Row], channel: &mut Channel) -> Result<()> {
        for rows in rows.chunks_mut(CHUNK_ROWS) {
            let padded = rows.len().next_multiple_of(128);
            let q = &mut self.q[..C::WIDTH * padded / 128];
            self.columns.extend_into(q, channel)?;
            columns_to_rows(q, padded, bytemuck::cast_slice_mut(rows), C::Row::BLOCKS);
        }
        Ok(())
    }
}

/// The party with words.
pub struct Receiver<C: LinearCode> {
    columns: columns::Receiver,
    code: C,
    room: Room,
}

impl<C: LinearCode> Receiver<C> {
    /// The base OTs.
    pub fn setup(code: C, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Receiver::setup::<Base>(C::WIDTH, channel, rng)?;
        Ok(Self { columns, code, room: Room::default() })
    }

    /// Fills `rows`, one for each word, with the next rows t.
    ///
    /// # Panics
    /// Where a word has too many bits.
    pub fn extend(
        &mut self,
        words: &[Block],
        rows: &mut [C::Row],
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(words.len(), rows.len(), "a row for each word");
        let rows = bytemuck::cast_slice_mut(rows);
        rows::send_rows((&self.code, &mut self.columns), words, rows, &mut self.room, channel)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_primitives::code::{Code, ShortBch};

    use super::*;
    use crate::two_party::run;

    #[test]
    fn sums_of_rows_are_rows_of_sums() {
        for n in [1, 2, 128, CHUNK_ROWS, 2 * CHUNK_ROWS + 5] {
            let mut rng = StdRng::seed_from_u64(1);
            let words: Vec<Block> = (0..n).map(|_| Block(rng.random::<u128>() >> 60)).collect();
            let ((delta, q), t) = run(
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(2);
                    let mut sender = Sender::<ShortBch>::setup(channel, rng).unwrap();
                    let mut q = vec![[Block::ZERO; 4]; n];
                    // In two calls.
                    let (head, tail) = q.split_at_mut(n / 2);
                    sender.extend(head, channel).unwrap();
                    sender.extend(tail, channel).unwrap();
                    (*sender.delta(), q)
                },
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(3);
                    let mut receiver = Receiver::setup(ShortBch::new(), channel, rng).unwrap();
                    let mut t = vec![[Block::ZERO; 4]; n];
                    let (head, tail) = t.split_at_mut(n / 2);
                    receiver.extend(&words[..n / 2], head, channel).unwrap();
                    receiver.extend(&words[n / 2..], tail, channel).unwrap();
                    t
                },
            );
            let sum = |rows: &[[Block; 4]]| {
                rows.iter().fold([Block::ZERO; 4], |mut sum, row| {
                    sum.add(row);
                    sum
                })
            };
            for of in [0..1, 0..n, n / 3..n, n - 1..n] {
                let word = words[of.clone()].iter().fold(Block::ZERO, |sum, word| sum ^ *word);
                let mut codeword = [[Block::ZERO; 4]];
                ShortBch::new().encode(&[word], &mut codeword);
                assert_eq!(sum(&t[of.clone()]).add_masked(&codeword[0], &delta), sum(&q[of]));
            }
        }
    }
}
