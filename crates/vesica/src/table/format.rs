//! What kind of file it is, by its first bytes.

/// How much of a text is looked at to tell its kind.
pub(crate) const SAMPLE: usize = 1 << 16;

/// The mark some programs put before UTF-8 text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// What a file is, and what to do about it.
type Format = (&'static str, &'static str);

const UTF16: Format = ("UTF-16", "convert it first, for example with `iconv -f UTF-16 -t UTF-8`");
const SPREADSHEET: &str = "save it as CSV in UTF-8";
const EXPORT: &str = "export it as CSV in UTF-8";

const MAGICS: [(&[u8], Format); 15] = [
    (b"\xff\xfe", UTF16),
    (b"\xfe\xff", UTF16),
    (b"PK\x03\x04", ("a ZIP archive or a spreadsheet", SPREADSHEET)),
    (b"\xd0\xcf\x11\xe0", ("a spreadsheet", SPREADSHEET)),
    (b"\x1f\x8b", ("a gzip file", "unpack it first, for example with `gunzip`")),
    (b"\x28\xb5\x2f\xfd", ("a Zstandard file", "unpack it first, for example with `unzstd`")),
    (b"\xfd7zXZ\0", ("an xz file", "unpack it first, for example with `unxz`")),
    (b"7z\xbc\xaf\x27\x1c", ("a 7z archive", "unpack it first")),
    (b"\x04\x22\x4d\x18", ("an LZ4 file", "unpack it first, for example with `unlz4`")),
    (
        b"SQLite format 3\0",
        ("an SQLite database", "export the table, for example with `sqlite3 -csv -header`"),
    ),
    (b"PAR1", ("a Parquet file", EXPORT)),
    (b"ARROW1\0\0", ("an Arrow file", EXPORT)),
    (b"Obj\x01", ("an Avro file", EXPORT)),
    (b"ORC\x08", ("an ORC file", EXPORT)),
    (b"\x89HDF\r\n\x1a\n", ("an HDF5 file", EXPORT)),
];

/// What the bytes seem to be where they are no text in UTF-8 or a relative of it.
pub(crate) fn foreign(bytes: &[u8]) -> Option<Format> {
    if let Some((_, found)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(*found);
    }
    // `BZh`, a digit, and the digits of π. A table may begin with the first four.
    if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"\x31\x41\x59\x26\x53\x59") {
        return Some(("a bzip2 file", "unpack it first, for example with `bunzip2`"));
    }
    // Western text in UTF-16 has a zero byte in every second place.
    let sample = &bytes[..bytes.len().min(SAMPLE)];
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
    fn foreign_formats_are_named() {
        let utf16 = |s: &str| s.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let utf16_be = |s: &str| s.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        let named = |bytes: &[u8]| foreign(bytes).map(|(format, _)| format);
        for (bytes, format) in [
            (&utf16("\u{feff}id,name\n1,x\n")[..], "UTF-16"),
            (&utf16("id,name\n1,x\n"), "UTF-16"),
            (&utf16_be("id,name\n1,x\n"), "UTF-16"),
            (b"PK\x03\x04....", "a ZIP archive or a spreadsheet"),
            (b"\x1f\x8b\x08", "a gzip file"),
            (b"\x28\xb5\x2f\xfd\x04", "a Zstandard file"),
            (b"\xfd7zXZ\0\0", "an xz file"),
            (b"BZh91AY&SY\x01", "a bzip2 file"),
            (b"SQLite format 3\0\x10", "an SQLite database"),
            (b"PAR1\x15", "a Parquet file"),
        ] {
            assert_eq!(named(bytes), Some(format));
        }
        for text in
            ["", "id,n\u{e4}me\n1,\u{1F600}\n", "BZh9,name\n", "SQLite format 3\n", "7z,k\n"]
        {
            assert_eq!(named(text.as_bytes()), None, "{text}");
        }
    }
}
