//! Both parties of a test in one process, and an OT extension by a trusted party.

use std::{thread, time::Duration};

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result, transport::memory};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, Seed, aes::Prg};

use crate::{CorrelationHash, CotReceiver, CotSender, Malicious};

/// Runs two parties and returns the results of both. A party that waits in vain for the other gets an error.
pub fn run<A: Send, B: Send>(
    left: impl FnOnce(&mut Channel) -> A + Send,
    right: impl FnOnce(&mut Channel) -> B + Send,
) -> (A, B) {
    let (left_end, right_end) = memory::pair();
    let channel = |end| Channel::new(end).with_stall_timeout(Duration::from_secs(20));
    let (mut left_channel, mut right_channel) = (channel(left_end), channel(right_end));
    thread::scope(|scope| {
        let left = scope.spawn(move || {
            let out = left(&mut left_channel);
            // The other party may have gone; its own result says so.
            let _ = left_channel.flush();
            out
        });
        let right = right(&mut right_channel);
        let _ = right_channel.flush();
        drop(right_channel);
        (left.join().unwrap(), right)
    })
}

/// Ideal OT, either party: both know the trusted party's seed.
pub struct Ideal {
    delta: Delta,
    blocks: Prg,
    hash: CorrelationHash,
}

impl Ideal {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        Self {
            delta: Delta::random(128, &mut rng),
            blocks: Prg::new(&Seed::random(&mut rng)),
            hash: CorrelationHash::new(Adversary::Malicious, Block::random(&mut rng)),
        }
    }
}

impl Malicious for Ideal {}

impl CotSender for Ideal {
    const ADVERSARY: Adversary = Adversary::Malicious;

    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], _: &mut Channel) -> Result<()> {
        self.blocks.fill(out);
        Ok(())
    }
}

impl CotReceiver for Ideal {
    const ADVERSARY: Adversary = Adversary::Malicious;

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        _: &mut Channel,
    ) -> Result<()> {
        self.blocks.fill(out);
        let delta = self.delta.expose()[0];
        out.iter_mut().zip(choices.iter()).for_each(|(q, c)| *q ^= delta & Block::mask(c));
        Ok(())
    }
}
