//! Tables with types: two processes find the rows, and `check`, `--diagnose` and the warnings see the same keys as in
//! text.

use std::{fs, sync::Arc};

use crate::{
    harness::{Connecting, Lab, Listening, ended},
    tables,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Int64Array, RecordBatch, StringArray,
    cast::AsArray, types::Int8Type,
};
use arrow_ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use serde_json::json;

fn parquet_back(bytes: Vec<u8>) -> RecordBatch {
    let mut batches = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1024).unwrap();
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none());
    batch
}

#[test]
fn parquet_meets_parquet() {
    let lab = Lab::new();
    let (a, b) = (tables::batch(0..300), tables::batch(250..400));
    let outputs = [Connecting, Listening].map(|party| lab.file(party, "out.parquet"));
    lab.write(Connecting, tables::parquet(&a));
    lab.write(Listening, tables::parquet(&b));
    let flags = |party| ["--output", outputs[party as usize].to_str().unwrap()];
    let [x, y] = lab.run(&flags(Connecting), &flags(Listening));
    x.assert(0, &["50 of 300 keys match; 50 rows written"]);
    y.assert(0, &["50 of 150 keys match; 50 rows written"]);
    for (whole, output, from) in [(a, &outputs[0], 250), (b, &outputs[1], 0)] {
        let found = parquet_back(fs::read(output).unwrap());
        assert_eq!(found, whole.slice(from, 50));
    }
}

#[test]
fn arrow_meets_delimited_text() {
    let lab = Lab::new();
    let batch = tables::batch(0..300);
    let output = lab.path("out.arrow");
    lab.write(Connecting, tables::arrow(&batch, None));
    lab.write(Listening, tables::csv(290..310));
    let [x, y] = lab.run(&["--output", output.to_str().unwrap()], &[]);
    x.assert(0, &["10 of 300 keys match; 10 rows written"]);
    y.assert(0, &["10 of 20 keys match; 10 rows written"]);
    let mut batches = FileReader::try_new(fs::File::open(output).unwrap(), None).unwrap();
    assert_eq!(batches.next().unwrap().unwrap(), batch.slice(290, 10));
    assert!(batches.next().is_none());
    assert_eq!(lab.output(Listening).unwrap().into_bytes(), tables::csv(290..300));
}

/// A table of one key column.
fn of_keys(keys: impl Array + 'static) -> RecordBatch {
    RecordBatch::try_from_iter([("k", Arc::new(keys) as ArrayRef)]).unwrap()
}

/// The same texts as a column of strings and as one of a dictionary, in Parquet and in Arrow, and as CSV.
fn in_every_format(texts: &[Option<String>]) -> Vec<(&'static str, Vec<u8>)> {
    let strings = StringArray::from_iter(texts.iter().map(Option::as_deref));
    let places = texts.iter().enumerate();
    let places = places.map(|(place, text)| text.as_ref().map(|_| (place % 100) as i8));
    let repeated = texts.iter().take(100).map(Option::as_deref);
    let dictionary = DictionaryArray::<Int8Type>::new(
        places.collect(),
        Arc::new(StringArray::from_iter(repeated)),
    );
    let line = |text: &Option<String>| format!("\"{}\"\n", text.as_deref().unwrap_or_default());
    let csv = "k\n".to_owned() + &texts.iter().map(line).collect::<String>();
    let mut formats = vec![
        ("t.csv", csv.into_bytes()),
        ("t.parquet", tables::parquet(&of_keys(strings.clone()))),
        ("t.arrow", tables::arrow(&of_keys(strings), None)),
    ];
    if texts.len() <= 100 {
        formats.push(("t.arrows", tables::arrow_stream(&of_keys(dictionary), None)));
    }
    formats
}

