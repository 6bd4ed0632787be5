//! Numbers from circuit PSI: sums over the hidden matches of [`circuit`](crate::circuit_psi). Semi-honest.
//!
//! After the three steps of circuit PSI the parties hold shares of a bit m_j for each bin, of R's value x_j
//! there, which R knows, and of S's value y_j = v'_j + w_j, whose summands R and S know one each. A
//! bin without an item has x_j = 0, and no match.
//!
//! 4. Products of hidden bits with numbers that one party knows ([`arithmetic`]) give additive shares of
//!    - Σ m_j, for a count or wherever there is a minimum;
//!    - Σ m_j·x_j, where R knows x_j; Σ m_j·y_j, as Σ m_j·v'_j, where R knows v'_j, and Σ m_j·w_j, where S
//!      knows w_j; or
//!    - Σ m_j·x_j·y_j, after x_j·y_j was made from R's x_j·v'_j and from x_j·w_j, a product of each bit of
//!      x_j with w_j.
//! 5. Without a minimum, a threshold and noise, S sends its share and R adds the two. Otherwise a small circuit adds
//!    the shares of the count, compares it with the minimum and the threshold, and reveals to R only the answer, or
//!    that there are too few; or it adds the shares of the number and noise, which it makes from random bits. Each of
//!    these bits is the sum of one of S's choice and one of R's, so that neither party knows the noise, nor can change
//!    its distribution by its choice.
//!
//! R learns the answer and the size of S's set; S learns the size of R's set.
//!
//! For sets in partitions, the parties run steps 1 to 4 on each partition, add up their shares over all partitions, and
//! run step 5 once, on the totals. Neither learns anything about a single partition.
//!
//! Shares are taken modulo 2^64, and for sums of products modulo 2^128. No sum wraps: neither party's
//! magnitudes add up to 2^63 ([`check_values`](super::check_values)), so a sum of values is below 2^63, and a
//! sum of products below 2^126. The width depends only on the aggregate, not on the values.

mod cost;
mod noise;

use std::{marker::PhantomData, ops::Range};

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Number, Party, Values as _, WireBits, arithmetic,
    gadgets::{add::add, compare::at_least},
    gmw::Gmw,
    triples::{Demand, Triples},
};
use vesica_net::Channel;
use vesica_ot::extension::{
    silent,
    softspoken::{SmallField, semi_honest as softspoken},
};
use vesica_params::lpn::{self, Lpn};
use vesica_primitives::{Bits, Block};
use zeroize::Zeroizing;

use super::{Aggregate, ByPartitions, Method, Output, Query, Randomness, Share, Valued};
use crate::{
    Adversary, Leakage, Result, Status,
    circuit_psi::{
        Construction, Masking, Opprf, Plan, ReceiverBins, Receiving, SenderBins, Sending,
        rs21::Silent,
    },
    protocols::rs21::CITATION,
};

/// The method on the construction of `rs21-circuit`.
pub static RS21: Method = Method {
    key: "rs21-circuit",
    title: "sums over hidden matches of circuit PSI, silent OTs",
    citation: CITATION,
    status: Status::Recommended,
    adversary: Adversary::weakest(&[
        <Silent as Construction>::Opprf::ADVERSARY,
        softspoken::ADVERSARY,
        Adversary::SemiHonest,
    ]),
    tells_size: false,
    supports: |_, _| true,
    adds_noise: true,
    learns: |_| Leakage {
        receiver: "the answer and the size of the sender's set",
        sender: "the size of the receiver's set",
    },
    cost: cost::cost,
    memory: cost::memory,
    failures: |query| Plan::new(query.setting(), None).failures::<Silent>(),
    sender: |query, channel, rng| Ok(sender(query, channel, rng)?),
    receiver: |query, channel, rng| Ok(receiver(query, channel, rng)?),
    partitions: Some(&ByPartitions {
        sender: |query, channel, rng| Ok(sender(query, channel, rng)?),
        receiver: |query, channel, rng| Ok(receiver(query, channel, rng)?),
        open: |query, receives, total, channel, randomness| {
            let role = if receives { Party::Second } else { Party::First };
            match query.aggregate {
                Aggregate::Products => open::<u128>(query, role, total, channel, randomness),
                _ => open::<u64>(query, role, total, channel, randomness),
            }
        },
    }),
};

/// A party for whole sets, with its output, and for partitions.
trait Summing<Output>:
    for<'a> crate::Party<Valued<'a>, Output> + for<'a> crate::Party<Valued<'a>, Share>
{
}

