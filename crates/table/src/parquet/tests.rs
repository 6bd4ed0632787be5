//! Tests of the library between a file and its values: types, checksums, sizes and encryption.

use parquet::{
    data_type::{ByteArrayType, Int96, Int96Type},
    file::writer::SerializedFileWriter,
    schema::parser::parse_message_type,
};

use super::*;
use crate::source::{Dialect, Source};

/// Returns the fields of all rows.
fn rows_of(bytes: Vec<u8>, most_bytes: Option<u64>) -> Result<Vec<Vec<String>>> {
    let dialect = Dialect { most_bytes, ..Dialect::default() };
    let input = Source::Memory { name: "t".into(), bytes }.open(dialect)?;
    let width = input.header().width();
    let mut rows = Vec::new();
    input.read()?.rows(|row| {
        let field = |column| String::from_utf8_lossy(row.field(column)).into_owned();
        rows.push((0..width).map(field).collect());
        Ok(())
    })?;
    Ok(rows)
}

fn refused(bytes: Vec<u8>) -> String {
    rows_of(bytes, None).unwrap_err().to_string()
}

/// Returns a file with a schema, whose row groups `write` writes.
fn file(schema: &str, write: impl Fn(&mut SerializedFileWriter<&mut Vec<u8>>)) -> Vec<u8> {
    file_with(schema, WriterProperties::new(), write)
}

fn file_with(
    schema: &str,
    properties: WriterProperties,
    write: impl Fn(&mut SerializedFileWriter<&mut Vec<u8>>),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    write(&mut writer);
    writer.close().unwrap();
    bytes
}

/// Tests instants beyond the 584 years of 64 bits of nanoseconds, and those within, to the nanosecond.
#[test]
fn instants_of_96_bits_are_read_without_loss() {
    let instant = |day: u32, nanoseconds: u64| {
        let mut value = Int96::new();
        value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, day);
        value
    };
    let schema = "message m { required int64 n; optional int96 k; required int96 r; }";
    let bytes = file(schema, |writer| {
        for group in 0..2 {
            let values = [instant(5_373_484, 86_399_000_000_000), instant(2_460_370 + group, 1)];
            let mut rows = writer.next_row_group().unwrap();
            added::write_values::<Int64Type, _>(&mut rows, &[1, 2, 3], None).unwrap();
            added::write_values::<Int96Type, _>(&mut rows, &values, Some(&[1, 0, 1])).unwrap();
            added::write_values::<Int96Type, _>(&mut rows, &[values[1]; 3], None).unwrap();
            rows.close().unwrap();
        }
    });
    let last = "9999-12-31T23:59:59";
    let [one, other] = ["2024-02-29T00:00:00.000000001", "2024-03-01T00:00:00.000000001"];
    let expected = [
        ["1", last, one],
        ["2", "", one],
        ["3", one, one],
        ["1", last, other],
        ["2", "", other],
        ["3", other, other],
    ];
    assert_eq!(rows_of(bytes.clone(), None).unwrap(), expected);
    // Without any column that Arrow reads.
    let input = Source::Memory { name: "t".into(), bytes }.open(Dialect::default()).unwrap();
    let columns = crate::input::Columns { keys: &["r"], ..Default::default() };
    let mut found = Vec::new();
    let scan = input.read_columns(columns).unwrap();
    scan.rows(|row| {
        found.push(String::from_utf8_lossy(row.field(2)).into_owned());
        Ok(())
    })
    .unwrap();
    assert_eq!(found, expected.map(|row| row[2]));
}

/// A file of one column with three values, by pyarrow, which writes the checksum of each page.
const SUMMED: &[u8] = b"PAR1\x15\x00\x150\x150\x15\xfd\xcf\xaa\xe9\x0f\x1c\x15\x06\x15\x00\x15\x06\x15\x06\x1c\x00\x00\x00\
\x02\x00\x00\x00\x06\x01\x02\x00\x00\x00a0\x02\x00\x00\x00b1\x02\x00\x00\x00c2\x15\x04\x19,5\x00\x18\x06schema\x15\x02\x00\
\x15\x0c%\x02\x18\x01k%\x00L\x1c\x00\x00\x00\x16\x06\x19\x1c\x19\x1c&\x00\x1c\x15\x0c\x19%\x06\x00\x19\x18\x01k\x15\x00\x16\
\x06\x16b\x16b&\x08I\x1c\x15\x00\x15\x00\x15\x02\x00<\x16\x0c\x19\x06\x19&\x00\x06\x00\x00\x00\x16b\x16\x06&\x08\x16b\x00( \
parquet-cpp-arrow version 26.0.1\x19\x1c\x1c\x00\x00\x00\x82\x00\x00\x00PAR1";

#[test]
fn checksums_of_pages_are_verified() {
    assert_eq!(rows_of(SUMMED.to_vec(), None).unwrap(), [["a0"], ["b1"], ["c2"]]);
    let place = SUMMED.windows(2).position(|bytes| bytes == b"b1").unwrap();
    let mut bytes = SUMMED.to_vec();
    bytes[place] ^= 1;
    let message = refused(bytes);
    assert!(message.contains("the part after row 0 is damaged"), "{message}");
}

