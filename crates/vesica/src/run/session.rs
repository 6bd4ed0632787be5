//! One run with another party, step by step: terms, sets, seed, protocol, end.
//!
//! A step's error ends the session; [`crate::run()`] then tells the other side why.

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
use vesica_psi::{
    Cost, Items, Protocol, Sizes,
    aggregate::{
        self, Answer, Inquiry, Method, Question,
        shares::{self, Outline, SHARING, Shares},
    },
    reveal,
};

use crate::{
    agree::{
        choice::{self, Surroundings},
        memory::{self, Budget},
        offer::{Offer, Parties},
        seed::Seed,
        terms::Terms,
    },
    error::{Error, Result},
    keys::digest::Digest,
    run::{
        diagnosis::Diagnosis,
        observe::{Observer, Progress, Unit},
        report::Report,
    },
};

const READY: &str = "vesica/ready";

/// How often a side that is at work looks whether it should say so or stop.
const POLL: Duration = Duration::from_millis(50);

/// A session whose terms are agreed.
pub struct Session<'a> {
    terms: Terms,
    parties: &'a Parties,
    surroundings: &'a Surroundings,
    channel: &'a mut Channel,
    pool: Arc<ThreadPool>,
    observer: Arc<dyn Observer>,
}

/// What a protocol run gave this side.
pub struct Intersection {
    /// The protocol that ran.
    pub protocol: &'static Protocol,
    /// The size of the other side's set.
    pub peer_items: u64,
    /// The positions, ascending, of this side's keys that the other side has too; `None` where this
    /// side does not learn them.
    pub matches: Option<Vec<u32>>,
}

/// What an inquiry gave this side.
pub struct Found {
    /// The method that ran.
    pub method: &'static Method,
    /// What was asked.
    pub inquiry: Inquiry,
    /// The size of the other side's set.
    pub peer_items: u64,
    /// The answer; `None` where this side does not learn it.
    pub answer: Option<Answer>,
}

/// What sharing gave this side.
pub struct Shared {
    /// The size of the other side's set.
    pub peer_items: u64,
    /// This side's shares.
    pub shares: Shares,
}

