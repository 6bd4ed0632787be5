//! The stored answers of an unfinished lookup. A lookup of more keys than the publisher answers at once takes a long
//! time. If it is interrupted, it resumes with these answers.
//!
//! The file contains values of the function, and never a blind. A value shows whether its key is in the list, and opens
//! its label, so the file has mode 0600 and is encrypted with AES-256-GCM. Its key and its name are hashes of all items
//! of the lookup, which are too many to guess. The same table therefore resumes the lookup, and the file reveals
//! nothing without the table. Items depend on the epoch's key, so the answers of one epoch are never used in another.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use vesica_core::error::{Error, Result};
use vesica_list::{exchange::MAX_QUESTION, value::Value};
use zeroize::{Zeroize, Zeroizing};

use super::directory::failed;

/// Minimum number of items for which answers are stored. Fewer could be guessed.
const LEAST: usize = 64;

/// Bytes of a value: its tag of 128 bits, and the key of the label.
const VALUE: usize = 16 + Value::KEY_BYTES;

/// Bytes of a record besides its values: their number, a nonce, and a tag.
const FRAME: usize = 4 + NONCE_LEN + MAX_TAG_LEN;

/// The answers to the first questions of a lookup.
pub struct Answered {
    /// `None` if there are few items, or another process runs the same lookup.
    kept: Option<KeptAnswers>,
}

struct KeptAnswers {
    path: PathBuf,
    file: File,
    key: LessSafeKey,
}

/// Returns the prefix of the names of an epoch's files.
fn prefix(epoch: u64) -> String {
    format!("lookup-{epoch}-")
}

/// Returns whether a file belongs to a lookup in this epoch.
pub(super) fn is_of_epoch(name: &str, epoch: u64) -> bool {
    name.starts_with(&prefix(epoch))
}

impl Answered {
    /// Opens the file of a lookup of these sorted items, and returns the values in it.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn open(
        directory: &Path,
        epoch: u64,
        items: &[[u8; 32]],
    ) -> Result<(Self, Vec<Value>)> {
        if items.len() < LEAST {
            return Ok((Self { kept: None }, Vec::new()));
        }
        let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list lookup");
        for item in items {
            hasher.update(item);
        }
        let mut secret = Zeroizing::new([0; 48]);
        hasher.finalize_xof().fill(&mut *secret);
        let (name, key) = secret.split_at(16);
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = directory.join(prefix(epoch) + &name);
        let key =
            UnboundKey::new(&AES_256_GCM, key).map_err(|_| Error::bug("a key of 32 bytes"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed(&path))?;
        if file.try_lock().is_err() {
            return Ok((Self { kept: None }, Vec::new()));
        }
        let mut kept = KeptAnswers { file, key: LessSafeKey::new(key), path };
        let values = kept.read().map_err(failed(&kept.path))?;
        Ok((Self { kept: Some(kept) }, values))
    }

    /// Stores the values of the items from number `first` on.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn add(&mut self, first: usize, values: &[Value]) -> Result<()> {
        match &mut self.kept {
            Some(kept) => kept.add(first, values).map_err(failed(&kept.path)),
            None => Ok(()),
        }
    }

    /// Removes the file of a completed lookup.
    pub(super) fn forget(self) {
        if let Some(kept) = self.kept {
            // If this fails, the file is removed in the next epoch.
            drop(fs::remove_file(&kept.path));
        }
    }
}

impl KeptAnswers {
    /// Reads all complete records. Cuts off anything after them, such as a partially written record.
    fn read(&mut self) -> io::Result<Vec<Value>> {
        let mut values = Vec::new();
        let mut whole = 0;
        while let Some(record) = self.record(values.len())? {
            whole += (FRAME + VALUE * record.len()) as u64;
            values.extend(record);
        }
        self.file.set_len(whole)?;
        self.file.seek(SeekFrom::Start(whole))?;
        Ok(values)
    }

    /// Reads the next record, if it is complete and belongs to these items.
    fn record(&mut self, first: usize) -> io::Result<Option<Vec<Value>>> {
        let mut front = [0; 4 + NONCE_LEN];
        if !read_whole(&mut self.file, &mut front)? {
            return Ok(None);
        }
        let ([a, b, c, d], nonce) = ([front[0], front[1], front[2], front[3]], &front[4..]);
        let count = u32::from_le_bytes([a, b, c, d]) as usize;
        if !(1..=MAX_QUESTION).contains(&count) {
            return Ok(None);
        }
        let mut bytes = Zeroizing::new(vec![0; VALUE * count + MAX_TAG_LEN]);
        let nonce = Nonce::try_assume_unique_for_key(nonce);
        let (Ok(nonce), true) = (nonce, read_whole(&mut self.file, &mut bytes)?) else {
            return Ok(None);
        };
        let Ok(opened) = self.key.open_in_place(nonce, place(first), &mut bytes) else {
            return Ok(None);
        };
        let (blocks, _) = opened.as_chunks::<16>();
        let value = |pair: &[[u8; 16]]| Value::new(u128::from_le_bytes(pair[0]), pair[1]);
        Ok(Some(blocks.chunks_exact(2).map(value).collect()))
    }

    fn add(&mut self, first: usize, values: &[Value]) -> io::Result<()> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| io::ErrorKind::Other)?;
        let mut bytes = Vec::with_capacity(VALUE * values.len() + MAX_TAG_LEN);
        for value in values {
            bytes.extend_from_slice(&value.whole_tag().to_le_bytes());
            bytes.extend_from_slice(value.label_key());
        }
        let sealed = Nonce::assume_unique_for_key(nonce);
        let sealed = self.key.seal_in_place_append_tag(sealed, place(first), &mut bytes);
        if sealed.is_err() {
            bytes.zeroize();
            return Err(io::ErrorKind::Other.into());
        }
        let front = [&(values.len() as u32).to_le_bytes()[..], &nonce].concat();
        self.file.write_all(&[front, bytes].concat())
    }
}

/// Binds a record to its position.
fn place(first: usize) -> Aad<[u8; 8]> {
    Aad::from((first as u64).to_le_bytes())
}

/// Fills a buffer, and returns `false` if the file ends first.
fn read_whole(file: &mut File, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
