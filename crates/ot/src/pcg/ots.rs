//! The correlated OTs from which noise is made, all in one call of the extension, which checks the call once if it is
//! malicious. The OTs for the trees of every level of [`PcgDimensions`] come first, then the OTs on the bits of
//! numbers, which give shares of the numbers times Δ.

use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block};
use zeroize::Zeroizing;

use super::PcgDimensions;
use crate::{CotReceiver, CotSender, ZeroizingVec, vole::Subspace};

/// S's part.
pub struct Sent {
    /// For each level the blocks of its trees' OTs.
    pub keys: Vec<Zeroizing<Vec<Block>>>,
    /// The shares Q_i.
    pub shares: ZeroizingVec<Block>,
}

/// S's part for these levels and shares Q_i of `values` numbers y_i of `bits` bits, which R has.
pub fn send(
    levels: &[PcgDimensions],
    values: usize,
    bits: u32,
    cot: &mut impl CotSender,
    channel: &mut Channel,
) -> Result<Sent> {
    let of_trees: usize = levels.iter().map(PcgDimensions::ots).sum();
    let mut blocks = ZeroizingVec::zeros(of_trees + values * bits as usize);
    cot.send_correlated_into(&mut blocks, channel)?;
    let (keys, shares) = of_levels(levels, &blocks);
    Ok(Sent { keys, shares: combined(shares, bits) })
}

/// R's part.
pub struct Received {
    /// For each level the blocks of its trees' OTs.
    pub keys: Vec<Zeroizing<Vec<Block>>>,
    /// The shares Q_i + y_i·Δ.
    pub shares: ZeroizingVec<Block>,
}

/// R's part for these levels with noise at `places`, and shares Q_i + y_i·Δ of its
/// numbers y_i.
pub fn receive<A: Subspace>(
    levels: &[PcgDimensions],
    places: &[Zeroizing<Vec<u32>>],
    values: &[A],
    bits: u32,
    cot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Received> {
    let of_trees: usize = levels.iter().map(PcgDimensions::ots).sum();
    let count = bits as usize;
    let mut choices = Bits::zeros(of_trees + values.len() * count);
    let mut next = 0;
    let mut choose = |bit: u8| {
        choices.set(next, bit);
        next += 1;
    };
    for (level, places) in levels.iter().zip(places) {
        level.all_trees().choices(places).iter().for_each(&mut choose);
    }
    for value in values {
        let value = value.embed().0;
        (0..count).for_each(|bit| choose((value >> bit & 1) as u8));
    }
    let mut blocks = ZeroizingVec::zeros(choices.len());
    cot.receive_correlated_into(&choices, &mut blocks, channel)?;
    let (keys, shares) = of_levels(levels, &blocks);
    Ok(Received { keys, shares: combined(shares, bits) })
}

/// The blocks of each level, and those that are left.
fn of_levels<'a>(
    levels: &[PcgDimensions],
    blocks: &'a [Block],
) -> (Vec<Zeroizing<Vec<Block>>>, &'a [Block]) {
    let mut left = blocks;
    let cut = |level: &PcgDimensions| {
        let own;
        (own, left) = left.split_at(level.ots());
        Zeroizing::new(own.to_vec())
    };
    let keys = levels.iter().map(cut).collect();
    (keys, left)
}

/// Each number's share, from the shares of its bits.
fn combined(shares: &[Block], bits: u32) -> ZeroizingVec<Block> {
    let bits = bits as usize;
    let mut out = ZeroizingVec::zeros(shares.len() / bits);
    out.iter_mut().zip(shares.chunks_exact(bits)).for_each(|(out, bits)| *out = combine(bits));
    out
}

/// Σ x^i · share_i in GF(2^128): from shares of bit i times Δ to a share of the number times Δ.
fn combine(shares: &[Block]) -> Block {
    shares.iter().rev().fold(Block::ZERO, |sum, share| {
        // Times x, modulo x^128 + x^7 + x^2 + x + 1, without a branch.
        let carry = (sum.0 >> 127).wrapping_neg() & 0x87;
        Block(sum.0 << 1 ^ carry) ^ *share
    })
}
