//! The final list of a protocol: sorted tags, Golomb–Rice coded, always of the same length.
//!
//! The high part of each tag is stored in unary as the difference from the previous one; the low `r` bits are
//! stored as they are. Unary parts and low parts form two fields, the first padded to its maximum length, so
//! that the total length depends only on the number and length of the tags and not on their values (this
//! layout is also known as Elias–Fano). Sorting hides every order; equal tags are allowed.

use vesica_params::{
    search::least,
    tag::{rice_parameter, sorted_list_bits},
};
use vesica_primitives::threads;

/// The longest tag, in bits.
pub const MAX_BITS: u32 = 128;

/// Words of a field that are worth a task of their own.
const CHUNK: usize = 1 << 10;

/// A list that is not a valid encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The number of bytes does not match the number and length of the tags.
    #[error("wrong length of a tag list")]
    Length,
    /// The number of tags differs from the agreed one.
    #[error("wrong number of tags in a list")]
    Count,
    /// Tags are out of order.
    #[error("tags of a list are not sorted")]
    Order,
    /// Padding bits are not zero.
    #[error("padding of a tag list is not zero")]
    Padding,
}

/// The layout of a list of `count` tags of `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    count: usize,
    bits: u32,
    rice: u32,
}

impl Layout {
    /// The layout with the best Rice parameter; `bits` is 1 to [`MAX_BITS`].
    pub fn new(count: usize, bits: u32) -> Self {
        assert!((1..=MAX_BITS).contains(&bits), "tags of 1 to {MAX_BITS} bits");
        Self { count, bits, rice: rice_parameter(count, bits) }
    }

    /// The length of the encoding in bytes.
    pub fn encoded_len(&self) -> usize {
        self.encoded_words() * size_of::<u64>()
    }

    /// The length of the encoding in 64-bit little-endian words.
    pub fn encoded_words(&self) -> usize {
        self.unary_words() + self.low_words()
    }

    fn unary_bits(&self) -> usize {
        let total = sorted_list_bits(self.count, self.bits, self.rice);
        total as usize - self.count * self.rice as usize
    }

    fn unary_words(&self) -> usize {
        self.unary_bits().div_ceil(64)
    }

    fn low_words(&self) -> usize {
        (self.count * self.rice as usize).div_ceil(64)
    }

    /// Encodes `count` sorted values, whose tags are below 2^bits.
    pub fn encode<T: Sync>(&self, values: &[T], tag: impl Fn(&T) -> u128 + Sync) -> Vec<u64> {
        assert_eq!(values.len(), self.count, "as many tags as the layout has");
        let mut words = vec![0u64; self.encoded_words()];
        let (unary, low) = words.split_at_mut(self.unary_words());
        // The number of the bit that stands for a tag: these ascend.
        let bit = |i: usize| (tag(&values[i]) >> self.rice) as usize + i;
        threads::for_each(unary.chunks_mut(CHUNK).enumerate(), |(chunk, words)| {
            let first = chunk * CHUNK * 64;
            let begins = |i: usize| i == self.count || bit(i) >= first;
            for i in least(0, self.count, begins)..self.count {
                let at = bit(i) - first;
                let Some(word) = words.get_mut(at / 64) else { break };
                *word |= 1 << (at % 64);
            }
        });
        // This many tags fill whole words.
        let rice = self.rice as usize;
        let chunks = low.chunks_mut((CHUNK * rice).max(1));
        threads::for_each(chunks.zip(values.chunks(CHUNK * 64)), |(words, values)| {
            for (i, value) in values.iter().enumerate() {
                let tag = tag(value);
                debug_assert!(self.bits == 128 || tag >> self.bits == 0);
                write_bits(words, i * rice, self.rice, tag & self.low_mask());
            }
        });
        words.iter_mut().for_each(|word| *word = word.to_le());
        words
    }

    /// Checks an encoding and opens it for reading.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Count`] or [`Error::Padding`]; [`Error::Order`] comes from the iterators.
    pub fn decode(self, mut words: Vec<u64>) -> Result<List, Error> {
        if words.len() != self.encoded_words() {
            return Err(Error::Length);
        }
        words.iter_mut().for_each(|word| *word = u64::from_le(*word));
        let (unary, low) = words.split_at(self.unary_words());
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum();
        let ones: Vec<usize> = threads::map(unary.chunks(CHUNK), ones);
        let mut total = 0;
        let mut ranks = vec![0];
        ranks.extend(ones.into_iter().map(|ones| {
            total += ones;
            total
        }));
        if total != self.count {
            return Err(Error::Count);
        }
        let beyond = |field: &[u64], bits: usize| {
            !bits.is_multiple_of(64) && field.last().is_some_and(|last| last >> (bits % 64) != 0)
        };
        if beyond(unary, self.unary_bits()) || beyond(low, self.count * self.rice as usize) {
            return Err(Error::Padding);
        }
        Ok(List { layout: self, words, ranks })
    }

