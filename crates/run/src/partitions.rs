//! Comparison of several partitions at a time.
//!
//! The two sides agree on a number of connections: one more than the threads that both have, if memory suffices for
//! them. The first is the session's own, the others are opened for this purpose; partition p uses connection p modulo
//! their number. Results are recorded in the order of the partitions.
//!
//! Each connection has a thread, but only as many of these compute at a time as the user allows. A thread that waits
//! for the other side gives its turn to another, so that the next partition is read and prepared while this one is on
//! the wire.

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
use vesica_core::error::{Error, Result};
use vesica_keyset::partitions::Partitions;
use vesica_net::{Channel, Turns};
use vesica_psi::{Items, Set};
use vesica_table::pieces;
use vesica_task::interface::{Gather, Reveal};
use zeroize::Zeroizing;

use crate::{permits::Step, standing::Standing};

/// The number of connections that a side proposes.
const CONNECTIONS: &str = "vesica/connections";

/// The most connections.
const MOST: usize = 64;

/// The interval at which a busy side checks whether to send a keep-alive message, or to stop.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// The step of a run among several parties that exchanges items for derived ones.
pub(crate) trait Fold: Send {
    /// Takes every step for a partition that needs no items. `channel` leads to the partner.
    ///
    /// # Errors
    /// A party with another plan, and any error of a connection.
    fn prepare(
        &mut self,
        partition: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<()>;

    /// Exchanges the items of the partition that was prepared for derived ones, in the same order.
    ///
    /// # Errors
    /// As [`vesica_psi::joint::Leader::fold`].
    fn fold(
        &mut self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_psi::Result<Set>;

    /// Exchanges the numbers of partitions on the disk with all other parties, if they keep journals.
    ///
    /// # Errors
    /// As [`Standing::exchange_done_jointly`].
    fn exchange_done(&mut self, standing: &Standing, channel: &mut Channel) -> Result<()>;

    /// Takes steps with the partner, and meanwhile shows the other parties that this one is still at work.
    fn with_partner(&mut self, channel: &mut Channel, steps: &mut dyn FnMut(&mut Channel));
}

impl dyn Fold + '_ {
    /// Takes steps with the partner, as [`Fold::with_partner`] does, and returns their result.
    pub(crate) fn beside_others<T>(
        &mut self,
        channel: &mut Channel,
        steps: impl FnOnce(&mut Channel) -> T,
    ) -> T {
        let (mut steps, mut result) = (Some(steps), None);
        self.with_partner(channel, &mut |channel| {
            result = steps.take().map(|steps| steps(channel));
        });
        result.expect("the steps are taken once")
    }
}

/// Partitions to be compared.
pub(super) struct PartitionWork<'a> {
    gather: &'a dyn Gather,
    partitions: &'a Partitions,
    /// Threads of this side.
    threads: usize,
    /// One for each thread: if there are more connections than threads, at least one always waits.
    turns: Turns,
    range: Range<usize>,
    standing: Standing,
    recorded: Mutex<Recorded>,
    /// The other parties, in a run among several, which has one connection for each pair.
    fold: Option<Mutex<&'a mut dyn Fold>>,
    /// Whether a connection has failed.
    failed: AtomicBool,
    /// The first error.
    error: Mutex<Option<Error>>,
}

/// The results so far.
pub(super) struct Recorded {
    /// The partition that is recorded next.
    next: usize,
    /// Later ones that are done.
    waiting: BTreeMap<usize, Zeroizing<Vec<u8>>>,
    pieces: pieces::Adding,
    standing: Standing,
}

impl Recorded {
    /// Creates the record of results from partition `next` on; the results before it are in `pieces`.
    pub(super) fn new(next: usize, pieces: pieces::Adding, standing: Standing) -> Self {
        Self { next, waiting: BTreeMap::new(), pieces, standing }
    }

    /// Returns all results.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn finish(self) -> Result<pieces::Pieces> {
        self.pieces.finish()
    }

    /// Records a step of tasks.
    ///
    /// # Errors
    /// As [`Standing::begin_partition`], [`Error::Journal`] and [`Error::Output`].
    pub(super) fn note(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Begins { partition, commitments } => {
                self.standing.begin_partition(partition, Some(commitments))
            }
            Step::Done { partition, found } => self.put(partition, found),
            Step::PeerHas { done } => self.standing.confirm(done, false),
        }
    }

    pub(super) fn put(&mut self, partition: usize, piece: Zeroizing<Vec<u8>>) -> Result<()> {
        self.waiting.insert(partition, piece);
        while let Some(piece) = self.waiting.remove(&self.next) {
            self.standing.add(&piece)?;
            self.pieces.push(&piece)?;
            self.next += 1;
        }
        Ok(())
    }
}

