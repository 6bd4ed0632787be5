//! Joint randomness, to which both parties contribute.

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::Adversary;
use vesica_primitives::{Block, aes::Aes128, declassify};

/// The adversary against which a toss of [`toss_first`] and [`toss_second`] is secure.
pub(crate) const ADVERSARY: Adversary = Adversary::Malicious;

/// The check by which [`toss_second`] refuses the other party's share.
pub(crate) const CHECK: &str = "opening of the seed share";

const SHARE: &str = "psi/seed-share";
const COMMITMENT: &str = "psi/seed-commitment";
const OPENING: &str = "psi/seed-opening";

/// Payload bytes of a toss against malicious parties, from the first to the second.
pub(crate) const BYTES_OF_FIRST: usize = blake3::OUT_LEN + size_of::<Block>();

/// Payload bytes of a toss against malicious parties, from the second to the first.
pub(crate) const BYTES_OF_SECOND: usize = size_of::<Block>();

/// A public random block: the sum of one share from each party. Secure against parties that follow the
/// protocol; one that waits for the other's share can choose the outcome.
pub(crate) fn toss_semi_honest(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mine = Block::random(rng);
    let mut theirs = [0; 16];
    channel.exchange(SHARE, &mine.to_bytes(), &mut theirs)?;
    Ok(declassify(mine) ^ Block::from_bytes(theirs))
}

/// The items' low halves, permuted under a seed from both parties: secure against semi-honest parties.
pub(crate) fn permute(
    low_halves: &[Block],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Block>> {
    channel.phase("hash");
    let seed = toss_semi_honest(channel, rng)?;
    let mut permuted = low_halves.to_vec();
    Aes128::new(seed).encrypt(&mut permuted);
    Ok(permuted)
}

/// A public random block that neither party can choose: this party commits to its share, sees the other's, and
/// opens its own. If it does not like the seed, it can only stop. The opening may wait in a buffer.
pub(crate) fn toss_first(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mine = Block::random(rng);
    channel.send(COMMITMENT, commit(mine).as_bytes())?;
    channel.flush()?;
    let mut theirs = [Block::ZERO];
    channel.recv_slice(SHARE, &mut theirs)?;
    channel.send_slice(OPENING, &[mine])?;
    Ok(declassify(mine) ^ theirs[0])
}

/// The other side of [`toss_first`].
///
/// # Errors
/// [`Deviation::CheckFailed`] with [`CHECK`].
pub(crate) fn toss_second(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Block> {
    let mut commitment = [0; blake3::OUT_LEN];
    channel.recv_into(COMMITMENT, &mut commitment)?;
    let mine = Block::random(rng);
    channel.send_slice(SHARE, &[mine])?;
    channel.flush()?;
    let mut theirs = [Block::ZERO];
    channel.recv_slice(OPENING, &mut theirs)?;
    if commit(theirs[0]).as_bytes() != &commitment {
        return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }));
    }
    Ok(declassify(mine) ^ theirs[0])
}

/// Hiding, because shares are uniform.
fn commit(share: Block) -> blake3::Hash {
    blake3::Hasher::new_derive_key("vesica psi seed share v1").update(&share.to_bytes()).finalize()
}
