//! The answer to a query: the groups that are shown, and the table that a learning side writes.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use vesica_keyset::query_columns::{Groups, MAX_LABEL, places_in};
use vesica_net::Channel;
use vesica_normalize::shown::is_plain;
use vesica_psi::select::{OpenedCell, OpenedCells};
use vesica_select::{
    CELL, ColumnKind, Formula, Label, LabelShape, LabelValues, MORE_PLACES, SelectItem, Shape,
    Side, Width,
};
use vesica_table::results::{ResultColumn, ResultTable, ResultValues};

use super::{Selection, plan::Route};
use crate::outcome::CellCounts;

const TOLD: &str = "answer/told";

/// The most bytes of a row of an answer on the wire, beside its labels and numbers.
const MAX_FRAME: usize = 64;

/// The most bytes of a number on the wire.
const MAX_NUMBER: usize = 48;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShownGroups {
    rows: Vec<ShownRow>,
}

/// A row of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownRow {
    cell: CellKind,
    /// The labels, `None` for null; none in the remainder.
    labels: Vec<Option<String>>,
    /// The sums of the query; none of a suppressed group.
    sums: Vec<WideNumber>,
}

/// The treatment of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CellKind {
    Shown,
    Suppressed,
    Remainder,
    /// The only row of a query without groups, if no key is shared.
    Empty,
}

impl fmt::Display for CellKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shown | Self::Empty => "shown",
            Self::Suppressed => "suppressed",
            Self::Remainder => "remainder",
        })
    }
}

/// A number of up to 128 bits, which is text in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WideNumber(i128);

impl Serialize for WideNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WideNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

impl ShownGroups {
    /// Reads the cells on the side that learns them first: with its own groups, or with texts for the private labels.
    /// Returns `None` for texts that are not labels.
    pub(crate) fn of(
        opened: &OpenedCells,
        selection: &Selection,
        shape: &Shape,
        route: &Route,
        groups: Option<&Groups>,
    ) -> Option<Self> {
        let select = selection.select();
        let sums = |cell: &OpenedCell| {
            let sums = route.sums(cell.count.unwrap_or(0), &cell.sums);
            sums.into_iter().map(WideNumber).collect()
        };
        let row =
            |cell: &OpenedCell, kind, labels| ShownRow { cell: kind, labels, sums: sums(cell) };
        let mut rows = Vec::new();
        for (group, cell) in opened.cells.iter().enumerate() {
            let labels = |text| labels(shape, route, group, groups, text);
            match cell {
                Some(cell) => {
                    rows.push(row(cell, CellKind::Shown, labels(Some(&cell.text))?));
                }
                None if select.labels().is_empty() && select.least() == 0 => {
                    let sums = vec![0; route.plan.terms.len()];
                    let nothing = OpenedCell { sums, ..OpenedCell::default() };
                    rows.push(row(&nothing, CellKind::Empty, Vec::new()));
                }
                None if select.least() > 0 && !selection.has_private_labels() => {
                    let (labels, sums) = (labels(None)?, Vec::new());
                    rows.push(ShownRow { cell: CellKind::Suppressed, labels, sums });
                }
                None => {}
            }
        }
        // The numbers of private labels say nothing, and cells are not in the order of the query's labels.
        rows.sort_by_cached_key(|row| row.rank(shape));
        if let Some(cell) = &opened.remainder {
            rows.push(row(cell, CellKind::Remainder, Vec::new()));
        }
        Some(Self { rows })
    }

    /// Sends the answer to the other side, which learns it too. Spaces at its end make all answers to a query equally
    /// long.
    ///
    /// # Errors
    /// Any error of the connection.
    pub(crate) fn tell(&self, shape: &Shape, channel: &mut Channel) -> vesica_psi::Result<()> {
        channel.phase("reveal");
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.resize(bytes.len().max(told_len(shape)), b' ');
        channel.send(TOLD, &bytes)?;
        Ok(channel.flush()?)
    }

    /// Receives the answer from the side that learned it. That side may send any answer.
    ///
    /// # Errors
    /// A deviation if the message is not an answer to the query.
    pub(crate) fn learn(
        selection: &Selection,
        shape: &Shape,
        channel: &mut Channel,
    ) -> vesica_psi::Result<Self> {
        channel.phase("reveal");
        let bytes = channel.recv_len(TOLD, told_len(shape))?;
        let answer: Option<Self> = serde_json::from_slice(&bytes).ok();
        let answer = answer.filter(|answer| answer.is_sound(selection, shape));
        Ok(answer.ok_or_else(|| channel.malformed(TOLD, "not an answer to the query"))?)
    }

