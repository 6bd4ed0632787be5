//! The 1-out-of-n OT extension of Kolesnikov, Kumaresan, Rosulek and Trieu (CCS 2016), §3 and Figure 3, for
//! unbounded n. Semi-honest.
//!
//! [`kk13`](super::kk13) with a pseudo-random code, so that a row has as many possible words as there are
//! blocks:
//!
//! 1. Once, without input: `width` base OTs with the parties' roles exchanged.
//! 2. S → R: the code's key, drawn for each call once R's words are fixed.
//! 3. R → S: `width` bits for each OT j, the codeword columns masked (see [`columns`]). R keeps t_j, S holds
//!    q_j = t_j ⊕ (C(w_j) ∧ Δ).
//! 4. R's key is H(j, t_j); S's key for a word v is H(j, q_j ⊕ (C(v) ∧ Δ)).
//!
//! The width comes from `vesica_params::code` for the number of keys that S computes. Deviations from the
//! paper: one masked column is sent instead of two (as in ALSZ13), and the four blocks of a codeword come from
//! four keys.

use std::sync::Arc;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{
    Block, Seed,
    code::{Code, PseudoRandomCode},
    group::Ristretto,
    hash::{MAX_ROW_BITS, RowHash},
};

use super::rows::{self, Function, RowKeys};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    extension::columns,
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing forces the receiver to use codewords.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

const CODE_KEY: &str = "kkrt16/code-key";

/// Payload bytes of the setup for a code of `width` bits.
pub fn setup_bytes(width: usize) -> Bytes {
    let base = Base::bytes(width);
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender }
}

/// Payload bytes of a call of `ots` random OTs.
pub fn bytes(width: usize, ots: usize) -> Bytes {
    Bytes { to_sender: columns::bytes(width, ots), to_receiver: size_of::<Block>() }
}

/// The party that can compute every key.
pub struct Sender {
    columns: columns::Sender,
    width: usize,
    /// The number of the next OT.
    next: u64,
}

impl Sender {
    /// Step 1 for a code of `width` bits, at most [`MAX_ROW_BITS`].
    pub fn setup(width: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert!(width <= MAX_ROW_BITS, "a row and its number fit one compression");
        Ok(Self { columns: columns::Sender::setup::<Base>(width, channel, rng)?, width, next: 0 })
    }

    /// Step 2.
    fn draw_code(
        &self,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Arc<Function<PseudoRandomCode>>> {
        let key = Seed::random(rng);
        channel.send_slice(CODE_KEY, &[*key.expose()])?;
        let code = PseudoRandomCode::new(&key, self.width);
        Ok(Arc::new(Function::new(code, self.columns.delta(), *key.expose())))
    }
}

impl super::Sender for Sender {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = PseudoRandomCode::DIMENSION;

    type Keys = RowKeys<PseudoRandomCode>;

    fn send_random(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Keys> {
        // 2.
        let function = self.draw_code(channel, rng)?;
        // 3 and 4.
        let keys = RowKeys::receive(&function, &mut self.columns, self.next, ots, channel)?;
        self.next += ots as u64;
        Ok(keys)
    }

    fn send_random_pieces(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        show: impl FnMut(&Self::Keys),
    ) -> Result<()> {
        // 2.
        let function = self.draw_code(channel, rng)?;
        // 3 and 4.
        let columns = &mut self.columns;
        RowKeys::receive_pieces(&function, columns, self.next, ots, channel, show)?;
        self.next += ots as u64;
        Ok(())
    }
}

/// The party that learns one key of each OT.
pub struct Receiver {
    columns: columns::Receiver,
    width: usize,
    next: u64,
}

impl Receiver {
    /// Step 1, with the sender's width.
    pub fn setup(width: usize, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert!(width <= MAX_ROW_BITS, "a row and its number fit one compression");
        Ok(Self { columns: columns::Receiver::setup::<Base>(width, channel, rng)?, width, next: 0 })
    }
}

impl super::Receiver for Receiver {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = PseudoRandomCode::DIMENSION;

    fn receive_random_into(
        &mut self,
        words: &[Block],
        keys: &mut [Block],
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 2.
        let mut key = [Block::ZERO];
        channel.recv_slice(CODE_KEY, &mut key)?;
        let code = PseudoRandomCode::new(&Seed::new(key[0]), self.width);
        // 3 and 4.
        let (columns, hash) = (&mut self.columns, &RowHash::new(key[0]));
        rows::receive_keys(&code, columns, hash, self.next, words, keys, channel)?;
        self.next += words.len() as u64;
        Ok(())
    }
}
