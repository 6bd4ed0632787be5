//! The bytes of a Parquet file for the library, without pages that exceed the memory.
//!
//! The library reserves as much memory for a page as its header claims, up to 2 GiB, and a few packed kilobytes can
//! unpack to that. It asks for the bytes at the place of each header, so this file checks the header first.

use std::{
    io::{BufRead, BufReader},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use parquet::{
    errors::{ParquetError, Result},
    file::reader::{ChunkReader, Length},
};

use super::footer;
use crate::stored::{Reader, Stored};

/// The part of the memory that a page may take, packed and unpacked: several threads read columns.
const PART: u64 = 4;

/// The size that a page may always have. Programs write pages of about one mebibyte.
const LEAST: u64 = 8 << 20;

/// A file, and whether a page of it was too large.
#[derive(Clone)]
pub(super) struct Pages {
    stored: Stored,
    most: u64,
    exceeded: Arc<AtomicBool>,
}

impl Pages {
    /// Limits the pages of a file by the memory for reading it.
    pub(super) fn new(stored: Stored, most_bytes: u64) -> Self {
        let most = (most_bytes / PART).max(LEAST);
        Self { stored, most, exceeded: Arc::default() }
    }

    /// Returns the limit on a page, if one exceeded it.
    pub(super) fn exceeded(&self) -> Option<u64> {
        self.exceeded.load(Ordering::Relaxed).then_some(self.most)
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        Length::len(&self.stored)
    }
}

impl ChunkReader for Pages {
    type T = BufReader<Reader>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut read = self.stored.get_read(start)?;
        if footer::size_of_page(read.fill_buf()?).is_some_and(|size| size > self.most) {
            self.exceeded.store(true, Ordering::Relaxed);
            return Err(ParquetError::General("a page is too large".to_owned()));
        }
        Ok(read)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.stored.get_bytes(start, length)
    }
}
