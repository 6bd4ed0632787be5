//! A survey of the messages of an Arrow file or stream: the number of rows, and the compression.
//!
//! No values are read, but the eight bytes before each packed buffer, which hold its unpacked length: the reader
//! allocates that many.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{
    CompressionType, Endianness, Footer, Message, MessageHeader, RecordBatch,
    reader::read_footer_length, root_as_footer, root_as_message,
};
use parquet::file::reader::Length;

use crate::stored::{Reader, Stored};

/// The end of an Arrow file: the length of the footer, and the magic bytes.
const END: i64 = 10;

/// The most bytes to which one packed byte can unpack: Zstandard has 128 KiB of one byte in a block of four, and LZ4
/// packs less.
const MOST_UNPACKED: u64 = 1 << 15;

/// The findings.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Rows in all batches.
    pub(super) rows: u64,
    /// The most bytes that a single buffer claims to unpack to.
    pub(super) largest: u64,
    /// Whether a buffer claims more than its packed bytes can hold.
    pub(super) overstates: bool,
    /// Whether its numbers are big-endian.
    pub(super) is_big_endian: bool,
    /// The compression of the first batch's buffers.
    pub(super) codec: Option<CompressionType>,
    /// A file's own metadata, without the schema's.
    pub(super) metadata: Vec<(String, String)>,
}

impl Survey {
    /// Surveys all messages; `None` if the structure is invalid.
    pub(super) fn of(stored: &Stored, is_stream: bool) -> Option<Self> {
        let mut survey = Self::default();
        let mut reader = stored.reader(0);
        let len = stored.len();
        match is_stream {
            true => survey.of_stream(&mut reader, len)?,
            false => survey.of_file(&mut reader, len)?,
        }
        Some(survey)
    }

    fn of_stream(&mut self, reader: &mut Reader, len: u64) -> Option<()> {
        let mut at = 0;
        // A stream may just stop after a message.
        while at < len {
            let head = u32::from_le_bytes(read_at(reader, at, 4, len)?.try_into().ok()?);
            let (prefix, size) = match head {
                u32::MAX => {
                    (8, u32::from_le_bytes(read_at(reader, at + 4, 4, len)?.try_into().ok()?))
                }
                size => (4, size),
            };
            if size == 0 {
                break;
            }
            let bytes = read_at(reader, at + prefix, size.into(), len)?;
            let message = root_as_message(&bytes).ok()?;
            let body = at + prefix + u64::from(size);
            let body_len = u64::try_from(message.bodyLength()).ok()?;
            self.see(&message, reader, body, body_len, len)?;
            at = body.checked_add(body_len)?;
        }
        (at <= len).then_some(())
    }

    fn of_file(&mut self, reader: &mut Reader, len: u64) -> Option<()> {
        let end: [u8; 10] =
            read_at(reader, len.checked_add_signed(-END)?, 10, len)?.try_into().ok()?;
        let size = read_footer_length(end).ok()? as u64;
        let footer = read_at(reader, (len - END as u64).checked_sub(size)?, size, len)?;
        let footer: Footer<'_> = root_as_footer(&footer).ok()?;
        let schema = footer.schema()?;
        self.is_big_endian |= schema.endianness() == Endianness::Big;
        for pair in footer.custom_metadata().iter().flatten() {
            self.metadata
                .push((pair.key()?.to_owned(), pair.value().unwrap_or_default().to_owned()));
        }
        for block in
            footer.dictionaries().iter().flatten().chain(footer.recordBatches().iter().flatten())
        {
            let at = u64::try_from(block.offset()).ok()?;
            let size = u64::try_from(block.metaDataLength()).ok()?;
            let body_len = u64::try_from(block.bodyLength()).ok()?;
            let bytes = read_at(reader, at, size, len)?;
            let prefix = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
            let message = root_as_message(bytes.get(prefix..)?).ok()?;
            self.see(&message, reader, at.checked_add(size)?, body_len, len)?;
        }
        Some(())
    }

