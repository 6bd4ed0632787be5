//! People with a shared item, without the items that they share. Semi-honest.
//!
//! R's items belong to [people](crate::select::people). R learns which of its people have an item that S has too, no
//! more about a person than that, and the size of S's set; S learns the size of R's set. Everything else is as with
//! [`RS21`](super::circuit::RS21).
//!
//! 1. Both get [shares](super::shares) of a bit for each position of R's people.
//! 2. S sends its shares to R. At positions at which no person begins they add up to 0.

use rand::CryptoRng;
use vesica_circuit::{
    Engine as _, Party as Role, WireBits,
    gmw::{self, Gmw},
    triples::Triples,
};
use vesica_net::Channel;
use vesica_params::Failure;
use zeroize::Zeroizing;

use super::{
    Valued,
    shares::{Outline, Sharer, Shares},
};
use crate::{Cost, Functionality, Items, Memory, Party, Result, Sizes, circuit_psi::matched};

/// A query for people, with the parameters that both parties know beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedPeople {
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// The most items of one of the receiver's people.
    pub most: usize,
}

/// The party that does not learn which people match.
pub type Sender = dyn for<'a> Party<Items<'a>, ()>;

/// The party that learns an item of each of its people that match: the positions, in ascending order. It has the person
/// of each item, and no values.
pub type Receiver = dyn for<'a> Party<Valued<'a>, Vec<u32>>;

/// The query that both parties run.
pub type LinkingOn = Functionality<Sender, Receiver, LinkedPeople>;

impl LinkedPeople {
    fn outline(&self) -> Outline {
        let Self { sizes, most } = *self;
        let people = Some(most);
        Outline { sizes, partitions: 1, of_sender: false, of_receiver: false, people }
    }

    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub fn failures(&self) -> Vec<Failure> {
        self.outline().failures()
    }

    /// Predicted cost.
    pub fn cost(&self) -> Cost {
        let outline = self.outline();
        let Cost { bytes_to_sender, bytes_to_receiver, rounds } = outline.cost();
        let shown = gmw::reveal_bytes(1, outline.bins()) as f64;
        // S's shares go together with its last message.
        Cost { bytes_to_sender, bytes_to_receiver: bytes_to_receiver + shown, rounds }
    }

    /// The predicted peak memory of each party.
    pub fn memory(&self) -> Memory {
        self.outline().memory()
    }

    /// The query that both parties run.
    ///
    /// # Panics
    /// If people have more than [`MAX_ITEMS_OF_PERSON`](crate::select::MAX_ITEMS_OF_PERSON) items.
    pub fn functionality(&self) -> LinkingOn {
        let mut name = blake3::Hasher::new_derive_key("vesica psi linked v1");
        name.update(self.outline().functionality().name.as_bytes());
        Functionality {
            name: name.finalize(),
            sizes: self.sizes,
            known: *self,
            sender: |linked, channel, rng| {
                Ok(Box::new(LinkingParty(linked.sharer(false, channel, rng)?)))
            },
            receiver: |linked, channel, rng| {
                Ok(Box::new(LinkingParty(linked.sharer(true, channel, rng)?)))
            },
        }
    }

    /// The party of step 1.
    fn sharer(
        &self,
        receives: bool,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<Sharer>> {
        let Functionality { known, sender, receiver, .. } = self.outline().functionality();
        (if receives { receiver } else { sender })(known, channel, rng)
    }
}

/// A party that opens its shares, or sees them opened.
struct LinkingParty(Box<Sharer>);

impl Party<Items<'_>, ()> for LinkingParty {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let shares = self.0.run(Valued::new(items, &[]), channel, rng)?;
        channel.reveal()?;
        open(&shares, Role::First, channel).map(drop)
    }
}

impl Party<Valued<'_>, Vec<u32>> for LinkingParty {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let shares = self.0.run(input, channel, rng)?;
        let shown = open(&shares, Role::Second, channel)?.expect("shown to this party");
        Ok(matched(shares.items.as_deref().unwrap_or_default(), &shown))
    }
}

/// Step 2.
fn open(shares: &Shares, role: Role, channel: &mut Channel) -> Result<Option<WireBits>> {
    channel.phase("reveal");
    let members =
        Zeroizing::new(shares.members.iter().map(|share| u64::from(*share)).collect::<Vec<_>>());
    let members = WireBits::from_items(&members, 1);
    Ok(Gmw::new(role, Triples::default(), channel).reveal(&members, Role::Second)?)
}
