//! The construction of circuit PSI, after which neither party knows which items match, and both hold shares of this
//! fact. Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019), Rindal and Schoppmann (EUROCRYPT 2021). Semi-honest.
//!
//! Offline: the setup of the OPPRF, and for step 3 multiplication triples or 1-out-of-8 OTs.
//!
//! 1. Both draw a seed, now that both sets are fixed; items are permuted under it. R puts each item into one
//!    of its three bins (cuckoo hashing, b bins), S puts each of its own into all three.
//! 2. S draws a target t_j of ℓ = λ + ⌈log b⌉ bits for each bin, or takes it from the OTs, and a mask w_j if its items
//!    have values. It programs an OPPRF: at the point of y in its bin j, the value is t_j, followed by v(y) − w_j, or
//!    v(y) ⊕ w_j. R evaluates it at the point of the item in each bin, or at a random point if the bin is empty, and
//!    gets t'_j and v'. If x matches, v' is the other part of v(x).
//! 3. t_j and t'_j are equal exactly if S has the item of bin j too. Both get shares of this bit m_j: by GMW with
//!    ℓ − 1 AND gates per bin, or by digits of three bits ([`Digits`]), with ⌈(ℓ − 1)/2⌉ OTs.
//!
//! A bin whose item S does not have, or that is empty, counts as a match with probability 2^-ℓ, because R's
//! value there is pseudo-random. For all bins together the probability is at most 2^-λ.
//!
//! For rows S then reveals its shares of the bits to R. The number of points that S programs is 3·n_y, so
//! nothing reveals S's bins.

pub(crate) mod ots;
pub(crate) mod people;
pub mod psty19;
pub mod rs21;

use rand::CryptoRng;
use vesica_circuit::{
    Builder, Circuit, Engine as _, Party, RowLayout, WireBits, gadgets,
    gmw::{self, Gmw},
    triples::{Demand, Digits, Extension, Strings, Triples},
};
use vesica_net::Channel;
use vesica_oprf::Digests;
use vesica_ot::Bytes;
use vesica_params::{
    Failure,
    bins::cuckoo::{self, HASHES},
};
use vesica_primitives::{Block, declassify};
use vesica_structures::bins::{BinMap, Entry, cuckoo::CuckooTable};
use zeroize::Zeroizing;

use crate::{
    Adversary, Cost, DigestLength, Error, Items, Leakage, List, Memory, Parties, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{
        coin::permute,
        lists::{self, word},
    },
    setting::any_sizes,
};

/// The dimensions of an OPPRF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpprfSize {
    /// The receiver's points, one per bin.
    pub(crate) bins: usize,
    /// The sender's points.
    pub(crate) programmed: usize,
    /// Bytes of a value.
    pub(crate) len: usize,
    /// −log2 of the probability with which each failure may happen.
    pub(crate) lambda: u32,
}

/// An OPPRF with one point of the receiver per bin.
pub(crate) trait Opprf: Send + Sync + 'static {
    /// The party that programs it, set up.
    type Sender: Send;
    /// The party that learns its values, set up.
    type Receiver: Send;

    /// The adversary against which it is secure.
    const ADVERSARY: Adversary;

    /// Bytes of a value are a multiple of this.
    const UNIT: usize;

    /// Payload bytes, the setup included.
    fn bytes(dimensions: OpprfSize) -> Bytes;

    /// The events that may go wrong by chance.
    fn failures(dimensions: OpprfSize) -> Vec<Failure>;

    /// The sender's setup.
    fn sender(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Sender>;

    /// The receiver's setup.
    fn receiver(
        dimensions: OpprfSize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self::Receiver>;

    /// Programs each of the points with the bytes at its position: `starts` gives for each bin where its points
    /// start, followed by their number.
    fn program(
        sender: Self::Sender,
        starts: &[u32],
        points: Digests<'_>,
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()>;

    /// The bytes at each bin's point, one after another.
    fn evaluate(
        receiver: Self::Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>>;
}

/// A circuit PSI: the components it is made of.
pub(crate) trait Construction: Send + Sync + 'static {
    /// The OPPRF.
    type Opprf: Opprf;

    /// The OT extension that makes triples.
    const TRIPLES: Extension;

    /// The comparison of targets.
    const COMPARISON: Comparison;

    /// Flights up to the end of step 3, including the agreement on sizes.
    const ROUNDS: u32;
}

/// A way to compare two targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Bit by bit, as in the papers.
    Bits,
    /// By digits of three bits: a quarter of the OTs, and no triples.
    Digits,
}

/// The parameters that both parties compute from the sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    sizes: Sizes,
    shape: cuckoo::Shape,
    /// ℓ.
    bits: usize,
    lambda: u32,
    /// The masking of S's values, if its items have values.
    values: Option<Masking>,
}

