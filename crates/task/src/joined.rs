//! Rows of a join before they are written.

use std::borrow::Cow;

use vesica_core::error::Result;
use vesica_keyset::key_rows::KeyRows;
use vesica_psi::payload::Opened;
use vesica_table::{
    row_number::RowNumber,
    sent_columns::SentColumns,
    sent_types::SentType,
    written::{Matched, Received},
};

use crate::{
    interface::{Call, Content, Found},
    outcome::Outcome,
};

/// The rows of a join, and the number of their keys.
pub(super) struct Joined {
    /// The number of keys that both sides have.
    pub(super) matches: u64,
    /// The number of those keys whose payload cannot be read.
    pub(super) unreadable: u64,
    pub(super) rows: Matched,
}

impl Joined {
    /// Returns the result of a run.
    pub(super) fn found(self) -> Found {
        let outcome = Outcome {
            matches: Some(self.matches),
            rows_written: Some(self.rows.rows.len() as u64),
            unreadable: Some(self.unreadable),
            ..Outcome::default()
        };
        Found { outcome, content: Some(Content::Rows(self.rows)) }
    }
}

/// The payloads of the receiver's rows, in the order in which these are written.
struct HeldPayloads {
    sent: SentColumns,
    types: Vec<SentType>,
    opened: Opened,
    /// For each row, the number of its payload and of the sender's row in it; [`NOTHING`] if no readable payload came.
    of_rows: Vec<(u32, u32)>,
}

const NOTHING: (u32, u32) = (u32::MAX, 0);

/// Returns the receiver's rows with a shared key, once for each of the sender's rows with their key; if the call keeps
/// unmatched rows, also those, once each.
pub(super) fn joined(opened: Opened, call: Call, set: &KeyRows) -> Joined {
    let Call { sent, types, unmatched, .. } = call;
    let sent = sent.expect("a join sends columns");
    let mut payloads = vec![None; set.counts().used as usize];
    let mut unreadable = 0;
    for (nth, key) in opened.positions().iter().enumerate() {
        let rows = sent.rows_of(opened.payload(nth));
        unreadable += u64::from(rows.is_none());
        payloads[*key as usize] = Some((nth as u32, rows));
    }
    let (mut rows, mut of_rows) = (Vec::new(), Vec::new());
    for row in RowNumber::all(set.counts().read) {
        match set.key_of(row).and_then(|key| payloads[key.index()]) {
            Some((payload, Some(senders))) => {
                rows.extend(std::iter::repeat_n(row, senders));
                of_rows.extend((0..senders as u32).map(|sender| (payload, sender)));
            }
            Some((_, None)) => {
                rows.push(row);
                of_rows.push(NOTHING);
            }
            None if unmatched => {
                rows.push(row);
                of_rows.push(NOTHING);
            }
            None => {}
        }
    }
    let matches = opened.positions().len() as u64;
    let received =
        Some(Box::new(HeldPayloads { sent, types, opened, of_rows }) as Box<dyn Received>);
    Joined { matches, unreadable, rows: Matched { rows, received, ..Matched::default() } }
}

impl Received for HeldPayloads {
    fn names(&self) -> &[String] {
        &self.sent.columns
    }

    fn types(&self) -> &[SentType] {
        &self.types
    }

    fn values(&self, nth: usize) -> Result<Vec<Option<Cow<'_, str>>>> {
        let values = match self.of_rows[nth] {
            NOTHING => None,
            (payload, row) => self.sent.row(self.opened.payload(payload as usize), row as usize),
        };
        let borrowed = |value: Option<_>| value.map(Cow::Borrowed);
        Ok(match values {
            Some(values) => values.into_iter().map(borrowed).collect(),
            None => vec![None; self.sent.columns.len()],
        })
    }
}
