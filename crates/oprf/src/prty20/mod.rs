//! The multi-point OPRF of Pinkas, Rosulek, Trieu and Yanai (EUROCRYPT 2020), §5, from an OT extension under
//! a linear code and an OKVS.
//!
//! C is a linear code of distance at least κ, and h maps points to words of it.
//!
//! - **O1.** Once, without input: the base OTs of the extension.
//! - **O2.** R draws the seed of the OKVS and of h, now that its points are fixed, and solves for P with Decode(P,
//!   x) = h(x). R → S: the seed.
//! - **O3.** The extension, with the entries of P as words: R has rows T, S has rows Q = T ⊕ (C(P) ∧ Δ), row by row.
//!   As decoding and C are linear, Decode(Q, y) = Decode(T, y) ⊕ (C(Decode(P, y)) ∧ Δ).
//! - **O4.** F(y) = H(Decode(Q, y) ⊕ (C(h(y)) ∧ Δ)) for any y; R has F(x) = H(Decode(T, x)).
//!
//! At a y that is not a point of R, at least κ bits of Δ remain in the hash's input, unless Decode(P, y)
//! happens to be h(y). The rows share Δ, so H must be robust against Hamming correlations: it is BLAKE3 over
//! the whole row.
//!
//! The parties are defined here; a [`Construction`] provides their components: [`SemiHonest`] or [`Malicious`].

mod malicious;
mod semi_honest;

use bytemuck::Zeroable;
use rand::CryptoRng;
use vesica_net::Channel;
use vesica_ot::{
    Bytes, ZeroizingVec,
    one_of_n::matrix::{self, Pieces, Receiver as _, Sender as _},
};
use vesica_params::{Adversary, okvs::Shape};
use vesica_primitives::{
    BinaryVector, Block,
    code::{Code as _, LinearCode, Row as _},
    declassify, threads,
};
use vesica_structures::okvs::{self, Codec};
use zeroize::DefaultIsZeroes;

use crate::{
    Digests, Error, Values,
    digests::{Part, Points},
};

pub use malicious::{CHECK, Checked, Malicious, WRONG_ROWS_PASS};
pub use semi_honest::{Oprf, SemiHonest};

/// Points per thread at a time.
const TASK_POINTS: usize = 4096;

const SEED: &str = "prty20/seed";

/// The components of the parties, and the hashes of an evaluation.
pub trait Construction: Send + Sync + Sized + 'static {
    /// Against whom the construction is secure.
    const ADVERSARY: Adversary;

    /// Bytes with which S influences the hashes.
    const SESSION_BYTES: usize;

    /// The code C.
    type Code: LinearCode + Default;

    /// A row of the matrix, as decoded by an OKVS: with as many blocks as a row of the code.
    type Element: BinaryVector + DefaultIsZeroes;

    /// The extension.
    type Sender: matrix::Sender<Self::Code>;

    /// The extension.
    type Receiver: matrix::Receiver<Self::Code>;

    /// At the beginning of step O1: S's contribution to the hashes.
    fn draw_session(channel: &mut Channel, rng: &mut dyn CryptoRng) -> vesica_net::Result<Block>;

    /// R's side of [`Construction::draw_session`].
    fn learn_session(channel: &mut Channel) -> vesica_net::Result<Block>;

    /// The hashes under a session of S and a seed of R.
    fn new(session: Block, seed: Block) -> Self;

    /// The seed of the OKVS.
    fn okvs_seed(&self) -> Block;

    /// The OKVS keys of points.
    fn okvs_keys(&self, points: Digests<'_>) -> Vec<Block>;

    /// h of points with these OKVS keys, and these high halves, if any.
    fn words(&self, keys: &[Block], high_halves: &[Block]) -> Vec<Block>;

    /// H of rows that belong to these points.
    fn hash(
        &self,
        rows: &[Self::Element],
        keys: &[Block],
        high_halves: &[Block],
        values: &mut [Block],
    );
}

type Row<M> = <<M as Construction>::Code as LinearCode>::Row;

/// A store for a construction.
pub trait Store<M: Construction>: Codec<Block> + Codec<M::Element> {}

impl<M: Construction, S: Codec<Block> + Codec<M::Element>> Store<M> for S {}

/// A cluster is a piece.
fn pieces(shape: Shape) -> Pieces {
    Pieces { count: shape.clusters, rows: shape.cluster_columns() }
}

/// Payload bytes of the setup.
pub fn setup_bytes<M: Construction>() -> Bytes {
    M::Sender::setup_bytes() + Bytes { to_sender: 0, to_receiver: M::SESSION_BYTES }
}

/// Payload bytes of an evaluation.
pub fn bytes<M: Construction>(shape: Shape) -> Bytes {
    M::Sender::bytes(pieces(shape)) + Bytes { to_sender: size_of::<Block>(), to_receiver: 0 }
}

