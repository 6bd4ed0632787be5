//! The steps of a session that all of several parties take: sizes, seed, partitions, and the helpers' part.

use std::path::Path;

use rand::CryptoRng;
use vesica_agree::{
    joint::{Cast, JointTerms},
    memory::Budget,
};
use vesica_core::error::{Error, Result};
use vesica_keyset::{
    partitions::{self, Division},
    seed::Seed,
    table_keys::TableKeys,
};
use vesica_net::{Channel, Mesh};
use vesica_partner::{account::LedgerLine, record::AnyRecord};
use vesica_planner::Candidate;
use vesica_psi::{
    MAX_ITEMS, Set, Sizes,
    joint::{JointPlan, Place},
};
use vesica_table::rows::MAX_ROWS;
use vesica_task::{
    interface::{Call, Found, PartyKeys, Request, WantedRows},
    outcome::Outcome,
    sides::Sides,
};

use super::{
    Computed, READY, Session, Setting,
    chosen::Chosen,
    circle::{Circle, Folds},
    resumed::JointOpening,
};
use crate::{
    ladder::{self, Bounds, halvings},
    partitions::Fold,
    report::Report,
};

/// The least number of partitions that a helper asks for.
pub(super) const LEAST: &str = "joint/least";

/// The number of partitions and the method, from the leader to the helpers.
pub(super) const CHOICE: &str = "joint/choice";

/// The longest choice, in bytes.
const MAX_CHOICE: usize = 1 + 32;

impl<'a> Session<'a> {
    /// Verifies all other parties and agrees on terms with them. The session is with the partner of this party.
    ///
    /// # Errors
    /// As [`Session::open`] and [`JointTerms::agree`].
    pub(super) fn open_jointly(
        setting: Setting<'a>,
        cast: &Cast,
        mut mesh: Mesh<'a>,
    ) -> Result<Self> {
        let me = mesh.me();
        for party in mesh.others() {
            let expected = &cast.parties[party].fingerprint;
            let peer = mesh.to(party).peer();
            if peer.is_some_and(|peer| peer.to_string() != *expected) {
                return Err(Error::bug("the channels have the order of the parties"));
            }
        }
        mesh.phase("terms");
        setting.observer.phase("terms");
        let pledges = setting.standing.pledges();
        let terms = JointTerms::agree(setting.offer, pledges.as_deref(), cast, &mut mesh)?;
        let agreement = setting.standing.exchange_ledgers(cast, &mut mesh)?;
        let (channel, rest) = mesh.without(cast.partner(me));
        let of_two = terms.of_party(me).clone();
        let circle = Circle::new(terms, me, rest);
        let session = Self::of_terms(setting, of_two, channel, Some(circle))?;
        Ok(Self { agreement, ..session })
    }

    /// Signs the record of the run with all other parties, if it is among several and under an agreement.
    ///
    /// # Errors
    /// As `Standing::sign_jointly`.
    pub(crate) fn sign_jointly(
        &mut self,
        report: &Report,
    ) -> Result<Option<(AnyRecord, LedgerLine)>> {
        let circle = self.circle()?;
        let (terms, seed) = (circle.terms.clone(), circle.seed());
        let standing = self.standing.clone();
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        standing.sign_jointly(report, &terms, &seed, &mut mesh)
    }

    /// Returns the terms of all parties, in a run among several.
    pub(crate) fn joint_terms(&self) -> Option<&JointTerms> {
        self.circle.as_ref().map(|circle| &circle.terms)
    }