    fn low_mask(&self) -> u128 {
        (1 << self.rice) - 1
    }
}

/// An encoding of the right length with the right number of tags. Whether they are sorted is seen while they are read.
pub struct List {
    layout: Layout,
    words: Vec<u64>,
    /// The number of tags before each chunk of unary words, and after the last.
    ranks: Vec<usize>,
}

impl List {
    /// The tags in ascending order.
    pub fn iter(&self) -> Tags<'_> {
        Tags { until: self.layout.count, ..self.chunk(0) }
    }

    /// The tags of one chunk after the other.
    pub fn chunks(&self) -> impl ExactSizeIterator<Item = Tags<'_>> + Send {
        (0..self.ranks.len() - 1).map(|chunk| self.chunk(chunk))
    }

    fn chunk(&self, chunk: usize) -> Tags<'_> {
        let (word, read, until) = (chunk * CHUNK, self.ranks[chunk], self.ranks[chunk + 1]);
        let (unary, low) = self.words.split_at(self.layout.unary_words());
        let (layout, current) = (self.layout, unary[word]);
        let mut tags = Tags { layout, unary, low, current, word, read, until, previous: 0 };
        if let Some(word) = unary[..word].iter().rposition(|word| *word != 0) {
            tags.previous = tags.tag(read - 1, word * 64 + unary[word].ilog2() as usize);
        }
        tags
    }
}

/// Successive tags of a [`List`], in ascending order.
pub struct Tags<'a> {
    layout: Layout,
    unary: &'a [u64],
    low: &'a [u64],
    /// The unary word being read; `word` is its index.
    current: u64,
    word: usize,
    read: usize,
    until: usize,
    previous: u128,
}

impl Tags<'_> {
    /// The place on the list of the next tag.
    pub fn place(&self) -> usize {
        self.read
    }

    /// The tag before the next one, if that is not the first.
    pub fn previous(&self) -> Option<u128> {
        (self.read > 0).then_some(self.previous)
    }

    /// The tag at a place for which this bit stands.
    fn tag(&self, place: usize, bit: usize) -> u128 {
        let rice = self.layout.rice;
        ((bit - place) as u128) << rice | read_bits(self.low, place * rice as usize, rice)
    }
}

impl Iterator for Tags<'_> {
    type Item = Result<u128, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read == self.until {
            return None;
        }
        // The number of ones was checked, so there is one left.
        while self.current == 0 {
            self.word += 1;
            self.current = self.unary[self.word];
        }
        let at = self.word * 64 + self.current.trailing_zeros() as usize;
        self.current &= self.current - 1;
        let high = (at - self.read) as u128;
        let tag = self.tag(self.read, at);
        self.read += 1;
        if tag < self.previous || high >> (self.layout.bits - self.layout.rice) != 0 {
            self.read = self.until;
            return Some(Err(Error::Order));
        }
        self.previous = tag;
        Some(Ok(tag))
    }
}

/// Writes `value`, of `bits` bits, into `words` from bit `at` on by bitwise or.
fn write_bits(words: &mut [u64], at: usize, bits: u32, value: u128) {
    let (mut word, offset) = (at / 64, at % 64);
    // First the part that fits the first word, then whole words.
    let mut written = 64 - offset as u32;
    words[word] |= (value as u64) << offset;
    while written < bits {
        word += 1;
        words[word] |= (value >> written) as u64;
        written += 64;
    }
}

