//! A part stored in a file, and checked again as it is read, because disks can corrupt data.
//!
//! The file begins with the digests of its chunks, and the hash of these digests is the part's name. A lookup therefore
//! checks only the chunks that it reads, and a lookup of a few keys in a large list does not read the whole file.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use vesica_list::{
    Error,
    part::{CHUNK, Entry, Stored, chunks, digest},
};

/// A part in a file.
pub struct StoredFile {
    path: PathBuf,
    entry: Entry,
    digests: Vec<u8>,
    open: Mutex<Open>,
}

/// The file, and the chunk read last, because lookups read in order.
struct Open {
    file: File,
    chunk: Option<(u64, Vec<u8>)>,
}

impl StoredFile {
    /// Opens the file of a part. Returns `None` if it is missing, or does not begin with the part's digests.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn open(path: &Path, entry: &Entry) -> io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if file.metadata()?.len() != entry.file_bytes() {
            return Ok(None);
        }
        let mut digests = vec![0; 32 * chunks(entry.bytes) as usize];
        file.read_exact(&mut digests)?;
        let open = Mutex::new(Open { file, chunk: None });
        let is_right = digest(entry.bytes, &digests) == entry.digest.0;
        Ok(is_right.then(|| Self { path: path.to_owned(), entry: *entry, digests, open }))
    }

    fn opened(&self) -> MutexGuard<'_, Open> {
        // A chunk is only ever replaced as a whole.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a chunk after checking its digest.
    fn chunk<'a>(&self, open: &'a mut Open, nth: u64) -> vesica_list::Result<&'a [u8]> {
        if open.chunk.as_ref().is_none_or(|(read, _)| *read != nth) {
            let begin = nth * CHUNK;
            let length = self.entry.bytes.min(begin + CHUNK) - begin;
            let mut bytes = vec![0; length as usize];
            let read = open.file.seek(SeekFrom::Start(self.digests.len() as u64 + begin));
            let read = read.and_then(|_| open.file.read_exact(&mut bytes));
            read.map_err(|error| Error::Read(error.kind()))?;
            if blake3::hash(&bytes).as_bytes()[..] != self.digests[32 * nth as usize..][..32] {
                // The next call fetches it again.
                drop(fs::remove_file(&self.path));
                return Err(Error::Damaged { sequence: self.entry.sequence });
            }
            open.chunk = Some((nth, bytes));
        }
        Ok(open.chunk.as_ref().map_or(&[], |(_, bytes)| bytes))
    }
}

impl Stored for StoredFile {
    fn read(&self, range: Range<u64>) -> vesica_list::Result<Vec<u8>> {
        let too_far = || Error::Read(io::ErrorKind::UnexpectedEof);
        let front = self.digests.len() as u64;
        let (Some(mut at), true) = (range.start.checked_sub(front), range.start <= range.end)
        else {
            return Err(too_far());
        };
        let end = range.end - front;
        if end > self.entry.bytes {
            return Err(too_far());
        }
        let mut open = self.opened();
        let mut bytes = Vec::with_capacity((end - at) as usize);
        while at < end {
            let nth = at / CHUNK;
            let chunk = self.chunk(&mut open, nth)?;
            let last = end.min((nth + 1) * CHUNK);
            bytes.extend_from_slice(
                &chunk[(at - nth * CHUNK) as usize..(last - nth * CHUNK) as usize],
            );
            at = last;
        }
        Ok(bytes)
    }
}
