//! Several pieces of noise side by side, for a consumer that takes compressed entries in any order.
//!
//! If trees are long, a piece is larger than a cache, and the code accesses all of it at random. The code is the same
//! for every piece: with the entries of four pieces in one cache line, each access to memory serves four. Entries then
//! come in a different order: a stretch of each of these pieces in turn. The order depends only on the sizes and is the
//! same for both parties.

use std::ops::Range;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::{BinaryVector, Block, CacheLine, threads};
use zeroize::Zeroizing;

use super::{PcgDimensions, PieceMessages, Receiver, Sender, complete, correction};
use crate::{
    ZeroizingVec,
    pprf::{self, half_tree::Trees},
    zeroizing::HugePageBuffer,
};

/// The number of pieces that fit side by side.
const LANES: usize = size_of::<CacheLine>() / size_of::<Block>();

/// The longest code for which pieces are compressed one by one. Such a code stays in the cache anyway, and
/// would not repay four times the memory.
const SHORT: usize = 1 << 19;

/// Entries of a piece that are passed on together. Their cache lines fit the second-level cache.
const STRETCH: usize = 1 << 12;

/// The source of the entries of pieces.
trait Fill {
    /// Puts the entries of each piece into a lane of `lines`, starting with the first lane.
    fn fill<L: BinaryVector>(&mut self, pieces: Range<usize>, lines: &mut [L]) -> Result<()>;
}

impl PcgDimensions {
    /// Compresses pieces side by side; `each` gets the result, at most [`STRETCH`] entries at a time. Their number
    /// depends only on the sizes.
    fn show(&self, fill: &mut impl Fill, each: &mut dyn FnMut(&mut [Block])) -> Result<()> {
        match self.lanes() {
            1 => self.show_lanes::<Block>(1, fill, each),
            lanes => self.show_lanes::<CacheLine>(lanes, fill, each),
        }
    }

    /// Pieces side by side.
    fn lanes(&self) -> usize {
        let groups = match self.code.length() > SHORT {
            true => self.pieces.div_ceil(LANES),
            false => self.pieces,
        };
        self.pieces.div_ceil(groups)
    }

    /// Bytes of memory of this step: the noise that is compressed at a time, and the permutations of the code.
    pub fn memory(&self) -> usize {
        let lanes = self.lanes();
        let line = if lanes > 1 { size_of::<CacheLine>() } else { size_of::<Block>() };
        let groups = rayon::current_num_threads().min(self.pieces.div_ceil(lanes));
        2 * groups * self.code.length() * line + self.code.memory()
    }

