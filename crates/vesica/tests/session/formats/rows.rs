//! Matched rows in the format of the input: with all columns or some, with types and metadata unchanged.

use std::fs;

use arrow_array::{Float64Array, Int32Array, ListArray, StructArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use bytes::Bytes;
use parquet::{
    arrow::arrow_reader::ParquetRecordBatchReaderBuilder,
    basic::{Compression, ZstdLevel},
    file::{
        metadata::KeyValue,
        reader::{FileReader as _, SerializedFileReader},
    },
};

use super::*;
use crate::{Bench, Learns, Report, both, ok};

/// Returns a table with this many rows, a key, every type, and nested columns; row i has the key `key i`.
pub(super) fn table(rows: usize) -> RecordBatch {
    let of_four = batch(&all_types());
    let places =
        PrimitiveArray::<UInt32Type>::from_iter_values((0..rows as u32).map(|row| row % 4));
    let typed = take_record_batch(&of_four, &places).unwrap();
    let keys = StringArray::from_iter_values((0..rows).map(|row| format!("key {row}")));
    let floats = Float64Array::from_iter(
        (0..rows).map(|row| (!row.is_multiple_of(3)).then_some(row as f64 / 7.0)),
    );
    let list = |row: usize| {
        (!row.is_multiple_of(5)).then(|| (0..row as i32 % 4).map(|i| (i != 1).then_some(i)))
    };
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>((0..rows).map(list));
    let inner = Arc::new(Int32Array::from_iter(
        (0..rows).map(|row| (!row.is_multiple_of(2)).then_some(row as i32)),
    ));
    let field = Arc::new(Field::new("inner", DataType::Int32, true));
    let structs = StructArray::from(vec![(field, inner as ArrayRef)]);
    let mut columns: Vec<(Field, ArrayRef)> = vec![
        (Field::new("k", DataType::Utf8, false), Arc::new(keys)),
        (Field::new("float", DataType::Float64, true), Arc::new(floats)),
        (Field::new("list", lists.data_type().clone(), true), Arc::new(lists)),
        (Field::new("struct", structs.data_type().clone(), false), Arc::new(structs)),
    ];
    let schema = typed.schema();
    let typed = schema.fields().iter().zip(typed.columns());
    columns.extend(typed.map(|(field, array)| (field.as_ref().clone(), array.clone())));
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

/// Returns the table of a side with the keys of every third row, and some that nobody else has.
fn partner(rows: usize) -> String {
    let keys = (0..rows).step_by(3).map(|row| format!("key {row}\n"));
    format!("k\n{}other\n", keys.collect::<String>())
}

/// Runs with the partner on this input, and returns the output.
fn output(input: &[u8], rows: usize, name: &str, select: Option<&[&str]>) -> (Vec<u8>, Report) {
    let bench = Bench::new();
    let mut job = bench.job("a", input, Learns::Me);
    job.output = Some(bench.path(name).into());
    job.select = select.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    let (report, _) = ok(both(job, bench.job("b", partner(rows), Learns::Peer)));
    assert_eq!(report.outcome.rows_written, Some(rows.div_ceil(3) as u64));
    (fs::read(bench.path(name)).unwrap(), report)
}

/// Returns the expected output: every third row, with these columns.
fn expected(table: &RecordBatch, select: Option<&[&str]>) -> RecordBatch {
    let places = (0..table.num_rows() as u32).step_by(3);
    let rows =
        take_record_batch(table, &PrimitiveArray::<UInt32Type>::from_iter_values(places)).unwrap();
    let schema = table.schema();
    let position = |name: &&str| schema.index_of(name).unwrap();
    match select {
        Some(names) => rows.project(&names.iter().map(position).collect::<Vec<_>>()).unwrap(),
        None => rows,
    }
}

pub(super) fn parquet_back(bytes: Vec<u8>) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    // The reader's batches have the fields' metadata, and the builder has the schema's.
    let batches = batches.iter().map(|batch| batch.clone().with_schema(schema.clone()).unwrap());
    concat_batches(&schema, &batches.collect::<Vec<_>>()).unwrap()
}

const SOME: [&str; 4] = ["uuid", "list", "k", "stamp ns"];

#[test]
fn parquet_is_written_as_it_was_read() {
    const ROWS: usize = 100;
    let table = table(ROWS);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_compression("k".into(), Compression::SNAPPY)
        .set_column_dictionary_enabled("k".into(), false)
        .set_max_row_group_row_count(Some(40))
        .set_key_value_metadata(Some(vec![KeyValue::new("source".into(), "a test".to_owned())]))
        .build();
    let input = parquet_with(&table, properties);
    // Arrow renumbers the dictionaries of the schema when it reads one.
    let table = parquet_back(input.clone());
    let before = SerializedFileReader::new(Bytes::from(input.clone())).unwrap();
    for select in [None, Some(&SOME[..])] {
        let (bytes, report) = output(&input, ROWS, "out.parquet", select);
        assert_eq!(report.input.unwrap().bytes, input.len() as u64);
        assert_eq!(parquet_back(bytes.clone()), expected(&table, select));
        let after = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let (before, after) = (before.metadata(), after.metadata());
        if select.is_none() {
            assert_eq!(after.file_metadata().schema(), before.file_metadata().schema());
            assert_eq!(
                after.file_metadata().key_value_metadata(),
                before.file_metadata().key_value_metadata()
            );
        }
        let codec = |name: &str| {
            let columns = after.row_group(0).columns();
            columns
                .iter()
                .find(|column| column.column_path().string() == name)
                .unwrap()
                .compression()
        };
        assert_eq!(codec("k"), Compression::SNAPPY);
        assert!(matches!(codec("uuid"), Compression::ZSTD(_)));
        // A group of 40 rows with a third of them matching is merged with the next ones, up to the original number of
        // rows.
        let groups: Vec<_> = after.row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups.iter().sum::<i64>(), 34);
        assert_eq!(groups, [34]);
    }
}

