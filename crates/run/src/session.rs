//! One run with another party, step by step: terms, sets, seed, method, end.
//!
//! An error in a step ends the session; [`job::run`](crate::job::run) then sends the other side the reason.

mod chosen;
mod circle;
mod computed;
mod elsewhere;
mod held;
mod joint;
mod resumed;
mod sets;
mod threshold;
mod together;
mod told;

use std::{path::Path, sync::Arc, time::Duration};

use rand::CryptoRng;
use rayon::{ThreadPool, ThreadPoolBuilder};
use vesica_agree::{
    choice::{self, Echo, PlannerInputs},
    joint::Cast,
    memory::{Budget, Ladder, Room},
    offer::Offer,
    resume::{Begun, Said},
    terms::Terms,
};
use vesica_core::{
    error::{Error, Misuse, Result},
    observe::{Observer, Progress, Unit},
    of_others::OfOthers,
    parties::{Parties, Role},
};
use vesica_keyset::{
    counts::RowCounts,
    keyset::KeySet,
    partitions::{self, Division, Partitions},
    seed::{Committed, Draw, Seed},
    table_keys::TableKeys,
};
use vesica_net::{Channel, Mesh};
use vesica_planner::Candidate;
use vesica_psi::{Adversary, Cost, Sizes};
use vesica_table::{pieces, sent_types::SentType, written::Numbering};
use vesica_task::{
    interface::{Call, Found, Gather, Method, PartyKeys, Randomness, WantedRows},
    outcome::Outcome,
    sides::{Side, Sides},
};

pub use self::{computed::Computed, elsewhere::Elsewhere};

use self::{
    chosen::{Chosen, chosen},
    circle::Circle,
    elsewhere::Local,
};
use crate::{
    diagnosis::Diagnosis,
    partitions::{self as work, Fold, PairingMode, PartitionWork, Recorded},
    standing::{Limits, Place, Standing},
};

const READY: &str = "vesica/ready";

/// A session whose terms are agreed.
pub struct Session<'a> {
    terms: Terms,
    parties: &'a Parties,
    inputs: &'a PlannerInputs,
    channel: &'a mut Channel,
    pool: Arc<ThreadPool>,
    observer: Arc<dyn Observer>,
    standing: Standing,
    /// The agreement under which the run takes place.
    agreement: Option<String>,
    /// The number of times that partitions were begun, if tasks of a side compared them.
    attempts: Option<u64>,
    /// The types of the columns that this side sends.
    sent_types: Vec<SentType>,
    /// The other parties, in a run among several.
    circle: Option<Circle<'a>>,
}

/// One side of a session before it begins.
pub struct Setting<'a> {
    /// The offer to the other side.
    pub offer: &'a Offer,
    /// The limits of the run.
    pub standing: Standing,
    /// Both sides.
    pub parties: &'a Parties,
    /// The planner's knowledge of this machine and the link.
    pub inputs: &'a PlannerInputs,
    /// Threads that compute; 0 for one per processor.
    pub threads: usize,
    /// The observer of the progress.
    pub observer: Arc<dyn Observer>,
}

/// The channels of a session.
pub(crate) enum Others<'a> {
    /// To the other side.
    Peer(&'a mut Channel),
    /// To each of several parties.
    Circle(&'a Cast, Mesh<'a>),
}

impl<'a> Session<'a> {
    /// Begins a session with the other side, or with the partner among several parties.
    ///
    /// # Errors
    /// As [`Session::open`] and `Session::open_jointly`.
    pub(crate) fn begin(setting: Setting<'a>, others: Others<'a>) -> Result<Self> {
        match others {
            Others::Peer(channel) => Self::open(setting, channel),
            Others::Circle(cast, mesh) => Self::open_jointly(setting, cast, mesh),
        }
    }

