//! Outputs of both sides in the same order.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Int64Array, cast::AsArray};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use vesica::{Job, Query};

use super::{
    rows::{parquet_back, table},
    *,
};
use crate::{Bench, Class, Learns, both, ok};

/// Returns a job that writes its rows in the same order as the other side.
fn aligned(bench: &Bench, side: &str, input: impl AsRef<[u8]>, output: &str) -> Job {
    let mut job = bench.job(side, input, Learns::Both);
    job.offer.align = true;
    job.output = Some(bench.path(output).into());
    job
}

/// Returns the numbers and keys of a CSV output whose first two columns are `match_id` and `k`.
fn of_csv(text: &str) -> Vec<(i64, String)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().take(2).collect::<Vec<_>>(), ["match_id", "k"]);
    let records = reader.records().map(Result::unwrap);
    records.map(|record| (record[0].parse().unwrap(), record[1].to_owned())).collect()
}

/// Returns the keys by their numbers, which ascend from 1 without gaps.
fn keys_of(rows: &[(i64, String)]) -> BTreeMap<i64, String> {
    assert!(rows.is_sorted_by_key(|(id, _)| *id));
    let mut keys = BTreeMap::new();
    for (id, key) in rows {
        assert_eq!(keys.entry(*id).or_insert_with(|| key.clone()), key);
    }
    assert!(keys.keys().copied().eq(1..=keys.len() as i64));
    assert_eq!(keys.values().collect::<BTreeSet<_>>().len(), keys.len());
    keys
}

#[test]
fn both_sides_number_their_matches_alike() {
    let bench = Bench::new();
    let rows = |keys: &[u32], note: &str| {
        let rows = keys.iter().enumerate();
        rows.fold("k,v\n".to_owned(), |text, (row, key)| text + &format!("{key},{note}{row}\n"))
    };
    let here: Vec<u32> = (0..60).chain([7, 7, 50]).chain(200..210).collect();
    let there: Vec<u32> = (30..90).rev().chain([31, 50]).collect();
    let a = aligned(&bench, "a", format!("\u{feff}\n{}", rows(&here, "x")), "a out.csv");
    let b = aligned(&bench, "b", rows(&there, "y"), "b out.csv");
    let (a, b) = ok(both(a, b));
    assert_eq!((a.outcome.matches, b.outcome.matches), (Some(30), Some(30)));
    let [mine, yours] = ["a", "b"].map(|side| bench.output(side).unwrap());
    let mine = mine.strip_prefix('\u{feff}').unwrap();
    let both_keys = keys_of(&of_csv(mine));
    assert_eq!(both_keys, keys_of(&of_csv(&yours)));
    let matches: BTreeSet<_> = here.iter().filter(|key| there.contains(key)).collect();
    assert_eq!(
        both_keys.values().cloned().collect::<BTreeSet<_>>(),
        matches.iter().map(|key| key.to_string()).collect()
    );
    // The order is not the order of either table.
    let order: Vec<u32> = both_keys.values().map(|key| key.parse().unwrap()).collect();
    assert!(!order.is_sorted() && !order.iter().rev().is_sorted());
    // Every row with a matched key is unchanged, and rows with the same key are in the order of the table.
    for (text, keys, note) in [(mine, &here, "x"), (&yours, &there, "y")] {
        let mut expected = String::from("match_id,k,v\n");
        for (id, key) in &both_keys {
            let bearing = keys.iter().enumerate().filter(|(_, other)| other.to_string() == *key);
            bearing.for_each(|(row, _)| expected += &format!("{id},{key},{note}{row}\n"));
        }
        assert_eq!(text, expected);
    }
}

