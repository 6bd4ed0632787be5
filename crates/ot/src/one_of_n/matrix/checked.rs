//! The bare matrix against malicious parties: the matrix of [`oos17`](crate::one_of_n::oos17), with its check
//! over the rows of all pieces.
//!
//! The guarantee of the check also holds for sums of rows: outside the few places at which a receiver guessed Δ,
//! all rows are codewords of words, and so are sums of them.

use std::ops::Range;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{LinearCode, Row},
};
use zeroize::Zeroizing;

pub use super::super::check::{CHECK, WRONG_ROWS_PASS};
use super::{
    super::{
        check::{self, SUMS},
        rows::{self, RowBuffers},
    },
    Pieces, unchecked,
};
use crate::{
    Bytes, Malicious, ZeroizingVec,
    base::{BaseOt, extended::Extended},
    extension::columns::{self, CHUNK_ROWS},
};

/// The base OTs underneath.
type Base = Extended;

/// Malicious, in the model of the base OTs.
pub const ADVERSARY: Adversary = Base::ADVERSARY;

/// The party with Δ.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    delta: Zeroizing<C::Row>,
    code: C,
    pieces: Pieces,
}

impl<C: LinearCode> Malicious for Sender<C> {}

impl<C: LinearCode> Sender<C> {
    /// All rows q, checked, followed by the mask rows. After a failure there must be no other call: a
    /// receiver that could try again would learn Δ.
    fn receive(
        &mut self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<ZeroizingVec<Block>> {
        let pieces = self.pieces;
        let mut q = ZeroizingVec::zeros((pieces.all() + SUMS) * C::Row::BLOCKS);
        let mut scratch = ZeroizingVec::zeros(C::WIDTH * CHUNK_ROWS / 128);
        let (rows, masks) = q.split_at_mut(pieces.all() * C::Row::BLOCKS);
        for rows in rows.chunks_mut(pieces.rows * C::Row::BLOCKS).chain([masks]) {
            unchecked::fill::<C>(&mut self.columns, rows, &mut scratch, channel)?;
        }
        check::verify(&self.code, &self.delta, bytemuck::cast_slice(&q), channel, rng)?;
        Ok(q)
    }
}

impl<C: LinearCode> super::Sender<C> for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn setup_bytes() -> Bytes {
        let base = Base::bytes(C::WIDTH);
        Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
    }

    fn bytes(pieces: Pieces) -> Bytes {
        let columns = pieces.bytes(C::WIDTH) + columns::bytes(C::WIDTH, SUMS);
        Bytes { to_sender: columns, to_receiver: 0 } + check::bytes::<C>()
    }

    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let delta = Zeroizing::new(C::Row::from_blocks(columns.delta().expose()));
        Ok(Self { columns, delta, code, pieces })
    }

    /// # Errors
    /// A deviation ([`CHECK`]) if the receiver's rows do not belong to words.
    fn extend(
        mut self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        mut show: impl FnMut(usize, &[C::Row], &C::Row),
    ) -> Result<()> {
        let (q, pieces) = (self.receive(channel, rng)?, self.pieces);
        let rows: &[C::Row] = bytemuck::cast_slice(&q);
        let shown = rows[..pieces.all()].chunks(pieces.rows).enumerate();
        shown.for_each(|(piece, rows)| show(piece, rows, &self.delta));
        Ok(())
    }
}

/// The party with words.
pub struct Receiver<C: LinearCode> {
    columns: columns::Receiver,
    code: C,
    pieces: Pieces,
    /// The words so far, followed at the end by the masks.
    words: ZeroizingVec<Block>,
    /// Their rows: the check covers all of them.
    t: ZeroizingVec<Block>,
    /// The number of rows so far.
    done: usize,
    scratch: RowBuffers,
}

impl<C: LinearCode> Malicious for Receiver<C> {}

impl<C: LinearCode> Receiver<C> {
    /// Makes the next rows, one for each word; returns their range among all rows.
    fn next(&mut self, words: &[Block], channel: &mut Channel) -> Result<Range<usize>> {
        let rows = self.done..self.done + words.len();
        self.words[rows.clone()].copy_from_slice(words);
        let t = &mut self.t[rows.start * C::Row::BLOCKS..rows.end * C::Row::BLOCKS];
        rows::send_rows(&self.code, &mut self.columns, words, t, &mut self.scratch, channel)?;
        self.done = rows.end;
        Ok(rows)
    }

    fn rows(&self) -> &[C::Row] {
        bytemuck::cast_slice(&self.t)
    }
}

