//! Keys that rules derive from named fields.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use rand::Rng;
use serde::{Deserialize, Serialize};
use vesica_core::{error::Result, random::system_rng};
use vesica_linkage::Rules;
use vesica_normalize::null_values::NullValues;
use vesica_table::{row::Row, rows::Scan};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::key::{KeyColumn, text_of};

/// The bytes of a hash of a row's fields.
pub const FIELDS_HASH: usize = size_of::<u64>();

/// The bytes of a row's token.
pub const TOKEN: usize = size_of::<RowToken>();

/// A number that stands for a row of the side that sends columns. Without this side's secret it says nothing about the
/// row, and two rows have one with probability 2^-128.
pub type RowToken = [u8; 16];

/// The treatment of keys that rows with different fields have in one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AmbiguousKeys {
    /// They take part by the first rule only.
    #[default]
    ByFirstRule,
    /// They take part by no rule, so that each key belongs to one person of a table.
    ByNoRule,
}

/// A secret from which the tokens of a run are made.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct TokenSecret([u8; 32]);

impl TokenSecret {
    /// Returns the secret with these bytes.
    pub fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// Draws a secret.
    ///
    /// # Errors
    /// As [`system_rng`].
    pub(crate) fn random() -> Result<Self> {
        let mut secret = Self([0; 32]);
        system_rng()?.fill_bytes(&mut secret.0);
        Ok(secret)
    }

    /// Returns the token of the row with this number.
    pub fn token(&self, row: u64) -> RowToken {
        let hash = blake3::keyed_hash(&self.0, &row.to_le_bytes());
        *hash.as_bytes().first_chunk().expect("a hash is longer than a token")
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSecret(..)")
    }
}

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

    /// Shows a row's key by each rule, in their order, and returns a hash of all its normalised fields. The hash is the
    /// same on all threads, and another one in each run.
    ///
    /// # Errors
    /// As [`Extractor::key`](crate::key::Extractor::key).
    pub fn show(
        &self,
        row: &Row<'_>,
        show: impl FnMut(Option<&[u8]>),
    ) -> Result<[u8; FIELDS_HASH]> {
        let value = |(position, column): &(usize, KeyColumn)| text_of(row, *position, column);
        let values = self.columns.iter().map(value).collect::<Result<Vec<_>>>()?;
        let fields = self.rules.show_keys(&values, &self.null_values, show);
        Ok(self.hasher.hash_one(&fields).to_le_bytes())
    }
}
