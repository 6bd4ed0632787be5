//! Hashes modelled as random oracles, over BLAKE3.

use crate::{
    Block,
    arch::{Backend, HASH_LANES},
};

/// Blocks of a row of [`RowHash`].
pub const ROW_BLOCKS: usize = 4;

/// The widest row that [`RowHash`] takes, in bits: what one compression of BLAKE3 leaves beside a
/// 48-bit index.
pub const MAX_ROW_BITS: usize = 464;

/// H(sid, j, row): the hash of a row wider than a block and its index.
///
/// Rows of an OT extension that share a secret Δ under a code need a hash that is robust against
/// Hamming correlations (KKRT16 §5.1), which a fixed-key cipher is not: this is BLAKE3 keyed by the
/// session, over the row's 464 bits and the 48-bit index, in one compression.
pub struct RowHash {
    key: [u32; 8],
    backend: Backend,
}

/// A row with its index, ready to be hashed.
#[derive(Debug, Clone, Copy, Default)]
pub struct IndexedRow([Block; ROW_BLOCKS]);

impl IndexedRow {
    /// Takes row `index` (of 48 bits), of which the bits from [`MAX_ROW_BITS`] on must be 0.
    #[inline]
    pub fn new(index: u64, row: &[Block; ROW_BLOCKS]) -> Self {
        debug_assert!(row[3].0 >> (MAX_ROW_BITS - 384) == 0 && index >> 48 == 0);
        let mut indexed = *row;
        indexed[3].0 |= u128::from(index) << (MAX_ROW_BITS - 384);
        Self(indexed)
    }
}

impl RowHash {
    /// The hash of the session with this identifier.
    pub fn new(session: Block) -> Self {
        let key = blake3::derive_key("vesica row hash v1", &session.to_bytes());
        let (words, _) = key.as_chunks();
        let key = std::array::from_fn(|i| u32::from_le_bytes(words[i]));
        Self { key, backend: Backend::current() }
    }

    /// Hashes each row.
    ///
    /// # Panics
    /// If there are not as many outputs as rows.
    pub fn hash(&self, rows: &[IndexedRow], out: &mut [Block]) {
        assert_eq!(rows.len(), out.len(), "an output for each row");
        for (rows, out) in rows.chunks(HASH_LANES).zip(out.chunks_mut(HASH_LANES)) {
            let mut inputs = [[0; 16]; HASH_LANES];
            for (input, row) in inputs.iter_mut().zip(rows) {
                *input = bytemuck::cast(row.0);
            }
            let digests = self.backend.keyed_hash(&self.key, &inputs);
            for (out, digest) in out.iter_mut().zip(digests) {
                *out = bytemuck::cast(digest);
            }
        }
    }
}

/// The first 128 bits of a digest.
pub fn truncate(digest: &blake3::Hash) -> Block {
    let (head, _) = digest.as_bytes().split_first_chunk().expect("a digest has 32 bytes");
    Block::from_bytes(*head)
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
