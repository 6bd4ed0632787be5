//! Matching rows, partition by partition.
//!
//! A side that learns at the end has no piece until then; the piece of a side that reveals its matches at the end
//! contains their items.

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::{key_number::KeyNumber, key_rows::KeyRows, partitions::Partition};
use vesica_net::Channel;
use vesica_psi::reveal;
use vesica_table::{
    row_number::RowNumber,
    written::{Matched, Numbering},
};

use crate::{
    aligned::matched,
    by_rules::LinkedRows,
    gather::FoundPieces,
    interface::{Call, Content, Found},
    outcome::Outcome,
    piece::RowsPiece,
};

/// Returns the piece of a partition with these matches.
pub(super) fn piece(
    matches: &[u32],
    call: &Call,
    partition: &Partition,
    is_revealed: bool,
) -> RowsPiece {
    let Partition { set, items, rows, .. } = partition;
    let mut of_identifiers = vec![0u64; call.sides.identifiers];
    let identifiers = rows.identifiers_of(set, KeyNumber::at_all(matches));
    identifiers.into_iter().for_each(|identifier| of_identifiers[identifier] += 1);
    let matched = matched(matches, call.numbering, items.items(), set);
    let ids = match call.numbering {
        // Each row of a partition stands for one rule.
        Some(Numbering::Rules) => {
            let rules = matched.rows.iter().map(|row| rows.identifier(*row) as u64 + 1);
            Some(rules.collect())
        }
        _ => matched.ids,
    };
    RowsPiece {
        matches: matches.len() as u64,
        of_identifiers,
        rows: matched.rows.iter().map(|row| rows.row(*row)).collect(),
        ids,
        unrevealed: (!is_revealed).then(|| items.items().at(matches)),
    }
}

/// Returns the positions of the keys whose rows are among these, which are ascending. `row` names the row of the table
/// that a row of the set stands for.
pub(super) fn positions(
    rows: &[RowNumber],
    set: &KeyRows,
    row: impl Fn(RowNumber) -> RowNumber,
) -> Vec<u32> {
    let first_rows = set.first_rows();
    let keys = (0..).zip(first_rows.iter());
    let found = keys.filter(|(_, first)| rows.binary_search(&row(*first)).is_ok());
    found.map(|(position, _)| position).collect()
}

/// Returns the number of matches in all pieces, by rules of rows; `None` if this side does not know the matches of some
/// partition.
pub(super) fn matches(pieces: &FoundPieces<RowsPiece>, call: &Call) -> Result<Option<u64>> {
    if call.numbering == Some(Numbering::Rules) {
        let mut all = Gathered::new(call);
        for piece in pieces.iter() {
            let Some(piece) = piece? else { return Ok(None) };
            all.add(piece);
        }
        return Ok(all.found().outcome.counted());
    }
    let mut all = Some(0);
    for piece in pieces.iter() {
        all = all.zip(piece?).map(|(all, piece)| all + piece.matches);
    }
    Ok(all)
}

/// Reveals the matches that have not been revealed with their partition.
pub(super) fn reveal(
    pieces: &FoundPieces<RowsPiece>,
    call: &Call,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    for piece in pieces.iter() {
        let Some(set) = piece?.and_then(|piece| piece.unrevealed) else { continue };
        let told = reveal::tell(set.items(), call.request.setting(), channel, rng);
        told.map_err(|error| Error::of_protocol(error, channel))?;
    }
    Ok(())
}

/// Returns the piece of a partition whose matches the other side reveals at the end.
pub(super) fn learn(
    partition: &Partition,
    call: &Call,
    channel: &mut Channel,
) -> Result<RowsPiece> {
    let learned = reveal::learn(partition.items.items(), call.request.setting(), channel);
    let matches = learned.map_err(|error| Error::of_protocol(error, channel))?;
    Ok(piece(&matches, call, partition, true))
}

/// The matches in the partitions so far.
pub(super) struct Gathered<'a> {
    call: &'a Call,
    matches: Option<u64>,
    /// The number of matches of each identifier.
    of_identifiers: Vec<u64>,
    rows: Vec<RowNumber>,
    /// The number of each row, if rows have numbers.
    ids: Option<Vec<u64>>,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(call: &'a Call) -> Self {
        Self {
            call,
            matches: None,
            of_identifiers: vec![0; call.sides.identifiers],
            rows: Vec::new(),
            ids: call.numbering.map(|_| Vec::new()),
        }
    }

    /// Adds the matches of the next partition.
    pub(super) fn add(&mut self, piece: RowsPiece) {
        let before = self.matches.unwrap_or_default();
        self.matches = Some(before + piece.matches);
        let are_rules = self.call.numbering == Some(Numbering::Rules);
        let before = if are_rules { 0 } else { before };
        let counts = self.of_identifiers.iter_mut().zip(piece.of_identifiers);
        counts.for_each(|(all, some)| *all += some);
        self.rows.extend(piece.rows);
        if let Some((all, some)) = self.ids.as_mut().zip(piece.ids) {
            all.extend(some.into_iter().map(|id| id + before));
        }
    }

    /// Returns the result of all partitions.
    pub(super) fn found(self) -> Found {
        let Self { call, matches, of_identifiers, mut rows, ids } = self;
        let several = matches.filter(|_| of_identifiers.len() > 1);
        let matches_of_identifiers = several.map(|_| of_identifiers);
        let mut outcome = Outcome { matches, matches_of_identifiers, ..Outcome::default() };
        let matched = match ids {
            Some(rules) if call.numbering == Some(Numbering::Rules) => {
                let linked = LinkedRows::gathered(rows, &rules);
                if matches.is_some() {
                    linked.count(call.sides.identifiers, &mut outcome);
                }
                linked.into_matched(call.wanted)
            }
            Some(ids) => Matched { rows, ids: Some(ids), ..Matched::default() },
            None => {
                rows.sort_unstable();
                // A row may match by several of its identifiers.
                rows.dedup();
                Matched { rows, ..Matched::default() }
            }
        };
        outcome.rows_written = matches.map(|_| matched.rows.len() as u64);
        let content = matches.map(|_| Content::Rows(matched));
        Found { outcome, content }
    }
}
