//! Equality of strings by their distance: the Hamming distance of two strings, each of which one party knows,
//! as additive shares. Two strings of ℓ bits are equal if the distance is 0 modulo 2^h > ℓ, which takes h − 1
//! AND gates instead of ℓ − 1 (Couteau, ACNS 2018, §4; the distance as in SHADE, Bringer, Chabanne, Patey,
//! 2013).
//!
//! The first party's strings s are random; the second party's strings r are known only later. For each bit,
//! from one random OT of the first party:
//!
//! 1. The first party has two messages m_0 and m_1. Its bit s is the lowest of δ = m_1 − m_0.
//! 2. The second party has a random choice a and m_a. It gets u = (s − δ)/2, of h − 2 bits: a·s is m_a + 2·u·a
//!    − m_0 modulo 2^(h−1), and each party knows a part of this; and s ⊕ a = s + a − 2·a·s modulo 2^h.
//! 3. When it knows r, the second party sends f = r ⊕ a. If f is 1, both take s ⊕ r = 1 − (s ⊕ a), and
//!    otherwise s ⊕ r = s ⊕ a, and each adds up its shares of a string.
//!
//! The second party knows nothing about m_(1−a), and so about δ; u reveals all of δ but the lowest bit, which
//! stays random. f is random because a is. Lengths depend on the number of bits only.

use bytemuck::cast_slice_mut;
use vesica_net::{Channel, Result};
use vesica_ot::{
    ZeroizingVec,
    chunks::{ReceivedChunk, SentChunk},
};
use vesica_primitives::Block;
use zeroize::Zeroizing;

use crate::WireBits;

const CORRECTIONS: &str = "distances/corrections";
const FLIPS: &str = "distances/flips";

/// Words of a message at most.
const MESSAGE_WORDS: usize = 1 << 20;

/// The lowest bit of each byte.
const ONES: u64 = 0x0101_0101_0101_0101;
const SEVEN_BITS: u64 = 0x7f * ONES;

/// Strings to be compared: their number, and the bits of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strings {
    count: usize,
    bits: usize,
}

impl Strings {
    /// `count` strings of `bits` bits.
    ///
    /// # Panics
    /// For fewer than 8 bits or more than 127.
    pub fn new(count: usize, bits: usize) -> Self {
        assert!((8..128).contains(&bits), "strings have 8 to 127 bits");
        Self { count, bits }
    }

    /// Random OTs, all in one direction.
    pub fn ots(self) -> usize {
        self.count * self.bits
    }

    /// h: bits of a distance, and of its shares.
    pub fn distance_bits(self) -> usize {
        (self.bits + 1).next_power_of_two().ilog2() as usize
    }

    /// Bits of a correction.
    fn correction_bits(self) -> usize {
        self.distance_bits() - 2
    }

    /// Corrections in a word.
    fn corrections_in_word(self) -> usize {
        64 / self.correction_bits()
    }

    /// Payload bytes that the first party sends in step 2.
    pub fn correction_bytes(self) -> usize {
        self.ots().div_ceil(self.corrections_in_word()) * size_of::<u64>()
    }

    /// Words for the shares of a string, one byte for each of its bits; the string itself fits in `words`
    /// bytes.
    fn words(self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Payload bytes that the second party sends in step 3.
    pub fn flip_bytes(self) -> usize {
        self.count * self.words()
    }
}

/// One party's shares of all s ⊕ a modulo 2^h, in bytes whose bits from h on are unused. The other terms are
/// even, so the lowest bit is the first party's s or the second party's a.
pub struct Distances {
    strings: Strings,
    shares: ZeroizingVec<u64>,
}

impl Distances {
    fn new(strings: Strings) -> Self {
        Self { strings, shares: ZeroizingVec::zeros(strings.count * strings.words()) }
    }

    /// The shares of each string.
    fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.shares.chunks_exact(self.strings.words())
    }

