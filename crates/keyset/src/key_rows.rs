//! The rows of each key: which row has which key, and the values and columns that rows contribute to their keys.

use vesica_core::error::Result;
use vesica_psi::payload::Payloads;
use vesica_table::row_number::RowNumber;

use crate::{
    brought::Brought,
    counts::RowCounts,
    key::Duplicates,
    key_number::KeyNumber,
    linked::FIELDS_HASH,
    places::{Hashed, Places},
    profile::Profiling,
    query_columns::{QueryColumns, Slot},
    reading::Exceeded,
    touches::{self, Touches},
};

/// The rows of the distinct keys of a table or of a partition. Keys are numbered in the order of the first rows that
/// have them.
pub struct KeyRows {
    /// The number of identifiers of a row, at least 1.
    identifiers: usize,
    /// For each row, the number of the key of each of its identifiers.
    keys_of_rows: Vec<Option<KeyNumber>>,
    counts: RowCounts,
    /// The number of keys, including those that no row has.
    all: usize,
    /// The sum of the values of each key's rows; empty without a column of values.
    values: Vec<Vec<i64>>,
    /// The payload of each key, if columns are sent.
    payloads: Vec<u8>,
    /// The bytes of each payload.
    payload_len: usize,
    /// The contribution of each row.
    brought: Brought,
}

impl KeyRows {
    /// Numbers the distinct keys, and returns them in the order of their numbers. `keys` has one for each identifier of
    /// a row; `keys_of_rows` has `None` for a missing key and any number for a key.
    pub(crate) fn distinct<K: Hashed>(
        mut keys: Vec<K>,
        mut keys_of_rows: Vec<Option<KeyNumber>>,
        identifiers: usize,
    ) -> (Vec<K>, Self) {
        /// The distance at which the place of a key is prefetched before it is looked for.
        const AHEAD: usize = 16;
        let read = keys.len() / identifiers;
        let mut counts = RowCounts { read: read as u64, ..RowCounts::default() };
        let mut places = Places::new(keys.len());
        let mut used = 0;
        for row in 0..read {
            let (mut is_keyed, mut is_new) = (false, false);
            // A key moves to the place of its number, which never comes after the row.
            for at in row * identifiers..(row + 1) * identifiers {
                if keys_of_rows[at].is_none() {
                    continue;
                }
                is_keyed = true;
                if let Some(later) = keys.get(at + AHEAD) {
                    places.prefetch(later);
                }
                let hashed = keys[at];
                keys[used] = hashed;
                let key = places.find_or_insert(&hashed, KeyNumber::at(used), &keys);
                if key.index() == used {
                    used += 1;
                    is_new = true;
                }
                keys_of_rows[at] = Some(key);
            }
            counts.null += u64::from(!is_keyed);
            counts.duplicate += u64::from(is_keyed && !is_new);
        }
        keys.truncate(used);
        keys.shrink_to_fit();
        counts.used = used as u64;
        let rows = Self {
            identifiers,
            keys_of_rows,
            counts,
            all: used,
            values: Vec::new(),
            payloads: Vec::new(),
            payload_len: 0,
            brought: Brought::Nothing,
        };
        (keys, rows)
    }

    /// Keeps only these keys, of as many as there are. The others are missing from now on.
    pub(crate) fn retain(&mut self, stay: &[bool]) {
        let mut next = KeyNumber::FIRST;
        let number = stay.iter().map(|stays| {
            stays.then(|| {
                let number = next;
                next = next.next();
                number
            })
        });
        // Keys stay in the order of their first rows.
        let numbers: Vec<_> = number.collect();
        for key in &mut self.keys_of_rows {
            *key = key.and_then(|key| numbers[key.index()]);
        }
        self.all = stay.iter().filter(|stays| **stays).count();
        self.counts.used = self.all as u64;
    }

    /// Adds keys that no row has, up to this total number.
    pub(crate) fn pad(&mut self, keys: usize) {
        self.all = keys;
        self.payloads.resize(keys * self.payload_len, 0);
        self.values.iter_mut().for_each(|values| values.resize(keys, 0));
    }

    /// Returns the contribution of its rows.
    pub(crate) fn brought(&self) -> &Brought {
        &self.brought
    }

    /// Returns the number of identifiers of a row.
    pub(crate) fn identifiers(&self) -> usize {
        self.identifiers
    }

