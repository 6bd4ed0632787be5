//! Damaged tables of every format: the program ends with code 3, says what is wrong with which file, shows no value,
//! and writes nothing.

use std::{fs, path::PathBuf, process::Command};

use crate::{
    harness::{Connecting, Ended, Lab, Listening, Running},
    tables,
};
use arrow_ipc::CompressionType;
use parquet::file::metadata::{
    ColumnChunkMetaDataBuilder as Column, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_testkit::assurance;

/// Address space for the program, in KiB: what a small file cannot be worth. One page of Parquet may claim 2 GiB.
const SPACE: &str = "4194304";

/// A directory for tables.
struct Tables(tempfile::TempDir);

impl Tables {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Has the program check a table under this name by a column.
    fn check(&self, name: &str, bytes: &[u8], key: &str) -> Ended {
        let path = self.write(name, bytes);
        let limited = "ulimit -v \"$1\" && shift && exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", limited, "sh", SPACE, env!("CARGO_BIN_EXE_vesica"), "check"]);
        let output = command.arg(path).args(["--key", key]).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The table is refused in these words, and with no value.
    #[track_caller]
    fn refused(&self, what: &str, name: &str, bytes: &[u8], key: &str, said: &str) {
        let ended = self.check(name, bytes, key);
        assert_refused(what, &ended, name);
        assert!(ended.err.contains(said), "{what}: no {said:?} in {ended:#?}");
    }
}

#[track_caller]
fn assert_refused(what: &str, ended: &Ended, name: &str) {
    assert_eq!(ended.code, Some(3), "{what}: {ended:#?}");
    assert!(ended.out.is_empty() && ended.err.contains(name), "{what}: {ended:#?}");
    for never in ["secret", "panicked", "RUST_BACKTRACE", "defect"] {
        assert!(!ended.err.contains(never), "{what}: {ended:#?}");
    }
}

/// A Parquet file with other metadata at its end.
fn with_metadata(bytes: &[u8], change: impl Fn(RowGroupMetaData) -> RowGroupMetaData) -> Vec<u8> {
    let metadata =
        ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::copy_from_slice(bytes));
    let metadata = metadata.unwrap();
    let groups = metadata.row_groups().iter().cloned().map(change).collect();
    let mut lying = bytes[..bytes.len() - 8 - metadata_len(bytes)].to_vec();
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), groups);
    ParquetMetaDataWriter::new(&mut lying, &metadata).finish().unwrap();
    lying
}

/// The same, with another number of rows in its group.
fn with_rows(bytes: &[u8], rows: i64) -> Vec<u8> {
    with_metadata(bytes, |group| group.into_builder().set_num_rows(rows).build().unwrap())
}

/// A file of 500 rows that claims to have another number, of three digits.
fn with_rows_in_all(bytes: &[u8], rows: u16) -> Vec<u8> {
    // The first field of 64 bits in the metadata, and the number's encoding.
    let encoded = |rows: u16| [0x16, (2 * rows) as u8 & 0x7f | 0x80, ((2 * rows) >> 7) as u8];
    let start = bytes.len() - 8 - metadata_len(bytes);
    let at = bytes[start..].windows(3).position(|window| window == encoded(500)).unwrap();
    let mut lying = bytes.to_vec();
    lying[start + at..start + at + 3].copy_from_slice(&encoded(rows));
    lying
}

fn metadata_len(bytes: &[u8]) -> usize {
    let end = bytes.len() - 8;
    u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize
}

/// The same, with another description of the first column, which is the key.
fn with_column(bytes: &[u8], change: impl Fn(Column) -> Column) -> Vec<u8> {
    with_metadata(bytes, |group| {
        let mut columns = group.columns().to_vec();
        columns[0] = change(columns[0].clone().into_builder()).build().unwrap();
        group.into_builder().set_column_metadata(columns).build().unwrap()
    })
}

#[test]
fn parquet_that_is_cut_or_lies() {
    let tables = Tables::new();
    let whole = tables::parquet(&tables::batch(0..500));
    let refused = |what: &str, bytes: &[u8], said: &str| {
        tables.refused(what, "t.parquet", bytes, "k", said);
    };
    let cannot = "cannot be read as Parquet";
    for kept in (0..whole.len()).step_by(whole.len() / 9).chain([1, 4, 11, 12, whole.len() - 1]) {
        refused(&format!("{kept} bytes"), &whole[..kept], cannot);
    }
    let end = whole.len() - 8;
    // The end of metadata may also be of a kind that the library does not know.
    let rare = "has metadata that is rare or newer than this program";
    for (what, size, said) in [
        ("none", 0u32, cannot),
        ("short", 9, rare),
        ("long", end as u32 + 1, cannot),
        ("huge", u32::MAX, cannot),
    ] {
        let mut lying = whole.clone();
        lying[end..end + 4].copy_from_slice(&size.to_le_bytes());
        refused(&format!("metadata of {what} bytes"), &lying, said);
    }
    let rows = "its number of rows";
    for (what, number) in [("more", 501u16), ("fewer", 499)] {
        refused(&format!("{what} rows in all"), &with_rows_in_all(&whole, number), rows);
    }
    for (what, number) in [("more", 501), ("fewer", 499), ("no", 0), ("negative", -1)] {
        refused(&format!("{what} rows in the group"), &with_rows(&whole, number), rows);
    }
    for (what, size) in [("no bytes", 0), ("bytes without end", 1 << 50), ("negative bytes", -1)] {
        let lying = with_column(&whole, |column| column.set_total_compressed_size(size));
        refused(&format!("a column of {what}"), &lying, cannot);
    }
    for at in [-1, 1 << 40, 100] {
        let lying = with_column(&whole, |column| column.set_data_page_offset(at));
        refused(&format!("a column that begins at {at}"), &lying, cannot);
    }
    tables.refused("no such column", "t.parquet", &whole, "mail", "has no column `mail`; it has");
    tables.refused("a fraction as key", "t.parquet", &whole, "fraction", "has the type Float64");
    assert_eq!(tables.check("t.parquet", &whole, "k").code, Some(0));
}

