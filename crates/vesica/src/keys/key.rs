//! What makes two rows the same: normalised key columns, encoded without ambiguity.
//!
//! A key is one or more columns. Each value is normalised as the terms say; the columns are then
//! encoded as their number, and for each of them a type, a length and the bytes, so that
//! `("a,b", "c")` and `("a", "b,c")` stay apart. A row that lacks any of its key columns has no key:
//! nothing equals it, as SQL has it for NULL.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::{
    error::{Error, InputFault, Result},
    keys::{findings::Look, null_values::NullValues, profile::kinds},
    table::rows::{Row, Scan},
};

/// How a key column's values are made comparable. Both sides must name the same; each step includes
/// the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// Bytes as they are. Two encodings of the same accented letter differ.
    #[default]
    None,
    /// Unicode NFC, and no white space (nor zero-width space or byte-order mark) at either end.
    Trim,
    /// And in lower case, by Unicode's rules that depend on no language.
    Lower,
    /// And as mail addresses: a value without a name and a domain around one `@` is no key (it
    /// counts as empty), and at `gmail.com` dots in the name and anything from a `+` on are dropped,
    /// as UID2 does.
    Email,
}

impl Normalize {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::None, Self::Trim, Self::Lower, Self::Email];

    /// The name in requests, terms and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Trim => "trim",
            Self::Lower => "lower",
            Self::Email => "email",
        }
    }

    /// The normalised value; empty where there is none.
    pub fn apply(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(value),
            Self::Trim => trim(value),
            Self::Lower => lower(value),
            Self::Email => email(lower(value)),
        }
    }
}

fn trim(value: &str) -> Cow<'_, str> {
    let value =
        value.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'));
    // Looking for ASCII first is much the quicker.
    match value.is_ascii() || is_nfc_quick(value.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(value),
        false => Cow::Owned(value.nfc().collect()),
    }
}

fn lower(value: &str) -> Cow<'_, str> {
    let value = trim(value);
    if value.is_ascii() {
        if !value.bytes().any(|b| b.is_ascii_uppercase()) {
            return value;
        }
        let mut value = value.into_owned();
        value.make_ascii_lowercase();
        return Cow::Owned(value);
    }
    // Lower case of a composed letter may be decomposed.
    Cow::Owned(value.to_lowercase().nfc().collect())
}

fn email(value: Cow<'_, str>) -> Cow<'_, str> {
    let Some((name, domain)) = value.split_once('@') else { return Cow::Borrowed("") };
    if name.is_empty() || domain.is_empty() || domain.contains('@') {
        return Cow::Borrowed("");
    }
    if domain != "gmail.com" || !name.contains(['.', '+']) {
        return value;
    }
    let name = name.split('+').next().unwrap_or_default().replace('.', "");
    if name.is_empty() { Cow::Borrowed("") } else { Cow::Owned(format!("{name}@{domain}")) }
}

/// One column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// The name in the header. It stays on this side.
    pub name: String,
    /// How its values are made comparable.
    pub normalize: Normalize,
}

/// What becomes of a row without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nulls {
    /// It takes no part, matches nothing, and is counted.
    #[default]
    Skip,
    /// It ends the run.
    Error,
}

/// What becomes of rows that bear the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The key takes part once, and if it matches, every row that bears it is a matched row.
    #[default]
    First,
    /// They end the run.
    Error,
}

/// A row's key, if it has one.
#[derive(Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// Its encoding.
    Present(&'a [u8]),
    /// There is none.
    Missing {
        /// The first key column without a value.
        column: &'a str,
        /// It has one that stands for a missing value.
        null_value: bool,
    },
}

/// The key columns of a table, found in its header.
pub struct Extractor {
    columns: Vec<(usize, KeyColumn)>,
    null_values: NullValues,
    encoded: Vec<u8>,
    look: Look,
    /// The kinds of the columns' values, where somebody wants to know.
    kinds: Option<Vec<u16>>,
}

