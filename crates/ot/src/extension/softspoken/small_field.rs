//! VOLE over GF(2^k) of vectors over GF(2), for all chunks of Δ (steps 1 to 3 of the extension).

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_primitives::{
    Block, Delta, Seed,
    aes::Prg,
    block::{add_to, sums_by_bit},
};
use zeroize::Zeroizing;

use super::SmallField;
#[cfg(test)]
use crate::extension::checked::MaliciousColumns;
use crate::{
    base::BaseOt,
    extension::columns::{CHUNK_ROWS, ColumnReceiver, ColumnSender},
    pprf,
};

const CORRECTIONS: &str = "softspoken/corrections";

/// Blocks of the longest piece of a column that is made at a time.
const MAX_COLUMN: usize = CHUNK_ROWS / 128;

/// The minimum number of leaves per thread. Passing work to a thread and waiting for it takes some
/// microseconds, enough for the streams of this many leaves.
const MIN_LEAVES: usize = 256;

/// Levels of a tree, from its leaves, that are added up at once.
const LEVELS: usize = 3;

/// Space for adding up the streams of a tree.
struct SmallFieldScratch {
    /// The streams of neighbouring leaves.
    streams: [Block; MAX_COLUMN << LEVELS],
    /// Sums of streams below nodes whose sibling is not complete yet, one for each height.
    pending: [[Block; MAX_COLUMN]; SmallField::MAX_BITS],
}

impl SmallFieldScratch {
    const fn new() -> Self {
        Self {
            streams: [Block::ZERO; MAX_COLUMN << LEVELS],
            pending: [[Block::ZERO; MAX_COLUMN]; SmallField::MAX_BITS],
        }
    }
}

/// Fills `columns` with the columns v_b of one tree and `total` with u, each as long as `total`, where
/// `stream(x, out)` writes the next blocks of r_x. Columns that do not fit are dropped.
///
/// The streams of eight neighbouring leaves are added up in registers. Their sums are added up like the digits of a
/// counter: the streams below a node of the tree are summed once it is complete, and every right child at height b is a
/// part of column b.
fn fold(
    field: SmallField,
    mut stream: impl FnMut(usize, &mut [Block]),
    columns: &mut [Block],
    total: &mut [Block],
    scratch: &mut SmallFieldScratch,
) {
    let len = total.len();
    columns.fill(Block::ZERO);
    let levels = field.bits().min(LEVELS);
    let SmallFieldScratch { streams, pending } = scratch;
    let streams = &mut streams[..len << levels];
    for node in 0..1 << (field.bits() - levels) {
        for (out, x) in streams.chunks_exact_mut(len).zip(node << levels..) {
            stream(x, out);
        }
        sums_by_bit(streams, columns, total);
        let complete = levels + node.trailing_ones() as usize;
        for (height, sibling) in pending.iter().enumerate().take(complete).skip(levels) {
            if let Some(column) = columns.get_mut(height * len..(height + 1) * len) {
                add_to(column, total);
            }
            add_to(total, &sibling[..len]);
        }
        if complete < field.bits() {
            pending[complete][..len].copy_from_slice(total);
        }
    }
}

/// The trees of the party with Δ, not yet in use.
pub struct PuncturedTrees {
    field: SmallField,
    delta: Delta,
    chunks: Zeroizing<Vec<u32>>,
    leaves: Zeroizing<Vec<Block>>,
}

impl PuncturedTrees {
    /// Step 1 for a fresh Δ.
    pub fn receive<B: BaseOt>(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let shape = field.shape();
        let delta = Delta::random(128, rng);
        let chunks = Zeroizing::new(field.split(&delta));
        let seeds = B::receive(&shape.choices(&chunks), channel, rng)?;
        let keys: Zeroizing<Vec<Block>> =
            Zeroizing::new(seeds.iter().map(|seed| *seed.expose()).collect());
        let mut leaves = Zeroizing::new(vec![Block::ZERO; shape.total()]);
        pprf::ggm::receive(shape, &chunks, &keys, &mut leaves, channel)?;
        Ok(Self { field, delta, chunks, leaves })
    }

    /// The check of the trees.
    pub fn verify(&mut self, channel: &mut Channel) -> Result<()> {
        pprf::consistency::verify(self.field.shape(), &self.chunks, &mut self.leaves, channel)
    }

