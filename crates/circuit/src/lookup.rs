//! Look-ups: shares of an entry of a table that one party knows, at a position that neither knows.
//!
//! For each row T knows a table of P entries of B bits, and a number v < P; S knows a number w < P. Both get XOR shares
//! of the entry at the position (v + w) mod P. P is a power of two, 2^d. T turns its table by v, so that S's entry is
//! at w. Random OTs with the bits of w as choices, d for each row, give T the messages k_{i,0} and k_{i,1}, and S the
//! one at the bit i of w. The mask of the entry x is
//!
//! m_x = ⊕_i G(k_{i,x_i})[x mod 2^i],
//!
//! where x_i is the bit i of x and G stretches a message to 2^i pads of B bits. Consider the entries that first differ
//! from w in bit i, counted from the highest: x mod 2^i is another number for each of them, and S does not know the
//! message k_{i,x_i}, which no mask of an entry that first differs in a lower bit contains. So the masks of all entries
//! but w are pseudo-random to S, independently of each other.
//!
//! - **L1.** d random OTs for each row with the bits of w as choices.
//! - **L2.** T takes e = t_0 ⊕ m_0 as its share, where t is the turned table, and sends t_x ⊕ m_x ⊕ e for all x but 0,
//!   where this is 0.
//! - **L3.** S halves the row once for each bit of w, from the highest: it keeps the half at that bit, and removes its
//!   pads. The entry that is left is its share.
//!
//! T sees only OTs, and S nothing but masked entries. Memory accesses and time depend neither on tables nor on v or w.
//! The bit b of all entries is one word, which holds up to 64 positions, so turning and halving are shifts. A row takes
//! B·(P − 1) bits, without gaps.
//!
//! The OT's hash bounds the number of targets for a guess of its Δ; messages that are stretched have a public key for
//! each call of the extension. A half-tree would not do: it gives S all entries but one. Semi-honest.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::{Bits, Block, threads};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{WireBits, rows::Stretch};

const KEY: &str = "lookup/key";
const ENTRIES: &str = "lookup/entries";

/// The maximal number of positions.
pub const MAX_POSITIONS: usize = 64;

/// The maximal number of bits of an entry.
pub const MAX_BITS: usize = 8;

/// OTs processed at a time, with one call of the extension, at most.
const CHUNK: usize = 1 << 18;

/// Rows that a thread processes at a time. Their bits fill whole bytes.
const TASK: usize = 1 << 10;

/// Bytes of the most pads that a message gives.
const PADS_LEN: usize = MAX_POSITIONS / 2 * MAX_BITS / 8;

/// The entries of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableShape {
    /// P, the number of positions: a power of two from 2 to [`MAX_POSITIONS`].
    pub positions: usize,
    /// B, the bits of an entry, from 1 to [`MAX_BITS`].
    pub bits: usize,
}

impl TableShape {
    /// d, the number of bits of a position, and of OTs for each row.
    fn depth(self) -> usize {
        self.positions.trailing_zeros() as usize
    }

    /// The bits of a word that are positions.
    fn all(self) -> u64 {
        ones(self.positions)
    }

    /// Bytes of the masked entries of some rows.
    fn bytes(self, rows: usize) -> usize {
        (rows * self.bits * (self.positions - 1)).div_ceil(8)
    }

    /// Rows of a chunk: whole tasks, if they are not all rows.
    fn rows_at_once(self) -> usize {
        CHUNK / self.depth() / TASK * TASK
    }

    /// Whether the mask of an OT takes more than a block.
    fn is_stretched(self) -> bool {
        self.positions / 2 * self.bits > 128
    }

    fn check(self) {
        let Self { positions, bits } = self;
        let is_power = positions.is_power_of_two() && (2..=MAX_POSITIONS).contains(&positions);
        assert!(is_power, "a power of two from 2 to {MAX_POSITIONS} positions");
        assert!((1..=MAX_BITS).contains(&bits), "entries of 1 to {MAX_BITS} bits");
    }
}

/// A word whose lowest `count` bits are 1.
fn ones(count: usize) -> u64 {
    u64::MAX >> (64 - count)
}

/// Payload bytes: to T, which is the sender of the OTs, and to S. `of_ots` is the cost of one call of the extension,
/// without its setup.
pub fn bytes(rows: usize, shape: TableShape, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
    let key = if shape.is_stretched() { size_of::<Block>() } else { 0 };
    let mut bytes = Bytes { to_sender: 0, to_receiver: 0 };
    for start in (0..rows).step_by(shape.rows_at_once()) {
        let count = shape.rows_at_once().min(rows - start);
        bytes = bytes + of_ots(count * shape.depth());
        bytes.to_receiver += shape.bytes(count) + key;
    }
    bytes
}

