//! The random OTs in both directions, and the shares made from them.

use std::collections::BTreeMap;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    CotReceiver, CotSender,
    chunks::{BATCH, ReceivedChunk, SentChunk},
};
use vesica_params::Adversary;
use vesica_primitives::{Block, Seed, aes::Prg, block::add_to, matrix::rows_to_columns};
use zeroize::Zeroizing;

use super::{Demand, Digits, Shares, Tape, Triples};
use crate::Party;

/// A party's OT sessions: one in which it is the sender and one in which it is the receiver.
pub struct Ots<S, R> {
    sender: S,
    receiver: R,
}

impl<S: CotSender, R: CotReceiver> Ots<S, R> {
    /// The adversary model of the triples: a malicious party can make them wrong, however strong the OTs are.
    pub const ADVERSARY: Adversary =
        Adversary::weakest(&[S::ADVERSARY, R::ADVERSARY, Adversary::SemiHonest]);

    /// Sets up both sessions. The first party is the sender in the first of them.
    pub fn setup(
        role: Party,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
        sender: impl FnOnce(&mut Channel, &mut dyn CryptoRng) -> Result<S>,
        receiver: impl FnOnce(&mut Channel, &mut dyn CryptoRng) -> Result<R>,
    ) -> Result<Self> {
        match role {
            Party::First => {
                let sender = sender(channel, rng)?;
                Ok(Self { sender, receiver: receiver(channel, rng)? })
            }
            Party::Second => {
                let receiver = receiver(channel, rng)?;
                Ok(Self { sender: sender(channel, rng)?, receiver })
            }
        }
    }

    /// Both sessions, for use by others.
    pub(super) fn both(&mut self) -> (&mut S, &mut R) {
        (&mut self.sender, &mut self.receiver)
    }

