//! The files that a run reads and writes: its input, its results, what it puts on disk for a while, and its journal.
//!
//! They go through this module so that tests can refuse any call on them, at any moment ([`watch_calls`]). Where nobody
//! asked for that, a call costs a load of a pointer more than the system's own.

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
    /// Opens or creates it.
    Open,
    /// Reads at most so many bytes.
    Read(usize),
    /// Writes at most so many bytes.
    Write(usize),
    /// Sets its length.
    Cut,
    /// Has the system write to the disk what it holds of the file, or of the directory.
    Sync,
    /// Gives it its name.
    Name,
    /// Removes it.
    Remove,
}

/// Decides on a call on a file that has this name or is in this directory: how many bytes may move, or why none can.
pub type Watcher = fn(&Path, Call) -> io::Result<usize>;

static WATCHER: OnceLock<Watcher> = OnceLock::new();

/// Has every call of this process on a file of a run decided by `watcher`, for good. It is for tests.
///
/// # Panics
/// If there is another one.
pub fn watch_calls(watcher: Watcher) {
    assert!(WATCHER.set(watcher).is_ok(), "calls on files are watched already");
}

/// How many bytes may move.
fn ask(path: &Path, call: Call) -> io::Result<usize> {
    match (WATCHER.get(), call) {
        (Some(watcher), _) => watcher(path, call),
        (None, Call::Read(len) | Call::Write(len)) => Ok(len),
        (None, _) => Ok(0),
    }
}

/// An open file. Its calls are those of [`fs::File`], which have the same names.
#[derive(Debug)]
pub struct File {
    file: fs::File,
    /// Its name, or the directory of one that has none.
    path: PathBuf,
}

impl File {
    /// For reading.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, OpenOptions::new().read(true))
    }

    pub(crate) fn open_with(path: &Path, options: &OpenOptions) -> io::Result<Self> {
        Self::create(path, || options.open(path))
    }

    /// A regular file of this user, for reading and writing, which is created if it is not there: in a directory
    /// where others write, too, nothing else is taken for it, and no link is followed.
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

    /// A file for which the system finds a name in this directory, and which is gone when it is closed.
    pub(crate) fn temporary(directory: &Path) -> io::Result<Self> {
        Self::create(directory, || tempfile::tempfile_in(directory))
    }

    /// What `create` creates at this path.
    pub fn create(path: &Path, create: impl FnOnce() -> io::Result<fs::File>) -> io::Result<Self> {
        ask(path, Call::Open)?;
        Ok(Self { file: create()?, path: path.to_owned() })
    }

    /// The system's file, for what does not change its content.
    pub(crate) fn as_file(&self) -> &fs::File {
        &self.file
    }

    /// Returns the metadata of the file.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Locks the file, or says that another process has.
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

/// Repeats what a signal interrupts.
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

/// Gives a file a name by a call that does so.
pub(crate) fn name<T>(path: &Path, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    ask(path, Call::Name)?;
    call()
}

/// Renames a temporary file, in place of what has that name. If that fails, there is none any more.
pub(crate) fn rename(temporary: TempPath, path: &Path) -> io::Result<()> {
    name(path, || temporary.persist(path).map_err(|error| error.error))
}

/// As [`rename`], to a name that nothing has.
pub(crate) fn rename_to_free(temporary: TempPath, path: &Path) -> io::Result<()> {
    name(path, || temporary.persist_noclobber(path).map_err(|error| error.error))
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    ask(path, Call::Remove)?;
    fs::remove_file(path)
}

/// Sees to it that the names in a directory outlast a power failure, as the contents do.
#[cfg(unix)]
pub(crate) fn keep_names(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems have no such thing for directories, and some directories cannot be read.
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

/// The system sees to it.
#[cfg(not(unix))]
pub(crate) fn keep_names(_directory: &Path) -> io::Result<()> {
    Ok(())
}
