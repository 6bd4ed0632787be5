//! Randomness that both parties have a share in.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_primitives::Block;

const SHARE: &str = "psi/seed-share";

/// A public random block: the sum of one share from each party. Good against parties that follow the
/// protocol; one that waits for the other's share can choose the outcome.
pub(crate) fn toss_semi_honest(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mine = Block::random(rng);
    let mut theirs = [0; 16];
    channel.exchange(SHARE, &mine.to_bytes(), &mut theirs)?;
    Ok(mine ^ Block::from_bytes(theirs))
}