impl<P, Output> Summing<Output> for P where
    P: for<'a> crate::Party<Valued<'a>, Output> + for<'a> crate::Party<Valued<'a>, Share>
{
}

fn sender(
    query: Query,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Summing<()>>> {
    Ok(match query.aggregate {
        Aggregate::Products => Box::new(SumSender::<Silent, u128>::prepare(query, channel, rng)?),
        _ => Box::new(SumSender::<Silent, u64>::prepare(query, channel, rng)?),
    })
}

fn receiver(
    query: Query,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn Summing<Output>>> {
    Ok(match query.aggregate {
        Aggregate::Products => Box::new(SumReceiver::<Silent, u128>::prepare(query, channel, rng)?),
        _ => Box::new(SumReceiver::<Silent, u64>::prepare(query, channel, rng)?),
    })
}

const SHARE: &str = "answer/share";

/// Products of a bit and a number that one call makes at a time, if it may be split.
const MULTIPLIED_AT_ONCE: usize = 1 << 18;

/// Bits of a value.
const VALUE_BITS: usize = 64;

/// Bits of a count: a set has fewer than 2^48 items.
const COUNT_BITS: usize = 48;

const FIELD: SmallField = SmallField::new(8);

const LPN: Lpn = lpn::ones(softspoken::ADVERSARY);

type OtSender = silent::Sender<softspoken::Sender>;
type OtReceiver = silent::Receiver<softspoken::Receiver>;

/// The steps of a query whose shares are numbers `N`.
#[derive(Debug)]
struct CircuitProgram<N> {
    plan: Plan,
    query: Query,
    number: PhantomData<N>,
}

impl<N: Number> CircuitProgram<N> {
    fn new(query: Query) -> Self {
        let values = match query.aggregate {
            Aggregate::Products => Some(Masking::WideSum),
            Aggregate::SumOfSender => Some(Masking::Sum),
            _ => None,
        };
        let plan = Plan::new(query.setting(), values);
        Self { plan, query, number: PhantomData }
    }

    /// Whether matches are counted.
    fn counts(&self) -> bool {
        self.query.minimum > 0
            || matches!(self.query.aggregate, Aggregate::Count | Aggregate::AtLeast(_))
    }

    /// Whether values are added up.
    fn sums(&self) -> bool {
        !matches!(self.query.aggregate, Aggregate::Count | Aggregate::AtLeast(_))
    }

    /// Products of a shared bit with numbers known to the sender, and with numbers known to the receiver.
    fn products(&self) -> [usize; 2] {
        let counts = usize::from(self.counts());
        let [sender, receiver] = match self.query.aggregate {
            Aggregate::Count | Aggregate::AtLeast(_) => [0, 0],
            Aggregate::SumOfReceiver => [0, 1],
            Aggregate::SumOfSender | Aggregate::Products => [1, 1],
        };
        [(sender + counts) * self.plan.bins(), receiver * self.plan.bins()]
    }

    /// For a sum of products, the bits of R's values that are multiplied with the masks in one call: enough for
    /// the call to be efficient, and few enough to be held.
    fn bits_at_once(&self) -> impl Iterator<Item = Range<usize>> + use<N> {
        let bits = match self.query.aggregate {
            Aggregate::Products => VALUE_BITS,
            _ => 0,
        };
        let step = (MULTIPLIED_AT_ONCE / self.plan.bins()).clamp(1, VALUE_BITS);
        (0..bits).step_by(step).map(move |start| start..(start + step).min(bits))
    }

    /// Step 5 for an answer that is not just the sum of the shares. Inputs: both parties' shares of the count,
    /// then their shares of the sum if there is one. Outputs: whether there are enough items, and then the answer if
    /// so, otherwise 0.
    fn circuit(&self) -> Option<Circuit> {
        let Query { aggregate, minimum, noise, .. } = self.query;
        if let Some(noise) = noise {
            return Some(noise::circuit(N::BITS, noise));
        }
        if minimum == 0 && !matches!(aggregate, Aggregate::AtLeast(_)) {
            return None;
        }
        let sum_bits = if self.sums() { N::BITS } else { 0 };
        let mut builder = Builder::new(2 * (COUNT_BITS + sum_bits));
        let mut next = 0;
        let mut number = |bits: usize| {
            next += bits as u32;
            (next - bits as u32..next).collect::<Vec<_>>()
        };
        let [ours, theirs] = [number(COUNT_BITS), number(COUNT_BITS)];
        let [our_sum, their_sum] = [number(sum_bits), number(sum_bits)];
        let (count, _) = add(&mut builder, &ours, &theirs, None);
        // A bound that exceeds any count may be replaced by any other such bound.
        let bound = |bound: u64| u128::from(bound.min((1 << COUNT_BITS) - 1));
        let enough = at_least(&mut builder, &count, bound(minimum));
        let answer = match aggregate {
            Aggregate::Count => count,
            // "At least 0" is known beforehand.
            Aggregate::AtLeast(least) => {
                at_least(&mut builder, &count, bound(least)).into_iter().collect()
            }
            _ => add(&mut builder, &our_sum, &their_sum, None).0,
        };
        let outputs = match enough {
            Some(enough) => {
                let shown = answer.iter().map(|bit| builder.and(enough, *bit));
                let shown: Vec<_> = shown.collect();
                [vec![enough], shown].concat()
            }
            None => answer,
        };
        Some(builder.finish(outputs))
    }

    /// The answer from the circuit's outputs.
    fn read(&self, shown: &WireBits) -> Output {
        let Query { aggregate, minimum, noise, .. } = self.query;
        if noise.is_some() {
            return Output::Noisy(noise::read(shown, 0));
        }
        let bits: Vec<bool> = (0..shown.wires()).map(|wire| shown.get(wire, 0)).collect();
        let answer = match (minimum, &bits[..]) {
            (0, all) => all,
            (_, [true, answer @ ..]) => answer,
            _ => return Output::TooFew,
        };
        let number = answer.iter().rev().fold(0, |number, bit| number << 1 | u128::from(*bit));
        match aggregate {
            Aggregate::AtLeast(0) => Output::AtLeast(true),
            Aggregate::AtLeast(_) => Output::AtLeast(number == 1),
            _ => self.open(N::of_block(Block(number))),
        }
    }

    /// The answer from the sum of both shares.
    fn open(&self, sum: N) -> Output {
        match self.query.aggregate {
            Aggregate::Count => Output::Count(sum.bits() as u64),
            _ => Output::Sum(sum.signed()),
        }
    }

    /// The triples of step 5.
    fn last_demand(&self) -> Demand {
        self.circuit().map(|circuit| Demand::of_ands(&circuit, 1)).unwrap_or_default()
    }

    /// All triples of a run; over partitions, step 5 has its own.
    fn demand(&self) -> Demand {
        let last = if self.query.partitions == 1 { self.last_demand() } else { Demand::default() };
        self.plan.demand::<Silent>() + last
    }
}

/// A party's OT sessions, as far as its products need them.
struct Ots {
    sender: Option<OtSender>,
    receiver: Option<OtReceiver>,
}

impl Ots {
    /// Sets up the sessions: the first party's as the sender first, then the second party's.
    fn setup<N: Number>(
        role: Party,
        program: &CircuitProgram<N>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        channel.phase("ot");
        let [of_first, of_second] = program.products().map(|products| products > 0);
        let mut ots = Self { sender: None, receiver: None };
        for (who, needed) in [(Party::First, of_first), (Party::Second, of_second)] {
            if needed && who == role {
                let cot = softspoken::Sender::setup(FIELD, channel, rng)?;
                ots.sender = Some(silent::Sender::setup(cot, LPN, channel, rng)?);
            } else if needed {
                let cot = softspoken::Receiver::setup(FIELD, channel, rng)?;
                ots.receiver = Some(silent::Receiver::setup(cot, LPN, channel, rng)?);
            }
        }
        Ok(ots)
    }

    /// Shares of the products of bits with this party's numbers.
    fn known<N: Number>(
        &mut self,
        bits: &Bits,
        numbers: &[N],
        channel: &mut Channel,
    ) -> Result<Vec<N>> {
        let ot = self.sender.as_mut().expect("set up where there are such products");
        Ok(arithmetic::scale_known(bits, numbers, ot, channel)?)
    }

    /// Shares of the products of bits with the other party's numbers.
    fn hidden<N: Number>(&mut self, bits: &Bits, channel: &mut Channel) -> Result<Vec<N>> {
        let ot = self.receiver.as_mut().expect("set up where there are such products");
        Ok(arithmetic::scale_hidden(bits, ot, channel)?)
    }
}

fn sum<N: Number>(shares: &[N]) -> N {
    shares.iter().fold(N::ZERO, |sum, share| sum.plus(*share))
}

/// The same bits, repeated.
fn repeat(matches: &WireBits, times: usize) -> Bits {
    WireBits::stack(&vec![matches; times]).to_bits()
}

/// Step 5, from this party's share of the result. `rng` makes this party's part of the noise.
fn conclude<N: Number>(
    program: &CircuitProgram<N>,
    role: Party,
    share: &Share,
    triples: Triples,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Output>> {
    let count = program.counts().then(|| N::of_block(Block(share.count)));
    let total = program.sums().then(|| N::of_block(Block(share.sum)));
    channel.phase("answer");
    let Some(circuit) = program.circuit() else {
        let mine = total.or(count).unwrap_or(N::ZERO);
        if role == Party::First {
            channel.send_slice(SHARE, &[mine])?;
            channel.flush()?;
            return Ok(None);
        }
        let mut theirs = [N::ZERO];
        channel.recv_slice(SHARE, &mut theirs)?;
        return Ok(Some(program.open(mine.plus(theirs[0]))));
    };
    let mut inputs = WireBits::zeros(circuit.inputs(), 1);
    let mut next = 0;
    let noise = program.query.noise;
    let count_bits = if noise.is_some() { N::BITS } else { COUNT_BITS };
    for (share, bits) in [(count, count_bits), (total, N::BITS)] {
        let Some(share) = share else { continue };
        // An additive share is an input of its owner: its XOR shares are itself and 0.
        let mine = next + if role == Party::First { 0 } else { bits };
        (0..bits).for_each(|bit| inputs.set(mine + bit, 0, share.bits() >> bit & 1 == 1));
        next += 2 * bits;
    }
    if let Some(noise) = noise {
        let random = WireBits::random(noise::random_bits(noise), 1, rng);
        (0..random.wires()).for_each(|bit| inputs.set(next + bit, 0, random.get(bit, 0)));
    }
    let mut engine = Gmw::new(role, triples, channel);
    let outputs = engine.run(&circuit, &inputs)?;
    let shown = engine.reveal(&outputs, Party::Second)?;
    channel.flush()?;
    Ok(shown.map(|shown| program.read(&shown)))
}

/// The sender.
struct SumSender<M: Construction, N> {
    program: CircuitProgram<N>,
    party: Sending<M>,
    ots: Ots,
}

impl<M: Construction, N: Number> SumSender<M, N> {
    fn prepare(query: Query, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let program = CircuitProgram::new(query);
        let party = Sending::prepare(program.plan, &program.demand(), channel, rng)?;
        let ots = Ots::setup(Party::First, &program, channel, rng)?;
        Ok(Self { program, party, ots })
    }
}

impl<M: Construction, N: Number> crate::Party<Valued<'_>, ()> for SumSender<M, N> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let (program, share, triples) = self.share(input, channel, rng)?;
        conclude(&program, Party::First, &share, triples, channel, rng).map(drop)
    }
}

impl<M: Construction, N: Number> crate::Party<Valued<'_>, Share> for SumSender<M, N> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Share> {
        let (_, share, _) = self.share(input, channel, rng)?;
        Ok(channel.flush().map(|()| share)?)
    }
}

