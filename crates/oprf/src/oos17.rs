//! A batched OPRF against malicious parties: the 1-out-of-2^76 OT of Orrù, Orsini and Scholl (CT-RSA 2017)
//! under another name, as RR17 uses it.
//!
//! It is [`one_of_n::oos17`] with the BCH code: instance j is OT j, a point is a word of 76 bits, and the
//! value F_j(x) is the key of that word. The receiver's rows are checked before anything can be evaluated, so
//! a receiver has one fixed point of each instance.
//!
//! The sender's output is the ability to evaluate as often as needed, so it is kept: [`Functions`].

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes,
    one_of_n::{self, Keys, Receiver as _, Sender as _, rows::RowKeys},
};
use vesica_primitives::{
    Block,
    code::{Bch, LinearCode},
};

pub use vesica_ot::one_of_n::oos17::{ADVERSARY, CHECK, WRONG_ROWS_PASS};

/// Bits of a point.
pub const POINT_BITS: u32 = <Bch as LinearCode>::DIMENSION as u32;

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    one_of_n::oos17::setup_bytes::<Bch>()
}

/// Payload bytes of an evaluation of this many instances.
pub fn bytes(instances: usize) -> Bytes {
    one_of_n::oos17::bytes::<Bch>(instances)
}

/// The party that can evaluate every instance anywhere.
pub struct Sender(one_of_n::oos17::Sender<Bch>);

impl Sender {
    /// The base OTs.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Self(one_of_n::oos17::Sender::setup(Bch::new(), channel, rng)?))
    }

    /// The functions of `instances` instances, once the receiver's points are fixed and checked.
    ///
    /// # Errors
    /// A deviation ([`CHECK`]) if the receiver's rows do not belong to points.
    pub fn functions(
        mut self,
        instances: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Functions> {
        Ok(Functions(self.0.send_random(instances, channel, rng)?))
    }
}

/// The functions of some instances.
pub struct Functions(RowKeys<Bch>);

/// Points, encoded so that they can be evaluated at many instances.
pub struct Encoded(Vec<<Bch as LinearCode>::Row>);

impl Functions {
    /// Encodes points.
    ///
    /// # Panics
    /// If a point has more than [`POINT_BITS`] bits.
    pub fn encode(&self, points: &[Block]) -> Encoded {
        Encoded(self.0.encode(points))
    }

    /// Evaluates some adjacent instances, beginning with `first`. `starts` gives for each of them where its
    /// points start among all points, followed by their number; the i-th point is number `which(i)` of
    /// `points`, and `values` receives the values.
    ///
    /// # Panics
    /// If there are fewer instances, if the numbers of values and points differ, or if a point has too many bits.
    pub fn evaluate(
        &self,
        first: usize,
        starts: &[u32],
        points: &Encoded,
        which: impl Fn(usize) -> usize + Sync,
        values: &mut [Block],
    ) {
        let last = starts.len() - 1;
        assert!(first + last <= self.0.len(), "functions of as many instances");
        // Other instances have no points.
        let start = |instance: usize| starts[instance.saturating_sub(first).min(last)] as usize;
        self.0.evaluate_encoded(start, |point| points.0[which(point)], values);
    }
}

/// The party that learns one value of each instance.
pub struct Receiver(one_of_n::oos17::Receiver<Bch>);

impl Receiver {
    /// The base OTs.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        Ok(Self(one_of_n::oos17::Receiver::setup(Bch::new(), channel, rng)?))
    }

    /// The value of instance j at `points[j]`, for each j.
    ///
    /// # Panics
    /// If a point has more than [`POINT_BITS`] bits.
    pub fn evaluate(
        mut self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        self.0.receive_random(points, channel, rng)
    }
}
