//! Correlated OT from checked columns. Malicious, provided that the source of the columns is.
//!
//! The check that a receiver used the same choices for every column is the universal hash of columns of
//! SoftSpokenOT (Roy, CRYPTO 2022, §4), which also repairs KOS15.
//!
//! R has sent something from which S computed columns q_i. An honest R has t_i = q_i ⊕ Δ_i·c with one vector
//! c of choices; a malicious one may have another c for each chunk of Δ.
//!
//! 1. Both make [`MASK_ROWS`] additional rows at the end, with random choices. They are used for nothing else.
//! 2. Once all columns are fixed, S → R: a random block, from which both derive, with the session identifier, χ of
//!    GF(2^128).
//! 3. R → S: the hash of its choices and of each column t_i, where a column of blocks x_1 … x_B is hashed to Σ
//!    χ^(B−b)·x_b. The last block, which χ does not touch, masks the contribution of the others.
//! 4. S refuses unless h(q_i) = h(t_i) ⊕ Δ_i·h(c) for all i.
//!
//! Two different vectors have the same hash for at most B − 1 of all χ. If all vectors that R used have
//! different hashes, R passes only if it guessed those chunks of Δ whose vector is not the one of its answer:
//! with probability 2^-k for each such chunk of k bits. That is by design, and gives R no advantage: R could as
//! well have guessed those bits of Δ afterwards. [`error`] is the probability of anything else.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::Adversary;
use vesica_primitives::{
    Bits, Block, Delta, Seed,
    aes::Prg,
    are_equal,
    gf::{inner_product128, multiply128},
    matrix::columns_to_rows,
};
use zeroize::Zeroizing;

use super::columns::{CHUNK_ROWS, ColumnReceiver, ColumnSender};
use crate::{
    Bytes, challenge,
    correlation_hash::CorrelationHash,
    variants::{CotReceiver, CotSender, Malicious},
};

#[cfg(test)]
mod adversary;
#[cfg(test)]
pub(super) use adversary::MaliciousColumns;

/// Malicious, provided that the underlying base OTs are too.
pub const ADVERSARY: Adversary = Adversary::Malicious;

/// The check by which a sender refuses a receiver.
pub const CHECK: &str = "choices equal in every column";

/// Rows that are sacrificed to hide the others.
pub const MASK_ROWS: usize = 128;

/// Columns of the matrix.
const WIDTH: usize = 128;

const CHALLENGE: &str = "extension/challenge";
const ANSWER: &str = "extension/answer";
const CONTEXT: &str = "vesica extension challenge v1";

/// Columns hashed per thread.
const TASK_COLUMNS: usize = 32;

/// log2 of the probability that a receiver with different choices in some of `chunks` chunks of Δ
/// passes for `rows` OTs other than by guessing those chunks: at most C(chunks, 2)·(B − 1)/2^128,
/// where B = ⌈rows/128⌉ + 1. At most −83 for 128 chunks and 2^39 OTs.
pub fn error(chunks: usize, rows: usize) -> f64 {
    let pairs = chunks as f64 * (chunks as f64 - 1.0) / 2.0;
    (pairs * rows.div_ceil(128) as f64).log2() - 128.0
}

/// Rows of a call of `n` OTs, masks included.
pub const fn rows(n: usize) -> usize {
    match n {
        0 => 0,
        _ => n.next_multiple_of(128) + MASK_ROWS,
    }
}

/// Payload bytes of a call of `n` correlated or random OTs for whose columns the receiver sends
/// `columns` bytes.
pub const fn bytes(n: usize, columns: usize) -> Bytes {
    match n {
        0 => Bytes { to_sender: 0, to_receiver: 0 },
        _ => Bytes {
            to_sender: columns + (1 + WIDTH) * size_of::<Block>(),
            to_receiver: size_of::<Block>(),
        },
    }
}

/// The party with Δ, 128 bits.
pub struct Sender<C> {
    columns: C,
    hash: CorrelationHash,
    challenges: Prg,
    /// Whether the receiver was caught, so that Δ may no longer be safe.
    is_refused: bool,
}

impl<C: ColumnSender> Sender<C> {
    /// With the session's public hash key.
    pub(super) fn new(columns: C, session: Block, rng: &mut dyn CryptoRng) -> Self {
        let hash = CorrelationHash::new(ADVERSARY, session);
        let challenges = Prg::new(&Seed::random(rng));
        Self { columns, hash, challenges, is_refused: false }
    }
}

impl<C: ColumnSender> Malicious for Sender<C> {}

impl<C: ColumnSender> CotSender for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn delta(&self) -> &Delta {
        self.columns.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    /// # Errors
    /// A deviation if the receiver's columns fail the check, and always from then on: a receiver that could try
    /// again would learn Δ.
    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        if self.is_refused {
            return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }));
        }
        if out.is_empty() {
            return Ok(());
        }
        // 1.
        let mut columns = CheckedColumns::new(out);
        for piece in columns.pieces() {
            self.columns.correlate(piece, channel)?;
        }
        // 2. to 4.
        let mut challenge = [Block::ZERO];
        self.challenges.fill(&mut challenge);
        let verified = columns.verify(self.columns.delta(), challenge[0], channel);
        self.is_refused = verified.is_err();
        verified?;
        // Only now are columns turned into rows, and rows into anything that leaves this module.
        columns.into_rows();
        Ok(())
    }
}

