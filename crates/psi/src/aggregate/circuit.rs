//! Numbers from circuit PSI: each aggregate is a [plan](crate::select) with one cell and at most one sum. Semi-honest.
//!
//! Without a minimum, a threshold and noise, S sends its share and R adds the two. Otherwise a small circuit adds
//! the shares of the count, compares it with the minimum and the threshold, and reveals to R only the answer, or that
//! there are too few; or it adds the shares of the number and noise.
//!
//! R learns the answer and the size of S's set; S learns the size of R's set. For sets in partitions, neither learns
//! anything about a single partition.
//!
//! No sum wraps: neither party's magnitudes add up to 2^63 ([`check_values`](super::check_values)), so a sum of values
//! is below 2^63, and a sum of products below 2^126. The width depends only on the aggregate, not on the values.

use rand::CryptoRng;
use vesica_circuit::Width;
use vesica_net::Channel;

use super::{Adder, Aggregate, ByPartitions, Method, Output, Query, Randomness, Share, Valued};
use crate::{
    Cost, Leakage, Memory, Party, Result, Sizes, Status,
    protocols::rs21::CITATION,
    select::{
        self, ADVERSARY, Cells, Column, Input, OpenedCell, OpenedCells, Owner, Plan, Selector,
        Sharer, Term,
    },
};

/// The method on the construction of `rs21-circuit`.
pub static RS21: Method = Method {
    key: "rs21-circuit",
    title: "sums over hidden matches of circuit PSI, silent OTs",
    citation: CITATION,
    status: Status::Recommended,
    adversary: ADVERSARY,
    tells_size: false,
    supports: |_, _| true,
    adds_noise: true,
    counts_people: true,
    learns: |_| Leakage {
        receiver: "the answer and the size of the sender's set",
        sender: "the size of the receiver's set",
    },
    cost: |query| {
        let Cost { bytes_to_sender, bytes_to_receiver, rounds } = plan(query).cost();
        match owner(&query, true) {
            Owner::Table => Cost { bytes_to_sender, bytes_to_receiver, rounds },
            Owner::Other => Cost {
                bytes_to_sender: bytes_to_receiver,
                bytes_to_receiver: bytes_to_sender,
                rounds,
            },
        }
    },
    memory: |query| {
        let memory = plan(query).memory();
        let of = |receives| memory.of(owner(&query, receives) == Owner::Table);
        Memory { sender: of(false), receiver: of(true) }
    },
    failures: |query| plan(query).failures(),
    sender: |query, channel, rng| {
        let is_table = owner(&query, false) == Owner::Table;
        let party = plan(query).on_sets().party(is_table, channel, rng)?;
        Ok(Box::new(Answering { query, party }))
    },
    receiver: |query, channel, rng| {
        let is_table = owner(&query, true) == Owner::Table;
        let party = plan(query).on_sets().party(is_table, channel, rng)?;
        Ok(Box::new(Answering { query, party }))
    },
    partitions: Some(&ByPartitions {
        sender: |query, channel, rng| {
            let party = (plan(query).on_partition().sender)(plan(query), channel, rng)?;
            Ok(adder(query, party))
        },
        receiver: |query, channel, rng| {
            let party = (plan(query).on_partition().receiver)(plan(query), channel, rng)?;
            Ok(adder(query, party))
        },
        open: |query, receives, total, channel, Randomness { rng, noise }| {
            let party = owner(&query, receives);
            let plan = plan(query);
            let share = to_cell(query, &plan, total);
            let opened = plan.open(party, &share, &[], channel, rng, noise)?;
            Ok(opened.map(|opened| output(query, &opened)))
        },
    }),
};

/// Bits of a value.
const VALUE_BITS: u32 = 64;

/// The party whose items lie in the table: the receiver, or the one whose items belong to people.
fn owner(query: &Query, receives: bool) -> Owner {
    let is_table = if query.people.is_some() { query.has_people(receives) } else { receives };
    if is_table { Owner::Table } else { Owner::Other }
}

