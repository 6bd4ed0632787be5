//! The columns of a side that a query uses: the numbers that each row contributes, and the label of its key.
//!
//! Each row contributes the same number of [`Slot`]s. A row that the side's own filter leaves out contributes zeros. A
//! key adds up the numbers of its rows; all of its rows must have the same label. If the other side's day selects one
//! of a key's rows, these contribute their labels and days instead ([`Touches`]).

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_core::error::{InputFault, Result};
use vesica_normalize::shown::is_plain;
use vesica_select::{
    ColumnKind, ColumnRef, Date, Datum, Declaration, Declared, FixedPoint, Keys, Label, LabelShape,
    LabelValues, Period, Predicate, Range, Select, Shape, Side, Summand,
};
use vesica_table::{row::Row, rows::Scan};
use zeroize::Zeroizing;

use crate::{numbers::parse, touches::Touches};

/// The maximum length of a private label, in bytes.
pub const MAX_LABEL: usize = 64;

/// A number that a row contributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// 1 more than the number of the row's label, counted in the order in which labels were found.
    Label,
    /// 1.
    Row,
    /// 1 if none of these columns is null.
    Present(Vec<String>),
    /// The value of a column, or 0 if it is null.
    Value(String),
    /// The product of the values of two columns.
    Product(String, String),
    /// The number of the day of a column in the period of its days.
    Day(String, Period),
    /// One of the numbers of [`Touches`].
    Touch(usize),
}

impl Slot {
    /// Returns whether the slot is a number of a sum.
    pub fn is_summand(&self) -> bool {
        !matches!(self, Self::Label | Self::Day(..) | Self::Touch(_))
    }

    /// Returns the column that messages about it name; empty for one without a column. `None` for one that is not added
    /// up.
    pub(crate) fn column(&self) -> Option<String> {
        match self {
            Self::Label | Self::Day(..) | Self::Touch(_) => None,
            Self::Row => Some(String::new()),
            Self::Present(columns) => Some(columns.first().cloned().unwrap_or_default()),
            Self::Value(column) | Self::Product(column, _) => Some(column.clone()),
        }
    }
}

/// The columns of a side that a query uses.
#[derive(Debug)]
pub struct QueryColumns {
    /// Each column once.
    columns: Vec<QueryColumn>,
    filter: Option<Predicate>,
    labels: Vec<LabelColumn>,
    slots: Vec<Slot>,
    keys: Keys,
    touches: Option<Touches>,
}

/// A column that a query uses.
#[derive(Debug)]
struct QueryColumn {
    declaration: Declaration,
    /// The labels that the declaration lists, if it does.
    listed: HashSet<String>,
}

impl QueryColumn {
    fn new(declaration: &Declaration) -> Self {
        let listed = match declaration.kind() {
            ColumnKind::PublicLabels { labels, .. } => labels.iter().cloned().collect(),
            _ => HashSet::new(),
        };
        Self { declaration: declaration.clone(), listed }
    }

    fn name(&self) -> &str {
        self.declaration.name()
    }
}

/// A label of this side.
#[derive(Debug)]
struct LabelColumn {
    label: Label,
    shape: LabelShape,
    /// The number of each label: all public ones, and the private ones that were found so far.
    numbers: RwLock<HashMap<String, u32>>,
}

impl LabelColumn {
    fn count(&self) -> u32 {
        self.shape.count() as u32
    }

    fn new(label: &Label, shape: &LabelShape) -> Self {
        let numbers = match &shape.values {
            LabelValues::Public(labels) => labels.iter().cloned().zip(0..).collect(),
            LabelValues::Private { .. } => HashMap::new(),
        };
        Self { label: label.clone(), shape: shape.clone(), numbers: RwLock::new(numbers) }
    }

    /// Returns the number of a label; `None` if it is not declared, or one too many.
    fn number(&self, label: &str) -> Option<u32> {
        let known = self.numbers.read().unwrap_or_else(PoisonError::into_inner).get(label).copied();
        let LabelValues::Private { most } = self.shape.values else { return known };
        known.or_else(|| {
            let mut numbers = self.numbers.write().unwrap_or_else(PoisonError::into_inner);
            let next = numbers.len() as u32;
            // Another thread may have found it meanwhile.
            match numbers.get(label) {
                None if next == most => None,
                None => {
                    numbers.insert(label.to_owned(), next);
                    Some(next)
                }
                known => known.copied(),
            }
        })
    }
}

