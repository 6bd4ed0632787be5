//! An oblivious programmable PRF (OPPRF) from any OPRF and any OKVS: Rindal and Schoppmann (EUROCRYPT 2021),
//! Figure 8, which is also the construction of Pinkas, Schneider, Tkachenko and Yanai (EUROCRYPT 2019). The
//! sender determines the values at points of its own; elsewhere they are pseudo-random.
//!
//! The sender has points y with values z of `len` bytes, the receiver has points x. An OPRF may have one
//! function for all points or, if it is *batched*, a function for each instance. In that case each point
//! belongs to an instance, with one point of the receiver per instance.
//!
//! - **O1.** S adds random points with random values up to the agreed number. The OPRF F: R learns F(x) at its
//!   points, S computes F(y).
//! - **O2.** S draws a seed, now that its points are fixed, and solves for the hint P with Decode(P, y) = z ⊕
//!   pad(F(y)), free columns random. S → R: the seed and P.
//! - **O3.** R: Decode(P, x) ⊕ pad(F(x)), which is z if x = y, in the same instance.
//!
//! pad(u) is π_j(u) ⊕ u for each 16 bytes j = 0, 1, … of a value, with π_j AES under keys from the seed. It
//! is one-way: knowing a part of z, and so of the pad, does not reveal F(y), from which the rest would
//! follow. If points are digests of 256 bits, the pad is BLAKE3 of F(y), y and j, keyed by the seed, and a key of the
//! hint's OKVS depends on all of y.
//!
//! **What each side learns.** Both know the agreed parameters: `len`, and the maximum number of points of
//! each side. Lengths of messages depend only on these. S learns nothing more, not even how many of its points
//! R has; and R learns only the values at its points, provided that:
//!
//! - *F(y) is pseudo-random for R at all programmed points y that it does not have*, taken together; each OPRF
//!   states how this is achieved.
//! - *The hint is uniform.* Then it reveals nothing about Y \ X: under uniform masks, independent rows and
//!   random free columns each P is equally likely ([`okvs`]). Columns left at zero would show which rows were
//!   solved.
//! - *The values that R can see look random to it*, taken together: the z at all points that are also R's.
//!   Otherwise R recognises at which of its points something was programmed. Random targets of a comparison
//!   satisfy this, and so does a payload under a one-time pad; an unmasked payload, or a value that two points
//!   of R share, does not.
//! - *Values are long enough for their use.* At a point that is not programmed, R gets any given value with
//!   probability 2^-(8·len). A caller that takes "equal to z" for "programmed" in N comparisons needs 8·len ≥
//!   λ + log N.
//!
//! **Against malicious parties,** with [`rs21::malicious`](crate::rs21::malicious) and values of 16 bytes or more:
//!
//! - *R* learns values at the points that the OPRF extracts from its messages, which may be more than it announced
//!   ([`effective_inputs`](vesica_params::effective_inputs) of the columns of its OKVS). Everywhere else F(y) is
//!   pseudo-random, and so is the pad.
//! - *S* may send any seed and hint. With them it commits itself to one function, Decode(P, x) ⊕ pad(F(x)), as it
//!   does not learn anything of R's points, and no check of R depends on them. Pads are values of a random oracle at
//!   (seed, F(x), x). So the function agrees with given pseudo-random values only at points whose pads S has computed,
//!   under any seeds, and at no more than `effective_inputs` of the hint's columns, which are more than the points
//!   that it announced. Rows should be [one-way](Shape::one_way), or over GF(2^128), for the same reason as R's.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::okvs::Shape;
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    declassify,
    hash::RowHash,
};
use vesica_structures::okvs::{self, ByteStrings, Free, PlacedKeys};
use zeroize::Zeroizing;

use crate::{Digests, Error, Values};

/// An OPRF as the basis of an OPPRF.
pub trait Oprf {
    /// The party that can evaluate the function everywhere, set up.
    type Sender;

    /// The party that learns it at its points, set up.
    type Receiver;

    /// Whether points are digests of 256 bits, and every operation involves all of them; points have only low halves
    /// otherwise.
    const LONG: bool = false;

    /// The label of the hint's seed.
    const SEED: &'static str = "opprf/seed";

    /// The label of the hint.
    const HINT: &'static str = "opprf/hint";

