//! The bare matrix against parties that deviate: that of [`oos17`](crate::one_of_n::oos17), with its check
//! over the rows of all pieces.
//!
//! What the check leaves to a receiver holds of sums of rows as well: outside of the few places at which it
//! guessed Δ, all rows are those of words, and so are sums of them.

use std::ops::Range;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{LinearCode, Row},
    group::Ristretto,
};
use zeroize::Zeroizing;

pub use super::super::check::CHECK;
use super::{
    super::{
        check::{self, SUMS},
        rows::{self, Room},
    },
    Pieces, unchecked,
};
use crate::{
    Bytes, Malicious, Wiped,
    base::{BaseOt, mr19::Mr19},
    extension::columns::{self, CHUNK_ROWS},
};

/// The base OTs underneath.
type Base = Mr19<Ristretto>;

/// Malicious, in the model of the base OTs.
pub const ADVERSARY: Adversary = Base::ADVERSARY;

/// The party with Δ.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    delta: Zeroizing<C::Row>,
    code: C,
    pieces: Pieces,
}

impl<C: LinearCode> Malicious for Sender<C> {}

impl<C: LinearCode> super::Sender<C> for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    fn setup_bytes() -> Bytes {
        let base = Base::bytes(C::WIDTH);
        Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
    }

    fn bytes(pieces: Pieces) -> Bytes {
        let columns = pieces.bytes(C::WIDTH) + columns::bytes(C::WIDTH, SUMS);
        Bytes { to_sender: columns, to_receiver: 0 } + check::bytes::<C>()
    }

    fn setup(
        code: C,
        pieces: Pieces,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let delta = Zeroizing::new(C::Row::from_blocks(columns.delta().expose()));
        Ok(Self { columns, delta, code, pieces })
    }

    /// # Errors
    /// A deviation ([`CHECK`]) where the receiver's rows are not those of words.
    fn extend(
        mut self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        mut show: impl FnMut(usize, &[C::Row], &C::Row),
    ) -> Result<()> {
        let pieces = self.pieces;
        let mut q = Wiped::zeros((pieces.all() + SUMS) * C::Row::BLOCKS);
        let mut room = Wiped::zeros(C::WIDTH * CHUNK_ROWS / 128);
        let (rows, masks) = q.split_at_mut(pieces.all() * C::Row::BLOCKS);
        for rows in rows.chunks_mut(pieces.rows * C::Row::BLOCKS).chain([masks]) {
            unchecked::fill::<C>(&mut self.columns, rows, &mut room, channel)?;
        }
        check::verify((&self.code, &*self.delta), bytemuck::cast_slice(&q), channel, rng)?;
        let rows: &[C::Row] = bytemuck::cast_slice(&q);
        let shown = rows[..pieces.all()].chunks(pieces.rows).enumerate();
        shown.for_each(|(piece, rows)| show(piece, rows, &self.delta));
        Ok(())
    }
}

/// The party with words.
pub struct Receiver<C: LinearCode> {
    columns: columns::Receiver,
    code: C,
    pieces: Pieces,
    /// The words so far, and then the masks.
    words: Wiped<Block>,
    /// Their rows: the check is over all of them.
    t: Wiped<Block>,
    /// How many rows there are so far.
    done: usize,
    room: Room,
}

impl<C: LinearCode> Malicious for Receiver<C> {}

impl<C: LinearCode> Receiver<C> {
    /// Makes the next rows, as many as words; returns where they are among all.
    fn next(&mut self, words: &[Block], channel: &mut Channel) -> Result<Range<usize>> {
        let rows = self.done..self.done + words.len();
        self.words[rows.clone()].copy_from_slice(words);
        let t = &mut self.t[rows.start * C::Row::BLOCKS..rows.end * C::Row::BLOCKS];
        rows::send_rows((&self.code, &mut self.columns), words, t, &mut self.room, channel)?;
        self.done = rows.end;
        Ok(rows)
    }

    fn rows(&self) -> &[C::Row] {
        bytemuck::cast_slice(&self.t)
    }
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
        let rows = pieces.all() + SUMS;
        let (words, t) = (Wiped::zeros(rows), Wiped::zeros(rows * C::Row::BLOCKS));
        Ok(Self { columns, code, pieces, words, t, done: 0, room: Room::default() })
    }

    fn extend(&mut self, words: &[Block], channel: &mut Channel) -> Result<&[C::Row]> {
        assert_eq!(words.len(), self.pieces.rows, "a word for each row of a piece");
        assert!(self.done < self.pieces.all(), "no more pieces than were said");
        let rows = self.next(words, channel)?;
        Ok(&self.rows()[rows])
    }

    fn finish(mut self, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<()> {
        assert_eq!(self.done, self.pieces.all(), "as many pieces as were said");
        self.next(&check::masks::<C>(rng), channel)?;
        check::prove(&self.words, self.rows(), channel)
    }
}
