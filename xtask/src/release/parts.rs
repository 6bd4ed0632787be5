//! What a package of the program is made of.

use std::path::Path;

use crate::repository::Repository;

/// The parts of a package, and where it goes.
pub struct Parts<'a> {
    pub repository: &'a Repository,
    pub version: &'a str,
    /// The program, linked statically.
    pub program: &'a Path,
    /// The folder of what goes with it.
    pub contents: &'a Path,
    /// The folder for the package.
    pub out: &'a Path,
}
