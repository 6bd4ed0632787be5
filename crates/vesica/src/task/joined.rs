//! Rows of a join before they are written.

use vesica_psi::payload::Opened;

use crate::{keys::keyset::KeySet, table::sent_columns::SentColumns};

/// The receiver's rows whose keys both sides have, and what came with them.
pub(crate) struct Joined {
    /// The rows, counted from 0 and ascending.
    rows: Vec<u32>,
    /// For each of them, which payload is its key's.
    payloads: Vec<u32>,
    opened: Opened,
}

impl Joined {
    pub(crate) fn new(opened: Opened, set: &KeySet) -> Self {
        let rows = set.rows_of(opened.positions());
        let of_row = |row: &u32| {
            let key = set.key_of(*row);
            opened.positions().partition_point(|position| *position < key) as u32
        };
        let payloads = rows.iter().map(of_row).collect();
        Self { rows, payloads, opened }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Each row with the values of the columns sent; with `None` where they cannot be read.
    pub(crate) fn rows<'a>(
        &'a self,
        sent: &'a SentColumns,
    ) -> impl Iterator<Item = (u32, Option<Vec<&'a str>>)> + 'a {
        let payloads = self.payloads.iter().map(|nth| self.opened.payload(*nth as usize));
        self.rows.iter().copied().zip(payloads.map(|payload| sent.read(payload)))
    }

    /// Of how many keys what was sent cannot be read.
    pub(crate) fn unreadable(&self, sent: &SentColumns) -> u64 {
        let payloads = (0..self.opened.positions().len()).map(|i| self.opened.payload(i));
        payloads.filter(|payload| sent.read(payload).is_none()).count() as u64
    }
}
