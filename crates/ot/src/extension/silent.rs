//! Silent OT: many correlated OTs with *random* choices from few, with little communication (Boyle et al., CCS 2019;
//! with the codes of Raghuraman, Rindal and Tanguy, CRYPTO 2023). It is as secure as the underlying OT extension.
//!
//! Like a silent VOLE, but all values of the noise are 1, so that a = G·e is a vector of bits, and half-trees give
//! shares of e·Δ without further messages.
//!
//! 1. Correlated OT on the places of R's noise e; and, over a malicious extension, a share of one random number
//!    times Δ, for the check.
//! 2. S gets w and R gets w + e·Δ.
//! 3. Both clear the lowest bit of every entry. R puts e's bit in its place, and S sets the lowest bit of Δ.
//! 4. Both compress by the transpose of a public code: q = G·w and t = q + a·Δ, where a looks random by the LPN
//!    assumption that `vesica_params::lpn` states for values of 1. The lowest bits of t are a.
//! 5. Over a malicious extension: R checks the result of step 2 before it uses t.
//! 6. For choices c that R makes, R → S: a + c, one bit per OT; S adds that times Δ to q.
//!
//! Step 3 saves compressing e separately, at the price of one bit of Δ. R itself produces the bits of its
//! choices; an S whose Δ has a different lowest bit only gets other pairs than it could have had.
//!
//! Each call is a separate run: it costs at least as much as 3,000 OTs, so request many at a time. Over a
//! malicious extension, R learns whether S's trees are correct before anything is made from them, and S can
//! only guess R's noise; see [`check`] for the argument.

use std::slice;

use rand::CryptoRng;
use vesica_net::{Channel, Result};
use vesica_params::{
    Adversary,
    lpn::{Lpn, NoiseValues},
};
use vesica_primitives::{Bits, Block, Delta};
use zeroize::{Zeroize, Zeroizing};

use super::flips;
use crate::{
    Bytes, ZeroizingVec,
    chunks::{self, ReceivedChunk, SentChunk},
    correlation_hash::CorrelationHash,
    pcg::{
        self, PcgDimensions,
        check::{self, Mask, Polynomial},
        ots,
    },
    pprf::{MASKS, masks},
    session,
    stream::Stream,
    variants::{CotReceiver, CotSender, Malicious},
};

pub use check::CHECK;

const SESSION: &str = "silent-ot/session";
const FLIPS: &str = "silent-ot/flips";

/// Bits of the number that masks the check.
const MASK_BITS: u32 = 128;

/// Whether a run is checked, over an extension against this adversary.
const fn is_checked(adversary: Adversary) -> bool {
    matches!(adversary, Adversary::Malicious)
}

/// OTs of the underlying extension for a call of `n` OTs, which are made in one call.
pub fn ots_beneath(n: usize, lpn: Lpn, adversary: Adversary) -> usize {
    let checked = if is_checked(adversary) { MASK_BITS as usize } else { 0 };
    PcgDimensions::full(n, lpn).ots() + checked
}

/// Payload bytes of a call of `n` OTs, without the underlying extension. Choices that the receiver
/// makes take another n/8 bytes to the sender.
pub fn bytes(n: usize, lpn: Lpn, adversary: Adversary) -> Bytes {
    let noise = PcgDimensions::full(n, lpn).bytes();
    match is_checked(adversary) {
        true => Bytes { to_receiver: noise + check::BYTES.to_receiver, ..check::BYTES },
        false => Bytes { to_sender: 0, to_receiver: noise },
    }
}

/// The party with Δ, 128 bits with a 1 as the lowest.
pub struct Sender<C> {
    cot: C,
    lpn: Lpn,
    delta: Delta,
    hash: CorrelationHash,
    rng: Stream,
}

impl<C: CotSender + Malicious> Malicious for Sender<C> {}

impl<C: CotSender> Sender<C> {
    /// Uses an extension that has been set up. Draws the session's public hash key.
    ///
    /// # Panics
    /// If a value of the noise is not 1.
    pub fn setup(cot: C, lpn: Lpn, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert_eq!(lpn.values, NoiseValues::Ones, "of silent OT");
        let hash = CorrelationHash::new(C::ADVERSARY, session::draw(SESSION, channel, rng)?);
        channel.flush()?;
        let delta = cot.delta().with_lowest_bit();
        Ok(Self { cot, lpn, delta, hash, rng: Stream::new(rng) })
    }

