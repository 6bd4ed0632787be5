//! Rows that match, partition by partition.
//!
//! A piece has the number of matches, how many of them are of each identifier, the rows, and where matches are numbered the
//! number of each row. A side that learns at the end has an empty piece until then; the side that has yet to reveal its
//! matches marks the first number and ends the piece with their items.

use rand::CryptoRng;
use vesica_core::error::{Error, Result};
use vesica_keyset::partitions::{Partition, item_bytes};
use vesica_net::Channel;
use vesica_primitives::Block;
use vesica_psi::{DigestLength, Items, Protocol, Set, reveal};
use vesica_table::{pieces::Pieces, written::Matched};
use zeroize::Zeroizing;

use super::{
    aligned::matched,
    interface::{Call, Content, Found},
    outcome::Outcome,
};

/// Marks the number of matches that are yet to be revealed.
const UNREVEALED: u64 = 1 << 63;

/// The piece of a partition with these matches.
pub(super) fn piece(
    matches: &[u32],
    call: &Call,
    partition: &Partition,
    is_revealed: bool,
) -> Zeroizing<Vec<u8>> {
    let Partition { set, items, rows, .. } = partition;
    let mut of_identifiers = vec![0u64; call.sides.identifiers];
    let identifiers = rows.identifiers_of(set, matches);
    identifiers.into_iter().for_each(|identifier| of_identifiers[identifier] += 1);
    let matched = matched(matches, call.aligned, items.items(), set);
    let matched_rows = matched.rows.iter().map(|row| rows.row(*row));
    let mark = if is_revealed { 0 } else { UNREVEALED };
    let numbers = [matches.len() as u64 | mark].into_iter().chain(of_identifiers);
    let numbers = numbers.chain(matched_rows).chain(matched.ids.into_iter().flatten());
    let mut piece = Zeroizing::new(numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
    if !is_revealed {
        let shared = items.items().at(matches);
        let (low, high) = (shared.items().low_halves(), shared.items().high_halves());
        low.iter().chain(high).for_each(|half| piece.extend_from_slice(&half.to_bytes()));
    }
    piece
}

/// The matches in all pieces; `None` where this side does not know those of some partition.
pub(super) fn matches(pieces: &Pieces) -> Result<Option<u64>> {
    let mut all = Some(0);
    for piece in pieces.iter() {
        all = all.zip(first(&piece?)).map(|(all, number)| all + (number & !UNREVEALED));
    }
    Ok(all)
}

fn first(piece: &[u8]) -> Option<u64> {
    piece.first_chunk().map(|first| u64::from_le_bytes(*first))
}

/// Reveals the matches that have not been revealed with their partition.
pub(super) fn reveal(
    pieces: &Pieces,
    (protocol, call): (&Protocol, &Call),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<()> {
    for piece in pieces.iter() {
        let piece = piece?;
        let Some(number) = first(&piece).filter(|number| number & UNREVEALED != 0) else {
            continue;
        };
        let set = items_of(&piece, number & !UNREVEALED, protocol.digest)
            .ok_or(Error::bug("a piece that is not of rows"))?;
        let told = reveal::tell(set.items(), call.request.setting(), channel, rng);
        told.map_err(|error| Error::of_protocol(error, channel))?;
    }
    Ok(())
}

/// The items at the end of a piece.
fn items_of(piece: &[u8], matches: u64, length: DigestLength) -> Option<Set> {
    let matches = usize::try_from(matches).ok()?;
    let start = piece.len().checked_sub(matches.checked_mul(item_bytes(length))?)?;
    let (blocks, _) = piece[start..].as_chunks();
    let mut low: Vec<_> = blocks.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
    let high = low.split_off(matches);
    Some(match length {
        DigestLength::Short => Set::short(low),
        DigestLength::Long => Set::long(low, high),
    })
}

/// The piece of a partition whose matches the other side reveals at the end.
pub(super) fn learn(
    partition: &Partition,
    call: &Call,
    channel: &mut Channel,
) -> Result<Zeroizing<Vec<u8>>> {
    let items: Items<'_> = partition.items.items();
    let learned = reveal::learn(items, call.request.setting(), channel);
    let matches = learned.map_err(|error| Error::of_protocol(error, channel))?;
    Ok(piece(&matches, call, partition, true))
}

/// What was found in the partitions so far.
pub(super) struct Gathered {
    matches: Option<u64>,
    /// How many of them are of each identifier.
    of_identifiers: Vec<u64>,
    rows: Vec<u64>,
    /// Where matches are numbered, the number of each row.
    ids: Option<Vec<u64>>,
    /// Bytes of the items of a match.
    item: usize,
}

impl Gathered {
    pub(super) fn new(call: &Call, length: DigestLength) -> Self {
        Self {
            matches: None,
            of_identifiers: vec![0; call.sides.identifiers],
            rows: Vec::new(),
            ids: call.aligned.then(Vec::new),
            item: item_bytes(length),
        }
    }

    /// Takes what was found in the next partition.
    ///
    /// # Errors
    /// [`Error::Bug`] for bytes that are no piece.
    pub(super) fn add(&mut self, piece: &[u8]) -> Result<()> {
        self.try_add(piece).ok_or(Error::bug("a piece that is not of rows"))
    }

    fn try_add(&mut self, piece: &[u8]) -> Option<()> {
        let Some(marked) = first(piece) else { return piece.is_empty().then_some(()) };
        let matches = marked & !UNREVEALED;
        let items = match marked & UNREVEALED {
            0 => 0,
            _ => usize::try_from(matches).ok()?.checked_mul(self.item)?,
        };
        let (numbers, rest) = piece[..piece.len().checked_sub(items)?].as_chunks();
        let mut numbers = numbers.iter().skip(1).map(|number| u64::from_le_bytes(*number));
        if !rest.is_empty() {
            return None;
        }
        let before = self.matches.unwrap_or_default();
        self.matches = Some(before + matches);
        for of_identifier in &mut self.of_identifiers {
            *of_identifier += numbers.next()?;
        }
        let Some(ids) = &mut self.ids else {
            self.rows.extend(numbers);
            return Some(());
        };
        let rows = numbers.len() / 2;
        self.rows.extend(numbers.by_ref().take(rows));
        ids.extend(numbers.map(|id| id + before));
        (ids.len() == self.rows.len()).then_some(())
    }

    /// The result of all partitions.
    pub(super) fn found(self) -> Found {
        let Self { matches, of_identifiers, mut rows, ids, .. } = self;
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
