//! What each side learned, in sentences for people who were not there.
//!
//! A task lists the facts that each side learned, and the sentences are made here. Every combination of query, side
//! and outcome is in `tests/report_sentences.txt`, for a person to read.

use serde::Serialize;

use crate::words::grouped;

/// What each side learned, and the assumption under which that is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Learned {
    /// What this side learned.
    pub me: String,
    /// What the other side learned.
    pub peer: String,
    /// The assumption under which both sentences are true.
    pub assuming: String,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Me,
    Peer,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Me => Self::Peer,
            Self::Peer => Self::Me,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Me => "this side",
            Self::Peer => "the other side",
        }
    }

    /// The name at the beginning of a sentence.
    pub(crate) fn capital(self) -> &'static str {
        match self {
            Self::Me => "This side",
            Self::Peer => "The other side",
        }
    }
}

/// The sizes of both sets, and who learns the result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sides {
    /// Distinct keys of this side.
    pub(crate) my_keys: u64,
    /// Distinct keys of the other side.
    pub(crate) peer_keys: u64,
    /// Whether this side learns the result.
    pub(crate) i_learn: bool,
    /// Whether the other side learns it.
    pub(crate) peer_learns: bool,
    /// The protocol's receiver.
    pub(crate) receiver: Side,
    /// Whether this side and the other side hold digests in place of values.
    pub(crate) hold_digests: [bool; 2],
    /// How many identifiers a row has.
    pub(crate) identifiers: usize,
}

impl Sides {
    pub(crate) fn keys(&self, side: Side) -> u64 {
        match side {
            Side::Me => self.my_keys,
            Side::Peer => self.peer_keys,
        }
    }

    pub(crate) fn learns(&self, side: Side) -> bool {
        match side {
            Side::Me => self.i_learn,
            Side::Peer => self.peer_learns,
        }
    }

    pub(crate) fn both_learn(&self) -> bool {
        self.i_learn && self.peer_learns
    }

    /// A sentence for each side, from the facts that it learned besides the size of the other's set.
    pub(crate) fn learned(&self, assuming: String, facts: impl Fn(Side) -> Vec<String>) -> Learned {
        let sentence = |side: Side| {
            let other = side.other();
            let keys = grouped(self.keys(other));
            let together = if self.identifiers > 1 { ", all identifiers together" } else { "" };
            let size = format!("how many keys {} has ({keys}{together})", other.name());
            let facts = listed(&[facts(side), vec![size]].concat());
            format!("{} learned {facts}, and nothing else.", side.capital())
        };
        let assuming = assuming + self.guessable();
        Learned { me: sentence(Side::Me), peer: sentence(Side::Peer), assuming }
    }

    /// What no protocol changes about digests that a side holds.
    fn guessable(&self) -> &'static str {
        match self.hold_digests {
            [false, false] => "",
            [true, false] => {
                " This side holds SHA-256 digests in place of identifiers: it can guess the identifiers behind them \
                 offline, with or without a run."
            }
            [false, true] => {
                " The other side holds SHA-256 digests in place of identifiers: it can guess the identifiers behind \
                 them offline, with or without a run."
            }
            [true, true] => {
                " Both sides hold SHA-256 digests in place of identifiers: each can guess the identifiers behind its \
                 own offline, with or without a run."
            }
        }
    }
}

/// The assumption of a method that is secure against semi-honest parties.
pub(crate) const FOLLOWING: &str =
    "This holds if both sides follow the protocol (semi-honest security).";

/// One, two or more things, as a sentence lists them.
fn listed(things: &[String]) -> String {
    match things {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    }
}
