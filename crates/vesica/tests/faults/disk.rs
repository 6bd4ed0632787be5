//! A file system that fails as planned: the files are real, and calls on them are refused.
//!
//! A plan applies to the directory of one party. It names the call that fails by its kind and its number, counted from
//! the first, so that it does not depend on a clock.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, Once, PoisonError},
};

use vesica::internal::{Call, watch_calls};

/// The kind of a call, regardless of the number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Open,
    Read,
    Write,
    Cut,
    Sync,
    Name,
    Remove,
}

impl Kind {
    fn of(call: Call) -> Self {
        match call {
            Call::Open => Self::Open,
            Call::Read(_) => Self::Read,
            Call::Write(_) => Self::Write,
            Call::Cut => Self::Cut,
            Call::Sync => Self::Sync,
            Call::Name => Self::Name,
            Call::Remove => Self::Remove,
        }
    }

    /// Returns the errors that the system may return for a call of this kind.
    pub fn errors(self) -> &'static [Errno] {
        match self {
            Self::Open => &[Errno::EIO, Errno::EMFILE, Errno::ENOSPC, Errno::EACCES],
            Self::Read | Self::Sync | Self::Remove => &[Errno::EIO],
            Self::Write => &[Errno::ENOSPC, Errno::EIO],
            Self::Cut | Self::Name => &[Errno::EIO, Errno::ENOSPC],
        }
    }
}

/// An error of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(clippy::upper_case_acronyms)]
pub enum Errno {
    EIO = 5,
    EACCES = 13,
    EMFILE = 24,
    ENOSPC = 28,
}

/// A call that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// The kind of call.
    pub kind: Kind,
    /// Its number among calls of this kind, counted from 0.
    pub number: u64,
    /// The error that the system returns.
    pub error: Errno,
    /// Whether every later call of this kind fails too, as on a disk that stays full.
    pub lasts: bool,
}

/// The behaviour of a party's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Plan {
    /// The seed by which calls move fewer bytes than requested and are interrupted by signals, if they are.
    pub short: Option<u64>,
    /// The call that fails.
    pub failure: Option<Failure>,
}

/// The calls on a party's files so far.
#[derive(Debug, Clone, Default)]
pub struct Happened {
    /// Calls of each kind.
    pub calls: BTreeMap<Kind, u64>,
    /// The kinds of calls that failed.
    pub failed: BTreeMap<Kind, u64>,
}

#[derive(Default)]
struct State {
    plan: Plan,
    happened: Happened,
    interrupted: bool,
}

/// The file systems of all running parties, by their directories and by their streams.
static STATES: Mutex<BTreeMap<PathBuf, State>> = Mutex::new(BTreeMap::new());
static STREAMS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// A party's file system, which is removed when it is dropped.
pub struct Disk(PathBuf);

impl Disk {
    /// Creates the file system for the files in this directory.
    pub fn new(directory: &Path, plan: Plan) -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| watch_calls(decide));
        let state = State { plan, ..State::default() };
        lock(&STATES).insert(directory.to_owned(), state);
        Self(directory.to_owned())
    }

    /// Adds this stream.
    pub fn add_stream(&self, path: &Path) {
        lock(&STREAMS).insert(path.to_owned(), self.0.clone());
    }

    /// Returns the calls so far.
    pub fn happened(&self) -> Happened {
        lock(&STATES)[&self.0].happened.clone()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        lock(&STATES).remove(&self.0);
        lock(&STREAMS).retain(|_, directory| *directory != self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decide(path: &Path, call: Call) -> io::Result<usize> {
    let stream = lock(&STREAMS).get(path).cloned();
    let path = stream.as_deref().unwrap_or(path);
    let mut states = lock(&STATES);
    let state = path.ancestors().find(|place| states.contains_key(*place));
    let whole = match call {
        Call::Read(len) | Call::Write(len) => len,
        _ => 0,
    };
    match state.and_then(|place| states.get_mut(place)) {
        Some(state) => state.decide(Kind::of(call), whole),
        None => Ok(whole),
    }
}

impl State {
    fn decide(&mut self, kind: Kind, whole: usize) -> io::Result<usize> {
        let calls = self.happened.calls.entry(kind).or_insert(0);
        let number = *calls;
        if let Some(seed) = self.plan.short.filter(|_| whole > 0) {
            let choice = mixed(seed ^ mixed(number ^ (kind as u64) << 40));
            // A signal interrupts each call at most once.
            self.interrupted = !self.interrupted && choice.is_multiple_of(8);
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
        *calls += 1;
        let fails = |failure: &Failure| {
            failure.kind == kind
                && (failure.number == number || failure.lasts && failure.number < number)
        };
        if let Some(failure) = self.plan.failure.filter(fails) {
            *self.happened.failed.entry(kind).or_insert(0) += 1;
            return Err(io::Error::from_raw_os_error(failure.error as i32));
        }
        let Some(seed) = self.plan.short else { return Ok(whole) };
        let choice = mixed(seed ^ mixed(number ^ (kind as u64) << 40)) >> 8;
        // Half of the calls move all bytes, the others any part of them.
        Ok(if choice.is_multiple_of(2) || whole == 0 {
            whole
        } else {
            1 + (choice >> 1) as usize % whole
        })
    }
}

/// The finaliser of SplitMix64.
fn mixed(mut x: u64) -> u64 {
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 30)).wrapping_mul(factor);
        x ^= x >> 27;
    }
    x ^ (x >> 31)
}