    /// Like [`PcgDimensions::show`], with `lanes` pieces in lines L.
    fn show_lanes<L: BinaryVector>(
        &self,
        lanes: usize,
        fill: &mut impl Fill,
        each: &mut dyn FnMut(&mut [Block]),
    ) -> Result<()> {
        let groups = self.pieces.div_ceil(lanes);
        let pieces = |group: usize| group * lanes..self.pieces.min((group + 1) * lanes);
        let (before, after) = (self.trees.total(), self.piece_len());
        let threads = rayon::current_num_threads().min(groups);
        let mut lines = HugePageBuffer::<L>::zeros(threads * before);
        let mut scratch = HugePageBuffer::<L>::zeros(threads * before);
        let mut rows = ZeroizingVec::zeros(STRETCH.min(after));
        for first in (0..groups).step_by(threads) {
            let lines = &mut lines[..threads.min(groups - first) * before];
            let mut filled = lines.chunks_exact_mut(before).zip(first..);
            filled.try_for_each(|(lines, group)| fill.fill(pieces(group), lines))?;
            let compressed: Vec<&mut [L]> = threads::map(
                lines.chunks_exact_mut(before).zip(scratch.chunks_exact_mut(before)),
                |(lines, scratch)| {
                    self.code.compress_within(self.piece_blocks(), lines, scratch, after)
                },
            );
            for (lines, group) in compressed.into_iter().zip(first..) {
                for (lines, start) in lines.chunks(STRETCH).zip((0..).step_by(STRETCH)) {
                    for (lane, piece) in pieces(group).enumerate() {
                        // The last piece may be shorter.
                        let left = self.len.saturating_sub(piece * after + start);
                        let rows = &mut rows[..lines.len().min(left)];
                        take(lines, lane, rows);
                        each(rows);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Puts entries into a lane.
fn put<L: BinaryVector>(entries: &[Block], lines: &mut [L], lane: usize) {
    let lanes: &mut [Block] = bytemuck::cast_slice_mut(lines);
    let lanes = lanes.chunks_exact_mut(size_of::<L>() / size_of::<Block>());
    lanes.zip(entries).for_each(|(line, entry)| line[lane] = *entry);
}

/// Extracts entries from a lane.
fn take<L: BinaryVector>(lines: &[L], lane: usize, entries: &mut [Block]) {
    let lanes: &[Block] = bytemuck::cast_slice(lines);
    let lanes = lanes.chunks_exact(size_of::<L>() / size_of::<Block>());
    entries.iter_mut().zip(lanes).for_each(|(entry, line)| *entry = line[lane]);
}

/// Calls `make(i, scratch)` for each block of the lines, with its number i; `scratch` is for the leaves of a
/// tree.
fn of_blocks<L: BinaryVector, T: Default + Send>(
    trees: pprf::Shape,
    lines: &mut [L],
    make: impl Fn(usize, &mut [Block], &mut [L]) -> T + Sync,
) -> Vec<T> {
    let scratch = || Zeroizing::new(vec![Block::ZERO; trees.leaves()]);
    trees.each_with(lines, scratch, |scratch, i, lines| make(i, scratch, lines))
}

impl Sender<'_> {
    /// Like [`Sender::fill`], but `each` gets the compressed entries, some at a time.
    pub fn show(
        &self,
        each: &mut dyn FnMut(&mut [Block]),
        shares: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Trees<'_>>> {
        let pieces = self.trees(rng);
        let dimensions = self.dimensions;
        dimensions.show(&mut Sending { dimensions, pieces: &pieces, shares, channel }, each)?;
        Ok(pieces)
    }
}

struct Sending<'a> {
    dimensions: &'a PcgDimensions,
    pieces: &'a [Trees<'a>],
    /// The Q_i of all pieces.
    shares: &'a [Block],
    channel: &'a mut Channel,
}

impl Fill for Sending<'_> {
    fn fill<L: BinaryVector>(&mut self, pieces: Range<usize>, lines: &mut [L]) -> Result<()> {
        let shape = self.dimensions.trees;
        let pieces =
            pieces.map(|piece| (&self.pieces[piece], self.dimensions.shares(piece, self.shares)));
        let made: Vec<Vec<_>> = of_blocks(shape, lines, |i, leaves, lines| {
            let lanes = pieces.clone().enumerate().map(|(lane, (trees, shares))| {
                let sums = trees.grow_one(i, leaves);
                put(leaves, lines, lane);
                (sums, correction(i, leaves, shares))
            });
            lanes.collect()
        });
        for (lane, (trees, _)) in pieces.enumerate() {
            let of_lane = made.iter().map(|lanes| &lanes[lane]);
            let sums: Vec<_> = of_lane.clone().flat_map(|(sums, _)| sums).copied().collect();
            let corrections: Vec<_> = of_lane.map(|(_, correction)| *correction).collect();
            trees.send_sums(&sums, self.channel)?;
            self.dimensions.send_corrections(&corrections, self.channel)?;
        }
        Ok(())
    }
}

impl Receiver<'_> {
    /// Like [`Receiver::fill`], but `each` gets the compressed entries, some at a time; `keep(i, leaves)`
    /// changes block i before.
    pub fn show(
        &self,
        each: &mut dyn FnMut(&mut [Block]),
        shares: &[Block],
        keep: impl Fn(usize, &mut [Block]) -> Block + Sync,
        channel: &mut Channel,
    ) -> Result<Zeroizing<Vec<Block>>> {
        let made = Zeroizing::new(vec![Block::ZERO; self.dimensions.blocks]);
        let mut receiving = Receiving { noise: self, shares, keep, made, channel };
        self.dimensions.show(&mut receiving, each)?;
        Ok(receiving.made)
    }
}

struct Receiving<'a, K> {
    noise: &'a Receiver<'a>,
    /// The Q_i + y_i·Δ of all pieces.
    shares: &'a [Block],
    keep: K,
    made: Zeroizing<Vec<Block>>,
    channel: &'a mut Channel,
}

