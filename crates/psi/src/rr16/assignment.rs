//! Which OT stands for which cell of the filter: a permutation that R chooses, for there are as many
//! cells as OTs that were not opened.

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_primitives::{
    Bits, Seed,
    packed::{pack_into, packed_len, unpack},
};
use zeroize::Zeroizing;

use super::draw::{Draws, shuffle};

/// The check by which S refuses an OT that there is not.
pub(super) const CHECK_RANGE: &str = "cells stand for OTs that were not opened";

/// The check by which S refuses an OT that stands for two cells.
pub(super) const CHECK_ONCE: &str = "no OT stands for two cells";

const ASSIGNMENT: &str = "rr16/assignment";

/// Cells of one message.
const CHUNK: usize = 1 << 18;

/// Payload bytes for so many cells.
pub(super) fn bytes(cells: usize) -> usize {
    let whole = cells / CHUNK * packed_len(CHUNK, bits(cells));
    whole + packed_len(cells % CHUNK, bits(cells))
}

/// Bits of the number of an OT.
fn bits(cells: usize) -> u32 {
    usize::BITS - (cells - 1).leading_zeros()
}

/// Assigns an OT to each cell: one in which R chose one to each cell that is set. `None` where there
/// are too few of those.
///
/// Cells that are not set take zeros first and, when there are no more, the ones that are left over
/// (Liang et al., §5.4). To one who does not know the choices, which were a uniform set of their size,
/// the permutation is uniform, whatever cells are set: OTs of either choice are taken in a uniform
/// order.
pub(super) fn draw(is_set: &Bits, choices: &Bits, rng: &mut dyn CryptoRng) -> Option<Vec<u32>> {
    let mut draws = Draws::new(&Seed::random(rng));
    let mut with_choice = |wanted: u8, count: usize| {
        let mut ots = Zeroizing::new(Vec::with_capacity(count));
        ots.extend((0..).zip(choices.iter()).filter(|(_, c)| *c == wanted).map(|(ot, _)| ot));
        shuffle(&mut ots, &mut draws);
        ots
    };
    let weight = |bits: &Bits| bits.blocks().iter().map(|b| b.0.count_ones() as usize).sum();
    let (ones, set): (usize, usize) = (weight(choices), weight(is_set));
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

/// Receives an assignment for so many cells.
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
