//! Keys that rules derive from named fields.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use vesica_core::error::Result;
use vesica_linkage::{DerivedKeys, Rules};
use vesica_normalize::null_values::NullValues;
use vesica_table::{row::Row, rows::Scan};

use crate::key::{KeyColumn, text_of};

/// The bytes of a hash of a row's fields.
pub const FIELDS_HASH: usize = size_of::<u64>();

/// A maker of a row's keys by rules, with the fields found in a table's header.
#[derive(Clone)]
pub struct RuleKeys {
    rules: Arc<Rules>,
    /// The column of each field, with its position.
    columns: Vec<(usize, KeyColumn)>,
    null_values: NullValues,
    /// With random keys, so that nobody can choose fields whose hashes are equal.
    hasher: RandomState,
}

/// The keys of a row.
pub struct LinkedRow {
    /// The key by each rule, if the row has one.
    pub keys: Vec<Option<Vec<u8>>>,
    /// A hash of all its normalised fields. It is the same on all threads, and another one in each run.
    pub fields: [u8; FIELDS_HASH],
}

impl RuleKeys {
    /// Finds the columns of the fields. A table without a header has none.
    ///
    /// # Errors
    /// As [`Extractor::new`](crate::key::Extractor::new).
    pub fn new(scan: &Scan, rules: Arc<Rules>, null_values: NullValues) -> Result<Self> {
        let column = |field: &vesica_linkage::MatchField| KeyColumn {
            name: field.column().to_owned(),
            normalize: field.normalize().clone(),
        };
        let columns: Vec<_> = rules.fields().iter().map(column).collect();
        let columns = if scan.header().is_missing() {
            Vec::new()
        } else {
            let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
            scan.find(&names)?.into_iter().zip(columns).collect()
        };
        Ok(Self { rules, columns, null_values, hasher: RandomState::new() })
    }

    /// Returns the number of rules.
    pub(crate) fn count(&self) -> usize {
        self.rules.rules().len()
    }

    /// Returns the name of the first field's column.
    pub(crate) fn first_column(&self) -> &str {
        self.columns.first().map_or("", |(_, column)| &column.name)
    }

    /// Derives a row's keys.
    ///
    /// # Errors
    /// As [`Extractor::key`](crate::key::Extractor::key).
    pub fn of(&self, row: &Row<'_>) -> Result<LinkedRow> {
        let value = |(position, column): &(usize, KeyColumn)| text_of(row, *position, column);
        let values = self.columns.iter().map(value).collect::<Result<Vec<_>>>()?;
        let DerivedKeys { keys, fields } = self.rules.derive(&values, &self.null_values);
        Ok(LinkedRow { keys, fields: self.hasher.hash_one(&fields).to_le_bytes() })
    }
}
