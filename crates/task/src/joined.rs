//! Rows of a join before they are written.

use std::borrow::Cow;

use vesica_core::error::Result;
use vesica_keyset::{
    key_number::KeyNumber,
    key_rows::KeyRows,
    linked::{RowToken, TOKEN},
};
use vesica_psi::payload::Opened;
use vesica_table::{
    row_number::RowNumber,
    sent_columns::SentColumns,
    sent_types::SentType,
    written::{Matched, Numbering, Received},
};

use crate::{
    interface::{Call, Content, Found},
    one_to_one::OneToOne,
    outcome::Outcome,
};

/// The rows of a join, and the number of their keys.
pub(super) struct Joined {
    /// The number of keys that both sides have.
    pub(super) matches: u64,
    /// The number of those keys whose payload cannot be read.
    pub(super) unreadable: u64,
    /// The numbers of each rule, if rules make the keys.
    pub(super) of_rules: Option<OfRules>,
    pub(super) rows: Matched,
}

/// The numbers of each rule.
pub(super) struct OfRules {
    /// Keys that both sides have.
    pub(super) matches: Vec<u64>,
    /// Rows that are linked.
    pub(super) rows: Vec<u64>,
}

impl OfRules {
    pub(super) fn new(rules: usize) -> Self {
        Self { matches: vec![0; rules], rows: vec![0; rules] }
    }
}

impl Joined {
    /// Returns the result of a run.
    pub(super) fn found(self) -> Found {
        let (matches, rows) = self.of_rules.map(|of| (of.matches, of.rows)).unzip();
        let outcome = Outcome {
            matches: Some(self.matches),
            matches_of_identifiers: matches.filter(|matches| matches.len() > 1),
            rows_of_rules: rows,
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
    /// Bytes before the values in a payload.
    skip: usize,
    /// For each row, the number of its payload and of the sender's row in it; [`NOTHING`] if no readable payload came.
    of_rows: Vec<(u32, u32)>,
}

const NOTHING: (u32, u32) = (u32::MAX, 0);

/// Returns the receiver's rows with a shared key, once for each of the sender's rows with their key; if the call keeps
/// unmatched rows, also those, once each. By rules, returns linked rows.
pub(super) fn joined(opened: Opened, call: Call, set: &KeyRows) -> Joined {
    if call.is_by_rules() {
        return linked(opened, call, set);
    }
    let Call { sent, types, wanted, .. } = call;
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
            None if wanted.unmatched => {
                rows.push(row);
                of_rows.push(NOTHING);
            }
            None => {}
        }
    }
    let matches = opened.positions().len() as u64;
    let received = HeldPayloads { sent, types, opened, skip: 0, of_rows };
    let received = Some(Box::new(received) as Box<dyn Received>);
    let rows = Matched { rows, received, ..Matched::default() };
    Joined { matches, unreadable, of_rules: None, rows }
}

/// A match by a rule, counted from 0, of the first of the receiver's rows with this key.
struct LinkCandidate {
    rule: usize,
    row: RowNumber,
    payload: u32,
}

/// Returns the token at the beginning of a payload.
pub(super) fn token_of(payload: &[u8]) -> RowToken {
    *payload.first_chunk().expect("a payload has a token")
}

/// Returns the receiver's rows that are linked with a row of the sender; if the call keeps unmatched rows, also the
/// others.
fn linked(opened: Opened, call: Call, set: &KeyRows) -> Joined {
    let Call { sent, types, wanted, sides, .. } = call;
    let sent = sent.expect("a join sends columns");
    let mut payloads = vec![None; set.counts().used as usize];
    let mut unreadable = 0;
    for (nth, key) in opened.positions().iter().enumerate() {
        unreadable += u64::from(sent.rows_of(&opened.payload(nth)[TOKEN..]).is_none());
        // Random keys that hide a table's gaps come after the others, and no row has them.
        if let Some(payload) = payloads.get_mut(*key as usize) {
            *payload = Some(nth as u32);
        }
    }
    let keyed = set.first_places().zip(payloads);
    let keyed = keyed.filter_map(|(place, payload)| payload.map(|payload| (place, payload)));
    let candidate = |(place, payload)| {
        let row = RowNumber::at(place / sides.identifiers);
        LinkCandidate { rule: place % sides.identifiers, row, payload }
    };
    let mut candidates: Vec<_> = keyed.map(candidate).collect();
    candidates.sort_by_key(|candidate| candidate.rule);
    let mut links = OneToOne::new(set.counts().read);
    candidates.retain(|candidate| {
        let token = token_of(opened.payload(candidate.payload as usize));
        wanted.by_rule(candidate.rule) && links.link(candidate.row, token)
    });
    let matches = set.keys_of_identifiers(KeyNumber::at_all(opened.positions()));
    let mut of_rules = OfRules { matches, ..OfRules::new(sides.identifiers) };
    candidates.iter().for_each(|candidate| of_rules.rows[candidate.rule] += 1);
    candidates.sort_unstable_by_key(|candidate| candidate.row);
    let mut found = candidates.into_iter().peekable();
    let (mut rows, mut ids, mut of_rows) = (Vec::new(), Vec::new(), Vec::new());
    for row in RowNumber::all(set.counts().read) {
        let found = found.next_if(|candidate| candidate.row == row);
        if found.is_none() && !wanted.unmatched {
            continue;
        }
        let is_read =
            |payload: &u32| sent.rows_of(&opened.payload(*payload as usize)[TOKEN..]).is_some();
        let payload = found.as_ref().map(|found| found.payload).filter(is_read);
        of_rows.push(payload.map_or(NOTHING, |payload| (payload, 0)));
        ids.push(found.map_or(0, |found| found.rule as u64 + 1));
        rows.push(row);
    }
    let matches = opened.positions().len() as u64;
    let received = HeldPayloads { sent, types, opened, skip: TOKEN, of_rows };
    let received = Some(Box::new(received) as Box<dyn Received>);
    let rows = Matched { rows, ids: Some(ids), numbering: Numbering::Rules, received };
    Joined { matches, unreadable, of_rules: Some(of_rules), rows }
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
            (payload, row) => {
                let payload = &self.opened.payload(payload as usize)[self.skip..];
                self.sent.row(payload, row as usize)
            }
        };
        let borrowed = |value: Option<_>| value.map(Cow::Borrowed);
        Ok(match values {
            Some(values) => values.into_iter().map(borrowed).collect(),
            None => vec![None; self.sent.columns.len()],
        })
    }
}
