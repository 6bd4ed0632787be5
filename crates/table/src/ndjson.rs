//! One JSON object on each line; lines are copied unchanged.
//!
//! A member is a column, at any place in the object. A member that an object lacks, or that is `null`, is a missing
//! value.

mod members;

use std::{collections::BTreeSet, fmt, io::Write};

use arrow_schema::ArrowError;
use memchr::memchr;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use vesica_core::error::{Error, InputFault, Place, Result};

use self::members::{Members, broken, members};
use crate::{
    content::{Content, MAX_ROWS},
    digest::InputDigest,
    format::{Beginning, Columns, Format, FormatKind, Recognition, TextOpening},
    head::{Delimiter, Head, terminated},
    header::Header,
    ingest::{Reader, Texts},
    row::{Fields, Origin, Row},
    row_number::RowNumber,
    text::{Blocks, Lines, Text, TextSurvey, show_rows},
    written::{AddedNames, Unwritten, Written},
};

impl Format {
    /// One JSON object on each line.
    pub const NDJSON: Self = Self(&KIND);
}

static KIND: FormatKind = FormatKind {
    name: "ndjson",
    title: "NDJSON",
    endings: &["ndjson", "jsonl", "json"],
    // A later line may have members that the first one lacks.
    header_grows: true,
    recognition: Recognition::Text(&TextOpening {
        is_line: |line| line.starts_with(b"{") && names(line).is_ok(),
        // No column name looks like this: it is a broken object.
        is_like_line: |line| {
            line.starts_with(b"{") && line[1..].trim_ascii_start().starts_with(b"\"")
        },
        is_enough: |head, _| head.bytes()[head.body()..].trim_ascii_start().contains(&b'\n'),
        begin,
    }),
    batches: |bytes, _| texts(&bytes).map_err(|_| Error::bug("the written rows cannot be read")),
};

/// The number of rows between two reports of progress.
const SHOW_EVERY: usize = 1 << 14;

/// A text of objects.
pub(crate) struct Ndjson {
    text: Text,
    /// The offset of the first line.
    body: usize,
    header: Header,
    /// The names of the key columns, whose numbers must be integers.
    keys: Vec<Vec<u8>>,
    /// Selected columns that the first object lacks.
    unseen: Vec<usize>,
    /// Whether the first line ends with a carriage return and a line feed.
    has_returns: bool,
    /// The findings of the first reading.
    facts: Option<TextSurvey>,
}

fn begin(head: Head<'_>, _: Delimiter) -> Result<Beginning> {
    let (header, body) = (Ndjson::header_of(head)?, head.body());
    let first = header.clone();
    Ok(Beginning {
        has_rows: !header.is_missing(),
        header,
        open: Box::new(move |text, columns| {
            let table = Ndjson::new(text, body, first, columns);
            (table.header().clone(), Box::new(table))
        }),
    })
}

/// Returns the names of an object's members, in order.
fn names(line: &[u8]) -> serde_json::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    members(line, |name, _| {
        names.push(name.as_bytes().to_vec());
        false
    })?;
    Ok(names)
}

impl Ndjson {
    /// Makes a table with the columns of `header`, which the first object has, and the columns that are read or
    /// selected. The first line of the text begins at `body`.
    fn new(text: Text, body: usize, mut header: Header, columns: Columns<'_>) -> Self {
        let Columns { keys, values, sent, select } = columns;
        let mut unseen = Vec::new();
        if !header.is_missing() {
            let read = keys.iter().chain(values).chain(sent).copied();
            header = read.fold(header, Header::with);
            let read = header.width();
            header = select.iter().copied().fold(header, Header::with);
            unseen.extend(read..header.width());
        }
        let keys = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
        Self { text, body, header, keys, unseen, has_returns: false, facts: None }
    }

