//! How two runs find each other in a directory, regardless of what earlier runs have left there.
//!
//! A side owns the files that begin with its letter. Its file number 0, the hello, names the run, its owner,
//! and the run of the other side that it has seen; it stays until the run ends. Two runs have met when each has
//! seen the other. Files from a side's earlier run, which nobody answers, are therefore harmless to the other
//! side, and are removed by their owner when it starts again.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use sha2::{Digest, Sha256};

use super::{
    Files, Side,
    part::{Kind, Part, RunId, UNKNOWN},
};
use crate::{Error, Result};

/// The extension of the file that a running party keeps locked.
const LOCK: &str = "vesica-lock";

/// The names by which the parties know each other, such as fingerprints. They agree on them beforehand.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) me: String,
    pub(crate) peer: String,
}

/// Proves to those who know a party's name, and to nobody else, that a run is that party's.
fn mark(run: &RunId, name: &str) -> Vec<u8> {
    let hash = Sha256::new().chain_update(b"vesica files").chain_update(run).chain_update(name);
    hash.finalize()[..16].to_vec()
}

/// The owner of the run in a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Mine,
    Peers,
    OtherUsers,
}

impl Names {
    fn whose(&self, hello: &Part) -> Whose {
        let is = |name| hello.kind == Kind::Data && hello.payload == mark(&hello.from, name);
        match (is(&self.me), is(&self.peer)) {
            (true, _) => Whose::Mine,
            (_, true) => Whose::Peers,
            _ => Whose::OtherUsers,
        }
    }
}

/// The guarantee that no other process is this side in this directory.
#[derive(Debug)]
pub(super) struct Claim {
    /// `None` if the file system does not support locks.
    lock: Option<File>,
}

impl Claim {
    /// Claims a side of a directory, and removes what its earlier runs have left.
    pub(super) fn make(directory: &Path, side: Side, names: &Names) -> Result<Self> {
        let failed = |source| Error::Directory { directory: directory.to_owned(), source };
        let hello = Part::read(&side.path(directory, 0)).ok().flatten();
        let whose = hello.as_ref().map(|hello| names.whose(hello));
        if let (Some(hello), Some(Whose::Peers)) = (&hello, whose) {
            // Tells the other process too.
            drop(clash(hello).write(&clash_path(directory, side)));
            return Err(same_side(directory, side));
        }
        Self::clear_other(directory, side.other(), names).map_err(failed)?;
        let Some(claim) = Self::lock(directory, side).map_err(failed)? else {
            return Err(Error::SideInUse { directory: directory.to_owned(), side: side.letter() });
        };
        let left = side.files(directory).map_err(failed)?;
        match (left.first(), whose) {
            (Some(_), Some(Whose::Mine)) => side.remove_files(directory).map_err(failed)?,
            (Some(file), _) => {
                let (directory, file) = (directory.to_owned(), file.clone());
                return Err(Error::LeftOver { directory, file });
            }
            (None, _) => {}
        }
        Ok(claim)
    }

    /// Removes what this party has left of a run in which it was the other side.
    fn clear_other(directory: &Path, other: Side, names: &Names) -> io::Result<()> {
        let hello = Part::read(&other.path(directory, 0)).ok().flatten();
        if hello.is_none_or(|hello| names.whose(&hello) != Whose::Mine) {
            return Ok(());
        }
        if let Some(mut claim) = Self::lock(directory, other)? {
            other.remove_files(directory)?;
            claim.release(directory, other);
        }
        Ok(())
    }

    /// `None` if another process holds the lock.
    fn lock(directory: &Path, side: Side) -> io::Result<Option<Self>> {
        let path = lock_path(directory, side);
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            match file.try_lock() {
                // Its last holder may have removed it in the meantime.
                Ok(()) if !is_still(&file, &path) => {}
                Ok(()) => return Ok(Some(Self { lock: Some(file) })),
                Err(fs::TryLockError::WouldBlock) => return Ok(None),
                Err(fs::TryLockError::Error(_)) => return Ok(Some(Self { lock: None })),
            }
        }
    }

    /// Releases the side.
    pub(super) fn release(&mut self, directory: &Path, side: Side) {
        drop(fs::remove_file(lock_path(directory, side)));
        self.lock = None;
    }

    /// Leaves what a killed process leaves: the file, but no lock.
    #[cfg(test)]
    pub(super) fn abandon(&mut self) {
        self.lock = None;
    }
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: &fs::Metadata| (found.dev(), found.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
}

/// On these systems an open file cannot be removed.
#[cfg(not(unix))]
fn is_still(_file: &File, _path: &Path) -> bool {
    true
}

fn lock_path(directory: &Path, side: Side) -> std::path::PathBuf {
    directory.join(format!("{}.{LOCK}", side.letter()))
}

fn clash_path(directory: &Path, side: Side) -> std::path::PathBuf {
    side.named(directory, "clash")
}

/// Tells a run that the other side uses its letter too.
fn clash(hello: &Part) -> Part {
    Part { from: UNKNOWN, to: hello.from, number: 0, kind: Kind::End, payload: Vec::new() }
}

fn same_side(directory: &Path, side: Side) -> Error {
    Error::SameSide { directory: directory.to_owned(), side: side.letter() }
}

impl Files {
    /// Writes the hello: this run, and the run of the other side that it has seen.
    pub(super) fn write_hello(&self) -> io::Result<()> {
        let payload = mark(&self.me, &self.names.me);
        let part = Part { from: self.me, to: self.peer, number: 0, kind: Kind::Data, payload };
        part.write(&self.path(self.side, 0))
    }

    /// Whether the two runs have met by now.
    ///
    /// # Errors
    /// [`Error::SameSide`], [`Error::SideInUse`], [`Error::LeftOver`] if another party's run is in progress,
    /// and [`Error::Directory`].
    pub(crate) fn try_join(&mut self) -> Result<bool> {
        if self.joined {
            return Ok(true);
        }
        let directory = self.directory.clone();
        let failed = |source| Error::Directory { directory: directory.clone(), source };
        self.check_own_hello()?;
        let path = self.path(self.side.other(), 0);
        // Wait for a hello that is incomplete.
        let Some(hello) = Part::read(&path).ok().flatten() else { return Ok(false) };
        if self.names.whose(&hello) != Whose::Peers {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(Error::LeftOver { directory, file });
        }
        if self.peer != hello.from {
            self.peer = hello.from;
            self.write_hello().map_err(failed)?;
        }
        self.joined = hello.to == self.me;
        Ok(self.joined)
    }

    /// Nobody else may write as this side.
    fn check_own_hello(&self) -> Result<()> {
        let (directory, side) = (self.directory.clone(), self.side);
        let told = Part::read(&clash_path(&directory, side)).ok().flatten();
        if told.is_some_and(|told| told.to == self.me) {
            return Err(same_side(&directory, side));
        }
        match Part::read(&self.path(side, 0)).ok().flatten() {
            Some(hello) if hello.from == self.me => Ok(()),
            Some(hello) if self.names.whose(&hello) == Whose::Peers => {
                Err(same_side(&directory, side))
            }
            Some(_) => Err(Error::SideInUse { directory, side: side.letter() }),
            None => self.write_hello().map_err(|source| Error::Directory { directory, source }),
        }
    }

    /// Whether the other side has begun another run since the two have met.
    pub(super) fn is_forsaken(&self) -> bool {
        let hello = Part::read(&self.path(self.side.other(), 0)).ok().flatten();
        hello.is_some_and(|hello| hello.from != self.peer)
    }
}
