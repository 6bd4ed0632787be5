//! The multi-point OPRF of Pinkas, Rosulek, Trieu and Yanai (EUROCRYPT 2020), §5, from an OT extension
//! under a linear code and an OKVS. Semi-honest.
//!
//! C is a linear code of distance κ or more, and h maps points to words of it.
//!
//! 1. Once, without input: the base OTs of the extension.
//! 2. R draws the seed of the OKVS and of h, now that its points are fixed, and solves for P with
//!    Decode(P, x) = h(x). R → S: the seed.
//! 3. The extension, with the entries of P for words: R has rows T, S has rows Q = T ⊕ (C(P) ∧ Δ), row by
//!    row. As decoding and C are linear, Decode(Q, y) = Decode(T, y) ⊕ (C(Decode(P, y)) ∧ Δ).
//! 4. F(y) = H(Decode(Q, y) ⊕ (C(h(y)) ∧ Δ)) for any y; R has F(x) = H(Decode(T, x)).
//!
//! At a y that is no point of R, κ or more bits of Δ remain in what is hashed, unless Decode(P, y) happens
//! to be h(y). As h is independent of what gives rows, that has probability 2^-bits for words of as many
//! bits, and λ + log n_y bits will do (as in [`rs21::semi_honest`](crate::rs21::semi_honest)). The rows share
//! Δ, so H must stand Hamming correlations: it is BLAKE3 over the whole row, keyed by the session.
//!
//! The words of [`Code`] are long enough for 2^28 points of S, and its codewords, 460 bits, are what one
//! compression of H takes.

use bytemuck::Zeroable;
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_ot::{
    Bytes, Wiped,
    one_of_n::matrix::{self, Receiver as Rows, Sender as MaskedRows},
};
use vesica_params::okvs::Shape;
use vesica_primitives::{
    Block, Words,
    aes::Aes128,
    code::{Code as _, LinearCode, Row as _, ShortBch},
    hash::{IndexedRow, RowHash},
};
use vesica_structures::okvs::{self, Codec, PlacedKeys};

use crate::{Error, Values};

pub use vesica_ot::one_of_n::matrix::ADVERSARY;

/// The code C.
pub type Code = ShortBch;

/// A row of the matrix, as the extension has it and as an OKVS decodes it.
type Row = [Block; 4];
type Element = Words<8>;

/// Points that one thread takes at a time.
const TASK_POINTS: usize = 4096;

/// Rows that are hashed together.
const HASH_BATCH: usize = 32;

const SEED: &str = "prty20/seed";

/// A store that rows can be decoded in.
pub trait Store: Codec<Block> + Codec<Element> {}

impl<S: Codec<Block> + Codec<Element>> Store for S {}

/// Payload bytes of the setup.
pub fn setup_bytes() -> Bytes {
    matrix::setup_bytes::<Code>()
}

/// Payload bytes of an evaluation, all of them to the sender.
pub fn bytes(shape: Shape) -> usize {
    size_of::<Block>() + shape.clusters * matrix::bytes::<Code>(shape.cluster_columns())
}

/// What both parties know: the OKVS and the hashes, from the seed.
struct Public<O> {
    okvs: O,
    point_hash: Aes128,
    hash: RowHash,
}

impl<O: Store> Public<O> {
    fn new(shape: Shape, seed: Block) -> Self {
        let root = Aes128::new(seed);
        let key = |purpose| root.encrypt_block(Block(purpose));
        Self {
            okvs: O::new(shape, key(0)),
            point_hash: Aes128::new(key(1)),
            hash: RowHash::new(key(2)),
        }
    }

    /// h of some points.
    fn words(&self, points: &[Block]) -> Vec<Block> {
        let mut words = points.to_vec();
        self.point_hash.encrypt(&mut words);
        words.iter_mut().for_each(|word| word.0 >>= 128 - <Code as LinearCode>::DIMENSION);
        words
    }

