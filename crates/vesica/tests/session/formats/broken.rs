//! Damaged tables: each is an error of the input, and nothing is written.

use arrow_array::RecordBatchOptions;

use super::*;
use crate::{Bench, Learns, bad_input, not_ready};

/// Reads the keys, and returns the error.
fn refused(bytes: &[u8], format: Format) -> String {
    let error = keys(bytes.to_vec(), format, "utf8").unwrap_err();
    assert_eq!(error.class(), vesica::Class::Input);
    error.to_string()
}

#[test]
fn truncated_tables_are_refused() {
    let columns = all_types();
    let batch = batch(&columns);
    let batches = [batch.clone(), batch.clone()];
    for (format, bytes) in [
        (Format::PARQUET, parquet_of(&batch)),
        (Format::ARROW, arrow_of(&batches, None)),
        (Format::ARROW_STREAM, stream_of(&batches, Some(CompressionType::ZSTD))),
    ] {
        // The last eight bytes of a stream only mark its end, and may be missing.
        let end = bytes.len() - if format == Format::ARROW_STREAM { 9 } else { 1 };
        for kept in [8, 100, bytes.len() / 3, bytes.len() / 2, end] {
            let message = refused(&bytes[..kept], format);
            assert!(message.contains(format.title()) && message.contains("damaged"), "{message}");
        }
    }
}

