//! Creates and fills folders.

use std::{fs, path::Path};

use super::tool::at;
use crate::Failure;

/// Creates an empty folder.
pub fn empty(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at(folder))?;
    }
    fs::create_dir_all(folder).map_err(at(folder))
}

/// Writes a file, and creates its parent folders.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above).map_err(at(above))?;
    }
    fs::write(path, content).map_err(at(path))
}

/// Copies a file with its permissions, and creates its parent folders.
pub fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    if let Some(above) = to.parent() {
        fs::create_dir_all(above).map_err(at(above))?;
    }
    fs::copy(from, to).map(drop).map_err(at(from))
}

/// Returns the names of a folder's entries, in order.
pub fn names(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        names.push(entry.map_err(at(folder))?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// A temporary folder of a test.
#[cfg(test)]
pub struct Scratch(std::path::PathBuf);

#[cfg(test)]
impl Scratch {
    pub fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("vesica-{test}-{}", std::process::id()));
        empty(&folder).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.join(name)
    }
}

#[cfg(test)]
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
