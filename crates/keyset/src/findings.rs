//! Numbers about a table's keys, and warnings for its owner.

use std::hash::{BuildHasher, Hasher, RandomState};

use serde::Serialize;
use vesica_core::{
    error::{InputFault, Place, Result},
    words::{counted, grouped},
};
use vesica_normalize::normalize::Normalize;
use vesica_table::{row_number::RowNumber, rows::Table};

use crate::{counts::RowCounts, key_number::KeyNumber, rule_findings::RuleFindings};

/// The findings about a table. They contain none of its values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Findings {
    /// Columns in the header.
    pub columns: usize,
    /// The outcome of the rows; `used` is the number of distinct keys.
    pub rows: RowCounts,
    /// Whether the whole table is UTF-8; only the key columns must be.
    pub utf8: bool,
    /// Rows whose key the normalisation changes.
    pub keys_changed: u64,
    /// Distinct keys that the normalisation makes equal to another.
    pub keys_merged: u64,
    /// Rows whose key has only digits, signs and spaces aside.
    pub digit_keys: u64,
    /// The most digits of such a key, in all its columns.
    pub most_digits: u64,
    /// Rows without a key because of a null value, such as `NULL`.
    pub null_values: u64,
    /// Keys of more than 1 % of the rows, the most frequent first.
    pub frequent_keys: Vec<FrequentKey>,
    /// Whether null values count as empty in a key column.
    #[serde(skip)]
    takes_null_values: bool,
    /// Keys of rows, distinct or not.
    #[serde(skip)]
    keyed: u64,
    /// One run for each identifier.
    #[serde(skip)]
    digits: Vec<DigitRun>,
    /// Rows whose key is compared with surrounding white space.
    #[serde(skip)]
    pub spaced: u64,
    /// Rows whose key is compared with its capital letters.
    #[serde(skip)]
    pub capitals: u64,
    /// Rows with misplaced quotation marks in delimited text.
    #[serde(skip)]
    misquoted: u64,
    /// The numbers by rule, in their order; none if columns make the keys.
    #[serde(skip)]
    pub rules: Vec<RuleFindings>,
    /// Advice for the user.
    pub warnings: Vec<String>,
}

/// A key that many rows have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FrequentKey {
    /// The first of these rows, counted from 1.
    pub first_row: u64,
    /// The line of the file on which it begins, in a table that has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The number of rows.
    pub rows: u64,
}

/// The features of a row's key.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Look {
    /// The normalisation changes it.
    pub(crate) changed: bool,
    /// It is compared with surrounding white space.
    pub(crate) spaced: bool,
    /// It is compared with its capital letters.
    pub(crate) capitals: bool,
    /// The number of its digits, if it has nothing else that counts.
    pub(crate) digits: Option<u64>,
    /// Null values count as empty in one of its columns.
    pub(crate) takes_null_values: bool,
}

impl Look {
    /// Adds a column's value, before and after normalisation.
    pub(crate) fn add(&mut self, raw: &str, value: &str, normalize: &Normalize) {
        self.changed |= raw != value;
        self.spaced |= *normalize == Normalize::NONE && raw.trim().len() != raw.len();
        self.capitals |= normalize.keeps_case() && value.chars().any(char::is_uppercase);
        self.digits =
            self.digits.and_then(|before| Some(before + digits(normalize.unknown_part(value))?));
        self.takes_null_values |= !normalize.is_verbatim();
    }
}

/// Counts kept row by row.
pub(crate) struct Tally {
    hasher: RandomState,
    /// The places of keys that the normalisation changes, with a hash of the original key.
    changed: Vec<(u32, u32)>,
    /// One run for each identifier.
    digits: Vec<DigitRun>,
    null_values: u64,
    /// Whether null values count as empty in a key column.
    takes_null_values: bool,
    spaced: u64,
    capitals: u64,
    keys_changed: u64,
    keys_merged: u64,
    /// Keys of at least [`LEAST`] rows, which may turn out to be frequent: the first row, and the number of rows.
    repeated: Vec<(RowNumber, u32)>,
}

