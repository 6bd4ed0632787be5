//! Every oblivious transfer runs the suites of its flavour.

use vesica_ot::{base::mr19, extension::alsz13};
use vesica_primitives::group::Ristretto;
use vesica_testkit::conformance::ot;

#[test]
fn mr19() {
    ot::base(mr19::send::<Ristretto>, mr19::receive::<Ristretto>);
}

#[test]
fn alsz13() {
    ot::extension(alsz13::Sender::setup, alsz13::Receiver::setup);
}
