//! The multi-point OPRF of Chase and Miao (CRYPTO 2020), Figure 3 without its last step, from a matrix of
//! bits.
//!
//! The matrix has `width` columns of `height` rows, and R's items are marked in it: a pseudo-random function
//! under a public key k gives each point one row v_i in each column i.
//!
//! - **O1.** Once, without input: `width` base OTs with the parties' roles exchanged, so that S has one of R's two
//!   generators for each column, selected by the bit s_i.
//! - **O2.** R → S: k, now that R's points are fixed.
//! - **O3.** R's column D_i is 0 in the rows v_i of its points, and 1 elsewhere. R → S, for each column: G(k_i^0) ⊕
//!   G(k_i^1) ⊕ D_i. R keeps A_i = G(k_i^0), S holds C_i = A_i ⊕ s_i·D_i.
//! - **O4.** F(y) = H(C_1\[v_1\] ‖ … ‖ C_width\[v_width\]) for any y; R has the same from A for its points.
//!
//! At a y that is not a point of R, at least κ of the cells are 1 in D (`vesica_params::matrix`), and as many
//! bits of s are hidden in the hash's input. The rows share s, so H must be robust against Hamming
//! correlations: it is BLAKE3 over all bits, keyed by the session.
//!
//! If there are many points, rows are organised in blocks, and all rows of a point are in one of them. Each
//! block is a separate matrix for the points that fall into it, and each of its columns fits the first-level
//! cache. In a large matrix, look-ups, `width` for each point, would be scattered over the whole memory, and
//! they dominate the cost of this function. Deviations from the paper: those blocks, and one masked column
//! instead of two (ALSZ13).

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_ot::{Bytes, ZeroizingVec, base::BaseOt, extension::columns};
use vesica_params::matrix::Matrix;
use vesica_primitives::{
    Block, Delta, Seed,
    aes::{Aes128, Prg},
    block::add_to,
    declassify,
    hash::{IndexedRow, MAX_ROW_BITS, ROW_BLOCKS, RowHash},
    matrix::columns_to_rows,
};
use vesica_structures::bins::{BinMap, Table};

use crate::{Digests, Error, Values, programmable};

/// Columns whose rows are derived from one cipher block.
const GROUP: usize = 4;

/// Columns that are sent together, a multiple of [`GROUP`].
const PIECE: usize = 64;

/// Points whose rows are computed together.
const CHUNK: usize = 4096;

/// Points per call of the cipher.
const CIPHER_BATCH: usize = 128;

/// Rows that are hashed together.
const HASH_BATCH: usize = 32;

const KEY: &str = "cm20/key";
const COLUMNS: &str = "cm20/columns";

/// Payload bytes of the setup.
pub fn setup_bytes<B: BaseOt>(matrix: Matrix) -> Bytes {
    let base = B::bytes(matrix.width);
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
}

/// Payload bytes of an evaluation, all of them to the sender.
pub fn bytes(matrix: Matrix) -> usize {
    size_of::<Block>() + matrix.blocks * matrix.width * matrix.height / 8
}

/// Points of 128 bits, or of 256 if there are high halves.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    /// The first 128 bits of each.
    pub low_halves: &'a [Block],
    /// The other 128 bits of each; empty for short points.
    pub high_halves: &'a [Block],
}

/// The functions that both parties know: the rows of points, and the hash.
struct Cm20Function {
    matrix: Matrix,
    /// Folds points of 256 bits to 128.
    fold: Aes128,
    /// Selects the blocks of points.
    block: Aes128,
    /// Select the rows of points, one for each [`GROUP`] of columns.
    rows: Vec<Aes128>,
    hash: RowHash,
}

/// Points, sorted by block.
struct PlacedItems {
    points: Vec<Block>,
    positions: Vec<u32>,
    /// `starts[block]..starts[block + 1]` is the range of a block's points.
    starts: Vec<u32>,
}

impl Cm20Function {
    fn new(matrix: Matrix, key: Block) -> Self {
        let mut keys = vec![Block::ZERO; 3 + matrix.width.div_ceil(GROUP)];
        Prg::new(&Seed::new(key)).fill(&mut keys);
        Self {
            matrix,
            fold: Aes128::new(keys[0]),
            block: Aes128::new(keys[1]),
            rows: keys[3..].iter().map(|key| Aes128::new(*key)).collect(),
            hash: RowHash::new(keys[2]),
        }
    }

    /// Length of a column in blocks of 128 bits.
    fn column(&self) -> usize {
        self.matrix.height / 128
    }

