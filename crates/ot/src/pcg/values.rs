//! Shares of numbers times Δ, from correlated OT on the bits of the numbers.

use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block};
use zeroize::Zeroizing;

use crate::{CotReceiver, CotSender, ZeroizingVec, vole::Subspace};

/// S's shares Q_i of `values` numbers y_i of `bits` bits, which R has.
pub fn send(
    values: usize,
    bits: u32,
    cot: &mut impl CotSender,
    channel: &mut Channel,
) -> Result<ZeroizingVec<Block>> {
    let shares = Zeroizing::new(cot.send_correlated(values * bits as usize, channel)?);
    Ok(combined(&shares, bits))
}

/// R's shares Q_i + y_i·Δ of its numbers y_i.
pub fn receive<A: Subspace>(
    values: &[A],
    bits: u32,
    cot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<ZeroizingVec<Block>> {
    let count = bits as usize;
    let value_bits = Bits::from_fn(values.len() * count, |i| {
        (values[i / count].embed().0 >> (i % count) & 1) as u8
    });
    let shares = Zeroizing::new(cot.receive_correlated(&value_bits, channel)?);
    Ok(combined(&shares, bits))
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