/// If any byte is damaged, the table is read or refused; there is no panic and no other error.
#[test]
fn damage_causes_at_most_an_input_error() {
    let columns = [integers(), texts()].into_iter().flatten().collect::<Vec<_>>();
    let batch = batch(&columns);
    let batches = [batch.clone(), batch.clone()];
    for (format, bytes) in [
        (Format::PARQUET, parquet_of(&batch)),
        (Format::ARROW, arrow_of(&batches, Some(CompressionType::LZ4_FRAME))),
        (Format::ARROW_STREAM, stream_of(&batches, None)),
    ] {
        let mut refused = 0;
        // The bytes before these identify the format.
        for at in (8..bytes.len()).step_by(13) {
            for flip in [0x01, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                if let Err(error) = keys(bytes, format, "utf8") {
                    assert_eq!(error.class(), vesica::Class::Input, "{format:?} {at}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 20, "{format:?}: {refused}");
    }
}

#[test]
fn false_lengths_are_refused() {
    // A footer of 2 GiB in a file of 16 bytes.
    let lying = [&b"PAR1"[..], &[0; 4], &0x7fff_ffffu32.to_le_bytes(), b"PAR1"].concat();
    assert!(refused(&lying, Format::PARQUET).contains("its metadata"));
    let lying = [&b"ARROW1\0\0"[..], &0x7fff_ffffu32.to_le_bytes(), b"ARROW1"].concat();
    assert!(refused(&lying, Format::ARROW).contains("its structure"));
    let lying = [[0xff; 4], 0x7fff_fff0u32.to_le_bytes()].concat();
    assert!(refused(&lying, Format::ARROW_STREAM).contains("its structure"));
    // A buffer that claims to unpack to an exabyte.
    let batch = batch(&texts());
    let mut bytes = stream_of(&[batch], Some(CompressionType::ZSTD));
    let frame = b"\x28\xb5\x2f\xfd";
    let at = bytes.windows(4).position(|window| window == frame).unwrap();
    bytes[at - 8..at].copy_from_slice(&(1u64 << 60).to_le_bytes());
    assert!(refused(&bytes, Format::ARROW_STREAM).contains("holds more than"));
}

/// A row without columns has no key, and not an empty key.
#[test]
fn rows_without_columns_are_refused() {
    let of_rows = |rows| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::empty());
        RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap()
    };
    let batch = of_rows(3);
    // A Parquet file has no pages for them, so it has no rows.
    for (format, bytes) in [
        (Format::ARROW, arrow_of(&[batch.clone(), batch.clone()], None)),
        (Format::ARROW_STREAM, stream_of(&[batch], None)),
    ] {
        let message = refused(&bytes, format);
        assert!(
            message.ends_with("has no column `utf8`; it has rows, but no columns"),
            "{message}"
        );
    }
    // A member that one object lacks may be in a later one.
    let message = refused(b"{}\n{}\n", Format::NDJSON);
    assert!(message.ends_with("has no column `utf8`; no line has such a member"), "{message}");
    let lines = b"{}\n{\"utf8\":\"a\"}\n{\"utf8\":\"b\"}\n".to_vec();
    let (_, found) = keys(lines, Format::NDJSON, "utf8").unwrap();
    assert_eq!(found, RowCounts { read: 3, null: 1, duplicate: 0, used: 2 });
    // Without rows, the table is as empty as an empty file.
    let empty = of_rows(0);
    for (format, bytes) in [
        (Format::CSV, Vec::new()),
        (Format::PARQUET, parquet_of(&empty)),
        (Format::ARROW, arrow_of(std::slice::from_ref(&empty), None)),
    ] {
        let (_, found) = keys(bytes, format, "utf8").unwrap();
        assert_eq!(found, RowCounts::default(), "{format:?}");
    }
}

#[test]
fn a_packed_row_may_be_no_larger_than_memory() {
    let read = |text: &str, most_bytes| {
        let [a, b] = [gzip(text.as_bytes()), zstd_of(text.as_bytes())].map(|packed| {
            let dialect = Dialect { most_bytes, ..Dialect::default() };
            let scan = source(packed).open(dialect).and_then(|input| input.read());
            let table = scan.and_then(|scan| scan.rows(|_| Ok(())));
            table.map(|table| table.len()).map_err(|error| error.to_string())
        });
        assert_eq!(a, b);
        a
    };
    let (rows, row) = (format!("utf8\n{}", "x\n".repeat(1 << 20)), "x".repeat(2 << 20));
    assert_eq!(read(&rows, Some(1 << 20)), Ok(1 << 20));
    assert_eq!(read(&format!("utf8\n{row}\n"), None), Ok(1));
    let message = read(&format!("utf8\n{row}\n"), Some(1 << 20)).unwrap_err();
    assert!(message.contains("line 2 has a row of more than 128.0 KiB"), "{message}");
}

#[test]
fn a_run_ends_in_order_for_every_fault_of_the_input() {
    let columns = all_types();
    let parquet = parquet_of(&batch(&columns));
    let on = |column: &'static str| {
        move |job: &mut vesica::Job| {
            job.columns = vec![column.to_owned()];
            let path = job.output.take().and_then(|to| Some(to.path()?.with_extension("parquet")));
            job.output = path.map(Into::into);
        }
    };
    let cut = not_ready(&parquet[..parquet.len() / 2], on("utf8"));
    assert!(cut.contains("in.csv: cannot be read as Parquet: its metadata"), "{cut}");
    assert!(not_ready(&parquet, on("utf9")).contains("has no column `utf9`; it has `int8`"));
    // The key's pages are damaged, but the metadata is not.
    let mut damaged = parquet.clone();
    let text = b"a,\"b\"";
    let at = damaged.windows(text.len()).position(|window| window == text).unwrap();
    damaged[at..at + 2].fill(0xff);
    let found = bad_input(&damaged, on("utf8"));
    assert!(found.contains("cannot be read as Parquet: the part after row 0"), "{found}");

    let packed = gzip("k\nx\ny\n".repeat(100_000).as_bytes());
    let cut = bad_input(&packed[..packed.len() - 5], |_| {});
    assert!(cut.contains("cannot be read as gzip: a part of its content"), "{cut}");
    let ndjson = |job: &mut vesica::Job| {
        let path = job.output.take().and_then(|to| Some(to.path()?.with_extension("ndjson")));
        job.output = path.map(Into::into);
    };
    let broken = bad_input("{\"k\":\"x\"}\n{\"k\":\"secret\n", ndjson);
    assert!(broken.contains("row 2 (line 2): the line") && !broken.contains("secret"), "{broken}");
    let number = bad_input("{\"k\":1}\n{\"k\":1.5}\n", ndjson);
    assert!(
        number.contains("row 2 (line 2), column `k`: such a number cannot be a key"),
        "{number}"
    );
    assert!(bad_input("{\"x\":1}\n", ndjson).contains("has no column `k`"));
}

#[test]
fn an_output_named_for_another_format_is_refused() {
    let bench = Bench::new();
    let parquet = parquet_of(&batch(&all_types()));
    for (input, name) in [
        (&parquet[..], "out.csv"),
        (&parquet, "out.parquet.gz"),
        (b"k\nx\n", "out.parquet"),
        (b"{\"k\":1}\n", "out.csv.zst"),
    ] {
        let mut job = bench.job("a", input, Learns::Both);
        job.output = Some(bench.path(name).into());
        if input == parquet {
            job.columns = vec!["utf8".into()];
        }
        let error = job.prepare().err().unwrap();
        assert_eq!(error.class(), vesica::Class::Usage, "{error}");
        assert!(error.to_string().contains("is named like"), "{error}");
    }
    bench.assert_clean();
}
