//! Requirements on every oblivious transfer.

use std::collections::HashSet;

use rand::{CryptoRng, Rng, SeedableRng, rngs::StdRng};
use vesica_net::{Channel, Error, Result};
use vesica_ot::{CotReceiver, CotSender};
use vesica_primitives::{Bits, Block, Seed};

use crate::{
    assurance,
    two_party::{self, Link},
};

/// Numbers of OTs: none, one, around the width of a block, and one more than whole chunks.
const SIZES: [usize; 7] = [0, 1, 127, 128, 129, 1000, (1 << 16) + 1];

/// Numbers of base OTs: few, more than a batch of elements, and around the bits of Δ.
const BASE_SIZES: [usize; 7] = [0, 1, 2, 33, 127, 128, 129];

/// Lengths of chosen messages in bytes: shorter than a block, a block, and more.
const MESSAGE_LENS: [usize; 3] = [1, 16, 1000];

/// The maximal number of bytes of chosen messages in one call of this suite.
const MOST_MESSAGE_BYTES: usize = 1 << 22;

/// The links of every suite, and whether the sender is at the left end, which listens.
pub(super) const LINKS: [(Link, bool); 3] =
    [(Link::Memory, true), (Link::Tcp, true), (Link::Tcp, false)];

/// Makes one party of an OT extension.
pub type Setup<Party> = fn(&mut Channel, &mut dyn CryptoRng) -> Result<Party>;

/// The receiver's choices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choices {
    Zeros,
    Ones,
    Random,
}

impl Choices {
    const ALL: [Self; 3] = [Self::Zeros, Self::Ones, Self::Random];