impl QueryColumns {
    /// Determines the contributions of a side's rows to a query that fits its declarations.
    pub fn new(select: &Select, shape: &Shape, side: Side, declared: &Declared) -> Self {
        let used = select.columns(side);
        let columns = used
            .iter()
            .filter_map(|used| declared.column(used.name))
            .map(QueryColumn::new)
            .collect();
        let labels = select.labels().iter().zip(&shape.labels);
        let labels: Vec<_> = labels
            .filter(|(_, shape)| shape.side == side)
            .map(|(label, shape)| LabelColumn::new(label, shape))
            .collect();
        let (filter, keys) = (select.filter(side).cloned(), declared.keys());
        let touches = shape.latest.as_ref().filter(|latest| latest.earlier == side);
        let touches = touches.map(|latest| Touches::new(latest, filter.is_some()));
        if let Some(touches) = touches {
            let slots = (0..touches.len()).map(Slot::Touch).collect();
            return Self { columns, filter, labels, slots, keys, touches: Some(touches) };
        }
        let mut slots = Vec::new();
        if !labels.is_empty() {
            slots.push(Slot::Label);
        }
        if filter.is_some() || keys == Keys::Repeats {
            slots.push(Slot::Row);
        }
        if let (Some(as_of), Some(latest)) = (select.as_of(), &shape.latest) {
            slots.push(Slot::Day(as_of.date(side).name, latest.period));
        }
        let mut made = Self { columns, filter, labels, slots, keys, touches };
        for sum in &shape.sums {
            for slot in made.factors(&sum.summand, side) {
                if !made.slots.contains(&slot) {
                    made.slots.push(slot);
                }
            }
        }
        made
    }

    /// Returns the slots whose product is this side's part of a summand: none, one or two.
    pub fn factors(&self, summand: &Summand, side: Side) -> Vec<Slot> {
        let own = |column: &ColumnRef| (column.side == side).then(|| column.name.clone());
        // A look-up finds at most one row of a key.
        let repeats = self.keys == Keys::Repeats && self.touches.is_none();
        let rows = || if repeats { vec![Slot::Row] } else { Vec::new() };
        match summand {
            Summand::Key => Vec::new(),
            Summand::Row => rows(),
            Summand::Present(columns) => match columns.iter().filter_map(own).collect::<Vec<_>>() {
                none if none.is_empty() => rows(),
                columns => vec![Slot::Present(columns)],
            },
            Summand::Product(factors) => {
                let own: Vec<_> = factors.iter().filter_map(|factor| own(&factor.column)).collect();
                match &own[..] {
                    [] => rows(),
                    // Each row has a product of its own.
                    [one, other] if repeats => vec![Slot::Product(one.clone(), other.clone())],
                    values => values.iter().cloned().map(Slot::Value).collect(),
                }
            }
        }
    }

    /// Returns the names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(QueryColumn::name).collect()
    }

    /// Returns the numbers that each row contributes.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the place of a slot.
    pub fn place(&self, slot: &Slot) -> Option<usize> {
        self.slots.iter().position(|known| known == slot)
    }

    /// Returns the place of a slot among those that are numbers of sums.
    pub fn number(&self, slot: &Slot) -> Option<usize> {
        self.slots.iter().filter(|slot| slot.is_summand()).position(|known| known == slot)
    }

    /// Returns the layout of a key's labels and days, if the other side's day selects one of its rows.
    pub fn touches(&self) -> Option<Touches> {
        self.touches
    }

    /// Returns whether rows are selected by a filter.
    pub fn filters(&self) -> bool {
        self.filter.is_some()
    }

    /// Returns whether the keys of this side are unique.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// Returns the declared bounds of a slot.
    pub fn range(&self, slot: &Slot) -> Option<Range> {
        let Slot::Value(name) = slot else { return None };
        let column = self.columns.iter().find(|column| column.name() == name)?;
        match column.declaration.kind() {
            ColumnKind::Number { range, .. } => *range,
            _ => None,
        }
    }

    /// Returns the number of labels that only this side knows.
    pub fn private_labels(&self) -> usize {
        let private =
            |label: &&LabelColumn| matches!(label.shape.values, LabelValues::Private { .. });
        self.labels.iter().filter(private).count()
    }

    /// Numbers the groups. The numbers of private labels follow from the secret and the set of labels that were found.
    pub fn groups(&self, secret: &[u8; 32]) -> Groups {
        let labels =
            (0..).zip(&self.labels).map(|(number, label)| Numbered::new(label, number, secret));
        Groups { labels: labels.collect() }
    }
}

