//! The parties of `rr17-de` and `rr17-ec`, with each step replaceable.

use std::collections::HashMap;

use super::{
    hello_of_receiver, hello_of_sender, toss_committed, toss_committing, toss_opening, whole,
};
use crate::conformance::psi::Sets;
use rand::{Rng, rngs::StdRng};
use vesica_net::Channel;
use vesica_oprf::oos17;
use vesica_ot::one_of_n::{self, Receiver as _};
use vesica_params::bins::{padded::Shape, phasing};
use vesica_primitives::{
    Block,
    aes::Aes128,
    code::{Bch, LinearCode},
};
use vesica_psi::{
    Error, Protocol, Sizes,
    protocols::rr17::{DUAL_EXECUTION, ENCODE_COMMIT, dual_execution, encode_commit},
};
use vesica_structures::{
    bins::{Hashed, phasing::Phasing},
    tag_list,
};

/// Bytes of a commitment.
pub const COMMITMENT_LEN: usize = 32;
const PLACE_LEN: usize = 20;

fn keyed(context: &str, seed: Block, input: &[&[u8]]) -> [u8; 32] {
    let key = blake3::derive_key(context, &seed.to_bytes());
    *blake3::keyed_hash(&key, &input.concat()).as_bytes()
}

fn low(digest: [u8; 32]) -> Block {
    bytemuck::cast::<_, [Block; 2]>(digest)[0]
}

/// Bin and point of each item.
fn places(items: &[[u8; 32]], bins: usize, seed: Block) -> Vec<(usize, Block)> {
    let bits = 75 + bins.ilog2();
    let shape = phasing::Shape::modular(bits, bins).unwrap();
    let phasing = Phasing::<1>::new(shape, Aes128::new(seed).encrypt_block(Block::ZERO));
    let image = |item| low(keyed("vesica rr17 image v1", seed, &[item])).0;
    let images: Vec<Block> =
        items.iter().map(|item| Block(image(&item[..]) & ((1 << bits) - 1))).collect();
    let phased = phasing.phase(&images).unwrap();
    let place = |i: usize| (phased.bins(i)[0] as usize, Block(phasing.store(images[i], 0).rest));
    (0..items.len()).map(place).collect()
}

/// Fills slots in order; returns the point of each instance, and the instance of each item that found room.
fn fill(places: &[(usize, Block)], bins: usize, slots: usize) -> (Vec<Block>, Vec<Option<usize>>) {
    let mut points = vec![Block(1 << 75); bins * slots];
    let mut loads = vec![0; bins];
    let instances = places.iter().map(|(bin, point)| {
        let instance = (loads[*bin] < slots).then(|| loads[*bin] * bins + bin)?;
        loads[*bin] += 1;
        points[instance] = *point;
        Some(instance)
    });
    let instances = instances.collect();
    (points, instances)
}

/// The values of all functions of an item's bin, for each item.
fn evaluate(
    functions: &oos17::Functions,
    places: &[(usize, Block)],
    bins: usize,
    slots: usize,
) -> Vec<Vec<Block>> {
    let value = |bin: usize, point: Block, slot: usize| {
        let mut value = [Block::ZERO];
        let point = functions.encode(&[point]);
        functions.evaluate(slot * bins + bin, &[0, 1], &point, |_| 0, &mut value);
        value[0]
    };
    places.iter().map(|(bin, point)| (0..slots).map(|s| value(*bin, *point, s)).collect()).collect()
}

/// A sender of `rr17-de` before it sends its list.
pub struct DeSender {
    sizes: Sizes,
    shape: Shape,
    seed: Block,
    items: Vec<[u8; 32]>,
    /// The values of S's functions at each item, for each slot.
    own: Vec<Vec<Block>>,
    /// The value of R's functions that S learned for each item.
    pub learned: Vec<Block>,
}

