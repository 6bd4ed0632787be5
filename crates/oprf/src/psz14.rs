//! The batched OPRF inside the set inclusion of Pinkas, Schneider and Zohner (USENIX Security 2014), §5: a
//! value is made from one 1-out-of-256 OT for each letter of a string. Semi-honest.
//!
//! - **O1.** Once, without input: the setup of [`kk13`].
//! - **O2.** For each instance j and each of the t letters a random OT (j, i), in which R chooses the i-th letter of
//!   its string w_j: S has a key s_{j,i}(c) for each letter c, R has the key of its own.
//! - **O3.** F_j(v) = H(j, ⊕_i s_{j,i}(v_i), v).
//!
//! Its cost therefore grows with the length of strings, whereas [`kkrt16`](super::kkrt16) handles a whole block
//! at the cost of three and a half letters.
//!
//! Deviation from the paper: sums are hashed. Bare sums depend on each other: the sums of the strings ab, ab', a'b and
//! a'b' add up to zero, and this always happens among more than 256 t strings of an instance. R would see relations
//! among strings that are not its own.

use std::ops::Range;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes,
    extension::columns::CHUNK_ROWS,
    one_of_n::{Keys, Receiver as _, Sender as _, kk13},
};
use vesica_primitives::{
    Block,
    block::add_to,
    hash::{IndexedRow, RowHash},
};
use zeroize::Zeroizing;

pub use vesica_ot::one_of_n::kk13::ADVERSARY;

/// The maximal number of letters of a string: the bytes of a block.
pub const MAX_LETTERS: usize = size_of::<Block>();

/// The number of different letters.
const ALPHABET: usize = 256;

/// Approximate number of points evaluated together.
const BLOCK_POINTS: usize = 1 << 14;

/// Values that are hashed together.
const BATCH: usize = 64;

const SESSION: &str = "psz14/session";

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    let ot = kk13::setup_bytes();
    Bytes { to_receiver: ot.to_receiver + size_of::<Block>(), ..ot }
}

/// Payload bytes for strings of `letters` letters, all of them to the sender.
pub fn bytes(instances: usize, letters: usize) -> usize {
    letters * pieces(instances).map(|piece| kk13::bytes(piece.len()).to_sender).sum::<usize>()
}

/// The ranges of instances whose OTs are made together, one letter after another.
fn pieces(instances: usize) -> impl Iterator<Item = Range<usize>> {
    (0..instances).step_by(CHUNK_ROWS).map(move |first| first..(first + CHUNK_ROWS).min(instances))
}

fn letter(word: Block, number: usize) -> usize {
    (word.0 >> (8 * number)) as usize % ALPHABET
}

/// The party that can evaluate every instance anywhere.
pub struct Sender {
    ot: kk13::Sender,
    hash: RowHash,
}

impl Sender {
    /// Step O1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let ot = kk13::Sender::setup(channel, rng)?;
        let session = Block::random(rng);
        channel.send_slice(SESSION, &[session])?;
        channel.flush()?;
        Ok(Self { ot, hash: RowHash::new(session) })
    }

    /// Evaluates each instance at its own `points`, by their first `letters` bytes, the lowest first, and passes on the
    /// values of one instance after another.
    ///
    /// # Panics
    /// If strings have no letters or more than [`MAX_LETTERS`].
    pub fn evaluate<'a>(
        mut self,
        instances: usize,
        letters: usize,
        points: impl Fn(usize) -> &'a [Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        mut show: impl FnMut(usize, &[Block]),
    ) -> Result<()> {
        assert!((1..=MAX_LETTERS).contains(&letters), "strings have letters");
        let mut points_of = Points::default();
        for piece in pieces(instances) {
            // O2.
            let keys = (0..letters).map(|_| self.ot.send_random(piece.len(), channel, rng));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            // O3.
            let mut next = piece.start;
            while next < piece.end {
                next = points_of.gather(next..piece.end, &points);
                points_of.evaluate(piece.start, &keys, &self.hash);
                points_of.values().for_each(|(instance, values)| show(instance, values));
                channel.keep_alive()?;
            }
        }
        Ok(())
    }
}

