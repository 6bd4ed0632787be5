//! Pieces: the findings of one party in one partition, as bytes.
//!
//! Journals keep pieces, and tasks of a cluster return them. A party that finds nothing leaves no bytes. Numbers are
//! little-endian, with eight bytes unless stated otherwise.

use vesica_core::error::{Error, Result};
use vesica_keyset::{
    linked::{RowToken, TOKEN},
    partitions::item_bytes,
};
use vesica_primitives::Block;
use vesica_psi::{
    DigestLength, MAX_ITEMS, Set,
    aggregate::Share,
    select::{CellShares, Plan},
};
use vesica_table::{row_number::RowNumber, written::Numbering};
use zeroize::Zeroizing;

use crate::interface::Call;

/// The findings of one party in one partition.
pub trait Piece: Sized {
    /// The facts of a run on which the layout depends.
    type Layout;

    /// Returns the bytes, at least one.
    fn encode(self) -> Zeroizing<Vec<u8>>;

    /// Reads the bytes of a piece. Returns `None` for bytes that [`Piece::encode`] never makes in this layout.
    fn decode(bytes: &[u8], layout: &Self::Layout) -> Option<Self>;

    /// Reads the piece that a party left of a partition. Returns `None` if it found nothing.
    ///
    /// # Errors
    /// [`Error::Bug`] for any other bytes.
    fn read(bytes: &[u8], layout: &Self::Layout) -> Result<Option<Self>> {
        match bytes {
            [] => Ok(None),
            bytes => Self::decode(bytes, layout).map(Some).ok_or(Error::bug("a malformed piece")),
        }
    }
}

/// The matches of a partition, on a side that knows them.
///
/// Its bytes are the number of matches, the number for each identifier, the rows, and the number of each row if rows
/// have one. If the matches are still to be revealed, the highest bit of the first number is set, and their
/// items follow: all low halves, then all high halves.
#[derive(Clone, Default)]
pub struct RowsPiece {
    /// The number of matches.
    pub matches: u64,
    /// The number of matches of each identifier.
    pub of_identifiers: Vec<u64>,
    /// The rows with the matching keys.
    pub rows: Vec<RowNumber>,
    /// The number of each row, if rows have one: its match, counted from 1 in each partition, or its rule.
    pub ids: Option<Vec<u64>>,
    /// The items of the matches, if this side has yet to reveal them.
    pub unrevealed: Option<Set>,
}

/// The facts on which the layout of a [`RowsPiece`] depends.
#[derive(Debug, Clone, Copy)]
pub struct RowsLayout {
    /// The number of identifiers of a row.
    pub identifiers: usize,
    /// The numbers of rows, if they have any.
    pub numbering: Option<Numbering>,
    /// The rows of the table.
    pub rows: u64,
    /// The length of items.
    pub items: DigestLength,
}

impl RowsLayout {
    /// Returns the layout in a run.
    pub fn of(call: &Call, items: DigestLength) -> Self {
        let (identifiers, numbering) = (call.sides.identifiers, call.numbering);
        Self { identifiers, numbering, rows: call.rows, items }
    }
}

/// The flag of a number of matches that are still to be revealed.
const UNREVEALED: u64 = 1 << 63;

impl RowsPiece {
    /// Returns the piece of a side with one identifier per row that sees only the number of matches.
    pub fn counted(matches: u64) -> Self {
        Self { matches, of_identifiers: vec![matches], ..Self::default() }
    }
}

