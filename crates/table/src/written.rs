//! The output of a table: its rows, their order, and columns besides the table's own.

use std::{borrow::Cow, io, ops::Range, sync::Arc};

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use vesica_core::error::{Error, Result};

use crate::{append, row_number::RowNumber, sent_types::SentType};

/// The meaning of the numbers in a first column of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Numbering {
    /// They number the matches, in an order that both sides share.
    #[default]
    Matches,
    /// They are the first rule by which each row matches, counted from 1, or 0 for a row that does not match.
    Rules,
}

impl Numbering {
    /// Returns the name of the column.
    fn column(self) -> &'static str {
        match self {
            Self::Matches => "match_id",
            Self::Rules => "match_rule",
        }
    }
}

/// Columns from the other side, for the rows to write.
pub trait Received: Send {
    /// Returns their names.
    fn names(&self) -> &[String];

    /// Returns their types, if they have any; none if all are text.
    fn types(&self) -> &[SentType] {
        &[]
    }

    /// Returns the values for a row, counted from 0 in the order of the output; `None` for each missing one.
    ///
    /// # Errors
    /// [`Error::Output`] if they are on disk and cannot be read.
    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>>;
}

/// Rows of a table for the output, with the columns added to them.
#[derive(Default)]
pub struct Matched {
    /// The rows in the order of the output. A row may occur several times.
    pub rows: Vec<RowNumber>,
    /// A number for each row, for a first column.
    pub ids: Option<Vec<u64>>,
    /// The meaning of these numbers.
    pub numbering: Numbering,
    /// Columns to add at the end.
    pub received: Option<Box<dyn Received>>,
}

/// Rows of a table in the form of the output.
pub(crate) struct Written<'a> {
    pub(crate) matched: &'a Matched,
    /// The table's own columns in the output, by their positions; `None` for all.
    pub(crate) select: Option<&'a [usize]>,
}

/// The reason that rows were not written.
#[derive(Debug)]
pub enum Unwritten {
    /// They could not be read.
    Input(Error),
    /// They could not be written.
    Output(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Error> for Unwritten {
    fn from(error: Error) -> Self {
        Self::Input(error)
    }
}

/// The names of the columns added to a table's own.
pub(crate) struct AddedNames {
    /// The name of the first column, if rows have numbers.
    pub(crate) id: Option<String>,
    /// The names of the columns at the end.
    pub(crate) received: Vec<String>,
}

impl<'a> Written<'a> {
    /// Returns the rows in the order of the output.
    pub(crate) fn rows(&self) -> &'a [RowNumber] {
        &self.matched.rows
    }

    /// Returns the number of a row.
    pub(crate) fn id(&self, nth: usize) -> Option<u64> {
        self.matched.ids.as_ref().map(|ids| ids[nth])
    }

    /// Returns the received values of a row; none if no columns are received.
    ///
    /// # Errors
    /// As for [`Received::values`].
    pub(crate) fn received(&self, nth: usize) -> Result<Vec<Option<Cow<'a, str>>>> {
        let received = self.matched.received.as_ref();
        received.map_or(Ok(Vec::new()), |received| received.values(nth))
    }

    /// Whether no columns are added to the table's own.
    pub(crate) fn is_plain(&self) -> bool {
        self.matched.ids.is_none() && self.matched.received.is_none()
    }

    /// Whether the rows keep the order of the table.
    pub(crate) fn is_ascending(&self) -> bool {
        self.rows().is_sorted()
    }

    /// Returns the table's own columns in the output, for a table with this many.
    pub(crate) fn own(&self, columns: usize) -> Vec<usize> {
        self.select.map_or_else(|| (0..columns).collect(), <[usize]>::to_vec)
    }

    /// Returns names for the columns added to a table with these. A name that is taken gets a prefix.
    pub(crate) fn names(&self, table: &[String]) -> AddedNames {
        let column = self.matched.numbering.column();
        let id = self.matched.ids.as_ref().map(|_| append::name(table, column, "vesica_"));
        let taken: Vec<_> = table.iter().chain(&id).cloned().collect();
        let received = self.matched.received.as_ref();
        let received = received.map(|received| append::names(&taken, received.names()));
        AddedNames { id, received: received.unwrap_or_default() }
    }

    /// Returns the received values of these rows, column by column.
    ///
    /// # Errors
    /// As for [`Received::values`].
    pub fn received_columns(&self, rows: Range<usize>) -> Result<Vec<Vec<Option<Cow<'a, str>>>>> {
        let columns = self.matched.received.as_ref().map_or(0, |received| received.names().len());
        let mut values = vec![Vec::with_capacity(rows.len()); columns];
        for nth in rows {
            for (column, value) in values.iter_mut().zip(self.received(nth)?) {
                column.push(value);
            }
        }
        Ok(values)
    }

    /// Returns the type of this received column.
    pub(crate) fn received_type(&self, column: usize) -> SentType {
        let received = self.matched.received.as_ref();
        let kind = received.and_then(|received| received.types().get(column));
        kind.copied().unwrap_or_default()
    }

    /// Returns the output's schema for a table with this one.
    pub(crate) fn schema(&self, table: &Schema) -> Schema {
        let fields = table.fields();
        let names: Vec<_> = fields.iter().map(|field| field.name().clone()).collect();
        let added = self.names(&names);
        let id = added.id.map(|name| Field::new(name, DataType::Int64, false)).map(FieldRef::from);
        let own = self.own(fields.len()).into_iter().map(|column| fields[column].clone());
        let typed = |(nth, name): (usize, String)| {
            FieldRef::from(Field::new(name, self.received_type(nth).data_type(), true))
        };
        let received = added.received.into_iter().enumerate().map(typed);
        let fields: Vec<_> = id.into_iter().chain(own).chain(received).collect();
        Schema::new_with_metadata(fields, table.metadata().clone())
    }

    /// Returns the columns of these rows: the table's own and the added ones. `None` if the received values of a column
    /// exceed the limit of an array.
    ///
    /// # Errors
    /// As for [`Received::values`].
    pub fn columns(&self, rows: Range<usize>, own: &[ArrayRef]) -> Result<Option<Vec<ArrayRef>>> {
        let received = self.received_columns(rows.clone())?;
        let fits = |values: &Vec<Option<Cow<'_, str>>>| {
            values.iter().flatten().map(|value| value.len()).sum::<usize>() <= i32::MAX as usize
        };
        if !received.iter().all(fits) {
            return Ok(None);
        }
        let ids = self.matched.ids.as_ref().map(|ids| {
            let ids = ids[rows].iter().map(|id| *id as i64);
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef
        });
        let received = received.into_iter().enumerate();
        let received = received.map(|(nth, values)| self.received_type(nth).array(&values));
        Ok(Some(ids.into_iter().chain(own.iter().cloned()).chain(received).collect()))
    }
}