    fn place(&self, points: Points<'_>) -> PlacedItems {
        let mut folded = points.low_halves.to_vec();
        if !points.high_halves.is_empty() {
            self.fold.encrypt(&mut folded);
            add_to(&mut folded, points.high_halves);
        }
        let mut images = folded.clone();
        self.block.encrypt(&mut images);
        let table = Table::simple(&BinMap::<1>::new(self.matrix.blocks).of(&images));
        let positions = table.entries().iter().map(|entry| entry.position() as u32);
        PlacedItems {
            points: table.entries().iter().map(|entry| folded[entry.position()]).collect(),
            positions: positions.collect(),
            starts: table.starts().to_vec(),
        }
    }

    /// Passes on, for each chunk of `points` and each column of a group: the index of the column in its group,
    /// the index of the chunk, and the row of each point. The probability of the likeliest row exceeds 1 /
    /// `height` by less than 2^-32.
    fn rows(&self, group: usize, points: &[Block], mut show: impl FnMut(usize, usize, &[u32])) {
        let height = self.matrix.height as u64;
        let mut rows = [const { [0; CHUNK] }; GROUP];
        let mut images = [Block::ZERO; CIPHER_BATCH];
        for (chunk, points) in points.chunks(CHUNK).enumerate() {
            for (i, points) in points.chunks(CIPHER_BATCH).enumerate() {
                let images = &mut images[..points.len()];
                images.copy_from_slice(points);
                self.rows[group].encrypt(images);
                let words: &[[u32; GROUP]] = bytemuck::cast_slice(images);
                for (column, rows) in rows.iter_mut().enumerate() {
                    for (row, words) in rows[i * CIPHER_BATCH..].iter_mut().zip(words) {
                        *row = ((u64::from(words[column]) * height) >> 32) as u32;
                    }
                }
            }
            for (column, rows) in rows.iter().enumerate() {
                show(column, chunk, &rows[..points.len()]);
            }
        }
    }

    /// S's step O4 for the columns of a group: `bits` gets the bits of each point, `len` blocks of them for each
    /// column.
    fn read(&self, group: usize, points: &[Block], c: &[Block], bits: &mut [Block], len: usize) {
        let c: &[u64] = bytemuck::cast_slice(c);
        let bits: &mut [u64] = bytemuck::cast_slice_mut(bits);
        self.rows(group, points, |i, chunk, rows| {
            let c = c.chunks_exact(2 * self.column()).nth(i);
            let bits = bits.chunks_exact_mut(2 * len).nth(i);
            // The last group may have fewer columns.
            if let (Some(c), Some(bits)) = (c, bits) {
                read(c, rows, &mut bits[chunk * (CHUNK / 64)..]);
            }
        });
    }

    /// R's steps O3 and O4, like [`Function::read`]: `sent` gets the message.
    fn mark(
        &self,
        group: usize,
        points: &[Block],
        prgs: &mut [[Prg; 2]],
        sent: &mut [Block],
        bits: &mut [Block],
        len: usize,
    ) {
        let column = self.column();
        let mut a = ZeroizingVec::<Block>::zeros(sent.len());
        let mut marks = ZeroizingVec::<Block>::zeros(sent.len());
        for (i, [zero, one]) in prgs.iter_mut().enumerate() {
            zero.fill(&mut a[i * column..][..column]);
            one.fill(&mut sent[i * column..][..column]);
        }
        let a_words: &[u64] = bytemuck::cast_slice(&a);
        let mark_words: &mut [u64] = bytemuck::cast_slice_mut(&mut marks);
        let bits: &mut [u64] = bytemuck::cast_slice_mut(bits);
        self.rows(group, points, |i, chunk, rows| {
            let a = a_words.chunks_exact(2 * column).nth(i);
            let marks = mark_words.chunks_exact_mut(2 * column).nth(i);
            let bits = bits.chunks_exact_mut(2 * len).nth(i);
            if let (Some(a), Some(marks), Some(bits)) = (a, marks, bits) {
                read_and_mark(a, marks, rows, &mut bits[chunk * (CHUNK / 64)..]);
            }
        });
        add_to(sent, &a);
        add_to(sent, &marks);
        // D is 0 where there is a mark.
        sent.iter_mut().for_each(|block| block.0 = !block.0);
    }

