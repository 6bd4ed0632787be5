//! `rr17-ec`: the OPRF in one direction, and a commitment to each item of S. In the random oracle model.
//!
//! Offline: the base OTs of the OPRF.
//!
//! 1. Both toss a seed and hash their items into bins; R puts its own into random slots.
//! 2. R gets the values of S's functions F at the points of its slots; S refuses rows that are not codewords.
//! 3. S → R, for each item y, in random order: a commitment H_c(y, r) with a fresh r, and for each slot i of R
//!    in y's bin a hint and r ⊕ pad, where pad ‖ hint = H_p(F_i(y), y).
//! 4. R outputs the x in slot i for which some commitment has x's hint in place i, and pad gives an r with
//!    which that is a commitment to x.
//!
//! A commitment of 256 bits belongs to one item, so S has as many inputs as it announced, regardless of the contents of
//! the places: it can only leave some out, in which case the item counts only if R happens to have it in another slot.
//! R can open a commitment only at the point it has in a slot; for any other it lacks r, of κ bits.
//!
//! Hints save R from trying every commitment, and security does not depend on them: one of 32 bits that matches
//! by chance, as some do in large sets, leads to a commitment that is not to x. For the same reason, and
//! because it would show S that R has the item, a commitment that does not open is not an error.
//!
//! Deviation from the paper: hint and pad are a hash of the value with the whole item.

use rand::{CryptoRng, seq::SliceRandom};
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_oprf::oos17 as oprf;
use vesica_params::{Failure, bins::padded::Shape};
use vesica_primitives::{Block, Declassified, are_equal, declassify, hash::ShortHash, threads};
use zeroize::Zeroizing;

use super::{Binned, CHUNK, CITATION, Effort, Hashing, first, item, short};
use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status, memory::PerItem, parts::coin, setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "rr17-ec",
    title: "checked OPRF of all slots of a bin, commitments",
    citation: CITATION,
    status: Status::Sound,
    adversary: Adversary::weakest(&[oprf::ADVERSARY, coin::ADVERSARY]),
    learns: Leakage::EXTRACTED,
    digest: DigestLength::Long,
    filters: false,
    list: List::Sorted,
    cost: |setting| cost(setting.sizes, shape(setting)),
    memory,
    failures,
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            channel.phase("base-ot");
            let oprf = oprf::Sender::setup(channel, rng)?;
            Ok(Box::new(Sender { setting, oprf }))
        },
        receiver: |setting, channel, rng| {
            channel.phase("base-ot");
            let oprf = oprf::Receiver::setup(channel, rng)?;
            Ok(Box::new(Receiver { setting, oprf }))
        },
    },
};

const COMMITMENTS: &str = "rr17/commitments";

/// Bytes of commitments per message, unless a single one has more.
const MESSAGE_BYTES: usize = 1 << 24;

const COMMITMENT_LEN: usize = blake3::OUT_LEN;
const HINT_LEN: usize = size_of::<u32>();
const PLACE_LEN: usize = HINT_LEN + size_of::<Block>();

/// The bins of a run.
pub fn shape(setting: impl Into<Setting>) -> Shape {
    let setting = setting.into();
    let sizes = setting.sizes;
    super::fastest(setting, |shape| {
        let values = sizes.sender * shape.receiver;
        Some(Effort { cost: cost(sizes, shape), values, instances: shape.receiver_slots() })
    })
}

/// Bytes that S sends for an item: the commitment, and a hint and masked opening for each slot.
fn entry_len(shape: Shape) -> usize {
    COMMITMENT_LEN + PLACE_LEN * shape.receiver
}

/// Items whose commitments are sent in one message.
fn message_items(shape: Shape) -> usize {
    (MESSAGE_BYTES / entry_len(shape)).max(1)
}

fn failures(setting: Setting) -> Vec<Failure> {
    // The sender's items are in no slots.
    let [overflow, _] = super::overflows(setting.sizes, shape(setting));
    vec![overflow, oprf::WRONG_ROWS_PASS]
}

fn memory(Setting { sizes, .. }: Setting) -> Memory {
    Memory::linear(sizes, PerItem::new([820.0, 460.0], [680.0, 460.0]))
}

