//! Columns appended to delimited text, whose own bytes stay unchanged.

use std::io::{self, Write};

use crate::head;

/// Writes a record of the text with more fields at its end, quoted where needed. It keeps its own line end, or gets
/// this one if it has none.
pub(crate) fn write<'a>(
    record: &[u8],
    more: impl Iterator<Item = &'a str>,
    delimiter: u8,
    line_end: &[u8],
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let own = head::line_end(record);
    out.write_all(head::without_line_end(record))?;
    for field in more {
        out.write_all(&[delimiter])?;
        let special = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
        if field.bytes().any(special) {
            write!(out, "\"{}\"", field.replace('"', "\"\""))?;
        } else {
            out.write_all(field.as_bytes())?;
        }
    }
    out.write_all(if own.is_empty() { line_end } else { own })
}

/// Returns the name of a column to add to a table with these names: its own, with a prefix if that is taken.
pub(crate) fn name(table: &[String], own: &str, prefix: &str) -> String {
    let mut name = own.to_owned();
    while table.contains(&name) {
        name.insert_str(0, prefix);
    }
    name
}

/// Returns the names of columns that the other side sent, to add to a table with these names.
pub(crate) fn names(table: &[String], more: &[String]) -> Vec<String> {
    let mut taken = table.to_vec();
    let free = |own: &String| {
        let name = name(&taken, own, "peer_");
        taken.push(name.clone());
        name
    };
    more.iter().map(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(record: &str, more: &[&str]) -> String {
        let mut out = Vec::new();
        write(record.as_bytes(), more.iter().copied(), b';', b"\n", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn own_bytes_and_line_ends_stay() {
        assert_eq!(appended("a; \"b\"\r\n", &["c"]), "a; \"b\";c\r\n");
        assert_eq!(appended("a\r", &["", "x y"]), "a;;x y\r");
        assert_eq!(appended("a", &["1,2"]), "a;1,2\n");
    }

    #[test]
    fn fields_are_quoted_where_needed() {
        let fields = ["x;y", "say \"no\"", "two\nlines", "\r", "plain"];
        let text = appended("a\n", &fields);
        assert_eq!(text, "a;\"x;y\";\"say \"\"no\"\"\";\"two\nlines\";\"\r\";plain\n");
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(b';')
            .has_headers(false)
            .from_reader(text.as_bytes());
        let record = reader.records().next().unwrap().unwrap();
        assert_eq!(record.iter().skip(1).collect::<Vec<_>>(), fields);
    }

    #[test]
    fn names_that_are_taken_get_a_prefix() {
        let named = |table: &[&str], more: &[&str]| {
            let owned =
                |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            names(&owned(table), &owned(more))
        };
        assert_eq!(named(&["k", "a"], &["a", "b"]), ["peer_a", "b"]);
        assert_eq!(named(&["a", "peer_a"], &["a", "peer_a"]), ["peer_peer_a", "peer_peer_peer_a"]);
    }
}
