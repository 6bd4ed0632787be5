//! The hash that breaks the correlation of correlated OTs.

use rayon::prelude::*;
use vesica_params::Adversary;
use vesica_primitives::{
    Block,
    aes::{CorrelationRobust, TweakableCorrelationRobust},
};
use zeroize::Zeroize;

/// OTs that are hashed together: they fit the first-level cache.
pub(crate) const HASH_BATCH: usize = 128;

/// The minimum number of batches per thread: fewer are not worth a task.
const MIN_HASH_BATCHES: usize = 32;

/// The hash that turns correlated OT into random OT, as strong as the adversary requires, with the number of
/// OTs it has been used for. Both parties must use theirs for the same OTs in the same order.
pub struct CorrelationHash {
    function: Function,
    next: u64,
}

enum Function {
    Plain(CorrelationRobust),
    /// With the OT's number as the tweak: against a party that can influence the correlated blocks.
    Tweakable(TweakableCorrelationRobust),
}

impl CorrelationHash {
    /// The hash of a session whose public key is `key`, for an extension against `adversary`.
    pub fn new(adversary: Adversary, key: Block) -> Self {
        let function = match adversary {
            Adversary::Malicious => Function::Tweakable(TweakableCorrelationRobust::new(key)),
            _ => Function::Plain(CorrelationRobust::new(key)),
        };
        Self { function, next: 0 }
    }

    /// Both outputs of each of the next OTs. The correlated blocks q_j are passed in the upper half of `pairs`,
    /// which avoids a vector of their own.
    pub(crate) fn apply_both(&mut self, delta: Block, mut pairs: &mut [[Block; 2]]) {
        let mut first = self.advance(pairs.len());
        // The first half of the pairs overlaps no row, and the remainder has the same structure.
        while pairs.len() > HASH_BATCH {
            let (n, half) = (pairs.len(), pairs.len() / 2);
            let (done, left) = pairs.split_at_mut(half);
            let rows = &left.as_flattened()[n - 2 * half..][..half];
            let batches = done.par_chunks_mut(HASH_BATCH).zip(rows.par_chunks(HASH_BATCH));
            let batches = batches.enumerate().with_min_len(MIN_HASH_BATCHES);
            batches.for_each(|(i, (pairs, rows))| {
                self.function.apply_both(first + (i * HASH_BATCH) as u64, delta, rows, pairs);
            });
            (first, pairs) = (first + half as u64, left);
        }
        let mut rows = [Block::ZERO; HASH_BATCH];
        let rows = &mut rows[..pairs.len()];
        rows.copy_from_slice(&pairs.as_flattened()[pairs.len()..]);
        self.function.apply_both(first, delta, rows, pairs);
        rows.zeroize();
    }

    /// The chosen output of each of the next OTs, which replaces the correlated block t_j.
    pub(crate) fn apply_chosen(&mut self, blocks: &mut [Block]) {
        let first = self.advance(blocks.len());
        let batches = blocks.par_chunks_mut(HASH_BATCH).enumerate().with_min_len(MIN_HASH_BATCHES);
        batches.for_each(|(i, blocks)| {
            self.function.apply(first + (i * HASH_BATCH) as u64, blocks);
        });
    }

    /// Both outputs of each of the next OTs, whose correlated blocks are `rows`. `each` gets the messages for 0
    /// and those for 1 of up to [`HASH_BATCH`] OTs at a time.
    pub(crate) fn show_both(
        &mut self,
        delta: Block,
        rows: &[Block],
        mut each: impl FnMut(&mut [Block], &mut [Block]),
    ) {
        let mut sides = [[Block::ZERO; HASH_BATCH]; 2];
        for rows in rows.chunks(HASH_BATCH) {
            let first = self.advance(rows.len());
            let [zeros, ones] = self.function.both_sides(first, delta, rows, &mut sides);
            each(zeros, ones);
        }
        sides.as_flattened_mut().zeroize();
    }

    /// Takes the numbers of the next `n` OTs and returns the first of them.
    fn advance(&mut self, n: usize) -> u64 {
        let first = self.next;
        self.next += n as u64;
        first
    }
}

impl Function {
    /// Hashes a block of each of the OTs from number `first` on, in place.
    fn apply(&self, first: u64, blocks: &mut [Block]) {
        match self {
            Self::Plain(hash) => hash.apply(blocks),
            Self::Tweakable(hash) => hash.apply(first.into(), blocks),
        }
    }

    /// Both outputs of each of a batch of OTs from number `first` on.
    fn apply_both(&self, first: u64, delta: Block, rows: &[Block], pairs: &mut [[Block; 2]]) {
        let mut sides = [[Block::ZERO; HASH_BATCH]; 2];
        let [zeros, ones] = self.both_sides(first, delta, rows, &mut sides);
        for ((pair, zero), one) in pairs.iter_mut().zip(zeros).zip(ones) {
            *pair = [*zero, *one];
        }
    }

    /// Like [`Function::apply_both`], with the messages for 0 and those for 1 separate.
    fn both_sides<'a>(
        &self,
        first: u64,
        delta: Block,
        rows: &[Block],
        sides: &'a mut [[Block; HASH_BATCH]; 2],
    ) -> [&'a mut [Block]; 2] {
        let [zeros, ones] = sides.each_mut().map(|side| &mut side[..rows.len()]);
        zeros.copy_from_slice(rows);
        ones.iter_mut().zip(rows).for_each(|(one, row)| *one = *row ^ delta);
        self.apply(first, zeros);
        self.apply(first, ones);
        [zeros, ones]
    }
}

#[cfg(test)]
mod tests {
    use vesica_primitives::aes::Aes128;

    use super::*;

    /// The definitions in the module's documentation, one OT at a time.
    fn by_hand(adversary: Adversary, key: Block, number: u128, x: Block) -> Block {
        let pi = |x: Block| Aes128::new(key).encrypt_block(x);
        match adversary {
            Adversary::Malicious => pi(pi(x) ^ Block(number)) ^ pi(x),
            _ => pi(x) ^ x,
        }
    }

    #[test]
    fn both_parties_hash_by_the_number_of_the_ot() {
        let (key, delta) = (Block(77), Block(u128::MAX / 5));
        for adversary in [Adversary::SemiHonest, Adversary::Malicious] {
            let mut sender = CorrelationHash::new(adversary, key);
            let mut receiver = CorrelationHash::new(adversary, key);
            let mut number = 0;
            for n in [0, 1, 2, 3, 127, 128, 129, 4095, 4096, 4097, 10_000] {
                let rows: Vec<Block> = (0..n as u128).map(|i| Block(i * i + number)).collect();
                let mut pairs = vec![[Block::ZERO; 2]; n];
                pairs.as_flattened_mut()[n..].copy_from_slice(&rows);
                sender.apply_both(delta, &mut pairs);
                let mut chosen: Vec<Block> = rows
                    .iter()
                    .enumerate()
                    .map(|(i, q)| if i % 3 == 0 { *q ^ delta } else { *q })
                    .collect();
                receiver.apply_chosen(&mut chosen);
                for (i, row) in rows.iter().enumerate() {
                    let expected = [*row, *row ^ delta].map(|x| by_hand(adversary, key, number, x));
                    assert_eq!(pairs[i], expected, "{adversary:?}, {i} of {n}");
                    assert_eq!(chosen[i], expected[usize::from(i % 3 == 0)]);
                    number += 1;
                }
            }
        }
    }
}