    /// Runs the query of the terms on the keys of all parties. Otherwise as `Session::compute`.
    ///
    /// # Errors
    /// As `Session::compute`.
    pub(crate) fn compute_jointly(
        &mut self,
        keys: TableKeys,
        wanted: WantedRows,
        spill: &Path,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Computed> {
        if let Some(least) = self.circle()?.terms.cast().least() {
            return self.find_holders(least, keys, spill, rng);
        }
        let counts = keys.counts();
        let is_helper = self.circle()?.place() == Place::Helper;
        let opening = self.begin_jointly(keys.len())?;
        let types = if is_helper { Vec::new() } else { self.exchange_types()? };
        // A resumed run has passed the threshold.
        if let Some(least) = self.standing.threshold().filter(|_| opening.begun.is_none()) {
            self.require_jointly(least, &keys, &opening, rng)?;
        }
        let are_held = matches!(keys, TableKeys::Held(_));
        let (partitions, chosen) = self.pick_jointly(&opening, is_helper, are_held, rng)?;
        let JointOpening { sizes, done, .. } = opening;
        let of_part = sizes_of_parts(&sizes, partitions);
        let circle = self.circle()?;
        let (me, partner) = (circle.me(), circle.terms.cast().partner(circle.me()));
        let seed = *chosen.seed.as_bytes();
        circle.begin(Folds { keys: sizes.clone(), sizes: of_part.clone(), partitions, seed });
        let found = match is_helper {
            true => self.help(&chosen, done, keys, spill, rng)?,
            false => {
                let [mine, theirs] = [me, partner].map(|party| of_part[party]);
                let (sender, receiver) =
                    if self.receives() { (theirs, mine) } else { (mine, theirs) };
                let request = self.terms.request(Sizes { sender, receiver });
                let secret = self.secret_of_query(&chosen.seed, rng);
                let sides = self.sides(sizes[me], sizes[partner]);
                let leads = self.circle()?.place() == Place::Leader;
                // The leader shows others the result afterwards.
                let sides = Sides { i_learn: leads, peer_learns: !leads, ..sides };
                let call = Call {
                    sent: self.terms.sent_columns().cloned(),
                    types,
                    wanted,
                    secret,
                    ..Call::new(
                        Request { partitions, ..request },
                        self.parties.role,
                        sides,
                        counts.read,
                    )
                };
                match keys {
                    TableKeys::Held(set) if self.is_whole(partitions) => {
                        self.run(&chosen, call, set, rng)?
                    }
                    keys => self.run_partitions(&chosen, call, keys, spill, done, rng)?,
                }
            }
        };
        // A party that learned the result from the leader only knows it now.
        self.standing.reveal(found.outcome.counted())?;
        let computed = Computed::by(&*chosen.method, sizes[partner], partitions, found);
        Ok(Computed { sizes: Some(sizes), ..computed })
    }

    /// Returns the other parties.
    pub(super) fn circle(&mut self) -> Result<&mut Circle<'a>> {
        self.circle.as_mut().ok_or(Error::bug("a run among several parties has a circle"))
    }

    /// Exchanges the sizes of all sets, which are fixed from here on.
    pub(super) fn all_sizes(&mut self, mine: u64) -> Result<Vec<u64>> {
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        let sizes = mesh.all(READY, mine.to_le_bytes())?;
        let sizes: Vec<_> = sizes.into_iter().map(u64::from_le_bytes).collect();
        if let Some(party) = sizes.iter().position(|size| *size > MAX_ROWS) {
            let too_many = "more items than a set may have";
            return Err(mesh.to(party).malformed(READY, too_many).into());
        }
        self.circle()?.terms.check_sizes(&sizes)?;
        Ok(sizes)
    }

