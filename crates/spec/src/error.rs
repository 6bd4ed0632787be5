//! Errors of a specification and of the files that it names.

use std::path::PathBuf;

use vesica_core::error::Class;

use crate::Fault;

/// The result of turning a specification into a run.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a specification does not become a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The options cannot have these values, or not in combination.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A file that an option names cannot be used.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        fault: String,
    },
    /// An error of a layer below.
    #[error(transparent)]
    Run(#[from] vesica_core::error::Error),
}

impl Error {
    /// Returns which side is at fault.
    pub fn class(&self) -> Class {
        match self {
            Self::Fault(_) => Class::Usage,
            Self::File { .. } => Class::Input,
            Self::Run(error) => error.class(),
        }
    }
}
