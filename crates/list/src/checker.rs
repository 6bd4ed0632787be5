//! Checking a part as it arrives: the digests of its chunks, and every segment of its tables.

use crate::{
    error::{Error, Fault, Result},
    part::{CHUNK, Entry, HEADER_BYTES, Hash, Header, chunks, digest},
    table::{Directory, Shape},
};

/// Checks a part as its bytes arrive: the signed digests, and the content of each segment. Every client therefore
/// refuses a malformed part, regardless of the keys it looks up.
pub struct Checker {
    sequence: u64,
    expected: Hash,
    content_bytes: u64,
    digests: Vec<u8>,
    front: usize,
    hasher: blake3::Hasher,
    /// Number of chunk bytes received.
    content: u64,
    decoder: Decoder,
    /// The first fault in the content. It is reported only for a chunk with the right digest.
    decoded: std::result::Result<(), Fault>,
}

impl Checker {
    /// Creates a checker for the part of this entry of a head, which must have this header.
    pub fn new(entry: &Entry, header: &Header) -> Self {
        Self {
            sequence: entry.sequence,
            expected: entry.digest.0,
            content_bytes: entry.bytes,
            digests: Vec::new(),
            front: 32 * chunks(entry.bytes) as usize,
            hasher: blake3::Hasher::new(),
            content: 0,
            decoder: Decoder::new(*header),
            decoded: Ok(()),
        }
    }

    /// Checks the next bytes, of any number.
    ///
    /// # Errors
    /// [`Fault::Digest`] at the first chunk that was not signed, [`Fault::Malformed`] at the first that was signed but
    /// cannot be decoded, [`Error::OutOfOrder`] if the part continues another state, and [`Fault::Length`] if there are
    /// too many bytes.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.digests.len() < self.front {
            let (front, rest) = bytes.split_at(bytes.len().min(self.front - self.digests.len()));
            self.digests.extend_from_slice(front);
            bytes = rest;
            if self.digests.len() == self.front
                && digest(self.content_bytes, &self.digests) != self.expected
            {
                return Err(self.fault(Fault::Digest));
            }
        }
        while !bytes.is_empty() {
            let end = (self.content / CHUNK + 1) * CHUNK;
            let end = end.min(self.content_bytes);
            let (now, rest) = bytes.split_at(bytes.len().min((end - self.content) as usize));
            if now.is_empty() {
                return Err(self.fault(Fault::Length));
            }
            self.hasher.update(now);
            self.decoded = self.decoded.and_then(|()| self.decoder.push(now));
            self.content += now.len() as u64;
            bytes = rest;
            if self.content == end {
                let at = 32 * ((end - 1) / CHUNK) as usize;
                if self.hasher.finalize().as_bytes()[..] != self.digests[at..at + 32] {
                    return Err(self.fault(Fault::Digest));
                }
                self.hasher.reset();
                self.decoded.map_err(|fault| self.refusal(fault))?;
            }
        }
        Ok(())
    }

    /// Returns the number of bytes, from the beginning of the file, that have been verified.
    pub fn verified(&self) -> u64 {
        if self.digests.len() < self.front {
            return 0;
        }
        let whole = if self.content == self.content_bytes {
            self.content
        } else {
            self.content / CHUNK * CHUNK
        };
        self.front as u64 + whole
    }

    /// Completes the check.
    ///
    /// # Errors
    /// [`Fault::Length`] if bytes are missing, and [`Fault::Malformed`] if the signed content is too short.
    pub fn finish(self) -> Result<()> {
        if self.content != self.content_bytes || self.digests.len() != self.front {
            return Err(self.fault(Fault::Length));
        }
        match self.decoder.is_at_end() {
            true => Ok(()),
            false => Err(self.fault(Fault::Malformed)),
        }
    }

    /// Returns the error for a fault in signed content.
    fn refusal(&self, fault: Fault) -> Error {
        match self.decoder.found {
            Some(found) if found.continues_another(&self.decoder.header) => {
                Error::OutOfOrder { after: self.sequence.saturating_sub(1), found: found.sequence }
            }
            _ => self.fault(fault),
        }
    }

    fn fault(&self, fault: Fault) -> Error {
        Error::Part { sequence: self.sequence, fault }
    }
}

/// Decodes the content of a part as it arrives, and keeps only one segment's tags in memory.
struct Decoder {
    header: Header,
    /// The decoded header.
    found: Option<Header>,
    step: CheckerStep,
    /// The bytes received so far for the current step.
    buffer: Vec<u8>,
    /// Remaining bytes of labels. They look random without their keys, so there is nothing to check.
    labels: u64,
}

/// The next step.
enum CheckerStep {
    Header,
    Directory([Shape; 2], usize),
    Tags([Shape; 2], usize, Directory, usize),
    End,
}

impl Decoder {
    fn new(header: Header) -> Self {
        Self { header, found: None, step: CheckerStep::Header, buffer: Vec::new(), labels: 0 }
    }

    fn is_at_end(&self) -> bool {
        matches!(self.step, CheckerStep::End) && self.labels == 0
    }

    fn push(&mut self, mut bytes: &[u8]) -> std::result::Result<(), Fault> {
        loop {
            let skipped = self.labels.min(bytes.len() as u64);
            self.labels -= skipped;
            bytes = &bytes[skipped as usize..];
            if self.labels > 0 {
                return Ok(());
            }
            let needed = match &self.step {
                CheckerStep::Header => HEADER_BYTES,
                CheckerStep::Directory(shapes, side) => shapes[*side].directory_bytes() as usize,
                CheckerStep::Tags(_, _, directory, segment) => directory.lengths(*segment).0,
                CheckerStep::End if bytes.is_empty() => return Ok(()),
                CheckerStep::End => return Err(Fault::Malformed),
            };
            let (now, rest) = bytes.split_at(bytes.len().min(needed - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = rest;
            if self.buffer.len() < needed {
                return Ok(());
            }
            self.advance()?;
            self.buffer.clear();
        }
    }

    /// Decodes the bytes of the current step.
    fn advance(&mut self) -> std::result::Result<(), Fault> {
        self.step = match std::mem::replace(&mut self.step, CheckerStep::End) {
            CheckerStep::Header => {
                let found = Header::decode(&self.buffer)?;
                self.found = Some(found);
                if found != self.header {
                    return Err(Fault::Malformed);
                }
                CheckerStep::Directory(found.shapes()?, 0)
            }
            CheckerStep::Directory(shapes, side) => {
                CheckerStep::Tags(shapes, side, Directory::decode(shapes[side], &self.buffer)?, 0)
            }
            CheckerStep::Tags(shapes, side, directory, segment) => {
                directory.decode_tags(segment, &self.buffer)?;
                self.labels = directory.lengths(segment).1;
                match segment + 1 < shapes[side].segments() {
                    true => CheckerStep::Tags(shapes, side, directory, segment + 1),
                    false if side == 0 => CheckerStep::Directory(shapes, 1),
                    false => CheckerStep::End,
                }
            }
            CheckerStep::End => CheckerStep::End,
        };
        Ok(())
    }
}
