//! Tables in every format: keys of every type match across formats, and rows are written unchanged.

mod aligned;
mod broken;
mod in_memory;
mod joined;
mod rows;

use std::{
    collections::HashMap,
    io::{Cursor, Write},
    sync::Arc,
};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray,
    DictionaryArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray, PrimitiveArray,
    RecordBatch, StringArray, StringViewArray, types::*,
};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use vesica::{
    Error, Normalize, Source,
    files::{Dialect, Format, KeyColumn},
    internal::{Columns, Digest, KeySet, Reading},
    report::RowCounts,
};

/// A column: its field, its values, and the texts of the first two. The third is missing, the fourth is the first.
struct Typed {
    field: Field,
    array: ArrayRef,
    texts: [&'static str; 2],
}

/// Returns the values of two rows in the places of four.
fn four<T: Clone>(values: [T; 2]) -> [Option<T>; 4] {
    let [a, b] = values;
    [Some(a.clone()), Some(b), None, Some(a)]
}

fn column(name: &str, array: impl Array + 'static, texts: [&'static str; 2]) -> Typed {
    let field = Field::new(name, array.data_type().clone(), true);
    Typed { field, array: Arc::new(array), texts }
}

/// Returns a column of this type.
fn primitive<T: ArrowPrimitiveType>(
    name: &str,
    kind: DataType,
    values: [T::Native; 2],
    texts: [&'static str; 2],
) -> Typed {
    column(name, PrimitiveArray::<T>::from_iter(four(values)).with_data_type(kind), texts)
}

fn integers() -> Vec<Typed> {
    vec![
        primitive::<Int8Type>("int8", DataType::Int8, [-5, 127], ["-5", "127"]),
        primitive::<Int16Type>("int16", DataType::Int16, [-5, 0], ["-5", "0"]),
        primitive::<Int32Type>("int32", DataType::Int32, [-5, 127], ["-5", "127"]),
        primitive::<Int64Type>(
            "int64",
            DataType::Int64,
            [i64::MIN, i64::MAX],
            ["-9223372036854775808", "9223372036854775807"],
        ),
        primitive::<UInt8Type>("uint8", DataType::UInt8, [0, 255], ["0", "255"]),
        primitive::<UInt16Type>("uint16", DataType::UInt16, [1, 65535], ["1", "65535"]),
        primitive::<UInt32Type>("uint32", DataType::UInt32, [1, u32::MAX], ["1", "4294967295"]),
        primitive::<UInt64Type>(
            "uint64",
            DataType::UInt64,
            [1, u64::MAX],
            ["1", "18446744073709551615"],
        ),
    ]
}

fn decimals() -> Vec<Typed> {
    let texts = ["-0.05", "123.45"];
    vec![
        primitive::<Decimal32Type>("decimal32", DataType::Decimal32(9, 2), [-5, 12345], texts),
        primitive::<Decimal64Type>("decimal64", DataType::Decimal64(18, 2), [-5, 12345], texts),
        primitive::<Decimal128Type>("decimal128", DataType::Decimal128(38, 2), [-5, 12345], texts),
        primitive::<Decimal128Type>(
            "whole decimal",
            DataType::Decimal128(20, 0),
            [-5, 7],
            ["-5", "7"],
        ),
        primitive::<Decimal256Type>(
            "decimal256",
            DataType::Decimal256(76, 2),
            [(-5).into(), 12345.into()],
            texts,
        ),
    ]
}

fn times() -> Vec<Typed> {
    use TimeUnit::*;
    let dates = ["2024-01-31", "1969-12-31"];
    let local = ["2024-01-31T23:59:59", "1969-12-31T23:59:59"];
    let exact = ["2024-01-31T23:59:59.5", "1969-12-31T23:59:59.999"];
    let utc = ["2024-01-31T23:59:59.5Z", "1969-12-31T23:59:59.999Z"];
    let stamp = |unit, zone: Option<&str>| DataType::Timestamp(unit, zone.map(Into::into));
    let (millis, seconds) = ([1_706_745_599_500i64, -1], [1_706_745_599i64, -1]);
    vec![
        primitive::<Date32Type>("date32", DataType::Date32, [19_753, -1], dates),
        primitive::<Date64Type>(
            "date64",
            DataType::Date64,
            [19_753, -1].map(|d: i64| d * 86_400_000),
            dates,
        ),
        primitive::<TimestampSecondType>("stamp s", stamp(Second, None), seconds, local),
        primitive::<TimestampMillisecondType>("stamp ms", stamp(Millisecond, None), millis, exact),
        primitive::<TimestampMicrosecondType>(
            "stamp us",
            stamp(Microsecond, Some("UTC")),
            millis.map(|t| t * 1000),
            utc,
        ),
        primitive::<TimestampNanosecondType>(
            "stamp ns",
            stamp(Nanosecond, Some("+02:00")),
            millis.map(|t| t * 1_000_000),
            utc,
        ),
        primitive::<TimestampMillisecondType>(
            "stamp zone",
            stamp(Millisecond, Some("Europe/Paris")),
            millis,
            utc,
        ),
        primitive::<Time32SecondType>(
            "time s",
            DataType::Time32(Second),
            [0, 86_399],
            ["00:00:00", "23:59:59"],
        ),
        primitive::<Time32MillisecondType>(
            "time ms",
            DataType::Time32(Millisecond),
            [1_500, 0],
            ["00:00:01.5", "00:00:00"],
        ),
        primitive::<Time64MicrosecondType>(
            "time us",
            DataType::Time64(Microsecond),
            [1_500_000, 1],
            ["00:00:01.5", "00:00:00.000001"],
        ),
        primitive::<Time64NanosecondType>(
            "time ns",
            DataType::Time64(Nanosecond),
            [1_500_000_000, 0],
            ["00:00:01.5", "00:00:00"],
        ),
    ]
}

fn texts() -> Vec<Typed> {
    let texts = ["a,\"b\"\nä", " x "];
    let strings = || StringArray::from_iter(four(texts));
    let small = DictionaryArray::<Int8Type>::new(
        [Some(1i8), Some(2), None, Some(1)].into_iter().collect(),
        {
            let [a, b] = texts;
            Arc::new(StringArray::from(vec!["unused", a, b]))
        },
    );
    let wide = DictionaryArray::<Int32Type>::new(
        [Some(0), Some(1), Some(2), Some(0)].into_iter().collect(),
        Arc::new(LargeStringArray::from(vec![Some(texts[0]), Some(texts[1]), None])),
    );
    let raw = [b"\x00\xff\x10\x0a".as_slice(), b"abcd"];
    let hex = ["00ff100a", "61626364"];
    let fixed = |values: [Vec<u8>; 2]| {
        let width = values[0].len() as i32;
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(four(values).into_iter(), width)
            .unwrap()
    };
    let uuid = fixed([(0..16).collect(), vec![0xab; 16]]);
    let uuids = ["00010203-0405-0607-0809-0a0b0c0d0e0f", "abababab-abab-abab-abab-abababababab"];
    let mut uuid = column("uuid", uuid, uuids);
    let extension = ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
    uuid.field.set_metadata(HashMap::from([extension]));
    vec![
        column("boolean", BooleanArray::from_iter(four([true, false])), ["true", "false"]),
        column("utf8", strings(), texts),
        column("large utf8", LargeStringArray::from_iter(four(texts)), texts),
        column("utf8 view", StringViewArray::from_iter(four(texts)), texts),
        column("dictionary", small, texts),
        column("wide dictionary", wide, texts),
        column("binary", BinaryArray::from_iter(four(raw)), hex),
        column("large binary", LargeBinaryArray::from_iter(four(raw)), hex),
        column("binary view", BinaryViewArray::from_iter(four(raw)), hex),
        column("fixed", fixed(raw.map(<[u8]>::to_vec)), hex),
        uuid,
    ]
}

fn all_types() -> Vec<Typed> {
    [integers(), decimals(), times(), texts()].into_iter().flatten().collect()
}

/// Returns the columns as a batch, with metadata of the schema.
fn batch(columns: &[Typed]) -> RecordBatch {
    let fields: Vec<_> = columns.iter().map(|column| column.field.clone()).collect();
    let metadata = HashMap::from([("made by".to_owned(), "a test".to_owned())]);
    let schema = Schema::new_with_metadata(fields, metadata);
    let arrays = columns.iter().map(|column| column.array.clone()).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

fn parquet_with(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn parquet_of(batch: &RecordBatch) -> Vec<u8> {
    parquet_with(batch, WriterProperties::default())
}

fn arrow_of(batches: &[RecordBatch], packed: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let mut bytes = Vec::new();
    let schema = batches[0].schema();
    let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.write_metadata("file", "its own");
    writer.finish().unwrap();
    drop(writer);
    bytes
}

fn stream_of(batches: &[RecordBatch], packed: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let mut bytes = Vec::new();
    let schema = batches[0].schema();
    let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    bytes
}

/// Returns the rows of one column as CSV, all values in quotes.
fn csv_of(column: &Typed) -> Vec<u8> {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let [a, b] = column.texts.map(quoted);
    format!("{},n\n{a},1\n{b},2\n,3\n{a},4\n", column.field.name()).into_bytes()
}

/// Returns the rows of one column as NDJSON, with numbers for integers.
fn ndjson_of(column: &Typed) -> Vec<u8> {
    let kind = column.field.data_type();
    let value = |text: &str| match kind.is_integer() || *kind == DataType::Boolean {
        true => text.to_owned(),
        false => serde_json::to_string(text).unwrap(),
    };
    let name = serde_json::to_string(column.field.name()).unwrap();
    let [a, b] = column.texts.map(value);
    format!("{{{name}:{a}}}\n{{\"n\":2,{name}:{b}}}\n{{{name}:null}}\n{{{name}:{a}}}\n")
        .into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(Cursor::new(bytes), 1).unwrap()
}

fn source(bytes: Vec<u8>) -> Source {
    Source::Memory { name: "t".into(), bytes }
}

/// Returns the digests of a column's keys, and the counts of its rows.
fn keys(bytes: Vec<u8>, format: Format, column: &str) -> Result<(Vec<Digest>, RowCounts), Error> {
    let input = source(bytes).open(Dialect::default())?;
    assert_eq!(input.format(), format);
    input.require(&[column])?;
    let scan = input.read_columns(Columns { keys: &[column], ..Columns::default() })?;
    let keys = vec![KeyColumn { name: column.to_owned(), normalize: Normalize::NONE }];
    let reading = Reading { keys, ..Reading::default() };
    let (_, set, _) = KeySet::read(scan, &reading, |_, _| {})?;
    Ok((set.digests().to_vec(), set.counts()))
}

#[test]
fn keys_of_every_type_are_equal_in_every_format() {
    let columns = all_types();
    let batch = batch(&columns);
    let typed = [
        (Format::PARQUET, parquet_of(&batch)),
        (Format::ARROW, arrow_of(std::slice::from_ref(&batch), None)),
        (Format::ARROW_STREAM, stream_of(std::slice::from_ref(&batch), None)),
    ];
    for column in &columns {
        let name = column.field.name();
        let csv = csv_of(column);
        let (expected, counts) = keys(csv.clone(), Format::CSV, name).unwrap();
        assert_eq!(counts, RowCounts { read: 4, null: 1, duplicate: 1, used: 2 });
        let ndjson = ndjson_of(column);
        let texts = [
            (Format::CSV, gzip(&csv)),
            (Format::CSV, zstd_of(&csv)),
            (Format::NDJSON, ndjson.clone()),
            (Format::NDJSON, gzip(&ndjson)),
            (Format::NDJSON, zstd_of(&ndjson)),
        ];
        for (format, bytes) in texts.iter().chain(&typed) {
            let (found, found_counts) = keys(bytes.clone(), *format, name).unwrap();
            assert!(found == expected, "{name} in {format:?}");
            assert_eq!(found_counts, counts, "{name} in {format:?}");
        }
    }
}

#[test]
fn packed_columns_are_read_too() {
    use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
    let columns = [integers(), texts()].into_iter().flatten().collect::<Vec<_>>();
    let batch = batch(&columns);
    let expected = keys(csv_of(&columns[3]), Format::CSV, "int64").unwrap();
    for codec in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ] {
        let properties = WriterProperties::builder().set_compression(codec).build();
        let bytes = parquet_with(&batch, properties);
        assert!(keys(bytes, Format::PARQUET, "int64").unwrap() == expected, "{codec:?}");
    }
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let batches = std::slice::from_ref(&batch);
        let file = keys(arrow_of(batches, Some(codec)), Format::ARROW, "int64").unwrap();
        let stream = keys(stream_of(batches, Some(codec)), Format::ARROW_STREAM, "int64").unwrap();
        assert!(file == expected && stream == expected, "{codec:?}");
    }
}

#[test]
fn tables_of_zero_and_one_row() {
    let columns = integers();
    let all = batch(&columns);
    for rows in [0, 1] {
        let batch = all.slice(0, rows);
        let batches = std::slice::from_ref(&batch);
        for (format, bytes) in [
            (Format::PARQUET, parquet_of(&batch)),
            (Format::ARROW, arrow_of(batches, None)),
            (Format::ARROW_STREAM, stream_of(batches, None)),
        ] {
            let input = source(bytes.clone()).open(Dialect::default()).unwrap();
            assert_eq!(input.is_empty(), rows == 0, "{format:?}");
            let (found, counts) = keys(bytes, format, "int8").unwrap();
            assert_eq!((found.len(), counts.read), (rows, rows as u64), "{format:?}");
        }
    }
}

#[test]
fn types_that_make_no_key_are_refused_by_name() {
    use arrow_array::{DurationSecondArray, Float64Array, ListArray, NullArray, RunArray};
    let floats = column("float", Float64Array::from(vec![1.5; 4]), ["", ""]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]); 4]);
    let runs = RunArray::<Int32Type>::try_new(
        &PrimitiveArray::from(vec![4]),
        &PrimitiveArray::<Int64Type>::from(vec![1]),
    );
    let columns = [
        floats,
        column("list", lists, ["", ""]),
        column("duration", DurationSecondArray::from(vec![1; 4]), ["", ""]),
        column("runs", runs.unwrap(), ["", ""]),
        column("nothing", NullArray::new(4), ["", ""]),
    ];
    let bytes = arrow_of(&[batch(&columns)], None);
    let refused = |name: &str| keys(bytes.clone(), Format::ARROW, name).unwrap_err().to_string();
    for (name, kind, why) in [
        ("float", "Float64", "equal numbers may differ in their last bits"),
        ("list", "List", "a key is a single value"),
        ("duration", "Duration", "spans of time have no single written form"),
        ("runs", "RunEndEncoded", "run-end encoding is not read here"),
    ] {
        let message = refused(name);
        let said = format!("t: column `{name}` has the type {kind}");
        assert!(message.starts_with(&said) && message.contains(why), "{message}");
    }
    assert!(refused("nowhere").contains("has no column `nowhere`; it has `float`, `list`"));
    let (_, counts) = keys(bytes, Format::ARROW, "nothing").unwrap();
    assert_eq!((counts.read, counts.null), (4, 4));
}