/// Keeps the digests of keys apart from those of anything else, and of other versions.
const DOMAIN: &[u8] = b"vesica/key/1";

/// The type of a text column. Other types get other numbers.
const TEXT: u8 = 1;

impl Extractor {
    /// Finds the columns. A table without even a header has none to be found. Of values that are normalised, those
    /// in `null_values` count as empty.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn new(scan: &Scan, columns: &[KeyColumn], null_values: NullValues) -> Result<Self> {
        let columns = if scan.header().is_empty() {
            Vec::new()
        } else {
            let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            scan.find(&names)?.into_iter().zip(columns.iter().cloned()).collect()
        };
        Ok(Self { columns, null_values, encoded: Vec::new(), look: Look::default(), kinds: None })
    }

    /// Also looks at the kinds of the columns' values.
    pub(crate) fn with_kinds(mut self) -> Self {
        self.kinds = Some(Vec::new());
        self
    }

    /// A row's key.
    ///
    /// # Errors
    /// [`InputFault::NotUtf8`] and [`InputFault::Nul`].
    pub fn key(&mut self, row: &Row<'_>) -> Result<Key<'_>> {
        self.encoded.clear();
        self.encoded.extend_from_slice(DOMAIN);
        self.encoded.extend_from_slice(&(self.columns.len() as u32).to_le_bytes());
        self.look = Look { digits: Some(0), ..Look::default() };
        self.kinds.as_mut().map(Vec::clear);
        for (position, column) in &self.columns {
            let raw = text_of(row, *position, column)?;
            let value = column.normalize.apply(raw);
            let missing = |null_value| Ok(Key::Missing { column: &column.name, null_value });
            if value.is_empty() {
                return missing(false);
            }
            if column.normalize != Normalize::None && self.null_values.contains(&value) {
                return missing(true);
            }
            self.encoded.push(TEXT);
            self.encoded.extend_from_slice(&(value.len() as u64).to_le_bytes());
            self.encoded.extend_from_slice(value.as_bytes());
            self.look.add(raw, &value, column.normalize);
            if let Some(all) = &mut self.kinds {
                all.push(kinds(&value));
            }
        }
        Ok(Key::Present(&self.encoded))
    }

    /// What the last row's key looked like, if it had one.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// The kinds of the last row's key columns, if it had a key and kinds are looked at.
    pub(crate) fn kinds(&self) -> Option<&[u16]> {
        self.kinds.as_deref()
    }

    /// The values of a row's key columns as they are.
    pub(crate) fn raw<'a>(&self, row: &Row<'a>) -> impl Iterator<Item = &'a [u8]> {
        self.columns.iter().map(|(position, _)| row.field(*position))
    }
}

