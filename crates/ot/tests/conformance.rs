//! Every oblivious transfer runs the suites of its flavour.

use vesica_ot::{
    base::{BaseOt, mr19::Mr19, np01::Np01},
    extension::alsz13,
};
use vesica_primitives::group::Ristretto;
use vesica_testkit::conformance::ot;

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