/// The public data of a run: the OKVS and the hashes, derived from session and seed.
struct Public<M, O> {
    okvs: O,
    construction: M,
}

impl<M: Construction, O: Store<M>> Public<M, O> {
    fn new(shape: Shape, session: Block, seed: Block) -> Self {
        const { assert!(size_of::<M::Element>() == size_of::<Row<M>>(), "elements are rows") };
        let construction = M::new(session, seed);
        Self { okvs: O::new(shape, construction.okvs_seed()), construction }
    }

    fn place(&self, points: Digests<'_>) -> Points {
        Points::place(&self.okvs, &self.construction.okvs_keys(points), points)
    }

    /// Decodes `points` of one cluster in its `rows`, lets `change` modify the result, and hashes it.
    fn values(
        &self,
        points: Part<'_>,
        rows: &[Row<M>],
        change: impl Fn(Part<'_>, &mut [M::Element]) + Sync,
        values: &mut [Block],
    ) {
        let columns: &[M::Element] = bytemuck::cast_slice(rows);
        let tasks = points.chunks(TASK_POINTS).zip(values.chunks_mut(TASK_POINTS));
        threads::for_each(tasks, |(points, values)| {
            let mut decoded = ZeroizingVec::<M::Element>::zeros(points.keys.len());
            self.okvs.decode_cluster(points.keys, columns, &mut decoded);
            change(points, &mut decoded);
            self.construction.hash(&decoded, points.keys, points.high_halves, values);
        });
    }

    /// Fills `entries` with the entries of P that belong to the cluster of these points. Entries that no equation
    /// determines are 0: they are sent masked.
    fn encode(
        &self,
        Part { keys, high_halves }: Part<'_>,
        entries: &mut Vec<Block>,
        workspace: &mut O::Workspace,
    ) -> Result<(), okvs::Error> {
        entries.clear();
        entries.resize(self.okvs.cluster_columns(), Block::ZERO);
        self.okvs.encode_cluster(
            keys,
            &self.construction.words(keys, high_halves),
            entries,
            workspace,
        )
    }
}

/// The points of all clusters with their values.
fn into_values(points: Points, values: Vec<Block>) -> Values {
    Values { positions: points.keys.into_positions(), values }
}

/// The party that can evaluate the function everywhere.
pub struct Sender<M: Construction> {
    shape: Shape,
    session: Block,
    rows: M::Sender,
}

impl<M: Construction> Sender<M> {
    /// Step O1, with the receiver's shape.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let session = M::draw_session(channel, rng)?;
        let rows = M::Sender::setup(M::Code::default(), pieces(shape), channel, rng)?;
        Ok(Self { shape, session, rows })
    }

    /// Steps O2 to O4 for each of `points`, as the receiver's clusters come in.
    ///
    /// # Errors
    /// If the construction is [`Malicious`], a deviation ([`CHECK`]) if the receiver's rows do not belong to words.
    pub fn evaluate<O: Store<M>>(
        self,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Values> {
        // O2.
        let mut seed = [Block::ZERO];
        channel.recv_slice(SEED, &mut seed)?;
        let public = Public::<M, O>::new(self.shape, self.session, seed[0]);
        let points = public.place(points);
        // 3 and 4.
        let code = M::Code::default();
        let mut values = vec![Block::ZERO; points.keys.len()];
        let mut of_clusters = points.keys.cut(&mut values, 1).into_iter();
        self.rows.extend(channel, rng, |cluster, q, delta| {
            let unmask = |points: Part<'_>, rows: &mut [M::Element]| {
                let mut codewords = vec![Row::<M>::zeroed(); points.keys.len()];
                code.encode(
                    &public.construction.words(points.keys, points.high_halves),
                    &mut codewords,
                );
                let rows: &mut [Row<M>] = bytemuck::cast_slice_mut(rows);
                for (row, codeword) in rows.iter_mut().zip(&codewords) {
                    *row = row.add_masked(codeword, delta);
                }
            };
            let values = of_clusters.next().expect("values for each cluster");
            public.values(points.cluster(cluster), q, unmask, values);
        })?;
        Ok(into_values(points, values))
    }
}

/// The party that learns the function's values at its points.
pub struct Receiver<M: Construction> {
    shape: Shape,
    session: Block,
    rows: M::Receiver,
}

