//! PSI from blind RSA: De Cristofaro and Tsudik (FC 2010; with Gasti, CANS 2010 and TRUST 2012). Semi-honest.
//!
//! S has an RSA key (N, e, d); H is a hash to the integers modulo N, H' a hash to tags.
//!
//! 1. Offline, S → R: N, which R checks as far as it can ([`rsa`]). For each of its items R draws a random r
//!    with gcd(r, N) = 1 and computes r^e and 1/r.
//! 2. R → S: {r^e · H(x)} in the order of R's items.
//! 3. S → R: the e-th roots {r · H(x)^d} in the same order. R multiplies them by 1/r.
//! 4. S → R: the sorted list of tags {H'(H(y)^d)}. R outputs the x whose tag H'(H(x)^d) is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set: r^e is uniform among the
//! invertible residues, and so is S's view. This requires that e is coprime to p − 1 and q − 1, which R
//! cannot verify: an S that generates N differently learns something about each H(x). The protocol is
//! semi-honest for that reason, and because nothing forces S to use one exponent.
//!
//! A sender that keeps its key for many runs is a [`StandingSender`].
//!
//! Deviations from the papers: see `docs/protocols/public-key.md`.

use std::{ops::RangeInclusive, sync::Arc};

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{
    Block,
    hash::truncate,
    rsa::{self, Key, PublicKey, Residue},
};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Status,
    memory::PerItem,
    parts::tags::{Tags, refuse_duplicates},
    setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "blind-rsa",
    title: "blind RSA signatures, 3072 bits",
    citation: "De Cristofaro, Tsudik (FC 2010)",
    status: Status::Sound,
    adversary: Adversary::SemiHonest,
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost: |setting| {
        let residues = (setting.sizes.receiver * rsa::ENCODED) as f64;
        let list = rsa::ENCODED + Tags::new(setting).list_len(setting.sizes.sender);
        Cost { bytes_to_sender: residues, bytes_to_receiver: residues + list as f64, rounds: 4 }
    },
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([110.0, 450.0], [1600.0, 60.0]))
    },
    failures: |setting| vec![Tags::new(setting).failure(setting.sizes)],
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            channel.phase("key");
            sender_with(Arc::new(Key::generate(rng)), setting, channel)
        },
        receiver: |setting, channel, rng| {
            channel.phase("key");
            let key = recv_key(channel)?;
            let ahead = AHEAD.min(setting.sizes.receiver);
            let mut blindings = Vec::with_capacity(ahead);
            while blindings.len() < ahead {
                let count = CHUNK.min(ahead - blindings.len());
                blindings.extend(Blinding::random(&key, count, rng));
                channel.keep_alive()?;
            }
            Ok(Box::new(Receiver { setting, key, blindings }))
        },
    },
};

/// Prepares a sender with an existing key, as `PROTOCOL.sender` does with a new one. The properties of runs
/// with the same key described at [`StandingSender`] apply here too.
///
/// # Errors
/// Errors of the connection.
pub fn sender_with(
    key: Arc<Key>,
    setting: Setting,
    channel: &mut Channel,
) -> Result<Box<crate::Sender>> {
    send_key(&key, channel)?;
    Ok(Box::new(Sender { setting, key }))
}

const MODULUS: &str = "blind-rsa/modulus";
const BLINDED: &str = "blind-rsa/blinded";
const ROOTS: &str = "blind-rsa/roots";
const TAGS: &str = "blind-rsa/tags";

/// Residues in one message: 32 KiB, so that when both parties send one, neither waits for the other to read.
const CHUNK: usize = (1 << 15) / rsa::ENCODED;

/// Roots that S computes between keep-alive messages to R.
const ROUND: usize = 16;

/// The maximal number of items that R blinds offline: 50 MB. Any others are blinded when they are needed.
const AHEAD: usize = 1 << 16;

/// Step 1.
fn send_key(key: &Key, channel: &mut Channel) -> Result<()> {
    channel.send(MODULUS, &key.public().encode())?;
    Ok(channel.flush()?)
}

fn recv_key(channel: &mut Channel) -> Result<PublicKey> {
    let mut encoded = [0; rsa::ENCODED];
    channel.recv_into(MODULUS, &mut encoded)?;
    let key = PublicKey::decode(&encoded);
    Ok(key.ok_or_else(|| channel.malformed(MODULUS, "not the modulus of an RSA key"))?)
}

/// H.
fn hash(key: &PublicKey, low: &Block) -> Residue {
    key.hash("vesica blind-rsa item v1", &low.to_bytes())
}

/// H', as a block to be truncated to a tag.
fn value(root: &Residue) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica blind-rsa tag v1");
    truncate(&hasher.update(&root.encode()).finalize())
}

/// Receives `count` residues.
fn recv_residues(
    label: &'static str,
    count: usize,
    key: &PublicKey,
    channel: &mut Channel,
) -> Result<Vec<Residue>> {
    let mut encoded = vec![[0; rsa::ENCODED]; count];
    channel.recv_slice(label, &mut encoded)?;
    let residues: Option<_> = encoded.iter().map(|bytes| key.decode_residue(bytes)).collect();
    Ok(residues.ok_or_else(|| channel.malformed(label, "not an integer modulo N"))?)
}

/// Step 3.
fn answer(key: &Key, count: usize, channel: &mut Channel) -> Result<()> {
    channel.phase("roots");
    let mut answered = 0;
    while answered < count {
        let count = CHUNK.min(count - answered);
        let blinded = recv_residues(BLINDED, count, key.public(), channel)?;
        let mut roots = Vec::with_capacity(count);
        for blinded in blinded.chunks(ROUND) {
            roots.par_extend(blinded.par_iter().map(|x| key.root(x).encode()));
            channel.keep_alive()?;
        }
        channel.send_slice(ROOTS, &roots)?;
        channel.flush()?;
        answered += count;
    }
    Ok(())
}

