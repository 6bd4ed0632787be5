//! Holders: the leader learns, of its items that at least k of the n other parties have, who has them.
//!
//! The others have the points α_1, …, α_n in GF(2^8), and each set A of n − k + 2 of them has a key K_A.
//!
//! 1. *Keys.* Each pair of the others agrees on a key by Diffie–Hellman; under it, the first member of a set A sends
//!    K_A to the other members.
//! 2. *Shares.* u_i(x) = Σ_{A ∋ i} AES(K_A, x) · α_i · Π_{j ∉ A} (α_i − α_j), byte by byte: the values at the points of
//!    a polynomial of degree k − 1 that is 0 at 0, and random otherwise.
//! 3. *Reading.* Each of the others programs an OPPRF with u_i(x) at its items x. The leader reads t_i(x) at its own.
//! 4. For each item and k of the others, the leader interpolates at 0. The result is 0 if these k have the item, and
//!    random otherwise.
//!
//! A coalition of the leader with c of the others knows the keys of all sets with one of its members. For each x, what
//! is left of the honest holders' shares is a random polynomial of degree k − 1 that is 0 at 0 and at the c points: any
//! k − 1 − c of them are random and independent, and one more follows from these. So the leader learns the holders of
//! an item exactly if they are k together with the coalition, as it would if the c pretended to have the item. Fewer
//! holders look like none. For k = n this is the star of Kolesnikov, Matania, Pinkas, Rosulek and Trieu (CCS 2017); the
//! replicated keys are as in pseudo-random secret sharing (Cramer, Damgård, Ishai, TCC 2005). Semi-honest; every run
//! makes new keys.

#[cfg(test)]
mod coalitions;

use rand::CryptoRng;
use vesica_net::Mesh;
use vesica_params::{Failure, subfield};
use vesica_primitives::{Block, aes::Aes128, threads};
use zeroize::Zeroizing;

use super::{
    fold,
    plan::agree_on,
    zero_shares::{pair_keys, short},
};
use crate::{
    Adversary, Items, Limit, MAX_ITEMS, Result, Setting, Sizes,
    circuit_psi::{Opprf, OpprfSize, rs21::FromVole},
};

const KEYS: &str = "joint/set-keys";

/// The most parties beside the leader, which has to try up to 252 sets of them for each item.
pub const MAX_HOLDERS: usize = 10;

/// Items at a time.
const CHUNK: usize = 1 << 10;

/// Some of the parties beside the leader, by their places among them, as bits.
type Others = u16;

/// The facts about a computation of holders that all parties know before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldersPlan {
    sizes: Vec<usize>,
    leader: usize,
    least: usize,
    runs: usize,
    context: [u8; 32],
}

/// An item of the leader that enough others have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldItem {
    /// The item's position among the leader's.
    pub position: u32,
    /// The other parties that have it.
    pub holders: Holders,
}

/// Some of the parties, by their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Holders(u16);

impl Holders {
    /// The numbers of these parties, ascending.
    pub fn parties(self) -> impl Iterator<Item = usize> {
        (0..=MAX_HOLDERS).filter(move |party| self.0 >> party & 1 == 1)
    }
}

impl FromIterator<usize> for Holders {
    /// The parties with these numbers, each at most [`MAX_HOLDERS`].
    fn from_iter<T: IntoIterator<Item = usize>>(parties: T) -> Self {
        Self(parties.into_iter().fold(0, |bits, party| bits | 1 << party))
    }
}

impl HoldersPlan {
    /// The adversary against which this is secure.
    pub const ADVERSARY: Adversary = Adversary::SemiHonest;

    /// A plan for parties with sets of these sizes, which are numbered from 0, and items that at least `least` of those
    /// beside the leader have. `context` is as for a [`JointPlan`](super::JointPlan).
    ///
    /// # Errors
    /// [`Limit`] if a set has more than [`MAX_ITEMS`] items.
    ///
    /// # Panics
    /// If the leader is not a party, there are more than [`MAX_HOLDERS`] others, or `least` is not from 2 to their
    /// number.
    pub fn new(
        sizes: Vec<usize>,
        leader: usize,
        least: usize,
        context: [u8; 32],
    ) -> std::result::Result<Self, Limit> {
        assert!(leader < sizes.len(), "the leader is a party");
        let others = sizes.len() - 1;
        assert!(others <= MAX_HOLDERS, "at most {MAX_HOLDERS} parties beside the leader");
        assert!((2..=others).contains(&least), "from 2 of {others} others to all");
        for size in &sizes {
            Limit::check("of a party", *size, MAX_ITEMS)?;
        }
        Ok(Self { sizes, leader, least, runs: 1, context })
    }