    /// The bits of a string with these shares: s or a.
    fn lowest(row: &[u64]) -> impl Iterator<Item = u8> {
        // Moves the bit of byte i to bit 56 + i, and the others to where they do not collide with it.
        row.iter().map(|word| ((word & ONES).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8)
    }

    /// The first party's strings, the first bit of each in the lowest bit of its block.
    pub fn strings(&self) -> impl Iterator<Item = Block> {
        self.rows().map(|row| {
            let mut bytes = [0; size_of::<Block>()];
            bytes.iter_mut().zip(Self::lowest(row)).for_each(|(byte, bits)| *byte = bits);
            Block::from_bytes(bytes)
        })
    }

    /// Step 3 for the first party: h wires that equal the second party's exactly if the strings are equal.
    pub fn first(self, channel: &mut Channel) -> Result<WireBits> {
        let mut flips = vec![0; self.strings.flip_bytes()];
        for message in flips.chunks_mut(MESSAGE_WORDS * size_of::<u64>()) {
            channel.recv_into(FLIPS, message)?;
        }
        Ok(self.add_up(&flips, |sum, flipped| sum.wrapping_add(flipped)))
    }

    /// Step 3 for the second party, with its strings.
    ///
    /// # Panics
    /// If their number is not the agreed one.
    pub fn second(self, strings: &[Block], channel: &mut Channel) -> Result<WireBits> {
        assert_eq!(strings.len(), self.strings.count, "as many as agreed on");
        let mut flips = Vec::with_capacity(self.strings.flip_bytes());
        let mask = Block((1 << self.strings.bits) - 1);
        for (row, string) in self.rows().zip(strings) {
            let bytes = (*string & mask).to_bytes();
            flips.extend(Self::lowest(row).zip(bytes).map(|(a, r)| a ^ r));
        }
        for message in flips.chunks(MESSAGE_WORDS * size_of::<u64>()) {
            channel.send(FLIPS, message)?;
        }
        channel.flush()?;
        Ok(self.add_up(&flips, |sum, _| sum.wrapping_neg()))
    }

    /// This party's shares of the distances; `finish` gets the sum of a string's shares and the number of its
    /// flips.
    fn add_up(&self, flips: &[u8], finish: impl Fn(u8, u8) -> u8) -> WireBits {
        let sums = self.rows().zip(flips.chunks_exact(self.strings.words())).map(|(row, flips)| {
            let flipped = flips.iter().map(|flips| flips.count_ones() as u8).sum();
            u64::from(finish(add_up(row, flips), flipped))
        });
        let sums: Zeroizing<Vec<u64>> = Zeroizing::new(sums.collect());
        WireBits::from_items(&sums, self.strings.distance_bits())
    }
}

/// The sum of shares modulo 128, with those negated whose flip is 1.
fn add_up(shares: &[u64], flips: &[u8]) -> u8 {
    let sums = shares.iter().zip(flips).fold(0, |sums, (shares, flips)| {
        // One byte for each bit of the flips: 1 or 0.
        let spread = (u64::from(*flips) * ONES) & 0x8040_2010_0804_0201;
        let negated = ((spread + SEVEN_BITS) >> 7) & ONES;
        // No byte exceeds 127 + 128.
        (sums + ((shares & SEVEN_BITS) ^ (negated * 0x7f)) + negated) & SEVEN_BITS
    });
    sums.to_le_bytes().into_iter().fold(0, u8::wrapping_add)
}

/// The position of the next bit's share.
struct Cursor {
    strings: Strings,
    byte: usize,
    column: usize,
}

impl Cursor {
    fn new(strings: Strings) -> Self {
        Self { strings, byte: 0, column: 0 }
    }

