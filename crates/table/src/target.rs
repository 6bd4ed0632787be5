//! The targets of results, and the files that no result may replace.
//!
//! Files are identified by their contents' place on disk, not by their names. This covers links, hard links, `.` and
//! `..`, and names that differ only in case if the file system ignores case.

use std::{
    fs::{self, Metadata, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempPath};
use unicode_normalization::UnicodeNormalization;
use vesica_core::error::{Error, Misuse, Result};
use vesica_net::files::open_regular;

use crate::{database, destination::MatchedTable, remote, source::Source};

/// A file that no result may replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// A description, such as `the identity`.
    pub what: String,
    /// The path.
    pub path: PathBuf,
}

impl Protected {
    /// Makes a description of the file at `path`.
    pub fn new(what: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { what: what.into(), path: path.into() }
    }
}

/// Refuses results that would replace a protected file, the input, or each other.
///
/// # Errors
/// [`Error::Usage`]; [`Error::Output`] for a result that cannot be written at its path.
pub fn check(results: &[Protected], protected: &[Protected], input: Option<&Source>) -> Result<()> {
    let mut taken: Vec<(&str, Slot)> = Vec::new();
    for file in protected {
        taken.extend(Slot::of_place(&file.path).map(|slot| (file.what.as_str(), slot)));
    }
    taken.extend(input.and_then(Slot::of_input).map(|slot| ("the input", slot)));
    for Protected { what, path } in results {
        let failed = |source| Error::Output { path: database::shown(path), source };
        let Some(slot) = Target::of(path).and_then(|target| target.slot()).map_err(failed)? else {
            continue;
        };
        if let Some((other, _)) = taken.iter().find(|(_, other)| *other == slot) {
            let path = path.display();
            return Err(Error::usage(
                Misuse::Output,
                format!("{what} ({path}) would replace {other}"),
            ));
        }
        taken.push((what, slot));
    }
    Ok(())
}

/// Returns the directory of a result, if it is a file.
pub fn directory(path: &Path) -> Option<PathBuf> {
    match Target::of(path).ok()? {
        Target::File { directory, .. } => Some(directory),
        _ => None,
    }
}

/// The target of a result's path.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A regular file, by its real path, and its directory.
    File { path: PathBuf, directory: PathBuf },
    /// A sink, which is written to rather than replaced: a named pipe, `/dev/null` or a terminal.
    Sink(PathBuf),
    /// An object in a store, by its address.
    Object(String),
    /// A table of a database, by its address.
    Table(String),
    /// A place in memory.
    Memory(MatchedTable),
    /// Standard output.
    Stdout,
}

