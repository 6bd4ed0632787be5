//! A line of a ledger.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vesica_core::{
    error::Class,
    moment::Moment,
    of_others::OfOthers,
    parties::Role,
    words::{counted, grouped},
};
use vesica_keyset::sketch::Sketch;
use vesica_task::disclosure::{Disclosure, words::Names};

use super::{party::Party, signed::hex};

/// A line without its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Lines before this one.
    pub number: u64,
    /// SHA-256 of the line before it, in hexadecimal; the hash of no bytes for the first line.
    pub previous: String,
    /// The time at which it was added.
    pub time: Moment,
    /// The hash of the agreement.
    pub agreement: String,
    /// The name of the agreement.
    pub name: String,
    /// The other parties.
    pub peer: OfOthers<String>,
    /// The owner of the ledger, in its first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Party>,
    /// The event.
    pub event: LedgerEvent,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum LedgerEvent {
    /// A run began: sizes are known, and nothing else is revealed yet.
    Began {
        /// Distinct keys of this side.
        keys: u64,
        /// Distinct keys of each other party.
        peer_keys: OfOthers<u64>,
        /// This side's set, as the ledger keeps it.
        sketch: KeptSet,
        /// The ledger of each other party, as reported when the run began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_ledger: Option<OfOthers<LedgerHead>>,
    },
    /// A run resumed after an interruption.
    WentOn {
        /// The number of the line at which it began.
        run: u64,
        /// The number of times it was started, this time included.
        session: u64,
    },
    /// A policy refused a run, or its result.
    Refused {
        /// The number of the line at which the run began, if it had begun.
        run: Option<u64>,
        /// The rule.
        rule: String,
        /// The reason.
        reason: String,
    },
    /// A run failed for another reason.
    Failed {
        /// The number of the line at which the run began, if it had begun.
        run: Option<u64>,
        /// The side at fault.
        class: Class,
        /// The reason.
        reason: String,
    },
    /// A result is about to be revealed to a side that learns it.
    Revealed {
        /// The number of the line at which the run began.
        run: u64,
        /// Shared keys.
        matches: u64,
    },
    /// This side revoked the agreement: no run under it may begin or resume from now on.
    Revoked {},
    /// A run ended with a result.
    Succeeded {
        /// The number of the line at which the run began.
        run: u64,
        /// Shared keys, if this side knows their number.
        matches: Option<u64>,
        /// The disclosure to both sides, as this side knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        disclosure: Option<Box<Disclosure>>,
        /// This side's role in that disclosure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Role>,
        /// In a run among several, in place of both: the sentences on this party and on the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        learned: Option<String>,
        /// SHA-256 of the record that all parties signed.
        record: String,
        /// The ledger of each other party, as in the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_ledger: Option<OfOthers<LedgerHead>>,
    },
}

/// A set in the form that a ledger keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeptSet {
    /// Its sketch.
    Sketch(Box<Sketch>),
    /// The number of an earlier line under the same agreement that has the same set.
    Line(u64),
}

impl LedgerEvent {
    /// Returns the number of the line at which the run began, for a line about a run that had already begun.
    pub fn run(&self) -> Option<u64> {
        match self {
            Self::WentOn { run, .. } | Self::Revealed { run, .. } | Self::Succeeded { run, .. } => {
                Some(*run)
            }
            Self::Refused { run, .. } | Self::Failed { run, .. } => *run,
            Self::Began { .. } | Self::Revoked {} => None,
        }
    }

    /// Describes the event in a sentence without its final full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::Began { keys, peer_keys, .. } => {
                let there: Vec<_> = peer_keys.iter().map(|keys| grouped(*keys)).collect();
                format!("{} here, {} there", counted(*keys, "key"), there.join(" and "))
            }
            Self::WentOn { run, session } => {
                format!("the run of line {run} resumed; it was started {session} times")
            }
            Self::Revealed { matches, .. } => {
                format!("about to reveal {}", counted(*matches, "match"))
            }
            Self::Refused { rule, reason, .. } => format!("{rule}: {reason}"),
            Self::Failed { reason, .. } => reason.clone(),
            Self::Revoked {} => "this side revoked the agreement".to_owned(),
            Self::Succeeded { learned: Some(learned), .. } => learned.clone(),
            Self::Succeeded { disclosure: Some(disclosure), role: Some(role), .. } => {
                disclosure.brief(*role, &Names::of_reader(*role))
            }
            Self::Succeeded { matches, .. } => match matches {
                Some(matches) => counted(*matches, "match"),
                None => {
                    "the line of an earlier release does not say who learned the result".to_owned()
                }
            },
        }
    }

    /// Names the event in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Began { .. } => "began",
            Self::WentOn { .. } => "went on",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Revealed { .. } => "revealed",
            Self::Revoked {} => "revoked",
            Self::Succeeded { .. } => "succeeded",
        }
    }

    /// Returns a key that is equal for similar calls that failed before a run began; `None` for everything else.
    pub(super) fn call(&self) -> Option<String> {
        match self {
            Self::Refused { run: None, rule, .. } => Some(format!("refused {rule}")),
            Self::Failed { run: None, class, .. } => Some(format!("failed {class:?}")),
            _ => None,
        }
    }
}

/// The newest line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerHead {
    /// The number of lines.
    pub lines: u64,
    /// SHA-256 of the newest line, in hexadecimal; the hash of no bytes if there are no lines.
    pub hash: String,
}

impl LedgerHead {
    /// Bytes of a head on the wire: the number of lines, and the hash.
    pub(super) const BYTES: usize = 8 + 32;

    /// Encodes a head for the wire.
    pub(super) fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.lines.to_le_bytes());
        if let Ok(hash) = blake3::Hash::from_hex(&self.hash) {
            bytes[8..].copy_from_slice(hash.as_bytes());
        }
        bytes
    }

    /// Decodes a head from the wire.
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (lines, hash) = bytes.split_at(8);
        let mut count = [0; 8];
        count.copy_from_slice(lines);
        Self { lines: u64::from_le_bytes(count), hash: hex(hash) }
    }
}

impl Default for LedgerHead {
    fn default() -> Self {
        Self { lines: 0, hash: hex(&Sha256::digest(b"")) }
    }
}
