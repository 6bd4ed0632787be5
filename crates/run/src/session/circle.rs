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

use crate::{partitions::Fold, standing::Standing};

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
    Helper(Box<Helper>),
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
        let plan = plan.made_of(self.terms.folding());
        let mesh = &mut self.rest.with(channel);
        plan.agree(mesh)?;
        self.prepared = Some(match plan.place(mesh.me()) {
            Place::Leader => FoldingParty::Leader(Leader::prepare(&plan, mesh, rng)?),
            Place::Pivot => FoldingParty::Pivot(Pivot::prepare(&plan, mesh, rng)?),
            Place::Helper => FoldingParty::Helper(Box::new(Helper::prepare(&plan, mesh, rng)?)),
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

    fn exchange_done(
        &mut self,
        standing: &Standing,
        channel: &mut Channel,
    ) -> vesica_core::error::Result<()> {
        standing.exchange_done_jointly(false, &mut self.rest.with(channel)).map(drop)
    }

    fn with_partner(&mut self, channel: &mut Channel, steps: &mut dyn FnMut(&mut Channel)) {
        let partner = self.rest.missing();
        self.rest.with(channel).talk(partner, steps);
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_agree::{
        joint::{Cast, NamedParty},
        offer::Offer,
    };
    use vesica_keyset::seed::Seed;
    use vesica_normalize::{digest::Digest, normalize::Normalize};
    use vesica_psi::DigestLength;
    use vesica_testkit::{parties, two_party::Link};

    use super::*;

    /// Folds the same partition of the same sets over new channels, and returns the derived items of leader and pivot.
    fn folded(rng_seed: u64) -> [Vec<u128>; 2] {
        let party = |name: &str| NamedParty { name: name.into(), fingerprint: name.into() };
        let all = ["shop", "club", "bank"].map(party).into();
        let cast = &Cast::new(all, "shop", "bank").unwrap();
        let folded = parties::run(3, Link::Memory, |me, channels, _| {
            let offer = Offer::new(vec![Normalize::NONE], cast.learners_for(me));
            let terms = JointTerms::expected(&offer, cast, me).unwrap();
            let (channel, rest) = Mesh::new(me, channels).without(cast.partner(me));
            let mut circle = Circle::new(terms, me, rest);
            let (keys, sizes) = (vec![30; 3], vec![30; 3]);
            circle.begin(Folds { keys, sizes, partitions: 4, seed: [7; 32] });
            let rng = &mut StdRng::seed_from_u64(rng_seed + me as u64);
            // The last ten are of all parties.
            let key = |i: u32| if i < 20 { 100 * me as u32 + i } else { 1000 + i };
            let digests: Vec<_> = (0..30).map(|i| Digest::of(&key(i).to_le_bytes())).collect();
            let items = Seed::of_run([7; 32]).items(&digests, DigestLength::Short);
            circle.prepare(2, channel, rng)?;
            let derived = circle.fold(items.items(), channel, rng)?;
            channel.flush()?;
            let items = derived.items().low_halves().iter().map(|item| item.0);
            Ok::<_, Error>(items.collect::<Vec<_>>())
        });
        let [leader, helper, pivot] = folded.try_into().unwrap();
        assert!(helper.is_empty());
        [leader, pivot]
    }

    fn common(one: &[u128], other: &[u128]) -> usize {
        other.iter().filter(|item| one.contains(item)).count()
    }

    /// A partition that is repeated has new keys: under the same ones, the values that do not change would show the
    /// leader which of its items a helper has.
    #[test]
    fn no_share_is_the_same_in_two_attempts() {
        let [first, second] = [folded(1), folded(11)];
        for [leader, pivot] in [&first, &second] {
            assert_eq!(common(leader, pivot), 10);
        }
        for (one, other) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            assert_eq!(common(&first[one], &second[other]), 0);
        }
        // The same randomness makes the same keys.
        let again = folded(1);
        assert_eq!([common(&first[0], &again[0]), common(&first[1], &again[1])], [30, 30]);
    }
}
