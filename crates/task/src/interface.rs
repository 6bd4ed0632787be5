//! What a task provides, and what it gets to see of a run.
//!
//! A [`Task`] says what it refuses of an offer and which [`Method`]s it chooses from. A method prepares this side's
//! [`Party`], which runs on the items and returns what it [`Found`]. Offers, terms, sessions and reports know no task
//! but through these.

use std::{
    io::{self, Write},
    panic::RefUnwindSafe,
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
use vesica_psi::{Adversary, DigestLength, Items, Setting, Sizes, Status};
use vesica_table::{
    pieces::Pieces, sent_columns::SentColumns, sent_types::SentType, written::Matched,
};
use zeroize::Zeroizing;

use crate::{
    disclosure::{Fact, Scenario, Secret},
    noise::Noise,
    outcome::Outcome,
    sides::{Side, Sides},
};

/// What one kind of run does in its own way.
pub trait Task: Sync + RefUnwindSafe {
    /// Refuses what could not run, whatever the other side offers.
    ///
    /// # Errors
    /// [`Error::Usage`](vesica_core::error::Error::Usage).
    fn check(&self, part: &Part) -> Result<()>;

    /// Whether the protocol itself tells nothing where fewer keys are shared than a minimum.
    fn takes_minimum(&self) -> bool {
        false
    }

    /// Whether its number can be told with noise.
    fn takes_noise(&self) -> bool {
        false
    }

    /// What keeps the parts of both sides from being run together.
    fn conflict(&self, _ours: &Part, _theirs: &Part) -> Option<Difference> {
        None
    }

    /// The protocols or methods that do this, the preferred one first.
    fn methods(&self) -> Vec<Box<dyn Method>>;

    /// What a method does, as a phrase that the method's name follows: `intersecting`.
    fn activity(&self) -> &'static str;

    /// The facts that a side learns by the result, if it learns that.
    fn facts(&self, scenario: &Scenario, learner: Role) -> Vec<Fact>;

    /// The facts that neither side learns, besides keys of the other.
    fn secrets(&self, scenario: &Scenario) -> Vec<Secret>;

    /// The first line of a summary; `None` where this side learns no result.
    fn headline(&self, outcome: &Outcome, context: &Context<'_>) -> Option<String>;
}

/// What a side offers that only the task of its query can judge.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Whether the side brings a column of values.
    pub brings_values: bool,
    /// The number of decimal places of values.
    pub scale: u8,
    /// The least number of shared keys of which anything is told.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// Whether the side sends columns.
    pub sends: bool,
    /// Whether the side wants matches in an order that both sides share.
    pub aligns: bool,
    /// Whether some side is to learn the result.
    pub is_told: bool,
}

/// A query about two sets, as both sides know it before a method runs.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The sizes of the two sets; where they are compared in partitions, those of a partition.
    pub sizes: Sizes,
    /// How many partitions there are.
    pub partitions: usize,
    /// The number that is part of the query, if it takes one; otherwise 0.
    pub number: u64,
    /// The least number of shared keys of which anything is told.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The number of decimal places of values.
    pub scale: u8,
    /// Whether the sender brings values.
    pub sender_brings: bool,
    /// Whether the receiver brings values.
    pub receiver_brings: bool,
    /// Bytes of a payload, which holds the columns that the sender sends.
    pub payload_len: usize,
}

impl Request {
    /// Rows alone, of sets of these sizes in so many partitions.
    pub fn rows(sizes: Sizes, partitions: usize) -> Self {
        Self {
            sizes,
            partitions,
            number: 0,
            minimum: 0,
            noise: None,
            scale: 0,
            sender_brings: false,
            receiver_brings: false,
            payload_len: 0,
        }
    }

    /// Bytes that each row of a side brings besides its key.
    pub fn brought(&self, receives: bool) -> usize {
        match receives {
            true if self.receiver_brings => size_of::<i64>(),
            false if self.sender_brings => size_of::<i64>(),
            true => 0,
            false => self.payload_len,
        }
    }

    /// What the parties of a protocol know of a run.
    pub(crate) fn setting(&self) -> Setting {
        Setting::from(self.sizes).one_of(self.partitions)
    }
}

/// One side's view of a run whose method is chosen.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is to be computed.
    pub request: Request,
    /// Which side this is.
    pub role: Role,
    /// Who learns, and who receives.
    pub sides: Sides,
    /// The columns that the sender sends, if it does.
    pub sent: Option<SentColumns>,
    /// Their types, on the side that receives them; none for texts only.
    pub types: Vec<SentType>,
    /// Whether matches are written in an order that both sides share.
    pub aligned: bool,
    /// Whether this side's rows that match nothing are written too.
    pub unmatched: bool,
    /// Rows of this side's table.
    pub rows: u64,
}

