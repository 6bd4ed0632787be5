//! Records of keys, in buckets on disk.
//!
//! One encrypted file takes the records of all buckets in chunks. The assignment of chunks to buckets stays in memory.

use std::{
    io,
    path::{Path, PathBuf},
    slice::ChunksExact,
};

use rayon::prelude::*;
use vesica_core::error::{Error, Result};
use vesica_table::spill::{CHUNK, Chunks, empty_chunk};
use zeroize::Zeroizing;

/// The number of full chunks per thread that are written together.
const WAITING: usize = 4;

/// The number of chunks per thread that are read together.
const TOGETHER: usize = 4;

/// Buckets to fill with records of one length.
pub struct Filling {
    directory: PathBuf,
    file: Chunks,
    /// The length of a record, in bytes.
    record: usize,
    buckets: Vec<Bucket>,
    /// The number of chunks, including the pending ones.
    chunks: u32,
    /// The full chunks that are not yet written, which have the last numbers.
    waiting: Vec<Vec<u8>>,
    /// Written chunks, kept for reuse.
    spare: Vec<Vec<u8>>,
}

/// Complete buckets.
pub struct Buckets {
    directory: PathBuf,
    file: Chunks,
    record: usize,
    buckets: Vec<Bucket>,
}

#[derive(Default, Clone)]
struct Bucket {
    /// The numbers of the full chunks.
    chunks: Vec<u32>,
    /// Records for the next chunk.
    rest: Vec<u8>,
}

/// Records for several buckets, in the order of arrival.
pub(crate) struct Unsorted {
    record: usize,
    buckets: usize,
    bytes: Vec<u8>,
    /// The bucket of each record.
    places: Vec<u32>,
}

/// Records for several buckets, sorted by bucket. Within a bucket they keep their order of arrival.
pub(crate) struct Sorted {
    bytes: Vec<u8>,
    /// The end of each bucket in `bytes`.
    ends: Vec<usize>,
}

impl Bucket {
    /// Returns all records of the bucket, in order.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let chunks = self.chunks.iter().map(|chunk| Part::Written(*chunk));
        chunks.chain([Part::Rest(&self.rest)])
    }
}

impl Unsorted {
    /// Makes an empty collection for records of this many bytes and this many buckets, with capacity for `room`
    /// records.
    pub(crate) fn new(record: usize, buckets: usize, room: usize) -> Self {
        let (bytes, places) = (Vec::with_capacity(room * record), Vec::with_capacity(room));
        Self { record, buckets, bytes, places }
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, bucket: usize, record: &[u8]) {
        self.bytes.extend_from_slice(record);
        self.places.push(bucket as u32);
        debug_assert_eq!(self.bytes.len(), self.places.len() * self.record, "of one length");
    }

    /// Returns the number of records.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Sorts the records, and removes them from this collection.
    pub(crate) fn sort(&mut self) -> Sorted {
        let mut ends = vec![0; self.buckets];
        self.places.iter().for_each(|bucket| ends[*bucket as usize] += self.record);
        let mut before = 0;
        for end in &mut ends {
            // The beginning of the bucket, until its records are there.
            before += std::mem::replace(end, before);
        }
        let mut bytes = vec![0; self.bytes.len()];
        for (record, bucket) in self.bytes.chunks_exact(self.record).zip(&self.places) {
            let end = &mut ends[*bucket as usize];
            bytes[*end..*end + self.record].copy_from_slice(record);
            *end += self.record;
        }
        self.bytes.clear();
        self.places.clear();
        Sorted { bytes, ends }
    }
}