/// Tests a few bytes that unpack to more than fits into memory, in data and in a dictionary.
#[test]
fn pages_that_are_too_large_are_not_unpacked() {
    const MEMORY: u64 = 40 << 20;
    let long = vec![b'a'; 11 << 20];
    for dictionary in [false, true] {
        let properties = WriterProperties::builder()
            .set_compression(parquet::basic::Compression::ZSTD(Default::default()))
            .set_dictionary_enabled(dictionary)
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let bytes = file_with("message m { required binary k; }", properties, |writer| {
            let mut rows = writer.next_row_group().unwrap();
            added::write_values::<ByteArrayType, _>(&mut rows, &[long.clone().into()], None)
                .unwrap();
            rows.close().unwrap();
        });
        assert!(bytes.len() < 10_000, "{}", bytes.len());
        let message = rows_of(bytes.clone(), Some(MEMORY)).unwrap_err().to_string();
        assert!(
            message.contains("holds more than 10.0 MiB") && message.contains("one page of Parquet"),
            "{message}"
        );
        assert_eq!(rows_of(bytes, Some(4 * MEMORY)).unwrap()[0][0].len(), 2 * long.len());
    }
}

/// Tests that a value of hundreds of rows is in memory once: 256 KiB in 1,000 rows, of 250 MiB.
#[test]
fn values_of_a_dictionary_are_not_multiplied() {
    const ROWS: usize = 1000;
    let long = parquet::data_type::ByteArray::from(vec![b'a'; 256 << 10]);
    for schema in ["message m { required binary k (UTF8); }", "message m { optional binary k; }"] {
        let properties = WriterProperties::builder()
            .set_dictionary_page_size_limit(1 << 30)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let bytes = file_with(schema, properties, |writer| {
            let mut rows = writer.next_row_group().unwrap();
            let levels = schema.contains("optional").then_some(&[1; ROWS][..]);
            added::write_values::<ByteArrayType, _>(&mut rows, &vec![long.clone(); ROWS], levels)
                .unwrap();
            rows.close().unwrap();
        });
        let table = Parquet::open(Stored::memory("t", bytes), 1 << 30).unwrap();
        let batches: Vec<_> = table.batches(&[0]).unwrap().map(|batch| batch.unwrap()).collect();
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), ROWS);
        let held: usize = batches.iter().map(|batch| batch.get_array_memory_size()).sum();
        assert!(held < 1 << 20, "{held}");
    }
}

#[test]
fn encrypted_files_differ_from_damaged_ones() {
    let all = [&b"PARE"[..], &[8, 0, 0, 0], &[7; 64], &[40, 0, 0, 0], b"PARE"].concat();
    assert!(refused(all).contains("is encrypted Parquet, which is not read here"));
    // Unencrypted metadata, whose eighth field describes the encryption of columns.
    let metadata = [0x15, 2, 0x7c, 0x1c, 0, 0, 0];
    let clear = [b"PAR1", &metadata[..], &[metadata.len() as u8, 0, 0, 0], b"PAR1"].concat();
    assert!(refused(clear).contains("is encrypted Parquet"));
    assert!(refused(b"PAR1....PAR1".to_vec()).contains("is damaged or missing"));
}

/// Tests complete metadata that has numbers in place of row groups.
#[test]
fn metadata_that_the_library_does_not_know_has_its_own_message() {
    // The row groups are a list of numbers.
    let metadata = [0x15, 2, 0x19, 0x1c, 0x48, 1, b'x', 0x15, 0, 0, 0x16, 0, 0x19, 0x15, 2, 0];
    let file = [b"PAR1", &metadata[..], &[metadata.len() as u8, 0, 0, 0], b"PAR1"].concat();
    let message = refused(file);
    assert!(
        message.contains("rare or newer than this program") && message.contains("DuckDB"),
        "{message}"
    );
}

/// Tests a column type that the library reads but does not write, as in a later version of Parquet.
#[test]
fn columns_that_cannot_be_written_are_known_beforehand() {
    let schema = "message m { required int64 k; required binary n; }";
    let bytes = file(schema, |writer| {
        let mut rows = writer.next_row_group().unwrap();
        added::write_values::<Int64Type, _>(&mut rows, &[1], None).unwrap();
        added::write_values::<ByteArrayType, _>(&mut rows, &["x".into()], None).unwrap();
        rows.close().unwrap();
    });
    let open = |bytes: Vec<u8>| Source::Memory { name: "t".into(), bytes }.open(Dialect::default());
    assert!(open(bytes.clone()).unwrap().require_to_write().is_ok());
    // The column `n` gets a logical type of number 99: a field 10 with a union of that field.
    let start = bytes.len()
        - 8
        - u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let place = start + bytes[start..].windows(2).position(|found| found == b"\x01n").unwrap() + 2;
    let annotation = [0x6c, 0x0c, 0xc6, 0x01, 0, 0];
    let metadata = [&bytes[start..place], &annotation, &bytes[place..bytes.len() - 8]].concat();
    let length = (metadata.len() as u32).to_le_bytes();
    let newer = [&bytes[..start], &metadata, &length, b"PAR1"].concat();
    let input = open(newer).unwrap();
    let message = input.require_to_write().unwrap_err().to_string();
    assert!(
        message.contains("column `n`") && message.contains("name other columns with --select"),
        "{message}"
    );
    assert!(input.require_to_select(&["k"]).is_ok() && input.require_to_select(&["n"]).is_err());
    let columns = crate::input::Columns { keys: &["k"], ..Default::default() };
    assert_eq!(input.read_columns(columns).unwrap().rows(|_| Ok(())).unwrap().len(), 1);
}
