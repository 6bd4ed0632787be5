//! One run with another party, step by step: terms, sets, seed, method, end.
//!
//! An error in a step ends the session; [`crate::run()`] then tells the other side why.

use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rand::CryptoRng;
use rayon::{ThreadPool, ThreadPoolBuilder};
use vesica_net::{Channel, Deviation, Meter};
use vesica_planner::Candidate;
use vesica_psi::{Cost, Sizes};

use crate::{
    agree::{
        choice::{self, PlannerInputs},
        memory::{self, Budget},
        offer::Offer,
        seed::Seed,
        terms::Terms,
    },
    error::{Error, Result},
    keys::keyset::KeySet,
    parties::Parties,
    run::{
        diagnosis::Diagnosis,
        observe::{Observer, Progress, Unit},
        report::Report,
    },
    task::{
        interface::{Call, Found, Method},
        learned::{Side, Sides},
    },
};

const READY: &str = "vesica/ready";

/// How often a side that is at work checks whether to say so, or to stop.
const POLL: Duration = Duration::from_millis(50);

/// A session whose terms are agreed.
pub struct Session<'a> {
    terms: Terms,
    parties: &'a Parties,
    inputs: &'a PlannerInputs,
    channel: &'a mut Channel,
    pool: Arc<ThreadPool>,
    observer: Arc<dyn Observer>,
}

/// What a run gave this side, and by which method.
pub struct Computed {
    /// The method that ran.
    pub(crate) method: Box<dyn Method>,
    /// The size of the other side's set.
    pub(crate) peer_items: u64,
    /// What it found.
    pub(crate) found: Found,
}

