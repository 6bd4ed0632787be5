//! Errors between two parties, by whose fault they are.

use std::{io, path::PathBuf, time::Duration};

use crate::{Fingerprint, phase::doing};

/// The result of making a connection, or of an operation on a [`Channel`](crate::Channel).
pub type Result<T> = std::result::Result<T, Error>;

/// A connection that could not be made, or a failed operation on a [`Channel`](crate::Channel). Errors that can
/// occur during a run name their phase.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address that is not `host:port`, or whose host is unknown.
    #[error("the address `{address}` cannot be resolved ({source}); {}", resolving(address))]
    Resolve {
        /// The address as it was given.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// No party answered at an address.
    #[error(
        "nobody answered at {address} within {} s (last attempt: {source}); is the other side \
         listening there, and does a firewall let this through?",
        after.as_secs_f64()
    )]
    Unreachable {
        /// The address as it was given.
        address: String,
        /// How long this party tried.
        after: Duration,
        /// The error of the last attempt.
        source: io::Error,
    },
    /// This party cannot listen at an address.
    #[error("cannot listen at {address}: {source}")]
    Bind {
        /// The address as it was given.
        address: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// Nobody connected to this party.
    #[error("nobody connected to {address} within {} s", after.as_secs_f64())]
    NobodyCame {
        /// The address this party listens at.
        address: String,
        /// How long it waited.
        after: Duration,
    },
    /// The party at the other end is not the expected one.
    #[error(
        "the other side is not the expected one: expected {expected}, but it presented {presented}. \
         No data was sent. If the other party has a new identity, ask it for its fingerprint by a \
         way you trust, such as a telephone call, before you accept it"
    )]
    WrongPeer {
        /// The fingerprint that this party was given.
        expected: Fingerprint,
        /// The fingerprint of the certificate that the other side presented.
        presented: Fingerprint,
    },
    /// A proxy did not connect.
    #[error("the proxy at {address} did not connect: {why}")]
    Proxy {
        /// Where the proxy is.
        address: String,
        /// What it said.
        why: String,
    },
    /// A relay does not admit this party.
    #[error(
        "the relay at {address} does not admit this side; give its operator this side's fingerprint, {presented}"
    )]
    NotAdmitted {
        /// Where the relay is.
        address: String,
        /// The fingerprint of this party.
        presented: Fingerprint,
    },
    /// A relay has no place for this party at the moment.
    #[error(
        "the relay at {address} has no place for this side: there are as many pairs as it takes, or as many of one of \
         the two sides; try again later"
    )]
    RelayFull {
        /// Where the relay is.
        address: String,
    },
    /// A relay does not go by the address at which this party dials it.
    #[error(
        "the relay at {address} does not go by this address; use the one that its operator names, or have it start the relay \
         with --address {address} if it is the right one"
    )]
    OtherRelay {
        /// Where the relay is.
        address: String,
    },
    /// A relay does not admit the other party.
    #[error(
        "the relay at {address} does not admit the other side; give its operator that side's fingerprint, {peer}"
    )]
    PeerNotAdmitted {
        /// Where the relay is.
        address: String,
        /// The fingerprint of the other party.
        peer: Fingerprint,
    },
    /// The party at the other end is none of those that are expected.
    #[error("{presented} is none of the parties that are expected; no data was sent")]
    Stranger {
        /// The fingerprint of the certificate that it presented.
        presented: Fingerprint,
    },
    /// The party at the other end does not accept this party's identity.
    #[error(
        "the other side does not accept this party's identity, {presented}; it was started with \
         another fingerprint. Tell it this one by a way that both trust"
    )]
    Refused {
        /// The fingerprint of this party's own certificate.
        presented: Fingerprint,
    },
    /// The other side does not set up TLS in the way this program does.
    #[error(
        "no TLS 1.3 connection with the other side ({what}); is it the program you mean, of a \
         matching version, and not run without TLS?"
    )]
    Handshake {
        /// What went wrong.
        what: String,
    },
    /// The other side is the expected one, but already in a run with another process of this party.
    #[error(
        "the other side is already in a run with this party's identity; is another process of this \
         party still running?"
    )]
    InARun,
    /// A party that called is in a run with this one already.
    #[error("it is in a run with this side already, and can call again when that is over")]
    Engaged {
        /// The caller.
        caller: Fingerprint,
    },
    /// A party that called does so more often than it may.
    #[error("it calls more often than it may, and was asked to call again later")]
    TooOften {
        /// The caller.
        caller: Fingerprint,
    },
    /// One of the two, which is the expected one, has called the other too often.
    #[error("called too often: the side that is called asks to be called again later")]
    Later,
    /// The other side has no place for this caller.
    #[error("the other side is busy: more callers than it has places for are waiting there")]
    NoPlace,
    /// There are more callers than places; one that has not authenticated made room.
    #[error(
        "more than {places} callers wait to show who they are, and this one made room for another"
    )]
    Crowded {
        /// The number of places.
        places: usize,
    },
    /// Something answers at an address, but not the other side.
    #[error(
        "something at {address} takes connections, but none led to the other side within {} s (last \
         attempt: {last}); if that is a forwarder or a proxy, does the other side listen behind it?",
        after.as_secs_f64()
    )]
    NotThrough {
        /// The address as it was given.
        address: String,
        /// How long this party tried.
        after: Duration,
        /// The error of the last attempt.
        last: Box<Error>,
    },
    /// A directory that cannot carry a run.
    #[error("the directory {} cannot be used: {source}", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A directory that contains files of another party.
    #[error(
        "{} holds `{file}`, which is of neither of the two parties; use another directory, or make sure \
         that no run is going on there and remove its `.vesica` files",
        directory.display()
    )]
    LeftOver {
        /// The directory.
        directory: PathBuf,
        /// The name of the first such file.
        file: String,
    },
    /// Both parties use a directory as the same side.
    #[error(
        "both sides are `--side {side}` in {}; start one of them with `--side a` and the other one with \
         `--side b`, or both without",
        directory.display()
    )]
    SameSide {
        /// The directory.
        directory: PathBuf,
        /// The side's letter.
        side: char,
    },
    /// Another process of this party uses a directory as the same side.
    #[error(
        "another process of this party is already in a run in {}, as side {side}",
        directory.display()
    )]
    SideInUse {
        /// The directory.
        directory: PathBuf,
        /// The side's letter.
        side: char,
    },
    /// The other party did not appear in a directory.
    #[error(
        "the other side did not appear in {} within {} s; does it use the same directory, and do its \
         files get here?",
        directory.display(), after.as_secs_f64()
    )]
    NobodyJoined {
        /// The directory.
        directory: PathBuf,
        /// How long this party waited.
        after: Duration,
    },
    /// The connection ended before the run did.
    #[error("the connection was closed by the other side while {}", doing(phase))]
    Closed {
        /// The phase this party was in.
        phase: &'static str,
    },
    /// No byte moved for the whole stall timeout.
    #[error("nothing moved to or from the other side for {} s while {}", after.as_secs_f64(), doing(phase))]
    Stalled {
        /// The phase this party was in.
        phase: &'static str,
        /// The stall timeout that ran out.
        after: Duration,
    },
    /// The other side makes too little progress to be waited for.
    #[error(
        "one message to or from the other side took more than {} s while {}: slower than any line in use; start again when \
         the connection is better",
        after.as_secs(), doing(phase)
    )]
    TooSlow {
        /// The phase this party was in.
        phase: &'static str,
        /// The time that a message of that size may take.
        after: Duration,
    },
    /// The run was not over by its deadline.
    #[error(
        "the run was not over after {} s, but still {}; allow it more with --deadline",
        after.as_secs_f64(), doing(phase)
    )]
    Deadline {
        /// The phase this party was in.
        phase: &'static str,
        /// The time that it had.
        after: Duration,
    },
    /// The other side kept this one waiting while others waited for their turn.
    #[error(
        "the other side lost its turn while {}: others wait for theirs, and this side had waited for it for {:.0} s",
        doing(phase), after.as_secs_f64()
    )]
    TurnLost {
        /// The phase this party was in.
        phase: &'static str,
        /// How long this party had waited.
        after: Duration,
    },
    /// This party was asked to stop.
    #[error("stopped on request while {}", doing(phase))]
    Cancelled {
        /// The phase this party was in.
        phase: &'static str,
    },
    /// The operating system or TLS refused an operation.
    #[error("the connection failed while {}: {source}", doing(phase))]
    Io {
        /// The phase this party was in.
        phase: &'static str,
        /// The error of the operating system or of TLS.
        source: io::Error,
    },
    /// The other side announced that it stops, and why.
    #[error("the other side stopped while {}: {reason}", doing(phase))]
    Aborted {
        /// The phase this party was in.
        phase: &'static str,
        /// The reason the other side gave.
        reason: AbortReason,
    },
    /// The other side broke the protocol.
    #[error("the other side broke the protocol while {}: {deviation}", doing(phase))]
    Peer {
        /// The phase this party was in.
        phase: &'static str,
        /// What it did.
        deviation: Deviation,
    },
}

