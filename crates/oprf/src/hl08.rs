//! The pseudo-random function of Naor and Reingold (FOCS 1997), made oblivious by OT as in Hazay and Lindell
//! (TCC 2008), §5, without their additions against malicious parties. Semi-honest.
//!
//! The key is a_0, …, a_σ, uniform modulo the group's order q. Only σ bits of a point count: F(x) = H((a_0 ·
//! ∏ a_i^{x_i}) · G).
//!
//! - **O1.** Offline: correlated OT of random choices ([`precomputed`] over [`alsz13`]).
//! - **O2.** R → S: for each point x, the corrections that turn σ of those choices into the bits of x; the result is
//!   random OTs of keys (k_i^0, k_i^1).
//! - **O3.** S: r_i is the residue of the stream of k_i^0. S → R: r_i · a_i, masked by the stream of k_i^1, for each
//!   bit; and B = (a_0 / ∏ r_i) · G.
//! - **O4.** R has v_i = r_i · a_i^{x_i} and computes (∏ v_i) · B, which is hashed.
//!
//! The r_i are uniform, except for 2^-128, and used once, so the v_i are uniform and independent of the key,
//! and B is the only element that leads from them to the function's value. That other values look random
//! follows from the decisional Diffie–Hellman assumption in the group.
//!
//! In the paper S sends both messages of an OT, r_i and r_i · a_i. Here the first one comes out of the OT
//! itself, which halves the bytes.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::{Channel, Result};
use vesica_ot::{
    Bytes, CotReceiver, CotSender,
    extension::{alsz13, precomputed},
};
use vesica_params::Adversary;
use vesica_primitives::{
    Bits, Block, Seed,
    aes::Prg,
    group::{Group, Scalars},
    hash::truncate,
    threads,
};
use zeroize::Zeroizing;

/// Semi-honest: nothing binds S to one key, or R's bits to a point.
pub const ADVERSARY: Adversary = Adversary::weakest(&[alsz13::ADVERSARY, Adversary::SemiHonest]);

const FACTORS: &str = "hl08/factors";
const BASES: &str = "hl08/bases";

/// The maximal number of OTs made offline: 64 MiB for each party. Any others are made when they are needed.
const AHEAD: usize = 1 << 22;

/// Points that R requests at once: a power of two and at least 128, so that their bits are whole blocks.
const CHUNK: usize = 1024;

/// Approximate number of bytes that S computes and sends at once.
const MESSAGE_BYTES: usize = 1 << 18;

/// Points per thread at a time: batch encoding gains little from more.
const TASK: usize = 16;

/// Payload bytes of the setup.
pub fn setup_bytes(bits: usize, points: usize) -> Bytes {
    alsz13::setup_bytes() + alsz13::bytes(ahead(bits, points))
}

/// Payload bytes of the evaluation.
pub fn bytes<G: Scalars>(bits: usize, points: usize) -> Bytes {
    let ots = bits * points;
    let of_point = bits * size_of::<G::EncodedScalar>() + size_of::<G::Encoded>();
    let sent = Bytes { to_sender: 0, to_receiver: points * of_point };
    precomputed::bytes(ots) + alsz13::bytes(ots - ahead(bits, points)) + sent
}

fn ahead(bits: usize, points: usize) -> usize {
    AHEAD.min(bits * points)
}

/// Points in one message of S.
fn per_message<G: Scalars>(bits: usize) -> usize {
    (MESSAGE_BYTES / (bits * size_of::<G::EncodedScalar>())).max(1)
}

/// The stream of an OT's key.
fn stream<G: Scalars>(key: Block) -> Zeroizing<G::WideScalar> {
    let mut blocks =
        Zeroizing::new(vec![Block::ZERO; size_of::<G::WideScalar>().div_ceil(size_of::<Block>())]);
    Prg::new(&Seed::new(key)).fill(&mut blocks);
    let mut stream = Zeroizing::new(G::WideScalar::zeroed());
    let bytes = bytemuck::bytes_of_mut(&mut *stream);
    bytes.copy_from_slice(&bytemuck::cast_slice(&blocks)[..bytes.len()]);
    stream
}