/// Bytes of memory of a party beside tables and shares.
pub fn memory(shape: TableShape) -> usize {
    3 * CHUNK * size_of::<Block>() + shape.bytes(shape.rows_at_once())
}

/// T's shares of entries, a wire for each bit. `tables` has B words for each row: the bit x of the word b is bit b of
/// the entry at position x. `turns` has the number v of each row.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If the shape is not within its bounds, or there are not B words for each number.
pub fn look_up_known(
    tables: &[u64],
    turns: &[u8],
    shape: TableShape,
    ot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<WireBits> {
    shape.check();
    let (bits, depth, at_once) = (shape.bits, shape.depth(), shape.rows_at_once());
    assert_eq!(tables.len(), turns.len() * bits, "{bits} words for each row");
    let mut shares = Zeroizing::new(vec![0; turns.len()]);
    let mut pairs = Zeroizing::new(vec![[Block::ZERO; 2]; at_once.min(turns.len()) * depth]);
    let chunks = tables.chunks(at_once * bits).zip(turns.chunks(at_once));
    for ((tables, turns), shares) in chunks.zip(shares.chunks_mut(at_once)) {
        // L1.
        let pairs = &mut pairs[..turns.len() * depth];
        ot.send_random_into(pairs, channel)?;
        // L2.
        let mut key = Block::ZERO;
        if shape.is_stretched() {
            key = Block::random(rng);
            channel.send_slice(KEY, &[key])?;
        }
        let stretch = Stretch::new(key);
        let mut sent = vec![0; shape.bytes(turns.len())];
        let inputs = tables.chunks(TASK * bits).zip(turns.chunks(TASK));
        let outputs = sent.chunks_mut(shape.bytes(TASK)).zip(shares.chunks_mut(TASK));
        let tasks = inputs.zip(pairs.chunks(TASK * depth)).zip(outputs);
        threads::for_each(tasks, |(((tables, turns), pairs), (sent, shares))| {
            let mut sent = Packed { bytes: sent, held: 0, count: 0 };
            let rows = tables.chunks_exact(bits).zip(turns).zip(pairs.chunks_exact(depth));
            let mut masks = Masks::default();
            for (((table, turn), pairs), share) in rows.zip(shares) {
                let masks = masks.fill(shape, &stretch, pairs);
                for (bit, (word, mask)) in table.iter().zip(masks).enumerate() {
                    let masked = turned(*word, *turn, shape) ^ mask;
                    let first = masked & 1;
                    *share |= first << bit;
                    sent.push(
                        (masked ^ first.wrapping_neg() & shape.all()) >> 1,
                        shape.positions - 1,
                    );
                }
            }
            sent.finish();
        });
        channel.send_slice(ENTRIES, &sent)?;
        channel.keep_alive()?;
    }
    channel.flush()?;
    Ok(WireBits::from_items(&shares, bits))
}

/// S's shares of entries, a wire for each bit. `positions` has the number w of each row.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If the shape is not within its bounds.
pub fn look_up_hidden(
    positions: &[u8],
    shape: TableShape,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<WireBits> {
    shape.check();
    let (bits, depth, at_once) = (shape.bits, shape.depth(), shape.rows_at_once());
    let mut shares = Zeroizing::new(vec![0; positions.len()]);
    for (positions, shares) in positions.chunks(at_once).zip(shares.chunks_mut(at_once)) {
        // L1.
        let mut choices = Bits::zeros(positions.len() * depth);
        for (row, position) in positions.iter().enumerate() {
            (0..depth).for_each(|level| choices.set(row * depth + level, position >> level & 1));
        }
        let chosen = Zeroizing::new(ot.receive_random(&choices, channel)?);
        // L3.
        let mut key = [Block::ZERO];
        if shape.is_stretched() {
            channel.recv_slice(KEY, &mut key)?;
        }
        let stretch = Stretch::new(key[0]);
        let mut received = Zeroizing::new(vec![0; shape.bytes(positions.len())]);
        channel.recv_slice(ENTRIES, &mut received)?;
        let inputs = positions.chunks(TASK).zip(chosen.chunks(TASK * depth));
        let inputs = inputs.zip(received.chunks_mut(shape.bytes(TASK)));
        let tasks = inputs.zip(shares.chunks_mut(TASK));
        threads::for_each(tasks, |(((positions, chosen), received), shares)| {
            let mut received = Packed { bytes: received, held: 0, count: 0 };
            let rows = positions.iter().zip(chosen.chunks_exact(depth));
            let (mut pads, mut words) = (Pads::default(), Zeroizing::new([0; MAX_BITS]));
            let words = &mut words[..bits];
            for ((position, chosen), share) in rows.zip(shares) {
                words.fill_with(|| received.pull(shape.positions - 1) << 1);
                for (level, message) in chosen.iter().enumerate().rev() {
                    let half = (position >> level & 1) << level;
                    let pads = pads.fill(shape, &stretch, *message, level);
                    for (word, pad) in words.iter_mut().zip(pads) {
                        *word = (*word >> half) & ones(1 << level) ^ pad;
                    }
                }
                *share = words.iter().rev().fold(0, |share, word| share << 1 | word);
            }
        });
    }
    Ok(WireBits::from_items(&shares, bits))
}

/// The pads that a message gives.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
struct Pads {
    stretched: [u8; PADS_LEN],
    /// For each bit of an entry, the pads of all entries of a half.
    words: [u64; MAX_BITS],
}

impl Pads {
    /// The words, filled for the bit `level` of a position.
    fn fill(
        &mut self,
        shape: TableShape,
        stretch: &Stretch,
        message: Block,
        level: usize,
    ) -> &[u64] {
        let width = 1 << level;
        stretch.fill(message, &mut self.stretched[..(shape.bits * width).div_ceil(8)]);
        let blocks = self.stretched.as_chunks().0;
        let words = &mut self.words[..shape.bits];
        for (first, word) in (0..).step_by(width).zip(&mut *words) {
            *word =
                (u128::from_le_bytes(blocks[first / 128]) >> (first % 128)) as u64 & ones(width);
        }
        words
    }
}

/// The masks of the entries of one row after another.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
struct Masks {
    pads: [Pads; 2],
    words: [u64; MAX_BITS],
}

impl Masks {
    /// A word for each bit of an entry.
    fn fill(&mut self, shape: TableShape, stretch: &Stretch, pairs: &[[Block; 2]]) -> &[u64] {
        let words = &mut self.words[..shape.bits];
        words.fill(0);
        for (level, pair) in pairs.iter().enumerate() {
            let [low, high] = &mut self.pads;
            let low = low.fill(shape, stretch, pair[0], level);
            let high = high.fill(shape, stretch, pair[1], level);
            for (word, (low, high)) in words.iter_mut().zip(low.iter().zip(high)) {
                *word = *word ^ low | (*word ^ high) << (1 << level);
            }
        }
        words
    }
}

/// A word with the positions turned: the bit x of the result is the bit (x + turn) mod P of the word.
fn turned(word: u64, turn: u8, shape: TableShape) -> u64 {
    let turn = u32::from(turn) & (shape.positions as u32 - 1);
    // Twice in a row, all positions are there after the turn.
    let twice = u128::from(word) << shape.positions | u128::from(word);
    (twice >> turn) as u64 & shape.all()
}

/// Words of up to 64 bits, one after another without gaps.
struct Packed<'a> {
    bytes: &'a mut [u8],
    /// Bits between the words and the bytes.
    held: u128,
    count: usize,
}

impl Packed<'_> {
    /// Appends the lowest bits of a word, whose other bits are 0.
    fn push(&mut self, word: u64, bits: usize) {
        self.held |= u128::from(word) << self.count;
        self.count += bits;
        let full = self.count / 8;
        let (now, later) = std::mem::take(&mut self.bytes).split_at_mut(full);
        now.copy_from_slice(&self.held.to_le_bytes()[..full]);
        self.bytes = later;
        self.held >>= 8 * full;
        self.count %= 8;
    }

    /// Writes the last byte, if it is not full.
    fn finish(self) {
        if let Some(last) = self.bytes.first_mut() {
            *last = self.held as u8;
        }
    }

    /// Takes the next bits.
    fn pull(&mut self, bits: usize) -> u64 {
        let missing = bits.saturating_sub(self.count).div_ceil(8);
        let (now, later) = std::mem::take(&mut self.bytes).split_at_mut(missing);
        let mut bytes = [0; 16];
        bytes[..missing].copy_from_slice(now);
        self.bytes = later;
        self.held |= u128::from_le_bytes(bytes) << self.count;
        self.count += 8 * missing;
        let word = self.held as u64 & ones(bits);
        self.held >>= bits;
        self.count -= bits;
        word
    }
}

