//! Objects in stores as inputs and outputs: `s3://`, `gs://` and `az://`.

use std::path::Path;

use vesica_core::error::{Error, Misuse, Result};
use vesica_net::files::{Directory, Folder};

#[cfg(not(feature = "stores"))]
mod absent;
#[cfg(feature = "stores")]
mod folder;
#[cfg(feature = "stores")]
mod store;

#[cfg(not(feature = "stores"))]
pub(crate) use absent::{Object, Upload, folder, is_fault};
#[cfg(feature = "stores")]
pub(crate) use folder::folder;
#[cfg(feature = "stores")]
pub(crate) use store::{Object, Upload, is_fault};

/// The beginnings of addresses of objects.
const SCHEMES: [&str; 3] = ["s3://", "gs://", "az://"];

/// Returns the address of an object, if this is one and not the path of a file.
pub(crate) fn address(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| SCHEMES.iter().any(|scheme| path.starts_with(scheme)))
}

/// Returns the folder in which the two sides leave files for each other: a shared directory, or the objects of a store
/// whose addresses begin like this.
///
/// # Errors
/// [`Error::Usage`] for a malformed address, or a store that this build cannot reach.
pub fn exchange_folder(path: &Path) -> Result<Box<dyn Folder>> {
    match address(path) {
        None => Ok(Box::new(Directory::new(path))),
        Some(address) => folder(address)
            .map_err(|error| Error::usage(Misuse::Address, format!("{address}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_differ_from_files() {
        for (path, is) in [
            ("s3://bucket/key.csv", true),
            ("gs://b/k", true),
            ("az://c/k", true),
            ("s3:/bucket/key.csv", false),
            ("./s3://bucket/key.csv", false),
            ("http://host/key.csv", false),
            ("-", false),
        ] {
            assert_eq!(address(Path::new(path)).is_some(), is, "{path}");
        }
    }
}
