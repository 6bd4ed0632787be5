//! A part of a list: the whole list, or the items removed and added since the previous part.
//!
//! A part is immutable, is named after its digest, and can be stored anywhere. Its file contains the digests of its
//! chunks, then the chunks. A chunk has 1 MiB, except that the last may be shorter. The digest of the part hashes the
//! number of bytes in the chunks and the digests of the chunks. A client can therefore check a part as it arrives, and
//! resume an interrupted download.
//!
//! The concatenated chunks are a header and two [tables](crate::table): the removed tags, without labels, and the added
//! tags. The first part of a list removes no tags.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Fault, Result},
    hex::Hex,
    table::{Directory, Shape},
};

/// Bytes of a chunk.
pub const CHUNK: u64 = 1 << 20;

/// The first bytes of a header.
const MAGIC: &[u8; 16] = b"vesica list 2\0\0\0";

/// Bytes of a header: the magic bytes, six numbers of 8 bytes and a digest.
pub const HEADER_BYTES: usize = 16 + 6 * 8 + 32;

/// A hash of 256 bits.
pub type Hash = [u8; 32];

/// The entry of a part in the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Sequence number of the part.
    pub sequence: u64,
    /// Number of items removed.
    pub removed: u64,
    /// Number of items added.
    pub added: u64,
    /// Bytes of the chunks.
    pub bytes: u64,
    /// Digest of the part, which names its file.
    pub digest: Hex,
}

impl Entry {
    /// Returns the size of the file, which holds the digests of the chunks and the chunks.
    pub fn file_bytes(&self) -> u64 {
        32 * chunks(self.bytes) + self.bytes
    }

    /// Returns the name of the file.
    pub fn file_name(&self) -> String {
        format!("{}.part", self.digest)
    }
}

/// The header of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The epoch of the list.
    pub epoch: u64,
    /// The number of the part, counted from 0 in an epoch.
    pub sequence: u64,
    /// Number of tags removed.
    pub removed: u64,
    /// Number of tags added.
    pub added: u64,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Bytes of a sealed label, or 0 without labels.
    pub label: u32,
    /// State of the list that this part continues. For the first part, the terms of the epoch.
    pub previous: Hash,
}

impl Header {
    /// Returns the shapes of the two tables.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn shapes(&self) -> std::result::Result<[Shape; 2], Fault> {
        let removed = Shape::new(self.removed, self.tag_bits, 0)?;
        Ok([removed, Shape::new(self.added, self.tag_bits, self.label)?])
    }

    /// Returns whether this part continues a different state than `expected`.
    pub fn continues_another(&self, expected: &Self) -> bool {
        (self.sequence, self.previous) != (expected.sequence, expected.previous)
    }

    /// Encodes the header.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let numbers = [
            self.epoch,
            self.sequence,
            self.removed,
            self.added,
            self.tag_bits.into(),
            self.label.into(),
        ];
        let mut bytes = [0; HEADER_BYTES];
        bytes[..16].copy_from_slice(MAGIC);
        for (place, number) in bytes[16..64].chunks_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[64..].copy_from_slice(&self.previous);
        bytes
    }

    /// Decodes a header.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn decode(bytes: &[u8]) -> std::result::Result<Self, Fault> {
        let bytes: &[u8; HEADER_BYTES] = bytes.try_into().map_err(|_| Fault::Malformed)?;
        let (numbers, _) = bytes[16..64].as_chunks();
        let number = |nth: usize| u64::from_le_bytes(numbers[nth]);
        let short = |nth: usize| u32::try_from(number(nth)).map_err(|_| Fault::Malformed);
        let mut previous = [0; 32];
        previous.copy_from_slice(&bytes[64..]);
        if &bytes[..16] != MAGIC {
            return Err(Fault::Malformed);
        }
        Ok(Self {
            epoch: number(0),
            sequence: number(1),
            removed: number(2),
            added: number(3),
            tag_bits: short(4)?,
            label: short(5)?,
            previous,
        })
    }
}

/// Returns the expected size of a list with this many items: the bytes of a part that only adds them.
///
/// # Errors
/// [`Fault::Malformed`] if no part can have these numbers.
pub fn expected_file_bytes(
    items: u64,
    tag_bits: u32,
    label: u32,
) -> std::result::Result<f64, Fault> {
    let tables = [Shape::new(0, tag_bits, 0)?, Shape::new(items, tag_bits, label)?];
    let tables: f64 = tables.iter().map(Shape::expected_bytes).sum();
    let content = HEADER_BYTES as f64 + tables;
    Ok(content + 32.0 * chunks(content as u64) as f64)
}

/// Returns the number of chunks in this many bytes.
pub fn chunks(content_bytes: u64) -> u64 {
    content_bytes.div_ceil(CHUNK)
}

/// Computes the digest of a part from the size of its chunks and their digests.
pub fn digest(content_bytes: u64, chunk_digests: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list part");
    hasher.update(&content_bytes.to_le_bytes()).update(chunk_digests);
    *hasher.finalize().as_bytes()
}

