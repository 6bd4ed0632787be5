//! Sorted tags with their labels, in segments that can be read one by one.
//!
//! Tags are sorted and divided into 2^p segments by their first p bits, where p is chosen such that a segment has 2^11
//! to 2^12 tags on average. A table consists of the number of tags in each segment, 32 bits each, and then the
//! segments: the remaining bits of the tags, Golomb–Rice coded as in [`tag_list`](vesica_structures::tag_list), and the
//! sealed labels in the same order. The lengths of all segments follow from the numbers of tags.

use std::ops::Range;

use vesica_structures::tag_list::Layout;

use crate::error::Fault;

/// log2 of the largest average number of tags in a segment.
const SEGMENT: u32 = 12;

/// Maximum number of tags in a table.
pub const MAX_TAGS: u64 = 1 << 32;

/// Maximum number of tags in a segment. Tags are random, so an honest segment has at most about 5,000.
pub const MAX_SEGMENT: u32 = 1 << 16;

/// Maximum length of a sealed label, in bytes.
pub const MAX_LABEL: u32 = 1 << 16;

/// The parameters that, with the number of tags in each segment, determine the layout of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    count: u64,
    bits: u32,
    label: u32,
    prefix: u32,
}

impl Shape {
    /// Creates the shape of a table with `count` tags of `bits` bits (32 to 128) and sealed labels of `label` bytes.
    ///
    /// # Errors
    /// [`Fault::Malformed`] beyond these bounds, [`MAX_TAGS`] or [`MAX_LABEL`].
    pub fn new(count: u64, bits: u32, label: u32) -> Result<Self, Fault> {
        if count > MAX_TAGS || !(32..=128).contains(&bits) || label > MAX_LABEL {
            return Err(Fault::Malformed);
        }
        let prefix = count.next_power_of_two().ilog2().saturating_sub(SEGMENT);
        Ok(Self { count, bits, label, prefix })
    }

    /// Returns the number of segments.
    pub fn segments(&self) -> usize {
        1 << self.prefix
    }

    /// Returns the size of the numbers of tags.
    pub fn directory_bytes(&self) -> u64 {
        4 << self.prefix
    }

    /// Returns the segment of a tag.
    pub fn segment_of(&self, tag: u128) -> usize {
        if self.prefix == 0 { 0 } else { (tag >> (self.bits - self.prefix)) as usize }
    }

    /// Returns whether two tags belong to the same segment.
    pub fn are_together(&self, a: u128, b: u128) -> bool {
        self.segment_of(a) == self.segment_of(b)
    }

    fn layout(&self, count: u32) -> Layout {
        Layout::new(count as usize, self.bits - self.prefix)
    }

    fn segment_bytes(&self, count: u32) -> u64 {
        self.layout(count).encoded_len() as u64 + u64::from(count) * u64::from(self.label)
    }

    /// Returns the expected size of a table of random tags. With several segments, the size depends on how the tags are
    /// distributed among them. This is the mean, from which actual sizes differ by less than one in 10,000.
    pub fn expected_bytes(&self) -> f64 {
        if self.prefix == 0 {
            return (self.directory_bytes() + self.segment_bytes(self.count as u32)) as f64;
        }
        let segments = self.segments() as f64;
        let mean = self.count as f64 / segments;
        // The number of tags in a segment is almost normally distributed, and its variance is its mean.
        let most = 8.0 * mean.sqrt();
        let (mut bytes, mut weights) = (0.0, 0.0);
        for count in (mean - most) as u32..=(mean + most) as u32 {
            let distance = f64::from(count) - mean;
            let weight = (-distance * distance / (2.0 * mean)).exp();
            bytes += weight * self.segment_bytes(count) as f64;
            weights += weight;
        }
        self.directory_bytes() as f64 + segments * bytes / weights
    }

    /// Returns the average number of tags decoded to look up `wanted` random tags: every segment that contains one of
    /// them is decoded completely.
    pub fn expected_reads(&self, wanted: u64) -> f64 {
        let segments = self.segments() as f64;
        let met = 1.0 - (1.0 - 1.0 / segments).powf(wanted as f64);
        met * self.count as f64
    }

    /// Encodes a segment from its sorted tags and their concatenated sealed labels.
    pub fn encode_segment(&self, tags: &[u128], labels: &[u8]) -> Vec<u8> {
        let mask = u128::MAX >> (128 - (self.bits - self.prefix));
        let layout = self.layout(tags.len() as u32);
        let words = layout.encode(tags, |tag| tag & mask);
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend_from_slice(labels);
        bytes
    }
}

