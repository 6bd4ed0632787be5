//! Naive hashing: **insecure**, for measurements only.
//!
//! The sender sends hashes of its items. Anyone who can guess an item can test the guess, so the receiver
//! learns far more than the intersection. It is included because every paper compares with it, and because its
//! time serves as the unit when ratios measured on one machine are applied to another.
//!
//! 1. S → R: a key k; then the sorted list of {H_k(y)}, each λ + log n_x + log n_y bits.
//! 2. R outputs the x with H_k(x) on the list.
//!
//! Source: folklore; PSZ14 §3 ("naive solution"), the baseline of its Table 5.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{Block, hash::truncate};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Status,
    memory::PerItem,
    parts::tags::{Tags, refuse_duplicates},
    setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "naive",
    title: "hashes of the items, compared in the clear",
    citation: "folklore; baseline of Pinkas, Schneider, Zohner (USENIX Security 2014)",
    status: Status::Insecure,
    adversary: Adversary::None,
    learns: Leakage {
        receiver: "the intersection, and whether any item it can guess is in the sender's set",
        sender: "the size of the receiver's set",
    },
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost,
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([75.0, 10.0], [105.0, 20.0]))
    },
    failures: |setting| vec![Tags::new(setting).failure(setting.sizes)],
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, _, _| Ok(Box::new(Sender { setting })),
        receiver: |setting, _, _| Ok(Box::new(Receiver { setting })),
    },
};

const KEY: &str = "naive/key";
const LIST: &str = "naive/list";

fn cost(setting: Setting) -> Cost {
    let list = Tags::new(setting).list_len(setting.sizes.sender);
    Cost { bytes_to_sender: 0.0, bytes_to_receiver: (32 + list) as f64, rounds: 2 }
}

/// H_k of each item.
fn hash_all(key: &[u8; 32], low_halves: &[Block]) -> Vec<Block> {
    let hash = |low: &Block| truncate(&blake3::keyed_hash(key, &low.to_bytes()));
    low_halves.par_iter().map(hash).collect()
}

/// The party that sends its hashes.
#[derive(Debug)]
pub struct Sender {
    setting: Setting,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let tags = Tags::new(self.setting);
        refuse_duplicates(items)?;
        // 1.
        channel.phase("hash");
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        channel.send(KEY, &key)?;
        channel.flush()?;
        let hashes =
            hash_all(&key, items.low_halves()).into_iter().map(|hash| tags.of(hash)).collect();
        channel.phase("compare");
        tags.send_list(LIST, hashes, items, channel)
    }
}

/// The party that learns the intersection.
#[derive(Debug)]
pub struct Receiver {
    setting: Setting,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let tags = Tags::new(self.setting);
        refuse_duplicates(items)?;
        channel.phase("hash");
        let mut key = [0; 32];
        channel.recv_into(KEY, &mut key)?;
        let mine = hash_all(&key, items.low_halves())
            .into_iter()
            .enumerate()
            .map(|(position, hash)| tags.tagged(hash, position))
            .collect();
        // 2.
        channel.phase("compare");
        let count = self.setting.sizes.sender;
        tags.recv_matches(LIST, count, mine, items, channel)
    }
}
