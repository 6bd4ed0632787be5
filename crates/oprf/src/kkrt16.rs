//! The batched, related-key OPRF of Kolesnikov, Kumaresan, Rosulek and Trieu (CCS 2016), §3 and
//! Figure 3. Semi-honest.
//!
//! An OT extension whose code is pseudo-random instead of a repetition, so that a row has as many
//! possible choices as there are 128-bit words:
//!
//! 1. Once, without input: `width` base OTs with the parties' roles exchanged.
//! 2. S → R: the code's key, which is drawn when R's words are fixed already.
//! 3. R → S: `width` bits for each instance j, the codeword columns masked (see
//!    [`columns`]); R keeps t_j, S holds q_j = t_j ⊕ (C(x_j) ∧ Δ).
//! 4. R outputs F_j(x_j) = H(j, t_j); S can compute F_j(y) = H(j, q_j ⊕ (C(y) ∧ Δ)) for any y.
//!
//! The rows of a run share Δ, so H must stand Hamming correlations: BLAKE3 over the whole row and its
//! index, keyed by the session. The width comes from `vesica_params::code` for the number of pairs
//! the sender will evaluate. Deviations from the paper: one masked column is sent where the paper's
//! form sends two (ALSZ13), and the four blocks of a codeword come from four keys.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes,
    base::{BaseOt, np01::Np01},
    extension::columns::{self, CHUNK_ROWS},
};
use vesica_params::Adversary;
use vesica_primitives::{
    Block, Seed,
    code::PseudoRandomCode,
    group::Ristretto,
    hash::{IndexedRow, MAX_ROW_BITS, ROW_BLOCKS, RowHash},
    matrix::{columns_to_rows, rows_to_columns},
};
use zeroize::Zeroizing;

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing ties the receiver to codewords.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

/// Payload bytes of the setup for a code of `width` bits.
pub fn setup_bytes(width: usize) -> Bytes {
    let base = Base::bytes(width);
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
}

const CODE_KEY: &str = "kkrt16/code-key";

/// Instances that one thread takes at a time.
const TASK_ROWS: usize = 512;

/// Points evaluated together: fills the pipeline of the code's cipher.
const POINTS_PER_BATCH: usize = 64;

/// The rows of the matrix, padded to whole blocks; bits beyond the width are 0.
type Row = [Block; ROW_BLOCKS];

/// The party that can evaluate every instance anywhere.
pub struct Sender {
    columns: columns::Sender,
    width: usize,
}

impl Sender {
    /// Step 1 for a code of `width` bits, a multiple of 8 and at most [`MAX_ROW_BITS`].
    pub fn setup(width: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert!(width <= MAX_ROW_BITS, "a row and its index fit one compression");
        Ok(Self { columns: columns::Sender::setup::<Base>(width, channel, rng)?, width })
    }

    /// Steps 2 to 4. `starts` says for each instance where its points start among all points, and
    /// at the end how many points there are; `point(i)` is the i-th of them. Returns the value of
    /// each point.
    pub fn evaluate(
        mut self,
        starts: &[u32],
        point: impl Fn(usize) -> Block + Sync,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        // 2.
        let key = Seed::random(rng);
        channel.send_slice(CODE_KEY, &[*key.expose()])?;
        let mut function = Function {
            code: PseudoRandomCode::new(&key, self.width),
            delta: Zeroizing::new(row_of(self.columns.delta().expose())),
            hash: RowHash::new(*key.expose()),
            first_instance: 0,
        };
        let instances = starts.len() - 1;
        let mut values = vec![Block::ZERO; starts[instances] as usize];
        let mut rest = &mut values[..];
        let mut rows = Vec::new();
        for (chunk, starts) in columns::chunks(instances).zip(chunk_starts(starts)) {
            // 3.
            let q = self.columns.extend(chunk, channel)?;
            rows.resize(chunk * ROW_BLOCKS, Block::ZERO);
            columns_to_rows(&q, chunk, &mut rows, ROW_BLOCKS);
            // 4.
            let rows: &[Row] = bytemuck::cast_slice(&rows);
            let tasks = split(starts, &mut rest);
            tasks.into_par_iter().for_each(|task| function.evaluate(task, rows, &point));
            function.first_instance += chunk as u64;
        }
        Ok(values)
    }
}

/// The parts of `starts` that belong to the chunks of [`columns::chunks`], each with the end of its
/// last instance.
fn chunk_starts(starts: &[u32]) -> impl Iterator<Item = &[u32]> {
    let instances = starts.len() - 1;
    (0..instances)
        .step_by(CHUNK_ROWS)
        .map(move |first| &starts[first..=(first + CHUNK_ROWS).min(instances)])
}