    /// Returns the columns of the first object of a text with this beginning, which has the whole first line; none for
    /// a table without rows.
    ///
    /// # Errors
    /// [`InputFault::BrokenLine`].
    fn header_of(head: Head<'_>) -> Result<Header> {
        let body = &head.bytes()[head.body()..];
        let mut number = 0;
        let line = body.split_inclusive(|byte| *byte == b'\n').find(|line| {
            number += 1;
            !line.trim_ascii().is_empty()
        });
        let Some(line) = line else { return Ok(Header::default()) };
        let place = Place { row: 1, line: Some(number) };
        Ok(Header::of_names(names(line).map_err(|error| head.fault(broken(place, &error)))?))
    }

    /// Returns the columns.
    fn header(&self) -> &Header {
        &self.header
    }

    fn lines(&self, digested: bool) -> Result<ObjectLines> {
        let mut blocks = self.text.blocks(digested)?;
        blocks.skip_to(self.body as u64)?;
        Ok(ObjectLines(blocks))
    }

    fn line_end(&self) -> &'static [u8] {
        if self.has_returns { b"\r\n" } else { b"\n" }
    }

    /// Returns all names in the lines to write: any line may have members that the first one lacks.
    fn names_of(
        &self,
        what: &Written<'_>,
        facts: &TextSurvey,
    ) -> std::result::Result<Vec<String>, Unwritten> {
        let mut names: BTreeSet<String> = self.header.names().into_iter().collect();
        let mut rows = what.rows().to_vec();
        rows.sort_unstable();
        show_rows(self.lines(false)?, &rows, facts, |_, line| {
            // A line that was read can be read again.
            let _ = members(line, |name, _| {
                if !names.contains(name) {
                    names.insert(name.to_owned());
                }
                false
            });
            Ok(())
        })?;
        Ok(names.into_iter().collect())
    }

    /// Returns an object with only the selected members, in the requested order. Missing members are left out.
    fn selected(&self, line: &[u8], names: &[String]) -> Result<Vec<u8>> {
        let mut found: Vec<Option<Box<RawValue>>> = vec![None; names.len()];
        members(line, |name, value| match names.iter().position(|wanted| wanted == name) {
            Some(column) => {
                found[column] = value.map(RawValue::to_owned);
                true
            }
            None => false,
        })
        .map_err(|_| Error::bug("a line that was read cannot be read again"))?;
        let mut object = b"{".to_vec();
        for (name, value) in names.iter().zip(found) {
            let Some(value) = value else { continue };
            if object.len() > 1 {
                object.push(b',');
            }
            object.extend_from_slice(json(name).as_bytes());
            object.push(b':');
            object.extend_from_slice(value.get().as_bytes());
        }
        object.push(b'}');
        Ok(object)
    }
}

/// The lines of a text that are not blank.
struct ObjectLines(Blocks);

impl ObjectLines {
    /// Finds the offset of the next of them, and its length with the line end.
    fn find(&mut self) -> Result<Option<(u64, usize)>> {
        let Self(blocks) = self;
        // The bytes known to have no line end.
        let mut searched = 0;
        loop {
            let (rest, is_all) = (blocks.unread(), blocks.has_ended());
            let end = match memchr(b'\n', &rest[searched..]) {
                Some(end) => searched + end + 1,
                None if is_all && rest.is_empty() => return Ok(None),
                None if is_all => rest.len(),
                None => {
                    searched = rest.len();
                    blocks.fill()?;
                    continue;
                }
            };
            searched = 0;
            if !rest[..end].trim_ascii().is_empty() {
                return Ok(Some((blocks.offset(), end)));
            }
            blocks.skip(end);
        }
    }
}

impl Lines for ObjectLines {
    fn next_line(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.find()?.map(|(_, len)| self.0.pass(len)))
    }

    fn into_blocks(self) -> Blocks {
        self.0
    }
}

