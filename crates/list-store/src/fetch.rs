//! A list that a client has: fetched, checked as it comes, and kept in a directory.
//!
//! The directory has the newest head that was accepted, and the parts by their digests. A download that was interrupted goes
//! on behind the last chunk that was right.

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

/// The directory in which this user's lists are kept; `None` for a user without a home directory.
pub fn lists_cache() -> Option<PathBuf> {
    let below = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || Some(env::home_dir()?.join(".cache"));
    let cache = below("XDG_CACHE_HOME").or_else(|| below("LOCALAPPDATA")).or_else(home)?;
    Some(cache.join("vesica").join("lists"))
}

/// What a client fetches, and what it accepts.
pub struct Fetching<'a> {
    /// Who has to have signed the list.
    pub publisher: Fingerprint,
    /// How the client's keys are normalised, if it wants to say.
    pub keys: Option<&'a [String]>,
    /// Values that count as empty in the client's key columns. A list that counts others is refused.
    pub null_values: &'a [String],
    /// The most bytes of the list; `None` for any number.
    pub budget: Option<u64>,
    /// The directory in which lists are kept.
    pub cache: &'a Path,
}

/// The directory of a publisher's list in the cache.
pub(super) fn directory_of(fetching: &Fetching<'_>) -> PathBuf {
    fetching.cache.join(fetching.publisher.to_string())
}

/// Brings the copy of a list in the cache up to date, and opens it.
///
/// # Errors
/// [`Error::List`], those of the origin, and [`Error::Output`] of the cache.
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
    // The head is remembered once all of it is here and right.
    replace(&directory, &path, text.as_bytes())?;
    let needed: Vec<_> = head.parts.iter().map(Entry::file_name).collect();
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != HEAD && !needed.contains(&name) && !is_of_epoch(&name, head.epoch) {
            // What cannot be removed now will be later.
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(list)
}

/// The newest head that was accepted, if there is one.
fn accepted(path: &Path) -> Result<Option<Head>> {
    let text = match read_text(path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(failed(path))?,
    };
    let unreadable = |error| {
        let path = path.display();
        let remedy = "remove it, and the next lookup begins as a first one does";
        Error::usage(
            Misuse::List,
            format!("{path}: what was accepted before cannot be read ({error}); {remedy}"),
        )
    };
    Head::read(&text).map(Some).map_err(unreadable)
}

/// Fetches a part unless it is there.
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

/// How far an interrupted download had come, and what checks the rest.
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
    // What came after the last whole chunk is fetched again.
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