#[test]
fn row_groups_that_match_completely_stay_separate() {
    let table = table(90);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(30)).build();
    let input = parquet_with(&table, properties);
    let table = parquet_back(input.clone());
    let bench = Bench::new();
    let mut job = bench.job("a", input, Learns::Me);
    job.output = Some(bench.path("out.parquet").into());
    // All rows of the first group, none of the second, some of the third.
    let keys: String = (0..30).chain(70..75).map(|row| format!("key {row}\n")).collect();
    ok(both(job, bench.job("b", format!("k\n{keys}"), Learns::Peer)));
    let bytes = fs::read(bench.path("out.parquet")).unwrap();
    let after = SerializedFileReader::new(Bytes::from(bytes.clone())).unwrap();
    let groups: Vec<_> =
        after.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(groups, [30, 5]);
    let rows = PrimitiveArray::<UInt32Type>::from_iter_values((0..30).chain(70..75));
    assert_eq!(parquet_back(bytes), take_record_batch(&table, &rows).unwrap());
}

/// Types that Arrow would write differently than it reads them, such as instants in 96 bits, are kept.
#[test]
fn physical_types_of_parquet_are_kept() {
    use parquet::{
        data_type::{ByteArray, ByteArrayType, Int96, Int96Type},
        file::writer::SerializedFileWriter,
        schema::parser::parse_message_type,
    };
    let schema =
        "message old { required binary k (UTF8); optional int96 at; required binary j (JSON); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut input = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut input, schema.clone(), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let keys: Vec<ByteArray> =
        (0..6).map(|i| ByteArray::from(format!("key {i}").into_bytes())).collect();
    let mut next = group.next_column().unwrap().unwrap();
    next.typed::<ByteArrayType>().write_batch(&keys, None, None).unwrap();
    next.close().unwrap();
    let at = [1u32, 2, 3].map(|i| Int96::from(vec![i, 0, 2_440_588]));
    let mut next = group.next_column().unwrap().unwrap();
    next.typed::<Int96Type>().write_batch(&at, Some(&[1, 0, 0, 1, 1, 0]), None).unwrap();
    next.close().unwrap();
    let mut next = group.next_column().unwrap().unwrap();
    next.typed::<ByteArrayType>().write_batch(&keys, None, None).unwrap();
    next.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let (bytes, _) = output(&input, 6, "out.parquet", None);
    let after = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
    assert_eq!(after.metadata().file_metadata().schema(), schema.as_ref());
    let rows: Vec<_> =
        after.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    let before = SerializedFileReader::new(Bytes::from(input)).unwrap();
    let expected = before.get_row_iter(None).unwrap().step_by(3);
    assert_eq!(rows, expected.map(|row| row.unwrap().to_string()).collect::<Vec<_>>());
}

#[test]
fn arrow_is_written_as_it_was_read() {
    const ROWS: usize = 50;
    let table = table(ROWS);
    let batches = [table.slice(0, 20), table.slice(20, 1), table.slice(21, 29)];
    for packed in [None, Some(CompressionType::ZSTD), Some(CompressionType::LZ4_FRAME)] {
        for select in [None, Some(&SOME[..])] {
            let (bytes, _) = output(&arrow_of(&batches, packed), ROWS, "out.arrow", select);
            let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
            assert_eq!(reader.custom_metadata()["file"], "its own");
            let expected = expected(&table, select);
            let schema = reader.schema();
            assert_eq!(schema, expected.schema());
            let found: Vec<_> = reader.map(Result::unwrap).collect();
            assert_eq!(concat_batches(&schema, &found).unwrap(), expected);

            let (bytes, _) = output(&stream_of(&batches, packed), ROWS, "out.arrows", select);
            let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
            let found: Vec<_> = reader.map(Result::unwrap).collect();
            assert_eq!(concat_batches(&schema, &found).unwrap(), expected);
        }
    }
}

