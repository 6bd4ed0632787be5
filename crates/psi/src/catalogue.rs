//! The one list of protocols: command line, documents, planner and lab are generated from it.

use crate::{Protocol, cm20, dh, kkrt16, naive, prty20, rr22, rs21};

/// Every protocol there is.
pub static CATALOGUE: &[&Protocol] = &[
    &cm20::SEMI_HONEST,
    &cm20::MALICIOUS_SENDER,
    &dh::UNBLINDING,
    &dh::CLASSIC,
    &kkrt16::PROTOCOL,
    &naive::PROTOCOL,
    &prty20::CLUSTERED,
    &prty20::WITH_PAXOS,
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
