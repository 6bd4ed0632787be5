//! The numbers that a row contributes, read from its fields.

use std::sync::Arc;

use vesica_core::error::{InputFault, Result};
use vesica_normalize::shown::is_plain;
use vesica_select::{ColumnKind, Date, Datum, FixedPoint, LabelValues, Period};
use vesica_table::{row::Row, rows::Scan};

use super::{LabelColumn, MAX_LABEL, QueryColumn, QueryColumns, Slot};
use crate::numbers::parse;

/// The columns of a query, found in a table's header.
#[derive(Clone)]
pub(crate) struct QueryReader {
    columns: Arc<QueryColumns>,
    positions: Vec<usize>,
    /// The places of columns in slots and labels.
    slots: Vec<PlacedSlot>,
    labels: Vec<usize>,
    /// The place of the column of dates, if there is one.
    date: Option<usize>,
    /// The numbers of a row's columns; `None` for null, and 0 for other types.
    values: Vec<Option<i64>>,
}

/// A slot with the places of its columns.
#[derive(Clone)]
enum PlacedSlot {
    Label,
    Row,
    Present(Vec<usize>),
    Value(usize),
    Product(usize, usize),
    Day(usize, Period),
    /// A part of a key's labels and days.
    Touch,
}

impl QueryReader {
    /// Finds the columns; `None` in a table without even a header.
    ///
    /// # Errors
    /// [`InputFault::NoColumn`], [`InputFault::AmbiguousColumn`] and [`InputFault::ColumnType`].
    pub(crate) fn new(scan: &Scan, columns: Arc<QueryColumns>) -> Result<Option<Self>> {
        if scan.header().is_missing() {
            return Ok(None);
        }
        let positions = scan.find(&columns.names())?;
        let place = |name: &str| columns.columns.iter().position(|column| column.name() == name);
        let place = |name: &String| place(name).unwrap_or_default();
        let slot = |slot: &Slot| match slot {
            Slot::Day(name, period) => PlacedSlot::Day(place(name), *period),
            Slot::Touch(_) => PlacedSlot::Touch,
            Slot::Label => PlacedSlot::Label,
            Slot::Row => PlacedSlot::Row,
            Slot::Present(names) => PlacedSlot::Present(names.iter().map(place).collect()),
            Slot::Value(name) => PlacedSlot::Value(place(name)),
            Slot::Product(one, other) => PlacedSlot::Product(place(one), place(other)),
        };
        let slots = columns.slots.iter().map(slot).collect();
        let labels = columns.labels.iter().map(|label| place(&label.label.column().name)).collect();
        let is_date =
            |column: &QueryColumn| matches!(column.declaration.kind(), ColumnKind::Date { .. });
        let date = columns.columns.iter().position(is_date);
        Ok(Some(Self { columns, positions, slots, labels, date, values: Vec::new() }))
    }

    /// Appends a row's numbers.
    ///
    /// # Errors
    /// [`InputFault::NotANumber`], [`InputFault::NotABoolean`], [`InputFault::NotUtf8`],
    /// [`InputFault::UndeclaredNull`], [`InputFault::UndeclaredLabel`], [`InputFault::TooManyLabels`],
    /// [`InputFault::LongLabel`], [`InputFault::HiddenLabel`], [`InputFault::NotADate`], [`InputFault::OutsidePeriod`]
    /// and [`InputFault::SumTooLarge`].
    pub(crate) fn of(&mut self, row: &Row<'_>, numbers: &mut Vec<i64>) -> Result<()> {
        let Self { columns, positions, slots, labels, date, values } = self;
        let mut data = Vec::with_capacity(positions.len());
        values.clear();
        for (column, position) in columns.columns.iter().zip(positions) {
            let datum = datum(column, row, *position)?;
            let value = match datum {
                Some(Datum::Number(number)) => i64::try_from(number.number()).ok(),
                Some(Datum::Boolean(_) | Datum::Text(_)) => Some(0),
                None => None,
            };
            values.push(value);
            data.push(datum);
        }
        let by_name =
            |name: &str| data[columns.columns.iter().position(|column| column.name() == name)?];
        let passes =
            columns.filter.as_ref().is_none_or(|filter| filter.holds(&by_name) == Some(true));
        let mut label = || -> Result<i64> {
            let mut code = 0;
            for (label, place) in columns.labels.iter().zip(&mut *labels) {
                let number = label_of(label, data[*place], row)?;
                code = code * i64::from(label.count()) + i64::from(number);
            }
            Ok(code)
        };
        if let Some(touches) = columns.touches {
            let day = date.map_or(0, |place| values[place].unwrap_or(0));
            let label = if passes { Some(label()?) } else { None };
            touches.of_row(day as i32, label, numbers);
            return Ok(());
        }
        if !passes {
            numbers.extend(slots.iter().map(|_| 0));
            return Ok(());
        }
        for slot in slots {
            numbers.push(match slot {
                PlacedSlot::Label => label()? + 1,
                PlacedSlot::Row => 1,
                PlacedSlot::Present(places) => {
                    places.iter().all(|place| values[*place].is_some()).into()
                }
                PlacedSlot::Value(place) => values[*place].unwrap_or(0),
                PlacedSlot::Product(one, other) => {
                    let [a, b] = [*one, *other].map(|place| values[place].unwrap_or(0));
                    a.checked_mul(b).ok_or_else(|| {
                        let column = columns.columns[*one].name().to_owned();
                        row.fault(InputFault::SumTooLarge { place: row.place(), column })
                    })?
                }
                PlacedSlot::Day(place, period) => {
                    let days = values[*place].unwrap_or(0) - i64::from(period.first.number());
                    if !(0..i64::from(period.days())).contains(&days) {
                        let column = columns.columns[*place].name().to_owned();
                        return Err(row.fault(InputFault::OutsidePeriod {
                            place: row.place(),
                            column,
                            days: format!("from {} to {}", period.first, period.last).into(),
                        }));
                    }
                    days
                }
                PlacedSlot::Touch => 0,
            });
        }
        Ok(())
    }
}

