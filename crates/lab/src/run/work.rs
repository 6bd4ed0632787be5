//! Everything that can be run, by name.

use std::{borrow::Cow, fmt, mem::discriminant, str::FromStr};

use crate::catalogue::ot as ots;
use crate::catalogue::structures as stores;
use serde::{Deserialize, Serialize};
use vesica_net::connect::MAX_PARTIES;
use vesica_planner::{Candidate, Figures, Planner};
use vesica_psi::{
    CATALOGUE, List, Protocol, Sizes,
    aggregate::{self as answers, METHODS, Method},
};

use crate::{
    Line,
    catalogue::primitives,
    run::{
        answer::{self, ANSWER},
        joint, ot, protocol, structures,
    },
};

/// A protocol, or a part of protocols.
#[derive(Clone, Copy)]
pub enum Work {
    /// A protocol, by its key, or with a filter instead of the sender's list, as in `kkrt16+vacuum`.
    Protocol(Protocol),
    /// A method that computes a number, as in `answer/dh-count`.
    Answer(&'static Method),
    /// The rows that this number of parties share, as in `joint/3`.
    Joint(usize),
    /// An oblivious transfer, as in `ot/np01`.
    Ot(&'static ots::Entry),
    /// Hash bins, a filter or an OKVS, as in `structure/rr22`.
    Structure(&'static stores::Entry),
    /// A hash, a cipher, a generator or a pseudo-random function, as in `primitive/sha-256`.
    Primitive(&'static primitives::Entry),
}

/// Work with its sizes, link and threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// The work.
    pub work: Work,
    /// Items of the two sets. For work with only one size, both are that size. For a primitive, bits of its output.
    pub sizes: Sizes,
    /// The link between the parties. Structures and primitives do not use one.
    pub line: Line,
    /// Threads of each party.
    pub threads: usize,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// For a protocol, or a method that computes a number.
    Protocol(protocol::Record),
    /// For several parties.
    Joint(joint::Record),
    /// Of oblivious transfers.
    Ot(ot::Record),
    /// Of a structure.
    Structure(structures::Record),
    /// Of a primitive.
    Primitive(primitives::Record),
}

const JOINT: &str = "joint/";
const OT: &str = "ot/";
const STRUCTURE: &str = "structure/";
const PRIMITIVE: &str = "primitive/";

impl Work {
    /// Returns the protocol with this name.
    ///
    /// # Errors
    /// If it does not exist. The message lists the existing ones, here and below.
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

    /// Returns the method with this key.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn answer(key: &str) -> Result<Self, String> {
        answers::find(key).map(Self::Answer).ok_or_else(|| {
            let keys = METHODS.iter().map(|method| method.key);
            format!("no such method; there are {}", listed(keys))
        })
    }

    /// Returns the search for the rows that this number of parties share.
    ///
    /// # Errors
    /// If it is not a number of parties.
    pub fn joint(parties: &str) -> Result<Self, String> {
        let number = parties.parse().ok().filter(|number| (2..=MAX_PARTIES).contains(number));
        number.map(Self::Joint).ok_or_else(|| {
            format!("`{parties}` is not a number of parties: write 2 to {MAX_PARTIES}")
        })
    }

    /// Returns the oblivious transfer with this key.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn ot(key: &str) -> Result<Self, String> {
        ots::find(key).map(Self::Ot).ok_or_else(|| {
            let keys = ots::CATALOGUE.iter().map(|entry| entry.key);
            format!("no such oblivious transfer; there are {}", listed(keys))
        })
    }

    /// Returns the structure with this key.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn structure(key: &str) -> Result<Self, String> {
        stores::find(key).map(Self::Structure).ok_or_else(|| {
            let keys = stores::CATALOGUE.iter().map(|entry| entry.key);
            format!("no such structure; there are {}, and `all`", listed(keys))
        })
    }

    /// Returns the primitive with this key.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn primitive(key: &str) -> Result<Self, String> {
        primitives::find(key).map(Self::Primitive).ok_or_else(|| {
            let keys = primitives::CATALOGUE.iter().map(|entry| entry.key);
            format!("no such primitive; there are {}, and `all`", listed(keys))
        })
    }

    /// Returns every structure.
    pub fn structures() -> Vec<Self> {
        stores::CATALOGUE.iter().map(Self::Structure).collect()
    }

    /// Returns every primitive.
    pub fn primitives() -> Vec<Self> {
        primitives::CATALOGUE.iter().map(Self::Primitive).collect()
    }

    /// Returns its key in its own list, as used by its flag on the command line.
    pub fn key(&self) -> Cow<'static, str> {
        match self {
            Self::Protocol(protocol) => protocol.name(),
            Self::Answer(method) => method.key.into(),
            Self::Joint(parties) => parties.to_string().into(),
            Self::Ot(entry) => entry.key.into(),
            Self::Structure(entry) => entry.key.into(),
            Self::Primitive(entry) => entry.key.into(),
        }
    }
}

