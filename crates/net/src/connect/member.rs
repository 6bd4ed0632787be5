//! The parties of a gathering.

use crate::Fingerprint;

/// The most parties that may gather.
pub const MAX_PARTIES: usize = 32;

/// One of several parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The name by which all of them know it.
    pub name: String,
    /// Its fingerprint.
    pub fingerprint: Fingerprint,
    /// The address at which others reach it, as `host:port`; `None` if it can only dial.
    pub address: Option<String>,
}
