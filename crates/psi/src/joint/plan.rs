//! The facts about a computation of several parties that all of them know beforehand.

use vesica_net::{Deviation, Mesh};
use vesica_ot::Bytes;
use vesica_params::{Failure, subfield};

use super::malicious::{self, FromCheckedVole};
use crate::{
    Adversary, DigestLength, Error, Items, Limit, MAX_ITEMS, Protocol, Result, Setting, Sizes,
    Status,
    circuit_psi::{Opprf, OpprfSize, rs21::FromVole},
    protocols::rr22,
};

const PLAN: &str = "joint/plan";

/// Bytes of the hash by which two parties compare their plans.
pub(super) const NAME_LEN: usize = 32;

/// The place of a party in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The party that reads the zero shares of all helpers. It is the receiver of the two-party run.
    Leader,
    /// The party that ends the computation with the leader. It is the sender of the two-party run.
    Pivot,
    /// A party whose part ends with its zero shares.
    Helper,
}

impl Place {
    /// The place of a party beside this leader and pivot.
    pub fn of(party: usize, leader: usize, pivot: usize) -> Self {
        match party {
            _ if party == leader => Self::Leader,
            _ if party == pivot => Self::Pivot,
            _ => Self::Helper,
        }
    }
}

/// The kind of a fold's parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// Items of 128 bits and shares of minimal length, for parties that follow the program.
    SemiHonest,
    /// Items of 256 bits and checked parts, for parties that may deviate: [`malicious`](super::malicious).
    Malicious,
}

impl Folding {
    /// The adversary against which the fold is designed.
    pub const fn adversary(self) -> Adversary {
        match self {
            Self::SemiHonest => FromVole::ADVERSARY,
            Self::Malicious => FromCheckedVole::ADVERSARY,
        }
    }

    /// Its name in errors and disclosures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SemiHonest => "joint",
            Self::Malicious => malicious::NAME,
        }
    }

    /// The uses that it is fit for. The argument for malicious parties has not been reviewed.
    pub const fn status(self) -> Status {
        match self {
            Self::SemiHonest => Status::Recommended,
            Self::Malicious => Status::Research,
        }
    }

    /// The weakest fold that withstands this adversary.
    pub fn against(adversary: Adversary) -> Self {
        if adversary <= Adversary::SemiHonest { Self::SemiHonest } else { Self::Malicious }
    }

    /// Whether leader and pivot may end the run with the method of this name, which takes items of this length. The
    /// argument for malicious parties is about one protocol.
    pub fn takes(self, key: &str, items: DigestLength) -> bool {
        match self {
            Self::SemiHonest => items == self.digest(),
            Self::Malicious => key == self.rows().key,
        }
    }

    /// The part of each key's digest that it takes.
    pub const fn digest(self) -> DigestLength {
        match self {
            Self::SemiHonest => DigestLength::Short,
            Self::Malicious => DigestLength::Long,
        }
    }

    /// The recommended protocol for rows between leader and pivot.
    pub fn rows(self) -> &'static Protocol {
        match self {
            Self::SemiHonest => &rr22::FAST,
            Self::Malicious => &rr22::MALICIOUS,
        }
    }

    /// Takes from each digest the part that this takes.
    ///
    /// # Errors
    /// [`Error::ShortDigests`] if it takes more than is available.
    pub fn cut(self, items: Items<'_>) -> Result<Items<'_>> {
        match self.digest() {
            DigestLength::Short => Ok(items.short()),
            DigestLength::Long if items.high_halves().len() == items.len() => Ok(items),
            DigestLength::Long => Err(Error::ShortDigests { protocol: malicious::NAME }),
        }
    }

    /// Payload bytes of an OPPRF, the setup included.
    pub(super) fn opprf_bytes(self, size: OpprfSize) -> Bytes {
        match self {
            Self::SemiHonest => FromVole::bytes(size),
            Self::Malicious => FromCheckedVole::bytes(size),
        }
    }

    fn opprf_failures(self, size: OpprfSize) -> Vec<Failure> {
        match self {
            Self::SemiHonest => FromVole::failures(size),
            Self::Malicious => FromCheckedVole::failures(size),
        }
    }
}

/// The facts about a computation that all parties know before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointPlan {
    sizes: Vec<usize>,
    leader: usize,
    pivot: usize,
    runs: usize,
    context: [u8; 32],
    folding: Folding,
    #[cfg(test)]
    short_shares: Option<usize>,
}