impl<M: Construction, N: Number> SumSender<M, N> {
    /// Steps 1 to 4.
    fn share(
        self,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(CircuitProgram<N>, Share, Triples)> {
        let Self { program, party, mut ots } = self;
        let Valued { items, values } = input;
        let SenderBins { matches, masks, triples } = party.bins(items, values, channel, rng)?;
        // 4.
        channel.phase("sums");
        let bits = matches.to_bits();
        let bins = bits.len();
        let mut known = Zeroizing::new(Vec::new());
        if program.counts() {
            known.resize(bins, N::of_bit(true));
        }
        match program.query.aggregate {
            Aggregate::SumOfSender => known.extend_from_slice(&masks),
            Aggregate::Products => {
                let mut products = Zeroizing::new(vec![N::ZERO; bins]);
                for range in program.bits_at_once() {
                    let zeros = Bits::zeros(range.len() * bins);
                    let weighted = range
                        .map(weight)
                        .flat_map(|weight: N| masks.iter().map(move |mask| mask.times(weight)));
                    let weighted: Zeroizing<Vec<N>> = Zeroizing::new(weighted.collect());
                    let shares = ots.known(&zeros, &weighted, channel)?;
                    shares.chunks_exact(bins).for_each(|shares| add_to(&mut products, shares));
                }
                known.extend_from_slice(&products);
            }
            _ => {}
        }
        let mut shares: Vec<N> = Vec::new();
        if !known.is_empty() {
            shares = ots.known(&repeat(&matches, known.len() / bins), &known, channel)?;
        }
        let (counted, summed) = shares.split_at(if program.counts() { bins } else { 0 });
        let mut total = sum(summed);
        if program.sums() {
            total = total.plus(sum(&ots.hidden(&bits, channel)?));
        }
        let share = Share { count: sum(counted).bits(), sum: total.bits() };
        Ok((program, share, triples))
    }
}

/// The receiver.
struct SumReceiver<M: Construction, N> {
    program: CircuitProgram<N>,
    party: Receiving<M>,
    ots: Ots,
}

impl<M: Construction, N: Number> SumReceiver<M, N> {
    fn prepare(query: Query, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let program = CircuitProgram::new(query);
        let party = Receiving::prepare(program.plan, &program.demand(), channel, rng)?;
        let ots = Ots::setup(Party::Second, &program, channel, rng)?;
        Ok(Self { program, party, ots })
    }
}

impl<M: Construction, N: Number> crate::Party<Valued<'_>, Output> for SumReceiver<M, N> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output> {
        let (program, share, triples) = self.share(input, channel, rng)?;
        let answer = conclude(&program, Party::Second, &share, triples, channel, rng)?;
        Ok(answer.expect("shown to the receiver"))
    }
}

