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
        let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
        let packed = extension(path).is_some_and(|end| matches!(&*end, "gz" | "zst"));
        let inner = if packed { path.file_stem().map(Path::new)? } else { path };
        Some(match &*extension(inner)? {
            "csv" | "tsv" | "tab" | "psv" => Self::Csv,
            "ndjson" | "jsonl" | "json" => Self::Ndjson,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "feather" | "ipc" => Self::Arrow,
            "arrows" => Self::ArrowStream,
            _ => return None,
        })
    }
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
    Ok(None)
}

const UTF16: Foreign = ("UTF-16", "convert it first, for example with `iconv -f UTF-16 -t UTF-8`");
const SPREADSHEET: &str = "save it as CSV in UTF-8";
const BINARY: &str = "unpack it first, if it is packed, and name no other format for it";
const EXPORT: &str = "export it as CSV in UTF-8";

const MAGICS: [(&[u8], Foreign); 15] = [
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"PK\x03\x04", ("a ZIP archive or a spreadsheet", SPREADSHEET)),
    (b"\xd0\xcf\x11\xe0", ("a spreadsheet", SPREADSHEET)),
    (b"\x1f\x8b", ("a gzip file within another", "unpack it first, for example with `gunzip`")),
    (
        b"\x28\xb5\x2f\xfd",
        ("a Zstandard file within another", "unpack it first, for example with `unzstd`"),
    ),
    (b"\xfd7zXZ\0", ("an xz file", "unpack it first, for example with `unxz`")),
    (b"7z\xbc\xaf\x27\x1c", ("a 7z archive", "unpack it first")),
    (b"\x04\x22\x4d\x18", ("an LZ4 file", "unpack it first, for example with `unlz4`")),
    (
        b"SQLite format 3\0",
        ("an SQLite database", "export the table, for example with `sqlite3 -csv -header`"),
    ),
    (b"PAR1", ("a Parquet file", BINARY)),
    (b"ARROW1\0\0", ("an Arrow file", BINARY)),
    (b"Obj\x01", ("an Avro file", EXPORT)),
    (b"ORC\x08", ("an ORC file", EXPORT)),
    (b"\x89HDF\r\n\x1a\n", ("an HDF5 file", EXPORT)),
];

/// What the bytes seem to be where they are no text in UTF-8 or a relative of it.
pub(crate) fn foreign(bytes: &[u8]) -> Option<Foreign> {
    if let Some((_, found)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
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
    let is_utf16 = nuls * 4 >= sample.len() && nuls > 0 && even.abs_diff(odd) * 2 >= nuls;
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
        assert_eq!(binary(b"PART,ARROW\n"), Ok(None));
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
        ] {
            assert_eq!(named(text.as_bytes()), None, "{text}");
        }
    }
}
