//! Hashes modelled as random oracles, based on BLAKE3.

use crate::{
    Block,
    arch::{Backend, HASH_IV, HASH_KEYED, HASH_LANES},
};

/// Blocks of a row of [`RowHash`].
pub const ROW_BLOCKS: usize = 4;

/// The widest row that [`RowHash`] takes, in bits: the room in one compression of BLAKE3 beside a 48-bit index.
pub const MAX_ROW_BITS: usize = 464;

/// H(sid, j, row): the hash of an index and a row wider than a block.
///
/// Rows of an OT extension that share a secret Δ under a code need a hash that is robust against Hamming
/// correlations (KKRT16 §5.1), which a fixed-key cipher is not: this is BLAKE3 keyed by the session, over the
/// row's 464 bits and the 48-bit index, in one compression.
///
/// Rows of up to 512 bits leave no room for an index. For these the index is a position in BLAKE3's extended
/// output ([`RowHash::hash_wide`]), or they are first replaced by a digest ([`RowHash::shorten`]).
pub struct RowHash {
    key: [u32; 8],
    wide_key: [u32; 8],
    place_key: [u32; 8],
    backend: Backend,
}

/// A row with its index, ready for hashing.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexedRow([Block; ROW_BLOCKS]);

impl IndexedRow {
    /// Takes row `index` (of 48 bits), whose bits from [`MAX_ROW_BITS`] on must be 0.
    #[inline]
    pub fn new(index: u64, row: &[Block; ROW_BLOCKS]) -> Self {
        debug_assert!(row[3].0 >> (MAX_ROW_BITS - 384) == 0 && index >> 48 == 0);
        let mut indexed = *row;
        indexed[3].0 |= u128::from(index) << (MAX_ROW_BITS - 384);
        Self(indexed)
    }
}

impl RowHash {
    /// The hash for the session with this identifier.
    pub fn new(session: Block) -> Self {
        let key = |context| words(&blake3::derive_key(context, &session.to_bytes()));
        Self {
            key: key("vesica row hash v1"),
            wide_key: key("vesica wide row v1"),
            place_key: key("vesica row at a place v1"),
            backend: Backend::current(),
        }
    }

    /// Replaces each row by its digest of 256 bits, under a separate key of the session. For rows wider than
    /// [`MAX_ROW_BITS`], which leave no room for an index; finding two rows with the same digest takes 2^128
    /// steps.
    pub fn shorten(&self, rows: &mut [[Block; ROW_BLOCKS]]) {
        for rows in rows.chunks_mut(HASH_LANES) {
            let mut inputs = [[0; 16]; HASH_LANES];
            for (input, row) in inputs.iter_mut().zip(&*rows) {
                *input = bytemuck::cast(*row);
            }
            let lens = [size_of::<IndexedRow>() as u32; HASH_LANES];
            let (key, numbers) = (&self.wide_key, &[0; HASH_LANES]);
            let digests = self.backend.hash(key, HASH_KEYED, &inputs, &lens, numbers);
            for (row, digest) in rows.iter_mut().zip(digests) {
                let [low, high]: [Block; 2] = bytemuck::cast(digest);
                *row = [low, high, Block::ZERO, Block::ZERO];
            }
        }
    }

    /// Hashes each row with its index, of 58 bits, in one compression: the block of BLAKE3's output for the row, under
    /// a separate key of the session, that starts at byte 64·index. Positions of the output are as independent as
    /// positions of a random oracle's output.
    ///
    /// # Panics
    /// If the numbers of indices, outputs and rows differ.
    pub fn hash_wide(&self, rows: &[[Block; ROW_BLOCKS]], indices: &[u64], out: &mut [Block]) {
        assert_eq!(
            [indices.len(), out.len()],
            [rows.len(); 2],
            "an index and an output for each row"
        );
        let batches = rows.chunks(HASH_LANES).zip(indices.chunks(HASH_LANES));
        for ((rows, indices), out) in batches.zip(out.chunks_mut(HASH_LANES)) {
            let (mut inputs, mut numbers) = ([[0; 16]; HASH_LANES], [0; HASH_LANES]);
            for ((input, number), (row, index)) in
                inputs.iter_mut().zip(&mut numbers).zip(rows.iter().zip(indices))
            {
                (*input, *number) = (bytemuck::cast(*row), *index);
            }
            let lens = [size_of::<[Block; ROW_BLOCKS]>() as u32; HASH_LANES];
            let digests = self.backend.hash(&self.place_key, HASH_KEYED, &inputs, &lens, &numbers);
            for (out, digest) in out.iter_mut().zip(digests) {
                let [low, _]: [Block; 2] = bytemuck::cast(digest);
                *out = low;
            }
        }
    }