    fn make(self, n: usize) -> Bits {
        match self {
            Self::Zeros => Bits::zeros(n),
            Self::Ones => (0..n).map(|_| true).collect(),
            Self::Random => Bits::random(n, &mut StdRng::seed_from_u64(n as u64)),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Variant {
    Correlated,
    Random,
    /// With messages of this many bytes.
    Chosen(usize),
}

/// One call, on a setup that earlier calls have used.
#[derive(Debug, Clone, Copy)]
struct OtCall {
    n: usize,
    choices: Choices,
    variant: Variant,
}

/// Returns whether calls of `n` OTs are made in all variants and with all choices, over every link. With every change,
/// this excludes several chunks.
pub(super) fn is_tried_in_full(n: usize) -> bool {
    n <= 1000 || assurance::is_in_full()
}

/// The calls over a link. With every change, calls of several chunks are made over memory only, with random choices.
fn calls(link: Link) -> Vec<OtCall> {
    let mut calls = Vec::new();
    for n in SIZES {
        if !is_tried_in_full(n) && link != Link::Memory {
            continue;
        }
        let choices = Choices::ALL.into_iter();
        for choices in choices.filter(|of| is_tried_in_full(n) || *of == Choices::Random) {
            calls.extend([Variant::Correlated, Variant::Random].map(|variant| OtCall {
                n,
                choices,
                variant,
            }));
        }
        let fits = |len: &usize| n * 2 * len <= MOST_MESSAGE_BYTES;
        calls.extend(MESSAGE_LENS.into_iter().filter(fits).map(|len| OtCall {
            n,
            choices: Choices::Random,
            variant: Variant::Chosen(len),
        }));
    }
    calls
}

enum OtSent {
    Correlated(Vec<Block>),
    Random(Vec<[Block; 2]>),
    Chosen(Vec<u8>),
}

enum Received {
    Blocks(Vec<Block>),
    Messages(Vec<u8>),
}

/// Tests an OT extension, in every variant, over memory and TCP and with either party listening.
pub fn extension<S: CotSender, R: CotReceiver>(sender: Setup<S>, receiver: Setup<R>) {
    for (link, sender_left) in LINKS {
        let calls = calls(link);
        let send = |channel: &mut Channel, rng: &mut StdRng| {
            let mut ot = sender(channel, rng)?;
            let sent: Result<Vec<OtSent>> =
                calls.iter().map(|call| call.send(&mut ot, channel)).collect();
            Ok::<_, Error>((ot.delta().expose()[0], sent?))
        };
        let receive = |channel: &mut Channel, rng: &mut StdRng| {
            let mut ot = receiver(channel, rng)?;
            calls.iter().map(|call| call.receive(&mut ot, channel)).collect::<Result<Vec<_>>>()
        };
        let ((delta, sent), received) =
            two_party::run_at_either_end(link, sender_left, send, receive);
        check(&calls, delta, &sent, &received);
    }
}

fn check(calls: &[OtCall], delta: Block, sent: &[OtSent], received: &[Received]) {
    assert!(delta.0.count_ones() > 20, "Δ looks random");
    assert_eq!([sent.len(), received.len()], [calls.len(); 2]);
    let mut seen = HashSet::new();
    for ((call, sent), received) in calls.iter().zip(sent).zip(received) {
        call.check(delta, sent, received, &mut seen);
    }
}

impl OtCall {
    fn send(&self, ot: &mut impl CotSender, channel: &mut Channel) -> Result<OtSent> {
        Ok(match self.variant {
            Variant::Correlated => OtSent::Correlated(ot.send_correlated(self.n, channel)?),
            Variant::Random => OtSent::Random(ot.send_random(self.n, channel)?),
            Variant::Chosen(len) => {
                let mut messages = vec![0; 2 * self.n * len];
                StdRng::seed_from_u64(len as u64).fill_bytes(&mut messages);
                ot.send_chosen(&messages, len, channel)?;
                OtSent::Chosen(messages)
            }
        })
    }

    fn receive(&self, ot: &mut impl CotReceiver, channel: &mut Channel) -> Result<Received> {
        let choices = self.choices.make(self.n);
        Ok(match self.variant {
            Variant::Correlated => Received::Blocks(ot.receive_correlated(&choices, channel)?),
            Variant::Random => Received::Blocks(ot.receive_random(&choices, channel)?),
            Variant::Chosen(len) => Received::Messages(ot.receive_chosen(&choices, len, channel)?),
        })
    }

    /// `seen` holds the blocks of all calls so far: none may repeat.
    fn check(&self, delta: Block, sent: &OtSent, received: &Received, seen: &mut HashSet<Block>) {
        let choices = self.choices.make(self.n);
        match (sent, received) {
            (OtSent::Correlated(q), Received::Blocks(t)) => {
                assert_eq!([q.len(), t.len()], [self.n; 2], "{self:?}");
                for ((q, t), c) in q.iter().zip(t).zip(choices.iter()) {
                    assert_eq!(*t, *q ^ (delta & Block::mask(c)), "{self:?}");
                    assert!(seen.insert(*q) && seen.insert(*q ^ delta), "{self:?}: repeated");
                }
            }
            (OtSent::Random(pairs), Received::Blocks(chosen)) => {
                assert_eq!([pairs.len(), chosen.len()], [self.n; 2], "{self:?}");
                for ((pair, chosen), c) in pairs.iter().zip(chosen).zip(choices.iter()) {
                    assert_eq!(*chosen, pair[usize::from(c)], "{self:?}");
                    assert_ne!(pair[0] ^ pair[1], delta, "{self:?}: still correlated");
                    assert!(seen.insert(pair[0]) && seen.insert(pair[1]), "{self:?}: repeated");
                }
            }
            (OtSent::Chosen(messages), Received::Messages(chosen)) => {
                let Variant::Chosen(len) = self.variant else { unreachable!() };
                assert_eq!(chosen.len(), self.n * len, "{self:?}");
                let pairs = messages.chunks(2 * len).zip(chosen.chunks(len));
                for ((pair, chosen), c) in pairs.zip(choices.iter()) {
                    assert_eq!(chosen, &pair[usize::from(c) * len..][..len], "{self:?}");
                }
            }
            _ => panic!("{self:?}: the parties ran different variants"),
        }
    }
}

/// The sender of base OTs: the requested number of pairs of seeds.
pub type BaseSender = fn(usize, &mut Channel, &mut dyn CryptoRng) -> Result<Vec<[Seed; 2]>>;

/// The receiver of base OTs: the chosen seed of each pair.
pub type BaseReceiver = fn(&Bits, &mut Channel, &mut dyn CryptoRng) -> Result<Vec<Seed>>;

/// Tests base OTs, over memory and TCP and with either party listening; at most `most` of them per call.
pub fn base(most: usize, send: BaseSender, receive: BaseReceiver) {
    let sizes = || BASE_SIZES.into_iter().filter(|&n| n <= most);
    let cases = || sizes().flat_map(|n| Choices::ALL.map(|choices| (n, choices)));
    let send_all = |channel: &mut Channel, rng: &mut StdRng| {
        cases().map(|(n, _)| send(n, channel, rng)).collect::<Result<Vec<_>>>()
    };
    let receive_all = |channel: &mut Channel, rng: &mut StdRng| {
        cases()
            .map(|(n, choices)| receive(&choices.make(n), channel, rng))
            .collect::<Result<Vec<_>>>()
    };
    let check = |sent: Vec<Vec<[Seed; 2]>>, received: Vec<Vec<Seed>>| {
        let mut seen = HashSet::new();
        for (((n, choices), pairs), chosen) in cases().zip(sent).zip(received) {
            assert_eq!([pairs.len(), chosen.len()], [n; 2]);
            for ((pair, chosen), c) in pairs.iter().zip(&chosen).zip(choices.make(n).iter()) {
                assert_eq!(chosen.expose(), pair[usize::from(c)].expose(), "{n} {choices:?}");
                let fresh = pair.iter().all(|seed| seen.insert(*seed.expose()));
                assert!(fresh, "{n} {choices:?}: a seed comes twice");
            }
        }
    };
    for (link, sender_left) in LINKS {
        let (sent, received) =
            two_party::run_at_either_end(link, sender_left, send_all, receive_all);
        check(sent, received);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ideal;

    #[test]
    fn the_ideal_conforms() {
        extension(|_, _| Ok(ideal::ot(1).0), |_, _| Ok(ideal::ot(1).1));
    }

    #[test]
    #[should_panic(expected = "Correlated")]
    fn parties_with_different_offsets_do_not() {
        extension(|_, _| Ok(ideal::ot(1).0), |_, _| Ok(ideal::ot(2).1));
    }
}
