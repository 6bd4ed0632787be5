//! The batched OPPRF of Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019), §4: the OPRF of
//! [`kkrt16`](crate::kkrt16), of which each instance evaluates one point of the receiver, and one hint for all
//! points that the sender programs in any of them. Semi-honest.
//!
//! The sender has points y in instances j with values z of `len` bytes, the receiver has a point x_j in each
//! instance j. No point may be in two instances.
//!
//! 1. Once, without input: the OPRF's base OTs.
//! 2. The OPRF: R learns F_j(x_j), S computes F_j(y).
//! 3. S draws a seed and solves for the hint P with Decode(P, y) = z ⊕ pad(F_j(y)), free columns random.
//!    S → R: the seed and P.
//! 4. R: Decode(P, x_j) ⊕ pad(F_j(x_j)), which is z where S programmed x_j in instance j.
//!
//! What is said of [`opprf`](crate::opprf), pads and the hint's uniformity included, holds here too; the OPRF's code
//! has to be wide enough for as many points as S programs.
//!
//! The paper's hint is a polynomial for each *mega-bin* of a few hundred points; `O` is any OKVS, and
//! [`Polynomial`](vesica_structures::okvs::polynomial::Polynomial) in mega-bins is that one.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{Bytes, extension::columns};
use vesica_params::{Adversary, okvs::Shape};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Free};
use zeroize::Zeroizing;

use crate::{
    Error, Values, kkrt16,
    opprf::{Public, check_distinct},
};

/// Semi-honest: nothing ties S to the values that it agreed on.
pub const ADVERSARY: Adversary = Adversary::weakest(&[kkrt16::ADVERSARY, Adversary::SemiHonest]);

const SEED: &str = "psty19/seed";
const HINT: &str = "psty19/hint";

/// What both parties agree on before either has a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Instances.
    pub instances: usize,
    /// Bits of the OPRF's code.
    pub width: usize,
    /// The OKVS of the hint, for exactly as many points as are programmed.
    pub hint: Shape,
    /// Bytes of a value.
    pub len: usize,
}

impl Dimensions {
    fn hint_len(&self) -> usize {
        self.hint.columns() * self.len
    }
}

/// Payload bytes, the setup included.
pub fn bytes(dimensions: Dimensions) -> Bytes {
    let Dimensions { instances, width, .. } = dimensions;
    let online = Bytes {
        to_sender: columns::bytes(width, instances),
        to_receiver: size_of::<Block>() + dimensions.hint_len(),
    };
    kkrt16::setup_bytes(width) + online
}

/// The party that programs the function.
pub struct Sender<O> {
    dimensions: Dimensions,
    oprf: kkrt16::Sender,
    store: PhantomData<O>,
}

impl<O: ByteStrings> Sender<O> {
    /// Step 1.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Sender::setup(dimensions.width, channel, rng)?;
        Ok(Self { dimensions, oprf, store: PhantomData })
    }

    /// Steps 2 and 3: programs each of `points`, which are distinct, with the `len` bytes at its position
    /// of `values`. `starts` says for each instance where its points start, and at the end how many there are.
    ///
    /// # Errors
    /// Before anything is sent, [`Error::DuplicatePoint`]; [`Error::Okvs`] with a probability of at
    /// most 2^-λ.
    ///
    /// # Panics
    /// If `values` has not `len` bytes for each point.
    pub fn evaluate(
        self,
        starts: &[u32],
        points: &[Block],
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let Dimensions { hint, len, .. } = self.dimensions;
        assert_eq!(values.len(), points.len() * len, "a value for each point");
        check_distinct(points)?;
        // 2.
        let evaluated = self.oprf.evaluate(starts, |i| points[i], channel, rng)?;
        // 3.
        let seed = Block::random(rng);
        let public = Public::<O>::new(hint, len, seed);
        let mut masked = Zeroizing::new(values.to_vec());
        public.add_pads(&in_order(evaluated), &mut masked);
        let hint = public.hint(points, &masked, Free::Random, rng)?;
        channel.send_slice(SEED, &[seed])?;
        channel.send(HINT, &hint)?;
        Ok(channel.flush()?)
    }
}

/// The party that learns a value of each instance.
pub struct Receiver<O> {
    dimensions: Dimensions,
    oprf: kkrt16::Receiver,
    store: PhantomData<O>,
}

impl<O: ByteStrings> Receiver<O> {
    /// Step 1.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Receiver::setup(dimensions.width, channel, rng)?;
        Ok(Self { dimensions, oprf, store: PhantomData })
    }

    /// Steps 2 and 4: the `len` bytes of each instance at its point.
    ///
    /// # Errors
    /// Whatever the connection or the peer make go wrong.
    pub fn evaluate(self, points: &[Block], channel: &mut Channel) -> Result<Vec<u8>, Error> {
        // 2.
        let evaluated = self.oprf.evaluate(points, channel)?;
        // 4.
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let mut hint = vec![0; self.dimensions.hint_len()];
        channel.recv_into(HINT, &mut hint)?;
        let public = Public::<O>::new(self.dimensions.hint, self.dimensions.len, seed[0]);
        let mut values = public.decode(points, &hint);
        public.add_pads(&in_order(evaluated), &mut values);
        Ok(values)
    }
}

/// Values of points in the order of the points.
fn in_order(values: Vec<Block>) -> Values {
    Values { positions: (0..values.len() as u32).collect(), values }
}
