//! Sums of vectors, and of several at a time; see [`crate::block::sums_by_bit`].
//!
//! Plain additions of words, which compilers vectorise if they can. Words, because they do not vectorise over 128-bit
//! integers.

use crate::Block;

/// The largest number of streams that [`sums_by_bit`] adds up.
pub const MAX_STREAMS: usize = 8;

/// Adds `from` to `to`, block by block, up to the end of the shorter slice. Inlined into the backend that it is
/// compiled for.
#[inline(always)]
pub fn add_to(to: &mut [Block], from: &[Block]) {
    let (to, from): (&mut [u64], &[u64]) =
        (bytemuck::cast_slice_mut(to), bytemuck::cast_slice(from));
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= from);
}

/// See [`crate::block::sums_by_bit`], for `S` streams, a power of two, from block `first` of each on.
pub fn sums_by_bit<const S: usize>(
    streams: &[Block],
    columns: &mut [Block],
    total: &mut [Block],
    first: usize,
) {
    let len = total.len();
    for at in first..len {
        let mut x = [Block::ZERO; MAX_STREAMS];
        for (i, x) in x[..S].iter_mut().enumerate() {
            *x = streams[i * len + at];
        }
        // First the streams, then the sums of pairs, and so on.
        let mut count = S;
        let mut column = at;
        while count > 1 {
            let odd = x[..count].iter().skip(1).step_by(2);
            if let Some(sum) = columns.get_mut(column) {
                odd.for_each(|x| *sum ^= *x);
            }
            count /= 2;
            for i in 0..count {
                x[i] = x[2 * i] ^ x[2 * i + 1];
            }
            column += len;
        }
        total[at] = x[0];
    }
}
