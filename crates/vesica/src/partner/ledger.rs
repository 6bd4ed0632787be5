//! What this side did with its partners: a file to which lines are only ever added.
//!
//! A line is JSON. It holds its number, the SHA-256 of the line before it, and what happened, and it is signed by this
//! side's identity: so no line can be changed, moved, added or taken out by anybody else without being found. Lines cut
//! off at the end are found where a [record](super::record::Record) is at hand, which names the newest line of both sides'
//! ledgers; the other side has a copy of each.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vesica_net::{Certificate, Fingerprint, Identity};

use super::{
    checked::{self, Checked},
    history::{History, Runs},
    moment::Moment,
    signed::hex,
    sketch::Sketch,
};
use crate::error::{Class, Error, Result};

/// What comes before a line in what is signed.
const CONTEXT: &[u8] = b"vesica 1 line of a ledger\n";

/// The longest line, in bytes; one with a sketch has about 6,000.
const LONGEST_LINE: usize = 1 << 16;

/// A line without its signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Lines before this one.
    pub number: u64,
    /// SHA-256 of the line before it, as hexadecimal digits; of nothing, for the first.
    pub previous: String,
    /// When it was added.
    pub time: Moment,
    /// The hash of the agreement.
    pub agreement: String,
    /// The name of the agreement.
    pub name: String,
    /// The other side.
    pub peer: String,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// A run began: sizes are known, and nothing is told yet.
    Began {
        /// Distinct keys of this side.
        keys: u64,
        /// Distinct keys of the other side.
        peer_keys: u64,
        /// What is kept of this side's set.
        sketch: KeptSet,
        /// The other side's ledger, as it said when the run began.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_ledger: Option<Head>,
    },
    /// A run goes on after an interruption.
    WentOn {
        /// The number of the line where it began.
        run: u64,
        /// How often it was started, this time included.
        session: u64,
    },
    /// A policy refused a run, or its result.
    Refused {
        /// The number of the line where the run began, if it had.
        run: Option<u64>,
        /// The rule.
        rule: String,
        /// The reason.
        reason: String,
    },
    /// A run failed for another reason.
    Failed {
        /// The number of the line where the run began, if it had.
        run: Option<u64>,
        /// Whose fault it was.
        class: Class,
        /// The reason.
        reason: String,
    },
    /// A result is about to be revealed to a side that learns it.
    Revealed {
        /// The number of the line where the run began.
        run: u64,
        /// Shared keys.
        matches: u64,
    },
    /// A run ended with a result.
    Succeeded {
        /// The number of the line where the run began.
        run: u64,
        /// Shared keys, where this side knows them.
        matches: Option<u64>,
        /// SHA-256 of the record that both sides signed.
        record: String,
        /// The other side's ledger, as the record says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer_ledger: Option<Head>,
    },
}

/// A set as a ledger keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeptSet {
    /// Its sketch.
    Sketch(Box<Sketch>),
    /// The number of an earlier line under the same agreement, which has the same set.
    Line(u64),
}

impl Event {
    /// What happened, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Began { .. } => "began",
            Self::WentOn { .. } => "went on",
            Self::Refused { .. } => "refused",
            Self::Failed { .. } => "failed",
            Self::Revealed { .. } => "revealed",
            Self::Succeeded { .. } => "succeeded",
        }
    }

    /// What makes two calls alike that failed before a run began; `None` for everything else.
    pub(super) fn call(&self) -> Option<String> {
        match self {
            Self::Refused { run: None, rule, .. } => Some(format!("refused {rule}")),
            Self::Failed { run: None, class, .. } => Some(format!("failed {class:?}")),
            _ => None,
        }
    }
}

/// A line as it stands in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    entry: Entry,
    signature: String,
}

/// The newest line of a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// How many lines there are.
    pub lines: u64,
    /// SHA-256 of the newest, as hexadecimal digits; of nothing, where there is none.
    pub hash: String,
}

impl Head {
    /// Bytes of a head on the wire: the number of lines, and the hash.
    pub(super) const BYTES: usize = 8 + 32;

