//! PSI from a batched OPRF: Kolesnikov, Kumaresan, Rosulek and Trieu (CCS 2016), §4 and Figure 5, with cuckoo
//! hashing without a stash. Semi-honest.
//!
//! Offline: the base OTs of the OPRF.
//!
//! 1. Both draw a seed, now that both sets are fixed; items are permuted under it.
//! 2. R puts each item into one of its three bins (cuckoo hashing, b bins); S puts each item into all three
//!    of its bins (simple hashing).
//! 3. R → S, b instances of the OPRF: R gets F_j(x ⊕ i) for the item x that sits in bin j by its i-th hash
//!    function; a bin without an item takes a random word.
//! 4. S → R, for each i: the sorted list of {F_{h_i(y)}(y ⊕ i)}.
//! 5. R outputs the x whose value is on the list of its own hash function.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. Deviations from the
//! paper: no stash, and therefore b ≈ 1.3 n bins by the fit of RS21 §7.2, with three *distinct* bins per item
//! (two equal bins would show in the number of equal values); lists are sorted and Golomb–Rice coded instead
//! of shuffled, which hides the order as well and is shorter. The others are in `docs/protocols/ot-extension.md`.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::kkrt16 as oprf;
use vesica_ot::one_of_n::{self, Receiver as _, Sender as _};
use vesica_params::{
    Failure,
    bins::cuckoo::{self, HASHES},
    code,
};
use vesica_primitives::Block;
use vesica_structures::bins::{BinMap, Entry, Table, cuckoo::CuckooTable};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{
        coin::permute,
        lists::{self, word},
        sealed,
        tags::Tags,
    },
    payload::{Opened, ReceiverInput, SenderInput},
    setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "kkrt16",
    title: "batched OPRF from OT extension, cuckoo hashing",
    citation: "Kolesnikov, Kumaresan, Rosulek, Trieu (CCS 2016)",
    status: Status::Sound,
    adversary: Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]),
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost,
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([138.0, 14.0], [152.0, 14.0]))
    },
    failures,
    limits: any_sizes,
    parties: Parties::Carrying {
        lists: HASHES,
        sender: |setting, channel, rng| Ok(Box::new(Sender::prepare(setting, channel, rng)?)),
        receiver: |setting, channel, rng| Ok(Box::new(Receiver::prepare(setting, channel, rng)?)),
    },
};

const LISTS: [&str; HASHES] = ["kkrt16/list-1", "kkrt16/list-2", "kkrt16/list-3"];

/// The width of the OPRF's code: the sender evaluates each item in three bins.
fn width(setting: Setting) -> usize {
    code::width(HASHES * setting.sizes.sender, setting.lambda())
}

fn shape(setting: Setting) -> cuckoo::Shape {
    cuckoo::sound(setting.sizes.receiver, setting.lambda())
}

fn failures(setting: Setting) -> Vec<Failure> {
    let Sizes { sender, receiver } = setting.sizes;
    let close = code::log2_failure(HASHES * sender, width(setting));
    let table = shape(setting).log2_failure(receiver);
    vec![
        Tags::new(setting).failure(setting.sizes),
        Failure::new("two codewords are too close", close),
        Failure::new("the cuckoo table does not exist", table),
    ]
}

fn cost(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let (width, bins) = (width(setting), shape(setting).bins);
    let oprf = oprf::setup_bytes(width) + one_of_n::kkrt16::bytes(width, bins);
    let lists = HASHES * Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: oprf.to_sender as f64,
        bytes_to_receiver: (oprf.to_receiver + lists) as f64,
        rounds: 7,
    }
}

/// The party that can evaluate the OPRF everywhere.
pub struct Sender {
    setting: Setting,
    oprf: oprf::Sender,
}

impl Sender {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let oprf = oprf::Sender::setup(width(setting), channel, rng)?;
        Ok(Self { setting, oprf })
    }

    /// Steps 1 to 3: the items in their bins, and the value of each entry.
    fn evaluate(
        mut self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Table, Vec<Block>)> {
        // 1.
        let permuted = permute(items.low_halves(), channel, rng)?;
        // 2.
        let hashed = BinMap::<HASHES>::new(shape(self.setting).bins).of(&permuted);
        let table = lists::all_bins(&hashed)?;
        // 3.
        channel.phase("oprf");
        let entry_word = |i: usize| {
            let entry: Entry = table.entries()[i];
            word(permuted[entry.position()], entry.hash())
        };
        let values = self.oprf.send_random_at(table.starts(), entry_word, channel, rng)?;
        channel.phase("lists");
        Ok((table, values))
    }
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let setting = self.setting;
        let (table, values) = self.evaluate(items, channel, rng)?;
        // 4.
        lists::send(&LISTS, &table, &values, items, setting, channel)
    }
}

impl Party<SenderInput<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        input: SenderInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let tags = Tags::new(self.setting);
        let (table, values) = self.evaluate(input.items, channel, rng)?;
        // 4.
        let of_hash = |hash| lists::of_hash(&table, &values, hash);
        sealed::send(tags, &LISTS, of_hash, input, channel)
    }
}

/// The party that learns the intersection.
pub struct Receiver {
    setting: Setting,
    oprf: oprf::Receiver,
}

impl Receiver {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let oprf = oprf::Receiver::setup(width(setting), channel, rng)?;
        Ok(Self { setting, oprf })
    }

    /// Steps 1 to 3: the items in their bins, and the value of each bin.
    fn evaluate(
        mut self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(CuckooTable, Vec<Block>)> {
        // 1.
        let permuted = permute(items.low_halves(), channel, rng)?;
        // 2.
        let table = CuckooTable::new(&permuted, shape(self.setting))?;
        // 3.
        channel.phase("oprf");
        let words: Vec<Block> = table
            .bins()
            .iter()
            .map(|entry| match entry {
                Some(entry) => word(permuted[entry.position()], entry.hash()),
                None => Block::random(rng),
            })
            .collect();
        let values = self.oprf.receive_random(&words, channel, rng)?;
        channel.phase("lists");
        Ok((table, values))
    }
}

/// The items in bins, with their values.
fn seated(table: &CuckooTable, values: &[Block]) -> impl Iterator<Item = (Entry, Block)> + Clone {
    table.bins().iter().zip(values).filter_map(|(entry, value)| Some(((*entry)?, *value)))
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let setting = self.setting;
        let (table, values) = self.evaluate(items, channel, rng)?;
        // 5.
        lists::receive(&LISTS, seated(&table, &values), items, setting, channel)
    }
}

impl Party<ReceiverInput<'_>, Opened> for Receiver {
    fn run(
        self: Box<Self>,
        input: ReceiverInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opened> {
        let (tags, count) = (Tags::new(self.setting), self.setting.sizes.sender);
        let (table, values) = self.evaluate(input.items, channel, rng)?;
        // 5.
        let mine = lists::seated_by(&LISTS, seated(&table, &values));
        sealed::receive(tags, count, mine, input, channel)
    }
}
