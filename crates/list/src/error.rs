//! What can be wrong with a list or an answer.

use std::io;

use crate::voprf;

/// The result of an operation on a list.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a list, or an answer about it, is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The head is not that of a list, or is damaged.
    #[error("this is not the head of a published list, or it is damaged: {0}")]
    NotAHead(&'static str),
    /// The head is of another version of the format.
    #[error(
        "the list has version {0} of the format, and this release reads version 2; install the release that wrote it"
    )]
    Version(u64),
    /// The signature under the head does not hold.
    #[error("the signature under the list does not hold: it was changed after it was signed")]
    Signature,
    /// Somebody else signed it than is trusted.
    #[error("the list is signed by another publisher than the one that is trusted")]
    Publisher,
    /// It has expired.
    #[error("the list has expired, {} hours ago; the publisher has to renew it", .0.div_ceil(3600))]
    Expired(
        /// Seconds since then.
        u64,
    ),
    /// It is older than one that was seen before.
    #[error(
        "replayed: this is version {found} of epoch {epoch}, and version {known} of epoch {known_epoch} was seen before"
    )]
    Replayed {
        /// Its epoch.
        epoch: u64,
        /// Its version.
        found: u64,
        /// The epoch that was seen.
        known_epoch: u64,
        /// The version that was seen.
        known: u64,
    },
    /// Two different lists have the same version, or the terms of an epoch have changed, or a list has no
    /// line of its own in the log.
    #[error(
        "version {version} of epoch {epoch} contradicts what was seen before: the publisher shows different lists"
    )]
    Forked {
        /// Their epoch.
        epoch: u64,
        /// Their version.
        version: u64,
    },
    /// Its keys are normalised in another way than those that are asked for.
    #[error("the keys of the list are normalised as {list}, not as {asked}")]
    Profile {
        /// The list's.
        list: String,
        /// The client's.
        asked: String,
    },
    /// Other values count as empty in it than for the client.
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
    /// Its tags are too short for what it promises.
    #[error("the list has tags of {found} bits, and its size and queries need {needed}")]
    TagBits {
        /// What it has.
        found: u32,
        /// What it needs.
        needed: u32,
    },
    /// It takes more than the client allows.
    #[error("the list has {bytes} bytes, more than the {budget} that are allowed")]
    TooLarge {
        /// What it has.
        bytes: u64,
        /// What it may have.
        budget: u64,
    },
    /// A part is not what the head says.
    #[error("part {sequence} of the list {fault}")]
    Part {
        /// The part's number.
        sequence: u64,
        /// What is wrong.
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
    /// The log of lists is not the one that was seen before, with more at its end.
    #[error("the log of published lists was changed: {0}")]
    Log(&'static str),
    /// The answer is about another epoch.
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
    /// The kept copy of a part was changed after it was checked.
    #[error(
        "the copy of part {sequence} of the list that is kept here was damaged on this machine; it has been removed, and the \
         next call fetches it again"
    )]
    Damaged {
        /// The part's number.
        sequence: u64,
    },
    /// What was stored of a part cannot be read.
    #[error("a stored part of the list cannot be read: {0}")]
    Read(io::ErrorKind),
}

/// What is wrong with a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Bytes are missing or too many.
    #[error("is truncated, or longer than the head says")]
    Length,
    /// Bytes differ from those that were signed.
    #[error("is forged or damaged: its bytes are not those that the publisher signed")]
    Digest,
    /// The publisher signed what is no part.
    #[error("is malformed, although the publisher signed it")]
    Malformed,
}
