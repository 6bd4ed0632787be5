//! Numbers about an intersection, without its items.
//!
//! Most users of an intersection want a number: how many items are shared, the sum of the values of the shared items,
//! or whether at least a given number are shared. A [`Method`] computes such an [`Aggregate`] for the receiver. The
//! sender learns the size of the receiver's set, as it does from an intersection, unless the method says otherwise.
//! [`METHODS`] lists them all.
//!
//! A number can reveal an item: the sum over an intersection of one item is that item's value. A query may
//! therefore have a *minimum*: if the intersection has fewer items, only that fact is revealed. Methods that
//! show the receiver the size itself cannot withhold it, and do not take a minimum.
//!
//! A query may have *noise* instead ([`Laplace`]). Both parties draw it together in the computation, and neither knows
//! more about it than the number reveals. The number is then differentially private for the items of both sets.
//!
//! To compute something else, use [`shares`]: it reveals no number, but provides the input of another two-party
//! computation.
//!
//! Values are signed integers of 64 bits, one per item. A party whose values have magnitudes that add up to
//! 2^63 or more is refused before the run ([`Error::SumTooLarge`]). A sum of values therefore fits 64 bits, and
//! a sum of products, whose magnitude is below 2^126, fits 128. No sum wraps.

pub mod circuit;
pub mod dh;
pub mod dh_sum;
pub mod linked;
pub mod shares;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::{Failure, Laplace};
use vesica_primitives::declassify;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::{
    Adversary, Cost, Error, Functionality, Items, Leakage, Memory, Party, Prepare, Result, Setting,
    Sizes, Status,
};

/// A number about the intersection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// The number of its items.
    Count,
    /// The sum of the sender's values of its items.
    SumOfSender,
    /// The sum of the receiver's values of its items.
    SumOfReceiver,
    /// The sum of the products of both parties' values of its items.
    Products,
    /// Whether it has at least this many items.
    AtLeast(u64),
}

impl Aggregate {
    /// Whether the sender provides a value for each item.
    pub fn takes_senders_values(self) -> bool {
        matches!(self, Self::SumOfSender | Self::Products)
    }

    /// Whether the receiver provides a value for each item.
    pub fn takes_receivers_values(self) -> bool {
        matches!(self, Self::SumOfReceiver | Self::Products)
    }

    /// Number and parameter, for the parties to compare.
    fn to_bytes(self) -> [u8; 9] {
        let (number, parameter) = match self {
            Self::Count => (0, 0),
            Self::SumOfSender => (1, 0),
            Self::SumOfReceiver => (2, 0),
            Self::Products => (3, 0),
            Self::AtLeast(least) => (4, least),
        };
        let mut bytes = [number; 9];
        bytes[1..].copy_from_slice(&parameter.to_le_bytes());
        bytes
    }
}

/// An aggregate to compute, with the parameters that both parties know beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// The aggregate that is computed.
    pub aggregate: Aggregate,
    /// If the intersection has fewer items than this, nothing else is revealed.
    pub minimum: u64,
    /// The noise that is added to a count or a sum, which then has no minimum. Values must be so small that an item
    /// changes the number by no more than the noise hides.
    pub noise: Option<Laplace>,
    /// The number of partitions in which the sets are compared, where `sizes` are the sizes of one; 1 for whole sets.
    pub partitions: usize,
    /// The most items of a [person](crate::select::people), if the items of one party belong to people: of the one with
    /// the values of a sum, otherwise of the receiver. A person is then counted once in place of its items.
    pub people: Option<usize>,
}

impl Query {
    /// Whether a party's items belong to people.
    pub fn has_people(&self, receives: bool) -> bool {
        self.people.is_some() && receives != self.aggregate.takes_senders_values()
    }

    /// The setting of a run on the whole sets, or on a partition of them.
    pub(crate) fn setting(&self) -> Setting {
        Setting::from(self.sizes).one_of(self.partitions)
    }

    /// A hash that names the aggregate, its minimum, the method that computes it, and the noise.
    fn name(&self, method: &Method) -> blake3::Hash {
        let Self { aggregate, minimum, noise, .. } = *self;
        assert!(method.answers(self), "{} does not support this", method.key);
        let mut name = blake3::Hasher::new_derive_key("vesica psi inquiry v1");
        name.update(&aggregate.to_bytes()).update(&minimum.to_le_bytes());
        name.update(method.key.as_bytes());
        if let Some(most) = self.people {
            name.update(b"+people").update(&(most as u64).to_le_bytes());
        }
        if let Some(noise) = noise {
            name.update(b"+noise").update(&noise.epsilon().to_le_bytes());
            name.update(&noise.sensitivity().to_le_bytes());
        }
        name.finalize()
    }
}

