//! Keys that several threads make of rows which one of them reads.
//!
//! The reading thread copies the wanted fields into batches, others make keys of them, and what was made is put together in
//! the order of the rows. A batch in which something is wrong is gone through again in its turn, so the error is that of the
//! first such row.

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

/// Rows of a batch.
const BATCH: usize = 1 << 12;

/// Bytes of a batch, after which it is as good as full.
const BYTES: usize = 1 << 18;

/// Batches that are waited for at a time, for each thread.
const AHEAD: usize = 2;

/// How long a thread waits for others before it looks for work again.
const PAUSE: Duration = Duration::from_millis(1);

/// Makes keys of rows, within the scope of a thread pool.
pub(super) struct SideBySide<'scope, 'a> {
    scope: &'a Scope<'scope>,
    maker: Maker,
    columns: Vec<usize>,
    /// Copies of rows that wait for more.
    filling: CopiedRows,
    /// Copies that are done with, whose memory is used again: the system takes its time to give new memory.
    spare: Vec<CopiedRows>,
    /// Batches that are being worked on, in order.
    working: VecDeque<Receiver<Batch>>,
    /// Keys of all identifiers of the rows in earlier batches.
    places: u64,
    threads: usize,
}

/// A batch, with what was made of it unless something is wrong with a row.
struct Batch {
    rows: CopiedRows,
    made: Option<(Made, Option<Records>)>,
}

impl<'scope, 'a> SideBySide<'scope, 'a> {
    /// For the columns at these positions, which are those that the maker takes.
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

    /// Takes the next row, and puts into `held` what is finished. Returns whether anything was.
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

    /// Puts into `held` all that is not yet there. `origin` says where rows come from.
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
            // Where a row comes from matters for an error alone, and that is made again.
            let origin = Origin::Typed("", 0);
            let taken = rows.iter(&origin).try_for_each(|row| maker.take(&row, &mut made));
            let records = taken
                .and_then(|()| layout.map(|layout| layout.records(first, &mut made)).transpose());
            let made = records.ok().map(|records| (made, records));
            // Nobody waits for it after an error in an earlier batch.
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
