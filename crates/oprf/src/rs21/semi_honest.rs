//! The construction for semi-honest parties. Following RR22 §5, the VOLE's short side may be a subspace of
//! few bits.
//!
//! h is a pseudo-random function under a key that comes with the OKVS seed, truncated to `bits` bits. H is π(u)
//! ⊕ u for a random permutation π: AES under a public key of the session. R knows the factor of Δ, so H must
//! be robust against correlations that are linear in Δ, which it is in the ideal-cipher model unless a u is
//! guessed. At a y that is not a point of R, Decode(P, y) = h(y) has probability 2^-bits;
//! `docs/protocols/vole.md` derives how many bits that takes.

use std::{marker::PhantomData, ops::Range};

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{
    CotReceiver, CotSender,
    vole::{Subspace, silent},
};
use vesica_params::{Adversary, lpn::Lpn, okvs::Shape};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    declassify,
};
use vesica_structures::okvs::{Codec, Okvs, PlacedKeys};

use super::{Values, masked, masked::Placed};
use crate::{Digests, Error, programmable};

/// Semi-honest: a receiver can encode more points than it announces, and h is short.
pub const ADVERSARY: Adversary = Adversary::weakest(&[silent::ADVERSARY, Adversary::SemiHonest]);

const SEED: &str = "rs21/seed";

/// Points hashed together: enough to fill the cipher's pipeline.
const BATCH: usize = 64;

/// Payload bytes of an evaluation, all of them to the sender.
pub fn bytes(shape: Shape, bits: u32) -> usize {
    size_of::<Block>() + masked::bytes(shape, bits)
}

/// The public data of a run: the OKVS and the hashes, derived from the seed.
struct Public<O> {
    okvs: O,
    point_hash: Aes128,
    hash: CorrelationRobust,
    bits: u32,
}

impl<O: Okvs> Public<O> {
    fn new(shape: Shape, bits: u32, seed: Block) -> Self {
        let root = Aes128::new(seed);
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self {
            okvs: O::new(shape, key(0)),
            point_hash: Aes128::new(key(1)),
            hash: CorrelationRobust::new(key(2)),
            bits,
        }
    }

    fn placed<'a>(&'a self, points: &'a PlacedKeys) -> Placed<'a, O> {
        Placed { okvs: &self.okvs, points, bits: self.bits }
    }

    /// Appends h of some placed points.
    fn hash_points<A: Subspace>(&self, points: &PlacedKeys, of: Range<usize>, out: &mut Vec<A>) {
        let mut batch = [Block::ZERO; BATCH];
        for points in points.all()[of].chunks(BATCH) {
            let hashes = &mut batch[..points.len()];
            hashes.copy_from_slice(points);
            self.point_hash.encrypt(hashes);
            out.extend(hashes.iter().map(|hash| A::truncate(*hash, self.bits)));
        }
    }
}

/// The party that can evaluate the function everywhere. `A` holds the elements of the VOLE's short
/// side.
pub struct Sender<O, A> {
    shape: Shape,
    bits: u32,
    share: silent::SenderShare,
    kind: PhantomData<fn() -> (O, A)>,
}

impl<O: Codec<Block>, A: Subspace> Sender<O, A> {
    /// Step O1, with the receiver's shape and number of bits.
    pub fn setup(
        shape: Shape,
        bits: u32,
        lpn: Lpn,
        cot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let share = silent::send(shape.columns(), bits, lpn, cot, channel, rng)?;
        Ok(Self { shape, bits, share, kind: PhantomData })
    }

    /// Steps O3 and O4 for each of `points`, as the receiver's clusters come in.
    pub fn evaluate(
        mut self,
        points: &[Block],
        channel: &mut Channel,
    ) -> vesica_net::Result<Values> {
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let public = Public::<O>::new(self.shape, self.bits, seed[0]);
        let points = public.okvs.place(points);
        let h = |of: Range<usize>, out: &mut Vec<A>| public.hash_points(&points, of, out);
        let hash = |_: Range<usize>, values: &mut [Block]| public.hash.apply(values);
        let placed = public.placed(&points);
        let values = placed.evaluate(&self.share.delta, &mut self.share.b, h, hash, channel)?;
        Ok(Values { positions: points.into_positions(), values })
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver<O, A: Subspace> {
    shape: Shape,
    bits: u32,
    share: silent::ReceiverShare<A>,
    kind: PhantomData<fn() -> O>,
}

impl<O: Codec<A> + Codec<Block>, A: Subspace> Receiver<O, A> {
    /// Step O1 for points that fit the shape.
    pub fn setup(
        shape: Shape,
        bits: u32,
        lpn: Lpn,
        cot: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let share = silent::receive(shape.columns(), bits, lpn, cot, channel, rng)?;
        Ok(Self { shape, bits, share, kind: PhantomData })
    }

    /// Steps O2 and O4: the value at each of `points`. Equal points have equal values, but too many of them
    /// overflow their cluster.
    ///
    /// # Errors
    /// [`Error::Okvs`], for distinct points with a probability of at most 2^-λ.
    pub fn evaluate(
        self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        // O2.
        let seed = declassify(Block::random(rng));
        let public = Public::<O>::new(self.shape, self.bits, seed);
        channel.send_slice(SEED, &[seed])?;
        channel.flush()?;
        let points = public.okvs.place(points);
        let placed = public.placed(&points);
        let h = |of: Range<usize>, out: &mut Vec<A>| public.hash_points(&points, of, out);
        let workspaces = placed.send_masked(&self.share.a, h, channel, rng)?;
        // O4.
        let values = placed.decode(&self.share, &workspaces, |_, values| public.hash.apply(values));
        Ok(Values { positions: points.into_positions(), values })
    }
}

/// This OPRF as the basis of an OPPRF.
pub struct Oprf<O, A>(PhantomData<(O, A)>);

impl<O: Codec<A> + Codec<Block>, A: Subspace> programmable::Oprf for Oprf<O, A> {
    type Sender = Sender<O, A>;
    type Receiver = Receiver<O, A>;

    fn at_senders_points(
        sender: Sender<O, A>,
        _: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(sender.evaluate(points.low_halves, channel)?)
    }

    fn at_receivers_points(
        receiver: Receiver<O, A>,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        receiver.evaluate(points.low_halves, channel, rng)
    }
}