/// The party with choices.
pub struct Receiver<C> {
    columns: C,
    hash: CorrelationHash,
    masks: Prg,
}

impl<C: ColumnReceiver> Receiver<C> {
    /// With the session's public hash key.
    pub(super) fn new(columns: C, session: Block, rng: &mut dyn CryptoRng) -> Self {
        let hash = CorrelationHash::new(ADVERSARY, session);
        Self { columns, hash, masks: Prg::new(&Seed::random(rng)) }
    }

    /// The choices of the rows of a call: those requested, and random ones for the masks.
    fn masked(&mut self, choices: &Bits) -> Zeroizing<Vec<Block>> {
        let mut mask = [Block::ZERO; MASK_ROWS / 128];
        self.masks.fill(&mut mask);
        Zeroizing::new([choices.blocks(), &mask].concat())
    }
}

impl<C: ColumnReceiver> Malicious for Receiver<C> {}

impl<C: ColumnReceiver> CotReceiver for Receiver<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(choices.len(), out.len(), "a block for each choice");
        if out.is_empty() {
            return Ok(());
        }
        // 1.
        let choices = self.masked(choices);
        let mut columns = CheckedColumns::new(out);
        let mut rest = &choices[..];
        for piece in columns.pieces() {
            let (choices, later) = rest.split_at(piece.len() / 128);
            self.columns.correlate(choices, piece, channel)?;
            rest = later;
        }
        // 2. and 3.
        columns.answer(&choices, channel)?;
        columns.into_rows();
        Ok(())
    }
}

/// The columns of all rows of a call, kept until they are checked in the memory of the rows that they then
/// become.
///
/// A piece of up to [`CHUNK_ROWS`] rows is 128 columns one after another, and takes as many blocks as rows.
struct CheckedColumns<'a> {
    whole: &'a mut [Block],
    rest: &'a mut [Block],
    /// The columns of the remaining rows, padded to a multiple of 128, and of the masks.
    tail: Vec<Block>,
}

impl<'a> CheckedColumns<'a> {
    /// Space for the columns of as many rows as `out` has blocks, and of the masks.
    fn new(out: &'a mut [Block]) -> Self {
        let (whole, rest) = out.split_at_mut(out.len() / CHUNK_ROWS * CHUNK_ROWS);
        let tail = vec![Block::ZERO; rest.len().next_multiple_of(128) + MASK_ROWS];
        Self { whole, rest, tail }
    }

    /// The pieces, first rows first.
    fn pieces(&mut self) -> impl Iterator<Item = &mut [Block]> {
        self.whole.chunks_exact_mut(CHUNK_ROWS).chain(self.tail.chunks_mut(CHUNK_ROWS))
    }

    /// Step 2, and the receiver's step 3: `choices` are the choices of all rows, masks included.
    fn answer(&self, choices: &[Block], channel: &mut Channel) -> Result<()> {
        let (_, answer) = self.receive_challenge(choices, channel)?;
        self.send_answer(&answer, channel)
    }

    /// χ and the correct answer to it: the hash of the choices, then the hash of each column.
    fn receive_challenge(
        &self,
        choices: &[Block],
        channel: &mut Channel,
    ) -> Result<(Block, Zeroizing<Vec<Block>>)> {
        let mut challenge = [Block::ZERO];
        channel.recv_slice(CHALLENGE, &mut challenge)?;
        let chi = challenge::of_session(CONTEXT, channel.session(), challenge[0]);
        let hash = UniversalHash::new(chi);
        let mut answer = Zeroizing::new(vec![hash.of(choices)]);
        answer.extend(self.hash(&hash));
        Ok((chi, answer))
    }

    fn send_answer(&self, answer: &[Block], channel: &mut Channel) -> Result<()> {
        channel.send_slice(ANSWER, answer)?;
        channel.flush()
    }

    /// The sender's steps 2 to 4.
    ///
    /// # Errors
    /// [`Deviation::CheckFailed`] with [`CHECK`]. Δ must not be used again after that.
    fn verify(&self, delta: &Delta, challenge: Block, channel: &mut Channel) -> Result<()> {
        channel.send_slice(CHALLENGE, &[challenge])?;
        channel.flush()?;
        let chi = challenge::of_session(CONTEXT, channel.session(), challenge);
        let own = self.hash(&UniversalHash::new(chi));
        let mut answer = [Block::ZERO; 1 + WIDTH];
        channel.recv_slice(ANSWER, &mut answer)?;
        let [choices, columns @ ..] = answer;
        let expected: [Block; WIDTH] =
            std::array::from_fn(|i| columns[i] ^ (choices & Block::mask(delta.bit(i))));
        let bytes: [&[u8]; 2] = [bytemuck::cast_slice(&own), bytemuck::cast_slice(&expected)];
        if are_equal(bytes[0], bytes[1]) {
            Ok(())
        } else {
            Err(channel.deviation(Deviation::CheckFailed { check: CHECK }))
        }
    }