impl<M: Construction, N: Number> crate::Party<Valued<'_>, Share> for SumReceiver<M, N> {
    fn run(
        self: Box<Self>,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Share> {
        let (_, share, _) = self.share(input, channel, rng)?;
        Ok(channel.flush().map(|()| share)?)
    }
}

impl<M: Construction, N: Number> SumReceiver<M, N> {
    /// Steps 1 to 4.
    fn share(
        self,
        input: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(CircuitProgram<N>, Share, Triples)> {
        let Self { program, party, mut ots } = self;
        let Valued { items, values } = input;
        let ReceiverBins { matches, values: theirs, items, triples } =
            party.bins(items, channel, rng)?;
        // 4.
        channel.phase("sums");
        let bits = matches.to_bits();
        let bins = bits.len();
        let value = |item: &Option<u32>| item.map_or(0, |item| values[item as usize]);
        let mine: Zeroizing<Vec<i64>> = Zeroizing::new(match program.query.aggregate {
            Aggregate::SumOfReceiver | Aggregate::Products => items.iter().map(value).collect(),
            _ => Vec::new(),
        });
        let known = Zeroizing::new(match program.query.aggregate {
            Aggregate::Count | Aggregate::AtLeast(_) => Vec::new(),
            Aggregate::SumOfSender => theirs.to_vec(),
            Aggregate::SumOfReceiver => mine.iter().map(|x| N::of_value(*x)).collect(),
            Aggregate::Products => {
                let own = mine.iter().zip(theirs.iter());
                let mut products: Vec<N> = own.map(|(x, y)| N::of_value(*x).times(*y)).collect();
                for range in program.bits_at_once() {
                    let mut choices = Bits::zeros(range.len() * bins);
                    let bits = range.flat_map(|bit| mine.iter().map(move |x| (x >> bit & 1) as u8));
                    (0..).zip(bits).for_each(|(i, bit)| choices.set(i, bit));
                    let shares = ots.hidden(&choices, channel)?;
                    shares.chunks_exact(bins).for_each(|shares| add_to(&mut products, shares));
                }
                products
            }
        });
        let mut shares: Vec<N> = Vec::new();
        if let hidden @ 1.. = program.products()[0] {
            shares = ots.hidden(&repeat(&matches, hidden / bins), channel)?;
        }
        let (counted, summed) = shares.split_at(if program.counts() { bins } else { 0 });
        let mut total = sum(summed);
        if program.sums() {
            total = total.plus(sum(&ots.known(&bits, &known, channel)?));
        }
        let share = Share { count: sum(counted).bits(), sum: total.bits() };
        Ok((program, share, triples))
    }
}

/// Step 5 for sets in partitions, after the shares have been added up over all partitions.
fn open<N: Number>(
    query: Query,
    role: Party,
    total: &Share,
    channel: &mut Channel,
    randomness: &mut Randomness<'_>,
) -> Result<Option<Output>> {
    let program = CircuitProgram::<N>::new(query);
    let triples = match program.circuit() {
        Some(_) => Silent::TRIPLES.make(role, &program.last_demand(), channel, randomness.rng)?,
        None => Triples::default(),
    };
    conclude(&program, role, total, triples, channel, randomness.noise)
}

fn add_to<N: Number>(sums: &mut [N], shares: &[N]) {
    sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum = sum.plus(*share));
}

/// The weight of a bit in two's complement: 2^bit, and −2^63 for the last one.
fn weight<N: Number>(bit: usize) -> N {
    match bit {
        ..63 => N::of_value(1 << bit),
        _ => N::of_value(i64::MIN),
    }
}
