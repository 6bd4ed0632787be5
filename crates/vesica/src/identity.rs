//! Identities in files.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use vesica_core::error::{Error, Result};
use vesica_net::Identity;

/// Creates an identity in memory.
///
/// # Errors
/// [`Error::Bug`] if the system gives no randomness.
pub fn generate_identity() -> Result<Identity> {
    Identity::generate().map_err(|_| Error::bug("the system gives no randomness"))
}

/// Creates an identity in a new file that only its owner can read.
///
/// # Errors
/// [`Error::Identity`], also if the file exists: an identity is never overwritten.
pub fn create_identity(file: &Path) -> Result<Identity> {
    let identity = generate_identity()?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut out| {
        out.write_all(identity.to_pem().as_bytes())?;
        out.sync_all()
    });
    match written {
        Ok(()) => Ok(identity),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(failed(
            file,
            "already exists, and an identity is never overwritten; choose another name, or show it with `vesica \
             fingerprint`",
        )),
        Err(error) => Err(failed(file, format!("cannot be written: {error}"))),
    }
}

/// Loads the identity in a file.
///
/// # Errors
/// [`Error::Identity`].
pub fn load_identity(file: &Path) -> Result<Identity> {
    let text = fs::read_to_string(file)
        .map_err(|error| failed(file, format!("cannot be read: {error}")))?;
    Identity::from_pem(&text).map_err(|error| failed(file, error.to_string()))
}

/// Returns whether other users can read a file, if the system reports it.
#[cfg(unix)]
pub fn is_shared(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Returns whether other users can read a file, if the system reports it.
#[cfg(not(unix))]
pub fn is_shared(_file: &Path) -> bool {
    false
}

fn failed(file: &Path, fault: impl Into<String>) -> Error {
    Error::Identity { path: file.to_owned(), fault: fault.into() }
}
