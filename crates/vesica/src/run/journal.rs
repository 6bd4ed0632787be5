//! The journal of a run that can be resumed.
//!
//! It says which run this is, and holds what was found in each partition that is done. A run that is started again with it
//! reads its table again, makes sure that it is the same, and goes on at the first partition that not both sides have done.
//! What was prepared for a partition is never used twice: an unfinished one begins anew.
//!
//! The file is a random salt and then records, each with its length, a nonce, and what it holds under AES-256-GCM. The key is
//! derived from the salt and the identity of this side, so that nobody else can read or write a journal. A record knows its
//! place, and so records cannot be exchanged; the last one may be cut, if the process was killed while it was written.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    agree::resume::Begun,
    error::{Error, Result},
};

/// How often a run may be started; more often is a sign that something else is wrong.
const MOST_ATTEMPTS: u32 = 100;

const SALT: usize = 32;

/// Bytes of a record besides what it holds: its length, its nonce, and the tag.
const FRAME: usize = size_of::<u32>() + NONCE_LEN + MAX_TAG_LEN;

/// Where a journal is, and the secret under which it is encrypted.
#[derive(Debug, Clone)]
pub struct Resume {
    /// The file. It is created by the first attempt, and removed when the run is complete.
    pub journal: PathBuf,
    /// A secret that belongs to this side's identity.
    pub secret: JournalSecret,
}

/// 256 secret bits.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct JournalSecret([u8; 32]);

impl JournalSecret {
    /// These bits.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
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
pub(crate) struct Run {
    /// The version of the program.
    pub(crate) program: String,
    /// The hash of the terms, which name both sides.
    pub(crate) terms: String,
    /// The digest of the input.
    pub(crate) input: Option<String>,
    /// Rows of the input.
    pub(crate) rows: u64,
    /// Distinct keys of this side.
    pub(crate) keys: u64,
}

/// A record of the file.
#[derive(Serialize, Deserialize)]
enum Header {
    Begun { run: Run, begun: Begun, attempts: u32 },
}

/// An open journal, which no other process can open.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    key: LessSafeKey,
    /// Whether the file was there and has a complete beginning.
    found: Option<(Run, Begun)>,
    attempts: u32,
    /// Where each record begins, and where the next one will.
    places: Vec<u64>,
}

