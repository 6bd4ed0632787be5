//! What kind of file it is, by its first bytes, and by its name.

use std::path::Path;

/// How much of a text is looked at to tell its kind.
pub(crate) const SAMPLE: usize = 1 << 16;

/// The mark some programs put before UTF-8 text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a file is, and what to do about it.
type Foreign = (&'static str, &'static str);

/// A format of tables that is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Delimited text with a header, as RFC 4180 has it or with another delimiter.
    Csv,
    /// One JSON object on each line.
    Ndjson,
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file, also known as Feather 2.
    Arrow,
    /// An Arrow IPC stream.
    ArrowStream,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 5] =
        [Self::Csv, Self::Ndjson, Self::Parquet, Self::Arrow, Self::ArrowStream];

    /// The name in requests and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::ArrowStream => "arrow-stream",
        }
    }

    /// What it is called in messages.
    pub fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Ndjson => "NDJSON",
            Self::Parquet => "Parquet",
            Self::Arrow => "an Arrow file",
            Self::ArrowStream => "an Arrow stream",
        }
    }

    /// Whether it is text, and may be packed with gzip or Zstandard.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Ndjson)
    }

    /// The format that a file's name promises, whatever it is packed with; `None` where it promises none.
    pub fn of_name(path: &Path) -> Option<Self> {
        Some(match &*ending(path)? {
            "csv" | "tsv" | "tab" | "psv" => Self::Csv,
            "ndjson" | "jsonl" | "json" => Self::Ndjson,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "arrows" => Self::ArrowStream,
            _ => return None,
        })
    }
}

/// Returns the ending of a file's name in small letters, without that of a packed file.
pub(crate) fn ending(path: &Path) -> Option<String> {
    let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    let packed = extension(path).is_some_and(|end| matches!(&*end, "gz" | "zst"));
    extension(if packed { path.file_stem().map(Path::new)? } else { path })
}

/// What the first bytes of a file that is no text say; `Err` where more of them are needed.
pub(crate) fn binary(head: &[u8]) -> Result<Option<Format>, ()> {
    const BEGINNINGS: [(&[u8], Format); 3] = [
        (b"PAR1", Format::Parquet),
        (b"ARROW1\0\0", Format::Arrow),
        (b"\xff\xff\xff\xff", Format::ArrowStream),
    ];
    for (beginning, format) in BEGINNINGS {
        if head.starts_with(beginning) {
            return Ok(Some(format));
        }
        if beginning.starts_with(head) {
            return Err(());
        }
    }
    // Encrypted Parquet, in which the length of the first module follows. A table may begin with `PARENT`.
    if let Some(rest) = head.strip_prefix(b"PARE") {
        return match rest.get(3) {
            Some(last) => Ok((*last == 0).then_some(Format::Parquet)),
            None if rest.contains(&b'\n') || rest.contains(&b',') => Ok(None),
            None => Err(()),
        };
    }
    old_stream(head)
}

/// Tells an Arrow stream of a version before 0.15: it begins with the length of the first message, without a mark before it.
fn old_stream(head: &[u8]) -> Result<Option<Format>, ()> {
    /// A schema is hardly longer, and the head of a message hardly larger.
    const LONGEST: usize = 1 << 20;
    const ROOT: u32 = 64;
    // Text has no zeros here.
    if head.get(3).is_none_or(|byte| *byte != 0) {
        return Ok(None);
    }
    let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let len = number(0).unwrap_or_default() as usize;
    if !(16..=LONGEST).contains(&len) || !len.is_multiple_of(4) {
        return Ok(None);
    }
    match (number(4), head.get(4..4 + len)) {
        (None, _) => Err(()),
        (Some(root), _) if root > ROOT => Ok(None),
        (_, None) => Err(()),
        (_, Some(message)) => {
            let message = arrow_ipc::root_as_message(message);
            let is_schema = |message: arrow_ipc::Message<'_>| {
                message.header_type() == arrow_ipc::MessageHeader::Schema
            };
            Ok(message.is_ok_and(is_schema).then_some(Format::ArrowStream))
        }
    }
}

