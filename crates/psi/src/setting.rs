//! The facts that both parties know before a run: sizes, and their predicted cost.

use vesica_params::LAMBDA;

/// The maximal number of items of a set: positions are 32 bits wide with two to spare, and the parameters of
/// every protocol are valid up to this size.
pub const MAX_ITEMS: usize = 1 << 28;

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

/// The facts that both parties know about a run before its first step.
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

    /// −log2 of the probability with which this run may have a failure, to which every length is chosen: 2^-λ divided
    /// by the number of runs.
    pub fn lambda(self) -> u32 {
        LAMBDA + self.runs.next_power_of_two().ilog2()
    }
}

/// The predicted cost of a run.
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

/// Sizes that a protocol does not support.
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
    pub(crate) fn check(of: &'static str, items: usize, most: usize) -> Result<(), Self> {
        let within = items <= most;
        if within { Ok(()) } else { Err(Self { of, most: most as u64, items: items as u64 }) }
    }
}

/// The [limits](Protocol::limits) of a protocol without specific ones.
pub(crate) fn any_sizes(sizes: Sizes) -> Result<(), Limit> {
    Limit::check(OF_SENDER, sizes.sender, MAX_ITEMS)?;
    Limit::check(OF_RECEIVER, sizes.receiver, MAX_ITEMS)
}

pub(crate) const OF_SENDER: &str = "of the sender";
pub(crate) const OF_RECEIVER: &str = "of the receiver";