#[test]
fn arrow_that_is_cut_or_lies() {
    let tables = Tables::new();
    let batch = tables::batch(0..500);
    for packed in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let (file, stream) = (tables::arrow(&batch, packed), tables::arrow_stream(&batch, packed));
        for (name, whole, said) in [
            ("t.arrow", &file, "cannot be read as an Arrow file"),
            ("t.arrows", &stream, "cannot be read as an Arrow stream"),
        ] {
            // The last eight bytes of a stream say that it ends, and need not be there.
            let end = whole.len() - 9;
            for kept in (8..end).step_by(whole.len() / 5).chain([9, end]) {
                tables.refused(&format!("{kept} bytes"), name, &whole[..kept], "k", said);
            }
            tables.refused("no such column", name, whole, "mail", "has no column `mail`; it has");
            tables.refused("a fraction as key", name, whole, "fraction", "has the type Float64");
            assert_eq!(tables.check(name, whole, "k").code, Some(0));
        }
        // The sizes of the first message and of the footer.
        for size in [u32::MAX - 1, 1 << 31, file.len() as u32, 3] {
            let (mut message, mut footer) = (stream.clone(), file.clone());
            message[4..8].copy_from_slice(&size.to_le_bytes());
            let at = footer.len() - 10;
            footer[at..at + 4].copy_from_slice(&size.to_le_bytes());
            tables.refused(
                "a message's size",
                "t.arrows",
                &message,
                "k",
                "cannot be read as an Arrow",
            );
            tables.refused(
                "the footer's size",
                "t.arrow",
                &footer,
                "k",
                "cannot be read as an Arrow",
            );
        }
        // What a packed buffer says that it unpacks to.
        let mark: &[u8] = match packed {
            None => continue,
            Some(CompressionType::ZSTD) => b"\x28\xb5\x2f\xfd",
            _ => b"\x04\x22\x4d\x18",
        };
        let at = stream.windows(4).position(|window| window == mark).unwrap();
        for claim in [1u64 << 62, 1 << 40, 1 << 33, 1] {
            let mut lying = stream.clone();
            lying[at - 8..at].copy_from_slice(&claim.to_le_bytes());
            tables.refused(
                &format!("a buffer of {claim} bytes"),
                "t.arrows",
                &lying,
                "k",
                "t.arrows",
            );
        }
    }
}

#[test]
fn packed_text_that_is_cut_or_changed() {
    let tables = Tables::new();
    for (text, name) in [(tables::csv(0..500), "t.csv"), (tables::ndjson(0..500), "t.ndjson")] {
        for (ending, packed) in [("gz", tables::gzip(&text)), ("zst", tables::zstd(&text))] {
            let name = format!("{name}.{ending}");
            let said =
                format!("cannot be read as {}", if ending == "gz" { "gzip" } else { "zstd" });
            for kept in (10..packed.len()).step_by(packed.len() / 5).chain([packed.len() - 1]) {
                tables.refused(&format!("{kept} bytes"), &name, &packed[..kept], "k", &said);
            }
            // The checksum is at the end of Zstandard; behind it gzip has the length.
            for from_end in [1, 4, if ending == "gz" { 8 } else { 2 }] {
                let mut damaged = packed.clone();
                let at = damaged.len() - from_end;
                damaged[at] ^= 0x10;
                tables.refused(&format!("{from_end} from the end"), &name, &damaged, "k", &said);
            }
            let appended = [&packed[..], b"and something else"].concat();
            tables.refused("something behind it", &name, &appended, "k", &said);
            assert_eq!(tables.check(&name, &packed, "k").code, Some(0));
        }
    }
}

