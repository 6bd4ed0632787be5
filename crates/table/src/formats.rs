//! The list of formats, and the recognition of a file's format.

use std::path::Path;

use crate::{
    compression::ending,
    csv,
    format::{Format, Recognition, TextOpening},
};

const FORMATS: &[Format] =
    &[Format::CSV, Format::NDJSON, Format::PARQUET, Format::ARROW, Format::ARROW_STREAM];

impl Format {
    /// Every format.
    pub const ALL: [Self; FORMATS.len()] = *FORMATS.first_chunk().expect("all of the list");

    /// Returns the format that the name of a file promises, packed or not; `None` if it promises none.
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = ending(path)?;
        Self::ALL.into_iter().find(|format| format.0.endings.contains(&&*ending))
    }

    /// Returns the format of files that begin with these bytes; `None` for text, and `Err` if more of them are needed.
    pub(crate) fn of_beginning(head: &[u8]) -> Result<Option<Self>, ()> {
        for format in Self::ALL {
            if let Recognition::Stored(stored) = format.0.recognition
                && (stored.begins)(head)?
            {
                return Ok(Some(format));
            }
        }
        Ok(None)
    }

    /// Returns the format of a text by its first line that is not blank, or by the beginning of that line.
    pub(crate) fn of_line(
        line: &[u8],
        is_whole: bool,
        promised: Option<Self>,
    ) -> (Self, &'static TextOpening) {
        let certain = || texts().find(|(_, text)| is_whole && (text.is_line)(line));
        let named = || texts().find(|(format, _)| promised == Some(*format));
        let likely = || texts().find(|(_, text)| (text.is_like_line)(line));
        certain().or_else(named).or_else(likely).unwrap_or((Self::CSV, &csv::OPENING))
    }
}