    /// Returns the number of the key of each identifier of each row.
    pub(crate) fn numbers(&self) -> &[Option<KeyNumber>] {
        &self.keys_of_rows
    }

    /// Returns the numbers of rows by outcome.
    pub fn counts(&self) -> RowCounts {
        self.counts
    }

    /// Takes the contributions of the rows with a key, in their order.
    ///
    /// # Errors
    /// The first row that is one too many for its key, or has another label.
    pub(crate) fn bring(
        &mut self,
        brought: &Brought,
        of_rows: Vec<u8>,
    ) -> std::result::Result<(), ExcessRow> {
        let too_many = |row| ExcessRow { row, of: Exceeded::Rows };
        let other_label = |row| ExcessRow { row, of: Exceeded::Labels };
        match brought {
            Brought::Linked(linked) if linked.numbers.count() > 0 => {
                let numbers = of_rows.chunks_exact(linked.len());
                let numbers: Vec<_> =
                    numbers.flat_map(|row| &row[FIELDS_HASH..]).copied().collect();
                let label = linked.numbers.query().and_then(|query| query.place(&Slot::Label));
                self.add_up(&numbers, linked.numbers.count(), label).map_err(other_label)?;
            }
            Brought::Linked(linked) if linked.sent.is_some() => {
                let bytes = linked.payload_len();
                let mut payloads = Vec::with_capacity(of_rows.len() / linked.len() * bytes);
                for of_row in of_rows.chunks_exact(linked.len()) {
                    payloads.extend_from_slice(&of_row[FIELDS_HASH..]);
                }
                let room = Room { bytes, rows: 1 };
                self.gather(payloads, room, Duplicates::First).map_err(too_many)?;
            }
            Brought::Nothing | Brought::Linked(_) => {}
            Brought::Number => self.add_up(&of_rows, 1, None).map_err(other_label)?,
            Brought::Query(columns) => match columns.touches() {
                Some(touches) => self.join_touches(&of_rows, touches).map_err(other_label)?,
                None if columns.rows() > 1 => self.keep_each(&of_rows, columns)?,
                None => {
                    let label = columns.place(&Slot::Label);
                    self.add_up(&of_rows, columns.slots().len(), label).map_err(other_label)?;
                }
            },
            Brought::Columns(sent, duplicates) => {
                let room = Room { bytes: sent.bytes as usize, rows: sent.rows };
                self.gather(of_rows, room, *duplicates).map_err(too_many)?;
            }
        }
        self.brought = brought.clone();
        Ok(())
    }