#[test]
fn a_format_is_recognised_by_content_then_name_then_request() {
    let scratch = tempfile::tempdir().unwrap();
    let parquet = parquet_of(&batch(&integers()));
    let opened = |name: &str, bytes: &[u8], format: Option<Format>| {
        let path = scratch.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let dialect = Dialect { format, ..Dialect::default() };
        Source::File(path).open(dialect).map(|input| input.format())
    };
    let told = |name: &str, bytes: &[u8]| opened(name, bytes, None).unwrap();
    assert_eq!(told("a.csv", &parquet), Format::PARQUET);
    assert_eq!(told("a.csv", b"{\"k\":1}\n"), Format::NDJSON);
    assert_eq!(told("a.txt", b"{k},v\n1,2\n"), Format::CSV);
    assert_eq!(told("a.jsonl.gz", &gzip(b"\n")), Format::NDJSON);
    assert_eq!(told("a", b""), Format::CSV);
    // Its name shows the intended format.
    let damaged = |name: &str, bytes: &[u8]| opened(name, bytes, None).unwrap_err().to_string();
    assert!(damaged("a.parquet", b"").contains("cannot be read as Parquet"));
    assert!(damaged("a.feather", b"k\n1\n").contains("cannot be read as an Arrow file"));
    assert!(damaged("a.jsonl", b"k\n1\n").contains("row 1 (line 1): the line is not valid JSON"));
    // A request overrides both.
    assert_eq!(opened("b.jsonl", b"k\n1\n", Some(Format::CSV)).unwrap(), Format::CSV);
    assert_eq!(opened("b.csv", b"{\"k\":1}\n", Some(Format::CSV)).unwrap(), Format::CSV);
    let refused = opened("b", &parquet, Some(Format::CSV)).unwrap_err().to_string();
    assert!(refused.contains("seems to be a Parquet file"), "{refused}");
}
