//! What comes once and is needed several times: a pipe, of which everything that was read is kept.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How much is read at a time.
const CHUNK: usize = 1 << 16;

/// A stream, and what has come of it.
#[derive(Clone)]
pub(crate) struct Spool(Arc<Mutex<State>>);

struct State {
    stream: Box<dyn Read + Send>,
    kept: Vec<u8>,
    has_ended: bool,
}

impl Spool {
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> Self {
        Self(Arc::new(Mutex::new(State { stream, kept: Vec::new(), has_ended: false })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A stream that panicked has added nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the beginning, and waits for no more than one piece that has not come yet.
    pub(crate) fn reader(&self) -> impl Read + Send + use<> {
        Reader { spool: self.clone(), at: 0 }
    }

    /// Reads to the end, and returns everything; or `None` where that is more than so many bytes.
    pub(crate) fn finish(self, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut state = self.state();
        while state.kept.len() as u64 <= most {
            if !state.read_some()? {
                return Ok(Some(std::mem::take(&mut state.kept)));
            }
        }
        Ok(None)
    }
}

impl State {
    /// Waits for the next piece, and says whether there was one.
    fn read_some(&mut self) -> io::Result<bool> {
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
        // What has come to its end is not asked again.
        self.has_ended |= matches!(read, Ok(0));
        read.map(|read| read > 0)
    }
}

struct Reader {
    spool: Spool,
    at: usize,
}

impl Read for Reader {
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
    fn what_came_once_is_read_again() {
        let text: Vec<u8> = (0..3 * CHUNK + 17).map(|i| (i % 251) as u8).collect();
        let spool = Spool::new(Box::new(io::Cursor::new(text.clone())));
        for part in [0, 10, CHUNK + 1] {
            let mut head = vec![0; part];
            spool.reader().read_exact(&mut head).unwrap();
            assert!(head == text[..part]);
        }
        let mut all = Vec::new();
        spool.reader().read_to_end(&mut all).unwrap();
        assert!(all == text);
        assert!(spool.finish(text.len() as u64).unwrap() == Some(text.clone()));
        let spool = Spool::new(Box::new(io::Cursor::new(text.clone())));
        assert!(spool.finish(text.len() as u64 - 1).unwrap().is_none());
    }
}