/// What the sender evaluates at its points.
struct Function {
    code: PseudoRandomCode,
    delta: Zeroizing<Row>,
    hash: RowHash,
    /// The number of the first instance of the chunk at hand.
    first_instance: u64,
}

/// A few neighbouring instances and the place for their points' values.
struct Task<'a> {
    /// The first of them, counted from the first of the chunk.
    instance: usize,
    starts: &'a [u32],
    values: &'a mut [Block],
}

/// Splits the instances of a chunk into tasks, taking the place for their values from `rest`.
fn split<'a>(starts: &'a [u32], rest: &mut &'a mut [Block]) -> Vec<Task<'a>> {
    let instances = starts.len() - 1;
    (0..instances)
        .step_by(TASK_ROWS)
        .map(|instance| {
            let starts = &starts[instance..=(instance + TASK_ROWS).min(instances)];
            let points = (starts[starts.len() - 1] - starts[0]) as usize;
            let (values, tail) = std::mem::take(rest).split_at_mut(points);
            *rest = tail;
            Task { instance, starts, values }
        })
        .collect()
}

impl Function {
    fn evaluate(&self, task: Task<'_>, matrix: &[Row], point: &impl Fn(usize) -> Block) {
        let mut words = [Block::ZERO; POINTS_PER_BATCH];
        let mut codewords = [Row::default(); POINTS_PER_BATCH];
        let mut rows = [IndexedRow::default(); POINTS_PER_BATCH];
        let mut at = task.starts[0] as usize;
        let mut instance = 0;
        for values in task.values.chunks_mut(POINTS_PER_BATCH) {
            let batch = ..values.len();
            let (words, codewords) = (&mut words[batch], &mut codewords[batch]);
            for (i, word) in words.iter_mut().enumerate() {
                *word = point(at + i);
            }
            self.code.encode(words, codewords);
            for (row, codeword) in rows.iter_mut().zip(codewords) {
                while task.starts[instance + 1] as usize <= at {
                    instance += 1;
                }
                let in_chunk = task.instance + instance;
                let q = &matrix[in_chunk];
                let masked = std::array::from_fn(|b| q[b] ^ (codeword[b] & self.delta[b]));
                *row = IndexedRow::new(self.first_instance + in_chunk as u64, &masked);
                at += 1;
            }
            self.hash.hash(&rows[batch], values);
        }
    }
}

/// The party that learns one value of each instance.
pub struct Receiver {
    columns: columns::Receiver,
    width: usize,
}

impl Receiver {
    /// Step 1, with the sender's width.
    pub fn setup(width: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert!(width <= MAX_ROW_BITS, "a row and its index fit one compression");
        Ok(Self { columns: columns::Receiver::setup::<Base>(width, channel, rng)?, width })
    }

    /// Steps 2 to 4: the value of instance j at `words[j]`, for each j.
    pub fn evaluate(mut self, words: &[Block], channel: &mut Channel) -> Result<Vec<Block>> {
        // 2.
        let mut key = [Block::ZERO];
        channel.recv_slice(CODE_KEY, &mut key)?;
        let code = PseudoRandomCode::new(&Seed::new(key[0]), self.width);
        let hash = RowHash::new(key[0]);
        let mut values = vec![Block::ZERO; words.len()];
        let (mut rows, mut codeword_columns) = (Vec::new(), Vec::new());
        let chunks = words.chunks(CHUNK_ROWS).zip(values.chunks_mut(CHUNK_ROWS));
        for (i, (words, values)) in chunks.enumerate() {
            // 3.
            let padded = words.len().next_multiple_of(128);
            rows.clear();
            rows.resize(padded, Row::default());
            code.encode(words, &mut rows[..words.len()]);
            codeword_columns.resize(self.width * padded / 128, Block::ZERO);
            rows_to_columns(rows.as_flattened(), ROW_BLOCKS, self.width, &mut codeword_columns);
            let column = |i: usize| &codeword_columns[i * padded / 128..][..padded / 128];
            let t = self.columns.extend(padded, column, channel)?;
            // Let the sender start on this chunk.
            channel.flush()?;
            // 4.
            columns_to_rows(&t, padded, rows.as_flattened_mut(), ROW_BLOCKS);
            let tasks =
                values.par_chunks_mut(TASK_ROWS).zip(rows.par_chunks(TASK_ROWS)).enumerate();
            tasks.for_each(|(task, (values, rows))| {
                let first = (i * CHUNK_ROWS + task * TASK_ROWS) as u64;
                let indexed = rows.iter().zip(first..).map(|(row, j)| IndexedRow::new(j, row));
                let indexed: Vec<IndexedRow> = indexed.take(values.len()).collect();
                hash.hash(&indexed, values);
            });
        }
        Ok(values)
    }
}

fn row_of(blocks: &[Block]) -> Row {
    std::array::from_fn(|i| blocks.get(i).copied().unwrap_or_default())
}