    /// Correlated OT with random choices: fills `out` with q_j.
    pub fn extend_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        let (n, rows) = (out.len(), Out::Into(&mut *out));
        send(&mut self.cot, self.lpn, n, rows, channel, &mut self.rng)
            .inspect_err(|_| out.zeroize())?;
        clear_lowest_bits(out);
        Ok(())
    }

    /// Random OT with random choices: two pseudo-random blocks for each of `n` OTs.
    pub fn extend_random(&mut self, n: usize, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
        let mut pairs = vec![[Block::ZERO; 2]; n];
        self.extend_into(&mut pairs.as_flattened_mut()[n..], channel)?;
        self.hash.apply_both(self.delta.expose()[0], &mut pairs);
        Ok(pairs)
    }
}

impl<C: CotSender> CotSender for Sender<C> {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn delta(&self) -> &Delta {
        &self.delta
    }

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn send_correlated_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<()> {
        self.extend_into(out, channel)?;
        // 6.
        flips::receive(FLIPS, &self.delta, out, channel)
    }

    fn send_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        each: &mut dyn FnMut(SentChunk<'_>),
    ) -> Result<()> {
        let (hash, delta) = (&mut self.hash, Zeroizing::new(self.delta.expose()[0]));
        let mut show = |rows: &mut [Block]| {
            clear_lowest_bits(rows);
            each(SentChunk::new(hash, *delta, rows));
        };
        send(&mut self.cot, self.lpn, n, Out::Each(&mut show), channel, &mut self.rng)
    }
}

/// The party with choices.
pub struct Receiver<C> {
    cot: C,
    lpn: Lpn,
    hash: CorrelationHash,
    rng: Stream,
}

impl<C: CotReceiver + Malicious> Malicious for Receiver<C> {}

impl<C: CotReceiver> Receiver<C> {
    /// Uses an extension that has been set up. Receives the session's public hash key.
    ///
    /// # Panics
    /// If a value of the noise is not 1.
    pub fn setup(cot: C, lpn: Lpn, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        assert_eq!(lpn.values, NoiseValues::Ones, "of silent OT");
        let hash = CorrelationHash::new(C::ADVERSARY, session::learn(SESSION, channel)?);
        Ok(Self { cot, lpn, hash, rng: Stream::new(rng) })
    }

    /// Correlated OT with random choices: fills `out` with t_j = q_j ⊕ a_j·Δ and returns the a_j.
    ///
    /// # Errors
    /// Over a malicious extension, [`CheckFailed`](vesica_net::Deviation::CheckFailed) with [`CHECK`] if the
    /// sender's leaves and corrections are inconsistent.
    pub fn extend_into(&mut self, out: &mut [Block], channel: &mut Channel) -> Result<Bits> {
        let (n, rows) = (out.len(), Out::Into(&mut *out));
        receive(&mut self.cot, self.lpn, n, rows, channel, &mut self.rng)
            .inspect_err(|_| out.zeroize())?;
        Ok(lowest_bits(out))
    }

    /// Random OT with random choices: the choices, and the chosen block of each pair.
    pub fn extend_random(&mut self, n: usize, channel: &mut Channel) -> Result<(Bits, Vec<Block>)> {
        let mut out = vec![Block::ZERO; n];
        let choices = self.extend_into(&mut out, channel)?;
        self.hash.apply_chosen(&mut out);
        Ok((choices, out))
    }
}

impl<C: CotReceiver> CotReceiver for Receiver<C> {
    const ADVERSARY: Adversary = C::ADVERSARY;

    fn hash(&mut self) -> &mut CorrelationHash {
        &mut self.hash
    }

    fn receive_correlated_into(
        &mut self,
        choices: &Bits,
        out: &mut [Block],
        channel: &mut Channel,
    ) -> Result<()> {
        assert_eq!(choices.len(), out.len(), "a block for each choice");
        let random = self.extend_into(out, channel)?;
        // 6.
        flips::send(FLIPS, choices, &random, channel)
    }

