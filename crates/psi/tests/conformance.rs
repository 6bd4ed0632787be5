//! Every protocol of the catalogue runs the same suite.

mod key;

use vesica_testkit::{conformance::psi::large, psi_conformance};

psi_conformance!(blind_rsa, &crate::key::BLIND_RSA, Budget::BigIntegers);
psi_conformance!(dh, &vesica_psi::dh::UNBLINDING, Budget::GroupOperations);
psi_conformance!(dh_classic, &vesica_psi::dh::CLASSIC, Budget::GroupOperations);
psi_conformance!(dh_ffc, &vesica_psi::dh::FINITE_FIELD, Budget::BigIntegers);
psi_conformance!(hl08, &vesica_psi::hl08::RISTRETTO, Budget::GroupOperations);
psi_conformance!(hl08_ffc, &vesica_psi::hl08::FINITE_FIELD, Budget::BigIntegers);
psi_conformance!(kkrt16, &vesica_psi::kkrt16::PROTOCOL, Budget::Symmetric);
psi_conformance!(naive, &vesica_psi::naive::PROTOCOL, Budget::Symmetric);
psi_conformance!(rr22, &vesica_psi::rr22::FAST, Budget::Symmetric);
psi_conformance!(rr22_low, &vesica_psi::rr22::LOW, Budget::Symmetric);
psi_conformance!(rr22_malicious, &vesica_psi::rr22::MALICIOUS, Budget::Symmetric);
psi_conformance!(rs21, &vesica_psi::rs21::SEMI_HONEST, Budget::Symmetric);
psi_conformance!(rs21_malicious, &vesica_psi::rs21::MALICIOUS, Budget::Symmetric);

#[test]
fn no_protocol_is_left_out() {
    let here = [
        "blind-rsa",
        "dh",
        "dh-classic",
        "dh-ffc",
        "hl08",
        "hl08-ffc",
        "kkrt16",
        "naive",
        "rr22",
        "rr22-low",
        "rr22-malicious",
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
fn rs21_large() {
    large(&vesica_psi::rs21::SEMI_HONEST);
}

#[test]
#[ignore = "a million items a side take a minute"]
fn rs21_malicious_large() {
    large(&vesica_psi::rs21::MALICIOUS);
}