/// The values of elements that are given as parts, in the sense of [`Group::divide`].
///
/// [`Group::divide`]: vesica_primitives::group::Group::divide
fn values<G: Scalars>(parts: &[G::Element]) -> Vec<Block> {
    let value = |encoded: &G::Encoded| {
        let mut hasher = blake3::Hasher::new_derive_key("vesica hl08 value v1");
        truncate(&hasher.update(bytemuck::bytes_of(encoded)).finalize())
    };
    G::encode_multiples(parts).iter().map(value).collect()
}

/// The party that can evaluate the function everywhere.
pub struct Sender<G: Scalars> {
    ot: precomputed::Sender<alsz13::Sender>,
    /// a_0.
    first: Zeroizing<G::Scalar>,
    /// The other a_i.
    factors: Zeroizing<Vec<G::Scalar>>,
}

impl<G: Scalars> Sender<G> {
    /// Step O1 for as many `points` of R and `bits` of each, from 1 to 128, and a key.
    pub fn setup(
        bits: usize,
        points: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut ot = precomputed::Sender::new(alsz13::Sender::setup(channel, rng)?);
        ot.prepare(ahead(bits, points), channel)?;
        let first = Zeroizing::new(G::uniform_scalar(rng));
        let factors = (0..bits).map(|_| G::uniform_scalar(rng)).collect();
        Ok(Self { ot, first, factors: Zeroizing::new(factors) })
    }

    /// Lets R evaluate the function at this many `points`.
    pub fn serve(&mut self, points: usize, channel: &mut Channel) -> Result<()> {
        let bits = self.factors.len();
        let mut served = 0;
        while served < points {
            let count = CHUNK.min(points - served);
            // O2.
            let keys = Zeroizing::new(self.ot.send_random(count * bits, channel)?);
            // O3.
            for keys in keys.chunks(per_message::<G>(bits) * bits) {
                let mut masked = vec![G::EncodedScalar::zeroed(); keys.len()];
                let points = masked.par_chunks_mut(bits).zip(keys.par_chunks(bits));
                let parts: Vec<_> = points.map(|(masked, keys)| self.blind(keys, masked)).collect();
                channel.send_slice(FACTORS, &masked)?;
                channel.send_slice(BASES, &G::encode_multiples(&parts))?;
            }
            channel.flush()?;
            served += count;
        }
        Ok(())
    }

    /// Step O3 for one point: masks the r_i · a_i, and returns B divided.
    fn blind(&self, keys: &[[Block; 2]], masked: &mut [G::EncodedScalar]) -> G::Element {
        let mut product: Option<Zeroizing<G::Scalar>> = None;
        for (([zero, one], factor), masked) in keys.iter().zip(&*self.factors).zip(masked) {
            let r = Zeroizing::new(G::reduce(&stream::<G>(*zero)));
            *masked = G::encode_scalar(&Zeroizing::new(G::multiply_scalars(&r, factor)));
            let mask = stream::<G>(*one);
            let bytes = bytemuck::bytes_of_mut(masked).iter_mut();
            bytes.zip(bytemuck::bytes_of(&*mask)).for_each(|(byte, mask)| *byte ^= mask);
            product = Some(match product {
                Some(product) => Zeroizing::new(G::multiply_scalars(&product, &r)),
                None => r,
            });
        }
        let inverse = product.map(|product| Zeroizing::new(G::invert(&product)));
        let exponent = match inverse {
            Some(inverse) => Zeroizing::new(G::multiply_scalars(&self.first, &inverse)),
            None => self.first.clone(),
        };
        G::mul_generator(&Zeroizing::new(G::divide(&exponent)))
    }

    /// The values of these points.
    pub fn evaluate(&self, points: &[Block]) -> Vec<Block> {
        let of_points = |points: &[Block]| {
            let parts: Vec<_> = points.iter().map(|point| self.part(*point)).collect();
            values::<G>(&parts)
        };
        threads::map(points.chunks(TASK), of_points).concat()
    }

    /// The element that is hashed to a point's value, divided.
    fn part(&self, point: Block) -> G::Element {
        let mut exponent = self.first.clone();
        for (i, factor) in self.factors.iter().enumerate() {
            let product = Zeroizing::new(G::multiply_scalars(&exponent, factor));
            *exponent = G::select_scalar(&exponent, &product, bit(point, i).into());
        }
        G::mul_generator(&Zeroizing::new(G::divide(&exponent)))
    }
}

