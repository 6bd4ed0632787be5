//! The interface of all protocols, and their descriptions of themselves.

use std::borrow::Cow;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::{Adversary, Failure, LAMBDA};

use crate::{
    DigestLength, MAX_ITEMS, Memory, Prepare, Receiver, Result, Sender,
    payload::{CarryingReceiver, CarryingSender},
};

/// The sizes of the two sets. Both parties learn both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Items of the sender.
    pub sender: usize,
    /// Items of the receiver, the party that learns the intersection.
    pub receiver: usize,
}

/// The form in which the sender sends the values among which the receiver looks for its own.
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
    /// The filters, which are included for measurement: each is longer than the sorted list.
    pub const FILTERS: [Self; 3] = [Self::Bloom, Self::Cuckoo, Self::Vacuum];

    /// Its name within the name of a protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sorted => "sorted",
            Self::Bloom => "bloom",
            Self::Cuckoo => "cuckoo",
            Self::Vacuum => "vacuum",
        }
    }
}

/// What both parties know about a run before its first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// The form in which the sender sends its final values.
    pub list: List,
    /// The number of runs, this one among them, that together have each failure with probability at most 2^-λ: the
    /// partitions of two sets.
    pub runs: usize,
}

impl From<Sizes> for Setting {
    fn from(sizes: Sizes) -> Self {
        Self { sizes, list: List::Sorted, runs: 1 }
    }
}

impl Setting {
    /// One of this number of runs, at least 1, which together have each failure with probability at most 2^-λ.
    pub fn one_of(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// −log2 of the probability with which this run may have a failure, to which every length is chosen: 2^-λ divided by
    /// the number of runs.
    pub fn lambda(self) -> u32 {
        LAMBDA + self.runs.next_power_of_two().ilog2()
    }
}

/// What a protocol may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The one to use for some sizes and networks.
    Recommended,
    /// Secure as stated, but another protocol is better, except for the purpose that this one was made for.
    Sound,
    /// Reproduced from its paper for comparison; not for real data.
    Research,
    /// Reveals more than the intersection to the other party; for measurements only.
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
    /// What the parties learn in every protocol that is secure as stated.
    pub const INTERSECTION: Self = Self {
        receiver: "the intersection and the size of the sender's set",
        sender: "the size of the receiver's set",
    };

    /// Like [`Leakage::INTERSECTION`], except that a malicious receiver may use more items than it announced.
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
    /// Flights, as counted by the meter of a channel, for sets that are sent in one chunk; the first is the
    /// agreement on sizes.
    pub rounds: u32,
}

impl Cost {
    /// Payload bytes in both directions.
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
    /// The maximal number.
    pub most: u64,
    /// The actual number.
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

/// The [limits](Protocol::limits) of a protocol that has none of its own.
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
    /// A one-line description of its components.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// What it may be used for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// Who learns what.
    pub learns: Leakage,
    /// How much of each key's digest it takes.
    pub digest: DigestLength,
    /// Whether a filter may replace the sender's final list. LIANG22 Theorem 1 allows this, among parties that
    /// follow the protocol, if the values on the list are one-way and their order carries no meaning.
    pub filters: bool,
    /// The form in which the sender sends its final values.
    pub list: List,
    /// Predicted cost.
    pub cost: fn(Setting) -> Cost,
    /// The predicted peak memory of each party.
    pub memory: fn(Setting) -> Memory,
    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub failures: fn(Setting) -> Vec<Failure>,
    /// Refuses sizes beyond what it supports.
    pub limits: fn(Sizes) -> std::result::Result<(), Limit>,
    /// Its two parties.
    pub parties: Parties,
}

/// The two parties of a protocol.
#[derive(Debug, Clone, Copy)]
pub enum Parties {
    /// Without payloads.
    Plain {
        /// Prepares a sender.
        sender: Prepare<Sender>,
        /// Prepares a receiver.
        receiver: Prepare<Receiver>,
    },
    /// With and without payloads.
    Carrying {
        /// The number of lists of tags that contain each of the sender's items. For each list but one, an item
        /// costs 20 additional bytes.
        lists: usize,
        /// Prepares a sender.
        sender: Prepare<dyn CarryingSender>,
        /// Prepares a receiver.
        receiver: Prepare<dyn CarryingReceiver>,
    },
}

impl Protocol {
    /// Prepares a sender in a session that is bound to [the intersection](Protocol::on).
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn sender(
        &self,
        setting: Setting,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<Sender>> {
        match self.parties {
            Parties::Plain { sender, .. } => sender(setting, channel, rng),
            Parties::Carrying { sender, .. } => Ok(sender(setting, channel, rng)?),
        }
    }

    /// Prepares a receiver in such a session.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn receiver(
        &self,
        setting: Setting,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<Receiver>> {
        match self.parties {
            Parties::Plain { receiver, .. } => receiver(setting, channel, rng),
            Parties::Carrying { receiver, .. } => Ok(receiver(setting, channel, rng)?),
        }
    }

    /// Whether it can carry payloads.
    pub fn carries_payloads(&self) -> bool {
        matches!(self.parties, Parties::Carrying { .. })
    }

    /// The same with another form of the sender's final list, if it may have one.
    pub fn with_list(self, list: List) -> Option<Self> {
        let allowed = list == List::Sorted || self.filters;
        allowed.then_some(Self { list, ..self })
    }

    /// Its key, with any difference from its entry in the catalogue: `kkrt16`, `kkrt16+vacuum`.
    pub fn name(&self) -> Cow<'static, str> {
        match self.list {
            List::Sorted => self.key.into(),
            list => format!("{}+{}", self.key, list.name()).into(),
        }
    }

    /// Whether it is run on partitions of two sets, one after the other.
    pub fn splits(&self) -> bool {
        self.status == Status::Recommended
    }

    /// Predicted cost for sets of these sizes, or of one of several runs.
    pub fn cost(&self, setting: impl Into<Setting>) -> Cost {
        (self.cost)(self.setting(setting))
    }

    /// The predicted peak memory of each party, for sets of these sizes, or in one of several runs.
    pub fn memory(&self, setting: impl Into<Setting>) -> Memory {
        (self.memory)(self.setting(setting))
    }

    /// The events that may go wrong by chance in a run on sets of these sizes, or in one of several runs.
    pub fn failures(&self, setting: impl Into<Setting>) -> Vec<Failure> {
        (self.failures)(self.setting(setting))
    }

    pub(crate) fn setting(&self, setting: impl Into<Setting>) -> Setting {
        Setting { list: self.list, ..setting.into() }
    }
}