impl Call {
    /// Returns the call of a run in which no side sends columns, and a side with this many rows writes no others than those
    /// that match, in the order of its table.
    pub fn new(request: Request, role: Role, sides: Sides, rows: u64) -> Self {
        Self {
            request,
            role,
            sides,
            sent: None,
            types: Vec::new(),
            aligned: false,
            unmatched: false,
            rows,
        }
    }

    /// Whether this side is the method's receiver.
    pub fn receives(&self) -> bool {
        self.sides.receiver == Side::Me
    }

    /// The role of the method's receiver.
    pub(crate) fn receiver(&self) -> Role {
        if self.receives() { self.role } else { self.role.other() }
    }
}

/// An entry of the catalogue that a task chooses from.
pub trait Method: Send + Sync {
    /// Its name everywhere.
    fn key(&self) -> &'static str;

    /// What it may be used for.
    fn status(&self) -> Status;

    /// The adversary against which it is secure.
    fn adversary(&self) -> Adversary;

    /// Whether it tells a side how many keys are shared, although the query does not ask for that.
    fn tells_size(&self) -> bool {
        false
    }

    /// How much of a digest makes an item.
    fn item_length(&self) -> DigestLength {
        DigestLength::Short
    }

    /// Its predicted cost; or why it cannot do what is requested.
    fn candidate(&self, request: &Request) -> std::result::Result<Candidate, Difference>;

    /// Whether it can be run on one partition of the sets after the other.
    fn splits(&self) -> bool {
        false
    }

    /// Runs it on one partition of the sets after the other, where it can be; `call` is of a partition.
    fn gather(&self, _call: &Call) -> Option<Box<dyn Gather>> {
        None
    }

    /// Prepares this side's party: every step that needs no items.
    ///
    /// # Errors
    /// Whatever the connection or the other side makes go wrong.
    fn prepare(
        &self,
        call: Call,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<dyn Party>>;
}

impl dyn Method + '_ {
    /// Whether it is refused unless both sides allow it.
    pub fn is_for_lab(&self) -> bool {
        !self.status().is_for_use()
    }

    /// Whether it may be taken where no method is named, or only the other side names it.
    pub fn is_recommended(&self) -> bool {
        self.status() == Status::Recommended && !self.tells_size()
    }

    /// Whether it meets what both sides require.
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

    /// Puts together what was found in each partition. Where the other side has not learned its part yet, that takes the
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

/// The randomness of a run's end.
pub struct Randomness<'a> {
    /// Fresh randomness.
    pub rng: &'a mut dyn CryptoRng,
    /// The randomness of a number's noise, which is the same where the end of a run is repeated: otherwise each repetition
    /// would show the number with other noise.
    pub noise: &'a mut dyn CryptoRng,
}

/// The moment at which a side that finds matches in a partition reveals them, where both sides learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// With the partition: tasks on other machines compare it.
    WithPartition,
    /// With all others, once the rules have been checked for all of them together.
    AtTheEnd,
}

/// A party prepared for a partition.
pub trait PartitionParty: Send {
    /// Runs the method. Returns what was found, as a piece for [`Gather::finish`].
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
    /// Whatever the connection or the other side makes go wrong.
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
    /// Shared keys, where this side knows how many.
    pub shared: Option<u64>,
    /// Takes that step, where there is one.
    pub reveal: RevealStep<'a>,
}

/// The step by which both sides learn a result.
pub(crate) type RevealStep<'a> =
    Box<dyn FnOnce(&mut Channel, &mut dyn CryptoRng) -> Result<Found> + Send + 'a>;

impl Unrevealed<'_> {
    /// The result of a side that reveals nothing and learns no more.
    pub(crate) fn complete(found: Found) -> Self {
        Self { shared: found.outcome.shared(), reveal: Box::new(move |_, _| Ok(found)) }
    }
}

/// What a run gave this side.
pub struct Found {
    /// The numbers for the report.
    pub outcome: Outcome,
    /// What goes to this side's output; `None` where this side gets nothing.
    pub content: Option<Content>,
}

/// What a task writes to the output.
pub enum Content {
    /// Rows of this side's table.
    Rows(Matched),
    /// Text of the task's own making.
    Text(WriteText),
}

/// Writes a task's text.
pub(crate) type WriteText = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send>;

/// What a headline refers to besides the outcome.
pub struct Context<'a> {
    /// Distinct keys of this side.
    pub keys: u64,
    /// The number that is part of the query, if it takes one; otherwise 0.
    pub number: u64,
    /// The least number of shared keys of which anything is told.
    pub minimum: u64,
    /// The noise that hides a single key.
    pub noise: Option<Noise>,
    /// The number of decimal places of values.
    pub scale: u8,
    /// Says of a thing where it was written to.
    pub written: &'a dyn Fn(String) -> String,
}