/// The points of some adjacent instances, and their values.
#[derive(Default)]
struct Points {
    /// The first instance.
    first: usize,
    /// The start of each instance's points, followed by the number of points.
    starts: Vec<usize>,
    words: Vec<Block>,
    /// The instance of each point.
    numbers: Vec<u64>,
    sums: Zeroizing<Vec<Block>>,
    keys: Zeroizing<Vec<Block>>,
}

impl Points {
    /// Gathers points of instances, beginning with the first of these, until there are enough, and returns the
    /// next instance.
    fn gather<'a>(
        &mut self,
        instances: Range<usize>,
        points: &impl Fn(usize) -> &'a [Block],
    ) -> usize {
        self.first = instances.start;
        self.words.clear();
        self.numbers.clear();
        self.starts.clear();
        self.starts.push(0);
        for instance in instances {
            self.words.extend_from_slice(points(instance));
            self.numbers.resize(self.words.len(), instance as u64);
            self.starts.push(self.words.len());
            if self.words.len() >= BLOCK_POINTS {
                break;
            }
        }
        self.first + self.starts.len() - 1
    }

    /// Computes the values, with the keys of each letter of the instances from `piece` on.
    fn evaluate(&mut self, piece: usize, keys: &[impl Keys], hash: &RowHash) {
        let Self { first, starts, words, numbers, sums, keys: scratch } = self;
        let instances = starts.len() - 1;
        // Only the OTs of these instances have points.
        let own = |ot: usize| (piece + ot).clamp(*first, *first + instances) - *first;
        sums.clear();
        sums.resize(words.len(), Block::ZERO);
        // If an instance has more points than keys, all keys are computed once.
        let by_table = words.len() > ALPHABET * instances;
        scratch.resize(if by_table { ALPHABET * instances } else { words.len() }, Block::ZERO);
        for (number, keys) in keys.iter().enumerate() {
            if by_table {
                let every = |point: usize| Block((point % ALPHABET) as u128);
                keys.evaluate(|ot| ALPHABET * own(ot), every, scratch);
                let points = sums.par_iter_mut().zip(&*words).zip(&*numbers);
                points.with_min_len(BLOCK_POINTS).for_each(|((sum, word), instance)| {
                    let table = ALPHABET * (*instance as usize - *first);
                    *sum ^= scratch[table + letter(*word, number)];
                });
            } else {
                let chosen = |point: usize| Block(letter(words[point], number) as u128);
                keys.evaluate(|ot| starts[own(ot)], chosen, scratch);
                add_to(sums, scratch);
            }
        }
        finish(hash, sums, words, |point| numbers[point]);
    }

    /// The values of each instance.
    fn values(&self) -> impl Iterator<Item = (usize, &[Block])> {
        let ranges = self.starts.array_windows();
        ranges
            .zip(self.first..)
            .map(|([start, end], instance)| (instance, &self.sums[*start..*end]))
    }
}

/// Replaces each sum by its hash with the word and the number of the instance.
fn finish(
    hash: &RowHash,
    sums: &mut [Block],
    words: &[Block],
    number: impl Fn(usize) -> u64 + Sync,
) {
    let batches = sums.par_chunks_mut(BATCH).zip(words.par_chunks(BATCH)).enumerate();
    batches.for_each(|(batch, (sums, words))| {
        let mut rows = [IndexedRow::default(); BATCH];
        let points = sums.iter().zip(words).zip(batch * BATCH..);
        rows.iter_mut().zip(points).for_each(|(row, ((sum, word), point))| {
            *row = IndexedRow::new(number(point), &[*sum, *word, Block::ZERO, Block::ZERO]);
        });
        hash.hash(&rows[..sums.len()], sums);
    });
}