/// The plan of a query.
fn plan(query: Query) -> Plan {
    let Query { sizes, aggregate, minimum, noise, partitions, people } = query;
    let sum = |owner, times, width| {
        vec![Term {
            column: Some(Column { owner, index: 0 }),
            times,
            is_of_item: false,
            width,
            noise,
        }]
    };
    let of_other = Column { owner: Owner::Other, index: 0 };
    let terms = match aggregate {
        Aggregate::Count | Aggregate::AtLeast(_) => Vec::new(),
        Aggregate::SumOfSender => sum(owner(&query, false), None, Width::Bits64),
        Aggregate::SumOfReceiver => sum(Owner::Table, None, Width::Bits64),
        Aggregate::Products => sum(Owner::Table, Some(of_other), Width::Bits128),
    };
    let shows_count = matches!(aggregate, Aggregate::Count);
    let threshold = match aggregate {
        Aggregate::AtLeast(least) => Some(least),
        _ => None,
    };
    let count_noise = noise.filter(|_| shows_count);
    let learner = owner(&query, true);
    let cells =
        Cells { learner, least: minimum, shows_count, threshold, count_noise, ..Cells::default() };
    let sizes = match learner {
        Owner::Table => sizes,
        Owner::Other => Sizes { sender: sizes.receiver, receiver: sizes.sender },
    };
    Plan {
        sizes,
        partitions,
        factor_bits: VALUE_BITS,
        terms,
        groups: 1,
        other_groups: 1,
        lookup: None,
        people,
        cells,
    }
}

/// Reads the answer from the only cell.
fn output(query: Query, OpenedCells { cells, .. }: &OpenedCells) -> Output {
    let [Some(OpenedCell { count, reaches, sums, .. })] = &cells[..] else { return Output::TooFew };
    let number = count.or(sums.first().copied()).unwrap_or(0);
    match query.aggregate {
        _ if query.noise.is_some() => Output::Noisy(number),
        Aggregate::Count => Output::Count(number as u64),
        Aggregate::AtLeast(_) => Output::AtLeast(*reaches == Some(true)),
        _ => Output::Sum(number),
    }
}

/// Turns a share of the answer into one of the only cell.
fn to_cell(query: Query, plan: &Plan, share: &Share) -> select::CellShares {
    let numbers = [share.count, share.sum];
    select::CellShares::of_numbers(plan, &numbers[usize::from(!counts(query))..])
}

/// Turns a share of the only cell into one of the answer.
fn from_cell(query: Query, plan: &Plan, share: &select::CellShares) -> Share {
    let mut numbers = share.numbers(plan).into_iter();
    let count = if counts(query) { numbers.next() } else { None };
    Share { count: count.unwrap_or(0), sum: numbers.next().unwrap_or(0) }
}

/// Whether the cell has a count.
fn counts(query: Query) -> bool {
    query.minimum > 0 || matches!(query.aggregate, Aggregate::Count | Aggregate::AtLeast(_))
}

/// A party of a plan that answers a query.
struct Answering<P: ?Sized> {
    query: Query,
    party: Box<P>,
}

/// Runs a party of a plan on items and their values.
fn run<T>(
    party: Box<dyn for<'a> Party<Input<'a>, T> + '_>,
    Valued { items, values, people }: Valued<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<T> {
    let columns = [values];
    let columns = if values.len() == items.len() { &columns[..] } else { &[] };
    party.run(Input { columns, people, ..Input::new(items) }, channel, rng)
}

impl Party<Valued<'_>, ()> for Answering<Selector> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        run(self.party, input, channel, rng).map(drop)
    }
}

impl Party<Valued<'_>, Output> for Answering<Selector> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output> {
        let opened = run(self.party, input, channel, rng)?;
        Ok(output(self.query, &opened.expect("shown to the receiver")))
    }
}

impl Party<Valued<'_>, Share> for Answering<Sharer> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Share> {
        let share = run(self.party, input, channel, rng)?;
        Ok(from_cell(self.query, &plan(self.query), &share))
    }
}

fn adder(query: Query, party: Box<Sharer>) -> Box<Adder> {
    Box::new(Answering { query, party })
}
