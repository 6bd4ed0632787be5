//! Points of an interpolation, which must differ.

use std::fmt;

/// Two points of an interpolation are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicatePoint;

impl fmt::Display for DuplicatePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two points of an interpolation are equal")
    }
}

impl std::error::Error for DuplicatePoint {}
