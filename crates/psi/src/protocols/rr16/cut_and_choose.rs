//! OTs in which a receiver has not chosen too many ones, with no input of either party (steps 1 to 3 of the
//! protocol).
//!
//! The set C of opened OTs has a fixed size and comes from a seed, so S cannot make it too large. R opens one bit for
//! each OT of C, so it can neither open an OT outside C nor repeat one. The OTs that are not in C are then renumbered,
//! so that those in C can no longer be named.

use std::ops::{Add, Range};

use rand::CryptoRng;
use vesica_net::{Channel, Deviation};
use vesica_ot::{
    Bytes, CotReceiver, CotSender, Malicious,
    extension::softspoken::{SmallField, malicious as extension},
};
use vesica_params::{Adversary, cut_and_choose::Shape};
use vesica_primitives::{Bits, Block, Seed, are_equal, declassify};
use zeroize::Zeroizing;

use super::draw::subset;
use crate::{Error, Result};

/// The adversary that the OT extension withstands.
pub(super) const ADVERSARY: Adversary =
    Adversary::weakest(&[extension::ADVERSARY, Adversary::Malicious]);

/// The check by which S refuses an R that opens too few OTs as zeros.
pub(super) const CHECK_COUNT: &str = "enough zeros among the opened OTs";

/// The check by which S refuses an R that opens an OT as zero in which it chose one.
pub(super) const CHECK_PROOF: &str = "proof of the opened zeros";

/// A quarter of the bytes of KOS15.
pub(super) const FIELD: SmallField = SmallField::new(4);

/// OTs per call: as many as fit in 48 MB.
const CALL_OTS: usize = 1 << 20;

const CHALLENGE: &str = "rr16/challenge";
const OPENED: &str = "rr16/opened-zeros";
const PROOF: &str = "rr16/proof";

/// Payload bytes of the OTs and of their opening, without the extension's setup.
pub(super) fn bytes(shape: Shape) -> Bytes {
    let opening = Bytes {
        to_sender: (shape.opened.div_ceil(128) + 1) * size_of::<Block>(),
        to_receiver: size_of::<Block>(),
    };
    calls(shape).map(|call| extension::bytes(FIELD, call.len())).fold(opening, Bytes::add)
}

/// The OTs of each call.
fn calls(shape: Shape) -> impl Iterator<Item = Range<usize>> {
    let ots = shape.ots();
    (0..ots).step_by(CALL_OTS).map(move |first| first..(first + CALL_OTS).min(ots))
}

