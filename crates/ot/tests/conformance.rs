//! Every oblivious transfer runs the suites of its flavour.

use vesica_ot::{
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, iknp03, kos15, precomputed, silent,
        softspoken::{SmallField, malicious, semi_honest},
    },
};
use vesica_params::lpn::BITS;
use vesica_primitives::group::Ristretto;
use vesica_testkit::conformance::ot;

const FIELD: SmallField = SmallField::new(8);

#[test]
fn mr19() {
    ot::base(Mr19::<Ristretto>::send, Mr19::<Ristretto>::receive);
}

#[test]
fn np01() {
    ot::base(Np01::<Ristretto>::send, Np01::<Ristretto>::receive);
}

#[test]
fn alsz13() {
    ot::extension(alsz13::Sender::setup, alsz13::Receiver::setup);
}

#[test]
fn iknp03() {
    ot::extension(iknp03::Sender::setup, iknp03::Receiver::setup);
}

#[test]
fn kos15() {
    ot::extension(kos15::Sender::setup, kos15::Receiver::setup);
}

#[test]
fn softspoken_semi_honest() {
    ot::extension(
        |channel, rng| semi_honest::Sender::setup(SmallField::new(2), channel, rng),
        |channel, rng| semi_honest::Receiver::setup(SmallField::new(2), channel, rng),
    );
}

#[test]
fn softspoken_malicious() {
    ot::extension(
        |channel, rng| malicious::Sender::setup(SmallField::new(2), channel, rng),
        |channel, rng| malicious::Receiver::setup(SmallField::new(2), channel, rng),
    );
}

/// OTs that are made ahead of a suite: enough for its first calls, and then too few.
const PREPARED: usize = 20_011;

#[test]
fn precomputed_over_semi_honest() {
    ot::extension(
        |channel, rng| {
            let mut ot = precomputed::Sender::new(alsz13::Sender::setup(channel, rng)?);
            ot.prepare(PREPARED, channel)?;
            Ok(ot)
        },
        |channel, rng| {
            let mut ot = precomputed::Receiver::new(alsz13::Receiver::setup(channel, rng)?, rng);
            ot.prepare(PREPARED, channel)?;
            Ok(ot)
        },
    );
}

#[test]
fn precomputed_over_malicious() {
    ot::extension(
        |channel, rng| {
            let mut ot = precomputed::Sender::new(kos15::Sender::setup(channel, rng)?);
            ot.prepare(PREPARED, channel)?;
            Ok(ot)
        },
        |channel, rng| {
            let mut ot = precomputed::Receiver::new(kos15::Receiver::setup(channel, rng)?, rng);
            ot.prepare(PREPARED, channel)?;
            Ok(ot)
        },
    );
}

#[test]
fn silent_over_semi_honest() {
    ot::extension(
        |channel, rng| {
            let cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
            silent::Sender::setup(cot, BITS, channel, rng)
        },
        |channel, rng| {
            let cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            silent::Receiver::setup(cot, BITS, channel, rng)
        },
    );
}

#[test]
fn silent_over_malicious() {
    ot::extension(
        |channel, rng| {
            let cot = malicious::Sender::setup(FIELD, channel, rng)?;
            silent::Sender::setup(cot, BITS, channel, rng)
        },
        |channel, rng| {
            let cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            silent::Receiver::setup(cot, BITS, channel, rng)
        },
    );
}