    /// F at the sender's points. `starts` gives for each instance where its points start, followed by their
    /// number; it is not used if there is one function for all points.
    ///
    /// # Errors
    /// Any error of the connection or the peer.
    fn at_senders_points(
        sender: Self::Sender,
        starts: &[u32],
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error>;

    /// F at the receiver's points, one for each instance if there are instances.
    ///
    /// # Errors
    /// Any error of the connection or the peer, and an error if points cannot be encoded.
    fn at_receivers_points(
        receiver: Self::Receiver,
        points: Digests<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error>;
}

/// The parameters of a hint on which both parties agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// Its OKVS, for as many points as are programmed.
    pub shape: Shape,
    /// Points that the sender programs, including those that it adds.
    pub programmed: usize,
    /// Bytes of a value, a multiple of [`ByteStrings::UNIT`].
    pub len: usize,
}

impl Hint {
    /// Payload bytes, all of them to the receiver, in addition to the OPRF's.
    pub fn bytes(self) -> usize {
        size_of::<Block>() + self.columns()
    }

    /// Bytes of all columns.
    fn columns(self) -> usize {
        self.shape.columns() * self.len
    }
}

/// The sender's side: programs each of `points`, which are distinct, with the `len` bytes at its position of
/// `values`. `starts` gives for each instance where its points start, followed by their number; it is empty if
/// there is one function for all. No point may be in two instances. Of short points only low halves count.
///
/// # Errors
/// Before anything is sent, [`Error::DuplicatePoint`] and [`Error::TooManyPoints`]; [`Error::Okvs`] with a
/// probability of at most 2^-λ; and errors of the OPRF.
///
/// # Panics
/// If `values` does not have `len` bytes for each point, or the OPRF takes longer points.
pub fn program<F: Oprf, O: ByteStrings>(
    oprf: F::Sender,
    hint: Hint,
    starts: &[u32],
    points: Digests<'_>,
    values: &[u8],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    // O1.
    let (padded, mut masked) = pad(cut::<F>(points), F::LONG, values, hint, rng)?;
    let points = padded.points();
    let mut starts = starts.to_vec();
    if let Some(end) = starts.last_mut() {
        // No real instance has the added points, so they may be attributed to any.
        *end = padded.low_halves.len() as u32;
    }
    let evaluated = F::at_senders_points(oprf, &starts, points, channel, rng)?;
    // O2.
    let seed = declassify(Block::random(rng));
    let public = Public::<O>::new(hint, seed, F::LONG);
    public.add_pads(points, evaluated, &mut masked);
    let columns = public.hint(points, &masked, Free::Random, rng)?;
    channel.send_slice(F::SEED, &[seed])?;
    channel.send(F::HINT, &columns)?;
    Ok(channel.flush()?)
}

/// The receiver's side: the `len` bytes at each of `points`, in their order.
///
/// # Errors
/// Errors of the OPRF.
///
/// # Panics
/// If the OPRF takes longer points.
pub fn evaluate<F: Oprf, O: ByteStrings>(
    oprf: F::Receiver,
    hint: Hint,
    points: Digests<'_>,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u8>, Error> {
    // O1.
    let points = cut::<F>(points);
    let evaluated = F::at_receivers_points(oprf, points, channel, rng)?;
    // O3.
    let mut seed = [Block::ZERO];
    channel.recv_slice(F::SEED, &mut seed)?;
    let mut columns = vec![0; hint.columns()];
    channel.recv_into(F::HINT, &mut columns)?;
    let public = Public::<O>::new(hint, seed[0], F::LONG);
    let mut values = public.decode(points, &columns);
    public.add_pads(points, evaluated, &mut values);
    Ok(values)
}

/// The part of each point that an OPRF takes.
fn cut<F: Oprf>(points: Digests<'_>) -> Digests<'_> {
    if !F::LONG {
        return points.low_halves.into();
    }
    assert_eq!(points.low_halves.len(), points.high_halves.len(), "a high half for each low half");
    points
}

/// A sender's points and those added to them.
struct PaddedPoints {
    low_halves: Vec<Block>,
    /// As many, or none.
    high_halves: Vec<Block>,
}

impl PaddedPoints {
    fn points(&self) -> Digests<'_> {
        Digests { low_halves: &self.low_halves, high_halves: &self.high_halves }
    }
}

/// Points and values up to the agreed number, with random ones after those given.
fn pad(
    points: Digests<'_>,
    long: bool,
    values: &[u8],
    Hint { programmed, len, .. }: Hint,
    rng: &mut dyn CryptoRng,
) -> Result<(PaddedPoints, Zeroizing<Vec<u8>>), Error> {
    let given = points.low_halves.len();
    assert_eq!(values.len(), given * len, "a value for each point");
    if given > programmed {
        return Err(Error::TooManyPoints { points: given, max: programmed });
    }
    check_distinct(points)?;
    let mut filled = |halves: &[Block], count: usize| {
        let mut all = Vec::with_capacity(count);
        all.extend_from_slice(halves);
        // Like points of its own, which decide where things are put.
        all.resize_with(count, || declassify(Block::random(rng)));
        all
    };
    let all = PaddedPoints {
        low_halves: filled(points.low_halves, programmed),
        high_halves: filled(points.high_halves, if long { programmed } else { 0 }),
    };
    let mut padded = Zeroizing::new(vec![0; programmed * len]);
    let (given, added) = padded.split_at_mut(values.len());
    given.copy_from_slice(values);
    rng.fill_bytes(added);
    Ok((all, padded))
}

fn check_distinct(points: Digests<'_>) -> Result<(), Error> {
    let mut sorted: Vec<(Block, usize)> = points.low_halves.iter().copied().zip(0..).collect();
    let high = |(_, position): &(Block, usize)| points.high_halves.get(*position);
    sorted.sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| high(a).cmp(&high(b))).then(a.1.cmp(&b.1))
    });
    let equal =
        |pair: &&[(Block, usize)]| pair[0].0 == pair[1].0 && high(&pair[0]) == high(&pair[1]);
    match sorted.windows(2).find(equal) {
        Some(pair) => Err(Error::DuplicatePoint { first: pair[0].1, second: pair[1].1 }),
        None => Ok(()),
    }
}

