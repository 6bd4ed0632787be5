//! The first line of a table, and the search for columns in it.
//!
//! A header may look like a row of data. So fields of the first line are shown only if one of the requested columns is
//! among them.

use unicode_normalization::UnicodeNormalization;
use vesica_core::{error::InputFault, words::counted};
use vesica_normalize::{normalize::characters::is_ignorable, shown::shown};

use crate::{head::Delimiter, sent_types::SentType};

/// The fields of a table's first line, which are the names of its columns if it has a header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    fields: Vec<Vec<u8>>,
    /// Whether the fields are certainly names.
    named: bool,
    /// The types of the columns, in a typed format.
    types: Vec<ColumnType>,
}

/// The type of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnType {
    /// The name of the type.
    pub name: String,
    /// The reason that such a column can be neither a key nor added up, if it cannot.
    pub unsuitable: Option<&'static str>,
    /// The reason that such a column cannot be sent, if it cannot.
    pub unsent: Option<&'static str>,
    /// The reason that such a column cannot be written, if it cannot.
    pub unwritten: Option<&'static str>,
    /// The type in which it is sent.
    pub sent: SentType,
}

impl Header {
    pub(crate) fn new(fields: Vec<Vec<u8>>) -> Self {
        Self { fields, ..Self::default() }
    }

    /// Makes a header of columns with these names and without types.
    pub(crate) fn of_names(names: Vec<Vec<u8>>) -> Self {
        Self { fields: names, named: true, types: Vec::new() }
    }

    /// Makes a header of columns with these names and types.
    pub(crate) fn of_types(columns: impl IntoIterator<Item = (String, ColumnType)>) -> Self {
        let (names, types): (Vec<_>, _) = columns.into_iter().unzip();
        Self { fields: names.into_iter().map(String::into_bytes).collect(), named: true, types }
    }

    /// Returns the header of a table with this many rows. One with neither columns nor rows is as empty as a text
    /// without a first line.
    pub(crate) fn of_rows(self, rows: u64) -> Self {
        if self.fields.is_empty() && rows == 0 { Self::default() } else { self }
    }

    /// Adds a column of this name, unless it exists.
    pub(crate) fn with(mut self, name: &str) -> Self {
        if !self.has(name) {
            self.fields.push(name.as_bytes().to_vec());
        }
        self
    }