    /// Converts the trees for use.
    pub fn into_sender(mut self) -> Sender {
        let size = 1 << self.field.bits();
        let trees = self.leaves.chunks_exact_mut(size).zip(&*self.chunks);
        trees.for_each(|(leaves, chunk)| shift(leaves, *chunk));
        let known = self.leaves.chunks_exact(size).flat_map(|leaves| &leaves[1..]);
        let streams = known.map(|leaf| Prg::new(&Seed::new(*leaf))).collect();
        Sender { field: self.field, delta: self.delta, streams, corrections: Vec::new() }
    }
}

/// Moves leaf x to place x ⊕ `chunk`, and thereby the missing leaf to 0, without secret addresses.
fn shift(leaves: &mut [Block], chunk: u32) {
    for b in 0..leaves.len().trailing_zeros() {
        let swap = Block::mask((chunk >> b & 1) as u8);
        for pair in leaves.chunks_exact_mut(2 << b) {
            let (low, high) = pair.split_at_mut(1 << b);
            for (low, high) in low.iter_mut().zip(high) {
                let differ = (*low ^ *high) & swap;
                *low ^= differ;
                *high ^= differ;
            }
        }
    }
}

/// The party with Δ.
pub struct Sender {
    field: SmallField,
    delta: Delta,
    /// For each tree, the stream of leaf y ⊕ d, for each y other than 0.
    streams: Vec<Prg>,
    /// The corrections of the last rows, kept only for their memory.
    corrections: Vec<Block>,
}

impl ColumnSender for Sender {
    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn correlate(&mut self, columns: &mut [Block], channel: &mut Channel) -> Result<()> {
        let (field, delta) = (self.field, &self.delta);
        let len = columns.len() / 128;
        self.corrections.resize(field.chunks() * len, Block::ZERO);
        channel.recv_slice(CORRECTIONS, &mut self.corrections)?;
        let known = (1 << field.bits()) - 1;
        let trees = columns
            .par_chunks_mut(field.bits() * len)
            .zip(self.streams.par_chunks_exact_mut(known))
            .zip(self.corrections.par_chunks_exact(len));
        let trees = trees.enumerate().with_min_len(MIN_LEAVES.div_ceil(known));
        let scratch = || (SmallFieldScratch::new(), [Block::ZERO; MAX_COLUMN]);
        trees.for_each_init(scratch, |(scratch, total), (i, ((columns, streams), correction))| {
            let stream = |y: usize, out: &mut [Block]| match y.checked_sub(1) {
                Some(known) => streams[known].fill(out),
                None => out.fill(Block::ZERO),
            };
            fold(field, stream, columns, &mut total[..len], scratch);
            for (b, column) in columns.chunks_exact_mut(len).enumerate() {
                let mask = Block::mask(delta.bit(i * field.bits() + b));
                column.iter_mut().zip(correction).for_each(|(q, c)| *q ^= *c & mask);
            }
        });
        Ok(())
    }
}

/// The trees of the party with choices, not yet in use.
pub struct Trees {
    field: SmallField,
    leaves: Zeroizing<Vec<Block>>,
}

impl Trees {
    /// Step 1.
    pub fn send<B: BaseOt>(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let shape = field.shape();
        let seeds = B::send(shape.ots(), channel, rng)?;
        let keys = seeds.iter().map(|pair| [*pair[0].expose(), *pair[1].expose()]);
        let keys: Zeroizing<Vec<[Block; 2]>> = Zeroizing::new(keys.collect());
        let mut leaves = Zeroizing::new(vec![Block::ZERO; shape.total()]);
        pprf::ggm::send(shape, &keys, &mut leaves, channel, rng)?;
        Ok(Self { field, leaves })
    }

    /// The other side of [`PuncturedTrees::verify`].
    pub fn prove(&mut self, channel: &mut Channel) -> Result<()> {
        pprf::consistency::prove(self.field.shape(), &mut self.leaves, channel)
    }

    /// Converts the trees for use.
    pub fn into_receiver(self) -> Receiver {
        let streams = self.leaves.iter().map(|leaf| Prg::new(&Seed::new(*leaf))).collect();
        Receiver { field: self.field, streams, corrections: Vec::new() }
    }
}

