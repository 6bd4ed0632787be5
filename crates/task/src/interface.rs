//! The interface of tasks, and the part of a run that they see.
//!
//! A [`Task`] checks offers and provides the [`Method`]s to choose from. A method prepares this side's [`Party`], which
//! runs on the items and returns what it [`Found`]. Offers, terms, sessions and reports use tasks only through these
//! traits.

use std::{
    io::{self, Write},
    panic::RefUnwindSafe,
    sync::Arc,
};

use rand::CryptoRng;
use vesica_core::{
    difference::Difference,
    error::Result,
    parties::{Role, Security},
};
use vesica_keyset::{
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
};
use vesica_net::Channel;
use vesica_planner::Candidate;
pub use vesica_psi::aggregate::Randomness;
use vesica_psi::{Adversary, DigestLength, Items, Setting, Sizes, Status};
use vesica_select::Select;
use vesica_table::{
    pieces::Pieces,
    results::ResultTable,
    sent_columns::SentColumns,
    sent_types::SentType,
    written::{Matched, Numbering},
};
use zeroize::Zeroizing;

use crate::{
    disclosure::{Fact, Scenario, Secret},
    noise::Noise,
    outcome::Outcome,
    select::{QueryTable, Selection},
    sides::{Side, Sides},
};

/// The specific behaviour of one kind of run.
pub trait Task: Sync + RefUnwindSafe {
    /// Refuses a part that could not run with any offer of the other side.
    ///
    /// # Errors
    /// [`Error::Usage`](vesica_core::error::Error::Usage).
    fn check(&self, part: &Part) -> Result<()>;

    /// Returns whether the protocol itself reveals nothing if fewer keys are shared than a minimum.
    fn takes_minimum(&self) -> bool {
        false
    }

    /// Returns whether noise can be added to its number.
    fn takes_noise(&self) -> bool {
        false
    }

    /// Returns the conflict that keeps the parts of both sides from being run together, if any.
    fn conflict(&self, _ours: &Part, _theirs: &Part) -> Option<Difference> {
        None
    }

    /// Returns the methods for this task, the preferred one first.
    fn methods(&self) -> Vec<Box<dyn Method>>;

    /// Returns the activity of its methods as a phrase before the method's name: `intersecting`.
    fn activity(&self) -> &'static str;

    /// Returns the facts that a side learns from the result, if it learns the result.
    fn facts(&self, scenario: &Scenario, learner: Role) -> Vec<Fact>;

    /// Returns the facts that neither side learns, besides keys of the other.
    fn secrets(&self, scenario: &Scenario) -> Vec<Secret>;

    /// Returns how its result is shown to a party that took no part in its method; `None` if it cannot be.
    fn telling(&self) -> Option<&dyn Telling> {
        None
    }

    /// Returns the first line of a summary; `None` if this side learns no result.
    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String>;
}

/// The keys of a party that shows a result, or is shown one.
#[derive(Clone, Copy)]
pub enum PartyKeys<'a> {
    /// All keys, and their items.
    Whole(Items<'a>, &'a KeyRows),
    /// The keys of each partition.
    Parts(&'a Partitions),
}

