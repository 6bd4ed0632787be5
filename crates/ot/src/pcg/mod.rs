//! Pseudo-random correlation generation (PCG), the core of silent VOLE and silent OT: shares of noise times Δ. S gets
//! a vector w; R has the noise e and gets w + e·Δ. Both then compress their vectors.
//!
//! The noise is *regular*: it consists of blocks that are zero except for a value y_i at a random place α_i
//! that only R knows. Before the first step, S has Q_i and R has Q_i + y_i·Δ; how they get these depends on the
//! source of the y_i. With an OT extension:
//!
//! - **P1.** Correlated OT on the bits of the α_i gives the keys of the trees.
//! - **P2.** S → R: a puncturable PRF for each block, by a [half-tree](half_tree) with Δ; S knows all its leaves w, R
//!   all but the one at α_i.
//! - **P3.** S → R for each block: the sum of its leaves, plus Q_i. R adds its own share and the leaves that it has,
//!   and gets the missing leaf plus y_i·Δ.
//!
//! If all values are 1, neither Q_i nor step P3 is needed: correlated leaves of a half-tree add up to Δ, so the sum of
//! the leaves that R has is the missing leaf plus Δ.
//!
//! Long vectors are made of several *pieces*, each with its own noise and trees ([`Lpn::piece`]); the OTs of
//! all pieces come first, together.
//!
//! [`check`] protects against a malicious S. Against a malicious R the trees must be full: an R that knew all
//! leaves of a block would get Q_i from step P3, and so y_i·Δ for a y_i of its choice. [`PcgDimensions::full`]
//! takes more or longer blocks, so that every leaf is an entry of the noise.

pub mod check;
mod lanes;
pub mod ots;

use std::iter::repeat_with;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::lpn::{Lpn, NoiseValues};
use vesica_primitives::{
    BinaryVector, Block,
    block::{add_to, sum},
    code::BlockAccumulate,
    declassify, threads,
};
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use crate::{
    pprf::{
        self, MASKS,
        half_tree::{self, Leaves, MaskedSums, Trees},
        masks,
    },
    zeroizing::HugePageBuffer,
};

const CORRECTIONS: &str = "noise/corrections";

/// The dimensions of a run.
pub struct PcgDimensions {
    /// Entries after compression.
    pub len: usize,
    /// Blocks of the noise, over all pieces.
    pub blocks: usize,
    /// Entries of a block.
    pub block: usize,
    /// The trees of a piece, one for each block, with one leaf per entry.
    trees: pprf::Shape,
    values: NoiseValues,
    pub(crate) code: BlockAccumulate,
    pieces: usize,
}

impl PcgDimensions {
    /// For `len` entries after compression, with as few entries before as possible.
    pub fn new(len: usize, lpn: Lpn) -> Self {
        let block = lpn.block_len(piece_len(len, lpn));
        Self::of_blocks(len, lpn, block)
    }

    /// Like [`PcgDimensions::new`], with full trees.
    pub fn full(len: usize, lpn: Lpn) -> Self {
        let piece = piece_len(len, lpn);
        let full = lpn.with_full_blocks(piece);
        let dimensions = Self::of_blocks(len, full, full.block_len(piece).next_power_of_two());
        assert!(dimensions.trees.is_full(), "as rounded");
        dimensions
    }

    fn of_blocks(len: usize, lpn: Lpn, block: usize) -> Self {
        let code = BlockAccumulate::new(lpn.code_len(block), lpn.accumulators);
        let trees = pprf::Shape::new(lpn.blocks, block);
        let pieces = lpn.pieces(len);
        // This ensures that a VOLE for the values of all blocks is shorter than the one that needs them.
        assert!(
            pieces == 1 || pieces * lpn.blocks + 1 < len,
            "pieces have more entries than blocks"
        );
        Self { len, blocks: pieces * lpn.blocks, block, trees, values: lpn.values, code, pieces }
    }

    /// OTs of step P1.
    pub fn ots(&self) -> usize {
        self.all_trees().ots()
    }

    /// The trees of all pieces.
    fn all_trees(&self) -> pprf::Shape {
        pprf::Shape::new(self.blocks, self.block)
    }

