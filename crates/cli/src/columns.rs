//! Names of columns on the command line.

use std::str::FromStr;

use vesica::spec::{self, Columns};

use crate::flags;

/// Names in order, such as the columns of a composite key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        spec::names(text).map(Self)
    }
}

/// Reads column names; an empty one is written in quotes.
pub fn key(text: &str) -> Result<Names, String> {
    flags::read::<Columns>(text).map(Names)
}
