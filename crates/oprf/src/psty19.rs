//! The batched OPPRF of Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019), §4: the OPRF of [`kkrt16`],
//! in which each instance evaluates one point of the receiver, and one hint for all points that the sender
//! programs in any of them, which [`programmable`] derives from any OPRF. Semi-honest.
//!
//! This requires the OPRF's code to be wide enough for as many points as S programs.
//!
//! The paper's hint is a polynomial for each *mega-bin* of a few hundred points; `O` may be any OKVS, and
//! [`Polynomial`](vesica_structures::okvs::polynomial::Polynomial) in mega-bins is the paper's.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{Bytes, one_of_n};
use vesica_params::Adversary;
use vesica_primitives::Block;
use vesica_structures::okvs::ByteStrings;

use crate::{
    Error, kkrt16,
    programmable::{self, Hint},
};

/// Semi-honest: nothing binds S to the agreed values.
pub const ADVERSARY: Adversary = Adversary::weakest(&[kkrt16::ADVERSARY, Adversary::SemiHonest]);

/// The parameters on which both parties agree before either has a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Instances.
    pub instances: usize,
    /// Bits of the OPRF's code.
    pub width: usize,
    /// The hint.
    pub hint: Hint,
}

/// Payload bytes, the setup included.
pub fn bytes(Dimensions { instances, width, hint }: Dimensions) -> Bytes {
    kkrt16::setup_bytes(width)
        + one_of_n::kkrt16::bytes(width, instances)
        + Bytes { to_sender: 0, to_receiver: hint.bytes() }
}

/// The party that programs the function.
pub struct Sender<O> {
    hint: Hint,
    oprf: kkrt16::Sender,
    store: PhantomData<O>,
}

impl<O: ByteStrings> Sender<O> {
    /// Runs the OPRF's base OTs, which need no input.
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Sender::setup(dimensions.width, channel, rng)?;
        Ok(Self { hint: dimensions.hint, oprf, store: PhantomData })
    }

    /// Programs each of `points`, which are distinct, with the `len` bytes at its position of `values`.
    /// `starts` gives for each instance where its points start, followed by their number.
    ///
    /// # Errors
    /// Before anything is sent, [`Error::DuplicatePoint`] and [`Error::TooManyPoints`]; [`Error::Okvs`] with a
    /// probability of at most 2^-λ.
    ///
    /// # Panics
    /// If `values` does not have `len` bytes for each point.
    pub fn evaluate(
        self,
        starts: &[u32],
        points: &[Block],
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let Self { hint, oprf, .. } = self;
        programmable::program::<kkrt16::Oprf, O>(
            oprf,
            hint,
            starts,
            points.into(),
            values,
            channel,
            rng,
        )
    }
}

/// The party that learns a value of each instance.
pub struct Receiver<O> {
    hint: Hint,
    oprf: kkrt16::Receiver,
    store: PhantomData<O>,
}

impl<O: ByteStrings> Receiver<O> {
    /// Same as [`Sender::setup`].
    ///
    /// # Errors
    /// Errors of the connection.
    pub fn setup(
        dimensions: Dimensions,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let oprf = kkrt16::Receiver::setup(dimensions.width, channel, rng)?;
        Ok(Self { hint: dimensions.hint, oprf, store: PhantomData })
    }

    /// The `len` bytes of each instance at its point, one after another.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    pub fn evaluate(
        self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, Error> {
        programmable::evaluate::<kkrt16::Oprf, O>(self.oprf, self.hint, points.into(), channel, rng)
    }
}
