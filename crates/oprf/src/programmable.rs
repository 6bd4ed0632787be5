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
//! follow.
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

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_params::okvs::Shape;
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    declassify,
};
use vesica_structures::okvs::{self, ByteStrings, Free};
use zeroize::Zeroizing;

use crate::{Error, Values};

/// An OPRF as the basis of an OPPRF.
pub trait Oprf {
    /// The party that can evaluate the function everywhere, set up.
    type Sender;

    /// The party that learns it at its points, set up.
    type Receiver;

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
        points: &[Block],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values, Error>;

    /// F at the receiver's points, one for each instance if there are instances.
    ///
    /// # Errors
    /// Any error of the connection or the peer, and an error if points cannot be encoded.
    fn at_receivers_points(
        receiver: Self::Receiver,
        points: &[Block],
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
/// there is one function for all. No point may be in two instances.
///
/// # Errors
/// Before anything is sent, [`Error::DuplicatePoint`] and [`Error::TooManyPoints`]; [`Error::Okvs`] with a
/// probability of at most 2^-λ; and errors of the OPRF.
///
/// # Panics
/// If `values` does not have `len` bytes for each point.
pub fn program<F: Oprf, O: ByteStrings>(
    oprf: F::Sender,
    hint: Hint,
    starts: &[u32],
    points: &[Block],
    values: &[u8],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    // O1.
    let (points, mut masked) = pad(points, values, hint, rng)?;
    let mut starts = starts.to_vec();
    if let Some(end) = starts.last_mut() {
        // No real instance has the added points, so they may be attributed to any.
        *end = points.len() as u32;
    }
    let evaluated = F::at_senders_points(oprf, &starts, &points, channel, rng)?;
    // O2.
    let seed = declassify(Block::random(rng));
    let public = Public::<O>::new(hint, seed);
    public.add_pads(evaluated, &mut masked);
    let columns = public.hint(&points, &masked, Free::Random, rng)?;
    channel.send_slice(F::SEED, &[seed])?;
    channel.send(F::HINT, &columns)?;
    Ok(channel.flush()?)
}

/// The receiver's side: the `len` bytes at each of `points`, in their order.
///
/// # Errors
/// Errors of the OPRF.
pub fn evaluate<F: Oprf, O: ByteStrings>(
    oprf: F::Receiver,
    hint: Hint,
    points: &[Block],
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<u8>, Error> {
    // O1.
    let evaluated = F::at_receivers_points(oprf, points, channel, rng)?;
    // O3.
    let mut seed = [Block::ZERO];
    channel.recv_slice(F::SEED, &mut seed)?;
    let mut columns = vec![0; hint.columns()];
    channel.recv_into(F::HINT, &mut columns)?;
    let public = Public::<O>::new(hint, seed[0]);
    let mut values = public.decode(points, &columns);
    public.add_pads(evaluated, &mut values);
    Ok(values)
}

/// Points and values up to the agreed number, with random ones after those given.
fn pad(
    points: &[Block],
    values: &[u8],
    Hint { programmed, len, .. }: Hint,
    rng: &mut dyn CryptoRng,
) -> Result<(Vec<Block>, Zeroizing<Vec<u8>>), Error> {
    assert_eq!(values.len(), points.len() * len, "a value for each point");
    if points.len() > programmed {
        return Err(Error::TooManyPoints { points: points.len(), max: programmed });
    }
    check_distinct(points)?;
    let mut all = Vec::with_capacity(programmed);
    all.extend_from_slice(points);
    // Like points of its own, which decide where things are put.
    all.resize_with(programmed, || declassify(Block::random(rng)));
    let mut padded = Zeroizing::new(vec![0; programmed * len]);
    let (given, added) = padded.split_at_mut(values.len());
    given.copy_from_slice(values);
    rng.fill_bytes(added);
    Ok((all, padded))
}

fn check_distinct(points: &[Block]) -> Result<(), Error> {
    let mut sorted: Vec<(Block, usize)> = points.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(Error::DuplicatePoint { first: pair[0].1, second: pair[1].1 }),
        None => Ok(()),
    }
}

/// The public data of a run, known once the hint's seed is drawn.
struct Public<O> {
    store: O,
    root: Aes128,
    len: usize,
}

impl<O: ByteStrings> Public<O> {
    fn new(Hint { shape, len, .. }: Hint, seed: Block) -> Self {
        let root = Aes128::new(seed);
        Self { store: O::new(shape, root.encrypt_block(Block::ZERO)), root, len }
    }

    /// The hint under which points decode to values.
    fn hint(
        &self,
        points: &[Block],
        values: &[u8],
        free: Free,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u8>, okvs::Error> {
        self.store.encode_bytes(&self.store.place(points), values, self.len, free, rng)
    }

    /// The decoded value of each point, in the order of the points.
    fn decode(&self, points: &[Block], hint: &[u8]) -> Vec<u8> {
        let placed = self.store.place(points);
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
    fn add_pads(&self, evaluated: Values, values: &mut [u8]) {
        let (positions, evaluated) = (evaluated.positions, Zeroizing::new(evaluated.values));
        for (purpose, start) in (1..).zip((0..self.len).step_by(size_of::<Block>())) {
            let hash = CorrelationRobust::new(self.root.encrypt_block(Block(purpose)));
            let mut pads = evaluated.clone();
            hash.apply(&mut pads);
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
        let refused = pad(&points, &[0; 100], of_len(100, 1), &mut rng).unwrap_err();
        assert!(matches!(refused, Error::DuplicatePoint { first: 13, second: 71 }), "{refused}");
        let refused = pad(&points[..60], &[0; 60], of_len(59, 1), &mut rng).unwrap_err();
        assert!(matches!(refused, Error::TooManyPoints { points: 60, max: 59 }), "{refused}");
    }

    #[test]
    fn points_and_values_are_padded_with_random_ones() {
        let mut rng = StdRng::seed_from_u64(2);
        let points = random(10, &mut rng);
        let values = [7; 10 * 24];
        let (all, padded) = pad(&points, &values, of_len(200, 24), &mut rng).unwrap();
        assert_eq!((&all[..10], &padded[..240]), (&points[..], &values[..]));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 200);
        assert_eq!(padded[240..].chunks(8).collect::<HashSet<_>>().len(), 190 * 3);
    }

    /// All pads differ: for each 16 bytes of each value under each seed, and from the OPRF's value.
    #[test]
    fn pads_are_all_different() {
        let evaluated =
            || Values { positions: vec![2, 0, 1], values: [5, 6, 7].map(Block).to_vec() };
        let mut seen: HashSet<[u8; 16]> = [5, 6, 7].map(|u| Block(u).to_bytes()).into();
        for seed in [1, 2] {
            let public = Public::<Rr22>::new(of_len(3, 40), Block(seed));
            let mut pads = [0; 120];
            public.add_pads(evaluated(), &mut pads);
            for pad in pads.chunks(40) {
                seen.extend([&pad[..16], &pad[16..32], &pad[24..]].map(|part| {
                    let mut bytes = [0; 16];
                    bytes.copy_from_slice(part);
                    bytes
                }));
            }
            // In the order of the points; the pads of short values are prefixes of the pads of long ones.
            let mut short = [0; 24];
            Public::<Rr22>::new(of_len(3, 8), Block(seed)).add_pads(evaluated(), &mut short);
            assert!(short.chunks(8).zip(pads.chunks(40)).all(|(short, pad)| *short == pad[..8]));
            let hash = CorrelationRobust::new(public.root.encrypt_block(Block(1)));
            let mut first = [Block(6)];
            hash.apply(&mut first);
            assert_eq!(pads[..16], first[0].to_bytes());
        }
        assert_eq!(seen.len(), 3 + 2 * 9);
    }

    /// χ² with 7 degrees of freedom of the joint distribution of the low bits of three of the hint's columns,
    /// over many hints for the same points and programmed values under fresh OPRF values; the maximum over a
    /// few triples of columns. The shape is so tight that rows are set aside.
    fn distance_from_uniform(free: Free) -> f64 {
        const TRIALS: usize = 4000;
        let rng = &mut StdRng::seed_from_u64(3);
        let (n, len) = (80, 17);
        let shape = Shape { sparse: 90, dense: 24, ..okvs::shape(n, usize::MAX, 40) };
        let public = Public::<Rr22>::new(Hint { shape, ..of_len(n, len) }, Block(11));
        let points = random(n, rng);
        let mut hint = || {
            let positions = (0..n as u32).collect();
            let mut masked = vec![0; n * len];
            public.add_pads(Values { positions, values: random(n, rng) }, &mut masked);
            public.hint(&points, &masked, free, rng).unwrap()
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
