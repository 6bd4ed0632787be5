//! The parts of a program's package.

use std::path::Path;

use crate::repository::Repository;

/// The parts of a package, and its destination.
pub struct Parts<'a> {
    pub repository: &'a Repository,
    pub version: &'a str,
    /// The statically linked program.
    pub program: &'a Path,
    /// The folder of the other contents.
    pub contents: &'a Path,
    /// The folder for the package.
    pub out: &'a Path,
}