/// Reads `bits` bits from bit `at` on.
fn read_bits(words: &[u64], at: usize, bits: u32) -> u128 {
    let (mut word, offset) = (at / 64, at % 64);
    let mut value = if bits > 0 { u128::from(words[word] >> offset) } else { 0 };
    let mut read = 64 - offset as u32;
    while read < bits {
        word += 1;
        value |= u128::from(words[word]) << read;
        read += 64;
    }
    value & ((1 << bits) - 1)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn decode(layout: Layout, words: &[u64]) -> Result<Vec<u128>, Error> {
        layout.decode(words.to_vec())?.iter().collect()
    }

    #[test]
    fn decoding_inverts_encoding() {
        let mut rng = StdRng::seed_from_u64(1);
        for bits in [1, 2, 40, 56, 63, 64, 65, 80, 88, 96, 120, 127, 128] {
            for n in [0, 1, 2, 3, 64, 100, 1000, 4097] {
                let layout = Layout::new(n, bits);
                let mut random: Vec<u128> =
                    (0..n).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
                random.sort_unstable();
                let top = u128::MAX >> (128 - bits);
                for tags in [random, vec![0; n], vec![top; n]] {
                    let words = layout.encode(&tags, |tag| *tag);
                    assert_eq!(size_of_val(&words[..]), layout.encoded_len());
                    assert_eq!(decode(layout, &words), Ok(tags), "{n} of {bits} bits");
                }
            }
        }
    }

    #[test]
    fn a_list_is_hardly_longer_than_the_set_it_stands_for() {
        for (count, bits) in [(1 << 20, 60), (1 << 12, 60), (3000, 41), (1 << 10, 80)] {
            let per_tag = (8 * Layout::new(count, bits).encoded_len()) as f64 / count as f64;
            // The number of bits that distinguish sets of random tags; the list has room for any set of tags.
            let least = f64::from(bits) - (count as f64).log2() + std::f64::consts::LOG2_E;
            assert!(
                (0.0..0.6).contains(&(per_tag - least)),
                "{count}, {bits}: {per_tag} of {least}"
            );
        }
    }

    /// With gaps that fill whole chunks, and equal tags on both sides of the end of a chunk.
    #[test]
    fn chunks_are_the_list() {
        let mut rng = StdRng::seed_from_u64(3);
        let bits = 60;
        let n = 200_000;
        let random: Vec<u128> = (0..n).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
        let low = |tag: &u128| tag >> 3;
        let high = |tag: &u128| low(tag) | 1 << (bits - 1);
        let apart = random
            .iter()
            .enumerate()
            .map(|(i, tag)| if i % 2 == 0 { tag >> 20 } else { tag >> 20 | 1 << (bits - 1) });
        let few = random.iter().map(|tag| (tag % 5) << (bits - 3));
        for mut tags in [
            random.clone(),
            random.iter().map(low).collect(),
            random.iter().map(high).collect(),
            apart.collect(),
            few.collect(),
        ] {
            tags.sort_unstable();
            let layout = Layout::new(n, bits);
            let words = layout.encode(&tags, |tag| *tag);
            let list = layout.decode(words.clone()).unwrap();
            assert!(list.iter().map(Result::unwrap).eq(tags.iter().copied()));
            let mut place = 0;
            for chunk in list.chunks().collect::<Vec<_>>() {
                assert_eq!(chunk.place(), place);
                let before = place.checked_sub(1).map(|before| tags[before]);
                assert_eq!(chunk.previous(), before, "before tag {place}");
                for tag in chunk {
                    assert_eq!(tag, Ok(tags[place]));
                    place += 1;
                }
            }
            assert_eq!(place, n);
        }
    }

    #[test]
    fn order_is_checked_across_chunks() {
        let begins = CHUNK * 64;
        let layout = Layout::new(begins + 100, 40);
        // All have the high part 0, so the bit of each is at its place.
        let mut tags = vec![1; layout.count];
        tags[begins] = 0;
        let list = layout.decode(layout.encode(&tags, |tag| *tag)).unwrap();
        let read: Vec<Result<Vec<u128>, Error>> = list.chunks().map(Iterator::collect).collect();
        assert_eq!(read[..2], [Ok(vec![1; begins]), Err(Error::Order)]);
    }

    #[test]
    fn a_tampered_list_is_refused_or_is_another_list() {
        let mut rng = StdRng::seed_from_u64(2);
        let layout = Layout::new(50, 46);
        let mut tags: Vec<u128> = (0..50).map(|_| rng.random::<u128>() >> 82).collect();
        tags.sort_unstable();
        let words = layout.encode(&tags, |tag| *tag);
        let mut refused = std::collections::HashSet::new();
        for bit in 0..words.len() * 64 {
            let mut tampered = words.clone();
            tampered[bit / 64] ^= 1 << (bit % 64);
            match decode(layout, &tampered) {
                Ok(other) => assert!(other != tags && other.is_sorted() && other.len() == 50),
                Err(error) => drop(refused.insert(format!("{error:?}"))),
            }
        }
        assert!(refused.contains("Count") && refused.contains("Padding"), "{refused:?}");
        assert_eq!(decode(layout, &words[1..]), Err(Error::Length));
        assert_eq!(decode(layout, &[]), Err(Error::Length));
    }

    #[test]
    fn tags_too_large_are_refused() {
        for bits in [40, 127, 128] {
            let layout = Layout::new(1, bits);
            let mut words = layout.encode(&[u128::MAX >> (128 - bits)], |tag| *tag);
            // Move the single one of the only tag up by one place, to a high part out of range.
            let one = (0..).find(|bit| words[bit / 64] >> (bit % 64) & 1 == 1).unwrap();
            words[one / 64] ^= 1 << (one % 64);
            words[(one + 1) / 64] ^= 1 << ((one + 1) % 64);
            assert_eq!(decode(layout, &words), Err(Error::Order), "{bits} bits");
        }
    }

    #[test]
    fn tags_out_of_order_are_refused() {
        // Two tags with the same high part, low parts swapped.
        let layout = Layout::new(2, 40);
        let words = layout.encode(&[5, 3], |tag| *tag);
        assert_eq!(decode(layout, &words), Err(Error::Order));
    }
}