    /// Shows, for each row with a key, the number of the key, its place among the keys of all rows, and a contribution.
    /// The contributions of a key's rows add up to the key's own.
    ///
    /// # Errors
    /// Any error of `show`.
    pub fn rows_with_keys(
        &self,
        mut show: impl FnMut(KeyNumber, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let len = self.brought.len();
        let (nothing, mut numbers) = (vec![0; len], Vec::with_capacity(len));
        let mut linked = nothing.clone();
        let mut rows = vec![0; if len > 0 { self.all } else { 0 }];
        let keyed =
            self.keys_of_rows.iter().zip(0..).filter_map(|(key, place)| Some(((*key)?, place)));
        for (key, place) in keyed {
            let at = key.index();
            let nth = rows.get_mut(at).map_or(0, |rows| std::mem::replace(rows, *rows + 1));
            let brings = match &self.brought {
                Brought::Number | Brought::Query(_) => {
                    // All numbers of a key, or of one of its rows if each keeps its numbers.
                    let count = len / size_of::<i64>();
                    match self.values.chunks_exact(count.max(1)).nth(nth) {
                        Some(of_row) => {
                            numbers.clear();
                            of_row.iter().for_each(|values| {
                                numbers.extend_from_slice(&values[at].to_le_bytes());
                            });
                            &numbers[..]
                        }
                        None => &nothing[..],
                    }
                }
                Brought::Columns(..) => {
                    let payload = &self.payloads[at * self.payload_len..][..self.payload_len];
                    payload.chunks_exact(len).nth(nth).unwrap_or(&nothing)
                }
                // The keys that are left belong to one person each.
                Brought::Linked(_) if nth == 0 && len > FIELDS_HASH => {
                    let rest = &mut linked[FIELDS_HASH..];
                    if self.values.is_empty() {
                        let payload = &self.payloads[at * self.payload_len..];
                        rest.copy_from_slice(&payload[..self.payload_len]);
                    }
                    for (room, values) in rest.chunks_exact_mut(size_of::<i64>()).zip(&self.values)
                    {
                        room.copy_from_slice(&values[at].to_le_bytes());
                    }
                    &linked
                }
                _ => &nothing[..],
            };
            show(key, place, brings)?;
        }
        Ok(())
    }

    /// Adds the features of the keys to a profile. `kinds` has one entry for each row and column.
    pub(crate) fn profile(&self, profiling: &mut Profiling, kinds: &[u16]) {
        let columns = profiling.columns();
        let of_row = |row: RowNumber| kinds.iter().skip(row.index() * columns).take(columns);
        self.first_rows().iter().for_each(|row| profiling.add(of_row(row).copied()));
    }

    /// Gives each key the sums of its rows' numbers, `count` for each row with a key. One of them may be a label, or 0
    /// for a row without one; the key then has the label of its rows. Returns the first row with another label.
    fn add_up(
        &mut self,
        numbers: &[u8],
        count: usize,
        label: Option<usize>,
    ) -> std::result::Result<(), RowNumber> {
        self.values = vec![vec![0; self.all]; count];
        let (numbers, _) = numbers.as_chunks();
        let keyed =
            self.keys_of_rows.iter().enumerate().filter_map(|(row, key)| Some((row, (*key)?)));
        for ((row, key), numbers) in keyed.zip(numbers.chunks_exact(count.max(1))) {
            for (place, (values, number)) in self.values.iter_mut().zip(numbers).enumerate() {
                let (value, number) = (&mut values[key.index()], i64::from_le_bytes(*number));
                if label != Some(place) {
                    *value += number;
                } else if *value == 0 {
                    *value = number;
                } else if number != 0 && number != *value {
                    return Err(RowNumber::at(row / self.identifiers));
                }
            }
        }
        Ok(())
    }

    /// Gives each key the numbers of its rows that pass, one row after another.
    fn keep_each(
        &mut self,
        numbers: &[u8],
        columns: &QueryColumns,
    ) -> std::result::Result<(), ExcessRow> {
        let (len, label) = (columns.slots().len(), columns.place(&Slot::Label));
        let passes = columns.place(&Slot::Row).expect("rows that are kept are counted");
        self.values = vec![vec![0; self.all]; columns.rows() * len];
        let (numbers, _) = numbers.as_chunks();
        let keyed =
            self.keys_of_rows.iter().enumerate().filter_map(|(row, key)| Some((row, (*key)?)));
        for ((row, key), numbers) in keyed.zip(numbers.chunks_exact(len)) {
            let (row, at) = (RowNumber::at(row / self.identifiers), key.index());
            let number = |place: usize| i64::from_le_bytes(numbers[place]);
            if number(passes) == 0 {
                continue;
            }
            let known = |place: usize| self.values[place][at];
            if label.is_some_and(|label| known(passes) != 0 && known(label) != number(label)) {
                return Err(ExcessRow { row, of: Exceeded::Labels });
            }
            let room = self.values.chunks_exact_mut(len).find(|of_row| of_row[passes][at] == 0);
            let room = room.ok_or(ExcessRow { row, of: Exceeded::Rows })?;
            room.iter_mut().enumerate().for_each(|(place, values)| values[at] = number(place));
        }
        Ok(())
    }

    /// Gives each key the labels and days of its rows, or returns the first row with a label too many.
    fn join_touches(
        &mut self,
        numbers: &[u8],
        touches: Touches,
    ) -> std::result::Result<(), RowNumber> {
        let len = touches.len();
        self.values = vec![vec![0; self.all]; len];
        let (numbers, _) = numbers.as_chunks();
        let keyed =
            self.keys_of_rows.iter().enumerate().filter_map(|(row, key)| Some((row, (*key)?)));
        let mut room = [[0; touches::MAX_NUMBERS]; 2];
        let [of_key, of_row] = room.each_mut().map(|room| &mut room[..len]);
        for ((row, key), numbers) in keyed.zip(numbers.chunks_exact(len)) {
            let values = self.values.iter().zip(numbers);
            for ((values, number), (of_key, of_row)) in
                values.zip(of_key.iter_mut().zip(&mut *of_row))
            {
                (*of_key, *of_row) = (values[key.index()], i64::from_le_bytes(*number));
            }
            if touches.add(of_key, of_row).is_none() {
                return Err(RowNumber::at(row / self.identifiers));
            }
            for (values, number) in self.values.iter_mut().zip(&*of_key) {
                values[key.index()] = *number;
            }
        }
        Ok(())
    }

    /// Gives each key a payload, from the places of all rows with a key, or returns the first row that is one too many.
    fn gather(
        &mut self,
        mut places: Vec<u8>,
        room: Room,
        duplicates: Duplicates,
    ) -> std::result::Result<(), RowNumber> {
        let Room { bytes, rows: most } = room;
        let len = bytes * most as usize;
        self.payload_len = len;
        if most == 1 && places.len() == self.counts.used as usize * bytes {
            // Each key has one row, in the order of the keys.
            places.resize(self.all * len, 0);
            self.payloads = places;
            return Ok(());
        }
        self.payloads = vec![0; self.all * len];
        let mut rows = vec![0u32; self.all];
        let keyed =
            self.keys_of_rows.iter().enumerate().filter_map(|(row, key)| Some((row, (*key)?)));
        for ((row, key), place) in keyed.zip(places.chunks_exact(bytes)) {
            let rows = &mut rows[key.index()];
            if *rows < most {
                let at = key.index() * len + *rows as usize * bytes;
                self.payloads[at..at + bytes].copy_from_slice(place);
                *rows += 1;
            } else if duplicates == Duplicates::All {
                return Err(RowNumber::at(row));
            }
        }
        Ok(())
    }

    /// Returns the first row with the same key as this row.
    pub(crate) fn first_row_like(&self, row: RowNumber) -> RowNumber {
        let of_row = &self.keys_of_rows[row.index() * self.identifiers..][..self.identifiers];
        let keys = || of_row.iter().filter(|key| key.is_some());
        let first = self.keys_of_rows.iter().position(|other| keys().any(|key| key == other));
        first.map_or(row, |place| RowNumber::at(place / self.identifiers))
    }

    /// Returns the bytes of each key's payload; 0 if no columns are sent.
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// Returns the payload of each distinct key, in the order of their numbers.
    ///
    /// # Panics
    /// If no columns are sent.
    pub fn payloads(&self) -> Payloads<'_> {
        Payloads::new(self.payload_len, &self.payloads)
    }

