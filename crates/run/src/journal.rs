//! The journal of a run that can be resumed.
//!
//! It says which run this is, and holds what was found in each partition that is done. A run that is started again
//! with it reads its table again, makes sure that it is the same, and goes on at the first partition that not both
//! sides have done. What was prepared for a partition is never used twice: an unfinished one begins anew.
//!
//! The file is a name and a random salt, and then records, each with its length and kind, a nonce, and what it holds
//! under AES-256-GCM. The key is derived from the salt and the identity of this side, so that nobody else can read or
//! write a journal. A record knows its place, and so records cannot be exchanged; the last one may be cut, if the
//! process was killed while it was written.

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
use vesica_net::Identity;
use vesica_table::disk::{self, File};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// How often a run may be started; more often is a sign that something else is wrong.
pub const MOST_ATTEMPTS: u32 = 100;

/// How a journal begins; a random salt follows.
const MAGIC: &[u8; 16] = b"vesica journal 1";

const SALT: usize = 32;

/// Bytes before the first record.
const START: usize = MAGIC.len() + SALT;

/// Bytes of a record's length and kind.
const HEAD: usize = size_of::<u32>() + 1;

/// Bytes of a record besides what it holds: these, its nonce, and the tag.
const FRAME: usize = HEAD + NONCE_LEN + MAX_TAG_LEN;

/// Where a journal is, and the secret under which it is encrypted.
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
    /// The progress of the run, once both sides have begun to compare; `None` where there is nothing to go on with.
    pub fn interrupted(&self) -> Option<Interrupted> {
        let journal = self.journal.exists().then(|| Journal::open(self).ok())??;
        let (_, begun) = journal.found()?;
        Some(Interrupted { done: journal.done(), partitions: begun.partitions })
    }
}

impl std::fmt::Display for Interrupted {
    /// Says where the same command goes on.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { done, partitions } = *self;
        let partitions = counted(partitions, "partition");
        write!(f, "the same command goes on there: this side has done {done} of {partitions}")
    }
}

/// 256 secret bits.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct JournalSecret([u8; 32]);

impl JournalSecret {
    /// The secret of this identity's journals.
    pub fn of(me: &Identity) -> Self {
        Self(*me.derive("vesica 1 secret of journals"))
    }
}

impl std::fmt::Debug for JournalSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JournalSecret(..)")
    }
}

/// What a run is: nothing of it may change between attempts.
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

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first one: [`Run`] and [`Begun`].
    Header,
    /// An attempt begins: how many there were, this one included, and how many partitions both sides have done.
    Attempt,
    /// What was found in the next partition.
    Piece,
    /// The comparison of a partition begins: see `Begins`.
    Begins,
    /// This side is about to send that from which the other side learns which keys of this partition match.
    Reveals,
    /// How many partitions the other side says that it has done.
    Confirmed,
}

/// The beginning of a partition's comparison.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begins {
    partition: u32,
    /// The commitments of the connecting and the listening side, where tasks compare it.
    commitments: Option<[[u8; 32]; 2]>,
    /// Partitions that the other side says it has done.
    peer_done: u64,
}

/// What a journal says of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    /// How often its comparison began.
    pub(crate) begun: u64,
    /// How often its result was sent to the other side.
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
    /// Bytes of what it holds.
    len: u32,
}

/// An open journal, which no other process can open. Records are only ever added at the end, also where a run goes on
/// after fewer partitions than there are pieces: so a kill in the middle leaves whole records and the beginning of
/// one.
pub struct Journal {
    path: PathBuf,
    file: File,
    key: LessSafeKey,
    found: Option<(Run, Begun)>,
    attempts: u32,
    /// Derives secrets of this run.
    secret: JournalSecret,
    committed: BTreeMap<u32, [[u8; 32]; 2]>,
    tried: BTreeMap<u32, Tried>,
    /// Partitions that the other side says it has done.
    peer_done: u64,
    records: Vec<Record>,
    /// The records that hold what was found in partitions, in their order.
    pieces: Vec<usize>,
    /// Where the next record begins.
    end: u64,
}