    /// A head as it travels.
    pub(super) fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.lines.to_le_bytes());
        if let Ok(hash) = blake3::Hash::from_hex(&self.hash) {
            bytes[8..].copy_from_slice(hash.as_bytes());
        }
        bytes
    }

    /// A head that has travelled.
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (lines, hash) = bytes.split_at(8);
        let mut count = [0; 8];
        count.copy_from_slice(lines);
        Self { lines: u64::from_le_bytes(count), hash: hex(hash) }
    }
}

impl Default for Head {
    fn default() -> Self {
        Self { lines: 0, hash: hex(&Sha256::digest(b"")) }
    }
}

/// The ledger of this side. It is locked while it is read or added to, and never for longer.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// The ledger in this file, which is created when the first line is added.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all lines, and checks that they are those that this party added, in order, with every signature.
    ///
    /// # Errors
    /// [`Error::Ledger`], with the first line that is not.
    pub fn read(&self, of: &Certificate) -> Result<(Vec<Entry>, Head)> {
        self.check_all(&self.text()?, of)
    }

    /// As [`Ledger::read`], of this text.
    pub(crate) fn check_all(&self, text: &str, of: &Certificate) -> Result<(Vec<Entry>, Head)> {
        let (entries, head) = self.check(text, Head::default(), of)?;
        // With the chain in order, the first line that is not this party's is the one to name.
        for (number, line) in text.lines().enumerate() {
            check_line(line, of)
                .map_err(|what| self.fault(format!("line {} {what}", number + 1)))?;
        }
        Ok((entries, head))
    }

    /// Reads what the runs of all lines come to, and the newest line. Lines that were checked before are not read again.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub(crate) fn history(&self, me: &Identity) -> Result<(History, Head)> {
        let failed = |error: io::Error| self.fault(error.to_string());
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Checked { history, head, .. } =
                    Checked::read(&self.path, me, 0).map_err(|fault| self.fault(fault))?;
                return Ok((history, head));
            }
            opened => opened.map_err(failed)?,
        };
        file.lock_shared().map_err(failed)?;
        let (checked, _) = self.look(&mut file, me)?;
        Ok((checked.history, checked.head))
    }

    /// Checks the lines after those that were checked before: the chain of hashes, and the signature of the last line, which
    /// is of the whole chain. Returns also how many bytes there were to read.
    fn look(&self, file: &mut File, me: &Identity) -> Result<(Checked, u64)> {
        let failed = |error: io::Error| self.fault(error.to_string());
        let end = file.metadata().map_err(failed)?.len();
        let mut checked = Checked::read(&self.path, me, end).map_err(|fault| self.fault(fault))?;
        let start = checked.end;
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let text = self.text_of(file)?;
        let (entries, head) = self.check(&text, checked.head, &me.certificate())?;
        entries.iter().for_each(|entry| checked.history.add(entry));
        let read = text.len() as u64;
        Ok((Checked { head, end: start + read, ..checked }, read))
    }

    /// What is in the file; nothing where there is none.
    fn text(&self) -> Result<String> {
        let failed = |error: io::Error| self.fault(error.to_string());
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            opened => opened.map_err(failed)?,
        };
        file.lock_shared().map_err(failed)?;
        self.text_of(&mut file)
    }

    fn text_of(&self, file: &mut File) -> Result<String> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => {
                self.fault("it is not text, so it is no ledger or a damaged one")
            }
            _ => self.fault(error.to_string()),
        })?;
        Ok(text)
    }

    /// The lines of a text, which follow on a line.
    fn check(&self, text: &str, after: Head, of: &Certificate) -> Result<(Vec<Entry>, Head)> {
        let (mut entries, mut head) = (Vec::new(), after.clone());
        for line in text.split_inclusive('\n') {
            let number = head.lines + 1;
            let changed = |what: &str| self.fault(format!("line {number} {what}"));
            let line = line.strip_suffix('\n').ok_or_else(|| {
                changed("is not complete, as after a crash or a full disk; remove that line")
            })?;
            let entry = read_line(line).map_err(changed)?.entry;
            if entry.number != head.lines || entry.previous != head.hash {
                // A line that was changed breaks the chain after it.
                let before = entries.len();
                let changed_before =
                    text.lines().take(before).position(|l| check_line(l, of).is_err());
                return Err(match changed_before {
                    Some(line) => {
                        self.fault(format!("line {} {CHANGED}", after.lines + line as u64 + 1))
                    }
                    None => changed(
                        "does not follow on the line before it: lines were taken out, added or moved",
                    ),
                });
            }
            head = Head { lines: number, hash: hex(&Sha256::digest(line)) };
            entries.push(entry);
        }
        if let Some(last) = text.lines().last() {
            let failed = |what: &str| self.fault(format!("line {} {what}", head.lines));
            check_line(last, of).map_err(failed)?;
        }
        Ok((entries, head))
    }

    /// Adds a line, if `decide` has one when it sees what there is. Nobody else adds any in the meantime. Returns the number
    /// of the line.
    ///
    /// # Errors
    /// [`Error::Ledger`], and what `decide` returns.
    pub(crate) fn add(
        &self,
        me: &Identity,
        about: &Subject,
        decide: impl FnOnce(&Runs) -> Result<Option<Event>>,
    ) -> Result<Option<u64>> {
        let failed = |error: io::Error| self.fault(error.to_string());
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path).map_err(failed)?;
        file.lock().map_err(failed)?;
        let (mut checked, read) = self.look(&mut file, me)?;
        let Some(event) = decide(&checked.history.of(&about.agreement))? else { return Ok(None) };
        let number = checked.head.lines;
        let entry = Entry {
            number,
            previous: checked.head.hash,
            time: Moment::now(),
            agreement: about.agreement.clone(),
            name: about.name.clone(),
            peer: about.peer.to_string(),
            event,
        };
        checked.history.add(&entry);
        let unsigned = || self.fault("a line cannot be signed");
        let text = line(entry, me).ok_or_else(unsigned)?;
        let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            // What is left of the line is in the way of the next one; reading says so if this fails too.
            let _ = file.set_len(end);
        }
        written.map_err(failed)?;
        if read > checked::WORTHWHILE {
            let hash = hex(&Sha256::digest(text.trim_end_matches('\n')));
            checked.head = Head { lines: number + 1, hash };
            checked.end = end + text.len() as u64;
            checked.keep(&self.path, me);
        }
        Ok(Some(number))
    }

    fn fault(&self, fault: impl Into<String>) -> Error {
        Error::Ledger { path: self.path.clone(), fault: fault.into() }
    }
}

