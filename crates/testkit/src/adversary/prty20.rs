//! The parties of `prty20-malicious` and `prty20-malicious-paxos`, which differ in their OKVS. Each step is
//! replaceable.

use std::{
    collections::HashSet,
    marker::PhantomData,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use bytemuck::Zeroable;
use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_oprf::{
    Digests,
    prty20::{Construction, Malicious},
};
use vesica_ot::one_of_n::matrix::{Pieces, Receiver as _, Sender as _, checked};
use vesica_params::{
    LAMBDA,
    okvs::{self, Shape},
};
use vesica_primitives::{
    Block, Words,
    code::{Code, Concatenated, LinearCode, Row as _},
    hash::truncate,
};
use vesica_psi::{Error, Items, Protocol, Sizes, protocols::prty20};
use vesica_structures::{
    okvs::{Codec, Okvs, paxos::Paxos, rr22::Rr22},
    tag_list,
};

use super::{hello_of_receiver, hello_of_sender};
use crate::conformance::psi::Sets;

/// A row of the OT extension: a codeword, or the sum of a codeword and others.
pub type Row = <Concatenated as LinearCode>::Row;
/// A row as the OKVS decodes it.
pub type DecodedRow = Words<10>;

/// The sender's block, bound to the session.
fn bound(drawn: Block, channel: &Channel) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica prty20 session v1");
    hasher.update(channel.session().as_bytes()).update(&drawn.to_bytes());
    truncate(&hasher.finalize())
}

/// One of the protocols.
pub trait Variant {
    /// Its OKVS.
    type Store: Codec<Block> + Codec<DecodedRow>;

    /// The protocol.
    const PROTOCOL: &'static Protocol;

    /// The shape of its OKVS.
    fn shape(items: usize) -> Shape;
}

/// `prty20-malicious`.
pub struct Clustered;

impl Variant for Clustered {
    type Store = Rr22;

    const PROTOCOL: &'static Protocol = &prty20::MALICIOUS;

    fn shape(items: usize) -> Shape {
        okvs::shape(items, 1 << 15, LAMBDA)
    }
}

/// `prty20-malicious-paxos`.
pub struct WithPaxos;

impl Variant for WithPaxos {
    type Store = Paxos;

    const PROTOCOL: &'static Protocol = &prty20::MALICIOUS_WITH_PAXOS;

    fn shape(items: usize) -> Shape {
        okvs::paxos(items, LAMBDA)
    }
}

fn pieces(shape: Shape) -> Pieces {
    Pieces { count: shape.clusters, rows: shape.cluster_columns() }
}