    /// Hashes each row.
    ///
    /// # Panics
    /// If the numbers of outputs and rows differ.
    pub fn hash(&self, rows: &[IndexedRow], out: &mut [Block]) {
        assert_eq!(rows.len(), out.len(), "an output for each row");
        for (rows, out) in rows.chunks(HASH_LANES).zip(out.chunks_mut(HASH_LANES)) {
            let mut inputs = [[0; 16]; HASH_LANES];
            for (input, row) in inputs.iter_mut().zip(rows) {
                *input = bytemuck::cast(row.0);
            }
            let lens = [size_of::<IndexedRow>() as u32; HASH_LANES];
            let (key, numbers) = (&self.key, &[0; HASH_LANES]);
            let digests = self.backend.hash(key, HASH_KEYED, &inputs, &lens, numbers);
            for (out, digest) in out.iter_mut().zip(digests) {
                let [low, _]: [Block; 2] = bytemuck::cast(digest);
                *out = low;
            }
        }
    }
}

/// The longest input of [`ShortHash`], in bytes.
pub const SHORT: usize = 64;

/// BLAKE3 of many short inputs: the same digests as the `blake3` crate's, several at a time.
pub struct ShortHash {
    key: [u32; 8],
    mode: u32,
    backend: Backend,
}

/// An input of [`ShortHash`].
#[derive(Debug, Clone, Copy)]
pub struct ShortInput {
    bytes: [u8; SHORT],
    len: u32,
}

impl ShortInput {
    /// An input with these bytes; `None` if there are more than [`SHORT`].
    pub fn new(input: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT];
        bytes.get_mut(..input.len())?.copy_from_slice(input);
        Some(Self { bytes, len: input.len() as u32 })
    }

    /// Appends an input with these bytes to others, unless there are more than [`SHORT`] bytes; returns whether it did.
    #[must_use]
    pub fn append(inputs: &mut Vec<Self>, input: &[u8]) -> bool {
        if input.len() > SHORT {
            return false;
        }
        // The bytes are written in place: moving an input that has just been filled stalls the processor.
        let at = inputs.len();
        inputs.push(Self { bytes: [0; SHORT], len: input.len() as u32 });
        inputs[at].bytes[..input.len()].copy_from_slice(input);
        true
    }
}

impl ShortHash {
    /// Inputs that are hashed at once; batches should be a multiple of it.
    pub const LANES: usize = HASH_LANES;

    /// `blake3::hash`.
    pub fn plain() -> Self {
        Self { key: HASH_IV, mode: 0, backend: Backend::current() }
    }

    /// `blake3::keyed_hash` with this key.
    pub fn keyed(key: &[u8; 32]) -> Self {
        Self { key: words(key), mode: HASH_KEYED, backend: Backend::current() }
    }

    /// Passes each input's digest to `show`, in order.
    pub fn hash(&self, inputs: impl Iterator<Item = ShortInput>, mut show: impl FnMut([u8; 32])) {
        let mut inputs = inputs.fuse();
        loop {
            let (mut blocks, mut lens) = ([[0; 16]; HASH_LANES], [0; HASH_LANES]);
            let mut filled = 0;
            for (lane, input) in inputs.by_ref().take(HASH_LANES).enumerate() {
                (blocks[lane], lens[lane]) = (bytemuck::cast(input.bytes), input.len);
                filled = lane + 1;
            }
            if filled == 0 {
                return;
            }
            let (key, numbers) = (&self.key, &[0; HASH_LANES]);
            let digests = self.backend.hash(key, self.mode, &blocks, &lens, numbers);
            digests[..filled].iter().for_each(|digest| show(bytemuck::cast(*digest)));
        }
    }
}

/// The words of a key.
fn words(key: &[u8; 32]) -> [u32; 8] {
    let (words, _) = key.as_chunks();
    std::array::from_fn(|i| u32::from_le_bytes(words[i]))
}

