//! Files that are not tables, recognized by their first bytes.

/// The number of a text's bytes that are examined for its kind.
pub(crate) const SAMPLE: usize = 1 << 16;

/// The mark that some programs put before UTF-8 text.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The name of a format, and advice on a file in it.
type Foreign = (&'static str, &'static str);

const UTF16: Foreign = ("UTF-16", "convert it first, for example with `iconv -f UTF-16 -t UTF-8`");
const UTF32: Foreign = ("UTF-32", "convert it first, for example with `iconv -f UTF-32 -t UTF-8`");
const HTML: Foreign = ("an HTML page", "download the file itself: the page may ask for a password");
const ZIP: Foreign = ("a ZIP archive or a spreadsheet", SPREADSHEET);
const SPREADSHEET: &str = "save it as CSV in UTF-8";
const BINARY: &str = "unpack it first if it is packed, and do not name another format";
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
    (b"\x1f\x9d", ("a compress file", "unpack it first, for example with `uncompress`")),
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

/// Formats whose name comes later in the file: its place and its bytes.
const LATER: [(usize, &[u8], Foreign); 2] = [
    (
        8,
        b"DUCK",
        ("a DuckDB database", "export the table, for example with `COPY … TO 'table.parquet'`"),
    ),
    (257, b"ustar", ("a tar archive", "unpack it first, for example with `tar -x`")),
];

/// Formats of text other than tables, by their beginnings in lower case.
const DOCUMENTS: [(&[u8], Foreign); 4] = [
    (b"<!doctype html", HTML),
    (b"<html", HTML),
    (b"<?xml", ("an XML document", EXPORT)),
    (b"<stata_dta>", ("a Stata file", EXPORT)),
];

/// Returns the format that bytes seem to have, if it is not text in UTF-8 or a relative of it.
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
    // Western text in UTF-16 has a zero byte in every second place. Only the first line is examined, because any
    // selection of rows from an accepted table must be accepted, too.
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let is_end = |byte: &u8| b"\r\n".contains(byte);
    let mut lines = sample.split(is_end).filter(|line| !line.is_empty());
    let sample = lines.next().unwrap_or_default();
    let nul_at = |parity| sample.iter().skip(parity).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (nul_at(0), nul_at(1));
    let nuls = even + odd;
    // A line feed has a zero next to it, too; without that, a zero is more likely a fault of the program that wrote it.
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
            (b"\x1f\x9d\x90", "a compress file"),
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
