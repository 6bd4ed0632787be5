//! Malicious receivers, against the check of every extension that uses it.
//!
//! A receiver that uses different choices in some chunks of Δ (of k bits; one bit in KOS15) passes the check
//! only if it guesses those chunks, which is by design.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_net::Error;

use super::*;
use crate::{
    extension::{
        kos15, precomputed,
        softspoken::{SmallField, malicious},
    },
    two_party::run,
};

const ATTEMPTS: usize = 1000;

/// Columns of a receiver that can send other columns than its own.
pub trait MaliciousColumns: ColumnReceiver {
    /// Like [`ColumnReceiver::correlate`], with a message that is changed before it is sent: one column for
    /// each chunk of Δ.
    fn correlate_falsely(
        &mut self,
        choices: &[Block],
        columns: &mut [Block],
        change: impl FnOnce(&mut [Block]),
        channel: &mut Channel,
    ) -> Result<()>;
}

/// An extension with the check.
trait Extension: Sync {
    type Sender: ColumnSender;
    type Receiver: MaliciousColumns;

    /// Bits of a chunk of Δ.
    fn bits(&self) -> usize;
    fn sender(&self, channel: &mut Channel) -> Sender<Self::Sender>;
    fn receiver(&self, channel: &mut Channel) -> Receiver<Self::Receiver>;

    fn chunks(&self) -> usize {
        WIDTH.div_ceil(self.bits())
    }

    /// Bits of Δ in a chunk: the last may have fewer.
    fn bits_of(&self, chunk: usize) -> impl Iterator<Item = usize> {
        chunk * self.bits()..WIDTH.min((chunk + 1) * self.bits())
    }
}

struct Kos15;

impl Extension for Kos15 {
    type Sender = crate::extension::columns::Sender;
    type Receiver = crate::extension::columns::Receiver;

    fn bits(&self) -> usize {
        1
    }

    fn sender(&self, channel: &mut Channel) -> kos15::Sender {
        kos15::Sender::setup(channel, &mut StdRng::seed_from_u64(1)).unwrap()
    }

    fn receiver(&self, channel: &mut Channel) -> kos15::Receiver {
        kos15::Receiver::setup(channel, &mut StdRng::seed_from_u64(2)).unwrap()
    }
}

/// SoftSpokenOT over GF(2^k).
struct SoftSpoken(usize);

impl Extension for SoftSpoken {
    type Sender = crate::extension::softspoken::small_field::Sender;
    type Receiver = crate::extension::softspoken::small_field::Receiver;

    fn bits(&self) -> usize {
        self.0
    }

    fn sender(&self, channel: &mut Channel) -> malicious::Sender {
        let rng = &mut StdRng::seed_from_u64(1);
        malicious::Sender::setup(SmallField::new(self.0), channel, rng).unwrap()
    }

    fn receiver(&self, channel: &mut Channel) -> malicious::Receiver {
        let rng = &mut StdRng::seed_from_u64(2);
        malicious::Receiver::setup(SmallField::new(self.0), channel, rng).unwrap()
    }
}

/// Different choices in one chunk of Δ.
#[derive(Clone)]
struct Difference {
    chunk: usize,
    /// The block of rows.
    block: usize,
    /// Added to the choices of that block.
    choices: Block,
    /// The value of the chunk to which the answer is adapted; 0 gives the answer of an honest receiver.
    guess: u32,
}

/// The behaviour of a receiver in one attempt.
#[derive(Clone, Default)]
struct Attempt {
    choices: Vec<Block>,
    differences: Vec<Difference>,
    /// Added to a block of the answer.
    answer_change: Option<(usize, Block)>,
    /// Whether it repeats its answer to an earlier attempt.
    replays: bool,
}

/// The rows of the sender, if it accepted.
type Outcome = Option<Vec<Block>>;

/// Makes all attempts on one setup, where an honest sender would have stopped at its first refusal. `call` is a
/// call of the sender's. Returns Δ, the outcomes, and the receiver's rows.
fn attempt_by<E: Extension>(
    extension: &E,
    n: usize,
    attempts: &[Attempt],
    call: impl Fn(Sender<E::Sender>, &mut Channel) -> (Sender<E::Sender>, Result<Vec<Block>>) + Sync,
) -> (Delta, Vec<Outcome>, Vec<Vec<Block>>) {
    let ((delta, outcomes), rows) = run(
        |channel| {
            let mut sender = extension.sender(channel);
            let mut outcomes = Vec::new();
            for _ in attempts {
                let result;
                (sender, result) = call(sender, channel);
                assert_eq!(sender.is_refused, result.is_err());
                sender.is_refused = false;
                outcomes.push(accepted(result));
            }
            (sender.delta().clone(), outcomes)
        },
        |channel| {
            let mut receiver = extension.receiver(channel);
            let mut last_answer = vec![Block(3); 1 + WIDTH];
            let rows = attempts.iter().map(|attempt| {
                let mut rows = vec![Block::ZERO; n];
                let receiver = &mut receiver;
                last_answer =
                    deviate(extension, receiver, attempt, &mut rows, &last_answer, channel);
                rows
            });
            rows.collect()
        },
    );
    (delta, outcomes, rows)
}