    /// Makes triples, and OTs for strings; the other party makes its shares of the same triples.
    pub fn make(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Triples> {
        let stock = self.triples(role, demand, channel, rng)?;
        Ok(Triples { stock, digits: self.digits(role, demand, channel, rng)? })
    }

    /// OTs for strings, if there are any.
    pub(super) fn digits(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Digits>> {
        let (sender, receiver) = (&mut self.sender, &mut self.receiver);
        let strings = demand.strings();
        strings
            .map(|strings| Digits::make(role, strings, sender, receiver, channel, rng))
            .transpose()
    }

    /// Shares of triples, by the length of their vectors.
    pub(super) fn triples(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<BTreeMap<usize, Shares>> {
        let (sent, received) = match role {
            Party::First => {
                let sent = self.send(demand, channel)?;
                (sent, self.receive(demand, channel, rng)?)
            }
            Party::Second => {
                let received = self.receive(demand, channel, rng)?;
                (self.send(demand, channel)?, received)
            }
        };
        let kinds = demand.counts().zip(sent.into_iter().zip(received));
        Ok(kinds.map(|((bits, _), (sent, received))| (bits, combine(sent, received))).collect())
    }

    fn send(&mut self, demand: &Demand, channel: &mut Channel) -> Result<Vec<SentOts>> {
        let mut kinds = Kinds::new(demand, SentOts::with_room);
        let mut scratch = OtsScratch::new(demand);
        self.sender.send_chunks(demand.triples(), channel, &mut |mut chunk| {
            kinds.share_out(chunk.len(), |sent, bits, n| {
                sent.take(bits, n, &mut chunk, &mut scratch);
            });
        })?;
        Ok(kinds.made)
    }

    fn receive(
        &mut self,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<ReceivedOts>> {
        let mut kinds = Kinds::new(demand, ReceivedOts::with_room);
        let mut scratch = OtsScratch::new(demand);
        self.receiver.receive_chunks(demand.triples(), channel, rng, &mut |mut chunk| {
            kinds.share_out(chunk.len(), |received, bits, n| {
                received.take(bits, n, &mut chunk, &mut scratch);
            });
        })?;
        Ok(kinds.made)
    }
}

/// Step 3.
fn combine(sent: SentOts, received: ReceivedOts) -> Shares {
    let ReceivedOts { choices: a, chosen } = received;
    let SentOts { sums: b, mut zeros } = sent;
    for ((c, b), chosen) in zeros.iter_mut().zip(&b).zip(&chosen) {
        let others = a.words().iter().zip(b.words()).zip(chosen.words());
        for (c, ((a, b), chosen)) in c.words_mut().iter_mut().zip(others) {
            *c ^= a & b ^ chosen;
        }
    }
    Shares { a, b, c: zeros }
}

/// Shares made from OTs, which arrive in chunks, for one kind of triples after another.
struct Kinds<T> {
    made: Vec<T>,
    /// The length of the vectors, and the number still to be made.
    open: Vec<(usize, usize)>,
    /// The number of complete kinds.
    complete: usize,
}

impl<T> Kinds<T> {
    fn new(demand: &Demand, with_room: impl Fn(usize, usize) -> T) -> Self {
        let open: Vec<_> = demand.counts().collect();
        let made = open.iter().map(|&(bits, count)| with_room(bits, count)).collect();
        Self { made, open, complete: 0 }
    }

    /// Distributes the next `n` OTs among the kinds: `take(made, bits, n)` takes some of them.
    fn share_out(&mut self, mut n: usize, mut take: impl FnMut(&mut T, usize, usize)) {
        while n > 0 {
            let (bits, open) = &mut self.open[self.complete];
            let part = n.min(*open);
            take(&mut self.made[self.complete], *bits, part);
            *open -= part;
            self.complete += usize::from(*open == 0);
            n -= part;
        }
    }
}

/// A sender's bits from OTs, one tape for each bit of the vector.
struct SentOts {
    /// m_0 ⊕ m_1.
    sums: Vec<Tape>,
    /// m_0.
    zeros: Vec<Tape>,
}

impl SentOts {
    fn with_room(bits: usize, count: usize) -> Self {
        Self { sums: tapes(bits, count), zeros: tapes(bits, count) }
    }

    fn take(&mut self, bits: usize, n: usize, chunk: &mut SentChunk<'_>, scratch: &mut OtsScratch) {
        if let ([sums], [zeros]) = (&mut self.sums[..], &mut self.zeros[..]) {
            return chunk.take_bits(n, |[zero, one], count| {
                zeros.push(zero, count);
                sums.push(zero ^ one, count);
            });
        }
        chunk.take_blocks(n, |zeros, ones| {
            scratch.turn(bits, &[zeros], &mut self.zeros);
            scratch.turn(bits, &[zeros, ones], &mut self.sums);
        });
    }
}

/// A receiver's bits from OTs.
struct ReceivedOts {
    choices: Tape,
    /// The chosen messages, one tape for each bit.
    chosen: Vec<Tape>,
}

impl ReceivedOts {
    fn with_room(bits: usize, count: usize) -> Self {
        Self { choices: Tape::with_room(count), chosen: tapes(bits, count) }
    }

    fn take(
        &mut self,
        bits: usize,
        n: usize,
        chunk: &mut ReceivedChunk<'_>,
        scratch: &mut OtsScratch,
    ) {
        if let [tape] = &mut self.chosen[..] {
            return chunk.take_bits(n, |[choices, chosen], count| {
                self.choices.push(choices, count);
                tape.push(chosen, count);
            });
        }
        chunk.take_blocks(n, |choices, chosen| {
            self.choices.push_row(&choices, chosen.len());
            scratch.turn(bits, &[chosen], &mut self.chosen);
        });
    }
}

fn tapes(bits: usize, count: usize) -> Vec<Tape> {
    (0..bits).map(|_| Tape::with_room(count)).collect()
}

/// Scratch space for the messages of a batch of OTs, and for their bits in columns.
struct OtsScratch {
    /// A message of σ bits.
    long: Zeroizing<Vec<Block>>,
    rows: Zeroizing<Vec<Block>>,
    columns: Zeroizing<Vec<Block>>,
}

impl OtsScratch {
    fn new(demand: &Demand) -> Self {
        let bits = demand.counts().map(|(bits, _)| bits).max().unwrap_or(0);
        let scratch = |blocks| Zeroizing::new(vec![Block::ZERO; blocks]);
        let stride = bits.div_ceil(128);
        Self { long: scratch(stride), rows: scratch(BATCH * stride), columns: scratch(bits) }
    }

    /// Writes bit i of all messages to tape i; if there are messages of several kinds, bit i of their sum.
    /// Messages of more than 128 bits are generated from the OT's message.
    fn turn(&mut self, bits: usize, kinds: &[&mut [Block]], tapes: &mut [Tape]) {
        let (stride, count) = (bits.div_ceil(128), kinds[0].len());
        let rows = &mut self.rows[..BATCH * stride];
        rows.fill(Block::ZERO);
        for messages in kinds {
            for (row, message) in rows.chunks_exact_mut(stride).zip(messages.iter()) {
                match row {
                    [short] => *short ^= *message,
                    _ => {
                        let long = &mut self.long[..stride];
                        Prg::new(&Seed::new(*message)).fill(long);
                        add_to(row, long);
                    }
                }
            }
        }
        let columns = &mut self.columns[..bits];
        rows_to_columns(rows, stride, bits, columns);
        for (tape, column) in tapes.iter_mut().zip(columns) {
            tape.push_row(&[column.low(), column.high()], count);
        }
    }
}
