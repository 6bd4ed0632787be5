//! The last step of correlated OT with random choices: conversion to choices that the receiver makes.
//!
//! R holds t_j = q_j ⊕ a_j·Δ for a random a_j that S does not know, and wants the choice c_j. R → S: d_j = c_j
//! ⊕ a_j, one bit per OT, masked by a_j. S adds d_j·Δ to q_j, so that t_j = q_j ⊕ c_j·Δ. An R that sends a
//! different d_j has only made a different choice.

use vesica_net::{Channel, Result};
use vesica_primitives::{Bits, Block, Delta};

/// R's side: turns the random bits into these choices. Consumes those bits.
///
/// # Panics
/// If the numbers of random bits and choices differ.
pub(super) fn send(
    label: &'static str,
    choices: &Bits,
    random: &Bits,
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(choices.len(), random.len(), "a random bit for each choice");
    let bits = choices.blocks().iter().zip(random.blocks());
    let flips: Vec<Block> = bits.map(|(choices, random)| *choices ^ *random).collect();
    channel.send_slice(label, &flips)?;
    channel.flush()
}

/// S's side: adapts the q_j of `rows` to R's choices.
pub(super) fn receive(
    label: &'static str,
    delta: &Delta,
    rows: &mut [Block],
    channel: &mut Channel,
) -> Result<()> {
    let mut flips = vec![Block::ZERO; rows.len().div_ceil(128)];
    channel.recv_slice(label, &mut flips)?;
    let delta = delta.expose()[0];
    for (rows, flips) in rows.chunks_mut(128).zip(flips) {
        for (i, q) in rows.iter_mut().enumerate() {
            *q ^= delta & Block::mask((flips.0 >> i & 1) as u8);
        }
    }
    Ok(())
}