/// The party with choices.
pub struct Receiver {
    field: SmallField,
    /// For each tree the stream of each leaf.
    streams: Vec<Prg>,
    /// The corrections of the last rows, kept only for their memory.
    corrections: Vec<Block>,
}

impl ColumnReceiver for Receiver {
    fn correlate(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        let corrections = self.correct(choices, columns);
        channel.send_slice(CORRECTIONS, corrections)
    }
}

impl Receiver {
    /// Fills `columns` with the columns t of the next rows; returns the corrections.
    fn correct(&mut self, choices: &[Block], columns: &mut [Block]) -> &mut [Block] {
        let field = self.field;
        let len = choices.len();
        assert_eq!(columns.len(), 128 * len, "128 columns");
        self.corrections.resize(field.chunks() * len, Block::ZERO);
        let leaves = 1 << field.bits();
        let trees = columns
            .par_chunks_mut(field.bits() * len)
            .zip(self.streams.par_chunks_exact_mut(leaves))
            .zip(self.corrections.par_chunks_exact_mut(len));
        let trees = trees.with_min_len(MIN_LEAVES.div_ceil(leaves));
        trees.for_each_init(SmallFieldScratch::new, |scratch, ((columns, streams), correction)| {
            fold(field, |x, out| streams[x].fill(out), columns, correction, scratch);
            add_to(correction, choices);
        });
        &mut self.corrections
    }
}

#[cfg(test)]
impl MaliciousColumns for Receiver {
    fn correlate_falsely(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        change: impl FnOnce(&mut [Block]),
        channel: &mut Channel,
    ) -> Result<()> {
        let corrections = self.correct(choices, columns);
        change(corrections);
        channel.send_slice(CORRECTIONS, corrections)
    }
}

#[cfg(test)]
impl Trees {
    /// Like [`Trees::send`], with a wrong message for each tree's last level.
    pub fn send_falsely<B: BaseOt>(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let shape = field.shape();
        let seeds = B::send(shape.ots(), channel, rng)?;
        let mut keys: Vec<[Block; 2]> =
            seeds.iter().map(|pair| [*pair[0].expose(), *pair[1].expose()]).collect();
        keys.iter_mut().skip(shape.depth() - 1).step_by(shape.depth()).for_each(|k| k[0].0 ^= 1);
        let mut leaves = Zeroizing::new(vec![Block::ZERO; shape.total()]);
        pprf::ggm::send(shape, &keys, &mut leaves, channel, rng)?;
        Ok(Self { field, leaves })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition() {
        for bits in 1..=SmallField::MAX_BITS {
            let field = SmallField::new(bits);
            let r = |x: usize, i: usize| {
                Block((x as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) << (i % 50) ^ i as u128)
            };
            let sum = |i: usize, selected: &dyn Fn(usize) -> bool| {
                let terms = (0..1 << bits).filter(|x| selected(*x)).map(|x| r(x, i));
                terms.fold(Block::ZERO, |sum, term| sum ^ term)
            };
            for (len, scratch) in [(1, bits), (5, bits), (MAX_COLUMN, bits), (5, bits - 1), (5, 1)]
            {
                let mut columns = vec![Block(9); scratch * len];
                let mut total = vec![Block(9); len];
                let stream = |x: usize, out: &mut [Block]| (0..len).for_each(|i| out[i] = r(x, i));
                fold(field, stream, &mut columns, &mut total, &mut SmallFieldScratch::new());
                for i in 0..len {
                    assert_eq!(total[i], sum(i, &|_| true), "k = {bits}");
                    for b in 0..scratch {
                        let expected = sum(i, &|x| x >> b & 1 == 1);
                        assert_eq!(columns[b * len + i], expected, "k = {bits}, bit {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn leaves_move_to_their_distance_from_the_missing_one() {
        for bits in 1..=SmallField::MAX_BITS {
            for chunk in 0..1 << bits {
                let mut leaves: Vec<Block> = (0..1 << bits).map(Block).collect();
                shift(&mut leaves, chunk);
                let expected = (0..1u128 << bits).map(|y| Block(y ^ u128::from(chunk)));
                assert!(leaves.into_iter().eq(expected));
            }
        }
    }
}
