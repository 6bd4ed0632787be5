//! Runs the conformance suites on every oblivious transfer.

use vesica_ot::{
    base::{BaseOt, co15::Co15, extended::Extended, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, iknp03, kos15, precomputed, silent,
        softspoken::{SmallField, malicious, semi_honest},
    },
};
use vesica_params::lpn::{GUESSED_ONES, ONES};
use vesica_primitives::group::{Ffdhe3072, Group, Ristretto};
use vesica_testkit::conformance::ot;

const FIELD: SmallField = SmallField::new(8);

/// All base OTs over one group, at most `most` of them per call.
fn base<G: Group>(most: usize) {
    ot::base(most, Np01::<G>::send, Np01::<G>::receive);
    ot::base(most, Co15::<G>::send, Co15::<G>::receive);
    ot::base(most, Mr19::<G>::send, Mr19::<G>::receive);
}

#[test]
fn base_over_ristretto() {
    base::<Ristretto>(129);
}

/// Few, because exponentiations are slow.
#[test]
fn base_over_ffdhe3072() {
    base::<Ffdhe3072>(33);
}

#[test]
fn base_by_way_of_an_extension() {
    ot::base(usize::MAX, Extended::send, Extended::receive);
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

/// OTs that are made before a suite runs: enough for its first calls, but not for all.
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
            silent::Sender::setup(cot, ONES, channel, rng)
        },
        |channel, rng| {
            let cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
            silent::Receiver::setup(cot, ONES, channel, rng)
        },
    );
}

#[test]
fn silent_over_malicious() {
    ot::extension(
        |channel, rng| {
            let cot = malicious::Sender::setup(FIELD, channel, rng)?;
            silent::Sender::setup(cot, GUESSED_ONES, channel, rng)
        },
        |channel, rng| {
            let cot = malicious::Receiver::setup(FIELD, channel, rng)?;
            silent::Receiver::setup(cot, GUESSED_ONES, channel, rng)
        },
    );
}
