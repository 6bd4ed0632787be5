//! The results of reading a table's rows, in memory or on disk.

use vesica_core::{
    error::{InputFault, Result},
    host,
};
use vesica_table::row::Row;

use crate::{
    brought::Brought,
    maker::{Made, Maker},
    reading::Reading,
    spilled::{Layout, MAX_PLACES, Records, Spilling},
};

/// The part of the memory for the run that keys may take before they go to the disk: a protocol takes several times as
/// much as the keys.
const PART: u64 = 8;

/// After that, keys go to the disk in pieces of this many bytes.
const LITTLE: u64 = 1 << 22;

/// In memory, the places of keys have 32 bits. From here on the next rows before the next check may exceed them.
const MANY: u32 = u32::MAX - (1 << 24);

/// The results of the rows so far, in memory and, if they are too large, on disk.
pub(super) struct Holding<'a> {
    /// The part in memory.
    pub(super) made: Made,
    reading: &'a Reading,
    brought: Brought,
    columns: usize,
    spilling: Option<Spilling>,
    /// Rows whose keys are on disk.
    spilled: u64,
    /// Bytes that the user allows.
    most: u64,
    /// The bytes after which keys go to the disk, or are refused.
    limit: u64,
    /// The number of rows at the last check.
    looked: u64,
}

/// The results of all rows.
pub(super) struct Held {
    /// The part in memory.
    pub(super) made: Made,
    /// The contribution of each row.
    pub(super) brought: Brought,
    /// The keys, if they are on disk.
    pub(super) spilling: Option<Spilling>,
    /// The bytes of memory in which such keys may be counted.
    pub(super) memory: u64,
}

impl<'a> Holding<'a> {
    /// Makes an empty one.
    pub(super) fn new(maker: &Maker, reading: &'a Reading) -> Self {
        let most = reading.memory.unwrap_or_else(host::budget);
        let limit = if reading.spill_directory().is_some() { most / PART } else { most };
        Self {
            made: Made::new(maker, reading),
            reading,
            brought: Brought::of(reading),
            columns: maker.columns(),
            spilling: None,
            spilled: 0,
            most,
            limit,
            looked: 0,
        }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.spilled + self.made.rows
    }

    /// Returns the layout of keys on disk, once they go there.
    pub(super) fn layout(&self) -> Option<Layout> {
        self.spilling.as_ref().map(Spilling::layout)
    }

    /// Adds the results of the rows that follow, and the records of their keys if these go to the disk. Returns false
    /// if the sum of the numbers becomes too large.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn append(&mut self, made: Made, records: Option<&Records>) -> Result<bool> {
        let Some(records) = records else { return Ok(self.made.append(made).is_ok()) };
        // The keys of earlier rows go first.
        self.spill()?;
        if self.made.append(made).is_err() {
            return Ok(false);
        }
        self.spilled += std::mem::take(&mut self.made.rows);
        self.spilling.iter_mut().try_for_each(|spilling| spilling.append(records))?;
        Ok(true)
    }

    /// Returns the results of all rows.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn finish(mut self) -> Result<Held> {
        self.spill()?;
        let Self { made, brought, spilling, most, .. } = self;
        Ok(Held { made, brought, spilling, memory: most / PART })
    }

    /// Moves the keys in memory to the disk, if keys go there.
    fn spill(&mut self) -> Result<()> {
        let Some(spilling) = &mut self.spilling else { return Ok(()) };
        spilling.take(&mut self.made)?;
        self.spilled += std::mem::take(&mut self.made.rows);
        Ok(())
    }

    /// Checks the memory from time to time, and returns whether it did. `row` is the last one.
    ///
    /// # Errors
    /// [`InputFault::TooManyRows`], [`InputFault::TooLarge`] and [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn look(&mut self, row: &Row<'_>) -> Result<bool> {
        const EVERY: u64 = 1 << 14;
        if self.rows() - self.looked < EVERY {
            return Ok(false);
        }
        self.looked = self.rows();
        let identifiers = self.made.keys.identifiers();
        let most_rows = MAX_PLACES / identifiers as u64;
        if self.rows() > most_rows {
            return Err(row.fault(InputFault::TooManyRows { max: most_rows }));
        }
        let held = match self.made.keys.next() {
            MANY.. => u64::MAX,
            _ => self.made.bytes(),
        };
        if held <= self.limit {
            return Ok(true);
        }
        let Some(directory) = self.reading.spill_directory() else {
            return Err(row.fault(InputFault::TooLarge { max: self.most }));
        };
        if self.spilling.is_none() {
            let brought = self.brought.clone();
            self.spilling = Some(Spilling::begin(directory, identifiers, brought, self.columns)?);
        }
        self.spill()?;
        self.limit = LITTLE;
        Ok(true)
    }
}