    fn receive_chunks(
        &mut self,
        n: usize,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
        each: &mut dyn FnMut(ReceivedChunk<'_>),
    ) -> Result<()> {
        let hash = &mut self.hash;
        let mut show = |rows: &mut [Block]| {
            let choices = lowest_bits(rows);
            each(ReceivedChunk::new(hash, &choices, rows));
        };
        receive(&mut self.cot, self.lpn, n, Out::Each(&mut show), channel, &mut self.rng)
    }
}

/// The destination of compressed entries.
enum Out<'a> {
    /// Memory, for all of them.
    Into(&'a mut [Block]),
    /// A consumer that takes some at a time, while they are in the cache.
    Each(&'a mut dyn FnMut(&mut [Block])),
}

/// Steps 1 to 5 for S, except for the lowest bits.
fn send<C: CotSender>(
    cot: &mut C,
    lpn: Lpn,
    n: usize,
    out: Out<'_>,
    channel: &mut Channel,
    rng: &mut Stream,
) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let dimensions = PcgDimensions::full(n, lpn);
    let delta = Zeroizing::new(cot.delta().expose()[0]);
    // 1.
    let masks = usize::from(is_checked(C::ADVERSARY));
    let levels = slice::from_ref(&dimensions);
    let ots::Sent { mut keys, shares: mask } = ots::send(levels, masks, MASK_BITS, cot, channel)?;
    let noise = pcg::Sender::new(&dimensions, *delta, keys.remove(0));
    // 2. to 4.
    let trees = match out {
        Out::Into(out) => noise.fill(&mut dimensions.space(), out, &[], channel, rng)?,
        Out::Each(each) => noise.show(each, &[], channel, rng)?,
    };
    // 5.
    match mask[..] {
        [mask] => {
            check::prove(*delta, &trees, mask, channel)?.send(channel)?;
            channel.flush()
        }
        _ => Ok(()),
    }
}

/// Steps 1 to 5 for R.
fn receive<C: CotReceiver>(
    cot: &mut C,
    lpn: Lpn,
    n: usize,
    out: Out<'_>,
    channel: &mut Channel,
    rng: &mut Stream,
) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let dimensions = PcgDimensions::full(n, lpn);
    let places = [dimensions.places(rng)];
    // 1.
    let mut values = ZeroizingVec::zeros(usize::from(is_checked(C::ADVERSARY)));
    values.fill_with(|| Block::random(rng));
    let levels = slice::from_ref(&dimensions);
    let ots::Received { mut keys, shares: masks } =
        ots::receive(levels, &places, &values, MASK_BITS, cot, channel)?;
    let [places] = &places;
    let noise = pcg::Receiver::new(&dimensions, places, keys.remove(0));
    let check = values.iter().zip(&*masks).next().map(|(value, share)| {
        let polynomial = Polynomial::new(Block::random(rng), dimensions.block);
        (Mask { value: *value, share: *share }, polynomial)
    });
    // 2. to 4.
    let keep = |i: usize, leaves: &mut [Block]| {
        let value =
            check.as_ref().map_or(Block::ZERO, |(_, polynomial)| polynomial.of_block(leaves));
        mark(leaves, places[i]);
        value
    };
    let blocks = match out {
        Out::Into(out) => noise.fill(&mut dimensions.space(), out, &[], keep, channel)?,
        Out::Each(each) => noise.show(each, &[], keep, channel)?,
    };
    // 5.
    match &check {
        Some((mask, polynomial)) => {
            let ones = vec![Block(1); dimensions.blocks];
            let expected = check::challenge(polynomial, &blocks, places, &ones, mask, channel)?;
            check::verify(&[expected], channel)
        }
        None => Ok(()),
    }
}

/// Step 3 for S, which may also come after step 4.
fn clear_lowest_bits(rows: &mut [Block]) {
    rows.iter_mut().for_each(|q| *q = Block(q.0 & !1));
}

/// Sets the lowest bits to the noise: 1 at the place, otherwise 0. Every entry is accessed.
fn mark(leaves: &mut [Block], place: u32) {
    let words: &mut [[u64; 2]] = bytemuck::cast_slice_mut(leaves);
    for (i, words) in words.chunks_mut(MASKS).enumerate() {
        for (words, mask) in words.iter_mut().zip(masks(i * MASKS, place as usize)) {
            words[0] = words[0] & !1 | mask & 1;
        }
    }
}

