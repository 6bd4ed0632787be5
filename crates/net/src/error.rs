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
    /// Nobody answered at an address.
    #[error(
        "nobody answered at {address} within {} s (last attempt: {source}); is the other side \
         listening there, and does a firewall let this through?",
        seconds(*after)
    )]
    Unreachable {
        /// The address as it was given.
        address: String,
        /// The time for which this party tried.
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
    #[error("nobody connected to {address} within {} s", seconds(*after))]
    NobodyCame {
        /// The address this party listens at.
        address: String,
        /// The time for which it waited.
        after: Duration,
    },
    /// Some of several parties have not come.
    #[error(
        "{parties} did not connect within {} s; is every party started, with the same parties and addresses?",
        seconds(*after)
    )]
    Absent {
        /// Their names.
        parties: String,
        /// The time for which this party waited.
        after: Duration,
    },
    /// The party at the other end is not the expected one.
    #[error(
        "the other side is not the expected one: expected {expected}, but it presented {presented}. \
         No data was sent. If the other party has a new identity, ask it for its fingerprint over a channel you \
         trust, such as a telephone call, before you accept it"
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
        /// The address of the proxy.
        address: String,
        /// Its answer.
        why: String,
    },
    /// A relay does not admit this party.
    #[error(
        "the relay at {address} does not admit this side; give its operator this side's fingerprint, {presented}"
    )]
    NotAdmitted {
        /// The address of the relay.
        address: String,
        /// The fingerprint of this party.
        presented: Fingerprint,
    },
    /// A relay has no place for this party at the moment.
    #[error(
        "the relay at {address} has no place for this side: it has reached its limit of pairs, or of pairs of one of \
         the two sides; try again later"
    )]
    RelayFull {
        /// The address of the relay.
        address: String,
    },
    /// A relay does not serve the address at which this party dials it.
    #[error(
        "the relay at {address} does not serve this address; use the one that its operator names, or ask the \
         operator to start it with --address {address} if this is the right one"
    )]
    OtherRelay {
        /// The address of the relay.
        address: String,
    },
    /// A relay does not admit the other party.
    #[error(
        "the relay at {address} does not admit the other side; give its operator that side's fingerprint, {peer}"
    )]
    PeerNotAdmitted {
        /// The address of the relay.
        address: String,
        /// The fingerprint of the other party.
        peer: Fingerprint,
    },
    /// The party at the other end is not one of the expected parties.
    #[error("{presented} is not one of the expected parties; no data was sent")]
    Stranger {
        /// The fingerprint of the certificate that it presented.
        presented: Fingerprint,
    },
    /// The party at the other end does not accept this party's identity.
    #[error(
        "the other side does not accept this party's identity, {presented}; it was started with \
         another fingerprint. Send it this one over a channel that both sides trust"
    )]
    Refused {
        /// The fingerprint of this party's own certificate.
        presented: Fingerprint,
    },
    /// The other side does not set up TLS in the way this program does.
    #[error(
        "no TLS 1.3 connection with the other side ({what}); is it the right program, in a matching version, with \
         TLS enabled?"
    )]
    Handshake {
        /// The cause.
        what: String,
    },
    /// The other side is the expected one, but already in a run with another process of this party.
    #[error(
        "the other side is already in a run with this party's identity; is another process of this \
         party still running?"
    )]
    InARun,
    /// A party that called is already in a run with this one.
    #[error("it is in a run with this side already, and can call again when that is over")]
    Engaged {
        /// The caller.
        caller: Fingerprint,
    },
    /// A party calls more often than its pace allows.
    #[error("it calls more often than it may, and was asked to call again later")]
    TooOften {
        /// The caller.
        caller: Fingerprint,
    },
    /// One of the two expected parties has called the other too often.
    #[error("called too often; the called side asks the caller to try again later")]
    Later,
    /// One of the two expected parties called for a run between two, and the other is there for a run among several.
    #[error(
        "one of the two sides is in a run of two parties, and the other in one of several: check that both name the same \
         agreement, or that all name all parties"
    )]
    OtherKind,
    /// A caller in a run among several has no place in this party's run.
    #[error("it is here for a run under another agreement, or of other parties")]
    OtherGathering {
        /// The caller.
        caller: Fingerprint,
    },
    /// The other side has no place for this caller.
    #[error("the other side has too many pending connections; try again later")]
    NoPlace,
    /// An unauthenticated caller was dropped because there are more callers than places.
    #[error("dropped: more than {places} unauthenticated connections are pending")]
    Crowded {
        /// The number of places.
        places: usize,
    },
    /// Something answers at an address, but not the other side.
    #[error(
        "something at {address} accepts connections, but none led to the other side within {} s (last \
         attempt: {last}); if that is a forwarder or a proxy, does the other side listen behind it?",
        seconds(*after)
    )]
    NotThrough {
        /// The address as it was given.
        address: String,
        /// The time for which this party tried.
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
        "{} contains `{file}`, which belongs to neither of the two parties; use another directory, or make sure that \
         no run uses this one and remove its `.vesica` files",
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
        "the other side did not appear in {} within {} s; does it use the same directory, and do its files arrive \
         here?",
        directory.display(), seconds(*after)
    )]
    NobodyJoined {
        /// The directory.
        directory: PathBuf,
        /// The time for which this party waited.
        after: Duration,
    },
    /// The connection ended before the run did.
    #[error("the connection was closed by the other side while {}", doing(phase))]
    Closed {
        /// The phase this party was in.
        phase: &'static str,
    },
    /// No byte moved for the whole stall timeout.
    #[error("nothing moved to or from the other side for {} s while {}", seconds(*after), doing(phase))]
    Stalled {
        /// The phase this party was in.
        phase: &'static str,
        /// The stall timeout that ran out.
        after: Duration,
    },
    /// The other side is too slow to wait for.
    #[error(
        "one message to or from the other side took more than {} s while {}: slower than any connection in use; \
         start again when the connection is better",
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
        "the run was not over after {} s, but still {}; allow more time with --deadline",
        seconds(*after), doing(phase)
    )]
    Deadline {
        /// The phase this party was in.
        phase: &'static str,
        /// The time limit of the run.
        after: Duration,
    },
    /// The other side kept this one waiting while others waited for their turn.
    #[error(
        "the other side lost its turn while {}: others are waiting, and this side had waited for it for {:.0} s",
        doing(phase), seconds(*after)
    )]
    TurnLost {
        /// The phase this party was in.
        phase: &'static str,
        /// The time for which this party had waited.
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
        /// The deviation.
        deviation: Deviation,
    },
}