fn cost(sizes: Sizes, shape: Shape) -> Cost {
    let oprf = oprf::setup_bytes() + oprf::bytes(shape.receiver_slots());
    let commitments = sizes.sender * entry_len(shape);
    Cost {
        bytes_to_sender: oprf.to_sender as f64,
        bytes_to_receiver: (oprf.to_receiver + coin::BYTES_OF_FIRST + commitments) as f64,
        rounds: 12,
    }
}

/// The hashes of step 3.
struct Hashes {
    pad: ShortHash,
    commitment: ShortHash,
}

/// The keys derived from a value at an item.
#[derive(Clone, Copy)]
struct ItemKeys {
    pad: Block,
    hint: u32,
}

impl Hashes {
    fn new(hashing: &Hashing) -> Self {
        Self {
            pad: hashing.keyed("vesica rr17 pad v1"),
            commitment: hashing.keyed("vesica rr17 commitment v1"),
        }
    }

    /// The keys from some slots' values at all entries.
    fn keys(&self, values: &[Block], binned: &Binned, items: Items<'_>) -> Vec<ItemKeys> {
        let mut keys = vec![ItemKeys { pad: Block::ZERO, hint: 0 }; values.len()];
        let chunks = keys.chunks_mut(CHUNK).zip(values.chunks(CHUNK)).enumerate();
        threads::for_each(chunks, |(chunk, (keys, values))| {
            let inputs = values.iter().zip(chunk * CHUNK..).map(|(value, i)| {
                let item = item(items, binned.position(i % binned.len()));
                short(&[&value.to_bytes(), &item])
            });
            let mut keys = keys.iter_mut();
            self.pad.hash(inputs, |digest| {
                let words: [u32; 8] = bytemuck::cast(digest);
                let key = ItemKeys { pad: first(&digest), hint: words[4] };
                *keys.next().expect("a place for each value") = key;
            });
        });
        keys
    }

    /// Passes on the commitments to items, one after another, each with its own opening.
    fn commit<'a>(
        &self,
        openings: impl Iterator<Item = ([u8; 32], &'a Block)>,
        show: impl FnMut([u8; COMMITMENT_LEN]),
    ) {
        let inputs = openings.map(|(item, opening)| short(&[&item, &opening.to_bytes()]));
        self.commitment.hash(inputs, show);
    }
}

/// The party that commits.
struct Sender {
    setting: Setting,
    oprf: oprf::Sender,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let shape = shape(self.setting);
        // 1.
        channel.phase("hash");
        let hashing = Hashing::new(shape.bins, coin::toss_first(channel, rng)?);
        let images = hashing.images(items)?;
        // 2.
        channel.phase("oprf");
        let functions = self.oprf.functions(shape.receiver_slots(), channel, rng)?;
        // 3.
        channel.phase("commitments");
        let hashes = Hashes::new(&hashing);
        // Only caches can make time depend on the order.
        let mut order: Vec<u32> = (0..items.len() as u32).collect();
        order.shuffle(&mut Declassified(&mut *rng));
        for positions in order.chunks(message_items(shape)) {
            let images: Vec<Block> = positions.iter().map(|i| images[*i as usize]).collect();
            let (items, binned) = (items.at(positions), hashing.bin(&images));
            let items = items.items();
            let openings: Zeroizing<Vec<Block>> =
                Zeroizing::new(positions.iter().map(|_| Block::random(rng)).collect());
            let mut message = vec![0; positions.len() * entry_len(shape)];
            let mut entries = message.chunks_mut(entry_len(shape));
            let to_commit = openings.iter().enumerate().map(|(i, r)| (item(items, i), r));
            hashes.commit(to_commit, |commitment| {
                let entry = entries.next().expect("an entry for each item");
                entry[..COMMITMENT_LEN].copy_from_slice(&commitment);
            });
            let mut order = vec![0; positions.len()];
            (0..binned.len()).for_each(|entry| order[binned.position(entry)] = entry);
            binned.evaluate(&functions, shape.receiver, channel, |slot, values| {
                let keys = hashes.keys(values, &binned, items);
                let entries = message.par_chunks_mut(entry_len(shape)).zip(&order).zip(&*openings);
                entries.for_each(|((entry, number), opening)| {
                    let places = entry[COMMITMENT_LEN..].chunks_mut(PLACE_LEN).skip(slot);
                    let keys = keys[*number..].iter().step_by(order.len());
                    for (place, key) in places.zip(keys) {
                        let (hint, sealed) = place.split_at_mut(HINT_LEN);
                        hint.copy_from_slice(&key.hint.to_le_bytes());
                        sealed.copy_from_slice(&(key.pad ^ *opening).to_bytes());
                    }
                });
            })?;
            channel.send(COMMITMENTS, &message)?;
            channel.flush()?;
        }
        Ok(())
    }
}

