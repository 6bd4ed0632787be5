//! Keys that several threads make of rows that one of them reads.
//!
//! The reading thread copies the wanted fields into batches, the others make keys of them, and the results are put
//! together in the order of the rows. A faulty batch is processed again in its turn, so the error is the one of the
//! first faulty row.

use std::{
    collections::VecDeque,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use rayon::{Scope, Yield};
use vesica_core::error::{Error, Result};
use vesica_table::row::{CopiedRows, Origin, Row};

use crate::{
    holding::Holding,
    maker::{Made, Maker},
    spilled::Records,
};

/// The number of rows of a batch.
const BATCH: usize = 1 << 12;

/// The number of bytes at which a batch is full.
const BYTES: usize = 1 << 18;

/// The number of pending batches for each thread.
const AHEAD: usize = 2;

/// The time that a thread waits for others before it looks for work again.
const PAUSE: Duration = Duration::from_millis(1);

/// A maker of keys on several threads, within the scope of a thread pool.
pub(super) struct SideBySide<'scope, 'a> {
    scope: &'a Scope<'scope>,
    maker: Maker,
    columns: Vec<usize>,
    /// Copies of rows for the next batch.
    filling: CopiedRows,
    /// Finished copies, kept for reuse: the system is slow to provide new memory.
    spare: Vec<CopiedRows>,
    /// The batches in progress, in order.
    working: VecDeque<Receiver<Batch>>,
    /// The number of keys of all identifiers in earlier batches.
    places: u64,
    threads: usize,
}

/// A batch, with its results unless a row is faulty.
struct Batch {
    rows: CopiedRows,
    made: Option<(Made, Option<Records>)>,
}

impl<'scope, 'a> SideBySide<'scope, 'a> {
    /// Prepares to copy the columns at these positions, which are the ones that the maker takes.
    pub(super) fn new(scope: &'a Scope<'scope>, maker: Maker, columns: &[usize]) -> Self {
        Self {
            scope,
            maker,
            columns: columns.to_vec(),
            filling: CopiedRows::default(),
            spare: Vec::new(),
            working: VecDeque::new(),
            places: 0,
            threads: rayon::current_num_threads(),
        }
    }

    /// Takes the next row, and adds all finished batches to `held`. Returns whether there were any.
    ///
    /// # Errors
    /// As [`Maker::take`], of this row or earlier ones, and as [`Holding::append`].
    pub(super) fn take(&mut self, row: &Row<'_>, held: &mut Holding<'_>) -> Result<bool> {
        self.filling.push(row, &self.columns);
        if self.filling.count() < BATCH && self.filling.bytes() < BYTES {
            return Ok(false);
        }
        self.submit(held);
        let mut is_more = false;
        while self.working.len() > AHEAD * self.threads {
            self.receive(held, &row.origin)?;
            is_more = true;
        }
        Ok(is_more)
    }

    /// Adds the remaining batches to `held`. `origin` describes the source of the rows.
    ///
    /// # Errors
    /// As [`SideBySide::take`].
    pub(super) fn finish(mut self, held: &mut Holding<'_>, origin: &Origin<'_>) -> Result<()> {
        self.submit(held);
        while !self.working.is_empty() {
            self.receive(held, origin)?;
        }
        Ok(())
    }

    fn submit(&mut self, held: &Holding<'_>) {
        let (done, working) = mpsc::sync_channel(1);
        let next = self.spare.pop().unwrap_or_default();
        let (rows, mut maker) = (std::mem::replace(&mut self.filling, next), self.maker.clone());
        let (mut made, layout, first) = (held.made.like(), held.layout(), self.places);
        self.places += (rows.count() * maker.identifiers()) as u64;
        self.scope.spawn(move |_| {
            // Only an error needs the source of a row, and the error is made again.
            let origin = Origin::Typed("", 0);
            let taken = rows.iter(&origin).try_for_each(|row| maker.take(&row, &mut made));
            let records = taken
                .and_then(|()| layout.map(|layout| layout.records(first, &mut made)).transpose());
            let made = records.ok().map(|records| (made, records));
            // After an error in an earlier batch, nobody waits for the result.
            let _ = done.send(Batch { rows, made });
        });
        self.working.push_back(working);
    }

    fn receive(&mut self, held: &mut Holding<'_>, origin: &Origin<'_>) -> Result<()> {
        let Some(working) = self.working.pop_front() else { return Ok(()) };
        let mut batch = loop {
            match working.try_recv() {
                Ok(batch) => break batch,
                Err(mpsc::TryRecvError::Disconnected) => {
                    return Err(Error::bug("a worker thread panicked"));
                }
                Err(mpsc::TryRecvError::Empty) => {}
            }
            if rayon::yield_now() == Some(Yield::Executed) {
                continue;
            }
            match working.recv_timeout(PAUSE) {
                Ok(batch) => break batch,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::bug("a worker thread panicked"));
                }
            }
        };
        if let Some((made, records)) = batch.made
            && held.append(made, records.as_ref())?
        {
            batch.rows.clear();
            self.spare.push(batch.rows);
            return Ok(());
        }
        batch.rows.iter(origin).try_for_each(|row| self.maker.take(&row, &mut held.made))
    }
}
