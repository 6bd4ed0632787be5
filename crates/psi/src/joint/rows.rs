//! Rows: the leader learns which of its items all parties have.

use rand::CryptoRng;
use vesica_net::Mesh;
use vesica_params::Failure;

use super::{
    fold::{Helper, Leader, Pivot},
    plan::{JointPlan, Place},
};
use crate::{Adversary, DigestLength, Error, Items, Protocol, Result, Status};

/// The intersection of the sets of several parties, which the leader learns.
#[derive(Debug, Clone, Copy)]
pub struct JointRows<'a> {
    /// The parties and sizes.
    pub plan: &'a JointPlan,
    /// The two-party protocol on derived items.
    pub protocol: &'a Protocol,
}

impl<'a> JointRows<'a> {
    /// With the recommended protocol between leader and pivot.
    pub fn new(plan: &'a JointPlan) -> Self {
        Self { plan, protocol: plan.folding().rows() }
    }

    /// The adversary against which both the fold and the protocol are designed.
    pub fn adversary(&self) -> Adversary {
        Adversary::weakest(&[self.plan.folding().adversary(), self.protocol.adversary])
    }

    /// The uses that both the fold and the protocol are fit for.
    pub fn status(&self) -> Status {
        match self.plan.folding().status() {
            status if status.is_for_use() => self.protocol.status,
            status => status,
        }
    }

    /// The events that may go wrong by chance.
    pub fn failures(&self) -> Vec<Failure> {
        let mut failures = self.plan.failures();
        failures.extend(self.protocol.failures(self.plan.setting()));
        failures
    }

    /// Runs this party on a set of distinct items, of the planned size. The leader gets the positions of the items that
    /// all parties have, ascending; the others get nothing.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit) if the protocol does not support the sizes of leader and pivot;
    /// [`Error::ShortDigests`] if the fold takes longer digests than there are, or the protocol takes longer ones
    /// than the fold derives; [`Error::DuplicateItem`](crate::Error::DuplicateItem); a deviation if a party has
    /// another plan; and any error of a connection or a peer.
    ///
    /// # Panics
    /// If there are not as many items as planned.
    pub fn run(
        &self,
        items: Items<'_>,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Vec<u32>>> {
        let Self { plan, protocol } = *self;
        let intersection = protocol.on(plan.setting())?;
        let items = plan.folding().cut(items)?;
        if protocol.digest == DigestLength::Long && plan.folding().digest() == DigestLength::Short {
            return Err(Error::ShortDigests { protocol: protocol.key });
        }
        plan.agree(mesh)?;
        match plan.place(mesh.me()) {
            Place::Leader => {
                let leader = Leader::prepare(plan, mesh, rng)?;
                let receiver = intersection.receiver(mesh.to(plan.pivot()), rng)?;
                let derived = leader.fold(items, mesh, rng)?;
                let derived = derived.items().cut_for(protocol)?;
                let found = receiver.run(derived, mesh.to(plan.pivot()), rng)?;
                Ok(Some(found))
            }
            Place::Pivot => {
                let pivot = Pivot::prepare(plan, mesh, rng)?;
                let sender = intersection.sender(mesh.to(plan.leader()), rng)?;
                let derived = pivot.fold(items);
                let derived = derived.items().cut_for(protocol)?;
                sender.run(derived, mesh.to(plan.leader()), rng)?;
                mesh.to(plan.leader()).flush()?;
                Ok(None)
            }
            Place::Helper => {
                Helper::prepare(plan, mesh, rng)?.fold(items, mesh, rng)?;
                Ok(None)
            }
        }
    }
}
