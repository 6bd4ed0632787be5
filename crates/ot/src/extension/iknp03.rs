//! Correlated OT by the extension of Ishai, Kilian, Nissim and Petrank (CRYPTO 2003), §3 over the reduction
//! of appendix B, as published: the baseline with which later ones are compared. Semi-honest.
//!
//! 1. Once: κ base OTs of seeds with the parties' roles exchanged, so that S has k_i^{Δ_i} of each pair.
//! 2. R draws a random matrix T with a row for each OT. R → S: for each column i both messages of an OT of
//!    columns, t_i ⊕ G(k_i^0) and t_i ⊕ r ⊕ G(k_i^1), where r are R's choices: 2κ bits per OT.
//! 3. S unmasks the one that Δ_i selects: q_i = t_i ⊕ Δ_i·r. So S holds q_j, R holds t_j = q_j ⊕ (r_j·Δ).
//!
//! [`alsz13`](super::alsz13) achieves the same with half the bytes and two thirds of R's streams: with t_i =
//! G(k_i^0) instead of a random column, the first of the two messages is zero.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{Block, Delta, Seed, aes::Prg, block::add_to, group::Ristretto};

use super::{
    columns::{self, CHUNK_ROWS, ColumnReceiver, ColumnSender, MIN_COLUMNS},
    unchecked,
};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    session,
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing checks that a receiver repeats one choice bit along a row.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, unchecked::ADVERSARY]);

const SESSION: &str = "iknp03/session";
const COLUMNS: &str = "iknp03/columns";

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    super::setup_bytes::<Base>(KAPPA as usize)
}

/// Payload bytes of a call of `n` correlated or random OTs, all of them to the sender.
pub fn bytes(n: usize) -> Bytes {
    Bytes { to_sender: 2 * columns::bytes(KAPPA as usize, n), to_receiver: 0 }
}

/// The party with Δ, 128 bits.
pub type Sender = unchecked::Sender<Unmasked>;

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let seeds = columns::Sender::setup::<Base>(KAPPA as usize, channel, rng)?;
        Ok(Self::new(Unmasked { seeds, received: Vec::new() }, session))
    }
}

/// The party with choices.
pub type Receiver = unchecked::Receiver<Masked>;

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::learn(SESSION, channel)?;
        let seeds = columns::Receiver::setup::<Base>(KAPPA as usize, channel, rng)?;
        let matrix = Prg::new(&Seed::random(rng));
        Ok(Self::new(Masked { seeds, matrix, sent: Vec::new() }, session))
    }
}

/// The columns of the party with Δ.
pub struct Unmasked {
    seeds: columns::Sender,
    /// The messages for the last rows, kept only for their memory.
    received: Vec<Block>,
}

impl ColumnSender for Unmasked {
    fn delta(&self) -> &Delta {
        &self.seeds.delta
    }

    /// Step 3.
    fn correlate(&mut self, columns: &mut [Block], channel: &mut Channel) -> Result<()> {
        let len = columns.len() / KAPPA as usize;
        self.received.resize(2 * columns.len(), Block::ZERO);
        channel.recv_slice(COLUMNS, &mut self.received)?;
        let columns::Sender { delta, prgs } = &mut self.seeds;
        let columns = columns.par_chunks_exact_mut(len).with_min_len(MIN_COLUMNS);
        let columns = columns.zip(self.received.par_chunks_exact(2 * len)).zip(prgs);
        columns.enumerate().for_each(|(i, ((q, pair), prg))| {
            let (zeros, ones) = pair.split_at(len);
            let mask = Block::mask(delta.bit(i));
            prg.fill(q);
            // Both are read, so that no address depends on Δ.
            let chosen = zeros.iter().zip(ones).map(|(zero, one)| *zero ^ (*zero ^ *one) & mask);
            q.iter_mut().zip(chosen).for_each(|(q, chosen)| *q ^= chosen);
        });
        Ok(())
    }
}

/// The columns of the party with choices.
pub struct Masked {
    seeds: columns::Receiver,
    /// T, column by column of each chunk.
    matrix: Prg,
    /// The messages for the last rows, kept only for their memory.
    sent: Vec<Block>,
}

impl ColumnReceiver for Masked {
    /// Step 2.
    fn correlate(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        let len = choices.len();
        debug_assert!(columns.len() == KAPPA as usize * len && columns.len() <= CHUNK_ROWS);
        self.matrix.fill(columns);
        self.sent.resize(2 * columns.len(), Block::ZERO);
        let pairs = self.sent.par_chunks_exact_mut(2 * len).with_min_len(MIN_COLUMNS);
        let pairs = pairs.zip(columns.par_chunks_exact(len)).zip(&mut self.seeds.prgs);
        pairs.for_each(|((pair, t), [zero, one])| {
            let (zeros, ones) = pair.split_at_mut(len);
            zero.fill(zeros);
            one.fill(ones);
            add_to(zeros, t);
            add_to(ones, t);
            add_to(ones, choices);
        });
        channel.send_slice(COLUMNS, &self.sent)
    }
}
