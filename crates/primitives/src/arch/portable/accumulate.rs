//! The steps of a block–accumulate code, transposed; see [`crate::code::BlockAccumulate`].
//!
//! Everything here is inlined into the backend that it is compiled for: the loops are plain additions of words,
//! which compilers vectorise if they can.

use crate::{
    Words,
    arch::prefetch,
    code::block_accumulate::{BLOCK, DIMENSION, PARITY},
};

/// Columns that are accumulated together: for as many rows as noise has blocks, these entries stay in the
/// second-level cache between the two passes that read them.
const STRIP: usize = 32;

/// How many groups of the Golay code ahead entries are prefetched.
const AHEAD: usize = 2;

/// Replaces a matrix of entries, `width` per row, by its running sums column by column: each entry becomes the
/// sum of all entries of earlier columns and of those above it, including itself.
///
/// Works row by row, so that memory is read in order: once for the sums of the columns, once for the rest.
#[inline(always)]
pub fn accumulate_columns<const W: usize>(entries: &mut [Words<W>], width: usize) {
    let mut before = Words::default();
    for start in (0..width).step_by(STRIP) {
        let strip = start..width.min(start + STRIP);
        let mut sums = [Words::<W>::default(); STRIP];
        let sums = &mut sums[..strip.len()];
        for row in entries.chunks_exact(width) {
            sums.iter_mut().zip(&row[strip.clone()]).for_each(|(sum, entry)| *sum ^= *entry);
        }
        for sum in &mut *sums {
            let column = std::mem::replace(sum, before);
            before ^= column;
        }
        for row in entries.chunks_exact_mut(width) {
            for (sum, entry) in sums.iter_mut().zip(&mut row[strip.clone()]) {
                *sum ^= *entry;
                *entry = *sum;
            }
        }
    }
}

/// Permutes entries and replaces them by their running sums: entry i of `to` is the sum of those of `from` at
/// the first i + 1 of `places`.
#[inline(always)]
pub fn accumulate_permuted<const W: usize>(from: &[Words<W>], places: &[u32], to: &mut [Words<W>]) {
    let mut sum = Words::default();
    for (to, place) in to.iter_mut().zip(places) {
        sum ^= from[*place as usize];
        *to = sum;
    }
}

/// Permutes entries and compresses each group of 24 to 12 by the extended Golay code: `out` gets x_i + Σ_j
/// P_ij·y_j for the twelve x and the twelve y of each group. The last group may be cut short.
///
/// The work on a group is so long that a processor does not look ahead to the entries of the next one, so they
/// are prefetched.
#[inline(always)]
pub fn golay<const W: usize>(from: &[Words<W>], places: &[u32], out: &mut [Words<W>]) {
    let groups = places.as_chunks::<BLOCK>().0;
    for (number, (places, out)) in groups.iter().zip(out.chunks_mut(DIMENSION)).enumerate() {
        for place in groups.get(number + AHEAD).into_iter().flatten() {
            let Words(entry) = &from[*place as usize];
            prefetch(&entry[0]);
            prefetch(&entry[W - 1]);
        }
        let entries: [Words<W>; BLOCK] = std::array::from_fn(|i| from[places[i] as usize]);
        let mut compressed = [Words::default(); DIMENSION];
        // Compilers keep pairs of words in registers.
        for first in (0..W).step_by(2) {
            match W - first {
                1 => golay_words::<1, W>(&entries, first, &mut compressed),
                _ => golay_words::<2, W>(&entries, first, &mut compressed),
            }
        }
        out.copy_from_slice(&compressed[..out.len()]);
    }
}

/// Like [`golay`], for one group and some words of its entries.
#[inline(always)]
fn golay_words<const N: usize, const W: usize>(
    entries: &[Words<W>; BLOCK],
    first: usize,
    out: &mut [Words<W>; DIMENSION],
) {
    let entry = |i: usize| Words::<N>(std::array::from_fn(|word| entries[i].0[first + word]));
    // Three tables, each of all sums over four of the y.
    let mut sums = [[Words::<N>::default(); 16]; 3];
    for (group, sums) in sums.iter_mut().enumerate() {
        for bit in 0..4 {
            let y = entry(DIMENSION + 4 * group + bit);
            for subset in 0..1 << bit {
                sums[1 << bit | subset] = sums[subset] ^ y;
            }
        }
    }
    for ((i, row), out) in PARITY.into_iter().enumerate().zip(out) {
        let [low, middle, high] = [0, 4, 8].map(|shift| usize::from(row >> shift) % 16);
        let sum = entry(i) ^ sums[0][low] ^ sums[1][middle] ^ sums[2][high];
        out.0[first..first + N].copy_from_slice(&sum.0);
    }
}