    /// Returns the number of a row's key; `None` if it has none.
    pub fn key_of(&self, row: RowNumber) -> Option<KeyNumber> {
        self.keys_of_rows[row.index()]
    }

    /// Returns the value of each distinct key, in the order of their numbers; empty if no column of values was read.
    pub fn values(&self) -> &[i64] {
        self.values.first().map_or(&[], Vec::as_slice)
    }

    /// Returns a number for the person of each distinct key, in the order of their numbers, if rules make the keys and
    /// ambiguous ones are left out: the first row with its fields, which has all keys of the person first. Keys that no
    /// row has are nobody's.
    pub fn people(&self) -> Vec<Option<u32>> {
        let mut people: Vec<_> = self.first_rows().0.into_iter().map(Some).collect();
        people.resize(self.all, None);
        people
    }

    /// Returns the columns of a query, and the numbers of each distinct key in each of their slots, one row of the key
    /// after another if it keeps several.
    pub fn query(&self) -> Option<(&QueryColumns, &[Vec<i64>])> {
        match &self.brought {
            Brought::Query(columns) => Some((columns, &self.values)),
            Brought::Linked(linked) => Some((linked.numbers.query()?, &self.values)),
            _ => None,
        }
    }

    /// Returns the rows, in order, that have one of these keys.
    pub fn rows_of(&self, keys: impl Iterator<Item = KeyNumber>) -> Vec<RowNumber> {
        let wanted = self.wanted(keys);
        let matches = |key: &KeyNumber| wanted[key.index()];
        let rows = self.keys_of_rows.chunks_exact(self.identifiers).enumerate();
        let found = rows.filter(|(_, keys)| keys.iter().flatten().any(matches));
        found.map(|(row, _)| RowNumber::at(row)).collect()
    }

