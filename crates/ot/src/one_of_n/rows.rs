//! The rows of the matrix of [`columns`] under a code, and the keys derived from them.
//!
//! S holds q_j = t_j ⊕ (C(w_j) ∧ Δ), R holds t_j for its word w_j. The key of OT j at a word v is H(j, q_j ⊕
//! (C(v) ∧ Δ)), which at w_j is H(j, t_j); for any other word R would have to know the bits of Δ at the places
//! where C(v) and C(w_j) differ, at least κ of them. The rows share Δ, so H must be robust against Hamming
//! correlations: it is BLAKE3 over the whole row and its number, keyed by the session.

use std::sync::Arc;

use bytemuck::Zeroable;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{
    Block, Delta,
    code::{Code, Row},
    hash::{IndexedRow, MAX_ROW_BITS, ROW_BLOCKS, RowHash},
    matrix::columns_to_rows,
    threads,
};
use zeroize::Zeroizing;

use super::Keys;
use crate::{
    ZeroizingVec,
    extension::columns::{self, CHUNK_ROWS},
};

/// OTs that one thread takes at a time.
const TASK_OTS: usize = 512;

/// Rows that are encoded and hashed together: the batch size of linear codes.
const BATCH: usize = 128;

/// Rows that are combined with their numbers at a time.
const HASH_BATCH: usize = 32;

/// S's means of computing keys.
pub(super) struct Function<C: Code> {
    pub(super) code: C,
    pub(super) delta: Zeroizing<C::Row>,
    hash: RowHash,
}

impl<C: Code> Function<C> {
    /// For a session with this public identifier.
    pub(super) fn new(code: C, delta: &Delta, session: Block) -> Self {
        let delta = Zeroizing::new(C::Row::from_blocks(delta.expose()));
        Self { code, delta, hash: RowHash::new(session) }
    }
}

/// The keys of consecutive OTs of an extension under a code. Secret; zeroized when dropped.
pub struct RowKeys<C: Code> {
    function: Arc<Function<C>>,
    /// The number of the first OT.
    first: u64,
    /// The rows q, one after another.
    rows: ZeroizingVec<Block>,
}

impl<C: Code> RowKeys<C> {
    /// S's side of the next rows, with numbers from `first` on.
    pub(super) fn receive(
        function: &Arc<Function<C>>,
        columns: &mut columns::Sender,
        first: u64,
        ots: usize,
        channel: &mut Channel,
    ) -> Result<Self> {
        let rows = ZeroizingVec::zeros(ots * C::Row::BLOCKS);
        let mut keys = Self { function: function.clone(), first, rows };
        keys.fill(columns, &mut Vec::new(), channel)?;
        Ok(keys)
    }

    /// Like [`RowKeys::receive`], but passes on the keys piece by piece as soon as they are available, in
    /// memory that stays in the cache.
    pub(super) fn receive_pieces(
        function: &Arc<Function<C>>,
        columns: &mut columns::Sender,
        first: u64,
        ots: usize,
        channel: &mut Channel,
        mut show: impl FnMut(&Self),
    ) -> Result<()> {
        let rows = ZeroizingVec::zeros(CHUNK_ROWS.min(ots) * C::Row::BLOCKS);
        let mut keys = Self { function: function.clone(), first, rows };
        let mut q = Vec::new();
        for done in (0..ots).step_by(CHUNK_ROWS) {
            keys.first = first + done as u64;
            keys.truncate(CHUNK_ROWS.min(ots - done));
            keys.fill(columns, &mut q, channel)?;
            show(&keys);
        }
        Ok(())
    }

    /// Fills the rows, in pieces for whose columns `q` has, or is given, space.
    fn fill(
        &mut self,
        columns: &mut columns::Sender,
        q: &mut Vec<Block>,
        channel: &mut Channel,
    ) -> Result<()> {
        let width = self.function.code.width();
        for rows in self.rows.chunks_mut(CHUNK_ROWS * C::Row::BLOCKS) {
            let padded = (rows.len() / C::Row::BLOCKS).next_multiple_of(128);
            q.resize(width * padded / 128, Block::ZERO);
            columns.extend_into(q, channel)?;
            columns_to_rows(q, padded, rows, C::Row::BLOCKS);
        }
        Ok(())
    }

