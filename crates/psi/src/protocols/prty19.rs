//! PSI from sparse OT extension: Pinkas, Rosulek, Trieu and Yanai (CRYPTO 2019), §4 and §6. Semi-honest.
//!
//! Offline: the base OTs of the OPRF.
//!
//! 1. Both draw a seed, now that both sets are fixed; items are permuted under it.
//! 2. *low*: all items are in one bin. *fast*: R puts each item into one of its two bins, so that all are
//!    about equally full; S puts each item into both.
//! 3. R → S: the polynomials of the OPRF ([`oprf`]). R gets F_b(x) for the item x in bin b, S can compute F
//!    anywhere.
//! 4. S → R, *low*: the sorted list of {F(y)}; *fast*: the sorted list of {F_{h_i(y)}(y)} for each of the two hash
//!    functions i.
//! 5. R outputs the x whose value is on the list of the hash function from which its bin comes.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. The paper proves *low*
//! secure against a malicious sender too; this implementation does not claim that. Deviations from the paper,
//! and why slices of a polynomial's values may be over a field of 64 bits, are in `docs/protocols/multi-point.md`.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::prty19 as oprf;
use vesica_params::{
    Failure,
    bins::two_choice,
    code,
    slices::{self, Shape},
};
use vesica_primitives::{Block, aes::Aes128};
use vesica_structures::bins::{BinMap, Entry, Table};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{coin, lists, tags::Tags},
    setting::any_sizes,
};

/// The one with the fewest bytes: a single polynomial.
pub static LOW: Protocol =
    protocol::<Low>("prty19-low", "multi-point OPRF from OT extension, one polynomial");

/// The one in which each bin of two-choice hashing has a polynomial.
pub static FAST: Protocol =
    protocol::<Fast>("prty19-fast", "multi-point OPRF from OT extension, two-choice hashing");

/// A way to assign items to bins.
trait Variant: Send + Sync + 'static {
    /// Memory for each item.
    const MEMORY: PerItem;

    /// One list for each hash function.
    const LISTS: &'static [&'static str];

    /// The number of bins for this many items of the receiver, and the number of items that each takes, such that there
    /// is room for all except with probability 2^-λ.
    fn bins(items: usize, lambda: u32) -> two_choice::Shape;

    /// log2 of a bound on the probability that some items find no room.
    fn log2_no_room(items: usize, shape: two_choice::Shape) -> f64;

    /// For the receiver: each permuted item in one of its bins.
    fn one_each(permuted: &[Block], shape: Shape) -> Result<Table>;

    /// For the sender: each item in all of its bins.
    fn all_each(permuted: &[Block], shape: Shape) -> Result<Table>;
}

struct Low;

impl Variant for Low {
    const MEMORY: PerItem = PerItem::new([520.0, 30.0], [650.0, 30.0]);

    const LISTS: &'static [&'static str] = &["prty19/list"];

    fn bins(items: usize, _: u32) -> two_choice::Shape {
        two_choice::Shape { bins: 1, capacity: items }
    }

    fn log2_no_room(_: usize, _: two_choice::Shape) -> f64 {
        f64::NEG_INFINITY
    }

    fn one_each(permuted: &[Block], shape: Shape) -> Result<Table> {
        Self::all_each(permuted, shape)
    }

    fn all_each(permuted: &[Block], shape: Shape) -> Result<Table> {
        lists::all_bins(&BinMap::<1>::new(shape.bins).of(permuted))
    }
}

struct Fast;

impl Variant for Fast {
    const MEMORY: PerItem = PerItem::new([212.0, 10.0], [166.0, 24.0]);

    const LISTS: &'static [&'static str] = &["prty19/list-1", "prty19/list-2"];

    fn bins(items: usize, lambda: u32) -> two_choice::Shape {
        two_choice::sound(items, lambda)
    }

    fn log2_no_room(items: usize, shape: two_choice::Shape) -> f64 {
        two_choice::log2_no_table(items, shape)
    }

    fn one_each(permuted: &[Block], shape: Shape) -> Result<Table> {
        let hashed = BinMap::<2>::new(shape.bins).of(permuted);
        Ok(Table::two_choice(&hashed, shape.capacity)?)
    }

    fn all_each(permuted: &[Block], shape: Shape) -> Result<Table> {
        lists::all_bins(&BinMap::<2>::new(shape.bins).of(permuted))
    }
}

