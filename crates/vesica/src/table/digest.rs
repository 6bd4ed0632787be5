//! What was read, so that somebody can say later which file it was.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// Bytes that are read and hashed at a time: few enough to be still in the cache for the second.
const CHUNK: usize = 1 << 18;

/// The digest of an input. `sha256sum` computes the same of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputDigest {
    /// Bytes of the input.
    pub bytes: u64,
    /// The name of the hash: `sha256`.
    pub algorithm: &'static str,
    /// The hash of all bytes, as hexadecimal digits.
    pub digest: String,
}

impl InputDigest {
    fn new(len: usize, hash: Sha256) -> Self {
        let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes: len as u64, algorithm: "sha256", digest: hash }
    }
}

/// Appends all that comes to what has been read already, and hashes both on the way.
pub(super) fn read(from: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<InputDigest> {
    let mut hash = Sha256::new_with_prefix(&*bytes);
    loop {
        let before = bytes.len();
        let read = from.take(CHUNK as u64).read_to_end(bytes)?;
        hash.update(&bytes[before..]);
        // What has come to its end is not asked again.
        if read < CHUNK {
            return Ok(InputDigest::new(bytes.len(), hash));
        }
    }
}

/// Hashes all that comes, and keeps none of it.
pub(super) fn of(from: &mut dyn Read) -> io::Result<InputDigest> {
    let (mut hash, mut chunk, mut len) = (Sha256::new(), vec![0; CHUNK], 0);
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(InputDigest::new(len, hash)),
            Ok(read) => {
                hash.update(&chunk[..read]);
                len += read;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The hash of what has come through a [`Hashing`] reader.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<(Sha256, usize)>>);

impl Seen {
    fn state(&self) -> MutexGuard<'_, (Sha256, usize)> {
        // Each change is one call that does not panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The digest of all that has come so far.
    pub(super) fn digest(&self) -> InputDigest {
        let state = self.state();
        InputDigest::new(state.1, state.0.clone())
    }
}

/// Hashes what is read through it.
pub(super) struct Hashing<R>(pub(super) R, pub(super) Seen);

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(to)?;
        let mut state = self.1.state();
        state.0.update(&to[..read]);
        state.1 += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's example, and lengths around a chunk, of which some bytes were read before.
    #[test]
    fn the_digest_is_that_of_all_bytes() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let of = |bytes: &[u8]| InputDigest::new(bytes.len(), Sha256::new_with_prefix(bytes));
        assert_eq!(of(b"abc").digest, abc);
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7] {
            let all: Vec<u8> = (0..len).map(|i| (i * i % 251) as u8).collect();
            for head in [0, len / 3, len] {
                let mut bytes = all[..head].to_vec();
                let digest = read(&mut &all[head..], &mut bytes).unwrap();
                assert!(bytes == all, "{len}");
                assert_eq!(digest, of(&all), "{len}");
                assert_eq!(digest.bytes, len as u64);
                assert_eq!(super::of(&mut &all[..]).unwrap(), digest);
                let seen = Seen::default();
                let mut through = Vec::new();
                Hashing(&all[..], seen.clone()).read_to_end(&mut through).unwrap();
                assert_eq!((seen.digest(), through.len()), (digest, len));
            }
        }
    }
}