/// The i-th bit of a point.
fn bit(point: Block, i: usize) -> u8 {
    (point.0 >> i & 1) as u8
}

/// The party that learns the values at its points.
pub struct Receiver<G> {
    bits: usize,
    ot: precomputed::Receiver<alsz13::Receiver>,
    group: PhantomData<G>,
}

/// ∏ v_i and B.
type Blinded<G> = (Zeroizing<<G as Group>::Scalar>, <G as Group>::Element);

impl<G: Scalars> Receiver<G> {
    /// Step O1; see [`Sender::setup`].
    pub fn setup(
        bits: usize,
        points: usize,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let mut ot = precomputed::Receiver::new(alsz13::Receiver::setup(channel, rng)?, rng);
        ot.prepare(ahead(bits, points), channel)?;
        Ok(Self { bits, ot, group: PhantomData })
    }

    /// Evaluates the function at these points. Only the low bits of a point count.
    pub fn evaluate(&mut self, points: &[Block], channel: &mut Channel) -> Result<Vec<Block>> {
        let mut values = Vec::with_capacity(points.len());
        let mut blinded = Vec::new();
        for points in points.chunks(CHUNK) {
            // O2.
            let mut choices = Bits::zeros(points.len() * self.bits);
            for (j, point) in points.iter().enumerate() {
                (0..self.bits).for_each(|i| choices.set(j * self.bits + i, bit(*point, i)));
            }
            let keys = Zeroizing::new(self.ot.receive_random(&choices, channel)?);
            // O4. for the previous points, while S is at step O3 for these.
            unblind::<G>(&blinded, &mut values, channel)?;
            blinded.clear();
            let messages = points.chunks(per_message::<G>(self.bits));
            for (points, keys) in messages.zip(keys.chunks(per_message::<G>(self.bits) * self.bits))
            {
                blinded.extend(self.recv_blinded(points, keys, channel)?);
            }
        }
        unblind::<G>(&blinded, &mut values, channel)?;
        Ok(values)
    }

    /// One message of step O3.
    fn recv_blinded(
        &self,
        points: &[Block],
        keys: &[Block],
        channel: &mut Channel,
    ) -> Result<Vec<Blinded<G>>> {
        let mut masked = vec![G::EncodedScalar::zeroed(); keys.len()];
        channel.recv_slice(FACTORS, &mut masked)?;
        let mut bases = vec![G::Encoded::zeroed(); points.len()];
        channel.recv_slice(BASES, &mut bases)?;
        let of_points = masked.par_chunks(self.bits).zip(keys.par_chunks(self.bits));
        let blinded: Option<Vec<_>> = points
            .par_iter()
            .zip(of_points)
            .zip(&bases)
            .map(|((point, (masked, keys)), base)| {
                let keys = keys.iter().enumerate().zip(masked);
                let values = keys
                    .map(|((i, key), masked)| chosen::<G>(*key, masked, bit(*point, i)))
                    .map(Zeroizing::new);
                let product = values.reduce(|a, b| Zeroizing::new(G::multiply_scalars(&a, &b)))?;
                Some((product, G::decode(base)?))
            })
            .collect();
        blinded.ok_or_else(|| channel.malformed(BASES, "not a group element"))
    }
}

/// v_i: the residue of the key's stream, or the value that the stream masks. Everything has a residue, so no error
/// reveals which it was.
fn chosen<G: Scalars>(key: Block, masked: &G::EncodedScalar, choice: u8) -> G::Scalar {
    let mut wide = stream::<G>(key);
    let (low, high) =
        bytemuck::bytes_of_mut(&mut *wide).split_at_mut(size_of::<G::EncodedScalar>());
    let select = choice.wrapping_neg();
    let masked = bytemuck::bytes_of(masked);
    low.iter_mut().zip(masked).for_each(|(byte, masked)| *byte ^= masked & select);
    high.iter_mut().for_each(|byte| *byte &= !select);
    G::reduce(&wide)
}

