//! Ideal functionalities: what protocols ought to compute, by a party that everybody trusts.
//!
//! Layers above a protocol can be tested on its ideal in the same way as on the real one, and the
//! conformance suites are tried on the ideals themselves.

use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result};
use vesica_ot::{CotReceiver, CotSender};
use vesica_primitives::{
    Bits, Block, Delta, Seed,
    aes::{CorrelationRobust, Prg},
    hash::truncate,
};
use vesica_psi::Item;

/// The trusted party of correlated OT, as each side sees it: both know its seed, and neither says a
/// word to the other.
struct Trusted {
    delta: Delta,
    blocks: Prg,
    hash: CorrelationRobust,
}

impl Trusted {
    fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        Self {
            delta: Delta::random(128, &mut rng),
            blocks: Prg::new(&Seed::random(&mut rng)),
            hash: CorrelationRobust::new(Block::random(&mut rng)),
        }
    }

    fn next_blocks(&mut self, n: usize) -> Vec<Block> {
        let mut blocks = vec![Block::ZERO; n];
        self.blocks.fill(&mut blocks);
        blocks
    }
}

/// Ideal OT, the party with Δ.
pub struct OtSender(Trusted);

/// Ideal OT, the party with choices.
pub struct OtReceiver(Trusted);

/// Ideal OT in every flavour. Chosen messages still travel by the channel, masked.
pub fn ot(seed: u64) -> (OtSender, OtReceiver) {
    (OtSender(Trusted::new(seed)), OtReceiver(Trusted::new(seed)))
}

impl CotSender for OtSender {
    fn delta(&self) -> &Delta {
        &self.0.delta
    }

    fn hash(&self) -> &CorrelationRobust {
        &self.0.hash
    }

    fn send_correlated(&mut self, n: usize, _: &mut Channel) -> Result<Vec<Block>> {
        Ok(self.0.next_blocks(n))
    }
}

impl CotReceiver for OtReceiver {
    fn hash(&self) -> &CorrelationRobust {
        &self.0.hash
    }

    fn receive_correlated(&mut self, choices: &Bits, _: &mut Channel) -> Result<Vec<Block>> {
        let delta = self.0.delta.expose()[0];
        let blocks = self.0.next_blocks(choices.len());
        let choose = |(block, choice): (Block, u8)| block ^ (delta & Block::mask(choice));
        Ok(blocks.into_iter().zip(choices.iter()).map(choose).collect())
    }
}

/// Ideal base OTs: the pairs of the sender, and the chosen ones for its receiver.
pub fn base_ot(choices: &Bits, seed: u64) -> (Vec<[Seed; 2]>, Vec<Seed>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut pair = || [Seed::random(&mut rng), Seed::random(&mut rng)];
    let pairs: Vec<[Seed; 2]> = (0..choices.len()).map(|_| pair()).collect();
    let chosen = pairs.iter().zip(choices.iter()).map(|(pair, c)| pair[usize::from(c)].clone());
    let chosen = chosen.collect();
    (pairs, chosen)
}

/// Ideal batched OPRF: the value of an instance at a point.
pub fn oprf(seed: u64, instance: usize, point: Block) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica ideal oprf v1");
    hasher.update(&seed.to_le_bytes()).update(&(instance as u64).to_le_bytes());
    truncate(&hasher.update(&point.to_bytes()).finalize())
}

/// Ideal PSI: the positions in `mine` of the items that are in `theirs`, ascending.
pub fn intersection(mine: &[Item], theirs: &[Item]) -> Vec<u32> {
    let theirs: HashSet<&Item> = theirs.iter().collect();
    (0..).zip(mine).filter(|(_, item)| theirs.contains(item)).map(|(i, _)| i).collect()
}
