//! The columns of a side that a query uses: the numbers that each row contributes, and the label of its key.
//!
//! Each row contributes the same number of [`Slot`]s. A row that the side's own filter leaves out contributes zeros. A
//! key adds up the numbers of its rows; all of its rows must have the same label. If each row is joined with the latest
//! earlier one of the other side, a key keeps the numbers of each of its rows that pass. If the other side's day
//! selects one of a key's rows, these contribute their labels and days instead ([`Touches`]).

pub(crate) mod reader;

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::{PoisonError, RwLock},
};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_select::{
    ColumnKind, ColumnRef, Declaration, Declared, Keys, Label, LabelShape, LabelValues, Period,
    Predicate, Range, Select, Shape, Side, Summand,
};
use zeroize::Zeroizing;

use crate::touches::Touches;

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
    /// The most rows of a key that each keep their numbers; 1 if they are added up.
    rows: usize,
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
            return Self { columns, filter, labels, slots, keys, rows: 1, touches: Some(touches) };
        }
        let rows = shape.latest.map_or(1, |latest| latest.rows as usize);
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
        let mut made = Self { columns, filter, labels, slots, keys, rows, touches };
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
        let is_added_up = repeats && self.rows == 1;
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
                    [one, other] if is_added_up => {
                        vec![Slot::Product(one.clone(), other.clone())]
                    }
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

    /// Returns the most rows of a key that each keep their numbers; 1 if they are added up.
    pub fn rows(&self) -> usize {
        self.rows
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