/// A number of connections that stands for one connection per partition.
const PERMITS: u8 = 0;

/// The way in which the sides compare partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairingMode {
    /// Over this many connections, the smaller of both sides' maximums.
    Connections(usize),
    /// By [permits](super::permits), because a side has tasks elsewhere.
    Permits,
}

/// Agrees on how to compare partitions; `mine` is this side's maximum number of connections, or `None` if it needs
/// permits.
pub(super) fn agree(mine: Option<usize>, channel: &mut Channel) -> Result<PairingMode> {
    let mine = mine.map_or(PERMITS, |mine| mine.clamp(1, MOST) as u8);
    let mut theirs = [0];
    channel.exchange(CONNECTIONS, &[mine], &mut theirs)?;
    if usize::from(theirs[0]) > MOST {
        return Err(channel.malformed(CONNECTIONS, "not a number of connections").into());
    }
    Ok(match mine.min(theirs[0]) {
        PERMITS => PairingMode::Permits,
        connections => PairingMode::Connections(connections.into()),
    })
}

impl<'a> PartitionWork<'a> {
    /// Creates the work on the partitions of this range; the results of earlier ones are recorded.
    pub(super) fn new(
        gather: &'a dyn Gather,
        partitions: &'a Partitions,
        threads: usize,
        range: Range<usize>,
        recorded: Recorded,
    ) -> Self {
        let standing = recorded.standing.clone();
        let recorded = Mutex::new(recorded);
        let (failed, error) = (AtomicBool::new(false), Mutex::new(None));
        let turns = Turns::new(threads);
        let fold = None;
        Self { gather, partitions, threads, turns, range, standing, recorded, fold, failed, error }
    }

    /// Exchanges the items of each partition for derived ones, if there is a fold.
    pub(super) fn folded(self, fold: Option<&'a mut dyn Fold>) -> Self {
        Self { fold: fold.map(Mutex::new), ..self }
    }

