//! The multi-point OPRF of Rindal and Schoppmann (EUROCRYPT 2021), Figure 4, with the OKVS of
//! Raghuraman and Rindal (CCS 2022) and, after their §5, a VOLE whose short side is a subspace of
//! few bits. Semi-honest.
//!
//! The receiver has points x, the sender none yet. h maps points to `bits` bits.
//!
//! 1. Once, without input: a VOLE as long as the OKVS; R has a and c, S has Δ and b, c = a·Δ + b.
//! 2. R draws the OKVS seed, now that its points are fixed, and solves for P with
//!    Decode(P, x) = h(x). R → S: the seed and a + P, cluster by cluster.
//! 3. S takes k = b + Δ·(a + P) = c + Δ·P. As decoding is linear and binary,
//!    Decode(k, y) + Δ·h(y) = Decode(c, y) + Δ·(Decode(P, y) + h(y)).
//! 4. F(y) = H(Decode(k, y) + Δ·h(y)) for any y; R has F(x) = H(Decode(c, x)).
//!
//! At y that is no point of R, Δ is multiplied by something other than 0 unless Decode(P, y) happens
//! to be h(y), which has probability 2^-bits. H is π(u) ⊕ u for a random permutation π: AES under the
//! session's seed. R knows what multiplies Δ, so H has to stand correlations that are linear in Δ,
//! which it does in the ideal-permutation model as long as the u are not guessed.

use std::{marker::PhantomData, ops::Range};

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_ot::{
    CotReceiver, CotSender,
    vole::{Subspace, silent},
};
use vesica_params::{Adversary, lpn::Lpn, okvs::Shape};
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    packed::{pack, packed_len, unpack},
};
use vesica_structures::okvs::{
    self,
    rr22::{PlacedKeys, Rr22, Workspace},
};

use crate::Error;

/// Semi-honest: a receiver can encode more than it says, and h is short.
pub const ADVERSARY: Adversary = Adversary::weakest(&[silent::ADVERSARY, Adversary::SemiHonest]);

const SEED: &str = "rs21/seed";
const COLUMNS: &str = "rs21/columns";

/// Values of the function at some points, in an order of their own.
#[derive(Debug)]
pub struct Values {
    /// The position that each point has in the input.
    pub positions: Vec<u32>,
    /// Its value.
    pub values: Vec<Block>,
}

/// What both parties know: the OKVS and the hashes, from the seed.
struct Public<A> {
    okvs: Rr22,
    point_hash: Aes128,
    hash: CorrelationRobust,
    bits: u32,
    kind: PhantomData<A>,
}

impl<A: Subspace> Public<A> {
    fn new(shape: Shape, bits: u32, seed: Block) -> Self {
        let root = Aes128::new(seed);
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self {
            okvs: Rr22::new(shape, key(0)),
            point_hash: Aes128::new(key(1)),
            hash: CorrelationRobust::new(key(2)),
            bits,
            kind: PhantomData,
        }
    }

    /// h of each point.
    fn hash_points(&self, points: &[Block]) -> Vec<A> {
        let mut hashes = points.to_vec();
        self.point_hash.encrypt(&mut hashes);
        hashes.into_iter().map(|hash| A::truncate(hash, self.bits)).collect()
    }

    /// Clusters are handled in groups of as many as there are threads.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<A> {
        let (clusters, group) = (self.okvs.shape().clusters, rayon::current_num_threads());
        (0..clusters).step_by(group).map(move |first| first..(first + group).min(clusters))
    }

    /// The columns of one cluster among those of all.
    fn columns(&self, cluster: usize) -> Range<usize> {
        let width = self.okvs.shape().cluster_columns();
        cluster * width..(cluster + 1) * width
    }
}

/// The party that can evaluate the function everywhere. `A` holds the elements of the VOLE's short
/// side.
pub struct Sender<A> {
    shape: Shape,
    bits: u32,
    share: silent::SenderShare,
    kind: PhantomData<A>,
}

impl<A: Subspace> Sender<A> {
    /// Step 1, with the receiver's shape and number of bits.
    pub fn setup(
        shape: Shape,
        bits: u32,
        lpn: Lpn,
        cot: &mut impl CotSender,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let share = silent::send(shape.columns(), bits, lpn, cot, channel, rng)?;
        Ok(Self { shape, bits, share, kind: PhantomData })
    }

