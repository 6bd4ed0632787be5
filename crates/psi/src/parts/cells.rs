//! A random OT for each cell of a Bloom filter: S has a random string for every cell, and R has the strings
//! of the cells that its items set.
//!
//! The filter has one part for each hash function, and an item has one cell in each. It is therefore processed part by
//! part: a part fits the cache, whereas the whole filter has about a hundred cells per item and is never held by either
//! party. Each part takes as many random OTs as its cells need; several small parts share a call.

use rayon::prelude::*;
use vesica_net::Channel;
use vesica_ot::{
    Bytes,
    extension::softspoken::{
        SmallField,
        semi_honest::{self, bytes, setup_bytes},
    },
    variants::{CotReceiver, CotSender},
};
use vesica_params::{Adversary, okvs::Shape};
use vesica_primitives::{Bits, Block};
use vesica_structures::okvs::garbled_bloom::GarbledBloom;
use zeroize::Zeroizing;

use rand::CryptoRng;

use crate::Result;

/// The adversary that the OT extension withstands.
pub(crate) const ADVERSARY: Adversary = semi_honest::ADVERSARY;

/// Half the bytes of ALSZ13 for the same work.
const FIELD: SmallField = SmallField::new(2);

/// Approximate number of OTs per call, if parts have fewer.
const CALL_OTS: usize = 1 << 16;

/// Minimum number of items per thread.
const MIN_ITEMS: usize = 1 << 12;

/// Payload bytes of the setup.
pub(crate) fn setup_cost() -> Bytes {
    setup_bytes(FIELD)
}

/// Payload bytes of the OTs of a filter's cells, all to S.
pub(crate) fn cost(shape: Shape) -> usize {
    let part = shape.sparse / shape.weight;
    calls(shape.weight, part).map(|parts| bytes(FIELD, parts.len() * part).to_sender).sum()
}

/// The parts covered by each call.
fn calls(weight: usize, part: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let parts = (CALL_OTS / part).max(1);
    (0..weight).step_by(parts).map(move |first| first..(first + parts).min(weight))
}

/// The party with a string for every cell.
pub(crate) struct Sender(semi_honest::Sender);

impl Sender {
    pub(crate) fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Self(semi_honest::Sender::setup(FIELD, channel, rng)?))
    }

    /// Passes on the strings of each part's cells in turn, with the part's number.
    pub(crate) fn send(
        mut self,
        store: &GarbledBloom,
        channel: &mut Channel,
        mut show: impl FnMut(usize, Strings<'_>),
    ) -> Result<()> {
        let part = store.part_columns();
        let mut pairs = Zeroizing::new(Vec::new());
        for parts in calls(store.shape().weight, part) {
            pairs.resize(parts.len() * part, [Block::ZERO; 2]);
            self.0.send_random_into(&mut pairs, channel)?;
            parts.zip(pairs.chunks_exact(part)).for_each(|(i, pairs)| show(i, Strings(pairs)));
        }
        Ok(())
    }
}

/// The strings of a part's cells. Secret.
pub(crate) struct Strings<'a>(&'a [[Block; 2]]);

impl Strings<'_> {
    /// The string of a cell, counted from the part's start. The string for choice 0 is not used.
    pub(crate) fn of(&self, cell: usize) -> Block {
        self.0[cell][1]
    }
}

/// The sums of strings over the cells of each of S's items.
pub(crate) struct Sums {
    cells: Vec<u32>,
    sums: Vec<Block>,
}

impl Sums {
    pub(crate) fn new(items: usize) -> Self {
        Self { cells: vec![0; items], sums: vec![Block::ZERO; items] }
    }

    /// Adds the strings of one part.
    pub(crate) fn add(
        &mut self,
        store: &GarbledBloom,
        part: usize,
        items: &[Block],
        string: impl Fn(usize) -> Block + Sync,
    ) {
        store.columns_in_part(part, items, &mut self.cells);
        add_strings(&mut self.sums, &self.cells, string);
    }

    pub(crate) fn finish(self) -> Vec<Block> {
        self.sums
    }
}

fn add_strings(sums: &mut [Block], cells: &[u32], string: impl Fn(usize) -> Block + Sync) {
    let sums = sums.par_iter_mut().zip(cells).with_min_len(MIN_ITEMS);
    sums.for_each(|(sum, cell)| *sum ^= string(*cell as usize));
}

/// The party with a set of items.
pub(crate) struct Receiver(semi_honest::Receiver);

impl Receiver {
    pub(crate) fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Self(semi_honest::Receiver::setup(FIELD, channel, rng)?))
    }

    /// The sum of strings over the cells of each item.
    pub(crate) fn receive(
        mut self,
        store: &GarbledBloom,
        items: &[Block],
        channel: &mut Channel,
    ) -> Result<Vec<Block>> {
        let part = store.part_columns();
        let mut sums = vec![Block::ZERO; items.len()];
        let (mut cells, mut strings) = (Vec::new(), Zeroizing::new(Vec::new()));
        for parts in calls(store.shape().weight, part) {
            cells.resize(parts.len() * items.len(), 0);
            let mut choices = Bits::zeros(parts.len() * part);
            for (at, number) in parts.clone().enumerate() {
                let cells = &mut cells[at * items.len()..][..items.len()];
                store.columns_in_part(number, items, cells);
                cells.iter().for_each(|cell| choices.set(at * part + *cell as usize, 1));
            }
            strings.resize(parts.len() * part, Block::ZERO);
            self.0.receive_random_into(&choices, &mut strings, channel)?;
            for (at, strings) in strings.chunks_exact(part).enumerate() {
                let cells = &cells[at * items.len()..][..items.len()];
                add_strings(&mut sums, cells, |cell| strings[cell]);
            }
        }
        channel.flush()?;
        Ok(sums)
    }
}
