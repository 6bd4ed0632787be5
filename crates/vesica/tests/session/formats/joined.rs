//! Joins in every format: the receiver's rows as in plain output, followed by the sender's values as text.

use arrow_array::{Array as _, Float16Array, Float32Array, Float64Array};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use bytes::Bytes;
use parquet::{
    basic::{Compression, LogicalType, ZstdLevel},
    file::reader::{FileReader as _, SerializedFileReader},
};
use serde_json::{Map, Value};
use vesica::{
    Job, Query,
    files::{Duplicates, SentColumns},
};

use super::{
    rows::{parquet_back, table},
    *,
};
use crate::{Bench, Learns, both, ok};

/// A key, and values that may be missing: a tier, and a column with the same name as one of the receiver's.
type Sent = (String, [Option<&'static str>; 2]);

/// Returns the sender's rows: none for every third key, one to three for the others, and one key that nobody else has.
fn sent_rows(keys: usize) -> Vec<Sent> {
    let values = [
        [Some("gold"), Some("1.5")],
        [None, Some("")],
        [Some(""), None],
        [Some("a,\"b\"\nä \u{1F600}"), Some("x")],
        [None, None],
    ];
    let mut rows: Vec<Sent> = Vec::new();
    for pass in 0..3 {
        for key in (0..keys).filter(|key| key % 3 > 0 && key % 4 >= pass) {
            rows.push((format!("key {key}"), values[(key + pass) % values.len()]));
        }
    }
    rows.push(("other".to_owned(), values[0]));
    rows
}

fn as_ndjson(rows: &[Sent]) -> String {
    let line = |(key, [tier, float]): &Sent| {
        let object = serde_json::json!({"k": key, "tier": tier, "float": float});
        format!("{object}\n")
    };
    rows.iter().map(line).collect()
}

/// Returns the expected output for rows with these keys: for each row its place in the input and the received values.
fn oracle(
    keys: &[String],
    sent: &[Sent],
    all: bool,
    left: bool,
) -> Vec<(usize, [Option<&'static str>; 2])> {
    let mut rows = Vec::new();
    for (row, key) in keys.iter().enumerate() {
        let partners: Vec<_> = sent.iter().filter(|(other, _)| other == key).collect();
        let partners = &partners[..if all { partners.len() } else { partners.len().min(1) }];
        rows.extend(partners.iter().map(|(_, values)| (row, *values)));
        if partners.is_empty() && left {
            rows.push((row, [None; 2]));
        }
    }
    rows
}

/// Returns the receiver's output, in a file with this name.
fn joined(input: &[u8], name: &str, sent: &[Sent], (all, left): (bool, bool)) -> Vec<u8> {
    let bench = Bench::new();
    let mut receiver = bench.job("r", input, Learns::Me);
    receiver.offer.query = Query::JOIN;
    receiver.output = Some(bench.path(name).into());
    receiver.unmatched = left;
    let mut sender = sending(&bench, as_ndjson(sent), &["tier", "float"], 40);
    if all {
        sender.duplicates = Duplicates::All;
        sender.offer.sends.as_mut().unwrap().rows = 3;
    }
    let (report, _) = ok(both(receiver, sender));
    assert_eq!(report.outcome.unreadable, Some(0));
    std::fs::read(bench.path(name)).unwrap()
}

fn sending(bench: &Bench, text: impl AsRef<[u8]>, columns: &[&str], bytes: u32) -> Job {
    let mut sender = bench.job("s", text, Learns::Peer);
    sender.offer.query = Query::JOIN;
    sender.output = None;
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    sender.offer.sends = Some(SentColumns { columns, bytes, rows: 1 });
    sender
}

const WAYS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// Returns the table with some rows twice, and its keys.
fn receiver(rows: usize) -> (RecordBatch, Vec<String>) {
    let places = (0..rows as u32).flat_map(|row| vec![row; 1 + usize::from(row % 7 == 2)]);
    let places = PrimitiveArray::<UInt32Type>::from_iter_values(places.chain([4, 1]));
    let table = take_record_batch(&table(rows), &places).unwrap();
    let keys = places.values().iter().map(|row| format!("key {row}")).collect();
    (table, keys)
}

fn expected(
    table: &RecordBatch,
    keys: &[String],
    sent: &[Sent],
    (all, left): (bool, bool),
) -> RecordBatch {
    let rows = oracle(keys, sent, all, left);
    let places = rows.iter().map(|(row, _)| *row as u32);
    let own =
        take_record_batch(table, &PrimitiveArray::<UInt32Type>::from_iter_values(places)).unwrap();
    let text = |column: usize| {
        Arc::new(StringArray::from_iter(rows.iter().map(|(_, values)| values[column]))) as ArrayRef
    };
    let schema = table.schema();
    // The table has its own column `float`.
    let names = ["tier", "peer_float"].map(|name| Arc::new(Field::new(name, DataType::Utf8, true)));
    let fields: Vec<_> = schema.fields().iter().cloned().chain(names).collect();
    let columns = own.columns().iter().cloned().chain([text(0), text(1)]).collect();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[test]
fn parquet_is_joined() {
    let (table, keys) = receiver(60);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(25))
        .build();
    let input = parquet_with(&table, properties);
    let (table, sent) = (parquet_back(input.clone()), sent_rows(60));
    for way in WAYS {
        let bytes = joined(&input, "out.parquet", &sent, way);
        assert_eq!(parquet_back(bytes.clone()), expected(&table, &keys, &sent, way), "{way:?}");
        let after = SerializedFileReader::new(Bytes::from(bytes)).unwrap();
        let file = after.metadata();
        let last = file.row_group(0).columns().last().unwrap();
        assert_eq!(last.column_path().string(), "peer_float");
        assert!(matches!(last.compression(), Compression::ZSTD(_)));
        assert_eq!(last.column_descr().logical_type_ref(), Some(&LogicalType::String));
        // If all rows stay, groups end at the same rows: after 25 rows of the input, each as often as it occurs.
        let groups = file.row_groups().iter().map(|group| group.num_rows());
        let ends = oracle(&keys, &sent, way.0, way.1).into_iter().map(|(row, _)| row / 25);
        let of_input = |group: usize| ends.clone().filter(|end| *end == group).count() as i64;
        if way.1 {
            assert!(groups.eq((0..3).map(of_input)));
        }
    }
}

#[test]
fn arrow_is_joined() {
    let (table, keys) = receiver(60);
    let batches = [table.slice(0, 20), table.slice(20, 1), table.slice(21, table.num_rows() - 21)];
    let sent = sent_rows(60);
    for way in WAYS {
        let packed = way.0.then_some(CompressionType::ZSTD);
        let expected = expected(&table, &keys, &sent, way);
        let bytes = joined(&arrow_of(&batches, packed), "out.arrow", &sent, way);
        let reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
        assert_eq!(reader.custom_metadata()["file"], "its own");
        assert_eq!(reader.schema(), expected.schema());
        let found: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&expected.schema(), &found).unwrap(), expected);
        let bytes = joined(&stream_of(&batches, packed), "out.arrows", &sent, way);
        let reader = StreamReader::try_new(Cursor::new(bytes), None).unwrap();
        let found: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(concat_batches(&expected.schema(), &found).unwrap(), expected);
    }
}

#[test]
fn ndjson_is_joined() {
    let keys: Vec<_> = [0, 1, 2, 2, 4, 5, 8, 1].map(|key| format!("key {key}")).to_vec();
    let sent = sent_rows(9);
    // A member that the first line lacks has the name of a sent column.
    let extra = ["", ", \"float\" : 2.50", ",\"x\":{\"tier\":[1]} "];
    let line =
        |(row, key): (usize, &String)| format!(" {{\"k\" : \"{key}\"{}}} \r\n", extra[row % 3]);
    let lines: Vec<_> = keys.iter().enumerate().map(line).collect();
    for way in WAYS {
        let bytes = joined(lines.concat().as_bytes(), "out.ndjson", &sent, way);
        let text = String::from_utf8(bytes).unwrap();
        let rows = oracle(&keys, &sent, way.0, way.1);
        assert_eq!(text.lines().count(), rows.len());
        let float = if rows.iter().any(|(row, _)| row % 3 == 1) { "peer_float" } else { "float" };
        for ((row, values), found) in rows.iter().zip(text.split_inclusive('\n')) {
            let own = lines[*row].trim_end().trim_end_matches(['}', ' ']);
            assert!(found.starts_with(own) && found.ends_with("} \r\n"), "{found}");
            let mut expected: Map<String, Value> = serde_json::from_str(&lines[*row]).unwrap();
            expected.insert("tier".to_owned(), values[0].into());
            expected.insert(float.to_owned(), values[1].into());
            assert_eq!(serde_json::from_str::<Map<String, Value>>(found).unwrap(), expected);
        }
    }
}

#[test]
fn csv_is_joined() {
    let keys: Vec<_> = [0, 1, 2, 2, 4, 5, 8, 1].map(|key| format!("key {key}")).to_vec();
    let sent = sent_rows(9);
    let text = keys.iter().fold("k,float\n".to_owned(), |text, key| text + key + ",\"7\"\n");
    for way in WAYS {
        let bytes = joined(text.as_bytes(), "out.csv", &sent, way);
        let mut reader = csv::Reader::from_reader(&bytes[..]);
        assert_eq!(reader.headers().unwrap(), vec!["k", "float", "tier", "peer_float"]);
        let found: Vec<Vec<String>> = reader
            .records()
            .map(|record| record.unwrap().iter().map(str::to_owned).collect())
            .collect();
        let rows = oracle(&keys, &sent, way.0, way.1);
        let expected = rows.iter().map(|(row, values)| {
            let [tier, float] = values.map(|value| value.unwrap_or_default().to_owned());
            vec![keys[*row].clone(), "7".to_owned(), tier, float]
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    }
}

/// Columns of every type that can be a key, and floating-point numbers, arrive as their texts.
#[test]
fn columns_of_every_type_are_sent() {
    let half = |number: f32| <Float16Type as ArrowPrimitiveType>::Native::from_f32(number);
    let mut columns = all_types();
    columns.extend([
        column("f16", Float16Array::from_iter(four([half(0.1), half(-2.0)])), ["0.1", "-2"]),
        column("f32", Float32Array::from_iter(four([0.1, 1e20])), ["0.1", "1e20"]),
        column("f64", Float64Array::from_iter(four([-1e-7, 5e15])), ["-1e-7", "5000000000000000"]),
    ]);
    let keys = StringArray::from(vec!["a", "b", "c", "d"]);
    let names: Vec<_> = columns.iter().map(|column| column.field.name().clone()).collect();
    let texts: Vec<_> = columns.iter().map(|column| column.texts).collect();
    columns.push(column("k", keys, ["a", "b"]));
    let table = batch(&columns);
    let order = PrimitiveArray::<UInt32Type>::from_iter_values([2, 0, 1]);
    for input in [parquet_without(&table, "f16"), arrow_of(std::slice::from_ref(&table), None)] {
        let bench = Bench::new();
        let here = arrow_of(
            &[batch(&[column("k", StringArray::from(vec!["c", "a", "b"]), ["a", "b"])])],
            None,
        );
        let mut receiver = bench.job("r", here, Learns::Me);
        receiver.offer.query = Query::JOIN;
        receiver.output = Some(bench.path("out.arrow").into());
        let sent: Vec<_> = names.iter().map(String::as_str).collect();
        let schema = source(input.clone()).open(Dialect::default()).unwrap();
        let has = |name: &&str| schema.header().positions(&[name]).is_ok();
        let sent: Vec<_> = sent.into_iter().filter(has).collect();
        ok(both(receiver, sending(&bench, input, &sent, 2000)));
        let bytes = std::fs::read(bench.path("out.arrow")).unwrap();
        let mut reader = FileReader::try_new(Cursor::new(bytes), None).unwrap();
        let found = reader.next().unwrap().unwrap();
        for name in &sent {
            let place = names.iter().position(|other| other == name).unwrap();
            let [a, b] = texts[place];
            let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some(a), Some(b)]));
            let typed = take_record_batch(&table, &order).unwrap();
            let typed = typed.column_by_name(name).unwrap();
            let found = found.column_by_name(name).unwrap();
            let expected = if found.data_type() == &DataType::Utf8 { &texts } else { typed };
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// Encodes the table as Parquet, without a column of this name.
fn parquet_without(table: &RecordBatch, name: &str) -> Vec<u8> {
    let schema = table.schema();
    let others = (0..table.num_columns()).filter(|column| schema.field(*column).name() != name);
    parquet_of(&table.project(&others.collect::<Vec<_>>()).unwrap())
}

#[test]
fn nested_columns_are_not_sent() {
    let bench = Bench::new();
    let sender = sending(&bench, parquet_of(&table(3)), &["list"], 64);
    let message = sender.prepare().err().unwrap().to_string();
    assert!(message.contains("column `list` has the type"), "{message}");
    assert!(message.contains("only single values can be sent"), "{message}");
}

/// A table with a key and a column of each type that can be sent, with some missing values.
fn typed() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("k", Arc::new(StringArray::from(vec!["key 1", "key 2", "nobody's"]))),
        ("count", Arc::new(arrow_array::Int64Array::from(vec![Some(i64::MIN), None, Some(3)]))),
        ("small", Arc::new(arrow_array::UInt8Array::from(vec![Some(255), Some(0), None]))),
        ("half", Arc::new(Float64Array::from(vec![Some(0.1 + 0.2), Some(-1e-300), None]))),
        ("single", Arc::new(Float32Array::from(vec![None, Some(-0.1), Some(1.0)]))),
        ("yes", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("day", Arc::new(arrow_array::Date32Array::from(vec![Some(20_000), None, Some(1)]))),
        ("word", Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]))),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

/// Received columns keep their types, if the output has types: for whole sets, partitions, and unmatched rows.
#[test]
fn received_columns_keep_their_types() {
    const SENT: [&str; 7] = ["count", "small", "half", "single", "yes", "day", "word"];
    let own: ArrayRef = Arc::new(StringArray::from(vec!["key 2", "stranger", "key 1"]));
    let own = RecordBatch::try_from_iter([("k", own)]).unwrap();
    let places = PrimitiveArray::<UInt32Type>::from_iter([Some(1), None, Some(0)]);
    let received = take_record_batch(&typed(), &places).unwrap();
    for (partitions, left) in [(1, false), (1, true), (2, false), (2, true)] {
        for format in ["parquet", "arrow"] {
            let bench = Bench::new();
            let bytes = |batch: &RecordBatch| match format {
                "parquet" => parquet_with(batch, WriterProperties::builder().build()),
                _ => {
                    let mut out = Vec::new();
                    let mut writer = FileWriter::try_new(&mut out, &batch.schema()).unwrap();
                    writer.write(batch).unwrap();
                    writer.finish().unwrap();
                    drop(writer);
                    out
                }
            };
            let mut receiver = bench.job("r", bytes(&own), Learns::Me);
            receiver.offer.query = Query::JOIN;
            receiver.unmatched = left;
            let name = format!("out.{format}");
            receiver.output = Some(bench.path(&name).into());
            let mut sender = sending(&bench, bytes(&typed()), &SENT, 200);
            receiver.planner.partitions = partitions;
            sender.planner.partitions = partitions;
            ok(both(receiver, sender));
            let out = std::fs::read(bench.path(&name)).unwrap();
            let found = match format {
                "parquet" => parquet_back(out),
                _ => FileReader::try_new(Cursor::new(out), None).unwrap().next().unwrap().unwrap(),
            };
            let rows: Vec<u32> = if left { vec![0, 1, 2] } else { vec![0, 2] };
            let rows = PrimitiveArray::<UInt32Type>::from_iter_values(rows);
            let expected = take_record_batch(&received, &rows).unwrap();
            for name in SENT {
                let [found, expected] =
                    [&found, &expected].map(|batch| batch.column_by_name(name).unwrap().clone());
                assert_eq!(found.data_type(), expected.data_type(), "{format} {partitions} {name}");
                assert_eq!(&found, &expected, "{format} {partitions} {left} {name}");
            }
        }
    }
}

/// A table without types receives texts, regardless of the other side's types.
#[test]
fn text_receives_texts() {
    let bench = Bench::new();
    let mut receiver = bench.job("r", "k\nkey 1\n", Learns::Me);
    receiver.offer.query = Query::JOIN;
    receiver.output = Some(bench.path("out.csv").into());
    let bytes = parquet_with(&typed(), WriterProperties::builder().build());
    ok(both(receiver, sending(&bench, bytes, &["count", "half", "day", "yes"], 100)));
    let out = std::fs::read_to_string(bench.path("out.csv")).unwrap();
    assert_eq!(
        out,
        "k,count,half,day,yes\nkey 1,-9223372036854775808,0.30000000000000004,2024-10-04,true\n"
    );
}