/// S's side: the strings for a one of all unopened OTs.
///
/// # Errors
/// [`Deviation::CheckFailed`] with [`CHECK_COUNT`] or [`CHECK_PROOF`].
pub(super) fn send(
    shape: Shape,
    cot: &mut (impl CotSender + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<Block>>> {
    // 1. Only S knows at this point which OTs will be opened, which saves it half of the strings.
    let seed = Seed::new(declassify(Block::random(rng)));
    let opened = subset(shape.ots(), shape.opened, &seed);
    let mut ones = Zeroizing::new(Vec::with_capacity(shape.cells()));
    let mut zeros = Zeroizing::new(Vec::with_capacity(shape.opened));
    let mut pairs = Zeroizing::new(Vec::new());
    for call in calls(shape) {
        pairs.resize(call.len(), [Block::ZERO; 2]);
        cot.send_random_into(&mut pairs, channel)?;
        for (ot, [zero, one]) in call.zip(&*pairs) {
            match opened.get(ot) {
                0 => ones.push(*one),
                _ => zeros.push(*zero),
            }
        }
    }
    // 2.
    channel.phase("cut-and-choose");
    channel.send_slice(CHALLENGE, &[*seed.expose()])?;
    channel.flush()?;
    // 3.
    verify(shape, &zeros, channel)?;
    Ok(ones)
}

/// Receives R's answer and checks it against the strings for a zero of the opened OTs.
fn verify(shape: Shape, zeros: &[Block], channel: &mut Channel) -> Result<()> {
    let mut received = vec![Block::ZERO; shape.opened.div_ceil(128)];
    channel.recv_slice(OPENED, &mut received)?;
    let mut proof = [Block::ZERO];
    channel.recv_slice(PROOF, &mut proof)?;
    let claimed = Bits::from_blocks(received.clone(), shape.opened);
    if claimed.blocks() != received {
        return Err(channel.malformed(OPENED, "bits beyond the last OT are not zero").into());
    }
    let chosen: Vec<Block> =
        claimed.iter().zip(zeros).filter(|(bit, _)| *bit == 1).map(|(_, zero)| *zero).collect();
    let fail = |check| Err(channel.deviation(Deviation::CheckFailed { check }).into());
    if shape.opened - chosen.len() > shape.threshold {
        return fail(CHECK_COUNT);
    }
    if !are_equal(&sum(chosen).to_bytes(), &proof[0].to_bytes()) {
        return fail(CHECK_PROOF);
    }
    Ok(())
}

fn sum(blocks: impl IntoIterator<Item = Block>) -> Block {
    blocks.into_iter().fold(Block::ZERO, |sum, block| sum ^ block)
}

/// R's strings and choices in some OTs. Secret.
pub(super) struct Hand {
    pub(super) choices: Bits,
    /// The string for each choice.
    pub(super) strings: Zeroizing<Vec<Block>>,
}

/// R's side: its choices in all unopened OTs, with at least `shape.set` ones.
///
/// # Errors
/// [`Error::CutAndChooseFailure`] with a probability of at most 2^-λ.
pub(super) fn receive(
    shape: Shape,
    cot: &mut (impl CotReceiver + Malicious),
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Hand> {
    // 1.
    let choices = subset(shape.ots(), shape.ones(), &Seed::random(rng));
    let hand = Hand::receive(shape, choices, cot, channel)?;
    // 2.
    let opened = receive_challenge(shape, channel)?;
    // 3.
    let answer = hand.open(&opened);
    if shape.opened - answer.zeros() > shape.threshold {
        return Err(Error::CutAndChooseFailure);
    }
    answer.send(channel)?;
    Ok(hand.without(&opened))
}

/// The OTs that S requires to be opened.
pub(super) fn receive_challenge(shape: Shape, channel: &mut Channel) -> Result<Bits> {
    channel.phase("cut-and-choose");
    let mut seed = [Block::ZERO];
    channel.recv_slice(CHALLENGE, &mut seed)?;
    Ok(subset(shape.ots(), shape.opened, &Seed::new(seed[0])))
}

impl Hand {
    /// The strings of all OTs, with these choices.
    pub(super) fn receive(
        shape: Shape,
        choices: Bits,
        cot: &mut (impl CotReceiver + Malicious),
        channel: &mut Channel,
    ) -> Result<Self> {
        let mut strings = Zeroizing::new(vec![Block::ZERO; shape.ots()]);
        for (call, strings) in calls(shape).zip(strings.chunks_mut(CALL_OTS)) {
            let blocks = call.start / 128..call.end.div_ceil(128);
            let choices = Bits::from_blocks(choices.blocks()[blocks].to_vec(), call.len());
            cot.receive_random_into(&choices, strings, channel)?;
        }
        Ok(Self { choices, strings })
    }

    /// The answer to a challenge.
    pub(super) fn open(&self, opened: &Bits) -> OpenedAnswer {
        let ots = opened.iter().zip(self.choices.iter()).zip(&*self.strings);
        let ots: Vec<(u8, Block)> = ots
            .filter(|((opened, _), _)| *opened == 1)
            .map(|((_, choice), string)| (declassify(choice), *string))
            .collect();
        let zeros = ots.iter().filter(|(choice, _)| *choice == 0);
        OpenedAnswer {
            is_zero: ots.iter().map(|(choice, _)| *choice == 0).collect(),
            proof: sum(zeros.map(|(_, string)| *string)),
        }
    }

    /// The hand without the opened OTs.
    pub(super) fn without(mut self, opened: &Bits) -> Self {
        let choices = self.choices.iter().zip(opened.iter());
        let choices = choices.filter(|(_, opened)| *opened == 0).map(|(choice, _)| choice == 1);
        self.choices = choices.collect();
        let mut opened = opened.iter();
        self.strings.retain(|_| opened.next() == Some(0));
        self
    }
}

/// R's answer about the opened OTs.
pub(super) struct OpenedAnswer {
    /// For each of them, whether its choice was zero.
    pub(super) is_zero: Bits,
    /// The sum of the strings of those with choice zero.
    pub(super) proof: Block,
}

impl OpenedAnswer {
    fn zeros(&self) -> usize {
        self.is_zero.iter().filter(|bit| *bit == 1).count()
    }

    pub(super) fn send(&self, channel: &mut Channel) -> Result<()> {
        channel.send_slice(OPENED, self.is_zero.blocks())?;
        channel.send_slice(PROOF, &[self.proof])?;
        Ok(channel.flush()?)
    }
}