fn digests(items: Items<'_>) -> Digests<'_> {
    Digests { low_halves: items.low_halves(), high_halves: items.high_halves() }
}

/// Items by their OKVS keys, with the values that both parties know.
struct Known<V: Variant> {
    construction: Malicious,
    okvs: V::Store,
    keys: Vec<Block>,
    high_halves: Vec<Block>,
}

impl<V: Variant> Known<V> {
    fn new(shape: Shape, session: Block, seed: Block, items: Items<'_>) -> Self {
        let construction = Malicious::new(session, seed);
        let okvs = V::Store::new(shape, construction.okvs_seed());
        let keys = construction.okvs_keys(digests(items));
        Self { construction, okvs, keys, high_halves: items.high_halves().to_vec() }
    }

    fn words(&self) -> Vec<Block> {
        self.construction.words(&self.keys, &self.high_halves)
    }

    /// The decoded value of each item. Sets are small here, so there is one cluster.
    fn decode(&self, columns: &[DecodedRow]) -> Vec<DecodedRow> {
        let mut values = vec![DecodedRow::default(); self.keys.len()];
        self.okvs.decode_cluster(&self.keys, columns, &mut values);
        values
    }

    fn hash(&self, rows: &[DecodedRow]) -> Vec<Block> {
        let mut values = vec![Block::ZERO; rows.len()];
        self.construction.hash(rows, &self.keys, &self.high_halves, &mut values);
        values
    }
}

/// A sender that has passed the check and has not sent its list.
pub struct Sending<V: Variant> {
    known: Known<V>,
    q: Vec<Row>,
    delta: Row,
}

impl<V: Variant> Sending<V> {
    /// Starts with this session, and otherwise with random values.
    pub fn start(
        sets: &Sets,
        session: Block,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<Self, Error> {
        let sizes = sets.sizes();
        hello_of_sender(V::PROTOCOL, sizes.sender, channel)?;
        channel.send_slice("prty20/session", &[session])?;
        let shape = V::shape(sizes.receiver);
        let extension = checked::Sender::setup(Concatenated::new(), pieces(shape), channel, rng)?;
        let mut seed = [Block::ZERO];
        channel.recv_slice("prty20/seed", &mut seed)?;
        let (mut q, mut delta) = (Vec::new(), Row::zeroed());
        extension.extend(channel, rng, |_, rows, of| {
            q.extend_from_slice(rows);
            delta = *of;
        })?;
        let session = bound(session, channel);
        let known = Known::<V>::new(shape, session, seed[0], sets.sender.items());
        Ok(Self { known, q, delta })
    }

    /// The values of the items, after `change` has modified the row and codeword of each.
    pub fn values(&self, change: impl Fn(usize, &mut Row, &mut Row, &mut Row)) -> Vec<Block> {
        let decoded = self.known.decode(bytemuck::cast_slice(&self.q));
        let mut codewords = vec![Row::zeroed(); decoded.len()];
        Concatenated::new().encode(&self.known.words(), &mut codewords);
        let rows = decoded.into_iter().zip(codewords).enumerate();
        let rows = rows.map(|(i, (row, mut codeword))| {
            let (mut row, mut delta): (Row, Row) = (bytemuck::cast(row), self.delta);
            change(i, &mut row, &mut codeword, &mut delta);
            bytemuck::cast(row.add_masked(&codeword, &delta))
        });
        self.known.hash(&rows.collect::<Vec<_>>())
    }

    /// The values of an honest sender.
    pub fn right_values(&self) -> Vec<Block> {
        self.values(|_, _, _, _| ())
    }
}

/// Sends a list of whole values.
pub fn finish(mut values: Vec<Block>, channel: &mut Channel) -> Result<(), Error> {
    values.sort_unstable();
    let words = tag_list::Layout::new(values.len(), 128).encode(&values, |v| v.0);
    Ok(channel.send_slice("prty20/list", &words)?)
}

/// A code that gives wrong bits at some places, once: in the columns of the first 512 rows of a run.
pub struct Lying {
    code: Concatenated,
    /// Row and place of each flipped bit.
    flips: Vec<(usize, usize)>,
    told: AtomicBool,
}

impl Lying {
    /// Flips these places, each given by its row and its place in the codeword.
    pub fn new(flips: Vec<(usize, usize)>) -> Self {
        Self { code: Concatenated::new(), flips, told: AtomicBool::new(false) }
    }
}

impl LinearCode for Lying {
    type Row = Row;
    const DIMENSION: usize = <Concatenated as LinearCode>::DIMENSION;
    const WIDTH: usize = Concatenated::WIDTH;
    const DISTANCE: usize = Concatenated::DISTANCE;

    fn spread<const T: usize>(&self, bits: &[[Block; T]], places: &mut [[Block; T]]) {
        self.code.spread(bits, places);
        if !self.told.swap(true, Relaxed) {
            let flips = self.flips.iter();
            flips.for_each(|(row, place)| places[*place][row / 128] ^= Block(1 << (row % 128)));
        }
    }
}

/// A receiver that has sent its seed.
pub struct Receiving<V: Variant> {
    /// The agreed sizes.
    pub sizes: Sizes,
    /// The shape of the OKVS.
    pub shape: Shape,
    session: Block,
    seed: Block,
    extension: checked::Receiver<Lying>,
    variant: PhantomData<V>,
}

impl<V: Variant> Receiving<V> {
    /// Runs the steps up to the seed, with flipped bits in the columns as in [`Lying`].
    pub fn start(
        sets: &Sets,
        flips: Vec<(usize, usize)>,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<Self, Error> {
        let sizes = sets.sizes();
        hello_of_receiver(V::PROTOCOL, sizes.receiver, channel)?;
        let mut session = [Block::ZERO];
        channel.recv_slice("prty20/session", &mut session)?;
        let shape = V::shape(sizes.receiver);
        let extension = checked::Receiver::setup(Lying::new(flips), pieces(shape), channel, rng)?;
        let seed = Block::random(rng);
        channel.send_slice("prty20/seed", &[seed])?;
        let session = bound(session[0], channel);
        Ok(Self { sizes, shape, session, seed, extension, variant: PhantomData })
    }

    /// P for these items, which may be more than announced; `None` if there are too many.
    pub fn encode(&self, items: Items<'_>) -> Option<Vec<Block>> {
        // Rows depend on the shape, but not on the number of keys it is for.
        let shape = Shape { capacity: items.len(), ..self.shape };
        let known = Known::<V>::new(shape, self.session, self.seed, items);
        let mut columns = vec![Block::ZERO; shape.columns()];
        let (keys, words) = (&known.keys, known.words());
        let solved = known.okvs.encode_cluster(keys, &words, &mut columns, &mut Default::default());
        solved.ok().map(|()| columns)
    }

    /// h of the first of these items.
    pub fn word(&self, items: Items<'_>) -> Block {
        Known::<V>::new(self.shape, self.session, self.seed, items).words()[0]
    }

    /// Uses P, and returns how many of the `tried` items are on the list.
    pub fn finish(
        mut self,
        p: &[Block],
        tried: Items<'_>,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Result<usize, Error> {
        let t: Vec<Row> = self.extension.extend(p, channel)?.to_vec();
        self.extension.finish(channel, rng)?;
        let layout = tag_list::Layout::new(self.sizes.sender, 128);
        let mut words = vec![0u64; layout.encoded_words()];
        channel.recv_slice("prty20/list", &mut words)?;
        let list = layout.decode(words).and_then(|list| list.iter().collect());
        let list: HashSet<u128> = list.expect("an honest sender's list");
        let known = Known::<V>::new(self.shape, self.session, self.seed, tried);
        let values = known.hash(&known.decode(bytemuck::cast_slice(&t)));
        Ok(values.iter().filter(|value| list.contains(&value.0)).count())
    }

    /// Uses P, and answers the challenge with a chosen value.
    pub fn answer(
        mut self,
        p: &[Block],
        answer: impl FnOnce() -> Vec<Block>,
        channel: &mut Channel,
    ) -> Result<(), Error> {
        self.extension.extend(p, channel)?;
        // The masks: 41 rows in a chunk of 128.
        let masks = vec![Block::ZERO; Concatenated::WIDTH];
        channel.send_slice("extension/columns", &masks)?;
        channel.recv_slice("oos17/challenge", &mut [Block::ZERO])?;
        channel.send_slice("oos17/answer", &answer())?;
        channel.flush()?;
        Ok(channel.recv_into("prty20/list", &mut [0])?)
    }
}
