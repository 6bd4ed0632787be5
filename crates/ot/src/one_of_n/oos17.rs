//! The 1-out-of-n OT extension of Orrù, Orsini and Scholl (CT-RSA 2017), against malicious parties: for n =
//! 2^76 with the BCH code, for n = 256 with the Walsh–Hadamard code.
//!
//! A linear code C \[width, bits of a word, d ≥ κ\], and s = λ + 1:
//!
//! 1. Once, without input: `width` base OTs ([`Extended`]) with the parties' roles exchanged.
//! 2. R → S: the masked columns ([`columns`]) of the codewords of its words w_1 … w_m, followed by s random
//!    words. R keeps t_j, S holds q_j = t_j ⊕ (C(w_j) ∧ Δ).
//! 3. Once all columns are fixed, S → R: a challenge, from which both expand, with the session identifier, bits
//!    χ_{l,j}.
//! 4. R → S: for each l ≤ s, w^l = Σ_j χ_{l,j}·w_j ⊕ w_{m+l} and t^l = Σ_j χ_{l,j}·t_j ⊕ t_{m+l}.
//! 5. S refuses unless t^l = q^l ⊕ (C(w^l) ∧ Δ) for all l, where q^l is the same sum of its rows.
//! 6. Only then: R's key is H(j, t_j); S's key for a word v is H(j, q_j ⊕ (C(v) ∧ Δ)).
//!
//! **What R can still do.** Let c_j be the rows that R used in place of codewords, V the span of all c_j modulo the
//! code, of dimension D, and U the span of the s sums, which are uniform in V once χ is drawn. R passes only if it
//! knows Δ at a set E of places that covers U: outside E every vector of U is zero, so |E| ≥ dim U, and R knows Δ there
//! with probability 2^-|E|. If E covers V, each c_j agrees outside E with the codeword of one word only, as |E| < d;
//! the key at any other word needs d − |E| more bits of Δ, so together with those that R guessed at least d ≥ κ. If E
//! does not cover V, then dim U = D − r for some r ≥ 1; this has probability at most 2^(r·(D − s)), and R's guess 2^-(D
//! − r), in all less than 2^-(s − 1) = 2^-λ, even if R chooses E when it knows χ. A mask row that is not a codeword
//! shifts a sum by a constant, which costs as many places as it saves. A receiver that was caught is refused from then
//! on; keys of earlier calls stay as they are. Against a malicious S there is nothing to check: R's words are masked by
//! streams that S lacks, and each answer by a row of its own.
//!
//! Sessions are not bound to roles: a party that runs two of them at the same time with one peer, in opposite
//! roles, could be talking to itself through that peer without noticing.
//!
//! Deviation from the paper: H is BLAKE3 of the row and of its number, which is a position in the extended
//! output if a row leaves no room for it.

use std::sync::Arc;

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::{Adversary, KAPPA};
use vesica_primitives::{
    Block,
    code::{LinearCode, Row},
    hash::RowHash,
};
use zeroize::Zeroizing;

pub use super::check::{CHECK, WRONG_ROWS_PASS};
use super::{
    check::{self, SUMS},
    rows::{self, Function, RowBuffers, RowKeys},
};
use crate::{
    Bytes, Malicious, ZeroizingVec,
    base::{BaseOt, extended::Extended},
    extension::columns,
    session,
};

/// The base OTs underneath.
type Base = Extended;

/// Malicious, in the model of the base OTs and with a random oracle for H.
pub const ADVERSARY: Adversary = Base::ADVERSARY;

const SESSION: &str = "oos17/session";

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
    Bytes { to_sender: columns::bytes(C::WIDTH, ots + SUMS), to_receiver: 0 } + check::bytes::<C>()
}

/// The party that can compute every key.
pub struct Sender<C: LinearCode> {
    columns: columns::Sender,
    function: Arc<Function<C>>,
    /// The number of the next OT.
    next: u64,
    /// Whether the receiver was caught, so that Δ may no longer be safe.
    is_refused: bool,
}

