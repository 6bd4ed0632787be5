//! Slots that are threads of this process.

use std::{thread, time::Duration};

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use vesica_core::{
    error::{Error, Result},
    parties::Role,
};
use vesica_keyset::partitions::{Commitments, Partition, Partitions};
use vesica_net::{CancelToken, Identity};
use vesica_task::interface::Gather;
use zeroize::Zeroizing;

use super::{
    Attempt, Prepared, Slots, may_pass,
    slots::{Begun, Waited},
};
use crate::standing::Standing;

/// The longest single wait of a thread.
const POLL: Duration = Duration::from_millis(200);

/// Partitions that threads of this process compare.
pub struct Threads<'a> {
    pub(crate) gather: &'a dyn Gather,
    pub(crate) partitions: &'a Partitions,
    pub(crate) role: Role,
    pub(crate) session: &'a [u8],
    pub(crate) stall: Duration,
    pub(crate) commitments: Commitments,
    pub(crate) standing: Standing,
    pub(crate) cancel: CancelToken,
}

/// A partition in memory.
struct Loaded {
    number: u32,
    partition: Partition,
}

impl Threads<'_> {
    /// Serves `count` slots, which have `threads` threads together, for as long as `work` lasts.
    ///
    /// # Errors
    /// The errors of `work`, and of threads that do not start.
    pub(crate) fn serve<T>(
        &self,
        slots: &Slots,
        count: usize,
        threads: usize,
        rng: &mut (dyn CryptoRng + Send),
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        thread::scope(|scope| {
            for _ in 0..count {
                let mut rng = StdRng::from_rng(&mut *rng);
                let slot = move || {
                    if let Err(error) = self.slot(slots, (threads / count).max(1), &mut rng) {
                        slots.fail(error);
                    }
                };
                let spawned = thread::Builder::new().name("vesica-slot".to_owned());
                if spawned.spawn_scoped(scope, slot).is_err() {
                    slots.fail(Error::bug("no thread could be started"));
                }
            }
            let ended = work();
            slots.end();
            self.cancel.cancel();
            ended
        })
    }

    fn slot(&self, slots: &Slots, threads: usize, rng: &mut (dyn CryptoRng + Send)) -> Result<()> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|_| Error::bug("no thread could be started"))?;
        loop {
            match slots.next(POLL) {
                Waited::Here(partition) => self.compare(partition, slots, &pool, rng)?,
                Waited::NotYet => {}
                Waited::Never => return Ok(()),
            }
        }
    }

    /// Compares a partition, in as many attempts as necessary.
    fn compare(
        &self,
        partition: u32,
        slots: &Slots,
        pool: &ThreadPool,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let mut padding = StdRng::from_rng(&mut *rng);
        let load = || self.partitions.load(partition as usize, &mut padding);
        let loaded = Loaded { number: partition, partition: pool.install(load)? };
        let commitment = self.commitments.of(partition, &loaded.partition);
        loop {
            let me = Identity::generate();
            let me = me.map_err(|_| Error::bug("the operating system gives no randomness"))?;
            slots.ready(partition, Prepared { fingerprint: me.fingerprint(), commitment });
            let begun = loop {
                match slots.begun(partition, POLL) {
                    Waited::Here(begun) => break begun,
                    Waited::NotYet => {}
                    Waited::Never => return Ok(()),
                }
            };
            let attempt = begun.attempt;
            match self.attempt(&loaded, begun, &me, slots, pool, rng) {
                Ok(piece) => {
                    slots.found(partition, attempt, piece);
                    slots.kept(partition);
                    return Ok(());
                }
                Err(error) if may_pass(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn attempt(
        &self,
        loaded: &Loaded,
        begun: Begun,
        me: &Identity,
        slots: &Slots,
        pool: &ThreadPool,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Zeroizing<Vec<u8>>> {
        let Begun { attempt, peer, connection } = begun;
        let Loaded { number: partition, partition: loaded } = loaded;
        let (role, session, partition) = (self.role, self.session, *partition);
        let attempt = Attempt { role, me, peer: &peer, session, partition, attempt };
        let mut channel = super::channel(connection, attempt, self.stall, &self.cancel)?;
        let gate = self.standing.gate(partition);
        let found = pool.install(|| super::compare(self.gather, loaded, gate, &mut channel, rng));
        slots.add_cost(channel.meter());
        found
    }
}
