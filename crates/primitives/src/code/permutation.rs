//! Fixed permutations that look random: the interleavers of a block–accumulate code.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    Block, Seed,
    aes::{Aes128, Prg},
};

/// The longest permutation that is cached, and the number of entries cached in all: 64 MiB.
const KEPT_LENGTH: usize = 1 << 22;
const KEPT_TOTAL: usize = 1 << 24;

/// Entries of a bucket, which is shuffled by itself; also the maximal number of buckets.
const BUCKET: usize = 1 << 14;
const BUCKETS: usize = 1 << 8;

/// Blocks of randomness drawn at a time.
const BATCH: usize = 256;

/// The cache, beginning with the permutation whose last use is longest ago.
static KEPT: Mutex<Vec<KeptPermutation>> = Mutex::new(Vec::new());

struct KeptPermutation {
    round: u32,
    places: Arc<[u32]>,
}

/// The permutation of `length` places for a round: the numbers below `length` in an order that is a constant.
///
/// Each length and each round has its own seed, which is AES of the two under a key that is a fixed name. From the
/// generator of that seed, `shuffle` draws a permutation that would be exactly uniform if the generator's output were.
/// Short permutations are cached for the life of the process; a long one is drawn again each time, because its memory
/// is worth more than the time.
///
/// # Panics
/// If `length` is not below 2^32.
pub fn permutation(length: usize, round: u32) -> Arc<[u32]> {
    if length > KEPT_LENGTH {
        return shuffle(length, &seed(length, round)).into();
    }
    // A thread that panicked while holding the lock left the earlier contents in place.
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept.iter().position(|kept| kept.round == round && kept.places.len() == length);
    let own = found.map_or_else(
        || KeptPermutation { round, places: shuffle(length, &seed(length, round)).into() },
        |at| kept.remove(at),
    );
    let places = own.places.clone();
    kept.push(own);
    let mut total: usize = kept.iter().map(|kept| kept.places.len()).sum();
    while total > KEPT_TOTAL {
        total -= kept.remove(0).places.len();
    }
    places
}

/// Public: the code is a constant.
fn seed(length: usize, round: u32) -> Seed {
    let name = Aes128::new(Block::from_bytes(*b"vesica/ba-code/1"));
    Seed::new(name.encrypt_block(Block(length as u128 | u128::from(round) << 64)))
}

/// A uniformly random permutation (Rao 1961, Sandelius 1962): each number goes to a random bucket, and each
/// bucket, which fits the cache, is shuffled by itself (Fisher and Yates).
fn shuffle(length: usize, seed: &Seed) -> Vec<u32> {
    let length = u32::try_from(length).expect("places have 32 bits");
    let buckets = (length as usize).div_ceil(BUCKET).next_power_of_two().min(BUCKETS);
    let mut starts = vec![0; buckets + 1];
    for_each_bucket(length, buckets, seed, |_, bucket| starts[bucket + 1] += 1);
    (0..buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
    let mut ends = starts.clone();
    let mut places = vec![0; length as usize];
    for_each_bucket(length, buckets, seed, |number, bucket| {
        places[ends[bucket]] = number;
        ends[bucket] += 1;
    });
    // The generator that selects buckets has a different seed from this one.
    let mut numbers =
        Numbers::new(&Seed::new(Aes128::new(*seed.expose()).encrypt_block(Block(u128::MAX))));
    for window in starts.windows(2) {
        let bucket = &mut places[window[0]..window[1]];
        for last in (1..bucket.len()).rev() {
            bucket.swap(last, numbers.below(last as u32 + 1) as usize);
        }
    }
    places
}

/// Calls `each(number, bucket)` for every number below `length`, with a random bucket.
fn for_each_bucket(length: u32, buckets: usize, seed: &Seed, mut each: impl FnMut(u32, usize)) {
    let mut prg = Prg::new(seed);
    let mut blocks = [Block::ZERO; BATCH];
    for start in (0..length).step_by(size_of_val(&blocks)) {
        prg.fill(&mut blocks);
        let bytes: &[u8] = bytemuck::cast_slice(&blocks);
        (start..length).zip(bytes).for_each(|(n, byte)| each(n, usize::from(*byte) % buckets));
    }
}

/// Uniform numbers from a generator.
struct Numbers {
    prg: Prg,
    drawn: [Block; BATCH],
    used: usize,
}

impl Numbers {
    fn new(seed: &Seed) -> Self {
        Self { prg: Prg::new(seed), drawn: [Block::ZERO; BATCH], used: 4 * BATCH }
    }

    fn next(&mut self) -> u32 {
        if self.used == 4 * BATCH {
            self.prg.fill(&mut self.drawn);
            self.used = 0;
        }
        self.used += 1;
        bytemuck::cast_slice::<_, u32>(&self.drawn)[self.used - 1]
    }

    /// A uniform number below `bound` (Lemire 2019), by rejection of values that would introduce a bias.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        let mut product = u64::from(self.next()) * u64::from(bound);
        if (product as u32) < bound {
            let least = bound.wrapping_neg() % bound;
            while (product as u32) < least {
                product = u64::from(self.next()) * u64::from(bound);
            }
        }
        (product >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_permutation(places: &[u32]) -> bool {
        let mut sorted = places.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..places.len() as u32)
    }

    #[test]
    fn every_place_comes_once() {
        for length in [0, 1, 2, 24, BUCKET, BUCKET + 1, 100_008, KEPT_LENGTH + 1] {
            let places = permutation(length, 1);
            assert_eq!(places.len(), length);
            assert!(is_permutation(&places), "{length}");
            assert_eq!(places, permutation(length, 1), "a constant");
        }
    }

    /// As with independent permutations, about one place agrees between two of them, and about one is fixed.
    #[test]
    fn rounds_and_lengths_have_nothing_in_common() {
        let all: Vec<_> = [(24_000, 0), (24_000, 1), (24_000, 2), (24_024, 0)]
            .map(|(length, round)| permutation(length, round))
            .to_vec();
        for (i, a) in all.iter().enumerate() {
            assert!(a.iter().zip(0..).filter(|(place, number)| *place == number).count() < 8);
            for b in &all[..i] {
                assert!(a.iter().zip(b.iter()).filter(|(a, b)| a == b).count() < 8);
            }
        }
    }

    /// The 24 orders of four numbers are equally likely, and so are the buckets of each number.
    #[test]
    fn every_order_is_as_likely() {
        let mut counts = [0u32; 24];
        for i in 0..24_000 {
            let p = shuffle(4, &Seed::new(Block(i)));
            let rank = |i: usize| p[i + 1..].iter().filter(|x| **x < p[i]).count();
            counts[6 * rank(0) + 2 * rank(1) + rank(2)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        // The first number of a permutation with several buckets falls into each eighth equally often.
        let mut counts = [0u32; 8];
        let length = 8 * BUCKET;
        for i in 0..400 {
            let first = shuffle(length, &Seed::new(Block(i))).iter().position(|x| *x == 0);
            counts[first.unwrap() / BUCKET] += 1;
        }
        assert!(counts.iter().all(|count| (20..80).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_cache_has_a_bound() {
        for length in (KEPT_LENGTH - 4..=KEPT_LENGTH).chain(KEPT_LENGTH - 4..=KEPT_LENGTH) {
            permutation(length, 7);
        }
        let kept = KEPT.lock().unwrap();
        assert!(kept.iter().map(|kept| kept.places.len()).sum::<usize>() <= KEPT_TOTAL);
        assert!(kept.iter().any(|kept| kept.places.len() == KEPT_LENGTH));
    }
}
