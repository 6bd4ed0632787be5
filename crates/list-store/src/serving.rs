//! A list as served by its publisher.

use std::path::{Path, PathBuf};

use vesica_core::error::{Error, Result};
use vesica_list::{head::Head, signed::LONGEST, voprf::ServerKey};

use super::directory::{HEAD, ListDirectory, failed, read_text};

/// A list with its key.
pub struct Served {
    head: Head,
    key: ServerKey,
    public: PathBuf,
}

impl Served {
    /// Opens the list in this directory.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be read, and [`Error::List`] if it is not a list.
    pub fn open(path: &Path) -> Result<Self> {
        let directory = ListDirectory::open(path);
        let public = directory.public();
        let path = public.join(HEAD);
        let head = Head::read(&read_text(&path, LONGEST).map_err(failed(&path))?)?;
        let key = directory.key(head.epoch)?;
        match *key.public() == head.public_key.0 {
            true => Ok(Self { head, key, public }),
            false => Err(Error::List(vesica_list::voprf::Error::Proof.into())),
        }
    }

    /// Returns the head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the key of the list's epoch.
    pub fn key(&self) -> &ServerKey {
        &self.key
    }

    /// Returns the directory of the public files.
    pub fn public(&self) -> &Path {
        &self.public
    }
}
