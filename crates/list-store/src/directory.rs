//! A list on the publisher's disk.
//!
//! `public/` contains the files for everybody, and can be copied anywhere: the signed head `head.json`, the log
//! `log.txt`, and the parts, named after their digests. `private/` contains the secret seed of the epoch's key and the
//! values of all items. The new head replaces the old one last. A publication that is interrupted before that has no
//! effect, and the next one uses or removes its files.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use rand::CryptoRng;
use tempfile::NamedTempFile;
use vesica_core::error::{Error, Misuse, Result};
use vesica_list::{
    exchange::epoch_key, head::Head, hex::Hex, log::LogEnd, signed::LONGEST, voprf::ServerKey,
};
use vesica_net::Identity;
use zeroize::{Zeroize, Zeroizing};

/// The signed head, in a directory or below an address.
pub(crate) const HEAD: &str = "head.json";

/// The log.
pub(crate) const LOG: &str = "log.txt";

/// Prefix of the name of an unpublished file.
const DRAFT: &str = ".draft-";

/// A list on the disk.
pub(crate) struct ListDirectory {
    path: PathBuf,
    /// Held during a publication.
    _lock: Option<File>,
}

/// Converts an error of a file.
pub(crate) fn failed(path: &Path) -> impl Fn(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Output { path: path.clone(), source }
}

