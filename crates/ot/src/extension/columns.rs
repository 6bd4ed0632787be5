//! The bit matrix at the heart of the IKNP family (IKNP03; ALSZ13 §5.3 for the form used here).
//!
//! With a code of some width, a row for each OT and a column for each bit of the code:
//!
//! - The receiver holds a pair of generators for each column, the sender one of each pair, selected by the
//!   bit of Δ for that column.
//! - R → S: for each column i, u_i = G(k_i^0) ⊕ G(k_i^1) ⊕ c_i, where row j of the columns c_i is the
//!   codeword of the receiver's j-th word. The receiver keeps t_i = G(k_i^0).
//! - The sender computes q_i = Δ_i·u_i ⊕ G(k_i^{Δ_i}), so that row j is q_j = t_j ⊕ (c_j ∧ Δ).
//!
//! IKNP03 sends both masked columns ([`iknp03`](super::iknp03)); this sends half of that. Matrices are
//! processed in chunks of [`CHUNK_ROWS`] rows, so that a chunk stays in the second-level cache and both parties
//! work at the same time. A chunk of 128 columns is processed by one thread, which saturates a network of some
//! Gb/s; wider ones are divided among threads.
//!
//! [`ColumnSender`] and [`ColumnReceiver`] are the interface that this shares, for the code that repeats a
//! choice 128 times, with other ways to obtain the same columns: [`unchecked`](super::unchecked) and
//! [`checked`](super::checked) make correlated OT from any of them.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block, Delta, Seed, aes::Prg, block::add_to};

use crate::base::BaseOt;

/// Rows handled at a time, a multiple of 128.
pub const CHUNK_ROWS: usize = 4096;

const COLUMNS: &str = "extension/columns";

/// The party with Δ, 128 bits, in any extension whose rows are q_j = t_j ⊕ c_j·Δ.
pub trait ColumnSender {
    /// Δ, 128 bits.
    fn delta(&self) -> &Delta;

    /// Fills `columns` with the 128 columns q of the next rows, one after another. There are as many rows as blocks: a
    /// multiple of 128, at most [`CHUNK_ROWS`].
    fn correlate(&mut self, columns: &mut [Block], channel: &mut Channel) -> Result<()>;
}

/// The party with choices in any such extension.
pub trait ColumnReceiver {
    /// Like [`ColumnSender::correlate`], for the columns t; `choices` has a bit for each row.
    fn correlate(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()>;
}

/// Sizes of the chunks in which `rows` rows are processed: all but the last have [`CHUNK_ROWS`], and the last
/// is rounded up to a multiple of 128.
pub fn chunks(rows: usize) -> impl Iterator<Item = usize> {
    (0..rows)
        .step_by(CHUNK_ROWS)
        .map(move |done| (rows - done).min(CHUNK_ROWS).next_multiple_of(128))
}

/// Bytes that the receiver sends for `rows` rows of a code of `width` bits, over all [`chunks`]. Only the
/// last chunk may need rounding up to a multiple of 128 rows.
pub fn bytes(width: usize, rows: usize) -> usize {
    rows.next_multiple_of(128) * width / 8
}

/// The party with Δ.
pub struct Sender {
    pub(super) delta: Delta,
    /// G(k_i^{Δ_i}) for each column.
    pub(super) prgs: Vec<Prg>,
}

impl Sender {
    /// Runs the base OTs for a code of `width` bits, as their receiver.
    pub fn setup<B: BaseOt>(
        width: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let delta = Delta::random(width, rng);
        let choices = Bits::from_blocks(delta.expose().to_vec(), width);
        let seeds = B::receive(&choices, channel, rng)?;
        Ok(Self { delta, prgs: seeds.iter().map(Prg::new).collect() })
    }

    /// Δ.
    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Δ, and this party's generator for each column: for protocols that process one column after another.
    pub fn into_parts(self) -> (Delta, Vec<Prg>) {
        (self.delta, self.prgs)
    }