impl Piece for RowsPiece {
    type Layout = RowsLayout;

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let Self { matches, of_identifiers, rows, ids, unrevealed } = self;
        let mark = if unrevealed.is_some() { UNREVEALED } else { 0 };
        let numbers = [matches | mark].into_iter().chain(of_identifiers);
        let numbers =
            numbers.chain(rows.into_iter().map(RowNumber::get)).chain(ids.into_iter().flatten());
        let mut bytes = Zeroizing::new(numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>());
        if let Some(set) = unrevealed {
            let halves = set.items().low_halves().iter().chain(set.items().high_halves());
            halves.for_each(|half| bytes.extend_from_slice(&half.to_bytes()));
        }
        bytes
    }

    fn decode(bytes: &[u8], layout: &RowsLayout) -> Option<Self> {
        let (marked, rest) = number(bytes)?;
        let matches = marked & !UNREVEALED;
        let count = usize::try_from(matches).ok().filter(|count| *count <= MAX_ITEMS)?;
        let (of_identifiers, rest) = rest.split_at_checked(layout.identifiers.checked_mul(8)?)?;
        let of_identifiers: Vec<_> = numbers(of_identifiers)?.collect();
        let in_all = of_identifiers.iter().try_fold(0u64, |sum, some| sum.checked_add(*some));
        let (rest, unrevealed) = match marked & UNREVEALED {
            0 => (rest, None),
            _ => {
                let rows = rest.len().checked_sub(count * item_bytes(layout.items))?;
                let (rest, items) = rest.split_at(rows);
                (rest, Some(set(items, count, layout.items)))
            }
        };
        let all = rest.len() / size_of::<u64>();
        let rows = if layout.numbering.is_some() { all.div_ceil(2) } else { all };
        let (rows, ids) = rest.split_at(rows * size_of::<u64>());
        let rows: Vec<_> = numbers(rows)?.map(RowNumber::new).collect();
        let ids = Some(numbers(ids)?.collect::<Vec<_>>()).filter(|_| layout.numbering.is_some());
        let most = match layout.numbering {
            Some(Numbering::Rules) => layout.identifiers as u64,
            _ => matches,
        };
        let are_ids = ids.as_ref().is_none_or(|ids| {
            ids.len() == rows.len() && ids.iter().all(|id| (1..=most).contains(id))
        });
        let is_sound = in_all == Some(matches) && rows.iter().all(|row| row.get() < layout.rows);
        (is_sound && are_ids).then_some(Self { matches, of_identifiers, rows, ids, unrevealed })
    }
}

/// Reads items: this number of low halves, and as many high halves if items have them.
fn set(bytes: &[u8], count: usize, length: DigestLength) -> Set {
    let (blocks, _) = bytes.as_chunks();
    let mut low: Vec<_> = blocks.iter().map(|bytes| Block::from_bytes(*bytes)).collect();
    let high = low.split_off(count);
    match length {
        DigestLength::Short => Set::short(low),
        DigestLength::Long => Set::long(low, high),
    }
}

/// The rows of a join that a receiver found in a partition.
///
/// Its bytes are the number of matches, the number of matches whose payload cannot be read, and the records.
pub struct JoinPiece {
    /// The number of matches.
    pub matches: u64,
    /// The number of matches whose payload cannot be read.
    pub unreadable: u64,
    /// A record for each written row: the place of its key among the keys of all of the receiver's rows; by rules, the
    /// token of the sender's row; and its values, or zeros if they cannot be read. By rules, there is one record for
    /// each match, and only some of their rows are written.
    pub records: Zeroizing<Vec<u8>>,
}

/// The facts on which the layout of a [`JoinPiece`] depends.
#[derive(Debug, Clone, Copy)]
pub struct JoinLayout {
    /// Bytes of the token of a row of the sender; 0 unless rules make the keys.
    pub token: usize,
    /// Bytes of a row's values.
    pub values: usize,
    /// The rows of the receiver's table.
    pub rows: u64,
    /// The number of keys of a row.
    pub identifiers: usize,
}

impl JoinLayout {
    /// Returns the layout in a run.
    pub(crate) fn of(call: &Call) -> Self {
        let values = call.sent.as_ref().map_or(0, |sent| sent.bytes as usize);
        let token = if call.is_by_rules() { TOKEN } else { 0 };
        Self { token, values, rows: call.rows, identifiers: call.sides.identifiers }
    }

    /// Returns the bytes of a record.
    pub fn record(&self) -> usize {
        size_of::<u64>() + self.token + self.values
    }

