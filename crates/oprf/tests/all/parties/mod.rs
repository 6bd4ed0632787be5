//! The parties of each VOLE-based OPRF, setup and all.

#![allow(dead_code)] // Each file of tests uses some of them.

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_oprf::{
    Error,
    opprf::{self, Dimensions},
    rs21::{Values, malicious, malicious::Digests, semi_honest},
};
use vesica_ot::{
    extension::softspoken::{self, SmallField},
    vole::Subspace,
};
use vesica_params::{lpn::Lpn, okvs::Shape};
use vesica_primitives::Block;
use vesica_structures::okvs::{ByteStrings, Codec, rr22::Rr22};

/// The field of the OT extension.
pub const FIELD: SmallField = SmallField::new(8);

/// The sender of the semi-honest OPRF.
pub fn send<A: Subspace>(
    (shape, bits): (Shape, u32),
    lpn: Lpn,
    points: &[Block],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Values, Error> {
    let mut cot = softspoken::semi_honest::Sender::setup(FIELD, channel, rng)?;
    let party = semi_honest::Sender::<Rr22, A>::setup(shape, bits, lpn, &mut cot, channel, rng)?;
    Ok(party.evaluate(points, channel)?)
}

/// The receiver of the semi-honest OPRF.
pub fn receive<A: Subspace>(
    (shape, bits): (Shape, u32),
    lpn: Lpn,
    points: &[Block],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Values, Error>
where
    Rr22: Codec<A>,
{
    let mut cot = softspoken::semi_honest::Receiver::setup(FIELD, channel, rng)?;
    let party = semi_honest::Receiver::<Rr22, A>::setup(shape, bits, lpn, &mut cot, channel, rng)?;
    party.evaluate(points, channel, rng)
}

/// The sender of the malicious OPRF.
pub fn send_checked(
    shape: Shape,
    lpn: Lpn,
    points: Digests<'_>,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Values, Error> {
    let mut cot = softspoken::malicious::Sender::setup(FIELD, channel, rng)?;
    let own = malicious::Share::commit(channel, rng)?;
    let party = malicious::Sender::<Rr22>::setup(own, shape, lpn, &mut cot, channel, rng)?;
    Ok(party.evaluate(points, channel)?)
}

/// The receiver of the malicious OPRF.
pub fn receive_checked(
    shape: Shape,
    lpn: Lpn,
    points: Digests<'_>,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Values, Error> {
    let mut cot = softspoken::malicious::Receiver::setup(FIELD, channel, rng)?;
    let theirs = malicious::Commitment::receive(channel)?;
    let party = malicious::Receiver::<Rr22>::setup(theirs, shape, lpn, &mut cot, channel, rng)?;
    party.evaluate(points, channel, rng)
}

/// The sender of the programmable OPRF.
pub fn program<O: ByteStrings + Codec<A>, A: Subspace>(
    dimensions: Dimensions,
    lpn: Lpn,
    (points, values): (&[Block], &[u8]),
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    let mut cot = softspoken::semi_honest::Sender::setup(FIELD, channel, rng)?;
    let party = opprf::Sender::<O, A>::setup(dimensions, lpn, &mut cot, channel, rng)?;
    party.evaluate(points, values, channel, rng)
}

/// The receiver of the programmable OPRF.
pub fn receive_programmed<O: ByteStrings + Codec<A>, A: Subspace>(
    dimensions: Dimensions,
    lpn: Lpn,
    points: &[Block],
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Vec<u8>, Error> {
    let mut cot = softspoken::semi_honest::Receiver::setup(FIELD, channel, rng)?;
    let party = opprf::Receiver::<O, A>::setup(dimensions, lpn, &mut cot, channel, rng)?;
    party.evaluate(points, channel, rng)
}