    /// Returns the rows, in order, that have one of these keys, each with a bit for each of its identifiers that has
    /// one. A row has at most 32 identifiers.
    pub fn identifiers_of_rows(
        &self,
        keys: impl Iterator<Item = KeyNumber>,
    ) -> Vec<(RowNumber, u32)> {
        let wanted = self.wanted(keys);
        let is_wanted = |key: &Option<KeyNumber>| key.is_some_and(|key| wanted[key.index()]);
        let rows = self.keys_of_rows.chunks_exact(self.identifiers).enumerate();
        let bits = rows.map(|(row, keys)| {
            let bits = keys.iter().zip(0..).fold(0, |bits, (key, identifier)| {
                bits | u32::from(is_wanted(key)).checked_shl(identifier).unwrap_or_default()
            });
            (RowNumber::at(row), bits)
        });
        bits.filter(|(_, bits)| *bits != 0).collect()
    }

    /// Returns the number of these keys that belong to each identifier.
    pub fn keys_of_identifiers(&self, keys: impl Iterator<Item = KeyNumber>) -> Vec<u64> {
        let wanted = self.wanted(keys);
        let mut counts = vec![0; self.identifiers];
        for (at, is_wanted) in self.first_places().zip(wanted) {
            counts[at % self.identifiers] += u64::from(is_wanted);
        }
        counts
    }

    fn wanted(&self, keys: impl Iterator<Item = KeyNumber>) -> Vec<bool> {
        let mut wanted = vec![false; self.all];
        keys.for_each(|key| wanted[key.index()] = true);
        wanted
    }

    /// Returns the first place of each key among the keys of all rows, in the order of their numbers.
    pub fn first_places(&self) -> impl Iterator<Item = usize> {
        let mut next = KeyNumber::FIRST;
        self.keys_of_rows.iter().enumerate().filter_map(move |(at, key)| {
            // Keys are numbered in the order of the first rows that have them.
            let is_first = *key == Some(next);
            is_first.then(|| {
                next = next.next();
                at
            })
        })
    }

    /// Returns the first row of each key.
    pub fn first_rows(&self) -> FirstRows {
        let mut rows = Vec::with_capacity(self.counts.used as usize);
        rows.extend(self.first_places().map(|at| (at / self.identifiers) as u32));
        FirstRows(rows)
    }

    /// Returns the first row that repeats an earlier row's key.
    pub(crate) fn first_repetition(&self) -> Option<Repetition> {
        // Keys are numbered in order, so a row with a new key has the next number.
        let mut next = KeyNumber::FIRST;
        for (at, key) in self.keys_of_rows.iter().enumerate() {
            match key {
                None => {}
                Some(key) if *key == next => next = next.next(),
                Some(_) => {
                    let row = |at: usize| RowNumber::at(at / self.identifiers);
                    let first = self.keys_of_rows.iter().position(|other| other == key)?;
                    return Some(Repetition { first: row(first), again: row(at) });
                }
            }
        }
        None
    }
}

/// A row that contributes something other than allowed to the key of an earlier row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExcessRow {
    /// The row.
    pub(crate) row: RowNumber,
    /// The limit.
    pub(crate) of: Exceeded,
}

/// The room for rows in a payload.
#[derive(Clone, Copy)]
struct Room {
    /// Bytes of a row.
    bytes: usize,
    /// The maximum number of rows.
    rows: u32,
}

/// Two rows with the same key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repetition {
    /// The first row with the key.
    pub(crate) first: RowNumber,
    /// A later one.
    pub(crate) again: RowNumber,
}

/// The first row of each key. It takes four bytes a key, because a set in memory has fewer than 2^32 rows.
pub struct FirstRows(Vec<u32>);

impl FirstRows {
    /// Returns the first row of this key; `None` if no row has it.
    pub fn of(&self, key: KeyNumber) -> Option<RowNumber> {
        self.0.get(key.index()).copied().map(row_of_u32)
    }

    /// Returns the first rows of all keys, in the order of the keys' numbers.
    pub fn iter(&self) -> impl Iterator<Item = RowNumber> {
        self.0.iter().copied().map(row_of_u32)
    }
}

fn row_of_u32(row: u32) -> RowNumber {
    RowNumber::new(row.into())
}
