//! Requirements on every oblivious pseudo-random function.

use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
};

use rand::{CryptoRng, Rng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Error};
use vesica_primitives::Block;

use crate::two_party::{self, Link};

/// Numbers of instances: none, one, and around the batch size.
const INSTANCES: [usize; 7] = [0, 1, 100, 4095, 4096, 4097, 10_000];

/// The sender's side of a batched OPRF, including setup: `starts` gives for each instance where its points
/// start, followed by their number; returns the value of each point.
pub type BatchedSender = fn(
    starts: &[u32],
    points: &[Block],
    &mut Channel,
    &mut dyn CryptoRng,
) -> Result<Vec<Block>, Error>;

/// The receiver's side: one word for each instance; returns the values there.
pub type BatchedReceiver =
    fn(words: &[Block], &mut Channel, &mut dyn CryptoRng) -> Result<Vec<Block>, Error>;

/// The distribution of the sender's points over the instances.
#[derive(Debug, Clone, Copy)]
enum Points {
    /// No points at all.
    None,
    /// Between zero and six in each instance, including the receiver's word in every other one.
    Uneven,
    /// All in the middle instance, more than one batch of them.
    OneInstance,
}

/// Tests a batched OPRF over memory, at all sizes.
pub fn batched(sender: BatchedSender, receiver: BatchedReceiver) {
    for instances in INSTANCES {
        for points in [Points::None, Points::Uneven, Points::OneInstance] {
            Case::new(instances, points).run(sender, receiver);
        }
    }
}

#[derive(Debug)]
struct Case {
    words: Vec<Block>,
    starts: Vec<u32>,
    points: Vec<Block>,
}

impl Case {
    fn new(instances: usize, spread: Points) -> Self {
        let mut rng = StdRng::seed_from_u64(instances as u64);
        // Half of the words are equal: instances must still differ.
        let word = |j: usize| if j.is_multiple_of(2) { Block(5) } else { Block(j as u128) };
        let words: Vec<Block> = (0..instances).map(word).collect();
        let (mut starts, mut points) = (vec![0], Vec::new());
        for (j, word) in words.iter().enumerate() {
            let count = match spread {
                Points::None => 0,
                Points::Uneven => j * 7 % 5 + j % 3,
                Points::OneInstance if j == instances / 2 => 1000,
                Points::OneInstance => 0,
            };
            let start = points.len();
            points.extend((0..count).map(|_| Block::random(&mut rng)));
            if count > 0 && j.is_multiple_of(2) {
                points[start + j % count] = *word;
            }
            starts.push(points.len() as u32);
        }
        Self { words, starts, points }
    }

    fn run(&self, sender: BatchedSender, receiver: BatchedReceiver) {
        let (values, received) = two_party::run(
            Link::Memory,
            |channel, rng| sender(&self.starts, &self.points, channel, rng),
            |channel, rng| receiver(&self.words, channel, rng),
        );
        assert_eq!(received.len(), self.words.len());
        assert_eq!(values.len(), self.points.len());
        let distinct: HashSet<&Block> = received.iter().collect();
        assert_eq!(distinct.len(), received.len(), "instances are different functions");
        for (j, (word, received)) in self.words.iter().zip(&received).enumerate() {
            let instance = self.starts[j] as usize..self.starts[j + 1] as usize;
            for (point, value) in self.points[instance.clone()].iter().zip(&values[instance]) {
                assert_eq!(value == received, point == word, "instance {j}");
            }
        }
    }
}

/// Numbers of the receiver's points and of points that the sender programs: none, one, around the bits of a
/// block, and enough for an OKVS with sparse columns on either side.
const PROGRAMMED: [(usize, usize); 12] = [
    (0, 0),
    (0, 3),
    (3, 0),
    (1, 1),
    (2, 3),
    (3, 2),
    (64, 65),
    (65, 64),
    (1000, 64),
    (65, 1000),
    (5003, 1000),
    (1000, 5003),
];

/// Lengths of programmed values in bytes: less than a block, a block, and more than two.
const VALUE_LENS: [usize; 4] = [1, 8, 16, 40];

