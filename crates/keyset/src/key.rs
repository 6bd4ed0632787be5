//! The identity of rows: normalised key columns, encoded without ambiguity.
//!
//! A key is one or more columns. Each value is normalised as the terms say, and the key is then encoded
//! ([`vesica_normalize::encoding`]). A row that lacks any of its key columns has no key: it equals nothing, like NULL
//! in SQL.

use vesica_core::error::{Error, InputFault, Result};
use vesica_normalize::{encoding::Encoding, normalize::Normalize, null_values::NullValues};
use vesica_table::{row::Row, rows::Scan};

use crate::{findings::Look, profile::kinds};

/// One column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// The name in the header. It stays on this side.
    pub name: String,
    /// The normalisation of its values.
    pub normalize: Normalize,
}

/// The treatment of rows without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nulls {
    /// It takes no part, matches nothing, and is counted.
    #[default]
    Skip,
    /// It ends the run.
    Error,
}

/// The treatment of rows that have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The key takes part once. If it matches, all its rows are matched rows.
    #[default]
    First,
    /// They end the run.
    Error,
    /// The columns of all rows of the key are sent, up to the agreed number of rows. More end the run.
    All,
}

/// A row's key, or the column without one.
#[derive(Debug, PartialEq, Eq)]
pub enum RowKey<'a> {
    /// The encoded key.
    Present(&'a [u8]),
    /// The row has no key.
    Missing {
        /// The first key column without a value.
        column: &'a str,
        /// Whether its value stands for a missing one.
        null_value: bool,
    },
}

/// The key columns of a table, found in its header.
#[derive(Clone)]
pub struct Extractor {
    columns: Vec<(usize, KeyColumn)>,
    null_values: NullValues,
    encoding: Encoding,
    look: Look,
    /// The kinds of the columns' values, if requested.
    kinds: Option<Vec<u16>>,
}

impl Extractor {
    /// Finds the columns. A table without a header has none. Normalised values in `null_values` count as empty.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub fn new(scan: &Scan, columns: &[KeyColumn], null_values: NullValues) -> Result<Self> {
        let columns = if scan.header().is_missing() {
            Vec::new()
        } else {
            let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            scan.find(&names)?.into_iter().zip(columns.iter().cloned()).collect()
        };
        let (encoding, look) = (Encoding::default(), Look::default());
        Ok(Self { columns, null_values, encoding, look, kinds: None })
    }

    /// Makes keys of the identifier with this number, counted from 0. They never equal a key of another identifier.
    pub(crate) fn of_identifier(mut self, number: u32) -> Self {
        self.encoding = Encoding::of_identifier(number);
        self
    }

    /// Records the kinds of the columns' values as well.
    pub(crate) fn with_kinds(mut self) -> Self {
        self.kinds = Some(Vec::new());
        self
    }

    /// Returns a row's key.
    ///
    /// # Errors
    /// [`InputFault::NotUtf8`] and [`InputFault::Nul`].
    pub fn key(&mut self, row: &Row<'_>) -> Result<RowKey<'_>> {
        self.encoding.begin(self.columns.len());
        self.look = Look { digits: Some(0), ..Look::default() };
        self.kinds.as_mut().map(Vec::clear);
        for (position, column) in &self.columns {
            let raw = text_of(row, *position, column)?;
            let value = column.normalize.apply(raw);
            let null_value = self.null_values.hold(raw, &value, &column.normalize);
            if null_value || value.is_empty() {
                return Ok(RowKey::Missing { column: &column.name, null_value });
            }
            self.look.add(raw, &value, &column.normalize);
            let is_digest = self.encoding.add(&value, &column.normalize);
            if let Some(all) = &mut self.kinds {
                // Digests have no kinds, on either side.
                all.push(if is_digest { 0 } else { kinds(&value) });
            }
        }
        Ok(RowKey::Present(self.encoding.bytes()))
    }

    /// Returns the features of the last row's key, if it had one.
    pub(crate) fn look(&self) -> Look {
        self.look
    }

    /// Returns the kinds of the last row's key columns, if it had a key and kinds are recorded.
    pub(crate) fn kinds(&self) -> Option<&[u16]> {
        self.kinds.as_deref()
    }

    /// Returns the raw values of a row's key columns.
    pub(crate) fn raw<'a>(&self, row: &Row<'a>) -> impl Iterator<Item = &'a [u8]> {
        self.columns.iter().map(|(position, _)| row.field(*position))
    }
}

