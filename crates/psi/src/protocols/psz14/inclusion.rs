//! PSI by set-inclusion tests: the common part of the protocols of PSZ14 §5 and §6 and of PSSZ15, which is everything
//! except the placement of items and the values compared there.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::psz14 as oprf;
use vesica_params::Failure;
use vesica_primitives::Block;
use vesica_structures::bins::{Entry, Hashed, Table};

use crate::{
    Adversary, Cost, DigestLength, Error, Items, Leakage, Limit, List, Memory, Parties, Party,
    Protocol, Result, Setting, Sizes, Status,
    memory::PerItem,
    parts::{coin, lists, tags::Tags},
    setting::any_sizes,
};

/// The maximal number of values that S computes and holds: 1 GiB.
const MAX_VALUES: usize = 1 << 26;

/// The dimensions of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bins.
    pub(crate) bins: usize,
    /// Items of R that a bin can hold.
    pub(crate) seats: usize,
    /// Bytes of the strings that are compared in a bin.
    pub(crate) letters: usize,
}

impl Shape {
    /// The number of tests: one for each item that R could have.
    fn instances(self) -> usize {
        self.bins * self.seats
    }
}

/// A party's items in hash bins, with `H` bins each.
pub(crate) trait Binned<const H: usize>: Hashed<H> {
    /// The string that is compared for an item in one of its bins: equal for equal items, different for
    /// different items that are in a bin by the same hash function.
    fn string(&self, entry: Entry) -> Block;
}

/// A method of giving R's items their seats.
pub(crate) trait Seating<const H: usize>: 'static {
    type Items: Binned<H>;

    /// The shape for a run.
    fn shape(setting: Setting) -> Shape;

    /// The events that may go wrong by chance in placing items.
    fn failures(setting: Setting) -> Vec<Failure>;

    /// A party's items under a seed that was drawn when both sets were fixed.
    fn bins(items: &[Block], seed: Block, setting: Setting) -> Self::Items;

    /// R's item for each seat, bin by bin.
    fn seats(items: &Self::Items, shape: Shape) -> Result<Vec<Option<Entry>>>;
}

/// The protocol with this seating.
pub(crate) const fn protocol<const H: usize, S: Seating<H>>(
    key: &'static str,
    title: &'static str,
    citation: &'static str,
) -> Protocol {
    Protocol {
        key,
        title,
        citation,
        status: Status::Sound,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: true,
        list: List::Sorted,
        cost: cost::<H, S>,
        memory: memory::<H, S>,
        failures: |setting| {
            let mut failures = S::failures(setting);
            failures.push(Tags::new(setting).failure(setting.sizes));
            failures
        },
        limits: limits::<H, S>,
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Sender::setup(channel, rng)?;
                Ok(Box::new(Sender::<H, S> { setting, oprf, seating: PhantomData }))
            },
            receiver: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Receiver::setup(channel, rng)?;
                Ok(Box::new(Receiver::<H, S> { setting, oprf, seating: PhantomData }))
            },
        },
    }
}

const LIST: &str = "psz14/list";

/// Refuses sizes at which S has too many values.
fn limits<const H: usize, S: Seating<H>>(sizes: Sizes) -> std::result::Result<(), Limit> {
    any_sizes(sizes)?;
    let most = MAX_VALUES / (H * S::shape(sizes.into()).seats).max(1);
    Limit::check("of the sender beside a receiver's set of this size", sizes.sender, most)
}

fn memory<const H: usize, S: Seating<H>>(setting: Setting) -> Memory {
    let shape = S::shape(setting);
    let [values, instances] = [H * shape.seats * setting.sizes.sender, shape.instances()];
    Memory::linear(setting.sizes, PerItem::new([90.0, 40.0], [110.0, 18.0]))
        .and(17.0 * values as f64 + 8.0 * instances as f64, 50.0 * instances as f64)
}

