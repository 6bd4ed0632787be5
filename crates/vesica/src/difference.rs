//! What the two sides do not agree on, for a person to read.

use std::fmt;

/// Something the two sides do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub what: &'static str,
    /// What this side says.
    pub here: String,
    /// What the other side says.
    pub there: String,
}

impl Difference {
    /// Something that is the matter on both sides alike.
    pub(crate) fn of_both(what: &'static str, said: String) -> Self {
        Self { what, here: said.clone(), there: said }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (here: {}; there: {})", self.what, self.here, self.there)
    }
}
