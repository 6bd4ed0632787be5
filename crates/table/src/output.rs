//! Files that appear whole or not at all.
//!
//! On Linux a result is written into a file without a name, which is linked into place when it is complete; a process
//! that is killed leaves nothing. If the target exists already, the complete file has a temporary name for the instant
//! before it replaces the target. If the system or the file system does not support nameless files, a temporary file in
//! the target's directory is written and renamed. It is removed in every case but a kill.
//!
//! An object in a store is uploaded in parts. The store shows it when the upload is completed, and discards the parts
//! when it is aborted.
//!
//! A table of a database is written in a transaction. Its rows are in memory for that. A table in memory is handed over
//! when it is complete.

use std::{
    fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::TempPath;
use vesica_core::error::{Error, Result};

use crate::{
    arrow::memory::ArrowTable,
    database::{self, Place, Transaction},
    destination::Destination,
    disk::{self, File},
    format::Format,
    ingest::Reader,
    remote::Upload,
    source::Dialect,
    target::{Target, made},
};

/// A file to be written, or a stream.
#[derive(Debug, Clone)]
pub struct Output {
    named: PathBuf,
    target: Target,
    access: Access,
    /// Whether to replace a file that has the name in the end.
    replaces: bool,
    /// The form of the content, if known.
    content: Dialect,
}

/// The readers of a new file. One that replaces another keeps that file's group and permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Everyone who may read other new files of this user, by the umask.
    #[default]
    Usual,
    /// This user only.
    Owner,
}

impl Output {
    /// Prepares any destination, like [`Output::prepare`].
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn to(destination: &Destination, access: Access) -> Result<Self> {
        match destination {
            Destination::Path(path) => Self::prepare(path, access),
            Destination::Memory(matched) => {
                let target = Target::Memory(matched.clone());
                let (named, content) = (PathBuf::from("the matched rows"), Dialect::default());
                Ok(Self { named, target, access, replaces: true, content })
            }
        }
    }

