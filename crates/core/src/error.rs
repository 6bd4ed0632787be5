//! The errors that end a run, and whose fault each is.
//!
//! No error holds a value of a table: a fault is located by file, row, line and column.

use std::{io, panic::Location, path::PathBuf};

use vesica_net::{AbortReason, Channel, Deviation};
use vesica_psi::MAX_ITEMS;

pub use crate::{
    input_fault::{InputFault, Place},
    misuse::Misuse,
};

use crate::{
    difference::Difference,
    refusal::Refusal,
    words::{counted, grouped},
};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A class of errors, by the party or part at fault. The command line's exit codes come from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The request makes no sense.
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

/// An error that ended a run.
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
        /// The fault, and its place.
        fault: InputFault,
    },
    /// A result cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Output {
        /// The file that was to be written.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The journal of a run that can be resumed cannot be used.
    #[error("{}: {fault}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The fault.
        fault: String,
    },
    /// The ledger of this side cannot be used.
    #[error("{}: {fault}", path.display())]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// The fault.
        fault: String,
    },
    /// An identity cannot be read or written.
    #[error("{}: {fault}", path.display())]
    Identity {
        /// Its file.
        path: PathBuf,
        /// The fault.
        fault: String,
    },
    /// The figures of this machine cannot be used.
    #[error("{}: {fault}", path.display())]
    Figures {
        /// The file.
        path: PathBuf,
        /// The fault.
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
    /// A partition that tasks compare has different keys than in an earlier attempt.
    #[error(
        "the keys of partition {partition} differ from those in an earlier attempt; do not modify the table during a run, \
         or read it from a snapshot"
    )]
    KeysChanged {
        /// The partition, counted from 0.
        partition: u32,
    },
    /// The comparison of a partition was begun too often.
    #[error(
        "the comparison of partition {partition} was begun {attempts} times and never finished; remove the journals on \
         both sides to begin a new run, or allow more with --max-attempts. If tasks compare partitions, their logs give the reason"
    )]
    TooManyAttempts {
        /// The partition, counted from 0.
        partition: u32,
        /// The limit on attempts.
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
        /// The reason it gave.
        reason: String,
    },
    /// A list, or an answer about it, cannot be fetched.
    #[error("{place}: {fault}")]
    Origin {
        /// Its address or path.
        place: String,
        /// The fault.
        fault: String,
    },
    /// A published list, or an answer about it, is refused.
    #[error(transparent)]
    List(#[from] vesica_list::Error),
    /// The connection or the other side failed.
    #[error(transparent)]
    Net(#[from] vesica_net::Error),
    /// In a run among several parties, an error that concerns one of them.
    #[error("{party}: {error}")]
    Party {
        /// Its name.
        party: String,
        /// The error.
        error: Box<Error>,
    },
    /// In a run among several parties, one of them is lost.
    #[error("{by} says that {party} has stopped or is lost, which ends the run of all parties")]
    Lost {
        /// The name of the party that said so.
        by: String,
        /// The name of the party that is lost.
        party: String,
    },
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

    /// Returns the error of a defect that the caller found.
    #[track_caller]
    pub fn bug(what: &'static str) -> Self {
        Self::Bug { what, at: Location::caller() }
    }

    /// Attributes this error to one of several parties.
    pub fn of_party(self, party: &str) -> Self {
        Self::Party { party: party.to_owned(), error: Box::new(self) }
    }

    /// Returns the error of a set with too many keys for the largest number of partitions.
    pub fn too_large(keys: usize, partitions: usize) -> Self {
        let most = grouped((MAX_ITEMS * partitions) as u64);
        let said = format!(
            "{} keys are too many to compare: there must be fewer than {most}, in {}",
            grouped(keys as u64),
            counted(partitions as u64, "partition"),
        );
        Self::Terms(vec![Difference::of_both("sizes of the sets", said)])
    }

    /// Converts a protocol's error, given that this side's items are distinct and no more than agreed.
    pub fn of_protocol(error: vesica_psi::Error, channel: &Channel) -> Self {
        match error {
            vesica_psi::Error::Channel(vesica_net::Error::Io { phase, source }) => {
                // The gate of this side wraps its own error in one of input and output.
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

    /// Whether the run has no result because too few keys are shared.
    pub fn is_too_few(&self) -> bool {
        matches!(self, Self::Policy(refusal) if refusal.is_too_few())
    }

    /// Returns the class of the error.
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
            Self::TooManyAttempts { .. }
            | Self::AlreadyRevealed { .. }
            | Self::Origin { .. }
            | Self::Lost { .. } => Class::Network,
            Self::List(error) => class_of_list(error),
            Self::Party { error, .. } => error.class(),
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

    /// Returns the reason to send to the other side; `None` if the other side knows it already or cannot be reached.
    pub fn abort_reason(&self) -> Option<AbortReason> {
        if let Self::Party { error, .. } = self {
            return error.abort_reason();
        }
        match self.class() {
            // To the other side it does not matter who asked this one to stop.
            _ if matches!(self, Self::Net(vesica_net::Error::Deadline { .. })) => {
                Some(AbortReason::Cancelled)
            }
            _ if matches!(self, Self::Net(vesica_net::Error::TurnLost { .. })) => {
                Some(AbortReason::Busy)
            }
            Class::Input if matches!(self, Self::Output { .. }) => Some(AbortReason::Output),
            Class::Input => Some(AbortReason::Input),
            // Usually both sides find this out at once, but a later release may know more.
            Class::Terms => Some(AbortReason::Terms),
            Class::Network
                if matches!(self, Self::TooManyAttempts { .. } | Self::AlreadyRevealed { .. }) =>
            {
                Some(AbortReason::Internal)
            }
            Class::Network => None,
            // If the other side's policy refused, it knows already.
            Class::Policy => matches!(self, Self::Policy(_)).then_some(AbortReason::Policy),
            Class::Peer => Some(AbortReason::Misbehaviour),
            Class::Cancelled => Some(AbortReason::Cancelled),
            Class::Usage | Class::Bug => Some(AbortReason::Internal),
        }
    }
}

/// Returns the class of the refusal of a list.
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

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
