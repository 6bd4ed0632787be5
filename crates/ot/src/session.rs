//! The public key of an extension's hash, fresh for each session.
//!
//! The party with Δ, which the hash protects, draws it and sends it before the base OTs: so it travels with their first
//! message, and the other party can go on as soon as it has its seeds.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::Block;

/// Draws the key and sends it under this label. The caller sends more, or flushes.
pub fn draw(label: &'static str, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let key = Block::random(rng);
    channel.send_slice(label, &[key])?;
    Ok(key)
}

/// The other side of [`draw`].
pub fn learn(label: &'static str, channel: &mut Channel) -> Result<Block> {
    let mut key = [Block::ZERO];
    channel.recv_slice(label, &mut key)?;
    Ok(key[0])
}
