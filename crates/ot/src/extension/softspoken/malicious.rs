//! SoftSpokenOT against parties that deviate.
//!
//! What the parts in [`consistency`](crate::pprf::consistency) and [`checked`] leave to an R that deviates is to guess
//! some bits of Δ and to be caught if it guesses wrong; S then says so and Δ is never used again. A
//! correlated OT is hashed with its number as the tweak. Against an S that deviates there is nothing
//! to check: R's choices are masked by a stream that S lacks, and its answer by rows of its own.
//!
//! A call of n OTs, which takes one round more than the semi-honest one:
//!
//! 1. R → S: step 3 of the extension for ⌈n/128⌉·128 + 128 rows.
//! 2. S → R → S: the challenge and the answer of [`checked`].
//! 3. Only then are columns turned into rows, and rows into anything that leaves this module.
//!
//! Beyond guesses R succeeds with a probability of at most 2^[`error`]. The base OTs (MR19) let a
//! party that deviates choose its own messages, which SoftSpokenOT is proven to bear.

use rand::CryptoRng;
use vesica_net::{Channel, Deviation, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta, Seed, aes::Prg, group::Ristretto};
use zeroize::Zeroizing;

use super::{
    SmallField,
    small_field::{self, PuncturedTrees, Trees},
};
use crate::{
    Bytes,
    base::{BaseOt, mr19::Mr19},
    extension::checked::{self, Columns},
    flavour::{CorrelationHash, CotReceiver, CotSender, Malicious},
    pprf,
};

/// The base OTs underneath.
type Base = Mr19<Ristretto>;

/// Malicious, in the model of the base OTs and with an ideal cipher for the trees and the hash.
pub const ADVERSARY: Adversary = Base::ADVERSARY;

const SESSION: &str = "softspoken/session";

/// Payload bytes of the setup.
pub fn setup_bytes(field: SmallField) -> Bytes {
    let trees = field.setup_bytes::<Base>();
    Bytes { to_sender: trees.to_sender + pprf::consistency::bytes(field.shape()), ..trees }
}

/// log2 of the probability that a receiver gets through the check of a call of `n` OTs with choices
/// that differ between chunks of Δ, other than by guessing those chunks.
pub fn error(field: SmallField, n: usize) -> f64 {
    checked::error(field.chunks(), n)
}

/// Payload bytes of a call of `n` correlated or random OTs.
pub const fn bytes(field: SmallField, n: usize) -> Bytes {
    if n == 0 {
        return Bytes { to_sender: 0, to_receiver: 0 };
    }
    let columns = field.bytes(n) + field.bytes(checked::MASK_ROWS);
    Bytes { to_sender: columns + checked::BYTES.to_sender, ..checked::BYTES }
}

/// The party with Δ, 128 bits.
pub struct Sender {
    vole: small_field::Sender,
    hash: CorrelationHash,
    challenges: Prg,
    /// The receiver was caught, so that Δ may not be safe any more.
    is_refused: bool,
}

impl Sender {
    /// Step 1 of the extension with its check, and the session's public hash key, which this party
    /// draws because the hash protects its Δ.
    ///
    /// # Errors
    /// A deviation where the receiver's trees fail the check.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut trees = PuncturedTrees::receive::<Base>(field, channel, rng)?;
        trees.verify(channel)?;
        let key = Block::random(rng);
        channel.send_slice(SESSION, &[key])?;
        channel.flush()?;
        Ok(Self {
            vole: trees.into_sender(),
            hash: CorrelationHash::new(ADVERSARY, key),
            challenges: Prg::new(&Seed::random(rng)),
            is_refused: false,
        })
    }
}

impl Malicious for Sender {}

impl CotSender for Sender {
    const ADVERSARY: Adversary = ADVERSARY;

    fn delta(&self) -> &Delta {
        self.vole.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    /// # Errors
    /// A deviation where the receiver's columns fail the check, and from then on always: a receiver
    /// that may try again would learn Δ.
    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        if self.is_refused {
            return Err(channel.deviation(Deviation::CheckFailed { check: checked::CHECK }));
        }
        if out.is_empty() {
            return Ok(());
        }
        // 1.
        let mut columns = Columns::new(out);
        for piece in columns.pieces() {
            self.vole.extend(piece, channel)?;
        }
        // 2.
        let mut challenge = [Block::ZERO];
        self.challenges.fill(&mut challenge);
        let verified = columns.verify(self.vole.delta(), challenge[0], channel);
        self.is_refused = verified.is_err();
        verified?;
        // 3.
        columns.into_rows();
        Ok(())
    }
}