#[test]
fn a_check_counts_and_warns_alike_in_every_format() {
    let lab = Lab::new();
    let addresses = (0..60).map(|i| Some(format!("N{i}@x.org")));
    let missing = ["n/a", "NULL", " - ", "unknown"].map(|text| Some(text.to_owned()));
    let invalid = ["nobody", "a@b@c"].map(|text| Some(text.to_owned()));
    let frequent = vec![Some("same@x.org".to_owned()); 5];
    let texts: Vec<_> =
        addresses.chain(missing).chain(invalid).chain(frequent).chain([None, None]).collect();
    let mut seen = Vec::new();
    for (name, bytes) in in_every_format(&texts) {
        let path = lab.path(name);
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        let check = ended(&["check", path, "--key", "k", "--normalize", "email", "--json"]);
        check.assert(0, &[]);
        let found: serde_json::Value = serde_json::from_str(&check.out).unwrap();
        assert_eq!(
            found["rows"],
            json!({"read": 73, "null": 8, "duplicate": 4, "used": 61}),
            "{name}"
        );
        assert_eq!(found["null_values"], 4, "{name}");
        let column = &found["key_columns"][0];
        assert_eq!((&column["values"], &column["invalid"]), (&json!(67), &json!(2)), "{name}");
        assert_eq!((&column["changed"], &column["merged"]), (&json!(60), &json!(0)), "{name}");
        let warnings = found["warnings"].to_string();
        assert!(
            warnings.contains("null value such as NULL or n/a in place of a key: 4"),
            "{warnings}"
        );
        assert!(
            warnings.contains("5 of 73 rows (6.8 %) have the same key, the first"),
            "{warnings}"
        );
        seen.push(found["frequent_keys"][0]["first_row"].clone());
        let text = ended(&["check", path, "--key", "k", "--normalize", "email"]);
        text.assert(0, &[]);
        assert!(text.out.contains("with a null value as key"), "{text:?}");
        assert!(text.out.contains("key column `k`, --normalize email"), "{text:?}");
        assert!(!text.out.contains("x.org"), "{text:?}");
    }
    assert_eq!(seen, vec![json!(67); 4]);
}

#[test]
fn few_and_guessable_keys_are_warned_of_whatever_their_type() {
    let lab = Lab::new();
    let numbers = Int64Array::from_iter_values((0..1000).map(|i| i % 7));
    let days = Date32Array::from_iter_values((0..1000).map(|i| i % 5 * 400));
    let batch = RecordBatch::try_from_iter([
        ("number", Arc::new(numbers) as ArrayRef),
        ("day", Arc::new(days) as ArrayRef),
    ]);
    let batch = batch.unwrap();
    for (name, bytes) in
        [("t.parquet", tables::parquet(&batch)), ("t.arrow", tables::arrow(&batch, None))]
    {
        let path = lab.path(name);
        fs::write(&path, bytes).unwrap();
        for (key, normalize, keys, digits, kind) in [
            ("number", "number", 7, 1, "Int64"),
            ("number", "none", 7, 1, "Int64"),
            ("day", "date", 5, 8, "Date32"),
        ] {
            let check =
                ended(&["check", path.to_str().unwrap(), "--key", key, "--normalize", normalize]);
            check.assert(0, &[]);
            for said in [
                format!("the keys are numbers or dates of at most {digits} digits"),
                format!(
                    "1,000 rows have only {keys} distinct keys; the other side could guess them all"
                ),
                format!("1,000 rows ({:.1} %) have the same key", 100.0 / f64::from(keys)),
                format!("types of the key columns {kind:>21}\n"),
            ] {
                let is_share = said.contains("have the same");
                assert!(is_share || check.out.contains(&said), "no {said:?} in {check:#?}");
            }
            assert!(
                check.out.contains("have the same key, the first of them row 1;"),
                "{check:#?}"
            );
        }
    }
}

#[test]
fn a_diagnosis_compares_types_with_text() {
    let lab = Lab::new();
    let keys = |form: fn(i64) -> String| StringArray::from_iter_values((0..150).map(form));
    let upper = of_keys(keys(|i| format!("ANN{i}@X.ORG")));
    lab.write(Connecting, tables::parquet(&upper));
    let lower: String = (0..150).map(|i| format!("ann{i}@x.org\n")).collect();
    lab.write(Listening, format!("k\n{lower}"));
    let output = lab.path("out.parquet");
    let [x, y] = lab.run(&["--diagnose", "--output", output.to_str().unwrap()], &["--diagnose"]);
    x.assert(0, &["have capital letters"]);
    y.assert(0, &["have capital letters"]);
    assert_eq!(parquet_rows(fs::read(&output).unwrap()), 0);
    // With the profile that they lacked.
    let email = ["--diagnose", "--normalize", "email"];
    let [x, _] = lab.run(&[&email[..], &["--output", output.to_str().unwrap()]].concat(), &email);
    x.assert(0, &["150 of 150 keys match"]);
    let found = parquet_back(fs::read(&output).unwrap());
    assert_eq!(found.column(0).as_string::<i32>().value(149), "ANN149@X.ORG");
}

fn parquet_rows(bytes: Vec<u8>) -> usize {
    let batches = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1024).unwrap();
    batches.map(|batch| batch.unwrap().num_rows()).sum()
}