impl Journal {
    /// The line of the ledger where the run of a journal began, if there is a journal and it is of a run under an agreement.
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
            return Err(fault(&path, "it is no journal"));
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
        let mut journal = Self {
            path,
            file,
            key,
            found: None,
            attempts: 0,
            secret: resume.secret.clone(),
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

    /// Finds the records that are whole.
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

    /// Reads what run it is of, and what was noted of it besides pieces.
    fn look(&mut self) -> Result<()> {
        if !self.records.first().is_some_and(|record| record.kind == Kind::Header) {
            return Ok(());
        }
        self.found = Some(self.told(0)?);
        for number in 1..self.records.len() {
            match self.records[number].kind {
                Kind::Header => return Err(fault(&self.path, "it is of two runs")),
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

    /// What a record tells that is no piece.
    fn told<T: DeserializeOwned>(&mut self, number: usize) -> Result<T> {
        let told = serde_json::from_slice(&self.record(number)?);
        told.map_err(|_| fault(&self.path, "it is of another version of the program"))
    }

    fn tell<T: Serialize>(&mut self, kind: Kind, what: &T) -> Result<()> {
        let told = serde_json::to_vec(what);
        self.write(kind, &told.map_err(|_| Error::bug("a record has JSON"))?)
    }

    /// What a record holds.
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

    /// Adds a record, and waits until it is on the disk.
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

    /// What was agreed on in an earlier attempt at this run, if there was one.
    ///
    /// # Errors
    /// [`Error::Journal`] where the journal is of another run, or of one that was attempted too often.
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
                "it cannot be resumed, because {what} changed since it began; remove the journal to begin anew"
            );
            return Err(fault(&self.path, &message));
        }
        if self.attempts >= MOST_ATTEMPTS {
            let message =
                format!("it was attempted {MOST_ATTEMPTS} times; remove the journal to begin anew");
            return Err(fault(&self.path, &message));
        }
        Ok(Some(begun.clone()))
    }

    /// How many partitions are done.
    pub fn done(&self) -> u64 {
        self.pieces.len() as u64
    }

    /// How often the run was started, this time included.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the run is, and what was agreed on when it began, if it began.
    pub fn found(&self) -> Option<&(Run, Begun)> {
        self.found.as_ref()
    }

    /// Begins the run, or goes on with it after so many partitions, of which each piece is shown.
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
        // What is left of a record that was being written goes as well.
        self.file.set_len(self.end).map_err(|e| self.failed(e))?;
        if !is_same {
            self.tell(Kind::Header, &(&run, &begun))?;
            self.found = Some((run, begun));
        }
        self.attempts += 1;
        self.tell(Kind::Attempt, &(self.attempts, self.done()))
    }

    /// Notes what was found in the next partition.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<()> {
        self.pieces.push(self.records.len());
        self.write(Kind::Piece, piece)
    }

    /// Notes that the comparison of a partition begins, with the commitments of both sides where tasks compare it.
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

    /// Notes that the result of a partition is about to be sent to the other side.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn reveals(&mut self, partition: u32) -> Result<()> {
        self.tell(Kind::Reveals, &partition)?;
        self.tried.entry(partition).or_default().revealed += 1;
        Ok(())
    }

    /// What is known of a partition that is not done.
    pub(crate) fn tried(&self, partition: u32) -> Tried {
        self.tried.get(&partition).copied().unwrap_or_default()
    }

    /// How often results were sent once more.
    pub(crate) fn repeated(&self) -> u64 {
        self.tried.values().map(|tried| tried.revealed.saturating_sub(1)).sum()
    }

    /// How many partitions the other side has said that it has done.
    pub(crate) fn peer_done(&self) -> u64 {
        self.peer_done
    }

    /// Takes note of how many partitions the other side says that it has done; at once on the disk, or with the next
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

    /// What the two sides have committed to in partitions that were begun.
    pub(crate) fn committed(&self) -> &BTreeMap<u32, [[u8; 32]; 2]> {
        &self.committed
    }

    /// A secret of this side for a purpose in the run of this seed, the same in each session of it.
    pub(crate) fn secret_for(&self, purpose: &'static str, seed: &[u8; 32]) -> Zeroizing<[u8; 32]> {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        Zeroizing::new(*hasher.update(&self.secret.0).update(seed).finalize().as_bytes())
    }

    /// Ends the journal of a run that is complete on both sides.
    pub(crate) fn remove(self) {
        // If that fails, it is in the way of the next run, which says so.
        let _ = disk::remove(&self.path);
    }
}

/// What binds a record to its place.
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
