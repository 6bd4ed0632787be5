//! Correlated OT by the extension of Asharov, Lindell, Schneider and Zohner (CCS 2013), protocol 4
//! of §5.3, which improves IKNP03. Semi-honest.
//!
//! 1. Once: κ base OTs with the parties' roles exchanged.
//! 2. R → S: κ bits for each OT (see [`columns`]); the code repeats the choice bit.
//! 3. S holds q_j, R holds t_j = q_j ⊕ (r_j·Δ).

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{Bits, Block, Delta, group::Ristretto, matrix::columns_to_rows};

use super::columns::{self, CHUNK_ROWS};
use crate::{
    base::{BaseOt, np01::Np01},
    flavour::{CorrelationHash, CotReceiver, CotSender},
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing checks that a receiver repeats one choice bit along a row.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

const SESSION: &str = "alsz13/session";

/// The party with Δ, 128 bits.
pub struct Sender {
    columns: columns::Sender,
    hash: CorrelationHash,
}

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Sender::setup::<Base>(KAPPA as usize, channel, rng)?;
        let key = Block::random(rng);
        channel.send_slice(SESSION, &[key])?;
        channel.flush()?;
        Ok(Self { columns, hash: CorrelationHash::new(ADVERSARY, key) })
    }
}

impl CotSender for Sender {
    const ADVERSARY: Adversary = ADVERSARY;

    fn delta(&self) -> &Delta {
        self.columns.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        for rows in out.chunks_mut(CHUNK_ROWS) {
            let padded = rows.len().next_multiple_of(128);
            let q = self.columns.extend(padded, channel)?;
            columns_to_rows(&q, padded, rows, 1);
        }
        Ok(())
    }
}

/// The party with choices.
pub struct Receiver {
    columns: columns::Receiver,
    hash: CorrelationHash,
}

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Receiver::setup::<Base>(KAPPA as usize, channel, rng)?;
        let mut key = [Block::ZERO];
        channel.recv_slice(SESSION, &mut key)?;
        Ok(Self { columns, hash: CorrelationHash::new(ADVERSARY, key[0]) })
    }
}

impl CotReceiver for Receiver {
    const ADVERSARY: Adversary = ADVERSARY;

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(choices.len(), out.len(), "a block for each choice");
        let choices = choices.blocks().chunks(CHUNK_ROWS / 128);
        for (rows, choices) in out.chunks_mut(CHUNK_ROWS).zip(choices) {
            let padded = 128 * choices.len();
            let t = self.columns.extend(padded, |_| choices, channel)?;
            columns_to_rows(&t, padded, rows, 1);
        }
        Ok(())
    }
}
