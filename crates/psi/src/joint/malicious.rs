//! The parts of a fold against malicious parties: [`Folding::Malicious`](super::Folding). Research: the argument is by
//! one hand, and nobody has reviewed it.
//!
//! Items have 256 bits, z_i(x) is the sum of BLAKE3(k_ij, x) of the whole item, cut to 16 bytes, and a derived item is
//! BLAKE3(x ‖ T(x)), of 256 bits. The OPPRF is [`programmable`] from [`rs21::malicious`](oprf), and the two-party run
//! is malicious too.
//!
//! **Claim.** The functionality of the search, with abort, among any corrupt parties, in the random-oracle and
//! ideal-cipher models. Corrupt parties choose their sets: L one of at most
//! [`effective_inputs`](vesica_params::effective_inputs) of the columns of its OKVS, in each OPPRF and in the
//! two-party run; corrupt helpers together one of at most `effective_inputs` of all columns of their hints; V one of
//! its announced size. A result that L passes on is L's word.
//!
//! **Argument.** *L corrupt.* Its sets are extracted from its message to each honest helper. Elsewhere F is
//! pseudo-random, and so the hint is uniform. If V is honest, each honest share contains a key that the coalition
//! lacks, so what L reads is uniform, and only at items that it has read at all honest helpers, and all of them have,
//! does it know z_V(x). Its derived items elsewhere meet V's with 2^-128 each. If V is corrupt, the simulator draws
//! all hints but the last at random, and when the last is due, it knows the items that L has read everywhere: it asks
//! for those that all honest helpers have, and solves for them.
//!
//! *L honest.* No message of L and no abort depends on its items, its shares or what it reads, except through the
//! two-party run, whose receiver reveals nothing. Corrupt helpers know the sum that their functions must have at x, if
//! all honest parties have x: their keys with honest ones. They meet it at points whose pads they have computed, and
//! at no more of them than `effective_inputs` allows. If V is corrupt, it puts an item derived from any T(y) that it
//! knows on its list, one for each place. At an item that an honest helper lacks, T is uniform.
//!
//! *Keys.* Each point is fresh, so a corrupt partner's choice, even another party's point or the identity, gives
//! nothing about other keys. It may leave the key unknown to the coalition, which then meets fewer sums.
//!
//! `docs/notes/2026-11-29-joint-malicious.md` has more, and the gaps.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::{
    Digests,
    programmable::{self, Hint},
    rs21::malicious as oprf,
};
use vesica_ot::{Bytes, extension::softspoken::malicious as extension, vole::silent};
use vesica_params::{
    Failure,
    lpn::{self, Lpn},
    okvs::{self, DensePart, Shape, shape_over_field},
};
use vesica_primitives::Block;
use vesica_structures::okvs::{Codec, Field, rr22::Rr22};

use crate::{
    Adversary, Result,
    circuit_psi::{Opprf, OpprfSize},
    protocols::vole_oprf::{FEW, FIELD},
};

/// Its name in errors.
pub(super) const NAME: &str = "joint-malicious";

/// Bytes of a share.
pub(super) const SHARE_LEN: usize = 16;

/// Approximate number of points per cluster of an OKVS.
const CLUSTER: usize = 1 << 16;

const LPN: Lpn = lpn::UNIFORM;

/// The OKVS for points of either side: one-way rows, and no more columns than points if these are few.
pub(super) fn shape(points: usize, lambda: u32) -> Shape {
    match points {
        ..=FEW => shape_over_field(points, FEW, lambda),
        _ => okvs::shape(points, CLUSTER, lambda).one_way(),
    }
}

fn points(size: OpprfSize) -> Shape {
    shape(size.bins, size.lambda)
}

fn hint(OpprfSize { programmed, len, lambda, .. }: OpprfSize) -> Hint {
    Hint { shape: shape(programmed, lambda), programmed, len }
}

/// The OPPRF.
pub(crate) struct FromCheckedVole;

/// A side of the OPRF, by the OKVS of the leader's points.
enum ByPoints<Few, Many> {
    Few(Few),
    Many(Many),
}

/// The programming side, ready for its points.
pub(crate) struct CheckedProgrammer {
    hint: Hint,
    oprf: ByPoints<oprf::Sender<Rr22<Field>>, oprf::Sender<Rr22>>,
}

/// The reading side, ready for its points.
pub(crate) struct CheckedReader {
    hint: Hint,
    oprf: ByPoints<oprf::Receiver<Rr22<Field>>, oprf::Receiver<Rr22>>,
}

