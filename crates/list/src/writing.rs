//! Writing a part, segment by segment.

use std::io::{self, Seek, SeekFrom, Write};

use crate::{
    error::Fault,
    hex::Hex,
    part::{self, CHUNK, Entry, HEADER_BYTES, Header},
    table::Directory,
};

/// Writes a part into an empty file.
pub struct PartWriter<W> {
    out: W,
    header: Header,
    directories: [Directory; 2],
    /// Number of segments written so far, in both tables.
    segments: usize,
    content_bytes: u64,
    written: u64,
    hasher: blake3::Hasher,
    digests: Vec<u8>,
}

impl<W: Write + Seek> PartWriter<W> {
    /// Creates a writer for a part with this many tags in each segment of its two tables.
    ///
    /// # Errors
    /// Errors of `out`, and [`io::ErrorKind::InvalidInput`] if the numbers contradict the header.
    pub fn new(mut out: W, header: Header, counts: [Vec<u32>; 2]) -> io::Result<Self> {
        let wrong = |_: Fault| io::Error::from(io::ErrorKind::InvalidInput);
        let [removed, added] = header.shapes().map_err(wrong)?;
        let [of_removed, of_added] = counts;
        let directories = [
            Directory::new(removed, of_removed).map_err(wrong)?,
            Directory::new(added, of_added).map_err(wrong)?,
        ];
        let tables: u64 = directories.iter().map(Directory::table_bytes).sum();
        let content_bytes = HEADER_BYTES as u64 + tables;
        out.seek(SeekFrom::Start(32 * part::chunks(content_bytes)))?;
        let (hasher, digests) = (blake3::Hasher::new(), Vec::new());
        let written = 0;
        let mut writer =
            Self { out, header, directories, segments: 0, content_bytes, written, hasher, digests };
        writer.write(&header.encode())?;
        let directory = writer.directories[0].encode();
        writer.write(&directory)?;
        Ok(writer)
    }

    /// Writes the next segment: first the segments of removed tags, then those with added tags.
    ///
    /// # Errors
    /// Errors of `out`, and [`io::ErrorKind::InvalidInput`] if the segment does not have the announced length.
    pub fn segment(&mut self, tags: &[u128], labels: &[u8]) -> io::Result<()> {
        let wrong = || io::Error::from(io::ErrorKind::InvalidInput);
        let removed = self.directories[0].shape().segments();
        if self.segments == removed {
            let directory = self.directories[1].encode();
            self.write(&directory)?;
        }
        let (directory, nth) = match self.segments.checked_sub(removed) {
            None => (&self.directories[0], self.segments),
            Some(nth) if nth < self.directories[1].shape().segments() => {
                (&self.directories[1], nth)
            }
            Some(_) => return Err(wrong()),
        };
        let place = directory.segment(nth);
        let bytes = directory.shape().encode_segment(tags, labels);
        if bytes.len() as u64 != place.end - place.start {
            return Err(wrong());
        }
        self.segments += 1;
        self.write(&bytes)
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        while !bytes.is_empty() {
            let end = ((self.written / CHUNK + 1) * CHUNK).min(self.content_bytes);
            let (now, rest) = bytes.split_at(bytes.len().min((end - self.written) as usize));
            if now.is_empty() {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            self.hasher.update(now);
            self.written += now.len() as u64;
            bytes = rest;
            if self.written == end {
                self.digests.extend_from_slice(self.hasher.finalize().as_bytes());
                self.hasher.reset();
            }
        }
        Ok(())
    }

    /// Writes the digests of the chunks, and returns the part's entry for the head.
    ///
    /// # Errors
    /// Errors of `out`, and [`io::ErrorKind::InvalidInput`] if segments are missing.
    pub fn finish(mut self) -> io::Result<(W, Entry)> {
        if self.written != self.content_bytes {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&self.digests)?;
        self.out.flush()?;
        let Header { sequence, removed, added, .. } = self.header;
        let digest = Hex(part::digest(self.content_bytes, &self.digests));
        Ok((self.out, Entry { sequence, removed, added, bytes: self.content_bytes, digest }))
    }
}

/// Writes a part from sorted tags in memory, with the sealed labels of the added tags.
///
/// # Errors
/// Errors of `out`, and [`io::ErrorKind::InvalidInput`] if the tags contradict the header.
pub fn write_part<W: Write + Seek>(
    out: W,
    header: Header,
    removed: &[u128],
    added: &[u128],
    labels: &[u8],
) -> io::Result<(W, Entry)> {
    let wrong = |_: Fault| io::Error::from(io::ErrorKind::InvalidInput);
    let shapes = header.shapes().map_err(wrong)?;
    let segments = |tags: &[u128], nth: usize| {
        let shape = &shapes[nth];
        let mut counts = vec![0; shape.segments()];
        tags.iter().for_each(|tag| counts[shape.segment_of(*tag)] += 1);
        counts
    };
    let counts = [segments(removed, 0), segments(added, 1)];
    let mut writer = PartWriter::new(out, header, counts.clone())?;
    let label = header.label as usize;
    for (tags, counts, label) in [(removed, &counts[0], 0), (added, &counts[1], label)] {
        let mut begin = 0;
        for count in counts {
            let end = begin + *count as usize;
            writer.segment(&tags[begin..end], &labels[begin * label..end * label])?;
            begin = end;
        }
    }
    writer.finish()
}
