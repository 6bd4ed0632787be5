//! The bytes of an input that is read from any offset, like Parquet and Arrow files.

use std::{
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};
use vesica_core::error::{Error, InputFault, Result};

use crate::{digest::InputDigest, disk::File, remote::Object, spill::Spilled, written::Unwritten};

/// A file, an object in a store, bytes in memory, or bytes on disk for lack of memory.
#[derive(Clone)]
pub(crate) struct Stored {
    name: Arc<str>,
    len: u64,
    place: Place,
}

#[derive(Clone)]
enum Place {
    File { file: Arc<Mutex<File>>, modified: Option<SystemTime> },
    Object(Object),
    Memory(StoredBytes),
    Spilled(Spilled),
}

/// Shared bytes.
type StoredBytes = bytes::Bytes;

impl Stored {
    /// Opens a file.
    ///
    /// # Errors
    /// [`InputFault::Io`].
    pub(crate) fn file(name: &str, file: File) -> Result<Self> {
        let found = file.metadata().map_err(|error| unreadable(name, error))?;
        let modified = found.modified().ok();
        let place = Place::File { file: Arc::new(Mutex::new(file)), modified };
        Ok(Self { name: name.into(), len: found.len(), place })
    }

    /// Opens the object at this address.
    ///
    /// # Errors
    /// [`InputFault::Io`].
    pub(crate) fn object(address: &str) -> Result<Self> {
        let object = Object::open(address).map_err(|error| unreadable(address, error))?;
        Ok(Self { name: address.into(), len: object.len(), place: Place::Object(object) })
    }

    /// Takes bytes that have been read.
    pub(crate) fn memory(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), len: bytes.len() as u64, place: Place::Memory(bytes.into()) }
    }

    /// Takes bytes that have been read and put on disk.
    pub(crate) fn spilled(name: &str, spilled: Spilled) -> Self {
        Self { name: name.into(), len: spilled.len(), place: Place::Spilled(spilled) }
    }

    /// Returns the name used in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns an [`Error::Input`] of this input. If a store failed, that is the cause of any later fault.
    pub(crate) fn fault(&self, fault: InputFault) -> Error {
        if let Place::Object(object) = &self.place
            && let Some(failure) = object.failure()
        {
            return unreadable(&self.name, failure);
        }
        Error::Input { file: self.name.to_string(), fault }
    }

    /// Returns the digest of these parts, or of everything; `None` for an object, whose wanted columns are fetched only
    /// once.
    ///
    /// # Errors
    /// [`InputFault::Io`].
    pub(crate) fn digest(&self, parts: Option<&[Range<u64>]>) -> Result<Option<InputDigest>> {
        if matches!(self.place, Place::Object(_)) {
            return Ok(None);
        }
        let digest = match parts {
            Some(parts) => InputDigest::of_parts(self.len, parts, |at| self.reader(at)),
            None => InputDigest::of(&mut self.reader(0)),
        };
        digest.map(Some).map_err(|error| unreadable(&self.name, error))
    }

    /// Makes sure that nobody has written to the file since it was opened, as far as the system reports that.
    ///
    /// # Errors
    /// [`InputFault::Changed`].
    pub(crate) fn assert_unchanged(&self) -> Result<()> {
        let is_unchanged = match &self.place {
            Place::File { file, modified } => lock(file)
                .metadata()
                .map(|found| found.len() == self.len && found.modified().ok() == *modified),
            Place::Object(object) => object.is_unchanged(),
            Place::Memory(_) | Place::Spilled(_) => Ok(true),
        };
        match is_unchanged {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.fault(InputFault::Changed)),
            Err(error) => Err(unreadable(&self.name, error)),
        }
    }

    /// Makes sure that these parts, or everything, still have the digest computed earlier, if any. This notices changes
    /// that the system does not report.
    ///
    /// # Errors
    /// [`InputFault::Changed`] and [`InputFault::Io`].
    pub(crate) fn assert_same(
        &self,
        taken: Option<&InputDigest>,
        parts: Option<&[Range<u64>]>,
    ) -> Result<()> {
        self.assert_unchanged()?;
        match taken.is_none() || self.digest(parts)?.as_ref() == taken {
            true => Ok(()),
            false => Err(self.fault(InputFault::Changed)),
        }
    }

    /// Returns the result of writing matched rows, once it is certain that these parts, or everything, have not
    /// changed. Apparent damage means a change, since the table was sound when it was read.
    ///
    /// # Errors
    /// As [`Stored::assert_same`].
    pub(crate) fn settled<T>(
        &self,
        done: std::result::Result<T, Unwritten>,
        taken: Option<&InputDigest>,
        parts: Option<&[Range<u64>]>,
    ) -> std::result::Result<T, Unwritten> {
        if !matches!(done, Err(Unwritten::Output(_))) {
            self.assert_same(taken, parts)?;
        }
        done
    }

    /// Returns a reader from this offset on.
    pub(crate) fn reader(&self, at: u64) -> Reader {
        Reader { stored: self.clone(), at }
    }

    fn read_at(&self, at: u64, to: &mut [u8]) -> io::Result<usize> {
        match &self.place {
            Place::File { file, .. } => {
                let mut file = lock(file);
                file.seek(SeekFrom::Start(at))?;
                file.read(to)
            }
            Place::Object(object) => object.read_at(at, to),
            Place::Spilled(spilled) => spilled.read_at(at, to),
            Place::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                (&bytes[start..]).read(to)
            }
        }
    }
}

/// Locks the file. A thread that panicked with the lock leaves no harm: each read seeks first.
fn lock(file: &Mutex<File>) -> std::sync::MutexGuard<'_, File> {
    file.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn unreadable(name: &str, error: io::Error) -> Error {
    Error::Input { file: name.to_owned(), fault: InputFault::Io(error) }
}

/// A reader of a stored input from an offset on.
pub(crate) struct Reader {
    stored: Stored,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.stored.read_at(self.at, to)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.stored.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Stored {
    type T = io::BufReader<Reader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(self.reader(start)))
    }

    /// Returns the bytes only if they exist: nothing is allocated for a length that the file merely claims.
    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<StoredBytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len);
        let end = end.ok_or_else(|| ParquetError::EOF("beyond the end of the file".to_owned()))?;
        if let Place::Memory(bytes) = &self.place {
            return Ok(bytes.slice(start as usize..end as usize));
        }
        let mut bytes = vec![0; length];
        self.reader(start).read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_and_memory_are_read_alike_and_within_their_bounds() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0123456789").unwrap();
        let stored = Stored::file("t", File::open(file.path()).unwrap()).unwrap();
        for stored in [stored.clone(), Stored::memory("t", b"0123456789".to_vec())] {
            assert_eq!(&stored.get_bytes(2, 3).unwrap()[..], b"234");
            assert_eq!(&stored.get_bytes(10, 0).unwrap()[..], b"");
            for (start, length) in [(8, 3), (11, 0), (u64::MAX, 1), (0, 1 << 40)] {
                assert!(stored.get_bytes(start, length).is_err(), "{start} {length}");
            }
            let mut reader = stored.reader(0);
            reader.seek(SeekFrom::End(-3)).unwrap();
            let mut rest = String::new();
            reader.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "789");
            assert!(reader.seek(SeekFrom::Current(-11)).is_err());
            assert_eq!(stored.digest(None).unwrap().unwrap().bytes, 10);
            stored.assert_unchanged().unwrap();
        }
        file.write_all(b"x").unwrap();
        file.flush().unwrap();
        let error = stored.assert_unchanged().unwrap_err().to_string();
        assert!(error.contains("changed while it was read"), "{error}");
    }
}
