//! Distribution of values to buckets by all threads: each takes one part of the values.

use std::{iter, slice::IterMut};

use vesica_primitives::threads;

/// The minimum number of values for which a thread pays off.
const FEWEST: usize = 1 << 14;

/// The number of values in each part that belong to each bucket.
pub(crate) struct Buckets {
    /// Values of a part; the last one may have fewer.
    part: usize,
    buckets: usize,
    /// For each part, a number for each bucket.
    counts: Vec<Vec<u32>>,
}

impl Buckets {
    /// Counts `len` values, where `bucket` gives the bucket of the one at a position.
    pub fn count(len: usize, buckets: usize, bucket: impl Fn(usize) -> usize + Sync) -> Self {
        let part = len.div_ceil(rayon::current_num_threads()).max(FEWEST);
        let count = |first: usize| {
            let mut counts = vec![0; buckets];
            (first..len.min(first + part)).for_each(|position| counts[bucket(position)] += 1);
            counts
        };
        let counts = threads::map((0..len).step_by(part), count);
        Self { part, buckets, counts }
    }

    /// Values of a part; the last one may have fewer.
    pub fn part(&self) -> usize {
        self.part
    }

    /// The start of each bucket, followed by the end of the last one.
    pub fn starts(&self) -> Vec<usize> {
        let sizes =
            (0..self.buckets).map(|b| self.counts.iter().map(|part| part[b] as usize).sum());
        let ends = sizes.scan(0, |end, size: usize| {
            *end += size;
            Some(*end)
        });
        iter::once(0).chain(ends).collect()
    }

    /// For each part, the places of its values in `out`, bucket by bucket. Within a bucket, values keep their order.
    pub fn places<'a, T>(&self, mut out: &'a mut [T]) -> Vec<Vec<IterMut<'a, T>>> {
        let part = |_| Vec::with_capacity(self.buckets);
        let mut places: Vec<_> = self.counts.iter().map(part).collect();
        for bucket in 0..self.buckets {
            for (counts, places) in self.counts.iter().zip(&mut places) {
                let of_part = out.split_off_mut(..counts[bucket] as usize);
                places.push(of_part.expect("a place for each value").iter_mut());
            }
        }
        places
    }
}

/// Puts a value into the next place of its bucket.
pub(crate) fn put<T>(places: &mut [IterMut<'_, T>], bucket: usize, value: T) {
    *places[bucket].next().expect("as many places as were counted") = value;
}

/// A slice with `width` places for each value, cut by bucket.
pub(crate) fn cut<'a, T>(
    mut slice: &'a mut [T],
    starts: &[usize],
    width: usize,
) -> Vec<&'a mut [T]> {
    let part = |ends: &[usize; 2]| {
        slice.split_off_mut(..(ends[1] - ends[0]) * width).expect("a place for each value")
    };
    starts.array_windows().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distributes numbers below 1000 to ten buckets with this many threads.
    fn distribute(values: &[u32], threads: usize) -> (Vec<u32>, Vec<usize>) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let bucket = |value: u32| value as usize / 100;
            let buckets = Buckets::count(values.len(), 10, |i| bucket(values[i]));
            let mut out = vec![0; values.len()];
            let parts = values.chunks(buckets.part()).zip(buckets.places(&mut out));
            threads::for_each(parts, |(values, mut places)| {
                values.iter().for_each(|value| put(&mut places, bucket(*value), *value));
            });
            (out, buckets.starts())
        })
    }

    #[test]
    fn values_keep_their_order_in_a_bucket() {
        for len in [0, 1, 1000, FEWEST, FEWEST + 1, 5 * FEWEST + 123] {
            let values: Vec<u32> = (0..len as u32).map(|i| i * 7919 % 1000).collect();
            let mut expected = values.clone();
            expected.sort_by_key(|value| value / 100);
            let ends = (0..10).map(|b| expected.partition_point(|value| *value < 100 * (b + 1)));
            let starts: Vec<usize> = iter::once(0).chain(ends).collect();
            for threads in [1, 2, 3] {
                assert_eq!(distribute(&values, threads), (expected.clone(), starts.clone()));
            }
        }
    }
}