/// The least number of rows with one key that forms a pattern.
const LEAST: u32 = 3;

/// A key is frequent if more than one row in this many has it.
const ONE_IN: u64 = 100;

/// The number of candidates above which only the most frequent ones are kept.
const MANY: usize = 1 << 16;

/// The keys of an identifier that consist of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct DigitRun {
    /// Keys of any kind.
    keys: u64,
    digit_keys: u64,
    most: u64,
}

impl Tally {
    /// Makes a tally for rows with this many identifiers.
    pub(crate) fn new(identifiers: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            changed: Vec::new(),
            digits: vec![DigitRun::default(); identifiers],
            null_values: 0,
            takes_null_values: false,
            spaced: 0,
            capitals: 0,
            keys_changed: 0,
            keys_merged: 0,
            repeated: Vec::new(),
        }
    }

    /// Makes an empty tally to append to this one later.
    pub(crate) fn like(&self) -> Self {
        Self { hasher: self.hasher.clone(), ..Self::new(self.digits.len()) }
    }

    /// Adds the counts of the rows that follow. Their first key is at `place`.
    pub(crate) fn append(&mut self, other: &Self, place: u32) {
        self.changed.extend(other.changed.iter().map(|(at, form)| (at + place, *form)));
        for (all, more) in self.digits.iter_mut().zip(&other.digits) {
            all.keys += more.keys;
            all.digit_keys += more.digit_keys;
            all.most = all.most.max(more.most);
        }
        self.null_values += other.null_values;
        self.takes_null_values |= other.takes_null_values;
        self.take_groups(other);
        self.spaced += other.spaced;
        self.capitals += other.capitals;
        self.keys_changed += other.keys_changed;
    }

    /// Counts a key of this identifier at this place. `raw` has its columns before normalisation.
    pub(crate) fn see<'a>(
        &mut self,
        identifier: usize,
        place: u32,
        look: Look,
        raw: impl Iterator<Item = &'a [u8]>,
    ) {
        if look.changed {
            let mut hasher = self.hasher.build_hasher();
            raw.for_each(|value| {
                hasher.write_usize(value.len());
                hasher.write(value);
            });
            self.changed.push((place, hasher.finish() as u32));
            self.keys_changed += 1;
        }
        self.takes_null_values |= look.takes_null_values;
        self.spaced += u64::from(look.spaced);
        self.capitals += u64::from(look.capitals);
        let of_identifier = &mut self.digits[identifier];
        of_identifier.keys += 1;
        if let Some(digits) = look.digits {
            of_identifier.digit_keys += 1;
            of_identifier.most = of_identifier.most.max(digits);
        }
    }

    /// Takes the [groups](Self::group) of another tally, whose keys differ from all others.
    pub(crate) fn take_groups(&mut self, other: &Self) {
        self.repeated.extend_from_slice(&other.repeated);
        self.drop_infrequent();
        self.keys_merged += other.keys_merged;
    }

    /// Keeps the [`ONE_IN`] keys with the most rows if there are many: no more can be frequent.
    fn drop_infrequent(&mut self) {
        if self.repeated.len() > MANY {
            self.repeated
                .select_nth_unstable_by_key(ONE_IN as usize, |(_, rows)| std::cmp::Reverse(*rows));
            self.repeated.truncate(ONE_IN as usize);
        }
    }

    /// Counts a row that has a null value in place of a key.
    pub(crate) fn see_null_value(&mut self) {
        self.null_values += 1;
    }

    /// Removes and returns the places of keys that the normalisation changes, ascending, each with a hash of the
    /// original key.
    pub(crate) fn take_changed(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.changed)
    }

    /// Groups keys that are equal to no others. `keys` has their numbers, `row` gives the row of a key by its position,
    /// and `changed` has positions in `keys`.
    pub(crate) fn group(
        &mut self,
        keys: &[Option<KeyNumber>],
        used: u64,
        changed: Vec<(u32, u32)>,
        row: impl Fn(usize) -> RowNumber,
    ) {
        let mut rows_of_key = vec![0u32; used as usize];
        keys.iter().flatten().for_each(|key| rows_of_key[key.index()] += 1);
        let mut left = rows_of_key.iter().filter(|count| **count >= LEAST).count();
        // Keys are numbered in the order of the first rows that have them.
        let mut next = KeyNumber::FIRST;
        for (place, key) in keys.iter().enumerate() {
            if left == 0 {
                break;
            }
            if *key != Some(next) {
                continue;
            }
            let count = rows_of_key[next.index()];
            next = next.next();
            if count >= LEAST {
                self.repeated.push((row(place), count));
                left -= 1;
            }
        }
        self.drop_infrequent();
        let changed = changed.into_iter();
        let changed = changed.filter_map(|(place, form)| Some((keys[place as usize]?, form)));
        self.keys_merged += merged(changed.collect(), &rows_of_key);
    }

    /// Returns the findings, once all keys are counted.
    pub(crate) fn finish(
        self,
        columns: usize,
        rows: RowCounts,
        rules: &[RuleFindings],
        table: &Table,
    ) -> Findings {
        let mut findings = Findings {
            columns,
            rows,
            utf8: table.is_utf8(),
            keys_changed: self.keys_changed,
            keys_merged: self.keys_merged,
            digit_keys: self.digits.iter().map(|digits| digits.digit_keys).sum(),
            most_digits: self.digits.iter().map(|digits| digits.most).max().unwrap_or(0),
            null_values: self.null_values,
            takes_null_values: self.takes_null_values,
            frequent_keys: frequent(rows.read, self.repeated, table),
            keyed: self.digits.iter().map(|digits| digits.keys).sum(),
            digits: self.digits,
            spaced: self.spaced,
            capitals: self.capitals,
            misquoted: table.misquoted(),
            rules: rules.to_vec(),
            warnings: Vec::new(),
        };
        findings.warnings = findings.list_warnings();
        findings
    }
}