/// The party that learns one value of each instance.
pub struct Receiver {
    ot: kk13::Receiver,
    hash: RowHash,
}

impl Receiver {
    /// Step O1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let ot = kk13::Receiver::setup(channel, rng)?;
        let mut session = [Block::ZERO];
        channel.recv_slice(SESSION, &mut session)?;
        Ok(Self { ot, hash: RowHash::new(session[0]) })
    }

    /// The value of instance j at `words[j]`, for each j, where only the first `letters` bytes of a word count.
    ///
    /// # Panics
    /// Same as [`Sender::evaluate`].
    pub fn evaluate(
        mut self,
        words: &[Block],
        letters: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        assert!((1..=MAX_LETTERS).contains(&letters), "strings have letters");
        let mut values = vec![Block::ZERO; words.len()];
        let mut keys = Zeroizing::new(Vec::new());
        for piece in pieces(words.len()) {
            // O2.
            let (words, sums) = (&words[piece.clone()], &mut values[piece]);
            keys.resize(words.len(), Block::ZERO);
            for number in 0..letters {
                let chosen = words.iter().map(|word| Block(letter(*word, number) as u128));
                let chosen = Zeroizing::new(chosen.collect::<Vec<_>>());
                self.ot.receive_random_into(&chosen, &mut keys, channel, rng)?;
                add_to(sums, &keys);
            }
        }
        // O3.
        finish(&self.hash, &mut values, words, |instance| instance as u64);
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use vesica_testkit::two_party::{self, Link};

    use super::*;

    /// More points in an instance than there are letters, so that all keys are computed, and words that differ
    /// in only one letter.
    #[test]
    fn many_points_of_few_instances() {
        let letters = 3;
        let words = [Block(0), Block(0x01_02_03), Block(0xff_ff_ff)];
        let points: Vec<Block> = (0..3000u128).map(|i| Block(i * 0x00_01_03)).collect();
        let mut sets = [points.clone(), points.clone(), points[..5].to_vec()];
        sets.iter_mut().zip(words).for_each(|(set, word)| set.push(word));
        let (shown, received) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut shown = vec![Vec::new(); words.len()];
                Sender::setup(channel, rng)?.evaluate(
                    words.len(),
                    letters,
                    |instance| &sets[instance],
                    channel,
                    rng,
                    |instance, values| shown[instance] = values.to_vec(),
                )?;
                Ok::<_, vesica_net::Error>(shown)
            },
            |channel, rng| Receiver::setup(channel, rng)?.evaluate(&words, letters, channel, rng),
        );
        for (((set, values), word), own) in sets.iter().zip(&shown).zip(words).zip(received) {
            assert_eq!(set.len(), values.len());
            for (point, value) in set.iter().zip(values) {
                assert_eq!(*value == own, *point == word, "{point:?}");
            }
        }
    }

    /// Bare sums of four strings that agree pairwise add up to zero; values must not.
    #[test]
    fn values_of_a_rectangle_of_strings_are_independent() {
        let rectangle = [0x0000, 0x0001, 0x0100, 0x0101].map(Block);
        let (values, _) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut shown = Vec::new();
                let points = |_| &rectangle[..];
                let show = |_, values: &[Block]| shown.extend_from_slice(values);
                Sender::setup(channel, rng)?.evaluate(1, 2, points, channel, rng, show)?;
                Ok::<_, vesica_net::Error>(shown)
            },
            |channel, rng| Receiver::setup(channel, rng)?.evaluate(&[Block(7)], 2, channel, rng),
        );
        assert_eq!(values.len(), 4);
        assert_ne!(values.iter().fold(Block::ZERO, |sum, value| sum ^ *value), Block::ZERO);
    }

    #[test]
    fn cost_grows_with_the_letters() {
        assert_eq!(bytes(1 << 12, 1), 32 << 12);
        assert_eq!(bytes(10_000, 7), 7 * bytes(10_000, 1));
        assert_eq!(bytes(0, 16), 0);
    }
}
