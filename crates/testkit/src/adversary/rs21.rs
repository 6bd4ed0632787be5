//! The parties of the protocols on the checked OPRF of RS21, with each step replaceable: `rs21-malicious`,
//! `rr22-malicious` and `rr22-malicious-low`, which differ in their OKVS.

use std::collections::HashSet;

use rand::rngs::StdRng;
use vesica_net::{Channel, SessionId};
use vesica_oprf::rs21::malicious::{self as oprf, Digests};
use vesica_ot::{
    extension::softspoken::{SmallField, malicious as extension},
    vole::silent,
};
use vesica_params::{
    LAMBDA,
    lpn::{self, Lpn},
    okvs::{self, Excess, Shape},
};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    block::add_to,
    hash::{IndexedRow, RowHash, truncate},
};
use vesica_psi::{
    Error, Items, Protocol, Sizes,
    protocols::{rr22, rs21},
};
use vesica_structures::{
    okvs::{Codec, Free, Okvs, PlacedKeys, band::Band, paxos::Paxos, rr22::Rr22},
    tag_list,
};

use super::{hello_of_receiver, hello_of_sender};
use crate::conformance::psi::Sets;

const FIELD: SmallField = SmallField::new(8);

/// One of the protocols, for receivers with more than 64 items.
pub trait Construction {
    /// Its OKVS.
    type Store: Codec<Block>;

    /// The protocol.
    const PROTOCOL: &'static Protocol;

    /// The noise of its VOLE.
    const LPN: Lpn;

    /// The shape of its OKVS.
    fn shape(items: usize) -> Shape;
}

/// `rs21-malicious`.
pub struct PaxosStore;

impl Construction for PaxosStore {
    type Store = Paxos;

    const PROTOCOL: &'static Protocol = &rs21::MALICIOUS;

    const LPN: Lpn = lpn::UNIFORM;

    fn shape(items: usize) -> Shape {
        okvs::paxos(items, LAMBDA).one_way()
    }
}

/// `rr22-malicious`.
pub struct ClusteredStore;

impl Construction for ClusteredStore {
    type Store = Rr22;

    const PROTOCOL: &'static Protocol = &rr22::MALICIOUS;

    const LPN: Lpn = lpn::UNIFORM.with_piece(2 * lpn::UNIFORM.piece);

    fn shape(items: usize) -> Shape {
        okvs::shape(items, 1 << 16, LAMBDA).one_way()
    }
}

/// `rr22-malicious-low`.
pub struct WithBands;

impl Construction for WithBands {
    type Store = Band;

    const PROTOCOL: &'static Protocol = &rr22::MALICIOUS_LOW;

    const LPN: Lpn = lpn::UNIFORM.with_piece(usize::MAX);

    fn shape(items: usize) -> Shape {
        okvs::band(items, usize::MAX, Excess::Percent5, LAMBDA).one_way()
    }
}

