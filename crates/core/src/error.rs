//! What can end a run, and whose fault it is.
//!
//! No error holds a value of a table: a fault is located by file, row, line and column.

use std::{fmt, io, panic::Location, path::PathBuf};

use vesica_net::{AbortReason, Channel, Deviation};
use vesica_psi::MAX_ITEMS;

use crate::{
    difference::Difference,
    refusal::Refusal,
    words::{bytes, counted, grouped},
};

/// The result of anything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Whose fault an error is. The command line's exit codes come from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// What was asked for makes no sense.
    Usage,
    /// A file of this side cannot be read, understood or written.
    Input,
    /// The other side was lost, or stopped for a reason of its own.
    Network,
    /// The two sides do not agree on what to run.
    Terms,
    /// A policy of either side refuses the run.
    Policy,
    /// The other side broke the protocol.
    Peer,
    /// Somebody asked this side to stop.
    Cancelled,
    /// A defect of this program.
    Bug,
}

/// The part of a request that contradicts another part, or that nothing can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// An argument of an interface, such as a number out of its range.
    Argument,
    /// The key: its columns, or their normalisation.
    Key,
    /// Several identifiers of a row.
    Identifiers,
    /// The values that count as empty.
    NullValues,
    /// The input: its format, or a query for its rows.
    Input,
    /// A database as an input or an output.
    Database,
    /// The place of a result.
    Output,
    /// The query, or who learns its answer.
    Query,
    /// The noise in a number.
    Noise,
    /// The columns that are sent or received.
    Columns,
    /// A join.
    Join,
    /// The common order of matches.
    Order,
    /// The protocol, or the security that it has to give.
    Protocol,
    /// The memory that a run may take.
    Memory,
    /// A run that goes on after an interruption.
    Resume,
    /// An agreement, an invitation or a reply.
    Agreement,
    /// A rule of an agreement or of this side.
    Policy,
    /// The name of an agreement or a job.
    Name,
    /// An address of the other side or of a list.
    Address,
    /// A published list.
    List,
    /// A cluster, or its gateway.
    Cluster,
}

