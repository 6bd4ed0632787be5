//! Sums of many blocks.

use super::Block;
use crate::arch::Backend;

/// Adds `from` to `to`, block by block.
///
/// # Panics
/// If they differ in length.
pub fn add_to(to: &mut [Block], from: &[Block]) {
    assert_eq!(to.len(), from.len(), "as many blocks");
    Backend::current().add_to(to, from);
}

/// The sum of blocks.
pub fn sum(blocks: &[Block]) -> Block {
    // Words, because compilers do not vectorize over 128-bit integers.
    let words: &[[u64; 2]] = bytemuck::cast_slice(blocks);
    let sum = words.iter().fold([0; 2], |sum, word| [sum[0] ^ word[0], sum[1] ^ word[1]]);
    bytemuck::cast(sum)
}

/// Adds the sum of the streams whose number has bit b to column b, and writes the sum of all of them to `total`. There
/// are two, four or eight streams, one after the other, each as long as `total`, as are columns. Columns that do not
/// fit are dropped.
///
/// # Panics
/// If there are other numbers of streams.
pub fn sums_by_bit(streams: &[Block], columns: &mut [Block], total: &mut [Block]) {
    let (backend, len) = (Backend::current(), total.len());
    match streams.len() {
        blocks if blocks == 2 * len => backend.sums_by_bit::<2>(streams, columns, total),
        blocks if blocks == 4 * len => backend.sums_by_bit::<4>(streams, columns, total),
        blocks if blocks == 8 * len => backend.sums_by_bit::<8>(streams, columns, total),
        blocks => panic!("{blocks} blocks are not two, four or eight streams of {len}"),
    }
}