    /// Whether there is a column of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field == name.as_bytes())
    }

    /// Returns the fields as names, which the caller must know them to be.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |field: &Vec<u8>| String::from_utf8_lossy(field).into_owned();
        self.fields.iter().map(name).collect()
    }

    /// Returns the type of a column, in a typed format.
    pub fn column_type(&self, column: usize) -> Option<&ColumnType> {
        self.types.get(column)
    }

    /// Returns the number of columns.
    pub fn width(&self) -> usize {
        self.fields.len()
    }

    /// Whether the table is empty, without even a first line. A header that names no column is not missing.
    pub fn is_missing(&self) -> bool {
        self.fields.is_empty() && !self.named
    }

    /// Returns the fields as text that is safe to show. They may be data.
    pub fn fields(&self) -> Vec<String> {
        self.names().iter().map(|name| shown(name).into_owned()).collect()
    }

    /// Returns the positions of the columns with these names, if their types can be keys or added up.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn find(&self, names: &[&str]) -> Result<Vec<usize>, InputFault> {
        self.find_where(names, |found| found.unsuitable)
    }

    /// Returns the positions of the columns with these names, if their types can be sent.
    ///
    /// # Errors
    /// As for [`Header::find`].
    pub fn find_sent(&self, names: &[&str]) -> Result<Vec<usize>, InputFault> {
        self.find_where(names, |found| found.unsent)
    }

    /// Returns the types in which the columns with these names are sent. In a table without types that is text, and its
    /// later rows may have columns that the first one lacks.
    ///
    /// # Errors
    /// As for [`Header::positions`].
    pub fn sent_types(&self, names: &[&str]) -> Result<Vec<SentType>, InputFault> {
        if self.types.is_empty() {
            return Ok(vec![SentType::Text; names.len()]);
        }
        let columns = self.positions(names)?.into_iter();
        Ok(columns.map(|column| self.types[column].sent).collect())
    }

    /// Returns the positions of the columns with these names, if their types can be written.
    ///
    /// # Errors
    /// As for [`Header::find`].
    pub fn find_written(&self, names: &[&str]) -> Result<Vec<usize>, InputFault> {
        self.find_where(names, |found| found.unwritten)
    }

    /// Makes sure that the types of all columns can be written.
    ///
    /// # Errors
    /// [`InputFault::ColumnType`].
    pub fn assert_written(&self) -> Result<(), InputFault> {
        let columns = self.types.iter().zip(&self.fields);
        let mut unwritten =
            columns.filter_map(|(found, name)| Some((found, name, found.unwritten?)));
        match unwritten.next() {
            None => Ok(()),
            Some((found, name, why)) => {
                let column = shown(&String::from_utf8_lossy(name)).into_owned();
                Err(InputFault::ColumnType { column, kind: found.name.clone(), why })
            }
        }
    }

    fn find_where(
        &self,
        names: &[&str],
        fault: impl Fn(&ColumnType) -> Option<&'static str>,
    ) -> Result<Vec<usize>, InputFault> {
        let positions = self.positions(names)?;
        for (name, position) in names.iter().zip(&positions) {
            let found = self.column_type(*position);
            if let Some((found, why)) = found.and_then(|found| Some((found, fault(found)?))) {
                let (column, kind) = ((*name).to_owned(), found.name.clone());
                return Err(InputFault::ColumnType { column, kind, why });
            }
        }
        Ok(positions)
    }

    /// Returns the positions of the columns with these names, of any type.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub fn positions(&self, names: &[&str]) -> Result<Vec<usize>, InputFault> {
        let places = |name: &str| -> Vec<usize> {
            let fields = || self.fields.iter().enumerate();
            let exact = fields().filter(|(_, field)| *field == name.as_bytes());
            let exact: Vec<_> = exact.map(|(place, _)| place).collect();
            if !exact.is_empty() {
                return exact;
            }
            // The difference is invisible, so nobody can type it.
            let name = as_seen(name);
            let looks_alike = |field: &[u8]| as_seen(&String::from_utf8_lossy(field)) == name;
            fields().filter(|(_, field)| looks_alike(field)).map(|(place, _)| place).collect()
        };
        let found: Vec<_> = names.iter().map(|name| places(name)).collect();
        let is_header = self.named || found.iter().any(|places| !places.is_empty());
        let one = |(name, places): (&&str, Vec<usize>)| match places[..] {
            [place] => Ok(place),
            [] => {
                let hint = self.hint(name, is_header);
                Err(InputFault::NoColumn { column: (*name).to_owned(), hint })
            }
            _ => {
                Err(InputFault::AmbiguousColumn { column: (*name).to_owned(), times: places.len() })
            }
        };
        names.iter().zip(found).map(one).collect()
    }

    /// Words the hint for a missing column.
    fn hint(&self, wanted: &str, is_header: bool) -> String {
        const MOST: usize = 50;
        let names = self.fields();
        // Such a name reveals no more than was typed.
        let folded = |name: &str| as_seen(name).trim().to_lowercase();
        let close = self.names().iter().position(|name| folded(name) == folded(wanted));
        if let Some(close) = close.and_then(|close| names.get(close)) {
            return format!("there is `{close}` (names must match exactly)");
        }
        if let [only] = &self.fields[..]
            && !self.named
            && only.iter().any(|byte| b";\t|,".contains(byte))
        {
            return single(only);
        }
        if names.is_empty() {
            return "it has rows, but no columns".to_owned();
        }
        if !is_header {
            let fields = counted(names.len() as u64, "field");
            return format!(
                "its first line has {fields}, not shown here because they may be data; if the file has a \
                 header, list its columns with `vesica check FILE --columns`"
            );
        }
        let more = match names.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names: Vec<_> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
        format!("it has {}{more}", names.join(", "))
    }
}