impl ListDirectory {
    /// Opens a list for publishing, and creates its directories if necessary.
    ///
    /// # Errors
    /// [`Error::Output`], and [`Error::Usage`] if another process is publishing there.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let this = Self::open(path);
        for directory in [path, &this.public(), &this.private()] {
            fs::create_dir_all(directory).map_err(failed(directory))?;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let owner = fs::Permissions::from_mode(0o700);
            fs::set_permissions(this.private(), owner).map_err(failed(&this.private()))?;
        }
        let path = this.private().join("lock");
        let lock = File::create(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: Some(lock), ..this }),
            Err(TryLockError::Error(source)) => Err(Error::Output { path, source }),
            Err(TryLockError::WouldBlock) => {
                let path = this.path.display();
                Err(Error::usage(Misuse::List, format!("another process is publishing in {path}")))
            }
        }
    }

    /// Removes the empty directories of a list that was never published.
    pub(crate) fn abandon(self) {
        // Directories that are not empty remain.
        drop(fs::remove_file(self.private().join("lock")));
        for directory in [self.private(), self.public(), self.path.clone()] {
            drop(fs::remove_dir(directory));
        }
    }

    /// Opens a list for reading.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// Returns the directory of public files.
    pub(crate) fn public(&self) -> PathBuf {
        self.path.join("public")
    }

    /// Returns the directory of secrets.
    pub(crate) fn private(&self) -> PathBuf {
        self.path.join("private")
    }

    /// Returns the published head, if there is one. This identity must have signed it.
    ///
    /// # Errors
    /// [`Error::Output`] and [`Error::List`].
    pub(crate) fn head(&self, me: &Identity) -> Result<Option<Head>> {
        let path = self.public().join(HEAD);
        let text = match read_text(&path, LONGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(failed(&path))?,
        };
        let head = Head::read(&text)?;
        match head.certificate() == me.certificate().as_der() {
            true => Ok(Some(head)),
            false => Err(vesica_list::Error::Publisher.into()),
        }
    }

    /// Returns the key of an epoch.
    ///
    /// # Errors
    /// [`Error::Output`] if its seed cannot be read.
    pub(crate) fn key(&self, epoch: u64) -> Result<ServerKey> {
        let path = self.seed_path(epoch);
        let damaged = |_| failed(&path)(io::ErrorKind::InvalidData.into());
        let mut text = read_text(&path, 128).map_err(failed(&path))?;
        let seed = Hex::try_from(text.trim_end().to_owned()).map_err(damaged);
        text.zeroize();
        let seed = Zeroizing::new(seed?.0);
        Ok(epoch_key(&seed, epoch)?)
    }

    /// Creates the key of a new epoch. An epoch whose publication was interrupted keeps its key.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn new_key(&self, epoch: u64, rng: &mut dyn CryptoRng) -> Result<ServerKey> {
        let path = self.seed_path(epoch);
        if !path.exists() {
            let mut seed = Zeroizing::new([0; 32]);
            rng.fill_bytes(&mut *seed);
            let text = Zeroizing::new(format!("{}\n", Hex(*seed)));
            self.replace(&path, text.as_bytes())?;
        }
        self.key(epoch)
    }

    fn seed_path(&self, epoch: u64) -> PathBuf {
        self.private().join(format!("epoch-{epoch}.seed"))
    }

    /// Returns the path of a version's sorted values.
    pub(crate) fn values_path(&self, epoch: u64, sequence: u64, labelled: bool) -> PathBuf {
        let labelled = if labelled { "-labelled" } else { "" };
        self.private().join(format!("values-{epoch}-{sequence}{labelled}"))
    }

    /// Creates a file to be published later. Until then only its owner can read it, so that nobody sees the drafts of
    /// an interrupted publication.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn draft(&self) -> Result<NamedTempFile> {
        let private = self.private();
        let mut builder = tempfile::Builder::new();
        builder.prefix(DRAFT).tempfile_in(&private).map_err(failed(&private))
    }

    /// Publishes a draft under its name, and replaces any earlier file.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn show(&self, draft: NamedTempFile, name: &str) -> Result<()> {
        let path = self.public().join(name);
        let shown = match keep(draft, &path, for_everybody) {
            // The two directories may be on different file systems.
            Err((error, Some(draft))) if error.kind() == io::ErrorKind::CrossesDevices => self
                .copied(draft.path())
                .and_then(|copy| keep(copy, &path, for_everybody).map_err(|(error, _)| error)),
            kept => kept.map_err(|(error, _)| error),
        };
        shown.map_err(failed(&path))
    }

    /// Copies a draft into the public directory.
    fn copied(&self, draft: &Path) -> io::Result<NamedTempFile> {
        let mut copy = tempfile::Builder::new().prefix(DRAFT).tempfile_in(self.public())?;
        io::copy(&mut File::open(draft)?, copy.as_file_mut())?;
        Ok(copy)
    }

    /// Publishes a text under its name, and replaces any earlier file.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn show_text(&self, text: &str, name: &str) -> Result<()> {
        let mut draft = self.draft()?;
        draft.write_all(text.as_bytes()).map_err(failed(&self.private()))?;
        self.show(draft, name)
    }

    /// Writes a file of secrets atomically.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(crate) fn replace(&self, path: &Path, content: &[u8]) -> Result<()> {
        replace(&self.private(), path, content)
    }

    /// Reads the log up to this end. Later lines belong to an interrupted publication.
    ///
    /// # Errors
    /// [`Error::Output`], also if the log is shorter.
    pub(crate) fn log(&self, end: &LogEnd) -> Result<String> {
        let path = self.public().join(LOG);
        if end.entries == 0 {
            return Ok(String::new());
        }
        let text = read_text(&path, vesica_list::log::LONGEST).map_err(failed(&path))?;
        let lines: Vec<_> = text.split_inclusive('\n').take(end.entries as usize).collect();
        let last = format!(" {}\n", end.digest);
        match lines.len() as u64 == end.entries
            && lines.last().is_some_and(|line| line.ends_with(&last))
        {
            true => Ok(lines.concat()),
            false => Err(failed(&path)(io::ErrorKind::InvalidData.into())),
        }
    }

    /// Removes files that are no longer needed: parts in neither head, and secrets of versions other than the first
    /// head's.
    pub(crate) fn clean(&self, heads: [&Head; 2]) {
        let parts: Vec<_> =
            heads.iter().flat_map(|head| &head.parts).map(|entry| entry.file_name()).collect();
        let Head { epoch, .. } = *heads[0];
        let labelled = heads[0].labels.is_some();
        let values = self.values_path(epoch, heads[0].sequence(), labelled);
        let secrets = [values, self.seed_path(epoch), self.private().join("lock")];
        let mut unneeded = Vec::new();
        for entry in fs::read_dir(self.public()).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(DRAFT) || name.ends_with(".part") && !parts.contains(&name) {
                unneeded.push(entry.path());
            }
        }
        let private = fs::read_dir(self.private()).into_iter().flatten().flatten();
        unneeded.extend(private.map(|entry| entry.path()).filter(|path| !secrets.contains(path)));
        // If this fails, a later publication removes them.
        unneeded.iter().for_each(|path| drop(fs::remove_file(path)));
    }
}

/// Lets everybody read a file.
fn for_everybody(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Syncs a file's content to disk, then renames the file and replaces any earlier one. Returns a file that cannot be
/// renamed.
fn keep(
    file: NamedTempFile,
    path: &Path,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> std::result::Result<(), (io::Error, Option<NamedTempFile>)> {
    let prepared = prepare(file.as_file()).and_then(|()| file.as_file().sync_all());
    prepared.map_err(|error| (error, None))?;
    file.persist(path).map(drop).map_err(|error| (error.error, Some(error.file)))
}

/// Writes a file atomically, for its owner only, through a temporary file in this directory.
///
/// # Errors
/// [`Error::Output`].
pub(crate) fn replace(directory: &Path, path: &Path, content: &[u8]) -> Result<()> {
    let replaced = NamedTempFile::new_in(directory).and_then(|mut file| {
        file.write_all(content)?;
        keep(file, path, |_| Ok(())).map_err(|(error, _)| error)
    });
    replaced.map_err(failed(path))
}

/// Reads a text of at most this many bytes.
pub(crate) fn read_text(path: &Path, longest: usize) -> io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    let file = OpenOptions::new().read(true).open(path)?;
    file.take(longest as u64 + 1).read_to_string(&mut text)?;
    if text.len() > longest { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}
