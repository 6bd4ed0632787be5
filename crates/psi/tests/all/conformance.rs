//! Every protocol of the catalogue runs the same suite.

use vesica_testkit::{conformance::psi::large, psi_conformance};

psi_conformance!(blind_rsa, &crate::key::BLIND_RSA, Budget::BigIntegers);
psi_conformance!(cm20, &vesica_psi::protocols::cm20::SEMI_HONEST, Budget::Symmetric);
psi_conformance!(
    cm20_malicious_sender,
    &vesica_psi::protocols::cm20::MALICIOUS_SENDER,
    Budget::Symmetric
);
psi_conformance!(dcw13, &vesica_psi::protocols::dcw13::PROTOCOL, Budget::Symmetric);
psi_conformance!(dh, &vesica_psi::protocols::dh::UNBLINDING, Budget::GroupOperations);
psi_conformance!(dh_classic, &vesica_psi::protocols::dh::CLASSIC, Budget::GroupOperations);
psi_conformance!(dh_ffc, &vesica_psi::protocols::dh::FINITE_FIELD, Budget::BigIntegers);
psi_conformance!(hl08, &vesica_psi::protocols::hl08::RISTRETTO, Budget::GroupOperations);
psi_conformance!(hl08_ffc, &vesica_psi::protocols::hl08::FINITE_FIELD, Budget::BigIntegers);
psi_conformance!(kkrt16, &vesica_psi::protocols::kkrt16::PROTOCOL, Budget::Symmetric);
psi_conformance!(naive, &vesica_psi::protocols::naive::PROTOCOL, Budget::Symmetric);
psi_conformance!(prty19_fast, &vesica_psi::protocols::prty19::FAST, Budget::Symmetric);
psi_conformance!(prty19_low, &vesica_psi::protocols::prty19::LOW, Budget::Symmetric);
psi_conformance!(prty20, &vesica_psi::protocols::prty20::CLUSTERED, Budget::Symmetric);
psi_conformance!(prty20_malicious, &vesica_psi::protocols::prty20::MALICIOUS, Budget::Symmetric);
psi_conformance!(
    prty20_malicious_paxos,
    &vesica_psi::protocols::prty20::MALICIOUS_WITH_PAXOS,
    Budget::Symmetric
);
psi_conformance!(prty20_paxos, &vesica_psi::protocols::prty20::WITH_PAXOS, Budget::Symmetric);
psi_conformance!(pssz15, &vesica_psi::protocols::pssz15::PROTOCOL, Budget::Symmetric);
psi_conformance!(psty19, &vesica_psi::circuit_psi::psty19::PROTOCOL, Budget::GroupOperations);
psi_conformance!(psz14, &vesica_psi::protocols::psz14::CUCKOO, Budget::Symmetric);
psi_conformance!(psz14_balanced, &vesica_psi::protocols::psz14::BALANCED, Budget::GroupOperations);
psi_conformance!(psz14_gbf, &vesica_psi::protocols::psz14::gbf::PUBLISHED, Budget::Symmetric);
psi_conformance!(psz14_gbf_liang, &vesica_psi::protocols::psz14::gbf::LIANG, Budget::Symmetric);
psi_conformance!(psz14_none, &vesica_psi::protocols::psz14::NONE, Budget::BigIntegers);
psi_conformance!(psz14_simple, &vesica_psi::protocols::psz14::SIMPLE, Budget::GroupOperations);
psi_conformance!(rr16, &vesica_psi::protocols::rr16::PROTOCOL, Budget::GroupOperations);
psi_conformance!(rr17_de, &vesica_psi::protocols::rr17::DUAL_EXECUTION, Budget::Symmetric);
psi_conformance!(rr17_ec, &vesica_psi::protocols::rr17::ENCODE_COMMIT, Budget::Symmetric);
psi_conformance!(rr22, &vesica_psi::protocols::rr22::FAST, Budget::Symmetric);
psi_conformance!(rr22_low, &vesica_psi::protocols::rr22::LOW, Budget::Symmetric);
psi_conformance!(rr22_malicious, &vesica_psi::protocols::rr22::MALICIOUS, Budget::Symmetric);
psi_conformance!(
    rr22_malicious_low,
    &vesica_psi::protocols::rr22::MALICIOUS_LOW,
    Budget::Symmetric
);
psi_conformance!(rs21, &vesica_psi::protocols::rs21::SEMI_HONEST, Budget::Symmetric);
psi_conformance!(rs21_circuit, &vesica_psi::circuit_psi::rs21::SILENT, Budget::GroupOperations);
psi_conformance!(rs21_circuit_iknp, &vesica_psi::circuit_psi::rs21::IKNP, Budget::GroupOperations);
psi_conformance!(rs21_low, &vesica_psi::protocols::rs21::LOW, Budget::Symmetric);
psi_conformance!(rs21_malicious, &vesica_psi::protocols::rs21::MALICIOUS, Budget::Symmetric);
psi_conformance!(scs_gmw, &vesica_psi::protocols::scs::GMW, Budget::Circuits);
psi_conformance!(scs_gmw_vector, &vesica_psi::protocols::scs::GMW_VECTOR, Budget::Circuits);
psi_conformance!(scs_yao, &vesica_psi::protocols::scs::YAO, Budget::Circuits);