/// The receiver's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// For [`Aggregate::Count`].
    Count(u64),
    /// For a sum. A sum of products can add up to anything between −2^126 and 2^126.
    Sum(i128),
    /// For [`Aggregate::AtLeast`].
    AtLeast(bool),
    /// There are fewer items than the minimum.
    TooFew,
    /// A count or a sum, with noise.
    Noisy(i128),
}

/// A party's distinct items, with their values if the functionality takes this party's; otherwise `values` is empty.
#[derive(Clone, Copy)]
pub struct Valued<'a> {
    /// The items.
    pub items: Items<'a>,
    /// The value of each item, or none.
    pub values: &'a [i64],
    /// The person of each item, if this party's belong to people; the items of a person have its value. An item of
    /// nobody does not count.
    pub people: &'a [Option<u32>],
}

impl<'a> Valued<'a> {
    /// Items with these values.
    pub fn new(items: Items<'a>, values: &'a [i64]) -> Self {
        Self { items, values, people: &[] }
    }
}

/// The party that does not learn the output.
pub type Sender = dyn for<'a> Party<Valued<'a>, ()>;

/// The party that learns the output.
pub type Receiver = dyn for<'a> Party<Valued<'a>, Output>;

/// A party's share of a result. The result is the sum of both parties' shares: a count modulo 2^32 (2^64 for sets that
/// need it), a sum modulo 2^64, and a sum of products modulo 2^128.
#[derive(Debug, Clone, Default, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Share {
    /// The share of the number of shared items, if it is computed.
    pub count: u128,
    /// The share of the sum, if it is computed.
    pub sum: u128,
}

impl Share {
    /// Adds the share of another partition's result.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.wrapping_add(other.count);
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// A party for one partition. Neither party learns anything from its run.
pub type Adder = dyn for<'a> Party<Valued<'a>, Share>;

/// A method's way to compute an aggregate of two sets in partitions. Each partition gives both parties shares, which
/// they add up; only the total is opened.
#[derive(Debug, Clone, Copy)]
pub struct ByPartitions {
    /// Prepares the sender for a partition.
    pub sender: Prepare<Adder, Query>,
    /// Prepares the receiver for a partition.
    pub receiver: Prepare<Adder, Query>,
    /// Opens the total to the receiver, from this party's share of it; an argument says whether this party is the
    /// receiver.
    pub open: Open,
}

/// The randomness of an opening.
pub struct Randomness<'a> {
    /// Fresh randomness.
    pub rng: &'a mut dyn CryptoRng,
    /// The randomness of this party's part of the noise. It is the same when an opening is repeated: otherwise each
    /// repetition would show the number with other noise.
    pub noise: &'a mut dyn CryptoRng,
}

/// Opens a total; the receiver gets the output.
pub type Open =
    fn(Query, receives: bool, &Share, &mut Channel, &mut Randomness<'_>) -> Result<Option<Output>>;

/// A method that computes aggregates.
#[derive(Debug, Clone, Copy)]
pub struct Method {
    /// Its name everywhere.
    pub key: &'static str,
    /// A one-line description of its components.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// The uses that it is fit for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// Whether a party learns the size of the intersection although the query does not ask for it. Such a
    /// method is only for parties that both know this.
    pub tells_size: bool,
    /// Whether it computes an aggregate with this minimum.
    pub supports: fn(Aggregate, minimum: u64) -> bool,
    /// Whether it can add noise to a count or a sum.
    pub adds_noise: bool,
    /// Whether it can count people whose items are several, in whole sets.
    pub counts_people: bool,
    /// Its leakage to each party.
    pub learns: fn(Aggregate) -> Leakage,
    /// Predicted cost.
    pub cost: fn(Query) -> Cost,
    /// The predicted peak memory of each party, its values included.
    pub memory: fn(Query) -> Memory,
    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub failures: fn(Query) -> Vec<Failure>,
    /// Prepares a sender.
    pub sender: Prepare<Sender, Query>,
    /// Prepares a receiver.
    pub receiver: Prepare<Receiver, Query>,
    /// Its way to handle sets in partitions, if it has one.
    pub partitions: Option<&'static ByPartitions>,
}

impl Method {
    /// Whether it can answer the query.
    pub fn answers(&self, query: &Query) -> bool {
        let is_number = !matches!(query.aggregate, Aggregate::AtLeast(_)) && query.minimum == 0;
        let are_people = query.partitions == 1 && query.aggregate != Aggregate::Products;
        (self.supports)(query.aggregate, query.minimum)
            && (query.noise.is_none() || self.adds_noise && is_number)
            && (query.people.is_none() || self.counts_people && are_people)
    }

    /// The query, answered by this method.
    ///
    /// # Panics
    /// If the method does not support the aggregate.
    pub fn on(&self, query: Query) -> Inquiry {
        let Query { sizes, .. } = query;
        let &Self { sender, receiver, .. } = self;
        Functionality { name: query.name(self), sizes, known: query, sender, receiver }
    }

    /// The query, answered by this method in shares for one partition of the sets.
    ///
    /// # Panics
    /// Same as [`Method::on`], or if the method takes no sets in partitions.
    pub fn on_partition(&self, query: Query) -> PartialInquiry {
        let &ByPartitions { sender, receiver, .. } =
            self.partitions.expect("a method for sets in partitions");
        let Inquiry { name, sizes, known, .. } = self.on(query);
        Functionality { name, sizes, known, sender, receiver }
    }
}

/// A query that a method answers.
pub type Inquiry = Functionality<Sender, Receiver, Query>;

/// A query that a method answers in shares, for one partition.
pub type PartialInquiry = Functionality<Adder, Adder, Query>;

const TOLD: &str = "answer/told";

/// All methods, the preferred one first.
pub static METHODS: &[&Method] = &[&circuit::RS21, &dh::COUNT, &dh_sum::SUM];

/// The method with this key.
pub fn find(key: &str) -> Option<&'static Method> {
    METHODS.iter().copied().find(|method| method.key == key)
}

