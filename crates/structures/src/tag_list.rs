//! The final list of a protocol: sorted tags, Golomb–Rice coded, always of the same length.
//!
//! The high part of each tag is stored in unary as the difference from the previous one; the low `r` bits are
//! stored as they are. Unary parts and low parts form two fields, the first padded to its maximum length, so
//! that the total length depends only on the number and length of the tags and not on their values (this
//! layout is also known as Elias–Fano). Sorting hides every order; equal tags are allowed.

use vesica_params::tag::{rice_parameter, sorted_list_bits};

/// The longest tag, in bits.
pub const MAX_BITS: u32 = 128;

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

    /// Encodes `count` sorted tags below 2^bits.
    pub fn encode(&self, tags: impl ExactSizeIterator<Item = u128>) -> Vec<u64> {
        assert_eq!(tags.len(), self.count, "as many tags as the layout has");
        let mut words = vec![0u64; self.encoded_words()];
        let (unary, low) = words.split_at_mut(self.unary_words());
        for (i, tag) in tags.enumerate() {
            debug_assert!(self.bits == 128 || tag >> self.bits == 0);
            let at = (tag >> self.rice) as usize + i;
            unary[at / 64] |= 1 << (at % 64);
            write_bits(low, i * self.rice as usize, self.rice, tag & self.low_mask());
        }
        words.iter_mut().for_each(|word| *word = word.to_le());
        words
    }

    /// Checks an encoding and opens it for reading.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Count`] or [`Error::Padding`]; [`Error::Order`] comes from the iterator.
    pub fn decode(self, mut words: Vec<u64>) -> Result<Tags, Error> {
        if words.len() != self.encoded_words() {
            return Err(Error::Length);
        }
        words.iter_mut().for_each(|word| *word = u64::from_le(*word));
        let (unary, low) = words.split_at(self.unary_words());
        if unary.iter().map(|word| word.count_ones() as usize).sum::<usize>() != self.count {
            return Err(Error::Count);
        }
        let beyond = |field: &[u64], bits: usize| {
            !bits.is_multiple_of(64) && field.last().is_some_and(|last| last >> (bits % 64) != 0)
        };
        if beyond(unary, self.unary_bits()) || beyond(low, self.count * self.rice as usize) {
            return Err(Error::Padding);
        }
        Ok(Tags { current: words[0], layout: self, words, word: 0, read: 0, previous: 0 })
    }

    fn low_mask(&self) -> u128 {
        (1 << self.rice) - 1
    }
}

/// The tags of a list in ascending order.
pub struct Tags {
    layout: Layout,
    words: Vec<u64>,
    /// The unary word being read; `word` is its index.
    current: u64,
    word: usize,
    read: usize,
    previous: u128,
}

impl Iterator for Tags {
    type Item = Result<u128, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.read == self.layout.count {
            return None;
        }
        // The number of ones was checked, so there is one left.
        while self.current == 0 {
            self.word += 1;
            self.current = self.words[self.word];
        }
        let at = self.word * 64 + self.current.trailing_zeros() as usize;
        self.current &= self.current - 1;
        let rice = self.layout.rice;
        let low = &self.words[self.layout.unary_words()..];
        let high = (at - self.read) as u128;
        let tag = high << rice | read_bits(low, self.read * rice as usize, rice);
        self.read += 1;
        if tag < self.previous || high >> (self.layout.bits - rice) != 0 {
            self.read = self.layout.count;
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
    if bits > 0 {
        words[word] |= (value as u64) << offset;
    }
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
        layout.decode(words.to_vec())?.collect()
    }

    #[test]
    fn what_goes_in_comes_out() {
        let mut rng = StdRng::seed_from_u64(1);
        for bits in [1, 2, 40, 56, 63, 64, 65, 80, 88, 96, 120, 127, 128] {
            for n in [0, 1, 2, 3, 64, 100, 1000, 4097] {
                let layout = Layout::new(n, bits);
                let mut random: Vec<u128> =
                    (0..n).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
                random.sort_unstable();
                let top = u128::MAX >> (128 - bits);
                for tags in [random, vec![0; n], vec![top; n]] {
                    let words = layout.encode(tags.iter().copied());
                    assert_eq!(size_of_val(&words[..]), layout.encoded_len());
                    assert_eq!(decode(layout, &words), Ok(tags), "{n} of {bits} bits");
                }
            }
        }
    }

    #[test]
    fn a_tampered_list_is_refused_or_is_another_list() {
        let mut rng = StdRng::seed_from_u64(2);
        let layout = Layout::new(50, 46);
        let mut tags: Vec<u128> = (0..50).map(|_| rng.random::<u128>() >> 82).collect();
        tags.sort_unstable();
        let words = layout.encode(tags.iter().copied());
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
            let mut words = layout.encode(std::iter::once(u128::MAX >> (128 - bits)));
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
        let words = layout.encode([5, 3].into_iter());
        assert_eq!(decode(layout, &words), Err(Error::Order));
    }
}