/// Returns the number of keys lost by the normalisation. `changed` has, for each row that it changes, the number of its
/// key and a hash of the original key.
fn merged(mut changed: Vec<(KeyNumber, u32)>, rows_of_key: &[u32]) -> u64 {
    changed.sort_unstable();
    let of_one_key = changed.chunk_by(|(one, _), (other, _)| one == other);
    let extra = of_one_key.map(|forms| {
        let different = forms.chunk_by(|one, other| one == other).count();
        let as_it_is = rows_of_key[forms[0].0.index()] as usize > forms.len();
        different + usize::from(as_it_is) - 1
    });
    extra.sum::<usize>() as u64
}

/// Returns the keys of more than 1 % of the rows, the most frequent first.
fn frequent(rows: u64, mut repeated: Vec<(RowNumber, u32)>, table: &Table) -> Vec<FrequentKey> {
    repeated.retain(|(_, count)| u64::from(*count) * ONE_IN > rows);
    repeated.sort_unstable_by_key(|(first, count)| (std::cmp::Reverse(*count), *first));
    let found = repeated.into_iter().map(|(first, count)| {
        let Place { row, line } = table.place(first);
        FrequentKey { first_row: row, line, rows: count.into() }
    });
    found.collect()
}

/// Returns the number of digits of a value that is a number, such as an id, a date or a telephone number; `None` for
/// other values.
pub(crate) fn digits(value: &str) -> Option<u64> {
    let filling = |c: char| c.is_ascii_digit() || c.is_whitespace() || "+-()./".contains(c);
    if !value.chars().all(filling) {
        return None;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count() as u64;
    (digits > 0).then_some(digits)
}

impl Findings {
    /// Refuses a table without rows, and a table without a key in any row.
    pub fn require_keys(&self, table: &Table, header: bool) -> Result<()> {
        if table.is_empty() {
            return Err(table.fault(InputFault::Empty { header }));
        }
        if self.keyed == 0 {
            let (rows, null_values) = (self.rows.read, self.null_values);
            return Err(table.fault(InputFault::NoKeys { rows, null_values }));
        }
        Ok(())
    }

    fn list_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.columns == 0 {
            warnings.push("the file is empty: it has no rows and not even a header".to_owned());
        } else if self.rows.read == 0 {
            warnings.push("there is a header but no row".to_owned());
        } else if self.keyed == 0 {
            warnings.push("no row has a key".to_owned());
        }
        warnings.extend(self.guessable());
        warnings.extend(self.frequent());
        if self.null_values > 0 {
            warnings.push(format!(
                "rows with a null value such as NULL or n/a in place of a key: {}; they have no key. \
                 --null-values names these values",
                grouped(self.null_values)
            ));
        }
        if self.keys_merged > 0 {
            warnings.push(format!(
                "keys that differ from another only in what the normalisation removes: {}; their rows count \
                 as duplicates",
                grouped(self.keys_merged)
            ));
        }
        if self.misquoted > 0 {
            warnings.push(format!(
                "rows with a quotation mark inside an unquoted field, or with text after a closing one: {}; their \
                 fields may be wrong. Quotation marks must enclose the whole field, and those \
                 within must be doubled",
                grouped(self.misquoted)
            ));
        }
        if self.rows.null * 2 > self.rows.read {
            warnings.push("more than half of the rows have no key".to_owned());
        }
        if !self.utf8 {
            warnings.push("the file is not UTF-8 outside its key columns".to_owned());
        }
        warnings
    }

    /// Whether the other side could guess the keys.
    fn guessable(&self) -> Vec<String> {
        /// The guesses that one machine makes in a day, as a power of ten.
        const GUESSABLE_DIGITS: u64 = 12;
        /// The number of values that a person can list.
        const FEW: u64 = 100;
        let keyed = self.keyed;
        let mut warnings = Vec::new();
        let guessable = self.digits.iter().filter(|of_identifier| {
            let DigitRun { keys, digit_keys, most } = **of_identifier;
            keys > 0 && digit_keys * 10 >= keys * 9 && most <= GUESSABLE_DIGITS
        });
        if let Some(most) = guessable.map(|of_identifier| of_identifier.most).max() {
            warnings.push(format!(
                "low entropy: the keys are numbers or dates of at most {} digits; the other side could try \
                 every possible key and learn your whole list, so run this only with a party \
                 and a set size you trust",
                most
            ));
        }
        let repeats = self.rows.used * 10 <= keyed && self.rows.used <= FEW;
        if keyed >= 20 && repeats || keyed >= 1000 && self.rows.used * 100 <= keyed {
            warnings.push(format!(
                "low entropy: {} have only {}; the other side could guess them all",
                counted(self.rows.read - self.rows.null, "row"),
                counted(self.rows.used, "distinct key")
            ));
        }
        warnings
    }

    /// Warns about keys that many rows have, which often stand for a missing value.
    fn frequent(&self) -> Vec<String> {
        const MOST: usize = 5;
        let share = |rows: u64| 100.0 * rows as f64 / self.rows.read as f64;
        let advice = match self.takes_null_values {
            true => "name it with --null-values",
            false => {
                "name it with --null-values, and normalise the column, as by --normalize trim: otherwise null values are \
                 ordinary keys"
            }
        };
        let mut warnings: Vec<_> = self.frequent_keys.iter().take(MOST).map(|key| {
            format!(
                "{} of {} rows ({:.1} %) have the same key, the first of them {}; if it stands for a \
                 missing value, {advice}",
                grouped(key.rows),
                grouped(self.rows.read),
                share(key.rows),
                Place { row: key.first_row, line: key.line }
            )
        }).collect();
        if let Some(more) = self.frequent_keys.len().checked_sub(MOST).filter(|more| *more > 0) {
            warnings.push(format!(
                "{} more, each in more than 1 % of the rows",
                counted(more as u64, "key")
            ));
        }
        warnings
    }
}