    /// Surveys a message, whose body begins at `body`.
    fn see(
        &mut self,
        message: &Message<'_>,
        reader: &mut Reader,
        body: u64,
        body_len: u64,
        len: u64,
    ) -> Option<()> {
        if body.checked_add(body_len)? > len {
            return None;
        }
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch()?;
                self.rows = self.rows.checked_add(u64::try_from(batch.length()).ok()?)?;
                self.codec = self.codec.or(batch.compression().map(|packed| packed.codec()));
                batch
            }
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data()?,
            MessageHeader::Schema => {
                let schema = message.header_as_schema()?;
                self.is_big_endian |= schema.endianness() == Endianness::Big;
                return Some(());
            }
            _ => return Some(()),
        };
        self.see_buffers(batch, reader, body, body_len, len)
    }

    fn see_buffers(
        &mut self,
        batch: RecordBatch<'_>,
        reader: &mut Reader,
        body: u64,
        body_len: u64,
        len: u64,
    ) -> Option<()> {
        for buffer in batch.buffers().iter().flatten() {
            let (at, size) =
                (u64::try_from(buffer.offset()).ok()?, u64::try_from(buffer.length()).ok()?);
            if at.checked_add(size)? > body_len {
                return None;
            }
            if batch.compression().is_some() && size > 0 {
                let claim = read_at(reader, body + at, 8, len)?;
                let claim = i64::from_le_bytes(claim.try_into().ok()?);
                // −1 stands for an unpacked buffer.
                let claim = u64::try_from(claim).unwrap_or(0);
                self.largest = self.largest.max(claim);
                self.overstates |= claim > size.saturating_mul(MOST_UNPACKED);
            }
        }
        Some(())
    }
}

/// Reads `len` bytes from an offset on; `None` if the input ends before.
fn read_at(reader: &mut Reader, at: u64, size: u64, len: u64) -> Option<Vec<u8>> {
    if at.checked_add(size)? > len {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    reader.seek(SeekFrom::Start(at)).ok()?;
    reader.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use arrow_ipc::writer::{FileWriter, StreamWriter};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    /// Marks the schema in these bytes, which begin with a message, as big-endian: the field for the byte order, which
    /// is left out for the usual one, takes the place of a number 1 that comes later.
    fn reversed(mut message: Vec<u8>) -> Vec<u8> {
        let schema = root_as_message(&message).unwrap().header_as_schema().unwrap()._tab.loc();
        let number = |at: usize| i32::from_le_bytes(message[at..at + 4].try_into().unwrap());
        let places = schema - number(schema) as usize;
        let one =
            (schema + 4..message.len()).step_by(2).find(|at| message[*at..].starts_with(&[1, 0]));
        let distance = (one.unwrap() - schema) as u16;
        message[places + 4..places + 6].copy_from_slice(&distance.to_le_bytes());
        message
    }

    /// Streams and files are surveyed alike.
    #[test]
    fn big_endian_tables_are_recognized() {
        let fields =
            vec![Field::new("k", DataType::Int32, true), Field::new("v", DataType::Utf8, true)];
        let schema = Schema::new(fields);
        let mut stream = Vec::new();
        StreamWriter::try_new(&mut stream, &schema).unwrap().finish().unwrap();
        let survey = |bytes: Vec<u8>, is_stream| {
            Survey::of(&Stored::memory("t", bytes), is_stream).unwrap().is_big_endian
        };
        assert!(!survey(stream.clone(), true));
        let length = u32::from_le_bytes(stream[4..8].try_into().unwrap()) as usize;
        let message = reversed(stream[8..8 + length].to_vec());
        assert!(survey([&stream[..8], &message, &stream[8 + length..]].concat(), true));
        let mut file = Vec::new();
        FileWriter::try_new(&mut file, &schema).unwrap().finish().unwrap();
        assert!(!survey(file, false));
    }
}
