//! The way from rows to their keys and other contributions.

use std::{iter, sync::Arc};

use vesica_core::error::{InputFault, Result};
use vesica_table::{row::Row, rows::Scan, sent_columns::Packer};

use crate::{
    brought::{Brought, Magnitudes},
    collector::Collector,
    findings::{Look, Tally},
    key::{Extractor, Nulls, RowKey},
    linked::{RuleKeys, TokenSecret},
    numbers::Numbers,
    query_columns::{QueryColumns, reader::QueryReader},
    reading::Reading,
};

/// A maker of keys. Clones make the same keys from the same rows.
#[derive(Clone)]
pub(super) struct Maker {
    keys: KeyMakers,
    numbers: Option<Numbers>,
    query: Option<QueryReader>,
    packer: Option<Packer>,
    /// The secret of the tokens of rows, if rules make the keys.
    tokens: Option<TokenSecret>,
    nulls: Nulls,
    /// The number of columns for which each key has its kinds.
    columns: usize,
    /// The numbers of a row.
    row: Vec<i64>,
}

/// The makers of a row's keys.
#[derive(Clone)]
enum KeyMakers {
    /// One for each identifier.
    Columns(Vec<Extractor>),
    /// One for all rules.
    Rules(RuleKeys),
}

/// The results of rows, in their order.
pub(super) struct Made {
    pub(super) keys: Collector,
    pub(super) tally: Tally,
    /// The contributions of the rows with a key.
    pub(super) of_rows: Vec<u8>,
    /// The kinds of all keys, if requested.
    pub(super) kinds: Vec<u16>,
    magnitudes: Magnitudes,
    pub(super) rows: u64,
}

