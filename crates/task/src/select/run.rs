//! A side's part in answering a query: on whole sets, and on partitions.

use std::{borrow::Cow, fmt, sync::Arc};

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::{
    key_rows::KeyRows,
    partitions::{Partition, Partitions},
    query_columns::{Groups, Slot},
    touches::Touches,
};
use vesica_net::Channel;
use vesica_psi::{
    Items,
    select::{CellShares, Input, OpenedCells, Owner, Selector, Sharer},
};
use vesica_select::Shape;
use zeroize::Zeroizing;

use super::{
    Selection,
    plan::{Route, lookup},
    shown::ShownGroups,
};
use crate::{
    gather::{ByPartitions, FoundPieces},
    interface::{Call, Content, Found, Party, Randomness, Reveal, RevealStep, Unrevealed},
    outcome::Outcome,
    piece::{CellsLayout, CellsPiece, Left},
};

/// The only method for queries.
pub(super) struct Selecting;

/// The method with the facts of a run.
#[derive(Clone)]
pub(super) struct QueryMethod {
    call: Call,
    selection: Arc<Selection>,
    route: Arc<Route>,
    secret: Arc<Zeroizing<[u8; 32]>>,
}

/// Shows nothing of the run.
impl fmt::Debug for QueryMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QueryMethod")
    }
}

impl QueryMethod {
    /// Plans this side's part; `None` if a side has yet to declare its columns, and for a call without a secret.
    pub(super) fn new(call: Call) -> Option<Self> {
        let selection = call.request.selection.clone()?;
        let route = Arc::new(call.request.route()?);
        let secret = call.secret.clone()?;
        Some(Self { call, selection, route, secret })
    }

    fn shape(&self) -> Result<&Shape> {
        self.selection.shape().ok_or(Error::bug("a query without a shape"))
    }

    fn owner(&self) -> Owner {
        if self.call.receives() { Owner::Table } else { Owner::Other }
    }

    /// Returns the private labels of each cell, if the other side learns those that are shown.
    fn texts(&self, groups: &Groups) -> Vec<u8> {
        let plan = &self.route.plan;
        let len = plan.cells.text_len;
        if len == 0 || !self.call.receives() {
            return Vec::new();
        }
        // A group has a cell for each label of the other side.
        let texts = groups.private_texts();
        texts.chunks_exact(len).flat_map(|text| text.repeat(plan.other_groups)).collect()
    }

    /// Prepares the run on whole sets.
    pub(super) fn on_sets(
        self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<WholeSets> {
        let party = self.route.plan.on_sets().party(self.call.receives(), channel, rng)?;
        Ok(WholeSets { method: self, party })
    }

    /// Returns the result of the cells that this side has opened, before the other side learns it too.
    fn unrevealed<'a>(
        self,
        opened: Option<OpenedCells>,
        groups: &Groups,
        left: Left,
        channel: &Channel,
    ) -> Result<Unrevealed<'a>> {
        let shape = self.shape()?;
        let read = |opened: OpenedCells| {
            let own = Some(groups).filter(|_| self.call.receives());
            let answer = ShownGroups::of(&opened, &self.selection, shape, &self.route, own);
            let malformed = || channel.malformed("answer/share", "a text that is not a label");
            answer.ok_or_else(|| Error::from(malformed()))
        };
        let mut answer = opened.map(read).transpose()?;
        let reveal: RevealStep<'a> = Box::new(move |channel, _| {
            let shape = self.shape()?;
            if self.call.sides.both_learn() {
                let revealed = match &answer {
                    Some(answer) => answer.tell(shape, channel),
                    None => ShownGroups::learn(&self.selection, shape, channel)
                        .map(|learned| answer = Some(learned)),
                };
                revealed.map_err(|error| Error::of_protocol(error, channel))?;
            }
            let Left { clamped, filtered } = left;
            let cells = answer.as_ref().map(ShownGroups::counts);
            let (clamped, filtered) = (Some(clamped), Some(filtered));
            let outcome = Outcome { cells, clamped, filtered, ..Outcome::default() };
            let table = answer.map(|answer| {
                let table = self.route.table;
                let own = if self.call.receives() { table } else { table.other() };
                answer.table(&self.selection, shape, own, self.call.request.noise.is_some())
            });
            Ok(Found { outcome, content: table.map(Content::Table) })
        });
        Ok(Unrevealed { shared: None, reveal })
    }
}