    #[inline]
    fn next(&mut self) -> usize {
        let byte = self.byte;
        self.column += 1;
        self.byte += 1;
        if self.column == self.strings.bits {
            self.byte += 8 * self.strings.words() - self.strings.bits;
            self.column = 0;
        }
        byte
    }
}

/// The first party's shares, as far as OTs have arrived.
pub(super) struct Sent {
    made: Distances,
    cursor: Cursor,
    corrections: Vec<u64>,
    /// Number of corrections in the last word.
    filled: usize,
}

impl Sent {
    pub(super) fn new(strings: Strings) -> Self {
        let corrections = Vec::with_capacity(strings.correction_bytes() / size_of::<u64>());
        let filled = strings.corrections_in_word();
        Self { made: Distances::new(strings), cursor: Cursor::new(strings), corrections, filled }
    }

    /// Step 1 with the unused OTs of a chunk.
    pub(super) fn take(&mut self, chunk: &mut SentChunk<'_>) {
        let strings = self.made.strings;
        let (in_word, bits) = (strings.corrections_in_word(), strings.correction_bits());
        let shares: &mut [u8] = cast_slice_mut(&mut self.made.shares);
        chunk.take_blocks(chunk.len(), |zeros, ones| {
            for (zero, one) in zeros.iter().zip(ones) {
                let (zero, one) = (zero.low() as u8, one.low() as u8);
                let difference = one.wrapping_sub(zero);
                shares[self.cursor.next()] = (difference & 1).wrapping_add(zero << 1);
                let correction = (difference >> 1).wrapping_neg() & ((1 << bits) - 1);
                if self.filled == in_word {
                    self.corrections.push(0);
                    self.filled = 0;
                }
                let word = self.corrections.last_mut().expect("a word was pushed");
                *word |= u64::from(correction) << (bits * self.filled);
                self.filled += 1;
            }
        });
    }

    /// Step 2.
    pub(super) fn finish(self, channel: &mut Channel) -> Result<Distances> {
        for message in self.corrections.chunks(MESSAGE_WORDS) {
            channel.send_slice(CORRECTIONS, message)?;
        }
        channel.flush()?;
        Ok(self.made)
    }
}

/// The second party's shares, as far as OTs have arrived.
pub(super) struct Received {
    /// a + 2·m_a.
    made: Distances,
    cursor: Cursor,
}

impl Received {
    pub(super) fn new(strings: Strings) -> Self {
        Self { made: Distances::new(strings), cursor: Cursor::new(strings) }
    }

    /// Step 1 with the unused OTs of a chunk.
    pub(super) fn take(&mut self, chunk: &mut ReceivedChunk<'_>) {
        let shares: &mut [u8] = cast_slice_mut(&mut self.made.shares);
        chunk.take_blocks(chunk.len(), |choices, chosen| {
            for (i, message) in chosen.iter().enumerate() {
                let choice = (choices[i / 64] >> (i % 64)) as u8 & 1;
                shares[self.cursor.next()] = choice.wrapping_add((message.low() as u8) << 1);
            }
        });
    }

    /// Step 2.
    pub(super) fn finish(mut self, channel: &mut Channel) -> Result<Distances> {
        let strings = self.made.strings;
        let (in_word, bits) = (strings.corrections_in_word(), strings.correction_bits());
        let mut left = strings.ots();
        let mut cursor = Cursor::new(strings);
        let shares: &mut [u8] = cast_slice_mut(&mut self.made.shares);
        let mut words = vec![0u64; MESSAGE_WORDS.min(left.div_ceil(in_word))];
        while left > 0 {
            let words = &mut words[..MESSAGE_WORDS.min(left.div_ceil(in_word))];
            channel.recv_slice(CORRECTIONS, words)?;
            for word in words.iter() {
                let here = in_word.min(left);
                for i in 0..here {
                    let correction = (word >> (bits * i)) as u8 & ((1 << bits) - 1);
                    // a − 2·m_a − 4·u·a, computed from a + 2·m_a.
                    let share = &mut shares[cursor.next()];
                    let choice = *share & 1;
                    let negative = share.wrapping_sub(2 * choice);
                    *share = 0u8.wrapping_sub(negative).wrapping_sub((choice * correction) << 2);
                }
                left -= here;
            }
        }
        Ok(self.made)
    }
}
