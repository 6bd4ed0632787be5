//! Sorting of values that are uniformly distributed over a range, such as hashes.

use bytemuck::Zeroable;
use vesica_primitives::threads;

use crate::buckets::{Buckets, cut, put};

/// Average number of elements per bucket: small enough to be sorted in the first-level cache.
const BUCKET: usize = 256;

/// Buckets that are sorted together.
const TASK: usize = 16;

/// Sorts by a `bits`-bit key (1 to 128 bits). Fast if keys are uniformly distributed, correct in any case.
pub fn by_uniform_key<T: Copy + Send + Sync + Zeroable>(
    values: &mut Vec<T>,
    bits: u32,
    key: impl Fn(&T) -> u128 + Sync,
) {
    *values = sorted(values.len(), bits, |i| values[i], key);
}

/// Returns the results of `make` for 0 to `len` − 1, sorted as in [`by_uniform_key`]. `make` is called twice for each
/// number, and must return the same value.
pub fn sorted<T: Copy + Send + Sync + Zeroable>(
    len: usize,
    bits: u32,
    make: impl Fn(usize) -> T + Sync,
    key: impl Fn(&T) -> u128 + Sync,
) -> Vec<T> {
    let bucket_bits = (len / BUCKET).max(1).ilog2().min(bits);
    let bucket = |value: &T| (key(value) >> (bits - bucket_bits)) as usize;
    let mut sorted: Vec<T> = bytemuck::zeroed_vec(len);
    if bucket_bits == 0 {
        sorted.iter_mut().enumerate().for_each(|(i, value)| *value = make(i));
        sorted.sort_unstable_by_key(key);
        return sorted;
    }
    let buckets = Buckets::count(len, 1 << bucket_bits, |i| bucket(&make(i)));
    let parts = (0..len).step_by(buckets.part()).zip(buckets.places(&mut sorted));
    threads::for_each(parts, |(first, mut places)| {
        for value in (first..len.min(first + buckets.part())).map(&make) {
            put(&mut places, bucket(&value), value);
        }
    });
    threads::for_each(cut(&mut sorted, &buckets.starts(), 1).chunks_mut(TASK), |buckets| {
        buckets.iter_mut().for_each(|bucket| bucket.sort_unstable_by_key(&key));
    });
    sorted
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    #[test]
    fn equals_the_library_sort() {
        let mut rng = StdRng::seed_from_u64(1);
        for n in [0, 1, 255, 256, 511, 512, 513, 10_000, 100_003] {
            for bits in [1, 7, 40, 80, 128] {
                let values: Vec<(u128, usize)> =
                    (0..n).map(|i| (rng.random::<u128>() >> (128 - bits), i)).collect();
                let mut sorted = values.clone();
                by_uniform_key(&mut sorted, bits, |value| value.0);
                assert!(sorted.is_sorted_by_key(|value| value.0));
                let mut expected = values;
                expected.sort();
                sorted.sort();
                assert_eq!(sorted, expected);
            }
        }
    }

    #[test]
    fn skewed_keys_are_only_slow() {
        let mut values: Vec<u128> = (0..5000).map(|i| i * 7 % 5000).collect();
        by_uniform_key(&mut values, 128, |value| *value);
        assert!(values.iter().copied().eq(0..5000));
    }
}
