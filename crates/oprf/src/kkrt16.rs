//! The batched, related-key OPRF of Kolesnikov, Kumaresan, Rosulek and Trieu (CCS 2016), §3 and Figure 3.
//! Semi-honest.
//!
//! It is the 1-out-of-n OT extension of that paper ([`one_of_n::kkrt16`]) under another name: instance j of
//! the OPRF is OT j, a point is a word, and the value F_j(x) is the key of that word.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::one_of_n::{self, Keys, Sender as _};
use vesica_primitives::Block;

use crate::{Error, Values, programmable};

pub use vesica_ot::one_of_n::kkrt16::{ADVERSARY, setup_bytes};

/// The party that can evaluate every instance anywhere.
pub struct Sender(one_of_n::kkrt16::Sender);

impl Sender {
    /// The base OTs for a code of `width` bits, a multiple of 8 and at most
    /// [`MAX_ROW_BITS`](vesica_primitives::hash::MAX_ROW_BITS).
    pub fn setup(
        width: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        Ok(Self(one_of_n::kkrt16::Sender::setup(width, channel, rng)?))
    }

    /// `starts` gives for each instance where its points start among all points, followed by their number;
    /// `point(i)` is the i-th point. Returns the value of each point.
    pub fn evaluate(
        mut self,
        starts: &[u32],
        point: impl Fn(usize) -> Block + Sync,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Vec<Block>> {
        let instances = starts.len() - 1;
        let mut values = vec![Block::ZERO; starts[instances] as usize];
        let mut done = 0;
        self.0.send_random_pieces(instances, channel, rng, |keys| {
            let start = |instance: usize| starts[done + instance] as usize;
            let values = &mut values[start(0)..start(keys.len())];
            keys.evaluate(start, &point, values);
            done += keys.len();
        })?;
        Ok(values)
    }
}

/// The party that learns one value of each instance.
pub struct Receiver(one_of_n::kkrt16::Receiver);

impl Receiver {
    /// The base OTs, with the sender's width.
    pub fn setup(
        width: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        Ok(Self(one_of_n::kkrt16::Receiver::setup(width, channel, rng)?))
    }

    /// The value of instance j at `words[j]`, for each j.
    pub fn evaluate(
        mut self,
        words: &[Block],
        channel: &mut Channel,
    ) -> vesica_net::Result<Vec<Block>> {
        let mut values = vec![Block::ZERO; words.len()];
        self.0.receive_random_into(words, &mut values, channel)?;
        Ok(values)
    }
}

/// This OPRF as the basis of an OPPRF.
pub struct Oprf;

impl programmable::Oprf for Oprf {
    type Sender = Sender;
    type Receiver = Receiver;

    const SEED: &'static str = "psty19/seed";
    const HINT: &'static str = "psty19/hint";

    fn at_senders_points(
        sender: Sender,
        starts: &[u32],
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(Values::in_order(sender.evaluate(starts, |i| points[i], channel, rng)?))
    }

    fn at_receivers_points(
        receiver: Receiver,
        points: &[Block],
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(Values::in_order(receiver.evaluate(points, channel)?))
    }
}