/// The first 128 bits of a digest.
pub fn truncate(digest: &blake3::Hash) -> Block {
    let (low, _) = digest.as_bytes().split_first_chunk().expect("a digest has 32 bytes");
    Block::from_bytes(*low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(session: Block, index: u64, row: &[Block; ROW_BLOCKS]) -> Block {
        let mut out = [Block::ZERO];
        RowHash::new(session).hash(&[IndexedRow::new(index, row)], &mut out);
        out[0]
    }

    #[test]
    fn every_input_matters() {
        let row = [Block(1), Block(2), Block(3), Block(4)];
        let base = hash(Block(1), 5, &row);
        assert_eq!(base, hash(Block(1), 5, &row));
        assert_ne!(base, hash(Block(2), 5, &row));
        assert_ne!(base, hash(Block(1), 6, &row));
        for bit in 0..MAX_ROW_BITS {
            let mut other = row;
            other[bit / 128].0 ^= 1 << (bit % 128);
            assert_ne!(base, hash(Block(1), 5, &other), "bit {bit}");
        }
    }

    #[test]
    fn wide_rows_are_shortened_under_a_key_of_their_own() {
        let rows: Vec<[Block; ROW_BLOCKS]> =
            (0..20).map(|i| [1, 2, 3, u128::MAX - 40].map(|x| Block(x + i))).collect();
        let mut short = rows.clone();
        RowHash::new(Block(9)).shorten(&mut short);
        let key = blake3::derive_key("vesica wide row v1", &Block(9).to_bytes());
        for (row, short) in rows.iter().zip(&short) {
            let digest = blake3::keyed_hash(&key, bytemuck::cast_slice(row));
            assert_eq!(bytemuck::cast_slice::<_, u8>(&short[..2]), digest.as_bytes());
            assert_eq!(short[2..], [Block::ZERO; 2]);
        }
    }

    #[test]
    fn wide_rows_take_the_place_of_their_index() {
        let rows: Vec<[Block; ROW_BLOCKS]> =
            (0..20).map(|i| [1, 2, 3, u128::MAX - 40].map(|x| Block(x + i))).collect();
        let indices: Vec<u64> = (0..20).map(|i| (i * i) << 31).collect();
        let mut out = [Block::ZERO; 20];
        RowHash::new(Block(9)).hash_wide(&rows, &indices, &mut out);
        let key = blake3::derive_key("vesica row at a place v1", &Block(9).to_bytes());
        for ((row, index), out) in rows.iter().zip(&indices).zip(out) {
            let mut hasher = blake3::Hasher::new_keyed(&key);
            let mut output = hasher.update(bytemuck::cast_slice(row)).finalize_xof();
            output.set_position(64 * index);
            let mut expected = [0; 16];
            output.fill(&mut expected);
            assert_eq!(out.to_bytes(), expected);
        }
    }

    #[test]
    fn short_inputs_are_hashed_as_any() {
        let bytes: Vec<u8> = (0..=SHORT as u8).collect();
        assert!(ShortInput::new(&bytes).is_none());
        let mut appended = Vec::new();
        assert!(!ShortInput::append(&mut appended, &bytes));
        assert!((0..=SHORT).all(|len| ShortInput::append(&mut appended, &bytes[..len])));
        let made =
            appended.iter().zip(0..).map(|(input, len)| (input.len, input.bytes[..len].to_vec()));
        assert!(made.eq((0..=SHORT).map(|len| (len as u32, bytes[..len].to_vec()))));
        assert!(
            appended.iter().all(|input| input.bytes[input.len as usize..].iter().all(|b| *b == 0))
        );
        for count in 0..=SHORT + 1 {
            let inputs = (0..count).map(|len| ShortInput::new(&bytes[..len]).unwrap());
            let (mut plain, mut keyed) = (Vec::new(), Vec::new());
            ShortHash::plain().hash(inputs.clone(), |digest| plain.push(digest));
            ShortHash::keyed(&[7; 32]).hash(inputs, |digest| keyed.push(digest));
            let expected = |len| *blake3::hash(&bytes[..len]).as_bytes();
            assert_eq!(plain, (0..count).map(expected).collect::<Vec<_>>());
            let expected = |len| *blake3::keyed_hash(&[7; 32], &bytes[..len]).as_bytes();
            assert_eq!(keyed, (0..count).map(expected).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_are_hashed_alike_in_any_company() {
        let rows: Vec<IndexedRow> =
            (0..30).map(|i| IndexedRow::new(i, &[Block(u128::from(i)); ROW_BLOCKS])).collect();
        let session = RowHash::new(Block(4));
        let mut all = [Block::ZERO; 30];
        session.hash(&rows, &mut all);
        for n in 0..30 {
            let mut some = vec![Block::ZERO; n];
            session.hash(&rows[..n], &mut some);
            assert_eq!(some, all[..n]);
        }
    }
}
