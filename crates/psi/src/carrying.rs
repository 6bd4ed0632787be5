//! Protocols that carry payloads.

use std::ops::RangeInclusive;

use rand::CryptoRng;
use vesica_net::Channel;

use crate::{
    Cost, Functionality, Items, List, Memory, Parties, Prepare, Protocol, Result, Setting, Sizes,
    parts::session::agree,
    payload::{
        CarryingReceiver, CarryingSender, MAX_LEN, Opened, Receiver, ReceiverInput, Sender,
        SenderInput, WRAPPED_LEN,
    },
};

/// An intersection of two sets of agreed sizes, with payloads.
pub type WithPayloads<'a> = Functionality<Sender, Receiver, (&'a Carrying, Setting)>;

/// A protocol with payloads of one length.
#[derive(Debug, Clone, Copy)]
pub struct Carrying {
    protocol: Protocol,
    lists: usize,
    sender: Prepare<dyn CarryingSender>,
    receiver: Prepare<dyn CarryingReceiver>,
    len: usize,
}

impl Protocol {
    /// The same with payloads of `len` bytes; `None` if it carries none, or if `len` is 0 or above [`MAX_LEN`].
    /// A filter has no order in which payloads could follow.
    pub fn carrying(&self, len: usize) -> Option<Carrying> {
        let allowed = self.list == List::Sorted && (1..=MAX_LEN).contains(&len);
        match self.parties {
            Parties::Carrying { lists, sender, receiver } if allowed => {
                Some(Carrying { protocol: *self, lists, sender, receiver, len })
            }
            _ => None,
        }
    }
}

impl Carrying {
    /// The protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Bytes of a payload.
    pub fn payload_len(&self) -> usize {
        self.len
    }

    /// Predicted cost for sets of these sizes, or of one of several runs: the protocol's, the payloads, and 20 bytes
    /// for each item and list except the first. It adds no flight.
    pub fn cost(&self, setting: impl Into<Setting>) -> Cost {
        let setting = setting.into();
        let mut cost = self.protocol.cost(setting);
        let of_item = self.len + (self.lists - 1) * WRAPPED_LEN;
        cost.bytes_to_receiver += (setting.sizes.sender * of_item) as f64;
        cost
    }

    /// The predicted peak memory of each party for sets of these sizes, including the sender's payloads and the
    /// receiver's opened ones.
    pub fn memory(&self, setting: impl Into<Setting>) -> Memory {
        let setting = setting.into();
        let [n_s, n_r] = [setting.sizes.sender as f64, setting.sizes.receiver as f64];
        let len = self.len as f64;
        let wrapped = if self.lists > 1 { 40.0 } else { 0.0 };
        let memory = self.protocol.memory(setting);
        memory.and((len + 72.0 + wrapped) * n_s, 56.0 * n_r + (len + 24.0) * n_s.min(n_r))
    }

    /// The hash by which parties compare the computations that they are about to run.
    fn name(&self) -> blake3::Hash {
        let mut name = blake3::Hasher::new_derive_key("vesica psi payload name v1");
        name.update(&(self.len as u64).to_le_bytes());
        name.update(self.protocol.name().as_bytes()).finalize()
    }

    /// The intersection of sets of these sizes, or one of several, with payloads. The parties take items that are
    /// [cut](Items::cut_for) to the length that the protocol takes.
    ///
    /// # Errors
    /// [`Error::Limit`](crate::Error::Limit) if the protocol does not support the sizes.
    pub fn on(&self, setting: impl Into<Setting>) -> Result<WithPayloads<'_>> {
        let setting = self.protocol.supported(setting.into())?;
        Ok(Functionality {
            name: self.name(),
            sizes: setting.sizes,
            known: (self, setting),
            sender: |(carrying, setting), channel, rng| {
                Ok((carrying.sender)(setting, channel, rng)?)
            },
            receiver: |(carrying, setting), channel, rng| {
                Ok((carrying.receiver)(setting, channel, rng)?)
            },
        })
    }
}

/// Runs the sender's side on a set of distinct items with a payload each; otherwise like [`send`](crate::send).
///
/// # Errors
/// Same as [`send`](crate::send).
///
/// # Panics
/// If there are not as many payloads as items, or they have another length.
pub fn send(
    carrying: &Carrying,
    input: SenderInput<'_>,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    assert_eq!(input.payloads.payload_len(), carrying.len, "payloads of the agreed length");
    let items = input.items.cut_for(&carrying.protocol)?;
    let receiver = agree(&carrying.name(), items.len(), peer_items, channel)?;
    let sizes = Sizes { sender: items.len(), receiver };
    let sender = carrying.on(sizes)?.sender(channel, rng)?;
    sender.run(SenderInput { items, ..input }, channel, rng)
}

/// Runs the receiver's side on a set of distinct items; otherwise like [`receive`](crate::receive).
///
/// # Errors
/// Same as [`send`](crate::send).
pub fn receive(
    carrying: &Carrying,
    items: Items<'_>,
    peer_items: RangeInclusive<usize>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Opened> {
    let items = items.cut_for(&carrying.protocol)?;
    let sender = agree(&carrying.name(), items.len(), peer_items, channel)?;
    let sizes = Sizes { sender, receiver: items.len() };
    let receiver = carrying.on(sizes)?.receiver(channel, rng)?;
    receiver.run(ReceiverInput { items, payload_len: carrying.len }, channel, rng)
}
