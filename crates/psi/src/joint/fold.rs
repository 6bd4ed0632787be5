//! The three kinds of parties of a fold. Each is prepared without its items, and then used once.

use rand::CryptoRng;
use vesica_net::Mesh;
use vesica_oprf::Digests;
use zeroize::Zeroizing;

use super::{
    derived::derive,
    malicious::FromCheckedVole,
    plan::{Folding, JointPlan, Place},
    zero_shares::ZeroShares,
};
use crate::{
    Error, Items, Result, Set,
    circuit_psi::{Opprf, OpprfSize, rs21::FromVole},
    parts::tags::refuse_duplicates,
};

/// The leader, ready for its items.
pub struct Leader {
    plan: JointPlan,
    readers: Readers,
}

/// The leader's side of the OPPRF with each helper.
enum Readers {
    SemiHonest(Vec<<FromVole as Opprf>::Receiver>),
    Malicious(Vec<<FromCheckedVole as Opprf>::Receiver>),
}

/// A helper's side of the OPPRF.
enum Writer {
    SemiHonest(<FromVole as Opprf>::Sender),
    Malicious(<FromCheckedVole as Opprf>::Sender),
}

impl Leader {
    /// Prepares to read from each helper. The parties have [agreed](JointPlan::agree) on the plan.
    ///
    /// # Errors
    /// Any error of a connection or a peer.
    pub fn prepare(plan: &JointPlan, mesh: &mut Mesh<'_>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let (helpers, size) = (plan.helpers(), |helper| plan.opprf(helper));
        let readers = match plan.folding() {
            Folding::SemiHonest => {
                Readers::SemiHonest(readers::<FromVole>(helpers, size, mesh, rng)?)
            }
            Folding::Malicious => {
                Readers::Malicious(readers::<FromCheckedVole>(helpers, size, mesh, rng)?)
            }
        };
        Ok(Self { plan: plan.clone(), readers })
    }

    /// Reads the helpers' shares at this party's items, and returns the derived items in their order.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`]; [`Error::HashingFailure`] with a probability of at most 2^-λ; and any error of a
    /// connection or a peer.
    ///
    /// # Panics
    /// If there are not as many items as planned, or the fold takes longer digests.
    pub fn fold(
        self,
        items: Items<'_>,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Set> {
        let (name, len) = (self.plan.name(), self.plan.share_len());
        let items = self.plan.take(mesh.me(), items);
        let mut sums = Zeroizing::new(vec![0; items.len() * len]);
        self.read(items, mesh, rng, |_, shares| {
            sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum ^= *share);
        })?;
        Ok(derive(&name, items, &sums, len))
    }

    /// Passes each helper and the values read from it to `show`.
    pub(super) fn read(
        self,
        items: Items<'_>,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
        mut show: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let Self { plan, readers } = self;
        let items = plan.take(mesh.me(), items);
        match readers {
            Readers::SemiHonest(readers) => {
                for (helper, reader) in plan.helpers().zip(readers) {
                    show(helper, &read::<FromVole>(helper, reader, items, mesh, rng)?);
                }
            }
            Readers::Malicious(readers) => {
                for (helper, reader) in plan.helpers().zip(readers) {
                    show(helper, &read::<FromCheckedVole>(helper, reader, items, mesh, rng)?);
                }
            }
        }
        Ok(())
    }
}

/// The pivot, ready for its items.
pub struct Pivot {
    plan: JointPlan,
    pub(super) shares: ZeroShares,
}

impl Pivot {
    /// Agrees on a key with each helper. The parties have [agreed](JointPlan::agree) on the plan.
    ///
    /// # Errors
    /// Any error of a connection or a peer.
    pub fn prepare(plan: &JointPlan, mesh: &mut Mesh<'_>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let shares =
            ZeroShares::agree(plan.folding().digest(), partners(plan, mesh.me()), mesh, rng)?;
        Ok(Self { plan: plan.clone(), shares })
    }

    /// Returns the derived items, in the order of `items`; nothing is sent.
    ///
    /// # Panics
    /// If there are not as many items as planned, or the fold takes longer digests.
    pub fn fold(self, items: Items<'_>) -> Set {
        let Self { plan, shares } = self;
        let (items, len) = (plan.take(plan.pivot(), items), plan.share_len());
        let sums = shares.of(items, len);
        derive(&plan.name(), items, &sums, len)
    }
}

