//! The bare matrix for semi-honest parties.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{LinearCode, Row},
    group::Ristretto,
    matrix::columns_to_rows,
};
use zeroize::Zeroizing;

use super::{
    super::rows::{self, RowBuffers},
    Pieces,
};
use crate::{
    Bytes, ZeroizingVec,
    base::{BaseOt, np01::Np01},
    extension::columns::{self, CHUNK_ROWS},
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing forces the receiver to use codewords.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

/// The party with Δ.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    delta: Zeroizing<C::Row>,
    pieces: Pieces,
}

impl<C: LinearCode> super::Sender<C> for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn setup_bytes() -> Bytes {
        let base = Base::bytes(C::WIDTH);
        Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
    }

    fn bytes(pieces: Pieces) -> Bytes {
        Bytes { to_sender: pieces.bytes(C::WIDTH), to_receiver: 0 }
    }

    fn setup(_: C, pieces: Pieces, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let delta = Zeroizing::new(C::Row::from_blocks(columns.delta().expose()));
        Ok(Self { columns, delta, pieces })
    }

    fn extend(
        mut self,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
        mut show: impl FnMut(usize, &[C::Row], &C::Row),
    ) -> Result<()> {
        let mut q = ZeroizingVec::zeros(self.pieces.rows * C::Row::BLOCKS);
        let mut scratch = ZeroizingVec::zeros(C::WIDTH * CHUNK_ROWS / 128);
        for piece in 0..self.pieces.count {
            fill::<C>(&mut self.columns, &mut q, &mut scratch, channel)?;
            show(piece, bytemuck::cast_slice(&q), &self.delta);
        }
        Ok(())
    }
}

/// Fills `rows` with the next rows q, with scratch space for their columns.
pub(super) fn fill<C: LinearCode>(
    columns: &mut columns::Sender,
    rows: &mut [Block],
    scratch: &mut ZeroizingVec<Block>,
    channel: &mut Channel,
) -> Result<()> {
    for rows in rows.chunks_mut(CHUNK_ROWS * C::Row::BLOCKS) {
        let padded = (rows.len() / C::Row::BLOCKS).next_multiple_of(128);
        let q = &mut scratch[..C::WIDTH * padded / 128];
        columns.extend_into(q, channel)?;
        columns_to_rows(q, padded, rows, C::Row::BLOCKS);
    }
    Ok(())
}

/// The party with words.
pub struct Receiver<C: LinearCode> {
    columns: columns::Receiver,
    code: C,
    scratch: RowBuffers,
    /// The rows of the last piece.
    t: ZeroizingVec<Block>,
}

impl<C: LinearCode> super::Receiver<C> for Receiver<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Receiver::setup::<Base>(C::WIDTH, channel, rng)?;
        let t = ZeroizingVec::zeros(pieces.rows * C::Row::BLOCKS);
        Ok(Self { columns, code, scratch: RowBuffers::default(), t })
    }

    fn extend(&mut self, words: &[Block], channel: &mut Channel) -> Result<&[C::Row]> {
        assert_eq!(self.t.len(), words.len() * C::Row::BLOCKS, "a word for each row of a piece");
        let (code, columns) = (&self.code, &mut self.columns);
        rows::send_rows(code, columns, words, &mut self.t, &mut self.scratch, channel)?;
        Ok(bytemuck::cast_slice(&self.t))
    }

    fn finish(self, _: &mut Channel, _: &mut dyn CryptoRng) -> Result<()> {
        Ok(())
    }
}
