//! PSI from a garbled Bloom filter: Dong, Chen and Wen (CCS 2013), the semi-honest protocol. (The variant
//! against malicious parties is broken and not implemented.)
//!
//! Offline: the base OTs and trees of the OT extension.
//!
//! 1. Both draw a seed, now that both sets are fixed. Under it each item has one cell in each part of a
//!    filter, and a digest of ℓ bits.
//! 2. S makes a garbled Bloom filter in which the cells of each of its items add up to the item's digest, and
//!    all other cells are random.
//! 3. An OT for each cell: R chooses the cells that its items set, and gets these. R → S: the messages of a
//!    random OT. S → R: the content of each cell, masked with the string for choice 1.
//! 4. R outputs the x whose cells add up to the digest of x.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. Deviations from the
//! paper, above all a filter dimensioned for both sets: see `docs/protocols/garbled-bloom.md`.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_params::{
    Failure,
    okvs::{self, Shape},
    tag,
};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    declassify,
};
use vesica_structures::okvs::{self as stores, Codec, Free, Okvs, garbled_bloom::GarbledBloom};

use crate::{
    Adversary, Cost, DigestLength, Error, Items, Leakage, Limit, List, Memory, Parties, Party,
    Protocol, Result, Setting, Sizes, Status,
    memory::PerItem,
    parts::cells::{self, Sums},
    parts::{coin, tags::refuse_duplicates},
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "dcw13",
    title: "garbled Bloom filter sent by OT",
    citation: "Dong, Chen, Wen (CCS 2013)",
    status: Status::Sound,
    adversary: Adversary::weakest(&[cells::ADVERSARY, Adversary::SemiHonest]),
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: false,
    list: List::Sorted,
    cost,
    memory,
    failures,
    limits,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            let dimensions = FilterDimensions::of(setting);
            channel.phase("base-ot");
            let cells = cells::Sender::setup(channel, rng)?;
            Ok(Box::new(Sender { dimensions, cells }))
        },
        receiver: |setting, channel, rng| {
            let dimensions = FilterDimensions::of(setting);
            channel.phase("base-ot");
            let cells = cells::Receiver::setup(channel, rng)?;
            Ok(Box::new(Receiver { dimensions, cells }))
        },
    },
};

/// The maximal number of items of both sets: cells are numbered with 32 bits, and S holds 8 bytes for each.
const MAX_ITEMS: usize = 1 << 24;

const CELLS: &str = "dcw13/cells";

/// The dimensions of a run.
#[derive(Clone, Copy)]
struct FilterDimensions {
    shape: Shape,
    /// Bytes sent per cell.
    len: usize,
}

impl FilterDimensions {
    /// A filter with room for both sets: then, except with probability 2^-λ, each item of S that R does not
    /// have has its own cell among those that R does not choose, and R sees random strings in the others.
    /// The number of bits is such that, except with the same probability, the cells of no item that only R has
    /// add up to its digest.
    fn of(setting: Setting) -> Self {
        let (Sizes { sender, receiver }, lambda) = (setting.sizes, setting.lambda());
        let shape = okvs::garbled_bloom(sender + receiver, lambda);
        Self { shape, len: tag::bits(receiver, 1, lambda).div_ceil(8) as usize }
    }
}

fn failures(setting: Setting) -> Vec<Failure> {
    let (Sizes { sender, receiver }, dimensions) = (setting.sizes, FilterDimensions::of(setting));
    let equal = tag::log2_failure(receiver, 1, 8 * dimensions.len as u32);
    let taken = dimensions.shape.log2_failure(sender + receiver);
    vec![
        Failure::new("cells add up to the digest of another item", equal),
        Failure::new("an item has no cell of its own", taken),
    ]
}

fn memory(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, PerItem::new([830.0, 770.0], [165.0, 62.0]))
}

fn limits(sizes: Sizes) -> std::result::Result<(), Limit> {
    Limit::check("of both sets together", sizes.sender + sizes.receiver, MAX_ITEMS)
}

fn cost(setting: Setting) -> Cost {
    let FilterDimensions { shape, len } = FilterDimensions::of(setting);
    let setup = cells::setup_cost();
    Cost {
        bytes_to_sender: (setup.to_sender + cells::cost(shape)) as f64,
        bytes_to_receiver: (setup.to_receiver + shape.columns() * len) as f64,
        rounds: 6,
    }
}

/// The digests of items; the cells of each of S's items add up to its digest.
fn digests(seed: Block, items: &[Block]) -> Vec<u64> {
    let mut digests = items.to_vec();
    // The filter derives its keys from far smaller numbers.
    let key = Aes128::new(seed).encrypt_block(Block(u128::MAX));
    CorrelationRobust::new(key).apply(&mut digests);
    digests.into_iter().map(Block::low).collect()
}

