//! Requirements on every 1-out-of-n oblivious transfer.

use std::collections::HashSet;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Result};
use vesica_ot::one_of_n::{Keys, MessageShape, Receiver, Sender};
use vesica_primitives::Block;

use super::ot::{LINKS, Setup, is_tried_in_full};
use crate::two_party::{self, Link};

/// Numbers of OTs: none, one, around the width of a block, and one more than whole chunks.
const SIZES: [usize; 7] = [0, 1, 127, 128, 129, 1000, (1 << 16) + 1];

/// Numbers of messages per OT and their lengths in bytes: shorter than a block, a block, and more.
const MESSAGES: [(usize, usize); 6] = [(1, 16), (2, 1), (7, 16), (256, 1), (256, 16), (3, 1000)];

/// The maximal number of bytes of chosen messages in one call of this suite.
const MOST_MESSAGE_BYTES: usize = 1 << 22;

/// The receiver's choice of words.
#[derive(Debug, Clone, Copy)]
enum Words {
    Zeros,
    Ones,
    Random,
}

impl Words {
    const ALL: [Self; 3] = [Self::Zeros, Self::Ones, Self::Random];

    fn make(self, n: usize, bits: usize) -> Vec<Block> {
        let mut rng = StdRng::seed_from_u64(n as u64);
        let ones = u128::MAX >> (128 - bits);
        let word = |_| match self {
            Self::Zeros => Block::ZERO,
            Self::Ones => Block(ones),
            Self::Random => Block(rng.random::<u128>() & ones),
        };
        (0..n).map(word).collect()
    }
}

/// One call, on a setup that earlier calls have used.
#[derive(Debug, Clone, Copy)]
enum OneOfNCall {
    Random {
        ots: usize,
        words: Words,
    },
    /// Random OT whose keys the sender uses in pieces, with random words of the receiver.
    Pieces {
        ots: usize,
    },
    /// With this many messages per OT and bytes per message.
    Chosen {
        ots: usize,
        messages: MessageShape,
    },
}

/// The calls over a link. With every change, calls of several chunks are made over memory only, with random words.
fn calls(bits: usize, link: Link) -> Vec<OneOfNCall> {
    let mut calls = Vec::new();
    for ots in SIZES {
        let in_full = is_tried_in_full(ots);
        if !in_full && link != Link::Memory {
            continue;
        }
        let words = if in_full { &Words::ALL[..] } else { &[Words::Random] };
        calls.extend(words.iter().map(|words| OneOfNCall::Random { ots, words: *words }));
        calls.push(OneOfNCall::Pieces { ots });
        let fits = |(n, len): &(usize, usize)| {
            ots * n * len <= MOST_MESSAGE_BYTES && *n <= 1 << bits.min(8)
        };
        let messages = MESSAGES.into_iter().filter(fits);
        calls.extend(
            messages.map(|(n, len)| OneOfNCall::Chosen { ots, messages: MessageShape { n, len } }),
        );
    }
    calls
}

/// The sender's outputs of a call.
enum OneOfNSent {
    Random {
        /// At the words 0 to n − 1 of each OT, for a few n.
        all: Vec<Block>,
        /// At the receiver's words.
        same: Vec<Block>,
        /// At words that differ in one bit, depending on the OT.
        other: Vec<Block>,
        /// At a varying number of random words of each OT, including the receiver's in every other one.
        uneven: Vec<Block>,
    },
    /// At the receiver's words.
    Pieces(Vec<Block>),
    Messages(Vec<u8>),
}

enum OneOfNReceived {
    Keys(Vec<Block>),
    Messages(Vec<u8>),
}

/// A 1-out-of-n OT extension, in every variant, over memory and TCP and with either party listening.
pub fn extension<S: Sender, R: Receiver>(sender: Setup<S>, receiver: Setup<R>) {
    assert_eq!(S::WORD_BITS, R::WORD_BITS);
    for (link, sender_left) in LINKS {
        over(&calls(S::WORD_BITS, link), link, sender_left, sender, receiver);
    }
}

