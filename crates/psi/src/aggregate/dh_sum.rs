//! The sum over an intersection from Diffie–Hellman and Paillier: Ion, Kreuter, Nergiz, Patel, Saxena, Seth,
//! Raykova, Shanahan and Yung (EuroS&P 2020). Semi-honest.
//!
//! The *owner* has a value t for each of its items w, and a key of an additively homomorphic encryption
//! ([`paillier`]); the *matcher* has items v. α of the matcher and β of the owner are secret exponents, fresh
//! for each run.
//!
//! 1. Offline, owner → matcher: the public key.
//! 2. Matcher → owner: {α·H(v)}, sorted.
//! 3. Owner → matcher: {β·H(w)}, sorted; the sorted list of tags {H'(α·β·H(v))}; and the encryption of each
//!    t, in the order of the points.
//! 4. The matcher multiplies the owner's points by α. Those whose tag is on the list are the shared items,
//!    which it cannot identify: it adds up their encrypted values and a fresh encryption of 0.
//!    - If the owner is R, matcher → owner: whether there are at least as many as the minimum, and the
//!      encrypted sum, or 0 otherwise; R decrypts it.
//!    - If the matcher is R, it also adds an encryption of a uniform mask; owner → matcher: the decrypted number, from
//!      which R subtracts the mask.
//!
//! The matcher learns how many items are shared, regardless of the minimum and of who learns the sum. The paper's owner
//! learns that and the sum; here it learns the sum if it is R, and otherwise nothing. Both learn the size of the
//! other's set. With a fresh encryption of 0, a sum reveals nothing about the ciphertexts from which it was made; with
//! a uniform mask it is uniform. Because this method reveals a size that was not asked for, it runs only if both
//! parties name it.

use std::sync::Arc;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{
    declassify_all,
    group::{Group as _, Ristretto},
    paillier::{self, Ciphertext, Key, PublicKey, Randomness},
};
use zeroize::Zeroizing;

use super::{Aggregate, Method, Output, Query, Valued};
use crate::{
    Adversary, Cost, Items, Leakage, Memory, Party, Result, Status,
    memory::PerItem,
    parts::tags::{Tags, refuse_duplicates},
    protocols::dh::{chunk, hash_point, mul_all, own_products, recv_points},
};

/// Its entry among the methods.
pub static SUM: Method = Method {
    key: "dh-sum",
    title: "Diffie–Hellman over ristretto255, sum under Paillier encryption",
    citation: "Ion, Kreuter, Nergiz, Patel, Saxena, Seth, Raykova, Shanahan, Yung (EuroS&P 2020)",
    status: Status::Sound,
    adversary: Adversary::SemiHonest,
    tells_size: true,
    adds_noise: false,
    counts_people: false,
    supports: |aggregate, minimum| match aggregate {
        Aggregate::SumOfReceiver => true,
        // R sees the size, which a minimum would have to hide from it.
        Aggregate::SumOfSender => minimum == 0,
        _ => false,
    },
    learns: |aggregate| match aggregate {
        Aggregate::SumOfReceiver => Leakage {
            receiver: "the answer and the size of the sender's set",
            sender: "the size of the intersection and of the receiver's set",
        },
        _ => Leakage {
            receiver: "the answer, and the size of the intersection and of the sender's set",
            sender: "the size of the receiver's set",
        },
    },
    cost,
    memory: |Query { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([1500.0, 1500.0], [1500.0, 1500.0]))
    },
    failures: |query| vec![Tags::new(query.setting()).failure(query.sizes)],
    sender: |query, channel, rng| match query.aggregate {
        Aggregate::SumOfReceiver => Ok(Box::new(Matcher::prepare(query, channel)?)),
        _ => Ok(Box::new(Owner::prepare(query, channel, rng)?)),
    },
    receiver: |query, channel, rng| match query.aggregate {
        Aggregate::SumOfReceiver => Ok(Box::new(Owner::prepare(query, channel, rng)?)),
        _ => Ok(Box::new(Matcher::prepare(query, channel)?)),
    },
    partitions: None,
};

const KEY: &str = "dh-sum/key";
const BLINDED: &str = "dh-sum/blinded";
const TAGS: &str = "dh-sum/tags";
const POINTS: &str = "dh-sum/points";
const VALUES: &str = "dh-sum/values";
const ENOUGH: &str = "dh-sum/enough";
const SUM_OF_VALUES: &str = "dh-sum/sum";
const MASKED: &str = "dh-sum/masked";

/// Ciphertexts made between keep-alive messages to the matcher.
const ROUND: usize = 16;

/// Ciphertexts in one message.
const CHUNK: usize = 4 * ROUND;

const POINT: usize = size_of::<<Ristretto as vesica_primitives::group::Group>::Encoded>();

