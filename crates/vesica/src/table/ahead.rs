//! Reading ahead: one thread reads, hashes and unpacks while another parses what came before.

use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

/// Bytes of a block.
const BLOCK: usize = 1 << 18;

/// Blocks that are read before they are asked for.
const BLOCKS: usize = 2;

/// Reads from another thread, which ends when this is dropped.
pub(super) struct Ahead {
    blocks: Receiver<io::Result<Vec<u8>>>,
    /// Where used blocks go.
    used: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    /// Where in the block the next byte is.
    start: usize,
    has_ended: bool,
}

impl Ahead {
    /// What `from` reads.
    ///
    /// # Errors
    /// Where there can be no other thread.
    pub(super) fn new(mut from: Box<dyn Read + Send>) -> io::Result<Self> {
        let (to, blocks) = sync_channel(BLOCKS);
        let (used, again) = sync_channel::<Vec<u8>>(BLOCKS + 2);
        let read = move || {
            loop {
                let mut block = again.try_recv().unwrap_or_default();
                block.resize(BLOCK, 0);
                let read = match from.read(&mut block) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let is_last = !matches!(read, Ok(1..));
                let read = read.map(|len| {
                    block.truncate(len);
                    block
                });
                // Nobody takes it when the reading was given up.
                if to.send(read).is_err() || is_last {
                    return;
                }
            }
        };
        thread::Builder::new().name("vesica-read".to_owned()).spawn(read)?;
        Ok(Self { blocks, used, block: Vec::new(), start: 0, has_ended: false })
    }
}

impl Read for Ahead {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.start == self.block.len() && !self.has_ended {
            let died = |_| Err(io::Error::other("the thread that reads has panicked"));
            let next = self.blocks.recv().unwrap_or_else(died);
            // After an error there is no more.
            self.has_ended = !matches!(&next, Ok(block) if !block.is_empty());
            let used = std::mem::replace(&mut self.block, next?);
            self.start = 0;
            // It is dropped where there are enough.
            let _ = self.used.try_send(used);
        }
        let read = (&self.block[self.start..]).read(to)?;
        self.start += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a few bytes at a time, and fails in the end.
    struct Failing(Vec<u8>);

    impl Read for Failing {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::from_raw_os_error(5));
            }
            let len = self.0.len().min(to.len()).min(1000);
            to[..len].copy_from_slice(&self.0[..len]);
            self.0.drain(..len);
            Ok(len)
        }
    }

    #[test]
    fn all_bytes_come_in_order() {
        for len in [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 17] {
            let bytes: Vec<u8> = (0..len).map(|i| (i * i % 251) as u8).collect();
            let mut ahead = Ahead::new(Box::new(io::Cursor::new(bytes.clone()))).unwrap();
            let mut found = Vec::new();
            ahead.read_to_end(&mut found).unwrap();
            assert!(found == bytes, "{len}");
            assert_eq!(ahead.read(&mut [0]).unwrap(), 0);
        }
    }

    struct Panicking;

    impl Read for Panicking {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("as a test wants")
        }
    }

    #[test]
    fn a_thread_that_dies_is_not_taken_for_the_end() {
        let mut ahead = Ahead::new(Box::new(Panicking)).unwrap();
        assert!(ahead.read(&mut [0]).unwrap_err().to_string().contains("panicked"));
    }

    #[test]
    fn an_error_comes_after_what_was_read_before_it() {
        let mut ahead = Ahead::new(Box::new(Failing(vec![7; 2_500]))).unwrap();
        let mut found = Vec::new();
        let error = ahead.read_to_end(&mut found).unwrap_err();
        assert_eq!((found, error.raw_os_error()), (vec![7; 2_500], Some(5)));
    }
}
