//! Circuit PSI of Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019), built on
//! [`circuit`](crate::circuit_psi). Semi-honest.
//!
//! The OPPRF is theirs ([`vesica_oprf::psty19`]): the OPRF of KKRT16, and a hint of one polynomial for each
//! mega-bin. Triples come from OT extension, as in the paper.
//!
//! Deviations: no stash, and therefore about 1.3 n bins instead of 1.27 n; and mega-bins of the size that
//! makes the hint small: with ⌊ln n⌋ points each, as in the paper, it would have four coefficients per point.

use rand::CryptoRng;
use vesica_circuit::triples::Extension;
use vesica_net::Channel;
use vesica_oprf::{Digests, programmable::Hint, psty19 as oprf};
use vesica_ot::Bytes;
use vesica_params::{Failure, code, okvs};
use vesica_structures::okvs::{ByteStrings as _, polynomial::Polynomial};

use crate::{
    Adversary, Protocol, Result,
    circuit_psi::{About, Comparison, Construction, Opprf, OpprfSize, protocol},
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = protocol::<Psty19>(About {
    key: "psty19",
    title: "circuit PSI from KKRT16's OPRF with polynomial hints",
    citation: "Pinkas, Schneider, Tkachenko, Yanai (EUROCRYPT 2019)",
});

/// Approximate number of points in a mega-bin.
const MEGA_BIN: usize = 1 << 10;

/// The construction.
struct Psty19;

impl Construction for Psty19 {
    type Opprf = WithPolynomials;
    const TRIPLES: Extension = Extension::Alsz13;
    const COMPARISON: Comparison = Comparison::Bits;
    const ROUNDS: u32 = 18;
}

/// The paper's OPPRF.
struct WithPolynomials;

fn of(dimensions: OpprfSize) -> oprf::Dimensions {
    let OpprfSize { bins, programmed, len, lambda } = dimensions;
    let width = code::width(programmed, lambda);
    let shape = okvs::polynomial(programmed, MEGA_BIN, lambda);
    oprf::Dimensions { instances: bins, width, hint: Hint { shape, programmed, len } }
}

impl Opprf for WithPolynomials {
    type Sender = oprf::Sender<Polynomial>;
    type Receiver = oprf::Receiver<Polynomial>;

    const ADVERSARY: Adversary = oprf::ADVERSARY;

    const UNIT: usize = Polynomial::UNIT;

    fn bytes(dimensions: OpprfSize) -> Bytes {
        oprf::bytes(of(dimensions))
    }

    fn failures(dimensions: OpprfSize) -> Vec<Failure> {
        let oprf::Dimensions { width, hint, .. } = of(dimensions);
        let close = code::log2_failure(hint.programmed, width);
        let hint = hint.shape.log2_failure(hint.programmed);
        vec![
            Failure::new("two codewords are too close", close),
            Failure::new("the hint has no solution", hint),
        ]
    }

    fn sender(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Sender> {
        channel.phase("base-ot");
        Ok(oprf::Sender::setup(of(dimensions), channel, rng)?)
    }

    fn receiver(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Receiver> {
        channel.phase("base-ot");
        Ok(oprf::Receiver::setup(of(dimensions), channel, rng)?)
    }

    fn program(
        sender: Self::Sender,
        starts: &[u32],
        points: Digests<'_>,
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        Ok(sender.evaluate(starts, points.low_halves, values, channel, rng)?)
    }

    fn evaluate(
        receiver: Self::Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>> {
        Ok(receiver.evaluate(points.low_halves, channel, rng)?)
    }
}
