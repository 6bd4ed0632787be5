//! The log of all states of a list: an append-only text.
//!
//! A line contains its number, counted from 1, the epoch, the number of the last part, the time of signing in seconds
//! since 1970, the state, and a hash of the previous line's hash and this line. The state depends on the terms of the
//! epoch and on all parts. If two clients have the same hash for a line, they have therefore seen the same lists up to
//! it.

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    hex::Hex,
    part::Version,
};

/// Maximum length of a log, in bytes: about two million lines.
pub const LONGEST: usize = 1 << 28;

/// Maximum length of a line, in bytes: four numbers of at most 20 digits, two hashes, and the separators.
const LONGEST_LINE: usize = 4 * 20 + 2 * 64 + 6;

/// The end of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogEnd {
    /// Number of lines.
    pub entries: u64,
    /// Hash of the last line.
    pub digest: Hex,
}

/// The end of a log, and the state of the list in its last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedState {
    /// The end of the log.
    pub end: LogEnd,
    /// The state of the list.
    pub state: Hex,
}

/// The content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The epoch.
    pub epoch: u64,
    /// The number of the last part.
    pub sequence: u64,
    /// Time of signing.
    pub issued: u64,
    /// The state of the list.
    pub state: Hex,
}

impl LogEnd {
    /// Returns the text of the next line, and the end of the log after it.
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

/// Checks a log as its bytes arrive. Each line must follow the previous one, with a later version. The log must contain
/// the line of a head, with the head's state, and not before the line seen with an earlier head, if any. Further lines
/// are allowed after it, because a newer head may be in publication.
pub struct Checker {
    /// The end of the log and the state, according to the head.
    now: LoggedState,
    known: Option<LogEnd>,
    bytes: usize,
    /// The incomplete last line.
    line: Vec<u8>,
    end: LogEnd,
    /// The version in the last line.
    version: Option<Version>,
    was_met: bool,
    is_met: bool,
}

impl Checker {
    /// Creates a checker for the log end and state of a head, and the log end seen before, if any.
    pub fn new(now: LoggedState, known: Option<LogEnd>) -> Self {
        let was_met = known.is_none_or(|known| known.entries == 0);
        let (line, end) = (Vec::new(), LogEnd::default());
        Self { now, known, bytes: 0, line, end, version: None, was_met, is_met: false }
    }

    /// Checks the next bytes, of any number.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > LONGEST {
            return Err(Error::Log("it is too long"));
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + piece.len() > LONGEST_LINE {
                return Err(Error::Log("a line is malformed"));
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line(&line)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, text: &[u8]) -> Result<()> {
        let text = std::str::from_utf8(text).ok();
        let parsed = text.and_then(|text| Some((text, parse(text)?)));
        let (text, line) = parsed.ok_or(Error::Log("a line is malformed"))?;
        let (expected, next) = self.end.append(&line);
        if expected != text {
            return Err(Error::Log("a line does not follow the one before"));
        }
        let version = Some(Version { epoch: line.epoch, sequence: line.sequence });
        if version <= self.version {
            return Err(Error::Log("a version is in it twice, or after a later one"));
        }
        (self.end, self.version) = (next, version);
        self.was_met |= self.known == Some(self.end);
        self.is_met |= self.was_met && self.now == LoggedState { end: self.end, state: line.state };
        Ok(())
    }

    /// Completes the check.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn finish(self) -> Result<()> {
        match (self.line.is_empty(), self.was_met, self.is_met) {
            (false, ..) => Err(Error::Log("its last line does not end")),
            (_, false, _) => Err(Error::Log("a line that was seen before is missing")),
            (.., false) => Err(Error::Log("the list is not in it")),
            (true, true, true) => Ok(()),
        }
    }
}

/// Checks a whole log like a [`Checker`].
///
/// # Errors
/// [`Error::Log`].
pub fn check(text: &str, now: LoggedState, known: Option<&LogEnd>) -> Result<()> {
    let mut checker = Checker::new(now, known.copied());
    checker.push(text.as_bytes())?;
    checker.finish()
}

fn parse(text: &str) -> Option<Line> {
    let mut words = text.strip_suffix('\n')?.split(' ');
    let mut number = || words.next()?.parse().ok();
    let (_, epoch, sequence, issued): (u64, _, _, _) = (number()?, number()?, number()?, number()?);
    let state = Hex::try_from(words.next()?.to_owned()).ok()?;
    Some(Line { epoch, sequence, issued, state })
}
