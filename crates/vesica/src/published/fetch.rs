//! A list that a client has: fetched, checked as it comes, and kept in a directory.
//!
//! The directory has the newest head that was accepted, and the parts by their digests. A download that was interrupted goes
//! on behind the last chunk that was right.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
    sync::Mutex,
};

use rand::CryptoRng;
use vesica_list::{
    exchange::{MAX_QUESTION, Question},
    head::{Expectation, Head},
    log,
    lookup::{List, Match},
    part::{Checker, Entry, Stored},
    signed::LONGEST,
    value::item,
};
use vesica_net::Fingerprint;

use super::directory::{HEAD, LOG, failed, read_text, replace};
use crate::{
    error::Result,
    keys::digest::Digest,
    partner::moment::Moment,
    run::observe::{Observer, Progress, Unit},
};

/// Where a list comes from.
pub trait Origin {
    /// A short file, as text.
    ///
    /// # Errors
    /// Whatever keeps it from coming, also that it is longer.
    fn text(&mut self, name: &str, longest: usize) -> Result<String>;

    /// A long file, from this byte on, as it comes.
    ///
    /// # Errors
    /// Whatever keeps it from coming, and what `take` returns.
    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()>;

    /// The answer to a question about this epoch, of so many bytes.
    ///
    /// # Errors
    /// Whatever keeps it from coming.
    fn ask(&mut self, epoch: u64, question: &[u8], answer_bytes: usize) -> Result<Vec<u8>>;
}

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
    /// The most bytes of the list; `None` for any number.
    pub budget: Option<u64>,
    /// The directory in which lists are kept.
    pub cache: &'a Path,
}

/// A part in a file.
pub struct StoredFile {
    file: Mutex<File>,
}

impl Stored for StoredFile {
    fn read(&self, range: Range<u64>) -> vesica_list::Result<Vec<u8>> {
        let failed = |error: io::Error| vesica_list::Error::Read(error.kind());
        let mut file =
            self.file.lock().map_err(|_| vesica_list::Error::Read(io::ErrorKind::Other))?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.seek(SeekFrom::Start(range.start)).map_err(failed)?;
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// Brings the copy of a list in the cache up to date, and opens it.
///
/// # Errors
/// [`Error::List`](crate::Error::List), those of the origin, and [`Error::Output`](crate::Error::Output) of the cache.
pub fn fetch(
    origin: &mut dyn Origin,
    fetching: &Fetching<'_>,
    observer: &dyn Observer,
) -> Result<List<StoredFile>> {
    let directory = fetching.cache.join(fetching.publisher.to_string());
    fs::create_dir_all(&directory).map_err(failed(&directory))?;
    let path = directory.join(HEAD);
    let known = match read_text(&path, LONGEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(Head::read(&read.map_err(failed(&path))?)?),
    };
    observer.phase("fetch");
    let text = origin.text(HEAD, LONGEST)?;
    let expected = Expectation {
        publisher: fetching.publisher.as_bytes(),
        now: Moment::now().seconds(),
        keys: fetching.keys,
        budget: fetching.budget,
        known: known.as_ref(),
    };
    let head = Head::accept(&text, &expected)?;
    if known.as_ref().is_none_or(|known| known.log != head.log) {
        let lines = origin.text(LOG, log::LONGEST)?;
        log::check(&lines, (head.log, head.state), known.as_ref().map(|known| &known.log))?;
    }
    let mut done = 0;
    for entry in &head.parts {
        part(origin, &directory, entry, &mut |bytes| {
            done += bytes;
            observer.progress(Progress::of(done, head.file_bytes(), Unit::Bytes));
        })?;
    }
    let files = head.parts.iter().map(|entry| {
        let path = directory.join(entry.file_name());
        let file = File::open(&path).map_err(failed(&path))?;
        Ok(StoredFile { file: Mutex::new(file) })
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let list = List::open(head.clone(), files)?;
    // The head is remembered once all of it is here and right.
    replace(&directory, &path, text.as_bytes())?;
    let needed: Vec<_> = head.parts.iter().map(Entry::file_name).collect();
    for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name != HEAD && !needed.contains(&name) {
            // What cannot be removed now will be later.
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(list)
}

/// Fetches a part unless it is there.
fn part(
    origin: &mut dyn Origin,
    directory: &Path,
    entry: &Entry,
    done: &mut dyn FnMut(u64),
) -> Result<()> {
    let whole = directory.join(entry.file_name());
    if fs::metadata(&whole).is_ok_and(|found| found.len() == entry.file_bytes()) {
        done(entry.file_bytes());
        return Ok(());
    }
    let path = whole.with_extension("partial");
    let (mut checker, from) = begun(&path, entry)?;
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
    fs::rename(&path, &whole).map_err(failed(&whole))
}

/// How far an interrupted download had come, and what checks the rest.
fn begun(path: &PathBuf, entry: &Entry) -> Result<(Checker, u64)> {
    let mut verified = 0;
    let mut checker = Checker::new(entry);
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
    let mut checker = Checker::new(entry);
    if let Ok(file) = File::open(path) {
        let mut file = file.take(verified);
        while let Ok(read @ 1..) = file.read(&mut buffer) {
            checker.push(&buffer[..read])?;
        }
    }
    let verified = checker.verified();
    Ok((checker, verified))
}

/// Asks for keys, and says which are in the list.
///
/// # Errors
/// [`Error::List`](crate::Error::List), and those of the origin.
pub fn ask(
    origin: &mut dyn Origin,
    list: &List<StoredFile>,
    keys: &[Digest],
    batch: usize,
    observer: &dyn Observer,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Option<Match>>> {
    observer.phase("ask");
    let head = list.head();
    let mut values = Vec::with_capacity(keys.len());
    for keys in keys.chunks(batch.clamp(1, MAX_QUESTION)) {
        let items = keys.iter().map(|key| item(key.as_bytes(), &head.public_key.0)).collect();
        let question = Question::new(items, head, rng)?;
        let answer = origin.ask(head.epoch, &question.bytes(), question.answer_bytes())?;
        values.extend(question.finish(&answer)?);
    }
    observer.progress(Progress::of(keys.len() as u64, keys.len() as u64, Unit::Rows));
    Ok(list.look_up(&values)?)
}

/// A list in a directory of this machine, which answers no questions: `public/` of a publisher, or a copy of it.
pub struct FromDirectory(pub PathBuf);

impl Origin for FromDirectory {
    fn text(&mut self, name: &str, longest: usize) -> Result<String> {
        let path = self.0.join(name);
        read_text(&path, longest).map_err(failed(&path))
    }

    fn bytes(
        &mut self,
        name: &str,
        from: u64,
        take: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let path = self.0.join(name);
        let mut file = File::open(&path).map_err(failed(&path))?;
        file.seek(SeekFrom::Start(from)).map_err(failed(&path))?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer).map_err(failed(&path))? {
                0 => return Ok(()),
                read => take(&buffer[..read])?,
            }
        }
    }

    fn ask(&mut self, _: u64, _: &[u8], _: usize) -> Result<Vec<u8>> {
        let place = self.0.display().to_string();
        let fault = "a directory answers no questions; say who does with --ask".to_owned();
        Err(crate::Error::Origin { place, fault })
    }
}
