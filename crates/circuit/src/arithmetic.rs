//! From shared bits to shared numbers: products of hidden bits with rows of numbers that one party knows.
//!
//! The parties hold XOR shares b₀ and b₁ of bits b; one of them knows rows v, each of several numbers ([`RowLayout`]).
//! One OT per row yields additive shares of b·v. If b₀ is the share of the party that knows v,
//!
//! b·v = b₀·v + b₁·(1 − 2·b₀)·v,
//!
//! and that party knows the first term. The second is computed by an OT in which it is the sender:
//!
//! 1. Random OT with choices b₁: it has m₀ and m₁, the other party has m at its choice. Rows that are longer than a
//!    block stretch it.
//! 2. It sends m₀ − m₁ + (1 − 2·b₀)·v, which the other party adds to m if b₁ = 1 and so has m₀ + b₁·(1 −
//!    2·b₀)·v. The shares are b₀·v − m₀ and this value.
//!
//! Sums of such products are sums of shares, so a count, a sum or an inner product over hidden matches needs
//! no adder. With b₀ = 0 throughout this is the product of a bit known to one party and a number known to the
//! other (Gilboa, CRYPTO 1999). Semi-honest.

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_ot::{Bytes, CotReceiver, CotSender};
use vesica_primitives::{Bits, Block, threads};
use zeroize::Zeroizing;

use crate::rows::{RowLayout, Stretch, keep_if};

const KEY: &str = "arithmetic/key";
const PRODUCTS: &str = "arithmetic/products";

/// OTs processed at a time, with one call of the extension.
const CHUNK: usize = 1 << 18;

/// Products that a thread computes at a time.
const TASK: usize = 1 << 12;

/// Payload bytes for `products` products of rows of this layout: to the party that knows the rows, which is the
/// sender of the OTs, and to the other. `of_ots` is the cost of one call of the extension, without its setup.
pub fn bytes(products: usize, layout: RowLayout, of_ots: impl Fn(usize) -> Bytes) -> Bytes {
    let key = if is_stretched(layout) { size_of::<Block>() } else { 0 };
    let mut bytes = Bytes { to_sender: 0, to_receiver: products * layout.len() };
    for start in (0..products).step_by(CHUNK) {
        bytes = bytes + of_ots(CHUNK.min(products - start));
        bytes.to_receiver += key;
    }
    bytes
}

/// Whether a mask for a row takes more than a block.
fn is_stretched(layout: RowLayout) -> bool {
    layout.len() > size_of::<Block>()
}

