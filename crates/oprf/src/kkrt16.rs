//! The batched, related-key OPRF of Kolesnikov, Kumaresan, Rosulek and Trieu (CCS 2016), §3 and Figure 3.
//! Semi-honest.
//!
//! It is the 1-out-of-n OT extension of that paper, [`one_of_n::kkrt16`](vesica_ot::one_of_n::kkrt16): instance j of
//! the OPRF is OT j, a point is a word, and the value F_j(x) is the key of that word. S evaluates it with
//! [`send_random_at`](vesica_ot::one_of_n::Sender::send_random_at), R with
//! [`receive_random`](vesica_ot::one_of_n::Receiver::receive_random). This module makes it the basis of an OPPRF.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::one_of_n::{Receiver as _, Sender as _};

use crate::{Digests, Error, Values, programmable};

pub use vesica_ot::one_of_n::kkrt16::{ADVERSARY, Receiver, Sender, setup_bytes};

/// This OPRF as the basis of an OPPRF.
pub struct Oprf;

impl programmable::Oprf for Oprf {
    type Sender = Sender;
    type Receiver = Receiver;

    const SEED: &'static str = "psty19/seed";
    const HINT: &'static str = "psty19/hint";

    fn at_senders_points(
        mut sender: Sender,
        starts: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(Values::in_order(sender.send_random_at(
            starts,
            |i| points.low_halves[i],
            channel,
            rng,
        )?))
    }

    fn at_receivers_points(
        mut receiver: Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(Values::in_order(receiver.receive_random(points.low_halves, channel, rng)?))
    }
}
