//! The one list of protocols: command line, documents, planner and lab are generated from it.

use crate::Protocol;

/// Every protocol there is.
pub static CATALOGUE: &[&Protocol] = &[&crate::naive::PROTOCOL, &crate::kkrt16::PROTOCOL];

/// The protocol with this key.
pub fn find(key: &str) -> Option<&'static Protocol> {
    CATALOGUE.iter().copied().find(|protocol| protocol.key == key)
}