    /// One of this number of runs, as for a [`JointPlan`](super::JointPlan::one_of).
    pub fn one_of(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// The number of items of each party.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The leader's number.
    pub fn leader(&self) -> usize {
        self.leader
    }

    /// The numbers of the parties beside the leader, ascending.
    pub fn others(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let leader = self.leader;
        (0..self.sizes.len()).filter(move |party| *party != leader)
    }

    fn count(&self) -> usize {
        self.sizes.len() - 1
    }

    /// All sets of this number of others, in the same order for all parties.
    fn sets(&self, members: usize) -> impl Iterator<Item = Others> + use<> {
        (0..1 << self.count()).filter(move |set: &Others| set.count_ones() as usize == members)
    }

    /// The sets that have a key.
    pub(super) fn keyed(&self) -> impl Iterator<Item = Others> + use<> {
        self.sets(self.count() - self.least + 2)
    }

    fn setting(&self, runs: usize) -> Setting {
        let receiver = self.sizes[self.leader];
        Setting::from(Sizes { sender: receiver, receiver }).one_of(runs)
    }

    /// The sets of others that the leader tries, for all of its items together.
    fn trials(&self) -> usize {
        self.sizes[self.leader].saturating_mul(self.sets(self.least).count())
    }

    /// Bytes of a share. An item seems to have k holders that it has not with a probability of 2^-ℓ for each set of k
    /// others: ℓ is λ + log n_L + log C(n, k) bits.
    pub fn share_len(&self) -> usize {
        subfield::bits(self.trials(), self.setting(self.runs).lambda()).div_ceil(8) as usize
    }

    /// The OPPRF of another party with the leader. Its failures add up over all of them.
    pub(super) fn opprf(&self, party: usize) -> OpprfSize {
        OpprfSize {
            bins: self.sizes[self.leader],
            programmed: self.sizes[party],
            len: self.share_len(),
            lambda: self.setting(self.runs * self.count()).lambda(),
        }
    }

    /// The events that may go wrong by chance.
    pub fn failures(&self) -> Vec<Failure> {
        let seems = subfield::log2_failure(self.trials(), 8 * self.share_len() as u32);
        let mut failures = vec![Failure::new("an item seems to have more holders", seems)];
        failures.extend(self.others().flat_map(|party| FromVole::failures(self.opprf(party))));
        failures
    }

    /// Runs this party on a set of distinct items, of the planned size. The leader gets its items with enough holders,
    /// in their order; the others get nothing.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`](crate::Error::DuplicateItem); a deviation if a party has another plan;
    /// [`Error::HashingFailure`](crate::Error::HashingFailure) with a probability of at most 2^-λ; and any error of a
    /// connection or a peer.
    ///
    /// # Panics
    /// If there are not as many items as planned.
    pub fn run(
        &self,
        items: Items<'_>,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Vec<HeldItem>>> {
        let me = mesh.me();
        assert_eq!(items.len(), self.sizes[me], "as many items as planned");
        self.agree(mesh)?;
        if me != self.leader {
            self.hold(items, mesh, rng)?;
            return Ok(None);
        }
        let readers =
            fold::readers::<FromVole>(self.others(), |party| self.opprf(party), mesh, rng)?;
        // 3.
        let read = |(party, reader)| fold::read::<FromVole>(party, reader, items, mesh, rng);
        let read = self.others().zip(readers).map(read).collect::<Result<Vec<_>>>()?;
        Ok(Some(mesh.meanwhile(|| self.held(&read))))
    }

    /// Steps 1 to 3 of a party beside the leader.
    fn hold(&self, items: Items<'_>, mesh: &mut Mesh<'_>, rng: &mut dyn CryptoRng) -> Result<()> {
        let me = mesh.me();
        // 1.
        let keys = self.keys(mesh, rng)?;
        let size = self.opprf(me);
        let writer = mesh.talk(self.leader, |channel| FromVole::sender(size, channel, rng))?;
        // 2.
        let shares = shares(&keys, items.low_halves(), self.share_len());
        // 3.
        fold::write::<FromVole>(self.leader, writer, items, &shares, mesh, rng)
    }

    /// Compares the plan with all other parties, and binds the session of each channel to it.
    fn agree(&self, mesh: &mut Mesh<'_>) -> Result<()> {
        let mut name = blake3::Hasher::new_derive_key("vesica joint holders v1");
        let numbers = [self.sizes.len(), self.leader, self.least, self.runs];
        for number in numbers.iter().chain(&self.sizes) {
            name.update(&(*number as u64).to_le_bytes());
        }
        agree_on(*name.update(&self.context).finalize().as_bytes(), mesh)
    }

    /// The key of each set that this party belongs to, with the factor of its share.
    fn keys(&self, mesh: &mut Mesh<'_>, rng: &mut dyn CryptoRng) -> Result<Vec<(Aes128, u8)>> {
        let keys = self.set_keys(mesh, rng)?;
        let place = self.place(mesh.me());
        let keyed = |(set, key): &(Others, Block)| (Aes128::new(*key), self.factor(place, *set));
        Ok(keys.iter().map(keyed).collect())
    }

    /// The place of a party among those beside the leader.
    fn place(&self, party: usize) -> usize {
        party - usize::from(party > self.leader)
    }

    /// Agrees on the key of each set that this party belongs to.
    fn set_keys(
        &self,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Zeroizing<Vec<(Others, Block)>>> {
        let me = mesh.me();
        let own = self.place(me);
        let partners = self.others().filter(|party| *party != me);
        let of_pairs = pair_keys(partners.clone(), mesh, rng)?;
        let mine: Vec<Others> = self.keyed().filter(|set| set >> own & 1 == 1).collect();
        let first = |set: Others| set.trailing_zeros() as usize;
        let mut keys = Zeroizing::new(vec![Block::ZERO; mine.len()]);
        for (set, key) in mine.iter().zip(&mut *keys) {
            if first(*set) == own {
                *key = Block::random(rng);
            }
        }
        // A pair's key encrypts the number of a set to the mask of its key.
        let masks = |key: Block| {
            let cipher = Aes128::new(key);
            move |set: Others| cipher.encrypt_block(Block(set.into()))
        };
        for (partner, of_pair) in partners.clone().zip(&*of_pairs) {
            let mask = masks(short(of_pair));
            let shared = mine
                .iter()
                .zip(&*keys)
                .filter(|(set, _)| first(**set) == own && **set >> self.place(partner) & 1 == 1);
            let sent: Vec<Block> = shared.map(|(set, key)| *key ^ mask(*set)).collect();
            let channel = mesh.to(partner);
            channel.send_slice(KEYS, &sent)?;
            channel.flush()?;
        }
        for (partner, of_pair) in partners.zip(&*of_pairs) {
            let mask = masks(short(of_pair));
            let is_theirs = |set: Others| first(set) == self.place(partner);
            let mut received =
                vec![Block::ZERO; mine.iter().filter(|set| is_theirs(**set)).count()];
            mesh.to(partner).recv_slice(KEYS, &mut received)?;
            let theirs = mine.iter().zip(&mut *keys).filter(|(set, _)| is_theirs(**set));
            for ((set, key), masked) in theirs.zip(received) {
                *key = masked ^ mask(*set);
            }
        }
        Ok(Zeroizing::new(mine.into_iter().zip(keys.iter().copied()).collect()))
    }

    /// α_i · Π_{j ∉ A} (α_i − α_j) for the party with place i and a set A.
    fn factor(&self, place: usize, set: Others) -> u8 {
        let outside = (0..self.count()).filter(|other| set >> other & 1 == 0);
        outside.fold(point(place), |product, other| times(product, point(place) ^ point(other)))
    }

    /// Step 4: the items that have holders, from the values read from each of the others.
    fn held(&self, read: &[Zeroizing<Vec<u8>>]) -> Vec<HeldItem> {
        let len = self.share_len();
        let weights: Vec<(Others, Vec<(usize, u8)>)> = self
            .sets(self.least)
            .map(|set| {
                let members: Vec<_> = (0..self.count()).filter(|i| set >> i & 1 == 1).collect();
                // α_j / (α_j − α_i) over all other members j.
                let weight = |i: usize| {
                    let others = members.iter().filter(|j| **j != i);
                    others.fold(1, |product, j| {
                        times(product, times(point(*j), inverse(point(*j) ^ point(i))))
                    })
                };
                (set, members.iter().map(|i| (*i, weight(*i))).collect())
            })
            .collect();
        let items = self.sizes[self.leader];
        let mut holders: Vec<Others> = vec![0; items];
        let tasks = holders.chunks_mut(CHUNK).enumerate();
        threads::for_each(tasks, |(task, holders)| {
            let mut values = Zeroizing::new(vec![0u128; read.len()]);
            for (item, holders) in (task * CHUNK..).zip(holders) {
                for (value, read) in values.iter_mut().zip(read) {
                    let mut bytes = [0; 16];
                    bytes[..len].copy_from_slice(&read[item * len..][..len]);
                    *value = u128::from_le_bytes(bytes);
                }
                for (set, weights) in &weights {
                    let at_zero = weights.iter().map(|(i, by)| scaled(values[*i], *by));
                    if at_zero.fold(0, |sum, value| sum ^ value) == 0 {
                        *holders |= set;
                    }
                }
            }
        });
        let parties: Vec<usize> = self.others().collect();
        let found = (0..).zip(holders).filter(|(_, holders)| *holders != 0);
        let held = |(position, set): (u32, Others)| {
            let of_set = parties.iter().zip(0..).filter(|(_, place)| set >> place & 1 == 1);
            HeldItem { position, holders: of_set.map(|(party, _)| *party).collect() }
        };
        found.map(held).collect()
    }
}

/// The point of the party with this place among those beside the leader.
fn point(place: usize) -> u8 {
    place as u8 + 1
}

/// The share of each item, of `len` bytes, under keys with their factors.
fn shares(keys: &[(Aes128, u8)], items: &[Block], len: usize) -> Zeroizing<Vec<u8>> {
    let mut shares = Zeroizing::new(vec![0; items.len() * len]);
    let tasks = items.chunks(CHUNK).zip(shares.chunks_mut(CHUNK * len));
    threads::for_each(tasks, |(items, shares)| {
        let mut sums = Zeroizing::new(vec![0u128; items.len()]);
        let mut encrypted = Zeroizing::new(Vec::with_capacity(items.len()));
        for (key, factor) in keys {
            encrypted.clear();
            encrypted.extend_from_slice(items);
            key.encrypt(&mut encrypted);
            sums.iter_mut().zip(&*encrypted).for_each(|(sum, one)| *sum ^= scaled(one.0, *factor));
        }
        for (share, sum) in shares.chunks_exact_mut(len).zip(&*sums) {
            share.copy_from_slice(&sum.to_le_bytes()[..len]);
        }
    });
    shares
}

/// Each byte times a public factor, in GF(2^8) with the polynomial of AES.
fn scaled(bytes: u128, factor: u8) -> u128 {
    const LOWEST: u128 = u128::MAX / 255;
    let (mut power, mut sum) = (bytes, 0);
    for bit in 0..8 {
        if factor >> bit & 1 == 1 {
            sum ^= power;
        }
        let carries = power >> 7 & LOWEST;
        power = ((power & (0x7f * LOWEST)) << 1) ^ (carries * 0x1b);
    }
    sum
}

fn times(a: u8, b: u8) -> u8 {
    scaled(a.into(), b) as u8
}

/// a^254.
fn inverse(a: u8) -> u8 {
    (0..253).fold(a, |power, _| times(power, a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(others: usize, least: usize) -> HoldersPlan {
        HoldersPlan::new(vec![1; others + 1], 0, least, [0; 32]).unwrap()
    }

    #[test]
    fn nonzero_elements_have_inverses() {
        assert_eq!((times(0x57, 0x83), times(2, 0x80)), (0xc1, 0x1b));
        assert!((1..=255).all(|a| times(a, inverse(a)) == 1));
        let bytes = u128::from_le_bytes(std::array::from_fn(|i| (i * 37) as u8));
        for factor in [0, 1, 2, 7, 0x80, 0xff] {
            let expected = bytes.to_le_bytes().map(|byte| times(byte, factor));
            assert_eq!(scaled(bytes, factor).to_le_bytes(), expected);
        }
    }

    /// The rank of a matrix over GF(2^8).
    fn rank(mut rows: Vec<Vec<u8>>) -> usize {
        let mut rank = 0;
        for column in 0..rows.first().map_or(0, Vec::len) {
            let Some(pivot) = (rank..rows.len()).find(|row| rows[*row][column] != 0) else {
                continue;
            };
            rows.swap(rank, pivot);
            let by = inverse(rows[rank][column]);
            let pivot: Vec<u8> = rows[rank].iter().map(|entry| times(*entry, by)).collect();
            for row in rows.iter_mut().skip(rank + 1) {
                let by = row[column];
                row.iter_mut().zip(&pivot).for_each(|(entry, one)| *entry ^= times(*one, by));
            }
            rank += 1;
        }
        rank
    }

    /// The rank of the shares of some honest holders in the keys that a coalition of the leader with others lacks: the
    /// number of them that look random and independent.
    fn hidden(plan: &HoldersPlan, coalition: Others, holders: Others, keyed: &[Others]) -> usize {
        let unknown: Vec<Others> =
            keyed.iter().copied().filter(|set| set & coalition == 0).collect();
        let honest = (0..plan.count()).filter(|place| holders >> place & 1 == 1);
        let share = |place: usize| -> Vec<u8> {
            let entry = |set: &Others| match set >> place & 1 {
                1 => plan.factor(place, *set),
                _ => 0,
            };
            unknown.iter().map(entry).collect()
        };
        rank(honest.map(share).collect())
    }

    /// The holders that are shown, by the keys' shape: whether every coalition learns the ideal and nothing else.
    fn is_ideal(plan: &HoldersPlan, keyed: &[Others]) -> bool {
        let all: Others = (1 << plan.count()) - 1;
        (0..=all).all(|coalition: Others| {
            let honest = all & !coalition;
            let free = (plan.least - 1).saturating_sub(coalition.count_ones() as usize);
            (0..=all).filter(|holders| holders & !honest == 0).all(|holders| {
                let expected = (holders.count_ones() as usize).min(free);
                hidden(plan, coalition, holders, keyed) == expected
            })
        })
    }

    #[test]
    fn coalitions_learn_holders_only_if_they_make_up_enough() {
        for others in 2..=6 {
            for least in 2..=others {
                let plan = plan(others, least);
                let keyed: Vec<Others> = plan.keyed().collect();
                assert!(is_ideal(&plan, &keyed), "{least} of {others}");
                // Without one of the keys, or with keys of smaller sets only, somebody would learn more.
                assert!(!is_ideal(&plan, &keyed[1..]), "{least} of {others}, a key too few");
            }
        }
    }

    /// The values of k holders determine a polynomial that is 0 at 0.
    #[test]
    fn shares_of_enough_holders_vanish() {
        for (others, least) in [(2, 2), (3, 2), (4, 3), (5, 2), (6, 4), (10, 5)] {
            let plan = plan(others, least);
            let keyed: Vec<Others> = plan.keyed().collect();
            let item = [Block(77)];
            let len = plan.share_len();
            let share = |place: usize| {
                let of_place = keyed.iter().filter(|set| *set >> place & 1 == 1);
                let keys = of_place
                    .map(|set| (Aes128::new(Block((*set).into())), plan.factor(place, *set)));
                shares(&keys.collect::<Vec<_>>(), &item, len)
            };
            for holders in
                [(1 << least) - 1, (1 << others) - 1, ((1 << least) - 1) << (others - least)]
            {
                let read: Vec<_> = (0..others)
                    .map(|place| match holders >> place & 1 {
                        1 => share(place),
                        _ => {
                            let other = Aes128::new(Block(1 << 20 | place as u128));
                            Zeroizing::new(other.encrypt_block(item[0]).to_bytes()[..len].to_vec())
                        }
                    })
                    .collect();
                let expected: Holders =
                    (0..others).filter(|place| holders >> place & 1 == 1).map(|p| p + 1).collect();
                assert_eq!(plan.held(&read), [HeldItem { position: 0, holders: expected }]);
            }
        }
    }
}
