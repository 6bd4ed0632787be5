//! How two runs find each other in a directory, regardless of what earlier runs have left there.
//!
//! A side owns the files that begin with its letter. Its file number 0, the hello, says which run this is,
//! whose, and which run of the other side it has seen; it stays until the run ends. Two runs have met when
//! each says that it has seen the other. Files from a side's earlier run, which nobody answers, are therefore
//! harmless to the other side, and are removed by their owner when it starts again.

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

/// How the file ends that a running party keeps locked.
const LOCK: &str = "vesica-lock";

/// By what the parties know each other, such as fingerprints. They agree beforehand.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) me: String,
    pub(crate) peer: String,
}

/// Shows those who know a party's name, and nobody else, that a run is that party's.
fn mark(run: &RunId, name: &str) -> Vec<u8> {
    let hash = Sha256::new().chain_update(b"vesica files").chain_update(run).chain_update(name);
    hash.finalize()[..16].to_vec()
}

/// Whose run a hello is of.
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

/// That no other process is this side in this directory.
#[derive(Debug)]
pub(super) struct Claim {
    /// None where the file system knows no locks.
    lock: Option<File>,
}

impl Claim {
    /// Claims a side of a directory, and removes what its earlier runs have left.
    pub(super) fn make(directory: &Path, side: Side, names: &Names) -> Result<Self> {
        let failed = |source| Error::Directory { directory: directory.to_owned(), source };
        let hello = Part::read(&side.path(directory, 0)).ok().flatten();
        let whose = hello.as_ref().map(|hello| names.whose(hello));
        if let (Some(hello), Some(Whose::Peers)) = (&hello, whose) {
            // The other one hears it too.
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

    /// None where another process holds the lock.
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

    /// Gives the side free.
    pub(super) fn release(&mut self, directory: &Path, side: Side) {
        drop(fs::remove_file(lock_path(directory, side)));
        self.lock = None;
    }

    /// What a process that is killed leaves: the file, but no lock.
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

/// An open file cannot be removed there.
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

/// Tells a run that the other side has its letter too.
fn clash(hello: &Part) -> Part {
    Part { from: UNKNOWN, to: hello.from, number: 0, kind: Kind::End, payload: Vec::new() }
}

fn same_side(directory: &Path, side: Side) -> Error {
    Error::SameSide { directory: directory.to_owned(), side: side.letter() }
}

impl Files {
    /// Says which run this is, and which of the other side it has seen.
    pub(super) fn write_hello(&self) -> io::Result<()> {
        let payload = mark(&self.me, &self.names.me);
        let part = Part { from: self.me, to: self.peer, number: 0, kind: Kind::Data, payload };
        part.write(&self.path(self.side, 0))
    }

    /// Whether the two runs have met by now.
    ///
    /// # Errors
    /// [`Error::SameSide`], [`Error::SideInUse`], [`Error::LeftOver`] where a run of somebody else goes on,
    /// and [`Error::Directory`].
    pub(crate) fn try_join(&mut self) -> Result<bool> {
        if self.joined {
            return Ok(true);
        }
        let directory = self.directory.clone();
        let failed = |source| Error::Directory { directory: directory.clone(), source };
        self.check_own_hello()?;
        let path = self.path(self.side.other(), 0);
        // One that is not wholly there yet is waited for.
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