/// Returns a name as it looks: composed, and without invisible characters.
fn as_seen(name: &str) -> String {
    name.chars().filter(|c| !is_ignorable(*c)).nfc().collect()
}

/// Words the hint about a first line that is one field with a delimiter in it.
fn single(line: &[u8]) -> String {
    let count = |byte: u8| line.iter().filter(|found| **found == byte).count();
    // Of several equally frequent ones, the last is taken.
    let best = b",|\t;".iter().copied().max_by_key(|byte| count(*byte)).unwrap_or(b',');
    format!(
        "its first line is a single field; is the delimiter right? `--delimiter {}` makes {} of it",
        Delimiter::of_byte(best).name(),
        counted(count(best) as u64 + 1, "field")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(fields: &[&str]) -> Header {
        Header::new(fields.iter().map(|field| field.as_bytes().to_vec()).collect())
    }

    fn refused(fields: &[&str], names: &[&str]) -> String {
        header(fields).find(names).unwrap_err().to_string()
    }

    #[test]
    fn columns_are_found_by_name() {
        let fields = ["id", "e-mail, work", "id"];
        assert_eq!(header(&fields).find(&["e-mail, work"]).unwrap(), [1]);
        assert_eq!(refused(&fields, &["id"]), "has 2 columns named `id`; rename all but one");
        assert!(refused(&fields, &["ID"]).contains("there is `id` (names must match"));
        let message = refused(&fields, &["e-mail, work", "mail"]);
        assert_eq!(message, "has no column `mail`; it has `id`, `e-mail, work`, `id`");
        assert!(refused(&["a", "b\u{1b}[31m"], &["a", "x"]).contains("`b\u{fffd}[31m`"));
    }

    #[test]
    fn columns_are_found_despite_invisible_characters_in_their_names() {
        for field in ["\u{feff}k\u{e9}", "\u{200b}ke\u{301}", "k\u{ad}\u{e9}\u{200e}"] {
            for wanted in ["k\u{e9}", "ke\u{301}"] {
                assert_eq!(header(&["v", field]).find(&[wanted]).unwrap(), [1], "{field:?}");
            }
        }
        // A name that matches exactly as typed comes first; two that look alike are an error.
        assert_eq!(header(&["\u{200b}k", "k"]).find(&["k"]).unwrap(), [1]);
        assert!(refused(&["\u{200b}k", "\u{feff}k"], &["k"]).contains("2 columns named `k`"));
        assert!(
            refused(&["\u{200b} K", "v"], &["k", "v"]).contains("there is `\u{fffd} K` (names")
        );
        assert_eq!(header(&["", "v"]).find(&[""]).unwrap(), [0]);
    }

    #[test]
    fn a_fitting_delimiter_is_named() {
        for (line, said) in [
            ("id;email;phone, or none", "`--delimiter semicolon` makes 3 fields of it"),
            ("id\temail", "`--delimiter tab` makes 2 fields of it"),
            ("id|email", "`--delimiter bar` makes 2 fields of it"),
            ("id,email", "`--delimiter comma` makes 2 fields of it"),
        ] {
            let message = refused(&[line], &["email"]);
            assert!(
                message.contains("is the delimiter right?") && message.contains(said),
                "{message}"
            );
        }
    }

    #[test]
    fn data_in_place_of_a_header_is_not_shown() {
        for fields in [&["ann@example.org", "Ann"][..], &["Ann", "Smith"], &["Ann"]] {
            let message = refused(fields, &["email", "name"]);
            assert!(message.contains("--columns") && !message.contains("nn"), "{message}");
        }
        assert!(refused(&["id;email;phone_2"], &["email"]).contains("is the delimiter right?"));
    }

    #[test]
    fn a_header_that_names_no_column_is_not_missing() {
        let typed = |rows| Header::of_types([]).of_rows(rows);
        assert!(Header::default().is_missing() && typed(0).is_missing());
        for header in [Header::of_names(Vec::new()), typed(1)] {
            assert!(!header.is_missing());
            let message = header.find(&["id"]).unwrap_err().to_string();
            assert_eq!(message, "has no column `id`; it has rows, but no columns");
        }
    }
}
