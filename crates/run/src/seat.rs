//! The place of a party among several.

use vesica_agree::joint::Cast;

/// A party's place among several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// All parties and their places.
    pub cast: Cast,
    /// This party's number.
    pub me: usize,
}
