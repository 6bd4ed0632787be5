//! Sums by group, where one party knows the group of each row and the other must not learn it.
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

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes, CotReceiver, CotSender,
    pprf::{
        Shape,
        half_tree::{self, Leaves, MaskedSums, Trees},
    },
};
use vesica_primitives::{Block, threads};
use zeroize::Zeroizing;

use crate::rows::{RowLayout, Stretch, keep_if};

const KEY: &str = "scatter/key";
const ROWS: &str = "scatter/rows";

/// The maximal number of groups.
pub const MAX_GROUPS: usize = 1 << 12;

/// Trees of a call, at most.
const TREES: usize = 1 << 10;

/// Leaves of a call, at most, which bounds the memory of either side.
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
            let mut leaves = Zeroizing::new(vec![Block::ZERO; shape.total()]);
            let (sums, _) = trees.grow(&mut leaves, |_, _| ());
            let mut sent = Zeroizing::new(rows.to_vec());
            let tasks = leaves.chunks(leaves_of_tree).zip(sent.chunks_exact_mut(len));
            let part = accumulate(tasks, layout, groups, |(leaves, sent), cells, masks| {
                spread_out(&stretch, leaves, len, masks);
                layout.subtract_all(cells, &masks[..cells.len()]);
                layout.add(sent, &layout.sum(masks));
            });
            layout.add_all(&mut cells, &part);
            trees.send_sums(&sums, channel)?;
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
            let sums = MaskedSums::receive(shape, Leaves::Hashed, channel)?;
            let mut received = Zeroizing::new(vec![0; rows.len()]);
            channel.recv_slice(ROWS, &mut received)?;
            let mut leaves = Zeroizing::new(vec![Block::ZERO; shape.total()]);
            sums.grow(labels, keys, &mut leaves, |_, _| ());
            let of_rows = rows.chunks_exact(len).zip(received.chunks_exact_mut(len));
            let tasks = leaves.chunks(leaves_of_tree).zip(of_rows.zip(labels));
            let part = accumulate(tasks, layout, groups, |(leaves, rows), cells, masks| {
                let ((row, rest), label) = rows;
                spread_out(&stretch, leaves, len, masks);
                // The leaf at the label is not S's, and is left out.
                let is_here = |cell: usize| u8::from(cell as u32 == *label);
                for (cell, mask) in masks.chunks_exact_mut(len).enumerate() {
                    keep_if(1 - is_here(cell), mask);
                }
                layout.subtract(rest, &layout.sum(masks));
                layout.add(rest, row);
                layout.add_all(cells, &masks[..cells.len()]);
                for (cell, mask) in masks.chunks_exact_mut(len).enumerate() {
                    mask.copy_from_slice(rest);
                    keep_if(is_here(cell), mask);
                }
                layout.add_all(cells, &masks[..cells.len()]);
            });
            layout.add_all(&mut cells, &part);
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

/// Writes the mask of each leaf.
fn spread_out(stretch: &Stretch, leaves: &[Block], len: usize, masks: &mut [u8]) {
    let masks = masks.chunks_exact_mut(len);
    leaves.iter().zip(masks).for_each(|(leaf, mask)| stretch.fill(*leaf, mask));
}

/// The sum of the cells to which `each` adds, on all threads. It also gets room for the mask of each leaf.
fn accumulate<I: ExactSizeIterator<Item: Send>>(
    items: I,
    layout: RowLayout,
    groups: usize,
    each: impl Fn(I::Item, &mut [u8], &mut [u8]) + Sync,
) -> Zeroizing<Vec<u8>> {
    let mut items: Vec<Option<I::Item>> = items.map(Some).collect();
    let tasks = rayon::current_num_threads().max(1);
    let share = items.len().div_ceil(tasks).max(1);
    let parts = threads::map(items.chunks_mut(share), |items| {
        let mut cells = Zeroizing::new(vec![0; groups * layout.len()]);
        let mut masks = Zeroizing::new(vec![0; groups.next_power_of_two() * layout.len()]);
        for item in items.iter_mut().filter_map(Option::take) {
            each(item, &mut cells, &mut masks);
        }
        cells
    });
    let mut sum = Zeroizing::new(vec![0; groups * layout.len()]);
    parts.iter().for_each(|part| layout.add_all(&mut sum, part));
    sum
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