/// What a line is about.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// The hash of the agreement, and its name.
    pub(crate) agreement: String,
    pub(crate) name: String,
    pub(crate) peer: Fingerprint,
}

/// A line as this party writes it.
pub(crate) fn line(entry: Entry, me: &Identity) -> Option<String> {
    let signature = STANDARD.encode(me.sign(&message(&entry)).ok()?);
    Some(serde_json::to_string(&Line { entry, signature }).ok()? + "\n")
}

const CHANGED: &str = "was changed, or is none of this identity";

/// A line, whoever signed it.
fn read_line(line: &str) -> std::result::Result<Line, &'static str> {
    if line.len() > LONGEST_LINE {
        return Err(CHANGED);
    }
    serde_json::from_str(line).map_err(|_| CHANGED)
}

/// Makes sure that this party signed a line.
fn check_line(line: &str, of: &Certificate) -> std::result::Result<(), &'static str> {
    let parsed = read_line(line)?;
    let signature = STANDARD.decode(&parsed.signature).map_err(|_| CHANGED)?;
    // One line has one form.
    let is_as_written = serde_json::to_string(&parsed).is_ok_and(|written| written == line);
    match is_as_written && of.has_signed(&message(&parsed.entry), &signature) {
        true => Ok(()),
        false => Err(CHANGED),
    }
}

fn message(entry: &Entry) -> Vec<u8> {
    [CONTEXT, &serde_json::to_vec(entry).unwrap_or_default()].concat()
}

#[cfg(test)]
mod tests;