/// What ended a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request contradicts itself or cannot be met by anything there is.
    #[error("{message}")]
    Usage {
        /// The part of the request that is at fault.
        misuse: Misuse,
        /// The fault, and the remedy.
        message: String,
    },
    /// The null values cannot be used.
    #[error(transparent)]
    NullValues(#[from] vesica_normalize::null_values::NullValuesError),
    /// The input cannot be used.
    #[error("{file}: {fault}")]
    Input {
        /// The file, as it was named.
        file: String,
        /// What is wrong with it, and where.
        fault: InputFault,
    },
    /// A result cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Output {
        /// The file that was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The journal of a run that can be resumed cannot be used.
    #[error("{}: {fault}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// The ledger of this side cannot be used.
    #[error("{}: {fault}", path.display())]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// An identity cannot be read or written.
    #[error("{}: {fault}", path.display())]
    Identity {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// The figures of this machine cannot be used.
    #[error("{}: {fault}", path.display())]
    Figures {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// A policy refuses the run.
    #[error("the policy refuses this run: {0}")]
    Policy(#[from] Refusal),
    /// The two sides do not agree. Both get this error.
    #[error("the two sides do not agree: {}", listed(.0))]
    Terms(Vec<Difference>),
    /// The two sides speak different versions.
    #[error(
        "the two sides speak different versions: here wire version {ours}, there {theirs}; \
         install the same release on both sides"
    )]
    Version {
        /// This program's wire version.
        ours: u32,
        /// The other side's.
        theirs: u64,
    },
    /// A partition that is compared by tasks has other keys than before.
    #[error(
        "the keys of partition {partition} are others than in an earlier attempt; the rows of a run must not change \
         while it lasts: read them from a place where they do not"
    )]
    KeysChanged {
        /// The partition, counted from 0.
        partition: u32,
    },
    /// The comparison of a partition was begun too often.
    #[error(
        "the comparison of partition {partition} was begun {attempts} times without coming to an end; remove the journals on \
         both sides to begin a new run, or allow more with --max-attempts. Where tasks compare partitions, their logs say why"
    )]
    TooManyAttempts {
        /// The partition, counted from 0.
        partition: u32,
        /// How often it may begin.
        attempts: u64,
    },
    /// A partition may not be compared again, because its result was sent to the other side in a malicious protocol.
    #[error(
        "the result of partition {partition} was sent to the other side before the interruption, and a protocol against \
         malicious parties never compares a partition again after that; remove the journals on both sides to begin a new run"
    )]
    AlreadyRevealed {
        /// The partition, counted from 0.
        partition: u32,
    },
    /// A task of this side's cluster, or its driver, cannot go on.
    #[error("the cluster of this side stopped: {reason}")]
    Cluster {
        /// What it said.
        reason: String,
    },
    /// A list, or an answer about it, does not come.
    #[error("{place}: {fault}")]
    Origin {
        /// Where it is.
        place: String,
        /// What is wrong.
        fault: String,
    },
    /// A published list, or an answer about it, is refused.
    #[error(transparent)]
    List(#[from] vesica_list::Error),
    /// The connection or the other side failed.
    #[error(transparent)]
    Net(#[from] vesica_net::Error),
    /// The protocol failed by chance, with the small probability that its parameters allow.
    #[error("{0}")]
    StatisticalFailure(vesica_psi::Error),
    /// A defect of this program; [`Error::bug`] makes one.
    #[error("internal error at {at}: {what}; please report it")]
    Bug {
        /// The condition that does not hold.
        what: &'static str,
        /// The place in the source that found it.
        at: &'static Location<'static>,
    },
}

impl Error {
    /// Returns the error of a request whose part `misuse` is at fault, with a message for a person.
    pub fn usage(misuse: Misuse, message: impl Into<String>) -> Self {
        Self::Usage { misuse, message: message.into() }
    }

    /// Returns the error of a defect that the caller has found.
    #[track_caller]
    pub fn bug(what: &'static str) -> Self {
        Self::Bug { what, at: Location::caller() }
    }

    /// The error that a set has too many keys for the largest number of partitions.
    pub fn too_large(keys: usize, partitions: usize) -> Self {
        let most = grouped((MAX_ITEMS * partitions) as u64);
        let said = format!(
            "{} keys are too many to compare: there must be fewer than {most}, in {}",
            grouped(keys as u64),
            counted(partitions as u64, "partition"),
        );
        Self::Terms(vec![Difference::of_both("sizes of the sets", said)])
    }

    /// Whose fault a protocol's error is, given that this side brought distinct items, no more of them than agreed.
    pub fn of_protocol(error: vesica_psi::Error, channel: &Channel) -> Self {
        match error {
            vesica_psi::Error::Channel(vesica_net::Error::Io { phase, source }) => {
                // What the gate of this side said, if the error is its.
                source
                    .downcast()
                    .unwrap_or_else(|source| Self::Net(vesica_net::Error::Io { phase, source }))
            }
            vesica_psi::Error::Channel(error) => error.into(),
            vesica_psi::Error::TooManyItems { .. } => {
                channel.deviation(Deviation::CheckFailed { check: "size of the set" }).into()
            }
            vesica_psi::Error::DuplicateItem { .. } => Self::bug("two keys have the same item"),
            error => Self::StatisticalFailure(error),
        }
    }

    /// Whether a run has no result because too few keys are shared.
    pub fn is_too_few(&self) -> bool {
        matches!(self, Self::Policy(refusal) if refusal.is_too_few())
    }

    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Self::Usage { .. } | Self::NullValues(_) => Class::Usage,
            Self::Input { .. }
            | Self::Output { .. }
            | Self::Journal { .. }
            | Self::Ledger { .. }
            | Self::Identity { .. }
            | Self::KeysChanged { .. }
            | Self::Cluster { .. }
            | Self::Figures { .. } => Class::Input,
            Self::TooManyAttempts { .. } | Self::AlreadyRevealed { .. } | Self::Origin { .. } => {
                Class::Network
            }
            Self::List(error) => class_of_list(error),
            Self::Policy(_) => Class::Policy,
            Self::Terms(_) | Self::Version { .. } => Class::Terms,
            Self::Net(error) => match error {
                vesica_net::Error::Cancelled { .. } => Class::Cancelled,
                vesica_net::Error::Aborted {
                    reason: AbortReason::Terms | AbortReason::Agreement,
                    ..
                }
                | vesica_net::Error::SameSide { .. } => Class::Terms,
                vesica_net::Error::Aborted { reason: AbortReason::Policy, .. } => Class::Policy,
                error if error.is_peer_fault() => Class::Peer,
                _ => Class::Network,
            },
            Self::StatisticalFailure(_) | Self::Bug { .. } => Class::Bug,
        }
    }

    /// What the other side is told, or `None` where it knows already or cannot be told.
    pub fn abort_reason(&self) -> Option<AbortReason> {
        match self.class() {
            // To the other side it is all the same who asked this one to stop.
            _ if matches!(self, Self::Net(vesica_net::Error::Deadline { .. })) => {
                Some(AbortReason::Cancelled)
            }
            _ if matches!(self, Self::Net(vesica_net::Error::TurnLost { .. })) => {
                Some(AbortReason::Busy)
            }
            Class::Input if matches!(self, Self::Output { .. }) => Some(AbortReason::Output),
            Class::Input => Some(AbortReason::Input),
            // Mostly both sides find this out at once, but a later release may know more.
            Class::Terms => Some(AbortReason::Terms),
            Class::Network
                if matches!(self, Self::TooManyAttempts { .. } | Self::AlreadyRevealed { .. }) =>
            {
                Some(AbortReason::Internal)
            }
            Class::Network => None,
            // Where the other side's policy refused, it knows.
            Class::Policy => matches!(self, Self::Policy(_)).then_some(AbortReason::Policy),
            Class::Peer => Some(AbortReason::Misbehaviour),
            Class::Cancelled => Some(AbortReason::Cancelled),
            Class::Usage | Class::Bug => Some(AbortReason::Internal),
        }
    }
}

