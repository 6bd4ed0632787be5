//! One file of the connection.
//!
//! It has a header, the payload, and the SHA-256 of both. The checksum distinguishes a complete file of ours
//! from one that a synchroniser is still writing, and from files of others. It does not protect against
//! attackers, which is the task of TLS above.

use std::io;

use sha2::{Digest, Sha256};

use super::folder::{Folder, invalid};

/// The mark of one process's part in one run: random, so that files of different runs can be distinguished.
pub(super) type RunId = [u8; 16];

/// Stands for a run's mark that is not known yet.
pub(super) const UNKNOWN: RunId = [0; 16];

/// The maximal number of payload bytes per file.
pub(super) const MAX_PAYLOAD: usize = 8 << 20;

const MAGIC: &[u8; 8] = b"vesica-3";
const DIGEST: usize = 32;

/// Magic, two marks, number and kind.
const HEADER: usize = 8 + 16 + 16 + 8 + 1;

/// The purpose of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its payload is the next piece of the stream.
    Data = 0,
    /// The stream ends before this number.
    End = 1,
}

/// The contents of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The mark of the party that wrote it.
    pub(super) from: RunId,
    /// The mark of the party it is for, if the writer knew it.
    pub(super) to: RunId,
    pub(super) number: u64,
    pub(super) kind: Kind,
    pub(super) payload: Vec<u8>,
}

impl Part {
    /// Writes the file.
    pub(super) fn write(&self, folder: &dyn Folder, name: &str) -> io::Result<()> {
        let mut header = Vec::with_capacity(HEADER);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&self.from);
        header.extend_from_slice(&self.to);
        header.extend_from_slice(&self.number.to_le_bytes());
        header.push(self.kind as u8);
        let digest = Sha256::new().chain_update(&header).chain_update(&self.payload).finalize();
        folder.write(name, &[&header, &self.payload, &digest])
    }

    /// Reads a file; `None` if it does not exist. A file that is not a complete file of ours gives
    /// [`InvalidData`](io::ErrorKind::InvalidData).
    pub(super) fn read(folder: &dyn Folder, name: &str) -> io::Result<Option<Self>> {
        let bytes = folder.read(name, HEADER + MAX_PAYLOAD + DIGEST)?;
        bytes.map(Self::parse).transpose()
    }

    pub(super) fn parse(mut bytes: Vec<u8>) -> io::Result<Self> {
        let Some(end) = bytes.len().checked_sub(DIGEST).filter(|end| *end >= HEADER) else {
            return Err(invalid("is too short, or still incomplete"));
        };
        if &bytes[..8] != MAGIC {
            return Err(invalid("is not a file that this program writes"));
        }
        let (content, digest) = bytes.split_at(end);
        if Sha256::digest(content).as_slice() != digest {
            return Err(invalid("is damaged, or still incomplete"));
        }
        let kind = match content[48] {
            0 => Kind::Data,
            1 => Kind::End,
            _ => return Err(invalid("was written by another version of this program")),
        };
        let (mut from, mut to, mut number) = (UNKNOWN, UNKNOWN, [0; 8]);
        from.copy_from_slice(&content[8..24]);
        to.copy_from_slice(&content[24..40]);
        number.copy_from_slice(&content[40..48]);
        bytes.truncate(end);
        bytes.drain(..HEADER);
        Ok(Self { from, to, number: u64::from_le_bytes(number), kind, payload: bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{super::folder::Directory, *};

    const NAME: &str = "a.vesica";

    fn part() -> Part {
        let payload = b"a payload".to_vec();
        Part { from: [1; 16], to: [2; 16], number: 3, kind: Kind::Data, payload }
    }

    #[test]
    fn a_part_survives_the_disk_and_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Directory::new(dir.path());
        assert_eq!(Part::read(&folder, NAME).unwrap(), None);
        part().write(&folder, NAME).unwrap();
        assert_eq!(Part::read(&folder, NAME).unwrap(), Some(part()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Directory::new(dir.path());
        let path = dir.path().join(NAME);
        part().write(&folder, NAME).unwrap();
        let whole = fs::read(&path).unwrap();
        for i in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[i] ^= 1;
            for bytes in [flipped, whole[..i].to_vec()] {
                fs::write(&path, bytes).unwrap();
                let error = Part::read(&folder, NAME).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            }
        }
    }

    #[test]
    fn a_directory_and_a_huge_file_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Directory::new(dir.path());
        fs::create_dir(dir.path().join("directory")).unwrap();
        fs::File::create(dir.path().join(NAME)).unwrap().set_len(1 << 40).unwrap();
        for name in ["directory", NAME] {
            let error = Part::read(&folder, name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