impl<'a> Session<'a> {
    /// Agrees on terms. `threads` threads compute; 0 takes one per processor.
    ///
    /// # Errors
    /// As [`Terms::agree`].
    pub fn open(
        offer: &Offer,
        parties: &'a Parties,
        inputs: &'a PlannerInputs,
        threads: usize,
        channel: &'a mut Channel,
        observer: Arc<dyn Observer>,
    ) -> Result<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.map_err(|_| Error::Bug("no thread could be started"))?);
        channel.phase("terms");
        observer.phase("terms");
        watch(channel, &observer, None);
        let terms = Terms::agree(offer, parties, channel)?;
        Ok(Self { terms, parties, inputs, channel, pool, observer })
    }

    /// The terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Whether this side learns the result.
    pub fn learns(&self) -> bool {
        self.terms.learns(self.parties.role)
    }

    /// Enters a phase.
    pub fn phase(&mut self, name: &'static str) {
        self.channel.phase(name);
        self.observer.phase(name);
    }

    /// Runs a job of this side alone on the session's threads, and meanwhile keeps the other side from giving up. A job
    /// cannot be stopped; it is left behind if the session ends first.
    ///
    /// # Errors
    /// The job's, and a lost connection or a request to stop in the meantime.
    pub fn meanwhile<T: Send + 'static>(
        &mut self,
        job: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (done, waiting) = mpsc::sync_channel(1);
        let pool = self.pool.clone();
        let work = move || {
            // Nobody receives this if the session ended first.
            let _ = done.send(pool.install(job));
        };
        thread::Builder::new()
            .name("vesica-work".to_owned())
            .spawn(work)
            .map_err(|_| Error::Bug("no thread could be started"))?;
        loop {
            match waiting.recv_timeout(POLL) {
                Ok(result) => return result,
                Err(RecvTimeoutError::Timeout) => self.channel.keep_alive()?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Bug("a worker thread panicked"));
                }
            }
        }
    }

    /// Runs the query of the terms on this side's keys. The set is fixed from here on. In a join, rows that match nothing
    /// may be kept as `unmatched`.
    ///
    /// # Errors
    /// Sets that are larger than agreed, and whatever the connection or the other side makes go wrong.
    pub fn compute(
        &mut self,
        set: &mut KeySet,
        unmatched: bool,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        let (sizes, peer_items) = self.sizes(set.counts().used)?;
        let request = self.terms.request(sizes);
        let candidates = self.pool.install(|| self.terms.candidates(&request))?;
        let Candidate { key, cost, .. } = self.choose(&candidates)?;
        let mut methods = self.terms.query().kind.task.methods().into_iter();
        let method = methods.find(|method| method.key() == key);
        let method = method.ok_or(Error::Bug("the choice is in no catalogue"))?;
        let sides = self.sides(set.counts().used, peer_items);
        let call = Call {
            request,
            role: self.parties.role,
            sides,
            sent: self.terms.sent_columns().cloned(),
            aligned: self.terms.aligns(),
            unmatched,
        };
        let found = self.run(&*method, cost, call, set, rng)?;
        Ok(Computed { method, peer_items, found })
    }

    /// Draws the seed, lets a party prepare while items are made of the digests, and runs it on them.
    fn run(
        &mut self,
        method: &dyn Method,
        cost: Cost,
        call: Call,
        set: &mut KeySet,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        self.phase("seed");
        let seed = Seed::agree(self.parties.role, self.channel, rng)?;
        self.phase(method.key());
        watch(self.channel, &self.observer, Some(cost));
        let channel = &mut *self.channel;
        let digests = set.take_digests();
        let found = self.pool.install(|| {
            let (items, party) = rayon::join(
                || {
                    let items = seed.items(&digests, method.item_length());
                    drop(digests);
                    items
                },
                || method.prepare(call, channel, rng),
            );
            party.and_then(|party| party.run(items.items(), set, channel, rng))
        });
        let found = found.map_err(|error| blame(error, self.channel));
        watch(self.channel, &self.observer, None);
        found
    }

    /// What sentences on this run say of both sides.
    fn sides(&self, my_keys: u64, peer_keys: u64) -> Sides {
        let role = self.parties.role;
        Sides {
            my_keys,
            peer_keys,
            i_learn: self.terms.learns(role),
            peer_learns: self.terms.learns(role.other()),
            receiver: if self.receives() { Side::Me } else { Side::Peer },
            identifiers: self.terms.identifiers(),
            hold_digests: [role, role.other()].map(|side| self.terms.holds_digests(side)),
        }
    }

    /// Whether this side is the protocol's receiver.
    fn receives(&self) -> bool {
        self.terms.receiver() == self.parties.role
    }

    /// The candidate that both sides agree on, among those for which both have the memory.
    fn choose(&mut self, candidates: &[Candidate]) -> Result<Candidate> {
        self.phase("choice");
        let budget = Budget::new(self.inputs.memory);
        let fitting = memory::agree(candidates, self.receives(), budget, self.channel)?;
        if let [only] = &fitting[..] {
            return Ok(*only);
        }
        let role = self.parties.role;
        let key = choice::agree(role, &fitting, self.inputs, self.channel)?;
        let chosen = fitting.into_iter().find(|candidate| candidate.key == key);
        chosen.ok_or(Error::Bug("the choice is no candidate"))
    }

    /// The sizes of both sets, checked against the terms, and the other side's alone.
    fn sizes(&mut self, mine: u64) -> Result<(Sizes, u64)> {
        let role = self.parties.role;
        let peers = self.ready(mine)?;
        self.terms.check_sizes(role, mine, peers)?;
        let (sender, receiver) = if self.receives() { (peers, mine) } else { (mine, peers) };
        Ok((Sizes { sender: sender as usize, receiver: receiver as usize }, peers))
    }

    /// Waits until both sides have their sets, and returns the size of the other's.
    fn ready(&mut self, mine: u64) -> Result<u64> {
        self.channel.send(READY, &mine.to_le_bytes())?;
        let mut peers = [0; 8];
        self.channel.recv_into(READY, &mut peers)?;
        let peers = u64::from_le_bytes(peers);
        if peers > vesica_psi::MAX_ITEMS as u64 {
            return Err(self.channel.malformed(READY, "more items than a set may have").into());
        }
        Ok(peers)
    }

    /// Compares with the other side what the keys of both look like, if the terms say so, and returns hints at what may
    /// be wrong.
    ///
    /// # Errors
    /// As [`Diagnosis::conclude`].
    pub(crate) fn diagnose(
        &mut self,
        diagnosis: Diagnosis,
        report: &mut Report,
    ) -> Result<Vec<String>> {
        diagnosis.conclude(self.terms.diagnoses(), self.channel, report)
    }

    /// Waits until the other side has reached the same step of the end.
    ///
    /// # Errors
    /// What any exchange can meet.
    pub fn together(&mut self, step: &'static str) -> Result<()> {
        // A request to stop must be noticed before this side says that it goes on.
        self.channel.keep_alive()?;
        Ok(self.channel.exchange(step, &[], &mut [])?)
    }

    /// Says that this side's results are in place, and waits for the other side to say the same. Returns what the run
    /// cost, and an error if the other side did not confirm.
    pub fn close(self) -> (Meter, Option<vesica_net::Error>) {
        let unconfirmed = self.channel.finish().err();
        (self.channel.meter().clone(), unconfirmed)
    }
}

/// Shows the observer what the channel does: the bytes of a protocol, as part of those predicted, and waits that a
/// person would notice.
fn watch(channel: &mut Channel, observer: &Arc<dyn Observer>, predicted: Option<Cost>) {
    const NOTICED: Duration = Duration::from_secs(1);
    let observer = observer.clone();
    let before = channel.meter().sent() + channel.meter().received();
    channel.set_watcher(move |activity| {
        let waiting = activity.waiting.filter(|since| *since >= NOTICED);
        if let Some(since) = waiting {
            observer.waiting(activity.phase, since);
        } else if let Some(cost) = predicted {
            let done = activity.sent + activity.received - before;
            observer.progress(Progress::of(done, cost.bytes() as u64, Unit::Bytes));
        }
    });
}

/// Whose fault a protocol's error is, given that this side brought distinct items, no more of them
/// than agreed.
fn blame(error: vesica_psi::Error, channel: &Channel) -> Error {
    match error {
        vesica_psi::Error::Channel(error) => error.into(),
        vesica_psi::Error::TooManyItems { .. } => {
            channel.deviation(Deviation::CheckFailed { check: "size of the set" }).into()
        }
        vesica_psi::Error::DuplicateItem { .. } => Error::Bug("two keys have the same item"),
        error => Error::StatisticalFailure(error),
    }
}