/// A task whose result can be shown to a party that took no part in its method. `call` describes the party that shows
/// it, as the receiver, and the one that learns.
pub trait Telling {
    /// Shows the other party the result of this side.
    ///
    /// # Errors
    /// Faults of the connection, and [`Error::Output`](vesica_core::error::Error::Output) of partitions.
    fn tell(
        &self,
        found: &Found,
        keys: PartyKeys<'_>,
        call: &Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()>;

    /// Learns the result from the other party.
    ///
    /// # Errors
    /// As [`Telling::tell`], and faults of the other party.
    fn learn(
        &self,
        keys: PartyKeys<'_>,
        call: &Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Found>;
}

/// The part of a side's offer that only the task of its query can check.
#[derive(Debug, Clone)]
pub struct Part {
    /// Whether the side provides a column of values.
    pub brings_values: bool,
    /// The number of decimal places of values.
    pub scale: u8,
    /// The minimum number of shared keys below which nothing is revealed.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// Whether the side sends columns.
    pub sends: bool,
    /// Whether the side wants matches in the same order as the other side.
    pub aligns: bool,
    /// The number of sides that learn the result.
    pub learners: usize,
    /// The most keys of a row, if rules make the keys.
    pub rules: Option<usize>,
    /// The query, if it is in the language of queries.
    pub select: Option<Arc<Select>>,
    /// The side's table in such a query.
    pub table: Option<QueryTable>,
}

/// A query about two sets, as both sides know it before a method runs.
#[derive(Debug, Clone)]
pub struct Request {
    /// The sizes of the two sets, or of a partition if they are compared in partitions.
    pub sizes: Sizes,
    /// The number of partitions.
    pub partitions: usize,
    /// The number that is part of the query, if it takes one; otherwise 0.
    pub number: u64,
    /// The minimum number of shared keys below which nothing is revealed.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The number of decimal places of values.
    pub scale: u8,
    /// The most keys of a row, if rules make the keys: numbers are then about rows in place of keys.
    pub rules: Option<usize>,
    /// Whether the sender provides values.
    pub sender_brings: bool,
    /// Whether the receiver provides values.
    pub receiver_brings: bool,
    /// Bytes of a payload, which holds the columns that the sender sends.
    pub payload_len: usize,
    /// The query and the columns of both sides, if it is in the language of queries.
    pub selection: Option<Arc<Selection>>,
    /// The protocol's receiver.
    pub receiver: Role,
    /// The side that learns the result first.
    pub learner: Role,
}

impl Request {
    /// Creates a request for rows only, for sets of these sizes in this many partitions.
    pub fn rows(sizes: Sizes, partitions: usize) -> Self {
        Self {
            sizes,
            partitions,
            number: 0,
            minimum: 0,
            noise: None,
            scale: 0,
            rules: None,
            sender_brings: false,
            receiver_brings: false,
            payload_len: 0,
            selection: None,
            receiver: Role::A,
            learner: Role::A,
        }
    }

    /// Returns the bytes per row that a side needs besides the key.
    pub fn brought(&self, receives: bool) -> usize {
        if let Some(route) = self.route() {
            return route.brought(receives);
        }
        match receives {
            true if self.receiver_brings => size_of::<i64>(),
            false if self.sender_brings => size_of::<i64>(),
            true => 0,
            false => self.payload_len,
        }
    }

    /// Returns the setting of a protocol.
    pub(crate) fn setting(&self) -> Setting {
        Setting::from(self.sizes).one_of(self.partitions)
    }
}

/// The rows that a side writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedRows {
    /// In a join, on the receiving side: whether unmatched rows are written too.
    pub unmatched: bool,
    /// The last rule by which written rows match, counted from 1; `None` for all.
    pub last_rule: Option<u8>,
}

impl WantedRows {
    /// Returns whether rows that match first by this rule, counted from 0, are written.
    pub(crate) fn by_rule(&self, rule: usize) -> bool {
        self.last_rule.is_none_or(|last| rule < usize::from(last))
    }
}

/// One side's view of a run whose method is chosen.
#[derive(Debug, Clone)]
pub struct Call {
    /// The request.
    pub request: Request,
    /// This side's role.
    pub role: Role,
    /// The sides that learn, and the receiver.
    pub sides: Sides,
    /// The columns that the sender sends, if it does.
    pub sent: Option<SentColumns>,
    /// Their types, on the side that receives them; empty if all are texts.
    pub types: Vec<SentType>,
    /// The numbers in a first column of matched rows, if there are any. Numbered matches are written in the same order
    /// on both sides.
    pub numbering: Option<Numbering>,
    /// The rows that this side writes.
    pub wanted: WantedRows,
    /// Rows of this side's table.
    pub rows: u64,
    /// A secret of this side, the same in each session of the run. A query needs it.
    pub secret: Option<Arc<Zeroizing<[u8; 32]>>>,
}

impl Call {
    /// Returns the call of a run in which no side sends columns, and a side with this many rows writes only matching
    /// rows, in the order of its table.
    pub fn new(request: Request, role: Role, sides: Sides, rows: u64) -> Self {
        Self {
            request,
            role,
            sides,
            sent: None,
            types: Vec::new(),
            numbering: None,
            wanted: WantedRows::default(),
            rows,
            secret: None,
        }
    }

    /// Returns whether rules make the keys.
    pub(crate) fn is_by_rules(&self) -> bool {
        self.numbering == Some(Numbering::Rules)
    }

    /// Returns whether this side is the method's receiver.
    pub fn receives(&self) -> bool {
        self.sides.receiver == Side::Me
    }

    /// Returns the role of the method's receiver.
    pub(crate) fn receiver(&self) -> Role {
        if self.receives() { self.role } else { self.role.other() }
    }
}

/// An entry of the catalogue that a task chooses from.
pub trait Method: Send + Sync {
    /// Returns its name everywhere.
    fn key(&self) -> &'static str;

    /// Returns the data that it may be used for.
    fn status(&self) -> Status;

    /// Returns the adversary against which it is secure.
    fn adversary(&self) -> Adversary;

    /// Returns whether it reveals the number of shared keys to a side, although the query does not ask for it.
    fn tells_size(&self) -> bool {
        false
    }

