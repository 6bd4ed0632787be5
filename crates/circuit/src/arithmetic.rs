//! From shared bits to shared numbers: products of hidden bits with numbers that one party knows.
//!
//! The parties hold XOR shares b₀ and b₁ of bits b; one of them knows numbers v. One OT per number yields
//! additive shares of b·v modulo 2^64, or modulo 2^128. If b₀ is the share of the party that knows v,
//!
//! b·v = b₀·v + b₁·(1 − 2·b₀)·v,
//!
//! and that party knows the first term. The second is computed by an OT in which it is the sender:
//!
//! 1. Random OT with choices b₁: it has m₀ and m₁, the other party has m at its choice.
//! 2. It sends m₀ − m₁ + (1 − 2·b₀)·v, which the other party adds to m if b₁ = 1 and so has m₀ + b₁·(1 −
//!    2·b₀)·v. The shares are b₀·v − m₀ and this value.
//!
//! Sums of such products are sums of shares, so a count, a sum or an inner product over hidden matches needs
//! no adder. With b₀ = 0 throughout this is the product of a bit known to one party and a number known to the
//! other (Gilboa, CRYPTO 1999). Semi-honest.

use vesica_net::{Channel, Result};
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::{Bits, Block, threads};
use zeroize::Zeroizing;

use crate::number::Number;

const PRODUCTS: &str = "arithmetic/products";

/// OTs processed at a time, with one call of the extension.
const CHUNK: usize = 1 << 18;

/// Products that a thread computes at a time.
const TASK: usize = 1 << 12;

/// Payload bytes for `products` products of numbers `N`: to the party that knows the numbers, which is the
/// sender of the OTs, and to the other. `of_ots` is the cost of one call of the extension, without its setup.
pub fn bytes<N: Number>(products: usize, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
    let mut bytes = Bytes { to_sender: 0, to_receiver: products * N::LEN };
    for start in (0..products).step_by(CHUNK) {
        bytes = bytes + of_ots(CHUNK.min(products - start));
    }
    bytes
}

/// Shares of b·v for this party's numbers v: `bits` are its shares of the b.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If there are not as many bits as numbers.
pub fn scale_known<N: Number>(
    bits: &Bits,
    numbers: &[N],
    ot: &mut impl CotSender,
    channel: &mut Channel,
) -> Result<Vec<N>> {
    assert_eq!(bits.len(), numbers.len(), "a bit for each number");
    let mut shares = Vec::with_capacity(numbers.len());
    let mut pairs = Zeroizing::new(vec![[Block::ZERO; 2]; CHUNK.min(numbers.len())]);
    for (i, numbers) in numbers.chunks(CHUNK).enumerate() {
        // 1.
        let pairs = &mut pairs[..numbers.len()];
        ot.send_random_into(pairs, channel)?;
        // 2.
        let first = i * CHUNK;
        let mut sent = vec![N::ZERO; numbers.len()];
        shares.resize(first + numbers.len(), N::ZERO);
        let inputs = pairs.chunks(TASK).zip(numbers.chunks(TASK));
        let outputs = sent.chunks_mut(TASK).zip(shares[first..].chunks_mut(TASK));
        let tasks = inputs.zip(outputs).enumerate();
        threads::for_each(tasks, |(task, ((pairs, numbers), (sent, shares)))| {
            let inputs = (first + task * TASK..).zip(pairs.iter().zip(numbers));
            let outputs = sent.iter_mut().zip(shares);
            for ((j, (pair, number)), (sent, share)) in inputs.zip(outputs) {
                let [zero, one] = pair.map(N::of_block);
                let own = N::of_bit(bits.get(j) == 1).times(*number);
                let signed = number.minus(own.plus(own));
                *sent = zero.minus(one).plus(signed);
                *share = own.minus(zero);
            }
        });
        channel.send_slice(PRODUCTS, &sent)?;
        channel.keep_alive()?;
    }
    channel.flush()?;
    Ok(shares)
}

/// Shares of b·v for numbers v that the other party knows: `bits` are this party's shares of the b.
///
/// # Errors
/// Any error of the connection or the peer.
pub fn scale_hidden<N: Number>(
    bits: &Bits,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Vec<N>> {
    let mut shares = Vec::with_capacity(bits.len());
    for start in (0..bits.len()).step_by(CHUNK) {
        let count = CHUNK.min(bits.len() - start);
        let blocks = bits.blocks()[start / 128..][..count.div_ceil(128)].to_vec();
        let choices = Bits::from_blocks(blocks, count);
        // 1.
        let chosen = Zeroizing::new(ot.receive_random(&choices, channel)?);
        // 2.
        let mut received = vec![N::ZERO; count];
        channel.recv_slice(PRODUCTS, &mut received)?;
        shares.resize(start + count, N::ZERO);
        let inputs = chosen.chunks(TASK).zip(received.chunks(TASK));
        let tasks = inputs.zip(shares[start..].chunks_mut(TASK)).enumerate();
        threads::for_each(tasks, |(task, ((chosen, received), shares))| {
            let inputs = (task * TASK..).zip(chosen.iter().zip(received));
            for ((j, (block, received)), share) in inputs.zip(shares) {
                let product = N::of_bit(choices.get(j) == 1).times(*received);
                *share = N::of_block(*block).plus(product);
            }
        });
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_ot::extension::alsz13;
    use vesica_testkit::two_party::{self, Link};

    use super::*;

    /// Shares of every combination of bits, and the sums of these shares.
    fn products<N: Number>(numbers: &[N], seed: u64) -> (Bits, Vec<N>) {
        let mut rng = StdRng::seed_from_u64(seed);
        let n = numbers.len();
        let (known, hidden) = (Bits::random(n, &mut rng), Bits::random(n, &mut rng));
        let (mine, theirs) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut ot = alsz13::Sender::setup(channel, rng)?;
                scale_known(&known, numbers, &mut ot, channel)
            },
            |channel, rng| {
                let mut ot = alsz13::Receiver::setup(channel, rng)?;
                scale_hidden::<N>(&hidden, &mut ot, channel)
            },
        );
        let mut both = Bits::zeros(n);
        (0..n).for_each(|i| both.set(i, known.get(i) ^ hidden.get(i)));
        (both, mine.iter().zip(&theirs).map(|(a, b)| a.plus(*b)).collect())
    }

    fn shares_add_up<N: Number>() {
        let mut rng = StdRng::seed_from_u64(1);
        let highest = N::of_block(Block(1 << (N::BITS - 1)));
        let edges = [N::ZERO, N::of_bit(true), N::ZERO.minus(N::of_bit(true)), highest];
        for n in [0, 1, 127, 128, 129, 1000, CHUNK, CHUNK + 1] {
            let mut numbers: Vec<N> =
                (0..n).map(|_| N::of_block(Block::random(&mut rng))).collect();
            numbers.iter_mut().zip(edges).for_each(|(n, edge)| *n = edge);
            let (bits, sums) = products(&numbers, n as u64);
            for (i, (number, sum)) in numbers.iter().zip(sums).enumerate() {
                let expected = if bits.get(i) == 1 { number.bits() } else { 0 };
                assert_eq!(sum.bits(), expected, "{i} of {n}");
            }
        }
    }

    #[test]
    fn shares_of_64_bits_add_up() {
        shares_add_up::<u64>();
    }

    #[test]
    fn shares_of_128_bits_add_up() {
        shares_add_up::<u128>();
    }
}