/// The party with choices.
pub struct Receiver {
    vole: small_field::Receiver,
    hash: CorrelationHash,
    masks: Prg,
}

impl Receiver {
    /// Step 1 of the extension with its proof, and the session's public hash key.
    pub fn setup(
        field: SmallField,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut trees = Trees::send::<Base>(field, channel, rng)?;
        trees.prove(channel)?;
        let mut key = [Block::ZERO];
        channel.recv_slice(SESSION, &mut key)?;
        Ok(Self {
            vole: trees.into_receiver(),
            hash: CorrelationHash::new(ADVERSARY, key[0]),
            masks: Prg::new(&Seed::random(rng)),
        })
    }

    /// The choices of the rows of a call: those asked for, and random ones for the masks.
    fn masked(&mut self, choices: &Bits) -> Zeroizing<Vec<Block>> {
        let mut mask = [Block::ZERO; checked::MASK_ROWS / 128];
        self.masks.fill(&mut mask);
        Zeroizing::new([choices.blocks(), &mask].concat())
    }
}

impl Malicious for Receiver {}

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
        if out.is_empty() {
            return Ok(());
        }
        // 1.
        let choices = self.masked(choices);
        let mut columns = Columns::new(out);
        let mut rest = &choices[..];
        for piece in columns.pieces() {
            let (choices, later) = rest.split_at(piece.len() / 128);
            self.vole.extend(choices, piece, channel)?;
            rest = later;
        }
        // 2.
        columns.answer(&choices, channel)?;
        // 3.
        columns.into_rows();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_net::Error;

    use super::*;
    use crate::two_party::run;

    const ATTEMPTS: usize = 1000;

    /// What a receiver does in one attempt.
    #[derive(Clone, Default)]
    struct Attempt {
        choices: Vec<Block>,
        /// Added to the corrections of a tree, at a block: to the choices of that chunk.
        differences: Vec<(usize, usize, Block)>,
        /// The value of the chunks of those trees by which the answer is adapted.
        guess: u32,
        /// Added to a block of the answer.
        answer_change: Option<(usize, Block)>,
        /// Answers with what it answered to an attempt before.
        replays: bool,
    }

    /// Whether an attempt was accepted, and what the sender has of it.
    type Outcome = Option<Vec<Block>>;

    /// Makes all attempts on one setup, on which an honest sender would have stopped at the first
    /// that it refuses. Returns Δ, the outcomes, and the receiver's rows.
    fn attempt(
        field: SmallField,
        n: usize,
        attempts: &[Attempt],
    ) -> (Delta, Vec<Outcome>, Vec<Vec<Block>>) {
        let ((delta, outcomes), rows) = run(
            |channel| {
                let mut sender =
                    Sender::setup(field, channel, &mut StdRng::seed_from_u64(1)).unwrap();
                let outcomes = attempts.iter().map(|_| {
                    let result = sender.send_correlated(n, channel);
                    assert_eq!(sender.is_refused, result.is_err());
                    sender.is_refused = false;
                    match result {
                        Ok(rows) => Some(rows),
                        Err(Error::Peer {
                            deviation: Deviation::CheckFailed { check: checked::CHECK },
                            ..
                        }) => None,
                        Err(other) => panic!("{other}"),
                    }
                });
                let outcomes = outcomes.collect();
                (sender.delta().clone(), outcomes)
            },
            |channel| {
                let mut receiver =
                    Receiver::setup(field, channel, &mut StdRng::seed_from_u64(2)).unwrap();
                let mut last_answer = vec![Block(3); 129];
                let rows = attempts.iter().map(|attempt| {
                    let mut rows = vec![Block::ZERO; n];
                    last_answer = deviate(&mut receiver, attempt, &mut rows, &last_answer, channel);
                    rows
                });
                rows.collect()
            },
        );
        (delta, outcomes, rows)
    }

    /// One call of a receiver that deviates; returns the answer that would have been right.
    fn deviate(
        receiver: &mut Receiver,
        attempt: &Attempt,
        rows: &mut [Block],
        last_answer: &[Block],
        channel: &mut Channel,
    ) -> Vec<Block> {
        let k = receiver.vole.field().bits();
        let bits = Bits::from_blocks(attempt.choices.clone(), rows.len());
        let choices = receiver.masked(&bits);
        let mut columns = Columns::new(rows);
        let piece = columns.pieces().next().unwrap();
        let len = piece.len() / 128;
        assert_eq!(len, choices.len(), "attempts fit one piece");
        let change = |corrections: &mut [Block]| {
            for (tree, block, difference) in &attempt.differences {
                corrections[tree * len + block] ^= *difference;
            }
        };
        receiver.vole.extend_falsely(&choices, piece, change, channel).unwrap();
        let (challenge, right) = columns.receive_challenge(&choices, channel).unwrap();
        let mut answer = right.to_vec();
        for (tree, block, difference) in &attempt.differences {
            let mut column = vec![Block::ZERO; len];
            column[*block] = *difference;
            let hashed = checked::hash_of(challenge, &column);
            for b in (0..k).filter(|b| tree * k + b < 128) {
                answer[1 + tree * k + b] ^= hashed & Block::mask((attempt.guess >> b & 1) as u8);
            }
        }
        if let Some((at, change)) = attempt.answer_change {
            answer[at] ^= change;
        }
        let sent = if attempt.replays { last_answer } else { &answer };
        columns.send_answer(sent, channel).unwrap();
        columns.into_rows();
        right.to_vec()
    }

    fn chunk(field: SmallField, delta: &Delta, tree: usize) -> u32 {
        field.split(delta)[tree]
    }

    fn random_choices(n: usize, rng: &mut StdRng) -> Vec<Block> {
        Bits::random(n, rng).blocks().to_vec()
    }

    /// A receiver with other choices in one chunk of Δ gets through by guessing that chunk, which is
    /// by design, and in no other way: with its honest answer, which is the guess 0, or a false one.
    #[test]
    fn choices_that_differ_in_a_chunk_pass_only_with_the_right_guess() {
        for bits in [1, 2, 3, 4, 8] {
            let field = SmallField::new(bits);
            let (n, rng) = (100, &mut StdRng::seed_from_u64(bits as u64));
            let attempts: Vec<Attempt> = (0..ATTEMPTS)
                .map(|_| {
                    let tree = rng.random_range(0..field.chunks());
                    let difference = (tree, 0, Block(1 << rng.random_range(0..n)));
                    Attempt {
                        choices: random_choices(n, rng),
                        differences: vec![difference],
                        guess: rng.random_range(0..1 << bits),
                        ..Attempt::default()
                    }
                })
                .collect();
            let (delta, outcomes, _) = attempt(field, n, &attempts);
            for (attempt, outcome) in attempts.iter().zip(&outcomes) {
                let (tree, ..) = attempt.differences[0];
                let used = (128 - tree * bits).min(bits);
                let is_right = (attempt.guess ^ chunk(field, &delta, tree)) << (32 - used) == 0;
                assert_eq!(outcome.is_some(), is_right, "k = {bits}, tree {tree}");
            }
            let accepted = outcomes.iter().flatten().count() as f64;
            let expected = ATTEMPTS as f64 / f64::from(1 << bits);
            // The last chunk may have fewer bits, so some more.
            assert!(accepted < 1.3 * expected + 6.0 * expected.sqrt(), "k = {bits}: {accepted}");
        }
    }

    /// A bit of a column flipped on its way, or other choices in one column, with the answer of an
    /// honest receiver: passes only where Δ has no bit there, and then does no harm.
    #[test]
    fn one_wrong_column_passes_only_where_it_does_no_harm() {
        for bits in [1, 2, 5] {
            let field = SmallField::new(bits);
            let (n, rng) = (100, &mut StdRng::seed_from_u64(7));
            let attempts: Vec<Attempt> = (0..ATTEMPTS)
                .map(|i| {
                    let difference = match i % 3 {
                        0 => Block(1 << rng.random_range(0..n)),
                        1 => Block(1 << 127),
                        _ => Block(rng.random()),
                    };
                    let at = (i % field.chunks(), usize::from(i % 2 == 0), difference);
                    Attempt {
                        choices: random_choices(n, rng),
                        differences: vec![at],
                        ..Attempt::default()
                    }
                })
                .collect();
            let (delta, outcomes, rows) = attempt(field, n, &attempts);
            for ((attempt, outcome), t) in attempts.iter().zip(&outcomes).zip(rows) {
                let harmless = chunk(field, &delta, attempt.differences[0].0) == 0;
                assert_eq!(outcome.is_some(), harmless, "k = {bits}");
                for (j, (q, t)) in outcome.iter().flatten().zip(t).enumerate() {
                    let choice = Block::mask((attempt.choices[0].0 >> j & 1) as u8);
                    assert_eq!(*q, t ^ (delta.expose()[0] & choice));
                }
            }
            assert!(outcomes.iter().any(Option::is_none));
        }
    }

    /// One bit of a row: the same bit in every chunk, which are other choices than those answered
    /// for. And every chunk with choices of its own.
    #[test]
    fn wrong_rows_never_pass() {
        let field = SmallField::new(2);
        let (n, rng) = (128, &mut StdRng::seed_from_u64(8));
        let attempts: Vec<Attempt> = (0..ATTEMPTS)
            .map(|i| {
                let row = Block(1 << rng.random_range(0..n));
                let differences = (0..field.chunks())
                    .map(|tree| (tree, 0, if i % 2 == 0 { row } else { Block(rng.random()) }));
                Attempt {
                    differences: differences.collect(),
                    choices: random_choices(n, rng),
                    guess: rng.random_range(0..4),
                    ..Attempt::default()
                }
            })
            .collect();
        assert!(attempt(field, n, &attempts).1.iter().all(Option::is_none));
    }

    #[test]
    fn an_answer_that_is_wrong_or_from_another_run_never_passes() {
        let field = SmallField::new(2);
        let (n, rng) = (5, &mut StdRng::seed_from_u64(9));
        let attempts: Vec<Attempt> = (0..ATTEMPTS)
            .map(|i| {
                let honest = Attempt { choices: random_choices(n, rng), ..Attempt::default() };
                let change = Block(1 << rng.random_range(0..128));
                match i % 2 {
                    0 => Attempt { replays: true, ..honest },
                    _ => Attempt { answer_change: Some((1 + i % 128, change)), ..honest },
                }
            })
            .collect();
        assert!(attempt(field, n, &attempts).1.iter().all(Option::is_none));
    }

    #[test]
    fn a_receiver_that_was_refused_gets_no_second_try() {
        let field = SmallField::new(2);
        run(
            |channel| {
                let mut sender =
                    Sender::setup(field, channel, &mut StdRng::seed_from_u64(1)).unwrap();
                for _ in 0..2 {
                    assert!(sender.send_correlated(1, channel).unwrap_err().is_peer_fault());
                }
            },
            |channel| {
                let mut receiver =
                    Receiver::setup(field, channel, &mut StdRng::seed_from_u64(2)).unwrap();
                let wrong = Attempt {
                    choices: vec![Block(1)],
                    answer_change: Some((1, Block(1))),
                    ..Attempt::default()
                };
                deviate(&mut receiver, &wrong, &mut [Block::ZERO], &[], channel);
                let again = receiver.receive_correlated(&Bits::zeros(1), channel);
                assert!(again.is_err(), "nobody answers");
            },
        );
    }

    /// The trees of the setup: a wrong sum is refused there unless Δ does not need it.
    #[test]
    fn inconsistent_trees_are_refused_in_the_setup() {
        let field = SmallField::new(3);
        let mut refused = 0;
        for seed in 0..20 {
            let (sender, _) = run(
                |channel| Sender::setup(field, channel, &mut StdRng::seed_from_u64(seed)).err(),
                |channel| {
                    let rng = &mut StdRng::seed_from_u64(100 + seed);
                    let mut trees = Trees::send_falsely::<Base>(field, channel, rng).unwrap();
                    trees.prove(channel).unwrap();
                    channel.flush().unwrap();
                },
            );
            let Some(error) = sender else { panic!("43 chunks were guessed") };
            let Error::Peer { deviation: Deviation::CheckFailed { check }, .. } = error else {
                panic!("{error}")
            };
            assert_eq!(check, pprf::consistency::CHECK);
            refused += 1;
        }
        assert_eq!(refused, 20);
    }

    #[test]
    fn the_error_is_what_its_formula_says() {
        // C(64, 2) = 2016 pairs and 8192 values of χ for each.
        let by_hand = (2016.0f64 * 8192.0).log2() - 128.0;
        assert!((error(SmallField::new(2), 1 << 20) - by_hand).abs() < 1e-9);
        assert!((by_hand - -104.0).abs() < 0.1);
        for bits in 1..=SmallField::MAX_BITS {
            assert!(error(SmallField::new(bits), 1 << 39) < -82.0);
        }
    }
}