    /// Payload bytes that go to the receiver.
    pub fn bytes(&self) -> usize {
        self.pieces * half_tree::bytes(self.trees, self.leaves())
            + self.corrections() * size_of::<Block>()
    }

    /// Values that need a correction, and Q_i, each: all blocks, or none.
    pub fn corrections(&self) -> usize {
        match self.values {
            NoiseValues::Uniform => self.blocks,
            NoiseValues::Ones => 0,
        }
    }

    fn leaves(&self) -> Leaves {
        match self.values {
            NoiseValues::Uniform => Leaves::Hashed,
            NoiseValues::Ones => Leaves::Correlated,
        }
    }

    /// Random places, one in each block.
    pub fn places(&self, rng: &mut dyn CryptoRng) -> Zeroizing<Vec<u32>> {
        Zeroizing::new((0..self.blocks).map(|_| below(self.block as u32, rng)).collect())
    }

    /// Blocks of a piece.
    pub(crate) fn piece_blocks(&self) -> usize {
        self.blocks / self.pieces
    }

    /// Entries of a piece after compression; some of the last piece may be unused.
    fn piece_len(&self) -> usize {
        self.len.div_ceil(self.pieces).max(1)
    }

    /// Memory for a run.
    pub fn space(&self) -> Space {
        let len = self.threads() * self.trees.total();
        Space { leaves: HugePageBuffer::zeros(len), scratch: HugePageBuffer::zeros(len) }
    }

    /// The shares of a piece's blocks, from the shares of all blocks.
    fn shares<'s>(&self, piece: usize, shares: &'s [Block]) -> &'s [Block] {
        let blocks = self.corrections() / self.pieces;
        &shares[piece * blocks..][..blocks]
    }

    /// Sends the corrections of a piece, if there are any.
    fn send_corrections(&self, corrections: &[Block], channel: &mut Channel) -> Result<()> {
        if self.corrections() > 0 {
            channel.send_slice(CORRECTIONS, corrections)?;
        }
        channel.flush()
    }

    /// Pieces that are compressed at a time.
    fn threads(&self) -> usize {
        rayon::current_num_threads().min(self.pieces)
    }

    /// Writes e, compressed, to `out`, where `values` are the y_i and `places` the α_i.
    pub fn compress_noise<A: BinaryVector + DefaultIsZeroes>(
        &self,
        places: &[u32],
        values: &[A],
        space: &mut Space,
        out: &mut [A],
    ) {
        let fill = |piece: usize, (), entries: &mut [A]| {
            let first = piece * self.piece_blocks();
            self.trees.each(entries, |i, block| {
                block.fill(A::default());
                add_at(block, places[first + i], values[first + i]);
            });
        };
        self.compress(space, out, |_| Ok(()), fill, |()| Ok(()))
            .expect("nothing is sent or received");
    }

    /// Compresses pieces while they are in the cache, as many at a time as there are threads. `make(i, took, leaves)`
    /// makes the entries of piece i from the result of `take_in(i)`, and `hand_out` gets its result.
    fn compress<V: BinaryVector + DefaultIsZeroes, M: Send, T: Default + Send>(
        &self,
        space: &mut Space,
        out: &mut [V],
        mut take_in: impl FnMut(usize) -> Result<M>,
        make: impl Fn(usize, M, &mut [V]) -> T + Sync,
        mut hand_out: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        assert_eq!(out.len(), self.len, "as many entries as were asked for");
        let (threads, before) = (self.threads(), self.trees.total());
        let leaves: &mut [V] = bytemuck::cast_slice_mut(&mut space.leaves);
        let scratch: &mut [V] = bytemuck::cast_slice_mut(&mut space.scratch);
        // Even a run of zero entries has a piece.
        let mut outs = out.chunks_mut(self.piece_len()).chain(repeat_with(Default::default));
        for first in (0..self.pieces).step_by(threads) {
            let pieces = first..(first + threads).min(self.pieces);
            let leaves = &mut leaves[..pieces.len() * before];
            let took: Vec<M> = pieces.clone().map(&mut take_in).collect::<Result<_>>()?;
            let outs: Vec<&mut [V]> = outs.by_ref().take(pieces.len()).collect();
            let made = threads::map(
                leaves.chunks_exact_mut(before).zip(pieces).zip(took),
                |((leaves, piece), took)| make(piece, took, leaves),
            );
            made.into_iter().try_for_each(&mut hand_out)?;
            let scratch = scratch.chunks_exact_mut(before);
            threads::for_each(
                leaves.chunks_exact_mut(before).zip(scratch).zip(outs),
                |((leaves, scratch), out)| {
                    self.code.compress(self.piece_blocks(), leaves, scratch, out);
                },
            );
        }
        Ok(())
    }
}

