//! Ideal functionalities: the results of protocols, computed by a trusted party.
//!
//! Layers above a protocol can be tested on its ideal in the same way as on the real one, and the conformance
//! suites are tested on the ideals themselves.

use std::collections::HashSet;

use rand::{CryptoRng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result};
use vesica_ot::{CorrelationHash, CotReceiver, CotSender, Malicious, one_of_n};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, Seed, aes::Prg, hash::truncate};
use vesica_psi::Items;

/// The trusted party of correlated OT, as each side sees it: both know its seed, and neither sends anything to
/// the other.
struct Trusted {
    delta: Delta,
    blocks: Prg,
    hash: CorrelationHash,
}

impl Trusted {
    fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        Self {
            delta: Delta::random(128, &mut rng),
            blocks: Prg::new(&Seed::random(&mut rng)),
            hash: CorrelationHash::new(Adversary::Malicious, Block::random(&mut rng)),
        }
    }
}

/// Ideal OT, the party with Δ.
pub struct OtSender(Trusted);

/// Ideal OT, the party with choices.
pub struct OtReceiver(Trusted);

/// Ideal OT in every variant. Chosen messages are still sent over the channel, masked.
pub fn ot(seed: u64) -> (OtSender, OtReceiver) {
    (OtSender(Trusted::new(seed)), OtReceiver(Trusted::new(seed)))
}

impl Malicious for OtSender {}

impl Malicious for OtReceiver {}

impl CotSender for OtSender {
    const ADVERSARY: Adversary = Adversary::Malicious;

    fn delta(&self) -> &Delta {
        &self.0.delta
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.0.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], _: &mut Channel) -> Result<()> {
        self.0.blocks.fill(out);
        Ok(())
    }
}

impl CotReceiver for OtReceiver {
    const ADVERSARY: Adversary = Adversary::Malicious;

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.0.hash
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        _: &mut Channel,
    ) -> Result<()> {
        let delta = self.0.delta.expose()[0];
        self.0.blocks.fill(out);
        out.iter_mut().zip(choices.iter()).for_each(|(q, c)| *q ^= delta & Block::mask(c));
        Ok(())
    }
}

/// Ideal 1-out-of-2^BITS OT, either party: both ask the trusted party, which is the seed. Chosen messages are
/// still sent over the channel, masked.
pub struct OneOfN<const BITS: usize> {
    seed: u64,
    next: usize,
}

/// Ideal 1-out-of-2^BITS OT.
pub fn one_of_n<const BITS: usize>(seed: u64) -> OneOfN<BITS> {
    OneOfN { seed, next: 0 }
}

/// The keys of some OTs of [`OneOfN`].
pub struct OneOfNKeys {
    seed: u64,
    ots: std::ops::Range<usize>,
}

impl one_of_n::Keys for OneOfNKeys {
    fn len(&self) -> usize {
        self.ots.len()
    }

    fn evaluate(
        &self,
        starts: impl Fn(usize) -> usize + Sync,
        word: impl Fn(usize) -> Block + Sync,
        keys: &mut [Block],
    ) {
        let first = starts(0);
        for ot in 0..self.ots.len() {
            for point in starts(ot)..starts(ot + 1) {
                keys[point - first] = oprf(self.seed, self.ots.start + ot, word(point));
            }
        }
    }
}

impl<const BITS: usize> OneOfN<BITS> {
    /// Takes the next `ots` OTs.
    fn take(&mut self, ots: usize) -> OneOfNKeys {
        let first = self.next;
        self.next += ots;
        OneOfNKeys { seed: self.seed, ots: first..self.next }
    }
}

impl<const BITS: usize> one_of_n::Sender for OneOfN<BITS> {
    const ADVERSARY: Adversary = Adversary::Malicious;

    const WORD_BITS: usize = BITS;

    type Keys = OneOfNKeys;

    fn send_random(
        &mut self,
        ots: usize,
        _: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<OneOfNKeys> {
        Ok(self.take(ots))
    }

    fn send_random_pieces(
        &mut self,
        ots: usize,
        _: &mut Channel,
        _: &mut dyn CryptoRng,
        mut show: impl FnMut(&OneOfNKeys),
    ) -> Result<()> {
        let first = ots / 2;
        show(&self.take(first));
        show(&self.take(ots - first));
        Ok(())
    }
}

impl<const BITS: usize> one_of_n::Receiver for OneOfN<BITS> {
    const ADVERSARY: Adversary = Adversary::Malicious;

    const WORD_BITS: usize = BITS;

    fn receive_random_into(
        &mut self,
        words: &[Block],
        keys: &mut [Block],
        _: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let own = self.take(words.len());
        one_of_n::Keys::evaluate(&own, |ot| ot, |point| words[point], keys);
        Ok(())
    }
}

/// Ideal base OTs: the pairs of the sender, and the chosen seeds of its receiver.
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
pub fn intersection(mine: Items<'_>, theirs: Items<'_>) -> Vec<u32> {
    let theirs: HashSet<_> = whole(theirs).collect();
    (0..).zip(whole(mine)).filter(|(_, item)| theirs.contains(item)).map(|(i, _)| i).collect()
}

/// Each item's low half and high half.
fn whole(items: Items<'_>) -> impl Iterator<Item = (Block, Option<Block>)> {
    let high_halves = items.high_halves();
    items.low_halves().iter().enumerate().map(|(i, low)| (*low, high_halves.get(i).copied()))
}
