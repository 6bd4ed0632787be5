//! LeafSums by group, where one party knows the group of each row and the other must not learn it.
//!
//! T and S hold additive shares of rows of numbers ([`RowLayout`]), and T knows a label g_j < G for each row. Both get
//! additive shares of G cells, the sums of the rows with each label. For each row, a half-tree ([`half_tree`]) gives S
//! G pseudo-random leaves and T all but the one at g_j; a leaf, stretched to a row's length, is a mask.
//!
//! - **G1.** Correlated OTs with the bits of T's labels.
//! - **G2.** S grows the trees. It subtracts leaf_i from its share of each cell i, and sends the trees' sums and
//!   c_j = z_j + Σ_i leaf_i, where z_j is its share of the row. Leaves beyond the cells count in the sum only.
//! - **G3.** T adds leaf_i to its share of each cell i ≠ g_j, and its own share of the row plus c_j − Σ_{i ≠ g_j}
//!   leaf_i to cell g_j. The shares of that cell grow by z_j in total, the shares of all others by 0.
//!
//! S sees only OTs. T's memory accesses and time do not depend on its labels. c_j hides z_j, because T lacks a leaf.
//! Each call of [`half_tree`] makes at most 2^10 trees under keys of its own, which keeps the number of targets where
//! that module has it. Trees are full, so that even a T that deviates lacks a leaf of each. Semi-honest.

use std::ops::Range;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes, CotReceiver, CotSender,
    pprf::{
        Shape,
        half_tree::{self, Leaves, MaskedSums, TreePiece, Trees},
    },
};
use vesica_primitives::{Block, WordSums, threads};
use zeroize::Zeroizing;

use crate::rows::{RowLayout, Stretch};

const KEY: &str = "scatter/key";
const ROWS: &str = "scatter/rows";

/// The maximal number of groups.
pub const MAX_GROUPS: usize = 1 << 12;

/// Trees of a call, at most.
const TREES: usize = 1 << 10;

/// Leaves of a call, at most. Both sides must agree on it: every call has keys and messages of its own.
const LEAVES: usize = 1 << 19;

/// OTs made with one call of the extension, at most.
const OTS: usize = 1 << 20;

/// Trees of each call for `groups` groups.
fn trees(groups: usize) -> usize {
    (LEAVES / groups).clamp(1, TREES)
}

/// Rows for which one call of the extension makes OTs.
fn rows_at_once(groups: usize) -> usize {
    let depth = Shape::new(1, groups).depth();
    (OTS / depth / trees(groups)).max(1) * trees(groups)
}

/// Payload bytes: to S, which is the sender of the OTs, and to T. `of_ots` is the cost of one call of the extension,
/// without its setup.
pub fn bytes(
    rows: usize,
    layout: RowLayout,
    groups: usize,
    of_ots: impl Fn(usize) -> Bytes,
) -> Bytes {
    let mut bytes = Bytes { to_sender: 0, to_receiver: 0 };
    if groups == 1 {
        return bytes;
    }
    let leaves = groups.next_power_of_two();
    bytes.to_receiver += rows * layout.len();
    for start in (0..rows).step_by(rows_at_once(groups)) {
        let count = rows_at_once(groups).min(rows - start);
        bytes = bytes + of_ots(Shape::new(count, leaves).ots());
        for start in (0..count).step_by(trees(groups)) {
            let shape = Shape::new(trees(groups).min(count - start), leaves);
            bytes.to_receiver += size_of::<Block>() + half_tree::bytes(shape, Leaves::Hashed);
        }
    }
    bytes
}

