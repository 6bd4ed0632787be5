//! The part of a ledger that was checked before, so that a run only reads the lines after it.
//!
//! This is a file beside the ledger, written when there are many lines to read again. It is authenticated by a keyed
//! hash of this side's identity, so nobody else can make one. Without it all lines are read. `vesica ledger verify`
//! reads all lines in any case.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use vesica_net::Identity;
use vesica_table::output::{Access, Output};

use super::{entry::LedgerHead, history::History};

/// The length of lines, in bytes, from which it is worth not reading them again.
pub(super) const WORTHWHILE: u64 = 1 << 16;

/// Lines that were checked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checked {
    /// The newest of them.
    pub(super) head: LedgerHead,
    /// The offset of their end in the ledger.
    pub(super) end: u64,
    /// The history of their runs.
    pub(super) history: History,
}

impl Checked {
    /// Reads the part of this ledger that was checked before; an empty part if that is unknown. `len` is the ledger's
    /// length in bytes.
    ///
    /// # Errors
    /// A sentence if the ledger is shorter than before.
    pub(super) fn read(ledger: &Path, me: &Identity, len: u64) -> Result<Self, String> {
        let path = beside(ledger);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(_) => String::new(),
        };
        let (mac, content) = text.split_once('\n').unwrap_or_default();
        let is_mine = blake3::Hash::from_hex(mac).is_ok_and(|mac| mac == mac_of(content, me));
        let Some(checked) = is_mine.then(|| serde_json::from_str::<Self>(content).ok()).flatten()
        else {
            return Ok(Self::default());
        };
        match checked.end <= len {
            true => Ok(checked),
            false => Err(format!(
                "it is missing or shorter than before: {} says that it had {} lines. Restore the ledger; if it is lost, \
                 remove {} and make new agreements, since rules count the runs in the ledger",
                path.display(),
                checked.head.lines,
                path.display()
            )),
        }
    }

    /// Writes it for the next run. If that fails, the next run reads more.
    pub(super) fn keep(&self, ledger: &Path, me: &Identity) {
        let Ok(content) = serde_json::to_string(self) else { return };
        let text = format!("{}\n{content}", mac_of(&content, me).to_hex());
        let written = Output::prepare(&beside(ledger), Access::Owner);
        let staged = written.and_then(|output| output.stage(|out| out.write_all(text.as_bytes())));
        let _ = staged.and_then(|staged| staged.commit());
    }
}

/// Returns the path of the file beside a ledger.
fn beside(ledger: &Path) -> PathBuf {
    let mut name = ledger.file_name().unwrap_or_default().to_owned();
    name.push(".checked");
    ledger.with_file_name(name)
}

fn mac_of(content: &str, me: &Identity) -> blake3::Hash {
    blake3::keyed_hash(&me.derive("vesica 1 checked part of a ledger"), content.as_bytes())
}