/// Typed tables whose rows are reordered keep all values, and correspond to the other side's.
#[test]
fn every_format_is_put_in_order() {
    const ROWS: usize = 100;
    let table = table(ROWS);
    let slices = [table.slice(0, 33), table.slice(33, 1), table.slice(34, ROWS - 34)];
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(30)).build();
    let parquet = parquet_with(&table, groups);
    let read = parquet_back(parquet.clone());
    let read_arrow = |bytes: Vec<u8>, is_stream: bool| {
        let from = Cursor::new(bytes);
        let found: Vec<RecordBatch> = match is_stream {
            true => StreamReader::try_new(from, None).unwrap().map(Result::unwrap).collect(),
            false => FileReader::try_new(from, None).unwrap().map(Result::unwrap).collect(),
        };
        concat_batches(&found[0].schema(), &found).unwrap()
    };
    let packed = Some(CompressionType::LZ4_FRAME);
    for (name, input) in [
        ("out.parquet", parquet),
        ("out.arrow", arrow_of(&slices, packed)),
        ("out.arrows", stream_of(&slices, None)),
    ] {
        for select in [None, Some(["list", "k", "utf8"])] {
            let bench = Bench::new();
            let mut a = aligned(&bench, "a", &input, name);
            a.select = select.map(|names| names.map(str::to_owned).to_vec());
            let partner = (0..ROWS).step_by(2).map(|row| format!("{{\"k\":\"key {row}\"}}\n"));
            let partner = aligned(&bench, "b", partner.collect::<String>(), "b out.ndjson");
            ok(both(a, partner));
            let bytes = std::fs::read(bench.path(name)).unwrap();
            let (found, table) = match name {
                "out.parquet" => (parquet_back(bytes), &read),
                _ => (read_arrow(bytes, name.ends_with('s')), &table),
            };
            let text = std::fs::read_to_string(bench.path("b out.ndjson")).unwrap();
            let theirs: Vec<(i64, String)> = text
                .lines()
                .map(|line| {
                    assert!(line.starts_with("{\"match_id\":") && line.ends_with("\"}"), "{line}");
                    let object: serde_json::Value = serde_json::from_str(line).unwrap();
                    (object["match_id"].as_i64().unwrap(), object["k"].as_str().unwrap().to_owned())
                })
                .collect();
            let keys = keys_of(&theirs);
            assert_eq!(keys.len(), ROWS / 2);
            let place = |key: &String| key.strip_prefix("key ").unwrap().parse::<u32>().unwrap();
            let places = PrimitiveArray::<UInt32Type>::from_iter_values(keys.values().map(place));
            let own = take_record_batch(table, &places).unwrap();
            let own = match select {
                Some(names) => {
                    let schema = own.schema();
                    own.project(&names.map(|name| schema.index_of(name).unwrap())).unwrap()
                }
                None => own,
            };
            let ids: &Int64Array = found.column(0).as_primitive();
            assert_eq!(ids.values(), &(1..=keys.len() as i64).collect::<Vec<_>>()[..]);
            assert_eq!(found.schema().field(0), &Field::new("match_id", DataType::Int64, false));
            let others: Vec<_> = (1..found.num_columns()).collect();
            assert_eq!(found.project(&others).unwrap(), own, "{name} {select:?}");
            assert_eq!(found.schema().metadata(), table.schema().metadata());
        }
    }
}

#[test]
fn no_match_and_a_column_with_the_same_name() {
    let bench = Bench::new();
    let a = aligned(&bench, "a", "k,match_id\nx,1\ny,2\n", "a out.csv");
    let b = aligned(&bench, "b", "k\ny\n", "b out.csv");
    ok(both(a, b));
    assert_eq!(bench.output("a").unwrap(), "vesica_match_id,k,match_id\n1,y,2\n");
    assert_eq!(bench.output("b").unwrap(), "match_id,k\n1,y\n");
    let a = aligned(&bench, "a", parquet_of(&table(3)), "a.parquet");
    let b = aligned(&bench, "b", "k\ny\n", "b out.csv");
    ok(both(a, b));
    let found = parquet_back(std::fs::read(bench.path("a.parquet")).unwrap());
    assert_eq!((found.num_rows(), found.schema().field(0).name().as_str()), (0, "match_id"));
    assert_eq!(bench.output("b").unwrap(), "match_id,k\n");
}

#[test]
fn an_order_needs_both_sides() {
    let bench = Bench::new();
    let a = aligned(&bench, "a", "k\nx\n", "a out.csv");
    let (a, b) = both(a, bench.job("b", "k\nx\n", Learns::Both));
    for (error, said) in [
        (a.unwrap_err(), "(here: in one order; there: as they came)"),
        (b.unwrap_err(), "(here: as they came; there: in one order)"),
    ] {
        assert_eq!(error.class(), Class::Terms, "{error}");
        let message = error.to_string();
        assert!(message.contains("order of the matched rows (--align)"), "{message}");
        assert!(message.contains(said), "{message}");
    }
    let usage = |change: &dyn Fn(&mut Job), said: &str| {
        let mut job = aligned(&bench, "a", "k,l\nx,y\n", "a out.csv");
        change(&mut job);
        let error = job.prepare().err().unwrap();
        assert_eq!(error.class(), Class::Usage);
        assert!(error.to_string().contains(said), "{error}");
    };
    usage(&|job| job.offer.learns = Learns::Me, "requires that both sides learn");
    usage(&|job| job.offer.query = Query::COUNT, "only rows are written in a common order");
    let several = |job: &mut Job| {
        job.columns.push("l".into());
        job.offer.keys.push(Normalize::NONE);
        job.offer.identifiers = vec![1, 1];
    };
    usage(&several, "requires a single identifier");
}