/// Step O4: appends the values.
fn unblind<G: Scalars>(
    blinded: &[Blinded<G>],
    out: &mut Vec<Block>,
    channel: &mut Channel,
) -> Result<()> {
    // One round of tasks at a time, so that a waiting peer gets keep-alive messages.
    for blinded in blinded.chunks(2 * TASK) {
        let tasks = threads::map(blinded.chunks(TASK / 4), |blinded| {
            let part =
                |(product, base): &Blinded<G>| G::mul(base, &Zeroizing::new(G::divide(product)));
            values::<G>(&blinded.iter().map(part).collect::<Vec<_>>())
        });
        out.extend(tasks.concat());
        channel.keep_alive()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_primitives::group::{Ffdhe3072, Ristretto};
    use vesica_testkit::two_party::{self, Link};

    use super::*;

    /// The definition in the module's documentation.
    fn by_definition<G: Scalars>(sender: &Sender<G>, point: Block) -> Block {
        let mut element = G::mul_generator(&sender.first);
        for (i, factor) in sender.factors.iter().enumerate() {
            if bit(point, i) == 1 {
                element = G::mul(&element, factor);
            }
        }
        let digest =
            blake3::derive_key("vesica hl08 value v1", bytemuck::bytes_of(&G::encode(&element)));
        Block::from_bytes(std::array::from_fn(|i| digest[i]))
    }

    fn both_get_the_function<G: Scalars>(bits: usize, points: &[Block], prepared: usize) {
        let (expected, received) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut sender = Sender::<G>::setup(bits, prepared, channel, rng)?;
                sender.serve(points.len(), channel)?;
                let expected: Vec<_> =
                    points.iter().map(|point| by_definition(&sender, *point)).collect();
                assert!(sender.evaluate(points) == expected);
                Ok::<_, vesica_net::Error>(expected)
            },
            |channel, rng| {
                Receiver::<G>::setup(bits, prepared, channel, rng)?.evaluate(points, channel)
            },
        );
        assert!(received == expected, "{bits} bits of {} points", points.len());
    }

    fn random_points(count: usize) -> Vec<Block> {
        let mut rng = StdRng::seed_from_u64(1);
        (0..count).map(|_| Block::random(&mut rng)).collect()
    }

    #[test]
    fn over_the_curve() {
        let extremes = [Block::ZERO, Block(u128::MAX), Block(1), Block(1 << 127)];
        both_get_the_function::<Ristretto>(128, &extremes, 4);
        both_get_the_function::<Ristretto>(1, &extremes, 4);
        both_get_the_function::<Ristretto>(60, &[], 0);
        both_get_the_function::<Ristretto>(61, &random_points(300), 300);
    }

    /// With OTs made in advance for none of the points, and for some.
    #[test]
    fn over_several_chunks_and_beyond_the_stock() {
        let points = random_points(2 * CHUNK + 3);
        both_get_the_function::<Ristretto>(9, &points, 0);
        both_get_the_function::<Ristretto>(9, &points, CHUNK + 100);
    }

    #[test]
    fn over_a_finite_field() {
        both_get_the_function::<Ffdhe3072>(11, &random_points(30), 30);
    }

    /// R's part of an OT says nothing about the key: with either choice it is random, and it differs for equal
    /// points.
    #[test]
    fn the_mask_of_the_key_is_fresh_for_each_point() {
        let points = [Block(0b01); 40];
        let (_, blinded) = two_party::run(
            Link::Memory,
            |channel, rng| Sender::<Ristretto>::setup(2, 40, channel, rng)?.serve(40, channel),
            |channel, rng| {
                let mut receiver = Receiver::<Ristretto>::setup(2, 40, channel, rng)?;
                let mut choices = Bits::zeros(80);
                (0..40).for_each(|j| choices.set(2 * j, 1));
                let keys = receiver.ot.receive_random(&choices, channel)?;
                receiver.recv_blinded(&points, &keys, channel)
            },
        );
        let mut seen = std::collections::HashSet::new();
        for (product, base) in &blinded {
            assert!(seen.insert(product.to_bytes()) && seen.insert(Ristretto::encode(base)));
        }
        let parts: Vec<_> = blinded
            .iter()
            .map(|(product, base)| Ristretto::mul(base, &Ristretto::divide(product)))
            .collect();
        let values = values::<Ristretto>(&parts);
        assert!(values.iter().all(|value| *value == values[0]), "all values of one function");
    }
}
