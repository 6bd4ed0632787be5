//! Correlated OT by the extension of Asharov, Lindell, Schneider and Zohner (CCS 2013), protocol 4
//! of §5.3, which improves IKNP03. Semi-honest.
//!
//! 1. Once: κ base OTs with the parties' roles exchanged.
//! 2. R → S: κ bits for each OT (see [`columns`]); the code repeats the choice bit.
//! 3. S holds q_j, R holds t_j = q_j ⊕ (r_j·Δ).

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{Bits, Block, Delta, aes::CorrelationRobust, matrix::columns_to_rows};

use super::columns::{self, CHUNK_ROWS};
use crate::flavour::{CotReceiver, CotSender};

/// Semi-honest: nothing checks that a receiver repeats one choice bit along a row.
pub const ADVERSARY: Adversary =
    Adversary::weakest(&[columns::BASE_ADVERSARY, Adversary::SemiHonest]);

const SESSION: &str = "alsz13/session";

/// The party with Δ, 128 bits.
pub struct Sender {
    columns: columns::Sender,
    hash: CorrelationRobust,
}

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Sender::setup(KAPPA as usize, channel, rng)?;
        let key = Block::random(rng);
        channel.send_slice(SESSION, &[key])?;
        channel.flush()?;
        Ok(Self { columns, hash: CorrelationRobust::new(key) })
    }
}

impl CotSender for Sender {
    fn delta(&self) -> &Delta {
        self.columns.delta()
    }

    fn hash(&self) -> &CorrelationRobust {
        &self.hash
    }

    fn send_correlated(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<Block>> {
        let mut rows = vec![Block::ZERO; n.next_multiple_of(128)];
        for (chunk, out) in columns::chunks(n).zip(rows.chunks_mut(CHUNK_ROWS)) {
            let q = self.columns.extend(chunk, channel)?;
            columns_to_rows(&q, chunk, out, 1);
        }
        rows.truncate(n);
        Ok(rows)
    }
}

/// The party with choices.
pub struct Receiver {
    columns: columns::Receiver,
    hash: CorrelationRobust,
}

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Receiver::setup(KAPPA as usize, channel, rng)?;
        let mut key = [Block::ZERO];
        channel.recv_slice(SESSION, &mut key)?;
        Ok(Self { columns, hash: CorrelationRobust::new(key[0]) })
    }
}

impl CotReceiver for Receiver {
    fn hash(&self) -> &CorrelationRobust {
        &self.hash
    }

    fn receive_correlated(&mut self, choices: &Bits, channel: &mut Channel) -> Result<Vec<Block>> {
        let n = choices.len();
        let mut rows = vec![Block::ZERO; n.next_multiple_of(128)];
        let choices = choices.blocks().chunks(CHUNK_ROWS / 128);
        for ((chunk, out), choices) in
            columns::chunks(n).zip(rows.chunks_mut(CHUNK_ROWS)).zip(choices)
        {
            let t = self.columns.extend(chunk, |_| choices, channel)?;
            columns_to_rows(&t, chunk, out, 1);
        }
        rows.truncate(n);
        Ok(rows)
    }
}
