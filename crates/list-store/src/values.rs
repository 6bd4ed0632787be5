//! The values of a list's items, stored on the publisher's disk, so that an update evaluates the function only for new
//! items.
//!
//! A record contains the item's place in the order, its tag of 128 bits and, in a list with labels, the label's key and
//! a hash of the label. Records are sorted.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use vesica_core::error::Result;
use vesica_list::value::Value;
use zeroize::Zeroize;

use super::directory::failed;

/// The stored values of an item.
#[derive(Clone)]
pub(super) struct Record {
    /// Place in the order: the last half of the item. Its first bits are the key's partition.
    pub(super) place: u128,
    pub(super) value: Value,
    /// Hash of the label, or zeros without a label.
    pub(super) label: [u8; 16],
}

impl Record {
    /// Returns the place of an item.
    pub(super) fn place(item: &[u8; 32]) -> u128 {
        let mut place = [0; 16];
        place.copy_from_slice(&item[16..]);
        u128::from_le_bytes(place)
    }

    /// Returns the first place after a partition, or `None` if it is the last.
    pub(super) fn end(partition: usize, partitions: usize) -> Option<u128> {
        let end = ((partition as u128 + 1) << 64).div_ceil(partitions as u128);
        (end >> 64 == 0).then_some(end << 64)
    }
}

/// Returns the size of a record.
fn length(labelled: bool) -> usize {
    if labelled { 64 } else { 32 }
}

/// Reads records in order.
pub(super) struct RecordReader {
    path: PathBuf,
    /// `None` if nothing was published yet.
    file: Option<BufReader<File>>,
    labelled: bool,
    left: u64,
    next: Option<Record>,
}

impl RecordReader {
    /// Opens a file to read `records` records, or all if `None`. In that case a missing file counts as empty.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn open(path: &Path, labelled: bool, records: Option<u64>) -> Result<Self> {
        let file = match (File::open(path), records) {
            (Err(error), None) if error.kind() == io::ErrorKind::NotFound => None,
            (file, _) => Some(file.map_err(failed(path))?),
        };
        let bytes = file.as_ref().map_or(Ok(0), |file| file.metadata().map(|data| data.len()));
        let whole = bytes.map_err(failed(path))? / length(labelled) as u64;
        let left = records.unwrap_or(whole);
        let file = file.map(|file| BufReader::with_capacity(1 << 18, file));
        let mut this = Self { path: path.to_owned(), file, labelled, left, next: None };
        this.next = this.read()?;
        Ok(this)
    }

    /// Returns whether a file has at least this many records.
    pub(super) fn holds(path: &Path, labelled: bool, records: u64) -> bool {
        let whole = fs::metadata(path).map_or(0, |data| data.len() / length(labelled) as u64);
        records <= whole
    }

    fn read(&mut self) -> Result<Option<Record>> {
        let Some(file) = self.file.as_mut().filter(|_| self.left > 0) else { return Ok(None) };
        let mut bytes = [0; 64];
        let read = file.read_exact(&mut bytes[..length(self.labelled)]);
        read.map_err(failed(&self.path))?;
        self.left -= 1;
        let (blocks, _) = bytes.as_chunks::<16>();
        let value = Value::new(u128::from_le_bytes(blocks[1]), blocks[2]);
        let record = Record { place: u128::from_le_bytes(blocks[0]), value, label: blocks[3] };
        bytes.zeroize();
        Ok(Some(record))
    }

    /// Returns the next record.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        let next = self.read()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// Returns all records before a place, or all remaining records if `None`.
    pub(super) fn before(&mut self, end: Option<u128>) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        while self.next.as_ref().is_some_and(|next| end.is_none_or(|end| next.place < end)) {
            records.extend(self.next()?);
        }
        Ok(records)
    }
}

/// Writes records in order.
pub(super) struct Writer {
    path: PathBuf,
    file: BufWriter<File>,
    labelled: bool,
    records: u64,
}

impl Writer {
    /// Creates a file for records.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn create(path: &Path, labelled: bool) -> Result<Self> {
        let file = BufWriter::with_capacity(1 << 18, File::create(path).map_err(failed(path))?);
        Ok(Self { path: path.to_owned(), file, labelled, records: 0 })
    }

    /// Writes records.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn write(&mut self, records: &[Record]) -> Result<()> {
        for Record { place, value, label } in records {
            let tag = value.whole_tag().to_le_bytes();
            let blocks = [place.to_le_bytes(), tag, *value.label_key(), *label].concat();
            let written = self.file.write_all(&blocks[..length(self.labelled)]);
            written.map_err(failed(&self.path))?;
        }
        self.records += records.len() as u64;
        Ok(())
    }

    /// Syncs the records to disk, and returns their number.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn keep(&mut self) -> Result<u64> {
        let kept = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        kept.map_err(failed(&self.path))?;
        Ok(self.records)
    }
}
