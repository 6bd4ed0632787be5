//! Storage where two parties leave files for each other.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// The extension of a file that is being written.
pub(super) const TEMPORARY: &str = "vesica-part";

/// Storage for files that both parties can read and write: a directory, or the objects of a store that share a prefix.
pub trait Folder: Send {
    /// Its name in messages.
    fn name(&self) -> &Path;

    /// Returns the interval between two looks for a file that is not there yet.
    fn poll(&self) -> Duration {
        Duration::from_millis(10)
    }

    /// The names of files that begin with this prefix.
    ///
    /// # Errors
    /// Errors of the storage.
    fn names(&self, prefix: &str) -> io::Result<Vec<String>>;

    /// Whether a file of this name exists.
    ///
    /// # Errors
    /// Errors of the storage.
    fn has(&self, name: &str) -> io::Result<bool>;

    /// Reads a file; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the storage, and [`InvalidData`](io::ErrorKind::InvalidData) if it is longer than this many bytes, or
    /// is not a file.
    fn read(&self, name: &str, longest: usize) -> io::Result<Option<Vec<u8>>>;

    /// Writes a file of these pieces, replacing any file of this name. It appears whole or not at all.
    ///
    /// # Errors
    /// Errors of the storage.
    fn write(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()>;

    /// Removes a file, if it is there: the other side may be removing it too.
    ///
    /// # Errors
    /// Errors of the storage.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Locks a file of this name, which holds until [`Folder::unlock`] or the end of the process. `None` if the storage
    /// has no locks.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if another process holds it, and errors of the storage.
    fn lock(&self, _name: &str) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Removes the file of a lock that this process holds, before the lock is dropped.
    fn unlock(&self, _name: &str) {}
}

/// A directory of a file system.
pub struct Directory(PathBuf);

impl Directory {
    /// The directory at this path, which must exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl Folder for Directory {
    fn name(&self) -> &Path {
        &self.0
    }

    fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name().into_string().ok();
            names.extend(name.filter(|name| name.starts_with(prefix)));
        }
        Ok(names)
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        match fs::symlink_metadata(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            found => found.map(|_| true),
        }
    }

    fn read(&self, name: &str, longest: usize) -> io::Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        let file = match open_regular(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(invalid("is not a file that this program writes"));
            }
            file => file?,
        };
        let len = file.metadata()?.len();
        if len > longest as u64 {
            return Err(invalid("is not a file that this program writes"));
        }
        let mut bytes = Vec::with_capacity(len as usize);
        file.take(longest as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Writes under a temporary name, syncs to the disk, and renames.
    fn write(&self, name: &str, pieces: &[&[u8]]) -> io::Result<()> {
        let path = self.0.join(name);
        let temporary = path.with_extension(TEMPORARY);
        let written = OpenOptions::new().write(true).create_new(true).open(&temporary).and_then(
            |mut file| {
                pieces.iter().try_for_each(|piece| file.write_all(piece))?;
                file.sync_all()
            },
        );
        let renamed = written.and_then(|()| fs::rename(&temporary, path));
        if renamed.is_err() {
            // The first error is the one to report.
            drop(fs::remove_file(&temporary));
        }
        renamed
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn lock(&self, name: &str) -> io::Result<Option<File>> {
        let path = self.0.join(name);
        loop {
            let mut options = OpenOptions::new();
            let file = open_regular(&path, options.create(true).truncate(false).write(true))?;
            match file.try_lock() {
                // Its last holder may have removed it in the meantime.
                Ok(()) if !is_still(&file, &path) => {}
                Ok(()) => return Ok(Some(file)),
                Err(fs::TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                // The file system has no locks.
                Err(fs::TryLockError::Error(_)) => return Ok(None),
            }
        }
    }

    fn unlock(&self, name: &str) {
        drop(fs::remove_file(self.0.join(name)));
    }
}

/// Opens a regular file in a directory where others may write and can replace it by a link, a pipe or a device at any
/// moment: it follows no link, never blocks, and opens only a regular file.
///
/// # Errors
/// [`InvalidData`](io::ErrorKind::InvalidData) if it is not a regular file, and the system's errors.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    const IRREGULAR: &str = "it is not a regular file";
    #[cfg(unix)]
    let options = {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed())
    };
    match options.open(path) {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        Ok(_) => Err(invalid(IRREGULAR)),
        Err(error) if is_irregular(&error) => Err(invalid(IRREGULAR)),
        Err(error) => Err(error),
    }
}

/// Whether the system would not open a file because it is a link, a pipe without a reader, or a directory.
#[cfg(unix)]
fn is_irregular(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::LOOP, Errno::MLINK, Errno::NXIO, Errno::ISDIR];
    Errno::from_io_error(error).is_some_and(|error| known.contains(&error))
}

#[cfg(not(unix))]
fn is_irregular(_error: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: &fs::Metadata| (found.dev(), found.ino());
    matches!((file.metadata(), fs::symlink_metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
}

/// An open file cannot be removed on these systems.
#[cfg(not(unix))]
fn is_still(_file: &File, _path: &Path) -> bool {
    true
}

/// The error for a file with unexpected content.
pub(super) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