/// The directory of a table, which locates its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    shape: Shape,
    counts: Vec<u32>,
    /// Offset of each segment from the beginning of the table, and then the table's length.
    offsets: Vec<u64>,
}

impl Directory {
    /// Creates a directory from the number of tags in each segment.
    ///
    /// # Errors
    /// [`Fault::Malformed`] unless there is one number for each segment, at most [`MAX_SEGMENT`], and they add up.
    pub fn new(shape: Shape, counts: Vec<u32>) -> Result<Self, Fault> {
        let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let are_few = counts.iter().all(|count| *count <= MAX_SEGMENT);
        if counts.len() != shape.segments() || sum != shape.count || !are_few {
            return Err(Fault::Malformed);
        }
        let mut offsets = Vec::with_capacity(counts.len() + 1);
        let mut offset = shape.directory_bytes();
        for count in &counts {
            offsets.push(offset);
            offset += shape.segment_bytes(*count);
        }
        offsets.push(offset);
        Ok(Self { shape, counts, offsets })
    }

    /// Decodes the first [`Shape::directory_bytes`] of a table.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn decode(shape: Shape, bytes: &[u8]) -> Result<Self, Fault> {
        let (counts, rest) = bytes.as_chunks();
        match rest {
            [] => Self::new(shape, counts.iter().map(|count| u32::from_le_bytes(*count)).collect()),
            _ => Err(Fault::Malformed),
        }
    }

    /// Encodes the beginning of the table.
    pub fn encode(&self) -> Vec<u8> {
        self.counts.iter().flat_map(|count| count.to_le_bytes()).collect()
    }

    /// Returns the shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the size of the table.
    pub fn table_bytes(&self) -> u64 {
        self.offsets.last().copied().unwrap_or_default()
    }

    /// Returns the range of a segment in the table.
    pub fn segment(&self, segment: usize) -> Range<u64> {
        self.offsets[segment]..self.offsets[segment + 1]
    }

    /// Returns the sizes of a segment's tags and of the sealed labels after them.
    pub fn lengths(&self, segment: usize) -> (usize, u64) {
        let count = self.counts[segment];
        let labels = u64::from(count) * u64::from(self.shape.label);
        (self.shape.layout(count).encoded_len(), labels)
    }

    /// Decodes a segment into its sorted tags and their sealed labels.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn decode_segment<'a>(
        &self,
        segment: usize,
        bytes: &'a [u8],
    ) -> Result<(Vec<u128>, &'a [u8]), Fault> {
        let (tag_bytes, label_bytes) = self.lengths(segment);
        let (tags, labels) = bytes.split_at_checked(tag_bytes).ok_or(Fault::Malformed)?;
        match labels.len() as u64 == label_bytes {
            true => Ok((self.decode_tags(segment, tags)?, labels)),
            false => Err(Fault::Malformed),
        }
    }

    /// Decodes the tags of a segment.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn decode_tags(&self, segment: usize, bytes: &[u8]) -> Result<Vec<u128>, Fault> {
        let malformed = |_: vesica_structures::tag_list::Error| Fault::Malformed;
        let (words, _) = bytes.as_chunks();
        let words = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let prefix = match self.shape.prefix {
            0 => 0,
            prefix => (segment as u128) << (self.shape.bits - prefix),
        };
        let list = self.shape.layout(self.counts[segment]).decode(words).map_err(malformed)?;
        list.iter().map(|tag| Ok(prefix | tag.map_err(malformed)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};

    use super::*;

    fn sorted(count: usize, bits: u32) -> Vec<u128> {
        let mut rng = StdRng::seed_from_u64(count as u64);
        let mut tags: Vec<u128> =
            (0..count).map(|_| rng.random::<u128>() >> (128 - bits)).collect();
        tags.sort_unstable();
        tags
    }

    fn encode(shape: Shape, tags: &[u128]) -> Vec<u8> {
        let segments = tags.chunk_by(|a, b| shape.segment_of(*a) == shape.segment_of(*b));
        let mut counts = vec![0; shape.segments()];
        let mut body = vec![Vec::new(); shape.segments()];
        (0..shape.segments()).for_each(|i| body[i] = shape.encode_segment(&[], &[]));
        for tags in segments {
            let segment = shape.segment_of(tags[0]);
            counts[segment] = tags.len() as u32;
            let labels = vec![segment as u8; tags.len() * shape.label as usize];
            body[segment] = shape.encode_segment(tags, &labels);
        }
        let directory = Directory::new(shape, counts).unwrap();
        let bytes = [directory.encode(), body.concat()].concat();
        assert_eq!(bytes.len() as u64, directory.table_bytes());
        bytes
    }

    #[test]
    fn segments_round_trip() {
        for bits in [40, 64, 76, 128] {
            for count in [0, 1, 2, 4095, 4096, 4097, 10_007, 65_536] {
                let (tags, label) = (sorted(count, bits), u32::from(bits == 76) * 9);
                let shape = Shape::new(count as u64, bits, label).unwrap();
                let bytes = encode(shape, &tags);
                let front = &bytes[..shape.directory_bytes() as usize];
                let directory = Directory::decode(shape, front).unwrap();
                let mut found = Vec::new();
                for segment in 0..shape.segments() {
                    let Range { start, end } = directory.segment(segment);
                    let bytes = &bytes[start as usize..end as usize];
                    let (tags, labels) = directory.decode_segment(segment, bytes).unwrap();
                    assert_eq!(labels.len(), tags.len() * label as usize);
                    assert!(labels.iter().all(|byte| *byte == segment as u8));
                    assert!(tags.iter().all(|tag| shape.segment_of(*tag) == segment));
                    found.extend(tags);
                }
                assert_eq!(found, tags, "{count} of {bits} bits");
            }
        }
    }

    /// Checks figures in the documentation: the size of an item for 2^20 and 2^24 items.
    #[test]
    fn an_item_takes_two_bits_more_than_its_tag_beyond_the_size() {
        for (count, bits) in [(1 << 20, 50), (1 << 20, 72), (1_000_003, 50)] {
            let shape = Shape::new(count as u64, bits, 0).unwrap();
            let bytes = encode(shape, &sorted(count, bits));
            let an_item = bytes.len() as f64 * 8.0 / count as f64;
            let best = f64::from(bits) - (count as f64).log2() + 2.0;
            assert!(an_item < best + 0.12, "{an_item} {best}");
        }
    }

    #[test]
    fn the_bytes_of_a_table_are_predicted_from_its_numbers() {
        for (count, bits, label) in
            [(0, 40, 0), (1, 40, 3), (17, 76, 0), (4095, 64, 9), (4096, 128, 0)]
        {
            let shape = Shape::new(count as u64, bits, label).unwrap();
            let one = shape.directory_bytes() + shape.segment_bytes(count as u32);
            assert_eq!(shape.expected_bytes(), one as f64, "one segment has one length");
            assert_eq!(shape.expected_reads(1), count as f64);
        }
        for (count, bits) in [(4097, 56), (10_007, 56), (1 << 16, 76), (1_000_003, 64)] {
            let shape = Shape::new(count as u64, bits, 0).unwrap();
            let found = encode(shape, &sorted(count, bits)).len() as f64;
            let ratio = found / shape.expected_bytes();
            let most = 0.003 / (count as f64 / 4096.0);
            assert!((ratio - 1.0).abs() < most, "{count}: {found} {}", shape.expected_bytes());
        }
        let shape = Shape::new(1 << 24, 76, 0).unwrap();
        assert!(shape.expected_reads(1) > 4095.9 && shape.expected_reads(1) < 4096.1);
        assert!(shape.expected_reads(1 << 20) > 0.999 * f64::from(1 << 24));
    }

    #[test]
    fn malformed_tables_are_refused() {
        assert_eq!(Shape::new(MAX_TAGS + 1, 80, 0), Err(Fault::Malformed));
        assert_eq!(Shape::new(1, 31, 0), Err(Fault::Malformed));
        assert_eq!(Shape::new(1, 129, 0), Err(Fault::Malformed));
        assert_eq!(Shape::new(1, 80, MAX_LABEL + 1), Err(Fault::Malformed));
        let shape = Shape::new(10_000, 60, 3).unwrap();
        let bytes = encode(shape, &sorted(10_000, 60));
        let front = &bytes[..16];
        assert!(Directory::decode(shape, front).is_ok());
        assert_eq!(Directory::decode(shape, &bytes[..15]), Err(Fault::Malformed));
        assert_eq!(Directory::decode(shape, &bytes[..12]), Err(Fault::Malformed));
        let mut other = front.to_vec();
        other[0] ^= 1;
        assert_eq!(Directory::decode(shape, &other), Err(Fault::Malformed));
        let directory = Directory::decode(shape, front).unwrap();
        let Range { start, end } = directory.segment(1);
        let segment = &bytes[start as usize..end as usize];
        assert!(directory.decode_segment(1, segment).is_ok());
        for wrong in [&segment[1..], &segment[..7], &[]] {
            assert_eq!(directory.decode_segment(1, wrong), Err(Fault::Malformed));
        }
        let mut other = segment.to_vec();
        other[0] ^= 1;
        assert_eq!(directory.decode_segment(1, &other), Err(Fault::Malformed));
    }
}
