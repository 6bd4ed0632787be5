//! The 1-out-of-n OT extension of Orrù, Orsini and Scholl (CT-RSA 2017), §3 and Figure 4, against parties
//! that deviate: for n = 2^76 with the BCH code, for n = 256 with the Walsh–Hadamard code.
//!
//! A linear code C \[width, bits of a word, d ≥ κ\], and s = λ:
//!
//! 1. Once, without input: `width` base OTs (MR19) with the parties' roles exchanged.
//! 2. R → S: the masked columns ([`columns`]) of the codewords of its words w_1 … w_m and of s random
//!    words after them. R keeps t_j, S holds q_j = t_j ⊕ (C(w_j) ∧ Δ).
//! 3. When all columns are fixed, S → R: a challenge, from which both expand bits χ_{l,j}.
//! 4. R → S: for each l ≤ s, w^l = Σ_j χ_{l,j}·w_j ⊕ w_{m+l} and t^l = Σ_j χ_{l,j}·t_j ⊕ t_{m+l}.
//! 5. S refuses unless t^l = q^l ⊕ (C(w^l) ∧ Δ) for all l, where q^l is the same sum of its rows.
//! 6. Only then: R's key is H(j, t_j); S's key for a word v is H(j, q_j ⊕ (C(v) ∧ Δ)).
//!
//! What a check leaves to R. Let c_j be what R put in the place of codewords, and E the places at which
//! some Σ_j χ_{l,j}·c_j ⊕ c_{m+l} is not the codeword that R answers with. R passes only if it knows what
//! Δ is at all of E, with probability 2^-|E|. For any E, if some c_j is outside E not a codeword, then
//! each sum is one with probability 1/2 at most, and all of them with 2^-s. Otherwise, where |E| < d, each
//! c_j is outside E the codeword of one word alone; the key at any other needs d − |E| more bits of Δ, so
//! that together with those R guessed it is no less than d ≥ κ. A receiver that was caught is refused
//! from then on. Against an S that deviates there is nothing to check: R's words are masked by streams
//! that S lacks, and each answer by a row of its own.
//!
//! Deviation from the paper: H is BLAKE3 of the row and of its number.

use std::sync::Arc;

use bytemuck::Zeroable;
use rand::CryptoRng;
use subtle::ConstantTimeEq;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{Bch, Code, LinearCode, Row, WalshHadamard},
    group::Ristretto,
    hash::RowHash,
};
use zeroize::Zeroizing;

use super::{
    combinations::{Combinations, SUMS},
    rows::{self, Function, RowKeys},
};
use crate::{
    Bytes, Malicious, Wiped,
    base::{BaseOt, mr19::Mr19},
    extension::columns,
};

/// The base OTs underneath.
type Base = Mr19<Ristretto>;

/// Malicious, in the model of the base OTs and with a random oracle for H.
pub const ADVERSARY: Adversary = Base::ADVERSARY;

/// The check by which the sender refuses a receiver.
pub const CHECK: &str = "rows are codewords";

const _: () = assert!(Bch::DISTANCE >= KAPPA as usize && WalshHadamard::DISTANCE >= KAPPA as usize);

const SESSION: &str = "oos17/session";
const CHALLENGE: &str = "oos17/challenge";
const ANSWER: &str = "oos17/answer";

/// Payload bytes of the setup.
pub fn setup_bytes<C: LinearCode>() -> Bytes {
    let base = Base::bytes(C::WIDTH);
    let session = size_of::<Block>();
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender + session }
}

/// Payload bytes of a call of `ots` random OTs.
pub fn bytes<C: LinearCode>(ots: usize) -> Bytes {
    if ots == 0 {
        return Bytes { to_sender: 0, to_receiver: 0 };
    }
    let answer = SUMS * (size_of::<Block>() + size_of::<C::Row>());
    let to_sender = columns::bytes(C::WIDTH, ots + SUMS) + answer;
    Bytes { to_sender, to_receiver: size_of::<Block>() }
}

/// The party that can compute every key.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    function: Arc<Function<C>>,
    /// The number of the next OT.
    next: u64,
    /// The receiver was caught, so that Δ may not be safe any more.
    is_refused: bool,
}

impl<C: LinearCode> Sender<C> {
    /// Step 1, and the session's public hash key, which this party draws because the hash protects its
    /// Δ.
    pub fn setup(code: C, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let session = Block::random(rng);
        channel.send_slice(SESSION, &[session])?;
        channel.flush()?;
        let function = Arc::new(Function::new(code, columns.delta(), session));
        Ok(Self { columns, function, next: 0, is_refused: false })
    }