    /// Decodes `points` of one cluster in its `rows`, lets `change` do what it will with what comes out,
    /// and hashes that.
    fn values(
        &self,
        points: &[Block],
        rows: &[Row],
        change: impl Fn(&[Block], &mut [Element]) + Sync,
        values: &mut [Block],
    ) {
        let columns: &[Element] = bytemuck::cast_slice(rows);
        let tasks = points.par_chunks(TASK_POINTS).zip(values.par_chunks_mut(TASK_POINTS));
        tasks.for_each(|(points, values)| {
            let mut decoded = Wiped::<Element>::zeros(points.len());
            self.okvs.decode_cluster(points, columns, &mut decoded);
            change(points, &mut decoded);
            let mut indexed = [IndexedRow::default(); HASH_BATCH];
            for (decoded, values) in decoded.chunks(HASH_BATCH).zip(values.chunks_mut(HASH_BATCH)) {
                let inputs = indexed.iter_mut().zip(decoded);
                inputs.for_each(|(to, row)| *to = IndexedRow::new(0, &bytemuck::cast(*row)));
                self.hash.hash(&indexed[..decoded.len()], values);
            }
        });
    }

    /// Room for the rows of a cluster.
    fn rows(&self) -> Wiped<Block> {
        Wiped::zeros(self.okvs.cluster_columns() * Row::BLOCKS)
    }
}

/// Points by cluster and the values that they get.
fn into_values(points: PlacedKeys, values: Vec<Block>) -> Values {
    Values { positions: points.into_positions(), values }
}

/// The party that can evaluate the function everywhere.
pub struct Sender {
    shape: Shape,
    rows: MaskedRows<Code>,
}

impl Sender {
    /// Step 1, with the receiver's shape.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        Ok(Self { shape, rows: MaskedRows::setup(channel, rng)? })
    }

    /// Steps 2 to 4 for each of `points`, as the receiver's clusters come in.
    pub fn evaluate<O: Store>(
        mut self,
        points: &[Block],
        channel: &mut Channel,
    ) -> vesica_net::Result<Values> {
        // 2.
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let public = Public::<O>::new(self.shape, seed[0]);
        let points = public.okvs.place(points);
        // 3 and 4.
        let code = Code::new();
        let mut q = public.rows();
        let mut values = vec![Block::ZERO; points.len()];
        for (cluster, values) in points.cut(&mut values, 1).into_iter().enumerate() {
            let q: &mut [Row] = bytemuck::cast_slice_mut(&mut q);
            self.rows.extend(q, channel)?;
            let delta = self.rows.delta();
            let unmask = |points: &[Block], rows: &mut [Element]| {
                let mut codewords = vec![Row::zeroed(); points.len()];
                code.encode(&public.words(points), &mut codewords);
                for (row, codeword) in rows.iter_mut().zip(&codewords) {
                    let sum: Row = bytemuck::cast(*row);
                    *row = bytemuck::cast(sum.add_masked(codeword, delta));
                }
            };
            public.values(points.keys(cluster), q, unmask, values);
        }
        Ok(into_values(points, values))
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver {
    shape: Shape,
    rows: Rows<Code>,
}

impl Receiver {
    /// Step 1 for points that fit the shape.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        Ok(Self { shape, rows: Rows::setup(Code::new(), channel, rng)? })
    }

    /// Steps 2 to 4: the value at each of `points`. Equal points have equal values, but too many of
    /// them overflow their cluster.
    ///
    /// # Errors
    /// [`Error::Okvs`], for distinct points with a probability of at most 2^-λ.
    pub fn evaluate<O: Store>(
        mut self,
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        // 2.
        let seed = Block::random(rng);
        channel.send_slice(SEED, &[seed])?;
        channel.flush()?;
        let public = Public::<O>::new(self.shape, seed);
        let points = public.okvs.place(points);
        // 3 and 4.
        let mut t = public.rows();
        let mut values = vec![Block::ZERO; points.len()];
        let clusters: Vec<_> = points.cut(&mut values, 1).into_iter().enumerate().collect();
        let mut clusters = clusters.into_iter();
        let mut entries = vec![Vec::new(); rayon::current_num_threads().min(clusters.len())];
        let mut workspaces: Vec<O::Workspace> =
            entries.iter().map(|_| O::Workspace::default()).collect();
        loop {
            // As many clusters as there are threads, for each takes one to solve.
            let group: Vec<_> = clusters.by_ref().take(entries.len()).collect();
            if group.is_empty() {
                return Ok(into_values(points, values));
            }
            let solved = group.par_iter().zip(&mut entries).zip(&mut workspaces);
            solved.try_for_each(|(((cluster, _), entries), workspace)| {
                encode(&public, points.keys(*cluster), entries, workspace)
            })?;
            for ((cluster, values), entries) in group.into_iter().zip(&entries) {
                let t: &mut [Row] = bytemuck::cast_slice_mut(&mut t);
                self.rows.extend(entries, t, channel)?;
                public.values(points.keys(cluster), t, |_, _| {}, values);
            }
        }
    }
}

