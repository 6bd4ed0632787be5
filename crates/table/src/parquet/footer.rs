//! A check that the metadata at the end of a Parquet file can be decoded within bounds.
//!
//! The library that decodes it reserves memory for as many elements as a list claims to have, and follows the nesting
//! of the schema by recursion. So both are checked first, in the encoding of the metadata, Thrift's compact protocol.
//! The meaning of the metadata does not matter, except for the number of children of each part of the schema.

use std::ops::Range;

use parquet::file::reader::{ChunkReader, Length};

use crate::stored::Stored;

/// The end of a file: the length of the metadata, and the magic bytes.
const END: u64 = 8;

/// The deepest nesting of a schema, and of the encoding.
const DEEPEST: usize = 64;

/// The field of the metadata with the schema, in the order of a walk through its tree.
const SCHEMA: i64 = 2;

/// The field of a part of the schema with the number of its children.
const CHILDREN: i64 = 5;

/// The field of the metadata that describes the encryption of columns, if any.
const ENCRYPTION: i64 = 8;

/// The last bytes of a file whose metadata is encrypted too.
const ENCRYPTED: &[u8] = b"PARE";

/// The findings at the end of a file.
#[derive(Debug)]
pub(super) struct Footer {
    /// The range of the metadata, without the end of the file.
    pub(super) place: Range<u64>,
    /// Whether columns or the metadata are encrypted.
    pub(super) is_encrypted: bool,
}

/// Checks the metadata; `None` if it is cut short, nested too deeply, or has a list that is longer than the metadata.
pub(super) fn within_bounds(stored: &Stored) -> Option<Footer> {
    let end = Length::len(stored).checked_sub(END)?;
    let last = stored.get_bytes(end, END as usize).ok()?;
    let size = u32::from_le_bytes(last[..4].try_into().ok()?);
    let start = end.checked_sub(size.into())?;
    let place = start..end;
    if last.ends_with(ENCRYPTED) {
        return Some(Footer { place, is_encrypted: true });
    }
    let is_encrypted = Walk { rest: &stored.get_bytes(start, size as usize).ok()? }.file()?;
    Some(Footer { place, is_encrypted })
}

/// Returns the size of the page whose header begins like this, packed or unpacked, whichever is larger; `None` if this
/// is not the beginning of a header.
pub(super) fn size_of_page(head: &[u8]) -> Option<u64> {
    let mut walk = Walk { rest: head };
    let (mut id, mut sizes) = (0, [0; 3]);
    // The kind of the page, and its size unpacked and packed.
    for place in 1..=3 {
        if walk.field(&mut id)? != Some(kind::I32) || id != place {
            return None;
        }
        sizes[place as usize - 1] = u64::try_from(walk.zigzag()?).ok()?;
    }
    Some(sizes[1].max(sizes[2]))
}

/// A walk through encoded values.
struct Walk<'a> {
    rest: &'a [u8],
}

/// The kinds of values.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const I8: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const MAP: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const UUID: u8 = 13;
}

