//! The steps of a block–accumulate code, transposed; see [`crate::code::BlockAccumulate`].
//!
//! Everything here is inlined into the backend that it is compiled for: the loops are plain additions of words,
//! which compilers vectorise if they can.

use crate::{
    Words,
    arch::prefetch,
    code::block_accumulate::{BLOCK, DIMENSION, LACKING},
};

/// Columns that are accumulated together: for as many rows as noise has blocks, these entries stay in the
/// second-level cache between the two passes that read them.
const STRIP: usize = 32;

/// The number of groups of the Golay code by which entries are prefetched.
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

/// Permutes entries and replaces them by their running sums: entry i of `to` is the sum of the entries of `from` at the
/// first i + 1 of `places`.
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
    let (whole, rest) = out.as_chunks_mut::<DIMENSION>();
    for (number, out) in whole.iter_mut().enumerate() {
        for place in groups.get(number + AHEAD).into_iter().flatten() {
            let Words(entry) = &from[*place as usize];
            prefetch(&entry[0]);
            prefetch(&entry[W - 1]);
        }
        golay_group(from, &groups[number], out);
    }
    if !rest.is_empty() {
        let mut out = [Words::default(); DIMENSION];
        golay_group(from, &groups[whole.len()], &mut out);
        rest.copy_from_slice(&out[..rest.len()]);
    }
}

/// Like [`golay`], for one group.
#[inline(always)]
fn golay_group<const W: usize>(
    from: &[Words<W>],
    places: &[u32; BLOCK],
    out: &mut [Words<W>; DIMENSION],
) {
    // Compilers keep pairs of words in registers.
    for first in (0..W).step_by(2) {
        match W - first {
            1 => golay_words::<1, W>(from, places, first, out),
            _ => golay_words::<2, W>(from, places, first, out),
        }
    }
}

/// Like [`golay_group`], for some words of the entries.
///
/// A row of P lacks few of the y, so that subtracting these from the sum of all takes few additions. There are 79 in
/// all; tables of the sums over four y would take 69, but go through memory, where these stay in registers.
#[inline(always)]
fn golay_words<const N: usize, const W: usize>(
    from: &[Words<W>],
    places: &[u32; BLOCK],
    first: usize,
    out: &mut [Words<W>; DIMENSION],
) {
    const LAST: usize = DIMENSION - 1;
    let entry = |i: usize| {
        let Words(entry) = &from[places[i] as usize];
        Words::<N>(std::array::from_fn(|word| entry[first + word]))
    };
    let y: [Words<N>; DIMENSION] = std::array::from_fn(|j| entry(DIMENSION + j));
    let all = y.into_iter().fold(Words::default(), |sum, y| sum ^ y);
    let mut put = |i: usize, lacking: Words<N>| {
        out[i].0[first..first + N].copy_from_slice(&(entry(i) ^ all ^ lacking).0);
    };
    for i in 0..LAST {
        let lacking = LACKING.map(|ahead| y[(i + ahead) % LAST]);
        put(i, lacking.into_iter().fold(Words::default(), |sum, y| sum ^ y));
    }
    put(LAST, y[LAST]);
}