impl<C: LinearCode> super::Receiver<C> for Receiver<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Receiver::setup::<Base>(C::WIDTH, channel, rng)?;
        let rows = pieces.all() + SUMS;
        let (words, t) = (ZeroizingVec::zeros(rows), ZeroizingVec::zeros(rows * C::Row::BLOCKS));
        Ok(Self { columns, code, pieces, words, t, done: 0, scratch: RowBuffers::default() })
    }

    fn extend(&mut self, words: &[Block], channel: &mut Channel) -> Result<&[C::Row]> {
        assert_eq!(words.len(), self.pieces.rows, "a word for each row of a piece");
        assert!(self.done < self.pieces.all(), "no more pieces than were said");
        let rows = self.next(words, channel)?;
        Ok(&self.rows()[rows])
    }

    fn finish(mut self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<()> {
        assert_eq!(self.done, self.pieces.all(), "as many pieces as were said");
        self.next(&check::masks::<C>(rng), channel)?;
        check::prove(&self.words, self.rows(), channel)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_net::{Deviation, Error};
    use vesica_primitives::code::{Code, Concatenated, Row as _};

    use super::{
        super::{Receiver as _, Sender as _},
        *,
    };
    use crate::two_party::run;

    type Row = <Concatenated as LinearCode>::Row;

    /// The number of attempts of a malicious receiver.
    fn attempts() -> usize {
        vesica_testkit::assurance::trials(150, 1000)
    }

    const WIDTH: usize = <Concatenated as LinearCode>::WIDTH;

    /// Three pieces of seven rows.
    const PIECES: Pieces = Pieces { count: 3, rows: 7 };

    /// The behaviour of a receiver in one attempt.
    #[derive(Clone, Default)]
    struct Attempt {
        /// Flipped places of the matrix: row, counted through pieces and masks, and column.
        flips: Vec<(usize, usize)>,
        /// The flipped columns for which it guesses that Δ is 1.
        guessed_ones: Vec<usize>,
        /// Added to a word in the columns, but not in the answer.
        inconsistency: Option<(usize, Block)>,
        /// Added to a block of the answer.
        answer_change: Option<(usize, Block)>,
        /// Whether it repeats the answer that was correct in the previous attempt.
        replays: bool,
    }

    /// The code of a malicious receiver, for the rows from `first` on.
    struct Falsely<'a> {
        code: &'a Concatenated,
        attempt: &'a Attempt,
        first: usize,
    }

    impl Code for Falsely<'_> {
        type Row = Row;

        const DIMENSION: usize = 128;

        fn width(&self) -> usize {
            WIDTH
        }

        fn encode(&self, words: &[Block], rows: &mut [Row]) {
            self.code.encode(words, rows);
        }

        fn encode_columns(&self, words: &[Block], columns: &mut [Block]) {
            let here = self.first..self.first + words.len();
            let mut words = words.to_vec();
            if let Some((row, sum)) = self.attempt.inconsistency.filter(|(r, _)| here.contains(r)) {
                words[row - self.first] ^= sum;
            }
            self.code.encode_columns(&words, columns);
            let flips = self.attempt.flips.iter().filter(|(row, _)| here.contains(row));
            flips.for_each(|(row, column)| columns[*column] ^= Block(1 << (row - self.first)));
        }
    }

    /// One run of a malicious receiver; returns the answer of an honest one.
    fn deviate(
        receiver: &mut Receiver<Concatenated>,
        attempt: &Attempt,
        last: &[Block],
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Vec<Block> {
        let words: Vec<Block> = (0..PIECES.all() + SUMS).map(|_| Block(rng.random())).collect();
        let mut t = vec![Block::ZERO; words.len() * Row::BLOCKS];
        let (of_pieces, masks) = words.split_at(PIECES.all());
        let mut first = 0;
        for words in of_pieces.chunks(PIECES.rows).chain([masks]) {
            let t = &mut t[first * Row::BLOCKS..(first + words.len()) * Row::BLOCKS];
            let code = Falsely { code: &receiver.code, attempt, first };
            let (columns, buffers) = (&mut receiver.columns, &mut RowBuffers::default());
            rows::send_rows(&code, columns, words, t, buffers, channel).unwrap();
            first += words.len();
        }
        let challenge = check::receive_challenge(channel).unwrap();
        let t: &mut [Row] = bytemuck::cast_slice_mut(&mut t);
        let right = check::answer(&words, t, challenge);
        for (row, column) in &attempt.flips {
            if attempt.guessed_ones.contains(column) {
                t[*row][column / 128].0 ^= 1 << (column % 128);
            }
        }
        let mut answer = check::answer(&words, t, challenge);
        if let Some((at, change)) = attempt.answer_change {
            answer[at] ^= change;
        }
        let sent = if attempt.replays { last } else { &answer };
        channel.send_slice(check::ANSWER, sent).unwrap();
        channel.flush().unwrap();
        right
    }

    /// Δ, and which attempts are accepted. All use one setup, where an honest sender would have stopped at its
    /// first refusal.
    fn accepted(attempts: &[Attempt]) -> (Row, Vec<bool>) {
        let (outcomes, ()) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let code = Concatenated::new();
                let mut sender = Sender::setup(code, PIECES, channel, rng).unwrap();
                let accepted = attempts.iter().map(|_| match sender.receive(channel, rng) {
                    Ok(_) => true,
                    Err(Error::Peer {
                        deviation: Deviation::CheckFailed { check: CHECK }, ..
                    }) => false,
                    Err(other) => panic!("{other}"),
                });
                let accepted = accepted.collect();
                (*sender.delta, accepted)
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let code = Concatenated::new();
                let mut receiver = Receiver::setup(code, PIECES, channel, rng).unwrap();
                let mut last = vec![Block(3); SUMS * (1 + Row::BLOCKS)];
                for attempt in attempts {
                    last = deviate(&mut receiver, attempt, &last, channel, rng);
                }
            },
        );
        outcomes
    }

    fn bit(delta: &Row, column: usize) -> bool {
        delta[column / 128].0 >> (column % 128) & 1 == 1
    }

    fn count(accepted: &[bool]) -> usize {
        accepted.iter().filter(|accepted| **accepted).count()
    }

    /// In any piece, and in the masks.
    #[test]
    fn a_flipped_bit_passes_only_where_delta_is_0() {
        let rng = &mut StdRng::seed_from_u64(3);
        let attempts: Vec<Attempt> = (0..attempts())
            .map(|i| (i % (PIECES.all() + SUMS), rng.random_range(0..WIDTH)))
            .map(|flip| Attempt { flips: vec![flip], ..Attempt::default() })
            .collect();
        let (delta, accepted) = accepted(&attempts);
        for (attempt, accepted) in attempts.iter().zip(&accepted) {
            assert_eq!(*accepted, !bit(&delta, attempt.flips[0].1));
        }
        let share = count(&accepted) as f64 / accepted.len() as f64;
        assert!((0.4..0.6).contains(&share), "half of them");
    }

    #[test]
    fn flips_in_k_columns_pass_with_probability_2_to_the_minus_k() {
        for k in [1, 3, 5] {
            let rng = &mut StdRng::seed_from_u64(k as u64);
            let attempts: Vec<Attempt> = (0..attempts())
                .map(|_| {
                    let columns: Vec<usize> =
                        (0..k).map(|i| i + 5 * rng.random_range(0..115)).collect();
                    let guessed_ones = columns.iter().copied().filter(|_| rng.random()).collect();
                    let flips = columns.into_iter().map(|c| (rng.random_range(0..21), c)).collect();
                    Attempt { flips, guessed_ones, ..Attempt::default() }
                })
                .collect();
            let (delta, accepted) = accepted(&attempts);
            for (attempt, accepted) in attempts.iter().zip(&accepted) {
                let is_right =
                    |(_, c): &(usize, usize)| bit(&delta, *c) == attempt.guessed_ones.contains(c);
                assert_eq!(*accepted, attempt.flips.iter().all(is_right), "{k} columns");
            }
            let expected = accepted.len() as f64 / f64::from(1 << k);
            let off = count(&accepted) as f64 - expected;
            assert!(off.abs() < 5.0 * expected.sqrt(), "{k} columns: {off} off {expected}");
        }
    }

    #[test]
    fn rows_that_are_no_codewords_or_of_another_word_never_pass() {
        let rng = &mut StdRng::seed_from_u64(5);
        let attempts: Vec<Attempt> = (0..attempts())
            .map(|i| {
                let row = rng.random_range(0..PIECES.all() + SUMS);
                if i % 2 == 0 {
                    let noise = (0..WIDTH).filter(|_| rng.random());
                    Attempt { flips: noise.map(|c| (row, c)).collect(), ..Attempt::default() }
                } else {
                    let bit = Block(1 << rng.random_range(0..128));
                    Attempt { inconsistency: Some((row, bit)), ..Attempt::default() }
                }
            })
            .collect();
        assert_eq!(count(&accepted(&attempts).1), 0);
    }

    #[test]
    fn an_answer_that_is_wrong_or_from_another_run_never_passes() {
        let rng = &mut StdRng::seed_from_u64(6);
        let attempts: Vec<Attempt> = (0..attempts())
            .map(|i| match i % 2 {
                0 => Attempt { replays: true, ..Attempt::default() },
                _ => {
                    let at = rng.random_range(0..SUMS * (1 + Row::BLOCKS));
                    let change = Some((at, Block(1 << rng.random_range(0..128))));
                    Attempt { answer_change: change, ..Attempt::default() }
                }
            })
            .collect();
        assert_eq!(count(&accepted(&attempts).1), 0);
    }

    #[test]
    fn honest_attempts_pass() {
        assert_eq!(count(&accepted(&vec![Attempt::default(); 100]).1), 100);
    }
}