    /// Drops the OTs from the `ots`-th on.
    pub(super) fn truncate(&mut self, ots: usize) {
        self.rows.truncate(ots * C::Row::BLOCKS);
    }

    /// The rows q.
    pub(super) fn rows(&self) -> &[C::Row] {
        bytemuck::cast_slice(&self.rows)
    }

    /// The codewords of words, for [`RowKeys::evaluate_encoded`].
    ///
    /// # Panics
    /// If a word has too many bits.
    pub fn encode(&self, words: &[Block]) -> Vec<C::Row> {
        let mut codewords = vec![C::Row::zeroed(); words.len()];
        let tasks = codewords.par_chunks_mut(BATCH).zip(words.par_chunks(BATCH));
        tasks.for_each(|(codewords, words)| self.function.code.encode(words, codewords));
        codewords
    }

    /// Like [`Keys::evaluate`], at words whose codewords are known: a word that is used for many OTs need not
    /// be encoded for each.
    ///
    /// # Panics
    /// If the length of `keys` is not the number of points.
    pub fn evaluate_encoded(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        codeword: impl Fn(usize) -> C::Row + Sync,
        keys: &mut [Block],
    ) {
        self.evaluate_tasks(starts, keys, |first, codewords| {
            codewords.iter_mut().zip(first..).for_each(|(at, point)| *at = codeword(point));
        });
    }

    /// Computes keys at points whose codewords, from a given point on, are provided by `encode`.
    fn evaluate_tasks(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        keys: &mut [Block],
        encode: impl Fn(usize, &mut [C::Row]) + Sync,
    ) {
        let tasks = split(self.len(), &starts, keys);
        threads::for_each(tasks, |task| self.evaluate_task(task, &starts, &encode));
    }

    fn evaluate_task(
        &self,
        task: Task<'_>,
        starts: &impl Fn(usize) -> usize,
        encode: &impl Fn(usize, &mut [C::Row]),
    ) {
        let Function { code, delta, hash } = &*self.function;
        let mut codewords = [C::Row::zeroed(); BATCH];
        let mut rows = [[Block::ZERO; ROW_BLOCKS]; BATCH];
        let mut numbers = [0; BATCH];
        let Task { mut ot, mut point, keys } = task;
        for keys in keys.chunks_mut(BATCH) {
            let batch = ..keys.len();
            encode(point, &mut codewords[batch]);
            for ((row, number), codeword) in
                rows.iter_mut().zip(&mut numbers).zip(&codewords[batch])
            {
                while starts(ot + 1) <= point {
                    ot += 1;
                }
                *row = self.rows()[ot].add_masked(codeword, delta).widen();
                *number = self.first + ot as u64;
                point += 1;
            }
            hash_rows(hash, code.width(), &rows[batch], &numbers[batch], keys);
        }
    }
}

impl<C: Code> Keys for RowKeys<C> {
    fn len(&self) -> usize {
        self.rows.len() / C::Row::BLOCKS
    }

    fn evaluate(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        word: impl Fn(usize) -> Block + Sync,
        keys: &mut [Block],
    ) {
        self.evaluate_tasks(starts, keys, |first, codewords| {
            let mut words = [Block::ZERO; BATCH];
            let words = &mut words[..codewords.len()];
            words.iter_mut().zip(first..).for_each(|(at, point)| *at = word(point));
            self.function.code.encode(words, codewords);
        });
    }
}

/// A few adjacent OTs and the destination of their points' keys.
struct Task<'a> {
    /// The first OT.
    ot: usize,
    /// Its first point.
    point: usize,
    keys: &'a mut [Block],
}

/// Splits OTs into tasks, without those that have no points.
fn split<'a>(
    ots: usize,
    starts: &impl Fn(usize) -> usize,
    mut keys: &'a mut [Block],
) -> Vec<Task<'a>> {
    assert_eq!(keys.len(), starts(ots) - starts(0), "a place for the key of each point");
    let tasks = (0..ots).step_by(TASK_OTS).map(|ot| {
        let point = starts(ot);
        let points = starts((ot + TASK_OTS).min(ots)) - point;
        let (own, rest) = std::mem::take(&mut keys).split_at_mut(points);
        keys = rest;
        Task { ot, point, keys: own }
    });
    tasks.filter(|task| !task.keys.is_empty()).collect()
}