impl Content for Ndjson {
    fn read(
        &mut self,
        columns: &[usize],
        show: &mut dyn FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        let names = self.header.names();
        let mut reader = Members::new(&names, columns, &self.keys);
        reader.unseen.clone_from(&self.unseen);
        let mut lines = self.lines(true)?;
        let mut number = 0;
        let mut has_returns = false;
        while let Some((offset, len)) = lines.find()? {
            let read = lines.0.read();
            let line = lines.0.pass(len);
            number += 1;
            if number > MAX_ROWS {
                return Err(self.text.fault(InputFault::TooManyRows { max: MAX_ROWS }));
            }
            if number == 1 {
                has_returns = line.ends_with(b"\r\n");
            }
            // Finding the place takes as long as the text before it.
            let place = || self.text.place(number, offset);
            reader.read(line, place).map_err(|fault| self.text.fault(fault))?;
            let origin = Origin::Text { text: &self.text, offset, read };
            show(Row { number, origin, fields: Fields::Values(&reader.values) })?;
        }
        if number > 0
            && let Some(missing) = reader.never_seen()
        {
            let hint = "no line has such a member".to_owned();
            return Err(self.text.fault(InputFault::NoColumn { column: missing.to_owned(), hint }));
        }
        self.has_returns = has_returns;
        self.facts = Some(lines.0.finish()?);
        Ok(number)
    }

    fn place(&self, row: RowNumber) -> Place {
        let offset = || {
            let mut lines = self.lines(false).ok()?;
            for _ in 0..row.get() {
                lines.next_line().ok()??;
            }
            Some(lines.find().ok()??.0)
        };
        offset().map_or(row.place(), |offset| self.text.place(row.ordinal(), offset))
    }

    fn write(
        &self,
        what: &Written<'_>,
        out: &mut (dyn Write + Send),
        done: &mut dyn FnMut(u64),
    ) -> std::result::Result<(), Unwritten> {
        let Some(facts) = &self.facts else { return Ok(()) };
        let names = self.header.names();
        let select: Option<Vec<String>> =
            what.select.map(|select| select.iter().map(|column| names[*column].clone()).collect());
        let added = match what.is_plain() {
            true => None,
            false => Some(Added::new(what, &self.names_of(what, facts)?)),
        };
        show_rows(self.lines(false)?, what.rows(), facts, |nth, line| {
            if nth % SHOW_EVERY == 0 {
                done(nth as u64);
            }
            let object = match &select {
                Some(names) => {
                    let mut object = self.selected(line, names)?;
                    object.extend_from_slice(self.line_end());
                    object.into()
                }
                None => terminated(line, self.line_end()),
            };
            match &added {
                Some(added) => out.write_all(&added.to(&object, what, nth)?)?,
                None => out.write_all(&object)?,
            }
            Ok(())
        })
    }

    fn digest(&self) -> Option<&InputDigest> {
        self.facts.as_ref()?.digest.as_ref()
    }

    fn is_utf8(&self) -> bool {
        self.facts.as_ref().is_none_or(|facts| facts.is_utf8)
    }

    fn text(&self) -> Option<&Text> {
        Some(&self.text)
    }
}

/// Members to add to objects; their names are JSON.
struct Added(AddedNames);

impl Added {
    /// Names members for objects with these names.
    fn new(what: &Written<'_>, taken: &[String]) -> Self {
        let AddedNames { id, received } = what.names(taken);
        let json = |name: String| json(&name);
        Self(AddedNames { id: id.map(json), received: received.into_iter().map(json).collect() })
    }

    /// Returns the object of a row with the added members. Its own stay unchanged.
    fn to(&self, object: &[u8], what: &Written<'_>, nth: usize) -> Result<Vec<u8>> {
        let start = object.iter().position(|byte| *byte == b'{').map_or(0, |at| at + 1);
        let end = object.iter().rposition(|byte| *byte == b'}').unwrap_or(object.len());
        let own = object[start..end].trim_ascii_end();
        let id = self.0.id.as_ref().zip(what.id(nth)).map(|(name, id)| format!("{name}:{id}"));
        let received = self.0.received.iter().zip(what.received(nth)?);
        let received = received.map(|(name, value)| match value {
            Some(value) => format!("{name}:{}", json(&value)),
            None => format!("{name}:null"),
        });
        let own = (!own.trim_ascii().is_empty()).then(|| own.to_vec());
        let before = id.map(String::into_bytes);
        let members = before.into_iter().chain(own).chain(received.map(String::into_bytes));
        let members = members.collect::<Vec<_>>().join(&b',');
        Ok([&object[..start], &members, &object[end..]].concat())
    }
}

