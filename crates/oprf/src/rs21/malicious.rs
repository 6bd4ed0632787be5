//! Against malicious parties. Additions to the steps of [`super`]:
//!
//! - S → R at the beginning: a commitment to w_S. R sends its own share w_R with the OKVS seed in step O2;
//!   S opens w_S once it has all of a + P. Both take w = w_S + w_R.
//! - The OKVS seed is hashed with the session identifier and the commitment, so that neither party chooses rows
//!   or h by itself. R may try many seeds before it sends one; the bound on its inputs counts its queries under all
//!   of them.
//! - Points are digests of 256 bits, in two halves. The row belongs to the OKVS key low ⊕ π(high) ⊕ high, with an ideal
//!   cipher π under a public key of the session, so that points that share one half have unrelated rows. h is BLAKE3 of
//!   OKVS key and high half, keyed by the session: a random oracle on the *whole* point. (If h were computed from a
//!   part of the point, P could be made to decode to it for all points that share that part.)
//! - H(u, y) = BLAKE3 of u and the whole point y, as OKVS key and high half, keyed by w: a random oracle that
//!   nobody has queried before w is fixed. S's values can therefore be extracted from its queries. κ bits are
//!   enough although two queries may collide after 2^(κ/2) of them: a value is attributed to a single y, and a
//!   collision does harm only if it involves a point of R, with probability n_x · q · 2^-κ in all (RS21,
//!   Theorem 4.1).
//!
//! The VOLE is over GF(2^128) and malicious: entries of few bits would let R search for points at which its P
//! decodes to h (RR22 §5).
//!
//! **What R can get beyond its points.** P has m columns for n points, so R can make P decode to h at more
//! than n points, if it finds them before it sends P. [`vesica_params::effective_inputs`] bounds their number
//! for a given number of queries to h and without any assumption on rows. (RS21's Conjecture 2.1 would give m
//! for rows over a large field; with rows of bits a few more are found by generalised birthday attacks.
//! One-way rows, `Shape::one_way`, prevent cheaper attacks.) S has no such freedom: each of its values is one
//! input.

use std::{marker::PhantomData, ops::Range};

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, SessionId};
use vesica_ot::{CotReceiver, CotSender, Malicious, vole::silent};
use vesica_params::{Adversary, lpn::Lpn, okvs::Shape};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    declassify,
    hash::{RowHash, truncate},
    threads,
};
use vesica_structures::okvs::{Codec, Okvs};
use zeroize::Zeroize;

use super::{Values, masked, masked::Placed};
use crate::{
    Error,
    digests::{CHUNK, Points},
    programmable,
};

pub use crate::Digests;

/// Malicious, in the random-oracle and ideal-cipher models.
pub const ADVERSARY: Adversary =
    Adversary::weakest(&[silent::malicious::ADVERSARY, Adversary::Malicious]);

/// The check by which a receiver refuses a sender's share of w.
pub const CHECK: &str = "opening of the sender's share of w";

const COMMITMENT: &str = "rs21/commitment";
const SEED: &str = "rs21/seed";
const OPENING: &str = "rs21/opening";

/// Bits of an element.
const BITS: u32 = 128;

/// Payload bytes of an evaluation: to the sender, and to the receiver.
pub fn bytes(shape: Shape) -> vesica_ot::Bytes {
    vesica_ot::Bytes {
        to_sender: 2 * size_of::<Block>() + masked::bytes(shape, BITS),
        to_receiver: blake3::OUT_LEN + size_of::<Block>(),
    }
}

fn commit(share: Block) -> blake3::Hash {
    blake3::Hasher::new_derive_key("vesica rs21 commitment v1").update(&share.to_bytes()).finalize()
}

/// S's share w_S of w, to which it has committed. It commits before everything else, so that R need not wait for the
/// commitment later.
pub struct Share {
    w: Block,
    commitment: blake3::Hash,
}

impl Share {
    /// Draws the share and sends the commitment.
    pub fn commit(channel: &mut Channel, rng: &mut dyn CryptoRng) -> vesica_net::Result<Self> {
        let w = Block::random(rng);
        let commitment = commit(w);
        channel.send(COMMITMENT, commitment.as_bytes())?;
        Ok(Self { w, commitment })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.w.zeroize();
    }
}

/// The commitment to S's share, which R holds until S opens it.
pub struct Commitment([u8; blake3::OUT_LEN]);

impl Commitment {
    /// The other side of [`Share::commit`].
    pub fn receive(channel: &mut Channel) -> vesica_net::Result<Self> {
        let mut commitment = [0; blake3::OUT_LEN];
        channel.recv_into(COMMITMENT, &mut commitment)?;
        Ok(Self(commitment))
    }
}

/// The public data of a run once seed and commitment are fixed: the OKVS, its keys, and h.
struct Public<O> {
    okvs: O,
    key_hash: CorrelationRobust,
    point_hash: RowHash,
}

impl<O: Okvs> Public<O> {
    fn new(
        session: SessionId,
        shape: Shape,
        commitment: &[u8; blake3::OUT_LEN],
        seed: Block,
    ) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("vesica rs21 seed v1");
        hasher.update(session.as_bytes()).update(commitment).update(&seed.to_bytes());
        let root = Aes128::new(truncate(&hasher.finalize()));
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self {
            okvs: O::new(shape, key(0)),
            key_hash: CorrelationRobust::new(key(1)),
            point_hash: RowHash::new(key(2)),
        }
    }
}

