//! The list of all protocols, from which command line, documents, planner and lab are generated.

use crate::{
    Protocol,
    circuit_psi::psty19,
    protocols::{
        blind_rsa, cm20, dcw13, dh, hl08, kkrt16, naive, prty19, prty20, pssz15, psz14, rr16, rr17,
        rr22, rs21, scs,
    },
};

/// Every protocol there is.
pub static CATALOGUE: &[&Protocol] = &[
    &blind_rsa::PROTOCOL,
    &cm20::SEMI_HONEST,
    &cm20::MALICIOUS_SENDER,
    &dcw13::PROTOCOL,
    &dh::UNBLINDING,
    &dh::CLASSIC,
    &dh::FINITE_FIELD,
    &hl08::RISTRETTO,
    &hl08::FINITE_FIELD,
    &kkrt16::PROTOCOL,
    &naive::PROTOCOL,
    &prty19::FAST,
    &prty19::LOW,
    &prty20::CLUSTERED,
    &prty20::MALICIOUS,
    &prty20::WITH_PAXOS,
    &pssz15::PROTOCOL,
    &psty19::PROTOCOL,
    &psz14::CUCKOO,
    &psz14::BALANCED,
    &psz14::gbf::PUBLISHED,
    &psz14::gbf::LIANG,
    &psz14::NONE,
    &psz14::SIMPLE,
    &rr16::PROTOCOL,
    &rr17::DUAL_EXECUTION,
    &rr17::ENCODE_COMMIT,
    &rr22::FAST,
    &rr22::LOW,
    &rr22::MALICIOUS,
    &rr22::MALICIOUS_LOW,
    &rs21::SEMI_HONEST,
    &rs21::circuit::SILENT,
    &rs21::circuit::IKNP,
    &rs21::LOW,
    &rs21::MALICIOUS,
    &scs::GMW,
    &scs::GMW_VECTOR,
    &scs::YAO,
];

/// The protocol with this key.
pub fn find(key: &str) -> Option<&'static Protocol> {
    CATALOGUE.iter().copied().find(|protocol| protocol.key == key)
}
