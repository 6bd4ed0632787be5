//! The step by which a sender learns the intersection too.
//!
//! After a run, the receiver shows the sender which items they share: it sends a fresh key, the number of shared items
//! and the sorted list of their keyed hashes. These messages are computed only from the intersection and reveal nothing
//! about any other item. A dishonest receiver may leave out items or end the run instead; a sender that must not depend
//! on this must swap the roles.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::Failure;
use vesica_primitives::{
    Block,
    hash::{ShortHash, ShortInput},
    threads,
};

use crate::{Items, Result, Setting, parts::tags::Tags};

const KEY: &str = "reveal/key";
const COUNT: &str = "reveal/count";
const LIST: &str = "reveal/list";

/// The receiver's side: shows the sender which items they share.
pub fn tell(
    shared: Items<'_>,
    setting: impl Into<Setting>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    channel.phase("reveal");
    channel.reveal()?;
    let mut key = [0; 32];
    rng.fill_bytes(&mut key);
    channel.send(KEY, &key)?;
    channel.send(COUNT, &(shared.len() as u64).to_le_bytes())?;
    let tags = Tags::new(setting);
    let hashes = hash_all(&key, shared).into_iter().map(|hash| tags.of(hash)).collect();
    // The items come from a set, so no two are equal.
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
        .into_iter()
        .enumerate()
        .map(|(position, hash)| tags.tagged(hash, position))
        .collect();
    let positions = tags.recv_matches(LIST, count, mine, items, channel)?;
    if positions.len() != count {
        return Err(channel.malformed(LIST, "names an item that is not shared").into());
    }
    Ok(positions)
}

/// The event that the sender mistakes one of its items for a shared one.
pub fn failure(setting: impl Into<Setting>) -> Failure {
    let setting = setting.into();
    Tags::new(setting).failure(setting.sizes)
}

/// The first 128 bits of the keyed hash of each item, of its high half too if it has one.
fn hash_all(key: &[u8; 32], items: Items<'_>) -> Vec<Block> {
    const CHUNK: usize = 1 << 12;
    let hash = ShortHash::keyed(key);
    let mut hashes = vec![Block::ZERO; items.len()];
    threads::for_each(hashes.chunks_mut(CHUNK).enumerate(), |(chunk, hashes)| {
        let positions = chunk * CHUNK..chunk * CHUNK + hashes.len();
        let inputs = positions.map(|position| {
            let low = items.low_halves()[position];
            match items.high_halves().get(position) {
                Some(high) => ShortInput::new(bytemuck::bytes_of(&[low, *high])),
                None => ShortInput::new(&low.to_bytes()),
            }
            .expect("32 bytes are few")
        });
        let mut hashes = hashes.iter_mut();
        hash.hash(inputs, |digest| {
            let [low, _]: [Block; 2] = bytemuck::cast(digest);
            hashes.next().into_iter().for_each(|hash| *hash = low);
        });
    });
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    #[test]
    fn hashes_of_many_are_those_of_each() {
        let key = [7; 32];
        let halves = |first: u128| (first..first + 5000).map(|i| Block(i << 64 | i)).collect();
        let (low, high): (Vec<Block>, Vec<Block>) = (halves(1), halves(9000));
        let expected = |position: usize, long: bool| {
            let mut hasher = blake3::Hasher::new_keyed(&key);
            hasher.update(&low[position].to_bytes());
            if long {
                hasher.update(&high[position].to_bytes());
            }
            vesica_primitives::hash::truncate(&hasher.finalize())
        };
        for (set, long) in
            [(Set::short(low.clone()), false), (Set::long(low.clone(), high.clone()), true)]
        {
            let hashes = hash_all(&key, set.items());
            let expected: Vec<_> = (0..5000).map(|position| expected(position, long)).collect();
            assert_eq!(hashes, expected);
        }
    }
}
