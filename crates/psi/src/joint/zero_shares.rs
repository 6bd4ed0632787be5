//! Zero shares: values for every item that add up to zero over all parties of a group. The values of fewer parties look
//! random to the others. Kolesnikov, Matania, Pinkas, Rosulek and Trieu (CCS 2017), §5.
//!
//! Each pair of the group has a key k_ij, and z_i(x) = ⊕_j AES(k_ij, x), cut to the agreed length. *Lemma.* Take away
//! what a coalition knows: for each x, the rest, over the honest members, is pseudo-random among all values that add
//! up to zero, because any two honest members have a key that the coalition lacks. So any proper part of it looks
//! random. AES is a permutation: over n items it differs from a function by n²/2^129. Against malicious parties,
//! keyed BLAKE3 of the whole item of 256 bits takes its place.
//!
//! *Keys* come from a Diffie–Hellman exchange over ristretto255 under the session's identifier. The identifier by
//! itself would not do, although the two ends of a TLS connection have it from a secret: records show it, and without
//! TLS it follows from public facts. A key is for one run: under the same keys, a second run would show the leader
//! which values have not changed, and so who has its items.

use rand::CryptoRng;
use vesica_net::{Channel, Mesh};
use vesica_oprf::Digests;
use vesica_primitives::{
    Block,
    aes::Aes128,
    group::{Group, Ristretto},
    hash::{ShortHash, ShortInput, truncate},
    threads,
};
use zeroize::Zeroizing;

use crate::{DigestLength, Items, Result};

const POINT: &str = "joint/point";

/// Payload bytes that each of two parties sends for their key.
pub(super) const POINT_LEN: usize = size_of::<<Ristretto as Group>::Encoded>();

/// Items at a time.
const CHUNK: usize = 1 << 10;

/// The key of a pair of parties, as a function of items.
pub(super) enum PairKey {
    /// AES, of low halves.
    OfLowHalves(Aes128),
    /// BLAKE3, of whole items.
    OfWholeItems(Zeroizing<[u8; blake3::KEY_LEN]>),
}

impl PairKey {
    /// The function of this key for items of this length.
    fn new(key: &[u8; blake3::KEY_LEN], items: DigestLength) -> Self {
        match items {
            DigestLength::Short => Self::OfLowHalves(Aes128::new(short(key))),
            DigestLength::Long => Self::OfWholeItems(Zeroizing::new(*key)),
        }
    }

    /// Adds the values of some items to their sums.
    pub(super) fn add(&self, items: Digests<'_>, sums: &mut [Block]) {
        match self {
            Self::OfLowHalves(cipher) => {
                let mut encrypted = Zeroizing::new(items.low_halves.to_vec());
                cipher.encrypt(&mut encrypted);
                sums.iter_mut().zip(&*encrypted).for_each(|(sum, value)| *sum ^= *value);
            }
            Self::OfWholeItems(key) => {
                let inputs = items.low_halves.iter().zip(items.high_halves).map(|(low, high)| {
                    let whole = [low.to_bytes(), high.to_bytes()];
                    ShortInput::new(bytemuck::cast_slice(&whole)).expect("two blocks are short")
                });
                let mut sums = sums.iter_mut();
                ShortHash::keyed(key).hash(inputs, |digest| {
                    let [low, _]: [Block; 2] = bytemuck::cast(digest);
                    *sums.next().expect("a sum for each item") ^= low;
                });
            }
        }
    }
}

/// The first 128 bits of a key.
pub(super) fn short(key: &[u8; blake3::KEY_LEN]) -> Block {
    truncate(&blake3::Hash::from_bytes(*key))
}

/// One party's zero shares.
pub(super) struct ZeroShares(pub(super) Vec<PairKey>);

impl ZeroShares {
    /// Agrees on a key with each of `partners`, the other parties of the group, for items of this length.
    pub(super) fn agree(
        items: DigestLength,
        partners: impl Iterator<Item = usize> + Clone,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let keys = pair_keys(partners, mesh, rng)?;
        Ok(Self(keys.iter().map(|key| PairKey::new(key, items)).collect()))
    }

    /// Shares under these keys.
    #[cfg(test)]
    pub(super) fn from_keys(items: DigestLength, keys: impl IntoIterator<Item = Block>) -> Self {
        let long = |key: Block| *blake3::hash(&key.to_bytes()).as_bytes();
        Self(keys.into_iter().map(|key| PairKey::new(&long(key), items)).collect())
    }

