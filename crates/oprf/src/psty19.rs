//! The batched OPPRF of Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019), §4: the OPRF of
//! [`kkrt16`], of which each instance evaluates one point of the receiver, and one hint for all
//! points that the sender programs in any of them. Semi-honest.
//!
//! The sender has points y in instances j with values z of `len` blocks, the receiver has a point x_j in each
//! instance j. No point may be in two instances.
//!
//! 1. Once, without input: the OPRF's base OTs.
//! 2. The OPRF: R learns F_j(x_j), S computes F_j(y).
//! 3. S draws a seed and solves, for each block of the values, for a hint P with
//!    Decode(P, y) = z ⊕ pad(F_j(y)), free columns random. S → R: the seed and the hints.
//! 4. R: Decode(P, x_j) ⊕ pad(F_j(x_j)), which is z where S programmed x_j in instance j.
//!
//! pad(u) is π_i(u) ⊕ u for the i-th block of a value, π_i being AES under keys from the seed. What is said of
//! [`opprf`](crate::opprf) holds here too, and that all of a value has to look random to R; the OPRF's code has to
//! be wide enough for as many points as S programs.
//!
//! The paper's hint is a polynomial for each *mega-bin* of a few hundred points; `O` is any OKVS, and
//! [`Polynomial`](vesica_structures::okvs::polynomial::Polynomial) in mega-bins is that one.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{Bytes, one_of_n};
use vesica_params::{Adversary, okvs::Shape};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
};
use vesica_structures::okvs::{Codec, Free};
use zeroize::Zeroizing;

use crate::{Error, kkrt16, opprf::check_distinct};

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
    /// The OKVS of a hint, for exactly as many points as are programmed.
    pub hint: Shape,
    /// Blocks of a value.
    pub len: usize,
}

/// Payload bytes, the setup included.
pub fn bytes(dimensions: Dimensions) -> Bytes {
    let Dimensions { instances, width, hint, len } = dimensions;
    let hints = (1 + hint.columns() * len) * size_of::<Block>();
    kkrt16::setup_bytes(width)
        + one_of_n::kkrt16::bytes(width, instances)
        + Bytes { to_sender: 0, to_receiver: hints }
}

/// What both parties know from the hint's seed on.
struct Public<O> {
    store: O,
    root: Aes128,
}

impl<O: Codec<Block>> Public<O> {
    fn new(hint: Shape, seed: Block) -> Self {
        let root = Aes128::new(seed);
        Self { store: O::new(hint, root.encrypt_block(Block::ZERO)), root }
    }

    /// The pads of the i-th blocks for values of the OPRF.
    fn pads(&self, i: usize, evaluated: &[Block]) -> Zeroizing<Vec<Block>> {
        let hash = CorrelationRobust::new(self.root.encrypt_block(Block(1 + i as u128)));
        let mut pads = Zeroizing::new(evaluated.to_vec());
        hash.apply(&mut pads);
        pads
    }
}

/// The party that programs the function.
pub struct Sender<O> {
    dimensions: Dimensions,
    oprf: kkrt16::Sender,
    store: PhantomData<O>,
}

impl<O: Codec<Block>> Sender<O> {
    /// Step 1.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Sender::setup(dimensions.width, channel, rng)?;
        Ok(Self { dimensions, oprf, store: PhantomData })
    }

    /// Steps 2 and 3: programs each of `points`, which are distinct, with the blocks that `values` has for it
    /// one after another. `starts` says for each instance where its points start, and at the end how many
    /// there are.
    ///
    /// # Errors
    /// Before anything is sent, [`Error::DuplicatePoint`]; [`Error::Okvs`] with a probability of at
    /// most 2^-λ.
    ///
    /// # Panics
    /// If `values` has not `len` blocks for each point.
    pub fn evaluate(
        self,
        starts: &[u32],
        points: &[Block],
        values: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let Dimensions { hint, len, .. } = self.dimensions;
        assert_eq!(values.len(), points.len() * len, "a value for each point");
        check_distinct(points)?;
        // 2.
        let evaluated = Zeroizing::new(self.oprf.evaluate(starts, |i| points[i], channel, rng)?);
        // 3.
        let seed = Block::random(rng);
        let public = Public::<O>::new(hint, seed);
        channel.send_slice(SEED, &[seed])?;
        let placed = public.store.place(points);
        for i in 0..len {
            let pads = public.pads(i, &evaluated);
            let masked = |position: u32, _| {
                let position = position as usize;
                values[position * len + i] ^ pads[position]
            };
            let hint = public.store.encode(&placed, masked, Free::Random, rng)?;
            channel.send_slice(HINT, &hint)?;
        }
        Ok(channel.flush()?)
    }
}

/// The party that learns a value of each instance.
pub struct Receiver<O> {
    dimensions: Dimensions,
    oprf: kkrt16::Receiver,
    store: PhantomData<O>,
}

impl<O: Codec<Block>> Receiver<O> {
    /// Step 1.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Receiver::setup(dimensions.width, channel, rng)?;
        Ok(Self { dimensions, oprf, store: PhantomData })
    }

    /// Steps 2 and 4: the blocks of each instance at its point, one after another.
    ///
    /// # Errors
    /// Whatever the connection or the peer make go wrong.
    pub fn evaluate(self, points: &[Block], channel: &mut Channel) -> Result<Vec<Block>, Error> {
        let Dimensions { hint, len, .. } = self.dimensions;
        // 2.
        let evaluated = Zeroizing::new(self.oprf.evaluate(points, channel)?);
        // 4.
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let public = Public::<O>::new(hint, seed[0]);
        let placed = public.store.place(points);
        let mut values = vec![Block::ZERO; points.len() * len];
        let mut columns = vec![Block::ZERO; hint.columns()];
        for i in 0..len {
            channel.recv_slice(HINT, &mut columns)?;
            let pads = public.pads(i, &evaluated);
            let decoded = public.store.decode(&placed, &columns);
            for (position, decoded) in placed.positions().iter().zip(decoded) {
                let position = *position as usize;
                values[position * len + i] = decoded ^ pads[position];
            }
        }
        Ok(values)
    }
}