impl Maker {
    /// Finds the columns of a table.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub(super) fn new(scan: &Scan, reading: &Reading) -> Result<Self> {
        let nulls = reading.nulls;
        let numbers = |(column, scale): &(String, u8)| Numbers::new(scan, column, *scale, nulls);
        let numbers = reading.values.as_ref().map(numbers).transpose()?.flatten();
        let query = |columns: &Arc<QueryColumns>| QueryReader::new(scan, columns.clone());
        let query = reading.query.as_ref().map(query).transpose()?.flatten();
        let packer = reading.sends.as_ref().map(|sent| Packer::new(scan, sent));
        let packer = packer.transpose()?.flatten();
        let columns = if reading.profile { reading.keys.len() } else { 0 };
        let keys = match &reading.rules {
            None => KeyMakers::Columns(reading.extractors(scan)?),
            Some(rules) => {
                let null_values = reading.null_values.clone();
                KeyMakers::Rules(RuleKeys::new(scan, rules.clone(), null_values)?)
            }
        };
        let tokens = match (&reading.rules, &reading.tokens) {
            (Some(_), None) => Some(TokenSecret::random()?),
            (_, tokens) => tokens.clone(),
        };
        Ok(Self { keys, numbers, query, packer, tokens, nulls, columns, row: Vec::new() })
    }

    /// Returns the number of identifiers of a row.
    pub(super) fn identifiers(&self) -> usize {
        match &self.keys {
            KeyMakers::Columns(extractors) => extractors.len(),
            KeyMakers::Rules(rules) => rules.count(),
        }
    }

    /// Returns the number of columns for which each key has its kinds.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Takes the next row.
    ///
    /// # Errors
    /// Any fault of the row, and a missing key if the policy refuses it.
    pub(super) fn take(&mut self, row: &Row<'_>, made: &mut Made) -> Result<()> {
        self.row.clear();
        if let Some(numbers) = &self.numbers {
            self.row.push(numbers.of(row)?);
        }
        if let Some(query) = &mut self.query {
            query.of(row, &mut self.row)?;
        }
        let extractors = match &mut self.keys {
            KeyMakers::Columns(extractors) => extractors,
            KeyMakers::Rules(_) => return self.link(row, made),
        };
        let (mut is_keyed, mut has_null_value) = (false, false);
        let last = extractors.len() - 1;
        for (identifier, extractor) in extractors.iter_mut().enumerate() {
            match extractor.key(row)? {
                RowKey::Present(key) => {
                    let place = made.keys.next();
                    made.keys.push(Some(key));
                    is_keyed = true;
                    // A row contributes data only if it has a single identifier.
                    if let Some(packer) = &self.packer {
                        packer.pack(row, &mut made.of_rows)?;
                    }
                    made.magnitudes.add(&self.row, row)?;
                    for number in &self.row {
                        made.of_rows.extend_from_slice(&number.to_le_bytes());
                    }
                    made.tally.see(identifier, place, extractor.look(), extractor.raw(row));
                    made.kinds.extend_from_slice(extractor.kinds().unwrap_or_default());
                }
                RowKey::Missing { column, null_value } => {
                    has_null_value |= null_value;
                    if self.nulls == Nulls::Error && identifier == last && !is_keyed {
                        let (place, column) = (row.place(), column.to_owned());
                        return Err(row.fault(InputFault::NullKey { place, column, null_value }));
                    }
                    made.keys.push(None);
                    made.kinds.resize(made.kinds.len() + self.columns, 0);
                }
            }
        }
        if !is_keyed && has_null_value {
            made.tally.see_null_value();
        }
        made.rows += 1;
        Ok(())
    }

    /// Takes the next row, whose keys rules make.
    ///
    /// # Errors
    /// As [`Maker::take`].
    fn link(&self, row: &Row<'_>, made: &mut Made) -> Result<()> {
        let KeyMakers::Rules(rules) = &self.keys else { return Ok(()) };
        let look = Look { takes_null_values: true, ..Look::default() };
        let (mut rule, mut keyed) = (0, 0);
        let fields = rules.show(row, |key| {
            let place = made.keys.next();
            made.keys.push(key);
            if key.is_some() {
                made.tally.see(rule, place, look, iter::empty());
                keyed += 1;
            }
            rule += 1;
        })?;
        let start = made.of_rows.len();
        if keyed > 0 {
            made.of_rows.extend_from_slice(&fields);
            made.magnitudes.add(&self.row, row)?;
            for number in &self.row {
                made.of_rows.extend_from_slice(&number.to_le_bytes());
            }
            if let (Some(packer), Some(tokens)) = (&self.packer, &self.tokens) {
                made.of_rows.extend_from_slice(&tokens.token(row.number()));
                packer.pack(row, &mut made.of_rows)?;
            }
            let end = made.of_rows.len();
            (1..keyed).for_each(|_| made.of_rows.extend_from_within(start..end));
        }
        if self.nulls == Nulls::Error && keyed == 0 {
            let (place, column) = (row.place(), rules.first_column().to_owned());
            return Err(row.fault(InputFault::NullKey { place, column, null_value: false }));
        }
        made.rows += 1;
        Ok(())
    }
}

impl Made {
    /// Makes an empty one.
    pub(super) fn new(maker: &Maker, reading: &Reading) -> Self {
        Self {
            keys: Collector::new(maker.identifiers()),
            tally: Tally::new(maker.identifiers()),
            of_rows: Vec::new(),
            kinds: Vec::new(),
            magnitudes: Magnitudes::new(Brought::columns_of(reading)),
            rows: 0,
        }
    }

    /// Makes an empty one to append to this later.
    pub(super) fn like(&self) -> Self {
        Self {
            keys: Collector::new(self.keys.identifiers()),
            tally: self.tally.like(),
            of_rows: Vec::new(),
            kinds: Vec::new(),
            magnitudes: self.magnitudes.like(),
            rows: 0,
        }
    }

    /// Appends the results of the rows that follow. Fails if the sum of the numbers becomes too large.
    pub(super) fn append(&mut self, other: Self) -> std::result::Result<(), ()> {
        self.magnitudes.append(&other.magnitudes)?;
        self.tally.append(&other.tally, self.keys.next());
        self.keys.append(other.keys);
        self.of_rows.extend_from_slice(&other.of_rows);
        self.kinds.extend_from_slice(&other.kinds);
        self.rows += other.rows;
        Ok(())
    }

    /// Returns the least memory that it takes, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.keys.bytes() + self.of_rows.len() as u64 + 2 * self.kinds.len() as u64
    }
}
