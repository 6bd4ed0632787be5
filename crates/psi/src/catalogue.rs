//! The one list of protocols: command line, documents, planner and lab are generated from it.

use crate::{Protocol, blind_rsa, dh, hl08, kkrt16, naive, rr22, rs21};

/// Every protocol there is.
pub static CATALOGUE: &[&Protocol] = &[
    &blind_rsa::PROTOCOL,
    &dh::UNBLINDING,
    &dh::CLASSIC,
    &dh::FINITE_FIELD,
    &hl08::RISTRETTO,
    &hl08::FINITE_FIELD,
    &kkrt16::PROTOCOL,
    &naive::PROTOCOL,
    &rr22::FAST,
    &rr22::LOW,
    &rr22::MALICIOUS,
    &rs21::SEMI_HONEST,
    &rs21::MALICIOUS,
];

/// The protocol with this key.
pub fn find(key: &str) -> Option<&'static Protocol> {
    CATALOGUE.iter().copied().find(|protocol| protocol.key == key)
}
