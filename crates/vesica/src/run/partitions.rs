//! Partitions, of which several are compared at a time.
//!
//! The two sides agree on a number of connections, as many as both have threads and memory for. The first is that of the
//! session, the others are opened for the purpose; partition p goes over connection p modulo their number. What is found
//! is recorded in the order of the partitions.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use vesica_net::Channel;
use zeroize::Zeroizing;

use crate::{
    error::{Error, Result},
    keys::partitions::Partitions,
    run::journal::Journal,
    table::pieces,
    task::interface::Gather,
};

/// The number of connections that a side proposes.
const CONNECTIONS: &str = "vesica/connections";

/// The most connections.
const MOST: usize = 64;

/// How often a side that is at work checks whether to say so, or to stop.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Partitions to be compared.
pub(super) struct Work<'a> {
    gather: &'a dyn Gather,
    partitions: &'a Partitions,
    /// Threads of this side.
    threads: usize,
    range: Range<usize>,
    recorded: Mutex<Recorded<'a>>,
    /// Whether a connection has failed.
    failed: AtomicBool,
    /// The first error.
    error: Mutex<Option<Error>>,
}

/// What was found so far.
struct Recorded<'a> {
    /// The partition that is recorded next.
    next: usize,
    /// Later ones that are done.
    waiting: BTreeMap<usize, Zeroizing<Vec<u8>>>,
    pieces: pieces::Adding,
    journal: Option<&'a mut Journal>,
}

impl Recorded<'_> {
    fn put(&mut self, partition: usize, piece: Zeroizing<Vec<u8>>) -> Result<()> {
        self.waiting.insert(partition, piece);
        while let Some(piece) = self.waiting.remove(&self.next) {
            if let Some(journal) = &mut self.journal {
                journal.add(&piece)?;
            }
            self.pieces.push(&piece)?;
            self.next += 1;
        }
        Ok(())
    }
}

/// The smaller of the numbers of connections that the sides can have.
pub(super) fn agree(mine: usize, channel: &mut Channel) -> Result<usize> {
    let mine = mine.clamp(1, MOST) as u8;
    let mut theirs = [0];
    channel.exchange(CONNECTIONS, &[mine], &mut theirs)?;
    if theirs[0] == 0 || usize::from(theirs[0]) > MOST {
        return Err(channel.malformed(CONNECTIONS, "not a number of connections").into());
    }
    Ok(mine.min(theirs[0]).into())
}

impl<'a> Work<'a> {
    /// The partitions of this range; what was found in those before is in `pieces`.
    pub(super) fn new(
        gather: &'a dyn Gather,
        partitions: &'a Partitions,
        threads: usize,
        range: Range<usize>,
        pieces: pieces::Adding,
        journal: Option<&'a mut Journal>,
    ) -> Self {
        let waiting = BTreeMap::new();
        let recorded = Mutex::new(Recorded { next: range.start, waiting, pieces, journal });
        let (failed, error) = (AtomicBool::new(false), Mutex::new(None));
        Self { gather, partitions, threads, range, recorded, failed, error }
    }

    /// Compares them over so many connections, and returns what was found in all.
    ///
    /// # Errors
    /// That of the connection which failed first.
    pub(super) fn run(
        self,
        connections: usize,
        channel: &mut Channel,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<pieces::Pieces> {
        let others = (1..connections).map(|number| channel.parallel(number as u8));
        let mut others = others.collect::<vesica_net::Result<Vec<_>>>()?;
        let cancel: Vec<_> = others.iter().map(Channel::cancel_token).collect();
        thread::scope(|scope| {
            let work = &self;
            let mut started = Vec::new();
            for (number, other) in (1..).zip(&mut others) {
                let mut rng = StdRng::from_rng(&mut *rng);
                let lane = move || work.lane(number, connections, other, &mut rng, true);
                let spawned = thread::Builder::new().name("vesica-lane".to_owned());
                match spawned.spawn_scoped(scope, lane) {
                    Ok(thread) => started.push(thread),
                    Err(_) => work.fail(Error::Bug("no thread could be started")),
                }
            }
            work.lane(0, connections, channel, rng, false);
            while started.iter().any(|thread| !thread.is_finished()) {
                // The others are still at work, and the other side's too.
                if !work.has_failed()
                    && let Err(error) = channel.keep_alive()
                {
                    work.fail(error.into());
                }
                if work.has_failed() {
                    cancel.iter().for_each(|token| token.cancel());
                }
                thread::sleep(POLL);
            }
            if started.into_iter().any(|thread| thread.join().is_err()) {
                work.fail(Error::Bug("a thread panicked"));
            }
        });
        others.iter().for_each(|other| channel.add_cost(other.meter()));
        if let Some(error) = self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let recorded = self.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
        recorded.pieces.finish()
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn fail(&self, error: Error) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded<'a>> {
        // After a panic the run fails.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares those partitions that go over one connection, unless another one fails. A connection of its own is ended.
    fn lane(
        &self,
        number: usize,
        connections: usize,
        channel: &mut Channel,
        rng: &mut (dyn CryptoRng + Send),
        is_own: bool,
    ) {
        let mut mine = self.range.clone().skip(number).step_by(connections);
        // Threads of its own: one that waits for another may take up any work of its pool, and if that waits for the other
        // side, which waits for what lies beneath, neither goes on.
        let pool = ThreadPoolBuilder::new().num_threads((self.threads / connections).max(1));
        let pool = pool.build().map_err(|_| Error::Bug("no thread could be started"));
        let done = pool.and_then(|pool| {
            mine.try_for_each(|partition| match self.has_failed() {
                true => Ok(()),
                false => self.compare(partition, &pool, channel, rng),
            })
        });
        let ended = done.and_then(|()| match is_own && !self.has_failed() {
            true => Ok(channel.finish()?),
            false => Ok(()),
        });
        if let Err(error) = ended {
            let reason = error.abort_reason();
            self.fail(error);
            if let Some(reason) = reason.filter(|_| is_own) {
                channel.abort(reason);
            }
        }
    }

    /// Runs a party on a partition, which is read while the party prepares.
    fn compare(
        &self,
        partition: usize,
        pool: &ThreadPool,
        channel: &mut Channel,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let mut padding = StdRng::from_rng(&mut *rng);
        let piece = pool.install(|| {
            let (loaded, party) = rayon::join(
                || self.partitions.load(partition, &mut padding),
                || self.gather.prepare(channel, rng),
            );
            let loaded = loaded?;
            let piece = party.and_then(|party| party.run(&loaded, channel, rng));
            piece.map_err(|error| Error::of_protocol(error, channel))
        })?;
        self.recorded().put(partition, piece)
    }
}