/// H'(H(y)^d) for each of some items.
fn values_of(key: &Key, low_halves: &[Block]) -> Vec<Block> {
    low_halves.par_iter().map(|low| value(&key.root(&hash(key.public(), low)))).collect()
}

/// Step 4.
fn send_values(
    values: impl IntoIterator<Item = Block>,
    items: Items<'_>,
    setting: Setting,
    channel: &mut Channel,
) -> Result<()> {
    let tags = Tags::new(setting);
    let list = values.into_iter().map(|value| tags.of(value)).collect();
    tags.send_list(TAGS, list, items, channel)
}

/// The party with a key.
struct Sender {
    setting: Setting,
    key: Arc<Key>,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        answer(&self.key, self.setting.sizes.receiver, channel)?;
        channel.phase("own-items");
        let mut values = Vec::with_capacity(items.len());
        for low_halves in items.low_halves().chunks(ROUND) {
            values.extend(values_of(&self.key, low_halves));
            channel.keep_alive()?;
        }
        send_values(values, items, self.setting, channel)
    }
}

/// A sender that keeps its key, and the values of its set, for any number of receivers: the cost of each run
/// depends only on the receiver's set. The other side is an ordinary receiver of [`PROTOCOL`].
///
/// The value of an item is the same in each run. So receivers that compare their results see which values entered
/// or left the set between their runs (though not whose), and bounds on the number of items that may be tried
/// apply to all runs with the same key together: the caller must enforce them. A new key ends both.
pub struct StandingSender {
    key: Arc<Key>,
    values: Vec<Block>,
}

impl StandingSender {
    /// Computes the values of a set of distinct items.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`](crate::Error::DuplicateItem).
    pub fn new(key: Arc<Key>, items: Items<'_>) -> Result<Self> {
        refuse_duplicates(items)?;
        let values = values_of(&key, items.low_halves());
        Ok(Self { key, values })
    }

    /// One run, like [`send`](crate::send) with the set's items. `peer_items` bounds the size of the peer's
    /// set.
    ///
    /// # Errors
    /// Same as [`send`](crate::send).
    pub fn send(&self, peer_items: RangeInclusive<usize>, channel: &mut Channel) -> Result<()> {
        let sizes = PROTOCOL.with_receiver(self.values.len(), peer_items, channel)?.sizes;
        channel.phase("key");
        send_key(&self.key, channel)?;
        answer(&self.key, sizes.receiver, channel)?;
        channel.phase("own-items");
        // Items are distinct: this was checked when their values were computed.
        let none = Items::from(&[][..]);
        send_values(self.values.iter().copied(), none, sizes.into(), channel)?;
        Ok(channel.flush()?)
    }
}

/// The blinding of one item: r^e and 1/r.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Blinding {
    power: Residue,
    inverse: Residue,
}

impl Blinding {
    fn random(key: &PublicKey, count: usize, rng: &mut dyn CryptoRng) -> Vec<Self> {
        // An r without an inverse would reveal a factor of N, which has negligible probability; another one is drawn.
        let mut drawn: Vec<Residue> = (0..count).map(|_| key.random(rng)).collect();
        let blindings = drawn
            .par_iter()
            .map(|r| Some(Self { power: key.raise(r), inverse: key.invert(r)? }))
            .collect::<Option<Vec<_>>>();
        drawn.zeroize();
        blindings.unwrap_or_else(|| Self::random(key, count, rng))
    }
}

/// The party that learns the intersection.
struct Receiver {
    setting: Setting,
    key: PublicKey,
    /// For the first items; used from the end.
    blindings: Vec<Blinding>,
}

impl Receiver {
    /// Removes the blindings for the next `count` items.
    fn take_blindings(&mut self, count: usize, rng: &mut dyn CryptoRng) -> Vec<Blinding> {
        let ready = count.min(self.blindings.len());
        let mut taken = self.blindings.split_off(self.blindings.len() - ready);
        taken.extend(Blinding::random(&self.key, count - ready, rng));
        taken
    }

    /// Step 3: the values of the items with these blindings.
    fn recv_values(&self, blindings: &[Blinding], channel: &mut Channel) -> Result<Vec<Block>> {
        let roots = recv_residues(ROOTS, blindings.len(), &self.key, channel)?;
        let unblinded = roots.par_iter().zip(blindings);
        let values = unblinded.map(|(root, b)| value(&self.key.multiply(root, &b.inverse)));
        Ok(values.collect())
    }
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        mut self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        refuse_duplicates(items)?;
        // 2. and 3.: one chunk is always in flight, so that both parties work at the same time.
        channel.phase("roots");
        let mut values = Vec::with_capacity(items.len());
        let mut under_way = Vec::new();
        for low_halves in items.low_halves().chunks(CHUNK) {
            let blindings = self.take_blindings(low_halves.len(), rng);
            let blinded: Vec<_> = low_halves
                .par_iter()
                .zip(&blindings)
                .map(|(low, b)| self.key.multiply(&hash(&self.key, low), &b.power).encode())
                .collect();
            channel.send_slice(BLINDED, &blinded)?;
            channel.flush()?;
            if !under_way.is_empty() {
                values.extend(self.recv_values(&under_way, channel)?);
            }
            under_way = blindings;
        }
        if !under_way.is_empty() {
            values.extend(self.recv_values(&under_way, channel)?);
        }
        // 4.
        channel.phase("compare");
        let tags = Tags::new(self.setting);
        let mine = values.iter().enumerate().map(|(i, value)| tags.tagged(*value, i)).collect();
        let sender = self.setting.sizes.sender;
        tags.recv_matches(TAGS, sender, mine, items, channel)
    }
}