/// Whose fault it is that a list is refused.
fn class_of_list(error: &vesica_list::Error) -> Class {
    use vesica_list::Error;
    match error {
        Error::TooLarge { .. } | Error::Read(_) | Error::Damaged { .. } => Class::Input,
        Error::Profile { .. }
        | Error::NullValues { .. }
        | Error::Version(_)
        | Error::Expired(_) => Class::Terms,
        Error::Epoch { .. } => Class::Network,
        _ => Class::Peer,
    }
}

fn repeating(rows: u64) -> String {
    format!("{} {}", counted(rows, "row"), if rows == 1 { "repeats" } else { "repeat" })
}

fn no_keys(rows: u64, null_values: u64) -> String {
    let part = |rows: u64, what: &str| (rows > 0).then(|| format!("{} {what}", grouped(rows)));
    let parts = [
        part(
            rows.saturating_sub(null_values),
            "with nothing there, or nothing of the kind that --normalize takes",
        ),
        part(null_values, "with a null value such as NULL"),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

fn expected_number(scale: u8) -> String {
    match scale {
        0 => "not a whole number from -2^63 to 2^63 - 1; for decimals name a scale".to_owned(),
        _ => format!(
            "not a number with at most {scale} decimal places, written like -1234.5, or too large"
        ),
    }
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A place in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The data row, counted from 1; the header is not counted.
    pub row: u64,
    /// The line of the file on which the row begins, counted from 1; `None` in a table without lines.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "row {} (line {line})", self.row),
            None => write!(f, "row {}", self.row),
        }
    }
}