/// The advice about an address that cannot be resolved.
fn resolving(address: &str) -> &'static str {
    let has_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
    match address.rsplit_once(':').is_some_and(has_port) {
        true => "check the host's name, and that this machine's name server knows it",
        false => "give it as host:port",
    }
}

impl Error {
    /// Returns the error of a transport operation that failed permanently in this phase.
    pub(crate) fn from_io(source: io::Error, phase: &'static str) -> Self {
        match source.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof => Self::Closed { phase },
            _ => Self::Io { phase, source },
        }
    }

    /// Returns the caller, if this error turned away a caller that had authenticated.
    pub fn caller(&self) -> Option<Fingerprint> {
        match self {
            Self::Engaged { caller }
            | Self::TooOften { caller }
            | Self::OtherGathering { caller } => Some(*caller),
            Self::Stranger { presented } | Self::WrongPeer { presented, .. } => Some(*presented),
            _ => None,
        }
    }

    /// Whether the other side broke the protocol, as opposed to being lost or having stopped.
    pub fn is_peer_fault(&self) -> bool {
        matches!(self, Self::Peer { .. })
    }
}

/// A violation of the protocol by the peer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Deviation {
    /// The bytes received are not a message of this program at all.
    #[error("received bytes that are not a message while waiting for `{expected}`")]
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
        /// The fault.
        what: &'static str,
    },
    /// A consistency check of a protocol failed.
    #[error("check `{check}` failed")]
    CheckFailed {
        /// The name of the check, after the step of its paper.
        check: &'static str,
    },
    /// More keep-alive messages in a row than an honest peer sends.
    #[error("more than {limit} `busy` messages in a row")]
    EndlessKeepAlive {
        /// The maximal number.
        limit: u32,
    },
}

/// The reason why a party stops, which it sends to the other before it closes. Deliberately coarse: no detail of one
/// party's data may reach the other through an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AbortReason {
    /// Its own input is not usable.
    Input,
    /// The two sides' terms differ.
    Terms,
    /// It was asked to stop.
    Cancelled,
    /// It caught this party breaking the protocol.
    Misbehaviour,
    /// It failed for an internal reason, such as a bug.
    Internal,
    /// It could not write its result.
    Output,
    /// Its policy refuses the run.
    Policy,
    /// Others are waiting for it, and this party kept it waiting for too long.
    Busy,
    /// It runs only under agreements, and this party named none that the two share.
    Agreement,
    /// In a run among several parties, it has lost the one with this number, which is below 64.
    Missing(u8),
}

/// The reasons with their codes on the wire.
const CODES: [(u8, AbortReason); 9] = [
    (1, AbortReason::Input),
    (2, AbortReason::Terms),
    (3, AbortReason::Cancelled),
    (4, AbortReason::Misbehaviour),
    (5, AbortReason::Internal),
    (6, AbortReason::Output),
    (7, AbortReason::Policy),
    (8, AbortReason::Busy),
    (9, AbortReason::Agreement),
];

/// The code of a missing party with the number 0, and the number of such codes.
const MISSING: u8 = 64;

impl AbortReason {
    /// The code on the wire.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Missing(party) => MISSING + party % MISSING,
            other => CODES.iter().find(|(_, reason)| *reason == other).map_or(5, |(code, _)| *code),
        }
    }

    /// The reason with this code; an unknown code counts as [`AbortReason::Internal`].
    pub(crate) fn from_code(code: u8) -> Self {
        if (MISSING..2 * MISSING).contains(&code) {
            return Self::Missing(code - MISSING);
        }
        CODES.iter().find(|(known, _)| *known == code).map_or(Self::Internal, |(_, reason)| *reason)
    }
}

impl std::fmt::Display for AbortReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Missing(party) => return write!(f, "party {} has stopped or is lost", party + 1),
            Self::Input => "its own input could not be used",
            Self::Terms => "its terms differ from ours",
            Self::Cancelled => "somebody asked it to stop",
            Self::Misbehaviour => "it says that we broke the protocol",
            Self::Output => "it could not write its result",
            Self::Policy => "its policy refuses the run",
            Self::Busy => "others are waiting for it, and this side kept it waiting; try again later",
            Self::Agreement => {
                "it runs only under agreements, and this run names none that both sides have; run the agreement's job"
            }
            Self::Internal => "it failed for a reason of its own",
        })
    }
}

/// Returns a duration in seconds, to a tenth: a wait may be the rest of a longer one.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::{AbortReason, CODES};

    #[test]
    fn every_reason_survives_the_wire_and_an_unknown_code_is_an_internal_failure() {
        let missing = (0..64).map(AbortReason::Missing);
        for reason in CODES.into_iter().map(|(_, reason)| reason).chain(missing) {
            assert_eq!(AbortReason::from_code(reason.code()), reason);
        }
        assert_eq!(AbortReason::from_code(0), AbortReason::Internal);
        assert_eq!(AbortReason::from_code(255), AbortReason::Internal);
    }
}