impl Target {
    /// Returns the target of a path. A link is followed, so that it remains a link when its target is replaced.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if STDOUT.iter().any(|name| path == Path::new(name)) {
            return Ok(Self::Stdout);
        }
        if let Some(address) = remote::address(path) {
            return Ok(Self::Object(address.to_owned()));
        }
        if let Some(address) = database::address(path) {
            return Ok(Self::Table(address.to_owned()));
        }
        // A path to an open file descriptor is appended to, even if it is a file.
        let open_already = path == Path::new("/dev/stderr")
            || ["/dev/fd", "/proc/self/fd"].iter().any(|directory| path.starts_with(directory));
        refuse_planted(path)?;
        let path = match fs::canonicalize(path) {
            Ok(real) if !open_already => real,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => path.to_owned(),
        };
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if open_already || is_sink(&path, &found) => return Ok(Self::Sink(path)),
            Ok(found) if !found.is_file() => {
                return Err(refused(
                    "it is neither a regular file nor a place to write to, such as a named pipe or /dev/null",
                ));
            }
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(refused("it is not the name of a file"));
        }
        let directory = directory_of(&path);
        Ok(Self::File { path, directory })
    }

    /// Refuses a file that holds a private key of anybody.
    pub(crate) fn spare_keys(&self) -> io::Result<()> {
        match self {
            Self::File { path, .. } if holds_a_private_key(path) => {
                Err(refused("it holds a private key, which must not be replaced"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the slot that writing takes; `None` for targets that can be shared, such as `/dev/null`.
    fn slot(&self) -> io::Result<Option<Slot>> {
        match self {
            Self::File { path, .. } => Ok(Slot::of_file(path)),
            Self::Object(address) | Self::Table(address) => Ok(Some(Slot::Object(address.clone()))),
            Self::Sink(path) => {
                let found = fs::metadata(path)?;
                Ok((!is_device(&found)).then(|| Slot::existing(path, &found)))
            }
            Self::Memory(_) => Ok(None),
            Self::Stdout => Ok(Some(standard_stream(io::stdout()).unwrap_or(Slot::Stdout))),
        }
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Refuses a link that another user has put into a directory where everyone may write, such as the one of temporary
/// files. Linux has the same rule for following links there, but resolving a path here does not apply it.
#[cfg(unix)]
fn refuse_planted(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    const OPEN_TO_ALL: u32 = 0o1002;
    let Ok(link) = fs::symlink_metadata(path) else { return Ok(()) };
    let directory = fs::metadata(directory_of(path))?;
    let is_open = directory.mode() & OPEN_TO_ALL == OPEN_TO_ALL;
    let me = rustix::process::geteuid().as_raw();
    if link.is_symlink() && is_open && ![me, directory.uid()].contains(&link.uid()) {
        return Err(refused("it is another user's link in a directory where everyone may write"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_planted(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns a file created in a directory, with its temporary name.
///
/// # Errors
/// The system's error, without that name, which means nothing to a user.
pub fn made(directory: &Path, file: io::Result<NamedTempFile>) -> io::Result<(fs::File, TempPath)> {
    match file {
        Ok(file) => Ok(file.into_parts()),
        Err(error) if directory.is_dir() => Err(error.kind().into()),
        Err(_) => {
            let message = format!("the directory {} does not exist", directory.display());
            Err(io::Error::new(io::ErrorKind::NotFound, message))
        }
    }
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Whether the file is written to directly. Other devices, especially disks, are refused.
#[cfg(unix)]
fn is_sink(path: &Path, found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    const DEVICES: [&str; 3] = ["/dev/null", "/dev/full", "/dev/tty"];
    let known = DEVICES.iter().any(|name| path == Path::new(name)) || path.starts_with("/dev/pts");
    found.file_type().is_fifo() || found.file_type().is_char_device() && known
}

#[cfg(not(unix))]
fn is_sink(_path: &Path, _found: &Metadata) -> bool {
    false
}

#[cfg(unix)]
fn is_device(found: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&found.file_type())
}

#[cfg(not(unix))]
fn is_device(_found: &Metadata) -> bool {
    false
}

/// Whether a file begins like an identity or another key in PEM.
fn holds_a_private_key(path: &Path) -> bool {
    const BEGINNING: u64 = 1 << 14;
    let mut text = Vec::new();
    let opened = open_regular(path, OpenOptions::new().read(true));
    let read = opened.and_then(|file| file.take(BEGINNING).read_to_end(&mut text));
    let key = b"PRIVATE KEY-----";
    read.is_ok()
        && text.trim_ascii_start().starts_with(b"-----BEGIN ")
        && text.windows(key.len()).any(|window| window == key)
}

/// The identity of a target, independent of its name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    /// A file that exists.
    Existing(FileId),
    /// A free name, in a form that all file systems treat alike.
    Free { directory: FileId, name: String },
    /// An object in a store, or a table of a database.
    Object(String),
    /// Standard output that is neither a file nor a pipe.
    Stdout,
}

impl Slot {
    /// Returns the slot of a file, an object or a table.
    fn of_place(path: &Path) -> Option<Self> {
        match remote::address(path).or_else(|| database::address(path)) {
            Some(address) => Some(Self::Object(address.to_owned())),
            None => Self::of_file(path),
        }
    }

    /// Returns the slot of a file; `None` if not even its directory exists.
    fn of_file(path: &Path) -> Option<Self> {
        if let Ok(found) = fs::metadata(path) {
            return Some(Self::existing(path, &found));
        }
        let directory = directory_of(path);
        let found = fs::metadata(&directory).ok()?;
        let name = path.file_name()?.to_string_lossy().to_lowercase().nfc().collect();
        Some(Self::Free { directory: FileId::of(&directory, &found), name })
    }

    fn of_input(input: &Source) -> Option<Self> {
        match input {
            Source::File(path) => Self::of_file(path),
            Source::Object(address) => Some(Slot::Object(address.clone())),
            Source::Stdin => standard_stream(io::stdin()),
            // A result is a table that did not exist before.
            Source::Database { .. } | Source::Memory { .. } | Source::Arrow { .. } => None,
        }
    }

    fn existing(path: &Path, found: &Metadata) -> Self {
        Self::Existing(FileId::of(path, found))
    }
}

/// Returns the slot of the file or pipe to which a standard stream was redirected.
#[cfg(unix)]
fn standard_stream(stream: impl std::os::fd::AsFd) -> Option<Slot> {
    use std::os::unix::fs::FileTypeExt;
    let file = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?);
    let found = file.metadata().ok()?;
    let kind = found.file_type();
    (kind.is_file() || kind.is_fifo()).then(|| Slot::existing(Path::new(""), &found))
}

#[cfg(not(unix))]
fn standard_stream<T>(_stream: T) -> Option<Slot> {
    None
}

/// The identity of a file under all its names.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileId(u64, u64);

#[cfg(unix)]
impl FileId {
    fn of(_path: &Path, found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(found.dev(), found.ino())
    }
}

#[cfg(not(unix))]
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileId(PathBuf);

#[cfg(not(unix))]
impl FileId {
    fn of(path: &Path, _found: &Metadata) -> Self {
        Self(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(results: &[&Path], protected: &[&Path]) -> Option<String> {
        let files = |paths: &[&Path], what: &str| -> Vec<_> {
            let named = paths.iter().enumerate();
            named.map(|(i, path)| Protected::new(format!("{what} {i}"), *path)).collect()
        };
        let checked = check(&files(results, "result"), &files(protected, "secret"), None);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn a_file_is_known_under_all_its_names() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("secret"), "x").unwrap();
        fs::hard_link(at("secret"), at("hard")).unwrap();
        fs::create_dir(at("sub")).unwrap();
        #[cfg_attr(not(unix), expect(unused_mut))]
        let mut names = vec![at("secret"), at("hard"), at("./secret"), at("sub/../secret")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("secret"), at("soft")).unwrap();
            names.push(at("soft"));
        }
        for name in names {
            let message = refused(&[&name], &[&at("secret")]).unwrap();
            assert!(message.contains("would replace secret 0"), "{message}");
        }
        assert_eq!(refused(&[&at("other")], &[&at("secret")]), None);
        assert_eq!(refused(&[&at("sub/secret")], &[&at("secret")]), None);
    }

    #[test]
    fn places_outside_of_the_file_system_are_known_by_their_addresses() {
        for address in ["s3://bucket/key", "adbc:postgresql#matched"].map(Path::new) {
            let message = refused(&[address], &[address]).unwrap();
            assert!(message.contains("would replace secret 0"), "{message}");
        }
        assert_eq!(
            refused(&[Path::new("s3://bucket/other")], &[Path::new("s3://bucket/key")]),
            None
        );
    }

    #[test]
    fn results_need_a_place_each() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let both = |a: &str, b: &str| refused(&[&at(a), &at(b)], &[]);
        assert!(both("out", "./out").unwrap().contains("would replace result 0"));
        // Neither exists, and on some file systems they would be one file.
        assert!(both("out", "OUT").is_some() && both("\u{e4}", "A\u{308}").is_some());
        assert_eq!(both("out", "report"), None);
        let dash = Path::new("-");
        assert!(refused(&[dash, dash], &[]).is_some());
        #[cfg(unix)]
        {
            assert!(refused(&[dash, Path::new("/dev/stdout")], &[]).is_some());
            let null = Path::new("/dev/null");
            assert_eq!(refused(&[null, null], &[null]), None);
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_files_and_sinks_are_written_to() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for path in [at("socket"), "/dev/zero".into(), "/dev/random".into()] {
            let error = Target::of(&path).unwrap_err().to_string();
            assert!(error.contains("neither a regular file"), "{path:?}: {error}");
        }
        drop(socket);
        let pipe = at("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(Target::of(&pipe).unwrap(), Target::Sink(_)));
        assert!(refused(&[&pipe], &[&pipe]).is_some());
        for sink in ["/dev/null", "/dev/full", "/dev/stderr"] {
            assert!(matches!(Target::of(Path::new(sink)).unwrap(), Target::Sink(_)), "{sink}");
        }
    }

    #[test]
    fn a_private_key_is_never_replaced() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("key");
        let key = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n\
                   -----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----\n";
        fs::write(&path, key).unwrap();
        let spare_keys = || Target::of(&path).unwrap().spare_keys();
        assert!(spare_keys().unwrap_err().to_string().contains("private key"));
        fs::write(&path, "k\n-----BEGIN PRIVATE KEY-----\n").unwrap();
        assert!(spare_keys().is_ok());
    }
}
