//! The one list of protocols: command line, documents, planner and lab are generated from it.

use crate::{Protocol, dh, kkrt16, naive, rr17, rr22, rs21};

/// Every protocol there is.
pub static CATALOGUE: &[&Protocol] = &[
    &dh::UNBLINDING,
    &dh::CLASSIC,
    &kkrt16::PROTOCOL,
    &naive::PROTOCOL,
    &rr17::DUAL_EXECUTION,
    &rr17::ENCODE_COMMIT,
    &rr22::FAST,
    &rr22::LOW,
    &rr22::MALICIOUS,
    &rr22::MALICIOUS_LOW,
    &rs21::SEMI_HONEST,
    &rs21::MALICIOUS,
];

/// The protocol with this key.
pub fn find(key: &str) -> Option<&'static Protocol> {
    CATALOGUE.iter().copied().find(|protocol| protocol.key == key)
}