fn text_of<'a>(row: &Row<'a>, position: usize, column: &KeyColumn) -> Result<&'a str> {
    let fault = |fault: fn(_, _) -> InputFault| -> Error {
        row.fault(fault(row.place(), column.name.clone()))
    };
    let value = std::str::from_utf8(row.field(position))
        .map_err(|_| fault(|place, column| InputFault::NotUtf8 { place, column }))?;
    if value.as_bytes().contains(&0) {
        return Err(fault(|place, column| InputFault::Nul { place, column }));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::digest::Digest;
    use crate::table::source::{Delimiter, Source};

    /// The digests of all rows; `None` for rows without a key.
    fn keys(text: impl AsRef<[u8]>, columns: &[(&str, Normalize)]) -> Result<Vec<Option<Digest>>> {
        let source = Source::Memory { name: "t.csv".into(), bytes: text.as_ref().to_vec() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, normalize)| KeyColumn { name: (*name).into(), normalize: *normalize })
            .collect();
        let mut extractor = Extractor::new(&scan, &columns, NullValues::default())?;
        let mut keys = Vec::new();
        scan.rows(|row| {
            keys.push(match extractor.key(&row)? {
                Key::Present(encoding) => Some(Digest::of(encoding)),
                Key::Missing { .. } => None,
            });
            Ok(())
        })?;
        Ok(keys)
    }

    #[test]
    fn normalisation_by_table() {
        for (normalize, value, expected) in [
            (Normalize::None, " A\u{308} ", " A\u{308} "),
            (Normalize::Trim, "\u{a0}\tA\u{308}\u{200b}\r\n", "Ä"),
            (Normalize::Trim, "A b", "A b"),
            (Normalize::Lower, " ÄB ", "äb"),
            (Normalize::Lower, "STRASSE", "strasse"),
            (Normalize::Lower, "ΟΔΟΣ", "οδος"),
            (Normalize::Lower, "\u{212b}", "å"),
            (Normalize::Email, " Ann.B+x@Example.ORG ", "ann.b+x@example.org"),
            (Normalize::Email, "Ann.B+x@GMail.com", "annb@gmail.com"),
            (Normalize::Email, "annb@gmail.com", "annb@gmail.com"),
            (Normalize::Email, "unknown", ""),
            (Normalize::Email, "@", ""),
            (Normalize::Email, "a@", ""),
            (Normalize::Email, "@b", ""),
            (Normalize::Email, "a@b@c", ""),
            (Normalize::Email, "+x@gmail.com", ""),
        ] {
            assert_eq!(normalize.apply(value), expected, "{normalize:?} {value:?}");
        }
    }

    #[test]
    fn normalisation_twice_is_once() {
        for value in ["İstanbul", "ΟΔΟΣ Σ", "ǅ", "A\u{30a}\u{301}", "\u{1e9e}", " a.b+c@gmail.com"]
        {
            for normalize in Normalize::ALL {
                let once = normalize.apply(value).into_owned();
                assert_eq!(normalize.apply(&once), once, "{normalize:?} {value:?}");
            }
        }
    }

    #[test]
    fn columns_do_not_run_together() {
        let both = [("x", Normalize::None), ("y", Normalize::None)];
        let found = keys("x,y\n\"a,b\",c\na,\"b,c\"\nab,c\na,bc\n", &both).unwrap();
        for (i, a) in found.iter().enumerate() {
            assert!(found[i + 1..].iter().all(|b| a != b));
        }
        let one = keys("x\na\n", &[("x", Normalize::None)]).unwrap();
        let two = keys("x,y\na,a\n", &both).unwrap();
        assert_ne!(one, two);
    }

    #[test]
    fn a_row_without_part_of_its_key_has_no_key() {
        let columns = [("x", Normalize::Trim), ("y", Normalize::Email)];
        let found = keys("x,y\n ,a@b\na,\na,none\na,a@b\n", &columns).unwrap();
        assert_eq!(
            found.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        // As they are, spaces are a value, and so is a null value.
        assert!(keys("x,y\n ,\n", &[("x", Normalize::None)]).unwrap()[0].is_some());
        for (normalize, is_key) in
            [(Normalize::None, true), (Normalize::Trim, false), (Normalize::Lower, false)]
        {
            let found = keys("x\nNULL\n n/a\n-\nNullable\n", &[("x", normalize)]).unwrap();
            assert_eq!(
                found.iter().map(Option::is_some).collect::<Vec<_>>(),
                [is_key, is_key, is_key, true]
            );
        }
    }

    #[test]
    fn bad_values_are_placed_and_not_shown() {
        let error = |text: &[u8]| keys(text, &[("k", Normalize::None)]).unwrap_err().to_string();
        let message = error(b"k,v\nfine,\xff\nse\xffcret,1\n");
        assert_eq!(
            message,
            "t.csv: row 2 (line 3), column `k`: not valid UTF-8; convert the file to UTF-8"
        );
        assert!(error(b"k,v\nse\0cret,1234567890\n").contains("NUL"));
    }
}