fn lowest_bits(blocks: &[Block]) -> Bits {
    let word = |half: Option<&[Block]>| u128::from(half.map_or(0, chunks::lowest_bits));
    let pack = |blocks: &[Block]| {
        let mut halves = blocks.chunks(64);
        Block(word(halves.next()) | word(halves.next()) << 64)
    };
    Bits::from_blocks(blocks.chunks(128).map(pack).collect(), blocks.len())
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::lpn::{GUESSED_ONES, ONES, PUBLISHED_ONES};

    use super::*;
    use crate::{
        extension::softspoken::{SmallField, malicious, semi_honest},
        two_party::run,
    };

    const FIELD: SmallField = SmallField::new(8);
    const SIZES: [usize; 6] = [0, 1, 127, 128, 3000, 20_011];

    fn assert_random_choices<S: CotSender, R: CotReceiver + Send>(
        lpn: Lpn,
        sender: fn(SmallField, &mut Channel, &mut dyn CryptoRng) -> Result<S>,
        receiver: fn(SmallField, &mut Channel, &mut dyn CryptoRng) -> Result<R>,
    ) {
        let ((delta, sent), received) = run(
            |channel| {
                let rng = &mut StdRng::seed_from_u64(1);
                let cot = sender(FIELD, channel, rng).unwrap();
                let mut ot = Sender::setup(cot, lpn, channel, rng).unwrap();
                let sent = SIZES.map(|n| {
                    let mut q = vec![Block::ZERO; n];
                    ot.extend_into(&mut q, channel).unwrap();
                    (q, ot.extend_random(n, channel).unwrap())
                });
                (ot.delta().expose()[0], sent)
            },
            |channel| {
                let rng = &mut StdRng::seed_from_u64(2);
                let cot = receiver(FIELD, channel, rng).unwrap();
                let mut ot = Receiver::setup(cot, lpn, channel, rng).unwrap();
                SIZES.map(|n| {
                    let mut t = vec![Block::ZERO; n];
                    let choices = ot.extend_into(&mut t, channel).unwrap();
                    (choices, t, ot.extend_random(n, channel).unwrap())
                })
            },
        );
        for (n, (sent, received)) in SIZES.into_iter().zip(sent.iter().zip(&received)) {
            let ((q, pairs), (choices, t, (random, chosen))) = (sent, received);
            assert_eq!([choices.len(), random.len(), pairs.len(), chosen.len()], [n; 4]);
            for (j, choice) in choices.iter().enumerate() {
                assert_eq!(t[j], q[j] ^ (delta & Block::mask(choice)), "{j} of {n}");
            }
            for (j, choice) in random.iter().enumerate() {
                assert_eq!(chosen[j], pairs[j][usize::from(choice)], "{j} of {n}");
                assert_ne!(pairs[j][0] ^ pairs[j][1], delta);
            }
            for choices in [choices, random] {
                let ones: u32 = choices.iter().map(u32::from).sum();
                let deviation = (f64::from(ones) - n as f64 / 2.0) / (n.max(1) as f64).sqrt();
                assert!(deviation.abs() < 2.5, "{ones} of {n}");
            }
        }
    }

    #[test]
    fn choices_are_random_and_blocks_are_those_chosen() {
        assert_random_choices(ONES, semi_honest::Sender::setup, semi_honest::Receiver::setup);
        assert_random_choices(
            PUBLISHED_ONES,
            semi_honest::Sender::setup,
            semi_honest::Receiver::setup,
        );
        assert_random_choices(GUESSED_ONES, malicious::Sender::setup, malicious::Receiver::setup);
    }

    #[test]
    fn lowest_bits_are_those_of_the_noise() {
        for place in 0..5 {
            let mut leaves = [Block(7 << 64 | 3); 5];
            mark(&mut leaves, place);
            let expected = |i: usize| Block(7 << 64 | 2 | u128::from(i == place as usize));
            assert!((0..5).all(|i| leaves[i] == expected(i)));
        }
    }
}
