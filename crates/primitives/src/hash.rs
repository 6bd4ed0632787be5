//! Hashes modelled as random oracles, over BLAKE3.

use crate::Block;

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
pub struct RowHash([u8; 32]);

impl RowHash {
    /// The hash of the session with this identifier.
    pub fn new(session: Block) -> Self {
        Self(blake3::derive_key("vesica row hash v1", &session.to_bytes()))
    }

    /// Hashes row `index`, of which the bits from [`MAX_ROW_BITS`] on must be 0.
    pub fn hash(&self, index: u64, row: &[Block; ROW_BLOCKS]) -> Block {
        debug_assert!(row[3].0 >> (MAX_ROW_BITS - 384) == 0 && index >> 48 == 0);
        let mut input = *row;
        input[3].0 |= u128::from(index) << (MAX_ROW_BITS - 384);
        let digest = blake3::keyed_hash(&self.0, bytemuck::bytes_of(&input));
        truncate(&digest)
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

    #[test]
    fn every_input_matters() {
        let row = [Block(1), Block(2), Block(3), Block(4)];
        let base = RowHash::new(Block(1)).hash(5, &row);
        assert_eq!(base, RowHash::new(Block(1)).hash(5, &row));
        assert_ne!(base, RowHash::new(Block(2)).hash(5, &row));
        assert_ne!(base, RowHash::new(Block(1)).hash(6, &row));
        for bit in 0..MAX_ROW_BITS {
            let mut other = row;
            other[bit / 128].0 ^= 1 << (bit % 128);
            assert_ne!(base, RowHash::new(Block(1)).hash(5, &other), "bit {bit}");
        }
    }
}
