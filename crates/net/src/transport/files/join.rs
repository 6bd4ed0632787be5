//! The meeting of two runs in a directory, regardless of files that earlier runs have left there.
//!
//! A side owns the files that begin with its letter. Its file number 0, the hello, names the run, its owner,
//! and the run of the other side that it has seen; it stays until the run ends. Two runs have met when each has
//! seen the other. Files from a side's earlier run, which nobody answers, are therefore harmless to the other
//! side, and are removed by their owner when it starts again.

use std::{fs::File, io};

use sha2::{Digest, Sha256};

use super::{
    Files, Side,
    folder::Folder,
    part::{Kind, Part, RunId, UNKNOWN},
};
use crate::{Error, Result};

/// The extension of the file that a running party keeps locked.
const LOCK: &str = "vesica-lock";

/// The names by which the parties know each other, such as fingerprints. They agree on them beforehand.
#[derive(Debug, Clone)]
pub(crate) struct PartyNames {
    pub(crate) me: String,
    pub(crate) peer: String,
}

/// Proves, only to parties that know a party's name, that a run is that party's.
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

impl PartyNames {
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
    /// `None` if the storage has no locks.
    lock: Option<File>,
}

impl Claim {
    /// Claims a side of a directory, and removes files of its earlier runs.
    pub(super) fn make(folder: &dyn Folder, side: Side, names: &PartyNames) -> Result<Self> {
        let failed = |source| unusable(folder, source);
        let hello = Part::read(folder, &side.numbered(0)).ok().flatten();
        let whose = hello.as_ref().map(|hello| names.whose(hello));
        if let (Some(hello), Some(Whose::Peers)) = (&hello, whose) {
            // Informs the other process too.
            drop(clash(hello).write(folder, &side.named("clash")));
            return Err(same_side(folder, side));
        }
        Self::clear_other(folder, side.other(), names).map_err(failed)?;
        let Some(claim) = Self::lock(folder, side).map_err(failed)? else {
            let directory = folder.name().to_owned();
            return Err(Error::SideInUse { directory, side: side.letter() });
        };
        let left = side.files(folder).map_err(failed)?;
        match (left.first(), whose) {
            (Some(_), Some(Whose::Mine)) => side.remove_files(folder).map_err(failed)?,
            (Some(file), _) => {
                let (directory, file) = (folder.name().to_owned(), file.clone());
                return Err(Error::LeftOver { directory, file });
            }
            (None, _) => {}
        }
        Ok(claim)
    }

    /// Removes this party's files from a run in which it was the other side.
    fn clear_other(folder: &dyn Folder, other: Side, names: &PartyNames) -> io::Result<()> {
        let hello = Part::read(folder, &other.numbered(0)).ok().flatten();
        if hello.is_none_or(|hello| names.whose(&hello) != Whose::Mine) {
            return Ok(());
        }
        if let Some(mut claim) = Self::lock(folder, other)? {
            other.remove_files(folder)?;
            claim.release(folder, other);
        }
        Ok(())
    }

    /// `None` if another process holds the lock.
    fn lock(folder: &dyn Folder, side: Side) -> io::Result<Option<Self>> {
        match folder.lock(&lock_name(side)) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            lock => Ok(Some(Self { lock: lock? })),
        }
    }

    /// Releases the side.
    pub(super) fn release(&mut self, folder: &dyn Folder, side: Side) {
        folder.unlock(&lock_name(side));
        self.lock = None;
    }

    /// Leaves the same as a killed process: the file, but no lock.
    #[cfg(test)]
    pub(super) fn abandon(&mut self) {
        self.lock = None;
    }
}

fn lock_name(side: Side) -> String {
    format!("{}.{LOCK}", side.letter())
}

/// Returns the file that informs a run that the other side uses its letter too.
fn clash(hello: &Part) -> Part {
    Part { from: UNKNOWN, to: hello.from, number: 0, kind: Kind::End, payload: Vec::new() }
}

fn same_side(folder: &dyn Folder, side: Side) -> Error {
    Error::SameSide { directory: folder.name().to_owned(), side: side.letter() }
}

pub(super) fn unusable(folder: &dyn Folder, source: io::Error) -> Error {
    Error::Directory { directory: folder.name().to_owned(), source }
}

impl Files {
    /// Writes the hello: this run, and the run of the other side that it has seen.
    pub(super) fn write_hello(&self) -> io::Result<()> {
        let payload = mark(&self.me, &self.names.me);
        let part = Part { from: self.me, to: self.peer, number: 0, kind: Kind::Data, payload };
        part.write(&*self.folder, &self.side.numbered(0))
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
        self.check_own_hello()?;
        let file = self.side.other().numbered(0);
        // Wait for a hello that is incomplete.
        let Some(hello) = Part::read(&*self.folder, &file).ok().flatten() else { return Ok(false) };
        if self.names.whose(&hello) != Whose::Peers {
            return Err(Error::LeftOver { directory: self.folder.name().to_owned(), file });
        }
        if self.peer != hello.from {
            self.peer = hello.from;
            self.write_hello().map_err(|source| unusable(&*self.folder, source))?;
        }
        self.joined = hello.to == self.me;
        Ok(self.joined)
    }

    /// Nobody else may write as this side.
    fn check_own_hello(&self) -> Result<()> {
        let (folder, side) = (&*self.folder, self.side);
        let told = Part::read(folder, &side.named("clash")).ok().flatten();
        if told.is_some_and(|told| told.to == self.me) {
            return Err(same_side(folder, side));
        }
        match Part::read(folder, &side.numbered(0)).ok().flatten() {
            Some(hello) if hello.from == self.me => Ok(()),
            Some(hello) if self.names.whose(&hello) == Whose::Peers => Err(same_side(folder, side)),
            Some(_) => {
                Err(Error::SideInUse { directory: folder.name().to_owned(), side: side.letter() })
            }
            None => self.write_hello().map_err(|source| unusable(folder, source)),
        }
    }

    /// Whether the other side has begun another run since the two have met.
    pub(super) fn is_forsaken(&self) -> bool {
        let hello = Part::read(&*self.folder, &self.side.other().numbered(0)).ok().flatten();
        hello.is_some_and(|hello| hello.from != self.peer)
    }
}
