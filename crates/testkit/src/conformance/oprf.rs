//! What every oblivious pseudo-random function must do.

use std::collections::HashSet;

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result};
use vesica_primitives::Block;

use crate::two_party::{self, Link};

/// Numbers of instances: none, one, and around what is handled at a time.
const INSTANCES: [usize; 7] = [0, 1, 100, 4095, 4096, 4097, 10_000];

/// The sender's side of a batched OPRF, setup and all: `starts` says for each instance where its
/// points start, and at the end how many there are; returns the value of each point.
pub type BatchedSender =
    fn(starts: &[u32], points: &[Block], &mut Channel, &mut dyn CryptoRng) -> Result<Vec<Block>>;

/// The receiver's side: one word for each instance, and the values there.
pub type BatchedReceiver =
    fn(words: &[Block], &mut Channel, &mut dyn CryptoRng) -> Result<Vec<Block>>;

/// How the sender's points are spread over the instances.
#[derive(Debug, Clone, Copy)]
enum Points {
    /// No points at all.
    None,
    /// Between none and six in each instance, the receiver's word among them in every other one.
    Uneven,
    /// All in the middle instance, and more of them than are handled together.
    OneInstance,
}

/// A batched OPRF over memory, at all sizes.
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
        // Half of the words are equal: instances must differ all the same.
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
}