/// Makes these calls over a link, with the sender at its left or right end.
fn over<S: Sender, R: Receiver>(
    calls: &[OneOfNCall],
    link: Link,
    sender_left: bool,
    sender: Setup<S>,
    receiver: Setup<R>,
) {
    let send = |channel: &mut Channel, rng: &mut StdRng| {
        let mut ot = sender(channel, rng)?;
        calls
            .iter()
            .map(|call| call.send(&mut ot, channel, rng))
            .collect::<Result<Vec<OneOfNSent>>>()
    };
    let receive = |channel: &mut Channel, rng: &mut StdRng| {
        let mut ot = receiver(channel, rng)?;
        calls.iter().map(|call| call.receive(&mut ot, channel, rng)).collect::<Result<Vec<_>>>()
    };
    let (sent, received) = two_party::run_at_either_end(link, sender_left, send, receive);
    let mut seen = HashSet::new();
    for ((call, sent), received) in calls.iter().zip(&sent).zip(&received) {
        call.check(S::WORD_BITS, sent, received, &mut seen);
    }
}

/// Words for which the sender computes all keys.
fn few(ots: usize, bits: usize) -> usize {
    if ots > 1000 { 2 } else { 1 << bits.min(5) }
}

/// Points of OT j in the uneven evaluation: zero to four, or many.
fn uneven(ots: usize) -> Vec<usize> {
    let count = |j: usize| if j == ots / 2 { 300 } else { j * 7 % 5 };
    let ends = (0..ots).scan(0, |end, j| {
        *end += count(j);
        Some(*end)
    });
    [0].into_iter().chain(ends).collect()
}

/// The word of an uneven point. In every other OT that has points, the receiver's word is among them.
fn uneven_word(starts: &[usize], words: &[Block], bits: usize, point: usize) -> Block {
    let ot = starts.partition_point(|start| *start <= point) - 1;
    if point == starts[ot] && ot.is_multiple_of(2) {
        return words[ot];
    }
    let noise = (point as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    Block(noise >> (128 - bits))
}

fn one_off(words: &[Block], bits: usize) -> Vec<Block> {
    words.iter().enumerate().map(|(j, word)| *word ^ Block(1 << (j % bits))).collect()
}

fn choices(ots: usize, n: usize) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(ots as u64);
    (0..ots).map(|_| rng.random_range(0..n) as u8).collect()
}