/// Memory for the pieces that are compressed at a time, for entries of at most the size of a block. Pieces that are
/// compressed one after the other share it, because the system is slow to provide it. Zeroized when dropped.
pub struct Space {
    leaves: HugePageBuffer<Block>,
    scratch: HugePageBuffer<Block>,
}

/// A random number below `bound`, by the method of Canon: ⌊u·bound / 2^32⌋ for 32 random bits u, with 32 more if these
/// do not decide.
///
/// Time reveals only whether they decided. They do not with a probability below `bound` / 2^32, and then u was the last
/// that gives this result: at most a third of the results can be excluded.
fn below(bound: u32, rng: &mut dyn CryptoRng) -> u32 {
    let mut draw = || u64::from(rng.next_u32()) * u64::from(bound);
    let product = draw();
    let (result, rest) = ((product >> 32) as u32, product as u32);
    if declassify(u8::from(rest > bound.wrapping_neg())) == 0 {
        return result;
    }
    let (_, carries) = rest.overflowing_add((draw() >> 32) as u32);
    result + u32::from(carries)
}

fn piece_len(len: usize, lpn: Lpn) -> usize {
    len.div_ceil(lpn.pieces(len))
}

/// S's side after step P1.
pub struct Sender<'a> {
    dimensions: &'a PcgDimensions,
    delta: Zeroizing<Block>,
    keys: Zeroizing<Vec<Block>>,
}

impl<'a> Sender<'a> {
    /// After step P1 ([`ots::send`]) with this Δ, which gave these keys.
    pub fn new(dimensions: &'a PcgDimensions, delta: Block, keys: Zeroizing<Vec<Block>>) -> Self {
        Self { dimensions, delta: Zeroizing::new(delta), keys }
    }

    /// Steps P2 and P3, where `shares` are the Q_i, as many as there are [corrections](PcgDimensions::corrections):
    /// writes w, compressed, to `out`. Returns the trees from which w is made.
    pub fn fill(
        &self,
        space: &mut Space,
        out: &mut [Block],
        shares: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Trees<'_>>> {
        let pieces = self.trees(rng);
        let make = |piece: usize, (), leaves: &mut [Block]| {
            let shares = self.dimensions.shares(piece, shares);
            // P2., and P3. while a tree's leaves are in the cache.
            let correct = |i: usize, leaves: &[Block]| correction(i, leaves, shares);
            (piece, pieces[piece].grow(leaves, correct))
        };
        self.dimensions.compress(
            space,
            out,
            |_| Ok(()),
            make,
            |(piece, (sums, corrections))| {
                pieces[piece].send_sums(&sums, channel)?;
                self.dimensions.send_corrections(&corrections, channel)
            },
        )?;
        Ok(pieces)
    }

    /// The trees of each piece.
    fn trees(&self, rng: &mut dyn CryptoRng) -> Vec<Trees<'_>> {
        let (trees, leaves) = (self.dimensions.trees, self.dimensions.leaves());
        let pieces = self.keys.chunks_exact(trees.ots());
        pieces.map(|keys| Trees::new(trees, leaves, *self.delta, keys, rng)).collect()
    }
}

/// R's side after step P1.
pub struct Receiver<'a> {
    dimensions: &'a PcgDimensions,
    places: &'a [u32],
    keys: Zeroizing<Vec<Block>>,
}

impl<'a> Receiver<'a> {
    /// After step P1 ([`ots::receive`]), which gave these messages, where `places` are the α_i.
    pub fn new(
        dimensions: &'a PcgDimensions,
        places: &'a [u32],
        keys: Zeroizing<Vec<Block>>,
    ) -> Self {
        Self { dimensions, places, keys }
    }

