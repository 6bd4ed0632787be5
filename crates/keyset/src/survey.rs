//! The effect of the normalisation on each key column, in numbers only, for the owner of the table.

use std::hash::{BuildHasher, RandomState};

use serde::Serialize;
use vesica_core::error::Result;
use vesica_normalize::{
    normalize::{Normalize, looks_like_phone},
    null_values::NullValues,
};
use vesica_table::rows::Scan;

use crate::{
    key::KeyColumn,
    oddities::{Oddities, Oddity},
};

/// The findings about a key column. They contain none of its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnFindings {
    /// The column's name.
    pub column: String,
    /// The profile with which it was read.
    pub profile: String,
    /// Rows with a value other than empty and null values.
    pub values: u64,
    /// Values that the profile changes.
    pub changed: u64,
    /// Values that do not suit the profile, and so make no key.
    pub invalid: u64,
    /// Distinct values that the profile makes equal to another.
    pub merged: u64,
    /// Kinds of values that are seldom intended, each with the number of its rows.
    pub odd: Vec<Oddity>,
    /// Profiles that the values suit, if they differ from the one in use. The user chooses `CC` and `PROFILE`.
    pub fits: Vec<&'static str>,
}

/// A survey of a table's key columns, row by row.
pub(crate) struct Survey {
    columns: Vec<Column>,
    null_values: NullValues,
    hasher: RandomState,
    guesses: Vec<(&'static str, Normalize)>,
}

struct Column {
    position: usize,
    found: ColumnFindings,
    normalize: Normalize,
    odd: Oddities,
    /// Hashes of each valid value, normalised and raw.
    forms: Vec<(u64, u64)>,
    /// The number of values that look like each of [`GUESSES`], and like telephone numbers.
    looks: Vec<u64>,
}

/// Profiles to try, the strictest first.
const GUESSES: [&str; 9] = [
    "date",
    "date:%d.%m.%Y",
    "date:%d/%m/%Y",
    "date:%m/%d/%Y",
    "date:%d-%m-%Y",
    "date:%Y%m%d",
    TIMESTAMP,
    "email",
    HASHED,
];

/// This profile accepts dates as well, which have their own profile.
const TIMESTAMP: &str = "timestamp";

/// A placeholder for any profile of a digest.
const HASHED: &str = "hashed:PROFILE";
const PHONE: &str = "phone:CC";

/// The least percentage of values that must look like a profile.
const MOST: u64 = 90;

/// The least number of values for a suggestion.
const LEAST_VALUES: u64 = 10;

impl Survey {
    /// Finds the columns.
    pub(crate) fn new(scan: &Scan, keys: &[KeyColumn], null_values: &NullValues) -> Result<Self> {
        let names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
        let is_empty = scan.header().is_missing();
        let positions = if is_empty { Vec::new() } else { scan.find(&names)? };
        let column = |(position, key): (usize, &KeyColumn)| Column {
            position,
            found: ColumnFindings {
                column: key.name.clone(),
                profile: key.normalize.to_string(),
                values: 0,
                changed: 0,
                invalid: 0,
                merged: 0,
                odd: Vec::new(),
                fits: Vec::new(),
            },
            odd: Oddities::default(),
            normalize: key.normalize.clone(),
            forms: Vec::new(),
            looks: vec![0; GUESSES.len() + 1],
        };
        let profile = |name: &'static str| {
            // The profile of the hashed values makes no difference here.
            let profile = name.replace("PROFILE", "none").parse().unwrap_or_default();
            (name, profile)
        };
        Ok(Self {
            columns: positions.into_iter().zip(keys).map(column).collect(),
            null_values: null_values.clone(),
            hasher: RandomState::new(),
            guesses: GUESSES.into_iter().map(profile).collect(),
        })
    }

    /// Adds a row. `field` gives its columns by their positions.
    pub(crate) fn see<'a>(&mut self, field: impl Fn(usize) -> &'a [u8]) {
        for column in &mut self.columns {
            // Reading the key refuses values that are not text.
            let Ok(raw) = std::str::from_utf8(field(column.position)) else { continue };
            let verbatim = column.normalize.is_verbatim() && !column.normalize.holds_digests();
            let is_empty = if verbatim { raw.is_empty() } else { raw.trim().is_empty() };
            let value = column.normalize.apply(raw);
            if is_empty || self.null_values.hold(raw, &value, &column.normalize) {
                continue;
            }
            column.found.values += 1;
            column.odd.see(raw, &value, &column.normalize);
            let is_day = !raw.contains(':');
            for (looks, (name, guess)) in column.looks.iter_mut().zip(&self.guesses) {
                let is_for = *name != TIMESTAMP || !is_day;
                *looks += u64::from(is_for && !guess.apply(raw).is_empty());
            }
            column.looks[GUESSES.len()] += u64::from(looks_like_phone(raw));
            if value.is_empty() {
                column.found.invalid += 1;
                continue;
            }
            column.found.changed += u64::from(value != raw);
            let hash = |text: &str| self.hasher.hash_one(text);
            column.forms.push((hash(&value), hash(raw)));
        }
    }

    /// Returns the findings.
    pub(crate) fn finish(self) -> Vec<ColumnFindings> {
        self.columns.into_iter().map(Column::finish).collect()
    }
}

impl Column {
    fn finish(mut self) -> ColumnFindings {
        self.forms.sort_unstable();
        self.forms.dedup();
        let distinct = self.forms.chunk_by(|(one, _), (other, _)| one == other).count();
        self.found.merged = (self.forms.len() - distinct) as u64;
        self.found.odd = self.odd.finish();
        self.found.fits = self.fits();
        self.found
    }

    /// Returns the profiles that most values look like, if the profile in use is of another kind or refuses many.
    fn fits(&self) -> Vec<&'static str> {
        let values = self.found.values;
        let are_most = |count: u64| values >= LEAST_VALUES && count * 100 >= values * MOST;
        let most = self.looks[..GUESSES.len()].iter().max().copied().unwrap_or(0);
        let best = GUESSES.into_iter().zip(&self.looks).filter(|(_, count)| **count == most);
        let fits: Vec<_> = match are_most(most) {
            true => best.map(|(guess, _)| guess).collect(),
            false if are_most(self.looks[GUESSES.len()]) => vec![PHONE],
            false => vec![],
        };
        let kind = |name: &str| name.split(':').next().unwrap_or_default().to_owned();
        let in_use = kind(&self.found.profile);
        let serves = !are_most(self.found.invalid) && fits.iter().any(|fit| kind(fit) == in_use);
        if serves { Vec::new() } else { fits }
    }
}
