//! A hash of blocks by AES under a separate key for each index.

use super::aes;
use crate::Block;

/// Replaces each x of row `i` by π(σ(x)) ⊕ σ(x), where π is AES under `session` ⊕ (`first` + i) and
/// σ(high ‖ low) = (high ⊕ low) ‖ high.
pub fn hash<const N: usize>(session: Block, first: u128, rows: &mut [[Block; N]]) {
    for (row, index) in rows.iter_mut().zip(first..) {
        let keys = aes::expand(session ^ Block(index));
        let inputs = row.map(orthomorphism);
        *row = inputs;
        aes::encrypt(&keys, row);
        row.iter_mut().zip(inputs).for_each(|(image, input)| *image ^= input);
    }
}

fn orthomorphism(x: Block) -> Block {
    Block(u128::from(x.high() ^ x.low()) << 64 | u128::from(x.high()))
}
