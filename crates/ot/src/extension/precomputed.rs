//! Correlated OT made ahead of time (Beaver, CRYPTO 1995), over any extension, whose security it inherits.
//!
//! 1. Offline, before choices are known: correlated OT of random choices a_j. S keeps q_j, and R keeps a_j
//!    and t_j = q_j ⊕ a_j·Δ, as a stock.
//! 2. Online, for R's choices c_j, R → S: c_j ⊕ a_j, one bit per OT; S adds that times Δ to q_j. Hashing for
//!    the other OT variants is local.
//!
//! Used OTs are zeroized and never used again: a second choice under the same a_j would show S how the two choices
//! differ.
//!
//! A call for more OTs than the stock holds makes the missing ones first. Both parties count in the same way,
//! so they agree on the number without communicating. Only time is at stake: a run for which too few were
//! prepared is slower, whereas an error would end it for no security reason. [`Sender::left`] and
//! [`Receiver::left`] are for callers that want to know in advance.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::Adversary;
use vesica_primitives::{Bits, Block, Delta};
use zeroize::{Zeroize, Zeroizing};

use super::flips;
use crate::{
    Bytes, ZeroizingVec,
    correlation_hash::CorrelationHash,
    stream::Stream,
    variants::{CotReceiver, CotSender, Malicious},
};

const FLIPS: &str = "precomputed/flips";

/// Payload bytes of `n` correlated or random OTs online, all of them to the sender.
pub const fn bytes(n: usize) -> Bytes {
    Bytes { to_sender: n.div_ceil(128) * size_of::<Block>(), to_receiver: 0 }
}

/// Unused correlated blocks.
struct Stock {
    blocks: ZeroizingVec<Block>,
    used: usize,
}

impl Stock {
    fn empty() -> Self {
        Self { blocks: ZeroizingVec::zeros(0), used: 0 }
    }

    fn left(&self) -> usize {
        self.blocks.len() - self.used
    }

    /// The stock, increased by the output of `make` so that it holds at least `n`.
    ///
    /// # Errors
    /// Errors of `make`; the stock is then lost, since its Δ may no longer be safe.
    fn with(self, n: usize, make: impl FnOnce(&mut [Block]) -> Result<()>) -> Result<Self> {
        let mut blocks = ZeroizingVec::zeros(self.left() + n);
        let (old, new) = blocks.split_at_mut(self.left());
        old.copy_from_slice(&self.blocks[self.used..]);
        make(new)?;
        Ok(Self { blocks, used: 0 })
    }

    /// Moves the next blocks out.
    fn take(&mut self, out: &mut [Block]) {
        let taken = &mut self.blocks[self.used..][..out.len()];
        out.copy_from_slice(taken);
        taken.zeroize();
        self.used += out.len();
    }
}

/// The party with Δ.
pub struct Sender<C> {
    cot: C,
    stock: Stock,
}

impl<C: CotSender + Malicious> Malicious for Sender<C> {}

impl<C: CotSender> Sender<C> {
    /// Uses an extension that has been set up, with nothing in stock.
    pub fn new(cot: C) -> Self {
        Self { cot, stock: Stock::empty() }
    }

    /// Step 1 for `n` more OTs, which the receiver must request as well.
    ///
    /// # Errors
    /// Errors of the extension; nothing is then left in stock.
    pub fn prepare(&mut self, n: usize, channel: &mut Channel) -> Result<()> {
        let stock = std::mem::replace(&mut self.stock, Stock::empty());
        self.stock = stock.with(n, |new| self.cot.send_correlated_into(new, channel))?;
        Ok(())
    }

    /// OTs in stock.
    pub fn left(&self) -> usize {
        self.stock.left()
    }

    /// The underlying extension, without the stock.
    #[cfg(test)]
    pub fn into_inner(self) -> C {
        self.cot
    }
}

impl<C: CotSender> CotSender for Sender<C> {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn delta(&self) -> &Delta {
        self.cot.delta()
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        self.cot.hash()
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        if let missing @ 1.. = out.len().saturating_sub(self.left()) {
            self.prepare(missing, channel)?;
        }
        self.stock.take(out);
        // 2.
        flips::receive(FLIPS, self.cot.delta(), out, channel)
    }
}

/// The party with choices.
pub struct Receiver<C> {
    cot: C,
    stock: Stock,
    /// The random choices of the stock. A block of them is zeroized when its last choice is used.
    choices: Zeroizing<Vec<Block>>,
    rng: Stream,
}

impl<C: CotReceiver + Malicious> Malicious for Receiver<C> {}

impl<C: CotReceiver> Receiver<C> {
    /// Uses an extension that has been set up, with nothing in stock.
    pub fn new(cot: C, rng: &mut dyn CryptoRng) -> Self {
        let choices = Zeroizing::default();
        Self { cot, stock: Stock::empty(), choices, rng: Stream::new(rng) }
    }

    /// Step 1 for `n` more OTs, which the sender must request as well.
    ///
    /// # Errors
    /// Errors of the extension; nothing is then left in stock.
    pub fn prepare(&mut self, n: usize, channel: &mut Channel) -> Result<()> {
        let new = Bits::random(n, &mut self.rng);
        self.choices = concatenate(&self.window(self.left()), &new);
        let stock = std::mem::replace(&mut self.stock, Stock::empty());
        self.stock = stock.with(n, |out| self.cot.receive_correlated_into(&new, out, channel))?;
        Ok(())
    }

    /// OTs in stock.
    pub fn left(&self) -> usize {
        self.stock.left()
    }

