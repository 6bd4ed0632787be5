//! PSI from a random garbled Bloom filter: Pinkas, Schneider and Zohner (USENIX Security 2014), §4.3.
//! Semi-honest.
//!
//! Offline: the base OTs and trees of the OT extension.
//!
//! 1. Both draw a seed, now that both sets are fixed. Under it each item has one cell in each of the k parts
//!    of a Bloom filter that is half full with R's items.
//! 2. A random OT for each cell, in which R chooses the cell's bit of its filter: R gets the strings of the cells that
//!    its items set, S has the strings of all cells.
//! 3. S → R: the sorted list of H(sum of the strings of y's cells, y).
//! 4. R outputs the x whose value is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. An item of S that R does
//! not have has all of its cells set in R's filter with probability 2^-k, and R would then see it. Deviations
//! from the paper: see `docs/protocols/garbled-bloom.md`.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_params::{
    Failure, KAPPA,
    okvs::{self, Shape},
};
use vesica_primitives::{
    Block,
    hash::{IndexedRow, RowHash},
};
use vesica_structures::okvs::{Okvs, garbled_bloom::GarbledBloom};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, Limit, List, Memory, Parties, Party, Protocol,
    Result, Setting, Sizes, Status,
    memory::PerItem,
    parts::cells::{self, Sums},
    parts::{coin, tags::Tags},
    setting::OF_RECEIVER,
};

/// k = κ, as in the paper.
pub static PUBLISHED: Protocol = protocol::<{ KAPPA as usize }>(
    "psz14-gbf",
    "random garbled Bloom filter from OT extension",
    "Pinkas, Schneider, Zohner (USENIX Security 2014), §4.3",
    Status::Sound,
);

/// k = 40, as measured by Liang et al.: each item of S that R does not have is revealed with probability 2^-40,
/// and so one of n with n times that probability.
pub static LIANG: Protocol = protocol::<40>(
    "psz14-gbf-liang",
    "random garbled Bloom filter with 40 hash functions",
    "Liang et al. (2022), after Pinkas, Schneider, Zohner (USENIX Security 2014)",
    Status::Research,
);

/// The maximal number of items of R: cells are numbered with 32 bits.
const MAX_ITEMS: usize = 1 << 24;

const LIST: &str = "psz14-gbf/list";

/// Values that are hashed together.
const BATCH: usize = 64;

const fn protocol<const K: usize>(
    key: &'static str,
    title: &'static str,
    citation: &'static str,
    status: Status,
) -> Protocol {
    Protocol {
        key,
        title,
        citation,
        status,
        adversary: Adversary::weakest(&[cells::ADVERSARY, Adversary::SemiHonest]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: true,
        list: List::Sorted,
        cost: cost::<K>,
        memory: memory::<K>,
        failures: failures::<K>,
        limits: |sizes| Limit::check(OF_RECEIVER, sizes.receiver, MAX_ITEMS),
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                let shape = shape::<K>(setting.sizes);
                channel.phase("base-ot");
                let cells = cells::Sender::setup(channel, rng)?;
                Ok(Box::new(Sender { setting, shape, cells }))
            },
            receiver: |setting, channel, rng| {
                let shape = shape::<K>(setting.sizes);
                channel.phase("base-ot");
                let cells = cells::Receiver::setup(channel, rng)?;
                Ok(Box::new(Receiver { setting, shape, cells }))
            },
        },
    }
}

/// A filter that is at most half full with all of R's items, so that for any other item all k cells are set
/// with probability at most 2^-k.
fn shape<const K: usize>(sizes: Sizes) -> Shape {
    okvs::garbled_bloom_of_weight(sizes.receiver + 1, K)
}

/// The events that R sees an item of S which it does not have, and that tags are equal.
fn failures<const K: usize>(setting: Setting) -> Vec<Failure> {
    let Sizes { sender, .. } = setting.sizes;
    let seen = (sender.max(1) as f64).log2() - K as f64;
    vec![
        Tags::new(setting).failure(setting.sizes),
        Failure::new("all cells of an item are set", seen),
    ]
}

fn memory<const K: usize>(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, PerItem::new([105.0, 68.0], [132.0, 42.0]))
}

fn cost<const K: usize>(setting: Setting) -> Cost {
    let setup = cells::setup_cost();
    let list = Tags::new(setting).list_len(setting.sizes.sender);
    Cost {
        bytes_to_sender: (setup.to_sender + cells::cost(shape::<K>(setting.sizes))) as f64,
        bytes_to_receiver: (setup.to_receiver + list) as f64,
        rounds: 6,
    }
}