/// What is wrong with an input.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputFault {
    /// The operating system refused to read it.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is no delimited text.
    #[error("seems to be {format}, not UTF-8 text; {advice}")]
    NotText {
        /// What it seems to be.
        format: &'static str,
        /// What to do about it.
        advice: &'static str,
    },
    /// It begins like a format that it is not, or ends too early, or contradicts itself.
    #[error(
        "cannot be read as {format}: {part} is damaged or missing; copy or write the file again"
    )]
    Damaged {
        /// What it seems to be.
        format: &'static str,
        /// The part of it that cannot be read.
        part: String,
    },
    /// It is sound, but has a part that this program does not read.
    #[error("has {part}, which is not read here; {advice}")]
    Unsupported {
        /// The part.
        part: &'static str,
        /// The remedy.
        advice: &'static str,
    },
    /// It is encrypted.
    #[error("is encrypted {format}, which is not read here; decrypt it first")]
    Encrypted {
        /// The name of its format.
        format: &'static str,
    },
    /// It is a directory of files, or names several.
    #[error("{found}; {advice}")]
    Directory {
        /// The kind of directory or name.
        found: String,
        /// The remedy.
        advice: &'static str,
    },
    /// It was written to between two looks at it.
    #[error("changed while it was read; run again when nobody writes to it")]
    Changed,
    /// What has to be in memory at once takes more than there may be.
    #[error(
        "holds more than {} where all of it has to be in memory: the keys of all rows, one batch of Arrow, or one page of Parquet; raise --memory, or \
         split it",
        bytes(*max as f64)
    )]
    TooLarge {
        /// The most bytes that there may be.
        max: u64,
    },
    /// A record of a text, or its header, is so long that it is hardly one.
    #[error(
        "{}has a row of more than {}, and a row has to be in memory whole; a quotation mark that nothing closes makes one row of all that \
         follows. Mend it, or split it: a row may have an eighth of --memory, and at most 64 MiB",
        line.map_or(String::new(), |line| format!("line {line} ")),
        bytes(*max as f64)
    )]
    LongRecord {
        /// The line where it begins, where that is known.
        line: Option<u64>,
        /// The most bytes that it may have.
        max: u64,
    },
    /// A line is no JSON object.
    #[error("{place}: {problem}, near character {character}; write one JSON object on each line")]
    BrokenLine {
        /// Where.
        place: Place,
        /// What is wrong with the line.
        problem: &'static str,
        /// Where in the line, counted from 1; 0 where that is not known.
        character: usize,
    },
    /// A column has a type that makes no key and no number to add up.
    #[error("column `{column}` has the type {kind}, which cannot be used: {why}")]
    ColumnType {
        /// The column.
        column: String,
        /// Its type.
        kind: String,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// A value has a type that does not suit what the column is for.
    #[error("{place}, column `{column}`: {kind} cannot be {purpose}: {why}")]
    ValueType {
        /// Where.
        place: Place,
        /// The column.
        column: String,
        /// The type of the value.
        kind: &'static str,
        /// What the column is for: `a key`.
        purpose: &'static str,
        /// The reason, and what to do.
        why: &'static str,
    },
    /// There is no column of that name.
    #[error("has no column `{column}`; {hint}")]
    NoColumn {
        /// The name asked for.
        column: String,
        /// What there is instead.
        hint: String,
    },
    /// No row has a key.
    #[error(
        "none of its {} has a key: {}; `vesica check` says more. If that is intended, run with --allow-empty",
        counted(*rows, "row"), no_keys(*rows, *null_values)
    )]
    NoKeys {
        /// All rows.
        rows: u64,
        /// Rows with a null value in place of a key.
        null_values: u64,
    },
    /// More than one column bears the name.
    #[error("has {times} columns named `{column}`; rename all but one")]
    AmbiguousColumn {
        /// The name asked for.
        column: String,
        /// How many columns bear it.
        times: usize,
    },
    /// A row has another number of fields than the header.
    #[error("{place} has {}, the header has {expected}", counted(*fields as u64, "field"))]
    Ragged {
        /// Where.
        place: Place,
        /// Fields in the row.
        fields: usize,
        /// Fields in the header.
        expected: usize,
    },
    /// The file ends inside a quoted field.
    #[error("{place} opens a quoted field that is never closed")]
    UnclosedQuote {
        /// The row with the open field.
        place: Place,
    },
    /// The header ends the file inside a quoted field.
    #[error("the header opens a quoted field that is never closed")]
    UnclosedHeader,
    /// A key is not UTF-8.
    #[error(
        "{place}, column `{column}`: not valid UTF-8; convert the file to UTF-8, for example with \
         `iconv -f WINDOWS-1252 -t UTF-8`"
    )]
    NotUtf8 {
        /// Where.
        place: Place,
        /// The key column.
        column: String,
    },
    /// A key holds a NUL character.
    #[error("{place}, column `{column}`: holds a NUL character; the file may be damaged")]
    Nul {
        /// Where.
        place: Place,
        /// The key column.
        column: String,
    },
    /// A key is missing, and the policy is to refuse that.
    #[error(
        "{place}, column `{column}`: the key {}; fill it, or skip rows without a key",
        if *null_value { "is a null value such as NULL" } else { "is empty" }
    )]
    NullKey {
        /// The first such row.
        place: Place,
        /// The key column.
        column: String,
        /// The column has a value, which stands for a missing one.
        null_value: bool,
    },
    /// A key occurs twice, and the policy is to refuse that.
    #[error(
        "{second} bears the same key as {first}; {} the key of an earlier row: remove them, or let each key take part \
         once",
        repeating(*rows)
    )]
    DuplicateKey {
        /// The earlier row.
        first: Place,
        /// The first row that repeats a key.
        second: Place,
        /// How many rows do.
        rows: u64,
    },
    /// The values of a row that are sent to the other side are longer than agreed.
    #[error(
        "{place}, column `{column}`: up to here the row's values do not fit into the {bytes} bytes that are sent, of \
         which each value takes two more than it is long; send fewer columns, or allow more bytes with --send-bytes"
    )]
    TooLongToSend {
        /// The first such row.
        place: Place,
        /// The column with which they become too long.
        column: String,
        /// Bytes of a row's values.
        bytes: u32,
    },
    /// More rows bear one key than are sent.
    #[error(
        "{place} bears the same key as {first}, and no more than {} of one key may be sent; remove rows, or allow more \
         with --duplicates all:N", counted(u64::from(*rows), "row")
    )]
    TooManyRowsToSend {
        /// The first row that is one too many.
        place: Place,
        /// The first row of that key.
        first: Place,
        /// How many are sent.
        rows: u32,
    },
    /// A value to be added up is no number, or has too many decimal places.
    #[error("{place}, column `{column}`: {}", expected_number(*scale))]
    NotANumber {
        /// Where.
        place: Place,
        /// The column of values.
        column: String,
        /// How many decimal places it may have.
        scale: u8,
    },
    /// A value to be added up is missing, and the policy is to refuse that.
    #[error(
        "{place}, column `{column}`: the value is empty; fill it, or skip empty ones, which count as 0"
    )]
    NullValue {
        /// The first such row.
        place: Place,
        /// The column of values.
        column: String,
    },
    /// Values could add up to more than a sum holds.
    #[error(
        "{place}, column `{column}`: the values up to here, signs aside, add up to more than 2^63 - 1; \
         use fewer rows, or a larger unit"
    )]
    SumTooLarge {
        /// The first row with which they do.
        place: Place,
        /// The column of values.
        column: String,
    },
    /// There are no rows, and that is not allowed.
    #[error("{}; if that is intended, run with --allow-empty", if *header { "has a header but no rows" } else { "is empty, without even a header" })]
    Empty {
        /// Whether there is a header.
        header: bool,
    },
    /// More rows than a run can hold.
    #[error("has more than {max} rows; split it")]
    TooManyRows {
        /// The most there may be.
        max: u64,
    },
}