    fn is_sound(&self, selection: &Selection, shape: &Shape) -> bool {
        let is_label = |label: &LabelShape, text: &Option<String>| match (text, &label.values) {
            (None, _) => label.is_nullable,
            (Some(text), LabelValues::Public(labels)) => labels.contains(text),
            (Some(text), LabelValues::Private { .. }) => text.len() <= MAX_LABEL && is_plain(text),
        };
        let is_sound = |row: &ShownRow| {
            let expected = if row.cell == CellKind::Remainder { 0 } else { shape.labels.len() };
            let sums = if row.cell == CellKind::Suppressed { 0 } else { shape.sums.len() };
            let mut labels = shape.labels.iter().zip(&row.labels);
            row.labels.len() == expected
                && row.sums.len() == sums
                && labels.all(|(label, text)| is_label(label, text))
        };
        let remainders = self.rows.iter().filter(|row| row.cell == CellKind::Remainder).count();
        self.rows.len() - remainders <= shape.groups as usize
            && remainders <= usize::from(selection.select().has_remainder())
            && self.rows.iter().all(is_sound)
    }

    /// Returns the number of rows that are shown, and of groups of public labels that are not.
    pub(crate) fn counts(&self) -> CellCounts {
        let suppressed = self.rows.iter().filter(|row| row.cell == CellKind::Suppressed).count();
        CellCounts { shown: (self.rows.len() - suppressed) as u64, suppressed: suppressed as u64 }
    }

    /// Returns the table: the items of the query, and for one with a minimum by group whether each group is shown. This
    /// side has the table with the letter `own`.
    pub(crate) fn table(
        &self,
        selection: &Selection,
        shape: &Shape,
        own: Side,
        is_noisy: bool,
    ) -> ResultTable {
        let select = selection.select();
        // The only row of a query without groups is not shown if there are too few keys, as in SQL.
        let is_shown =
            |row: &&ShownRow| row.cell != CellKind::Suppressed || !select.labels().is_empty();
        let rows: Vec<_> = self.rows.iter().filter(is_shown).collect();
        let numbers: Vec<Option<Vec<_>>> = rows.iter().map(|row| row.numbers(shape)).collect();
        let mut aggregate = 0;
        let values = |item: &SelectItem| match item {
            SelectItem::Label { label, .. } => label_of(&rows, selection, *label),
            SelectItem::Aggregate { .. } => {
                let nth = aggregate;
                aggregate += 1;
                let of = |row: &Option<Vec<Option<_>>>| row.as_ref().and_then(|row| row[nth]);
                values_of(&shape.results[nth], shape, is_noisy, numbers.iter().map(of))
            }
        };
        let values: Vec<_> = select.items().iter().map(values).collect();
        let is_received = |item: &SelectItem| match item {
            SelectItem::Label { label, .. } => select.labels()[*label].column().side != own,
            SelectItem::Aggregate { .. } => false,
        };
        let columns = select.headings().into_iter().zip(values).zip(select.items());
        let column = |((name, values), item)| {
            let is_received = is_received(item);
            ResultColumn { name, values, is_received }
        };
        let mut columns: Vec<_> = columns.map(column).collect();
        if select.least() > 0 && !select.labels().is_empty() {
            let kinds = rows.iter().map(|row| Some(row.cell.to_string())).collect();
            let name = CELL.to_owned();
            let values = ResultValues::Text(kinds);
            columns.push(ResultColumn { name, values, is_received: false });
        }
        ResultTable { columns }
    }
}

/// Returns the length of an answer on the wire.
fn told_len(shape: &Shape) -> usize {
    let label = |label: &LabelShape| match &label.values {
        LabelValues::Public(labels) => labels.iter().map(String::len).max().unwrap_or(0),
        LabelValues::Private { .. } => MAX_LABEL,
    };
    // JSON takes up to six bytes for one.
    let labels: usize = shape.labels.iter().map(|shape| 8 + 6 * label(shape)).sum();
    let row = MAX_FRAME + labels + MAX_NUMBER * shape.sums.len();
    MAX_FRAME + row * (shape.groups as usize + 1)
}

/// Returns the values of a label: numbers of buckets, truth values, or texts.
fn label_of(rows: &[&ShownRow], selection: &Selection, number: usize) -> ResultValues {
    let label = &selection.select().labels()[number];
    let column = label.column();
    let declared = selection.declared(column.side).and_then(|all| all.column(&column.name));
    let is_boolean = declared.is_some_and(|one| *one.kind() == ColumnKind::Boolean);
    let texts = rows.iter().map(|row| row.labels.get(number).cloned().flatten());
    match label {
        Label::Bucket { .. } => {
            ResultValues::Integer(texts.map(|text| text?.parse().ok()).collect())
        }
        Label::Column(_) if is_boolean => {
            ResultValues::Boolean(texts.map(|text| text?.parse().ok()).collect())
        }
        Label::Column(_) => ResultValues::Text(texts.collect()),
    }
}