/// Replaces each item's sum by its hash. Bare sums would not do: the sums of several items of S may depend on each
/// other, and must if there are more items than cells.
fn hash(seed: Block, sums: &mut [Block], items: &[Block]) {
    let hash = RowHash::new(seed);
    let batches = sums.par_chunks_mut(BATCH).zip(items.par_chunks(BATCH));
    batches.for_each(|(sums, items)| {
        let mut rows = [IndexedRow::default(); BATCH];
        let inputs = sums.iter().zip(items);
        rows.iter_mut().zip(inputs).for_each(|(row, (sum, item))| {
            *row = IndexedRow::new(0, &[*sum, *item, Block::ZERO, Block::ZERO]);
        });
        hash.hash(&rows[..items.len()], sums);
    });
}

/// The party that has the string of every cell.
struct Sender {
    setting: Setting,
    shape: Shape,
    cells: cells::Sender,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        let store = GarbledBloom::new(self.shape, seed);
        // 2.
        channel.phase("filter");
        let mut sums = Sums::new(items.len());
        self.cells.send(&store, channel, |part, strings| {
            sums.add(&store, part, items.low_halves(), |cell| strings.of(cell));
        })?;
        // 3.
        channel.phase("list");
        let mut values = sums.finish();
        hash(seed, &mut values, items.low_halves());
        let tags = Tags::new(self.setting);
        tags.send_list(
            LIST,
            values.into_iter().map(|value| tags.of(value)).collect(),
            items,
            channel,
        )
    }
}

/// The party that learns the intersection.
struct Receiver {
    setting: Setting,
    shape: Shape,
    cells: cells::Receiver,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        let store = GarbledBloom::new(self.shape, seed);
        // 2.
        channel.phase("filter");
        let mut values = self.cells.receive(&store, items.low_halves(), channel)?;
        // 4.
        channel.phase("list");
        hash(seed, &mut values, items.low_halves());
        let tags = Tags::new(self.setting);
        let mine = values.into_iter().enumerate();
        let mine = mine.map(|(position, value)| tags.tagged(value, position)).collect();
        let count = self.setting.sizes.sender;
        tags.recv_matches(LIST, count, mine, items, channel)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(receiver: usize) -> Sizes {
        Sizes { sender: 1, receiver }
    }

    /// The rate at which all cells of an item that R does not have are set, which reveals the item to R. With few hash
    /// functions, so that it happens, the rate is at most 2^-k and not much less.
    #[test]
    fn other_items_have_a_cell_that_is_not_set() {
        const K: usize = 6;
        const OTHERS: usize = 1 << 15;
        for n in [1, 2, 3, 100, 5000] {
            let store = GarbledBloom::new(shape::<K>(sizes(n)), Block(n as u128));
            let items: Vec<Block> = (0..(n + OTHERS) as u128).map(Block).collect();
            let mut shown = vec![true; OTHERS];
            for part in 0..K {
                let mut cells = vec![0; items.len()];
                store.columns_in_part(part, &items, &mut cells);
                let mut set = vec![false; store.part_columns()];
                cells[..n].iter().for_each(|cell| set[*cell as usize] = true);
                let others = shown.iter_mut().zip(&cells[n..]);
                others.for_each(|(shown, cell)| *shown &= set[*cell as usize]);
            }
            let shown = shown.into_iter().filter(|shown| *shown).count() as f64;
            // 2^-6 of large sets, which is 512; the standard deviation is 23.
            let expected = OTHERS as f64 / f64::from(1 << K);
            assert!(shown < expected + 4.0 * 23.0, "{shown} with {n} items");
            assert!(n < 5000 || shown > expected - 4.0 * 23.0, "{shown} with {n} items");
        }
    }

    /// Sums of cells depend on each other as soon as there are more items than cells, so values must not be
    /// sums.
    #[test]
    fn values_are_no_sums() {
        let sums = [1, 2, 4, 7].map(Block);
        let mut values = sums;
        hash(Block(5), &mut values, &[10, 11, 12, 13].map(Block));
        assert_eq!(sums.iter().fold(Block::ZERO, |sum, value| sum ^ *value), Block::ZERO);
        assert_ne!(values.iter().fold(Block::ZERO, |sum, value| sum ^ *value), Block::ZERO);
        // The same sum with two items gives two values.
        let mut values = [Block(9); 2];
        hash(Block(5), &mut values, &[1, 2].map(Block));
        assert_ne!(values[0], values[1]);
    }

    #[test]
    fn the_cost_follows_the_number_of_cells() {
        let bits = |protocol: &Protocol, e: u32| {
            let sizes = Sizes { sender: 1 << e, receiver: 1 << e };
            8.0 * protocol.cost(sizes).bytes_to_sender / f64::from(1 << e)
        };
        assert_eq!([&PUBLISHED, &LIANG].map(|p| bits(p, 20).round()), [11_819.0, 3_693.0]);
        let cells = shape::<{ KAPPA as usize }>(sizes(MAX_ITEMS)).columns();
        assert!(u32::try_from(cells).is_ok(), "{cells}");
    }
}