/// The numbers of this side's keys, as the engine takes them.
struct KeyNumbers<'a> {
    counted: Option<Vec<bool>>,
    columns: Vec<Cow<'a, [i64]>>,
    labels: Vec<u32>,
    positions: Vec<u32>,
    choices: Vec<u8>,
    groups: Groups,
    left: Left,
}

impl<'s> KeyNumbers<'s> {
    /// Clamps the numbers to their declared bounds, and numbers the groups of labels under this secret.
    fn of(set: &'s KeyRows, secret: &[u8; 32]) -> Self {
        let (columns, numbers) = set.query().expect("keys that were read for a query");
        let groups = columns.groups(secret);
        let (used, rows) = (set.counts().used as usize, columns.rows());
        let mut left = Left::default();
        let mut made = Vec::new();
        let mut is_clamped = vec![false; used];
        let (mut counted, mut labels, mut positions) = (None, Vec::new(), Vec::new());
        if let Some(touches) = columns.touches() {
            let looked_up = LookedUp::of(touches, numbers, &groups);
            let LookedUp { labels, choices } = looked_up;
            return Self { counted, columns: made, labels, positions, choices, groups, left };
        }
        let slots = columns.slots();
        for (place, slot) in slots.iter().enumerate() {
            // The first row of a key that has one is not missing.
            let first = &numbers[place];
            if *slot == Slot::Label {
                if groups.count() > 1 {
                    labels = first.iter().map(|label| groups.of(*label)).collect();
                }
                continue;
            }
            if *slot == Slot::Row && columns.filters() {
                let counts: Vec<bool> = first.iter().map(|rows| *rows > 0).collect();
                left.filtered = counts[..used].iter().filter(|counts| !**counts).count() as u64;
                counted = Some(counts);
            }
            let mut values = match rows {
                1 => Cow::from(first),
                _ => Cow::from(row_by_row(numbers, slots.len(), place)),
            };
            if let Slot::Day(_, period) = slot {
                positions = values.iter().map(|day| *day as u32).collect();
                if let Some(row) = columns.place(&Slot::Row).filter(|_| rows > 1) {
                    let is_there = row_by_row(numbers, slots.len(), row);
                    let missing = positions.iter_mut().zip(is_there).filter(|(_, is)| *is == 0);
                    missing.for_each(|(position, _)| *position = period.days());
                }
                continue;
            }
            if let Some(range) = columns.range(slot) {
                let of_keys = values.to_mut().chunks_exact_mut(rows);
                for (values, is_clamped) in of_keys.zip(&mut is_clamped) {
                    for value in values {
                        // A key or row that is left out has 0, which counts for nothing.
                        let bounded =
                            if *value == 0 { 0 } else { (*value).clamp(range.low, range.high) };
                        *is_clamped |= bounded != *value;
                        *value = bounded;
                    }
                }
            }
            made.push(values);
        }
        left.clamped = is_clamped.iter().filter(|is_clamped| **is_clamped).count() as u64;
        Self { counted, columns: made, labels, positions, choices: Vec::new(), groups, left }
    }