/// The way in which the values of an item of S result from their two parts, v' and w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Masking {
    /// v' + w, number by number; after the numbers come some bytes, which are numbers modulo 256.
    Sum { numbers: RowLayout, bytes: usize },
    /// v' ⊕ w, of this many bytes.
    Xor(usize),
}

impl Masking {
    /// Turns the values of an item into their other part, given this one.
    fn mask(self, values: &mut [u8], mask: &[u8]) {
        match self {
            Self::Sum { numbers, .. } => {
                let (values, bytes) = values.split_at_mut(numbers.len());
                let (mask, of_bytes) = mask.split_at(numbers.len());
                numbers.subtract(values, mask);
                bytes.iter_mut().zip(of_bytes).for_each(|(byte, mask)| {
                    *byte = byte.wrapping_sub(*mask);
                });
            }
            Self::Xor(_) => values.iter_mut().zip(mask).for_each(|(value, mask)| *value ^= mask),
        }
    }

    /// Bytes of an item's values.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Sum { numbers, bytes } => numbers.len() + bytes,
            Self::Xor(len) => len,
        }
    }
}

impl Parameters {
    pub(crate) fn new(setting: Setting, values: Option<Masking>) -> Self {
        let (sizes, lambda) = (setting.sizes, setting.lambda());
        let shape = cuckoo::sound(sizes.receiver, lambda);
        let bits = lambda as usize + shape.bins.max(1).next_power_of_two().ilog2() as usize;
        Self { sizes, shape, bits, lambda, values }
    }

    /// The number of bins.
    pub(crate) fn bins(&self) -> usize {
        self.shape.bins
    }

    /// Bytes of the values of an item of S.
    fn values_len(&self) -> usize {
        self.values.map_or(0, Masking::len)
    }

    /// Bytes of a target.
    fn target_len(&self) -> usize {
        self.bits.div_ceil(8)
    }

    fn dimensions<M: Construction>(&self) -> OpprfSize {
        let len = self.target_len() + self.values_len();
        let len = len.next_multiple_of(M::Opprf::UNIT);
        let programmed = HASHES * self.sizes.sender;
        OpprfSize { bins: self.bins(), programmed, len, lambda: self.lambda }
    }

    /// The events that may go wrong by chance in all three steps.
    pub(crate) fn failures<M: Construction>(&self) -> Vec<Failure> {
        let target = (self.bins().max(1) as f64).log2() - self.bits as f64;
        let mut failures = M::Opprf::failures(self.dimensions::<M>());
        failures.extend([
            Failure::new("a target is met without a match", target),
            Failure::new("the cuckoo table does not exist", {
                self.shape.log2_failure(self.sizes.receiver)
            }),
        ]);
        failures
    }

    /// The targets, if step 3 compares them by digits.
    fn strings<M: Construction>(&self) -> Option<Strings> {
        match M::COMPARISON {
            Comparison::Bits => None,
            Comparison::Digits => Some(Strings::new(self.bins(), self.bits)),
        }
    }

    /// Step 3 for one bin, bit by bit: whether the sum of the targets is zero.
    fn comparison(&self) -> Circuit {
        let mut builder = Builder::new(self.bits);
        let same = (0..self.bits as u32).map(|wire| builder.not(wire)).collect();
        let equal = gadgets::compare::all(&mut builder, same);
        builder.finish(vec![equal])
    }

    /// The demand of step 3: triples, or OTs to compare strings.
    pub(crate) fn demand<M: Construction>(&self) -> Demand {
        match self.strings::<M>() {
            Some(strings) => Demand::default().with_strings(strings),
            None => Demand::of_ands(&self.comparison(), self.bins()),
        }
    }