fn cost<const H: usize, S: Seating<H>>(setting: Setting) -> Cost {
    let shape = S::shape(setting);
    let setup = oprf::setup_bytes();
    let lists = H * shape.seats * Tags::new(setting).list_len(setting.sizes.sender);
    Cost {
        bytes_to_sender: (setup.to_sender + oprf::bytes(shape.instances(), shape.letters)) as f64,
        bytes_to_receiver: (setup.to_receiver + lists) as f64,
        rounds: 7,
    }
}

/// The list for values of items that are in their bin by this hash function, tested against this seat. There is
/// one list for each combination, so R looks for an item on one list only, and all lists have all items of S.
fn list_of(hash: usize, seat: usize, shape: Shape) -> usize {
    hash * shape.seats + seat
}

/// The party that tests.
struct Sender<const H: usize, S> {
    setting: Setting,
    oprf: oprf::Sender,
    seating: PhantomData<fn(S)>,
}

impl<const H: usize, S: Seating<H>> Party<Items<'_>, ()> for Sender<H, S> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let shape = S::shape(self.setting);
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        let binned = S::bins(items.low_halves(), seed, self.setting);
        // 2.
        let table = lists::all_bins(&binned)?;
        let strings: Vec<Block> =
            table.entries().iter().map(|entry| binned.string(*entry)).collect();
        // 3.
        channel.phase("oprf");
        let tags = Tags::new(self.setting);
        let mut lists = vec![Vec::with_capacity(items.len()); H * shape.seats];
        let starts = table.starts();
        let of_bin = |instance: usize| {
            let bin = instance / shape.seats;
            &strings[starts[bin] as usize..starts[bin + 1] as usize]
        };
        let Shape { letters, .. } = shape;
        self.oprf.evaluate(
            shape.instances(),
            letters,
            of_bin,
            channel,
            rng,
            |instance, values| {
                let (bin, seat) = (instance / shape.seats, instance % shape.seats);
                for (entry, value) in table.bin(bin).iter().zip(values) {
                    lists[list_of(entry.hash(), seat, shape)].push(tags.of(*value));
                }
            },
        )?;
        // 4.
        channel.phase("lists");
        lists.into_iter().try_for_each(|list| {
            channel.keep_alive()?;
            tags.send_list(LIST, list, items, channel)
        })
    }
}

/// The party that learns the intersection.
struct Receiver<const H: usize, S> {
    setting: Setting,
    oprf: oprf::Receiver,
    seating: PhantomData<fn(S)>,
}

impl<const H: usize, S: Seating<H>> Party<Items<'_>, Vec<u32>> for Receiver<H, S> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let shape = S::shape(self.setting);
        // 1.
        channel.phase("hash");
        let seed = coin::toss_semi_honest(channel, rng)?;
        let binned = S::bins(items.low_halves(), seed, self.setting);
        // 2.
        let seats = S::seats(&binned, shape)?;
        // 3.
        channel.phase("oprf");
        let string = |entry: &Option<Entry>| match entry {
            Some(entry) => binned.string(*entry),
            None => Block::random(rng),
        };
        let strings: Vec<Block> = seats.iter().map(string).collect();
        let values = self.oprf.evaluate(&strings, shape.letters, channel, rng)?;
        // 5.
        channel.phase("lists");
        let tags = Tags::new(self.setting);
        let mut mine = vec![Vec::new(); H * shape.seats];
        for (instance, (entry, value)) in seats.iter().zip(values).enumerate() {
            if let Some(entry) = entry {
                let list = list_of(entry.hash(), instance % shape.seats, shape);
                mine[list].push(tags.tagged(value, entry.position()));
            }
        }
        let mine = mine.into_iter().map(|mine| (LIST, mine));
        lists::receive_each(mine, items, self.setting, channel)
    }
}

/// The seats of a table's items.
///
/// # Errors
/// [`Error::HashingFailure`] if a bin has more items than seats.
pub(crate) fn seated(table: &Table, seats: usize) -> Result<Vec<Option<Entry>>> {
    if table.max_load() > seats {
        return Err(Error::HashingFailure);
    }
    let bins = (0..table.bin_count()).map(|bin| table.bin(bin));
    Ok(bins.flat_map(|bin| (0..seats).map(|seat| bin.get(seat).copied())).collect())
}