    /// Steps 3 to 5, for the rows of the OTs and of the masks.
    fn verify(&self, rows: &[C::Row], channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<()> {
        let challenge = Block::random(rng);
        channel.send_slice(CHALLENGE, &[challenge])?;
        channel.flush()?;
        let own = Combinations::new(challenge, rows.len() - SUMS).of(rows);
        let mut answer = vec![Block::ZERO; SUMS * (1 + C::Row::BLOCKS)];
        channel.recv_slice(ANSWER, &mut answer)?;
        let (words, t) = answer.split_at(SUMS);
        if words.iter().any(|word| word.0.checked_shr(C::DIMENSION as u32).unwrap_or(0) != 0) {
            return Err(channel.malformed(ANSWER, "a word has too many bits"));
        }
        let mut codewords = [C::Row::zeroed(); SUMS];
        self.function.code.encode(words, &mut codewords);
        let sums = own.iter().zip(&codewords);
        let expected: Zeroizing<Vec<C::Row>> =
            Zeroizing::new(sums.map(|(q, c)| q.add_masked(c, &self.function.delta)).collect());
        let bytes: [&[u8]; 2] = [bytemuck::cast_slice(&expected), bytemuck::cast_slice(t)];
        if bytes[0].ct_eq(bytes[1]).into() {
            Ok(())
        } else {
            Err(channel.deviation(Deviation::CheckFailed { check: CHECK }))
        }
    }
}

impl<C: LinearCode> Malicious for Sender<C> {}

impl<C: LinearCode> super::Sender for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <C as LinearCode>::DIMENSION;

    type Keys = RowKeys<C>;

    /// # Errors
    /// A deviation where the receiver's rows fail the check, and from then on always: a receiver that
    /// may try again would learn Δ.
    fn send_random(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<RowKeys<C>> {
        if self.is_refused {
            return Err(channel.deviation(Deviation::CheckFailed { check: CHECK }));
        }
        if ots == 0 {
            return RowKeys::receive((&self.function, &mut self.columns), self.next, 0, channel);
        }
        // 2.
        let columns = (&self.function, &mut self.columns);
        let mut keys = RowKeys::receive(columns, self.next, ots + SUMS, channel)?;
        // 3 to 5.
        let verified = self.verify(keys.rows(), channel, rng);
        self.is_refused = verified.is_err();
        verified?;
        // 6.
        keys.truncate(ots);
        self.next += ots as u64;
        Ok(keys)
    }
}

/// The party that learns one key of each OT.
pub struct Receiver<C: LinearCode> {
    columns: columns::Receiver,
    code: C,
    hash: RowHash,
    next: u64,
}

impl<C: LinearCode> Receiver<C> {
    /// Step 1, and the session's public hash key.
    pub fn setup(code: C, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let columns = columns::Receiver::setup::<Base>(C::WIDTH, channel, rng)?;
        let mut session = [Block::ZERO];
        channel.recv_slice(SESSION, &mut session)?;
        Ok(Self { columns, code, hash: RowHash::new(session[0]), next: 0 })
    }
}

impl<C: LinearCode> Malicious for Receiver<C> {}

impl<C: LinearCode> super::Receiver for Receiver<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <C as LinearCode>::DIMENSION;

    fn receive_random(
        &mut self,
        words: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Block>> {
        let ots = words.len();
        if ots == 0 {
            return Ok(Vec::new());
        }
        // 2.
        let masked = with_masks::<C>(words, rng);
        let mut rows = Wiped::zeros(masked.len() * C::Row::BLOCKS);
        rows::send_rows(&self.code, &mut self.columns, &masked, &mut rows, channel)?;
        let rows: &[C::Row] = bytemuck::cast_slice(&rows);
        // 3 and 4.
        let answer = answer(&masked, rows, receive_challenge(channel)?);
        channel.send_slice(ANSWER, &answer)?;
        channel.flush()?;
        // 6.
        let mut keys = vec![Block::ZERO; ots];
        rows::chosen_keys(&self.hash, C::WIDTH, self.next, &rows[..ots], &mut keys);
        self.next += ots as u64;
        Ok(keys)
    }
}

/// The words of a call and random ones for the masks.
fn with_masks<C: LinearCode>(words: &[Block], rng: &mut dyn CryptoRng) -> Zeroizing<Vec<Block>> {
    let mut masked = Zeroizing::new(Vec::with_capacity(words.len() + SUMS));
    masked.extend_from_slice(words);
    masked.extend((0..SUMS).map(|_| Block(Block::random(rng).0 >> (128 - C::DIMENSION))));
    masked
}

fn receive_challenge(channel: &mut Channel) -> Result<Block> {
    let mut challenge = [Block::ZERO];
    channel.recv_slice(CHALLENGE, &mut challenge)?;
    Ok(challenge[0])
}

/// The sums of words and then of rows, masks included.
fn answer<R: Row>(words: &[Block], rows: &[R], challenge: Block) -> Vec<Block> {
    let combinations = Combinations::new(challenge, words.len() - SUMS);
    let words: &[[Block; 1]] = bytemuck::cast_slice(words);
    let (words, rows) = (combinations.of(words), combinations.of(rows));
    [words.as_flattened(), bytemuck::cast_slice(&rows)].concat()
}