    /// Verifies the other side, agrees on terms, and exchanges the signatures under the agreement, if there is one.
    ///
    /// # Errors
    /// As `Standing::require_peer`, [`Terms::agree`] and `Standing::exchange_signatures`.
    pub fn open(setting: Setting<'a>, channel: &'a mut Channel) -> Result<Self> {
        let Setting { offer, standing, parties, observer, .. } = &setting;
        standing.require_peer(parties, channel)?;
        channel.phase("terms");
        observer.phase("terms");
        let pledge = standing.pledge(parties)?;
        watch(channel, observer, None);
        let terms = Terms::agree(offer, pledge.as_ref(), parties, channel)?;
        let agreement = standing.exchange_signatures(channel)?;
        let session = Self::of_terms(setting, terms, channel, None)?;
        Ok(Self { agreement, ..session })
    }

    /// Creates a session whose terms are agreed.
    fn of_terms(
        setting: Setting<'a>,
        terms: Terms,
        channel: &'a mut Channel,
        circle: Option<Circle<'a>>,
    ) -> Result<Self> {
        let Setting { standing, parties, inputs, threads, observer, .. } = setting;
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = Arc::new(pool.map_err(|_| Error::bug("no thread could be started"))?);
        watch(channel, &observer, None);
        let (agreement, attempts, sent_types) = (None, None, Vec::new());
        Ok(Self {
            terms,
            parties,
            inputs,
            channel,
            pool,
            observer,
            standing,
            agreement,
            attempts,
            sent_types,
            circle,
        })
    }

    /// Returns the limits of the run.
    pub(crate) fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Returns the hash of the agreement under which the run takes place.
    pub fn agreement(&self) -> Option<String> {
        self.agreement.clone()
    }

    /// Returns the terms.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Returns the connection.
    pub fn channel(&mut self) -> &mut Channel {
        self.channel
    }

    /// Returns the terms and the connection.
    pub fn parts(&mut self) -> (&Terms, &mut Channel) {
        (&self.terms, self.channel)
    }

    /// Returns the threads that compute.
    pub(super) fn pool(&self) -> Arc<ThreadPool> {
        self.pool.clone()
    }

    /// Returns the role of this side.
    pub(crate) fn role(&self) -> Role {
        self.parties.role
    }

    /// Returns whether this side learns the result.
    pub fn learns(&self) -> bool {
        self.terms.learns(self.parties.role)
    }

    /// Runs the query of the terms on this side's keys. The set is fixed from here on. This side writes the rows
    /// `wanted`. Keys that do not fit into memory go to the directory `spill`. If this side keeps a journal, the run
    /// resumes from it.
    ///
    /// # Errors
    /// Sets that are larger than agreed, refusals by the rules, and faults of the connection or the other side.
    pub(crate) fn compute(
        &mut self,
        keys: TableKeys,
        wanted: WantedRows,
        spill: &Path,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        if self.circle.is_some() {
            return self.compute_jointly(keys, wanted, spill, rng);
        }
        let counts = RowCounts { used: keys.len(), ..keys.counts() };
        let (mut opening, committed) = self.open_sets(counts, wanted, rng)?;
        // A resumed run has passed the threshold.
        if let Some(least) = self.standing.threshold().filter(|_| opening.begun.is_none()) {
            self.require(least, &keys, &opening.call, rng)?;
        }
        let are_held = matches!(keys, TableKeys::Held(_));
        let chosen = self.pick(&mut opening, committed, are_held, rng)?;
        let Opening { call, peer_items, done, .. } = opening;
        let partitions = call.request.partitions;
        let found = match keys {
            TableKeys::Held(set) if self.is_whole(partitions) => {
                self.run(&chosen, call, set, rng)?
            }
            keys => self.run_partitions(&chosen, call, keys, spill, done, rng)?,
        };
        // A side that learned the result from the other one only knows it now.
        self.standing.reveal(found.outcome.counted())?;
        let attempts = self.attempts;
        Ok(Computed { attempts, ..Computed::by(&*chosen.method, peer_items, partitions, found) })
    }