/// Returns the value of a row in a column.
pub(crate) fn text_of<'a>(row: &Row<'a>, position: usize, column: &KeyColumn) -> Result<&'a str> {
    let fault = |fault: fn(_, _) -> InputFault| -> Error {
        row.fault(fault(row.place(), column.name.clone()))
    };
    let value = std::str::from_utf8(row.field(position))
        .map_err(|_| fault(|place, column| InputFault::NotUtf8 { place, column }))?;
    if memchr::memchr(0, value.as_bytes()).is_some() {
        return Err(fault(|place, column| InputFault::Nul { place, column }));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use vesica_normalize::digest::Digest;
    use vesica_table::source::{Delimiter, Source};

    use super::*;

    /// Returns the digests of all rows; `None` for rows without a key.
    fn keys(text: impl AsRef<[u8]>, columns: &[(&str, Normalize)]) -> Result<Vec<Option<Digest>>> {
        let source = Source::Memory { name: "t.csv".into(), bytes: text.as_ref().to_vec() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let columns: Vec<_> = columns
            .iter()
            .map(|(name, normalize)| KeyColumn {
                name: (*name).into(),
                normalize: normalize.clone(),
            })
            .collect();
        let mut extractor = Extractor::new(&scan, &columns, NullValues::default())?;
        let mut keys = Vec::new();
        scan.rows(|row| {
            keys.push(match extractor.key(&row)? {
                RowKey::Present(encoding) => Some(Digest::of(encoding)),
                RowKey::Missing { .. } => None,
            });
            Ok(())
        })?;
        Ok(keys)
    }

    #[test]
    fn columns_do_not_run_together() {
        let both = [("x", Normalize::NONE), ("y", Normalize::NONE)];
        let found = keys("x,y\n\"a,b\",c\na,\"b,c\"\nab,c\na,bc\n", &both).unwrap();
        for (i, a) in found.iter().enumerate() {
            assert!(found[i + 1..].iter().all(|b| a != b));
        }
        let one = keys("x\na\n", &[("x", Normalize::NONE)]).unwrap();
        let two = keys("x,y\na,a\n", &both).unwrap();
        assert_ne!(one, two);
    }

    #[test]
    fn a_row_without_part_of_its_key_has_no_key() {
        let columns = [("x", Normalize::TRIM), ("y", Normalize::EMAIL)];
        let found = keys("x,y\n ,a@b\na,\na,none\na,a@b\n", &columns).unwrap();
        assert_eq!(
            found.iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        // Without normalisation, spaces are a value, and so is a null value.
        assert!(keys("x,y\n ,\n", &[("x", Normalize::NONE)]).unwrap()[0].is_some());
        for (normalize, is_key) in
            [(Normalize::NONE, true), (Normalize::TRIM, false), (Normalize::LOWER, false)]
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
        let error = |text: &[u8]| keys(text, &[("k", Normalize::NONE)]).unwrap_err().to_string();
        let message = error(b"k,v\nfine,\xff\nse\xffcret,1\n");
        assert_eq!(
            message,
            "t.csv: row 2 (line 3), column `k`: not valid UTF-8; convert the file to UTF-8, for example with \
             `iconv -f WINDOWS-1252 -t UTF-8`"
        );
        assert!(error(b"k,v\nse\0cret,1234567890\n").contains("NUL"));
    }
}
