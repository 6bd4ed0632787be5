//! The 1-out-of-n OT extension of Kolesnikov and Kumaresan (CRYPTO 2013) for n up to 256. Semi-honest.
//!
//! IKNP03 whose rows are codewords of the Walsh–Hadamard code instead of one bit repeated:
//!
//! 1. Once, without input: 2κ = 256 base OTs with the parties' roles exchanged.
//! 2. R → S: 256 bits for each OT j, the columns of the codewords C(w_j) masked (see [`columns`]). R keeps
//!    t_j, S holds q_j = t_j ⊕ (C(w_j) ∧ Δ).
//! 3. R's key is H(j, t_j); S's key for a word v is H(j, q_j ⊕ (C(v) ∧ Δ)).
//!
//! Two codewords differ in exactly κ places. Deviation from the paper: one masked column is sent instead of two
//! (as in ALSZ13), so 256 bits instead of 512.

use std::sync::Arc;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{Code, LinearCode, WalshHadamard},
    group::Ristretto,
    hash::RowHash,
};

use super::rows::{self, Function, RowKeys};
use crate::{
    Bytes,
    base::{BaseOt, np01::Np01},
    extension::columns,
    session,
};

/// The base OTs underneath.
type Base = Np01<Ristretto>;

/// Semi-honest: nothing forces the receiver to use codewords.
pub const ADVERSARY: Adversary = Adversary::weakest(&[Base::ADVERSARY, Adversary::SemiHonest]);

const _: () = assert!(WalshHadamard::DISTANCE >= KAPPA as usize);

const SESSION: &str = "kk13/session";

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    let base = Base::bytes(WalshHadamard::WIDTH);
    let session = size_of::<Block>();
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender + session }
}

/// Payload bytes of a call of `ots` random OTs.
pub fn bytes(ots: usize) -> Bytes {
    Bytes { to_sender: columns::bytes(WalshHadamard::WIDTH, ots), to_receiver: 0 }
}

/// The party that can compute every key.
pub struct Sender {
    columns: columns::Sender,
    function: Arc<Function<WalshHadamard>>,
    /// The number of the next OT.
    next: u64,
}

impl Sender {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let session = session::draw(SESSION, channel, rng)?;
        let columns = columns::Sender::setup::<Base>(WalshHadamard::WIDTH, channel, rng)?;
        let function = Arc::new(Function::new(WalshHadamard, columns.delta(), session));
        Ok(Self { columns, function, next: 0 })
    }
}

impl super::Sender for Sender {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <WalshHadamard as Code>::DIMENSION;

    type Keys = RowKeys<WalshHadamard>;

    fn send_random(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Self::Keys> {
        // 2 and 3.
        let keys = RowKeys::receive(&self.function, &mut self.columns, self.next, ots, channel)?;
        self.next += ots as u64;
        Ok(keys)
    }

    fn send_random_pieces(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
        show: impl FnMut(&Self::Keys),
    ) -> Result<()> {
        // 2 and 3.
        let (function, columns) = (&self.function, &mut self.columns);
        RowKeys::receive_pieces(function, columns, self.next, ots, channel, show)?;
        self.next += ots as u64;
        Ok(())
    }
}

/// The party that learns one key of each OT.
pub struct Receiver {
    columns: columns::Receiver,
    hash: RowHash,
    next: u64,
}

impl Receiver {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let hash = RowHash::new(session::learn(SESSION, channel)?);
        let columns = columns::Receiver::setup::<Base>(WalshHadamard::WIDTH, channel, rng)?;
        Ok(Self { columns, hash, next: 0 })
    }
}

impl super::Receiver for Receiver {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <WalshHadamard as Code>::DIMENSION;

    fn receive_random_into(
        &mut self,
        words: &[Block],
        keys: &mut [Block],
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 2 and 3.
        let (columns, hash) = (&mut self.columns, &self.hash);
        rows::receive_keys(&WalshHadamard, columns, hash, self.next, words, keys, channel)?;
        self.next += words.len() as u64;
        Ok(())
    }
}
