//! PSI by sorting, comparing and shuffling in a generic secure computation: Huang, Evans and Katz (NDSS
//! 2012), §5, as Pinkas, Schneider and Zohner (USENIX Security 2014) compare with it. Semi-honest.
//!
//! Offline: the OTs for R's inputs, or multiplication triples.
//!
//! 1. Both draw a seed, now that both sets are fixed. An item is represented by σ bits of its image under AES
//!    with that seed, enough that two different items are equal only with probability 2^-λ.
//! 2. The program ([`scs`]): merge both sorted lists, compare neighbours, replace items that occur once by 0, and
//!    shuffle by a permutation that S drew.
//! 3. The result is revealed to R, which looks its items up.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set.
//!
//! Three entries run the same program: `scs-yao` under garbling (one round for all of it, 256 bits per AND
//! gate), `scs-gmw` under GMW (a round for each level of gates), and `scs-gmw-vector` with PSZ14's vector
//! triples: in the conditional exchanges, which are most of the program, one triple serves all bits of an
//! item. GMW runs shallow comparisons, garbling small ones.
//!
//! These protocols show the price of generality: the circuit could be any other. Deviations: half gates
//! instead of three blocks per gate, sets of any two sizes, items shortened as far as the bound allows.

use std::collections::HashSet;

use rand::CryptoRng;
use vesica_circuit::{
    Engine, Party,
    gadgets::Comparison,
    garbling::{self, Evaluator, Garbler},
    gmw::Gmw,
    programs::{
        scs::{self, BadItems, KnownInputs, Parameters},
        waksman,
    },
    triples::{Demand, Extension, Triples},
};
use vesica_net::Channel;
use vesica_ot::extension::softspoken::{SmallField, semi_honest as softspoken};
use vesica_params::{Failure, bins::phasing};
use vesica_primitives::Block;

use crate::{
    Adversary, Cost, DigestLength, Error, Items, Leakage, List, Memory, Parties, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{coin::permute, tags::refuse_duplicates},
    setting::any_sizes,
};

/// Under garbling.
pub static YAO: Protocol = Protocol {
    key: "scs-yao",
    title: "sort-compare-shuffle circuit, garbled",
    citation: "Huang, Evans, Katz (NDSS 2012); Pinkas, Schneider, Zohner (USENIX Security 2014)",
    status: Status::Sound,
    adversary: Adversary::weakest(&[garbling::ADVERSARY, softspoken::ADVERSARY]),
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: false,
    list: List::Sorted,
    cost: cost_of_garbling,
    memory: memory_of_garbling,
    failures,
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            channel.phase("base-ot");
            let cot = softspoken::Sender::setup(FIELD, channel, rng)?;
            Ok(Box::new(GarbledSender { terms: terms(setting, Comparison::Small), cot }))
        },
        receiver: |setting, channel, rng| {
            channel.phase("base-ot");
            let cot = softspoken::Receiver::setup(FIELD, channel, rng)?;
            Ok(Box::new(GarbledReceiver { terms: terms(setting, Comparison::Small), cot }))
        },
    },
};

/// Under GMW.
pub static GMW: Protocol = Protocol {
    key: "scs-gmw",
    title: "sort-compare-shuffle circuit, GMW",
    adversary: Adversary::SemiHonest,
    cost: |setting| cost_of_gmw(setting, false),
    memory: memory_of_gmw,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            Ok(Box::new(Sharing::prepare(setting, Party::First, false, channel, rng)?))
        },
        receiver: |setting, channel, rng| {
            Ok(Box::new(Sharing::prepare(setting, Party::Second, false, channel, rng)?))
        },
    },
    ..YAO
};

/// Under GMW with vector triples.
pub static GMW_VECTOR: Protocol = Protocol {
    key: "scs-gmw-vector",
    title: "sort-compare-shuffle circuit, GMW with vector triples",
    cost: |setting| cost_of_gmw(setting, true),
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            Ok(Box::new(Sharing::prepare(setting, Party::First, true, channel, rng)?))
        },
        receiver: |setting, channel, rng| {
            Ok(Box::new(Sharing::prepare(setting, Party::Second, true, channel, rng)?))
        },
    },
    ..GMW
};

/// Triples are made as in PSZ14, since these entries exist for comparison with its figures.
const TRIPLES: Extension = Extension::Alsz13;

/// For the OTs of the evaluator's inputs.
const FIELD: SmallField = SmallField::new(4);

fn failures(setting: Setting) -> Vec<Failure> {
    let Sizes { sender, receiver } = setting.sizes;
    let width = terms(setting, Comparison::Small).width as u32;
    let equal = phasing::log2_failure(128, receiver, sender, width);
    vec![Failure::new("two items have one image", equal)]
}

fn terms(setting: Setting, comparison: Comparison) -> Parameters {
    let sizes = setting.sizes;
    let width = phasing::sound_bits(128, sizes.receiver, sizes.sender, setting.lambda()) as usize;
    Parameters { width, sizes: [sizes.sender, sizes.receiver], receiver: Party::Second, comparison }
}

fn memory_of_garbling(Setting { sizes, .. }: Setting) -> Memory {
    Memory::linear(sizes, PerItem::new([9700.0, 9700.0], [9700.0, 9700.0]))
}

