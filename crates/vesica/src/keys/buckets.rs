//! Records of keys, sorted into buckets on disk.
//!
//! One encrypted file takes the records of all buckets, chunk by chunk. Which chunks are of which bucket stays in memory.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    error::{Error, Result},
    table::spill::{CHUNK, Spill, Spilled},
};

/// Buckets that are being filled with records of the same length.
pub(crate) struct Filling {
    directory: PathBuf,
    spill: Spill,
    /// The number of the next chunk.
    next: u32,
    /// Bytes of a record.
    record: usize,
    buckets: Vec<Bucket>,
}

/// Buckets that are complete.
pub(crate) struct Buckets {
    directory: PathBuf,
    spilled: Spilled,
    record: usize,
    buckets: Vec<Bucket>,
}

#[derive(Default, Clone)]
struct Bucket {
    /// Full chunks, by their numbers.
    chunks: Vec<u32>,
    /// Records for the next chunk.
    rest: Vec<u8>,
}

impl Filling {
    /// So many empty buckets for records of so many bytes, in a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn create(directory: &Path, buckets: usize, record: usize) -> Result<Self> {
        let spill = Spill::create(directory).map_err(|source| unwritten(directory, source))?;
        let buckets = vec![Bucket::default(); buckets];
        Ok(Self { directory: directory.to_owned(), spill, next: 0, record, buckets })
    }

    /// How many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Puts a record into a bucket.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn push(&mut self, bucket: usize, record: &[u8]) -> Result<()> {
        debug_assert_eq!(record.len(), self.record, "records of one length");
        let bucket = &mut self.buckets[bucket];
        if bucket.rest.is_empty() {
            bucket.rest.reserve_exact(CHUNK);
        }
        bucket.rest.extend_from_slice(record);
        if bucket.rest.len() + self.record > CHUNK {
            bucket.rest.resize(CHUNK, 0);
            let written = self.spill.write_all(&bucket.rest);
            written.map_err(|source| unwritten(&self.directory, source))?;
            bucket.chunks.push(self.next);
            bucket.rest.clear();
            self.next += 1;
        }
        Ok(())
    }

    /// Ends the filling.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn finish(self) -> Result<Buckets> {
        let Self { directory, spill, record, buckets, .. } = self;
        let spilled = spill.finish().map_err(|source| unwritten(&directory, source))?;
        Ok(Buckets { directory, spilled, record, buckets })
    }
}

impl Buckets {
    /// How many buckets there are.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// How many records a bucket has.
    pub(crate) fn records(&self, bucket: usize) -> usize {
        let Bucket { chunks, rest } = &self.buckets[bucket];
        chunks.len() * (CHUNK / self.record) + rest.len() / self.record
    }

    /// Shows every record of a bucket, in the order in which they were put there.
    ///
    /// # Errors
    /// [`Error::Output`], and what `show` returns.
    pub(crate) fn read(
        &self,
        bucket: usize,
        mut show: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let Bucket { chunks, rest } = &self.buckets[bucket];
        for chunk in chunks {
            let chunk = self.spilled.chunk((*chunk).into());
            let chunk = chunk.map_err(|source| unwritten(&self.directory, source))?;
            chunk.chunks_exact(self.record).try_for_each(&mut show)?;
        }
        rest.chunks_exact(self.record).try_for_each(show)
    }
}

fn unwritten(directory: &Path, source: io::Error) -> Error {
    Error::Output { path: directory.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_in_order() {
        let mut filling = Filling::create(&std::env::temp_dir(), 3, 40).unwrap();
        let record = |i: u32| [i.to_le_bytes(); 10].concat();
        (0..20_000).for_each(|i| filling.push(i as usize % 7 % 3, &record(i)).unwrap());
        let buckets = filling.finish().unwrap();
        for bucket in 0..3 {
            let mut expected = (0..20_000).filter(|i| *i as usize % 7 % 3 == bucket);
            let mut count = 0;
            let read = buckets.read(bucket, |found| {
                assert_eq!(found, record(expected.next().unwrap()));
                count += 1;
                Ok(())
            });
            read.unwrap();
            assert!(expected.next().is_none());
            assert_eq!(buckets.records(bucket), count);
        }
    }

    #[test]
    fn empty_buckets_are_read() {
        let buckets = Filling::create(&std::env::temp_dir(), 2, 8).unwrap().finish().unwrap();
        assert_eq!((buckets.len(), buckets.records(1)), (2, 0));
        buckets.read(1, |_| panic!("there is no record")).unwrap();
    }
}