impl<K: Fn(usize, &mut [Block]) -> Block + Sync> Fill for Receiving<'_, K> {
    fn fill<L: BinaryVector>(&mut self, pieces: Range<usize>, lines: &mut [L]) -> Result<()> {
        let (noise, trees) = (self.noise, self.noise.dimensions.trees);
        let taken = pieces.clone().map(|piece| noise.take_in(piece, self.shares, self.channel));
        let taken = taken.collect::<Result<Vec<_>>>()?;
        let pieces = pieces.zip(&taken);
        let made: Vec<Zeroizing<Vec<Block>>> = of_blocks(trees, lines, |i, leaves, lines| {
            let lanes = pieces.clone().enumerate().map(
                |(lane, (piece, PieceMessages { masked, sums }))| {
                    masked.grow_one(i, noise.places(piece), noise.keys(piece), leaves);
                    complete(leaves, noise.places(piece)[i], sums[i]);
                    let made = (self.keep)(piece * trees.trees() + i, leaves);
                    put(leaves, lines, lane);
                    made
                },
            );
            Zeroizing::new(lanes.collect())
        });
        for (lane, (piece, _)) in pieces.enumerate() {
            let all = &mut self.made[piece * trees.trees()..][..trees.trees()];
            all.iter_mut().zip(&made).for_each(|(all, made)| *all = made[lane]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use vesica_params::lpn::{Lpn, UNIFORM};

    use super::*;

    /// Pieces of artificial entries.
    struct MadeUp;

    fn entry(piece: usize, i: usize) -> Block {
        Block(((piece << 32 | i) as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    fn entries(piece: usize, count: usize) -> Vec<Block> {
        (0..count).map(|i| entry(piece, i)).collect()
    }

    impl Fill for MadeUp {
        fn fill<L: BinaryVector>(&mut self, pieces: Range<usize>, lines: &mut [L]) -> Result<()> {
            let count = lines.len();
            let pieces = pieces.enumerate();
            pieces.for_each(|(lane, piece)| put(&entries(piece, count), lines, lane));
            Ok(())
        }
    }

    /// Every entry of every piece comes once, and in the same order for any number of threads.
    #[test]
    fn lanes_show_the_entries_of_separate_pieces() {
        let lpn = Lpn { least: 0, ..UNIFORM }.with_piece(5000);
        for len in [1, 5000, 5001, 14_999, 22_003, 40_000, 41_007] {
            let dimensions = PcgDimensions::new(len, lpn);
            let after = dimensions.piece_len();
            let mut expected: Vec<Block> = Vec::new();
            for piece in 0..dimensions.pieces {
                let mut noise = entries(piece, dimensions.trees.total());
                let mut scratch = noise.clone();
                expected.extend(&*dimensions.code.compress_within(
                    lpn.blocks,
                    &mut noise,
                    &mut scratch,
                    after,
                ));
            }
            expected.truncate(len);
            expected.sort_unstable_by_key(|entry| entry.0);
            for lanes in [1, 3, 4] {
                let mut orders = [1, 3].map(|threads| {
                    let pool =
                        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                    let mut shown = Vec::new();
                    let each = &mut |rows: &mut [Block]| shown.extend_from_slice(rows);
                    pool.install(|| match lanes {
                        1 => dimensions.show(&mut MadeUp, each),
                        _ => dimensions.show_lanes::<CacheLine>(lanes, &mut MadeUp, each),
                    })
                    .unwrap();
                    shown
                });
                assert_eq!(orders[0], orders[1], "{len} entries");
                orders[0].sort_unstable_by_key(|entry| entry.0);
                assert_eq!(orders[0], expected, "{len} entries");
            }
        }
    }
}
