//! A client's copy of a list: fetched, checked on arrival, and stored in a directory.
//!
//! The directory contains the newest accepted head, and the parts, named after their digests. An interrupted download
//! resumes after the last chunk that was right.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use vesica_core::{
    error::{Error, Misuse, Result},
    moment::Moment,
    observe::{Observer, Progress, Unit},
};
use vesica_list::{
    checker::Checker,
    head::{Expectation, Head},
    lookup::List,
    part::{Entry, Header},
    signed::LONGEST,
};
use vesica_net::Fingerprint;

use super::{
    answered::is_of_epoch,
    directory::{HEAD, LOG, failed, read_text, replace},
    origin::Origin,
    stored::StoredFile,
};

/// Returns the directory that stores this user's lists, or `None` for a user without a home directory.
pub fn lists_cache() -> Option<PathBuf> {
    let below = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(env::home_dir()?.join(".cache"));
    let cache = below("XDG_CACHE_HOME").or_else(|| below("LOCALAPPDATA")).or_else(home)?;
    Some(cache.join("vesica").join("lists"))
}

/// The list to fetch, and the conditions for accepting it.
pub struct Fetching<'a> {
    /// The identity that must have signed the list.
    pub publisher: Fingerprint,
    /// Normalisation of the client's keys, to compare with the list's.
    pub keys: Option<&'a [String]>,
    /// Values of key columns that the client counts as empty. A list with different ones is refused.
    pub null_values: &'a [String],
    /// Maximum size of the list in bytes, or `None` for no limit.
    pub budget: Option<u64>,
    /// The directory that stores lists.
    pub cache: &'a Path,
}

/// Returns the directory of a publisher's list in the cache.
pub(super) fn directory_of(fetching: &Fetching<'_>) -> PathBuf {
    fetching.cache.join(fetching.publisher.to_string())
}

/// Updates the copy of a list in the cache, and opens it.
///
/// # Errors
/// [`Error::List`], errors of the origin, and [`Error::Output`] for the cache.
pub fn fetch(
    origin: &mut dyn Origin,
    fetching: &Fetching<'_>,
    observer: &dyn Observer,
) -> Result<List<StoredFile>> {
    let directory = directory_of(fetching);
    fs::create_dir_all(&directory).map_err(failed(&directory))?;
    let path = directory.join(HEAD);
    let known = accepted(&path)?;
    observer.phase("fetch");
    let text = origin.text(HEAD, LONGEST)?;
    let expected = Expectation {
        publisher: fetching.publisher.as_bytes(),
        now: Moment::now().seconds(),
        keys: fetching.keys,
        null_values: fetching.null_values,
        budget: fetching.budget,
        known: known.as_ref(),
    };
    let head = Head::accept(&text, &expected)?;
    if let Some(mut checker) = head.unread_log(known.as_ref()) {
        origin.bytes(LOG, 0, &mut |bytes| Ok(checker.push(bytes)?))?;
        checker.finish()?;
    }
    let mut done = 0;
    let mut files = Vec::with_capacity(head.parts.len());
    for (entry, header) in head.headers() {
        files.push(part(origin, &directory, entry, header, &mut |bytes| {
            done += bytes;
            observer.progress(Progress::of(done, head.file_bytes(), Unit::Bytes));
        })?);
    }
    let list = List::open(head.clone(), files)?;
    // The head is stored once all parts have been fetched and checked.
    replace(&directory, &path, text.as_bytes())?;
    let needed: Vec<_> = head.parts.iter().map(Entry::file_name).collect();
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != HEAD && !needed.contains(&name) && !is_of_epoch(&name, head.epoch) {
            // If this fails, a later fetch removes it.
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(list)
}

/// Reads the newest head that was accepted, if there is one.
fn accepted(path: &Path) -> Result<Option<Head>> {
    let text = match read_text(path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(failed(path))?,
    };
    let unreadable = |error| {
        let path = path.display();
        let remedy = "remove it to start over with the next lookup";
        Error::usage(
            Misuse::List,
            format!("{path}: the accepted head of the list cannot be read ({error}); {remedy}"),
        )
    };
    Head::read(&text).map(Some).map_err(unreadable)
}

/// Fetches a part unless it is already stored.
fn part(
    origin: &mut dyn Origin,
    directory: &Path,
    entry: &Entry,
    header: Header,
    done: &mut dyn FnMut(u64),
) -> Result<StoredFile> {
    let whole = directory.join(entry.file_name());
    if let Some(stored) = StoredFile::open(&whole, entry).map_err(failed(&whole))? {
        done(entry.file_bytes());
        return Ok(stored);
    }
    let path = whole.with_extension("partial");
    let (mut checker, from) = begun(&path, entry, &header)?;
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.as_mut().map_err(|error| failed(&path)(error.kind().into()))?;
    let placed = file.set_len(from).and_then(|()| file.seek(SeekFrom::Start(from)));
    placed.map_err(failed(&path))?;
    done(from);
    if from < entry.file_bytes() {
        origin.bytes(&entry.file_name(), from, &mut |bytes| {
            checker.push(bytes)?;
            done(bytes.len() as u64);
            file.write_all(bytes).map_err(failed(&path))
        })?;
    }
    checker.finish()?;
    file.sync_all().map_err(failed(&path))?;
    fs::rename(&path, &whole).map_err(failed(&whole))?;
    let stored = StoredFile::open(&whole, entry).map_err(failed(&whole))?;
    stored.ok_or_else(|| vesica_list::Error::Damaged { sequence: entry.sequence }.into())
}

/// Returns the position of an interrupted download, and the checker for the rest.
fn begun(path: &PathBuf, entry: &Entry, header: &Header) -> Result<(Checker, u64)> {
    let mut verified = 0;
    let mut checker = Checker::new(entry, header);
    let mut buffer = vec![0; 1 << 18];
    if let Ok(mut file) = File::open(path) {
        while let Ok(read @ 1..) = file.read(&mut buffer) {
            let is_right = checker.push(&buffer[..read]).is_ok();
            verified = checker.verified();
            if !is_right {
                break;
            }
        }
    }
    // Bytes after the last complete chunk are fetched again.
    let mut checker = Checker::new(entry, header);
    if let Ok(file) = File::open(path) {
        let mut file = file.take(verified);
        while let Ok(read @ 1..) = file.read(&mut buffer) {
            checker.push(&buffer[..read])?;
        }
    }
    let verified = checker.verified();
    Ok((checker, verified))
}
