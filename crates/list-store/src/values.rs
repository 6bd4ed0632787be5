//! The values of a list's items, on the publisher's disk: so an update evaluates the function for new items alone.
//!
//! A record is the item's place in the order, its tag of 128 bits and, where items have labels, the label's key and a hash of
//! the label. Records are in order.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use vesica_core::error::Result;
use vesica_list::value::Value;
use zeroize::Zeroize;

use super::directory::failed;

/// What is known of an item.
#[derive(Clone)]
pub(super) struct Record {
    /// The place in the order: the last half of the item, of which the partition of a key is the first bits.
    pub(super) place: u128,
    pub(super) value: Value,
    /// The hash of the label; zeros where there is none.
    pub(super) label: [u8; 16],
}

impl Record {
    /// The place of an item.
    pub(super) fn place(item: &[u8; 32]) -> u128 {
        let mut place = [0; 16];
        place.copy_from_slice(&item[16..]);
        u128::from_le_bytes(place)
    }

    /// The first place behind a partition; `None` where that is the last.
    pub(super) fn end(partition: usize, partitions: usize) -> Option<u128> {
        let end = ((partition as u128 + 1) << 64).div_ceil(partitions as u128);
        (end >> 64 == 0).then_some(end << 64)
    }
}

/// Bytes of a record.
fn length(labelled: bool) -> usize {
    if labelled { 64 } else { 32 }
}

/// Reads records in order.
pub(super) struct Reader {
    path: PathBuf,
    /// There is none where nothing was published yet.
    file: Option<BufReader<File>>,
    labelled: bool,
    left: u64,
    next: Option<Record>,
}

impl Reader {
    /// Of so many records; `None` for those that are in the file, of which there are none where there is no file.
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

    /// Whether a file has so many records, or more.
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

    /// The next record.
    pub(super) fn next(&mut self) -> Result<Option<Record>> {
        let next = self.read()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    /// All records before a place; `None` for all that are left.
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
    /// Into a new file.
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

    /// Sees to it that they outlast a power failure. Returns how many there are.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn keep(&mut self) -> Result<u64> {
        let kept = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        kept.map_err(failed(&self.path))?;
        Ok(self.records)
    }
}