    /// Payload bytes of all three steps, without the cost of [`Parameters::demand`].
    pub(crate) fn bytes<M: Construction>(&self) -> Bytes {
        let [to_receiver, to_sender] = match self.strings::<M>() {
            Some(strings) => [Party::First, Party::Second].map(|role| strings.bytes(role)),
            None => [gmw::bytes(&self.comparison(), self.bins(), false); 2],
        };
        M::Opprf::bytes(self.dimensions::<M>()) + Bytes { to_sender, to_receiver }
    }
}

/// The sender after its setup.
pub(crate) struct Sending<M: Construction> {
    plan: Parameters,
    opprf: <M::Opprf as Opprf>::Sender,
    triples: Triples,
}

/// The sender's data for each bin.
pub(crate) struct SenderBins {
    /// Its shares of the m.
    pub(crate) matches: WireBits,
    /// The masks w; none without values.
    pub(crate) masks: Zeroizing<Vec<u8>>,
    /// The remaining triples.
    pub(crate) triples: Triples,
}

impl<M: Construction> Sending<M> {
    /// The part that needs no input. `demand` covers the plan and the steps after step 3.
    pub(crate) fn prepare(
        plan: Parameters,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let opprf = M::Opprf::sender(plan.dimensions::<M>(), channel, rng)?;
        channel.phase("triples");
        let triples = M::TRIPLES.make(Party::First, demand, channel, rng)?;
        Ok(Self { plan, opprf, triples })
    }

    /// Steps 1 to 3; `values` are the items' values, if they have any.
    pub(crate) fn bins(
        self,
        items: Items<'_>,
        values: &[u8],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<SenderBins> {
        let Self { plan, opprf, mut triples } = self;
        // 1.
        let permuted = permute(items.low_halves(), channel, rng)?;
        let hashed = BinMap::<HASHES>::new(plan.bins()).of(&permuted);
        let table = lists::all_bins(&hashed)?;
        // 2.
        channel.phase("opprf");
        // R must not see where a value was programmed: everything it gets is random, beyond ℓ bits too.
        let mut random = |count: usize| -> Zeroizing<Vec<Block>> {
            Zeroizing::new((0..count).map(|_| Block::random(rng)).collect())
        };
        let mut targets = random(plan.bins());
        let values_len = plan.values_len();
        let mut masks = Zeroizing::new(vec![0; plan.bins() * values_len]);
        rng.fill_bytes(&mut masks);
        let digits = triples.take_digits();
        if let Some(digits) = &digits {
            let drawn = Zeroizing::new(digits.draw(rng).to_blocks());
            let beyond = Block(u128::MAX << plan.bits);
            let targets = targets.iter_mut().zip(&*drawn);
            targets.for_each(|(target, drawn)| *target = (*target & beyond) ^ *drawn);
        }
        let mut programmed = Zeroizing::new(Vec::new());
        let len = plan.dimensions::<M>().len;
        programmed.reserve_exact(table.entries().len() * len);
        let mut points = Vec::with_capacity(table.entries().len());
        for (bin, target) in targets.iter().enumerate() {
            for entry in table.bin(bin) {
                points.push(word(permuted[entry.position()], entry.hash()));
                programmed.extend_from_slice(&target.to_bytes()[..plan.target_len()]);
                if let Some(masking) = plan.values {
                    let first = programmed.len();
                    let of_item = entry.position() * values_len;
                    programmed.extend_from_slice(&values[of_item..of_item + values_len]);
                    let mask = &masks[bin * values_len..][..values_len];
                    masking.mask(&mut programmed[first..], mask);
                }
                let filled = programmed.len();
                programmed.resize(points.len() * len, 0);
                rng.fill_bytes(&mut programmed[filled..]);
            }
        }
        M::Opprf::program(opprf, table.starts(), points[..].into(), &programmed, channel, rng)?;
        drop(programmed);
        // 3.
        channel.phase("compare");
        let matches = compare(&plan, Party::First, &targets, digits, &mut triples, channel)?;
        Ok(SenderBins { matches, masks, triples })
    }
}

/// The receiver after its setup.
pub(crate) struct Receiving<M: Construction> {
    plan: Parameters,
    opprf: <M::Opprf as Opprf>::Receiver,
    triples: Triples,
}

/// The receiver's data for each bin.
pub(crate) struct ReceiverBins {
    /// Its shares of the m.
    pub(crate) matches: WireBits,
    /// Its part v' of the values; empty without values.
    pub(crate) values: Zeroizing<Vec<u8>>,
    /// The position of the item in each bin.
    pub(crate) items: Vec<Option<u32>>,
    /// The remaining triples.
    pub(crate) triples: Triples,
}

impl<M: Construction> Receiving<M> {
    /// Same as [`Sending::prepare`].
    pub(crate) fn prepare(
        plan: Parameters,
        demand: &Demand,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let opprf = M::Opprf::receiver(plan.dimensions::<M>(), channel, rng)?;
        channel.phase("triples");
        let triples = M::TRIPLES.make(Party::Second, demand, channel, rng)?;
        Ok(Self { plan, opprf, triples })
    }

