//! Input that arrives once and is needed several times: a pipe whose bytes are kept.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vesica_core::error::{Error, InputFault, Result};

use crate::{spill::Spill, stored::Stored};

/// The number of bytes read at a time.
const CHUNK: usize = 1 << 16;

/// The number of bytes kept in memory. More go to disk.
const IN_MEMORY: usize = 1 << 26;

/// A stream, with the bytes that have arrived.
#[derive(Clone)]
pub(crate) struct Spool(Arc<Mutex<SpoolState>>);

struct SpoolState {
    stream: Box<dyn Read + Send>,
    kept: Vec<u8>,
    has_ended: bool,
}

impl Spool {
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> Self {
        Self(Arc::new(Mutex::new(SpoolState { stream, kept: Vec::new(), has_ended: false })))
    }

    fn state(&self) -> MutexGuard<'_, SpoolState> {
        // A stream that panicked has added nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a reader from the beginning, which waits for no more than one new piece at a time.
    pub(crate) fn reader(&self) -> impl Read + Send + use<> {
        SpoolReader { spool: self.clone(), at: 0 }
    }

    /// Reads to the end. Bytes that do not fit into memory go to a file in this directory.
    ///
    /// # Errors
    /// [`InputFault::Io`], and [`Error::Output`] of the directory.
    pub(crate) fn finish(self, name: &str, directory: &Path) -> Result<Stored> {
        self.finish_within(IN_MEMORY, name, directory)
    }

    fn finish_within(self, in_memory: usize, name: &str, directory: &Path) -> Result<Stored> {
        let unread = |error| Error::Input { file: name.to_owned(), fault: InputFault::Io(error) };
        let unwritten = |source| Error::Output { path: directory.to_owned(), source };
        let mut state = self.state();
        while state.kept.len() <= in_memory {
            if !state.read_some().map_err(unread)? {
                return Ok(Stored::memory(name, std::mem::take(&mut state.kept)));
            }
        }
        let mut spill = Spill::create(directory).map_err(unwritten)?;
        loop {
            spill.write_all(&state.kept).map_err(unwritten)?;
            state.kept.clear();
            if !state.read_some().map_err(unread)? {
                state.kept = Vec::new();
                return Ok(Stored::spilled(name, spill.finish().map_err(unwritten)?));
            }
        }
    }
}

impl SpoolState {
    /// Waits for the next piece, and returns whether there was one.
    fn read_some(&mut self) -> io::Result<bool> {
        // A stream is not read again after its end.
        if self.has_ended {
            return Ok(false);
        }
        let before = self.kept.len();
        self.kept.resize(before + CHUNK, 0);
        let read = loop {
            match self.stream.read(&mut self.kept[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.kept.truncate(before + *read.as_ref().unwrap_or(&0));
        self.has_ended |= matches!(read, Ok(0));
        read.map(|read| read > 0)
    }
}

struct SpoolReader {
    spool: Spool,
    at: usize,
}

impl Read for SpoolReader {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut state = self.spool.state();
        if self.at == state.kept.len() {
            state.read_some()?;
        }
        let read = (&state.kept[self.at..]).read(to)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_again_from_memory_or_disk() {
        let text: Vec<u8> = (0..3 * CHUNK + 17).map(|i| (i % 251) as u8).collect();
        let spool = || Spool::new(Box::new(io::Cursor::new(text.clone())));
        let directory = std::env::temp_dir();
        for in_memory in [0, CHUNK, text.len() - 1, text.len(), 10 * CHUNK] {
            let spool = spool();
            for part in [0, 10, CHUNK + 1] {
                let mut head = vec![0; part];
                spool.reader().read_exact(&mut head).unwrap();
                assert!(head == text[..part]);
            }
            let stored = spool.finish_within(in_memory, "t", &directory).unwrap();
            for _ in 0..2 {
                let mut all = Vec::new();
                stored.reader(0).read_to_end(&mut all).unwrap();
                assert!(all == text, "{in_memory}");
            }
        }
        let error = spool().finish_within(0, "t", Path::new("/nowhere")).err().unwrap().to_string();
        assert!(error.starts_with("/nowhere: cannot be written"), "{error}");
    }
}