/// The party whose items are in the filter.
struct Sender {
    dimensions: FilterDimensions,
    cells: cells::Sender,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let FilterDimensions { shape, len } = self.dimensions;
        refuse_duplicates(items)?;
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        // 2.
        channel.phase("filter");
        let store = GarbledBloom::new(shape, seed);
        let digests = digests(seed, items.low_halves());
        let keys = store.place(items.low_halves());
        let mut filter =
            store.encode(&keys, |position, _| digests[position as usize], Free::Random, rng)?;
        // 3.
        channel.phase("cells");
        let part = store.part_columns();
        self.cells.send(&store, channel, |number, strings| {
            let cells = filter[number * part..][..part].par_iter_mut().enumerate();
            cells.with_min_len(MIN_CELLS).for_each(|(i, cell)| *cell ^= strings.of(i).low());
        })?;
        let mut message = Vec::with_capacity(part * len);
        for cells in filter.chunks_exact(part) {
            message.clear();
            cells.iter().for_each(|cell| message.extend_from_slice(&cell.to_le_bytes()[..len]));
            channel.send(CELLS, &message)?;
        }
        Ok(())
    }
}

/// Minimum number of cells per thread.
const MIN_CELLS: usize = 1 << 13;

/// The party that learns the intersection.
struct Receiver {
    dimensions: FilterDimensions,
    cells: cells::Receiver,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let FilterDimensions { shape, len } = self.dimensions;
        refuse_duplicates(items)?;
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        // 3.
        channel.phase("cells");
        let store = GarbledBloom::new(shape, seed);
        let masks = self.cells.receive(&store, items.low_halves(), channel)?;
        let mut masked = Sums::new(items.len());
        let mut message = vec![0; store.part_columns() * len];
        for part in 0..shape.weight {
            channel.recv_into(CELLS, &mut message)?;
            masked.add(&store, part, items.low_halves(), |cell| {
                content(&message[cell * len..][..len])
            });
        }
        // 4.
        let mine = masked.finish().into_iter().zip(masks).zip(digests(seed, items.low_halves()));
        let unused = u64::BITS - 8 * len as u32;
        let found = (0..).zip(mine).filter(|(_, ((masked, mask), digest))| {
            // The result, to the party that learns it.
            declassify(((*masked ^ *mask).low() ^ digest) << unused) == 0
        });
        Ok(found.map(|(position, _)| position).collect())
    }
}

/// The content of a cell, from the bytes sent.
fn content(bytes: &[u8]) -> Block {
    let mut content = [0; size_of::<Block>()];
    content[..bytes.len()].copy_from_slice(bytes);
    Block::from_bytes(content)
}

impl From<stores::Error> for Error {
    fn from(_: stores::Error) -> Self {
        // Keys are distinct, so a failure to solve is random.
        Self::HashingFailure
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The property that hides S's other items, at a λ at which it sometimes fails: except in 2^-λ of the runs,
    /// each item of S has a cell that no item of R and no other item of S has.
    #[test]
    fn each_item_has_a_cell_of_its_own() {
        let (n, lambda, trials) = (20, 3, 2000);
        let items: Vec<Block> = (0..2 * n).map(Block).collect();
        let shape = okvs::garbled_bloom(items.len(), lambda);
        let shows_one = |seed: &u128| {
            let store = GarbledBloom::new(shape, Block(*seed));
            let mut cells = vec![vec![0; items.len()]; shape.weight];
            for (part, cells) in cells.iter_mut().enumerate() {
                store.columns_in_part(part, &items, cells);
            }
            let alone = |item: usize| {
                cells
                    .iter()
                    .any(|cells| cells.iter().filter(|cell| **cell == cells[item]).count() == 1)
            };
            !(0..n as usize).all(alone)
        };
        let shown = (0..trials).filter(shows_one).count();
        assert!(0 < shown && shown <= (trials >> lambda) as usize, "{shown} of {trials}");
    }

    #[test]
    fn cells_are_as_long_as_they_must_be() {
        let len = |n: usize| FilterDimensions::of(Sizes { sender: n, receiver: n }.into()).len;
        assert_eq!(
            [0, 1, 2, 1 << 8, 257, 1 << 16, 1 << 20, 1 << 23].map(len),
            [5, 5, 6, 6, 7, 7, 8, 8]
        );
    }

    #[test]
    fn digests_differ_by_seed_and_item() {
        let items = [0, 1].map(Block);
        let all: HashSet<u64> =
            [5, 6].into_iter().flat_map(|seed| digests(Block(seed), &items)).collect();
        assert_eq!(all.len(), 4);
    }
}