    /// Reads a record of this length.
    pub(crate) fn read<'a>(&self, record: &'a [u8]) -> JoinRecord<'a> {
        let (place, rest) = number(record).unwrap_or((u64::MAX, &[]));
        let (token, values) = rest.split_at(self.token);
        let of_row = self.identifiers as u64;
        let (row, rule) = (RowNumber::new(place / of_row), (place % of_row) as usize);
        JoinRecord { row, rule, token: token.try_into().unwrap_or_default(), values }
    }
}

/// A record of a [`JoinPiece`].
pub(crate) struct JoinRecord<'a> {
    /// The receiver's row.
    pub(crate) row: RowNumber,
    /// The number of the identifier or the rule, counted from 0.
    pub(crate) rule: usize,
    /// The token of the sender's row; zeros if it has none.
    pub(crate) token: RowToken,
    /// The values of the sender's row.
    pub(crate) values: &'a [u8],
}

impl Piece for JoinPiece {
    type Layout = JoinLayout;

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let head = [self.matches, self.unreadable].map(u64::to_le_bytes);
        Zeroizing::new([head.as_flattened(), &self.records].concat())
    }

    fn decode(bytes: &[u8], layout: &JoinLayout) -> Option<Self> {
        let (matches, rest) = number(bytes)?;
        let (unreadable, records) = number(rest)?;
        let mut all = records.chunks_exact(layout.record());
        let are_rows = all.all(|record| layout.read(record).row.get() < layout.rows);
        let is_whole = records.len().is_multiple_of(layout.record());
        let is_sound = unreadable <= matches && matches <= MAX_ITEMS as u64;
        let records = Zeroizing::new(records.to_vec());
        (are_rows && is_whole && is_sound).then_some(Self { matches, unreadable, records })
    }
}

/// A share of the number that a partition adds to the result.
///
/// Its bytes are three numbers of sixteen bytes.
pub struct NumberPiece {
    /// The share.
    pub share: Share,
    /// The number of this side's keys whose values were clamped.
    pub clamped: u64,
}

impl Piece for NumberPiece {
    type Layout = ();

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let Self { share, clamped } = self;
        Zeroizing::new([share.count, share.sum, clamped.into()].map(u128::to_le_bytes).concat())
    }

    fn decode(bytes: &[u8], (): &()) -> Option<Self> {
        let ([count, sum, clamped], []) = bytes.as_chunks() else { return None };
        let [count, sum, clamped] = [count, sum, clamped].map(|bytes| u128::from_le_bytes(*bytes));
        Some(Self { share: Share { count, sum }, clamped: clamped.try_into().ok()? })
    }
}

/// A share of the cells that a partition adds to the answer of a query.
///
/// Its bytes are two numbers of eight bytes, and the share.
pub struct CellsPiece {
    /// The share.
    pub shares: CellShares,
    /// The numbers of this side's keys that count differently than they are.
    pub left: Left,
}

/// The numbers of a side's keys that count differently than they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Left {
    /// The number of keys with clamped values.
    pub clamped: u64,
    /// The number of keys whose rows a filter leaves out.
    pub filtered: u64,
}

/// The facts on which the layout of a [`CellsPiece`] depends.
#[derive(Debug, Clone)]
pub struct CellsLayout {
    /// The plan of the query.
    pub plan: Plan,
}

impl Piece for CellsPiece {
    type Layout = CellsLayout;

    fn encode(self) -> Zeroizing<Vec<u8>> {
        let Self { shares, left: Left { clamped, filtered } } = self;
        let head = [clamped, filtered].map(u64::to_le_bytes);
        Zeroizing::new([head.as_flattened(), shares.as_bytes()].concat())
    }

    fn decode(bytes: &[u8], layout: &CellsLayout) -> Option<Self> {
        let (clamped, rest) = number(bytes)?;
        let (filtered, rest) = number(rest)?;
        let shares = CellShares::from_bytes(&layout.plan, rest)?;
        Some(Self { shares, left: Left { clamped, filtered } })
    }
}