    fn hash(&self, hash: &UniversalHash) -> [Block; WIDTH] {
        let mut sums = [Block::ZERO; WIDTH];
        sums.par_chunks_mut(TASK_COLUMNS).enumerate().for_each(|(i, sums)| {
            for piece in self.whole.chunks_exact(CHUNK_ROWS).chain(self.tail.chunks(CHUNK_ROWS)) {
                let columns = piece.chunks_exact(piece.len() / WIDTH).skip(i * TASK_COLUMNS);
                columns.zip(&mut *sums).for_each(|(column, sum)| *sum = hash.append(*sum, column));
            }
        });
        sums
    }

    /// Turns the columns into the requested rows.
    fn into_rows(self) {
        let transpose = |copy: &mut Vec<Block>, piece: &mut [Block]| {
            copy.clear();
            copy.extend_from_slice(piece);
            columns_to_rows(copy, piece.len(), piece, 1);
        };
        self.whole.par_chunks_exact_mut(CHUNK_ROWS).for_each_init(Vec::new, transpose);
        // Masks come last, so the remaining rows are within the first piece of the tail.
        let piece = &self.tail[..self.tail.len().min(CHUNK_ROWS)];
        columns_to_rows(piece, piece.len(), self.rest, 1);
    }
}

/// The hash of a column at χ.
struct UniversalHash {
    /// χ^i at place `MAX_PART − 1 − i`.
    powers: [Block; MAX_PART],
    /// χ^i at place i, up to the length of the longest part.
    shifts: [Block; MAX_PART + 1],
}

/// Blocks of the longest part hashed at a time.
const MAX_PART: usize = CHUNK_ROWS / 128;

impl UniversalHash {
    fn new(challenge: Block) -> Self {
        let mut shifts = [Block(1); MAX_PART + 1];
        for i in 1..shifts.len() {
            shifts[i] = multiply128(shifts[i - 1], challenge);
        }
        Self { powers: std::array::from_fn(|i| shifts[MAX_PART - 1 - i]), shifts }
    }

    /// The hash of a whole column.
    fn of(&self, column: &[Block]) -> Block {
        column.chunks(MAX_PART).fold(Block::ZERO, |sum, part| self.append(sum, part))
    }

    /// The hash of a column whose hash so far is `sum` and whose next part is `part`.
    fn append(&self, sum: Block, part: &[Block]) -> Block {
        let powers = &self.powers[MAX_PART - part.len()..];
        multiply128(sum, self.shifts[part.len()]) ^ inner_product128(powers, part)
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn a_column_is_hashed_as_a_polynomial() {
        let rng = &mut StdRng::seed_from_u64(1);
        let challenge = Block(rng.random());
        let hash = UniversalHash::new(challenge);
        for len in (0..100).chain([1000]) {
            let column: Vec<Block> = (0..len).map(|_| Block(rng.random())).collect();
            let horner = column.iter().fold(Block::ZERO, |sum, x| multiply128(sum, challenge) ^ *x);
            assert_eq!(hash.of(&column), horner, "{len} blocks");
        }
    }

    #[test]
    fn a_call_has_the_error_rows_and_bytes_of_its_formulas() {
        // C(4, 2) = 6 pairs, and as many values of χ for each as there are blocks.
        assert_eq!(error(4, 128), 6f64.log2() - 128.0);
        assert_eq!(error(4, 129), 12f64.log2() - 128.0);
        assert_eq!([0, 1, 128, 129].map(rows), [0, 256, 256, 384]);
        assert_eq!(bytes(0, 99), Bytes { to_sender: 0, to_receiver: 0 });
        assert_eq!(bytes(1, 99), Bytes { to_sender: 99 + 129 * 16, to_receiver: 16 });
    }

    #[test]
    fn columns_become_the_rows_asked_for() {
        for n in [1, 127, 128, 129, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 3 * CHUNK_ROWS] {
            let mut rows = vec![Block::ZERO; n];
            let mut columns = CheckedColumns::new(&mut rows);
            // Bit r of column i is bit i of a number that belongs to row r.
            let number = |row: usize| (row as u128 + 1).wrapping_mul(u128::MAX / 977);
            let mut first = 0;
            for piece in columns.pieces() {
                let len = piece.len() / 128;
                for (i, column) in piece.chunks_exact_mut(len).enumerate() {
                    for (b, block) in column.iter_mut().enumerate() {
                        let bit = |r: usize| number(first + 128 * b + r) >> i & 1;
                        *block = Block((0..128).map(|r| bit(r) << r).sum());
                    }
                }
                first += piece.len();
            }
            assert_eq!(first, n.next_multiple_of(128) + MASK_ROWS);
            columns.into_rows();
            assert!(rows.iter().enumerate().all(|(r, row)| row.0 == number(r)), "{n} rows");
        }
    }
}