    /// Runs a party on the items of these keys, which belong to these people if the plan has some.
    fn run<T>(
        &self,
        people: &[Option<u32>],
        party: Box<dyn for<'a> vesica_psi::Party<Input<'a>, T>>,
        items: Items<'_>,
        texts: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<T> {
        let columns: Vec<_> = self.columns.iter().map(Cow::as_ref).collect();
        let input = Input {
            counted: self.counted.as_deref(),
            columns: &columns,
            labels: &self.labels,
            positions: &self.positions,
            choices: &self.choices,
            people,
            texts,
            ..Input::new(items)
        };
        party.run(input, channel, rng)
    }
}

/// Returns the numbers of a slot, for each key one of each of its rows, of keys that keep each row's numbers.
fn row_by_row(numbers: &[Vec<i64>], slots: usize, place: usize) -> Vec<i64> {
    let of_rows: Vec<_> = numbers.iter().skip(place).step_by(slots).collect();
    let keys = 0..of_rows[0].len();
    keys.flat_map(|key| of_rows.iter().map(move |of_row| of_row[key])).collect()
}

/// The labels of keys among which the other side's day selects one, as the engine takes them.
struct LookedUp {
    /// The groups of each key's labels.
    labels: Vec<u32>,
    /// For each key and day, the place of the selected label plus 1, or 0 for none.
    choices: Vec<u8>,
}

impl LookedUp {
    fn of(touches: Touches, numbers: &[Vec<i64>], groups: &Groups) -> Self {
        let positions = lookup(touches).positions;
        let keys = numbers.first().map_or(0, Vec::len);
        let mut labels = Vec::new();
        let mut choices = vec![0; keys * positions];
        for (key, choices) in choices.chunks_exact_mut(positions).enumerate() {
            let of_key: Vec<_> = numbers.iter().map(|values| values[key]).collect();
            if groups.count() > 1 {
                labels.extend(touches.labels_of(&of_key).map(|label| groups.of(label)));
            }
            for (day, choice) in choices[..touches.days()].iter_mut().enumerate() {
                *choice = touches.choice(&of_key, day).map_or(0, |place| place as u8 + 1);
            }
        }
        Self { labels, choices }
    }
}

/// A party of a query on whole sets.
pub(super) struct WholeSets {
    method: QueryMethod,
    party: Box<Selector>,
}

impl Party for WholeSets {
    fn run<'a>(
        self: Box<Self>,
        items: Items<'a>,
        set: &'a KeyRows,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Unrevealed<'a>> {
        let Self { method, party } = *self;
        let numbers = KeyNumbers::of(set, &method.secret);
        let texts = method.texts(&numbers.groups);
        let has_people = method.route.plan.people.is_some() && method.call.receives();
        let people = if has_people { set.people() } else { Vec::new() };
        let opened = numbers.run(&people, party, items, &texts, channel, rng)?;
        channel.flush()?;
        let KeyNumbers { groups, left, .. } = numbers;
        let unrevealed = method.unrevealed(opened, &groups, left, channel);
        Ok(unrevealed.unwrap_or_else(|error| Unrevealed {
            shared: None,
            reveal: Box::new(move |_, _| Err(error)),
        }))
    }
}

impl ByPartitions for QueryMethod {
    type Party = Box<Sharer>;
    type Piece = CellsPiece;

    fn layout(&self) -> CellsLayout {
        CellsLayout { plan: self.route.plan.clone() }
    }

    fn prepare(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Box<Sharer>> {
        self.route.plan.on_partition().party(self.call.receives(), channel, rng)
    }

    fn run(
        &self,
        party: Box<Sharer>,
        partition: &Partition,
        _: Reveal,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Option<CellsPiece>> {
        let Partition { set, items, .. } = partition;
        let numbers = KeyNumbers::of(set, &self.secret);
        let shares = numbers.run(&[], party, items.items(), &[], channel, rng)?;
        Ok(Some(CellsPiece { shares, left: numbers.left }))
    }

    fn add_up<'a>(
        self,
        pieces: FoundPieces<CellsPiece>,
        partitions: Option<&'a Partitions>,
        channel: &mut Channel,
        Randomness { rng, noise }: &mut Randomness<'_>,
    ) -> Result<Unrevealed<'a>> {
        let plan = self.route.plan.clone();
        let (mut total, mut left): (Option<CellShares>, _) = (None, Left::default());
        for piece in pieces.of_all() {
            let CellsPiece { shares, left: more } = piece?;
            left.clamped += more.clamped;
            left.filtered += more.filtered;
            match &mut total {
                Some(total) => total.add(&plan, &shares),
                None => total = Some(shares),
            }
        }
        let total = total.ok_or(Error::bug("a run without a partition"))?;
        let columns = partitions.and_then(Partitions::query);
        let columns = columns.ok_or(Error::bug("partitions of another query"))?;
        let groups = columns.groups(&self.secret);
        let texts = self.texts(&groups);
        let opened = plan.open(self.owner(), &total, &texts, channel, *rng, *noise);
        let opened = opened.map_err(|error| Error::of_protocol(error, channel))?;
        self.unrevealed(opened, &groups, left, channel)
    }
}
