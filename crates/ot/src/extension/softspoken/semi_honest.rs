//! SoftSpokenOT among parties that follow the protocol.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, group::Ristretto, matrix::columns_to_rows};

use super::{
    SmallField,
    small_field::{self, PuncturedTrees, Trees},
};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    extension::columns::CHUNK_ROWS,
    flavour::{CorrelationHash, CotReceiver, CotSender},
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: neither the trees nor the columns are checked.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

const SESSION: &str = "softspoken/session";

/// The party with Δ, 128 bits.
pub struct Sender {
    vole: small_field::Sender,
    hash: CorrelationHash,
}

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let vole = PuncturedTrees::receive::<Base>(field, channel, rng)?.into_sender();
        let key = Block::random(rng);
        channel.send_slice(SESSION, &[key])?;
        channel.flush()?;
        Ok(Self { vole, hash: CorrelationHash::new(ADVERSARY, key) })
    }
}

impl CotSender for Sender {
    const ADVERSARY: Adversary = ADVERSARY;

    fn delta(&self) -> &Delta {
        self.vole.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        let mut q = vec![Block::ZERO; CHUNK_ROWS.min(out.len().next_multiple_of(128))];
        for rows in out.chunks_mut(CHUNK_ROWS) {
            let q = &mut q[..rows.len().next_multiple_of(128)];
            self.vole.extend(q, channel)?;
            columns_to_rows(q, q.len(), rows, 1);
        }
        Ok(())
    }
}

/// Payload bytes of the setup.
pub fn setup_bytes(field: SmallField) -> Bytes {
    field.setup_bytes::<Base>()
}

/// The party with choices.
pub struct Receiver {
    vole: small_field::Receiver,
    hash: CorrelationHash,
}

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let vole = Trees::send::<Base>(field, channel, rng)?.into_receiver();
        let mut key = [Block::ZERO];
        channel.recv_slice(SESSION, &mut key)?;
        Ok(Self { vole, hash: CorrelationHash::new(ADVERSARY, key[0]) })
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
        let mut t = vec![Block::ZERO; CHUNK_ROWS.min(out.len().next_multiple_of(128))];
        let choices = choices.blocks().chunks(CHUNK_ROWS / 128);
        for (rows, choices) in out.chunks_mut(CHUNK_ROWS).zip(choices) {
            let t = &mut t[..128 * choices.len()];
            self.vole.extend(choices, t, channel)?;
            columns_to_rows(t, t.len(), rows, 1);
        }
        Ok(())
    }
}
