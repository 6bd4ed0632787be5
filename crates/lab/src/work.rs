//! What can be run, by its name.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use vesica_ot::catalogue as ots;
use vesica_psi::{CATALOGUE, List, Protocol, Sizes};
use vesica_structures::catalogue as stores;

use crate::{Line, ot, protocol, structures};

/// A protocol, an oblivious transfer or a structure.
#[derive(Clone, Copy)]
pub enum Work {
    /// A protocol, by its key; with a filter in place of the sender's list as in `kkrt16+vacuum`.
    Protocol(Protocol),
    /// An oblivious transfer, as in `ot/np01`.
    Ot(&'static ots::Entry),
    /// Hash bins, a filter or an OKVS, as in `structure/rr22`.
    Structure(&'static stores::Entry),
}

/// One of them, how large, and over what.
#[derive(Clone, PartialEq)]
pub struct Job {
    /// What is run.
    pub work: Work,
    /// Items of the two sets; for what has but one size, both.
    pub sizes: Sizes,
    /// The line between the parties. A structure has none.
    pub line: Line,
    /// Threads of each party.
    pub threads: usize,
}

/// What a run took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// Of a protocol.
    Protocol(protocol::Record),
    /// Of oblivious transfers.
    Ot(ot::Record),
    /// Of a structure.
    Structure(structures::Record),
}

const OT: &str = "ot/";
const STRUCTURE: &str = "structure/";

impl Work {
    /// The protocol of this name.
    ///
    /// # Errors
    /// Where there is none; the message lists those there are, here and below.
    pub fn protocol(name: &str) -> Result<Self, String> {
        let (key, filter) =
            name.split_once('+').map_or((name, None), |(key, list)| (key, Some(list)));
        let entry = vesica_psi::find(key).ok_or_else(|| {
            let keys = CATALOGUE.iter().map(|entry| entry.key);
            format!("no such protocol; there are {}", listed(keys))
        })?;
        let list = match filter {
            None => List::Sorted,
            Some(name) => {
                List::FILTERS.into_iter().find(|list| list.name() == name).ok_or_else(|| {
                    format!("no such filter; there are {}", listed(List::FILTERS.map(List::name)))
                })?
            }
        };
        let with_list = entry.with_list(list).map(Self::Protocol);
        with_list.ok_or_else(|| format!("`{key}` has no list that a filter may replace"))
    }

    /// The oblivious transfer with this key.
    ///
    /// # Errors
    /// Where there is none.
    pub fn ot(key: &str) -> Result<Self, String> {
        ots::find(key).map(Self::Ot).ok_or_else(|| {
            let keys = ots::CATALOGUE.iter().map(|entry| entry.key);
            format!("no such oblivious transfer; there are {}", listed(keys))
        })
    }

    /// The structure with this key.
    ///
    /// # Errors
    /// Where there is none.
    pub fn structure(key: &str) -> Result<Self, String> {
        stores::find(key).map(Self::Structure).ok_or_else(|| {
            let keys = stores::CATALOGUE.iter().map(|entry| entry.key);
            format!("no such structure; there are {}, and `all`", listed(keys))
        })
    }

    /// Every structure.
    pub fn structures() -> Vec<Self> {
        stores::CATALOGUE.iter().map(Self::Structure).collect()
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(key) = name.strip_prefix(OT) {
            Self::ot(key)
        } else if let Some(key) = name.strip_prefix(STRUCTURE) {
            Self::structure(key)
        } else {
            Self::protocol(name)
        }
    }
}

fn listed(names: impl IntoIterator<Item = &'static str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol(protocol) => f.write_str(&protocol.name()),
            Self::Ot(entry) => write!(f, "{OT}{}", entry.key),
            Self::Structure(entry) => write!(f, "{STRUCTURE}{}", entry.key),
        }
    }
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Job {
    /// Whether a record is of this job.
    pub fn gave(&self, record: &Record) -> bool {
        match (&self.work, record) {
            (Work::Protocol(protocol), Record::Protocol(record)) => {
                record.protocol == protocol.name()
                    && record.sender_items == self.sizes.sender
                    && record.receiver_items == self.sizes.receiver
                    && record.link == self.line.to_string()
                    && record.threads == self.threads
            }
            (Work::Ot(entry), Record::Ot(record)) => {
                record.ot == entry.key
                    && record.ots == self.sizes.sender
                    && record.link == self.line.to_string()
                    && record.threads == self.threads
            }
            (Work::Structure(entry), Record::Structure(record)) => {
                record.structure == entry.key
                    && record.items == self.sizes.sender
                    && record.threads == self.threads
            }
            _ => false,
        }
    }

    /// How long its bytes alone are on the line, in seconds, as predicted.
    pub fn transfer_seconds(&self) -> f64 {
        let bytes = match self.work {
            Work::Protocol(protocol) => {
                let cost = protocol.cost(self.sizes);
                cost.bytes_to_sender.max(cost.bytes_to_receiver)
            }
            Work::Ot(entry) => {
                let bytes = (entry.bytes)(self.sizes.sender);
                bytes.to_sender.max(bytes.to_receiver) as f64
            }
            Work::Structure(_) => 0.0,
        };
        self.line.link().map_or(0.0, |link| bytes * 8.0 / link.bits_per_second as f64)
    }
}

impl Record {
    /// Whether what came out was right. Oblivious transfers are not looked at.
    pub fn correct(&self) -> bool {
        match self {
            Self::Protocol(record) => record.correct,
            Self::Ot(_) => true,
            Self::Structure(record) => record.correct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_work_and_back() {
        for name in ["kkrt16", "kkrt16+vacuum", "ot/kkrt16", "structure/rr22"] {
            assert_eq!(name.parse::<Work>().unwrap().to_string(), name);
        }
        for bad in ["", "kkrt", "rr22+vacuum+bloom", "ot/rr22", "structure/kkrt16", "ot/"] {
            bad.parse::<Work>().unwrap_err();
        }
    }
}
