//! The OT extensions that can make triples, and the cost of each.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes,
    extension::{
        alsz13, silent,
        softspoken::{SmallField, semi_honest},
    },
    one_of_n,
};
use vesica_params::lpn::{self, Lpn};

use super::{Demand, Ots, Triples, digits};
use crate::Party;

/// An OT extension for semi-honest parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// ALSZ13: 256 bits a triple, both directions together.
    Alsz13,
    /// SoftSpokenOT: 2·⌈128/k⌉ bits a triple.
    SoftSpoken(SmallField),
    /// Silent OT, over SoftSpokenOT: almost no bits, if there are many triples.
    Silent(SmallField, Lpn),
}

/// Leaves of a tree of silent OT. With larger trees there are fewer of them and less is sent: 3.1 bits per triple, both
/// directions together, compared with 1.7 for trees of 4096 leaves. But then a piece takes 24 MB instead of 12, and
/// four are compressed at a time: silent OT takes 1.08 times as long.
const LEAVES: usize = 1 << 11;

impl Extension {
    /// Silent OT with the parameters for many triples.
    pub const SILENT: Self =
        Self::Silent(SmallField::new(8), lpn::ONES.with_piece(lpn::ONES.blocks * LEAVES / 2));

    /// Sets up OT sessions in both directions and makes triples, and OTs for strings, as the demand requires. The other
    /// party does the same in the other role.
    pub fn make(
        self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Triples> {
        if demand.is_empty() {
            return Ok(Triples::default());
        }
        match self {
            Self::Alsz13 => {
                Ots::setup(role, channel, rng, alsz13::Sender::setup, alsz13::Receiver::setup)?
                    .make(role, demand, channel, rng)
            }
            Self::SoftSpoken(field) => Ots::setup(
                role,
                channel,
                rng,
                |channel, rng| semi_honest::Sender::setup(field, channel, rng),
                |channel, rng| semi_honest::Receiver::setup(field, channel, rng),
            )?
            .make(role, demand, channel, rng),
            Self::Silent(field, lpn) => {
                let mut cots = Ots::setup(
                    role,
                    channel,
                    rng,
                    |channel, rng| semi_honest::Sender::setup(field, channel, rng),
                    |channel, rng| semi_honest::Receiver::setup(field, channel, rng),
                )?;
                // They take their OTs from the extension itself: with silent ones they would wait for these.
                let digits = cots.digits(role, demand, channel, rng)?;
                if demand.triples() == 0 {
                    return Ok(Triples { digits, ..Triples::default() });
                }
                let (sender, receiver) = cots.both();
                let mut silent = Ots::setup(
                    role,
                    channel,
                    rng,
                    |channel, rng| silent::Sender::setup(sender, lpn, channel, rng),
                    |channel, rng| silent::Receiver::setup(receiver, lpn, channel, rng),
                )?;
                Ok(Triples { stock: silent.triples(role, demand, channel, rng)?, digits })
            }
        }
    }

    /// Payload bytes that a party sends offline. It is the sender in one session and the receiver in the other,
    /// so both parties send the same amount for triples.
    pub fn bytes(self, demand: &Demand, role: Party) -> usize {
        if demand.is_empty() {
            return 0;
        }
        let session = |sender| {
            let digits = demand.strings().map_or(0, |strings| strings.ots(sender));
            self.setup() + self.of_ots(demand.triples()) + self.of_digits(digits)
        };
        session(role).to_receiver + session(role.other()).to_sender
    }

    /// The extension from which silent OTs are made, or else this one.
    fn beneath(self) -> Self {
        match self {
            Self::Silent(field, _) => Self::SoftSpoken(field),
            other => other,
        }
    }

    /// Payload bytes of the setup of one session.
    fn setup(self) -> Bytes {
        match self {
            Self::Alsz13 => alsz13::setup_bytes(),
            Self::SoftSpoken(field) | Self::Silent(field, _) => semi_honest::setup_bytes(field),
        }
    }

    /// Payload bytes of `n` OTs for strings in one session.
    fn of_digits(self, n: usize) -> Bytes {
        if n == 0 {
            return Bytes { to_sender: 0, to_receiver: 0 };
        }
        let lpn = digits::lpn(n);
        let key = Bytes { to_sender: 0, to_receiver: SESSION_KEY_BYTES };
        let beneath = self.beneath().of_ots(one_of_n::silent::ots_beneath(n, lpn));
        one_of_n::silent::bytes(n, lpn) + beneath + key
    }

    /// Payload bytes of `n` OTs with random choices in one session.
    pub(super) fn of_ots(self, n: usize) -> Bytes {
        match self {
            Self::Alsz13 => alsz13::bytes(n),
            Self::SoftSpoken(field) => semi_honest::bytes(field, n),
            Self::Silent(..) if n == 0 => Bytes { to_sender: 0, to_receiver: 0 },
            Self::Silent(_, lpn) => {
                let adversary = semi_honest::ADVERSARY;
                let beneath = self.beneath().of_ots(silent::ots_beneath(n, lpn, adversary));
                let key = Bytes { to_sender: 0, to_receiver: SESSION_KEY_BYTES };
                silent::bytes(n, lpn, adversary) + beneath + key
            }
        }
    }
}

/// The public hash key of a silent session.
const SESSION_KEY_BYTES: usize = 16;