/// Returns a string in JSON.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns the rows of objects as text, with a column for each member that any of them has.
fn texts(bytes: &[u8]) -> std::result::Result<Reader, ArrowError> {
    let unread = |error: serde_json::Error| ArrowError::JsonError(error.to_string());
    let lines = || bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let objects =
        || lines().filter(|line| !line.is_empty()).map(serde_json::from_slice::<NdjsonObject>);
    let mut names: Vec<String> = Vec::new();
    for object in objects() {
        for (name, _) in object.map_err(unread)?.0 {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let mut texts = Texts::new(names.clone());
    for object in objects() {
        let object = object.map_err(unread)?.0;
        for (column, name) in names.iter().enumerate() {
            let value = object.iter().rev().find(|(found, _)| found == name);
            let text = match value.map(|(_, value)| value.get()) {
                None | Some("null") => None,
                Some(text) if text.starts_with('"') => {
                    Some(serde_json::from_str(text).map_err(unread)?)
                }
                Some(text) => Some(text.to_owned()),
            };
            texts.push(column, text.as_deref());
        }
        texts.end_row()?;
    }
    texts.finish()
}

/// The members of an object, in their order.
struct NdjsonObject(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for NdjsonObject {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = NdjsonObject;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<NdjsonObject, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(NdjsonObject(members))
            }
        }
        from.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::Matched;

    fn open_selecting(text: &str, sent: &[&str], select: &[&str]) -> Result<Ndjson> {
        let head = Head::new("t", text.as_bytes())?;
        let header = Ndjson::header_of(head)?;
        let columns = Columns { keys: &["k"], values: &[], sent, select };
        Ok(Ndjson::new(Text::of(text), head.body(), header, columns))
    }

    fn open(text: &str) -> Result<Ndjson> {
        open_selecting(text, &["v"], &[])
    }

    /// Reads the keys and values of all rows.
    fn read(text: &str) -> Result<(Vec<[String; 2]>, Ndjson)> {
        let mut table = open(text)?;
        let columns = table.header().find(&["k", "v"]).map_err(|fault| table.text.fault(fault))?;
        let mut rows = Vec::new();
        table.read(&columns, &mut |row| {
            let field =
                |column: usize| String::from_utf8(row.field(columns[column]).to_vec()).unwrap();
            rows.push([field(0), field(1)]);
            Ok(())
        })?;
        Ok((rows, table))
    }

    fn refused(text: &str) -> String {
        read(text).err().unwrap().to_string()
    }

    #[test]
    fn values_have_the_text_of_a_csv_file() {
        let text = "\u{feff}{\"k\": \"a\\u00e4\\n\\\"\", \"v\": 12.50}\r\n\n  {\"x\": [1, {}], \"\\u006b\" : -12345678901234567890}\r\n\
                    {\"k\": true, \"v\": null}\n{\"v\": 7}\n{\"k\": -0,\"v\":1e3}";
        let (rows, table) = read(text).unwrap();
        assert_eq!(
            rows,
            [
                ["aä\n\"", "12.50"],
                ["-12345678901234567890", ""],
                ["true", ""],
                ["", "7"],
                ["0", "1e3"]
            ]
        );
        assert_eq!(table.place(RowNumber::new(1)), Place { row: 2, line: Some(3) });
        let written = |rows: &[u64], select: Option<&[usize]>| {
            let mut out = Vec::new();
            let matched = Matched {
                rows: rows.iter().copied().map(RowNumber::new).collect(),
                ..Matched::default()
            };
            table.write(&Written { matched: &matched, select }, &mut out, &mut |_| {}).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            written(&[1, 4], None),
            "  {\"x\": [1, {}], \"\\u006b\" : -12345678901234567890}\r\n{\"k\": -0,\"v\":1e3}\r\n"
        );
        assert_eq!(
            written(&[0, 3], Some(&[1, 0])),
            "{\"v\":12.50,\"k\":\"a\\u00e4\\n\\\"\"}\r\n{\"v\":7}\r\n"
        );
    }

    #[test]
    fn unsuitable_values_are_refused_by_type_and_place() {
        let row = |value: &str| format!("{{\"k\":1,\"v\":1}}\n{{\"k\":{value}}}\n");
        let message = refused("{\"k\":1,\"v\":[\"secret\"]}\n");
        assert!(
            message.contains("column `v`: an array cannot be sent or added up: only a single")
                && !message.contains("secret"),
            "{message}"
        );
        for (value, kind) in [
            ("1.5", "such a number cannot be a key: a number with a fraction"),
            ("1E3", "such a number cannot be a key"),
            ("{\"secret\":1}", "an object cannot be a key: a key is a single value"),
            ("[1]", "an array cannot be a key"),
        ] {
            let message = refused(&row(value));
            assert!(message.starts_with("t: row 2 (line 2), column `k`: "), "{message}");
            assert!(message.contains(kind) && !message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn broken_lines_are_placed_and_not_shown() {
        let after = |line: &str| refused(&format!("{{\"k\":1,\"v\":2}}\n\n{line}\n"));
        for (line, problem) in [
            ("{\"k\":\"secret\"", "the line ends within an object, near character"),
            ("[\"secret\"]", "the line is not a JSON object"),
            ("{\"k\":secret}", "the line is not valid JSON"),
            ("{\"k\":1} secret", "the line is not valid JSON"),
            ("{\"k\":1,\"k\":2}", "the object has a key or value twice"),
            ("{\"k\":\"\\ud800secret\"}", "a key or value has an escape that is not a character"),
            ("{\"k\":\"\u{1}secret\"}", "the line is not valid JSON"),
        ] {
            let message = after(line);
            assert!(
                message.starts_with("t: row 2 (line 3): ") && message.contains(problem),
                "{message}"
            );
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_selected_member_may_be_missing_from_some_objects_but_not_from_all() {
        let text = "{\"k\":1}\n{\"k\":2,\"late\":[3]}\n{\"k\":4,\"late\":null}\n";
        let table = |select: &[&str]| {
            let mut table = open_selecting(text, &[], select).unwrap();
            table.read(&[0], &mut |_| Ok(())).map(|_| table)
        };
        let mut out = Vec::new();
        let matched = Matched { rows: RowNumber::all(3).collect(), ..Matched::default() };
        let what = Written { matched: &matched, select: Some(&[1, 0]) };
        table(&["late"]).unwrap().write(&what, &mut out, &mut |_| {}).unwrap();
        assert_eq!(out, b"{\"k\":1}\n{\"late\":[3],\"k\":2}\n{\"late\":null,\"k\":4}\n");
        let message = table(&["k", "late", "never"]).err().unwrap().to_string();
        assert!(message.contains("no column `never`; no line has such a member"), "{message}");
    }

    #[test]
    fn a_member_that_no_object_has_is_missing() {
        assert!(refused("{\"v\":1}\n").contains("no column `k`; no line has such a member"));
        assert!(read("{\"x\":1}\n{\"v\":1,\"k\":null}\n").is_ok());
        assert_eq!(read("{\"x\":1}\n{\"v\":1,\"k\":\"a\"}\n").unwrap().0, [["", ""], ["a", "1"]]);
        assert!(open("").unwrap().header().is_missing());
    }
}