impl<O: Okvs> Public<O> {
    fn place(&self, points: Digests<'_>) -> Points {
        Points::place(&self.okvs, &points.okvs_keys(&self.key_hash), points)
    }

    fn placed<'a>(&'a self, points: &'a Points) -> Placed<'a, O> {
        Placed { okvs: &self.okvs, points: &points.keys, bits: BITS }
    }

    /// Appends h of some points: the hash of each with a value of 0.
    fn hash(&self, points: &Points, of: Range<usize>, out: &mut Vec<Block>) {
        let first = out.len();
        out.resize(first + of.len(), Block::ZERO);
        points.range(of).hash_with(&self.point_hash, &mut out[first..]);
    }
}

/// The party that can evaluate the function everywhere.
pub struct Sender<O> {
    shape: Shape,
    own: Share,
    share: silent::SenderShare,
    answers: silent::malicious::Answers,
    kind: PhantomData<fn() -> O>,
}

impl<O: Codec<Block>> Sender<O> {
    /// Step O1, with the receiver's shape.
    pub fn setup(
        own: Share,
        shape: Shape,
        lpn: Lpn,
        cot: &mut (impl CotSender + Malicious),
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let (share, answers) = silent::malicious::send(shape.columns(), lpn, cot, channel, rng)?;
        Ok(Self { shape, own, share, answers, kind: PhantomData })
    }

    /// Steps O3 and O4 for each of `points`, as the receiver's clusters come in.
    pub fn evaluate(
        mut self,
        points: Digests<'_>,
        channel: &mut Channel,
    ) -> vesica_net::Result<Values> {
        let mut received = [Block::ZERO; 2];
        channel.recv_slice(SEED, &mut received)?;
        let [seed, other] = received;
        let public =
            Public::<O>::new(channel.session(), self.shape, self.own.commitment.as_bytes(), seed);
        let points = public.place(points);
        let hash = RowHash::new(self.own.w ^ other);
        let values = public.placed(&points).evaluate(
            &self.share.delta,
            &mut self.share.b,
            |of, out| public.hash(&points, of, out),
            |of, values| points.range(of).hash_with(&hash, values),
            channel,
        )?;
        self.answers.send(channel)?;
        channel.send_slice(OPENING, &[self.own.w])?;
        Ok(Values { positions: points.keys.into_positions(), values })
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver<O> {
    shape: Shape,
    commitment: Commitment,
    share: silent::malicious::Unverified,
    kind: PhantomData<fn() -> O>,
}

impl<O: Codec<Block>> Receiver<O> {
    /// Step O1 for points that fit the shape.
    pub fn setup(
        commitment: Commitment,
        shape: Shape,
        lpn: Lpn,
        cot: &mut (impl CotReceiver + Malicious),
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let share = silent::malicious::receive(shape.columns(), lpn, cot, channel, rng)?;
        Ok(Self { shape, commitment, share, kind: PhantomData })
    }

    /// Steps O2 and O4: the value at each of `points`, which are distinct.
    ///
    /// # Errors
    /// [`Error::Okvs`] with a probability of at most 2^-λ, and a deviation if S opens its share of w to a
    /// different value.
    pub fn evaluate(
        self,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        // O2.
        let (seed, own) = (declassify(Block::random(rng)), Block::random(rng));
        let public = Public::<O>::new(channel.session(), self.shape, &self.commitment.0, seed);
        channel.send_slice(SEED, &[seed, own])?;
        channel.flush()?;
        let points = public.place(points);
        let placed = public.placed(&points);
        let h = |of: Range<usize>, out: &mut Vec<Block>| public.hash(&points, of, out);
        let workspaces = placed.send_masked(&self.share.share().a, h, channel, rng)?;
        // O4. Decoding does not need w, and S may still be computing. Nothing that depends on c leaves this party
        // before S has answered for it.
        let mut values = placed.decode(self.share.share(), &workspaces, |_, _| ());
        self.share.verify(channel)?;
        let mut other = [Block::ZERO];
        channel.recv_slice(OPENING, &mut other)?;
        if commit(other[0]).as_bytes() != &self.commitment.0 {
            return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }).into());
        }
        let hash = RowHash::new(own ^ other[0]);
        threads::for_each(values.chunks_mut(CHUNK).enumerate(), |(i, values)| {
            let first = i * CHUNK;
            points.range(first..first + values.len()).hash_with(&hash, values);
        });
        Ok(Values { positions: points.keys.into_positions(), values })
    }
}

/// This OPRF as the basis of an OPPRF.
pub struct Oprf<O>(PhantomData<O>);

impl<O: Codec<Block>> programmable::Oprf for Oprf<O> {
    type Sender = Sender<O>;
    type Receiver = Receiver<O>;

    const LONG: bool = true;

    fn at_senders_points(
        sender: Sender<O>,
        _: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        Ok(sender.evaluate(points, channel)?)
    }

    fn at_receivers_points(
        receiver: Receiver<O>,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        receiver.evaluate(points, channel, rng)
    }
}
