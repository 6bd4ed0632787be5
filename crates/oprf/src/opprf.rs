//! The oblivious programmable PRF of Rindal and Schoppmann (EUROCRYPT 2021), Figure 8: the OPRF of
//! [`rs21`](crate::rs21) and a hint in an OKVS, which [`programmable`] derives from any OPRF.
//!
//! In addition to the conditions there: *the OPRF's entries are long enough.* If F(y) is not pseudo-random for
//! R at a point y that it does not have, R can unmask a z there. This happens with probability 2^-ℓ per
//! point, so with n points programmed ℓ = ⌈λ + log n⌉ ([`subfield::bits`]). The proof in
//! `docs/protocols/vole.md` carries over with n for n_y: it shows F to be uniform at y ∈ Y \ X given all that
//! R has, and there the pad is random if π_j has not been queried at F(y): q queries find one of n values
//! with probability below q·n·2^-127.
//!
//! Deviations from the paper: the OKVS is the type `O`, the OPRF's entries are short, and padding is done here
//! rather than by the caller.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{Bytes, CotReceiver, CotSender, vole::Subspace};
use vesica_params::{Adversary, Failure, lpn::Lpn, okvs::Shape, subfield};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Codec};

use crate::{
    Error,
    programmable::{self, Hint},
    rs21::semi_honest as oprf,
};

/// Semi-honest: the OPRF's entries are short, and nothing binds S to the agreed number of points.
pub const ADVERSARY: Adversary = Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]);

/// The parameters on which both parties agree before either has a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// The OKVS of the receiver's points.
    pub points: Shape,
    /// The hint for the sender's points.
    pub hint: Hint,
    /// Bits of the OPRF's entries, which the type `A` must be able to hold.
    pub bits: u32,
}

impl Dimensions {
    /// For at most these numbers of points of the receiver and of the sender, and values of `len` bytes, such that each
    /// failure has probability at most 2^-λ; `shape` gives the OKVS for a number of points and λ.
    pub fn new(
        points: usize,
        programmed: usize,
        len: usize,
        lambda: u32,
        shape: impl Fn(usize, u32) -> Shape,
    ) -> Self {
        let hint = Hint { shape: shape(programmed, lambda), programmed, len };
        let bits = subfield::bits(programmed, lambda);
        Self { points: shape(points, lambda), hint, bits }
    }

    /// The events that may go wrong by chance, for this number of points of the receiver.
    pub fn failures(&self, points: usize) -> [Failure; 3] {
        let Self { points: store, hint, bits } = self;
        [
            Failure::new("an entry of the OPRF fits another point", {
                subfield::log2_failure(hint.programmed, *bits)
            }),
            Failure::new("the OKVS of points has no solution", store.log2_failure(points)),
            Failure::new("the hint has no solution", hint.shape.log2_failure(hint.programmed)),
        ]
    }
}

/// Payload bytes of an evaluation.
pub fn bytes(dimensions: Dimensions) -> Bytes {
    Bytes {
        to_sender: oprf::bytes(dimensions.points, dimensions.bits),
        to_receiver: dimensions.hint.bytes(),
    }
}

/// The party that programs the function.
pub struct Sender<O, A> {
    hint: Hint,
    oprf: oprf::Sender<O, A>,
}

impl<O: ByteStrings + Codec<A>, A: Subspace> Sender<O, A> {
    /// Sets up the OPRF's VOLE, which needs no input.
    ///
    /// # Panics
    /// If `A` has fewer bits than the entries.
    pub fn setup(
        dimensions: Dimensions,
        lpn: Lpn,
        cot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let bits = bits_in::<A>(dimensions);
        let oprf = oprf::Sender::setup(dimensions.points, bits, lpn, cot, channel, rng)?;
        Ok(Self { hint: dimensions.hint, oprf })
    }

    /// Programs each of `points`, which are distinct, with the `len` bytes at its position of `values`.
    ///
    /// # Errors
    /// Before anything is sent, [`Error::DuplicatePoint`] and [`Error::TooManyPoints`]; [`Error::Okvs`]
    /// with a probability of at most 2^-λ.
    ///
    /// # Panics
    /// If `values` does not have `len` bytes for each point.
    pub fn evaluate(
        self,
        points: &[Block],
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let Self { hint, oprf } = self;
        programmable::program::<oprf::Oprf<O, A>, O>(
            oprf,
            hint,
            &[],
            points.into(),
            values,
            channel,
            rng,
        )
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver<O, A: Subspace> {
    hint: Hint,
    oprf: oprf::Receiver<O, A>,
}

impl<O: ByteStrings + Codec<A>, A: Subspace> Receiver<O, A> {
    /// Same as [`Sender::setup`].
    ///
    /// # Panics
    /// If `A` has fewer bits than the entries.
    pub fn setup(
        dimensions: Dimensions,
        lpn: Lpn,
        cot: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let bits = bits_in::<A>(dimensions);
        let oprf = oprf::Receiver::setup(dimensions.points, bits, lpn, cot, channel, rng)?;
        Ok(Self { hint: dimensions.hint, oprf })
    }

    /// The `len` bytes at each of `points`, which are distinct, in their order.
    ///
    /// # Errors
    /// [`Error::Okvs`] with a probability of at most 2^-λ, and always if there are more points than the shape
    /// takes.
    pub fn evaluate(
        self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error> {
        programmable::evaluate::<oprf::Oprf<O, A>, O>(
            self.oprf,
            self.hint,
            points.into(),
            channel,
            rng,
        )
    }
}

fn bits_in<A: Subspace>(dimensions: Dimensions) -> u32 {
    let bits = dimensions.bits;
    assert!(bits <= A::BITS, "entries of {bits} bits in {}", A::BITS);
    bits
}

#[cfg(test)]
mod tests {
    use vesica_params::okvs;

    use super::*;

    #[test]
    fn entries_are_as_long_as_the_number_of_points_asks_for() {
        let shape = |n, lambda| okvs::shape(n, usize::MAX, lambda);
        let bits = |n| Dimensions::new(0, n, 1, 40, shape).bits;
        assert_eq!([0, 1, 1 << 20, 1 << 24, 3 << 20].map(bits), [40, 40, 60, 64, 62]);
    }
}