/// S's shares of the cells, from its shares of rows whose labels the other party knows.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If the number of groups is 0 or more than [`MAX_GROUPS`], or `rows` are not rows of the layout.
pub fn scatter_hidden(
    rows: &[u8],
    layout: RowLayout,
    groups: usize,
    ot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<u8>>> {
    let len = check(rows, layout, groups);
    if groups == 1 {
        return Ok(Zeroizing::new(layout.sum(rows)));
    }
    let leaves_of_tree = groups.next_power_of_two();
    let mut cells = Zeroizing::new(vec![0; groups * len]);
    for rows in rows.chunks(rows_at_once(groups) * len) {
        // G1.
        let shape = Shape::new(rows.len() / len, leaves_of_tree);
        let keys = Zeroizing::new(ot.send_correlated(shape.ots(), channel)?);
        let delta = Zeroizing::new(ot.delta().expose()[0]);
        // G2.
        let calls = rows.chunks(trees(groups) * len);
        for (rows, keys) in calls.zip(keys.chunks(trees(groups) * shape.depth())) {
            let key = Block::random(rng);
            channel.send_slice(KEY, &[key])?;
            let stretch = Stretch::new(key);
            let shape = Shape::new(rows.len() / len, leaves_of_tree);
            let trees = Trees::new(shape, Leaves::Hashed, *delta, keys, rng);
            let mut sent = Zeroizing::new(rows.to_vec());
            let parts = on_threads(&mut sent, len, |range, sent| {
                let (mut sums, start) = (LeafSums::new(layout, leaves_of_tree), range.start);
                let masked = trees.stream(range, |piece| {
                    let row = &mut sent[(piece.tree - start) * len..][..len];
                    if let Some(of_tree) = sums.add(&stretch, &piece) {
                        layout.add(row, of_tree);
                    }
                });
                Part { sums, masked }
            });
            let mut masked = Vec::with_capacity(shape.ots());
            for part in &parts {
                part.sums.for_each_cell(groups, |cell, sum| {
                    layout.subtract(&mut cells[cell * len..][..len], sum);
                });
                masked.extend_from_slice(&part.masked);
            }
            trees.send_sums(&masked, channel)?;
            channel.send_slice(ROWS, &sent)?;
        }
        channel.keep_alive()?;
    }
    channel.flush()?;
    Ok(cells)
}

/// T's shares of the cells, from its shares of rows and their labels.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// Same as [`scatter_hidden`], and if there is not a label below the number of groups for each row.
pub fn scatter_known(
    rows: &[u8],
    labels: &[u32],
    layout: RowLayout,
    groups: usize,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Zeroizing<Vec<u8>>> {
    let len = check(rows, layout, groups);
    assert_eq!(labels.len() * len, rows.len(), "a label for each row");
    if groups == 1 {
        return Ok(Zeroizing::new(layout.sum(rows)));
    }
    let leaves_of_tree = groups.next_power_of_two();
    let mut cells = Zeroizing::new(vec![0; groups * len]);
    let at_once = rows_at_once(groups);
    for (rows, labels) in rows.chunks(at_once * len).zip(labels.chunks(at_once)) {
        // G1.
        let shape = Shape::new(labels.len(), leaves_of_tree);
        let choices = shape.choices(labels);
        let keys = Zeroizing::new(ot.receive_correlated(&choices, channel)?);
        // G3.
        let calls = rows.chunks(trees(groups) * len).zip(labels.chunks(trees(groups)));
        for ((rows, labels), keys) in calls.zip(keys.chunks(trees(groups) * shape.depth())) {
            let mut key = [Block::ZERO];
            channel.recv_slice(KEY, &mut key)?;
            let stretch = Stretch::new(key[0]);
            let shape = Shape::new(labels.len(), leaves_of_tree);
            let trees = MaskedSums::receive(shape, Leaves::Hashed, channel)?;
            let mut received = Zeroizing::new(vec![0; rows.len()]);
            channel.recv_slice(ROWS, &mut received)?;
            let parts = on_threads(&mut received, len, |range, received| {
                let mut sums = LeafSums::new(layout, leaves_of_tree);
                let start = range.start;
                let of_range = &labels[range.clone()];
                let rows = &rows[start * len..][..received.len()];
                let siblings = trees.stream(range, labels, keys, |piece| {
                    let row = &mut received[(piece.tree - start) * len..][..len];
                    if let Some(of_tree) = sums.add(&stretch, &piece) {
                        layout.subtract(row, of_tree);
                    }
                });
                layout.add_all(received, rows);
                let stand_in = trees.stand_in();
                let known =
                    KnownTrees { labels: of_range, rows: received, siblings: &siblings, stand_in };
                sums.correct(&stretch, known);
                Part { sums, masked: Vec::new() }
            });
            for part in &parts {
                part.sums.for_each_cell(groups, |cell, sum| {
                    layout.add(&mut cells[cell * len..][..len], sum);
                });
            }
        }
    }
    Ok(cells)
}

/// Checks the arguments; returns bytes of a row.
fn check(rows: &[u8], layout: RowLayout, groups: usize) -> usize {
    assert!((1..=MAX_GROUPS).contains(&groups), "1 to {MAX_GROUPS} groups");
    assert!(!layout.is_empty() && rows.len().is_multiple_of(layout.len()), "rows of this layout");
    layout.len()
}

/// The results of one thread for some trees of a call.
#[derive(Default)]
struct Part {
    sums: LeafSums,
    /// The masked sums of the trees, if they are S's.
    masked: Vec<Block>,
}

/// The results of `make` for ranges of trees, one for each thread, and their rows of `len` bytes.
fn on_threads(
    rows: &mut [u8],
    len: usize,
    make: impl Fn(Range<usize>, &mut [u8]) -> Part + Sync,
) -> Vec<Part> {
    let tasks = rayon::current_num_threads().max(1);
    let share = (rows.len() / len).div_ceil(tasks).max(1);
    threads::map(rows.chunks_mut(share * len).enumerate(), |(i, rows)| {
        let start = i * share;
        make(start..start + rows.len() / len, rows)
    })
}

/// T's values for some trees: the labels, the rows less the sums of all masks, the leaves beside those at the labels,
/// and the leaf that stands for both.
struct KnownTrees<'a> {
    labels: &'a [u32],
    rows: &'a [u8],
    siblings: &'a [Block],
    stand_in: Block,
}

/// For each leaf of a tree, the sum of its masks over many trees.
#[derive(Default)]
struct LeafSums {
    layout: RowLayout,
    leaves: usize,
    /// The sums of the first blocks of all masks, of the second ones, and so on; and the sums over the current tree.
    blocks: Vec<(WordSums, Zeroizing<[u64; 4]>)>,
    /// The blocks of some masks.
    of_masks: Zeroizing<Vec<Block>>,
    /// A row.
    row: Zeroizing<Vec<u8>>,
}

impl LeafSums {
    fn new(layout: RowLayout, leaves: usize) -> Self {
        let zeros = || (WordSums::new(leaves), Zeroizing::default());
        let blocks = layout.len().div_ceil(size_of::<Block>());
        Self {
            layout,
            leaves,
            blocks: (0..blocks).map(|_| zeros()).collect(),
            of_masks: Zeroizing::default(),
            row: Zeroizing::new(vec![0; layout.len()]),
        }
    }

    /// Adds the masks of leaves. Returns the sum of all masks of the tree, if these leaves are its last.
    fn add(&mut self, stretch: &Stretch, piece: &TreePiece) -> Option<&[u8]> {
        for (number, (sums, totals)) in self.blocks.iter_mut().enumerate() {
            self.of_masks.clear();
            self.of_masks.extend_from_slice(piece.leaves);
            stretch.apply(self.layout.len(), number, &mut self.of_masks);
            sums.add(piece.first, &self.of_masks, totals);
        }
        if piece.first + piece.leaves.len() < self.leaves {
            return None;
        }
        self.layout.set_words(&mut self.row, |word| self.blocks[word / 4].1[word % 4]);
        self.blocks.iter_mut().for_each(|(_, totals)| **totals = [0; 4]);
        Some(&self.row)
    }

    /// Adds what T's cells lack. In each tree, the leaf at the label and its sibling had a stand-in, whose mask is r,
    /// where the sibling's mask is m: its cell lacks m − r. The row lost the sum of all masks; without the leaf at the
    /// label, that is m − 2r too little. Its cell also has r too much, so it lacks the row − (m − r).
    fn correct(&mut self, stretch: &Stretch, trees: KnownTrees) {
        let KnownTrees { labels, rows, siblings, stand_in } = trees;
        let (len, room) = (self.layout.len(), self.blocks.len() * size_of::<Block>());
        let mut of_stand_in = Zeroizing::new(vec![0; len]);
        stretch.fill(stand_in, &mut of_stand_in);
        let mut pair = [(); 2].map(|()| Zeroizing::new(vec![0; room]));
        let mut pairs = Zeroizing::new(vec![[Block::ZERO; 2]; self.blocks.len() * labels.len()]);
        let trees = labels.iter().zip(rows.chunks_exact(len)).zip(siblings);
        for (i, ((label, row), sibling)) in trees.enumerate() {
            let [at_label, at_sibling] = pair.each_mut().map(|row| &mut row[..len]);
            stretch.fill(*sibling, at_sibling);
            self.layout.subtract(at_sibling, &of_stand_in);
            at_label.copy_from_slice(row);
            self.layout.subtract(at_label, at_sibling);
            let [at_label, at_sibling] = pair.each_ref().map(|row| row.as_chunks().0);
            let swap = Block::mask((label & 1) as u8);
            for (number, blocks) in at_label.iter().zip(at_sibling).enumerate() {
                let [own, other] = [blocks.0, blocks.1].map(|bytes| Block::from_bytes(*bytes));
                let change = (own ^ other) & swap;
                pairs[number * labels.len() + i] = [own ^ change, other ^ change];
            }
        }
        let numbers: Zeroizing<Vec<u32>> = Zeroizing::new(labels.iter().map(|l| l / 2).collect());
        let of_blocks = pairs.chunks_exact(labels.len());
        for ((sums, _), pairs) in self.blocks.iter_mut().zip(of_blocks) {
            sums.add_pairs(&numbers, pairs);
        }
    }

    /// Calls `each` with the number and the sum of each of the first cells.
    fn for_each_cell(&self, cells: usize, mut each: impl FnMut(usize, &[u8])) {
        let mut row = Zeroizing::new(vec![0; self.layout.len()]);
        for cell in 0..cells.min(self.leaves) {
            let words = |word: usize| self.blocks[word / 4].0.get(cell)[word % 4];
            self.layout.set_words(&mut row, words);
            each(cell, &row);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_ot::extension::alsz13;
    use vesica_testkit::two_party::{self, Link};

    use super::*;
    use crate::rows::Width;

    /// Shares of random rows are scattered; the sums of both parties' cells are the sums by label.
    fn cells_add_up(widths: &[Width], count: usize, groups: usize, label: impl Fn(usize) -> u32) {
        let mut rng = StdRng::seed_from_u64((count * groups) as u64);
        let (layout, _) = RowLayout::new(widths);
        let len = layout.len();
        let mut random = || -> Vec<u8> { (0..count * len).map(|_| rng.random()).collect() };
        let (of_s, of_t) = (random(), random());
        let labels: Vec<u32> = (0..count).map(label).collect();
        let (mine, theirs) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut ot = alsz13::Sender::setup(channel, rng)?;
                scatter_hidden(&of_s, layout, groups, &mut ot, channel, rng)
            },
            |channel, rng| {
                let mut ot = alsz13::Receiver::setup(channel, rng)?;
                scatter_known(&of_t, &labels, layout, groups, &mut ot, channel)
            },
        );
        let mut expected = vec![0; groups * len];
        for (i, label) in labels.iter().enumerate() {
            let cell = &mut expected[*label as usize * len..][..len];
            layout.add(cell, &of_s[i * len..][..len]);
            layout.add(cell, &of_t[i * len..][..len]);
        }
        let mut sums = mine.to_vec();
        layout.add_all(&mut sums, &theirs);
        assert!(sums == expected, "{widths:?}, {count} rows, {groups} groups");
        assert!(groups == 1 || count == 0 || mine.iter().any(|byte| *byte != 0), "masked");
    }

    #[test]
    fn cells_are_the_sums_of_their_rows() {
        let [narrow, middle, wide] = Width::ALL;
        let layouts = [&[narrow][..], &[narrow, middle], &[wide, narrow, middle, middle]];
        for widths in layouts {
            for groups in [1, 2, 3, 4, 5, 16, 100, 1023] {
                for count in [0, 1, 7, 200] {
                    cells_add_up(widths, count, groups, |i| (i * 7919 % groups) as u32);
                }
            }
        }
    }

    #[test]
    fn groups_may_be_empty_or_take_every_row() {
        for groups in [2, 17, MAX_GROUPS] {
            let last = groups as u32 - 1;
            cells_add_up(&[Width::Bits64], 50, groups, |_| 0);
            cells_add_up(&[Width::Bits64], 50, groups, |_| last);
            cells_add_up(&[Width::Bits64], 50, groups, |i| if i % 2 == 0 { 0 } else { last });
        }
    }

    #[test]
    fn rows_may_need_several_calls() {
        let count = 2 * TREES + 3;
        cells_add_up(&[Width::Bits32], count, 3, |i| i as u32 % 3);
        cells_add_up(&[Width::Bits32, Width::Bits128], 300, 2000, |i| i as u32 * 3 % 2000);
        assert!(trees(2000) < 300, "more than one call");
    }
}