    /// Exchanges the sizes of the sets, agrees on where an interrupted run resumes, and commits to a part of the seed.
    /// All of this is sent together.
    fn open_sets(
        &mut self,
        counts: RowCounts,
        wanted: WantedRows,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<(Opening, Committed)> {
        let my_items = counts.used;
        let Place { begun, done, peer_done } = self.standing.place()?;
        self.announce(my_items)?;
        let resumption = Said::send(begun.as_ref(), done, self.channel)?;
        let draw = Draw::commit(self.parties.role, self.channel, rng)?;
        let (whole, peer_items) = self.sizes(my_items)?;
        let types = self.receive_types()?;
        self.phase("seed");
        let done = resumption.agree(peer_done, self.channel)?;
        let committed = draw.receive(self.channel)?;
        let begun = begun.flatten().filter(|_| done.is_some());
        let warning = self.standing.admit(my_items, OfOthers::One(peer_items), begun.as_ref())?;
        warning.iter().for_each(|warning| self.observer.warning(warning));
        let (request, sides) = (self.terms.request(whole), self.sides(my_items, peer_items));
        let call = Call {
            sent: self.terms.sent_columns().cloned(),
            types,
            numbering: self.numbering(),
            wanted,
            ..Call::new(request, self.parties.role, sides, counts.read)
        };
        let done = done.unwrap_or_default();
        Ok((Opening { whole, peer_items, call, begun, done }, committed))
    }

    /// Lets a party prepare while items are computed from the digests, and runs it on them.
    fn run(
        &mut self,
        chosen: &Chosen,
        call: Call,
        set: KeySet,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        let Chosen { method, cost, seed } = chosen;
        self.phase(method.key());
        watch(self.channel, &self.observer, *cost);
        let (channel, circle) = (&mut *self.channel, &mut self.circle);
        let (digests, set) = set.into_parts();
        let found = self.pool.install(|| -> Result<Found> {
            if let Some(circle) = circle {
                let prepared = circle.prepare(0, channel, rng);
                prepared.map_err(|error| Error::of_protocol(error, channel))?;
            }
            let (items, party) = rayon::join(
                || {
                    let items = seed.items(&digests, method.item_length());
                    drop(digests);
                    items
                },
                || method.prepare(call, channel, rng),
            );
            let of_protocol = |error, channel: &Channel| Error::of_protocol(error, channel);
            let party = party.map_err(|error| of_protocol(error, channel))?;
            let (items, of_all) = match circle {
                None => (items, None),
                Some(circle) => {
                    let derived = circle.fold(items.items(), channel, rng);
                    let derived = derived.map_err(|error| of_protocol(error, channel))?;
                    (derived, circle.passes_on().then_some(items))
                }
            };
            let ran = match circle {
                None => party.run(items.items(), &set, channel, rng),
                Some(circle) => {
                    let circle: &mut dyn Fold = circle;
                    circle.beside_others(channel, |channel| {
                        party.run(items.items(), &set, channel, rng)
                    })
                }
            };
            let unrevealed = ran.map_err(|error| of_protocol(error, channel))?;
            self.standing.reveal(unrevealed.shared)?;
            let found = (unrevealed.reveal)(channel, rng)?;
            match circle.as_mut().zip(of_all) {
                None => Ok(found),
                Some((circle, items)) => {
                    circle.pass_on(found, PartyKeys::Whole(items.items(), &set), channel, rng)
                }
            }
        });
        watch(self.channel, &self.observer, None);
        found
    }

    /// Sorts the keys into partitions, and runs a party on one after the other, from the first that is not done. The
    /// next one is read while a party prepares. The combined result is revealed at the end.
    fn run_partitions(
        &mut self,
        chosen: &Chosen,
        call: Call,
        keys: TableKeys,
        spill: &Path,
        done: u64,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        let Chosen { method, cost, seed } = chosen;
        let (gathered, pieces) = self.begin_partitions(chosen, &call, spill, done)?;
        let (count, done) = (call.request.partitions, done as usize);
        let (directory, division) = (spill.to_owned(), self.division(count));
        self.phase("partitions");
        let length = method.item_length();
        let of_run = seed.clone();
        let partitions =
            self.meanwhile(move || keys.partition(&of_run, division, length, &directory))?;
        self.phase(method.key());
        let threads = self.pool.current_num_threads();
        let mine = match self.channel.has_parallel() {
            true => (threads + 1).min(count - done).min(self.fit(&**method, &call)),
            false => 1,
        };
        let lanes = work::agree(Some(mine), self.channel)?;
        let parallel = match lanes {
            PairingMode::Connections(connections) => connections,
            PairingMode::Permits => count - done,
        };
        // Each connection has its part of the cost.
        let cost = cost.map(|cost| Cost {
            bytes_to_sender: cost.bytes_to_sender * (count - done) as f64 / parallel.max(1) as f64,
            bytes_to_receiver: cost.bytes_to_receiver * (count - done) as f64
                / parallel.max(1) as f64,
            ..cost
        });
        watch(self.channel, &self.observer, cost);
        let recorded = Recorded::new(done, pieces, self.standing.clone());
        let pieces = match lanes {
            PairingMode::Connections(connections) => {
                let work =
                    PartitionWork::new(&*gathered, &partitions, threads, done..count, recorded);
                let fold = self.circle.as_mut().map(|circle| circle as &mut dyn Fold);
                work.folded(fold).run(connections, self.channel, rng)?
            }
            PairingMode::Permits => {
                let local = Local {
                    gather: &*gathered,
                    partitions: &partitions,
                    call: &call,
                    seed,
                    done,
                    slots: mine.clamp(1, threads),
                    threads,
                };
                self.compare_by_permits(local, recorded, rng)?
            }
        };
        watch(self.channel, &self.observer, None);
        let found = self.conclude(gathered, pieces, Some(&partitions), seed, rng)?;
        match &mut self.circle {
            None => Ok(found),
            Some(circle) => circle.pass_on(found, PartyKeys::Parts(&partitions), self.channel, rng),
        }
    }

    /// Begins or resumes the journal, and makes a file for the results, which holds the earlier ones.
    fn begin_partitions(
        &self,
        chosen: &Chosen,
        call: &Call,
        spill: &Path,
        done: u64,
    ) -> Result<(Box<dyn Gather>, pieces::Adding)> {
        let Chosen { method, seed, .. } = chosen;
        let gathered = method.gather(call).ok_or_else(|| {
            let message = format!("runs of `{}` cannot be resumed", method.key());
            Error::usage(Misuse::Resume, message)
        })?;
        let mut pieces = pieces::Adding::create(spill)?;
        let begun = Begun {
            peer_keys: self.peer_keys(call.sides.keys(Side::Peer)),
            method: method.key().to_owned(),
            partitions: call.request.partitions as u64,
            seed: *seed.as_bytes(),
            line: None,
        };
        let sizes = call.request.sizes;
        let limits = Limits {
            peer_keys: call.sides.keys(Side::Peer),
            max_peer_keys: self.terms.max_keys(self.parties.role.other()),
            of_partition: if call.receives() { sizes.sender } else { sizes.receiver } as u64,
            is_malicious: method.adversary() == Adversary::Malicious,
        };
        self.begin_journal(begun, limits, done, |piece| pieces.push(piece))?;
        Ok((gathered, pieces))
    }

    /// Combines the results of all partitions, checks the rules for them, and reveals the total.
    fn conclude(
        &mut self,
        gathered: Box<dyn Gather>,
        pieces: pieces::Pieces,
        partitions: Option<&Partitions>,
        seed: &Seed,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        self.require_all_done()?;
        let mut noise = self.standing.noise(seed, &mut *rng);
        let mut randomness = Randomness { rng: &mut *rng, noise: &mut noise };
        // No gate is set for numbers that are opened here. A gate limits repeated comparisons of a partition, perhaps
        // with other keys. A session that resumes opens the same shares with the same noise again: both sides have all
        // pieces on the disk, and neither goes back behind them.
        let unrevealed = gathered.finish(pieces, partitions, self.channel, &mut randomness)?;
        self.standing.reveal(unrevealed.shared)?;
        (unrevealed.reveal)(self.channel, rng)
    }

    /// Returns the division of all sets into this number of partitions.
    fn division(&self, partitions: usize) -> Division {
        let sets = self.circle.as_ref().map_or(2, |circle| circle.terms.cast().parties.len());
        Division { partitions, sets }
    }

    /// Returns how many partitions fit into this side's memory at a time.
    fn fit(&self, method: &dyn Method, call: &Call) -> usize {
        let Call { request, .. } = call;
        let (sizes, receives) = (request.sizes, call.receives());
        let mine = if receives { sizes.receiver } else { sizes.sender };
        let beside = partitions::memory(mine, request.brought(receives));
        let of_party = |candidate: Candidate| candidate.memory.of(receives);
        let needed = method.candidate(request).map_or(f64::INFINITY, of_party) + beside;
        Budget::new(self.inputs).times(needed)
    }

    /// Draws the seed together with the other side.
    pub(super) fn draw(&mut self, rng: &mut (dyn CryptoRng + Send)) -> Result<Seed> {
        self.phase("seed");
        Seed::agree(self.parties.role, self.channel, rng)
    }

    /// Returns the facts about both sides for sentences on this run.
    fn sides(&self, my_keys: u64, peer_keys: u64) -> Sides {
        let role = self.parties.role;
        Sides {
            my_keys,
            peer_keys,
            i_learn: self.terms.learns(role),
            peer_learns: self.terms.learns(role.other()),
            receiver: if self.receives() { Side::Me } else { Side::Peer },
            identifiers: self.terms.identifiers(),
        }
    }

    /// Returns the numbers in a first column of matched rows, if there are any.
    fn numbering(&self) -> Option<Numbering> {
        let hides_rules = self.terms.query().kind.hides_rules();
        let by_rules = self.terms.rules().filter(|_| !hides_rules).map(|_| Numbering::Rules);
        by_rules.or_else(|| self.terms.aligns().then_some(Numbering::Matches))
    }

    /// Returns whether this side is the protocol's receiver.
    fn receives(&self) -> bool {
        self.terms.receiver() == self.parties.role
    }

    /// Returns the first number of partitions that this side accepts, as the number of halvings.
    fn least(&self, are_held: bool) -> usize {
        // Keys on disk are compared in partitions, even if a few repeated keys would fit into memory.
        let least = self.inputs.partitions.max(if are_held { 1 } else { 2 });
        least.next_power_of_two().ilog2() as usize
    }

    /// Agrees on the candidate and its number of partitions, from `least` on, among those for which both sides have the
    /// memory. The openings of the seed, unless it is drawn already, and the echo travel with both
    /// sides' statements of their memory.
    fn choose(
        &mut self,
        ladder: &Ladder<'_>,
        least: usize,
        committed: Option<Committed>,
    ) -> Result<(Candidate, Option<Seed>)> {
        self.phase("choice");
        let (role, receives, inputs) = (self.parties.role, self.receives(), self.inputs);
        let channel = &mut *self.channel;
        let budget = Budget::new(inputs);
        let opened = committed.map(|committed| committed.open(channel)).transpose()?;
        let room = Room::send(ladder, least, receives, budget, channel)?;
        let echo = room.is_a_choice().then(|| Echo::send(role, channel)).transpose()?;
        let seed = opened.map(|opened| opened.finish(channel)).transpose()?;
        let theirs = room.receive(channel)?;
        // Before anything is computed, which would count as a part of the round trip.
        let round_trip = echo.map_or(Ok(None), |echo| echo.finish(channel))?;
        let candidates = room.agree(&theirs)?;
        let chosen = choice::agree(&candidates, round_trip, inputs, channel)?;
        Ok((chosen, seed))
    }

    /// Compares with the other side what the keys of both look like, if the terms say so, and returns hints at what may
    /// be wrong.
    ///
    /// # Errors
    /// As [`Diagnosis::conclude`].
    pub(crate) fn diagnose(
        &mut self,
        diagnosis: Diagnosis,
        outcome: &Outcome,
    ) -> Result<(Vec<String>, [bool; 2])> {
        let agreed = self.circle.is_none().then(|| self.terms.diagnoses());
        diagnosis.conclude(agreed, self.channel, outcome)
    }
}

/// Both sides' knowledge of the sets and of an earlier attempt.
struct Opening {
    whole: Sizes,
    /// The size of the other side's set.
    peer_items: u64,
    call: Call,
    begun: Option<Begun>,
    /// Partitions that both sides have done.
    done: u64,
}

/// Reports the channel's activity to the observer: the bytes of a protocol as part of those predicted, and pauses that
/// a person would notice.
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
