//! The digest of an input, which identifies the file that was read.

use std::{
    io::{self, Read},
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// The number of bytes that are read and hashed at a time: few enough to be still in the cache when they are hashed.
const CHUNK: usize = 1 << 18;

/// The digest of an input. If it covers everything, it is what `sha256sum` computes for the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputDigest {
    /// The size of the input, in bytes.
    pub bytes: u64,
    /// The name of the hash: `sha256`.
    pub algorithm: &'static str,
    /// The hash, as hexadecimal digits.
    pub digest: String,
    /// `everything`; or `columns` if only a Parquet file's metadata and the columns that were read for the run were
    /// hashed, in the order of the file. Other columns may then have any size at no cost.
    pub covers: &'static str,
}

impl InputDigest {
    fn new(bytes: u64, hash: Sha256) -> Self {
        let digest = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes, algorithm: "sha256", digest, covers: "everything" }
    }

    /// Computes the digest of these parts, one after the other, of an input of this many bytes.
    ///
    /// # Errors
    /// Any error of a reader, and [`io::ErrorKind::UnexpectedEof`] if the input is shorter.
    pub(super) fn of_parts<R: Read>(
        bytes: u64,
        parts: &[Range<u64>],
        reader: impl Fn(u64) -> R,
    ) -> io::Result<Self> {
        let mut hash = Sha256::new();
        for part in parts {
            let len = part.end.saturating_sub(part.start);
            if update(&mut hash, &mut reader(part.start).take(len))? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(Self { covers: "columns", ..Self::new(bytes, hash) })
    }

    /// Computes the digest of all bytes of a reader.
    ///
    /// # Errors
    /// Any error of the reader.
    pub(super) fn of(from: &mut dyn Read) -> io::Result<Self> {
        let mut hash = Sha256::new();
        let bytes = update(&mut hash, from)?;
        Ok(Self::new(bytes, hash))
    }
}

/// Hashes all bytes of a reader without keeping them, and returns their number.
fn update(hash: &mut Sha256, from: &mut dyn Read) -> io::Result<u64> {
    let (mut chunk, mut len) = (vec![0; CHUNK], 0);
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(len),
            Ok(read) => {
                hash.update(&chunk[..read]);
                len += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The record of the bytes that passed through a [`Hashing`] reader.
#[derive(Clone)]
pub(super) struct Seen(Arc<Mutex<DigestState>>);

struct DigestState {
    /// The hash, if wanted.
    hash: Option<Sha256>,
    bytes: u64,
}

impl Seen {
    /// Makes an empty record. It has a hash if it is `digested`.
    pub(super) fn new(digested: bool) -> Self {
        let hash = digested.then(Sha256::new);
        Self(Arc::new(Mutex::new(DigestState { hash, bytes: 0 })))
    }

    fn state(&self) -> MutexGuard<'_, DigestState> {
        // Each change is one call that does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes so far.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// Returns the digest of all bytes so far, if there is a hash.
    pub(super) fn digest(&self) -> Option<InputDigest> {
        let state = self.state();
        Some(InputDigest::new(state.bytes, state.hash.clone()?))
    }
}

/// A reader that hashes and counts the bytes that pass through it.
pub(super) struct Hashing<R>(pub(super) R, pub(super) Seen);

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(to)?;
        let mut state = self.1.state();
        if let Some(hash) = &mut state.hash {
            hash.update(&to[..read]);
        }
        state.bytes += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_hashed_one_after_the_other() {
        let bytes = b"xxabxxc";
        let of = |parts: &[Range<u64>]| InputDigest::of_parts(7, parts, |at| &bytes[at as usize..]);
        let found = of(&[2..4, 6..7]).unwrap();
        assert_eq!((found.covers, found.bytes), ("columns", 7));
        assert_eq!(found.digest, InputDigest::of(&mut &b"abc"[..]).unwrap().digest);
        assert!(of(&[0..1, 6..8]).is_err());
    }

    /// Tests FIPS 180-4's example, and lengths around a chunk.
    #[test]
    fn the_digest_covers_all_bytes() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let of =
            |bytes: &[u8]| InputDigest::new(bytes.len() as u64, Sha256::new_with_prefix(bytes));
        assert_eq!(of(b"abc").digest, abc);
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7] {
            let all: Vec<u8> = (0..len).map(|i| (i * i % 251) as u8).collect();
            let digest = InputDigest::of(&mut &all[..]).unwrap();
            assert_eq!((&digest, digest.bytes), (&of(&all), len as u64));
            for digested in [false, true] {
                let seen = Seen::new(digested);
                let mut through = Vec::new();
                Hashing(&all[..], seen.clone()).read_to_end(&mut through).unwrap();
                assert!(through == all);
                assert_eq!((seen.bytes(), seen.digest()), (len as u64, digested.then(|| of(&all))));
            }
        }
    }
}
