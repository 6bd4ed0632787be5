//! Circuit PSI from a VOLE: Rindal and Schoppmann (EUROCRYPT 2021), §6, built on
//! [`circuit_psi`](super). Semi-honest.
//!
//! The OPPRF is theirs ([`vesica_oprf::opprf`]): the OPRF of a silent VOLE and an OKVS, and a uniform OKVS as
//! the hint. `rs21-circuit` uses silent OTs, which cost hardly any bytes; `rs21-circuit-iknp` uses triples from
//! OT extension, 256 bits each, as the paper's Table 4 compares.
//!
//! Deviations: the OKVS is RR22's, elements of the VOLE are only as long as necessary (see `docs/protocols/vole.md`),
//! and triples are made from one OT in each direction. `rs21-circuit` compares targets by digits (`Comparison::Digits`)
//! and not by triples, because of the time that OTs take.

use rand::CryptoRng;
use vesica_circuit::triples::Extension;
use vesica_net::Channel;
use vesica_oprf::{Digests, opprf};
use vesica_ot::{Bytes, extension::softspoken::semi_honest as extension, vole::silent};
use vesica_params::{
    Failure,
    lpn::{self, Lpn},
    okvs::shape,
};
use vesica_primitives::Block;
use vesica_structures::okvs::rr22::Rr22;

use super::{About, Comparison, Construction, Opprf, OpprfSize, protocol};
use crate::{
    Adversary, Protocol, Result,
    protocols::{rs21::CITATION, vole_oprf::FIELD},
};

/// The protocol with silent OTs.
pub static SILENT: Protocol = protocol::<Silent>(About {
    key: "rs21-circuit",
    title: "circuit PSI from a VOLE-based OPPRF, silent OTs",
    citation: CITATION,
});

/// The protocol with triples from OT extension.
pub static IKNP: Protocol = protocol::<Iknp>(About {
    key: "rs21-circuit-iknp",
    title: "circuit PSI from a VOLE-based OPPRF, triples from OT extension",
    citation: CITATION,
});

/// The construction of `rs21-circuit`.
pub(crate) struct Silent;

impl Construction for Silent {
    type Opprf = FromVole;
    const TRIPLES: Extension = Extension::SILENT;
    const COMPARISON: Comparison = Comparison::Digits;
    const ROUNDS: u32 = 19;
}

/// The construction of `rs21-circuit-iknp`.
struct Iknp;

impl Construction for Iknp {
    type Opprf = FromVole;
    const TRIPLES: Extension = Extension::Alsz13;
    const COMPARISON: Comparison = Comparison::Bits;
    const ROUNDS: u32 = 17;
}

/// Approximate number of points per cluster of an OKVS: as many as let its columns stay in the second-level
/// cache.
const CLUSTER: usize = 1 << 15;

const LPN: Lpn = lpn::UNIFORM;

fn of(dimensions: OpprfSize) -> opprf::Dimensions {
    let OpprfSize { bins, programmed, len, lambda } = dimensions;
    let shape = |points, lambda| shape(points, CLUSTER, lambda);
    opprf::Dimensions::new(bins, programmed, len, lambda, shape)
}

/// The paper's OPPRF.
pub(crate) struct FromVole;

/// A party, by the length of its VOLE's elements.
pub(crate) enum Either<Short, Long> {
    Short(Short),
    Long(Long),
}

impl Opprf for FromVole {
    type Sender = Either<opprf::Sender<Rr22, u64>, opprf::Sender<Rr22, Block>>;
    type Receiver = Either<opprf::Receiver<Rr22, u64>, opprf::Receiver<Rr22, Block>>;

    const ADVERSARY: Adversary = Adversary::weakest(&[opprf::ADVERSARY, extension::ADVERSARY]);

    const UNIT: usize = 1;

    fn bytes(dimensions: OpprfSize) -> Bytes {
        let dimensions = of(dimensions);
        let vole = silent::bytes(dimensions.points.columns(), dimensions.bits, LPN, FIELD);
        extension::setup_bytes(FIELD) + vole + opprf::bytes(dimensions)
    }

    fn failures(dimensions: OpprfSize) -> Vec<Failure> {
        of(dimensions).failures(dimensions.bins).to_vec()
    }

    fn sender(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Sender> {
        let dimensions = of(dimensions);
        channel.phase("base-ot");
        let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        Ok(if dimensions.bits <= u64::BITS {
            Either::Short(opprf::Sender::setup(dimensions, LPN, &mut cot, channel, rng)?)
        } else {
            Either::Long(opprf::Sender::setup(dimensions, LPN, &mut cot, channel, rng)?)
        })
    }

    fn receiver(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Receiver> {
        let dimensions = of(dimensions);
        channel.phase("base-ot");
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        Ok(if dimensions.bits <= u64::BITS {
            Either::Short(opprf::Receiver::setup(dimensions, LPN, &mut cot, channel, rng)?)
        } else {
            Either::Long(opprf::Receiver::setup(dimensions, LPN, &mut cot, channel, rng)?)
        })
    }

    fn program(
        sender: Self::Sender,
        _: &[u32],
        points: Digests<'_>,
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        match sender {
            Either::Short(sender) => sender.evaluate(points.low_halves, values, channel, rng)?,
            Either::Long(sender) => sender.evaluate(points.low_halves, values, channel, rng)?,
        }
        Ok(())
    }

    fn evaluate(
        receiver: Self::Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>> {
        Ok(match receiver {
            Either::Short(receiver) => receiver.evaluate(points.low_halves, channel, rng)?,
            Either::Long(receiver) => receiver.evaluate(points.low_halves, channel, rng)?,
        })
    }
}