fn texts() -> impl Iterator<Item = (Format, &'static TextOpening)> {
    Format::ALL.into_iter().filter_map(|format| match format.0.recognition {
        Recognition::Text(text) => Some((format, text)),
        Recognition::Stored(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, ArrayRef, cast::AsArray};

    use super::*;
    use crate::{head::Delimiter, ingest::BATCH};

    #[test]
    fn names_and_endings_are_not_used_twice() {
        for format in Format::ALL {
            let is_other = |other: &Format| *other != format;
            let others = || Format::ALL.into_iter().filter(is_other);
            assert_eq!(others().count(), Format::ALL.len() - 1, "{format:?}");
            for ending in format.0.endings {
                assert!(others().all(|other| !other.0.endings.contains(ending)), "{ending}");
            }
        }
    }

    #[test]
    fn names_promise_formats() {
        for (name, format) in [
            ("a.csv", Some(Format::CSV)),
            ("a.TSV.GZ", Some(Format::CSV)),
            ("a.jsonl.zst", Some(Format::NDJSON)),
            ("dir.csv/a.parquet", Some(Format::PARQUET)),
            ("a.feather", Some(Format::ARROW)),
            ("a.arrows", Some(Format::ARROW_STREAM)),
            ("a.txt", None),
            ("a.gz", None),
            ("csv", None),
            ("-", None),
        ] {
            assert_eq!(Format::of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn binary_formats_are_recognized_by_their_beginnings() {
        assert_eq!(Format::of_beginning(b"PAR1\x15"), Ok(Some(Format::PARQUET)));
        assert_eq!(Format::of_beginning(b"ARROW1\0\0\xff"), Ok(Some(Format::ARROW)));
        assert_eq!(Format::of_beginning(b"\xff\xff\xff\xff\x10"), Ok(Some(Format::ARROW_STREAM)));
        for short in [&b""[..], b"PA", b"ARROW1", b"\xff"] {
            assert_eq!(Format::of_beginning(short), Err(()));
        }
        assert_eq!(Format::of_beginning(b"PARE\x15\x01\0\0"), Ok(Some(Format::PARQUET)));
        assert_eq!(Format::of_beginning(b"PARE\x15\x01"), Err(()));
        assert_eq!(Format::of_beginning(b"PARENT,NAME\n"), Ok(None));
        assert_eq!(Format::of_beginning(b"PARE\n1\n"), Ok(None));
        assert_eq!(Format::of_beginning(b"PART,ARROW\n"), Ok(None));
        // A stream without the marker at the beginning of later versions.
        let mut stream = Vec::new();
        let field = arrow_schema::Field::new("k", arrow_schema::DataType::Utf8, true);
        let schema = arrow_schema::Schema::new(vec![field]);
        let options =
            arrow_ipc::writer::IpcWriteOptions::try_new(8, true, arrow_ipc::MetadataVersion::V4);
        arrow_ipc::writer::StreamWriter::try_new_with_options(
            &mut stream,
            &schema,
            options.unwrap(),
        )
        .unwrap();
        assert!(
            stream[0] != 0xff && Format::of_beginning(&stream) == Ok(Some(Format::ARROW_STREAM))
        );
        for kept in [4, 7, 60] {
            assert_eq!(Format::of_beginning(&stream[..kept]), Err(()), "{kept}");
        }
        assert_eq!(Format::of_beginning(b"k,v\0\0\0\0\0"), Ok(None));
        assert_eq!(Format::of_beginning(b"ab\0\0"), Ok(None));
    }

    #[test]
    fn texts_are_recognized_by_their_first_line() {
        let csv = Some(Format::CSV);
        for (line, is_whole, promised, format) in [
            ("{\"k\":1}", true, csv, Format::NDJSON),
            ("{\"k\":1}", false, csv, Format::CSV),
            ("{\"k\":1}", false, None, Format::NDJSON),
            ("{\"k\":", true, None, Format::NDJSON),
            ("{k},v", true, None, Format::CSV),
            ("{k},v", true, Some(Format::NDJSON), Format::NDJSON),
            ("k,v", true, Some(Format::PARQUET), Format::CSV),
            ("", true, None, Format::CSV),
        ] {
            assert_eq!(Format::of_line(line.as_bytes(), is_whole, promised).0, format, "{line}");
        }
    }

    fn read(
        text: &str,
        format: Format,
        delimiter: Delimiter,
    ) -> (Vec<String>, Vec<Vec<Option<String>>>) {
        let reader = format.batches(text.as_bytes().to_vec(), delimiter).unwrap();
        let names = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
        let mut rows = Vec::new();
        for batch in reader {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let text = |column: &ArrayRef| {
                    let column = column.as_string::<i32>();
                    (!column.is_null(row)).then(|| column.value(row).to_owned())
                };
                rows.push(batch.columns().iter().map(text).collect());
            }
        }
        (names, rows)
    }

    #[test]
    fn text_becomes_columns_of_text() {
        let some = |text: &str| Some(text.to_owned());
        let (names, rows) = read("a;b\n1;\"x;\"\"y\"\n;2\n", Format::CSV, Delimiter::Semicolon);
        assert_eq!(names, ["a", "b"]);
        assert_eq!(rows, [[some("1"), some("x;\"y")], [None, some("2")]]);
        let lines = "{\"b\":1.50,\"a\":\"x\\n\"}\n{\"a\":null,\"c\":[1]}\n";
        let (names, rows) = read(lines, Format::NDJSON, Delimiter::Comma);
        assert_eq!(names, ["b", "a", "c"]);
        assert_eq!(rows, [[some("1.50"), some("x\n"), None], [None, None, some("[1]")]]);
        let many: String = (0..BATCH + 2).map(|i| format!("{i}\n")).collect();
        let (_, rows) = read(&format!("k\n{many}"), Format::CSV, Delimiter::Comma);
        assert_eq!((rows.len(), &rows[BATCH + 1]), (BATCH + 2, &vec![some("16385")]));
    }
}