/// The advice about an address that cannot be resolved.
fn resolving(address: &str) -> &'static str {
    let has_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    match address.rsplit_once(':').is_some_and(has_port) {
        true => {
            "is the name of the host right, and does this machine have a name server that knows it?"
        }
        false => "give it as host:port",
    }
}

impl Error {
    /// The error of a transport's operation that failed for good in a phase.
    pub(crate) fn from_io(source: io::Error, phase: &'static str) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof => Self::Closed { phase },
            _ => Self::Io { phase, source },
        }
    }

    /// Who called, where this is why a caller was turned away that has shown who it is.
    pub fn caller(&self) -> Option<Fingerprint> {
        match self {
            Self::Engaged { caller } | Self::TooOften { caller } => Some(*caller),
            Self::Stranger { presented } | Self::WrongPeer { presented, .. } => Some(*presented),
            _ => None,
        }
    }

    /// Whether the other side broke the protocol, as opposed to being lost or having stopped.
    pub fn is_peer_fault(&self) -> bool {
        matches!(self, Self::Peer { .. })
    }
}

/// What a peer did that the protocol does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Deviation {
    /// The bytes received are not a message of this program at all.
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
        /// The label received.
        received: String,
    },
    /// A message of a fixed length arrived with another length.
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
        /// The maximal length that both parties agreed on.
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
    /// More keep-alive messages in a row than an honest peer sends.
    #[error("more than {limit} messages in a row that only say `busy`")]
    EndlessKeepAlive {
        /// The maximal number.
        limit: u32,
    },
}

