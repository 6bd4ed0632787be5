//! Tables in memory: batches in, and matched rows out, for every kind of input.

use arrow_array::{RecordBatchIterator, RecordBatchReader, UInt32Array};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use vesica::files::{ArrowTable, Destination, MatchedTable};

use super::{rows::table, *};
use crate::{Bench, Learns, both, ok};

fn in_memory(batches: &[RecordBatch]) -> ArrowTable {
    let schema = batches[0].schema();
    let batches: Vec<_> = batches.iter().cloned().map(Ok).collect();
    ArrowTable::read(RecordBatchIterator::new(batches, schema)).unwrap()
}

fn whole(table: &ArrowTable) -> RecordBatch {
    let batches: Vec<_> = table.reader().collect::<Result<_, _>>().unwrap();
    concat_batches(&table.schema(), &batches).unwrap()
}

/// Returns the table that a side with this input has in memory after a run with a side that has the keys of every third
/// row.
fn matched(input: Source, rows: usize) -> ArrowTable {
    let bench = Bench::new();
    let keys = (0..rows).step_by(3).map(|row| format!("key {row}\n"));
    let other = bench.job("b", format!("k\n{}other\n", keys.collect::<String>()), Learns::Peer);
    let place = MatchedTable::default();
    let mut job = bench.job("a", "", Learns::Me);
    job.input = input;
    job.output = Some(Destination::Memory(place.clone()));
    let (report, _) = ok(both(job, other));
    assert_eq!(report.outcome.matches, Some(rows.div_ceil(3) as u64));
    place.take().unwrap()
}

#[test]
fn batches_come_back_unchanged() {
    const ROWS: usize = 1_000;
    let all = table(ROWS);
    let pieces: Vec<_> = [0..1, 1..1, 1..400, 400..ROWS]
        .map(|rows: std::ops::Range<usize>| all.slice(rows.start, rows.len()))
        .to_vec();
    let places = UInt32Array::from_iter_values((0..ROWS as u32).step_by(3));
    let expected = take_record_batch(&all, &places).unwrap();
    for batches in [&[all.clone()][..], &pieces] {
        let table = in_memory(batches);
        assert_eq!(table.rows(), ROWS as u64);
        assert!(!format!("{table:?}").contains("key 1"));
        let found = matched(Source::Arrow { name: "t".into(), table }, ROWS);
        assert_eq!(found.schema(), all.schema());
        assert_eq!(whole(&found), expected);
    }
    for bytes in [parquet_of(&all), arrow_of(&pieces, None), stream_of(&pieces, None)] {
        assert_eq!(matched(source(bytes), ROWS).rows(), expected.num_rows() as u64);
    }
}

#[test]
fn rows_of_text_become_columns_of_text() {
    let found = whole(&matched(source(b"k,v\nkey 0,1\nkey 1,2\nkey 3,\"x,y\"\n".to_vec()), 4));
    let column = |values: [&str; 2]| Arc::new(StringArray::from_iter_values(values)) as ArrayRef;
    assert_eq!(found.columns(), [column(["key 0", "key 3"]), column(["1", "x,y"])]);
}

#[test]
fn a_run_that_fails_hands_over_nothing() {
    let bench = Bench::new();
    let place = MatchedTable::default();
    let mut job = bench.job("a", "", Learns::Both);
    job.input = Source::Arrow { name: "frame".into(), table: in_memory(&[table(5)]) };
    job.output = Some(Destination::Memory(place.clone()));
    let mut other = bench.job("b", "k\nkey 1\n", Learns::Both);
    other.output = Some("/no/such/place/x".into());
    let failed = other.clone().prepare().err().unwrap();
    assert_eq!(failed.class(), vesica::Class::Input);
    other.output = Some(Destination::Memory(MatchedTable::default()));
    other.offer.minimum = 0;
    other.nulls = vesica::files::Nulls::Error;
    std::fs::write(bench.path("b in.csv"), "k\nkey 1\n\"\"\n").unwrap();
    let (mine, _) = both(job.clone(), other);
    assert!(mine.is_err() && place.take().is_none());
    job.resume = Some(vesica::files::Resume {
        journal: bench.path("journal"),
        secret: vesica::files::JournalSecret::of(&vesica_net::Identity::generate().unwrap()),
    });
    let refused = job.prepare().err().unwrap().to_string();
    assert!(refused.contains("from a file, not from memory"), "{refused}");
}

/// A reader may return batches without the columns that it promises.
#[test]
fn a_batch_of_other_columns_is_refused() {
    struct Liar(Vec<RecordBatch>, Arc<Schema>);
    impl Iterator for Liar {
        type Item = Result<RecordBatch, arrow_schema::ArrowError>;
        fn next(&mut self) -> Option<Self::Item> {
            self.0.pop().map(Ok)
        }
    }
    impl RecordBatchReader for Liar {
        fn schema(&self) -> Arc<Schema> {
            self.1.clone()
        }
    }
    let honest = table(3);
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true)]));
    assert!(ArrowTable::read(Liar(vec![honest], schema)).is_err());
}