#[test]
fn no_protocol_is_left_out() {
    let here = [
        "blind-rsa",
        "cm20",
        "cm20-malicious-sender",
        "dcw13",
        "dh",
        "dh-classic",
        "dh-ffc",
        "hl08",
        "hl08-ffc",
        "kkrt16",
        "naive",
        "prty19-fast",
        "prty19-low",
        "prty20",
        "prty20-malicious",
        "prty20-malicious-paxos",
        "prty20-paxos",
        "pssz15",
        "psty19",
        "psz14",
        "psz14-balanced",
        "psz14-gbf",
        "psz14-gbf-liang",
        "psz14-none",
        "psz14-simple",
        "rr16",
        "rr17-de",
        "rr17-ec",
        "rr22",
        "rr22-low",
        "rr22-malicious",
        "rr22-malicious-low",
        "rs21",
        "rs21-circuit",
        "rs21-circuit-iknp",
        "rs21-low",
        "rs21-malicious",
        "scs-gmw",
        "scs-gmw-vector",
        "scs-yao",
    ];
    let keys: Vec<&str> = vesica_psi::CATALOGUE.iter().map(|protocol| protocol.key).collect();
    assert_eq!(keys, here, "a protocol of the catalogue needs a line above");
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn cm20_large() {
    large(&vesica_psi::protocols::cm20::SEMI_HONEST);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn cm20_malicious_sender_large() {
    large(&vesica_psi::protocols::cm20::MALICIOUS_SENDER);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn kkrt16_large() {
    large(&vesica_psi::protocols::kkrt16::PROTOCOL);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn naive_large() {
    large(&vesica_psi::protocols::naive::PROTOCOL);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn prty19_fast_large() {
    large(&vesica_psi::protocols::prty19::FAST);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn prty19_low_large() {
    large(&vesica_psi::protocols::prty19::LOW);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn prty20_large() {
    large(&vesica_psi::protocols::prty20::CLUSTERED);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn prty20_malicious_large() {
    large(&vesica_psi::protocols::prty20::MALICIOUS);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn prty20_malicious_paxos_large() {
    large(&vesica_psi::protocols::prty20::MALICIOUS_WITH_PAXOS);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn prty20_paxos_large() {
    large(&vesica_psi::protocols::prty20::WITH_PAXOS);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn pssz15_large() {
    large(&vesica_psi::protocols::pssz15::PROTOCOL);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn psz14_large() {
    large(&vesica_psi::protocols::psz14::CUCKOO);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn rr17_de_large() {
    large(&vesica_psi::protocols::rr17::DUAL_EXECUTION);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn rr17_ec_large() {
    large(&vesica_psi::protocols::rr17::ENCODE_COMMIT);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rr22_large() {
    large(&vesica_psi::protocols::rr22::FAST);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rr22_low_large() {
    large(&vesica_psi::protocols::rr22::LOW);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rr22_malicious_large() {
    large(&vesica_psi::protocols::rr22::MALICIOUS);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rr22_malicious_low_large() {
    large(&vesica_psi::protocols::rr22::MALICIOUS_LOW);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rs21_large() {
    large(&vesica_psi::protocols::rs21::SEMI_HONEST);
}

#[test]
#[ignore = "assure: a million items a side take minutes"]
fn rs21_low_large() {
    large(&vesica_psi::protocols::rs21::LOW);
}

#[test]
#[ignore = "assure: a million items a side take a minute"]
fn rs21_malicious_large() {
    large(&vesica_psi::protocols::rs21::MALICIOUS);
}