/// The lines of a partition's bins in a file of shares, each without the number of its bin.
pub struct BinsPiece {
    /// The lines, each with its end.
    pub lines: Zeroizing<Vec<u8>>,
}

impl Piece for BinsPiece {
    /// The number of bins.
    type Layout = usize;

    fn encode(self) -> Zeroizing<Vec<u8>> {
        self.lines
    }

    fn decode(bytes: &[u8], bins: &usize) -> Option<Self> {
        let ends = bytes.iter().filter(|byte| **byte == b'\n').count();
        let is_whole = ends == *bins && bytes.last() == Some(&b'\n');
        is_whole.then(|| Self { lines: Zeroizing::new(bytes.to_vec()) })
    }
}

/// Reads a number, and returns it with the bytes that follow.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u64::from_le_bytes(*number), rest))
}

/// Reads numbers to the end.
fn numbers(bytes: &[u8]) -> Option<impl Iterator<Item = u64>> {
    let (numbers, []) = bytes.as_chunks() else { return None };
    Some(numbers.iter().map(|number| u64::from_le_bytes(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: RowsLayout =
        RowsLayout { identifiers: 1, numbering: None, rows: 10, items: DigestLength::Short };

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().copied().flat_map(u64::to_le_bytes).collect()
    }

    /// Asserts that these bytes are read and written again, and that no part of a number is left over.
    fn goes_round<P: Piece>(bytes: &[u8], layout: &P::Layout) {
        let piece = P::decode(bytes, layout).unwrap();
        assert_eq!(*piece.encode(), bytes);
        for len in (0..bytes.len()).filter(|len| len % 8 != 0) {
            assert!(P::decode(&bytes[..len], layout).is_none(), "{len}");
        }
        assert!(P::decode(&[bytes, &[0]].concat(), layout).is_none());
    }

    #[test]
    fn pieces_of_rows_go_round_by_table() {
        let numbered = RowsLayout { numbering: Some(Numbering::Matches), ..PLAIN };
        let several = RowsLayout { identifiers: 3, ..PLAIN };
        let by_rules = RowsLayout { numbering: Some(Numbering::Rules), ..several };
        for (layout, numbers) in [
            (PLAIN, &[0, 0][..]),
            (PLAIN, &[2, 2, 9, 0, 4]),
            (numbered, &[2, 2, 7, 8, 3, 1, 1, 2]),
            (several, &[3, 1, 0, 2, 5]),
            (by_rules, &[1, 0, 0, 1, 5, 3]),
        ] {
            goes_round::<RowsPiece>(&words(numbers), &layout);
        }
        let counted = RowsPiece::counted(5);
        assert_eq!(*counted.encode(), words(&[5, 5]));
        let piece = RowsPiece::decode(&words(&[2, 2, 7, 8, 3, 1, 1, 2]), &numbered).unwrap();
        assert_eq!(
            (piece.rows, piece.ids),
            ([7, 8, 3].map(RowNumber::new).to_vec(), Some(vec![1, 1, 2]))
        );
    }

    #[test]
    fn unrevealed_pieces_have_the_items() {
        for (items, length) in [(32, DigestLength::Short), (64, DigestLength::Long)] {
            let layout = RowsLayout { items: length, ..PLAIN };
            let items: Vec<u8> = (0..items).collect();
            let bytes = [words(&[2 | UNREVEALED, 2, 3]), items.clone()].concat();
            goes_round::<RowsPiece>(&bytes, &layout);
            let piece = RowsPiece::decode(&bytes, &layout).unwrap();
            assert_eq!((piece.matches, &piece.rows[..]), (2, &[RowNumber::new(3)][..]));
            let set = piece.unrevealed.unwrap();
            assert_eq!(set.items().low_halves()[1].to_bytes(), items[16..32]);
            assert!(RowsPiece::decode(&bytes[..bytes.len() - 16], &layout).is_none());
        }
    }

    #[test]
    fn malformed_pieces_of_rows_are_refused() {
        let numbered = RowsLayout { numbering: Some(Numbering::Matches), ..PLAIN };
        let by_rules = RowsLayout { numbering: Some(Numbering::Rules), identifiers: 3, ..PLAIN };
        for (why, layout, numbers) in [
            ("a row that is not in the table", PLAIN, &[1, 1, 10][..]),
            ("matches of no identifier", PLAIN, &[2, 1, 0]),
            ("no identifiers", PLAIN, &[0]),
            ("a sum that overflows", RowsLayout { identifiers: 2, ..PLAIN }, &[1, u64::MAX, 2]),
            ("more matches than there are items", PLAIN, &[1 << 40, 1 << 40]),
            ("more items than bytes", PLAIN, &[3 | UNREVEALED, 3, 1, 1]),
            ("a row without the number of its match", numbered, &[1, 1, 4]),
            ("a match that is not there", numbered, &[1, 1, 4, 2]),
            ("a match 0", numbered, &[1, 1, 4, 0]),
            ("a rule that is not there", by_rules, &[3, 1, 1, 1, 4, 5, 6, 1, 2, 4]),
            ("a rule 0", by_rules, &[1, 0, 1, 0, 5, 0]),
        ] {
            assert!(RowsPiece::decode(&words(numbers), &layout).is_none(), "{why}");
        }
        assert!(RowsPiece::read(&[], &PLAIN).unwrap().is_none());
        let error = RowsPiece::read(&[1], &PLAIN).err().unwrap();
        assert!(matches!(error, Error::Bug { .. }), "{error}");
    }

    #[test]
    fn pieces_of_joins_go_round_and_are_checked() {
        let layout = JoinLayout { token: 0, values: 8, rows: 10, identifiers: 1 };
        goes_round::<JoinPiece>(&words(&[2, 1, 9, 77, 9, 78]), &layout);
        goes_round::<JoinPiece>(&words(&[0, 0]), &layout);
        let piece = JoinPiece::decode(&words(&[2, 1, 9, 77]), &layout).unwrap();
        let row = layout.read(&piece.records).row.get();
        assert_eq!((piece.matches, piece.unreadable, row), (2, 1, 9));
        let by_rules = JoinLayout { token: TOKEN, identifiers: 4, ..layout };
        goes_round::<JoinPiece>(&words(&[1, 0, 39, 5, 6, 77]), &by_rules);
        let piece = JoinPiece::decode(&words(&[1, 0, 39, 5, 6, 77]), &by_rules).unwrap();
        let JoinRecord { row, rule, token, values } = by_rules.read(&piece.records);
        assert_eq!((row.get(), rule), (9, 3));
        assert_eq!((&token[..], values), (&words(&[5, 6])[..], &words(&[77])[..]));
        assert!(JoinPiece::decode(&words(&[1, 0, 40, 5, 6, 77]), &by_rules).is_none());
        for (why, numbers) in [
            ("a row that is not in the table", &[1, 0, 10, 77][..]),
            ("half a record", &[1, 0, 9]),
            ("half a head", &[1]),
            ("more unreadable than matches", &[1, 2]),
            ("more matches than there are items", &[1 << 40, 0]),
        ] {
            assert!(JoinPiece::decode(&words(numbers), &layout).is_none(), "{why}");
        }
    }

    #[test]
    fn pieces_of_numbers_go_round_and_are_checked() {
        goes_round::<NumberPiece>(&words(&[1, 2, 3, 4, 5, 0]), &());
        for numbers in [&[1, 2, 3, 4, 5, 6][..], &[1, 2, 3, 4], &[0; 8]] {
            assert!(NumberPiece::decode(&words(numbers), &()).is_none(), "{numbers:?}");
        }
    }

    #[test]
    fn pieces_of_bins_go_round_and_are_checked() {
        goes_round::<BinsPiece>(b",1\n,0,7\n", &2);
        for (lines, bins) in [(&b",1\n"[..], 2), (b",1\n\n\n", 2), (b",1\n,0", 1), (b"", 0)] {
            assert!(BinsPiece::decode(lines, &bins).is_none(), "{lines:?}");
        }
    }
}
