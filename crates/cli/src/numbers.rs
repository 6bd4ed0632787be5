//! Numbers, amounts and times of flags that stand in no specification.

use std::time::Duration;

use vesica::spec::{Amount, Count, Mbits, Seconds, Whole};

use crate::flags::read;

/// Reads a number of keys or rows.
pub fn number(text: &str) -> Result<u64, String> {
    read::<Count>(text)
}

/// Reads a number from 1 on.
pub fn positive(text: &str) -> Result<u64, String> {
    read::<Whole<u64, 1>>(text)
}

/// Reads a rate in Mbit/s; in bits a second.
pub fn rate(text: &str) -> Result<u64, String> {
    read::<Mbits>(text)
}

/// Reads an amount of memory; in bytes.
pub fn amount(text: &str) -> Result<u64, String> {
    read::<Amount>(text)
}

/// Reads a time for which a person might wait.
pub fn seconds(text: &str) -> Result<Duration, String> {
    read::<Seconds>(text)
}