/// A layer of the sorting network has as many gates as items have bits, and its triples are made beforehand.
fn memory_of_gmw(Setting { sizes, .. }: Setting) -> Memory {
    let levels = f64::from((sizes.sender + sizes.receiver).max(2).ilog2());
    let each = 150.0 * levels;
    Memory::linear(sizes, PerItem::new([each, each], [each, each]))
}

fn cost_of_garbling(setting: Setting) -> Cost {
    let count = scs::count(&terms(setting, Comparison::Small));
    let ots = softspoken::setup_bytes(FIELD) + softspoken::bytes(FIELD, count.inputs[1] as usize);
    let tables = garbling::table_bytes(count.ands) + count.revealed[1].div_ceil(8);
    Cost {
        bytes_to_sender: ots.to_sender as f64,
        bytes_to_receiver: ots.to_receiver as f64 + tables as f64,
        rounds: 7,
    }
}

fn cost_of_gmw(setting: Setting, vectors: bool) -> Cost {
    let count = scs::count(&terms(setting, Comparison::Shallow));
    let demand = Demand::of_count(&count, vectors);
    // Both parties send the same amount.
    let both = TRIPLES.bytes(&demand, Party::First) as u64 + count.opened[usize::from(vectors)];
    Cost {
        bytes_to_sender: both as f64,
        bytes_to_receiver: both as f64 + count.revealed[1].div_ceil(8) as f64,
        rounds: 8 + count.rounds as u32,
    }
}

/// This party's items in the form the program takes, and their values in the order of the items.
fn shorten(
    items: Items<'_>,
    width: usize,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(scs::SortedItems, Vec<Block>)> {
    refuse_duplicates(items)?;
    let images = permute(items.low_halves(), channel, rng)?;
    let low = u128::MAX >> (128 - width);
    let values: Vec<Block> = images.iter().map(|image| Block(image.0 & low)).collect();
    Ok((scs::SortedItems::new(values.clone(), width)?, values))
}

impl From<BadItems> for Error {
    /// The images of distinct items are equal, or equal to the value that represents no item, with a
    /// probability of at most 2^-λ.
    fn from(_: BadItems) -> Self {
        Self::HashingFailure
    }
}

/// The sender's part, once it is ready for its items; `engine` makes the engine that runs the program.
fn help<'c, E: Engine>(
    terms: &Parameters,
    items: Items<'_>,
    channel: &'c mut Channel,
    rng: &mut dyn CryptoRng,
    engine: impl FnOnce(&'c mut Channel, &mut dyn CryptoRng) -> Result<E>,
) -> Result<()>
where
    Error: From<E::Error>,
{
    let (mine, _) = shorten(items, terms.width, channel, rng)?;
    channel.phase("circuit");
    let permutation = waksman::random(terms.places(), rng);
    let known = KnownInputs { items: [Some(&mine), None], permutation: Some(&permutation) };
    scs::intersect(&mut engine(channel, rng)?, terms, known)?;
    Ok(())
}

/// The receiver's part.
fn look_up<'c, E: Engine>(
    terms: &Parameters,
    items: Items<'_>,
    channel: &'c mut Channel,
    rng: &mut dyn CryptoRng,
    engine: impl FnOnce(&'c mut Channel) -> Result<E>,
) -> Result<Vec<u32>>
where
    Error: From<E::Error>,
{
    let (mine, values) = shorten(items, terms.width, channel, rng)?;
    channel.phase("circuit");
    let known = KnownInputs { items: [None, Some(&mine)], permutation: None };
    let shown = scs::intersect(&mut engine(channel)?, terms, known)?;
    let shown: HashSet<Block> = shown.expect("shown to the receiver").into_iter().collect();
    let all = (0..).zip(values);
    Ok(all.filter(|(_, value)| shown.contains(value)).map(|(position, _)| position).collect())
}

/// The sender under garbling.
struct GarbledSender {
    terms: Parameters,
    cot: softspoken::Sender,
}

impl crate::Party<Items<'_>, ()> for GarbledSender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let Self { terms, cot } = *self;
        help(&terms, items, channel, rng, |channel, rng| Ok(Garbler::new(cot, channel, rng)?))
    }
}

/// The receiver under garbling.
struct GarbledReceiver {
    terms: Parameters,
    cot: softspoken::Receiver,
}

impl crate::Party<Items<'_>, Vec<u32>> for GarbledReceiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let Self { terms, cot } = *self;
        look_up(&terms, items, channel, rng, |channel| Ok(Evaluator::new(cot, channel)?))
    }
}

/// Either party under GMW.
struct Sharing {
    terms: Parameters,
    triples: Triples,
}

impl Sharing {
    fn prepare(
        setting: Setting,
        role: Party,
        vectors: bool,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        channel.phase("triples");
        let terms = terms(setting, Comparison::Shallow);
        let demand = Demand::of_count(&scs::count(&terms), vectors);
        Ok(Self { terms, triples: TRIPLES.make(role, &demand, channel, rng)? })
    }
}

impl crate::Party<Items<'_>, ()> for Sharing {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let Self { terms, triples } = *self;
        let engine = |channel, _: &mut dyn CryptoRng| Ok(Gmw::new(Party::First, triples, channel));
        help(&terms, items, channel, rng, engine)
    }
}

impl crate::Party<Items<'_>, Vec<u32>> for Sharing {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let Self { terms, triples } = *self;
        let engine = |channel| Ok(Gmw::new(Party::Second, triples, channel));
        look_up(&terms, items, channel, rng, engine)
    }
}
