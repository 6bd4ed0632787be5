//! The step by which a sender learns the intersection too.
//!
//! After a run, the receiver tells the sender which items they share: a fresh key, the number of shared items
//! and the sorted list of their keyed hashes. These messages are computed from the intersection alone and
//! reveal nothing about any other item. A dishonest receiver may leave out items or end the run instead; a
//! sender that must not depend on this must swap the roles.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_primitives::{Block, hash::truncate};

use crate::{Items, Result, Setting, parts::tags::Tags};

const KEY: &str = "reveal/key";
const COUNT: &str = "reveal/count";
const LIST: &str = "reveal/list";

/// The receiver's side: tells the sender which items they share.
pub fn tell(
    shared: Items<'_>,
    setting: impl Into<Setting>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    channel.phase("reveal");
    let mut key = [0; 32];
    rng.fill_bytes(&mut key);
    channel.send(KEY, &key)?;
    channel.send(COUNT, &(shared.len() as u64).to_le_bytes())?;
    let tags = Tags::new(setting);
    let hashes = hash_all(&key, shared).map(|hash| tags.of(hash)).collect();
    // The items come from a set, so there are no equal ones to look for.
    tags.send_list(LIST, hashes, Items::from(&[][..]), channel)?;
    Ok(channel.flush()?)
}

/// The sender's side: the positions in `items` of the shared ones, ascending.
///
/// # Errors
/// A deviation if the receiver names more items than either has, or one that is not in `items`.
pub fn learn(
    items: Items<'_>,
    setting: impl Into<Setting>,
    channel: &mut Channel,
) -> Result<Vec<u32>> {
    let setting = setting.into();
    channel.phase("reveal");
    let (mut key, mut count) = ([0; 32], [0; 8]);
    channel.recv_into(KEY, &mut key)?;
    channel.recv_into(COUNT, &mut count)?;
    let most = setting.sizes.sender.min(setting.sizes.receiver);
    let count = usize::try_from(u64::from_le_bytes(count))
        .ok()
        .filter(|count| *count <= most)
        .ok_or_else(|| channel.malformed(COUNT, "more shared items than a set has"))?;
    let tags = Tags::new(setting);
    let mine = hash_all(&key, items)
        .enumerate()
        .map(|(position, hash)| tags.tagged(hash, position))
        .collect();
    let mut positions = tags.recv_matches(LIST, count, mine, items, channel)?;
    if positions.len() != count {
        return Err(channel.malformed(LIST, "names an item that is not shared").into());
    }
    positions.sort_unstable();
    Ok(positions)
}

/// The keyed hash of each item, of its high half too if it has one.
fn hash_all(key: &[u8; 32], items: Items<'_>) -> impl Iterator<Item = Block> {
    let mut hasher = blake3::Hasher::new_keyed(key);
    (0..items.len()).map(move |position| {
        hasher.reset().update(&items.low_halves()[position].to_bytes());
        if let Some(high) = items.high_halves().get(position) {
            hasher.update(&high.to_bytes());
        }
        truncate(&hasher.finalize())
    })
}
