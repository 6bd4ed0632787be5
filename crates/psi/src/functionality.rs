//! The scaffold of everything that two parties compute on their sets: a name to agree on, the sizes of the sets,
//! the part that needs no input, and the part that does.
//!
//! A [`Functionality`] is everything except the inputs. The parties compare its name and their sizes, bind the session
//! to both, and prepare; each then has a [`Party`] that is ready for its input. Inputs and outputs may be of any type:
//! items and positions ([`Protocol::on`](crate::Protocol::on)), items with payloads
//! ([`Carrying::on`](crate::payload::Carrying::on)), items with values and a number
//! ([`Method::on`](crate::aggregate::Method::on)), or shares
//! ([`Outline::functionality`](crate::aggregate::shares::Outline::functionality)).

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{
    Items, Result, Setting, Sizes,
    parts::session::{SIZE, agree},
};

/// A party that is ready for its input.
pub trait Party<Input, Output>: Send {
    /// The part of the computation that needs the input: among others the agreed number of distinct items, with
    /// digests as long as the computation takes. Before the message from which the peer learns its result, it asks
    /// [`Channel::reveal`].
    ///
    /// # Errors
    /// [`Error::DuplicateItem`](crate::Error::DuplicateItem), and any error of the connection or the peer.
    fn run(
        self: Box<Self>,
        input: Input,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output>;
}

/// The party that does not learn the intersection. It learns only the size of the receiver's set.
pub type Sender = dyn for<'a> Party<Items<'a>, ()>;

/// The party that learns the intersection: the positions of its items that the sender has too, in ascending order.
pub type Receiver = dyn for<'a> Party<Items<'a>, Vec<u32>>;

/// The part of a computation that needs only public parameters, such as base OTs; it returns a party that is ready for
/// its input.
pub type Prepare<Party, Known = Setting> =
    fn(Known, &mut Channel, &mut dyn CryptoRng) -> Result<Box<Party>>;

/// A computation on two sets by a sender `S` and a receiver `R`, each a [`Party`] with its types of input and output.
#[derive(Debug, Clone, Copy)]
pub struct Functionality<S: ?Sized, R: ?Sized, Known> {
    /// The hash by which the parties compare the computations that they are about to run.
    pub name: blake3::Hash,
    /// The sizes of the two sets.
    pub sizes: Sizes,
    /// Everything from which parties are prepared.
    pub known: Known,
    /// Prepares a sender in a session that is bound to this computation.
    pub sender: Prepare<S, Known>,
    /// Prepares a receiver in such a session.
    pub receiver: Prepare<R, Known>,
}

impl<S: ?Sized, R: ?Sized, Known: Clone> Functionality<S, R, Known> {
    /// Compares name and sizes with the peer's, for the party that receives or sends and knows both sizes. Parties that
    /// have compared them elsewhere skip this.
    ///
    /// # Errors
    /// A deviation if the peer computes something else or has another number of items.
    pub fn agree(&self, receives: bool, channel: &mut Channel) -> Result<()> {
        let Sizes { sender, receiver } = self.sizes;
        let (mine, theirs) = if receives { (receiver, sender) } else { (sender, receiver) };
        agree(&self.name, mine, theirs..=theirs, channel).map(drop)
    }

    /// Binds the session to this computation and the sizes of the two sets, as preparing does; for parties that run the
    /// parts of a protocol one by one.
    pub fn bind(&self, channel: &mut Channel) {
        let Sizes { sender, receiver } = self.sizes;
        let [sender, receiver] = [sender, receiver].map(|size| (size as u64).to_le_bytes());
        channel.bind(SIZE, &[&self.name.as_bytes()[..], &sender, &receiver].concat());
    }

    /// Prepares a sender.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn sender(&self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Box<S>> {
        self.bind(channel);
        (self.sender)(self.known.clone(), channel, rng)
    }

    /// Prepares a receiver.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn receiver(&self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Box<R>> {
        self.bind(channel);
        (self.receiver)(self.known.clone(), channel, rng)
    }
}

impl<P: ?Sized, Known: Clone> Functionality<P, P, Known> {
    /// Prepares the receiver or the sender, if both have the same input and output.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn party(
        &self,
        receives: bool,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<P>> {
        if receives { self.receiver(channel, rng) } else { self.sender(channel, rng) }
    }
}