/// The parameters on which both parties of a programmable OPRF agree.
#[derive(Debug, Clone, Copy)]
pub struct Agreed {
    /// Points of the receiver.
    pub points: usize,
    /// Maximal number of points that the sender programs.
    pub programmed: usize,
    /// Bytes of a value.
    pub len: usize,
}

/// Tests a programmable OPRF over memory, at all sizes and lengths of values. The sender gets points and their
/// concatenated values, and includes the setup. The receiver gets its points, and returns the values there.
pub fn programmable<E: From<Error> + Display + Send>(
    sender: impl Fn(Agreed, &[Block], &[u8], &mut Channel, &mut StdRng) -> Result<(), E> + Sync,
    receiver: impl Fn(Agreed, &[Block], &mut Channel, &mut StdRng) -> Result<Vec<u8>, E> + Sync,
) {
    for (i, (points, programmed)) in PROGRAMMED.into_iter().enumerate() {
        for len in VALUE_LENS {
            // Agree on exactly the number of the sender's points, and on more.
            let agreed = Agreed { points, programmed: programmed + i % 3 * 5, len };
            let case = ProgrammedCase::new(agreed, programmed);
            let (_, values) = two_party::run(
                Link::Memory,
                |channel, rng| sender(agreed, &case.programmed, &case.values, channel, rng),
                |channel, rng| receiver(agreed, &case.points, channel, rng),
            );
            case.check(&values);
        }
    }
}

#[derive(Debug)]
struct ProgrammedCase {
    agreed: Agreed,
    /// The receiver's points. Every other one is programmed, as long as the sender has points.
    points: Vec<Block>,
    programmed: Vec<Block>,
    /// The sender's values, one after another.
    values: Vec<u8>,
}

impl ProgrammedCase {
    fn new(agreed: Agreed, programmed: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(agreed.points as u64);
        let mut points: Vec<Block> = (0..agreed.points).map(|i| Block(i as u128)).collect();
        // Consecutive points, and points that look random.
        points
            .iter_mut()
            .skip(agreed.points / 3)
            .for_each(|point| *point = Block::random(&mut rng));
        let mut theirs: Vec<Block> = points.iter().step_by(2).copied().collect();
        theirs.reverse();
        theirs.resize_with(programmed, || Block::random(&mut rng));
        let mut values = vec![0; programmed * agreed.len];
        rng.fill_bytes(&mut values);
        Self { agreed, points, programmed: theirs, values }
    }

    fn check(&self, values: &[u8]) {
        let Agreed { points, len, .. } = self.agreed;
        assert_eq!(values.len(), points * len, "a value for each point");
        let programmed: HashMap<&Block, &[u8]> =
            self.programmed.iter().zip(self.values.chunks(len)).collect();
        let mut others = Vec::new();
        for (i, (point, value)) in self.points.iter().zip(values.chunks(len)).enumerate() {
            match programmed.get(point) {
                Some(expected) => {
                    assert!(value == *expected, "point {i} is programmed, {:?}", self.agreed);
                }
                None => others.push(value),
            }
        }
        self.look_random(&others);
    }

