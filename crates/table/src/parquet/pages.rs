//! The bytes of a Parquet file for the library, without pages that there is no memory for.
//!
//! The library reserves as much memory for a page as its header claims, up to 2 GiB, and a few kilobytes can be packed so that
//! they unpack to that. It asks for the bytes at the place of each header, which is looked at here first.

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

/// A page may have this part of the memory, packed and unpacked: columns are read by several threads.
const PART: u64 = 4;

/// The size that a page may have however little memory there is. Programs write pages of about one mebibyte.
const LEAST: u64 = 8 << 20;

/// A file, and whether a page of it was too large.
#[derive(Clone)]
pub(super) struct Pages {
    stored: Stored,
    most: u64,
    exceeded: Arc<AtomicBool>,
}

impl Pages {
    /// Bounds the pages of a file by the memory for its reading.
    pub(super) fn new(stored: Stored, most_bytes: u64) -> Self {
        let most = (most_bytes / PART).max(LEAST);
        Self { stored, most, exceeded: Arc::default() }
    }

    /// The most bytes of a page, if one had more.
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
