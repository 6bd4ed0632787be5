//! Readers of foreign bytes without a public entry point, for the fuzz targets (`crates/fuzz-targets`).
//!
//! This is neither a feature nor behind `cfg(fuzzing)`: the tests that replay the corpus of the targets run the crate
//! as shipped, and these functions only forward to functions of a run.

use std::{fs, path::Path};

use vesica_agree::offer::WireOffer;
use vesica_core::{
    error::{Error, Result},
    moment::Moment,
    of_others::OfOthers,
};
use vesica_keyset::profile::Profile;
use vesica_net::{Certificate, Channel, Identity, transport::memory};
use vesica_partner::{
    entry::{Entry, LedgerEvent, LedgerHead},
    ledger::{self, Ledger},
};
use vesica_run::journal::{Journal, JournalSecret, Kind, Resume};
use vesica_table::{
    row_number::RowNumber,
    rows::Table,
    written::{Matched, Unwritten},
};

pub use vesica_gateway::decoders::{answer as gateway_answer, question as gateway_question};

/// Writes all rows of a table.
///
/// # Errors
/// The errors of the second reading of a table.
pub fn written(table: &Table) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let rows = RowNumber::all(table.len()).collect();
    let matched = Matched { rows, ..Matched::default() };
    match table.write(&matched, None, &mut out, |_| {}) {
        Ok(()) => Ok(out),
        Err(Unwritten::Input(error)) => Err(error),
        Err(Unwritten::Output(_)) => Err(Error::bug("memory can be written")),
    }
}

/// Reads an offer in its wire form, and returns its canonical form.
///
/// # Errors
/// The errors of a malformed offer, and of an offer of another version.
pub fn offer(bytes: &[u8]) -> Result<Vec<u8>> {
    let (end, _other) = memory::pair();
    let offer = WireOffer::decode(bytes, &Channel::new(end))?;
    serde_json::to_vec(&offer).map_err(|_| Error::bug("terms have no JSON"))
}

/// Reads a profile of keys with this many columns, and returns its canonical form; `None` for anything else.
pub fn profile(bytes: &[u8], columns: usize) -> Option<Vec<u8>> {
    Some(Profile::decode(bytes, columns)?.encode())
}

/// Reads a ledger of this party, and returns the number and hash of its newest line.
///
/// # Errors
/// [`Error::Ledger`].
pub fn ledger(text: &str, of: &Certificate) -> Result<LedgerHead> {
    Ok(Ledger::new("ledger").check_all(text, of)?.1)
}

/// Returns a ledger of this party with these events, each given as JSON.
pub fn ledger_of<'a>(events: impl Iterator<Item = &'a str>, me: &Identity) -> Option<String> {
    let mut text = String::new();
    for event in events {
        let event: LedgerEvent = serde_json::from_str(event).ok()?;
        let head = Ledger::new("ledger").check_all(&text, &me.certificate()).ok()?.1;
        let entry = Entry {
            number: head.lines,
            previous: head.hash,
            time: "2026-01-01T00:00:00Z".parse::<Moment>().ok()?,
            agreement: String::new(),
            name: String::new(),
            peer: OfOthers::One(String::new()),
            owner: None,
            event,
        };
        text += &ledger::line(entry, me)?;
    }
    Some(text)
}

/// Reads a journal with this content completely, and returns the number of partitions that are done.
///
/// # Errors
/// [`Error::Journal`].
pub fn journal(content: &[u8], me: &Identity) -> Result<u64> {
    in_folder(me, |resume| {
        fs::write(&resume.journal, content).map_err(|_| Error::bug("a file can be written"))?;
        read_journal(resume)
    })
}

/// Reads a journal with these records, each of a kind and content, as [`journal`] does.
///
/// # Errors
/// [`Error::Journal`].
pub fn journal_of(records: &[(u8, Vec<u8>)], me: &Identity) -> Result<u64> {
    in_folder(me, |resume| {
        let mut journal = Journal::open(resume)?;
        for (kind, content) in records {
            if let Some(kind) = Kind::of(*kind) {
                journal.write(kind, content)?;
            }
        }
        drop(journal);
        read_journal(resume)
    })
}

fn in_folder<T>(me: &Identity, read: impl FnOnce(&Resume) -> Result<T>) -> Result<T> {
    // Uses memory if the system has such a place: the content of a journal is small, and there are many.
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let folder = folder.map_err(|_| Error::bug("a folder can be made"))?;
    read(&Resume { journal: folder.path().join("journal"), secret: JournalSecret::of(me) })
}

fn read_journal(resume: &Resume) -> Result<u64> {
    let mut journal = Journal::open(resume)?;
    let done = journal.done();
    let Some((run, begun)) = journal.found().cloned() else { return Ok(done) };
    journal.begun(&run)?;
    let mut shown = 0;
    journal.begin(run, begun, done, |_| {
        shown += 1;
        Ok(())
    })?;
    assert_eq!((shown, journal.done()), (done, done), "every piece is read");
    drop(journal);
    // The attempt that began is recorded, and nothing is lost.
    let again = Journal::open(resume)?.done();
    assert_eq!(
        again, done,
        "the number of partitions is the same when the journal is opened again"
    );
    Ok(done)
}