impl Journal {
    /// Opens the journal, or creates an empty one.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn open(resume: &Resume) -> Result<Self> {
        let path = resume.journal.clone();
        let failed = |error: io::Error| fault(&path, &error.to_string());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(fault(&path, "it is no regular file"));
        }
        file.try_lock().map_err(|_| fault(&path, "another run uses it at the moment"))?;
        let mut salt = [0; SALT];
        let len = file.metadata().map_err(failed)?.len();
        if len < SALT as u64 {
            let random = SystemRandom::new().fill(&mut salt);
            random.map_err(|_| fault(&path, "the system has no randomness"))?;
            file.set_len(0).and_then(|()| file.write_all(&salt)).map_err(failed)?;
        } else {
            file.read_exact(&mut salt).map_err(failed)?;
        }
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 journal");
        hasher.update(&resume.secret.0).update(&salt);
        let key = Zeroizing::new(*hasher.finalize().as_bytes());
        let key =
            UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| Error::Bug("a key of 32 bytes"))?;
        let key = LessSafeKey::new(key);
        let mut journal = Self { path, file, key, found: None, attempts: 0, places: Vec::new() };
        journal.places = journal.scan(len.max(SALT as u64))?;
        if journal.places.len() > 1 {
            let header = journal.record(0)?;
            let header = serde_json::from_slice(&header);
            let damaged = |_| fault(&journal.path, "it is of another version of the program");
            let Header::Begun { run, begun, attempts } = header.map_err(damaged)?;
            journal.found = Some((run, begun));
            journal.attempts = attempts;
        }
        Ok(journal)
    }

    /// Where the complete records begin, and where the last of them ends.
    fn scan(&mut self, len: u64) -> Result<Vec<u64>> {
        let failed = |error: io::Error| fault(&self.path, &error.to_string());
        let mut places = vec![SALT as u64];
        let mut at = SALT as u64;
        while at + FRAME as u64 <= len {
            let mut bytes = [0; 4];
            self.file.seek(SeekFrom::Start(at)).map_err(failed)?;
            self.file.read_exact(&mut bytes).map_err(failed)?;
            let next = at + FRAME as u64 + u64::from(u32::from_le_bytes(bytes));
            if next > len {
                break;
            }
            places.push(next);
            at = next;
        }
        Ok(places)
    }

    /// What a record holds.
    fn record(&mut self, number: usize) -> Result<Zeroizing<Vec<u8>>> {
        let failed = |error: io::Error| fault(&self.path, &error.to_string());
        let (start, end) = (self.places[number], self.places[number + 1]);
        let mut bytes = Zeroizing::new(vec![0; (end - start) as usize]);
        self.file.seek(SeekFrom::Start(start)).map_err(failed)?;
        self.file.read_exact(&mut bytes).map_err(failed)?;
        let (nonce, sealed) = bytes[4..].split_at_mut(NONCE_LEN);
        let changed = |_| fault(&self.path, "it was changed, or belongs to another identity");
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(changed)?;
        let aad = Aad::from((number as u64).to_le_bytes());
        let opened = self.key.open_in_place(nonce, aad, sealed).map_err(changed)?;
        Ok(Zeroizing::new(opened.to_vec()))
    }

    /// Writes a record to its place, where it is the last one, and to the disk.
    fn write(&mut self, number: usize, content: &[u8]) -> Result<()> {
        let failed = |error: io::Error| fault(&self.path, &error.to_string());
        let mut nonce = [0; NONCE_LEN];
        let unsealed = |_| fault(&self.path, "it cannot be encrypted");
        SystemRandom::new().fill(&mut nonce).map_err(unsealed)?;
        let mut sealed = Zeroizing::new(Vec::with_capacity(content.len() + MAX_TAG_LEN));
        sealed.extend_from_slice(content);
        let aad = Aad::from((number as u64).to_le_bytes());
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(unique, aad, &mut *sealed).map_err(unsealed)?;
        let len = u32::try_from(content.len()).map_err(|_| fault(&self.path, "it is too large"))?;
        let start = self.places[number];
        self.places.truncate(number + 1);
        self.file.set_len(start).map_err(failed)?;
        self.file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let record = [&len.to_le_bytes()[..], &nonce, &sealed].concat();
        self.file.write_all(&record).and_then(|()| self.file.sync_data()).map_err(failed)?;
        self.places.push(start + record.len() as u64);
        Ok(())
    }

    /// What was agreed on in an earlier attempt at this run, if there was one.
    ///
    /// # Errors
    /// [`Error::Journal`] where the journal is of another run, or of one that was attempted too often.
    pub(crate) fn begun(&self, run: &Run) -> Result<Option<Begun>> {
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
    pub(crate) fn done(&self) -> u64 {
        self.places.len().saturating_sub(2) as u64
    }

    /// How often the run was started, this time included.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Begins the run, or goes on with it after so many partitions; what was found in them is returned.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn begin(
        &mut self,
        run: Run,
        begun: Begun,
        done: u64,
    ) -> Result<Vec<Zeroizing<Vec<u8>>>> {
        let pieces = (1..=done as usize).map(|number| self.record(number));
        let pieces = pieces.collect::<Result<Vec<_>>>()?;
        self.attempts += 1;
        let header =
            Header::Begun { run: run.clone(), begun: begun.clone(), attempts: self.attempts };
        let header = serde_json::to_vec(&header).map_err(|_| Error::Bug("a header has JSON"))?;
        self.found = Some((run, begun));
        // A new file takes the place of the old one, which a kill in the middle leaves as it was.
        let path = self.path.clone();
        let failed = |error: io::Error| fault(&path, &error.to_string());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut salt = [0; SALT];
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        self.file.read_exact(&mut salt).map_err(failed)?;
        let new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        new.as_file().try_lock().map_err(|_| fault(&path, "it cannot be locked"))?;
        let mut file = new.as_file().try_clone().map_err(failed)?;
        file.write_all(&salt).map_err(failed)?;
        let old = std::mem::replace(&mut self.file, file);
        self.places = vec![SALT as u64];
        self.write(0, &header)?;
        for (number, piece) in (1..).zip(&pieces) {
            self.write(number, piece)?;
        }
        new.persist(&path).map_err(|error| failed(error.error))?;
        drop(old);
        Ok(pieces)
    }

    /// Notes what was found in the next partition.
    ///
    /// # Errors
    /// [`Error::Journal`].
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<()> {
        self.write(self.places.len() - 1, piece)
    }

    /// Ends the journal of a run that is complete on both sides.
    pub(crate) fn remove(self) {
        // If that fails, it is in the way of the next run, which says so.
        let _ = std::fs::remove_file(&self.path);
    }
}