    /// The next `n` random choices.
    fn window(&self, n: usize) -> Bits {
        let (first, shift) = (self.stock.used / 128, self.stock.used % 128);
        let block = |i: usize| {
            let [low, high] = [i, i + 1].map(|i| self.choices.get(first + i).map_or(0, |b| b.0));
            // In two parts, since a shift by 128 is not possible.
            Block(low >> shift | high << 1 << (127 - shift))
        };
        Bits::from_blocks((0..n.div_ceil(128)).map(block).collect(), n)
    }
}

impl<C: CotReceiver> CotReceiver for Receiver<C> {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn hash(&mut self) -> &mut CorrelationHash {
        self.cot.hash()
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(choices.len(), out.len(), "a block for each choice");
        if let missing @ 1.. = out.len().saturating_sub(self.left()) {
            self.prepare(missing, channel)?;
        }
        let random = self.window(out.len());
        let before = self.stock.used;
        self.stock.take(out);
        self.choices[before / 128..self.stock.used / 128].zeroize();
        // 2.
        flips::send(FLIPS, choices, &random, channel)
    }
}

/// Concatenates the bits of both.
fn concatenate(first: &Bits, second: &Bits) -> Zeroizing<Vec<Block>> {
    let mut blocks =
        Zeroizing::new(vec![Block::ZERO; (first.len() + second.len()).div_ceil(128) + 1]);
    blocks[..first.blocks().len()].copy_from_slice(first.blocks());
    let (start, shift) = (first.len() / 128, first.len() % 128);
    for (i, block) in second.blocks().iter().enumerate() {
        blocks[start + i].0 |= block.0 << shift;
        blocks[start + i + 1].0 |= block.0 >> 1 >> (127 - shift);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::two_party::{Ideal, run};

    fn sender() -> Sender<Ideal> {
        Sender::new(Ideal::new(1))
    }

    fn receiver() -> Receiver<Ideal> {
        Receiver::new(Ideal::new(1), &mut StdRng::seed_from_u64(2))
    }

    /// Calls of sizes that share blocks of choices, with and without preparation.
    #[test]
    fn every_choice_gets_its_row_however_the_stock_was_made() {
        const CALLS: [usize; 9] = [0, 1, 126, 1, 1, 300, 128, 17, 1000];
        let prepared = |call: usize| [100, 0, 128, 0, 500, 1, 0, 0, 127][call];
        let choices =
            |call: usize| Bits::random(CALLS[call], &mut StdRng::seed_from_u64(call as u64));
        let ((delta, sent), received) = run(
            |channel| {
                let mut ot = sender();
                let sent = std::array::from_fn::<_, 9, _>(|call| {
                    ot.prepare(prepared(call), channel).unwrap();
                    ot.send_correlated(CALLS[call], channel).unwrap()
                });
                (ot.delta().expose()[0], sent)
            },
            |channel| {
                let mut ot = receiver();
                std::array::from_fn::<_, 9, _>(|call| {
                    ot.prepare(prepared(call), channel).unwrap();
                    ot.receive_correlated(&choices(call), channel).unwrap()
                })
            },
        );
        let mut seen = std::collections::HashSet::new();
        for (call, (sent, received)) in sent.iter().zip(&received).enumerate() {
            for (j, c) in choices(call).iter().enumerate() {
                assert_eq!(received[j], sent[j] ^ (delta & Block::mask(c)), "{j} of call {call}");
                assert!(seen.insert(sent[j]) && seen.insert(sent[j] ^ delta), "used twice");
            }
        }
    }

    #[test]
    fn the_stock_is_counted_and_wiped_as_it_is_used() {
        run(
            |channel| {
                let mut ot = sender();
                ot.prepare(300, channel).unwrap();
                ot.send_correlated(200, channel).unwrap();
                assert_eq!(ot.left(), 100);
                assert!(ot.stock.blocks[..200].iter().all(|q| *q == Block::ZERO));
                assert!(ot.stock.blocks[200..].iter().all(|q| *q != Block::ZERO));
                ot.send_correlated(150, channel).unwrap();
                assert_eq!(ot.left(), 0);
            },
            |channel| {
                let mut ot = receiver();
                ot.prepare(300, channel).unwrap();
                ot.receive_correlated(&Bits::zeros(200), channel).unwrap();
                assert_eq!(ot.left(), 100);
                assert!(ot.stock.blocks[..200].iter().all(|t| *t == Block::ZERO));
                assert_eq!(ot.choices[0], Block::ZERO);
                assert!(ot.choices[1] != Block::ZERO && ot.choices[2] != Block::ZERO);
                ot.receive_correlated(&Bits::zeros(150), channel).unwrap();
                assert_eq!(ot.left(), 0);
            },
        );
    }

    /// Equal choices give different messages: S sees them masked by bits that are fresh each time.
    #[test]
    fn flips_tell_nothing_of_the_choices() {
        let (flips, ()) = run(
            |channel| {
                std::array::from_fn::<_, 20, _>(|_| {
                    let mut flips = [Block::ZERO];
                    channel.recv_slice(FLIPS, &mut flips).unwrap();
                    flips[0]
                })
            },
            |channel| {
                let mut ot = receiver();
                for _ in 0..20 {
                    ot.receive_correlated(&Bits::zeros(128), channel).unwrap();
                }
            },
        );
        let ones: u32 = flips.iter().map(|flips| flips.0.count_ones()).sum();
        // 2,560 bits: six standard deviations.
        assert!(ones.abs_diff(1280) < 152, "{ones}");
        assert_eq!(std::collections::HashSet::from(flips).len(), 20);
    }
}