impl<C: LinearCode> Sender<C> {
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(code: C, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let session = session::draw(SESSION, channel, rng)?;
        let columns = columns::Sender::setup::<Base>(C::WIDTH, channel, rng)?;
        let function = Arc::new(Function::new(code, columns.delta(), session));
        Ok(Self { columns, function, next: 0, is_refused: false })
    }
}

impl<C: LinearCode> Malicious for Sender<C> {}

impl<C: LinearCode> super::Sender for Sender<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <C as LinearCode>::DIMENSION;

    type Keys = RowKeys<C>;

    /// # Errors
    /// A deviation if the receiver's rows fail the check, and always from then on: a receiver that could try
    /// again would learn Δ.
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
            return RowKeys::receive(&self.function, &mut self.columns, self.next, 0, channel);
        }
        // 2.
        let (function, columns) = (&self.function, &mut self.columns);
        let mut keys = RowKeys::receive(function, columns, self.next, ots + SUMS, channel)?;
        // 3 to 5.
        let Function { code, delta, .. } = &*self.function;
        let verified = check::verify(code, delta, keys.rows(), channel, rng);
        self.is_refused = verified.is_err();
        verified?;
        // 6.
        keys.truncate(ots);
        self.next += ots as u64;
        Ok(keys)
    }

    /// All keys come in one piece, because none may be used before all rows are checked.
    fn send_random_pieces(
        &mut self,
        ots: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        mut show: impl FnMut(&RowKeys<C>),
    ) -> Result<()> {
        show(&self.send_random(ots, channel, rng)?);
        Ok(())
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
    /// Step 1, and agreement on the session's public hash key.
    pub fn setup(code: C, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        const { assert!(C::DISTANCE >= KAPPA as usize, "a code that is far enough apart") };
        let hash = RowHash::new(session::learn(SESSION, channel)?);
        let columns = columns::Receiver::setup::<Base>(C::WIDTH, channel, rng)?;
        Ok(Self { columns, code, hash, next: 0 })
    }
}

impl<C: LinearCode> Malicious for Receiver<C> {}

impl<C: LinearCode> super::Receiver for Receiver<C> {
    const ADVERSARY: Adversary = ADVERSARY;

    const WORD_BITS: usize = <C as LinearCode>::DIMENSION;

    fn receive_random_into(
        &mut self,
        words: &[Block],
        keys: &mut [Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        assert_eq!(keys.len(), words.len(), "a key for each word");
        let ots = words.len();
        if ots == 0 {
            return Ok(());
        }
        // 2.
        let masked = with_masks::<C>(words, rng);
        let mut rows = ZeroizingVec::zeros(masked.len() * C::Row::BLOCKS);
        let (code, columns) = (&self.code, &mut self.columns);
        rows::send_rows(code, columns, &masked, &mut rows, &mut RowBuffers::default(), channel)?;
        let rows: &[C::Row] = bytemuck::cast_slice(&rows);
        // 3 and 4.
        check::prove(&masked, rows, channel)?;
        // 6.
        rows::chosen_keys(&self.hash, C::WIDTH, self.next, &rows[..ots], keys);
        self.next += ots as u64;
        Ok(())
    }
}

/// The words of a call, followed by random ones for the masks.
fn with_masks<C: LinearCode>(words: &[Block], rng: &mut dyn CryptoRng) -> Zeroizing<Vec<Block>> {
    let mut masked = Zeroizing::new(Vec::with_capacity(words.len() + SUMS));
    masked.extend_from_slice(words);
    masked.extend(check::masks::<C>(rng));
    masked
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_net::Error;
    use vesica_primitives::code::{Bch, Code, WalshHadamard};

    use super::{
        super::{
            Keys, Sender as _,
            check::{ANSWER, answer, receive_challenge},
        },
        *,
    };
    use crate::two_party::run;

    const ATTEMPTS: usize = 1000;

    /// The behaviour of a receiver in one attempt.
    #[derive(Clone, Default)]
    struct Attempt {
        words: Vec<Block>,
        /// Flipped places of the matrix: row and column.
        flips: Vec<(usize, usize)>,
        /// Added to a word when columns are made, but not when the check is answered.
        inconsistency: Option<(usize, Block)>,
        /// The columns for which it guesses that Δ is 1, where its flips show in the check.
        guessed_ones: Vec<usize>,
        /// Added to a block of the answer.
        answer_change: Option<(usize, Block)>,
        /// Whether it repeats its answer to an earlier attempt.
        replays: bool,
    }

    /// The code of a deviating receiver.
    struct Falsely<'a, C> {
        code: &'a C,
        attempt: &'a Attempt,
    }