    /// Returns the number of partitions, the method and the seed: from an earlier attempt, or new ones.
    fn pick_jointly(
        &mut self,
        opening: &JointOpening,
        is_helper: bool,
        are_held: bool,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<(usize, Chosen)> {
        let sizes = &opening.sizes;
        let seed = self.joint_seed(opening, rng)?;
        if let Some(begun) = &opening.begun {
            let method = super::chosen(self.terms.query(), &begun.method)?;
            let chosen = Chosen { method, cost: None, seed: seed.into() };
            return Ok((begun.partitions as usize, chosen));
        }
        self.phase("choice");
        match is_helper {
            true => self.be_told(sizes, are_held, seed),
            false => self.choose_jointly(sizes, are_held, seed),
        }
    }

    /// Returns the seed of an earlier attempt, or draws one together with all parties.
    pub(super) fn joint_seed(
        &mut self,
        opening: &JointOpening,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Seed> {
        self.phase("seed");
        if let Some(begun) = &opening.begun {
            let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
            return Ok(Seed::again_jointly(begun.seed, &mut mesh));
        }
        let mut facts = blake3::Hasher::new_derive_key("vesica 1 joint facts");
        facts.update(self.circle()?.terms.hash().as_bytes());
        for size in &opening.sizes {
            facts.update(&size.to_le_bytes());
        }
        let facts = *facts.finalize().as_bytes();
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        Seed::agree_jointly(&facts, &mut mesh, rng)
    }

    /// Returns the memory that the fold of this party takes, for partitions of sets of these sizes.
    pub(super) fn fold_memory(
        terms: &JointTerms,
        me: usize,
        sizes: &[u64],
        partitions: usize,
    ) -> f64 {
        let (cast, sizes) = (terms.cast(), sizes_of_parts(sizes, partitions));
        let plan = JointPlan::new(sizes, cast.leader, cast.partner(cast.leader), [0; 32]);
        let plan = plan.map(|plan| plan.one_of(partitions).made_of(terms.folding()));
        plan.map_or(f64::INFINITY, |plan| plan.memory(me))
    }

    /// Chooses the method and the number of partitions with the partner; the leader sends them to the helpers.
    fn choose_jointly(
        &mut self,
        sizes: &[u64],
        are_held: bool,
        seed: Seed,
    ) -> Result<(usize, Chosen)> {
        let circle = self.circle()?;
        let (joint, me) = (circle.terms.clone(), circle.me());
        let cast = joint.cast();
        let helpers: Vec<_> = cast.helpers().collect();
        let most = sizes.iter().copied().max().unwrap_or_default() as usize;
        let least = self.hear_least(&helpers, halvings(most))?.max(self.least(are_held));
        let pivot = cast.partner(cast.leader);
        let of_roles = [pivot, cast.leader].map(|party| sizes[party] as usize);
        let [sender, receiver] = match self.receives() == (me == cast.leader) {
            true => of_roles,
            false => [of_roles[1], of_roles[0]],
        };
        let terms = self.terms.clone();
        let memory = |partitions| Self::fold_memory(&joint, me, sizes, partitions);
        let folding = Some(joint.folding());
        let is_kept = self.standing.is_kept();
        let bounds = Bounds { most, memory: &memory, sets: sizes.len(), folding, is_kept };
        let sizes = Sizes { sender, receiver };
        let ladder = ladder::of_terms(&terms, sizes, self.receives(), are_held, bounds)?;
        let (Candidate { key, partitions, cost, .. }, _) = self.choose(&ladder, least, None)?;
        let method = super::chosen(self.terms.query(), key)?;
        if me == cast.leader {
            let choice = [&[partitions.ilog2() as u8], key.as_bytes()].concat();
            let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
            for helper in helpers {
                mesh.to(helper).send(CHOICE, &choice)?;
                mesh.to(helper).flush()?;
            }
        }
        Ok((partitions, Chosen { method, cost: Some(cost), seed: seed.into() }))
    }

    /// Returns the least number of partitions, as the number of halvings, for which this party has the memory; `memory`
    /// has the bytes that a partition takes beside its keys.
    pub(super) fn fitting(
        &self,
        sizes: &[u64],
        me: usize,
        are_held: bool,
        memory: &dyn Fn(usize) -> f64,
    ) -> Result<u32> {
        let budget = Budget::new(self.inputs);
        let fits = |halvings: &u32| {
            let partitions = 1 << halvings;
            let mine = sizes_of_parts(sizes, partitions)[me];
            let beside = match partitions {
                1 if are_held => 0.0,
                _ => partitions::memory(mine, 0),
            };
            mine <= MAX_ITEMS && budget.times(beside + memory(partitions)) > 0
        };
        let most = halvings(sizes.iter().copied().max().unwrap_or_default() as usize);
        let least = (self.least(are_held) as u32).min(most);
        let too_large = || Error::too_large(sizes[me] as usize, 1 << most);
        (least..=most).find(fits).ok_or_else(too_large)
    }

    /// Receives the least number of partitions of each of these parties, at most `most`, and returns the largest, as
    /// numbers of halvings.
    pub(super) fn hear_least(&mut self, parties: &[usize], most: u32) -> Result<usize> {
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        let mut least = 0;
        for party in parties {
            let mut theirs = [0];
            mesh.talk(*party, |channel| channel.recv_into(LEAST, &mut theirs))?;
            if u32::from(theirs[0]) > most {
                return Err(mesh.to(*party).malformed(LEAST, "not a number of partitions").into());
            }
            least = least.max(usize::from(theirs[0]));
        }
        Ok(least)
    }

    /// Sends leader and pivot the least number of partitions that fits this helper, and receives their choice.
    fn be_told(&mut self, sizes: &[u64], are_held: bool, seed: Seed) -> Result<(usize, Chosen)> {
        let circle = self.circle()?;
        let (joint, me) = (circle.terms.clone(), circle.me());
        let cast = joint.cast();
        let memory = |partitions| Self::fold_memory(&joint, me, sizes, partitions);
        let least = self.fitting(sizes, me, are_held, &memory)?;
        let most = halvings(sizes.iter().copied().max().unwrap_or_default() as usize);
        let mut mesh = self.mesh().ok_or(Error::bug("there are several parties"))?;
        for party in [cast.leader, cast.partner(cast.leader)] {
            mesh.to(party).send(LEAST, &[least as u8])?;
            mesh.to(party).flush()?;
        }
        let choice = mesh.talk(cast.leader, |channel| channel.recv_len(CHOICE, MAX_CHOICE))?;
        let malformed = |channel: &Channel, what| Error::from(channel.malformed(CHOICE, what));
        let (halvings, key) = match choice.split_first() {
            Some((halvings, key)) if (least..=most).contains(&u32::from(*halvings)) => {
                (*halvings, key)
            }
            _ => return Err(malformed(self.channel, "not a number of partitions of this run")),
        };
        let key = std::str::from_utf8(key).ok();
        let method = key.and_then(|key| self.terms.query().method(key));
        let method = method.ok_or_else(|| malformed(self.channel, "not a method of this query"))?;
        Ok((1 << halvings, Chosen { method, cost: None, seed: seed.into() }))
    }

    /// Lets the leader read this helper's shares, in one partition after the other, from the first that is not done.
    /// Then it learns the result if it is one that learns.
    fn help(
        &mut self,
        chosen: &Chosen,
        done: u64,
        keys: TableKeys,
        spill: &Path,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<Found> {
        let circle = self.circle()?;
        let (length, count) = (circle.terms.folding().digest(), circle.folds.partitions);
        let division = self.division(count);
        match keys {
            TableKeys::Held(set) if self.is_whole(count) => {
                self.phase("joint");
                let (digests, rows) = set.into_parts();
                let items = chosen.seed.items(&digests, length);
                drop(digests);
                self.fold_part(0, &items, rng)?;
                self.learn(PartyKeys::Whole(items.items(), &rows), rng)
            }
            keys => {
                self.begin_folds(chosen.method.key(), done, |_| Ok(()))?;
                self.phase("partitions");
                let (seed, directory) = (chosen.seed.clone(), spill.to_owned());
                let all =
                    self.meanwhile(move || keys.partition(&seed, division, length, &directory))?;
                self.phase("joint");
                for number in done as usize..count {
                    let partition = all.load(number, rng)?;
                    self.fold_part(number, &partition.items, rng)?;
                    self.leave(&[])?;
                }
                self.require_all_done()?;
                self.learn(PartyKeys::Parts(&all), rng)
            }
        }
    }

    /// Learns the result from the leader, if this helper is one that learns.
    fn learn(&mut self, keys: PartyKeys<'_>, rng: &mut (dyn CryptoRng + Send)) -> Result<Found> {
        let (pool, channel) = (self.pool.clone(), &mut *self.channel);
        let circle = self.circle.as_mut().ok_or(Error::bug("a helper has a circle"))?;
        let nothing = Found { outcome: Outcome::default(), content: None };
        pool.install(|| circle.pass_on(nothing, keys, channel, rng))
    }

    /// Takes this helper's part in a partition.
    fn fold_part(
        &mut self,
        number: usize,
        items: &Set,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        self.prepare_fold(number, rng)?;
        self.standing.begin_partition(number as u32, None)?;
        self.channel.set_gate(Some(self.standing.gate(number as u32)));
        let folded = self.fold_items(items, rng);
        self.channel.set_gate(None);
        folded
    }

    /// Prepares this helper for the fold of a partition.
    pub(super) fn prepare_fold(
        &mut self,
        number: usize,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let (pool, channel) = (self.pool.clone(), &mut *self.channel);
        let circle = self.circle.as_mut().ok_or(Error::bug("a helper has a circle"))?;
        let prepared = pool.install(|| circle.prepare(number, channel, rng));
        prepared.map_err(|error| Error::of_protocol(error, channel))
    }

    /// Lets the leader read this helper's shares of the items of the partition that is prepared.
    pub(super) fn fold_items(
        &mut self,
        items: &Set,
        rng: &mut (dyn CryptoRng + Send),
    ) -> Result<()> {
        let (pool, channel) = (self.pool.clone(), &mut *self.channel);
        let circle = self.circle.as_mut().ok_or(Error::bug("a helper has a circle"))?;
        let folded = pool.install(|| {
            circle.fold(items.items(), channel, rng)?;
            Ok(channel.flush()?)
        });
        folded.map_err(|error| Error::of_protocol(error, channel))
    }
}

/// Returns the sizes of a partition of each of these sets.
pub(super) fn sizes_of_parts(sizes: &[u64], partitions: usize) -> Vec<usize> {
    let division = Division { partitions, sets: sizes.len() };
    sizes.iter().map(|keys| division.capacity(*keys as usize)).collect()
}
