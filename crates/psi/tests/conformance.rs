//! Every protocol of the catalogue runs the same suite.

use vesica_testkit::{conformance::psi::large, psi_conformance};

psi_conformance!(dh, &vesica_psi::dh::UNBLINDING, Budget::GroupOperations);
psi_conformance!(dh_classic, &vesica_psi::dh::CLASSIC, Budget::GroupOperations);
psi_conformance!(kkrt16, &vesica_psi::kkrt16::PROTOCOL, Budget::Symmetric);
psi_conformance!(naive, &vesica_psi::naive::PROTOCOL, Budget::Symmetric);
psi_conformance!(rr17_de, &vesica_psi::rr17::DUAL_EXECUTION, Budget::Symmetric);
psi_conformance!(rr17_ec, &vesica_psi::rr17::ENCODE_COMMIT, Budget::Symmetric);
psi_conformance!(rr22, &vesica_psi::rr22::FAST, Budget::Symmetric);
psi_conformance!(rr22_low, &vesica_psi::rr22::LOW, Budget::Symmetric);
psi_conformance!(rr22_malicious, &vesica_psi::rr22::MALICIOUS, Budget::Symmetric);
psi_conformance!(rr22_malicious_low, &vesica_psi::rr22::MALICIOUS_LOW, Budget::Symmetric);
psi_conformance!(rs21, &vesica_psi::rs21::SEMI_HONEST, Budget::Symmetric);
psi_conformance!(rs21_malicious, &vesica_psi::rs21::MALICIOUS, Budget::Symmetric);

#[test]
fn no_protocol_is_left_out() {
    let here = [
        "dh",
        "dh-classic",
        "kkrt16",
        "naive",
        "rr17-de",
        "rr17-ec",
        "rr22",
        "rr22-low",
        "rr22-malicious",
        "rr22-malicious-low",
        "rs21",
        "rs21-malicious",
    ];
    let keys: Vec<&str> = vesica_psi::CATALOGUE.iter().map(|protocol| protocol.key).collect();
    assert_eq!(keys, here, "a protocol of the catalogue needs a line above");
}

#[test]
#[ignore = "a million items a side take a minute"]
fn kkrt16_large() {
    large(&vesica_psi::kkrt16::PROTOCOL);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn naive_large() {
    large(&vesica_psi::naive::PROTOCOL);
}

#[test]
#[ignore = "a million items a side take minutes"]
fn rr17_de_large() {
    large(&vesica_psi::rr17::DUAL_EXECUTION);
}

#[test]
#[ignore = "a million items a side take minutes"]
fn rr17_ec_large() {
    large(&vesica_psi::rr17::ENCODE_COMMIT);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rr22_large() {
    large(&vesica_psi::rr22::FAST);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rr22_low_large() {
    large(&vesica_psi::rr22::LOW);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rr22_malicious_large() {
    large(&vesica_psi::rr22::MALICIOUS);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rr22_malicious_low_large() {
    large(&vesica_psi::rr22::MALICIOUS_LOW);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rs21_large() {
    large(&vesica_psi::rs21::SEMI_HONEST);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rs21_malicious_large() {
    large(&vesica_psi::rs21::MALICIOUS);
}
