//! Transposition of a 128 × 128 bit matrix by halving: swap the off-diagonal quarters, then do the
//! same inside each quarter.

use crate::Block;

/// Transposes in place: bit `c` of row `r` is swapped with bit `r` of row `c`.
pub fn transpose(rows: &mut [Block; 128]) {
    let halves: &mut [[u64; 2]; 128] = bytemuck::cast_mut(rows);
    // Halves of 64: the upper right and the lower left quarter are swapped as a whole.
    let (top, bottom) = halves.split_at_mut(64);
    for (above, below) in top.iter_mut().zip(bottom) {
        std::mem::swap(&mut above[1], &mut below[0]);
    }
    swap_quarters::<32>(halves, 0x0000_0000_ffff_ffff);
    swap_quarters::<16>(halves, 0x0000_ffff_0000_ffff);
    swap_quarters::<8>(halves, 0x00ff_00ff_00ff_00ff);
    swap_quarters::<4>(halves, 0x0f0f_0f0f_0f0f_0f0f);
    swap_quarters::<2>(halves, 0x3333_3333_3333_3333);
    swap_quarters::<1>(halves, 0x5555_5555_5555_5555);
}

/// In each diagonal square of 2·SIZE bits, swaps the upper right with the lower left quarter. `low` selects the
/// lower half of each group of 2·SIZE bits.
fn swap_quarters<const SIZE: usize>(rows: &mut [[u64; 2]; 128], low: u64) {
    for square in rows.chunks_exact_mut(2 * SIZE) {
        let (top, bottom) = square.split_at_mut(SIZE);
        for (above, below) in top.iter_mut().zip(bottom) {
            for lane in 0..2 {
                let differ = ((above[lane] >> SIZE) ^ below[lane]) & low;
                above[lane] ^= differ << SIZE;
                below[lane] ^= differ;
            }
        }
    }
}