impl<M: Construction> Receiver<M> {
    /// Step O1 for points that fit the shape.
    pub fn setup(
        shape: Shape,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> vesica_net::Result<Self> {
        let session = M::learn_session(channel)?;
        let rows = M::Receiver::setup(M::Code::default(), pieces(shape), channel, rng)?;
        Ok(Self { shape, session, rows })
    }

    /// Steps O2 to O4: the value at each of `points`. Equal points have equal values, but too many of them
    /// overflow their cluster.
    ///
    /// # Errors
    /// [`Error::Okvs`], for distinct points with a probability of at most 2^-λ.
    pub fn evaluate<O: Store<M>>(
        mut self,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error> {
        // O2.
        let seed = declassify(Block::random(rng));
        channel.send_slice(SEED, &[seed])?;
        channel.flush()?;
        let public = Public::<M, O>::new(self.shape, self.session, seed);
        let points = public.place(points);
        // 3 and 4.
        let mut values = vec![Block::ZERO; points.keys.len()];
        let clusters: Vec<_> = points.keys.cut(&mut values, 1).into_iter().enumerate().collect();
        let mut clusters = clusters.into_iter();
        let mut entries = vec![Vec::new(); rayon::current_num_threads().min(clusters.len())];
        let mut workspaces: Vec<O::Workspace> =
            entries.iter().map(|_| O::Workspace::default()).collect();
        loop {
            // As many clusters as there are threads, because each thread solves one.
            let group: Vec<_> = clusters.by_ref().take(entries.len()).collect();
            if group.is_empty() {
                break;
            }
            let solved = group.iter().zip(&mut entries).zip(&mut workspaces);
            threads::try_for_each(solved, |(((cluster, _), entries), workspace)| {
                public.encode(points.cluster(*cluster), entries, workspace)
            })?;
            for ((cluster, values), entries) in group.into_iter().zip(&entries) {
                let t = self.rows.extend(entries, channel)?;
                public.values(points.cluster(cluster), t, |_, _| {}, values);
            }
        }
        self.rows.finish(channel, rng)?;
        Ok(into_values(points, values))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_net::transport::memory;
    use vesica_params::{KAPPA, LAMBDA, okvs::paxos};
    use vesica_structures::okvs::{paxos::Paxos, rr22::Rr22};

    use super::*;

    /// Low and high halves.
    type Set = [Vec<Block>; 2];

    fn blocks(range: std::ops::Range<u128>) -> Set {
        [range.clone().map(Block).collect(), range.map(|i| Block(i * i)).collect()]
    }

    fn digests([low_halves, high_halves]: &Set) -> Digests<'_> {
        Digests { low_halves, high_halves }
    }

    /// In the order of the points.
    fn sorted(values: Values) -> Vec<Block> {
        let mut sorted = vec![Block::ZERO; values.values.len()];
        let values = values.positions.into_iter().zip(values.values);
        values.for_each(|(position, value)| sorted[position as usize] = value);
        sorted
    }

    /// Values of the sender's points and of the receiver's.
    fn run<M: Construction, O: Store<M>>(
        shape: Shape,
        senders: &Set,
        receivers: &Set,
    ) -> [Vec<Block>; 2] {
        let (a, b) = memory::pair();
        let [mut a, mut b] = [a, b].map(Channel::new);
        thread::scope(|scope| {
            let sender = scope.spawn(move || {
                let rng = &mut StdRng::seed_from_u64(1);
                let sender = Sender::<M>::setup(shape, &mut a, rng).unwrap();
                sorted(sender.evaluate::<O>(digests(senders), &mut a, rng).unwrap())
            });
            let mut rng = StdRng::seed_from_u64(2);
            let receiver = Receiver::<M>::setup(shape, &mut b, &mut rng).unwrap();
            let values = receiver.evaluate::<O>(digests(receivers), &mut b, &mut rng).unwrap();
            [sender.join().unwrap(), sorted(values)]
        })
    }

    fn conforms<M: Construction, O: Store<M>>(shape: impl Fn(usize) -> Shape) {
        for n in [0, 1, 2, 63, 64, 65, 1000, 10_000] {
            let shared = (n / 3).min(400);
            let [senders, receivers] = [blocks(0..500), blocks(500 - shared..500 - shared + n)];
            let [theirs, mine] = run::<M, O>(shape(n as usize), &senders, &receivers);
            let shared = shared as usize;
            assert_eq!(theirs[500 - shared..], mine[..shared], "{n}");
            let mut all = [&theirs[..], &mine[shared..]].concat();
            all.sort_unstable();
            assert!(all.array_windows().all(|[a, b]| a != b), "{n}");
        }
    }

    #[test]
    fn shared_points_have_one_value_and_all_others_their_own() {
        conforms::<SemiHonest, Paxos>(|n| paxos(n, LAMBDA));
        conforms::<SemiHonest, Rr22>(|n| vesica_params::okvs::shape(n, usize::MAX, LAMBDA));
        conforms::<SemiHonest, Rr22>(|n| vesica_params::okvs::shape(n, 1 << 11, LAMBDA));
    }

    #[test]
    fn checked_points_have_one_value_and_all_others_their_own() {
        conforms::<Malicious, Rr22>(|n| vesica_params::okvs::shape(n, 1 << 11, LAMBDA));
    }

    /// Both halves of a point affect everything that is computed from it.
    #[test]
    fn points_that_share_a_half_have_values_of_their_own() {
        let [one, other, third] =
            [[7, 8], [7, 9], [6, 8]].map(|[h, t]| [vec![Block(h)], vec![Block(t)]]);
        let shape = vesica_params::okvs::shape(1, 1 << 11, LAMBDA);
        for receivers in [&one, &other, &third] {
            let senders = [vec![Block(7), Block(7), Block(6)], vec![Block(8), Block(9), Block(8)]];
            let [theirs, mine] = run::<Malicious, Rr22>(shape, &senders, receivers);
            let meet: Vec<bool> = theirs.iter().map(|value| *value == mine[0]).collect();
            assert_eq!(meet, [&one, &other, &third].map(|point| point == receivers));
        }
        let construction = <Malicious as Construction>::new(Block(1), Block(2));
        let of = |set: &Set| {
            let keys = construction.okvs_keys(digests(set));
            let mut value = [Block::ZERO];
            construction.hash(&[Default::default()], &keys, &set[1], &mut value);
            [keys[0], construction.words(&keys, &set[1])[0], value[0]]
        };
        let [one, other, third] = [&one, &other, &third].map(of);
        assert!((0..3).all(|i| one[i] != other[i] && one[i] != third[i] && other[i] != third[i]));
    }

    /// Every block of row and point, session and seed, affects the hash.
    #[test]
    fn every_input_of_the_checked_hash_matters() {
        let hash = |session, seed, row: [u64; 10], key, high| {
            let mut value = [Block::ZERO];
            let construction = <Malicious as Construction>::new(Block(session), Block(seed));
            construction.hash(
                &[vesica_primitives::Words(row)],
                &[Block(key)],
                &[Block(high)],
                &mut value,
            );
            value[0]
        };
        let here = hash(1, 2, [3; 10], 4, 5);
        assert_eq!(here, hash(1, 2, [3; 10], 4, 5));
        let changed =
            (0..10).map(|i| hash(1, 2, std::array::from_fn(|j| 3 + u64::from(i == j)), 4, 5));
        let mut all: Vec<Block> = changed.chain([here]).collect();
        all.extend([
            hash(0, 2, [3; 10], 4, 5),
            hash(1, 0, [3; 10], 4, 5),
            hash(1, 2, [3; 10], 0, 5),
            hash(1, 2, [3; 10], 4, 0),
        ]);
        all.sort_unstable();
        assert!(all.array_windows().all(|[a, b]| a != b));
    }

    /// The property that hides the value of a point that the receiver does not have: at least κ unknown bits of
    /// Δ.
    fn other_points_are_codewords_away<M: Construction>(width: f64)
    where
        Rr22: Store<M>,
    {
        let (n, okvs_shape) = (1000, vesica_params::okvs::shape(1000, usize::MAX, LAMBDA));
        let public = Public::<M, Rr22>::new(okvs_shape, Block(1), Block(3));
        let mut entries = Vec::new();
        let points = public.place(digests(&blocks(0..n)));
        public.encode(points.cluster(0), &mut entries, &mut Default::default()).unwrap();
        let distance = |of: &Set| {
            let points = public.place(digests(of));
            let Part { keys, high_halves } = points.cluster(0);
            let mut words = vec![Block::ZERO; keys.len()];
            public.okvs.decode_cluster(keys, &entries, &mut words);
            let own = public.construction.words(keys, high_halves);
            words.iter_mut().zip(own).for_each(|(word, own)| *word ^= own);
            let mut rows = vec![Row::<M>::zeroed(); keys.len()];
            M::Code::default().encode(&words, &mut rows);
            let weight = |row| {
                let row: &[Block] = bytemuck::cast_slice(std::slice::from_ref(row));
                row.iter().map(|b| b.0.count_ones()).sum::<u32>()
            };
            rows.iter().map(weight).collect::<Vec<_>>()
        };
        assert!(distance(&blocks(0..n)).iter().all(|weight| *weight == 0));
        let others = distance(&blocks(n..3 * n));
        assert!(others.iter().all(|weight| *weight >= KAPPA));
        let mean = f64::from(others.iter().sum::<u32>()) / others.len() as f64;
        assert!((mean - width / 2.0).abs() < 2.0, "{mean}: half of {width} places");
    }

    #[test]
    fn the_values_of_other_points_are_hidden() {
        other_points_are_codewords_away::<SemiHonest>(460.0);
        other_points_are_codewords_away::<Malicious>(579.0);
    }
}