    /// Zeros and ones are equally frequent at each place of a byte, and if values are long enough, none is
    /// repeated or programmed.
    fn look_random(&self, values: &[&[u8]]) {
        let bytes = values.iter().copied().flatten();
        for bit in 0..8 {
            let ones = bytes.clone().filter(|byte| *byte >> bit & 1 == 1).count() as f64;
            let count = (values.len() * self.agreed.len) as f64;
            // Five standard deviations either way.
            let off = (ones - count / 2.0).abs();
            assert!(off <= 2.5 * count.sqrt(), "{ones} ones of {count}, {:?}", self.agreed);
        }
        if self.agreed.len >= 8 {
            let mut distinct: HashSet<&[u8]> = self.values.chunks(self.agreed.len).collect();
            assert!(
                values.iter().all(|value| distinct.insert(value)),
                "a value at a point that is not programmed comes twice, {:?}",
                self.agreed
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ideal;

    fn ideal_sender(starts: &[u32], points: &[Block]) -> Vec<Block> {
        let instance_of = |i: usize| starts.partition_point(|start| *start as usize <= i) - 1;
        points.iter().enumerate().map(|(i, point)| ideal::oprf(1, instance_of(i), *point)).collect()
    }

    fn ideal_receiver(words: &[Block]) -> Vec<Block> {
        words.iter().enumerate().map(|(j, word)| ideal::oprf(1, j, *word)).collect()
    }

    #[test]
    fn the_ideal_conforms() {
        batched(
            |starts, points, _, _| Ok(ideal_sender(starts, points)),
            |words, _, _| Ok(ideal_receiver(words)),
        );
    }

    #[test]
    #[should_panic(expected = "instances are different functions")]
    fn one_function_for_all_instances_does_not() {
        batched(
            |_, points, _, _| Ok(points.iter().map(|p| ideal::oprf(1, 0, *p)).collect()),
            |words, _, _| Ok(words.iter().map(|w| ideal::oprf(1, 0, *w)).collect()),
        );
    }

    #[test]
    #[should_panic(expected = "instance 4096")]
    fn a_wrong_instance_in_the_second_chunk_does_not() {
        batched(
            |starts, points, _, _| Ok(ideal_sender(starts, points)),
            |words, _, _| {
                let mut values = ideal_receiver(words);
                values.iter_mut().skip(4096).step_by(2).for_each(|value| *value ^= Block(1));
                Ok(values)
            },
        );
    }

    /// Shows the programmed values to a trusted receiver.
    fn programs(
        _: Agreed,
        points: &[Block],
        values: &[u8],
        channel: &mut Channel,
        _: &mut StdRng,
    ) -> Result<(), Error> {
        channel.send_slice("points", points)?;
        channel.send("values", values)?;
        channel.flush()
    }

    /// The receiver's values, where `other` gives those at points that are not programmed.
    fn look_up(
        agreed: Agreed,
        points: &[Block],
        channel: &mut Channel,
        other: impl Fn(Block) -> Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let theirs = channel.recv_len("points", agreed.programmed * size_of::<Block>())?;
        let values = channel.recv_len("values", agreed.programmed * agreed.len)?;
        let theirs = theirs.chunks(16).zip(values.chunks(agreed.len));
        let programmed: HashMap<&[u8], &[u8]> = theirs.collect();
        let value = |point: &Block| match programmed.get(&point.to_bytes()[..]) {
            Some(value) => value.to_vec(),
            None => other(*point),
        };
        Ok(points.iter().flat_map(value).collect())
    }

    fn pseudo_random(point: Block, len: usize) -> Vec<u8> {
        let blocks = (0..len.div_ceil(16)).flat_map(|j| ideal::oprf(2, j, point).to_bytes());
        blocks.take(len).collect()
    }

    #[test]
    fn the_ideal_programmable_one_conforms() {
        programmable::<Error>(programs, |agreed, points, channel, _| {
            look_up(agreed, points, channel, |point| pseudo_random(point, agreed.len))
        });
    }

    #[test]
    #[should_panic(expected = "point 0 is programmed")]
    fn one_that_nobody_programs_does_not() {
        programmable::<Error>(programs, |agreed, points, channel, _| {
            look_up(agreed, &[], channel, |_| Vec::new())?;
            Ok(points.iter().flat_map(|point| pseudo_random(*point, agreed.len)).collect())
        });
    }

    #[test]
    #[should_panic(expected = "comes twice")]
    fn one_with_few_values_elsewhere_does_not() {
        programmable::<Error>(programs, |agreed, points, channel, _| {
            look_up(agreed, points, channel, |point| {
                pseudo_random(Block(point.0 & 0xff), agreed.len)
            })
        });
    }

    #[test]
    #[should_panic(expected = "ones of")]
    fn one_with_a_bit_that_is_mostly_zero_does_not() {
        programmable::<Error>(programs, |agreed, points, channel, _| {
            look_up(agreed, points, channel, |point| {
                let [a, b] = [point, point ^ Block(1 << 127)].map(|p| pseudo_random(p, agreed.len));
                a.iter().zip(b).map(|(a, b)| a & (b | 0x7f)).collect()
            })
        });
    }
}
