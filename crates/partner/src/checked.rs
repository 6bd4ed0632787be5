//! The part of a ledger that was checked before, so that a run reads only the lines after it.
//!
//! It is a file beside the ledger, written when there is much to read again, under a keyed hash of this side's identity: nobody
//! else can make one. Without it all lines are read. `vesica ledger verify` reads all lines in any case.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use vesica_net::Identity;
use vesica_table::output::{Access, Output};

use super::{entry::Head, history::History};

/// Bytes of lines that are worth not reading again.
pub(super) const WORTHWHILE: u64 = 1 << 16;

/// Lines that were checked.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Checked {
    /// The last of them.
    pub(super) head: Head,
    /// Where they end in the ledger.
    pub(super) end: u64,
    /// What their runs come to.
    pub(super) history: History,
}

impl Checked {
    /// The part of this ledger, which has so many bytes, that was checked before; nothing where that is not known.
    ///
    /// # Errors
    /// A sentence where the ledger is shorter than it was.
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
                "it is missing or shorter than it was: {} says that it had {} lines. Put the ledger back; if it is lost, \
                 remove {} and make new agreements, since rules count what the ledger says",
                path.display(),
                checked.head.lines,
                path.display()
            )),
        }
    }

    /// Keeps it for the next run. If that fails, the next run reads more.
    pub(super) fn keep(&self, ledger: &Path, me: &Identity) {
        let Ok(content) = serde_json::to_string(self) else { return };
        let text = format!("{}\n{content}", mac_of(&content, me).to_hex());
        let written = Output::prepare(&beside(ledger), Access::Owner);
        let staged = written.and_then(|output| output.stage(|out| out.write_all(text.as_bytes())));
        let _ = staged.and_then(|staged| staged.commit());
    }
}

/// The file beside a ledger.
fn beside(ledger: &Path) -> PathBuf {
    let mut name = ledger.file_name().unwrap_or_default().to_owned();
    name.push(".checked");
    ledger.with_file_name(name)
}

fn mac_of(content: &str, me: &Identity) -> blake3::Hash {
    blake3::keyed_hash(&me.derive("vesica 1 checked part of a ledger"), content.as_bytes())
}