/// Returns shares of b·v for this party's rows v, one after another: `bits` are its shares of the b.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If there are not as many bits as rows, or rows have no number.
pub fn scale_known(
    bits: &Bits,
    rows: &[u8],
    layout: RowLayout,
    ot: &mut impl CotSender,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Zeroizing<Vec<u8>>> {
    let len = layout.len();
    assert_eq!(bits.len() * len, rows.len(), "a bit for each row");
    let mut shares = Zeroizing::new(vec![0; rows.len()]);
    let mut pairs = Zeroizing::new(vec![[Block::ZERO; 2]; CHUNK.min(bits.len())]);
    let chunks = rows.chunks(CHUNK * len).zip(shares.chunks_mut(CHUNK * len));
    for (i, (rows, shares)) in chunks.enumerate() {
        // 1.
        let pairs = &mut pairs[..rows.len() / len];
        ot.send_random_into(pairs, channel)?;
        // 2.
        let mut key = Block::ZERO;
        if is_stretched(layout) {
            key = Block::random(rng);
            channel.send_slice(KEY, &[key])?;
        }
        let stretch = Stretch::new(key);
        let first = i * CHUNK;
        let mut sent = vec![0; rows.len()];
        let inputs = pairs.chunks(TASK).zip(rows.chunks(TASK * len));
        let outputs = sent.chunks_mut(TASK * len).zip(shares.chunks_mut(TASK * len));
        let tasks = inputs.zip(outputs).enumerate();
        threads::for_each(tasks, |(task, ((pairs, rows), (sent, shares)))| {
            let mut one = Zeroizing::new(vec![0; len]);
            let inputs = (first + task * TASK..).zip(pairs.iter().zip(rows.chunks_exact(len)));
            let outputs = sent.chunks_exact_mut(len).zip(shares.chunks_exact_mut(len));
            for ((j, (pair, row)), (sent, share)) in inputs.zip(outputs) {
                // b₀·v
                share.copy_from_slice(row);
                keep_if(bits.get(j), share);
                stretch.fill(pair[0], sent);
                stretch.fill(pair[1], &mut one);
                layout.subtract(&mut one, row);
                layout.add(&mut one, share);
                layout.add(&mut one, share);
                // b₀·v − m₀, and m₀ − (m₁ − (1 − 2·b₀)·v)
                layout.subtract(share, sent);
                layout.subtract(sent, &one);
            }
        });
        channel.send_slice(PRODUCTS, &sent)?;
        channel.keep_alive()?;
    }
    channel.flush()?;
    Ok(shares)
}

/// Returns shares of b·v for rows v that the other party knows: `bits` are this party's shares of the b.
///
/// # Errors
/// Any error of the connection or the peer.
///
/// # Panics
/// If rows have no number.
pub fn scale_hidden(
    bits: &Bits,
    layout: RowLayout,
    ot: &mut impl CotReceiver,
    channel: &mut Channel,
) -> Result<Zeroizing<Vec<u8>>> {
    let len = layout.len();
    let mut shares = Zeroizing::new(vec![0; bits.len() * len]);
    for (i, shares) in shares.chunks_mut(CHUNK * len).enumerate() {
        let (start, count) = (i * CHUNK, shares.len() / len);
        let blocks = bits.blocks()[start / 128..][..count.div_ceil(128)].to_vec();
        let choices = Bits::from_blocks(blocks, count);
        // 1.
        let chosen = Zeroizing::new(ot.receive_random(&choices, channel)?);
        // 2.
        let mut key = [Block::ZERO];
        if is_stretched(layout) {
            channel.recv_slice(KEY, &mut key)?;
        }
        let stretch = Stretch::new(key[0]);
        let mut received = Zeroizing::new(vec![0; count * len]);
        channel.recv_slice(PRODUCTS, &mut received)?;
        let inputs = chosen.chunks(TASK).zip(received.chunks_mut(TASK * len));
        let tasks = inputs.zip(shares.chunks_mut(TASK * len)).enumerate();
        threads::for_each(tasks, |(task, ((chosen, received), shares))| {
            let inputs = chosen.iter().zip(received.chunks_exact_mut(len));
            let tasks = (task * TASK..).zip(inputs.zip(shares.chunks_exact_mut(len)));
            for (j, ((block, received), share)) in tasks {
                stretch.fill(*block, share);
                keep_if(choices.get(j), received);
                layout.add(share, received);
            }
        });
    }
    Ok(shares)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_ot::extension::alsz13;
    use vesica_testkit::two_party::{self, Link};

    use super::*;
    use crate::rows::{NumberField, Width};

    /// The bits, and the sums of both parties' shares of their products with the rows.
    fn products(rows: &[u8], layout: RowLayout, seed: u64) -> (Bits, Vec<u8>) {
        let mut rng = StdRng::seed_from_u64(seed);
        let n = rows.len() / layout.len();
        let (known, hidden) = (Bits::random(n, &mut rng), Bits::random(n, &mut rng));
        let (mine, theirs) = two_party::run(
            Link::Memory,
            |channel, rng| {
                let mut ot = alsz13::Sender::setup(channel, rng)?;
                scale_known(&known, rows, layout, &mut ot, channel, rng)
            },
            |channel, rng| {
                let mut ot = alsz13::Receiver::setup(channel, rng)?;
                scale_hidden(&hidden, layout, &mut ot, channel)
            },
        );
        let mut both = Bits::zeros(n);
        (0..n).for_each(|i| both.set(i, known.get(i) ^ hidden.get(i)));
        let mut sums = mine.to_vec();
        layout.add_all(&mut sums, &theirs);
        (both, sums)
    }

    fn shares_add_up(widths: &[Width], sizes: &[usize]) {
        let mut rng = StdRng::seed_from_u64(1);
        let (layout, fields) = RowLayout::new(widths);
        for n in sizes {
            let mut rows: Vec<u8> = (0..n * layout.len()).map(|_| rng.random()).collect();
            let edge = |row: &mut [u8], number: fn(NumberField) -> u128| {
                fields.iter().for_each(|field| field.set(row, number(*field)));
            };
            let edges: [fn(NumberField) -> u128; 4] =
                [|_| 0, |_| 1, |_| u128::MAX, |field| 1 << (field.width().bits() - 1)];
            for (row, number) in rows.chunks_exact_mut(layout.len()).zip(edges) {
                edge(row, number);
            }
            let (bits, sums) = products(&rows, layout, *n as u64);
            let rows = rows.chunks_exact(layout.len()).zip(sums.chunks_exact(layout.len()));
            for (i, (row, sum)) in rows.enumerate() {
                let expected = if bits.get(i) == 1 { row } else { &vec![0; layout.len()] };
                assert_eq!(sum, expected, "{i} of {n}, {widths:?}");
            }
        }
    }

    #[test]
    fn shares_of_single_numbers_add_up() {
        for width in Width::ALL {
            shares_add_up(&[width], &[0, 1, 127, 128, 129, 1000]);
        }
    }

    #[test]
    fn shares_of_long_rows_add_up() {
        let [narrow, middle, wide] = Width::ALL;
        for widths in [
            &[narrow, middle][..],
            &[middle, middle, narrow],
            &[wide, narrow, wide, middle, middle, wide],
        ] {
            shares_add_up(widths, &[0, 1, 129, 5000]);
        }
    }

    #[test]
    fn shares_add_up_over_several_calls_of_the_extension() {
        shares_add_up(&[Width::Bits32], &[CHUNK, CHUNK + 1]);
        shares_add_up(&[Width::Bits64, Width::Bits128], &[CHUNK + 1]);
    }
}
