//! Randomness that a party keeps between calls.

use std::convert::Infallible;

use rand::{CryptoRng, TryCryptoRng, TryRng};
use vesica_primitives::{Block, Seed, aes::Prg};

/// Randomness for calls without an argument for it: a generator whose seed was drawn in the setup.
pub struct Stream(Prg);

impl Stream {
    /// Draws the seed.
    pub fn new(rng: &mut dyn CryptoRng) -> Self {
        Self(Prg::new(&Seed::random(rng)))
    }

    fn next(&mut self) -> Block {
        let mut block = [Block::ZERO];
        self.0.fill(&mut block);
        block[0]
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next().0 as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.next().low())
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for chunk in out.chunks_mut(size_of::<Block>()) {
            chunk.copy_from_slice(&self.next().to_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

impl TryCryptoRng for Stream {}