    /// Steps P2 and P3, where `shares` are the Q_i + y_i·Δ: writes w + e·Δ, compressed, to `out`; `keep(i, leaves)`
    /// may change block i before. Returns the results of `keep`, one per block.
    pub fn fill<T: Default + Send + Copy + Zeroize>(
        &self,
        space: &mut Space,
        out: &mut [Block],
        shares: &[Block],
        keep: impl Fn(usize, &mut [Block]) -> T + Sync,
        channel: &mut Channel,
    ) -> Result<Zeroizing<Vec<T>>> {
        let mut made = Zeroizing::new(Vec::with_capacity(self.dimensions.blocks));
        let take_in = |piece| self.take_in(piece, shares, channel);
        let grow = |piece: usize, took, leaves: &mut [Block]| {
            Zeroizing::new(self.grow(piece, took, leaves, &keep))
        };
        self.dimensions.compress(space, out, take_in, grow, |of_piece| {
            made.extend_from_slice(&of_piece);
            Ok(())
        })?;
        Ok(made)
    }

    /// Computes the leaves of a piece from the messages [taken in](Self::take_in).
    fn grow<T: Default + Send>(
        &self,
        piece: usize,
        messages: PieceMessages,
        leaves: &mut [Block],
        keep: &(impl Fn(usize, &mut [Block]) -> T + Sync),
    ) -> Vec<T> {
        let first = piece * self.dimensions.piece_blocks();
        let PieceMessages { masked, sums } = messages;
        masked.grow(self.places(piece), self.keys(piece), leaves, |i, leaves| {
            complete(leaves, self.places[first + i], sums[i]);
            keep(first + i, leaves)
        })
    }

    /// Receives S's messages for a piece in steps P2 and P3.
    fn take_in(
        &self,
        piece: usize,
        shares: &[Block],
        channel: &mut Channel,
    ) -> Result<PieceMessages> {
        let dimensions = self.dimensions;
        let masked = MaskedSums::receive(dimensions.trees, dimensions.leaves(), channel)?;
        let shares = dimensions.shares(piece, shares);
        let mut sums = Zeroizing::new(vec![Block::ZERO; dimensions.piece_blocks()]);
        let corrected = &mut sums[..shares.len()];
        if !corrected.is_empty() {
            channel.recv_slice(CORRECTIONS, corrected)?;
            add_to(corrected, shares);
        }
        Ok(PieceMessages { masked, sums })
    }

    /// The places of a piece.
    fn places(&self, piece: usize) -> &[u32] {
        let blocks = self.dimensions.piece_blocks();
        &self.places[piece * blocks..][..blocks]
    }

    /// The keys of a piece.
    fn keys(&self, piece: usize) -> &[Block] {
        let ots = self.dimensions.trees.ots();
        &self.keys[piece * ots..][..ots]
    }
}

/// S's messages for a piece in steps P2 and P3.
struct PieceMessages {
    /// The sums of a tree's levels, masked.
    masked: MaskedSums,
    /// For each block the sum of all its leaves, plus the value that is added to the missing one: for correlated
    /// leaves, Δ twice.
    sums: Zeroizing<Vec<Block>>,
}

/// A block's correction.
fn correction(block: usize, leaves: &[Block], shares: &[Block]) -> Block {
    shares.get(block).map_or(Block::ZERO, |share| sum(leaves) ^ *share)
}

/// Fills in the missing leaf, replacing the value there.
fn complete(leaves: &mut [Block], place: u32, with_missing: Block) {
    let missing = sum(leaves) ^ with_missing;
    add_at(leaves, place, missing);
}