fn digests(items: Items<'_>) -> Digests<'_> {
    Digests { low_halves: items.low_halves(), high_halves: items.high_halves() }
}

/// The state of a sender before it sends its list: the values of its items.
pub fn values<M: Construction>(
    sets: &Sets,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<Vec<Block>, Error> {
    hello_of_sender(M::PROTOCOL, sets.sender.len(), channel)?;
    let own = oprf::Share::commit(channel, rng)?;
    let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
    let shape = M::shape(sets.receiver.len());
    let oprf = oprf::Sender::<M::Store>::setup(own, shape, M::LPN, &mut cot, channel, rng)?;
    Ok(oprf.evaluate(digests(sets.sender.items()), channel)?.values)
}

/// Sends a list of tags of `bits` bits.
pub fn send_list(mut tags: Vec<Block>, bits: u32, channel: &mut Channel) -> Result<(), Error> {
    tags.sort_unstable();
    let layout = tag_list::Layout::new(tags.len(), bits);
    let words = layout.encode(&tags, |tag| tag.0 >> (128 - bits));
    Ok(channel.send_slice("rs21/list", &words)?)
}

/// Runs a sender that opens its share of w to the value that makes the sum equal to `wish`.
pub fn choose_w<M: Construction>(
    sets: &Sets,
    wish: Block,
    channel: &mut Channel,
    rng: &mut StdRng,
) -> Result<(), Error> {
    hello_of_sender(M::PROTOCOL, sets.sender.len(), channel)?;
    let share = Block::random(rng);
    let commitment = blake3::derive_key("vesica rs21 commitment v1", &share.to_bytes());
    channel.send("rs21/commitment", &commitment)?;
    let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
    let shape = M::shape(sets.receiver.len());
    let (_, answers) = silent::malicious::send(shape.columns(), M::LPN, &mut cot, channel, rng)?;
    let mut theirs = [Block::ZERO; 2];
    channel.recv_slice("rs21/seed", &mut theirs)?;
    for _ in 0..shape.clusters {
        channel.recv_slice("rs21/columns", &mut vec![Block::ZERO; shape.cluster_columns()])?;
    }
    answers.send(channel)?;
    channel.send_slice("rs21/opening", &[wish ^ theirs[1]])?;
    send_list(vec![wish; sets.sender.len()], 128, channel)
}

/// A receiver's message after the VOLE, which need not match its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The seed of the OKVS and the share of w.
    pub seed: [Block; 2],
    /// a + P, of all clusters.
    pub columns: Vec<Block>,
}

/// A receiver that has its share of the VOLE.
pub struct Receiver<M: Construction> {
    session: SessionId,
    sizes: Sizes,
    shape: Shape,
    commitment: [u8; 32],
    /// The seed of the OKVS and the share of w.
    pub seed: [Block; 2],
    share: silent::malicious::Unverified,
    construction: std::marker::PhantomData<M>,
}

impl<M: Construction> Receiver<M> {
    /// Runs all steps up to the VOLE and the sender's commitment.
    pub fn start(sets: &Sets, channel: &mut Channel, rng: &mut StdRng) -> Result<Self, Error> {
        let sizes = sets.sizes();
        hello_of_receiver(M::PROTOCOL, sizes.receiver, channel)?;
        let mut commitment = [0; 32];
        channel.recv_into("rs21/commitment", &mut commitment)?;
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        let shape = M::shape(sizes.receiver);
        let share = silent::malicious::receive(shape.columns(), M::LPN, &mut cot, channel, rng)?;
        let seed = [Block::random(rng), Block::random(rng)];
        let session = channel.session();
        Ok(Self {
            session,
            sizes,
            shape,
            commitment,
            seed,
            share,
            construction: std::marker::PhantomData,
        })
    }

    /// The OKVS, the hash by which points become its keys, and h.
    fn public(&self) -> (M::Store, CorrelationRobust, RowHash) {
        let mut hasher = blake3::Hasher::new_derive_key("vesica rs21 seed v1");
        hasher
            .update(self.session.as_bytes())
            .update(&self.commitment)
            .update(&self.seed[0].to_bytes());
        let root = Aes128::new(truncate(&hasher.finalize()));
        let key = |purpose| root.encrypt_block(Block(purpose));
        // Only a malicious party uses more keys than announced.
        let shape = Shape { capacity: self.shape.cluster_columns() + 1, ..self.shape };
        (M::Store::new(shape, key(0)), CorrelationRobust::new(key(1)), RowHash::new(key(2)))
    }

    fn place(&self, items: Items<'_>) -> (PlacedKeys, Vec<Block>) {
        let (okvs, key_hash, _) = self.public();
        let mut keys = items.high_halves().to_vec();
        key_hash.apply(&mut keys);
        add_to(&mut keys, items.low_halves());
        let placed = okvs.place(&keys);
        let high_halves =
            placed.positions().iter().map(|i| items.high_halves()[*i as usize]).collect();
        (placed, high_halves)
    }

    /// Returns the message of an honest receiver with these items, or `None` if they do not fit into its OKVS.
    pub fn encode(&self, items: Items<'_>, rng: &mut StdRng) -> Option<Sent> {
        let (okvs, _, point_hash) = self.public();
        let (placed, high_halves) = self.place(items);
        let h = hashes(&point_hash, &vec![Block::ZERO; placed.len()], placed.all(), &high_halves);
        let mut of_position = vec![Block::ZERO; h.len()];
        placed.positions().iter().zip(h).for_each(|(i, h)| of_position[*i as usize] = h);
        let value = |position: u32, _| of_position[position as usize];
        let p = okvs.encode(&placed, value, Free::Random, rng).ok()?;
        let masked = p.into_iter().zip(self.share.share().parts()).map(|(p, (a, _))| p ^ a);
        Some(Sent { seed: self.seed, columns: masked.collect() })
    }

    /// Sends `sent`, receives the sender's answer, and returns for how many of `items` it has values on the
    /// sender's list.
    pub fn finish(
        self,
        sent: &Sent,
        items: Items<'_>,
        channel: &mut Channel,
    ) -> Result<usize, Error> {
        channel.send_slice("rs21/seed", &sent.seed)?;
        for columns in sent.columns.chunks(self.shape.cluster_columns()) {
            channel.send_slice("rs21/columns", columns)?;
        }
        let (okvs, ..) = self.public();
        let (placed, high_halves) = self.place(items);
        let c: Vec<Block> = self.share.share().parts().map(|(_, c)| c).collect();
        let decoded = okvs.decode(&placed, &c);
        self.share.verify(channel)?;
        let mut opening = [Block::ZERO];
        channel.recv_slice("rs21/opening", &mut opening)?;
        let layout = tag_list::Layout::new(self.sizes.sender, 128);
        let mut words = vec![0; layout.encoded_words()];
        channel.recv_slice("rs21/list", &mut words)?;
        let list: HashSet<u128> =
            layout.decode(words).unwrap().iter().map(Result::unwrap).collect();
        let hash = RowHash::new(sent.seed[1] ^ opening[0]);
        let values = hashes(&hash, &decoded, placed.all(), &high_halves);
        Ok(values.into_iter().filter(|value| list.contains(&value.0)).count())
    }

    /// The number of columns of the OKVS.
    pub fn columns(&self) -> usize {
        self.shape.columns()
    }
}

/// The hash of each value, with its point as OKVS key and high half.
fn hashes(hash: &RowHash, values: &[Block], keys: &[Block], high_halves: &[Block]) -> Vec<Block> {
    let rows = values.iter().zip(keys).zip(high_halves);
    let rows: Vec<IndexedRow> = rows
        .map(|((value, key), high)| IndexedRow::new(0, &[*value, *key, *high, Block::ZERO]))
        .collect();
    let mut hashes = vec![Block::ZERO; rows.len()];
    hash.hash(&rows, &mut hashes);
    hashes
}
