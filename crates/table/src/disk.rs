//! The files that a run reads and writes: its input, its results, its temporary data on disk, and its journal.
//!
//! They are opened through this module so that tests can refuse any call on them, at any moment ([`watch_calls`]).
//! Otherwise a call costs only one more load of a pointer than the system's own.

use std::{
    fs::{self, Metadata, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use tempfile::TempPath;
use vesica_net::files::open_regular;

/// A call on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// Opens or creates a file.
    Open,
    /// Reads at most this many bytes.
    Read(usize),
    /// Writes at most this many bytes.
    Write(usize),
    /// Sets its length.
    Cut,
    /// Has the system write its pending data of the file, or of the directory, to the disk.
    Sync,
    /// Gives the file its name.
    Name,
    /// Removes the file.
    Remove,
}

/// A function that decides on a call on a file with this name or in this directory: it returns the number of bytes that
/// may move, or an error.
pub type Watcher = fn(&Path, Call) -> io::Result<usize>;

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// Lets `watcher` decide on every call of this process on a file of a run, permanently. For tests.
///
/// # Panics
/// If there is a watcher already.
pub fn watch_calls(watcher: Watcher) {
    assert!(WATCHER.set(watcher).is_ok(), "calls on files are watched already");
}

/// Returns the number of bytes that may move.
fn ask(path: &Path, call: Call) -> io::Result<usize> {
    match (WATCHER.get(), call) {
        (Some(watcher), _) => watcher(path, call),
        (None, Call::Read(len) | Call::Write(len)) => Ok(len),
        (None, _) => Ok(0),
    }
}

/// An open file. Its methods have the names and the effect of those in [`fs::File`].
#[derive(Debug)]
pub struct File {
    file: fs::File,
    /// Its name, or the directory of a file without one.
    path: PathBuf,
}

impl File {
    /// Opens a file for reading.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OpenOptions::new().read(true))
    }

    pub(crate) fn open_with(path: &Path, options: &OpenOptions) -> io::Result<Self> {
        Self::create(path, || options.open(path))
    }

    /// Opens a regular file of this user for reading and writing, and creates it if it is missing. In a directory that
    /// others can write to, no other file is accepted in its place, and no link is followed.
    ///
    /// # Errors
    /// [`InvalidData`](io::ErrorKind::InvalidData) if it is not a regular file,
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied) if it belongs to another user, and the system's errors.
    pub fn own(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = Self::create(path, || open_regular(path, &mut options))?;
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::uid(&file.metadata()?)
            != rustix::process::geteuid().as_raw()
        {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "it belongs to another user",
            ));
        }
        Ok(file)
    }

    /// Creates a file in this directory, under a name that the system chooses, which disappears when it is closed.
    pub(crate) fn temporary(directory: &Path) -> io::Result<Self> {
        Self::create(directory, || tempfile::tempfile_in(directory))
    }

    /// Creates a file at this path by calling `create`.
    pub fn create(path: &Path, create: impl FnOnce() -> io::Result<fs::File>) -> io::Result<Self> {
        ask(path, Call::Open)?;
        Ok(Self { file: create()?, path: path.to_owned() })
    }

    /// Returns the system's file, for calls that do not change its content.
    pub(crate) fn as_file(&self) -> &fs::File {
        &self.file
    }

    /// Returns the metadata of the file.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Locks the file, or returns an error if another process has.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }

    /// Sets the length of the file.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        ask(&self.path, Call::Cut)?;
        self.file.set_len(len)
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        ask(&self.path, Call::Sync)?;
        self.file.sync_all()
    }

    /// Waits until the content is on the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        ask(&self.path, Call::Sync)?;
        self.file.sync_data()
    }

    pub(crate) fn read_exact_at(&self, mut to: &mut [u8], mut at: u64) -> io::Result<()> {
        while !to.is_empty() {
            let most = uninterrupted(|| ask(&self.path, Call::Read(to.len())))?;
            let read = uninterrupted(|| read_at(&self.file, &mut to[..most], at))?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (at, to) = (at + read as u64, &mut to[read..]);
        }
        Ok(())
    }

    pub(crate) fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let most = uninterrupted(|| ask(&self.path, Call::Write(bytes.len())))?;
            let written = uninterrupted(|| write_at(&self.file, &bytes[..most], at))?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            (at, bytes) = (at + written as u64, &bytes[written..]);
        }
        Ok(())
    }
}

/// Repeats a call that a signal interrupts.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(unix)]
fn read_at(file: &fs::File, to: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, to, at)
}

#[cfg(unix)]
fn write_at(file: &fs::File, bytes: &[u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, at)
}

#[cfg(windows)]
fn read_at(file: &fs::File, to: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, to, at)
}

#[cfg(windows)]
fn write_at(file: &fs::File, bytes: &[u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, at)
}

impl Read for &File {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let most = uninterrupted(|| ask(&self.path, Call::Read(to.len())))?;
        uninterrupted(|| (&self.file).read(&mut to[..most]))
    }
}

impl Read for File {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        (&*self).read(to)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let most = ask(&self.path, Call::Write(bytes.len()))?;
        self.file.write(&bytes[..most])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Gives a file a name by `call`.
pub(crate) fn name<T>(path: &Path, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    ask(path, Call::Name)?;
    call()
}

/// Renames a temporary file, which replaces any file of that name. The temporary file is removed if that fails.
pub(crate) fn rename(temporary: TempPath, path: &Path) -> io::Result<()> {
    name(path, || temporary.persist(path).map_err(|error| error.error))
}

/// Renames like [`rename`], to a name that nothing has.
pub(crate) fn rename_to_free(temporary: TempPath, path: &Path) -> io::Result<()> {
    name(path, || temporary.persist_noclobber(path).map_err(|error| error.error))
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    ask(path, Call::Remove)?;
    fs::remove_file(path)
}

/// Makes the names in a directory survive a power failure, as the contents do.
#[cfg(unix)]
pub(crate) fn keep_names(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot do this for directories, and some directories cannot be read.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Does nothing, since the system takes care of this.
#[cfg(not(unix))]
pub(crate) fn keep_names(_directory: &Path) -> io::Result<()> {
    Ok(())
}
