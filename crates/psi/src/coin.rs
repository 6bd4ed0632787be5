//! Randomness that both parties have a share in.

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::Adversary;
use vesica_primitives::Block;

const SHARE: &str = "psi/seed-share";
const COMMITMENT: &str = "psi/seed-commitment";
const OPENING: &str = "psi/seed-opening";

/// Against whom [`toss_committing`] keeps its promise.
pub(crate) const ADVERSARY: Adversary = Adversary::Malicious;

/// The check by which the party that does not commit refuses the other's share.
pub(crate) const CHECK: &str = "opening of a share of the seed";

/// Payload bytes of [`toss_committing`].
pub(crate) const COMMITTING_BYTES: usize = blake3::OUT_LEN + size_of::<Block>();

/// A public random block: the sum of one share from each party. Good against parties that follow the
/// protocol; one that waits for the other's share can choose the outcome.
pub(crate) fn toss_semi_honest(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mine = Block::random(rng);
    let mut theirs = [0; 16];
    channel.exchange(SHARE, &mine.to_bytes(), &mut theirs)?;
    Ok(mine ^ Block::from_bytes(theirs))
}

/// A public random block by commitment and opening (Blum 1981): good against parties that deviate, but
/// for one that stops when it does not like the outcome. This party commits to its share, and opens it
/// when it has the other's. Roles are apart, so neither share can be the other one sent back.
pub(crate) fn toss_committing(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mine = Block::random(rng);
    channel.send(COMMITMENT, commit(mine).as_bytes())?;
    let mut theirs = [Block::ZERO];
    channel.recv_slice(SHARE, &mut theirs)?;
    channel.send_slice(OPENING, &[mine])?;
    channel.flush()?;
    Ok(mine ^ theirs[0])
}

/// The other side of [`toss_committing`].
///
/// # Errors
/// A deviation where the other party opens its commitment to something else.
pub(crate) fn toss_committed(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mut commitment = [0; blake3::OUT_LEN];
    channel.recv_into(COMMITMENT, &mut commitment)?;
    let mine = Block::random(rng);
    channel.send_slice(SHARE, &[mine])?;
    let mut theirs = [Block::ZERO];
    channel.recv_slice(OPENING, &mut theirs)?;
    if commit(theirs[0]) != commitment {
        return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }));
    }
    Ok(mine ^ theirs[0])
}

fn commit(share: Block) -> blake3::Hash {
    blake3::Hasher::new_derive_key("vesica seed commitment v1").update(&share.to_bytes()).finalize()
}