    /// Steps 3 and 4 for each of `points`, as the receiver's clusters come in.
    pub fn evaluate(self, points: &[Block], channel: &mut Channel) -> vesica_net::Result<Values> {
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let public = Public::<A>::new(self.shape, self.bits, seed[0]);
        let placed = public.okvs.place(points);
        let mut values = Vec::with_capacity(points.len());
        let width = self.shape.cluster_columns();
        let mut bytes = vec![0; packed_len(width, self.bits)];
        for group in public.groups() {
            let mut received = Vec::with_capacity(group.len());
            for _ in group.clone() {
                channel.recv_into(COLUMNS, &mut bytes)?;
                let columns = unpack(&bytes, width, self.bits);
                received.push(columns.map(|c| A::truncate(Block(c), self.bits)).collect());
            }
            let clusters = group.into_par_iter().zip(received);
            let decoded: Vec<Vec<Block>> = clusters
                .map(|(cluster, masked)| self.evaluate_cluster(&public, cluster, &placed, masked))
                .collect();
            decoded.iter().for_each(|decoded| values.extend_from_slice(decoded));
        }
        Ok(Values { positions: placed.into_positions(), values })
    }

    fn evaluate_cluster(
        &self,
        public: &Public<A>,
        cluster: usize,
        points: &PlacedKeys,
        masked: Vec<A>,
    ) -> Vec<Block> {
        // 3.
        let delta = self.share.delta.expose()[0];
        let mut k = self.share.b[public.columns(cluster)].to_vec();
        A::add_products(&mut k, &masked, delta);
        // 4.
        let mut values = public.okvs.decode_cluster(cluster, points, &k);
        A::add_products(&mut values, &public.hash_points(points.keys(cluster)), delta);
        public.hash.apply(&mut values);
        values
    }
}

/// What the receiver has made of one cluster.
struct Done {
    /// a + P, packed.
    masked: Vec<u8>,
    /// The values of its points.
    values: Vec<Block>,
}

/// The party that learns the function's values at its points.
pub struct Receiver<A: Subspace> {
    shape: Shape,
    bits: u32,
    share: silent::ReceiverShare<A>,
}

impl<A: Subspace> Receiver<A> {
    /// Step 1 for points that fit the shape.
    pub fn setup(
        shape: Shape,
        bits: u32,
        lpn: Lpn,
        cot: &mut impl CotReceiver,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let share = silent::receive(shape.columns(), bits, lpn, cot, channel, rng)?;
        Ok(Self { shape, bits, share })
    }

    /// Steps 2 and 4: the value at each of `points`, which must be distinct.
    ///
    /// # Errors
    /// [`Error::Okvs`] where two points are equal, or with a probability of at most 2^-λ.
    pub fn evaluate(
        self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        // 2.
        let seed = Block::random(rng);
        let public = Public::<A>::new(self.shape, self.bits, seed);
        channel.send_slice(SEED, &[seed])?;
        channel.flush()?;
        let placed = public.okvs.place(points);
        let mut values = Vec::with_capacity(points.len());
        let mut workspaces: Vec<Workspace> = Vec::new();
        for group in public.groups() {
            workspaces.resize_with(group.len(), Workspace::default);
            let clusters = group.into_par_iter().zip(&mut workspaces);
            let done: Result<Vec<Done>, okvs::Error> = clusters
                .map(|(cluster, workspace)| {
                    self.evaluate_cluster(&public, cluster, &placed, workspace)
                })
                .collect();
            for cluster in done? {
                channel.send(COLUMNS, &cluster.masked)?;
                values.extend_from_slice(&cluster.values);
            }
            channel.flush()?;
        }
        Ok(Values { positions: placed.into_positions(), values })
    }

    /// Steps 2 and 4 for one cluster.
    fn evaluate_cluster(
        &self,
        public: &Public<A>,
        cluster: usize,
        points: &PlacedKeys,
        workspace: &mut Workspace,
    ) -> Result<Done, okvs::Error> {
        // 2.
        let columns = public.columns(cluster);
        let hashes = public.hash_points(points.keys(cluster));
        let mut masked = vec![A::default(); columns.len()];
        public.okvs.encode_cluster(cluster, points, &hashes, &mut masked, workspace)?;
        masked.iter_mut().zip(&self.share.a[columns.clone()]).for_each(|(p, a)| *p ^= *a);
        let numbers = masked.iter().map(|number| number.embed().0);
        let packed = pack(numbers, masked.len(), self.bits);
        // 4.
        let mut values = public.okvs.decode_cluster(cluster, points, &self.share.c[columns]);
        public.hash.apply(&mut values);
        Ok(Done { masked: packed, values })
    }
}