    /// Compares them over this many connections, and returns all results.
    ///
    /// # Errors
    /// The error of the connection that failed first.
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
                    Err(_) => work.fail(Error::bug("no thread could be started")),
                }
            }
            work.lane(0, connections, channel, rng, false);
            while started.iter().any(|thread| !thread.is_finished()) {
                // The other threads are still at work, and so is the other side.
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
                work.fail(Error::bug("a thread panicked"));
            }
        });
        others.iter().for_each(|other| channel.add_cost(other.meter()));
        if let Some(error) = self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let recorded = self.recorded.into_inner().unwrap_or_else(PoisonError::into_inner);
        recorded.finish()
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    fn fail(&self, error: Error) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // After a panic the run fails.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fold(&self) -> Option<MutexGuard<'_, &'a mut dyn Fold>> {
        self.fold.as_ref().map(|fold| fold.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Compares the partitions of one connection, unless another one fails. Ends the connection, unless it is the
    /// session's.
    fn lane(
        &self,
        number: usize,
        connections: usize,
        channel: &mut Channel,
        rng: &mut (dyn CryptoRng + Send),
        is_own: bool,
    ) {
        let mut mine = self.range.clone().skip(number).step_by(connections);
        // A pool per connection: a thread that waits may take up any work of its pool. If that work waits for the other
        // side, which in turn waits for the work below it on the stack, neither side makes progress.
        let pool = ThreadPoolBuilder::new().num_threads((self.threads / connections).max(1));
        let pool = pool.build().map_err(|_| Error::bug("no thread could be started"));
        channel.share(self.turns.clone());
        let turn = self.turns.begin();
        let done = pool.and_then(|pool| {
            mine.try_for_each(|partition| match self.has_failed() {
                true => Ok(()),
                false => self.compare(partition, &pool, channel, rng),
            })
        });
        drop(turn);
        channel.share(Turns::default());
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
            let mut fold = self.fold();
            if let Some(fold) = &mut fold {
                let prepared = fold.prepare(partition, channel, rng);
                prepared.map_err(|error| Error::of_protocol(error, channel))?;
            }
            let (loaded, party) = rayon::join(
                || self.partitions.load(partition, &mut padding),
                || self.gather.prepare(channel, rng),
            );
            let (mut loaded, number) = (loaded?, partition as u32);
            self.standing.begin_partition(number, None)?;
            channel.set_gate(Some(self.standing.gate(number)));
            let piece = party.and_then(|party| match &mut fold {
                None => party.run(&loaded, Reveal::AtTheEnd, channel, rng),
                Some(fold) => {
                    loaded.items = fold.fold(loaded.items.items(), channel, rng)?;
                    fold.beside_others(channel, |channel| {
                        party.run(&loaded, Reveal::AtTheEnd, channel, rng)
                    })
                }
            });
            channel.set_gate(None);
            piece.map_err(|error| Error::of_protocol(error, channel))
        })?;
        self.recorded().put(partition, piece)?;
        match self.fold() {
            None => self.standing.exchange_done(false, channel).map(drop),
            Some(mut fold) => fold.exchange_done(&self.standing, channel),
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use vesica_core::parties::Role;
    use vesica_keyset::{
        key::KeyColumn, keyset::KeySet, partitions::Division, reading::Reading, seed::Seed,
        table_keys::TableKeys,
    };
    use vesica_net::{Transport, transport::memory};
    use vesica_normalize::normalize::Normalize;
    use vesica_psi::{DigestLength, Sizes};
    use vesica_table::source::{Delimiter, Source};
    use vesica_task::{
        interface::{Call, Request},
        query::Query,
        sides::{Side, Sides},
    };

    use super::*;

    const COUNT: usize = 4;

    /// Runs one side with this many keys; partitions have room for a set as large as `sizes` says.
    fn side(
        role: Role,
        keys: usize,
        sizes: Sizes,
        ends: Vec<Box<dyn Transport>>,
    ) -> Result<pieces::Pieces> {
        let connections = ends.len();
        let mut ends = ends.into_iter();
        let mut channel = Channel::new(ends.next().unwrap());
        let mut rng = StdRng::seed_from_u64(role as u64);
        let text = (0..keys).fold("k\n".to_owned(), |text, key| text + &format!("secret{key}\n"));
        let source = Source::Memory { name: "t".into(), bytes: text.into() };
        let scan = source.open(Delimiter::Comma)?.read()?;
        let column = KeyColumn { name: "k".into(), normalize: Normalize::NONE };
        let reading = Reading { keys: vec![column], ..Reading::default() };
        let (_, set, _) = KeySet::read(scan, &reading, |_, _| {})?;
        let seed = Seed::agree(role, &mut channel, &mut rng)?;
        let spill = std::env::temp_dir();
        let (keys, division) = (TableKeys::Held(set), Division::of_two(COUNT));
        let all = keys.partition(&seed, division, DigestLength::Short, &spill)?;
        let receives = role == Role::B;
        let all = all.with_capacity(if receives { sizes.receiver } else { sizes.sender });
        let (me, peer) = (Side::Me, Side::Peer);
        let sides = Sides {
            my_keys: 0,
            peer_keys: 0,
            i_learn: true,
            peer_learns: true,
            receiver: if receives { me } else { peer },
            identifiers: 1,
        };
        let call = Call::new(Request::rows(sizes, COUNT), role, sides, 0);
        let methods = Query::ROWS.kind.task.methods();
        let method = methods.iter().find(|method| method.key() == "rr22").unwrap();
        let gather = method.gather(&call).unwrap();
        let pieces = pieces::Adding::create(&spill)?;
        let recorded = Recorded::new(0, pieces, Standing::new(None, None)?);
        let work = PartitionWork::new(&*gather, &all, connections, 0..COUNT, recorded);
        let mut channel = channel.with_parallel(role == Role::A, ends);
        let ended = work.run(connections, &mut channel, &mut rng);
        // As `job::run` does.
        if let Some(reason) = ended.as_ref().err().and_then(Error::abort_reason) {
            channel.abort(reason);
        }
        ended
    }

    fn both(sizes: Sizes, connections: usize) -> [Result<pieces::Pieces>; 2] {
        let pairs = (0..connections).map(|_| memory::pair());
        let boxed = |end| Box::new(end) as Box<dyn Transport>;
        let (a, b): (Vec<_>, Vec<_>) = pairs.map(|(a, b)| (boxed(a), boxed(b))).unzip();
        thread::scope(|scope| {
            let there = scope.spawn(|| side(Role::B, 1_000, sizes, b));
            [side(Role::A, 4_000, sizes, a), there.join().unwrap()]
        })
    }

    /// A side with too many keys for a partition fails without a message about them; the other side learns that the run
    /// is over.
    #[test]
    fn a_partition_that_overflows_ends_both_sides_in_order() {
        let [sender, receiver] = [4_000, 1_000].map(|keys| Division::of_two(COUNT).capacity(keys));
        for connections in [1, 3] {
            for ended in both(Sizes { sender, receiver }, connections) {
                assert_eq!(ended.unwrap().iter().count(), COUNT);
            }
            let [a, b] = both(Sizes { sender: 900, receiver }, connections)
                .map(|ended| ended.err().unwrap());
            assert!(matches!(a, Error::StatisticalFailure(_)), "{a}");
            assert!(matches!(b, Error::Net(vesica_net::Error::Aborted { .. })), "{b}");
            for said in [a.to_string(), b.to_string()] {
                assert!(
                    !["secret", "key", "1,0", "900"].iter().any(|word| said.contains(word)),
                    "{said}"
                );
            }
        }
    }
}