/// The version of a list. A later one compares as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The epoch.
    pub epoch: u64,
    /// The number of the last part in the epoch.
    pub sequence: u64,
}

/// Computes the state of a list after a part. A state identifies all parts so far, and the terms.
pub fn state(previous: &Hash, part: &Hash, version: Version) -> Hash {
    let Version { epoch, sequence } = version;
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 list state");
    hasher.update(previous).update(part);
    hasher.update(&epoch.to_le_bytes()).update(&sequence.to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Storage for the bytes of a part: memory, a file or a database.
pub trait Stored {
    /// Reads a range of the file.
    ///
    /// # Errors
    /// [`Error::Read`].
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;
}

impl<T: AsRef<[u8]>> Stored for T {
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let bytes = self.as_ref().get(range.start as usize..range.end as usize);
        bytes.map(<[u8]>::to_vec).ok_or(Error::Read(std::io::ErrorKind::UnexpectedEof))
    }
}

/// A part that was [checked](crate::checker::Checker), opened for reading.
pub struct Part<S> {
    stored: S,
    /// The header of the part.
    pub header: Header,
    /// The tables of removed and of added tags, each with its offset in the file.
    tables: [(Directory, u64); 2],
}

impl<S: Stored> Part<S> {
    /// Opens the part of this entry, which must have the expected header.
    ///
    /// # Errors
    /// [`Error::OutOfOrder`] if it continues another state, [`Fault::Malformed`] and [`Error::Read`].
    pub fn open(stored: S, entry: &Entry, expected: &Header) -> Result<Self> {
        let fault = |fault| Error::Part { sequence: entry.sequence, fault };
        let front = 32 * chunks(entry.bytes);
        let header = Header::decode(&stored.read(front..front + HEADER_BYTES as u64)?);
        let header = header.map_err(fault)?;
        if header.continues_another(expected) {
            let after = entry.sequence.saturating_sub(1);
            return Err(Error::OutOfOrder { after, found: header.sequence });
        }
        if header != *expected {
            return Err(fault(Fault::Malformed));
        }
        let shapes = header.shapes().map_err(fault)?;
        let mut begin = front + HEADER_BYTES as u64;
        let end = front + entry.bytes;
        let mut open = |shape: Shape| {
            let length = shape.directory_bytes();
            if begin + length > end {
                return Err(fault(Fault::Malformed));
            }
            let directory = stored.read(begin..begin + length)?;
            let directory = Directory::decode(shape, &directory).map_err(fault)?;
            let at = begin;
            begin += directory.table_bytes();
            Ok((directory, at))
        };
        let tables = [open(shapes[0])?, open(shapes[1])?];
        if begin != end {
            return Err(fault(Fault::Malformed));
        }
        Ok(Self { stored, header, tables })
    }

    /// Returns the ranges of the file that [`find`](Self::find) reads for these sorted tags.
    pub fn ranges(&self, tags: &[u128]) -> Vec<Range<u64>> {
        let of_table = |(directory, begin): &(Directory, u64)| {
            let segments = tags.chunk_by(|a, b| directory.shape().are_together(*a, *b));
            let range = |wanted: &[u128]| {
                let Range { start, end } =
                    directory.segment(directory.shape().segment_of(wanted[0]));
                begin + start..begin + end
            };
            segments.map(range).collect::<Vec<_>>()
        };
        self.tables.iter().flat_map(of_table).collect()
    }

    /// Looks up sorted tags. For each table, the removed tags first, calls `show` with the index of each tag in the
    /// table and with the sealed labels of its entries.
    ///
    /// # Errors
    /// [`Fault::Malformed`] and [`Error::Read`].
    pub fn find(&self, tags: &[u128], mut show: impl FnMut(Side, usize, &[&[u8]])) -> Result<()> {
        let fault = |fault| Error::Part { sequence: self.header.sequence, fault };
        for (side, (directory, begin)) in [Side::Removed, Side::Added].into_iter().zip(&self.tables)
        {
            let shape = directory.shape();
            let label = if side == Side::Added { self.header.label as usize } else { 0 };
            let mut nth = 0;
            for wanted in tags.chunk_by(|a, b| shape.are_together(*a, *b)) {
                let segment = shape.segment_of(wanted[0]);
                let Range { start, end } = directory.segment(segment);
                let bytes = self.stored.read(begin + start..begin + end)?;
                let (found, labels) = directory.decode_segment(segment, &bytes).map_err(fault)?;
                for tag in wanted {
                    let first = found.partition_point(|other| other < tag);
                    let equal = found[first..].iter().take_while(|other| *other == tag).count();
                    let label = |at: usize| &labels[at * label..][..label];
                    let labels: Vec<_> = (first..first + equal).map(label).collect();
                    if equal > 0 {
                        show(side, nth, &labels);
                    }
                    nth += 1;
                }
            }
        }
        Ok(())
    }
}

/// One of the two tables of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The removed tags.
    Removed,
    /// The added tags.
    Added,
}