/// R's scratch space: for the columns of codewords and for t.
#[derive(Default)]
pub(super) struct RowBuffers {
    codewords: Vec<Block>,
    t: Vec<Block>,
}

/// R's side of the next rows: fills `rows`, one for each word, with t.
pub(super) fn send_rows<C: Code>(
    code: &C,
    columns: &mut columns::Receiver,
    words: &[Block],
    rows: &mut [Block],
    RowBuffers { codewords, t }: &mut RowBuffers,
    channel: &mut Channel,
) -> Result<()> {
    let pieces = words.chunks(CHUNK_ROWS).zip(rows.chunks_mut(CHUNK_ROWS * C::Row::BLOCKS));
    for (words, rows) in pieces {
        let padded = words.len().next_multiple_of(128);
        let column = padded / 128;
        codewords.resize(code.width() * column, Block::ZERO);
        t.resize(code.width() * column, Block::ZERO);
        code.encode_columns(words, codewords);
        columns.extend_into(|i| &codewords[i * column..][..column], t, channel)?;
        // Let the sender start on this piece.
        channel.flush()?;
        columns_to_rows(t, padded, rows, C::Row::BLOCKS);
    }
    Ok(())
}

/// R's side of the next OTs, with numbers from `first` on: fills `keys` with their keys at these words.
///
/// # Panics
/// If the numbers of keys and words differ.
pub(super) fn receive_keys<C: Code>(
    code: &C,
    columns: &mut columns::Receiver,
    hash: &RowHash,
    first: u64,
    words: &[Block],
    keys: &mut [Block],
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(keys.len(), words.len(), "a key for each word");
    let mut rows = ZeroizingVec::zeros(CHUNK_ROWS.min(words.len()) * C::Row::BLOCKS);
    let mut scratch = RowBuffers::default();
    let pieces = words.chunks(CHUNK_ROWS).zip(keys.chunks_mut(CHUNK_ROWS));
    for ((words, keys), first) in pieces.zip((first..).step_by(CHUNK_ROWS)) {
        let rows = &mut rows[..words.len() * C::Row::BLOCKS];
        send_rows(code, columns, words, rows, &mut scratch, channel)?;
        chosen_keys::<C::Row>(hash, code.width(), first, bytemuck::cast_slice(rows), keys);
    }
    Ok(())
}

/// R's keys for its rows t, which have `width` bits and numbers from `first` on.
pub(super) fn chosen_keys<R: Row>(
    hash: &RowHash,
    width: usize,
    first: u64,
    rows: &[R],
    keys: &mut [Block],
) {
    let tasks = keys.chunks_mut(TASK_OTS).zip(rows.chunks(TASK_OTS)).enumerate();
    threads::for_each(tasks, |(task, (keys, rows))| {
        let (mut wide, mut numbers) = ([[Block::ZERO; ROW_BLOCKS]; BATCH], [0; BATCH]);
        let first = first + (task * TASK_OTS) as u64;
        let batches = keys.chunks_mut(BATCH).zip(rows.chunks(BATCH));
        for ((keys, rows), first) in batches.zip((first..).step_by(BATCH)) {
            let batch = ..keys.len();
            wide.iter_mut().zip(rows).for_each(|(wide, row)| *wide = row.widen());
            numbers.iter_mut().zip(first..).for_each(|(number, at)| *number = at);
            hash_rows(hash, width, &wide[batch], &numbers[batch], keys);
        }
    });
}

/// H of rows of `width` bits with their numbers.
fn hash_rows(
    hash: &RowHash,
    width: usize,
    rows: &[[Block; ROW_BLOCKS]],
    numbers: &[u64],
    keys: &mut [Block],
) {
    if width > MAX_ROW_BITS {
        return hash.hash_wide(rows, numbers, keys);
    }
    let mut indexed = [IndexedRow::default(); HASH_BATCH];
    let batches = rows.chunks(HASH_BATCH).zip(numbers.chunks(HASH_BATCH));
    for ((rows, numbers), keys) in batches.zip(keys.chunks_mut(HASH_BATCH)) {
        for ((indexed, row), number) in indexed.iter_mut().zip(rows).zip(numbers) {
            *indexed = IndexedRow::new(*number, row);
        }
        hash.hash(&indexed[..rows.len()], keys);
    }
}
