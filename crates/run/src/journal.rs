//! The journal of a run that can be resumed.
//!
//! It identifies the run, and holds the result of each partition that is done. A run that is started again with it
//! reads its table again, verifies that it is unchanged, and resumes at the first partition that is not done on both
//! sides. Preparations for a partition are never used twice: an unfinished partition starts over.
//!
//! The file consists of a magic number, a random salt and records. A record has its length and kind, a nonce, and its
//! content under AES-256-GCM. The key is derived from the salt and this side's identity, so that nobody else can read
//! or write a journal. Each record is bound to its position, so records cannot be exchanged; the last one may be
//! incomplete if the process was killed while writing it.

use std::{
    collections::BTreeMap,
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use vesica_agree::resume::Begun;
use vesica_core::{
    error::{Error, Result},
    words::counted,
};
use vesica_keyset::linked::TokenSecret;
use vesica_net::Identity;
use vesica_table::disk::{self, File};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The maximum number of times a run is started; reaching it is a sign that something else is wrong.
pub const MOST_ATTEMPTS: u32 = 100;

/// The first bytes of a journal; a random salt follows.
const MAGIC: &[u8; 16] = b"vesica journal 1";

const SALT: usize = 32;

/// Bytes before the first record.
const START: usize = MAGIC.len() + SALT;

/// Bytes of a record's length and kind.
const HEAD: usize = size_of::<u32>() + 1;

/// Bytes of a record besides its content: the head, the nonce and the tag.
const FRAME: usize = HEAD + NONCE_LEN + MAX_TAG_LEN;

/// The path of a journal, and the secret under which it is encrypted.
#[derive(Debug, Clone)]
pub struct Resume {
    /// The file. It is created by the first attempt, and removed when the run is complete.
    pub journal: PathBuf,
    /// A secret that belongs to this side's identity.
    pub secret: JournalSecret,
}

/// The progress of a run that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted {
    /// Partitions that this side has done.
    pub done: u64,
    /// All partitions.
    pub partitions: u64,
}

impl Resume {
    /// Returns the progress of the run once both sides have begun to compare; `None` if there is nothing to resume.
    pub fn interrupted(&self) -> Option<Interrupted> {
        let journal = self.journal.exists().then(|| Journal::open(self).ok())??;
        let (_, begun) = journal.found()?;
        Some(Interrupted { done: journal.done(), partitions: begun.partitions })
    }
}

impl std::fmt::Display for Interrupted {
    /// Writes where the same command will resume.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { done, partitions } = *self;
        let partitions = counted(partitions, "partition");
        write!(f, "run the same command again to resume: this side has done {done} of {partitions}")
    }
}

/// 256 secret bits.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct JournalSecret([u8; 32]);

impl JournalSecret {
    /// Derives the secret of this identity's journals.
    pub fn of(me: &Identity) -> Self {
        Self(*me.derive("vesica 1 secret of journals"))
    }
}

impl std::fmt::Debug for JournalSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JournalSecret(..)")
    }
}

/// The identity of a run: no part of it may change between attempts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The version of the program.
    pub program: String,
    /// The hash of the terms, which name both sides.
    pub terms: String,
    /// The digest of the input.
    pub input: Option<String>,
    /// Rows of the input.
    pub rows: u64,
    /// Distinct keys of this side.
    pub keys: u64,
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first one: [`Run`] and [`Begun`].
    Header,
    /// The beginning of an attempt: its number, and the number of partitions that both sides have done.
    Attempt,
    /// The result of the next partition.
    Piece,
    /// The beginning of a partition's comparison: see `Begins`.
    Begins,
    /// This side is about to send the message from which the other side learns the matching keys of this partition.
    Reveals,
    /// The number of partitions that the other side reports as done.
    Confirmed,
}

/// The beginning of a partition's comparison.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begins {
    partition: u32,
    /// The commitments of the connecting and the listening side, where tasks compare it.
    commitments: Option<[[u8; 32]; 2]>,
    /// The number of partitions that the other side reports as done.
    peer_done: u64,
}

/// The attempts at one partition, according to the journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    /// The number of times its comparison began.
    pub(crate) begun: u64,
    /// The number of times its result was sent to the other side.
    pub(crate) revealed: u64,
}

