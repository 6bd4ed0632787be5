//! Matching rows, partition by partition.
//!
//! A side that learns at the end has no piece until then; the piece of a side that reveals its matches at the end
//! contains their items.

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::{key_number::KeyNumber, partitions::Partition};
use vesica_net::Channel;
use vesica_psi::reveal;
use vesica_table::{row_number::RowNumber, written::Matched};

use crate::{
    aligned::matched,
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
    let matched = matched(matches, call.aligned, items.items(), set);
    RowsPiece {
        matches: matches.len() as u64,
        of_identifiers,
        rows: matched.rows.iter().map(|row| rows.row(*row)).collect(),
        ids: matched.ids,
        unrevealed: (!is_revealed).then(|| items.items().at(matches)),
    }
}

/// Returns the number of matches in all pieces; `None` if this side does not know the matches of some partition.
pub(super) fn matches(pieces: &FoundPieces<RowsPiece>) -> Result<Option<u64>> {
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
pub(super) struct Gathered {
    matches: Option<u64>,
    /// The number of matches of each identifier.
    of_identifiers: Vec<u64>,
    rows: Vec<RowNumber>,
    /// The number of each row, if matches are numbered.
    ids: Option<Vec<u64>>,
}

impl Gathered {
    pub(super) fn new(call: &Call) -> Self {
        Self {
            matches: None,
            of_identifiers: vec![0; call.sides.identifiers],
            rows: Vec::new(),
            ids: call.aligned.then(Vec::new),
        }
    }

    /// Adds the matches of the next partition.
    pub(super) fn add(&mut self, piece: RowsPiece) {
        let before = self.matches.unwrap_or_default();
        self.matches = Some(before + piece.matches);
        let counts = self.of_identifiers.iter_mut().zip(piece.of_identifiers);
        counts.for_each(|(all, some)| *all += some);
        self.rows.extend(piece.rows);
        if let Some((all, some)) = self.ids.as_mut().zip(piece.ids) {
            all.extend(some.into_iter().map(|id| id + before));
        }
    }

    /// Returns the result of all partitions.
    pub(super) fn found(self) -> Found {
        let Self { matches, of_identifiers, mut rows, ids } = self;
        if ids.is_none() {
            rows.sort_unstable();
            // A row may match by several of its identifiers.
            rows.dedup();
        }
        let several = matches.filter(|_| of_identifiers.len() > 1);
        let outcome = Outcome {
            matches,
            matches_of_identifiers: several.map(|_| of_identifiers),
            rows_written: matches.map(|_| rows.len() as u64),
            ..Outcome::default()
        };
        let content = matches.map(|_| Content::Rows(Matched { rows, ids, received: None }));
        Found { outcome, content }
    }
}