impl FromStr for Work {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if let Some(key) = name.strip_prefix(ANSWER) {
            Self::answer(key)
        } else if let Some(parties) = name.strip_prefix(JOINT) {
            Self::joint(parties)
        } else if let Some(key) = name.strip_prefix(OT) {
            Self::ot(key)
        } else if let Some(key) = name.strip_prefix(STRUCTURE) {
            Self::structure(key)
        } else if let Some(key) = name.strip_prefix(PRIMITIVE) {
            Self::primitive(key)
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
        let kind = match self {
            Self::Protocol(_) => "",
            Self::Answer(_) => ANSWER,
            Self::Joint(_) => JOINT,
            Self::Ot(_) => OT,
            Self::Structure(_) => STRUCTURE,
            Self::Primitive(_) => PRIMITIVE,
        };
        write!(f, "{kind}{}", self.key())
    }
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other) && self.key() == other.key()
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Job {
    /// Returns whether a record belongs to this job.
    pub fn gave(&self, record: &Record) -> bool {
        match (self.work, record) {
            (Work::Protocol(_) | Work::Answer(_), Record::Protocol(record)) => {
                let of_answer = record.protocol.strip_prefix(ANSWER);
                let key = match self.work {
                    Work::Answer(_) => of_answer,
                    _ => Some(record.protocol.as_str()),
                };
                key == Some(&*self.work.key())
                    && record.sender_items == self.sizes.sender
                    && record.receiver_items == self.sizes.receiver
                    && record.link == self.line.to_string()
                    && record.threads == self.threads
            }
            (Work::Joint(parties), Record::Joint(record)) => {
                record.parties == parties
                    && record.other_items == self.sizes.sender
                    && record.leader_items == self.sizes.receiver
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
            (Work::Primitive(entry), Record::Primitive(record)) => {
                record.primitive == entry.key && record.bits == self.sizes.sender
            }
            _ => false,
        }
    }

    /// Predicts the time for transferring only its bytes over the link, in seconds.
    pub fn transfer_seconds(&self) -> f64 {
        let cost = |cost: vesica_psi::Cost| cost.bytes_to_sender.max(cost.bytes_to_receiver);
        let bytes = match self.work {
            Work::Protocol(protocol) => cost(protocol.cost(self.sizes)),
            Work::Answer(method) => cost((method.cost)(answer::query(method, self.sizes))),
            Work::Ot(entry) => {
                let bytes = (entry.bytes)(self.sizes.sender);
                bytes.to_sender.max(bytes.to_receiver) as f64
            }
            Work::Joint(parties) => joint::leader_bytes(parties, self.sizes),
            Work::Structure(_) | Work::Primitive(_) => 0.0,
        };
        self.line.link().map_or(0.0, |link| bytes * 8.0 / link.bits_per_second as f64)
    }

    /// Returns the planner's candidate for this work, or `None` if there is none.
    pub fn candidate(&self) -> Option<Candidate> {
        match self.work {
            Work::Protocol(protocol) => Some(Candidate::protocol(&protocol, self.sizes)),
            Work::Answer(method) => {
                Some(Candidate::method(method, answer::query(method, self.sizes)))
            }
            Work::Joint(_) | Work::Ot(_) | Work::Structure(_) | Work::Primitive(_) => None,
        }
    }

    /// Returns the time of a run by these figures, in seconds, or `None` if no such run was ever measured.
    pub fn expected_seconds(&self, figures: &Figures) -> Option<f64> {
        let planner = Planner { figures: figures.clone(), ..Planner::new(self.line.link()) };
        Some(planner.predict(&self.candidate()?)?.seconds)
    }
}

impl Record {
    /// Returns whether the result was correct. Results of oblivious transfers and primitives are not checked.
    pub fn correct(&self) -> bool {
        match self {
            Self::Protocol(record) => record.correct,
            Self::Joint(record) => record.correct,
            Self::Ot(_) | Self::Primitive(_) => true,
            Self::Structure(record) => record.correct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_work_and_back() {
        for name in [
            "kkrt16",
            "kkrt16+vacuum",
            "answer/dh-count",
            "joint/3",
            "ot/kkrt16",
            "structure/rr22",
            "primitive/sha-256",
        ] {
            assert_eq!(name.parse::<Work>().unwrap().to_string(), name);
        }
        for bad in [
            "",
            "kkrt",
            "rr22+vacuum+bloom",
            "ot/rr22",
            "structure/kkrt16",
            "ot/",
            "joint/1",
            "joint/33",
        ] {
            bad.parse::<Work>().unwrap_err();
        }
    }
}