impl Walk<'_> {
    /// Returns whether columns are encrypted.
    fn file(mut self) -> Option<bool> {
        let (mut id, mut is_encrypted) = (0, false);
        while let Some(kind) = self.field(&mut id)? {
            match (id, kind) {
                (SCHEMA, kind::LIST) => self.schema()?,
                (_, kind) => self.skip(kind, 0)?,
            }
            is_encrypted |= id == ENCRYPTION;
        }
        Some(is_encrypted)
    }

    /// Walks over a list of the parts of a tree, each before its children.
    fn schema(&mut self) -> Option<()> {
        let (len, kind) = self.list()?;
        if kind != kind::STRUCT {
            return None;
        }
        // The number of children still to come at each depth.
        let mut open: Vec<usize> = Vec::new();
        for left in (0..len).rev() {
            let (mut children, mut id) = (0, 0);
            while let Some(kind) = self.field(&mut id)? {
                match (id, kind) {
                    (CHILDREN, kind::I32) => children = usize::try_from(self.zigzag()?).ok()?,
                    (_, kind) => self.skip(kind, 1)?,
                }
            }
            if children > left {
                return None;
            }
            open.push(children);
            if open.len() > DEEPEST {
                return None;
            }
            while let Some(0) = open.last() {
                open.pop();
                if let Some(parent) = open.last_mut() {
                    *parent -= 1;
                }
            }
        }
        Some(())
    }

    /// Returns the kind of the next field, and updates `id` to its number; `None` at the end.
    fn field(&mut self, id: &mut i64) -> Option<Option<u8>> {
        let head = self.byte()?;
        if head & 15 == kind::STOP {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => self.zigzag()?,
            more => id.checked_add(more.into())?,
        };
        Some(Some(head & 15))
    }

    /// Returns the length of a list and the kind of its elements, which take at least a byte each.
    fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let len = match head >> 4 {
            15 => self.len()?,
            len => len.into(),
        };
        (len <= self.rest.len()).then_some((len, head & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            kind::TRUE | kind::FALSE => {}
            kind::I8 => self.take(1)?,
            kind::I16 | kind::I32 | kind::I64 => _ = self.varint()?,
            kind::DOUBLE => self.take(8)?,
            kind::UUID => self.take(16)?,
            kind::BINARY => {
                let len = self.len()?;
                self.take(len)?;
            }
            kind::LIST | kind::SET => {
                let (len, kind) = self.list()?;
                (0..len).try_for_each(|_| self.skip_element(kind, depth + 1))?;
            }
            kind::MAP => {
                let len = self.len()?;
                let kinds = if len > 0 { self.byte()? } else { 0 };
                (0..len).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 15, depth + 1)
                })?;
            }
            kind::STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Skips an element of a list: unlike in a field, a truth value has a byte of its own.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            kind::TRUE | kind::FALSE => self.take(1),
            kind => self.skip(kind, depth),
        }
    }

    fn take(&mut self, len: usize) -> Option<()> {
        self.rest = self.rest.get(len..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn len(&mut self) -> Option<usize> {
        usize::try_from(self.varint()?).ok()
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a file of only this metadata.
    fn checked(metadata: &[u8]) -> Option<()> {
        let len = (metadata.len() as u32).to_le_bytes();
        let file = [b"PAR1", metadata, &len, b"PAR1"].concat();
        within_bounds(&Stored::memory("t", file)).map(drop)
    }

    /// Returns metadata with a schema whose parts have these numbers of children.
    fn schema(children: &[u8]) -> Vec<u8> {
        // Field 2, a list of structs, with the length after it.
        let mut bytes = vec![0x29, 0xfc];
        let mut len = children.len();
        while len >= 0x80 {
            bytes.push(len as u8 | 0x80);
            len >>= 7;
        }
        bytes.push(len as u8);
        // A name of one byte in field 4, and the number of children in field 5.
        children.iter().for_each(|n| bytes.extend([0x48, 1, b'x', 0x15, 2 * n, 0]));
        bytes.push(0);
        bytes
    }

    #[test]
    fn schemas_by_table() {
        for (children, sound) in [
            (vec![0], true),
            (vec![2, 0, 1, 0], true),
            (vec![3, 0, 0], false),
            (vec![100], false),
            ([vec![1; 63], vec![0]].concat(), true),
            ([vec![1; 64], vec![0]].concat(), false),
            ([vec![1; 100_000], vec![0]].concat(), false),
        ] {
            assert_eq!(checked(&schema(&children)).is_some(), sound, "{}", children.len());
        }
    }

    #[test]
    fn lists_are_no_longer_than_what_is_there() {
        // Field 4, a list of 2^28 structs; a list of 2 integers with one missing; and an empty list.
        assert!(checked(&[0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 1, 0]).is_none());
        assert!(checked(&[0x49, 0x25, 0x02]).is_none());
        assert!(checked(&[0x49, 0x0c, 0]).is_some());
        // Structs within structs, without end.
        assert!(checked(&[0x1c; 1000]).is_none());
        // A map of a name to a list of truth values.
        assert!(checked(&[0x1b, 1, 0x89, 1, b'x', 0x21, 1, 2, 0]).is_some());
        assert!(checked(&[]).is_none());
    }

    #[test]
    fn pages_say_how_large_they_are() {
        for (head, size) in [
            // Data, 300 bytes, packed into 20; and the rest of the header.
            (&[0x15, 0, 0x15, 0xd8, 0x04, 0x15, 40, 0x2c][..], Some(300)),
            (&[0x15, 4, 0x15, 2, 0x15, 0xd8, 0x04], Some(300)),
            (&[0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15, 2], Some(i32::MAX as u64)),
            (&[0x15, 0, 0x15, 1, 0x15, 2], None),
            (&[0x15, 0, 0x25, 2, 0x15, 2], None),
            (&[0x15, 0, 0x15, 2], None),
            (&[0x29, 0xfc], None),
            (b"PAR1", None),
        ] {
            assert_eq!(size_of_page(head), size, "{head:x?}");
        }
    }

    #[test]
    fn a_file_shorter_than_it_says_is_refused() {
        assert!(within_bounds(&Stored::memory("t", b"PAR1".to_vec())).is_none());
        assert!(
            within_bounds(&Stored::memory("t", b"PAR1\xff\xff\xff\x7fPAR1".to_vec())).is_none()
        );
    }
}