/// The purpose of the key by which the digests of long points become keys of the hint's OKVS; 0 is for the OKVS, and
/// 1, 2, … are for pads.
const OKVS_KEYS: Block = Block(u128::MAX);

/// The public data of a run, known once the hint's seed is drawn.
struct Public<O> {
    store: O,
    root: Aes128,
    len: usize,
    long: bool,
}

impl<O: ByteStrings> Public<O> {
    fn new(Hint { shape, len, .. }: Hint, seed: Block, long: bool) -> Self {
        let root = Aes128::new(seed);
        Self { store: O::new(shape, root.encrypt_block(Block::ZERO)), root, len, long }
    }

    fn place(&self, points: Digests<'_>) -> PlacedKeys {
        if !self.long {
            return self.store.place(points.low_halves);
        }
        let pi = CorrelationRobust::new(self.root.encrypt_block(OKVS_KEYS));
        self.store.place(&points.okvs_keys(&pi))
    }

    /// The hint under which points decode to values.
    fn hint(
        &self,
        points: Digests<'_>,
        values: &[u8],
        free: Free,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, okvs::Error> {
        self.store.encode_bytes(&self.place(points), values, self.len, free, rng)
    }

    /// The decoded value of each point, in the order of the points.
    fn decode(&self, points: Digests<'_>, hint: &[u8]) -> Vec<u8> {
        let placed = self.place(points);
        let decoded = self.store.decode_bytes(&placed, hint, self.len);
        let mut values = vec![0; decoded.len()];
        for (i, position) in placed.positions().iter().enumerate() {
            let position = *position as usize;
            values[position * self.len..][..self.len]
                .copy_from_slice(&decoded[i * self.len..][..self.len]);
        }
        values
    }

    /// Adds to the value of each point the pad derived from its OPRF value.
    fn add_pads(&self, points: Digests<'_>, evaluated: Values, values: &mut [u8]) {
        let (positions, evaluated) = (evaluated.positions, Zeroizing::new(evaluated.values));
        for (purpose, start) in (1..).zip((0..self.len).step_by(size_of::<Block>())) {
            let mut pads = evaluated.clone();
            if self.long {
                let hash = RowHash::new(self.root.encrypt_block(Block(1)));
                points.hash_at(&positions, &hash, purpose as u64, &mut pads);
            } else {
                CorrelationRobust::new(self.root.encrypt_block(Block(purpose))).apply(&mut pads);
            }
            for (position, pad) in positions.iter().zip(pads.iter()) {
                let value = &mut values[*position as usize * self.len..][start..self.len];
                value.iter_mut().zip(pad.to_bytes()).for_each(|(value, pad)| *value ^= pad);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_params::okvs;
    use vesica_structures::okvs::{Okvs, rr22::Rr22};

    use super::*;

    fn random(n: usize, rng: &mut StdRng) -> Vec<Block> {
        (0..n).map(|_| Block::random(rng)).collect()
    }

    fn of_len(programmed: usize, len: usize) -> Hint {
        Hint { shape: okvs::shape(programmed, usize::MAX, 40), programmed, len }
    }

    #[test]
    fn equal_points_are_refused_by_their_positions() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut points = random(100, &mut rng);
        points[71] = points[13];
        let mut refused = |points: Digests<'_>, programmed| {
            let values = vec![0; points.low_halves.len()];
            let long = !points.high_halves.is_empty();
            pad(points, long, &values, of_len(programmed, 1), &mut rng).err()
        };
        let equal = refused(points[..].into(), 100);
        assert!(
            matches!(equal, Some(Error::DuplicatePoint { first: 13, second: 71 })),
            "{equal:?}"
        );
        let many = refused(points[..60].into(), 59);
        assert!(matches!(many, Some(Error::TooManyPoints { points: 60, max: 59 })), "{many:?}");
        // Long points may share either half.
        let same = [Block(3); 100];
        let mut high_halves: Vec<Block> = (0..100).map(Block).collect();
        for low_halves in [&points[..], &same] {
            let distinct = refused(Digests { low_halves, high_halves: &high_halves }, 100);
            assert!(distinct.is_none(), "{distinct:?}");
        }
        high_halves[50] = high_halves[20];
        let equal = refused(Digests { low_halves: &same, high_halves: &high_halves }, 100);
        assert!(
            matches!(equal, Some(Error::DuplicatePoint { first: 20, second: 50 })),
            "{equal:?}"
        );
    }

    #[test]
    fn points_and_values_are_padded_with_random_ones() {
        let mut rng = StdRng::seed_from_u64(2);
        let points = random(10, &mut rng);
        let values = [7; 10 * 24];
        for (high_halves, long) in [(&[][..], false), (&points, true)] {
            let given = Digests { low_halves: &points, high_halves };
            let (all, padded) = pad(given, long, &values, of_len(200, 24), &mut rng).unwrap();
            assert_eq!((&all.low_halves[..10], &padded[..240]), (&points[..], &values[..]));
            assert_eq!(all.low_halves.iter().collect::<HashSet<_>>().len(), 200);
            assert_eq!(
                all.high_halves.iter().collect::<HashSet<_>>().len(),
                200 * usize::from(long)
            );
            assert_eq!(all.high_halves.get(..10).unwrap_or_default(), high_halves);
            assert_eq!(padded[240..].chunks(8).collect::<HashSet<_>>().len(), 190 * 3);
        }
    }

    /// All pads differ: for each 16 bytes of each value under each seed, and from the OPRF's value.
    #[test]
    fn pads_are_all_different() {
        let evaluated =
            || Values { positions: vec![2, 0, 1], values: [5, 6, 7].map(Block).to_vec() };
        let mut seen: HashSet<[u8; 16]> = [5, 6, 7].map(|u| Block(u).to_bytes()).into();
        for seed in [1, 2] {
            let public = Public::<Rr22>::new(of_len(3, 40), Block(seed), false);
            let points = [1, 2, 3].map(Block);
            let mut pads = [0; 120];
            public.add_pads(points[..].into(), evaluated(), &mut pads);
            for pad in pads.chunks(40) {
                seen.extend([&pad[..16], &pad[16..32], &pad[24..]].map(|part| {
                    let mut bytes = [0; 16];
                    bytes.copy_from_slice(part);
                    bytes
                }));
            }
            // In the order of the points; the pads of short values are prefixes of the pads of long ones.
            let mut short = [0; 24];
            let of_short = Public::<Rr22>::new(of_len(3, 8), Block(seed), false);
            of_short.add_pads(points[..].into(), evaluated(), &mut short);
            assert!(short.chunks(8).zip(pads.chunks(40)).all(|(short, pad)| *short == pad[..8]));
            let hash = CorrelationRobust::new(public.root.encrypt_block(Block(1)));
            let mut first = [Block(6)];
            hash.apply(&mut first);
            assert_eq!(pads[..16], first[0].to_bytes());
        }
        assert_eq!(seen.len(), 3 + 2 * 9);
    }

    /// The pads of long points depend on the OPRF's value, on each half of the point, on the seed and on the place in
    /// the value.
    #[test]
    fn pads_of_long_points_depend_on_all_of_them() {
        let mut seen = HashSet::new();
        let pad = |low, high, value, seed| {
            let mut pad = [0; 32];
            let public = Public::<Rr22>::new(of_len(1, 32), Block(seed), true);
            let points = Digests { low_halves: &[Block(low)], high_halves: &[Block(high)] };
            let evaluated = Values { positions: vec![0], values: vec![Block(value)] };
            public.add_pads(points, evaluated, &mut pad);
            pad
        };
        for changed in 0..5 {
            let [low, high, value, seed] = [0, 1, 2, 3].map(|i| 7 + u128::from(i == changed));
            pad(low, high, value, seed).chunks(16).for_each(|pad| {
                seen.insert(pad.to_vec());
            });
        }
        assert_eq!(seen.len(), 5 * 2);
    }

    /// Long points that share a half have rows of their own.
    #[test]
    fn rows_depend_on_whole_points() {
        let public = Public::<Rr22>::new(of_len(100, 16), Block(1), true);
        let (same, other) = ([Block(5); 100], random(100, &mut StdRng::seed_from_u64(4)));
        for (low_halves, high_halves) in [(&same[..], &other[..]), (&other, &same)] {
            let placed = public.place(Digests { low_halves, high_halves });
            assert_eq!(placed.all().iter().collect::<HashSet<_>>().len(), 100);
        }
    }

    /// χ² with 7 degrees of freedom of the joint distribution of the low bits of three of the hint's columns,
    /// over many hints for the same points and programmed values under fresh OPRF values; the maximum over a
    /// few triples of columns. The shape is so tight that rows are set aside.
    fn distance_from_uniform(free: Free) -> f64 {
        const TRIALS: usize = 4000;
        let rng = &mut StdRng::seed_from_u64(3);
        let (n, len) = (80, 17);
        let shape = Shape { sparse: 90, dense: 24, ..okvs::shape(n, usize::MAX, 40) };
        let public = Public::<Rr22>::new(Hint { shape, ..of_len(n, len) }, Block(11), false);
        let points = random(n, rng);
        let mut hint = || {
            let positions = (0..n as u32).collect();
            let mut masked = vec![0; n * len];
            let evaluated = Values { positions, values: random(n, rng) };
            public.add_pads(points[..].into(), evaluated, &mut masked);
            public.hint(points[..].into(), &masked, free, rng).unwrap()
        };
        let hints: Vec<Vec<u8>> = (0..TRIALS).map(|_| hint()).collect();
        let distance = |columns: [usize; 3]| {
            let mut counts = [0usize; 8];
            for hint in &hints {
                // Of the byte that forms a plane by itself.
                let bits = columns.map(|column| usize::from(hint[column * len + 16] & 1));
                counts[bits[0] | bits[1] << 1 | bits[2] << 2] += 1;
            }
            let expected = TRIALS as f64 / 8.0;
            counts.iter().map(|count| (*count as f64 - expected).powi(2) / expected).sum::<f64>()
        };
        let columns = public.store.columns();
        let triples = (0..300).map(|_| [(); 3].map(|()| rng.random_range(0..columns)));
        let distinct = triples.filter(|[a, b, c]| a != b && b != c && c != a);
        distinct.map(distance).fold(0.0, f64::max)
    }

    #[test]
    fn hints_are_uniform() {
        // Exceeded with probability 1.3 · 10^-6 for one triple, and 4 · 10^-4 for one of 300.
        const LIMIT: f64 = 40.0;
        let random = distance_from_uniform(Free::Random);
        assert!(random < LIMIT, "{random}");
        // Hints that leave zeros fail the same test by far.
        let zeros = distance_from_uniform(Free::Zero);
        assert!(zeros > 10.0 * LIMIT, "{zeros}");
    }
}
