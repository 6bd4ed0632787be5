//! Temporary data on disk that only this process can read.
//!
//! The file has no name if the system allows it, and otherwise mode 0600 and a name that is removed immediately. Its
//! content is encrypted with AES-256-GCM, chunk by chunk, under a key that exists only in memory. A chunk that has
//! changed or moved is an error.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom, SystemRandom},
};
use zeroize::Zeroizing;

use crate::disk::File;

/// The length of a chunk before encryption, in bytes.
pub const CHUNK: usize = 1 << 16;

/// The length of a chunk on disk, in bytes.
const SEALED: usize = CHUNK + MAX_TAG_LEN;

/// A file of chunks, each encrypted under its number. Several threads may encrypt and decrypt at a time.
pub struct Chunks {
    /// The expanded key and its tables, boxed because they are large.
    key: Box<LessSafeKey>,
    file: File,
}

/// A file that is written from beginning to end.
pub struct Spill {
    file: Chunks,
    /// The bytes that do not fill a chunk yet.
    chunk: Vec<u8>,
    chunks: u64,
}

/// A complete file, which can be read from any offset.
#[derive(Clone)]
pub struct Spilled(Arc<Shared>);

struct Shared {
    file: Chunks,
    len: u64,
    /// The chunk that was read last, with its number.
    last: Mutex<Option<(u64, Zeroizing<Vec<u8>>)>>,
}

impl Chunks {
    /// Creates a file without chunks in this directory.
    pub fn create(directory: &Path) -> io::Result<Self> {
        let mut key = Zeroizing::new([0; 32]);
        let no_key = |_| io::Error::other("the system provides no randomness");
        SystemRandom::new().fill(&mut *key).map_err(no_key)?;
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).map_err(no_key)?);
        Ok(Self { key: Box::new(key), file: File::temporary(directory)? })
    }

    /// Encrypts a chunk, writes it, and empties the buffer. Each number has one chunk, and all but the last one have
    /// [`CHUNK`] bytes.
    pub fn put(&self, number: u64, chunk: &mut Vec<u8>) -> io::Result<()> {
        let sealed = self.key.seal_in_place_append_tag(nonce(number), Aad::empty(), chunk);
        sealed.map_err(|_| io::Error::other("a chunk cannot be encrypted"))?;
        self.file.write_all_at(chunk, number * SEALED as u64)?;
        chunk.clear();
        Ok(())
    }

    /// Reads a chunk of `len` bytes and decrypts it.
    pub fn get(&self, number: u64, len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
        let mut chunk = Zeroizing::new(vec![0; len + MAX_TAG_LEN]);
        self.file.read_exact_at(&mut chunk, number * SEALED as u64)?;
        let opened = self.key.open_in_place(nonce(number), Aad::empty(), &mut chunk);
        let changed =
            |_| io::Error::new(io::ErrorKind::InvalidData, "the spilled bytes have changed");
        opened.map_err(changed)?;
        chunk.truncate(len);
        Ok(chunk)
    }
}

/// Returns an empty buffer with the capacity of a chunk.
pub fn empty_chunk() -> Vec<u8> {
    Vec::with_capacity(SEALED)
}

/// Returns the nonce of a chunk. All chunks of a key have different nonces.
fn nonce(chunk: u64) -> Nonce {
    let mut nonce = [0; NONCE_LEN];
    nonce[..8].copy_from_slice(&chunk.to_le_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl Spill {
    /// Creates an empty file in this directory.
    pub fn create(directory: &Path) -> io::Result<Self> {
        Ok(Self { file: Chunks::create(directory)?, chunk: empty_chunk(), chunks: 0 })
    }

    fn seal(&mut self) -> io::Result<()> {
        self.file.put(self.chunks, &mut self.chunk)?;
        self.chunks += 1;
        Ok(())
    }

    /// Writes the last chunk.
    pub fn finish(mut self) -> io::Result<Spilled> {
        let len = self.chunks * CHUNK as u64 + self.chunk.len() as u64;
        if !self.chunk.is_empty() {
            self.seal()?;
        }
        Ok(Spilled(Arc::new(Shared { file: self.file, len, last: Mutex::new(None) })))
    }
}

impl Write for Spill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        if self.chunk.len() == CHUNK {
            self.seal()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Spilled {
    pub(crate) fn len(&self) -> u64 {
        self.0.len
    }

    /// Reads up to the end of the chunk at this offset.
    pub(crate) fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<usize> {
        if at >= self.0.len {
            return Ok(0);
        }
        let (number, start) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
        // A chunk is stored once it is complete.
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(held, _)| *held != number) {
            *last = None;
            let len = (self.0.len - number * CHUNK as u64).min(CHUNK as u64);
            *last = Some((number, self.0.file.get(number, len as usize)?));
        }
        let Some((_, chunk)) = &*last else { return Ok(0) };
        (&chunk[start..]).read(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spilled(bytes: &[u8], piece: usize) -> Spilled {
        let mut spill = Spill::create(&std::env::temp_dir()).unwrap();
        bytes.chunks(piece).for_each(|piece| spill.write_all(piece).unwrap());
        spill.finish().unwrap()
    }

    #[test]
    fn written_bytes_are_read_from_any_offset() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * i % 251) as u8).collect();
            let spilled = spilled(&bytes, 1000);
            assert_eq!(spilled.len(), len as u64);
            for at in [0, 1, CHUNK - 1, CHUNK, 2 * CHUNK + 3, len.saturating_sub(1), len, len + 1] {
                let mut found = Vec::new();
                let mut piece = [0; 7000];
                loop {
                    match spilled.read_at((at + found.len()) as u64, &mut piece).unwrap() {
                        0 => break,
                        read => found.extend_from_slice(&piece[..read]),
                    }
                }
                assert!(found == bytes[at.min(len)..], "{at} of {len}");
            }
        }
    }

    #[test]
    fn nothing_is_readable_on_disk_and_changes_are_noticed() {
        let bytes = b"secret ".repeat(CHUNK / 2);
        let spilled = spilled(&bytes, CHUNK);
        let file = &spilled.0.file.file;
        let mut stored = vec![0; file.metadata().unwrap().len() as usize];
        file.read_exact_at(&mut stored, 0).unwrap();
        assert!(!stored.windows(6).any(|window| window == b"secret"));
        // The first chunk in place of the second.
        file.write_all_at(&stored[..SEALED], SEALED as u64).unwrap();
        let mut byte = [0];
        assert_eq!(spilled.read_at(0, &mut byte).unwrap(), 1);
        assert!(spilled.read_at(CHUNK as u64, &mut byte).is_err());
        assert_eq!(spilled.read_at(2 * CHUNK as u64, &mut byte).unwrap(), 1);
    }
}
