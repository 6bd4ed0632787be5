//! What a run or a check reads of a table.

use std::path::{Path, PathBuf};

use vesica_core::error::{Error, Result};
use vesica_normalize::null_values::NullValues;
use vesica_table::{rows::Scan, sent_columns::SentColumns};

use crate::{
    key::{Duplicates, Extractor, KeyColumn, Nulls},
    sketch::SketchSecret,
};

/// What is read of a table, and what is refused.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The key columns.
    pub keys: Vec<KeyColumn>,
    /// How many of them each identifier has, in order; empty where all make up one.
    pub identifiers: Vec<u8>,
    /// Values of key columns that count as empty.
    pub null_values: NullValues,
    /// The column of values and the number of their decimal places, if there is one.
    pub values: Option<(String, u8)>,
    /// The columns that are sent to the other side, if any are.
    pub sends: Option<SentColumns>,
    /// What becomes of rows without a key, and of empty values.
    pub nulls: Nulls,
    /// What becomes of rows that bear the same key.
    pub duplicates: Duplicates,
    /// The most bytes that the keys of all rows may take; `None` for the budget of a user who names none.
    pub memory: Option<u64>,
    /// The directory for keys that are too many to be in memory; `None` to refuse them.
    pub spill: Option<PathBuf>,
    /// Whether to find out what the keys look like.
    pub profile: bool,
    /// Whether to find out what the normalisation makes of each key column.
    pub survey: bool,
    /// The secret under which the set is sketched, if it is to be.
    pub sketch: Option<SketchSecret>,
}

impl Reading {
    pub(crate) fn number_of_identifiers(&self) -> usize {
        self.identifiers.len().max(1)
    }

    /// The directory for keys that are too many; a survey takes them in memory alone.
    pub(crate) fn spill_directory(&self) -> Option<&Path> {
        self.spill.as_deref().filter(|_| !self.survey)
    }

    /// What makes a row's keys, one for each identifier.
    pub fn extractors(&self, scan: &Scan) -> Result<Vec<Extractor>> {
        let extractor = |keys: &[KeyColumn]| -> Result<Extractor> {
            let extractor = Extractor::new(scan, keys, self.null_values.clone())?;
            Ok(if self.profile { extractor.with_kinds() } else { extractor })
        };
        if self.identifiers.is_empty() {
            return Ok(vec![extractor(&self.keys)?]);
        }
        let mut rest = &self.keys[..];
        let mut extractors = Vec::with_capacity(self.identifiers.len());
        for (number, columns) in (0..).zip(&self.identifiers) {
            let split = rest.split_at_checked(usize::from(*columns));
            let (columns, others) = split.ok_or(Error::bug("identifiers lack columns"))?;
            extractors.push(extractor(columns)?.of_identifier(number));
            rest = others;
        }
        Ok(extractors)
    }
}
