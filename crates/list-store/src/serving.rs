//! A list as its publisher serves it.

use std::path::{Path, PathBuf};

use vesica_core::error::{Error, Result};
use vesica_list::{head::Head, signed::LONGEST, voprf::ServerKey};

use super::directory::{Directory, HEAD, failed, read_text};

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
    /// [`Error::Output`] where it cannot be read, and [`Error::List`] where it is none.
    pub fn open(path: &Path) -> Result<Self> {
        let directory = Directory::open(path);
        let public = directory.public();
        let path = public.join(HEAD);
        let head = Head::read(&read_text(&path, LONGEST).map_err(failed(&path))?)?;
        let key = directory.key(head.epoch)?;
        match *key.public() == head.public_key.0 {
            true => Ok(Self { head, key, public }),
            false => Err(Error::List(vesica_list::voprf::Error::Proof.into())),
        }
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The key of its epoch.
    pub fn key(&self) -> &ServerKey {
        &self.key
    }

    /// The directory of what everybody may see.
    pub fn public(&self) -> &Path {
        &self.public
    }
}
