//! Sums of 32-bit words in 64 bits; see [`crate::WordSums`].
//!
//! Plain loops over words, which compilers vectorise.

use crate::Block;

/// Adds the words of blocks to sums of their own, and to the totals of words 0 to 3. Words 0 and 2 of a block have
/// places in `even`, words 1 and 3 in `odd`; both are as long as the blocks have halves.
pub fn add(even: &mut [u64], odd: &mut [u64], blocks: &[Block], totals: &mut [u64; 4]) {
    let halves: &[[u64; 2]] = bytemuck::cast_slice(blocks);
    let words = halves.as_flattened();
    for ((even, odd), word) in even.iter_mut().zip(odd).zip(words) {
        *even = even.wrapping_add(word & u64::from(u32::MAX));
        *odd = odd.wrapping_add(word >> 32);
    }
    let sum = |word: fn(u64) -> u64| {
        halves.iter().fold([0; 2], |sum: [u64; 2], halves| {
            [sum[0].wrapping_add(word(halves[0])), sum[1].wrapping_add(word(halves[1]))]
        })
    };
    let (even, odd) = (sum(|half| half & u64::from(u32::MAX)), sum(|half| half >> 32));
    for (total, sum) in totals.iter_mut().zip([even[0], odd[0], even[1], odd[1]]) {
        *total = total.wrapping_add(sum);
    }
}

/// Adds one vector for each mask, where the mask is all ones. `values` holds these vectors, of `len` words, one after
/// another; the sums are for their words from `first` on.
pub fn add_masked(sums: &mut [u64], first: usize, len: usize, values: &[u64], masks: &[u64]) {
    if sums.is_empty() {
        return;
    }
    for (values, mask) in values.chunks_exact(len).zip(masks) {
        for (sum, value) in sums.iter_mut().zip(&values[first..]) {
            *sum = sum.wrapping_add(value & mask);
        }
    }
}

/// Adds `pattern`, by exclusive or, to the sections of `blocks` of its length whose mask is all ones. Inlined into the
/// backend that it is compiled for.
#[inline(always)]
pub fn xor_masked(blocks: &mut [Block], pattern: &[Block], masks: &[u64]) {
    let pattern: &[u64] = bytemuck::cast_slice(pattern);
    let blocks: &mut [u64] = bytemuck::cast_slice_mut(blocks);
    for (section, mask) in blocks.chunks_exact_mut(pattern.len()).zip(masks) {
        section.iter_mut().zip(pattern).for_each(|(half, pattern)| *half ^= pattern & mask);
    }
}
