//! Small tables in every format, written by the libraries for them.

use std::{io::Write, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    file::properties::WriterProperties,
};

/// Rows with the key `secretI@example.org`, the number I, text and a fraction.
pub fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let keys =
        StringArray::from_iter_values(rows.clone().map(|i| format!("secret{i}@example.org")));
    let texts = rows.clone().map(|i| (i % 3 > 0).then(|| format!("text, {i}")));
    let numbers = Int64Array::from_iter_values(rows.clone());
    let fractions = Float64Array::from_iter_values(rows.map(|i| i as f64 / 8.0));
    RecordBatch::try_from_iter([
        ("k", Arc::new(keys) as ArrayRef),
        ("n", Arc::new(numbers)),
        ("text", Arc::new(StringArray::from_iter(texts))),
        ("fraction", Arc::new(fractions)),
    ])
    .unwrap()
}

/// The same rows as delimited text.
pub fn csv(rows: std::ops::Range<i64>) -> Vec<u8> {
    let line = |i: i64| format!("secret{i}@example.org,{i},\"text, {i}\"\n");
    ("k,n,text\n".to_owned() + &rows.map(line).collect::<String>()).into_bytes()
}

/// The same rows as objects.
pub fn ndjson(rows: std::ops::Range<i64>) -> Vec<u8> {
    let line =
        |i: i64| format!("{{\"k\":\"secret{i}@example.org\",\"n\":{i},\"tags\":[{i},null]}}\n");
    rows.map(line).collect::<String>().into_bytes()
}

pub fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

pub fn arrow(batch: &RecordBatch, packed: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

pub fn arrow_stream(batch: &RecordBatch, packed: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let mut bytes = Vec::new();
    let mut writer =
        StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// Zstandard with a checksum at the end.
pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut packed = zstd::Encoder::new(Vec::new(), 3).unwrap();
    packed.include_checksum(true).unwrap();
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}