    /// Fills `columns` with the columns q of the next rows, one after another.
    pub fn extend_into(&mut self, columns: &mut [Block], channel: &mut Channel) -> Result<()> {
        channel.recv_slice(COLUMNS, columns)?;
        let (delta, column) = (&self.delta, columns.len() / self.prgs.len());
        let columns = columns.par_chunks_exact_mut(column).with_min_len(MIN_COLUMNS);
        columns.zip(&mut self.prgs).enumerate().for_each(|(i, (q, prg))| {
            let mask = Block::mask(delta.bit(i));
            let mut stream = [Block::ZERO; CHUNK_ROWS / 128];
            for part in q.chunks_mut(stream.len()) {
                let stream = &mut stream[..part.len()];
                prg.fill(stream);
                part.iter_mut().zip(stream).for_each(|(q, g)| *q = *q & mask ^ *g);
            }
        });
        Ok(())
    }
}

impl ColumnSender for Sender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn correlate(&mut self, columns: &mut [Block], channel: &mut Channel) -> Result<()> {
        debug_assert_eq!(self.prgs.len(), 128, "one for each bit of the repetition code");
        self.extend_into(columns, channel)
    }
}

/// The party with a word for each row.
pub struct Receiver {
    /// G(k_i^0) and G(k_i^1) for each column.
    pub(super) prgs: Vec<[Prg; 2]>,
    /// The columns u of the last rows, kept only for their memory.
    sent: Vec<Block>,
}

impl Receiver {
    /// Runs the base OTs for a code of `width` bits, as their sender.
    pub fn setup<B: BaseOt>(
        width: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let seeds: Vec<[Seed; 2]> = B::send(width, channel, rng)?;
        let prgs = seeds.iter().map(|pair| [Prg::new(&pair[0]), Prg::new(&pair[1])]).collect();
        Ok(Self { prgs, sent: Vec::new() })
    }

    /// Both generators of each column.
    pub fn into_prgs(self) -> Vec<[Prg; 2]> {
        self.prgs
    }

    /// Fills `kept` with the columns t of the next rows, one after another. `codeword_column(i)` is column i of
    /// the rows' codewords.
    pub fn extend_into<'a>(
        &mut self,
        codeword_column: impl Fn(usize) -> &'a [Block] + Sync,
        kept: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        let sent = self.mask(codeword_column, kept);
        channel.send_slice(COLUMNS, sent)
    }

    /// Fills `kept` with the columns t of the next rows; returns the columns u.
    fn mask<'a>(
        &mut self,
        codeword_column: impl Fn(usize) -> &'a [Block] + Sync,
        kept: &mut [Block],
    ) -> &mut [Block] {
        let column = kept.len() / self.prgs.len();
        self.sent.resize(kept.len(), Block::ZERO);
        let columns = kept.par_chunks_exact_mut(column).with_min_len(MIN_COLUMNS);
        let columns = columns.zip(self.sent.par_chunks_exact_mut(column)).zip(&mut self.prgs);
        columns.enumerate().for_each(|(i, ((t, u), [zero, one]))| {
            zero.fill(t);
            one.fill(u);
            add_to(u, t);
            add_to(u, codeword_column(i));
        });
        &mut self.sent
    }
}

impl ColumnReceiver for Receiver {
    fn correlate(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        debug_assert_eq!(self.prgs.len(), 128, "one for each bit of the repetition code");
        let sent = self.mask(|_| choices, columns);
        channel.send_slice(COLUMNS, sent)
    }
}

#[cfg(test)]
impl super::checked::MaliciousColumns for Receiver {
    fn correlate_falsely(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        change: impl FnOnce(&mut [Block]),
        channel: &mut Channel,
    ) -> Result<()> {
        let sent = self.mask(|_| choices, columns);
        change(sent);
        channel.send_slice(COLUMNS, sent)
    }
}

/// The minimum number of columns per thread. Passing work to a thread and waiting for it takes some
/// microseconds, enough for 128 columns of a chunk.
pub(super) const MIN_COLUMNS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_all_chunks() {
        let around = |size: usize| size.saturating_sub(2)..size + 3;
        let sizes = [128, CHUNK_ROWS, CHUNK_ROWS + 128, 3 * CHUNK_ROWS, 1 << 20, 1 << 24];
        for rows in (0..300).chain(sizes.into_iter().flat_map(around)) {
            for width in [1, 8, 128, 460, 512] {
                assert_eq!(bytes(width, rows), chunks(rows).sum::<usize>() * width / 8, "{rows}");
            }
        }
    }
}
