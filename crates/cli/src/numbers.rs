//! Numbers, amounts and times of flags that are not in a specification.

use std::time::Duration;

use vesica::spec::{Amount, Count, Seconds};

use crate::flags::read;

/// Reads a number of keys or rows.
pub fn number(text: &str) -> Result<u64, String> {
    read::<Count>(text)
}

/// Reads an amount of memory; in bytes.
pub fn amount(text: &str) -> Result<u64, String> {
    read::<Amount>(text)
}

/// Reads a time for which a person might wait.
pub fn seconds(text: &str) -> Result<Duration, String> {
    read::<Seconds>(text)
}
