//! The first line of a table, and the columns found by it.
//!
//! Nobody can tell a header from a row of data by looks. So fields of the first line are shown only where one
//! of the columns that were asked for is among them.

use crate::error::InputFault;

/// The fields of a table's first line: the names of its columns, if it has a header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    fields: Vec<Vec<u8>>,
}

impl Header {
    pub(crate) fn new(fields: Vec<Vec<u8>>) -> Self {
        Self { fields }
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is not even a first line.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The fields as text that is safe to show, whatever they are. They may be data.
    pub fn fields(&self) -> Vec<String> {
        self.fields.iter().map(|field| shown(field)).collect()
    }

    /// The positions of the columns with these names.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`] and [`InputFault::AmbiguousColumn`].
    pub fn find(&self, names: &[&str]) -> Result<Vec<usize>, InputFault> {
        let places = |name: &str| -> Vec<usize> {
            let fields = self.fields.iter().enumerate();
            fields.filter(|(_, field)| *field == name.as_bytes()).map(|(place, _)| place).collect()
        };
        let found: Vec<_> = names.iter().map(|name| places(name)).collect();
        let is_header = found.iter().any(|places| !places.is_empty());
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

    /// What to tell someone who asked for a column that is not there.
    fn hint(&self, wanted: &str, is_header: bool) -> String {
        const MOST: usize = 50;
        let names = self.fields();
        // Such a name tells no more than was typed.
        let folded = |name: &str| name.trim().to_lowercase();
        if let Some(close) = names.iter().find(|name| folded(name) == folded(wanted)) {
            return format!("there is `{close}` (names must match exactly)");
        }
        if let [only] = &self.fields[..]
            && only.iter().any(|byte| b";\t|,".contains(byte))
        {
            return "its first line is a single field; is the delimiter right?".to_owned();
        }
        if !is_header {
            let fields = crate::words::counted(names.len() as u64, "field");
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

/// A field without anything that a terminal would obey.
fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
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
    fn data_in_place_of_a_header_is_not_shown() {
        for fields in [&["ann@example.org", "Ann"][..], &["Ann", "Smith"], &["Ann"]] {
            let message = refused(fields, &["email", "name"]);
            assert!(message.contains("--columns") && !message.contains("nn"), "{message}");
        }
        assert!(refused(&["id;email;phone_2"], &["email"]).contains("is the delimiter right?"));
    }
}