/// The numbers of the groups of a query, for the side that has the labels.
#[derive(Debug)]
pub struct Groups {
    labels: Vec<Numbered>,
}

/// The numbers of a label's values.
struct Numbered {
    count: u32,
    /// The number of each value in the order of finding.
    numbers: Vec<u32>,
    /// The text of each number; `None` for null, and for numbers without a value.
    texts: Vec<Option<String>>,
    is_private: bool,
}

impl fmt::Debug for Numbered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Numbered").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Numbered {
    fn new(label: &LabelColumn, number: u32, secret: &[u8; 32]) -> Self {
        let count = label.count();
        let mut texts = vec![None; count as usize];
        let mut numbers: Vec<u32> = (0..count).collect();
        let is_private = match &label.shape.values {
            LabelValues::Public(labels) => {
                labels.iter().zip(&mut texts).for_each(|(label, text)| *text = Some(label.clone()));
                false
            }
            LabelValues::Private { most } => {
                let found = label.numbers.read().unwrap_or_else(PoisonError::into_inner);
                let mut found: Vec<_> = found.iter().collect();
                found.sort_unstable();
                let mut order: Vec<u32> = (0..*most).collect();
                let mut hasher = blake3::Hasher::new_keyed(secret);
                hasher.update(b"vesica 1 numbers of labels").update(&number.to_le_bytes());
                let seed = Zeroizing::new(*hasher.finalize().as_bytes());
                order.shuffle(&mut StdRng::from_seed(*seed));
                for ((text, place), number) in found.into_iter().zip(order) {
                    numbers[*place as usize] = number;
                    texts[number as usize] = Some(text.clone());
                }
                true
            }
        };
        Self { count, numbers, texts, is_private }
    }
}

impl Groups {
    /// Returns the number of groups.
    pub fn count(&self) -> usize {
        self.labels.iter().map(|label| label.count as usize).product()
    }

    /// Returns the group of a key from its [`Slot::Label`]; the first one for a key without a row that passes.
    pub fn of(&self, slot: i64) -> u32 {
        let Ok(mut code) = u32::try_from(slot - 1) else { return 0 };
        let (mut group, mut step) = (0, 1);
        for label in self.labels.iter().rev() {
            group += step * label.numbers[(code % label.count) as usize];
            code /= label.count;
            step *= label.count;
        }
        group
    }

    /// Returns the labels of a group; `None` for null.
    pub fn labels(&self, group: usize) -> Vec<Option<String>> {
        let places = self.places(group);
        self.labels.iter().zip(places).map(|(label, place)| label.texts[place].clone()).collect()
    }

    /// Returns the private labels of all groups, for a side that learns which groups are shown: for each a byte with
    /// its length, or 0 for null, and the text, filled up with zeros.
    pub fn private_texts(&self) -> Vec<u8> {
        let mut texts = Vec::new();
        for group in 0..self.count() {
            for (label, place) in self.labels.iter().zip(self.places(group)) {
                if label.is_private {
                    let mut bytes = [0; 1 + MAX_LABEL];
                    if let Some(text) = &label.texts[place] {
                        bytes[0] = text.len() as u8;
                        bytes[1..=text.len()].copy_from_slice(text.as_bytes());
                    }
                    texts.extend_from_slice(&bytes);
                }
            }
        }
        texts
    }

    fn places(&self, group: usize) -> Vec<usize> {
        places_in(self.labels.iter().map(|label| label.count as usize), group)
    }
}

/// Returns the place of a group's label in each column of labels, from the numbers of labels.
pub fn places_in(counts: impl DoubleEndedIterator<Item = usize>, mut group: usize) -> Vec<usize> {
    let place = |count: usize| {
        let place = group % count;
        group /= count;
        place
    };
    let mut places: Vec<_> = counts.rev().map(place).collect();
    places.reverse();
    places
}

/// The columns of a query, found in a table's header.
#[derive(Clone)]
pub(super) struct QueryReader {
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
    pub(super) fn new(scan: &Scan, columns: Arc<QueryColumns>) -> Result<Option<Self>> {
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
    pub(super) fn of(&mut self, row: &Row<'_>, numbers: &mut Vec<i64>) -> Result<()> {
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
