//! Files that appear whole or not at all.
//!
//! On Linux a result is written into a file without a name, which is linked into place when it is
//! complete; a process that is killed leaves nothing. Where the target exists already, the complete
//! file bears a temporary name for the instant before it takes the target's place. Where the system
//! or the file system has no nameless files, a temporary file in the target's directory is written
//! and renamed, and removed on every way out but a kill.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::error::{Error, Result};

/// A file to be written, or a stream.
#[derive(Debug, Clone)]
pub struct Output {
    named: PathBuf,
    target: Target,
}

#[derive(Debug, Clone)]
enum Target {
    /// A regular file: where it really is, and its directory.
    File { path: PathBuf, directory: PathBuf },
    /// Something that cannot be replaced, such as a pipe: written to at the end.
    Stream(PathBuf),
    /// Standard output, named `-`.
    Stdout,
}

impl Output {
    /// Makes sure, by trying, that a file can be made where it is to be.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn prepare(path: &Path) -> Result<Self> {
        let located = locate(path).and_then(|target| {
            if let Target::File { directory, .. } = &target {
                Draft::new(directory)?;
            }
            Ok(target)
        });
        match located {
            Ok(target) => Ok(Self { named: path.to_owned(), target }),
            Err(source) => Err(Error::Output { path: path.to_owned(), source }),
        }
    }

    /// Writes the content without showing it yet.
    ///
    /// # Errors
    /// [`Error::Output`]; then nothing is left behind.
    pub fn stage(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Staged> {
        let content = match &self.target {
            Target::File { directory, .. } => Draft::new(directory).and_then(|mut draft| {
                let mut buffered = BufWriter::with_capacity(1 << 18, draft.file());
                write(&mut buffered)?;
                buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
                Ok(Content::Draft(draft))
            }),
            Target::Stream(_) | Target::Stdout => {
                let mut bytes = Vec::new();
                write(&mut bytes).map(|()| Content::Bytes(bytes))
            }
        };
        match content {
            Ok(content) => Ok(Staged { output: self, content }),
            Err(source) => Err(self.failed(source)),
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Output { path: self.named.clone(), source }
    }
}

/// Where a path leads. A link is followed, so that it stays one when its target is replaced.
fn locate(path: &Path) -> io::Result<Target> {
    if path == Path::new("-") {
        return Ok(Target::Stdout);
    }
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Ok(Target::Stream(path)),
        _ => {}
    }
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if path.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "is not the name of a file"));
    }
    Ok(Target::File { path, directory })
}

/// Content that is complete but not yet to be seen. Dropped, it was never there.
pub struct Staged {
    output: Output,
    content: Content,
}

enum Content {
    Draft(Draft),
    Bytes(Vec<u8>),
}

impl Staged {
    /// Writes what goes to a stream, which nothing can take back. What becomes a file is returned, and
    /// still unseen.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn write_stream(self) -> Result<Option<Self>> {
        let written = match (&self.content, &self.output.target) {
            (Content::Draft(_), _) => return Ok(Some(self)),
            (Content::Bytes(bytes), Target::Stream(path)) => {
                File::options().write(true).open(path).and_then(|mut file| file.write_all(bytes))
            }
            (Content::Bytes(bytes), _) => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        written.map(|()| None).map_err(|source| self.output.failed(source))
    }

    /// Shows the content under its name, in place of what was there, for good.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn commit(self) -> Result<()> {
        let Some(Self { output, content: Content::Draft(draft) }) = self.write_stream()? else {
            return Ok(());
        };
        let Target::File { path, directory } = &output.target else {
            return Err(output.failed(io::ErrorKind::Unsupported.into()));
        };
        let shown = draft.publish(path, directory).and_then(|()| keep_names(directory));
        shown.map_err(|source| output.failed(source))
    }
}

/// Sees to it that the names in a directory outlast a power failure, as the contents do.
#[cfg(unix)]
fn keep_names(directory: &Path) -> io::Result<()> {
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
fn keep_names(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// A file that nobody sees yet.
enum Draft {
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(NamedTempFile),
}

impl Draft {
    fn new(directory: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::create(directory) {
            return Ok(Self::Nameless(file));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(directory).map(Self::Named)
    }

    fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(named) => named.as_file_mut(),
        }
    }

    fn publish(self, path: &Path, directory: &Path) -> io::Result<()> {
        #[cfg(not(target_os = "linux"))]
        let _ = directory;
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => nameless::publish(&file, path, directory),
            Self::Named(named) => named.persist(path).map(drop).map_err(|error| error.error),
        }
    }
}

/// What temporary names begin with.
const PREFIX: &str = ".vesica-";

#[cfg(target_os = "linux")]
mod nameless {
    use std::{
        fs::File,
        io,
        os::fd::{AsFd, AsRawFd},
        path::Path,
    };

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    /// A file without a name, with the permissions that a new file would get; `None` where there is
    /// no such thing.
    pub(super) fn create(directory: &Path) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = File::from(open(directory, flags, Mode::from_raw_mode(0o666)).ok()?);
        // Without /proc it could not be given a name later on.
        Path::new(&handle(&file)).exists().then_some(file)
    }

    fn handle(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_fd().as_raw_fd())
    }

    fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, handle(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// Gives the file its name. A link cannot take another file's place, but a rename can.
    pub(super) fn publish(file: &File, path: &Path, directory: &Path) -> io::Result<()> {
        match link(file, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let named = tempfile::Builder::new()
                    .prefix(super::PREFIX)
                    .make_in(directory, |temporary| link(file, temporary))?;
                named.into_temp_path().persist(path).map_err(|error| error.error)
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, content: &[u8]) -> Result<()> {
        Output::prepare(path)?.stage(|out| out.write_all(content))?.commit()
    }

    fn listing(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    #[test]
    fn nothing_is_seen_before_the_end() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("it's a; \"result\" .csv");
        let staged = Output::prepare(&path).unwrap().stage(|out| out.write_all(b"x")).unwrap();
        assert!(!path.exists());
        #[cfg(target_os = "linux")]
        assert_eq!(listing(scratch.path()), [""; 0]);
        staged.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"x");
    }

    #[test]
    fn what_is_dropped_was_never_there() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        drop(Output::prepare(&path).unwrap().stage(|out| out.write_all(b"x")).unwrap());
        let failing = Output::prepare(&path).unwrap().stage(|_| Err(io::ErrorKind::Other.into()));
        assert!(matches!(failing, Err(Error::Output { .. })));
        assert_eq!(listing(scratch.path()), [""; 0]);
    }

    #[test]
    fn an_existing_file_is_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("out");
        fs::write(&path, "old and longer").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(listing(scratch.path()), ["out"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_as_a_user_expects() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let scratch = tempfile::tempdir().unwrap();
        let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
        fs::write(&real, "old").unwrap();
        symlink(&real, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        let plain = scratch.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&real), mode(&plain));
    }

    #[test]
    fn a_place_that_cannot_be_written_is_found_early() {
        let scratch = tempfile::tempdir().unwrap();
        let missing = scratch.path().join("no").join("such").join("place");
        let error = Output::prepare(&missing).unwrap_err();
        assert!(error.to_string().contains("cannot be written"), "{error}");
        assert!(Output::prepare(scratch.path()).is_err());
        assert!(Output::prepare(Path::new("/proc/vesica")).is_err());
    }
}
