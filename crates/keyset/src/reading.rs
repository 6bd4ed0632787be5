//! The columns of a table that a run or a check reads.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use vesica_core::error::{Error, InputFault, Place, Result};
use vesica_linkage::Rules;
use vesica_normalize::null_values::NullValues;
use vesica_table::{rows::Scan, sent_columns::SentColumns};

use crate::{
    key::{Duplicates, Extractor, KeyColumn, Nulls},
    linked::{AmbiguousKeys, TokenSecret},
    query_columns::QueryColumns,
    sketch::SketchSecret,
};

/// The parts of a table to read, and the rows to refuse.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The key columns.
    pub keys: Vec<KeyColumn>,
    /// The number of key columns of each identifier, in order; empty if all form one.
    pub identifiers: Vec<u8>,
    /// The rules that make the keys, if they do. The key columns are then the columns of their fields, in the same
    /// order, and each rule is an identifier.
    pub rules: Option<Arc<Rules>>,
    /// The treatment of ambiguous keys, if rules make the keys.
    pub ambiguous: AmbiguousKeys,
    /// The secret of the tokens of rows, if rules make the keys and columns are sent; `None` for a new one.
    pub tokens: Option<TokenSecret>,
    /// Whether to add random keys that match nothing, up to one for each row and identifier.
    pub pad: bool,
    /// Values of key columns that count as empty.
    pub null_values: NullValues,
    /// The column of values and the number of their decimal places, if there is one.
    pub values: Option<(String, u8)>,
    /// The columns of a query, if it is in the language of queries.
    pub query: Option<Arc<QueryColumns>>,
    /// The columns that are sent to the other side, if any are.
    pub sends: Option<SentColumns>,
    /// The treatment of rows without a key, and of empty values.
    pub nulls: Nulls,
    /// The treatment of rows that have the same key.
    pub duplicates: Duplicates,
    /// The most bytes that the keys of all rows may take; `None` for the default budget.
    pub memory: Option<u64>,
    /// The directory for keys that are too many to be in memory; `None` to refuse them.
    pub spill: Option<PathBuf>,
    /// Whether to collect the features of the keys.
    pub profile: bool,
    /// Whether to collect the effect of the normalisation on each key column.
    pub survey: bool,
    /// The secret under which to sketch the set, if any.
    pub sketch: Option<SketchSecret>,
}

/// A limit on the rows of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exceeded {
    /// There are too many rows.
    Rows,
    /// The row has another label, or one too many.
    Labels,
}

impl Reading {
    /// Returns the fault of a row that contributes something other than allowed to the key of an earlier row.
    pub(crate) fn too_many(&self, exceeded: Exceeded, first: Place, place: Place) -> InputFault {
        let touches = self.query.as_ref().and_then(|columns| columns.touches());
        match (exceeded, &self.sends, touches) {
            (Exceeded::Rows, Some(sent), _) => {
                InputFault::TooManyRowsToSend { place, first, rows: sent.rows }
            }
            (Exceeded::Rows, None, _) => {
                let most = self.query.as_ref().map_or(1, |columns| columns.rows());
                InputFault::TooManyRowsOfKey { place, first, most }
            }
            (Exceeded::Labels, _, Some(touches)) => {
                InputFault::TooManyLabelsOfKey { place, first, most: touches.labels() }
            }
            (Exceeded::Labels, _, None) => InputFault::SeveralLabels { place, first },
        }
    }

    pub(crate) fn number_of_identifiers(&self) -> usize {
        let rules = self.rules.as_ref().map(|rules| rules.rules().len());
        rules.unwrap_or(self.identifiers.len()).max(1)
    }

    /// Returns the directory for keys that are too many. A survey takes them only in memory.
    pub(crate) fn spill_directory(&self) -> Option<&Path> {
        self.spill.as_deref().filter(|_| !self.survey)
    }

    /// Returns the extractors of a row's keys, one for each identifier.
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
