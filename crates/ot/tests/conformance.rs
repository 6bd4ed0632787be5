//! Every oblivious transfer runs the suites of its flavour.

use vesica_ot::{
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::{
        alsz13, silent,
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
