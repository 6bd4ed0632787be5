//! 1-out-of-n OT between two parties whose Δ, words and messages are secret.

use vesica_net::{Channel, Error, Result};
use vesica_ot::one_of_n::{
    Keys, MessageShape, Receiver, Sender, kk13, kkrt16,
    matrix::{self, Pieces, checked, unchecked},
    oos17,
    precomputed::{Drawn, Prepared},
};
use vesica_params::{LAMBDA, code};
use vesica_primitives::{
    Block,
    code::{Bch, Code, Concatenated, LinearCode, Row, ShortBch, WalshHadamard},
};

use crate::{
    marks::{SecretRng, public, secret},
    parties::run,
};

/// OTs of a call: more than a batch of the codes, and not a multiple of a block.
const OTS: usize = 201;

/// Number of messages per chosen-message OT, and their length in bytes.
const MESSAGES: MessageShape = MessageShape { n: 5, len: 20 };

type Setup<T> = fn(&mut Channel, &mut SecretRng) -> Result<T>;

/// Random OT, precomputed OT, and chosen-message OT.
fn every_variant<S, R>(sender: Setup<S>, receiver: Setup<R>)
where
    S: Sender<Keys: Send>,
    R: Receiver,
{
    let MessageShape { n, len } = MESSAGES;
    let ((own, theirs), (words, received)) = run(
        |channel, rng| {
            let mut ot = sender(channel, rng)?;
            let keys = ot.send_random(OTS, channel, rng)?;
            let own = words_of::<S>(rng);
            let evaluated = keys.at(&own);
            let ahead = Prepared::new(&mut ot, OTS, channel, rng)?.choose(channel)?;
            ahead.at(&own);
            let mut messages = vec![0; OTS * n * len];
            rand::Rng::fill_bytes(rng, &mut messages);
            ot.send_chosen(&messages, MESSAGES, channel, rng)?;
            Ok::<_, Error>((keys, (own, evaluated)))
        },
        |channel, rng| {
            let mut ot = receiver(channel, rng)?;
            let words = words_of::<S>(rng);
            let received = ot.receive_random(&words, channel, rng)?;
            Drawn::new(&mut ot, OTS, channel, rng)?.choose(&words, channel)?;
            let mut choices: Vec<u8> = (0..OTS).map(|i| (i % n) as u8).collect();
            secret(&mut choices);
            ot.receive_chosen(&choices, MESSAGES, channel, rng)?;
            Ok((words, received))
        },
    );
    public(&words);
    let expected = own.at(&words);
    public(&expected);
    public(&received);
    assert_eq!(received, expected, "the key at the chosen word");
    let (others, of_others) = theirs;
    public(&others);
    public(&of_others);
    assert!(others != words && of_others != received, "other words have other keys");
}

fn words_of<S: Sender>(rng: &mut SecretRng) -> Vec<Block> {
    (0..OTS).map(|_| Block(Block::random(rng).0 >> (128 - S::WORD_BITS))).collect()
}

/// KK13, with the Walsh–Hadamard code.
pub fn kk13() {
    every_variant(|c, r| kk13::Sender::setup(c, r), |c, r| kk13::Receiver::setup(c, r));
}

/// KKRT16, with the pseudo-random code.
pub fn kkrt16() {
    fn width() -> usize {
        code::width(3 * OTS, LAMBDA)
    }
    every_variant(
        |c, r| kkrt16::Sender::setup(width(), c, r),
        |c, r| kkrt16::Receiver::setup(width(), c, r),
    );
}

/// OOS17, with its check, and the Walsh–Hadamard code.
pub fn oos17_walsh_hadamard() {
    every_variant(
        |c, r| oos17::Sender::setup(WalshHadamard, c, r),
        |c, r| oos17::Receiver::setup(WalshHadamard, c, r),
    );
}

/// OOS17, with its check, and the BCH code.
pub fn oos17_bch() {
    every_variant(
        |c, r| oos17::Sender::setup(Bch::new(), c, r),
        |c, r| oos17::Receiver::setup(Bch::new(), c, r),
    );
}

/// Rows of a matrix in pieces, which differ by the codeword where Δ is 1.
fn rows<C, S, R>()
where
    C: LinearCode + Default,
    S: matrix::Sender<C>,
    R: matrix::Receiver<C>,
{
    let pieces = Pieces { count: 2, rows: OTS };
    let ((delta, q), (words, t)) = run(
        |channel, rng| {
            let (mut delta, mut q) = (None, Vec::new());
            let show = |_: usize, rows: &[C::Row], of: &C::Row| {
                q.extend_from_slice(rows);
                delta = Some(*of);
            };
            let sender = S::setup(C::default(), pieces, channel, rng)?;
            sender.extend(channel, rng, show)?;
            Ok::<_, Error>((delta.expect("there are pieces"), q))
        },
        |channel, rng| {
            let word = |rng: &mut SecretRng| {
                Block(Block::random(rng).0 >> (128 - <C as LinearCode>::DIMENSION))
            };
            let words: Vec<Block> = (0..pieces.count * OTS).map(|_| word(rng)).collect();
            let mut receiver = R::setup(C::default(), pieces, channel, rng)?;
            let mut t = Vec::new();
            for words in words.chunks(OTS) {
                t.extend_from_slice(receiver.extend(words, channel)?);
            }
            receiver.finish(channel, rng)?;
            Ok((words, t))
        },
    );
    let mut codewords = t.clone();
    C::default().encode(&words, &mut codewords);
    let expected = t.iter().zip(&codewords).map(|(t, codeword)| t.add_masked(codeword, &delta));
    let expected: Vec<C::Row> = expected.collect();
    let [q, expected]: [&[Block]; 2] = [&q, &expected].map(|rows| bytemuck::cast_slice(rows));
    [q, expected].iter().for_each(|rows| public(rows));
    assert!(q == expected, "rows that differ by the codeword where Δ is 1");
}

/// Semi-honest, with the shortened BCH code.
pub fn matrix_unchecked() {
    rows::<ShortBch, unchecked::Sender<_>, unchecked::Receiver<_>>();
}

/// Malicious, with the concatenated code.
pub fn matrix_checked() {
    rows::<Concatenated, checked::Sender<_>, checked::Receiver<_>>();
}
