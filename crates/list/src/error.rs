//! Errors of lists and answers.

use std::io;

use crate::voprf;

/// The result of an operation on a list.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a list, or an answer about it, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is not the head of a list, or it is damaged.
    #[error("this is not the head of a published list, or it is damaged: {0}")]
    NotAHead(&'static str),
    /// The head has another version of the format.
    #[error(
        "the list has version {0} of the format, and this release reads version 2; install the release that wrote it"
    )]
    Version(u64),
    /// The signature of the head is invalid.
    #[error("the signature under the list does not hold: it was changed after it was signed")]
    Signature,
    /// The signer is not the trusted publisher.
    #[error("the list is signed by another publisher than the one that is trusted")]
    Publisher,
    /// The list has expired.
    #[error("the list has expired, {} hours ago; the publisher has to renew it", .0.div_ceil(3600))]
    Expired(
        /// Seconds since expiry.
        u64,
    ),
    /// The head is older than one seen before.
    #[error(
        "replayed: this is version {found} of epoch {epoch}, and version {known} of epoch {known_epoch} was seen before"
    )]
    Replayed {
        /// Its epoch.
        epoch: u64,
        /// Its version.
        found: u64,
        /// The epoch seen before.
        known_epoch: u64,
        /// The version seen before.
        known: u64,
    },
    /// Two different lists have the same version, the terms of an epoch have changed, or a list does not have its own
    /// line in the log.
    #[error(
        "version {version} of epoch {epoch} contradicts what was seen before: the publisher shows different lists"
    )]
    Forked {
        /// Epoch of both.
        epoch: u64,
        /// Version of both.
        version: u64,
    },
    /// The list's keys are normalised differently from the client's.
    #[error("the keys of the list are normalised as {list}, not as {asked}")]
    Profile {
        /// The list's.
        list: String,
        /// The client's.
        asked: String,
    },
    /// The list and the client count different values as empty.
    #[error(
        "the list counts other values as empty than this client: {list} only in the list, {here} only here; if that is \
         right, name the list's with --null-values, or `nullValues` in a browser"
    )]
    NullValues {
        /// Values that only the list counts as empty.
        list: String,
        /// Values that only the client counts as empty.
        here: String,
    },
    /// The tags are too short for the list's size and number of queries.
    #[error("the list has tags of {found} bits, and its size and queries need {needed}")]
    TagBits {
        /// Bits of a tag.
        found: u32,
        /// Bits required.
        needed: u32,
    },
    /// The list is larger than the client allows.
    #[error("the list has {bytes} bytes, more than the {budget} that are allowed")]
    TooLarge {
        /// Size of the list.
        bytes: u64,
        /// Maximum size.
        budget: u64,
    },
    /// A part differs from the head's description.
    #[error("part {sequence} of the list {fault}")]
    Part {
        /// The part's number.
        sequence: u64,
        /// The fault in the part.
        fault: Fault,
    },
    /// A part does not continue the list.
    #[error("a delta is out of order: after part {after} comes {found}")]
    OutOfOrder {
        /// The part before it.
        after: u64,
        /// The part that was found.
        found: u64,
    },
    /// The log does not extend the log seen before.
    #[error("the log of published lists was changed: {0}")]
    Log(&'static str),
    /// The answer belongs to another epoch.
    #[error(
        "the server answers for epoch {found}, and the list is of epoch {expected}; fetch the list again"
    )]
    Epoch {
        /// The answer's.
        found: u64,
        /// The list's.
        expected: u64,
    },
    /// The answer is refused.
    #[error(transparent)]
    Oprf(#[from] voprf::Error),
    /// The stored copy of a part changed after it was checked.
    #[error(
        "the copy of part {sequence} of the list that is kept here was damaged on this machine; it has been removed, and the \
         next call fetches it again"
    )]
    Damaged {
        /// The part's number.
        sequence: u64,
    },
    /// A stored part cannot be read.
    #[error("a stored part of the list cannot be read: {0}")]
    Read(io::ErrorKind),
}

/// A fault in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes are missing, or there are too many.
    #[error("is truncated, or longer than the head says")]
    Length,
    /// The bytes differ from the signed ones.
    #[error("is forged or damaged: its bytes are not those that the publisher signed")]
    Digest,
    /// The publisher signed a malformed part.
    #[error("is malformed, although the publisher signed it")]
    Malformed,
}