impl JointPlan {
    /// A plan for parties with sets of these sizes, which are numbered from 0. With two parties, items are derived
    /// and nothing is read. `context` is a hash of everything else that the parties agreed on, such as the rules that
    /// made items of keys; it separates computations and need not be secret.
    ///
    /// # Errors
    /// [`Limit`] if a set has more than [`MAX_ITEMS`] items.
    ///
    /// # Panics
    /// If leader and pivot are not two of the parties.
    pub fn new(
        sizes: Vec<usize>,
        leader: usize,
        pivot: usize,
        context: [u8; 32],
    ) -> std::result::Result<Self, Limit> {
        let are_parties = leader.max(pivot) < sizes.len() && leader != pivot;
        assert!(are_parties, "leader and pivot are two of the parties");
        for size in &sizes {
            Limit::check("of a party", *size, MAX_ITEMS)?;
        }
        Ok(Self {
            sizes,
            leader,
            pivot,
            runs: 1,
            context,
            folding: Folding::SemiHonest,
            #[cfg(test)]
            short_shares: None,
        })
    }

    /// One of this number of runs, at least 1, which together have each failure with probability at most 2^-λ: the
    /// partitions of the sets. Each run makes its own keys.
    pub fn one_of(self, runs: usize) -> Self {
        Self { runs, ..self }
    }

    /// The same with other parts.
    pub fn made_of(self, folding: Folding) -> Self {
        Self { folding, ..self }
    }

    /// The kind of the fold's parts.
    pub fn folding(&self) -> Folding {
        self.folding
    }

    /// The same with shares of `len` bytes, which may be too short.
    #[cfg(test)]
    pub(super) fn with_short_shares(self, len: usize) -> Self {
        Self { short_shares: Some(len), ..self }
    }

    /// The number of parties.
    pub fn parties(&self) -> usize {
        self.sizes.len()
    }

    /// The number of items of each party.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The leader's number.
    pub fn leader(&self) -> usize {
        self.leader
    }

    /// The pivot's number.
    pub fn pivot(&self) -> usize {
        self.pivot
    }

    /// The place of a party.
    pub fn place(&self, party: usize) -> Place {
        Place::of(party, self.leader, self.pivot)
    }

    /// The helpers' numbers, ascending.
    pub fn helpers(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.parties()).filter(|party| self.place(*party) == Place::Helper)
    }

    /// The setting of the two-party run on derived items: the pivot sends, the leader receives.
    pub fn setting(&self) -> Setting {
        let [sender, receiver] = [self.pivot, self.leader].map(|party| self.sizes[party]);
        Setting::from(Sizes { sender, receiver }).one_of(self.runs)
    }

    /// The events that may go wrong by chance before the two-party run.
    pub fn failures(&self) -> Vec<Failure> {
        let Sizes { sender, receiver } = self.setting().sizes;
        // Of an item of either set and another one.
        let half = match self.folding.digest() {
            DigestLength::Short => 64,
            DigestLength::Long => 128,
        };
        let derived = 2.0 * subfield::log2_failure(sender + receiver, half) - 1.0;
        let missed = subfield::log2_failure(sender.min(receiver), 8 * self.share_len() as u32);
        let mut failures = vec![
            Failure::new("an item that not all parties have counts as common", missed),
            Failure::new("two derived items are equal", derived),
        ];
        let read = |helper| self.folding.opprf_failures(self.opprf(helper));
        failures.extend(self.helpers().flat_map(read));
        failures
    }

    /// Bytes of a zero share. An item of leader and pivot that a helper lacks counts as common if T(x), which is then
    /// uniform, is W(x): λ + log min(n_L, n_V) bits keep this below 2^-λ for all such items together, however many
    /// helpers there are. 8 bytes suffice for 2^24 items in one run. Malicious parties may search for such items, so
    /// against them a share has 16 bytes.
    pub fn share_len(&self) -> usize {
        #[cfg(test)]
        if let Some(len) = self.short_shares {
            return len;
        }
        if self.folding == Folding::Malicious {
            return malicious::SHARE_LEN;
        }
        let Sizes { sender, receiver } = self.setting().sizes;
        subfield::bits(sender.min(receiver), self.setting().lambda()).div_ceil(8) as usize
    }

    /// The OPPRF of a helper with the leader. Its failures add up over all helpers.
    pub(super) fn opprf(&self, helper: usize) -> OpprfSize {
        let readings = self.setting().one_of(self.runs * self.helpers().count());
        OpprfSize {
            bins: self.sizes[self.leader],
            programmed: self.sizes[helper],
            len: self.share_len(),
            lambda: readings.lambda(),
        }
    }

    /// Compares the plan with all other parties, and binds the session of each channel to it.
    ///
    /// # Errors
    /// A deviation if a party has another plan, and any error of a connection.
    pub fn agree(&self, mesh: &mut Mesh<'_>) -> Result<()> {
        agree_on(*self.name().as_bytes(), mesh)
    }

    /// The part that the fold takes of each of a party's items.
    ///
    /// # Panics
    /// If there are not as many items as planned, or their digests are too short.
    pub(super) fn take<'a>(&self, party: usize, items: Items<'a>) -> Items<'a> {
        assert_eq!(items.len(), self.sizes[party], "as many items as planned");
        self.folding.cut(items).expect("digests as long as the fold takes")
    }

    /// The hash by which parties compare plans, and which separates the items derived under them.
    pub(super) fn name(&self) -> blake3::Hash {
        let mut name = blake3::Hasher::new_derive_key(match self.folding {
            Folding::SemiHonest => "vesica joint plan v1",
            Folding::Malicious => "vesica joint malicious plan v1",
        });
        let numbers = [self.parties(), self.leader, self.pivot, self.runs];
        for number in numbers.iter().chain(&self.sizes) {
            name.update(&(*number as u64).to_le_bytes());
        }
        name.update(&self.context);
        name.finalize()
    }
}