/// Fills `entries` with those of P that belong to the cluster of these points. Those that no equation
/// determines are 0: they travel under a mask.
fn encode<O: Store>(
    public: &Public<O>,
    points: &[Block],
    entries: &mut Vec<Block>,
    workspace: &mut O::Workspace,
) -> Result<(), okvs::Error> {
    entries.clear();
    entries.resize(public.okvs.cluster_columns(), Block::ZERO);
    public.okvs.encode_cluster(points, &public.words(points), entries, workspace)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::transport::memory;
    use vesica_params::{KAPPA, LAMBDA, okvs::paxos};
    use vesica_structures::okvs::{Okvs, paxos::Paxos, rr22::Rr22};

    use super::*;

    fn blocks(range: std::ops::Range<u128>) -> Vec<Block> {
        range.map(Block).collect()
    }

    /// In the order of the points.
    fn sorted(values: Values) -> Vec<Block> {
        let mut sorted = vec![Block::ZERO; values.values.len()];
        let values = values.positions.into_iter().zip(values.values);
        values.for_each(|(position, value)| sorted[position as usize] = value);
        sorted
    }

    /// Values of the sender's points and of the receiver's.
    fn run<O: Store>(shape: Shape, senders: &[Block], receivers: &[Block]) -> [Vec<Block>; 2] {
        let (a, b) = memory::pair();
        let [mut a, mut b] = [a, b].map(Channel::new);
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let sender = Sender::setup(shape, &mut a, &mut StdRng::seed_from_u64(1)).unwrap();
                sorted(sender.evaluate::<O>(senders, &mut a).unwrap())
            });
            let mut rng = StdRng::seed_from_u64(2);
            let receiver = Receiver::setup(shape, &mut b, &mut rng).unwrap();
            let values = receiver.evaluate::<O>(receivers, &mut b, &mut rng).unwrap();
            [sender.join().unwrap(), sorted(values)]
        })
    }

    fn conforms<O: Store>(shape: impl Fn(usize) -> Shape) {
        for n in [0, 1, 2, 63, 64, 65, 1000, 10_000] {
            let shared = (n / 3).min(400);
            let [senders, receivers] = [blocks(0..500), blocks(500 - shared..500 - shared + n)];
            let [theirs, mine] = run::<O>(shape(n as usize), &senders, &receivers);
            let shared = shared as usize;
            assert_eq!(theirs[500 - shared..], mine[..shared], "{n}");
            let mut all = [&theirs[..], &mine[shared..]].concat();
            all.sort_unstable();
            assert!(all.array_windows().all(|[a, b]| a != b), "{n}");
        }
    }

    #[test]
    fn shared_points_have_one_value_and_all_others_their_own() {
        conforms::<Paxos>(|n| paxos(n, LAMBDA));
        conforms::<Rr22>(|n| vesica_params::okvs::shape(n, usize::MAX, LAMBDA));
        conforms::<Rr22>(|n| vesica_params::okvs::shape(n, 1 << 11, LAMBDA));
    }

    /// What hides the value of a point that the receiver has not: bits of Δ at κ places and more.
    #[test]
    fn other_points_are_codewords_away() {
        let (n, okvs_shape) = (1000, vesica_params::okvs::shape(1000, usize::MAX, LAMBDA));
        let public = Public::<Rr22>::new(okvs_shape, Block(3));
        let points = public.okvs.place(&blocks(0..n));
        let mut entries = Vec::new();
        encode(&public, points.keys(0), &mut entries, &mut Default::default()).unwrap();
        let distance = |of: &[Block]| {
            let mut words = vec![Block::ZERO; of.len()];
            public.okvs.decode_cluster(of, &entries, &mut words);
            words.iter_mut().zip(public.words(of)).for_each(|(word, own)| *word ^= own);
            let mut rows = vec![Row::zeroed(); of.len()];
            Code::new().encode(&words, &mut rows);
            let weights = rows.iter().map(|row| row.iter().map(|b| b.0.count_ones()).sum::<u32>());
            weights.collect::<Vec<_>>()
        };
        assert!(distance(&blocks(0..n)).iter().all(|weight| *weight == 0));
        let others = distance(&blocks(n..3 * n));
        assert!(others.iter().all(|weight| *weight >= KAPPA));
        let mean = f64::from(others.iter().sum::<u32>()) / others.len() as f64;
        assert!((mean - 230.0).abs() < 2.0, "{mean}: half of 460 places");
    }
}