    impl<C: LinearCode> Code for Falsely<'_, C> {
        type Row = C::Row;

        const DIMENSION: usize = <C as LinearCode>::DIMENSION;

        fn width(&self) -> usize {
            C::WIDTH
        }

        fn encode(&self, words: &[Block], rows: &mut [C::Row]) {
            self.code.encode(words, rows);
        }

        fn encode_columns(&self, words: &[Block], columns: &mut [Block]) {
            let mut words = words.to_vec();
            if let Some((row, difference)) = self.attempt.inconsistency {
                words[row] ^= difference;
            }
            self.code.encode_columns(&words, columns);
            let len = columns.len() / C::WIDTH;
            for (row, column) in &self.attempt.flips {
                columns[column * len + row / 128] ^= Block(1 << (row % 128));
            }
        }
    }

    /// A sender's keys at word 0 and at the receiver's words, if it accepted.
    type Outcome = Option<[Vec<Block>; 2]>;

    struct Outcomes<C: LinearCode> {
        delta: C::Row,
        sender: Vec<Outcome>,
        /// The receiver's keys.
        receiver: Vec<Vec<Block>>,
    }

    /// Makes all attempts on one setup, where an honest sender would have stopped at its first refusal.
    fn attempt<C: LinearCode>(code: fn() -> C, attempts: &[Attempt]) -> Outcomes<C> {
        let ((delta, sender), receiver) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let mut sender = Sender::setup(code(), channel, rng).unwrap();
                let outcomes = attempts.iter().map(|attempt| {
                    let result = sender.send_random(attempt.words.len(), channel, rng);
                    assert_eq!(sender.is_refused, result.is_err());
                    sender.is_refused = false;
                    match result {
                        Ok(keys) => Some([keys.all(1), keys.at(&attempt.words)]),
                        Err(Error::Peer {
                            deviation: Deviation::CheckFailed { check: CHECK },
                            ..
                        }) => {
                            // The receiver does not know of the refusal, and continues counting.
                            sender.next += attempt.words.len() as u64;
                            None
                        }
                        Err(other) => panic!("{other}"),
                    }
                });
                let outcomes = outcomes.collect();
                (*sender.function.delta, outcomes)
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let mut receiver = Receiver::setup(code(), channel, rng).unwrap();
                let mut last = vec![Block(3); SUMS * (1 + C::Row::BLOCKS)];
                let keys = attempts.iter().map(|attempt| {
                    let (keys, answer) = deviate(&mut receiver, attempt, &last, channel, rng);
                    last = answer;
                    keys
                });
                keys.collect()
            },
        );
        Outcomes { delta, sender, receiver }
    }

    /// One call of a deviating receiver; returns its keys, and the answer that an honest one would have given
    /// for its rows and words.
    fn deviate<C: LinearCode>(
        receiver: &mut Receiver<C>,
        attempt: &Attempt,
        last: &[Block],
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> (Vec<Block>, Vec<Block>) {
        let words = with_masks::<C>(&attempt.words, rng);
        let mut rows = vec![Block::ZERO; words.len() * C::Row::BLOCKS];
        let code = Falsely { code: &receiver.code, attempt };
        let (columns, buffers) = (&mut receiver.columns, &mut RowBuffers::default());
        rows::send_rows(&code, columns, &words, &mut rows, buffers, channel).unwrap();
        let rows: &mut [C::Row] = bytemuck::cast_slice_mut(&mut rows);
        let challenge = receive_challenge(channel).unwrap();
        let right = answer(&words, &*rows, challenge);
        // Where Δ is 1, S has the flip in its rows.
        let mut guessed = rows.to_vec();
        for (row, column) in &attempt.flips {
            if attempt.guessed_ones.contains(column) {
                let blocks: &mut [Block] = bytemuck::cast_slice_mut(&mut guessed[*row..=*row]);
                blocks[column / 128].0 ^= 1 << (column % 128);
            }
        }
        let mut sent = answer(&words, &guessed, challenge);
        if let Some((at, change)) = attempt.answer_change {
            sent[at] ^= change;
        }
        let sent = if attempt.replays { last } else { &sent };
        channel.send_slice(ANSWER, sent).unwrap();
        channel.flush().unwrap();
        let (ots, first) = (attempt.words.len(), receiver.next);
        let mut keys = vec![Block::ZERO; ots];
        rows::chosen_keys(&receiver.hash, C::WIDTH, first, &rows[..ots], &mut keys);
        receiver.next += ots as u64;
        (keys, right)
    }

    fn words<C: LinearCode>(n: usize, rng: &mut StdRng) -> Vec<Block> {
        let word = |_| Block(rng.random::<u128>() >> (128 - <C as LinearCode>::DIMENSION));
        (0..n).map(word).collect()
    }

    fn bit<R: Row>(row: &R, column: usize) -> bool {
        row.widen()[column / 128].0 >> (column % 128) & 1 == 1
    }

    /// One bit of one column is flipped, with the answer of an honest receiver: this passes if Δ is 0 there,
    /// and then does no harm.
    fn one_flip_passes_only_where_it_does_no_harm<C: LinearCode>(code: fn() -> C) {
        let rng = &mut StdRng::seed_from_u64(3);
        let attempts: Vec<Attempt> = (0..ATTEMPTS)
            .map(|i| Attempt {
                words: words::<C>(30, rng),
                // Also in the masks and beyond them.
                flips: vec![(i % 80, rng.random_range(0..C::WIDTH))],
                ..Attempt::default()
            })
            .collect();
        let outcomes = attempt(code, &attempts);
        for ((attempt, sent), received) in
            attempts.iter().zip(&outcomes.sender).zip(&outcomes.receiver)
        {
            let (row, column) = attempt.flips[0];
            let is_harmless = !bit(&outcomes.delta, column) || row >= 30 + SUMS;
            assert_eq!(sent.is_some(), is_harmless, "row {row}, column {column}");
            if let Some([_, at_words]) = sent {
                assert_eq!(at_words, received);
            }
        }
        let accepted = outcomes.sender.iter().flatten().count();
        assert!((400..700).contains(&accepted), "{accepted}");
    }

    #[test]
    fn one_flipped_bit_of_a_column() {
        one_flip_passes_only_where_it_does_no_harm(Bch::new);
        one_flip_passes_only_where_it_does_no_harm(|| WalshHadamard);
    }

    /// A receiver that flips bits in some columns and guesses Δ there passes exactly if all of its guesses are
    /// right: with probability 2^-k for k columns.
    #[test]
    fn flips_in_some_columns_pass_only_with_the_right_guess() {
        for k in [1, 2, 4, 7] {
            let rng = &mut StdRng::seed_from_u64(k as u64);
            let attempts: Vec<Attempt> = (0..ATTEMPTS)
                .map(|_| {
                    let columns: Vec<usize> = (0..k)
                        .map(|i| 2 * i + 14 * rng.random_range(0..36) + rng.random_range(0..2))
                        .collect();
                    let guessed_ones = columns.iter().copied().filter(|_| rng.random()).collect();
                    Attempt {
                        words: words::<Bch>(10, rng),
                        guessed_ones,
                        flips: columns.into_iter().map(|c| (0, c)).collect(),
                        ..Attempt::default()
                    }
                })
                .collect();
            let outcomes = attempt(Bch::new, &attempts);
            for (attempt, sent) in attempts.iter().zip(&outcomes.sender) {
                let mut columns = attempt.flips.iter().map(|(_, column)| column);
                let is_right =
                    columns.all(|c| bit(&outcomes.delta, *c) == attempt.guessed_ones.contains(c));
                assert_eq!(sent.is_some(), is_right, "{k} columns");
            }
            let accepted = outcomes.sender.iter().flatten().count() as f64;
            let expected = ATTEMPTS as f64 / f64::from(1 << k);
            assert!((accepted - expected).abs() < 5.0 * expected.sqrt(), "{k} columns: {accepted}");
        }
    }

    /// Rows that are not codewords, or that belong to another word than the one answered for.
    fn wrong_rows_never_pass<C: LinearCode>(code: fn() -> C) {
        let rng = &mut StdRng::seed_from_u64(5);
        let attempts: Vec<Attempt> = (0..ATTEMPTS)
            .map(|i| {
                let row = rng.random_range(0..20 + SUMS);
                let is_noise = i % 2 == 0;
                let noise = (0..C::WIDTH).filter(|_| is_noise && rng.random());
                let flips = noise.map(|column| (row, column)).collect();
                let bit = Block(1 << rng.random_range(0..<C as LinearCode>::DIMENSION));
                let inconsistency = (!is_noise).then_some((row, bit));
                Attempt { words: words::<C>(20, rng), flips, inconsistency, ..Attempt::default() }
            })
            .collect();
        assert!(attempt(code, &attempts).sender.iter().all(Option::is_none));
    }

    #[test]
    fn rows_that_are_no_codewords_or_of_another_word() {
        wrong_rows_never_pass(Bch::new);
        wrong_rows_never_pass(|| WalshHadamard);
    }

    #[test]
    fn an_answer_that_is_wrong_or_from_another_run_never_passes() {
        let rng = &mut StdRng::seed_from_u64(6);
        let attempts: Vec<Attempt> = (0..ATTEMPTS)
            .map(|i| {
                let honest = Attempt { words: words::<Bch>(5, rng), ..Attempt::default() };
                let at = rng.random_range(0..5 * SUMS);
                match i % 3 {
                    0 => Attempt { replays: true, ..honest },
                    // For the word, only a change that leaves it a word.
                    1 => Attempt { answer_change: Some((at, Block(1 << (i % 76)))), ..honest },
                    _ => Attempt { answer_change: Some((at, Block(1))), ..honest },
                }
            })
            .collect();
        assert!(attempt(Bch::new, &attempts).sender.iter().all(Option::is_none));
    }

    #[test]
    fn honest_attempts_pass_and_keys_agree() {
        let rng = &mut StdRng::seed_from_u64(7);
        let attempts: Vec<Attempt> = (1..200)
            .map(|n| Attempt { words: words::<Bch>(n, rng), ..Attempt::default() })
            .collect();
        let outcomes = attempt(Bch::new, &attempts);
        for (sent, received) in outcomes.sender.iter().zip(&outcomes.receiver) {
            let [_, at_words] = sent.as_ref().unwrap();
            assert_eq!(at_words, received);
        }
    }

    #[test]
    fn a_word_with_too_many_bits_is_malformed() {
        let change = Some((3, Block(1 << 127)));
        let words = vec![Block(1); 5];
        let attempt = Attempt { words, answer_change: change, ..Attempt::default() };
        let (error, ()) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let mut sender = Sender::setup(Bch::new(), channel, rng).unwrap();
                sender.send_random(5, channel, rng).err().unwrap()
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let mut receiver = Receiver::setup(Bch::new(), channel, rng).unwrap();
                deviate(&mut receiver, &attempt, &[], channel, rng);
            },
        );
        let deviation = Deviation::Malformed { label: ANSWER, what: "a word has too many bits" };
        assert!(matches!(error, Error::Peer { deviation: found, .. } if found == deviation));
    }

    #[test]
    fn a_receiver_that_was_caught_stays_refused() {
        let attempt = Attempt {
            words: vec![Block(1); 5],
            inconsistency: Some((0, Block(1))),
            ..Attempt::default()
        };
        let (second, ()) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let mut sender = Sender::setup(Bch::new(), channel, rng).unwrap();
                assert!(sender.send_random(5, channel, rng).is_err());
                sender.send_random(5, channel, rng).err().unwrap()
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let mut receiver = Receiver::setup(Bch::new(), channel, rng).unwrap();
                deviate(&mut receiver, &attempt, &[], channel, rng);
            },
        );
        let is_the_check = matches!(
            second,
            Error::Peer { deviation: Deviation::CheckFailed { check: CHECK }, .. }
        );
        assert!(is_the_check);
    }
}
