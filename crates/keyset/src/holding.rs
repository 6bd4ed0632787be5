//! What is made of a table's rows while they are read.

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

/// Keys go to the disk when they take more than this part of the memory that there is for the run: a protocol takes several
/// times as much as the keys.
const PART: u64 = 8;

/// After that they go there in pieces of so many bytes.
const LITTLE: u64 = 1 << 22;

/// In memory, the places of keys have 32 bits. From here on there may not be enough for the rows until it is looked again.
const MANY: u32 = u32::MAX - (1 << 24);

/// What was made of the rows so far, in memory and, where that is too much, on disk.
pub(super) struct Holding<'a> {
    /// What is in memory.
    pub(super) made: Made,
    reading: &'a Reading,
    brought: Brought,
    columns: usize,
    spilling: Option<Spilling>,
    /// Rows whose keys are on disk.
    spilled: u64,
    /// Bytes that the user allows.
    most: u64,
    /// Bytes after which keys go to the disk, or are refused.
    limit: u64,
    /// Rows at which it was looked last.
    looked: u64,
}

/// What was made of all rows.
pub(super) struct Held {
    /// What is in memory.
    pub(super) made: Made,
    /// What rows bring.
    pub(super) brought: Brought,
    /// The keys, where they are on disk.
    pub(super) spilling: Option<Spilling>,
    /// Bytes of memory in which such keys may be counted.
    pub(super) memory: u64,
}

impl<'a> Holding<'a> {
    /// Of no rows.
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

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        self.spilled + self.made.rows
    }

    /// How keys go to the disk, once they do.
    pub(super) fn layout(&self) -> Option<Layout> {
        self.spilling.as_ref().map(Spilling::layout)
    }

    /// Takes what was made of the rows that follow, and the records of their keys if these are on their way to the disk.
    /// Says whether it fits: numbers may add up to too much.
    ///
    /// # Errors
    /// [`Error::Output`](vesica_core::error::Error::Output).
    pub(super) fn append(&mut self, made: Made, records: Option<&Records>) -> Result<bool> {
        let Some(records) = records else { return Ok(self.made.append(made).is_ok()) };
        // Keys of earlier rows go first.
        self.spill()?;
        if self.made.append(made).is_err() {
            return Ok(false);
        }
        self.spilled += std::mem::take(&mut self.made.rows);
        self.spilling.iter_mut().try_for_each(|spilling| spilling.append(records))?;
        Ok(true)
    }

    /// What was made of all rows.
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

    /// Now and then has a look at what is held, and says that it did. `row` is the last one.
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