/// Returns these rows ascending and each once, and the position there of each of the given rows.
pub(crate) fn ascending(rows: &[RowNumber]) -> (Vec<RowNumber>, Vec<u32>) {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let place = |row: &RowNumber| sorted.partition_point(|other| other < row) as u32;
    let places = rows.iter().map(place).collect();
    (sorted, places)
}

#[cfg(test)]
mod tests {
    use arrow_array::RecordBatch;
    use arrow_ipc::writer::FileWriter;
    use parquet::arrow::ArrowWriter;

    use super::*;
    use crate::source::{Delimiter, Source};

    struct Tiers(Vec<String>);

    impl Received for Tiers {
        fn names(&self) -> &[String] {
            &self.0
        }

        fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
            Ok(vec![[Some("gold"), None, Some("")][nth].map(Cow::Borrowed); self.0.len()])
        }
    }

    #[test]
    fn rows_are_found_again_after_they_are_sorted() {
        let rows = [7, 3, 3, 9, 0, 7].map(RowNumber::new);
        let (sorted, places) = ascending(&rows);
        assert_eq!(sorted, [0, 3, 7, 9].map(RowNumber::new));
        assert_eq!(places.iter().map(|place| sorted[*place as usize]).collect::<Vec<_>>(), rows);
        assert_eq!(ascending(&[]), (vec![], vec![]));
    }

    #[test]
    fn added_columns_have_unique_names() {
        let tiers = ["tier", "match_id", "k"].map(str::to_owned).to_vec();
        let received: Option<Box<dyn Received>> = Some(Box::new(Tiers(tiers)));
        let matched = Matched {
            rows: [4, 1, 1].map(RowNumber::new).to_vec(),
            ids: Some(vec![1, 2, 2]),
            received,
            ..Matched::default()
        };
        let written = Written { matched: &matched, select: None };
        assert!(!written.is_plain() && !written.is_ascending());
        let names = written.names(&["k".to_owned(), "tier".to_owned()]);
        assert_eq!(names.id.unwrap(), "match_id");
        assert_eq!(names.received, ["peer_tier", "peer_match_id", "peer_k"]);
        let names = written.names(&["match_id".to_owned()]);
        assert_eq!(names.id.unwrap(), "vesica_match_id");
        let by_rules =
            Matched { ids: Some(vec![1]), numbering: Numbering::Rules, ..Matched::default() };
        let written = Written { matched: &by_rules, select: None };
        assert_eq!(written.names(&["k".to_owned()]).id.unwrap(), "match_rule");
        let written = Written { matched: &matched, select: None };
        let column = vec![None, Some("".into())];
        assert_eq!(
            written.received_columns(1..3).unwrap(),
            [column.clone(), column.clone(), column]
        );
    }

    /// Tests more rows than are sorted at a time, from the last to the first.
    #[test]
    fn many_rows_are_written_in_any_order() {
        const ROWS: i64 = (1 << 20) + 70_000;
        let field = Field::new("v", DataType::Int64, false);
        let column = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let table = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
        let schema = table.schema();
        let mut parquet = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut parquet, schema.clone(), None).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
        let mut arrow = Vec::new();
        let mut writer = FileWriter::try_new(&mut arrow, &schema).unwrap();
        (0..ROWS).step_by(100_000).for_each(|first| {
            let rows = 100_000.min(ROWS - first);
            writer.write(&table.slice(first as usize, rows as usize)).unwrap();
        });
        writer.finish().unwrap();
        drop(writer);
        let matched = Matched {
            rows: (0..ROWS as u64).rev().map(RowNumber::new).collect(),
            ids: Some((1..=ROWS as u64).collect()),
            ..Matched::default()
        };
        for input in [parquet, arrow] {
            let open = |bytes: Vec<u8>| {
                let source = Source::Memory { name: "t".into(), bytes };
                source.open(Delimiter::Comma).unwrap().read().unwrap()
            };
            let table = open(input).rows(|_| Ok(())).unwrap();
            let mut out = Vec::new();
            table.write(&matched, None, &mut out, |_| {}).unwrap();
            let scan = open(out);
            assert_eq!(scan.header().names(), ["match_id", "v"]);
            let mut expected = (1..=ROWS).zip((0..ROWS).rev());
            let table = scan.rows(|row| {
                let number = |column: usize| {
                    std::str::from_utf8(row.field(column)).unwrap().parse::<i64>().unwrap()
                };
                assert_eq!(Some((number(0), number(1))), expected.next());
                Ok(())
            });
            assert_eq!(table.unwrap().len(), ROWS as u64);
        }
    }
}
