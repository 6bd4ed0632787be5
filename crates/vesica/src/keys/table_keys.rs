//! The keys of a table, in memory or, where they are too many, on disk.

use crate::{
    error::{InputFault, Result},
    host,
    keys::{
        collector::Collector,
        counts::RowCounts,
        findings::{Findings, Tally},
        key::{Duplicates, Key, Nulls},
        keyset::KeySet,
        numbers::Numbers,
        profile::Profile,
        reading::Reading,
        spilled::{SpilledKeys, Spilling},
        survey::Survey,
    },
    table::{
        rows::{Scan, Table},
        sent_columns::Packer,
    },
};

/// Keys go to the disk when they take more than this part of the memory that there is for the run: a protocol takes several
/// times as much as the keys.
const PART: u64 = 8;

/// After that they go there in pieces of so many bytes.
const LITTLE: u64 = 1 << 22;

/// The keys of a table.
pub enum TableKeys {
    /// In memory.
    Held(KeySet),
    /// On disk.
    Spilled(SpilledKeys),
}

impl TableKeys {
    /// Reads every row, and shows now and then how many are done and which part of the table that is. Where there is
    /// a column of values, a key's value is the sum over the rows that bear it.
    ///
    /// # Errors
    /// Whatever is wrong with the table, and what the policies refuse.
    pub fn read(
        scan: Scan,
        reading: &Reading,
        mut show: impl FnMut(u64, f64),
    ) -> Result<(Table, Self, Findings)> {
        const SHOW_EVERY: u64 = 1 << 14;
        let (width, nulls) = (scan.header().len(), reading.nulls);
        let most_bytes = reading.memory.unwrap_or_else(host::budget);
        let directory = reading.spill.as_deref().filter(|_| reading.may_spill());
        let mut spilling = None;
        let mut most_held = directory.map_or(most_bytes, |_| most_bytes / PART);
        let mut extractors = reading.extractors(&scan)?;
        let (mut keys, mut tally) =
            (Collector::new(extractors.len()), Tally::new(extractors.len()));
        let numbers = |(column, scale): &(String, u8)| Numbers::new(&scan, column, *scale, nulls);
        let numbers = reading.values.as_ref().map(numbers).transpose()?.flatten();
        let (mut of_rows, mut kinds) = (Vec::new(), Vec::new());
        let packer = reading.sends.as_ref().map(|sent| Packer::new(&scan, sent));
        let packer = packer.transpose()?.flatten();
        let mut payloads = Vec::new();
        let survey = || Survey::new(&scan, &reading.keys, &reading.null_values);
        let mut survey = reading.survey.then(survey).transpose()?;
        let mut rows = 0;
        let table = scan.rows(|row| {
            if let Some(survey) = &mut survey {
                survey.see(|position| row.field(position));
            }
            if let Some(numbers) = &numbers {
                of_rows.push(numbers.of(&row)?);
            }
            let (mut is_keyed, mut has_null_value) = (false, false);
            for (identifier, extractor) in extractors.iter_mut().enumerate() {
                let is_last = identifier + 1 == reading.number_of_identifiers();
                match extractor.key(&row)? {
                    Key::Present(key) => {
                        let place = keys.next();
                        keys.push(Some(key));
                        is_keyed = true;
                        // Columns are sent with rows of one identifier alone.
                        if let Some(packer) = &packer {
                            packer.pack(&row, &mut payloads)?;
                        }
                        tally.see(identifier, place, extractor.look(), extractor.raw(&row));
                        kinds.extend_from_slice(extractor.kinds().unwrap_or_default());
                    }
                    Key::Missing { column, null_value } => {
                        has_null_value |= null_value;
                        if nulls == Nulls::Error && is_last && !is_keyed {
                            let column = column.to_owned();
                            let place = row.place();
                            let fault = InputFault::NullKey { place, column, null_value };
                            return Err(row.fault(fault));
                        }
                        keys.push(None);
                        if reading.profile {
                            kinds.resize(kinds.len() + reading.keys.len(), 0);
                        }
                    }
                }
            }
            if !is_keyed && has_null_value {
                tally.see_null_value();
            }
            rows += 1;
            if u64::is_multiple_of(rows, SHOW_EVERY) {
                let held = keys.bytes() + payloads.len() as u64;
                match directory {
                    Some(directory) if held > most_held => {
                        let first = || Spilling::begin(directory);
                        let spilling = get_or_try_insert(&mut spilling, first)?;
                        spilling.take(&mut keys, &mut tally)?;
                        most_held = LITTLE;
                    }
                    None if held > most_held => {
                        return Err(row.fault(InputFault::TooLarge { max: most_bytes }));
                    }
                    _ => {}
                }
                show(rows, row.fraction());
            }
            Ok(())
        })?;
        show(rows, 1.0);
        if let Some(mut spilling) = spilling {
            spilling.take(&mut keys, &mut tally)?;
            let (keys, repetition) = spilling.finish(&mut tally)?;
            let counts = keys.counts();
            if let Some((first, second)) =
                repetition.filter(|_| reading.duplicates == Duplicates::Error)
            {
                let [first, second] = [first, second].map(|row| table.place(row as usize));
                let fault = InputFault::DuplicateKey { first, second, rows: counts.duplicate };
                return Err(table.fault(fault));
            }
            let findings = tally.finish(width, counts, &table);
            return Ok((table, Self::Spilled(keys), findings));
        }
        let mut set = KeySet::of(keys);
        set.bring(&table, reading, payloads, &of_rows)?;
        if reading.duplicates == Duplicates::Error {
            set.refuse_duplicates(&table)?;
        }
        if reading.profile {
            set.look_at(reading.keys.len(), &kinds);
        }
        if let Some(survey) = survey {
            set.keep(survey.finish());
        }
        let (counts, changed) = (set.counts(), tally.take_changed());
        let identifiers = reading.number_of_identifiers();
        tally.group(set.numbers(), counts.used, changed, |place| (place / identifiers) as u64);
        let findings = tally.finish(width, counts, &table);
        Ok((table, Self::Held(set), findings))
    }

    /// How many rows went which way.
    pub fn counts(&self) -> RowCounts {
        match self {
            Self::Held(set) => set.counts(),
            Self::Spilled(keys) => keys.counts(),
        }
    }

    /// What the keys look like, where that was asked for.
    pub(crate) fn take_profile(&mut self) -> Option<Profile> {
        match self {
            Self::Held(set) => set.take_profile(),
            Self::Spilled(_) => None,
        }
    }
}

fn get_or_try_insert<T>(place: &mut Option<T>, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    let made = match place.take() {
        Some(there) => there,
        None => make()?,
    };
    Ok(place.insert(made))
}