impl<'a> Session<'a> {
    /// Agrees on terms. Computing is done by `threads` threads; 0 takes as many as there are
    /// processors.
    ///
    /// # Errors
    /// As [`Terms::agree`].
    pub fn open(
        offer: &Offer,
        parties: &'a Parties,
        surroundings: &'a Surroundings,
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
        Ok(Self { terms, parties, surroundings, channel, pool, observer })
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

    /// Runs a job of this side alone on the session's threads, and keeps the other side waiting
    /// without giving up. A job that cannot be stopped is left behind when the session is.
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
            // Nobody waits any more where the session ended first.
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

    /// Finds the keys that both sides have. The set is fixed from here on.
    ///
    /// # Errors
    /// Sets that are larger than agreed, and whatever the connection or the other side make go
    /// wrong.
    pub fn intersect(
        &mut self,
        digests: Vec<Digest>,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Intersection> {
        let (sizes, peer_items) = self.sizes(digests.len())?;
        let candidates = self.pool.install(|| self.terms.candidates(sizes))?;
        let Candidate { key, cost, .. } = self.choose(&candidates)?;
        let protocol = vesica_psi::find(key).ok_or(Error::Bug("the choice is in no catalogue"))?;
        let (receives, both) = (self.receives(), self.both_learn());
        let matches = self.on_items(
            (protocol.key, protocol.digest, cost),
            digests,
            rng,
            |channel, rng| Party::prepare(protocol, receives, sizes, channel, rng),
            |party, items, channel, rng| party.run(both, items, sizes, channel, rng),
        )?;
        Ok(Intersection { protocol, peer_items, matches })
    }

    /// Answers the question of the terms, which must not ask for rows. The set is fixed from here on;
    /// `values` has one for each key where the question takes this side's.
    ///
    /// # Errors
    /// As [`Session::intersect`].
    pub fn inquire(
        &mut self,
        digests: Vec<Digest>,
        values: &[i64],
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        let (sizes, peer_items) = self.sizes(digests.len())?;
        let (inquiry, candidates) = self
            .pool
            .install(|| self.terms.inquiry(sizes))?
            .ok_or(Error::Bug("rows are no question"))?;
        let Candidate { key, cost, .. } = self.choose(&candidates)?;
        let method = aggregate::find(key).ok_or(Error::Bug("the choice is in no catalogue"))?;
        let question = inquiry.question;
        let (receives, both) = (self.receives(), self.both_learn());
        let answer = self.on_items(
            (method.key, vesica_psi::DigestLength::Short, cost),
            digests,
            rng,
            |channel, rng| Inquirer::prepare(method, receives, inquiry, channel, rng),
            |party, items, channel, rng| party.run(both, items, values, question, channel, rng),
        )?;
        Ok(Found { method, inquiry, peer_items, answer })
    }

    /// Makes the shares that the terms must ask for. The set is fixed from here on; `values` has one for each
    /// key where the terms say that this side brings them.
    ///
    /// # Errors
    /// As [`Session::intersect`].
    pub fn share(
        &mut self,
        digests: Vec<Digest>,
        values: &[i64],
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Shared> {
        let (sizes, peer_items) = self.sizes(digests.len())?;
        let outline = self.terms.outline(sizes).ok_or(Error::Bug("no shares are wanted"))?;
        let candidate = self.pool.install(|| Candidate::sharing(outline));
        self.choose(&[candidate])?;
        let receives = self.receives();
        let shares = self.on_items(
            (SHARING.key, vesica_psi::DigestLength::Short, outline.cost()),
            digests,
            rng,
            |channel, rng| Sharer::prepare(outline, receives, channel, rng),
            |party, items, channel, rng| party.run(items, values, channel, rng),
        )?;
        Ok(Shared { peer_items, shares })
    }

    /// Draws the seed, lets a party prepare while items are made of the digests, and run on them.
    fn on_items<P: Send, T: Send>(
        &mut self,
        (key, digest, cost): (&'static str, vesica_psi::DigestLength, Cost),
        digests: Vec<Digest>,
        rng: &mut (dyn CryptoRng + Send),
        prepare: impl FnOnce(&mut Channel, &mut dyn CryptoRng) -> Result<P> + Send,
        run: impl FnOnce(P, Items<'_>, &mut Channel, &mut dyn CryptoRng) -> Result<T> + Send,
    ) -> Result<T> {
        self.phase("seed");
        let seed = Seed::agree(self.parties.role, self.channel, rng)?;
        self.phase(key);
        watch(self.channel, &self.observer, Some(cost));
        let channel = &mut *self.channel;
        let done = self.pool.install(|| {
            let (set, party) = rayon::join(
                || {
                    let set = seed.items(&digests, digest);
                    drop(digests);
                    set
                },
                || prepare(channel, rng),
            );
            run(party?, set.items(), channel, rng)
        });
        watch(self.channel, &self.observer, None);
        done
    }

    /// Whether this side is the protocol's receiver.
    fn receives(&self) -> bool {
        self.terms.receiver() == self.parties.role
    }

    /// The one that both sides agree on of those candidates for which both have the memory.
    fn choose(&mut self, candidates: &[Candidate]) -> Result<Candidate> {
        self.phase("choice");
        let budget = Budget::new(self.surroundings.memory);
        let fitting = memory::agree(candidates, self.receives(), budget, self.channel)?;
        if let [only] = &fitting[..] {
            return Ok(*only);
        }
        let role = self.parties.role;
        let key = choice::agree(role, &fitting, self.surroundings, self.channel)?;
        let chosen = fitting.into_iter().find(|candidate| candidate.key == key);
        chosen.ok_or(Error::Bug("the choice is no candidate"))
    }

    fn both_learn(&self) -> bool {
        let role = self.parties.role;
        self.terms.learns(role) && self.terms.learns(role.other())
    }

    /// The sizes of both sets, which are as agreed, and that of the other side's by itself.
    fn sizes(&mut self, mine: usize) -> Result<(Sizes, u64)> {
        let (role, mine) = (self.parties.role, mine as u64);
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

    /// Compares with the other side what the keys of both look like, if the terms say so, and says what may be the
    /// matter.
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

    /// Waits until the other side has come to the same step of the end.
    ///
    /// # Errors
    /// What any exchange can meet.
    pub fn together(&mut self, step: &'static str) -> Result<()> {
        // A request to stop is heard here, and not once this side has said that it goes on.
        self.channel.keep_alive()?;
        Ok(self.channel.exchange(step, &[], &mut [])?)
    }

    /// Says that this side's results are in place, and waits for the other side to say the same. Returns
    /// what the run cost, and why it is not known that the other side's are where that is so.
    pub fn close(self) -> (Meter, Option<vesica_net::Error>) {
        let unconfirmed = self.channel.finish().err();
        (self.channel.meter().clone(), unconfirmed)
    }
}

/// Lets the observer see what the channel does: the bytes of a protocol, as part of those predicted, and
/// waits that a person would notice.
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

/// One side of the protocol, ready for its items.
enum Party {
    Sends(Box<dyn vesica_psi::Sender>),
    Receives(Box<dyn vesica_psi::Receiver>),
}

impl Party {
    fn prepare(
        protocol: &Protocol,
        receives: bool,
        sizes: Sizes,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = if receives {
            vesica_psi::receiver_for(protocol, sizes, channel, rng).map(Self::Receives)
        } else {
            vesica_psi::sender_for(protocol, sizes, channel, rng).map(Self::Sends)
        };
        party.map_err(|e| blame(e, channel))
    }

    /// The protocol, and the step by which both learn.
    fn run(
        self,
        both: bool,
        items: Items<'_>,
        sizes: Sizes,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Vec<u32>>> {
        let party = match self {
            Self::Sends(party) => {
                let sent = party.send(items, channel, rng).and_then(|()| Ok(channel.flush()?));
                sent.map_err(|e| blame(e, channel))?;
                let learned = both.then(|| reveal::learn(items, sizes, channel)).transpose();
                return learned.map_err(|e| blame(e, channel));
            }
            Self::Receives(party) => party,
        };
        let matches = party.receive(items, channel, rng).map_err(|e| blame(e, channel))?;
        if both {
            let shared = items.at(&matches);
            reveal::tell(shared.items(), sizes, channel, rng).map_err(|e| blame(e, channel))?;
        }
        Ok(Some(matches))
    }
}

/// One side of an inquiry, ready for its items.
enum Inquirer {
    Helps(Box<dyn aggregate::Helper>),
    Asks(Box<dyn aggregate::Asker>),
}

impl Inquirer {
    fn prepare(
        method: &Method,
        receives: bool,
        inquiry: Inquiry,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = if receives {
            aggregate::asker_for(method, inquiry, channel, rng).map(Self::Asks)
        } else {
            aggregate::helper_for(method, inquiry, channel, rng).map(Self::Helps)
        };
        party.map_err(|e| blame(e, channel))
    }

    /// The method, and the step by which both learn.
    fn run(
        self,
        both: bool,
        items: Items<'_>,
        values: &[i64],
        question: Question,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Answer>> {
        let party = match self {
            Self::Helps(party) => {
                let helped = party.help(items, values, channel, rng);
                helped.and_then(|()| Ok(channel.flush()?)).map_err(|e| blame(e, channel))?;
                let learned = both.then(|| aggregate::learn(question, channel)).transpose();
                return learned.map_err(|e| blame(e, channel));
            }
            Self::Asks(party) => party,
        };
        let answer = party.ask(items, values, channel, rng).map_err(|e| blame(e, channel))?;
        if both {
            aggregate::tell(answer, channel).map_err(|e| blame(e, channel))?;
        }
        Ok(Some(answer))
    }
}

/// One side that gets shares, ready for its items.
enum Sharer {
    Sends(shares::Sender),
    Receives(shares::Receiver),
}

impl Sharer {
    fn prepare(
        outline: Outline,
        receives: bool,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let party = if receives {
            shares::Receiver::agreed(outline, channel, rng).map(Self::Receives)
        } else {
            shares::Sender::agreed(outline, channel, rng).map(Self::Sends)
        };
        party.map_err(|e| blame(e, channel))
    }

    fn run(
        self,
        items: Items<'_>,
        values: &[i64],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Shares> {
        let shares = match self {
            Self::Sends(party) => party.share(items, values, channel, rng),
            Self::Receives(party) => party.share(items, values, channel, rng),
        };
        shares.map_err(|e| blame(e, channel))
    }
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
        error => Error::Unlucky(error),
    }
}