impl DeSender {
    /// Runs all steps up to the sender's message about its items.
    pub fn start(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<Self, Error> {
        let sizes = sets.sizes();
        let shape = dual_execution::shape(sizes);
        hello_of_sender(&DUAL_EXECUTION, sizes.sender, channel)?;
        let own = oos17::Sender::setup(channel, rng)?;
        let other = oos17::Receiver::setup(channel, rng)?;
        let seed = toss_committing(channel, rng)?;
        let items = whole(sets.sender.items());
        let places = places(&items, shape.bins, seed);
        let (points, instances) = fill(&places, shape.bins, shape.sender);
        let functions = own.functions(shape.receiver_slots(), channel, rng)?;
        let values = other.evaluate(&points, channel, rng)?;
        let learned = instances.into_iter().map(|instance| values[instance.unwrap()]).collect();
        let own = evaluate(&functions, &places, shape.bins, shape.receiver);
        Ok(Self { sizes, shape, seed, items, own, learned })
    }

    fn value(&self, learned: Block, own: Block, item: usize) -> Block {
        let parts = [&learned.to_bytes(), &own.to_bytes(), &self.items[item][..]];
        low(keyed("vesica rr17 dual execution v1", self.seed, &parts))
    }

    /// The correct values, changed by item and slot.
    pub fn values(&self, mut change: impl FnMut(usize, usize, Block) -> Block) -> Vec<Block> {
        let mut values = Vec::new();
        for (i, own) in self.own.iter().enumerate() {
            for (slot, own) in own.iter().enumerate() {
                values.push(change(i, slot, self.value(self.learned[i], *own, i)));
            }
        }
        values
    }

    /// Values in which `instead` replaces what was learned.
    pub fn values_with(&self, instead: impl Fn(usize, Block) -> Block) -> Vec<Block> {
        let of_item = |i: usize| self.own[i].iter().map(move |own| (i, *own));
        let all = (0..self.items.len()).flat_map(of_item);
        all.map(|(i, own)| self.value(instead(i, own), own, i)).collect()
    }

    /// Sends the list of these values.
    pub fn finish(&self, values: Vec<Block>, channel: &mut Channel) -> Result<(), Error> {
        let [mine, theirs] =
            [self.sizes.receiver * self.shape.sender, self.sizes.sender * self.shape.receiver];
        let bits = vesica_params::tag::bits(mine, theirs, 40);
        let mut tags: Vec<u128> = values.into_iter().map(|v| v.0 >> (128 - bits)).collect();
        tags.sort_unstable();
        let words = tag_list::Layout::new(tags.len(), bits).encode(&tags, |tag| *tag);
        Ok(channel.send_slice("rr17/list", &words)?)
    }

    /// Runs an honest sender up to its list.
    pub fn list(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<(), Error> {
        let party = Self::start(sets, channel, rng)?;
        party.finish(party.values(|_, _, value| value), channel)
    }
}

/// A sender of `rr17-ec` before it sends its commitments.
pub struct EcSender {
    seed: Block,
    items: Vec<[u8; 32]>,
    own: Vec<Vec<Block>>,
    /// The opening of each item's commitment.
    pub openings: Vec<Block>,
}

impl EcSender {
    /// Runs all steps up to the sender's message about its items.
    pub fn start(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<Self, Error> {
        let sizes = sets.sizes();
        let shape = encode_commit::shape(sizes);
        hello_of_sender(&ENCODE_COMMIT, sizes.sender, channel)?;
        let oprf = oos17::Sender::setup(channel, rng)?;
        let seed = toss_committing(channel, rng)?;
        let items = whole(sets.sender.items());
        let places = places(&items, shape.bins, seed);
        let functions = oprf.functions(shape.receiver_slots(), channel, rng)?;
        let own = evaluate(&functions, &places, shape.bins, shape.receiver);
        let openings = items.iter().map(|_| Block::random(rng)).collect();
        Ok(Self { seed, items, own, openings })
    }

    /// The commitment to an item, with this opening.
    pub fn commitment(&self, item: usize, opening: Block) -> [u8; COMMITMENT_LEN] {
        let parts = [&self.items[item][..], &opening.to_bytes()];
        keyed("vesica rr17 commitment v1", self.seed, &parts)
    }

    /// The correct message, with places and commitments changed.
    pub fn message(
        &self,
        change: impl Fn(usize, usize, &mut [u8]),
        commitment: impl Fn(usize, [u8; COMMITMENT_LEN]) -> [u8; COMMITMENT_LEN],
    ) -> Vec<u8> {
        let mut message = Vec::new();
        for (i, own) in self.own.iter().enumerate() {
            message.extend(commitment(i, self.commitment(i, self.openings[i])));
            for (slot, value) in own.iter().enumerate() {
                let (pad, hint) = pad(self.seed, *value, &self.items[i]);
                let sealed = (pad ^ self.openings[i]).to_bytes();
                let mut place = [&hint[..], &sealed].concat();
                change(i, slot, &mut place);
                message.extend(place);
            }
        }
        message
    }

    /// Sends the message, with places and commitments changed.
    pub fn finish(
        &self,
        change: impl Fn(usize, usize, &mut [u8]),
        commitment: impl Fn(usize, [u8; COMMITMENT_LEN]) -> [u8; COMMITMENT_LEN],
        channel: &mut Channel,
    ) -> Result<(), Error> {
        Ok(channel.send("rr17/commitments", &self.message(change, commitment))?)
    }

    /// Runs an honest sender up to its message.
    pub fn entries(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<(), Error> {
        let party = Self::start(sets, channel, rng)?;
        party.finish(|_, _, _| (), |_, commitment| commitment, channel)
    }
}

fn pad(seed: Block, value: Block, item: &[u8; 32]) -> (Block, [u8; 4]) {
    let digest = keyed("vesica rr17 pad v1", seed, &[&value.to_bytes(), item]);
    (low(digest), digest[16..20].try_into().unwrap())
}

/// A pad, and the item it is for.
type Candidate = (Block, [u8; 32]);

/// A receiver of `rr17-ec` that fills its slots with items of the sender, as many as fit.
pub struct EcReceiver {
    sizes: Sizes,
    /// The bins of the run.
    pub shape: Shape,
    seed: Block,
    candidates: Vec<[u8; 32]>,
    values: Vec<Block>,
    /// The number of candidates that are in slots.
    pub seated: usize,
}

impl EcReceiver {
    /// Runs all steps up to the sender's message about its items.
    pub fn start(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<Self, Error> {
        let sizes = sets.sizes();
        let shape = encode_commit::shape(sizes);
        hello_of_receiver(&ENCODE_COMMIT, sizes.receiver, channel)?;
        let oprf = oos17::Receiver::setup(channel, rng)?;
        let seed = toss_committed(channel, rng)?;
        let candidates = whole(sets.sender.items());
        let places = places(&candidates, shape.bins, seed);
        let (points, instances) = fill(&places, shape.bins, shape.receiver);
        let values = oprf.evaluate(&points, channel, rng)?;
        let seated = instances.iter().flatten().count();
        Ok(Self { sizes, shape, seed, candidates, values, seated })
    }

    /// The sender's commitments and places.
    pub fn commitments(&self, channel: &mut Channel) -> Result<Vec<u8>, Error> {
        let entry = COMMITMENT_LEN + PLACE_LEN * self.shape.receiver;
        let mut message = vec![0; self.sizes.sender * entry];
        channel.recv_into("rr17/commitments", &mut message)?;
        Ok(message)
    }

    /// The number of commitments that open with any candidate at any value of its bin.
    pub fn opens(&self, message: &[u8]) -> usize {
        let places = places(&self.candidates, self.shape.bins, self.seed);
        let mut tried: HashMap<(usize, [u8; 4]), Vec<Candidate>> = HashMap::new();
        for (item, (bin, _)) in self.candidates.iter().zip(places) {
            for slot in 0..self.shape.receiver {
                let value = self.values[slot * self.shape.bins + bin];
                let (pad, hint) = pad(self.seed, value, item);
                tried.entry((slot, hint)).or_default().push((pad, *item));
            }
        }
        let entries = message.chunks(COMMITMENT_LEN + PLACE_LEN * self.shape.receiver);
        let opens = |entry: &&[u8]| {
            let (commitment, places) = entry.split_at(COMMITMENT_LEN);
            places.chunks(PLACE_LEN).enumerate().any(|(slot, place)| {
                let sealed = Block::from_bytes(place[4..].try_into().unwrap());
                let fitting = tried.get(&(slot, place[..4].try_into().unwrap()));
                fitting.into_iter().flatten().any(|(pad, item)| {
                    let parts = [&item[..], &(sealed ^ *pad).to_bytes()];
                    keyed("vesica rr17 commitment v1", self.seed, &parts) == commitment
                })
            })
        };
        entries.filter(opens).count()
    }
}

/// A code that encodes one word wrongly, at some places of the columns.
struct Lying {
    code: Bch,
    flips: Vec<usize>,
}

impl LinearCode for Lying {
    type Row = <Bch as LinearCode>::Row;
    const DIMENSION: usize = <Bch as LinearCode>::DIMENSION;
    const WIDTH: usize = Bch::WIDTH;
    const DISTANCE: usize = Bch::DISTANCE;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        self.code.spread(bits, places);
        self.flips.iter().for_each(|place| places[*place][0] ^= Block(1));
    }
}

/// Random points, with wrong codewords.
fn lie_at(
    mut oprf: one_of_n::oos17::Receiver<Lying>,
    instances: usize,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    let point = |rng: &mut StdRng| Block(Block::random(rng).0 >> 52);
    let points: Vec<Block> = (0..instances).map(|_| point(rng)).collect();
    oprf.receive_random(&points, channel, rng)?;
    Ok(())
}

/// A receiver of `rr17-ec` with wrong codewords.
pub fn lie(
    protocol: &Protocol,
    sets: &Sets,
    flips: Vec<usize>,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    let sizes = sets.sizes();
    let shape = encode_commit::shape(sizes);
    hello_of_receiver(protocol, sizes.receiver, channel)?;
    let code = Lying { code: Bch::new(), flips };
    let oprf = one_of_n::oos17::Receiver::setup(code, channel, rng)?;
    toss_committed(channel, rng)?;
    lie_at(oprf, shape.receiver_slots(), channel, rng)?;
    let entry = COMMITMENT_LEN + PLACE_LEN * shape.receiver;
    Ok(channel.recv_into("rr17/commitments", &mut vec![0; sizes.sender * entry])?)
}

/// A sender of `rr17-de` with wrong codewords.
pub fn lie_back(
    sets: &Sets,
    flips: Vec<usize>,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    let sizes = sets.sizes();
    let shape = dual_execution::shape(sizes);
    hello_of_sender(&DUAL_EXECUTION, sizes.sender, channel)?;
    let own = oos17::Sender::setup(channel, rng)?;
    let code = Lying { code: Bch::new(), flips };
    let other = one_of_n::oos17::Receiver::setup(code, channel, rng)?;
    toss_committing(channel, rng)?;
    own.functions(shape.receiver_slots(), channel, rng)?;
    lie_at(other, shape.sender_slots(), channel, rng)?;
    let count = sizes.sender * shape.receiver;
    let garbage = vec![rng.next_u64(); count];
    Ok(channel.send_slice("rr17/list", &garbage)?)
}

/// A sender of either protocol that opens a different share of the seed from the one it committed to.
pub fn open_another_seed(
    protocol: &Protocol,
    sets: &Sets,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    hello_of_sender(protocol, sets.sender.len(), channel)?;
    let _own = oos17::Sender::setup(channel, rng)?;
    if protocol.key == DUAL_EXECUTION.key {
        oos17::Receiver::setup(channel, rng)?;
    }
    let share = Block::random(rng);
    toss_opening(share, share ^ Block(1), channel)?;
    Ok(())
}