/// Compares the hash of a plan with all other parties, and binds the session of each channel to it.
pub(super) fn agree_on(name: [u8; NAME_LEN], mesh: &mut Mesh<'_>) -> Result<()> {
    mesh.phase("plan");
    let other = Deviation::Malformed { label: PLAN, what: "of another plan" };
    Ok(mesh.agree(PLAN, name, other)?)
}

#[cfg(test)]
mod tests {
    use vesica_params::LAMBDA;

    use super::*;

    fn plan(sizes: &[usize]) -> JointPlan {
        JointPlan::new(sizes.to_vec(), 0, sizes.len() - 1, [0; 32]).unwrap()
    }

    #[test]
    fn shares_are_as_long_as_the_smaller_of_two_sets_asks_for() {
        let len = |leader, pivot, runs| plan(&[leader, 1 << 28, pivot]).one_of(runs).share_len();
        assert_eq!([len(0, 0, 1), len(1, 1, 1), len(1 << 8, 9 << 8, 1)], [5, 5, 6]);
        assert_eq!([len(1 << 24, 1 << 28, 1), len((1 << 24) + 1, 1 << 28, 1)], [8, 9]);
        assert_eq!([len(1 << 20, 1 << 20, 16), len(1 << 20, 1 << 20, 17)], [8, 9]);
    }

    #[test]
    fn failures_of_all_helpers_and_runs_together_are_rare() {
        for helpers in [0, 1, 2, 3, 8] {
            let cases = [(0, 1), (1, 1), (1000, 1), (1 << 20, 1), (1 << 20, 48)];
            let foldings = [Folding::SemiHonest, Folding::Malicious];
            for (folding, (n, runs)) in foldings.into_iter().flat_map(|f| cases.map(|c| (f, c))) {
                let plan = plan(&vec![n; helpers + 2]).one_of(runs).made_of(folding);
                let failures = plan.failures();
                assert_eq!(failures.len(), 2 + 3 * helpers);
                let mut events: Vec<_> = failures.iter().map(|failure| failure.event).collect();
                events.sort_unstable();
                events.dedup();
                for event in events {
                    let alike = failures.iter().filter(|failure| failure.event == event);
                    let of_runs = alike.map(|failure| failure.log2 + (runs as f64).log2());
                    let log2 = vesica_params::log2_sum(of_runs);
                    assert!(log2 <= -f64::from(LAMBDA) + 1e-6, "{event}: {log2}, {plan:?}");
                }
            }
        }
    }

    #[test]
    fn every_fact_has_a_part_in_the_name() {
        let reference = plan(&[3, 4, 5]);
        let mut names = vec![reference.name()];
        names.extend(
            [plan(&[3, 4, 6]), plan(&[3, 4, 5, 0]), reference.clone().one_of(2)].map(|p| p.name()),
        );
        names.push(reference.clone().made_of(Folding::Malicious).name());
        names.push(JointPlan::new(vec![3, 4, 5], 2, 0, [0; 32]).unwrap().name());
        names.push(JointPlan::new(vec![3, 4, 5], 0, 2, [1; 32]).unwrap().name());
        names.push(JointPlan::new(vec![3, 4, 5], 0, 1, [0; 32]).unwrap().name());
        let mut distinct: Vec<[u8; 32]> = names.iter().map(|name| *name.as_bytes()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), names.len());
    }
}
