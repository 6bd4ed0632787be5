//! The record of this side's dealings with its partners, in a file to which lines are only ever appended.
//!
//! A line is JSON. It holds its number, the SHA-256 of the line before it, and an event, and it is signed by this
//! side's identity: nobody else can change, move, add or remove a line unnoticed. Truncation is detected with the help
//! of a [record](super::record::Record), which names the newest line of both sides' ledgers; the other side has a copy
//! of each record.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use vesica_core::{
    error::{Error, Result},
    moment::Moment,
    of_others::OfOthers,
};
use vesica_net::{Certificate, Fingerprint, Identity};

use super::{
    checked::{self, Checked},
    entry::{Entry, LedgerEvent, LedgerHead},
    history::{History, Runs},
    signed::hex,
};

/// The prefix of a line in the message that is signed.
const CONTEXT: &[u8] = b"vesica 1 line of a ledger\n";

/// The longest line, in bytes; one with a sketch has about 6,000.
const LONGEST_LINE: usize = 1 << 16;

/// A line in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLine {
    entry: Entry,
    signature: String,
}

/// The ledger of this side. It is locked only while it is read or appended to.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
}

impl Ledger {
    /// Creates a handle of the ledger in this file. The file itself is created when the first line is added.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all lines, and verifies that this party added them in this order, with every signature.
    ///
    /// # Errors
    /// [`Error::Ledger`], with the first faulty line.
    pub fn read(&self, of: &Certificate) -> Result<(Vec<Entry>, LedgerHead)> {
        self.check_all(&self.text()?, of)
    }

    /// Reads a ledger that belongs to the party with this fingerprint, which its first line names, as [`Ledger::read`]
    /// does.
    ///
    /// # Errors
    /// As [`Ledger::read`], and if the first line names nobody or another party.
    pub fn read_of(&self, owner: Fingerprint) -> Result<(Vec<Entry>, LedgerHead, Certificate)> {
        let text = self.text()?;
        let first = text.lines().next().and_then(|line| read_line(line).ok());
        let named = first.and_then(|line| line.entry.owner);
        let party = named.ok_or_else(|| {
            self.fault("its first line does not name the owner, as in ledgers of earlier releases; give the identity file")
        })?;
        if party.fingerprint() != owner {
            let fault = format!("it is the ledger of {}, and not of {owner}", party.fingerprint());
            return Err(self.fault(fault));
        }
        let (entries, head) = self.check_all(&text, party.certificate())?;
        Ok((entries, head, party.certificate().clone()))
    }

    /// Checks this text as [`Ledger::read`] does.
    pub fn check_all(&self, text: &str, of: &Certificate) -> Result<(Vec<Entry>, LedgerHead)> {
        let (entries, head) = self.check(text, LedgerHead::default(), of)?;
        // The chain is in order, so the first line of another party is the faulty one.
        for (number, line) in text.lines().enumerate() {
            check_line(line, of)
                .map_err(|what| self.fault(format!("line {} {what}", number + 1)))?;
        }
        Ok((entries, head))
    }

    /// Reads the history of the runs, and the newest line. Lines that were checked before are not read again.
    ///
    /// # Errors
    /// As [`Ledger::read`].
    pub(crate) fn history(&self, me: &Identity) -> Result<(History, LedgerHead)> {
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

    /// Checks the lines after those that were checked before: the chain of hashes, and the signature of the last line,
    /// which covers the whole chain. Also returns the number of bytes that were read.
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

    /// Returns the content of the file; an empty text if there is no file.
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
                self.fault("it is not text: it is not a ledger, or it is damaged")
            }
            _ => self.fault(error.to_string()),
        })?;
        Ok(text)
    }

    /// Checks the lines of a text that continue after a line.
    fn check(
        &self,
        text: &str,
        after: LedgerHead,
        of: &Certificate,
    ) -> Result<(Vec<Entry>, LedgerHead)> {
        let (mut entries, mut head) = (Vec::new(), after.clone());
        for line in text.split_inclusive('\n') {
            let number = head.lines + 1;
            let changed = |what: &str| self.fault(format!("line {number} {what}"));
            let line = line.strip_suffix('\n').ok_or_else(|| {
                changed("is not complete, as after a crash or a full disk; remove that line")
            })?;
            let entry = read_line(line).map_err(changed)?.entry;
            if entry.number != head.lines || entry.previous != head.hash {
                // A change of a line breaks the chain after it.
                let before = entries.len();
                let changed_before =
                    text.lines().take(before).position(|l| check_line(l, of).is_err());
                return Err(match changed_before {
                    Some(line) => {
                        self.fault(format!("line {} {CHANGED}", after.lines + line as u64 + 1))
                    }
                    None => changed(
                        "does not continue the line before it: lines were removed, added or moved",
                    ),
                });
            }
            head = LedgerHead { lines: number, hash: hex(&Sha256::digest(line)) };
            entries.push(entry);
        }
        if let Some(last) = text.lines().last() {
            let failed = |what: &str| self.fault(format!("line {} {what}", head.lines));
            check_line(last, of).map_err(failed)?;
        }
        Ok((entries, head))
    }

    /// Adds the line that `decide` returns after it has seen the history, if any. Nobody else adds a line in the
    /// meantime. Returns the number of the line.
    ///
    /// # Errors
    /// [`Error::Ledger`], and the errors of `decide`.
    pub(crate) fn add(
        &self,
        me: &Identity,
        about: &Subject,
        decide: impl FnOnce(&Runs) -> Result<Option<LedgerEvent>>,
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
            peer: about.others.clone(),
            owner: (number == 0).then(|| me.into()),
            event,
        };
        checked.history.add(&entry);
        let unsigned = || self.fault("a line cannot be signed");
        let text = line(entry, me).ok_or_else(unsigned)?;
        let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            // The rest of the line would break the next one; if truncation fails too, the next read reports it.
            let _ = file.set_len(end);
        }
        written.map_err(failed)?;
        if read > checked::WORTHWHILE {
            let hash = hex(&Sha256::digest(text.trim_end_matches('\n')));
            checked.head = LedgerHead { lines: number + 1, hash };
            checked.end = end + text.len() as u64;
            checked.keep(&self.path, me);
        }
        Ok(Some(number))
    }

    fn fault(&self, fault: impl Into<String>) -> Error {
        Error::Ledger { path: self.path.clone(), fault: fault.into() }
    }
}

/// The subject of a line.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    /// The hash of the agreement, and its name.
    pub(crate) agreement: String,
    pub(crate) name: String,
    /// The fingerprints of the other parties.
    pub(crate) others: OfOthers<String>,
}

/// Returns a line as this party writes it.
pub fn line(entry: Entry, me: &Identity) -> Option<String> {
    let signature = STANDARD.encode(me.sign(&message(&entry)).ok()?);
    Some(serde_json::to_string(&WrittenLine { entry, signature }).ok()? + "\n")
}

const CHANGED: &str = "was changed, or was not written by this identity";

/// Reads a line of any signer.
fn read_line(line: &str) -> std::result::Result<WrittenLine, &'static str> {
    if line.len() > LONGEST_LINE {
        return Err(CHANGED);
    }
    serde_json::from_str(line).map_err(|_| CHANGED)
}

/// Verifies that this party signed a line.
fn check_line(line: &str, of: &Certificate) -> std::result::Result<(), &'static str> {
    let parsed = read_line(line)?;
    let signature = STANDARD.decode(&parsed.signature).map_err(|_| CHANGED)?;
    // Each line has exactly one form.
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