fn fault(path: &Path, what: &str) -> Error {
    Error::Journal { path: path.to_owned(), fault: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn run() -> Run {
        let (program, terms) = ("1".to_owned(), "t".to_owned());
        Run { program, terms, input: Some("i".to_owned()), rows: 7, keys: 5 }
    }

    fn begun() -> Begun {
        Begun { peer_keys: 9, method: "rr22".to_owned(), partitions: 4, seed: [3; 32] }
    }

    fn resume(folder: &tempfile::TempDir) -> Resume {
        let journal = folder.path().join("journal");
        Resume { journal, secret: JournalSecret::new([1; 32]) }
    }

    fn refused(result: Result<impl Sized>) -> String {
        let error = result.err().unwrap();
        assert_eq!(error.class(), Class::Input);
        error.to_string()
    }

    #[test]
    fn what_was_found_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let resume = resume(&folder);
        let mut journal = Journal::open(&resume).unwrap();
        assert!(journal.begun(&run()).unwrap().is_none());
        assert!(journal.begin(run(), begun(), 0).unwrap().is_empty());
        for piece in [&b"first"[..], b"", b"third"] {
            journal.add(piece).unwrap();
        }
        assert!(refused(Journal::open(&resume)).contains("another run uses it"));
        drop(journal);
        let mut journal = Journal::open(&resume).unwrap();
        assert_eq!(journal.begun(&run()).unwrap(), Some(begun()));
        assert_eq!((journal.done(), journal.attempts()), (3, 1));
        // The other side has done two.
        let pieces = journal.begin(run(), begun(), 2).unwrap();
        assert_eq!(pieces.iter().map(|piece| &piece[..]).collect::<Vec<_>>(), [&b"first"[..], b""]);
        assert_eq!((journal.done(), journal.attempts()), (2, 2));
        journal.add(b"third again").unwrap();
        drop(journal);
        let journal = Journal::open(&resume).unwrap();
        assert_eq!((journal.done(), journal.attempts()), (3, 2));
        journal.remove();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn another_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let resume = resume(&folder);
        Journal::open(&resume).unwrap().begin(run(), begun(), 0).unwrap();
        let journal = Journal::open(&resume).unwrap();
        for (other, said) in [
            (Run { program: "2".to_owned(), ..run() }, "the version of the program changed"),
            (Run { terms: "u".to_owned(), ..run() }, "the terms or the other side changed"),
            (Run { input: Some("j".to_owned()), ..run() }, "the input changed"),
            (Run { rows: 8, ..run() }, "the input changed"),
            (Run { keys: 4, ..run() }, "the keys changed"),
        ] {
            assert!(refused(journal.begun(&other)).contains(said));
        }
        drop(journal);
        let other = Resume { secret: JournalSecret::new([2; 32]), ..resume };
        assert!(refused(Journal::open(&other)).contains("belongs to another identity"));
    }

    /// Wherever the file ends, and whatever byte is changed, a journal is read up to a whole record or refused.
    #[test]
    fn cut_and_changed_journals() {
        let folder = tempfile::tempdir().unwrap();
        let resume = resume(&folder);
        let mut journal = Journal::open(&resume).unwrap();
        journal.begin(run(), begun(), 0).unwrap();
        journal.add(b"first").unwrap();
        journal.add(b"second").unwrap();
        drop(journal);
        let whole = std::fs::read(&resume.journal).unwrap();
        for len in 0..whole.len() {
            std::fs::write(&resume.journal, &whole[..len]).unwrap();
            let mut journal = Journal::open(&resume).unwrap();
            let done = journal.done();
            assert!(done < 2);
            if journal.begun(&run()).unwrap().is_some() {
                assert_eq!(journal.begin(run(), begun(), done).unwrap().len() as u64, done);
            }
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&resume.journal, &changed).unwrap();
            let Ok(mut journal) = Journal::open(&resume) else { continue };
            let done = journal.done();
            let Ok(Some(_)) = journal.begun(&run()) else { continue };
            if let Ok(pieces) = journal.begin(run(), begun(), done) {
                let expected = [&b"first"[..], b"second"];
                assert!(
                    pieces.iter().zip(expected).all(|(piece, expected)| piece[..] == *expected)
                );
            }
        }
    }

    #[test]
    fn a_run_is_not_attempted_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let resume = resume(&folder);
        for _ in 0..MOST_ATTEMPTS {
            let mut journal = Journal::open(&resume).unwrap();
            journal.begun(&run()).unwrap();
            journal.begin(run(), begun(), 0).unwrap();
        }
        let journal = Journal::open(&resume).unwrap();
        assert!(refused(journal.begun(&run())).contains("attempted 100 times"));
    }
}
