//! What can go wrong between two parties, and whose fault it is.

use std::{io, time::Duration};

/// The result of an operation on a [`Channel`](crate::Channel).
pub type Result<T> = std::result::Result<T, Error>;

/// A failed operation on a [`Channel`](crate::Channel). Each variant names the phase it happened in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The connection ended before the run did.
    #[error("the connection was closed by the other side during phase `{phase}`")]
    Closed {
        /// The phase this party was in.
        phase: &'static str,
    },
    /// No byte moved for the whole stall timeout.
    #[error("the other side has been silent for {} s during phase `{phase}`", after.as_secs_f64())]
    Stalled {
        /// The phase this party was in.
        phase: &'static str,
        /// The stall timeout that ran out.
        after: Duration,
    },
    /// This party was asked to stop.
    #[error("stopped on request during phase `{phase}`")]
    Cancelled {
        /// The phase this party was in.
        phase: &'static str,
    },
    /// The operating system or TLS refused an operation.
    #[error("the connection failed during phase `{phase}`: {source}")]
    Io {
        /// The phase this party was in.
        phase: &'static str,
        /// What the operating system or TLS said.
        source: io::Error,
    },
    /// The other side said that it stops, and why.
    #[error("the other side stopped during phase `{phase}`: {reason}")]
    Aborted {
        /// The phase this party was in.
        phase: &'static str,
        /// The reason the other side gave.
        reason: AbortReason,
    },
    /// The other side broke the protocol.
    #[error("the other side broke the protocol during phase `{phase}`: {deviation}")]
    Peer {
        /// The phase this party was in.
        phase: &'static str,
        /// What it did.
        deviation: Deviation,
    },
}

impl Error {
    /// Whether the other side broke the protocol, as opposed to being lost or having stopped.
    pub fn is_peer_fault(&self) -> bool {
        matches!(self, Self::Peer { .. })
    }
}

/// What a peer did that the protocol does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Deviation {
    /// The bytes received are not a message of ours at all.
    #[error("received bytes that are no message while waiting for `{expected}`")]
    NotAMessage {
        /// The label of the step this party is at.
        expected: &'static str,
    },
    /// A message of another step.
    #[error("expected message `{expected}`, received `{received}`")]
    UnexpectedLabel {
        /// The label of the step this party is at.
        expected: &'static str,
        /// The label that came.
        received: String,
    },
    /// A message of a fixed length came with another length.
    #[error("message `{label}` must have {expected} bytes, announced {received}")]
    WrongLength {
        /// The label of the message.
        label: &'static str,
        /// The length both parties agreed on.
        expected: u64,
        /// The length announced.
        received: u64,
    },
    /// A message of variable length is longer than agreed.
    #[error("message `{label}` may have at most {max} bytes, announced {received}")]
    TooLong {
        /// The label of the message.
        label: &'static str,
        /// The most both parties agreed on.
        max: u64,
        /// The length announced.
        received: u64,
    },
    /// The right length, but not a valid encoding.
    #[error("message `{label}` is malformed: {what}")]
    Malformed {
        /// The label of the message.
        label: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A consistency check of a protocol failed.
    #[error("check `{check}` failed")]
    CheckFailed {
        /// The name of the check, after the step of its paper.
        check: &'static str,
    },
    /// More "still busy" messages in a row than an honest peer sends.
    #[error("more than {limit} messages in a row that only say `busy`")]
    BusyForever {
        /// The most that is put up with.
        limit: u32,
    },
}

/// Why a party stops, as it tells the other before it closes. Deliberately coarse: no detail of one
/// party's data may reach the other by way of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbortReason {
    /// Its own input could not be used.
    Input,
    /// The two sides' terms differ.
    Terms,
    /// Somebody asked it to stop.
    Cancelled,
    /// It caught this party breaking the protocol.
    Misbehaviour,
    /// It failed for a reason of its own: its disk, its memory, or a bug.
    Internal,
}

impl AbortReason {
    /// All reasons with their code on the wire.
    const CODES: [(Self, u8); 5] = [
        (Self::Input, 1),
        (Self::Terms, 2),
        (Self::Cancelled, 3),
        (Self::Misbehaviour, 4),
        (Self::Internal, 5),
    ];

    /// The code on the wire.
    pub(crate) fn code(self) -> u8 {
        Self::CODES.iter().find(|(reason, _)| *reason == self).map_or(0, |(_, code)| *code)
    }

    /// The reason of a code; an unknown one counts as [`AbortReason::Internal`].
    pub(crate) fn from_code(code: u8) -> Self {
        Self::CODES.iter().find(|(_, c)| *c == code).map_or(Self::Internal, |(reason, _)| *reason)
    }
}

impl std::fmt::Display for AbortReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Input => "its own input could not be used",
            Self::Terms => "its terms differ from ours",
            Self::Cancelled => "somebody asked it to stop",
            Self::Misbehaviour => "it says that we broke the protocol",
            Self::Internal => "it failed for a reason of its own",
        })
    }
}