impl ShownRow {
    /// Returns the place among the rows: labels in the order of their list or of their texts, and null last.
    fn rank(&self, shape: &Shape) -> Vec<(bool, usize, String)> {
        let rank = |(label, shape): (&Option<String>, &LabelShape)| {
            let text = label.clone().unwrap_or_default();
            let place = match &shape.values {
                LabelValues::Public(labels) => labels.iter().position(|known| *known == text),
                LabelValues::Private { .. } => None,
            };
            (label.is_none(), place.unwrap_or(0), text)
        };
        self.labels.iter().zip(&shape.labels).map(rank).collect()
    }

    /// Returns the aggregates; `None` for a suppressed group.
    fn numbers(&self, shape: &Shape) -> Option<Vec<Option<vesica_select::FixedPoint>>> {
        if self.cell == CellKind::Suppressed {
            return None;
        }
        let sums: Vec<_> = self.sums.iter().map(|sum| sum.0).collect();
        let mut numbers = shape.aggregates(&sums);
        if self.cell == CellKind::Empty {
            for (number, result) in numbers.iter_mut().zip(&shape.results) {
                if !matches!(result, Formula::Count { .. }) {
                    *number = None;
                }
            }
        }
        Some(numbers)
    }
}

/// Returns the labels of a cell. The side with the table knows its own from its groups. The other side knows them from
/// their numbers, and private ones from their texts: without texts they are null.
fn labels(
    shape: &Shape,
    route: &Route,
    cell: usize,
    groups: Option<&Groups>,
    texts: Option<&[u8]>,
) -> Option<Vec<Option<String>>> {
    let of = |side| shape.labels.iter().filter(|label| label.side == side).collect::<Vec<_>>();
    let of_table = cell / route.plan.other_groups;
    let mut table = match groups {
        Some(groups) => groups.labels(of_table),
        None => decoded(&of(route.table), of_table, texts)?,
    }
    .into_iter();
    let mut others =
        decoded(&of(route.table.other()), cell % route.plan.other_groups, None)?.into_iter();
    let next = |label: &LabelShape| match label.side == route.table {
        true => table.next(),
        false => others.next(),
    };
    shape.labels.iter().map(next).collect()
}

/// Returns the labels of a group of a side by its number, and private ones from their texts.
fn decoded(
    shapes: &[&LabelShape],
    group: usize,
    texts: Option<&[u8]>,
) -> Option<Vec<Option<String>>> {
    let places = places_in(shapes.iter().map(|shape| shape.count() as usize), group);
    let mut texts = texts.unwrap_or_default().chunks_exact(1 + MAX_LABEL);
    let label = |(shape, place): (&&LabelShape, usize)| match &shape.values {
        LabelValues::Public(labels) => Some(labels.get(place).cloned()),
        LabelValues::Private { .. } => {
            let (len, text) = texts.next()?.split_first()?;
            let text = std::str::from_utf8(text.get(..usize::from(*len))?).ok()?;
            // The other side made it.
            let text = Some(text).filter(|text| is_plain(text))?;
            Some(Some(text.to_owned()).filter(|text| !text.is_empty()))
        }
    };
    shapes.iter().zip(places).map(label).collect()
}

/// Returns the values of an aggregate, in the type that follows from the query.
fn values_of(
    formula: &Formula,
    shape: &Shape,
    is_noisy: bool,
    numbers: impl Iterator<Item = Option<vesica_select::FixedPoint>>,
) -> ResultValues {
    let sum = |sum: usize| (shape.sums[sum].scale, shape.sums[sum].width);
    let scale = match *formula {
        Formula::Count { .. } => None,
        Formula::Sum { sum: number, .. } => match sum(number) {
            // Noise may be larger than any sum.
            (0, Width::W32 | Width::W64) if !is_noisy => None,
            (scale, _) => Some(scale),
        },
        Formula::Mean { sum: number, .. } | Formula::Variance { sum: number, .. } => {
            Some(sum(number).0 + MORE_PLACES)
        }
    };
    match scale {
        None => ResultValues::Integer(
            numbers.map(|number| i64::try_from(number?.number()).ok()).collect(),
        ),
        Some(scale) => {
            ResultValues::Decimal(scale, numbers.map(|number| Some(number?.number())).collect())
        }
    }
}