impl Filling {
    /// Makes empty buckets for records of this many bytes, in a file in this directory.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn create(directory: &Path, buckets: usize, record: usize) -> Result<Self> {
        let file = Chunks::create(directory).map_err(|source| unwritten(directory, source))?;
        let buckets = vec![Bucket::default(); buckets];
        let (waiting, spare) = Default::default();
        Ok(Self {
            directory: directory.to_owned(),
            file,
            record,
            buckets,
            chunks: 0,
            waiting,
            spare,
        })
    }

    /// Puts a record into a bucket.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn push(&mut self, bucket: usize, record: &[u8]) -> Result<()> {
        debug_assert_eq!(record.len(), self.record, "records of one length");
        self.extend(bucket, record)
    }

    /// Appends records to their buckets. Full chunks are encrypted on all threads.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn append(&mut self, sorted: &Sorted) -> Result<()> {
        let mut start = 0;
        for (bucket, end) in sorted.ends.iter().enumerate() {
            self.extend(bucket, &sorted.bytes[start..*end])?;
            start = *end;
        }
        Ok(())
    }

    fn extend(&mut self, bucket: usize, mut records: &[u8]) -> Result<()> {
        let full = CHUNK / self.record * self.record;
        while !records.is_empty() {
            let Bucket { chunks, rest } = &mut self.buckets[bucket];
            if rest.capacity() == 0 {
                *rest = self.spare.pop().unwrap_or_else(empty_chunk);
            }
            let (now, later) = records.split_at(records.len().min(full - rest.len()));
            rest.extend_from_slice(now);
            records = later;
            if rest.len() == full {
                rest.resize(CHUNK, 0);
                chunks.push(self.chunks);
                self.chunks += 1;
                self.waiting.push(std::mem::take(rest));
                let threads = rayon::current_num_threads();
                if threads == 1 || self.waiting.len() >= WAITING * threads {
                    self.write()?;
                }
            }
        }
        Ok(())
    }

    /// Writes all full chunks.
    fn write(&mut self) -> Result<()> {
        let first = self.chunks as usize - self.waiting.len();
        let waiting = self.waiting.par_iter_mut().enumerate();
        let written = waiting.try_for_each(|(i, chunk)| self.file.put((first + i) as u64, chunk));
        written.map_err(|source| unwritten(&self.directory, source))?;
        self.spare.append(&mut self.waiting);
        Ok(())
    }

    /// Completes the buckets.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn finish(mut self) -> Result<Buckets> {
        self.write()?;
        let Self { directory, file, record, buckets, .. } = self;
        Ok(Buckets { directory, file, record, buckets })
    }
}

impl Buckets {
    /// Returns the number of buckets.
    pub fn count(&self) -> usize {
        self.buckets.len()
    }

    /// Returns the number of records in a bucket.
    pub fn records(&self, bucket: usize) -> usize {
        let Bucket { chunks, rest } = &self.buckets[bucket];
        chunks.len() * (CHUNK / self.record) + rest.len() / self.record
    }

    /// Shows every record of a bucket, in the order of arrival.
    ///
    /// # Errors
    /// [`Error::Output`], and any error of `show`.
    pub fn read(&self, bucket: usize, mut show: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let Bucket { chunks, rest } = &self.buckets[bucket];
        for chunk in chunks {
            self.chunk(*chunk)?.chunks_exact(self.record).try_for_each(&mut show)?;
        }
        rest.chunks_exact(self.record).try_for_each(show)
    }

    /// Applies a function to all records, batch by batch and on all threads, and shows the results in the order of the
    /// buckets and of their records.
    ///
    /// # Errors
    /// [`Error::Output`], and any error of `show`.
    pub(crate) fn read_all<T: Send>(
        &self,
        make: impl Fn(ChunksExact<'_, u8>) -> T + Sync,
        mut show: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut parts = self.buckets.iter().flat_map(Bucket::parts).peekable();
        while parts.peek().is_some() {
            let some: Vec<_> =
                parts.by_ref().take(TOGETHER * rayon::current_num_threads()).collect();
            let made = some.into_par_iter().map(|part| match part {
                Part::Written(chunk) => Ok(make(self.chunk(chunk)?.chunks_exact(self.record))),
                Part::Rest(rest) => Ok(make(rest.chunks_exact(self.record))),
            });
            made.collect::<Result<Vec<T>>>()?.into_iter().try_for_each(&mut show)?;
        }
        Ok(())
    }

    fn chunk(&self, number: u32) -> Result<Zeroizing<Vec<u8>>> {
        let chunk = self.file.get(number.into(), CHUNK);
        chunk.map_err(|source| unwritten(&self.directory, source))
    }
}

/// A place that has records of a bucket.
enum Part<'a> {
    /// The chunk with this number.
    Written(u32),
    /// Memory.
    Rest(&'a [u8]),
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
        assert_eq!((buckets.count(), buckets.records(1)), (2, 0));
        buckets.read(1, |_| panic!("the bucket is empty")).unwrap();
    }
}