    /// Makes sure, by trying, that the file can be created.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn prepare(path: &Path, access: Access) -> Result<Self> {
        if let Some(address) = database::address(path) {
            Place::parse(address)?.table()?;
        }
        let located = Target::of(path).and_then(|target| {
            target.spare_keys()?;
            if let Target::File { path, directory } = &target {
                Draft::new(path, directory, access)?;
            }
            if let Target::Object(address) = &target {
                Upload::probe(address)?;
            }
            if let Target::Table(address) = &target
                && let Ok(place) = Place::parse(address)
                && let Ok(table) = place.table()
            {
                Transaction::probe(&place, table)?;
            }
            Ok(target)
        });
        match located {
            Ok(target) => {
                let (named, content) = (path.to_owned(), Dialect::default());
                Ok(Self { named, target, access, replaces: true, content })
            }
            Err(source) => Err(Error::Output { path: path.to_owned(), source }),
        }
    }

    /// Prepares a file like [`Output::prepare`], but replaces no other, which may exist now or appear before this file
    /// gets its name.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn prepare_new(path: &Path, access: Access) -> Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            let source = io::ErrorKind::AlreadyExists.into();
            return Err(Error::Output { path: path.to_owned(), source });
        }
        Ok(Self { replaces: false, ..Self::prepare(path, access)? })
    }

    /// Sets the form of the content, which a database needs.
    pub(crate) fn of(self, content: Dialect) -> Self {
        Self { content, ..self }
    }

    /// Writes the content without showing it yet.
    ///
    /// # Errors
    /// [`Error::Output`]; then nothing is left behind.
    pub fn stage(
        self,
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<Staged> {
        let content = match &self.target {
            Target::File { path, directory } => {
                let draft = Draft::new(path, directory, self.access);
                draft.and_then(|mut draft| {
                    let mut buffered = BufWriter::with_capacity(1 << 18, draft.file());
                    write(&mut buffered)?;
                    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
                    Ok(Content::Draft(draft))
                })
            }
            Target::Object(address) => Upload::begin(address).and_then(|mut upload| {
                write(&mut upload)?;
                upload.finish()?;
                Ok(Content::Upload(upload))
            }),
            Target::Table(address) => {
                let mut bytes = Vec::new();
                return match write(&mut bytes) {
                    Ok(()) => {
                        let transaction = self.insert(address, bytes)?;
                        Ok(Staged { output: self, content: Content::Table(transaction) })
                    }
                    Err(source) => Err(self.failed(source)),
                };
            }
            Target::Memory(_) => {
                let mut bytes = Vec::new();
                return match write(&mut bytes) {
                    Ok(()) => {
                        let table = ArrowTable::read(self.batches(bytes)?)
                            .map_err(|_| Error::bug("the written rows cannot be read"))?;
                        Ok(Staged { output: self, content: Content::Rows(table) })
                    }
                    Err(source) => Err(self.failed(source)),
                };
            }
            Target::Sink(_) | Target::Stdout => {
                let mut bytes = Vec::new();
                write(&mut bytes).map(|()| Content::Bytes(bytes))
            }
        };
        match content {
            Ok(content) => Ok(Staged { output: self, content }),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Takes rows that are in memory already, without showing them yet.
    ///
    /// # Errors
    /// [`Error::Output`] if `rows` is an error.
    pub(crate) fn hold(self, rows: io::Result<ArrowTable>) -> Result<Staged> {
        match rows {
            Ok(rows) => Ok(Staged { output: self, content: Content::Rows(rows) }),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Creates the table of this address with the written rows, invisible to others.
    fn insert(&self, address: &str, bytes: Vec<u8>) -> Result<Transaction> {
        let place = Place::parse(address)?;
        let batches = self.batches(bytes)?;
        let written = Transaction::write(&place, place.table()?, batches);
        written.map_err(|source| self.failed(source))
    }

    /// Returns the rows that were written in these bytes.
    fn batches(&self, bytes: Vec<u8>) -> Result<Reader> {
        self.content.format.unwrap_or(Format::CSV).batches(bytes, self.content.delimiter)
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Output { path: self.named.clone(), source }
    }
}

/// Content that is complete but not yet visible. Dropped, it leaves no trace.
pub struct Staged {
    output: Output,
    content: Content,
}

enum Content {
    Draft(Draft),
    Upload(Upload),
    Table(Transaction),
    Rows(ArrowTable),
    Bytes(Vec<u8>),
}

impl Staged {
    /// Writes to a stream, which cannot be undone. Content for a file is returned, still invisible.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn write_stream(self) -> Result<Option<Self>> {
        let written = match (&self.content, &self.output.target) {
            (Content::Draft(_) | Content::Upload(_) | Content::Table(_) | Content::Rows(_), _) => {
                return Ok(Some(self));
            }
            (Content::Bytes(bytes), Target::Sink(path)) => {
                let opened = File::open_with(path, fs::OpenOptions::new().append(true));
                opened.and_then(|mut file| file.write_all(bytes))
            }
            (Content::Bytes(bytes), _) => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
        };
        written.map(|()| None).map_err(|source| self.output.failed(source))
    }

    /// Shows the content under its name, in place of any file there, permanently.
    ///
    /// # Errors
    /// [`Error::Output`]. If only the name might not survive a power failure, the content is there nevertheless.
    pub fn commit(self) -> Result<()> {
        self.show()?.keep()
    }

    /// Shows the content under its name, in place of any file there.
    ///
    /// # Errors
    /// [`Error::Output`]; then nothing was shown.
    pub fn show(self) -> Result<Shown> {
        let Some(Self { output, content }) = self.write_stream()? else { return Ok(Shown(None)) };
        let shown = match (content, &output.target) {
            (Content::Draft(draft), Target::File { path, directory }) => {
                draft.publish(path, directory, output.replaces)
            }
            (Content::Upload(upload), _) => upload.complete(),
            (Content::Table(transaction), _) => transaction.commit(),
            (Content::Rows(table), Target::Memory(matched)) => {
                matched.put(table);
                Ok(())
            }
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        shown.map_err(|source| output.failed(source))?;
        Ok(Shown(Some(output)))
    }
}

/// A visible and complete result.
#[must_use = "its name may not outlast a power failure"]
pub struct Shown(Option<Output>);

impl Shown {
    /// Makes its name survive a power failure, as the content does.
    ///
    /// # Errors
    /// [`Error::Output`]. The result is visible nevertheless.
    pub fn keep(self) -> Result<()> {
        match self.0 {
            Some(Output { target: Target::File { directory, .. }, named, .. }) => {
                disk::keep_names(&directory).map_err(|source| Error::Output { path: named, source })
            }
            _ => Ok(()),
        }
    }
}

/// A file that is not yet visible.
enum Draft {
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(File, TempPath),
}

impl Draft {
    /// Creates a file in `directory` for `path`, with its final owner and permissions.
    fn new(path: &Path, directory: &Path, access: Access) -> io::Result<Self> {
        let replaced = fs::metadata(path).ok();
        let access = if replaced.is_some() { Access::Owner } else { access };
        let mut draft = Self::create(directory, access)?;
        if let Some(replaced) = replaced {
            adopt(draft.file().as_file(), &replaced)?;
        }
        Ok(draft)
    }

    fn create(directory: &Path, access: Access) -> io::Result<Self> {
        #[cfg(unix)]
        let mode = match access {
            Access::Usual => 0o666,
            Access::Owner => 0o600,
        };
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless::create(directory, mode) {
            return Ok(Self::Nameless(file));
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
        #[cfg(not(unix))]
        let _ = access;
        let mut temporary = None;
        let file = File::create(directory, || {
            let (file, path) = made(directory, builder.tempfile_in(directory))?;
            temporary = Some(path);
            Ok(file)
        })?;
        temporary.map(|path| Self::Named(file, path)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file(&mut self) -> &mut File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => file,
            Self::Named(file, _) => file,
        }
    }

    fn publish(self, path: &Path, directory: &Path, replaces: bool) -> io::Result<()> {
        #[cfg(not(target_os = "linux"))]
        let _ = directory;
        match self {
            #[cfg(target_os = "linux")]
            Self::Nameless(file) => nameless::publish(&file, path, directory, replaces),
            Self::Named(_, temporary) if replaces => disk::rename(temporary, path),
            Self::Named(_, temporary) => disk::rename_to_free(temporary, path),
        }
    }
}

/// Gives a file the group and the permissions of the file that it replaces, which must belong to the same user: another
/// user could read the result.
#[cfg(unix)]
fn adopt(file: &fs::File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let refused = |kind| {
        let why = "the file there belongs to another user or group; name another file, or remove that one first";
        io::Error::new(kind, why)
    };
    let found = file.metadata()?;
    if found.uid() != replaced.uid() {
        return Err(refused(io::ErrorKind::PermissionDenied));
    }
    if found.gid() != replaced.gid() {
        fchown(file, None, Some(replaced.gid())).map_err(|error| refused(error.kind()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(replaced.mode() & 0o777))
}

/// Gives a file the permissions of the file that it replaces.
#[cfg(not(unix))]
fn adopt(file: &fs::File, replaced: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(replaced.permissions())
}

/// The beginning of temporary names.
const PREFIX: &str = ".vesica-";

#[cfg(target_os = "linux")]
mod nameless {
    use std::{
        io,
        os::fd::{AsFd, AsRawFd},
        path::Path,
    };

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

    use crate::disk::{self, File};

    /// Creates a file without a name, with the permissions that a new file of this mode gets; `None` if the system does
    /// not support that.
    pub(super) fn create(directory: &Path, mode: u32) -> Option<File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let open = || Ok(open(directory, flags, Mode::from_raw_mode(mode))?.into());
        let file = File::create(directory, open).ok()?;
        // Without /proc the file could not get a name later.
        Path::new(&handle(&file)).exists().then_some(file)
    }

    fn handle(file: &File) -> String {
        format!("/proc/self/fd/{}", file.as_file().as_fd().as_raw_fd())
    }

    fn link(file: &File, path: &Path) -> io::Result<()> {
        disk::name(path, || Ok(linkat(CWD, handle(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?))
    }

    /// Gives the file its name. A link cannot replace another file, but a rename can.
    pub(super) fn publish(
        file: &File,
        path: &Path,
        directory: &Path,
        replaces: bool,
    ) -> io::Result<()> {
        match link(file, path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && replaces => {
                let named = tempfile::Builder::new()
                    .prefix(super::PREFIX)
                    .make_in(directory, |temporary| link(file, temporary))?;
                disk::rename(named.into_temp_path(), path)
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests;
