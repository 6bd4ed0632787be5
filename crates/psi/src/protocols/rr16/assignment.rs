//! The assignment of OTs to the cells of the filter: a permutation chosen by R, because there are as many cells
//! as unopened OTs.

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_primitives::{
    Bits, Block, Seed, declassify,
    packed::{pack_into, packed_len, unpack},
};
use zeroize::Zeroizing;

use super::draw::{Draws, shuffle};

/// The check by which S refuses a number that belongs to no OT.
pub(super) const CHECK_RANGE: &str = "cells stand for OTs that were not opened";

/// The check by which S refuses an OT that is assigned to two cells.
pub(super) const CHECK_ONCE: &str = "no OT stands for two cells";

const ASSIGNMENT: &str = "rr16/assignment";

/// Cells per message.
const CHUNK: usize = 1 << 18;

/// Payload bytes for `cells` cells.
pub(super) fn bytes(cells: usize) -> usize {
    let whole = cells / CHUNK * packed_len(CHUNK, bits(cells));
    whole + packed_len(cells % CHUNK, bits(cells))
}

/// Bits of the number of an OT.
fn bits(cells: usize) -> u32 {
    usize::BITS - (cells - 1).leading_zeros()
}

/// Assigns an OT to each cell: to each cell that is set, one in which R chose one. `None` if there are too few
/// of these.
///
/// Cells that are not set first take zeros and then, when none are left, the remaining ones (Liang et al., §5.4). The
/// choices were a uniform set of their size. To a party that does not know them, the permutation is uniform for any set
/// of cells: OTs of either choice are taken in a uniform order.
pub(super) fn draw(is_set: &Bits, choices: &Bits, rng: &mut dyn CryptoRng) -> Option<Vec<u32>> {
    // The operations here do not depend on choices and order, but their addresses do: caches could reveal them, time
    // does not.
    let mut draws = Draws::new(&Seed::new(declassify(Block::random(rng))));
    let choices: Zeroizing<Vec<u8>> = Zeroizing::new(choices.iter().map(declassify).collect());
    let mut with_choice = |wanted: u8, count: usize| {
        let mut ots = Zeroizing::new(Vec::with_capacity(count));
        ots.extend((0..).zip(&*choices).filter(|(_, c)| **c == wanted).map(|(ot, _)| ot));
        shuffle(&mut ots, &mut draws);
        ots
    };
    let weight = |bits: &Bits| bits.blocks().iter().map(|b| b.0.count_ones() as usize).sum();
    let ones = choices.iter().map(|choice| usize::from(*choice)).sum::<usize>();
    let set: usize = weight(is_set);
    let (zeros, ones) = (with_choice(0, choices.len() - ones), with_choice(1, ones));
    let (for_set, left_over) = ones.split_at_checked(set)?;
    let mut for_set = for_set.iter();
    let mut for_others = zeros.iter().chain(left_over);
    is_set
        .iter()
        .map(|set| if set == 1 { for_set.next() } else { for_others.next() }.copied())
        .collect()
}

/// Sends an assignment.
pub(super) fn send(assignment: &[u32], channel: &mut Channel) -> Result<()> {
    let bits = bits(assignment.len());
    let mut packed = Vec::new();
    for chunk in assignment.chunks(CHUNK) {
        packed.clear();
        pack_into(&mut packed, chunk.iter().map(|ot| u128::from(*ot)), bits);
        channel.send(ASSIGNMENT, &packed)?;
    }
    channel.flush()
}

/// Receives an assignment for `cells` cells.
///
/// # Errors
/// [`Deviation::CheckFailed`] with [`CHECK_RANGE`] or [`CHECK_ONCE`].
pub(super) fn receive(cells: usize, channel: &mut Channel) -> Result<Vec<u32>> {
    let bits = bits(cells);
    let mut taken = Bits::zeros(cells);
    let mut assignment = Vec::with_capacity(cells);
    let mut packed = vec![0; packed_len(cells.min(CHUNK), bits)];
    for first in (0..cells).step_by(CHUNK) {
        let count = (cells - first).min(CHUNK);
        let packed = &mut packed[..packed_len(count, bits)];
        channel.recv_into(ASSIGNMENT, packed)?;
        for ot in unpack(packed, count, bits) {
            let fail = |check| Err(channel.deviation(Deviation::CheckFailed { check }));
            if ot >= cells as u128 {
                return fail(CHECK_RANGE);
            }
            if taken.get(ot as usize) == 1 {
                return fail(CHECK_ONCE);
            }
            taken.set(ot as usize, 1);
            assignment.push(ot as u32);
        }
    }
    Ok(assignment)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::protocols::rr16::draw::subset;

    #[test]
    fn set_cells_get_ones_and_every_ot_is_used_once() {
        let rng = &mut StdRng::seed_from_u64(1);
        for (cells, set, ones) in [(1, 1, 1), (300, 0, 0), (300, 40, 40), (300, 40, 200), (7, 7, 7)]
        {
            let [is_set, choices] = [set, ones].map(|size| subset(cells, size, &Seed::random(rng)));
            let assignment = draw(&is_set, &choices, rng).unwrap();
            let choice = |cell: usize| choices.get(assignment[cell] as usize);
            assert!((0..cells).all(|cell| is_set.get(cell) <= choice(cell)));
            let mut sorted = assignment;
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..cells as u32));
        }
        let [is_set, choices] = [41, 40].map(|size| subset(300, size, &Seed::random(rng)));
        assert!(draw(&is_set, &choices, rng).is_none());
    }

    /// S's view is independent of the filter.
    #[test]
    fn assignments_are_uniform_whatever_is_set() {
        for set in 0..=2 {
            let rng = &mut StdRng::seed_from_u64(set as u64);
            let is_set: Bits = (0..4).map(|cell| cell < set).collect();
            let mut counts = HashMap::new();
            for _ in 0..24_000 {
                let choices = subset(4, 2, &Seed::random(rng));
                *counts.entry(draw(&is_set, &choices, rng).unwrap()).or_insert(0) += 1;
            }
            // 1000 of each expected, with a standard deviation of 31.
            assert!(counts.len() == 24, "{set}");
            assert!(counts.values().all(|n: &i32| n.abs_diff(1000) < 5 * 31), "{counts:?}");
        }
    }

    #[test]
    fn bytes_are_those_of_all_messages() {
        assert_eq!([2, 3, 8, 9].map(bits), [1, 2, 3, 4]);
        assert_eq!(bytes(100), 88);
        assert_eq!(bytes(CHUNK), CHUNK * 18 / 8);
        assert_eq!(bytes(2 * CHUNK + 8), 2 * CHUNK * 20 / 8 + 20);
    }
}