    /// Returns whether it can answer a query about rows whose keys rules make.
    fn takes_rules(&self) -> bool {
        true
    }

    /// Returns the length of a digest in an item.
    fn item_length(&self) -> DigestLength {
        DigestLength::Short
    }

    /// Returns its predicted cost, or the reason why it cannot answer the request.
    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference>;

    /// Returns whether it can be run on partitions of the sets.
    fn splits(&self) -> bool {
        false
    }

    /// Returns the method for partitions of the sets, if it can be run on them; `call` describes one partition.
    fn gather(&self, _call: &Call) -> Option<Box<dyn Gather>> {
        None
    }

    /// Prepares this side's party: every step that needs no items.
    ///
    /// # Errors
    /// Faults of the connection or of the other side.
    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>>;
}

impl dyn Method + '_ {
    /// Returns whether it is refused unless both sides allow it.
    pub fn is_for_lab(&self) -> bool {
        !self.status().is_for_use()
    }

    /// Returns whether it may be chosen if no method is named, or if only the other side names it.
    pub fn is_recommended(&self) -> bool {
        self.status() == Status::Recommended && !self.tells_size()
    }

    /// Returns whether it meets the security that both sides require.
    pub fn meets(&self, security: Security) -> bool {
        security.is_met_by(self.adversary(), self.status())
    }
}

/// A method on partitions of two sets.
pub trait Gather: Send + Sync {
    /// Prepares this side's party for a partition.
    ///
    /// # Errors
    /// As [`Method::prepare`].
    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn PartitionParty>>;

    /// Combines the results of all partitions. If the other side has not learned its part yet, this needs the
    /// partitions themselves.
    ///
    /// # Errors
    /// As [`Party::run`], and [`Error::Output`](vesica_core::error::Error::Output).
    fn finish<'a>(
        self: Box<Self>,
        pieces: Pieces,
        partitions: Option<&'a Partitions>,
        channel: &mut Channel,
        randomness: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>>;
}

/// The moment at which a side that finds matches in a partition reveals them, if both sides learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// With the partition, if tasks on other machines compare it.
    WithPartition,
    /// With all other partitions, once the rules have been checked for all of them together.
    AtTheEnd,
}

/// A party prepared for a partition.
pub trait PartitionParty: Send {
    /// Runs the method. Returns the result as a piece for [`Gather::finish`].
    ///
    /// # Errors
    /// As [`Party::run`].
    fn run(
        self: Box<Self>,
        partition: &Partition,
        reveal: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Zeroizing<Vec<u8>>>;
}

/// A prepared party, which is used once.
pub trait Party: Send {
    /// Runs the method. `set` is the key set from which the items come.
    ///
    /// # Errors
    /// Faults of the connection or of the other side.
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>>;
}

/// A result before the step by which both sides learn it, so that rules are checked before anything is revealed.
pub struct Unrevealed<'a> {
    /// The number of matches that limits on results count, if this side knows it.
    pub shared: Option<u64>,
    /// The step itself; it does nothing if there is nothing to reveal.
    pub reveal: RevealStep<'a>,
}

/// The step by which both sides learn a result.
pub(crate) type RevealStep<'a> =
    Box<dyn FnOnce(&mut Channel, &mut dyn CryptoRng) -> Result<Found> + Send + 'a>;

impl Unrevealed<'_> {
    /// Creates the result of a side that reveals nothing and learns no more.
    pub(crate) fn complete(found: Found) -> Self {
        Self { shared: found.outcome.counted(), reveal: Box::new(move |_, _| Ok(found)) }
    }
}

/// The result of a run on this side.
pub struct Found {
    /// The numbers for the report.
    pub outcome: Outcome,
    /// The content of this side's output; `None` if it gets none.
    pub content: Option<Content>,
}

/// The content that a task writes to the output.
pub enum Content {
    /// Rows of this side's table.
    Rows(Matched),
    /// A small table.
    Table(ResultTable),
    /// Text that the task makes.
    Text(WriteText),
}

/// Writes a task's text.
pub(crate) type WriteText = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// Facts for a headline besides the outcome.
pub struct Context<'a> {
    /// Distinct keys of this side.
    pub keys: u64,
    /// The number that is part of the query, if it takes one; otherwise 0.
    pub number: u64,
    /// The minimum number of shared keys below which nothing is revealed.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The number of decimal places of values.
    pub scale: u8,
    /// Whether rules make the keys.
    pub by_rules: bool,
    /// Appends the destination: `3 rows` becomes `3 rows written to out.csv`.
    pub written: &'a dyn Fn(String) -> String,
}