const fn protocol<V: Variant>(key: &'static str, title: &'static str) -> Protocol {
    Protocol {
        key,
        title,
        citation: "Pinkas, Rosulek, Trieu, Yanai (CRYPTO 2019)",
        status: Status::Sound,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: true,
        list: List::Sorted,
        cost: cost::<V>,
        memory: memory::<V>,
        failures: failures::<V>,
        limits: any_sizes,
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Sender::setup(shape::<V>(setting), channel, rng)?;
                Ok(Box::new(Sending::<V> { setting, oprf, variant: PhantomData }))
            },
            receiver: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Receiver::setup(shape::<V>(setting), channel, rng)?;
                Ok(Box::new(Receiving::<V> { setting, oprf, variant: PhantomData }))
            },
        },
    }
}

/// The sender evaluates each item in each of its bins.
fn shape<V: Variant>(setting: Setting) -> Shape {
    let (Sizes { sender, receiver }, lambda) = (setting.sizes, setting.lambda());
    let width = code::least_width(V::LISTS.len() * sender, lambda);
    let two_choice::Shape { bins, capacity } = V::bins(receiver, lambda);
    slices::shape(width, bins, capacity, lambda)
}

fn failures<V: Variant>(setting: Setting) -> Vec<Failure> {
    let (Sizes { sender, receiver }, shape) = (setting.sizes, shape::<V>(setting));
    let close = code::log2_failure(V::LISTS.len() * sender, shape.bits());
    let bins = two_choice::Shape { bins: shape.bins, capacity: shape.capacity };
    vec![
        Tags::new(setting).failure(setting.sizes),
        Failure::new("two codewords are too close", close),
        Failure::new("an item finds no bin", V::log2_no_room(receiver, bins)),
        Failure::new("too many nodes of keys are equal", shape.log2_failure()),
    ]
}

fn memory<V: Variant>(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, V::MEMORY)
}

fn cost<V: Variant>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let shape = shape::<V>(setting);
    let setup = oprf::setup_bytes(shape);
    let lists = V::LISTS.len() * Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (setup.to_sender + shape.bytes()) as f64,
        bytes_to_receiver: (setup.to_receiver + lists) as f64,
        rounds: 6,
    }
}

/// The public values after step 1: the items in an order that looks random, and the seed of the OPRF.
fn permute(
    low_halves: &[Block],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<Block>, Block)> {
    channel.phase("hash");
    let root = Aes128::new(coin::toss_semi_honest(channel, rng)?);
    let mut permuted = low_halves.to_vec();
    Aes128::new(root.encrypt_block(Block(0))).encrypt(&mut permuted);
    Ok((permuted, root.encrypt_block(Block(1))))
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V> {
    setting: Setting,
    oprf: oprf::Sender,
    variant: PhantomData<V>,
}

impl<V: Variant> Party<Items<'_>, ()> for Sending<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        let (permuted, seed) = permute(items.low_halves(), channel, rng)?;
        // 2.
        let table = V::all_each(&permuted, shape::<V>(self.setting))?;
        // 3.
        channel.phase("oprf");
        let point = |i: usize| permuted[table.entries()[i].position()];
        let values = self.oprf.evaluate(seed, table.starts(), point, channel)?;
        // 4.
        channel.phase("lists");
        lists::send(V::LISTS, &table, &values, items, self.setting, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V> {
    setting: Setting,
    oprf: oprf::Receiver,
    variant: PhantomData<V>,
}

impl<V: Variant> Party<Items<'_>, Vec<u32>> for Receiving<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        let (permuted, seed) = permute(items.low_halves(), channel, rng)?;
        // 2.
        let table = V::one_each(&permuted, shape::<V>(self.setting))?;
        // 3.
        channel.phase("oprf");
        let point = |entry: &Entry| permuted[entry.position()];
        let points: Vec<Block> = table.entries().iter().map(point).collect();
        let values = self.oprf.evaluate(seed, table.starts(), &points, channel, rng)?;
        // 5.
        channel.phase("lists");
        let seated = table.entries().iter().copied().zip(values.iter().copied());
        lists::receive(V::LISTS, seated, items, self.setting, channel)
    }
}