/// Runs the sender's side.
///
/// # Errors
/// Same as [`crate::send`], and [`Error::SumTooLarge`].
///
/// # Panics
/// If the aggregate takes values and there is not one for each item.
pub fn send(
    inquiry: &Inquiry,
    input: Valued<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    check_values(inquiry.known.aggregate.takes_senders_values(), input)?;
    inquiry.agree(false, channel)?;
    inquiry.sender(channel, rng)?.run(input, channel, rng)?;
    Ok(channel.flush()?)
}

/// Runs the receiver's side.
///
/// # Errors
/// Same as [`send`].
///
/// # Panics
/// Same as [`send`].
pub fn receive(
    inquiry: &Inquiry,
    input: Valued<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Output> {
    check_values(inquiry.known.aggregate.takes_receivers_values(), input)?;
    inquiry.agree(true, channel)?;
    inquiry.receiver(channel, rng)?.run(input, channel, rng)
}

/// Sends the output to the sender too.
///
/// # Errors
/// Any error of the connection.
pub fn tell(answer: Output, channel: &mut Channel) -> Result<()> {
    channel.phase("reveal");
    let (kind, number) = match answer {
        Output::Count(count) => (0, count.into()),
        Output::Sum(sum) => (1, sum as u128),
        Output::AtLeast(is) => (2, is.into()),
        Output::TooFew => (3, 0),
        Output::Noisy(number) => (4, number as u128),
    };
    let mut bytes = [kind; 17];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    channel.send(TOLD, &bytes)?;
    Ok(channel.flush()?)
}

/// Receives the output as the sender. A malicious receiver may send any output.
///
/// # Errors
/// A deviation if the message is not an answer to the query.
pub fn learn(query: &Query, channel: &mut Channel) -> Result<Output> {
    channel.phase("reveal");
    let mut bytes = [0; 17];
    channel.recv_into(TOLD, &mut bytes)?;
    let (kind, number) = bytes.split_first_chunk::<1>().expect("seventeen bytes");
    let number = u128::from_le_bytes(number.try_into().expect("sixteen bytes"));
    let answer = match (kind[0], query.aggregate) {
        (4, _) if query.noise.is_some() => Some(Output::Noisy(number as i128)),
        _ if query.noise.is_some() => None,
        (0, Aggregate::Count) => u64::try_from(number).ok().map(Output::Count),
        (1, Aggregate::SumOfSender | Aggregate::SumOfReceiver | Aggregate::Products) => {
            Some(Output::Sum(number as i128))
        }
        (2, Aggregate::AtLeast(_)) if number <= 1 => Some(Output::AtLeast(number == 1)),
        (3, _) => Some(Output::TooFew),
        _ => None,
    };
    Ok(answer.ok_or_else(|| channel.malformed(TOLD, "not an answer to the query"))?)
}

/// Refuses values whose magnitudes add up to 2^63 or more, because sums of them could wrap.
///
/// # Errors
/// [`Error::SumTooLarge`].
///
/// # Panics
/// If `wanted` and there is not one value per item.
pub fn check_values(wanted: bool, Valued { items, values, .. }: Valued<'_>) -> Result<()> {
    assert_eq!(values.len(), if wanted { items.len() } else { 0 }, "a value for each item");
    let magnitudes = values.iter().map(|value| u128::from(value.unsigned_abs()));
    let too_large = magnitudes.sum::<u128>() > i64::MAX as u128;
    if declassify(u8::from(too_large)) == 1 {
        return Err(Error::SumTooLarge);
    }
    Ok(())
}