/// Adds `value` to the entry at a secret place. Every entry is accessed, so that the caches do not reveal which
/// one was meant.
fn add_at<V: BinaryVector>(entries: &mut [V], place: u32, value: V) {
    let words: &mut [u64] = bytemuck::cast_slice_mut(entries);
    let value: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&value));
    for (i, entries) in words.chunks_mut(MASKS * value.len()).enumerate() {
        let masks = masks(i * MASKS, place as usize);
        for (entry, mask) in entries.chunks_exact_mut(value.len()).zip(masks) {
            entry.iter_mut().zip(value).for_each(|(word, value)| *word ^= value & mask);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_params::lpn::{GUESSED_ONES, ONES, PUBLISHED, PUBLISHED_ONES, UNIFORM};

    use super::*;

    #[test]
    fn a_value_gets_to_its_place_and_nowhere_else() {
        for len in [1, 2, 3, 16, 37] {
            for place in 0..len {
                let mut narrow: Vec<u64> = (0..len as u64).collect();
                add_at(&mut narrow, place as u32, 1 << 50);
                let expected = |i: usize| i as u64 ^ if i == place { 1 << 50 } else { 0 };
                assert!((0..len).all(|i| narrow[i] == expected(i)));
                let mut wide: Vec<Block> = (0..len as u128).map(|i| Block(i << 70)).collect();
                add_at(&mut wide, place as u32, Block(1));
                let expected = |i: usize| Block((i as u128) << 70 | u128::from(i == place));
                assert!((0..len).all(|i| wide[i] == expected(i)));
            }
        }
    }

    #[test]
    fn full_trees_have_hardly_more_leaves_than_others() {
        let whole = UNIFORM.with_piece(usize::MAX);
        for lpn in [UNIFORM, ONES, GUESSED_ONES, PUBLISHED, PUBLISHED_ONES, whole] {
            for len in [0, 1, 100, 6144, 6145, 50_000, 200_000, 1 << 20, 1_373_000, 1 << 24] {
                let (least, full) = (PcgDimensions::new(len, lpn), PcgDimensions::full(len, lpn));
                assert_eq!(full.pieces, least.pieces);
                let blocks = full.piece_blocks();
                assert!(blocks >= lpn.blocks && blocks < 2 * lpn.blocks + 24);
                for dimensions in [&least, &full] {
                    assert!(dimensions.code.dimension() >= dimensions.piece_len());
                    assert!(dimensions.piece_len() <= lpn.piece);
                    assert!(dimensions.pieces * dimensions.piece_len() >= len);
                }
                let spare = full.trees.total().saturating_sub(least.trees.total());
                assert!(spare <= (24 * full.block).max(least.trees.total() / 4), "{len}");
            }
        }
    }

    /// Piece by piece or all at once, with threads or without: the entries are the same.
    #[test]
    fn pieces_are_compressed_in_their_order() {
        let lpn = Lpn { least: 0, ..UNIFORM }.with_piece(3000);
        for len in [1, 3000, 3001, 20_000] {
            let dimensions = PcgDimensions::new(len, lpn);
            let total = dimensions.trees.total();
            let entry = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let piece = |i: usize| {
                let mut leaves: Vec<u64> = (i * total..(i + 1) * total).map(entry).collect();
                let mut scratch = leaves.clone();
                let mut out = vec![0; dimensions.piece_len()];
                dimensions.code.compress(lpn.blocks, &mut leaves, &mut scratch, &mut out);
                out
            };
            let mut expected: Vec<u64> = (0..dimensions.pieces).flat_map(piece).collect();
            expected.truncate(len);
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let make = |piece: usize, before: usize, leaves: &mut [u64]| {
                    let entries = (before * total..).map(entry);
                    leaves.iter_mut().zip(entries).for_each(|(x, entry)| *x = entry);
                    piece
                };
                let (mut out, mut handed_out) = (vec![0; len], Vec::new());
                let mut space = dimensions.space();
                let mut give = |piece| {
                    handed_out.push(piece);
                    Ok(())
                };
                pool.install(|| dimensions.compress(&mut space, &mut out, Ok, make, &mut give))
                    .unwrap();
                assert_eq!(out, expected, "{len} entries, {threads} threads");
                assert!(handed_out.into_iter().eq(0..dimensions.pieces));
            }
        }
    }

    #[test]
    fn numbers_below_a_bound_are_those_of_the_library() {
        let [mut ours, mut theirs] = [1, 1].map(StdRng::seed_from_u64);
        // With the largest bounds every second number takes more than 32 bits.
        for bound in [1, 2, 3, 1000, 1 << 20, 1 << 31, (1 << 31) + 1, u32::MAX] {
            for _ in 0..1000 {
                assert_eq!(below(bound, &mut ours), theirs.random_range(0..bound), "{bound}");
            }
        }
    }
}