fn attempt<E: Extension>(
    extension: &E,
    n: usize,
    attempts: &[Attempt],
) -> (Delta, Vec<Outcome>, Vec<Vec<Block>>) {
    attempt_by(extension, n, attempts, |mut sender, channel| {
        let result = sender.send_correlated(n, channel);
        (sender, result)
    })
}

/// The accepted rows; anything else must have been refused by the check, under its name.
fn accepted(result: Result<Vec<Block>>) -> Outcome {
    match result {
        Ok(rows) => Some(rows),
        Err(Error::Peer { deviation: Deviation::CheckFailed { check: CHECK }, .. }) => None,
        Err(other) => panic!("{other}"),
    }
}

/// One call of a malicious receiver; returns the answer that would have been correct.
fn deviate<E: Extension>(
    extension: &E,
    receiver: &mut Receiver<E::Receiver>,
    attempt: &Attempt,
    rows: &mut [Block],
    last_answer: &[Block],
    channel: &mut Channel,
) -> Vec<Block> {
    let bits = Bits::from_blocks(attempt.choices.clone(), rows.len());
    let choices = receiver.masked(&bits);
    let mut columns = CheckedColumns::new(rows);
    let piece = columns.pieces().next().unwrap();
    let len = piece.len() / WIDTH;
    assert_eq!(len, choices.len(), "attempts fit one piece");
    let change = |sent: &mut [Block]| {
        for difference in &attempt.differences {
            sent[difference.chunk * len + difference.block] ^= difference.choices;
        }
    };
    receiver.columns.correlate_falsely(&choices, piece, change, channel).unwrap();
    let (challenge, right) = columns.receive_challenge(&choices, channel).unwrap();
    let mut answer = right.to_vec();
    for difference in &attempt.differences {
        let mut column = vec![Block::ZERO; len];
        column[difference.block] = difference.choices;
        let hashed = UniversalHash::new(challenge).of(&column);
        for (b, bit) in extension.bits_of(difference.chunk).enumerate() {
            answer[1 + bit] ^= hashed & Block::mask((difference.guess >> b & 1) as u8);
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

/// Whether every guess of an attempt is right.
fn is_right<E: Extension>(extension: &E, attempt: &Attempt, delta: &Delta) -> bool {
    attempt.differences.iter().all(|difference| {
        let mut bits = extension.bits_of(difference.chunk).enumerate();
        bits.all(|(b, bit)| u32::from(delta.bit(bit)) == difference.guess >> b & 1)
    })
}

fn random_choices(n: usize, rng: &mut StdRng) -> Vec<Block> {
    Bits::random(n, rng).blocks().to_vec()
}

/// Attempts with the differences that `differences` generates for each.
fn attempts_with(
    n: usize,
    rng: &mut StdRng,
    mut differences: impl FnMut(usize, &mut StdRng) -> Vec<Difference>,
) -> Vec<Attempt> {
    let attempt = |i| Attempt {
        differences: differences(i, rng),
        choices: random_choices(n, rng),
        ..Attempt::default()
    };
    (0..ATTEMPTS).map(attempt).collect()
}

/// Exactly the attempts whose guesses are all right are accepted, and no more of them than expected.
fn only_right_guesses_pass<E: Extension>(extension: &E, n: usize, attempts: &[Attempt]) {
    let (delta, outcomes, _) = attempt(extension, n, attempts);
    let k = extension.bits();
    let mut expected = 0.0;
    for (attempt, outcome) in attempts.iter().zip(&outcomes) {
        assert_eq!(outcome.is_some(), is_right(extension, attempt, &delta), "k = {k}");
        let guessed: usize =
            attempt.differences.iter().map(|d| extension.bits_of(d.chunk).count()).sum();
        expected += (-(guessed as f64)).exp2();
    }
    let accepted = outcomes.iter().flatten().count() as f64;
    assert!(accepted < expected + 6.0 * expected.sqrt() + 1.0, "k = {k}: {accepted}");
}

fn other_choices_in_one_chunk<E: Extension>(extension: &E) {
    let (n, rng) = (100, &mut StdRng::seed_from_u64(extension.bits() as u64));
    let attempts = attempts_with(n, rng, |_, rng| {
        vec![Difference {
            chunk: rng.random_range(0..extension.chunks()),
            block: 0,
            choices: Block(1 << rng.random_range(0..n)),
            guess: rng.random_range(0..1 << extension.bits()),
        }]
    });
    only_right_guesses_pass(extension, n, &attempts);
}

#[test]
fn choices_that_differ_in_a_chunk_pass_only_with_the_right_guess() {
    other_choices_in_one_chunk(&Kos15);
    [1, 2, 3, 4, 8].into_iter().for_each(|k| other_choices_in_one_chunk(&SoftSpoken(k)));
}

fn other_choices_in_some_chunks<E: Extension>(extension: &E) {
    let (n, rng) = (100, &mut StdRng::seed_from_u64(11));
    let attempts = attempts_with(n, rng, |i, rng| {
        let first = rng.random_range(0..extension.chunks() - 6);
        let difference = |chunk| Difference {
            chunk,
            block: 0,
            choices: Block(rng.random()),
            guess: rng.random_range(0..1 << extension.bits()),
        };
        (first..first + 2 + i % 5).map(difference).collect()
    });
    only_right_guesses_pass(extension, n, &attempts);
}

#[test]
fn choices_that_differ_in_some_chunks_pass_only_if_each_is_guessed() {
    other_choices_in_some_chunks(&Kos15);
    [1, 2, 4].into_iter().for_each(|k| other_choices_in_some_chunks(&SoftSpoken(k)));
}

/// With the answer of an honest receiver: passes only if Δ has no bit there, and then does no harm.
fn one_wrong_column<E: Extension>(extension: &E, difference: impl Fn(&mut StdRng) -> Block) {
    let (n, rng) = (100, &mut StdRng::seed_from_u64(7));
    let attempts = attempts_with(n, rng, |i, rng| {
        let chunk = i % extension.chunks();
        vec![Difference { chunk, block: i / 3 % 2, choices: difference(rng), guess: 0 }]
    });
    let (delta, outcomes, rows) = attempt(extension, n, &attempts);
    for ((attempt, outcome), t) in attempts.iter().zip(&outcomes).zip(rows) {
        let harmless = is_right(extension, attempt, &delta);
        assert_eq!(outcome.is_some(), harmless, "k = {}", extension.bits());
        for (j, (q, t)) in outcome.iter().flatten().zip(t).enumerate() {
            let choice = Block::mask((attempt.choices[0].0 >> j & 1) as u8);
            assert_eq!(*q, t ^ (delta.expose()[0] & choice));
        }
    }
    assert!(outcomes.iter().any(Option::is_none));
}

#[test]
fn one_flipped_bit_of_a_column_passes_only_where_it_does_no_harm() {
    let bit = |rng: &mut StdRng| Block(1 << rng.random_range(0..128));
    one_wrong_column(&Kos15, bit);
    [1, 2, 5].into_iter().for_each(|k| one_wrong_column(&SoftSpoken(k), bit));
}

#[test]
fn a_random_column_passes_only_where_it_does_no_harm() {
    let column = |rng: &mut StdRng| Block(rng.random());
    one_wrong_column(&Kos15, column);
    [1, 2, 5].into_iter().for_each(|k| one_wrong_column(&SoftSpoken(k), column));
}

fn never_passes<E: Extension>(extension: &E, n: usize, attempts: &[Attempt]) {
    let outcomes = attempt(extension, n, attempts).1;
    assert!(outcomes.iter().all(Option::is_none), "k = {}", extension.bits());
}

/// The same bit in every chunk: the choices differ from those answered for.
fn one_wrong_row<E: Extension>(extension: &E) {
    let (n, rng) = (128, &mut StdRng::seed_from_u64(8));
    let attempts = attempts_with(n, rng, |_, rng| {
        let row = Block(1 << rng.random_range(0..n));
        let guess = |rng: &mut StdRng| rng.random_range(0..1 << extension.bits());
        let difference = |chunk| Difference { chunk, block: 0, choices: row, guess: guess(rng) };
        (0..extension.chunks()).map(difference).collect()
    });
    never_passes(extension, n, &attempts);
}

#[test]
fn one_flipped_row_never_passes() {
    one_wrong_row(&Kos15);
    one_wrong_row(&SoftSpoken(2));
}

fn choices_of_its_own_in_every_chunk<E: Extension>(extension: &E) {
    let (n, rng) = (128, &mut StdRng::seed_from_u64(10));
    let attempts = attempts_with(n, rng, |_, rng| {
        let difference =
            |chunk| Difference { chunk, block: 0, choices: Block(rng.random()), guess: 0 };
        (0..extension.chunks()).map(difference).collect()
    });
    never_passes(extension, n, &attempts);
}

#[test]
fn choices_that_differ_in_every_chunk_never_pass() {
    choices_of_its_own_in_every_chunk(&Kos15);
    choices_of_its_own_in_every_chunk(&SoftSpoken(2));
}

fn answer_of_another_run<E: Extension>(extension: &E) {
    let (n, rng) = (5, &mut StdRng::seed_from_u64(9));
    let mut attempts = attempts_with(n, rng, |_, _| Vec::new());
    attempts.iter_mut().for_each(|attempt| attempt.replays = true);
    never_passes(extension, n, &attempts);
}

#[test]
fn an_answer_from_another_run_never_passes() {
    answer_of_another_run(&Kos15);
    answer_of_another_run(&SoftSpoken(2));
}

fn wrong_answer<E: Extension>(extension: &E) {
    let (n, rng) = (5, &mut StdRng::seed_from_u64(12));
    let mut attempts = attempts_with(n, rng, |_, _| Vec::new());
    for (i, attempt) in attempts.iter_mut().enumerate() {
        let change = Block(1 << rng.random_range(0..128));
        attempt.answer_change = Some((i % (1 + WIDTH), change));
    }
    never_passes(extension, n, &attempts);
}

#[test]
fn a_wrong_answer_never_passes() {
    wrong_answer(&Kos15);
    wrong_answer(&SoftSpoken(2));
}

/// A stock is made by the extension's own call, so every receiver that is malicious there is refused.
fn deviates_offline<E: Extension>(extension: &E) {
    let (n, rng) = (100, &mut StdRng::seed_from_u64(13));
    let attempts = attempts_with(n, rng, |i, rng| {
        let difference = |chunk| Difference {
            chunk,
            block: 0,
            choices: Block(1 << rng.random_range(0..n)),
            guess: rng.random_range(0..1 << extension.bits()),
        };
        let chunks = [1, 3, extension.chunks()][i % 3];
        (0..chunks).map(difference).collect()
    });
    let (delta, outcomes, _) = attempt_by(extension, n, &attempts, |sender, channel| {
        let mut stocked = precomputed::Sender::new(sender);
        let prepared = stocked.prepare(n, channel);
        assert_eq!(stocked.left(), if prepared.is_ok() { n } else { 0 });
        (stocked.into_inner(), prepared.map(|()| Vec::new()))
    });
    for (attempt, outcome) in attempts.iter().zip(&outcomes) {
        assert_eq!(outcome.is_some(), is_right(extension, attempt, &delta));
    }
    assert!(outcomes.iter().any(Option::is_none));
}

#[test]
fn a_stock_is_not_made_of_what_was_refused() {
    deviates_offline(&Kos15);
    deviates_offline(&SoftSpoken(2));
}

fn no_second_try<E: Extension>(extension: &E) {
    run(
        |channel| {
            let mut sender = extension.sender(channel);
            for _ in 0..2 {
                assert!(accepted(sender.send_correlated(1, channel)).is_none());
            }
        },
        |channel| {
            let mut receiver = extension.receiver(channel);
            let wrong = Attempt {
                choices: vec![Block(1)],
                answer_change: Some((1, Block(1))),
                ..Attempt::default()
            };
            deviate(extension, &mut receiver, &wrong, &mut [Block::ZERO], &[], channel);
            let again = receiver.receive_correlated(&Bits::zeros(1), channel);
            assert!(again.is_err(), "nobody answers");
        },
    );
}

#[test]
fn a_receiver_that_was_refused_gets_no_second_try() {
    no_second_try(&Kos15);
    no_second_try(&SoftSpoken(2));
}

/// The stock made before has the same Δ, so it must not be used after a refusal.
#[test]
fn a_refusal_ends_the_stock_made_before() {
    run(
        |channel| {
            let mut sender = precomputed::Sender::new(Kos15.sender(channel));
            sender.prepare(100, channel).unwrap();
            let refused = sender.prepare(1, channel).map(|()| Vec::new());
            assert!(accepted(refused).is_none());
            assert_eq!(sender.left(), 0);
            assert!(accepted(sender.send_correlated(5, channel)).is_none());
        },
        |channel| {
            let mut receiver = Kos15.receiver(channel);
            receiver.receive_correlated(&Bits::zeros(100), channel).unwrap();
            let wrong = Attempt {
                choices: vec![Block(1)],
                answer_change: Some((1, Block(1))),
                ..Attempt::default()
            };
            deviate(&Kos15, &mut receiver, &wrong, &mut [Block::ZERO], &[], channel);
        },
    );
}
