//! Correlated OT from columns that are not checked. Semi-honest.
//!
//! The parties make the columns for a chunk of rows at a time, and transpose each chunk while it is in the
//! cache.

use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, matrix::columns_to_rows};
use zeroize::Zeroizing;

use super::columns::{CHUNK_ROWS, ColumnReceiver, ColumnSender};
use crate::{
    correlation_hash::CorrelationHash,
    variants::{CotReceiver, CotSender},
};

/// Semi-honest: nothing forces a receiver to use one choice along a row.
pub const ADVERSARY: Adversary = Adversary::SemiHonest;

/// The party with Δ, 128 bits.
pub struct Sender<C> {
    columns: C,
    hash: CorrelationHash,
}

impl<C: ColumnSender> Sender<C> {
    /// With the session's public hash key.
    pub(super) fn new(columns: C, session: Block) -> Self {
        Self { columns, hash: CorrelationHash::new(ADVERSARY, session) }
    }
}

impl<C: ColumnSender> CotSender for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn delta(&self) -> &Delta {
        self.columns.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        let mut q = chunk(out.len());
        for rows in out.chunks_mut(CHUNK_ROWS) {
            let q = &mut q[..rows.len().next_multiple_of(128)];
            self.columns.correlate(q, channel)?;
            columns_to_rows(q, q.len(), rows, 1);
        }
        Ok(())
    }
}

/// The party with choices.
pub struct Receiver<C> {
    columns: C,
    hash: CorrelationHash,
}

impl<C: ColumnReceiver> Receiver<C> {
    /// With the session's public hash key.
    pub(super) fn new(columns: C, session: Block) -> Self {
        Self { columns, hash: CorrelationHash::new(ADVERSARY, session) }
    }
}

impl<C: ColumnReceiver> CotReceiver for Receiver<C> {
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
        let mut t = chunk(out.len());
        let choices = choices.blocks().chunks(CHUNK_ROWS / 128);
        for (rows, choices) in out.chunks_mut(CHUNK_ROWS).zip(choices) {
            let t = &mut t[..128 * choices.len()];
            self.columns.correlate(choices, t, channel)?;
            columns_to_rows(t, t.len(), rows, 1);
        }
        Ok(())
    }
}

/// Space for the columns of a chunk of a call for `n` OTs.
fn chunk(n: usize) -> Zeroizing<Vec<Block>> {
    Zeroizing::new(vec![Block::ZERO; CHUNK_ROWS.min(n.next_multiple_of(128))])
}
