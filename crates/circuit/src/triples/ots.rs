//! The random OTs in both directions, and what is made from them.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{
    CotReceiver, CotSender,
    chunks::{BATCH, ReceivedChunk, SentChunk},
};
use vesica_params::Adversary;
use vesica_primitives::{Block, Seed, aes::Prg, block::add_to, matrix::rows_to_columns};
use zeroize::Zeroizing;

use super::{Demand, Distances, Shares, Tape, Triples, distances};
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

    /// Makes triples; the other party makes its shares of the same triples.
    pub fn make(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Triples> {
        let ((sent, of_sent), (received, of_received)) = match role {
            Party::First => {
                let sent = self.send(role, demand, channel)?;
                (sent, self.receive(role, demand, channel, rng)?)
            }
            Party::Second => {
                let received = self.receive(role, demand, channel, rng)?;
                (self.send(role, demand, channel)?, received)
            }
        };
        let kinds = demand.counts().zip(sent.into_iter().zip(received));
        let stock = kinds.map(|((bits, _), (sent, received))| (bits, combine(sent, received)));
        Ok(Triples { stock: stock.collect(), distances: of_sent.or(of_received) })
    }

    /// First triples, then distances if this party draws the strings.
    fn send(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
    ) -> Result<(Vec<Sent>, Option<Distances>)> {
        let mut kinds = Kinds::new(demand, Sent::with_room);
        let mut scratch = Scratch::new(demand);
        let strings = demand.strings.filter(|_| role == Party::First);
        let mut distances = strings.map(distances::Sent::new);
        self.sender.send_chunks(demand.ots(role), channel, &mut |mut chunk| {
            let triples = chunk.len().min(kinds.left());
            kinds.share_out(triples, |sent, bits, n| sent.take(bits, n, &mut chunk, &mut scratch));
            if let Some(distances) = &mut distances {
                distances.take(&mut chunk);
            }
        })?;
        let distances = distances.map(|distances| distances.finish(channel)).transpose()?;
        Ok((kinds.made, distances))
    }

    fn receive(
        &mut self,
        role: Party,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Received>, Option<Distances>)> {
        let mut kinds = Kinds::new(demand, Received::with_room);
        let mut scratch = Scratch::new(demand);
        let strings = demand.strings.filter(|_| role == Party::Second);
        let mut distances = strings.map(distances::Received::new);
        self.receiver.receive_chunks(
            demand.ots(role.other()),
            channel,
            rng,
            &mut |mut chunk| {
                let triples = chunk.len().min(kinds.left());
                kinds.share_out(triples, |received, bits, n| {
                    received.take(bits, n, &mut chunk, &mut scratch);
                });
                if let Some(distances) = &mut distances {
                    distances.take(&mut chunk);
                }
            },
        )?;
        let distances = distances.map(|distances| distances.finish(channel)).transpose()?;
        Ok((kinds.made, distances))
    }
}

/// Step 3.
fn combine(sent: Sent, received: Received) -> Shares {
    let Received { choices: a, chosen } = received;
    let Sent { sums: b, mut zeros } = sent;
    for ((c, b), chosen) in zeros.iter_mut().zip(&b).zip(&chosen) {
        let others = a.words().iter().zip(b.words()).zip(chosen.words());
        for (c, ((a, b), chosen)) in c.words_mut().iter_mut().zip(others) {
            *c ^= a & b ^ chosen;
        }
    }
    Shares { a, b, c: zeros }
}

/// What is made from OTs, which arrive in chunks, for one kind of triples after another.
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

    /// The number of OTs still needed.
    fn left(&self) -> usize {
        self.open.iter().map(|(_, open)| open).sum()
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

/// What a sender makes from OTs, one tape for each bit of the vector.
struct Sent {
    /// m_0 ⊕ m_1.
    sums: Vec<Tape>,
    /// m_0.
    zeros: Vec<Tape>,
}

impl Sent {
    fn with_room(bits: usize, count: usize) -> Self {
        Self { sums: tapes(bits, count), zeros: tapes(bits, count) }
    }

    fn take(&mut self, bits: usize, n: usize, chunk: &mut SentChunk<'_>, scratch: &mut Scratch) {
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

/// What a receiver makes from OTs.
struct Received {
    choices: Tape,
    /// The chosen messages, one tape for each bit.
    chosen: Vec<Tape>,
}

impl Received {
    fn with_room(bits: usize, count: usize) -> Self {
        Self { choices: Tape::with_room(count), chosen: tapes(bits, count) }
    }

    fn take(
        &mut self,
        bits: usize,
        n: usize,
        chunk: &mut ReceivedChunk<'_>,
        scratch: &mut Scratch,
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
struct Scratch {
    /// A message of σ bits.
    long: Zeroizing<Vec<Block>>,
    rows: Zeroizing<Vec<Block>>,
    columns: Zeroizing<Vec<Block>>,
}

impl Scratch {
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