#[test]
fn text_that_is_broken() {
    let tables = Tables::new();
    let good = String::from_utf8(tables::ndjson(0..2)).unwrap();
    for (line, said) in [
        ("{\"k\":\"secret\"", "row 3 (line 3): the line ends within an object"),
        ("[\"secret\"]", "row 3 (line 3): the line is not a JSON object"),
        ("secret", "row 3 (line 3): the line is not valid JSON"),
        ("{\"k\":\"secret\"} {}", "row 3 (line 3): the line is not valid JSON"),
        (
            "{\"k\":\"secret\",\"k\":\"secret\"}",
            "row 3 (line 3): the object has a key or value twice",
        ),
        ("{\"k\":\"\\ud800secret\"}", "row 3 (line 3): a key or value has an escape"),
        ("{\"k\":[\"secret\"]}", "row 3 (line 3), column `k`: an array cannot be a key"),
        ("{\"k\":{\"secret\":1}}", "row 3 (line 3), column `k`: an object cannot be a key"),
        ("{\"k\":1e3}", "row 3 (line 3), column `k`: such a number cannot be a key"),
        ("{\"k\":\"secret\\u0000\"}", "row 3 (line 3), column `k`"),
    ] {
        let table = format!("{good}{line}\n{good}");
        tables.refused(line, "t.ndjson", table.as_bytes(), "k", said);
    }
    tables.refused(
        "bytes",
        "t.ndjson",
        b"{\"k\":\"x\"}\n{\"k\":\"secret\xff\"}\n",
        "k",
        "row 2 (line 2)",
    );
    tables.refused("no such member", "t.ndjson", good.as_bytes(), "mail", "has no column `mail`");
    let deep = format!("{good}{{\"k\":\"x\",\"deep\":{}\n", "[".repeat(100_000));
    tables.refused("deep", "t.ndjson", deep.as_bytes(), "k", "row 3 (line 3)");
    tables.refused("csv", "t.csv", b"k,v\nx,1\n\"secret,1\n", "k", "t.csv");
    tables.refused("csv", "t.csv", b"k,v\nx,1\nsecret\n", "k", "row 2 (line 3)");
    tables.refused("csv", "t.csv", b"k,v\nx,1\nsecret\xff,1\n", "k", "row 2 (line 3), column `k`");
}

/// Damage that a run meets at any time: before it connects, as it reads its keys, and as it writes the matched rows.
#[test]
fn a_run_over_a_damaged_table_writes_nothing() {
    let batch = tables::batch(0..500);
    let whole = tables::parquet(&batch);
    // The place at which the first packed page of a column begins.
    let place = |column: usize| {
        let bytes = bytes::Bytes::copy_from_slice(&whole);
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
        let (start, _) = metadata.row_group(0).column(column).byte_range();
        let mut frames = bytes[start as usize..].windows(4);
        start as usize + frames.position(|window| window == b"\x28\xb5\x2f\xfd").unwrap()
    };
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at..at + 8].fill(0xff);
        bytes
    };
    for (what, input, said) in [
        ("the end", whole[..whole.len() - 1].to_vec(), "cannot be read as Parquet: its metadata"),
        ("the key", damaged(place(0)), "cannot be read as Parquet: the part after row"),
        (
            "another column",
            damaged(place(2)),
            "cannot be read as Parquet: column `text` in row group 1",
        ),
    ] {
        let lab = Lab::new();
        let output = lab.path("out.parquet");
        lab.write(Connecting, &input);
        lab.write(Listening, tables::csv(400..600));
        let flags = ["--output", output.to_str().unwrap()];
        let a = if what == "the end" {
            Running::start(lab.command(Connecting, &["--connect", "127.0.0.1:1"], &flags)).end()
        } else {
            let [a, b] = lab.run(&flags, &["--learns", "both"]);
            assert!(matches!(b.code, Some(4 | 7)), "{what}: {b:#?}");
            a
        };
        assert_eq!(a.code, Some(3), "{what}: {a:#?}");
        assert!(a.err.contains(said) && !a.err.contains("secret"), "{what}: {a:#?}");
        assert!(!output.exists(), "{what}");
    }
}

/// A table with any changed bytes is read or refused.
#[test]
fn changed_bytes_do_no_worse_than_an_error() {
    let batch = tables::batch(0..60);
    let (lz4, zstd) = (Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD));
    let tables = Tables::new();
    let mut rng = StdRng::seed_from_u64(19);
    for (name, whole) in [
        ("t.parquet", tables::parquet(&batch)),
        ("t.arrow", tables::arrow(&batch, None)),
        ("t.feather", tables::arrow(&batch, lz4)),
        ("t.arrows", tables::arrow_stream(&batch, zstd)),
        ("t.ndjson", tables::ndjson(0..60)),
        ("t.csv", tables::csv(0..60)),
        ("t.csv.gz", tables::gzip(&tables::csv(0..60))),
        ("t.ndjson.zst", tables::zstd(&tables::ndjson(0..60))),
    ] {
        for trial in 0..assurance::trials(12, 1500) {
            let mut bytes = whole.clone();
            for _ in 0..1 + trial % 3 {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = match trial % 4 {
                    0 => !bytes[at],
                    1 => bytes[at] ^ 1 << rng.random_range(0..8),
                    _ => rng.random(),
                };
            }
            let ended = tables.check(name, &bytes, "k");
            if ended.code != Some(0) {
                assert_refused(&format!("{name}, trial {trial}"), &ended, name);
            }
        }
    }
    assert!(fs::read_dir(tables.0.path()).unwrap().count() == 8, "nothing else was written");
}