    /// Steps 1 to 3.
    pub(crate) fn bins(
        self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<ReceiverBins> {
        let Self { plan, opprf, mut triples } = self;
        // 1.
        let permuted = permute(items.low_halves(), channel, rng)?;
        let table = CuckooTable::new(&permuted, plan.shape)?;
        // 2.
        channel.phase("opprf");
        let point = |entry: &Option<Entry>| match entry {
            Some(entry) => word(permuted[entry.position()], entry.hash()),
            // Declassified like an item, whose value decides its bin.
            None => declassify(Block::random(rng)),
        };
        let points: Vec<Block> = table.bins().iter().map(point).collect();
        let received = Zeroizing::new(M::Opprf::evaluate(opprf, points[..].into(), channel, rng)?);
        // 3.
        channel.phase("compare");
        let len = plan.dimensions::<M>().len;
        let mut targets = Zeroizing::new(vec![Block::ZERO; plan.bins()]);
        for (target, received) in targets.iter_mut().zip(received.chunks_exact(len)) {
            let mut bytes = [0; 16];
            bytes[..plan.target_len()].copy_from_slice(&received[..plan.target_len()]);
            *target = Block::from_bytes(bytes);
        }
        let mut values = Zeroizing::new(Vec::with_capacity(plan.bins() * plan.values_len()));
        for received in received.chunks_exact(len) {
            values.extend_from_slice(&received[plan.target_len()..][..plan.values_len()]);
        }
        drop(received);
        let digits = triples.take_digits();
        let matches = compare(&plan, Party::Second, &targets, digits, &mut triples, channel)?;
        let items = table.bins().iter().map(|entry| entry.map(|entry| entry.position() as u32));
        Ok(ReceiverBins { matches, values, items: items.collect(), triples })
    }
}

/// Step 3 with this party's targets.
fn compare(
    plan: &Parameters,
    role: Party,
    targets: &[Block],
    digits: Option<Digits>,
    triples: &mut Triples,
    channel: &mut Channel,
) -> Result<WireBits> {
    let targets = WireBits::from_blocks(targets, plan.bits);
    if let Some(digits) = digits {
        return Ok(digits.compare(&targets, channel)?);
    }
    let mut engine = Gmw::new(role, std::mem::take(triples), channel);
    let matches = engine.run(&plan.comparison(), &targets)?;
    *triples = engine.into_triples();
    Ok(matches)
}

impl From<gmw::Error> for Error {
    fn from(error: gmw::Error) -> Self {
        match error {
            gmw::Error::Net(error) => Self::Channel(error),
            gmw::Error::OutOfTriples(_) => unreachable!("triples are made for what is run"),
        }
    }
}

/// The fields that entries of circuit PSIs share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) citation: &'static str,
}

/// The entry of a circuit PSI that reveals the matches to the receiver.
pub(crate) const fn protocol<M: Construction>(about: About) -> Protocol {
    Protocol {
        key: about.key,
        title: about.title,
        citation: about.citation,
        status: Status::Sound,
        adversary: Adversary::weakest(&[M::Opprf::ADVERSARY, Adversary::SemiHonest]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: false,
        list: List::Sorted,
        cost: cost::<M>,
        memory: |setting| memory::<M>(&Parameters::new(setting, None)),
        failures: |setting| Parameters::new(setting, None).failures::<M>(),
        limits: any_sizes,
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                let plan = Parameters::new(setting, None);
                let demand = plan.demand::<M>();
                Ok(Box::new(Sending::<M>::prepare(plan, &demand, channel, rng)?))
            },
            receiver: |setting, channel, rng| {
                let plan = Parameters::new(setting, None);
                let demand = plan.demand::<M>();
                Ok(Box::new(Receiving::<M>::prepare(plan, &demand, channel, rng)?))
            },
        },
    }
}