/// Reads a value; an empty one is null.
fn datum<'a>(column: &QueryColumn, row: &Row<'a>, position: usize) -> Result<Option<Datum<'a>>> {
    let QueryColumn { declaration, listed } = column;
    // Finding the place takes as long as the text before it.
    let (place, name) = (|| row.place(), || column.name().to_owned());
    let bytes = row.field(position);
    let trimmed = bytes.trim_ascii();
    let is_text = matches!(
        declaration.kind(),
        ColumnKind::Text | ColumnKind::Label { .. } | ColumnKind::PublicLabels { .. }
    );
    if if is_text { bytes } else { trimmed }.is_empty() {
        return match declaration.is_nullable() {
            true => Ok(None),
            false => Err(row.fault(InputFault::UndeclaredNull { place: place(), column: name() })),
        };
    }
    let text = |bytes| {
        let fault = || row.fault(InputFault::NotUtf8 { place: place(), column: name() });
        std::str::from_utf8(bytes).map_err(|_| fault())
    };
    Ok(Some(match declaration.kind() {
        ColumnKind::Number { scale, .. } => {
            let number = text(trimmed)?;
            let number = parse(number, *scale).ok_or_else(|| {
                let scale = *scale;
                row.fault(InputFault::NotANumber { place: place(), column: name(), scale })
            })?;
            Datum::Number(FixedPoint::new(number.into(), *scale))
        }
        ColumnKind::Boolean => match &*text(trimmed)?.to_ascii_lowercase() {
            "true" | "t" | "1" | "yes" | "y" => Datum::Boolean(true),
            "false" | "f" | "0" | "no" | "n" => Datum::Boolean(false),
            _ => {
                let fault = InputFault::NotABoolean { place: place(), column: name() };
                return Err(row.fault(fault));
            }
        },
        ColumnKind::Date { .. } => match date_of(text(trimmed)?) {
            Some(date) => Datum::Number(FixedPoint::new(date.number().into(), 0)),
            None => {
                return Err(row.fault(InputFault::NotADate { place: place(), column: name() }));
            }
        },
        ColumnKind::PublicLabels { .. } => {
            let label = text(bytes)?;
            if !listed.contains(label) {
                let fault = InputFault::UndeclaredLabel { place: place(), column: name() };
                return Err(row.fault(fault));
            }
            Datum::Text(label)
        }
        ColumnKind::Text | ColumnKind::Label { .. } => Datum::Text(text(bytes)?),
    }))
}

/// Returns the day of a date, or of a date with a time of day.
fn date_of(text: &str) -> Option<Date> {
    let (date, time) = text.split_at_checked(10)?;
    let has_time =
        time.starts_with(['T', ' ']) && time[1..].starts_with(|c: char| c.is_ascii_digit());
    if time.is_empty() || has_time { date.parse().ok() } else { None }
}

/// Returns the number of a row's label; null is the last one.
fn label_of(label: &LabelColumn, value: Option<Datum<'_>>, row: &Row<'_>) -> Result<u32> {
    let Some(text) = label.label.of(value) else { return Ok(label.count() - 1) };
    let (place, column) = (|| row.place(), || label.label.column().name.clone());
    let most = match label.shape.values {
        LabelValues::Private { most } => most,
        LabelValues::Public(_) => 0,
    };
    if most > 0 && text.len() > MAX_LABEL {
        let fault = InputFault::LongLabel { place: place(), column: column(), max: MAX_LABEL };
        return Err(row.fault(fault));
    }
    // A label may travel to the other side, which shows it.
    if most > 0 && !is_plain(&text) {
        let fault = InputFault::HiddenLabel { place: place(), column: column() };
        return Err(row.fault(fault));
    }
    label.number(&text).ok_or_else(|| {
        row.fault(InputFault::TooManyLabels { place: place(), column: column(), most })
    })
}