/// A helper, ready for its items.
pub struct Helper {
    plan: JointPlan,
    pub(super) shares: ZeroShares,
    writer: Writer,
}

impl Helper {
    /// Agrees on a key with the pivot and each other helper, and prepares for the leader's reading. The parties have
    /// [agreed](JointPlan::agree) on the plan.
    ///
    /// # Errors
    /// Any error of a connection or a peer.
    pub fn prepare(plan: &JointPlan, mesh: &mut Mesh<'_>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let me = mesh.me();
        let shares = ZeroShares::agree(plan.folding().digest(), partners(plan, me), mesh, rng)?;
        let size = plan.opprf(me);
        let writer = mesh.talk(plan.leader(), |channel| {
            Ok::<_, Error>(match plan.folding() {
                Folding::SemiHonest => Writer::SemiHonest(FromVole::sender(size, channel, rng)?),
                Folding::Malicious => {
                    Writer::Malicious(FromCheckedVole::sender(size, channel, rng)?)
                }
            })
        })?;
        Ok(Self { plan: plan.clone(), shares, writer })
    }

    /// Lets the leader read this party's shares at its items.
    ///
    /// # Errors
    /// [`Error::DuplicateItem`]; [`Error::HashingFailure`] with a probability of at most 2^-λ; and any error of a
    /// connection or the leader.
    ///
    /// # Panics
    /// If there are not as many items as planned, or the fold takes longer digests.
    pub fn fold(
        self,
        items: Items<'_>,
        mesh: &mut Mesh<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let Self { plan, shares, writer } = self;
        let items = plan.take(mesh.me(), items);
        let values = shares.of(items, plan.share_len());
        match writer {
            Writer::SemiHonest(writer) => {
                write::<FromVole>(plan.leader(), writer, items, &values, mesh, rng)
            }
            Writer::Malicious(writer) => {
                write::<FromCheckedVole>(plan.leader(), writer, items, &values, mesh, rng)
            }
        }
    }
}

/// Prepares to read from each of these parties.
pub(super) fn readers<P: Opprf>(
    parties: impl Iterator<Item = usize>,
    size: impl Fn(usize) -> OpprfSize,
    mesh: &mut Mesh<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<P::Receiver>> {
    let reader = |party: usize| mesh.talk(party, |channel| P::receiver(size(party), channel, rng));
    parties.map(reader).collect()
}

/// Reads a party's values at this party's items, one after another.
pub(super) fn read<P: Opprf>(
    party: usize,
    reader: P::Receiver,
    items: Items<'_>,
    mesh: &mut Mesh<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<u8>>> {
    let read = mesh.talk(party, |channel| {
        channel.phase("joint");
        P::evaluate(reader, digests(items), channel, rng)
    });
    Ok(Zeroizing::new(read.map_err(|error| name_duplicates(error, items))?))
}

/// Lets the leader read these values at this party's items.
pub(super) fn write<P: Opprf>(
    leader: usize,
    writer: P::Sender,
    items: Items<'_>,
    values: &[u8],
    mesh: &mut Mesh<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    let written = mesh.talk(leader, |channel| {
        channel.phase("joint");
        channel.reveal()?;
        P::program(writer, &[], digests(items), values, channel, rng)
    });
    written.map_err(|error| name_duplicates(error, items))
}

/// The parties with which `me`, the pivot or a helper, has a key.
fn partners(plan: &JointPlan, me: usize) -> impl Iterator<Item = usize> + Clone + '_ {
    (0..plan.parties()).filter(move |party| *party != me && plan.place(*party) != Place::Leader)
}

fn digests(items: Items<'_>) -> Digests<'_> {
    Digests { low_halves: items.low_halves(), high_halves: items.high_halves() }
}

/// Attributes a failure to equal items if there are any.
fn name_duplicates(error: Error, items: Items<'_>) -> Error {
    match error {
        Error::HashingFailure => refuse_duplicates(items).err().unwrap_or(error),
        _ => error,
    }
}