/// Flights of making triples, in a run that also compares strings.
pub(crate) const TRIPLE_ROUNDS: u32 = 4;

/// The peak memory of each party, for rows or otherwise, with the number of threads of the current pool.
pub(crate) fn memory<M: Construction>(plan: &Parameters) -> Memory {
    match plan.strings::<M>() {
        None => Memory::linear(plan.sizes, PerItem::new([400.0, 150.0], [300.0, 75.0])),
        Some(strings) => {
            let [sender, receiver] =
                [Party::First, Party::Second].map(|role| strings.memory(role) as f64);
            let rates = PerItem::new([440.0, 200.0], [330.0, 60.0]);
            Memory::linear(plan.sizes, rates).and(sender, receiver)
        }
    }
}

fn cost<M: Construction>(setting: Setting) -> Cost {
    let plan = Parameters::new(setting, None);
    let bytes = plan.bytes::<M>() + offline_bytes::<M>(&plan.demand::<M>());
    Cost {
        bytes_to_sender: bytes.to_sender as f64,
        bytes_to_receiver: (bytes.to_receiver + gmw::reveal_bytes(1, plan.bins())) as f64,
        rounds: M::ROUNDS + 1,
    }
}

/// Payload bytes of making triples, and of distances.
pub(crate) fn offline_bytes<M: Construction>(demand: &Demand) -> Bytes {
    let [to_receiver, to_sender] =
        [Party::First, Party::Second].map(|role| M::TRIPLES.bytes(demand, role));
    Bytes { to_sender, to_receiver }
}

/// A run for rows.
impl<M: Construction> crate::Party<Items<'_>, ()> for Sending<M> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let bins = self.bins(items, &[], channel, rng)?;
        channel.phase("reveal");
        Gmw::new(Party::First, bins.triples, channel).reveal(&bins.matches, Party::Second)?;
        Ok(())
    }
}

/// A run for rows.
impl<M: Construction> crate::Party<Items<'_>, Vec<u32>> for Receiving<M> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let bins = self.bins(items, channel, rng)?;
        channel.phase("reveal");
        let shown = Gmw::new(Party::Second, bins.triples, channel)
            .reveal(&bins.matches, Party::Second)?
            .expect("shown to this party");
        Ok(matched(&bins.items, &shown))
    }
}

/// The items, ascending, in bins whose match is shown.
pub(crate) fn matched(items: &[Option<u32>], shown: &WireBits) -> Vec<u32> {
    let placed = items.iter().enumerate();
    let matched = placed.filter_map(|(bin, item)| item.filter(|_| shown.get(0, bin)));
    let mut matches: Vec<u32> = matched.collect();
    matches.sort_unstable();
    matches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bin without a match counts as one with probability 2^-ℓ, at most 2^-λ for all bins together.
    #[test]
    fn targets_are_long_enough_for_all_bins_together() {
        let sizes = (0..70).chain([1000, 1 << 12, (1 << 16) + 1, 1 << 20, 1 << 24, 1 << 28]);
        for receiver in sizes {
            let plan = Parameters::new(Sizes { sender: 3, receiver }.into(), None);
            let beyond = plan.bits - vesica_params::LAMBDA as usize;
            assert!(plan.bins() <= 1 << beyond, "{receiver} items, {plan:?}");
            assert!(plan.bins() <= 1 || plan.bins() > 1 << (beyond - 1), "no more than needed");
            assert!(plan.bits <= 8 * plan.target_len() && plan.target_len() <= 16);
        }
    }
}
