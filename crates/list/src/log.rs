//! The log of all states that a list had: a text to which lines are appended.
//!
//! A line is its number, counted from 1, the epoch, the number of the last part, the time of signing in seconds since 1970,
//! the state, and the hash of the line before and this one. Two clients that compare the hash of one line have seen the same
//! lists up to it.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    hex::Hex,
};

/// The longest log that is read, in bytes: about two million lines.
pub const LONGEST: usize = 1 << 28;

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEnd {
    /// How many lines it has.
    pub entries: u64,
    /// The hash of the last.
    pub digest: Hex,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The epoch.
    pub epoch: u64,
    /// The number of the last part.
    pub sequence: u64,
    /// When the head was signed.
    pub issued: u64,
    /// The state of the list.
    pub state: Hex,
}

impl LogEnd {
    /// The text of the next line, and the end of the log with it.
    pub fn append(&self, line: &Line) -> (String, Self) {
        let entries = self.entries + 1;
        let Line { epoch, sequence, issued, state } = line;
        let text = format!("{entries} {epoch} {sequence} {issued} {state}");
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list log");
        hasher.update(&self.digest.0).update(text.as_bytes());
        let digest = Hex(*hasher.finalize().as_bytes());
        (format!("{text} {digest}\n"), Self { entries, digest })
    }
}

/// Checks a whole log: each line follows the one before, and it has the line with this state at which it ended when a head
/// was signed, not before the end that was seen with another head, if any. It may go on: another head is being published.
///
/// # Errors
/// [`Error::Log`].
pub fn check(text: &str, now: (LogEnd, Hex), known: Option<&LogEnd>) -> Result<()> {
    if text.len() > LONGEST {
        return Err(Error::Log("it is too long"));
    }
    let mut end = LogEnd::default();
    let mut was_met = known.is_none_or(|known| known.entries == 0);
    let mut is_met = false;
    for text in text.split_inclusive('\n') {
        let line = parse(text).ok_or(Error::Log("a line is none"))?;
        let (expected, next) = end.append(&line);
        if expected != text {
            return Err(Error::Log("a line does not follow the one before"));
        }
        end = next;
        was_met |= known == Some(&end);
        is_met |= was_met && now == (end, line.state);
    }
    match (was_met, is_met) {
        (true, true) => Ok(()),
        (false, _) => Err(Error::Log("what was seen of it before is no longer in it")),
        (_, false) => Err(Error::Log("the list is not in it")),
    }
}

fn parse(text: &str) -> Option<Line> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let mut number = || words.next()?.parse().ok();
    let (_, epoch, sequence, issued): (u64, _, _, _) = (number()?, number()?, number()?, number()?);
    let state = Hex::try_from(words.next()?.to_owned()).ok()?;
    Some(Line { epoch, sequence, issued, state })
}
