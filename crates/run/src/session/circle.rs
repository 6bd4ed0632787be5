//! The other parties of a run among several.
//!
//! They are folded to two: the items of leader and pivot are exchanged for derived ones, which are equal for keys that
//! all parties have. The run between the two then is a run of two parties.

use rand::CryptoRng;
use vesica_agree::joint::JointTerms;
use vesica_net::{Channel, Mesh, PartialMesh};
use vesica_psi::{
    Error, Items, Result, Set,
    joint::{HeldItem, Helper, HoldersPlan, JointPlan, Leader, Pivot, Place},
};

use crate::partitions::Fold;

/// All parties of a run among several, as a party sees them that has a session with its partner.
pub(crate) struct Circle<'a> {
    pub(super) terms: JointTerms,
    me: usize,
    /// The channels to all other parties but the partner.
    rest: PartialMesh<'a>,
    pub(super) folds: Folds,
    prepared: Option<FoldingParty>,
}

/// The facts about the folds of a run, one for each partition. All parties know them.
#[derive(Default)]
pub(super) struct Folds {
    /// The numbers of keys of all parties.
    pub(super) keys: Vec<u64>,
    /// The numbers of items of all parties in a partition.
    pub(super) sizes: Vec<usize>,
    /// The number of partitions.
    pub(super) partitions: usize,
    /// The seed of the run.
    pub(super) seed: [u8; 32],
}

/// A party that is prepared for a partition.
enum FoldingParty {
    Leader(Leader),
    Pivot(Pivot),
    Helper(Helper),
}

impl Folds {
    /// Returns the plan of a partition. Each has keys of its own.
    fn plan(&self, partition: usize, leader: usize, pivot: usize) -> Result<JointPlan> {
        let plan = JointPlan::new(self.sizes.clone(), leader, pivot, self.context(partition));
        let plan = plan.map_err(|limit| Error::Limit { protocol: "joint", limit })?;
        Ok(plan.one_of(self.partitions))
    }

    /// Returns the plan of a search for holders in a partition.
    fn search(&self, partition: usize, leader: usize, least: usize) -> Result<HoldersPlan> {
        let plan = HoldersPlan::new(self.sizes.clone(), leader, least, self.context(partition));
        let plan = plan.map_err(|limit| Error::Limit { protocol: "joint", limit })?;
        Ok(plan.one_of(self.partitions))
    }

    fn context(&self, partition: usize) -> [u8; 32] {
        let mut context = blake3::Hasher::new_derive_key("vesica 1 joint partition");
        context.update(&self.seed).update(&(partition as u64).to_le_bytes());
        *context.finalize().as_bytes()
    }
}

impl<'a> Circle<'a> {
    /// Creates the circle of a party that has agreed on these terms.
    pub(super) fn new(terms: JointTerms, me: usize, rest: PartialMesh<'a>) -> Self {
        Self { terms, me, rest, folds: Folds::default(), prepared: None }
    }

    /// Returns this party's place.
    pub(super) fn place(&self) -> Place {
        self.terms.cast().place(self.me)
    }

    /// Returns this party's number.
    pub(super) fn me(&self) -> usize {
        self.me
    }

    /// Returns the seed of the run.
    pub(super) fn seed(&self) -> [u8; 32] {
        self.folds.seed
    }

    /// Returns the channels to all other parties; `channel` leads to the partner.
    pub(super) fn mesh<'b>(&'b mut self, channel: &'b mut Channel) -> Mesh<'b> {
        self.rest.with(channel)
    }

    /// Begins the folds of a run.
    pub(super) fn begin(&mut self, folds: Folds) {
        self.folds = folds;
    }

    /// Takes this party's part in the search for holders in a partition. The leader gets its items with enough holders,
    /// the others nothing.
    ///
    /// # Errors
    /// As [`HoldersPlan::run`].
    pub(super) fn search(
        &mut self,
        partition: usize,
        least: usize,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<HeldItem>> {
        let plan = self.folds.search(partition, self.terms.cast().leader, least)?;
        let mesh = &mut self.rest.with(channel);
        let found = plan.run(items, mesh, rng)?;
        mesh.with_each(|_, channel| channel.flush())?;
        Ok(found.unwrap_or_default())
    }

    /// Ends the run with all parties, and adds up what it has cost in the meter of the channel to the partner.
    pub(super) fn finish(mut self, channel: &mut Channel) -> vesica_net::Result<()> {
        let ended = self.rest.with(channel).finish();
        self.rest.channels().for_each(|other| channel.add_cost(other.meter()));
        ended
    }
}

impl Fold for Circle<'_> {
    /// Agrees with all parties on the plan of the partition.
    fn prepare(
        &mut self,
        partition: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let cast = self.terms.cast();
        let plan = self.folds.plan(partition, cast.leader, cast.partner(cast.leader))?;
        let mesh = &mut self.rest.with(channel);
        plan.agree(mesh)?;
        self.prepared = Some(match plan.place(mesh.me()) {
            Place::Leader => FoldingParty::Leader(Leader::prepare(&plan, mesh, rng)?),
            Place::Pivot => FoldingParty::Pivot(Pivot::prepare(&plan, mesh, rng)?),
            Place::Helper => FoldingParty::Helper(Helper::prepare(&plan, mesh, rng)?),
        });
        Ok(())
    }

    /// Returns the derived items; a helper has none.
    fn fold(
        &mut self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Set> {
        let mesh = &mut self.rest.with(channel);
        match self.prepared.take().expect("a partition is prepared before it is folded") {
            FoldingParty::Leader(leader) => leader.fold(items, mesh, rng),
            FoldingParty::Pivot(pivot) => Ok(pivot.fold(items)),
            FoldingParty::Helper(helper) => {
                helper.fold(items, mesh, rng)?;
                Ok(Set::short(Vec::new()))
            }
        }
    }

    fn with_partner(&mut self, channel: &mut Channel, steps: &mut dyn FnMut(&mut Channel)) {
        let partner = self.rest.missing();
        self.rest.with(channel).talk(partner, steps);
    }
}