    /// The values of a block's points from their bits, column by column.
    fn hash(&self, bits: &[Block], values: &mut [Block]) {
        const CHUNK_BLOCKS: usize = CHUNK / 128;
        let width = self.matrix.width;
        let len = bits.len() / width;
        let scratch = || {
            let [columns, rows] =
                [width * CHUNK_BLOCKS, CHUNK * ROW_BLOCKS].map(ZeroizingVec::zeros);
            (columns, rows)
        };
        let chunks = values.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each_init(scratch, |(columns, rows), (chunk, values)| {
            let padded = values.len().next_multiple_of(128);
            let columns: &mut [Block] = &mut columns[..width * padded / 128];
            let parts = columns.chunks_exact_mut(padded / 128);
            for (part, column) in parts.zip(bits.chunks_exact(len)) {
                part.copy_from_slice(&column[chunk * CHUNK_BLOCKS..][..padded / 128]);
            }
            let rows: &mut [Block] = &mut rows[..values.len() * ROW_BLOCKS];
            columns_to_rows(columns, padded, rows, ROW_BLOCKS);
            let mut indexed = [IndexedRow::default(); HASH_BATCH];
            let (rows, _) = rows.as_chunks::<ROW_BLOCKS>();
            for (rows, values) in rows.chunks(HASH_BATCH).zip(values.chunks_mut(HASH_BATCH)) {
                let inputs = indexed.iter_mut().zip(rows);
                inputs.for_each(|(indexed, row)| *indexed = IndexedRow::new(0, row));
                self.hash.hash(&indexed[..rows.len()], values);
            }
        });
    }
}

impl PlacedItems {
    /// Calls `of_block` for the points of each block and the destination of their values.
    fn evaluate(
        self,
        mut of_block: impl FnMut(&[Block], &mut [Block]) -> Result<()>,
    ) -> Result<Values> {
        let mut values = vec![Block::ZERO; self.points.len()];
        for of in self.starts.array_windows().map(|[start, end]| *start as usize..*end as usize) {
            of_block(&self.points[of.clone()], &mut values[of])?;
        }
        Ok(Values { positions: self.positions, values })
    }
}

/// Space for the bits of a block's points, column by column, each column padded to whole blocks.
fn bits_of(width: usize, points: &[Block]) -> (ZeroizingVec<Block>, usize) {
    let len = points.len().div_ceil(128).max(1);
    (ZeroizingVec::zeros(width * len), len)
}

/// The party that can evaluate the function everywhere.
pub struct Sender {
    matrix: Matrix,
    s: Delta,
    prgs: Vec<Prg>,
}

impl Sender {
    /// Step O1.
    ///
    /// # Panics
    /// If the matrix has more columns than one compression of the hash takes.
    pub fn setup<B: BaseOt>(
        matrix: Matrix,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        assert!(matrix.width <= MAX_ROW_BITS, "a point's bits fit one compression");
        let (s, prgs) = columns::Sender::setup::<B>(matrix.width, channel, rng)?.into_parts();
        Ok(Self { matrix, s, prgs })
    }

    /// Steps O2 to O4, for these points.
    pub fn evaluate(mut self, points: Points<'_>, channel: &mut Channel) -> Result<Values> {
        // O2.
        let mut key = [Block::ZERO];
        channel.recv_slice(KEY, &mut key)?;
        let function = Cm20Function::new(self.matrix, key[0]);
        // 3 and 4.
        let column = function.column();
        let mut scratch = ZeroizingVec::<Block>::zeros(PIECE.min(self.matrix.width) * column);
        function.place(points).evaluate(|points, values| {
            let (mut bits, len) = bits_of(self.matrix.width, points);
            let pieces = self.prgs.chunks_mut(PIECE).zip(bits.chunks_mut(PIECE * len));
            for (piece, (prgs, bits)) in pieces.enumerate() {
                let c = &mut scratch[..prgs.len() * column];
                channel.recv_slice(COLUMNS, c)?;
                let groups = c.par_chunks_mut(GROUP * column).zip(prgs.par_chunks_mut(GROUP));
                let groups = groups.zip(bits.par_chunks_mut(GROUP * len)).enumerate();
                groups.for_each(|(i, ((c, prgs), bits))| {
                    let group = piece * (PIECE / GROUP) + i;
                    unmask(c, prgs, |i| self.s.bit(group * GROUP + i));
                    function.read(group, points, c, bits, len);
                });
            }
            function.hash(&bits, values);
            Ok(())
        })
    }
}

/// Computes some of the columns C from R's message, where `s` gives the bit of each.
fn unmask(columns: &mut [Block], prgs: &mut [Prg], s: impl Fn(usize) -> u8) {
    let len = columns.len() / prgs.len();
    let mut stream = ZeroizingVec::<Block>::zeros(len);
    for (i, (column, prg)) in columns.chunks_exact_mut(len).zip(prgs).enumerate() {
        let mask = Block::mask(s(i));
        prg.fill(&mut stream);
        column.iter_mut().zip(&*stream).for_each(|(c, g)| *c = *c & mask ^ *g);
    }
}

