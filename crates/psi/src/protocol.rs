//! What every protocol provides, and how it describes itself.

use std::borrow::Cow;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::Adversary;

use crate::{DigestLength, Items, MAX_ITEMS, Memory, Result, payload::Carrier};

/// The sizes of the two sets. Both parties learn both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Items of the sender.
    pub sender: usize,
    /// Items of the receiver, the party that learns the intersection.
    pub receiver: usize,
}

/// How the sender hands over the values that the receiver looks for its own among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum List {
    /// Tags, sorted and Golomb–Rice coded: exact, and the shortest.
    #[default]
    Sorted,
    /// A Bloom filter of distinct positions.
    Bloom,
    /// A cuckoo filter.
    Cuckoo,
    /// A vacuum filter.
    Vacuum,
}

impl List {
    /// The filters, which are there to be measured: each is longer than the sorted list.
    pub const FILTERS: [Self; 3] = [Self::Bloom, Self::Cuckoo, Self::Vacuum];

    /// The word for it in the name of a protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sorted => "sorted",
            Self::Bloom => "bloom",
            Self::Cuckoo => "cuckoo",
            Self::Vacuum => "vacuum",
        }
    }
}

/// What both parties know of a run before its first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// How the sender hands over its final values.
    pub list: List,
}

impl From<Sizes> for Setting {
    fn from(sizes: Sizes) -> Self {
        Self { sizes, list: List::Sorted }
    }
}

/// The party that helps, ready for its input. It learns the size of the receiver's set and nothing
/// else.
pub trait Sender: Send {
    /// The part of the protocol that needs the items: as many as were agreed, and distinct. Their
    /// digests are as long as the protocol takes.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`](crate::Error::DuplicateItem), and whatever the connection or the peer
    /// make go wrong.
    fn send(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()>;
}

/// The party that learns the intersection, ready for its input.
pub trait Receiver: Send {
    /// The part of the protocol that needs the items: as many as were agreed, and distinct. Returns
    /// the positions in `items` of those the sender has too, ascending.
    ///
    /// # Errors
    /// As [`Sender::send`].
    fn receive(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>>;
}

/// The part of a protocol that needs no input but the setting, such as base OTs; it makes a party that
/// is ready for its input.
pub type Prepare<Party> = fn(Setting, &mut Channel, &mut dyn CryptoRng) -> Result<Box<Party>>;

/// What a protocol may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The one to take for some sizes and networks.
    Recommended,
    /// Keeps its promise, but another one is better, unless one asks for what this one is made for.
    Sound,
    /// Reproduced from its paper for comparison; not for real data.
    Research,
    /// Shows the other party more than the intersection; for measurements only.
    Insecure,
}

impl Status {
    /// Whether it may be used for real data.
    pub const fn is_for_use(self) -> bool {
        matches!(self, Self::Recommended | Self::Sound)
    }

    /// The word used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recommended => "recommended",
            Self::Sound => "sound",
            Self::Research => "research",
            Self::Insecure => "insecure",
        }
    }
}

/// Who learns what from a run of the protocol itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leakage {
    /// What the receiver learns, as a clause.
    pub receiver: &'static str,
    /// What the sender learns, as a clause.
    pub sender: &'static str,
}

impl Leakage {
    /// What the parties of every protocol learn that keeps its promise.
    pub const INTERSECTION: Self = Self {
        receiver: "the intersection and the size of the sender's set",
        sender: "the size of the receiver's set",
    };

    /// As [`Leakage::INTERSECTION`], where a malicious receiver may use more items than it said.
    pub const EXTRACTED: Self = Self {
        receiver: "the intersection and the size of the sender's set; if it deviates, the intersection \
                   with somewhat more items than it announced (the protocol's page says how many)",
        sender: "the size of the receiver's set",
    };
}

/// What a run is expected to cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Payload bytes that the sender receives.
    pub bytes_to_sender: f64,
    /// Payload bytes that the receiver receives.
    pub bytes_to_receiver: f64,
    /// Flights, as the meter of a channel counts them, for sets that are sent in one chunk; the
    /// agreement on the sizes is the first.
    pub rounds: u32,
}

impl Cost {
    /// Payload both ways.
    pub fn bytes(&self) -> f64 {
        self.bytes_to_sender + self.bytes_to_receiver
    }
}

/// Sizes beyond what a protocol supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("at most {most} items {of}; there are {items}")]
pub struct Limit {
    /// Which items are limited, as in "of the receiver".
    pub of: &'static str,
    /// The most there may be.
    pub most: u64,
    /// How many there are.
    pub items: u64,
}

impl Limit {
    /// Refuses more than `most` items.
    pub(crate) fn check(
        of: &'static str,
        items: usize,
        most: usize,
    ) -> std::result::Result<(), Self> {
        let within = items <= most;
        if within { Ok(()) } else { Err(Self { of, most: most as u64, items: items as u64 }) }
    }
}

/// The [limits](Protocol::limits) of a protocol that has none but those of all.
pub(crate) fn any_sizes(sizes: Sizes) -> std::result::Result<(), Limit> {
    Limit::check(OF_SENDER, sizes.sender, MAX_ITEMS)?;
    Limit::check(OF_RECEIVER, sizes.receiver, MAX_ITEMS)
}

pub(crate) const OF_SENDER: &str = "of the sender";
pub(crate) const OF_RECEIVER: &str = "of the receiver";

/// One protocol of the catalogue: what it is, and how to prepare its two parties.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The paper's key, the protocol's name everywhere.
    pub key: &'static str,
    /// One line on what it is made of.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// What it may be used for.
    pub status: Status,
    /// Against whom it keeps its promise, computed from its parts.
    pub adversary: Adversary,
    /// Who learns what.
    pub learns: Leakage,
    /// How much of each key's digest it takes.
    pub digest: DigestLength,
    /// Whether a filter may stand in for the sender's final list, which LIANG22 Theorem 1 allows
    /// where the values on it are one-way and their order means nothing, among parties that follow
    /// the protocol.
    pub filters: bool,
    /// How the sender hands over its final values.
    pub list: List,
    /// How it carries payloads, if it can.
    pub carrier: Option<Carrier>,
    /// Predicted cost.
    pub cost: fn(Setting) -> Cost,
    /// The most memory that each party is predicted to hold.
    pub memory: fn(Setting) -> Memory,
    /// Refuses sizes beyond what it supports.
    pub limits: fn(Sizes) -> std::result::Result<(), Limit>,
    /// Prepares a sender.
    pub sender: Prepare<dyn Sender>,
    /// Prepares a receiver.
    pub receiver: Prepare<dyn Receiver>,
}

impl Protocol {
    /// The same with another form of the sender's final list, where it may have one.
    pub fn with_list(self, list: List) -> Option<Self> {
        let allowed = list == List::Sorted || self.filters;
        allowed.then_some(Self { list, ..self })
    }

    /// Its key, and how it departs from its entry in the catalogue: `kkrt16`, `kkrt16+vacuum`.
    pub fn name(&self) -> Cow<'static, str> {
        match self.list {
            List::Sorted => self.key.into(),
            list => format!("{}+{}", self.key, list.name()).into(),
        }
    }

    /// Predicted cost for sets of these sizes.
    pub fn cost(&self, sizes: Sizes) -> Cost {
        (self.cost)(Setting { sizes, list: self.list })
    }

    /// The most memory that each party is predicted to hold, for sets of these sizes.
    pub fn memory(&self, sizes: Sizes) -> Memory {
        (self.memory)(Setting { sizes, list: self.list })
    }
}