const UTF16: Foreign = ("UTF-16", "convert it first, for example with `iconv -f UTF-16 -t UTF-8`");
const UTF32: Foreign = ("UTF-32", "convert it first, for example with `iconv -f UTF-32 -t UTF-8`");
const HTML: Foreign = ("an HTML page", "download the file itself: the page may ask for a password");
const ZIP: Foreign = ("a ZIP archive or a spreadsheet", SPREADSHEET);
const SPREADSHEET: &str = "save it as CSV in UTF-8";
const BINARY: &str = "unpack it first, if it is packed, and name no other format for it";
const EXPORT: &str = "export it as CSV in UTF-8";

const MAGICS: [(&[u8], Foreign); 30] = [
    (b"\xff\xfe\0\0", UTF32),
    (b"\0\0\xfe\xff", UTF32),
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ("an empty ZIP archive", SPREADSHEET)),
    (b"PK\x07\x08", ("a part of a ZIP archive", "unpack it first")),
    (b"\xd0\xcf\x11\xe0", ("a spreadsheet", SPREADSHEET)),
    (b"\x1f\x8b", ("a gzip file within another", "unpack it first, for example with `gunzip`")),
    (
        b"\x28\xb5\x2f\xfd",
        ("a Zstandard file within another", "unpack it first, for example with `unzstd`"),
    ),
    (b"\xfd7zXZ\0", ("an xz file", "unpack it first, for example with `unxz`")),
    (b"\x5d\0\0", ("an LZMA file", "unpack it first, for example with `unlzma`")),
    (b"LZIP\x01", ("an lzip file", "unpack it first, for example with `lzip -d`")),
    (b"\x1f\x9d", ("a file of compress", "unpack it first, for example with `uncompress`")),
    (b"\xff\x06\0\0sNaPpY", ("a Snappy file", "unpack it first, for example with `snzip -d`")),
    (b"Rar!\x1a\x07", ("a RAR archive", "unpack it first")),
    (b"7z\xbc\xaf\x27\x1c", ("a 7z archive", "unpack it first")),
    (b"\x04\x22\x4d\x18", ("an LZ4 file", "unpack it first, for example with `unlz4`")),
    (
        b"SQLite format 3\0",
        ("an SQLite database", "export the table, for example with `sqlite3 -csv -header`"),
    ),
    (b"PAR1", ("a Parquet file", BINARY)),
    (b"ARROW1\0\0", ("an Arrow file", BINARY)),
    (
        b"FEA1\0\0\0\0",
        (
            "a Feather file of version 1",
            "write it again as version 2, for example with pyarrow.feather.write_feather",
        ),
    ),
    (b"Obj\x01", ("an Avro file", EXPORT)),
    (b"ORC\x08", ("an ORC file", EXPORT)),
    (b"ORC\x0a\x06", ("an ORC file", EXPORT)),
    (b"ORC\x0a\x0b", ("an ORC file", EXPORT)),
    (b"%PDF-", ("a PDF document", EXPORT)),
    (b"\x93NUMPY", ("a NumPy array", EXPORT)),
    (b"$FL2@(#)", ("an SPSS file", EXPORT)),
    (b"\x89HDF\r\n\x1a\n", ("an HDF5 file", EXPORT)),
];

/// Formats whose name stands further behind: its place and its bytes.
const LATER: [(usize, &[u8], Foreign); 2] = [
    (
        8,
        b"DUCK",
        ("a DuckDB database", "export the table, for example with `COPY … TO 'table.parquet'`"),
    ),
    (257, b"ustar", ("a tar archive", "unpack it first, for example with `tar -x`")),
];

/// Formats of text that are no tables, by their beginnings in small letters.
const DOCUMENTS: [(&[u8], Foreign); 4] = [
    (b"<!doctype html", HTML),
    (b"<html", HTML),
    (b"<?xml", ("an XML document", EXPORT)),
    (b"<stata_dta>", ("a Stata file", EXPORT)),
];