/// The party that learns the intersection.
struct Receiver {
    setting: Setting,
    oprf: oprf::Receiver,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let shape = shape(self.setting);
        // 1.
        channel.phase("hash");
        let hashing = Hashing::new(shape.bins, coin::toss_second(channel, rng)?);
        let binned = hashing.bin(&hashing.images(items)?);
        let slots = binned.fill(shape.receiver, rng)?;
        // 2.
        channel.phase("oprf");
        let values = slots.pick(&self.oprf.evaluate(&slots.points, channel, rng)?);
        // 4.
        channel.phase("commitments");
        let hashes = Hashes::new(&hashing);
        let keys = hashes.keys(&values, &binned, items);
        let expected = keys.into_iter().enumerate().map(|(entry, key)| ExpectedCommitments {
            // By hints entries are found, which takes time that depends on them.
            key: ItemKeys { hint: declassify(key.hint), ..key },
            slot: slots.of_entry[entry] / shape.bins as u32,
            position: binned.position(entry) as u32,
        });
        let expected = ByHint::new(expected.collect());
        let mut matches = Vec::new();
        let mut left = self.setting.sizes.sender;
        while left > 0 {
            let count = left.min(message_items(shape));
            let mut message = vec![0; count * entry_len(shape)];
            channel.recv_into(COMMITMENTS, &mut message)?;
            let entries = message.par_chunks(entry_len(shape));
            matches
                .par_extend(entries.flat_map_iter(|entry| open(entry, &expected, &hashes, items)));
            left -= count;
        }
        matches.sort_unstable();
        // A malicious sender may commit to an item twice.
        matches.dedup();
        Ok(matches)
    }
}

/// The positions of the items to which an entry is a valid commitment.
fn open(entry: &[u8], expected: &ByHint, hashes: &Hashes, items: Items<'_>) -> Vec<u32> {
    let (commitment, places) = entry.split_at(COMMITMENT_LEN);
    let (places, _) = places.as_chunks::<PLACE_LEN>();
    let mut opened = Vec::new();
    for (slot, place) in (0..).zip(places) {
        let (hint, sealed) = place.split_first_chunk().expect("a hint and a block");
        let sealed = Block::from_bytes(*sealed.as_array().expect("a hint and a block"));
        for expected in expected.at(u32::from_le_bytes(*hint), slot) {
            let item = item(items, expected.position as usize);
            let opening = sealed ^ expected.key.pad;
            hashes.commit(std::iter::once((item, &opening)), |right| {
                if are_equal(&right, commitment) {
                    opened.push(expected.position);
                }
            });
        }
    }
    opened
}

/// An item of R in a slot.
#[derive(Clone, Copy)]
struct ExpectedCommitments {
    key: ItemKeys,
    slot: u32,
    position: u32,
}

/// Items indexed by hint and slot.
struct ByHint {
    /// Ordered by hint.
    sorted: Vec<ExpectedCommitments>,
    /// The start of the hints with each value of their first bits, followed by the end of the last.
    starts: Vec<u32>,
    shift: u32,
}

impl ByHint {
    fn new(mut sorted: Vec<ExpectedCommitments>) -> Self {
        sorted.sort_unstable_by_key(|expected| expected.key.hint);
        let bits = sorted.len().next_power_of_two().ilog2().clamp(1, 31);
        let shift = u32::BITS - bits;
        let start = |number: u64| {
            sorted.partition_point(|expected| u64::from(expected.key.hint >> shift) < number) as u32
        };
        let starts = (0..=1 << bits).map(start).collect();
        Self { sorted, starts, shift }
    }

    fn at(&self, hint: u32, slot: u32) -> impl Iterator<Item = &ExpectedCommitments> {
        let number = (hint >> self.shift) as usize;
        let [start, end] = [self.starts[number], self.starts[number + 1]].map(|i| i as usize);
        self.sorted[start..end].iter().filter(move |e| e.key.hint == hint && e.slot == slot)
    }
}