impl OneOfNCall {
    fn send<S: Sender>(
        self,
        ot: &mut S,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<OneOfNSent> {
        let bits = S::WORD_BITS;
        Ok(match self {
            Self::Random { ots, words } => {
                let words = words.make(ots, bits);
                let keys = ot.send_random(ots, channel, rng)?;
                assert_eq!(keys.len(), ots);
                let starts = uneven(ots);
                let mut uneven = vec![Block::ZERO; starts[ots]];
                let word = |point| uneven_word(&starts, &words, bits, point);
                keys.evaluate(|ot| starts[ot], word, &mut uneven);
                OneOfNSent::Random {
                    all: keys.all(few(ots, bits)),
                    same: keys.at(&words),
                    other: keys.at(&one_off(&words, bits)),
                    uneven,
                }
            }
            Self::Pieces { ots } => {
                let (words, mut keys) = (Words::Random.make(ots, bits), Vec::new());
                ot.send_random_pieces(ots, channel, rng, |piece| {
                    keys.extend(piece.at(&words[keys.len()..][..piece.len()]));
                })?;
                OneOfNSent::Pieces(keys)
            }
            Self::Chosen { ots, messages: shape @ MessageShape { n, len } } => {
                let mut messages = vec![0; ots * n * len];
                StdRng::seed_from_u64(len as u64).fill_bytes(&mut messages);
                ot.send_chosen(&messages, shape, channel, rng)?;
                OneOfNSent::Messages(messages)
            }
        })
    }

    fn receive<R: Receiver>(
        self,
        ot: &mut R,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<OneOfNReceived> {
        Ok(match self {
            Self::Random { ots, words } => {
                let words = words.make(ots, R::WORD_BITS);
                OneOfNReceived::Keys(ot.receive_random(&words, channel, rng)?)
            }
            Self::Pieces { ots } => {
                let words = Words::Random.make(ots, R::WORD_BITS);
                OneOfNReceived::Keys(ot.receive_random(&words, channel, rng)?)
            }
            Self::Chosen { ots, messages } => {
                let choices = choices(ots, messages.n);
                OneOfNReceived::Messages(ot.receive_chosen(&choices, messages, channel, rng)?)
            }
        })
    }

    /// `seen` holds the receiver's keys of all calls so far: no key may repeat.
    fn check(
        self,
        bits: usize,
        sent: &OneOfNSent,
        received: &OneOfNReceived,
        seen: &mut HashSet<Block>,
    ) {
        match (self, sent, received) {
            (
                Self::Random { ots, words },
                OneOfNSent::Random { all, same, other, uneven: values },
                OneOfNReceived::Keys(keys),
            ) => {
                assert_eq!(keys, same, "{self:?}: keys at the receiver's words");
                let (words, n) = (words.make(ots, bits), few(ots, bits));
                let starts = uneven(ots);
                for (j, (key, word)) in keys.iter().zip(&words).enumerate() {
                    assert!(seen.insert(*key), "{self:?}: a key comes twice");
                    assert!(seen.insert(other[j]), "{self:?}: a key comes twice");
                    for (v, of_all) in all[j * n..][..n].iter().enumerate() {
                        let is_chosen = word.0 == v as u128;
                        assert_eq!(of_all == key, is_chosen, "{self:?}: word {v} of OT {j}");
                    }
                    let points = starts[j]..starts[j + 1];
                    for (point, value) in points.clone().zip(&values[points]) {
                        let is_chosen = uneven_word(&starts, &words, bits, point) == *word;
                        assert_eq!(value == key, is_chosen, "{self:?}: point {point}");
                    }
                }
            }
            (Self::Pieces { ots }, OneOfNSent::Pieces(same), OneOfNReceived::Keys(keys)) => {
                assert_eq!(keys.len(), ots);
                assert_eq!(keys, same, "{self:?}");
                assert!(keys.iter().all(|key| seen.insert(*key)), "{self:?}: a key comes twice");
            }
            (
                Self::Chosen { ots, messages: MessageShape { n, len } },
                OneOfNSent::Messages(messages),
                OneOfNReceived::Messages(chosen),
            ) => {
                assert_eq!(chosen.len(), ots * len, "{self:?}");
                let of_each = messages.chunks(n * len).zip(chosen.chunks(len));
                for ((messages, chosen), choice) in of_each.zip(choices(ots, n)) {
                    let expected = &messages[usize::from(choice) * len..][..len];
                    assert_eq!(chosen, expected, "{self:?}");
                }
            }
            _ => panic!("{self:?}: the parties ran different variants"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ideal;

    #[test]
    fn the_ideal_conforms() {
        extension(|_, _| Ok(ideal::one_of_n::<8>(1)), |_, _| Ok(ideal::one_of_n::<8>(1)));
        extension(|_, _| Ok(ideal::one_of_n::<1>(1)), |_, _| Ok(ideal::one_of_n::<1>(1)));
        extension(|_, _| Ok(ideal::one_of_n::<128>(1)), |_, _| Ok(ideal::one_of_n::<128>(1)));
    }

    #[test]
    #[should_panic(expected = "keys at the receiver's words")]
    fn parties_with_different_keys_do_not() {
        extension(|_, _| Ok(ideal::one_of_n::<8>(1)), |_, _| Ok(ideal::one_of_n::<8>(2)));
    }
}
