//! Zero shares: values for every item that add up to zero over all parties of a group. The values of fewer parties look
//! random to the others. Kolesnikov, Matania, Pinkas, Rosulek and Trieu (CCS 2017), §5.
//!
//! Each pair of the group has a key k_ij, and z_i(x) = ⊕_j AES(k_ij, x), cut to the agreed length. *Lemma.* Take away
//! what a coalition knows: for each x, the rest, over the honest members, is pseudo-random among all values that add up
//! to zero, because any two honest members have a key that the coalition lacks. So any proper part of it looks random.
//! AES is a permutation: over n items it differs from a function by n²/2^129.
//!
//! *Keys* come from a Diffie–Hellman exchange over ristretto255 under the session's identifier. The identifier by
//! itself would not do, although the two ends of a TLS connection have it from a secret: records show it, and without
//! TLS it follows from public facts. A key is for one run: under the same keys, a second run would show the leader
//! which values have not changed, and so who has its items.

use rand::CryptoRng;
use vesica_net::{Channel, Mesh};
use vesica_primitives::{
    Block,
    aes::Aes128,
    group::{Group, Ristretto},
    hash::truncate,
    threads,
};
use zeroize::Zeroizing;

use crate::Result;

const POINT: &str = "joint/point";

/// Payload bytes that each of two parties sends for their key.
pub(super) const POINT_LEN: usize = size_of::<<Ristretto as Group>::Encoded>();

/// Items at a time.
const CHUNK: usize = 1 << 10;

/// One party's zero shares.
pub(super) struct ZeroShares(pub(super) Vec<Aes128>);

impl ZeroShares {
    /// Agrees on a key with each of `partners`, the other parties of the group.
    pub(super) fn agree(
        partners: impl Iterator<Item = usize> + Clone,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let keys = pair_keys(partners, mesh, rng)?;
        Ok(Self(keys.iter().map(|key| Aes128::new(*key)).collect()))
    }

    /// Shares under these keys.
    #[cfg(test)]
    pub(super) fn from_keys(keys: impl IntoIterator<Item = Block>) -> Self {
        Self(keys.into_iter().map(Aes128::new).collect())
    }

    /// The share of each item, of `len` bytes, at most 16.
    pub(super) fn of(&self, items: &[Block], len: usize) -> Zeroizing<Vec<u8>> {
        let mut shares = Zeroizing::new(vec![0; items.len() * len]);
        let tasks = items.chunks(CHUNK).zip(shares.chunks_mut(CHUNK * len));
        threads::for_each(tasks, |(items, shares)| {
            let mut sums = Zeroizing::new(vec![Block::ZERO; items.len()]);
            let mut encrypted = Zeroizing::new(Vec::with_capacity(items.len()));
            for key in &self.0 {
                encrypted.clear();
                encrypted.extend_from_slice(items);
                key.encrypt(&mut encrypted);
                sums.iter_mut().zip(&*encrypted).for_each(|(sum, value)| *sum ^= *value);
            }
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
) -> Result<Zeroizing<Vec<Block>>> {
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
) -> Block {
    // In an order that both have.
    points.sort_unstable();
    let shared = Zeroizing::new(Ristretto::encode(shared));
    let mut hasher = blake3::Hasher::new_derive_key("vesica joint zero-sharing key v1");
    hasher.update(channel.session().as_bytes());
    hasher.update(bytemuck::cast_slice(&points)).update(bytemuck::bytes_of(&*shared));
    truncate(&hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_sums_of_encryptions() {
        let items: Vec<Block> = (0..2500).map(Block).collect();
        for len in [5, 8, 9, 16] {
            let shares = ZeroShares::from_keys([Block(1), Block(2)]).of(&items, len);
            assert_eq!(shares.len(), items.len() * len);
            let [a, b] = [1, 2].map(|key| Aes128::new(Block(key)));
            for (item, share) in items.iter().zip(shares.chunks(len)) {
                let sum = a.encrypt_block(*item) ^ b.encrypt_block(*item);
                assert_eq!(share, &sum.to_bytes()[..len]);
            }
        }
        assert!(ZeroShares::from_keys([]).of(&items, 8).iter().all(|byte| *byte == 0));
    }
}