fn cost(query: Query) -> Cost {
    let Query { sizes, aggregate, .. } = query;
    let is_owner = aggregate == Aggregate::SumOfReceiver;
    let [matcher, owner] = match is_owner {
        true => [sizes.sender, sizes.receiver],
        false => [sizes.receiver, sizes.sender],
    };
    let list = Tags::new(query.setting()).list_len(matcher);
    let masked = if is_owner { 0 } else { paillier::PLAIN };
    let by_owner = paillier::PLAIN + list + owner * (POINT + paillier::ENCODED) + masked;
    let by_matcher = matcher * POINT + usize::from(is_owner) + paillier::ENCODED;
    let [to_sender, to_receiver] =
        if is_owner { [by_owner, by_matcher] } else { [by_matcher, by_owner] };
    Cost {
        bytes_to_sender: to_sender as f64,
        bytes_to_receiver: to_receiver as f64,
        rounds: if is_owner { 5 } else { 6 },
    }
}

/// The party that has only items.
struct Matcher {
    query: Query,
    key: PublicKey,
}

impl Matcher {
    /// Step 1.
    fn prepare(query: Query, channel: &mut Channel) -> Result<Self> {
        channel.phase("key");
        let mut encoded = [0; paillier::PLAIN];
        channel.recv_into(KEY, &mut encoded)?;
        let key = PublicKey::decode(&encoded);
        let key = key.ok_or_else(|| channel.malformed(KEY, "not the modulus of a Paillier key"))?;
        Ok(Self { query, key })
    }

    /// Steps 2 to 4: the number of shared items, and their encrypted sum, still without fresh noise.
    fn add_up(
        &self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(u64, Ciphertext)> {
        refuse_duplicates(items)?;
        let Query { sizes, .. } = self.query;
        let owners = sizes.sender + sizes.receiver - items.len();
        let alpha = Zeroizing::new(Ristretto::random_scalar(rng));
        // 2.
        channel.phase("exponentiate");
        let mut blinded = own_products::<Ristretto>(items.low_halves(), &alpha, channel)?;
        // It is about to be sent.
        declassify_all(&mut blinded);
        blinded.sort_unstable();
        for chunk in blinded.chunks(chunk::<Ristretto>()) {
            channel.send_slice(BLINDED, chunk)?;
        }
        channel.flush()?;
        // 3.
        channel.phase("match");
        let tags = Tags::new(self.query.setting());
        let mut theirs = Vec::with_capacity(owners);
        while theirs.len() < owners {
            let count = chunk::<Ristretto>().min(owners - theirs.len());
            let points = recv_points::<Ristretto>(POINTS, count, channel)?;
            for point in mul_all::<Ristretto>(&points, &alpha) {
                theirs.push(tags.tagged(hash_point::<Ristretto>(&point), theirs.len()));
            }
            channel.keep_alive()?;
        }
        let matches = tags.recv_matches(TAGS, items.len(), theirs, items, channel)?;
        // 4.
        channel.phase("sum");
        let mut shared = vec![false; owners];
        matches.iter().for_each(|position| shared[*position as usize] = true);
        let mut sum = Ciphertext::ZERO;
        for shared in shared.chunks(CHUNK) {
            let mut encoded = vec![[0; paillier::ENCODED]; shared.len()];
            channel.recv_slice(VALUES, &mut encoded)?;
            for (bytes, shared) in encoded.iter().zip(shared) {
                let value = self.key.decode_ciphertext(bytes);
                let value = value.ok_or_else(|| channel.malformed(VALUES, NO_CIPHERTEXT))?;
                // Items that are not shared take the same time, because the owner sees when the sum arrives.
                sum = self.key.add(&sum, if *shared { &value } else { &Ciphertext::ZERO });
            }
            channel.keep_alive()?;
        }
        Ok((matches.len() as u64, sum))
    }
}

const NO_CIPHERTEXT: &str = "not a ciphertext";

impl Party<Valued<'_>, ()> for Matcher {
    fn run(
        self: Box<Self>,
        Valued { items, .. }: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let (count, sum) = self.add_up(items, channel, rng)?;
        let enough = count >= self.query.minimum;
        let told = if enough { sum } else { Ciphertext::ZERO };
        let fresh = self.key.encrypt(&self.key.plain(0), rng);
        channel.send(ENOUGH, &[enough.into()])?;
        channel.send(SUM_OF_VALUES, &self.key.add(&told, &fresh).encode())?;
        Ok(channel.flush()?)
    }
}