impl Drop for Packed<'_> {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_ot::extension::alsz13;
    use vesica_testkit::two_party::{self, Link};

    use super::*;

    /// The parties' data: for each row a table, and the two parts of a position.
    struct Rows {
        shape: TableShape,
        /// The entry at each position, row by row.
        entries: Vec<u8>,
        turns: Vec<u8>,
        positions: Vec<u8>,
    }

    impl Rows {
        fn random(shape: TableShape, rows: usize, rng: &mut StdRng) -> Self {
            let TableShape { positions, bits } = shape;
            let below = u8::MAX >> (8 - bits);
            let entries = (0..rows * positions).map(|_| rng.random::<u8>() & below).collect();
            let mut part = || (0..rows).map(|_| rng.random_range(0..positions as u8)).collect();
            Self { shape, entries, turns: part(), positions: part() }
        }

        fn tables(&self) -> Vec<u64> {
            let TableShape { positions, bits } = self.shape;
            let word = |table: &[u8], bit: usize| {
                let marks = table.iter().map(|entry| u64::from(entry >> bit & 1));
                marks.rev().fold(0, |word, mark| word << 1 | mark)
            };
            let tables = self.entries.chunks(positions);
            tables.flat_map(|table| (0..bits).map(move |bit| word(table, bit))).collect()
        }

        /// The sums of both parties' shares, if T turns its tables by these numbers.
        fn look_up(&self, turns: &[u8]) -> Vec<u64> {
            let tables = self.tables();
            let (mut known, hidden) = two_party::run(
                Link::Memory,
                |channel, rng| {
                    let mut ot = alsz13::Sender::setup(channel, rng)?;
                    look_up_known(&tables, turns, self.shape, &mut ot, channel, rng)
                },
                |channel, rng| {
                    let mut ot = alsz13::Receiver::setup(channel, rng)?;
                    look_up_hidden(&self.positions, self.shape, &mut ot, channel)
                },
            );
            known.xor_with(&hidden);
            known.to_items()
        }

        fn expected(&self) -> Vec<u64> {
            let parts = self.turns.iter().zip(&self.positions);
            let tables = self.entries.chunks(self.shape.positions).zip(parts);
            let entries = tables.map(|(table, (v, w))| {
                table[(usize::from(*v) + usize::from(*w)) % table.len()].into()
            });
            entries.collect()
        }
    }

    const SHAPES: [TableShape; 7] = [
        TableShape { positions: 2, bits: 1 },
        TableShape { positions: 2, bits: 8 },
        TableShape { positions: 4, bits: 3 },
        TableShape { positions: 32, bits: 8 },
        TableShape { positions: 64, bits: 1 },
        TableShape { positions: 64, bits: 5 },
        TableShape { positions: 64, bits: 8 },
    ];

    #[test]
    fn entries_are_those_at_the_positions() {
        let mut rng = StdRng::seed_from_u64(1);
        for shape in SHAPES {
            for rows in [0, 1, 7, 130, TASK + 1] {
                let rows = Rows::random(shape, rows, &mut rng);
                assert_eq!(rows.look_up(&rows.turns), rows.expected(), "{shape:?}");
            }
        }
    }

    /// Every position by every pair of parts, in tables with another entry at each.
    #[test]
    fn every_position_is_found() {
        let shape = TableShape { positions: 64, bits: 6 };
        let parts = || (0..64).flat_map(|v| (0..64).map(move |w| (v, w)));
        let rows = Rows {
            shape,
            entries: parts().flat_map(|_| 0..64).collect(),
            turns: parts().map(|(v, _)| v).collect(),
            positions: parts().map(|(_, w)| w).collect(),
        };
        assert_eq!(rows.look_up(&rows.turns), rows.expected());
    }

    #[test]
    fn rows_may_need_several_calls() {
        let shape = TableShape { positions: 64, bits: 5 };
        let rows = Rows::random(shape, shape.rows_at_once() + 3, &mut StdRng::seed_from_u64(2));
        assert_eq!(rows.look_up(&rows.turns), rows.expected());
    }

    #[test]
    fn tables_that_are_not_turned_give_other_entries() {
        let shape = TableShape { positions: 64, bits: 4 };
        let rows = Rows::random(shape, 200, &mut StdRng::seed_from_u64(3));
        assert_ne!(rows.look_up(&[0; 200]), rows.expected());
    }

    /// Masks that were sums of a pad for each bit of a position would cancel at the four corners of a square.
    #[test]
    fn masks_of_four_entries_do_not_cancel() {
        let shape = TableShape { positions: 64, bits: 8 };
        let mut rng = StdRng::seed_from_u64(4);
        let stretch = Stretch::new(Block::random(&mut rng));
        let mut random = |_| [(); 2].map(|()| Block::random(&mut rng));
        let rows: Vec<Vec<_>> = (0..64).map(|_| (0..6).map(&mut random).collect()).collect();
        let mut masks = Masks::default();
        let words: Vec<Vec<u64>> =
            rows.iter().map(|pairs| masks.fill(shape, &stretch, pairs).to_vec()).collect();
        // The bits of a mask in all rows.
        let column = |bit: usize, x: usize| {
            words.iter().fold(0, |column: u64, words| column << 1 | words[bit] >> x & 1)
        };
        for bit in 0..shape.bits {
            for (a, b) in [(1, 2), (1, 4), (2, 8), (4, 32), (16, 32), (1, 32)] {
                let sum = [0, a, b, a | b].iter().fold(0, |sum, x| sum ^ column(bit, *x));
                assert!((8..=56).contains(&sum.count_ones()), "{bit}, {a}, {b}: {sum:064b}");
            }
        }
    }
}