/// Why a party stops, as it tells the other before it closes. Deliberately coarse: no detail of one party's
/// data may reach the other through an error. The numbers are the codes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum AbortReason {
    /// Its own input is not usable.
    Input = 1,
    /// The two sides' terms differ.
    Terms = 2,
    /// It was asked to stop.
    Cancelled = 3,
    /// It caught this party breaking the protocol.
    Misbehaviour = 4,
    /// It failed for a reason of its own, such as a bug.
    Internal = 5,
    /// It could not write its result.
    Output = 6,
    /// Its policy refuses the run.
    Policy = 7,
    /// Others wait for it, and this party kept it waiting for too long.
    Busy = 8,
    /// It runs under agreements only, and this party named none that the two have.
    Agreement = 9,
}

impl AbortReason {
    /// The code on the wire.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The reason with this code; an unknown code counts as [`AbortReason::Internal`].
    pub(crate) fn from_code(code: u8) -> Self {
        use AbortReason::{Agreement, Busy, Cancelled, Input, Misbehaviour, Output, Policy, Terms};
        [Input, Terms, Cancelled, Misbehaviour, Output, Policy, Busy, Agreement]
            .into_iter()
            .find(|reason| reason.code() == code)
            .unwrap_or(Self::Internal)
    }
}

impl std::fmt::Display for AbortReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Input => "its own input could not be used",
            Self::Terms => "its terms differ from ours",
            Self::Cancelled => "somebody asked it to stop",
            Self::Misbehaviour => "it says that we broke the protocol",
            Self::Output => "it could not write its result",
            Self::Policy => "its policy refuses the run",
            Self::Busy => "others wait for it, and this side kept it waiting; try again later",
            Self::Agreement => {
                "it runs under agreements only, and this run names none that the two sides have: run the job of the agreement"
            }
            Self::Internal => "it failed for a reason of its own",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::AbortReason::{
        self, Agreement, Busy, Cancelled, Input, Internal, Misbehaviour, Output, Policy, Terms,
    };

    #[test]
    fn every_reason_survives_the_wire_and_an_unknown_code_is_an_internal_failure() {
        for reason in
            [Input, Terms, Cancelled, Misbehaviour, Internal, Output, Policy, Busy, Agreement]
        {
            assert_eq!(AbortReason::from_code(reason.code()), reason);
        }
        assert_eq!(AbortReason::from_code(0), Internal);
        assert_eq!(AbortReason::from_code(255), Internal);
    }
}