/// Reads the bits of a column in these rows.
fn read(column: &[u64], rows: &[u32], bits: &mut [u64]) {
    for (rows, bits) in rows.chunks(64).zip(bits) {
        *bits = rows
            .iter()
            .rev()
            .fold(0, |bits, row| bits << 1 | (column[(row / 64) as usize] >> (row % 64) & 1));
    }
}

/// Like [`read`], and marks these rows.
fn read_and_mark(column: &[u64], marks: &mut [u64], rows: &[u32], bits: &mut [u64]) {
    for (rows, bits) in rows.chunks(64).zip(bits) {
        *bits = rows.iter().rev().fold(0, |bits, row| {
            let word = (row / 64) as usize;
            marks[word] |= 1 << (row % 64);
            bits << 1 | (column[word] >> (row % 64) & 1)
        });
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver {
    matrix: Matrix,
    prgs: Vec<[Prg; 2]>,
}

impl Receiver {
    /// Step O1, with the sender's matrix.
    ///
    /// # Panics
    /// Same as [`Sender::setup`].
    pub fn setup<B: BaseOt>(
        matrix: Matrix,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        assert!(matrix.width <= MAX_ROW_BITS, "a point's bits fit one compression");
        let prgs = columns::Receiver::setup::<B>(matrix.width, channel, rng)?.into_prgs();
        Ok(Self { matrix, prgs })
    }

    /// Steps O2 to O4: the values at these points, which must be distinct and no more than the matrix is made
    /// for.
    pub fn evaluate(
        mut self,
        points: Points<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values> {
        // O2.
        let key = declassify(Block::random(rng));
        channel.send_slice(KEY, &[key])?;
        channel.flush()?;
        let function = Cm20Function::new(self.matrix, key);
        // 3 and 4.
        let column = function.column();
        let mut scratch = vec![Block::ZERO; PIECE.min(self.matrix.width) * column];
        function.place(points).evaluate(|points, values| {
            let (mut bits, len) = bits_of(self.matrix.width, points);
            let pieces = self.prgs.chunks_mut(PIECE).zip(bits.chunks_mut(PIECE * len));
            for (piece, (prgs, bits)) in pieces.enumerate() {
                let sent = &mut scratch[..prgs.len() * column];
                let groups = sent.par_chunks_mut(GROUP * column).zip(prgs.par_chunks_mut(GROUP));
                let groups = groups.zip(bits.par_chunks_mut(GROUP * len)).enumerate();
                groups.for_each(|(i, ((sent, prgs), bits))| {
                    let group = piece * (PIECE / GROUP) + i;
                    function.mark(group, points, prgs, sent, bits, len);
                });
                channel.send_slice(COLUMNS, sent)?;
                channel.flush()?;
            }
            function.hash(&bits, values);
            Ok(())
        })
    }
}

/// This OPRF as the basis of an OPPRF.
pub struct Oprf;

impl programmable::Oprf for Oprf {
    type Sender = Sender;
    type Receiver = Receiver;

    fn at_senders_points(
        sender: Sender,
        _: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> std::result::Result<Values, Error> {
        Ok(sender.evaluate(Points { low_halves: points.low_halves, high_halves: &[] }, channel)?)
    }

    fn at_receivers_points(
        receiver: Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> std::result::Result<Values, Error> {
        Ok(receiver.evaluate(
            Points { low_halves: points.low_halves, high_halves: &[] },
            channel,
            rng,
        )?)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::transport::memory;
    use vesica_ot::base::np01::Np01;
    use vesica_params::{KAPPA, matrix::matrix};
    use vesica_primitives::group::Ristretto;

    use super::*;

    fn blocks(range: std::ops::Range<u128>) -> Vec<Block> {
        range.map(Block).collect()
    }

    /// In the order of the points.
    fn sorted(values: Values) -> Vec<Block> {
        let mut sorted = vec![Block::ZERO; values.values.len()];
        let values = values.positions.into_iter().zip(values.values);
        values.for_each(|(position, value)| sorted[position as usize] = value);
        sorted
    }

    /// Values of the sender's points and of the receiver's.
    fn run(matrix: Matrix, senders: Points<'_>, receivers: Points<'_>) -> [Vec<Block>; 2] {
        let (a, b) = memory::pair();
        let [mut a, mut b] = [a, b].map(Channel::new);
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(1);
                let sender = Sender::setup::<Np01<Ristretto>>(matrix, &mut a, &mut rng).unwrap();
                sorted(sender.evaluate(senders, &mut a).unwrap())
            });
            let mut rng = StdRng::seed_from_u64(2);
            let receiver = Receiver::setup::<Np01<Ristretto>>(matrix, &mut b, &mut rng).unwrap();
            let values = sorted(receiver.evaluate(receivers, &mut b, &mut rng).unwrap());
            [sender.join().unwrap(), values]
        })
    }

    #[test]
    fn shared_points_have_one_value_and_all_others_their_own() {
        // One block, and several with more than a chunk in each; widths that are not multiples of a group or
        // piece.
        let several = Matrix { blocks: 3, height: 8192, width: 433 };
        for (matrix, n) in [(matrix(100, 150, 40), 100), (several, 15_000)] {
            let [senders, receivers] = [blocks(50..n + 100), blocks(0..n)];
            let points = |low_halves| Points { low_halves, high_halves: &[] };
            let [theirs, mine] = run(matrix, points(&senders), points(&receivers));
            assert_eq!(theirs[..n as usize - 50], mine[50..]);
            let mut all = [&mine[..], &theirs[n as usize - 50..]].concat();
            all.sort_unstable();
            assert!(all.array_windows().all(|[a, b]| a != b));
            let ones: u32 = all.iter().map(|value| value.0.count_ones()).sum();
            assert!((f64::from(ones) / all.len() as f64 - 64.0).abs() < 3.0, "random to look at");
        }
    }

    #[test]
    fn heads_and_tails_count() {
        let matrix = matrix(4, 4, 40);
        let [low_halves, high_halves] = [[1, 1, 2, 2].map(Block), [3, 4, 3, 4].map(Block)];
        let both = Points { low_halves: &low_halves, high_halves: &high_halves };
        let swapped = Points { low_halves: &high_halves, high_halves: &low_halves };
        let [theirs, mine] = run(matrix, both, both);
        assert_eq!(theirs, mine);
        assert!((0..4).all(|i| !mine[..i].contains(&mine[i])));
        let [theirs, mine] = run(matrix, swapped, both);
        assert!(theirs.iter().all(|value| !mine.contains(value)));
    }

    #[test]
    fn an_empty_set_has_no_values() {
        let one = [Block(1)];
        let [some, none] =
            [&one[..], &[]].map(|low_halves| Points { low_halves, high_halves: &[] });
        let [theirs, mine] = run(matrix(0, 1, 40), some, none);
        assert_eq!((theirs.len(), mine.len()), (1, 0));
        let [theirs, mine] = run(matrix(1, 0, 40), none, some);
        assert_eq!((theirs.len(), mine.len()), (0, 1));
    }

    /// The property that hides the value of a point that the receiver does not have: at least κ unknown bits of
    /// s.
    #[test]
    fn other_points_meet_enough_cells_that_are_not_marked() {
        let n = 1000;
        let matrix = matrix(n, n, 40);
        let function = Cm20Function::new(matrix, Block(7));
        let [receivers, senders] = [blocks(0..n as u128), blocks(1 << 20..(1 << 20) + n as u128)];
        let mut unmarked = vec![0; n];
        for group in 0..matrix.width.div_ceil(GROUP) {
            let mut marks = vec![false; GROUP * matrix.height];
            function.rows(group, &receivers, |i, _, rows| {
                rows.iter().for_each(|row| marks[i * matrix.height + *row as usize] = true);
            });
            function.rows(group, &senders, |i, _, rows| {
                if group * GROUP + i < matrix.width {
                    let cells = rows.iter().map(|row| marks[i * matrix.height + *row as usize]);
                    unmarked.iter_mut().zip(cells).for_each(|(u, marked)| *u += u32::from(!marked));
                }
            });
        }
        let mean = f64::from(unmarked.iter().sum::<u32>()) / n as f64;
        let expected = matrix.width as f64 * (-(n as f64) / matrix.height as f64).exp();
        assert!((mean - expected).abs() < 3.0, "{mean}, {expected}");
        assert!(unmarked.iter().all(|unmarked| *unmarked >= KAPPA));
    }

    #[test]
    fn marks_and_bits_are_at_their_rows() {
        let column: Vec<u64> =
            (1..=4).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let rows: Vec<u32> = (0..130).map(|i| i * 37 % 256).collect();
        let (mut marks, mut bits, mut alone) = (vec![0; 4], vec![0; 3], vec![0; 3]);
        read_and_mark(&column, &mut marks, &rows, &mut bits);
        read(&column, &rows, &mut alone);
        assert_eq!(bits, alone);
        let bit = |words: &[u64], i: u32| words[(i / 64) as usize] >> (i % 64) & 1;
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(bit(&bits, i as u32), bit(&column, *row));
        }
        assert!((0..256).all(|row| (bit(&marks, row) == 1) == rows.contains(&row)));
    }
}