    /// The share of each item, of `len` bytes, at most 16.
    pub(super) fn of(&self, items: Items<'_>, len: usize) -> Zeroizing<Vec<u8>> {
        let mut shares = Zeroizing::new(vec![0; items.len() * len]);
        let tasks = shares.chunks_mut(CHUNK * len).enumerate();
        threads::for_each(tasks, |(chunk, shares)| {
            let of = chunk * CHUNK..chunk * CHUNK + shares.len() / len;
            let items = Digests {
                low_halves: &items.low_halves()[of.clone()],
                high_halves: items.high_halves().get(of).unwrap_or_default(),
            };
            let mut sums = Zeroizing::new(vec![Block::ZERO; items.low_halves.len()]);
            self.0.iter().for_each(|key| key.add(items, &mut sums));
            for (share, sum) in shares.chunks_exact_mut(len).zip(&*sums) {
                share.copy_from_slice(&sum.to_bytes()[..len]);
            }
        });
        shares
    }
}

/// Agrees on a key with each of `partners`, in their order.
pub(super) fn pair_keys(
    partners: impl Iterator<Item = usize> + Clone,
    mesh: &mut Mesh<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<[u8; blake3::KEY_LEN]>>> {
    let mut drawn = Vec::new();
    for partner in partners.clone() {
        let scalar = Zeroizing::new(Ristretto::random_scalar(rng));
        let channel = mesh.to(partner);
        channel.phase("keys");
        let point = Ristretto::encode(&Ristretto::mul_generator(&scalar));
        channel.send_slice(POINT, &[point])?;
        channel.flush()?;
        drawn.push((scalar, point));
    }
    let mut keys = Zeroizing::new(Vec::with_capacity(drawn.len()));
    for (partner, (scalar, mine)) in partners.zip(drawn) {
        let channel = mesh.to(partner);
        let mut theirs = [mine];
        channel.recv_slice(POINT, &mut theirs)?;
        let point = Ristretto::decode(&theirs[0])
            .ok_or_else(|| channel.malformed(POINT, "not an encoding of a group element"))?;
        let shared = Zeroizing::new(Ristretto::mul(&point, &scalar));
        keys.push(derive([mine, theirs[0]], &shared, channel));
    }
    Ok(keys)
}

/// The key of two parties, from the points that they exchanged and the product that only they know.
fn derive(
    mut points: [<Ristretto as Group>::Encoded; 2],
    shared: &<Ristretto as Group>::Element,
    channel: &Channel,
) -> [u8; blake3::KEY_LEN] {
    // In an order that both have.
    points.sort_unstable();
    let shared = Zeroizing::new(Ristretto::encode(shared));
    let mut hasher = blake3::Hasher::new_derive_key("vesica joint zero-sharing key v1");
    hasher.update(channel.session().as_bytes());
    hasher.update(bytemuck::cast_slice(&points)).update(bytemuck::bytes_of(&*shared));
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Set;

    #[test]
    fn shares_are_sums_of_encryptions() {
        let items: Vec<Block> = (0..2500).map(Block).collect();
        let of = |keys: &[u128], len| {
            let keys = keys.iter().copied().map(Block);
            ZeroShares::from_keys(DigestLength::Short, keys).of(Items::from(&items[..]), len)
        };
        for len in [5, 8, 9, 16] {
            let shares = of(&[1, 2], len);
            assert_eq!(shares.len(), items.len() * len);
            let [a, b] =
                [1, 2].map(|key: u128| Aes128::new(truncate(&blake3::hash(&key.to_le_bytes()))));
            for (item, share) in items.iter().zip(shares.chunks(len)) {
                let sum = a.encrypt_block(*item) ^ b.encrypt_block(*item);
                assert_eq!(share, &sum.to_bytes()[..len]);
            }
        }
        assert!(of(&[], 8).iter().all(|byte| *byte == 0));
    }

    #[test]
    fn shares_of_whole_items_are_sums_of_keyed_hashes() {
        let halves: [Vec<Block>; 2] = [1, 7].map(|k| (0..2500).map(|i| Block(i / k)).collect());
        let [low, high] = halves.clone();
        let set = Set::long(low, high);
        let shares =
            ZeroShares::from_keys(DigestLength::Long, [1, 2].map(Block)).of(set.items(), 16);
        let keys = [1u128, 2].map(|key| *blake3::hash(&key.to_le_bytes()).as_bytes());
        for (i, share) in shares.chunks(16).enumerate() {
            let item = [halves[0][i].to_bytes(), halves[1][i].to_bytes()].concat();
            let [a, b] = keys.map(|key| truncate(&blake3::keyed_hash(&key, &item)));
            assert_eq!(share, (a ^ b).to_bytes());
        }
    }
}