impl Party<Valued<'_>, Output> for Matcher {
    fn run(
        self: Box<Self>,
        Valued { items, .. }: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output> {
        let (_, sum) = self.add_up(items, channel, rng)?;
        let mask = self.key.random(rng);
        let masked = self.key.add(&sum, &self.key.encrypt(&mask, rng));
        channel.send(SUM_OF_VALUES, &masked.encode())?;
        channel.flush()?;
        let mut decrypted = [0; paillier::PLAIN];
        channel.recv_into(MASKED, &mut decrypted)?;
        let decrypted = self.key.decode_plain(&decrypted);
        let sum = decrypted.and_then(|plain| self.key.integer(&self.key.subtract(&plain, &mask)));
        Ok(Output::Sum(sum.ok_or_else(|| channel.malformed(MASKED, NO_SUM))?.into()))
    }
}

const NO_SUM: &str = "not a sum of 64 bits";

/// The party with values and the key.
pub struct Owner {
    query: Query,
    key: Arc<Key>,
}

impl Owner {
    /// Step 1.
    fn prepare(query: Query, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("key");
        Self::with_key(Arc::new(Key::generate(rng)), query, channel)
    }

    /// Prepares an owner with an existing key. It may serve many runs: every number that the owner decrypts in them is
    /// either a sum that it may learn, or masked.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn with_key(key: Arc<Key>, query: Query, channel: &mut Channel) -> Result<Self> {
        channel.send(KEY, &key.public().encode())?;
        channel.flush()?;
        Ok(Self { query, key })
    }

    /// Steps 2 and 3.
    fn bring(
        &self,
        Valued { items, values, .. }: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        let Query { sizes, .. } = self.query;
        let matchers = sizes.sender + sizes.receiver - items.len();
        let beta = Zeroizing::new(Ristretto::random_scalar(rng));
        let tags = Tags::new(self.query.setting());
        channel.phase("exponentiate");
        let mut own = own_products::<Ristretto>(items.low_halves(), &beta, channel)?;
        // These are about to be sent too.
        declassify_all(&mut own);
        let mut own: Vec<_> = own.into_iter().zip(values).collect();
        own.sort_unstable_by_key(|(point, _)| *point);
        // 2.
        let mut list = Vec::with_capacity(matchers);
        while list.len() < matchers {
            let count = chunk::<Ristretto>().min(matchers - list.len());
            let points = recv_points::<Ristretto>(BLINDED, count, channel)?;
            for point in mul_all::<Ristretto>(&points, &beta) {
                list.push(tags.of(hash_point::<Ristretto>(&point)));
            }
            channel.keep_alive()?;
        }
        // 3.
        let points: Vec<_> = own.iter().map(|(point, _)| *point).collect();
        for chunk in points.chunks(chunk::<Ristretto>()) {
            channel.send_slice(POINTS, chunk)?;
        }
        tags.send_list(TAGS, list, items, channel)?;
        channel.flush()?;
        channel.phase("encrypt");
        for own in own.chunks(CHUNK) {
            let mut encoded = Vec::with_capacity(own.len());
            for own in own.chunks(ROUND) {
                let drawn: Vec<_> = own.iter().map(|_| Randomness::draw(rng)).collect();
                encoded.par_extend(own.par_iter().zip(drawn).map(|((_, value), drawn)| {
                    let plain = self.key.public().plain(**value);
                    self.key.encrypt(&plain, &drawn).encode()
                }));
                channel.keep_alive()?;
            }
            channel.send_slice(VALUES, &encoded)?;
        }
        Ok(channel.flush()?)
    }

    fn recv_sum(&self, channel: &mut Channel) -> Result<Ciphertext> {
        let mut encoded = [0; paillier::ENCODED];
        channel.recv_into(SUM_OF_VALUES, &mut encoded)?;
        let sum = self.key.public().decode_ciphertext(&encoded);
        Ok(sum.ok_or_else(|| channel.malformed(SUM_OF_VALUES, NO_CIPHERTEXT))?)
    }
}

impl Party<Valued<'_>, Output> for Owner {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output> {
        self.bring(input, channel, rng)?;
        // 4.
        channel.phase("sum");
        let mut enough = [0];
        channel.recv_into(ENOUGH, &mut enough)?;
        let sum = self.key.decrypt(&self.recv_sum(channel)?);
        match (enough, self.key.public().integer(&sum)) {
            ([1], Some(sum)) => Ok(Output::Sum(sum.into())),
            ([0], Some(0)) if self.query.minimum > 0 => Ok(Output::TooFew),
            ([0 | 1], _) => Err(channel.malformed(SUM_OF_VALUES, NO_SUM).into()),
            _ => Err(channel.malformed(ENOUGH, "neither yes nor no").into()),
        }
    }
}

impl Party<Valued<'_>, ()> for Owner {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        self.bring(input, channel, rng)?;
        // 4.
        channel.phase("sum");
        let masked = self.key.decrypt(&self.recv_sum(channel)?);
        channel.send(MASKED, &masked.encode())?;
        Ok(channel.flush()?)
    }
}