impl Kind {
    /// Returns the kind that this byte stands for.
    pub fn of(byte: u8) -> Option<Self> {
        let all = [
            Self::Header,
            Self::Attempt,
            Self::Piece,
            Self::Begins,
            Self::Reveals,
            Self::Confirmed,
        ];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A record of the file.
struct Record {
    kind: Kind,
    start: u64,
    /// Bytes of its content.
    len: u32,
}

/// An open journal, which no other process can open. Records are only ever appended, even if a run resumes after fewer
/// partitions than there are pieces; so a process that is killed leaves whole records and perhaps the beginning of one.
pub struct Journal {
    path: PathBuf,
    file: File,
    key: LessSafeKey,
    found: Option<(Run, Begun)>,
    attempts: u32,
    /// The secret from which secrets of this run are derived.
    secret: JournalSecret,
    /// The secret of the tokens of this side's rows.
    tokens: TokenSecret,
    committed: BTreeMap<u32, [[u8; 32]; 2]>,
    tried: BTreeMap<u32, Tried>,
    /// The number of partitions that the other side reports as done.
    peer_done: u64,
    records: Vec<Record>,
    /// The records that hold results of partitions, in order.
    pieces: Vec<usize>,
    /// The offset of the next record.
    end: u64,
}

impl Journal {
    /// Returns the line of the ledger at which the journal's run began, if there is a journal and its run is under an
    /// agreement.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn line(resume: &Resume) -> Result<Option<u64>> {
        if !resume.journal.exists() {
            return Ok(None);
        }
        let journal = Self::open(resume)?;
        Ok(journal.found().and_then(|(_, begun)| begun.line))
    }

    /// Opens the journal, or creates an empty one.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub fn open(resume: &Resume) -> Result<Self> {
        let path = resume.journal.clone();
        let failed = |error: io::Error| fault(&path, &error.to_string());
        let mut file = File::own(&path).map_err(failed)?;
        file.try_lock().map_err(|_| fault(&path, "another run uses it at the moment"))?;
        let len = file.metadata().map_err(failed)?.len();
        let mut start = Vec::with_capacity(START);
        (&file).take(START as u64).read_to_end(&mut start).map_err(failed)?;
        let known = start.len().min(MAGIC.len());
        if start[..known] != MAGIC[..known] {
            return Err(fault(&path, "it is not a journal"));
        }
        if start.len() < START {
            start = [&MAGIC[..], &[0; SALT]].concat();
            let random = SystemRandom::new().fill(&mut start[MAGIC.len()..]);
            random.map_err(|_| fault(&path, "the system has no randomness"))?;
            let begun = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
            begun.and_then(|_| file.write_all(&start)).map_err(failed)?;
        }
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 journal");
        hasher.update(&resume.secret.0).update(&start[MAGIC.len()..]);
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        let key =
            UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| Error::bug("a key of 32 bytes"))?;
        let key = LessSafeKey::new(key);
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 tokens of rows");
        hasher.update(&resume.secret.0).update(&start[MAGIC.len()..]);
        let tokens = TokenSecret::new(*hasher.finalize().as_bytes());
        let mut journal = Self {
            path,
            file,
            key,
            found: None,
            attempts: 0,
            secret: resume.secret.clone(),
            tokens,
            committed: BTreeMap::new(),
            tried: BTreeMap::new(),
            peer_done: 0,
            records: Vec::new(),
            pieces: Vec::new(),
            end: START as u64,
        };
        journal.scan(len)?;
        journal.look()?;
        Ok(journal)
    }

    /// Finds the complete records.
    fn scan(&mut self, len: u64) -> Result<()> {
        while self.end + FRAME as u64 <= len {
            let mut head = [0; HEAD];
            let start = self.end;
            let read = self.file.seek(SeekFrom::Start(start));
            read.and_then(|_| self.file.read_exact(&mut head)).map_err(|e| self.failed(e))?;
            let [a, b, c, d, kind] = head;
            let bytes = u32::from_le_bytes([a, b, c, d]);
            let end = start + FRAME as u64 + u64::from(bytes);
            let Some(kind) = Kind::of(kind).filter(|_| end <= len) else { break };
            self.records.push(Record { kind, start, len: bytes });
            self.end = end;
        }
        Ok(())
    }

    /// Reads the run's identity and its other records, apart from the pieces.
    fn look(&mut self) -> Result<()> {
        if !self.records.first().is_some_and(|record| record.kind == Kind::Header) {
            return Ok(());
        }
        self.found = Some(self.told(0)?);
        for number in 1..self.records.len() {
            match self.records[number].kind {
                Kind::Header => return Err(fault(&self.path, "it contains two runs")),
                Kind::Attempt => {
                    let (attempts, done): (u32, u64) = self.told(number)?;
                    self.attempts = attempts;
                    self.pieces.truncate(done as usize);
                }
                Kind::Piece => self.pieces.push(number),
                Kind::Begins => {
                    let begins = self.told(number)?;
                    self.see(&begins);
                }
                Kind::Reveals => {
                    let partition: u32 = self.told(number)?;
                    self.tried.entry(partition).or_default().revealed += 1;
                }
                Kind::Confirmed => {
                    let done: u64 = self.told(number)?;
                    self.peer_done = done.max(self.peer_done);
                }
            }
        }
        Ok(())
    }

    fn see(&mut self, begins: &Begins) {
        let Begins { partition, commitments, peer_done } = *begins;
        self.tried.entry(partition).or_default().begun += 1;
        self.peer_done = peer_done.max(self.peer_done);
        if let Some(commitments) = commitments {
            self.committed.insert(partition, commitments);
        }
    }

    /// Reads and parses a record that is not a piece.
    fn told<T: DeserializeOwned>(&mut self, number: usize) -> Result<T> {
        let told = serde_json::from_slice(&self.record(number)?);
        told.map_err(|_| fault(&self.path, "it was written by another version of the program"))
    }

    fn tell<T: Serialize>(&mut self, kind: Kind, what: &T) -> Result<()> {
        let told = serde_json::to_vec(what);
        self.write(kind, &told.map_err(|_| Error::bug("a record has JSON"))?)
    }

    /// Reads and decrypts a record.
    fn record(&mut self, number: usize) -> Result<Zeroizing<Vec<u8>>> {
        let Record { kind, start, len } = self.records[number];
        let mut bytes = Zeroizing::new(vec![0; FRAME - HEAD + len as usize]);
        let read = self.file.seek(SeekFrom::Start(start + HEAD as u64));
        read.and_then(|_| self.file.read_exact(&mut bytes)).map_err(|e| self.failed(e))?;
        let (nonce, sealed) = bytes.split_at_mut(NONCE_LEN);
        let changed = |_| fault(&self.path, "it was changed, or belongs to another identity");
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(changed)?;
        let opened = self.key.open_in_place(nonce, place(number, kind), sealed).map_err(changed)?;
        Ok(Zeroizing::new(opened.to_vec()))
    }

    /// Appends a record, and waits until it is on the disk.
    pub fn write(&mut self, kind: Kind, content: &[u8]) -> Result<()> {
        let mut nonce = [0; NONCE_LEN];
        let unsealed = |_| fault(&self.path, "it cannot be encrypted");
        SystemRandom::new().fill(&mut nonce).map_err(unsealed)?;
        let mut sealed = Zeroizing::new(Vec::with_capacity(content.len() + MAX_TAG_LEN));
        sealed.extend_from_slice(content);
        let aad = place(self.records.len(), kind);
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(unique, aad, &mut *sealed).map_err(unsealed)?;
        let len = u32::try_from(content.len()).map_err(|_| fault(&self.path, "it is too large"))?;
        let record = [&len.to_le_bytes()[..], &[kind as u8], &nonce, &sealed].concat();
        let written = self.file.seek(SeekFrom::Start(self.end));
        let written = written.and_then(|_| self.file.write_all(&record));
        written.and_then(|()| self.file.sync_data()).map_err(|e| self.failed(e))?;
        self.records.push(Record { kind, start: self.end, len });
        self.end += record.len() as u64;
        Ok(())
    }

    fn failed(&self, error: io::Error) -> Error {
        fault(&self.path, &error.to_string())
    }

    /// Returns the facts agreed on in an earlier attempt at this run, if there was one.
    ///
    /// # Errors
    /// [`Error::Journal`] if the journal belongs to another run, or the run was attempted too often.
    pub fn begun(&self, run: &Run) -> Result<Option<Begun>> {
        let Some((found, begun)) = &self.found else { return Ok(None) };
        let differences = [
            (found.program != run.program, "the version of the program"),
            (found.terms != run.terms, "the terms or the other side"),
            (found.input != run.input || found.rows != run.rows, "the input"),
            (found.keys != run.keys, "the keys"),
        ];
        if let Some((_, what)) = differences.iter().find(|(differs, _)| *differs) {
            let message = format!(
                "it cannot be resumed, because {what} changed since it began; remove the journal to start over"
            );
            return Err(fault(&self.path, &message));
        }
        if self.attempts >= MOST_ATTEMPTS {
            let message =
                format!("it was attempted {MOST_ATTEMPTS} times; remove the journal to start over");
            return Err(fault(&self.path, &message));
        }
        Ok(Some(begun.clone()))
    }

    /// Returns the number of partitions that are done.
    pub fn done(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// Returns how often the run was started, this time included.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Returns the run's identity and the facts agreed on when it began, if it began.
    pub fn found(&self) -> Option<&(Run, Begun)> {
        self.found.as_ref()
    }

    /// Begins the run, or resumes it after `done` partitions and passes each of their pieces to `show`.
    ///
    /// # Errors
    /// [`Error::Journal`], and what `show` returns.
    pub fn begin(
        &mut self,
        run: Run,
        begun: Begun,
        done: u64,
        mut show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.pieces.truncate(done as usize);
        for number in self.pieces.clone() {
            show(&self.record(number)?)?;
        }
        // A ledger that was replaced has another line for the same run.
        let is_same = self
            .found
            .as_ref()
            .is_some_and(|(_, found)| Begun { line: begun.line, ..found.clone() } == begun);
        if !is_same {
            self.end = START as u64;
            self.records.clear();
            self.pieces.clear();
            self.committed.clear();
            self.tried.clear();
            self.peer_done = 0;
        }
        // The rest of a record that was being written is removed too.
        self.file.set_len(self.end).map_err(|e| self.failed(e))?;
        if !is_same {
            self.tell(Kind::Header, &(&run, &begun))?;
            self.found = Some((run, begun));
        }
        self.attempts += 1;
        self.tell(Kind::Attempt, &(self.attempts, self.done()))
    }

    /// Records the result of the next partition.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<()> {
        self.pieces.push(self.records.len());
        self.write(Kind::Piece, piece)
    }

    /// Records that the comparison of a partition begins, with both sides' commitments if tasks compare it.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn begins(
        &mut self,
        partition: u32,
        commitments: Option<[[u8; 32]; 2]>,
    ) -> Result<()> {
        let begins = Begins { partition, commitments, peer_done: self.peer_done };
        self.tell(Kind::Begins, &begins)?;
        self.see(&begins);
        Ok(())
    }

    /// Records that the result of a partition is about to be sent to the other side.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn reveals(&mut self, partition: u32) -> Result<()> {
        self.tell(Kind::Reveals, &partition)?;
        self.tried.entry(partition).or_default().revealed += 1;
        Ok(())
    }

    /// Returns the attempts at a partition that is not done.
    pub(crate) fn tried(&self, partition: u32) -> Tried {
        self.tried.get(&partition).copied().unwrap_or_default()
    }

    /// Returns the number of results that were sent again.
    pub(crate) fn repeated(&self) -> u64 {
        self.tried.values().map(|tried| tried.revealed.saturating_sub(1)).sum()
    }

    /// Returns the number of partitions that the other side reports as done.
    pub(crate) fn peer_done(&self) -> u64 {
        self.peer_done
    }

    /// Records the number of partitions that the other side reports as done; on the disk at once, or with the next
    /// partition that begins.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn confirm(&mut self, peer_done: u64, at_once: bool) -> Result<()> {
        if peer_done > self.peer_done {
            self.peer_done = peer_done;
            if at_once {
                self.tell(Kind::Confirmed, &peer_done)?;
            }
        }
        Ok(())
    }

    /// Returns the two sides' commitments to partitions that were begun.
    pub(crate) fn committed(&self) -> &BTreeMap<u32, [[u8; 32]; 2]> {
        &self.committed
    }

    /// Returns the secret of the tokens of this side's rows, the same in each session.
    pub(crate) fn token_secret(&self) -> TokenSecret {
        self.tokens.clone()
    }

    /// Derives a secret of this side for a purpose in the run of this seed; it is the same in each session.
    pub(crate) fn secret_for(&self, purpose: &'static str, seed: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        Zeroizing::new(*hasher.update(&self.secret.0).update(seed).finalize().as_bytes())
    }

    /// Removes the journal of a run that is complete on both sides.
    pub(crate) fn remove(self) {
        // If that fails, the next run finds the journal and reports it.
        let _ = disk::remove(&self.path);
    }
}

/// Returns the associated data that binds a record to its position.
fn place(number: usize, kind: Kind) -> Aad<[u8; 9]> {
    let mut place = [kind as u8; 9];
    place[..8].copy_from_slice(&(number as u64).to_le_bytes());
    Aad::from(place)
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Journal { path: path.to_owned(), fault: what.to_owned() }
}

#[cfg(test)]
mod tests;
