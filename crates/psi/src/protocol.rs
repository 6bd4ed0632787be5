//! The interface of all protocols, and their descriptions of themselves.

use std::borrow::Cow;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::{Adversary, Failure};

use crate::{
    Cost, DigestLength, Error, Items, Limit, List, Memory, Prepare, Receiver, Result, Sender,
    Setting, Sizes,
    payload::{CarryingReceiver, CarryingSender},
};

/// The uses that a protocol is fit for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The one to use for some sizes and networks.
    Recommended,
    /// Secure as stated, but another protocol is better, except for the special purpose of this one.
    Sound,
    /// Reproduced from its paper for comparison; not for real data.
    Research,
    /// Reveals more than the intersection to the other party; for measurements only.
    Insecure,
}

impl Status {
    /// Whether it may be used for real data.
    pub const fn is_for_use(self) -> bool {
        matches!(self, Self::Recommended | Self::Sound)
    }

    /// The word used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recommended => "recommended",
            Self::Sound => "sound",
            Self::Research => "research",
            Self::Insecure => "insecure",
        }
    }
}

/// The knowledge that each party gains from a run of the protocol itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leakage {
    /// The receiver's knowledge, as a clause.
    pub receiver: &'static str,
    /// The sender's knowledge, as a clause.
    pub sender: &'static str,
}

impl Leakage {
    /// The leakage of every protocol that is secure as stated.
    pub const INTERSECTION: Self = Self {
        receiver: "the intersection and the size of the sender's set",
        sender: "the size of the receiver's set",
    };

    /// Like [`Leakage::INTERSECTION`], except that a malicious receiver may use more items than it announced.
    pub const EXTRACTED: Self = Self {
        receiver: "the intersection and the size of the sender's set; if it deviates, the intersection \
                   with somewhat more items than it announced (the protocol's page says how many)",
        sender: "the size of the receiver's set",
    };
}

/// One protocol of the catalogue: its description, and the means to prepare its two parties.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// The paper's key, the protocol's name everywhere.
    pub key: &'static str,
    /// A one-line description of its components.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// The uses that it is fit for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// Its leakage to each party.
    pub learns: Leakage,
    /// The part of each key's digest that it takes.
    pub digest: DigestLength,
    /// Whether a filter may replace the sender's final list. LIANG22 Theorem 1 allows this, among parties that
    /// follow the protocol, if the values on the list are one-way and their order carries no meaning.
    pub filters: bool,
    /// The form in which the sender sends its final values.
    pub list: List,
    /// Predicted cost.
    pub cost: fn(Setting) -> Cost,
    /// The predicted peak memory of each party.
    pub memory: fn(Setting) -> Memory,
    /// The events that may go wrong by chance, each with a bound computed from the lengths that the parties take.
    pub failures: fn(Setting) -> Vec<Failure>,
    /// Refuses sizes beyond what it supports.
    pub limits: fn(Sizes) -> std::result::Result<(), Limit>,
    /// Its two parties.
    pub parties: Parties,
}

/// The two parties of a protocol.
#[derive(Debug, Clone, Copy)]
pub enum Parties {
    /// Without payloads.
    Plain {
        /// Prepares a sender.
        sender: Prepare<Sender>,
        /// Prepares a receiver.
        receiver: Prepare<Receiver>,
    },
    /// The protocol with and without payloads.
    Carrying {
        /// The number of lists of tags that contain each of the sender's items. For each list but one, an item
        /// costs 20 additional bytes.
        lists: usize,
        /// Prepares a sender.
        sender: Prepare<dyn CarryingSender>,
        /// Prepares a receiver.
        receiver: Prepare<dyn CarryingReceiver>,
    },
}

impl Protocol {
    /// Prepares a sender in a session that is bound to [the intersection](Protocol::on).
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn sender(
        &self,
        setting: Setting,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<Sender>> {
        match self.parties {
            Parties::Plain { sender, .. } => sender(setting, channel, rng),
            Parties::Carrying { sender, .. } => Ok(sender(setting, channel, rng)?),
        }
    }

    /// Prepares a receiver in such a session.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn receiver(
        &self,
        setting: Setting,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Box<Receiver>> {
        match self.parties {
            Parties::Plain { receiver, .. } => receiver(setting, channel, rng),
            Parties::Carrying { receiver, .. } => Ok(receiver(setting, channel, rng)?),
        }
    }

    /// Whether it can carry payloads.
    pub fn carries_payloads(&self) -> bool {
        matches!(self.parties, Parties::Carrying { .. })
    }

    /// The same with another form of the sender's final list, if it may have one.
    pub fn with_list(self, list: List) -> Option<Self> {
        let allowed = list == List::Sorted || self.filters;
        allowed.then_some(Self { list, ..self })
    }

    /// Its key, with any difference from its entry in the catalogue: `kkrt16`, `kkrt16+vacuum`.
    pub fn name(&self) -> Cow<'static, str> {
        match self.list {
            List::Sorted => self.key.into(),
            list => format!("{}+{}", self.key, list.name()).into(),
        }
    }

    /// Whether it is run on partitions of two sets, one after the other.
    pub fn splits(&self) -> bool {
        self.status == Status::Recommended
    }

    /// Predicted cost for sets of these sizes, or of one of several runs.
    pub fn cost(&self, setting: impl Into<Setting>) -> Cost {
        (self.cost)(self.setting(setting))
    }

    /// The predicted peak memory of each party, for sets of these sizes, or in one of several runs.
    pub fn memory(&self, setting: impl Into<Setting>) -> Memory {
        (self.memory)(self.setting(setting))
    }

    /// The events that may go wrong by chance in a run on sets of these sizes, or in one of several runs.
    pub fn failures(&self, setting: impl Into<Setting>) -> Vec<Failure> {
        (self.failures)(self.setting(setting))
    }

    pub(crate) fn setting(&self, setting: impl Into<Setting>) -> Setting {
        Setting { list: self.list, ..setting.into() }
    }
}

impl Items<'_> {
    /// Takes from each digest the part that `protocol` takes.
    ///
    /// # Errors
    /// [`Error::ShortDigests`] if it takes more than is available.
    pub fn cut_for(self, protocol: &Protocol) -> Result<Self> {
        match protocol.digest {
            DigestLength::Short => Ok(self.short()),
            DigestLength::Long if self.high_halves().len() == self.low_halves().len() => Ok(self),
            DigestLength::Long => Err(Error::ShortDigests { protocol: protocol.key }),
        }
    }
}

#[cfg(test)]
mod tests {
    use vesica_primitives::Block;

    use super::*;
    use crate::{Set, protocols::naive};

    const LONG: Protocol = Protocol { digest: DigestLength::Long, ..naive::PROTOCOL };

    #[test]
    fn a_protocol_gets_what_it_takes() {
        let set = Set::long(vec![Block(1), Block(2)], vec![Block(3), Block(4)]);
        let short = set.items().cut_for(&naive::PROTOCOL).unwrap();
        assert_eq!((short.low_halves(), short.high_halves()), (&[Block(1), Block(2)][..], &[][..]));
        let long = set.items().cut_for(&LONG).unwrap();
        assert_eq!(long.high_halves(), [Block(3), Block(4)]);
        assert!(matches!(short.cut_for(&LONG), Err(Error::ShortDigests { protocol: "naive" })));
        assert!(Set::default().items().cut_for(&LONG).is_ok());
    }
}