impl Opprf for FromCheckedVole {
    type Sender = CheckedProgrammer;
    type Receiver = CheckedReader;

    const ADVERSARY: Adversary = Adversary::weakest(&[oprf::ADVERSARY, extension::ADVERSARY]);

    const UNIT: usize = SHARE_LEN;

    fn bytes(size: OpprfSize) -> Bytes {
        let vole = silent::malicious::bytes(points(size).columns(), LPN, FIELD);
        let hint = Bytes { to_sender: 0, to_receiver: hint(size).bytes() };
        extension::setup_bytes(FIELD) + vole + oprf::bytes(points(size)) + hint
    }

    fn failures(size: OpprfSize) -> Vec<Failure> {
        let (points, hint) = (points(size), hint(size));
        let wrong = silent::malicious::log2_error(points.columns(), LPN);
        let of_hint = hint.shape.log2_failure(hint.programmed);
        vec![
            Failure::new("the OKVS of points has no solution", points.log2_failure(size.bins)),
            Failure::new("the hint has no solution", of_hint),
            Failure::new("wrong noise passes the check", wrong),
        ]
    }

    fn sender(
        size: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<CheckedProgrammer> {
        let own = oprf::Share::commit(channel, rng)?;
        channel.phase("base-ot");
        let cot = &mut extension::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let shape = points(size);
        let oprf = match shape.dense_part {
            DensePart::Field => {
                ByPoints::Few(oprf::Sender::setup(own, shape, LPN, cot, channel, rng)?)
            }
            DensePart::Binary => {
                ByPoints::Many(oprf::Sender::setup(own, shape, LPN, cot, channel, rng)?)
            }
        };
        Ok(CheckedProgrammer { hint: hint(size), oprf })
    }

    fn receiver(
        size: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<CheckedReader> {
        let theirs = oprf::Commitment::receive(channel)?;
        channel.phase("base-ot");
        let cot = &mut extension::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let shape = points(size);
        let oprf = match shape.dense_part {
            DensePart::Field => {
                ByPoints::Few(oprf::Receiver::setup(theirs, shape, LPN, cot, channel, rng)?)
            }
            DensePart::Binary => {
                ByPoints::Many(oprf::Receiver::setup(theirs, shape, LPN, cot, channel, rng)?)
            }
        };
        Ok(CheckedReader { hint: hint(size), oprf })
    }

    fn program(
        CheckedProgrammer { hint, oprf }: CheckedProgrammer,
        _: &[u32],
        points: Digests<'_>,
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        match oprf {
            ByPoints::Few(oprf) => program(oprf, hint, points, values, channel, rng),
            ByPoints::Many(oprf) => program(oprf, hint, points, values, channel, rng),
        }
    }

    fn evaluate(
        CheckedReader { hint, oprf }: CheckedReader,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>> {
        match oprf {
            ByPoints::Few(oprf) => evaluate(oprf, hint, points, channel, rng),
            ByPoints::Many(oprf) => evaluate(oprf, hint, points, channel, rng),
        }
    }
}

/// Programs points, with the OKVS that the hint's shape is for.
fn program<O: Codec<Block>>(
    oprf: oprf::Sender<O>,
    hint: Hint,
    points: Digests<'_>,
    values: &[u8],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    type Of<O> = oprf::Oprf<O>;
    match hint.shape.dense_part {
        DensePart::Field => programmable::program::<Of<O>, Rr22<Field>>(
            oprf,
            hint,
            &[],
            points,
            values,
            channel,
            rng,
        )?,
        DensePart::Binary => {
            programmable::program::<Of<O>, Rr22>(oprf, hint, &[], points, values, channel, rng)?;
        }
    }
    Ok(())
}

/// Reads at points, with the OKVS that the hint's shape is for.
fn evaluate<O: Codec<Block>>(
    oprf: oprf::Receiver<O>,
    hint: Hint,
    points: Digests<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u8>> {
    type Of<O> = oprf::Oprf<O>;
    Ok(match hint.shape.dense_part {
        DensePart::Field => {
            programmable::evaluate::<Of<O>, Rr22<Field>>(oprf, hint, points, channel, rng)?
        }
        DensePart::Binary => {
            programmable::evaluate::<Of<O>, Rr22>(oprf, hint, points, channel, rng)?
        }
    })
}
