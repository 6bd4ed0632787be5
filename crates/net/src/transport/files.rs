//! A directory that both parties can reach: a shared drive, a synchronised folder, a USB stick that is
//! carried back and forth, or any other [`Folder`], such as a bucket of an object store.
//!
//! Each flush becomes one numbered file, `a-0000000001.vesica` and so on from side A and `b-…` from side B. The
//! reader takes them in order and removes each after reading it. A file is written under a temporary name and
//! then renamed, so a half-written one is never taken. If a synchroniser delivers files late, out of order or
//! piecemeal, the reader waits for a grace period before it reports an error. Number 0 identifies the run
//! and its party, and stays; the parties meet through it. Each later file names the run of the other party for
//! which it is meant, so files left over from another run are never mistaken for data.
//!
//! A party that ends writes `a-end.vesica`. The one that ends last removes all files that are left; the next run of the
//! same side removes the files of a killed run.

mod folder;
mod join;
mod part;

use std::{
    io,
    io::{Read, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

pub use self::folder::{Directory, Folder, open_regular};
pub(crate) use self::join::PartyNames;
use self::{
    folder::TEMPORARY,
    join::{Claim, unusable},
    part::{Kind, MAX_PAYLOAD, Part, RunId, UNKNOWN},
};
use super::POLL_INTERVAL;
use crate::{Error, Result, identity::provider};

/// The extension of a complete file.
const WHOLE: &str = "vesica";

/// The time limit for a file that is incomplete, or missing although its successor is there.
const GRACE: Duration = Duration::from_secs(30);

/// The maximal number of unread files of one side, 256 MiB at most: beyond it, the writer waits.
const MAX_UNREAD: u64 = 32;

/// The side of a party. The parties agree beforehand: one is A, the other B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Writes the files `a-…`, reads `b-…`.
    A,
    /// Writes the files `b-…`, reads `a-…`.
    B,
}

impl Side {
    fn letter(self) -> char {
        match self {
            Self::A => 'a',
            Self::B => 'b',
        }
    }

    fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    fn owns(self, name: &str) -> bool {
        let ours = name.strip_prefix(self.letter()).is_some_and(|rest| rest.starts_with('-'));
        ours && Path::new(name).extension().is_some_and(|e| e == WHOLE || e == TEMPORARY)
    }

    /// The name of a file of this side.
    fn named(self, name: &str) -> String {
        format!("{}-{name}.{WHOLE}", self.letter())
    }

    /// The name of this side's file with this number.
    fn numbered(self, number: u64) -> String {
        self.named(&format!("{number:010}"))
    }

    /// The names of this side's files.
    fn files(self, folder: &dyn Folder) -> io::Result<Vec<String>> {
        let mut names = folder.names(&format!("{}-", self.letter()))?;
        names.retain(|name| self.owns(name));
        Ok(names)
    }

    fn remove_files(self, folder: &dyn Folder) -> io::Result<()> {
        self.files(folder)?.iter().try_for_each(|name| folder.remove(name))
    }
}

/// Reads the content of one file of such a connection: its number, and its payload. For the fuzz targets.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if it is not such a file, or incomplete.
#[doc(hidden)]
pub fn read_file(bytes: Vec<u8>) -> io::Result<(u64, Vec<u8>)> {
    Part::parse(bytes).map(|part| (part.number, part.payload))
}

/// One end of a connection through files.
pub struct Files {
    folder: Box<dyn Folder>,
    side: Side,
    names: PartyNames,
    claim: Claim,
    /// Whether the two runs have met.
    joined: bool,
    grace: Duration,
    me: RunId,
    peer: RunId,
    out: Vec<u8>,
    next_out: u64,
    /// The number of the oldest file of this side that may still be unread.
    oldest_unread: u64,
    into: io::Cursor<Vec<u8>>,
    next_in: u64,
    /// The time since which the next file has been overdue.
    overdue: Option<Instant>,
}

impl Files {
    /// Joins the connection in a directory, which must exist. Nothing else should use it; other files in it are not
    /// touched.
    ///
    /// # Errors
    /// [`Error::SideInUse`] if another process is this side there; [`Error::LeftOver`] if there are files of
    /// another party's run; [`Error::Directory`].
    pub fn open(directory: impl Into<PathBuf>, side: Side) -> Result<Self> {
        let [me, peer] = [side, side.other()].map(|side| side.letter().to_string());
        Self::open_as(Box::new(Directory::new(directory)), side, PartyNames { me, peer })
    }

    /// Like [`Files::open`], for parties that know each other by name.
    ///
    /// # Errors
    /// Also [`Error::SameSide`], if the other party is already this side.
    pub(crate) fn open_as(folder: Box<dyn Folder>, side: Side, names: PartyNames) -> Result<Self> {
        let mut me = UNKNOWN;
        provider()
            .secure_random
            .fill(&mut me)
            .map_err(|_| io::Error::other("the operating system's random number generator failed"))
            .map_err(|source| unusable(&*folder, source))?;
        let claim = Claim::make(&*folder, side, &names)?;
        let files = Self {
            folder,
            side,
            names,
            claim,
            joined: false,
            grace: GRACE,
            me,
            peer: UNKNOWN,
            out: Vec::new(),
            next_out: 1,
            oldest_unread: 1,
            into: io::Cursor::default(),
            next_in: 1,
            overdue: None,
        };
        files.write_hello().map_err(|source| unusable(&*files.folder, source))?;
        Ok(files)
    }

    /// Waits this long, instead of half a minute, for a file that is incomplete or behind its successor. It
    /// must be less than the channel's stall timeout, or the error is never reported.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Returns the folder of the files.
    pub(crate) fn folder(&self) -> &dyn Folder {
        &*self.folder
    }

    /// Reads the other side's last file.
    fn peers_end(&self) -> io::Result<Option<Part>> {
        Part::read(&*self.folder, &self.side.other().named("end"))
    }

    /// Blocked as long as the two runs have not met.
    fn joined(&mut self) -> io::Result<()> {
        match self.try_join().map_err(refused)? {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    /// Writes the gathered data as the next file.
    fn write_part(&mut self) -> io::Result<()> {
        let payload = std::mem::take(&mut self.out);
        let number = self.next_out;
        let part = Part { from: self.me, to: self.peer, number, kind: Kind::Data, payload };
        let written = part.write(&*self.folder, &self.side.numbered(number));
        match written {
            Ok(()) => self.next_out += 1,
            Err(_) => self.out = part.payload,
        }
        written
    }

    /// Waits up to a poll interval for the other side to read the data.
    fn wait_for_room(&mut self) -> io::Result<()> {
        let started = Instant::now();
        loop {
            let joined = self.try_join().map_err(refused)?;
            if joined && self.has_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            while self.oldest_unread < self.next_out
                && !self.folder.has(&self.side.numbered(self.oldest_unread))?
            {
                self.oldest_unread += 1;
            }
            if joined && self.next_out - self.oldest_unread < MAX_UNREAD {
                return Ok(());
            }
            if started.elapsed() >= POLL_INTERVAL {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            thread::sleep(self.folder.poll());
        }
    }

    /// Takes the other side's next file if it is there. Returns false at the end.
    fn read_part(&mut self) -> io::Result<bool> {
        self.joined()?;
        let name = self.side.other().numbered(self.next_in);
        match Part::read(&*self.folder, &name) {
            Ok(Some(part)) => self.take(part, &name).map(|()| true),
            Ok(None) => self.look_further(&name),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(self.not_yet(&name, &error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    fn take(&mut self, part: Part, name: &str) -> io::Result<()> {
        if part.number != self.next_in || part.kind != Kind::Data || !self.is_of_this_run(&part) {
            // A file of an earlier run will be removed soon.
            return Err(self.not_yet(name, "belongs to another run"));
        }
        self.folder.remove(name)?;
        self.into = io::Cursor::new(part.payload);
        self.next_in += 1;
        self.overdue = None;
        Ok(())
    }

    fn is_of_this_run(&self, part: &Part) -> bool {
        part.from == self.peer && part.to == self.me
    }

    /// The next file is not there: the other side has ended, or is slow, or a file is missing.
    fn look_further(&mut self, name: &str) -> io::Result<bool> {
        let peer = self.side.other();
        match self.peers_end() {
            Ok(Some(part)) if part.kind == Kind::End && self.is_of_this_run(&part) => {
                if part.number == self.next_in {
                    return Ok(false);
                }
            }
            Ok(Some(_)) => return Err(self.not_yet(&peer.named("end"), "belongs to another run")),
            Ok(None) if self.folder.has(&peer.numbered(self.next_in + 1))? => {}
            Ok(None) if self.is_forsaken() => {
                return Err(self
                    .broken(&peer.numbered(0), "shows that the other side has begun another run"));
            }
            Ok(None) => {
                self.overdue = None;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Err(error) => return Err(self.not_yet(&peer.named("end"), &error.to_string())),
        }
        Err(self.not_yet(name, "is missing, though later files are there"))
    }

    /// A file may look wrong because it is still being delivered; it becomes an error only after the grace
    /// period.
    fn not_yet(&mut self, name: &str, what: &str) -> io::Error {
        match self.overdue.get_or_insert_with(Instant::now).elapsed() {
            waited if waited < self.grace => io::ErrorKind::WouldBlock.into(),
            _ => self.broken(name, what),
        }
    }

    fn broken(&self, name: &str, what: &str) -> io::Error {
        let path = self.folder.name().join(name);
        io::Error::new(io::ErrorKind::InvalidData, format!("{} {what}", path.display()))
    }

    /// Whether the other side has ended this run.
    fn has_ended(&self) -> bool {
        self.peers_end().is_ok_and(|end| end.is_some_and(|end| self.is_of_this_run(&end)))
    }

    /// Removes every file of this run, of both sides.
    fn clear(&self) -> io::Result<()> {
        let peer = self.side.other();
        for name in peer.files(&*self.folder)? {
            let of_peer = |part: &Part| part.from == self.peer;
            let part = Part::read(&*self.folder, &name);
            if part.is_ok_and(|part| part.as_ref().is_some_and(of_peer)) {
                self.folder.remove(&name)?;
            }
        }
        self.side.remove_files(&*self.folder)
    }
}

/// A reason to stop, as an error of a stream.
fn refused(error: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl Read for Files {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let started = Instant::now();
        loop {
            let read = self.into.read(buf)?;
            if read > 0 || buf.is_empty() {
                return Ok(read);
            }
            match self.read_part() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) if super::is_blocked(&error) && started.elapsed() < POLL_INTERVAL => {
                    thread::sleep(self.folder.poll());
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Write for Files {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.out.len() >= MAX_PAYLOAD {
            self.flush()?;
        }
        let taken = buf.len().min(MAX_PAYLOAD - self.out.len());
        self.out.extend_from_slice(&buf[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.wait_for_room()?;
        self.write_part()
    }
}

impl Drop for Files {
    /// Ends the stream here. If the other side has ended too, or was never met, also removes the remaining files.
    fn drop(&mut self) {
        if self.joined && !self.has_ended() {
            let (number, payload) = (self.next_out, Vec::new());
            let end = Part { from: self.me, to: self.peer, number, kind: Kind::End, payload };
            // If the directory is gone, the other side sees nothing more in any case.
            drop(end.write(&*self.folder, &self.side.named("end")));
        }
        // Checked again, because the two sides may have ended at the same time.
        if !self.joined {
            drop(self.side.remove_files(&*self.folder));
        } else if self.has_ended() {
            drop(self.clear());
        }
        self.claim.release(&*self.folder, self.side);
    }
}

#[cfg(test)]
mod tests;