/// What the bytes seem to be where they are no text in UTF-8 or a relative of it.
pub(crate) fn foreign(bytes: &[u8]) -> Option<Foreign> {
    if let Some((_, found)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        let sample = &bytes[..bytes.len().min(SAMPLE)];
        let has = |part: &[u8]| sample.windows(part.len()).any(|window| window == part);
        return match *found {
            ZIP if has(b"xl/workbook") => Some(("an Excel workbook", SPREADSHEET)),
            ZIP if has(b"opendocument.spreadsheet") => {
                Some(("an OpenDocument spreadsheet", SPREADSHEET))
            }
            found => Some(found),
        };
    }
    let is_later = |(place, magic, _): &&(usize, &[u8], Foreign)| {
        bytes.get(*place..).is_some_and(|rest| rest.starts_with(magic))
    };
    if let Some((.., found)) = LATER.iter().find(is_later) {
        return Some(*found);
    }
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes).trim_ascii_start();
    let begins =
        |magic: &[u8]| text.get(..magic.len()).is_some_and(|head| head.eq_ignore_ascii_case(magic));
    if let Some((_, found)) = DOCUMENTS.iter().find(|(magic, _)| begins(magic)) {
        return Some(*found);
    }
    // `BZh`, a digit, and the digits of π. A table may begin with the first four.
    if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"\x31\x41\x59\x26\x53\x59") {
        return Some(("a bzip2 file", "unpack it first, for example with `bunzip2`"));
    }
    if bytes.starts_with(b"[") && bytes[1..].trim_ascii_start().starts_with(b"{") {
        let advice = "write one object on each line, for example with `jq -c '.[]'`";
        return Some(("a JSON array", advice));
    }
    // Western text in UTF-16 has a zero byte in every second place. The first line alone is looked at: some rows of a table that
    // is taken are a table that is taken, too.
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let is_end = |byte: &u8| b"\r\n".contains(byte);
    let mut lines = sample.split(is_end).filter(|line| !line.is_empty());
    let sample = lines.next().unwrap_or_default();
    let nul_at = |parity| sample.iter().skip(parity).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (nul_at(0), nul_at(1));
    let nuls = even + odd;
    // A line feed has a zero beside it, too; without that, a zero is more likely a fault of the program that wrote it.
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let has_wide_end = end.is_none_or(|end| {
        let beside = [end.checked_sub(1), end.checked_add(1)].into_iter().flatten();
        beside.filter_map(|place| bytes.get(place)).any(|byte| *byte == 0)
    });
    let is_mostly_one = even.abs_diff(odd) * 2 >= nuls;
    let is_utf16 = nuls * 4 >= sample.len() && nuls > 0 && is_mostly_one && has_wide_end;
    is_utf16.then_some(UTF16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_formats() {
        for (name, format) in [
            ("a.csv", Some(Format::Csv)),
            ("a.TSV.GZ", Some(Format::Csv)),
            ("a.jsonl.zst", Some(Format::Ndjson)),
            ("dir.csv/a.parquet", Some(Format::Parquet)),
            ("a.feather", Some(Format::Arrow)),
            ("a.arrows", Some(Format::ArrowStream)),
            ("a.txt", None),
            ("a.gz", None),
            ("csv", None),
            ("-", None),
        ] {
            assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn binary_formats_are_told_by_their_beginnings() {
        assert_eq!(binary(b"PAR1\x15"), Ok(Some(Format::Parquet)));
        assert_eq!(binary(b"ARROW1\0\0\xff"), Ok(Some(Format::Arrow)));
        assert_eq!(binary(b"\xff\xff\xff\xff\x10"), Ok(Some(Format::ArrowStream)));
        for short in [&b""[..], b"PA", b"ARROW1", b"\xff"] {
            assert_eq!(binary(short), Err(()));
        }
        assert_eq!(binary(b"PARE\x15\x01\0\0"), Ok(Some(Format::Parquet)));
        assert_eq!(binary(b"PARE\x15\x01"), Err(()));
        assert_eq!(binary(b"PARENT,NAME\n"), Ok(None));
        assert_eq!(binary(b"PARE\n1\n"), Ok(None));
        assert_eq!(binary(b"PART,ARROW\n"), Ok(None));
        // A stream without the mark that later ones begin with.
        let mut stream = Vec::new();
        let field = arrow_schema::Field::new("k", arrow_schema::DataType::Utf8, true);
        let schema = arrow_schema::Schema::new(vec![field]);
        let options =
            arrow_ipc::writer::IpcWriteOptions::try_new(8, true, arrow_ipc::MetadataVersion::V4);
        arrow_ipc::writer::StreamWriter::try_new_with_options(
            &mut stream,
            &schema,
            options.unwrap(),
        )
        .unwrap();
        assert!(stream[0] != 0xff && binary(&stream) == Ok(Some(Format::ArrowStream)));
        for kept in [4, 7, 60] {
            assert_eq!(binary(&stream[..kept]), Err(()), "{kept}");
        }
        assert_eq!(binary(b"k,v\0\0\0\0\0"), Ok(None));
        assert_eq!(binary(b"ab\0\0"), Ok(None));
    }

    #[test]
    fn foreign_formats_are_named() {
        let utf16 = |s: &str| s.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let utf16_be = |s: &str| s.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        let named = |bytes: &[u8]| foreign(bytes).map(|(format, _)| format);
        for (bytes, format) in [
            (&utf16("\u{feff}id,name\n1,x\n")[..], "UTF-16"),
            (&utf16("id,name\n1,x\n"), "UTF-16"),
            (&utf16_be("id,name\n1,x\n"), "UTF-16"),
            (&utf16("k\n\u{4e16}\u{754c}\n"), "UTF-16"),
            (&utf16("\n\nid\n"), "UTF-16"),
            (b"PK\x03\x04....", "a ZIP archive or a spreadsheet"),
            (b"\x1f\x8b\x08", "a gzip file within another"),
            (b"[ \n{\"a\": 1}]", "a JSON array"),
            (b"\xfd7zXZ\0\0", "an xz file"),
            (b"BZh91AY&SY\x01", "a bzip2 file"),
            (b"SQLite format 3\0\x10", "an SQLite database"),
            (b"PAR1\x15", "a Parquet file"),
            (b"\xff\xfe\0\0k\0\0\0", "UTF-32"),
            (b"\0\0\xfe\xff\0\0\0k", "UTF-32"),
            (b"PK\x05\x06", "an empty ZIP archive"),
            (b"PK\x03\x04..[Content_Types].xml..xl/workbook.xml", "an Excel workbook"),
            (b"FEA1\0\0\0\0", "a Feather file of version 1"),
            (b"ORC\x0a\x0b", "an ORC file"),
            (b"\x5d\0\0\x80", "an LZMA file"),
            (b"\x1f\x9d\x90", "a file of compress"),
            (b"12345678DUCK", "a DuckDB database"),
            (&[&[b'a'; 257][..], b"ustar\0"].concat(), "a tar archive"),
            (b"\xef\xbb\xbf\r\n<!DOCTYPE html>", "an HTML page"),
            (b"<?xml version='1.0'?>", "an XML document"),
        ] {
            assert_eq!(named(bytes), Some(format));
        }
        for text in [
            "",
            "\n",
            "id,n\u{e4}me\n1,\u{1F600}\n",
            "id\n1\0\0\n",
            "BZh9,name\n",
            "SQLite format 3\n",
            "7z,k\n",
            "a\0b\n1\n",
            "ORC,k\n",
            "FEA1,k\n",
            "PK,k\n",
            "<k>,v\n",
        ] {
            assert_eq!(named(text.as_bytes()), None, "{text}");
        }
    }
}