#[test]
fn text_is_written_as_it_was_read_and_compressed_as_its_name_says() {
    let rows = 9;
    let line = |row: usize| format!("{{\"v\": [{row}, 1.50],  \"k\":\"key {row}\"}}\r\n");
    let ndjson: String = (0..rows).map(line).collect();
    let kept: String = (0..rows).step_by(3).map(line).collect();
    let unpacked = |bytes: Vec<u8>, name: &str| {
        let mut text = String::new();
        match name.rsplit('.').next() {
            Some("gz") => {
                _ = std::io::Read::read_to_string(
                    &mut flate2::read::GzDecoder::new(&bytes[..]),
                    &mut text,
                )
            }
            Some("zst") => text = String::from_utf8(zstd::decode_all(&bytes[..]).unwrap()).unwrap(),
            _ => text = String::from_utf8(bytes).unwrap(),
        }
        text
    };
    for name in ["out.ndjson", "out.jsonl.gz", "out.ndjson.zst"] {
        for input in
            [ndjson.clone().into_bytes(), gzip(ndjson.as_bytes()), zstd_of(ndjson.as_bytes())]
        {
            let (bytes, report) = output(&input, rows, name, None);
            assert_eq!(report.input.unwrap().bytes, input.len() as u64);
            assert_eq!(unpacked(bytes, name), kept);
        }
    }
    let (bytes, _) = output(ndjson.as_bytes(), rows, "out.json", Some(&["k"]));
    assert_eq!(bytes, b"{\"k\":\"key 0\"}\r\n{\"k\":\"key 3\"}\r\n{\"k\":\"key 6\"}\r\n");

    let csv: String = (0..rows).map(|row| format!("\"key {row}\",{row},\n")).collect();
    let csv = format!("k,n,\"last, one\"\n{csv}");
    let (bytes, _) = output(&gzip(csv.as_bytes()), rows, "out.csv.gz", Some(&["last, one", "k"]));
    assert_eq!(unpacked(bytes, "gz"), "\"last, one\",k\n,\"key 0\"\n,\"key 3\"\n,\"key 6\"\n");
}

#[test]
fn sums_are_of_decimals_and_integers_in_any_format() {
    use vesica::Query;
    let keys = StringArray::from_iter_values((0..4).map(|row| format!("key {row}")));
    let prices = PrimitiveArray::<Decimal128Type>::from_iter_values([1250, 7, -5, 100]);
    let prices = prices.with_precision_and_scale(10, 2).unwrap();
    let table = RecordBatch::try_from_iter([
        ("k", Arc::new(keys) as ArrayRef),
        ("v", Arc::new(prices) as ArrayRef),
    ]);
    let parquet = parquet_of(&table.unwrap());
    let ndjson = b"{\"k\":\"key 0\",\"v\":12.50}\n{\"k\":\"key 3\",\"v\":1}\n".to_vec();
    for input in [parquet, ndjson] {
        let bench = Bench::new();
        let mut job = bench.job("a", input, Learns::Both);
        job.values = Some("v".into());
        job.offer.query = Query::SUM;
        job.offer.brings_values = true;
        job.offer.scale = 2;
        job.output = None;
        let mut other = bench.job("b", partner(4), Learns::Both);
        other.offer.query = Query::SUM;
        other.offer.scale = 2;
        other.output = None;
        let (a, b) = ok(both(job, other));
        for report in [a, b] {
            let answer = serde_json::to_string(&report.outcome.answer).unwrap();
            assert!(answer.contains("13.50"), "{answer}");
        }
    }
}

/// The table is larger than the memory: it has some rows of a megabyte.
#[cfg(unix)]
#[test]
fn a_pipe_that_is_larger_than_memory_is_put_on_disk() {
    let row = |i: usize| format!("{i},{}\n", "x".repeat((1 << 20) + i));
    let text = (0..80).fold("k,v\n".to_owned(), |text, i| text + &row(i));
    for (spill, is_there) in [(None, true), (Some("spill"), true), (Some("nowhere"), false)] {
        let bench = Bench::new();
        let fifo = bench.path("fifo.csv");
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        fs::create_dir(bench.path("spill")).unwrap();
        let mut job = bench.job("a", "", Learns::Me);
        job.input = Source::File(fifo.clone());
        job.spill = spill.map(|name| bench.path(name));
        let other = bench.job("b", "k\n79\n3\n80\n", Learns::Peer);
        let writer = std::thread::spawn({
            let text = text.clone();
            // The reader may be gone.
            move || fs::write(fifo, text).is_ok()
        });
        let ended = both(job, other);
        if is_there {
            assert!(writer.join().unwrap());
            ok(ended);
            assert!(bench.output("a").unwrap() == format!("k,v\n{}{}", row(3), row(79)));
        } else {
            let error = ended.0.err().unwrap().to_string();
            assert!(error.contains("nowhere: cannot be written"), "{error}");
            assert_eq!(bench.output("a"), None);
        }
        assert_eq!(fs::read_dir(bench.path("spill")).unwrap().count(), 0);
    }
}
