//! The beginning of a run: agreement on the computation and on sizes, and OT sessions that several runs share.

use std::ops::RangeInclusive;

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{Error, MAX_ITEMS, Result};

pub(crate) const SIZE: &str = "psi/size";

/// A party's first message: the size of its set and a digest of its protocol's name.
const HELLO_LEN: usize = 16;

/// Runs `uses` with an OT session. Of several runs on a connection, the first sets the session up and the others
/// continue it; a single run has its own.
///
/// # Errors
/// Errors of `setup` and `uses`.
pub(crate) fn with_ots<S: Send + 'static, T>(
    runs: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
    setup: impl FnOnce(&mut Channel, &mut dyn CryptoRng) -> vesica_net::Result<S>,
    uses: impl FnOnce(&mut S, &mut Channel, &mut dyn CryptoRng) -> Result<T>,
) -> Result<T> {
    let kept = if runs > 1 { channel.take_kept() } else { None };
    let mut session = match kept {
        Some(session) => session,
        None => {
            channel.phase("base-ot");
            setup(channel, rng)?
        }
    };
    let used = uses(&mut session, channel, rng)?;
    if runs > 1 {
        channel.keep(session);
    }
    Ok(used)
}

/// Sends the peer the size of this party's set and returns the size of the peer's. Refuses a peer that is about to run
/// something else, whose messages might look the same; `name` is the hash by which the parties compare it.
pub(crate) fn agree(
    name: &blake3::Hash,
    mine: usize,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
) -> Result<usize> {
    let (least, most) = (*peer_items.start(), MAX_ITEMS.min(*peer_items.end()));
    channel.phase("sizes");
    let mut hello = [0; HELLO_LEN];
    hello[..8].copy_from_slice(&(mine as u64).to_le_bytes());
    hello[8..].copy_from_slice(&name.as_bytes()[..HELLO_LEN - 8]);
    let mut theirs = [0; HELLO_LEN];
    channel.exchange(SIZE, &hello, &mut theirs)?;
    if mine > MAX_ITEMS {
        return Err(Error::TooManyItems { items: mine as u64, max: MAX_ITEMS as u64 });
    }
    let (size, other_name) = theirs.split_first_chunk().expect("a size and a name");
    if *other_name != hello[8..] {
        return Err(channel.malformed(SIZE, "of another protocol").into());
    }
    let items = u64::from_le_bytes(*size);
    match usize::try_from(items) {
        Ok(size) if size < least => Err(channel.malformed(SIZE, "fewer items than agreed").into()),
        Ok(size) if size <= most => Ok(size),
        _ => Err(Error::TooManyItems { items, max: most as u64 }),
    }
}
