//! The check that S made its leaves and corrections from a single w and a single Δ, for any places of R
//! (Weng, Yang, Katz and Wang, S&P 2021, Figure 7, there for one block at a time).
//!
//! Beforehand, S has Q* and R has T* = Q* + y*·Δ for a random y* of R, used for nothing else: by correlated OT, or
//! as an entry of a VOLE that was checked earlier, where y* is pseudo-random under the same assumption as
//! everything else. All VOLEs of a run share one budget of guesses about R's noise. Then, once S's leaves and
//! corrections have been received:
//!
//! - **C1.** R draws χ from GF(2^128) and computes x = Σ y_i·χ^j over the entries j of its noise that are not 0. R → S:
//!   χ and x + y*. R may draw χ earlier, so that it can use leaves when they are made, as long as it stays secret.
//! - **C2.** S → R: a hash of the session identifier, χ, and Σ χ^j·w_j + Q* + (x + y*)·Δ.
//! - **C3.** R refuses unless that is the hash of the same with Σ χ^j·v_j + T*, where v = w + e·Δ is its own vector.
//!
//! R must not send anything derived from v before step C3. Its messages between steps C1 and C3 may depend on its noise
//! if it looks random by LPN: S then holds it next to the verdict, which is one bit about the noise.
//! `docs/protocols/vole.md` shows that this adds no assumption.
//!
//! **An S that deviates.** Δ is fixed by the OT extension, which is secure against malicious parties. R's vector is a
//! function of S's messages and of R's places α: at the other entries, the leaves that it computes, which may depend on
//! α if sums fit no tree; at α_i, the correction plus those leaves plus Q_i + y_i·Δ, or in silent OT just the sum of
//! those leaves. Let W(α) be the vector of these leaves, and at α_i the correction plus Q_i plus the other leaves of
//! the block, or in silent OT Δ plus the other leaves. Then v = W(α) + e·Δ for any S, and R compares the hash with the
//! hash of Σ χ^j·W(α)_j + Q* + (x + y*)·Δ, in which only α is unknown to S: y_i cancels, and x is masked by y*.
//!
//! S answers with the hash of some value, which it must know (a random oracle). Two vectors W(α) ≠ W(α') have the same
//! polynomial value for at most N of all χ, where N is the number of entries. For two independent random α, α' the
//! probability that W differs and values are equal is thus at most N/2^128, on average over χ. Suppose that an answer
//! of S's choice is accepted, with probability β, for an α whose W(α) is not the likeliest W_0 among the accepted ones.
//! Then the probability that W differs and values are equal is at least β². So β is at most (N/2^128)^(1/2) on average,
//! below 2^-48 for 2^32 entries. In all other cases acceptance means W(α) = W_0 for a W_0 that is determined by S's
//! messages: the shares are correct, and S has learned for each i that α_i is among the places for which block i of
//! W(α) equals block i of W_0. That is a guess of a set of places for each block, which is right with probability the
//! set's share of the block; all guesses must be right. LPN with static leakage (Boyle et al., CCS 2019, §5; Weng et
//! al.) is the assumption that covers this. A wrong sum is a guess of α_i, or in silent OT of all but its last bit; a
//! wrong correction, such as for another Δ in one block, is a guess of α_i itself.
//!
//! **An R that deviates.** It may use any places and values, even y_i = 0, since that only makes its own a less
//! random. Trees are full, so R misses a leaf in each, and that leaf masks Q_i in the correction. If R sends
//! x + y* off by d, S hashes a value that is off by d·Δ, against which R can test guesses of the whole of Δ: as
//! many candidates as remain after its guesses in the OT extension. S sends nothing but that hash, and never
//! reveals a verdict.

use std::iter::successors;

use vesica_net::{Channel, Deviation, Result, SessionId};
use vesica_primitives::{
    Block, are_equal,
    gf::{inner_product128, multiply128},
};
use zeroize::{Zeroize, Zeroizing};

use crate::{Bytes, ZeroizingVec, pprf::half_tree::Trees};

/// The check by which [`verify`] refuses a sender.
pub const CHECK: &str = "one noise and one Δ in every block";

/// Payload bytes of the check.
pub const BYTES: Bytes = Bytes { to_sender: 32, to_receiver: 32 };

const CHALLENGE: &str = "noise/challenge";
const ANSWER: &str = "noise/answer";

/// The polynomial whose coefficients are the entries of all blocks, evaluated at χ.
pub struct Polynomial {
    /// χ^j for the entries j of a block.
    powers: Vec<Block>,
    /// χ to the power of a block's length.
    next: Block,
}

impl Polynomial {
    /// For blocks of `block` entries.
    pub fn new(chi: Block, block: usize) -> Self {
        let powers = powers(chi, block);
        let next = multiply128(powers[block - 1], chi);
        Self { powers, next }
    }

    /// The value of a block by itself.
    pub fn of_block(&self, entries: &[Block]) -> Block {
        inner_product128(&self.powers, entries)
    }

    /// The value of the whole polynomial, from the values of all blocks.
    fn of_all(&self, blocks: &[Block]) -> Block {
        blocks.iter().rev().fold(Block::ZERO, |sum, block| multiply128(sum, self.next) ^ *block)
    }

    fn chi(&self) -> Block {
        // A block has more than one entry.
        self.powers[1]
    }
}

/// S's side, for its `trees` and its share Q* of the mask: receives the challenge and returns the answer, which it must
/// still send.
pub fn prove(
    delta: Block,
    trees: &[Trees<'_>],
    mask: Block,
    channel: &mut Channel,
) -> Result<CheckAnswer> {
    // C1.
    let mut challenge = [Block::ZERO; 2];
    channel.recv_slice(CHALLENGE, &mut challenge)?;
    // C2.
    let value = Zeroizing::new(answer(delta, trees, mask, challenge, || channel.keep_alive())?);
    Ok(CheckAnswer(digest(channel.session(), challenge[0], *value)))
}

/// The answer that S must still send.
#[must_use]
pub struct CheckAnswer(blake3::Hash);

impl CheckAnswer {
    /// Step C2. The caller sends more, or flushes.
    pub fn send(self, channel: &mut Channel) -> Result<()> {
        channel.send(ANSWER, self.0.as_bytes())
    }
}

/// The value whose hash is S's answer. Calls `step` for each piece, because this takes a while.
fn answer(
    delta: Block,
    trees: &[Trees<'_>],
    mask: Block,
    [chi, masked]: [Block; 2],
    mut step: impl FnMut() -> Result<()>,
) -> Result<Block> {
    let shape = trees[0].shape();
    let polynomial = Polynomial::new(chi, shape.leaves());
    let mut leaves = ZeroizingVec::zeros(shape.total());
    let mut blocks = Zeroizing::new(Vec::with_capacity(trees.len() * shape.trees()));
    for trees in trees {
        let of_block = |_, leaves: &[Block]| polynomial.of_block(leaves);
        blocks.extend_from_slice(&Zeroizing::new(trees.again(&mut leaves, of_block)));
        step()?;
    }
    Ok(polynomial.of_all(&blocks) ^ mask ^ multiply128(masked, delta))
}

/// R's part of the mask: T* = Q* + y*·Δ.
pub struct Mask {
    /// y*, drawn for this and used once.
    pub value: Block,
    /// T*.
    pub share: Block,
}

impl Drop for Mask {
    fn drop(&mut self) {
        self.value.zeroize();
        self.share.zeroize();
    }
}

/// R's side of step C1, with noise of `values` at `places`; `blocks` are the values of the polynomial for each block of
/// v separately. The trees must be full. Returns the answer that it expects of S.
pub fn challenge(
    polynomial: &Polynomial,
    blocks: &[Block],
    places: &[u32],
    values: &[Block],
    mask: &Mask,
    channel: &mut Channel,
) -> Result<Expected> {
    let chi = polynomial.chi();
    let noise = sparse_polynomial(polynomial.powers.len(), places, values, chi);
    channel.send_slice(CHALLENGE, &[chi, *Zeroizing::new(noise) ^ mask.value])?;
    channel.flush()?;
    let value = polynomial.of_all(blocks) ^ mask.share;
    Ok(Expected(digest(channel.session(), chi, value)))
}

/// The answer that S must still send.
#[must_use]
pub struct Expected(blake3::Hash);

/// Steps C2 and C3 for some challenges, in their order. All answers are received first, so S does not learn which of
/// them is wrong.
///
/// # Errors
/// [`Deviation::CheckFailed`] with [`CHECK`]. Neither leaves nor places may be used after that.
pub fn verify(expected: &[Expected], channel: &mut Channel) -> Result<()> {
    let mut are_right = true;
    for Expected(expected) in expected {
        let mut answer = [0; 32];
        channel.recv_into(ANSWER, &mut answer)?;
        are_right &= are_equal(expected.as_bytes(), &answer);
    }
    match are_right {
        true => Ok(()),
        false => Err(channel.deviation(Deviation::CheckFailed { check: CHECK })),
    }
}

/// Σ y_i·χ^j over the entries j at which the noise has its y_i, with blocks of `block` entries, a power of two.
/// No address depends on a place.
fn sparse_polynomial(block: usize, places: &[u32], values: &[Block], chi: Block) -> Block {
    assert!(block.is_power_of_two(), "trees are full");
    let depth = block.trailing_zeros() as usize;
    let squares: Vec<Block> =
        successors(Some(chi), |x| Some(multiply128(*x, *x))).take(depth + 1).collect();
    let starts = powers(squares[depth], places.len());
    let terms = starts.iter().zip(places).zip(values).map(|((start, place), value)| {
        let power = squares[..depth].iter().enumerate().fold(*start, |power, (bit, square)| {
            let is_set = Block::mask((place >> bit & 1) as u8);
            multiply128(power, Block(1) ^ ((Block(1) ^ *square) & is_set))
        });
        multiply128(power, *value)
    });
    terms.fold(Block::ZERO, |sum, term| sum ^ term)
}

/// x^0, x^1 and so on.
fn powers(x: Block, n: usize) -> Vec<Block> {
    successors(Some(Block(1)), |power| Some(multiply128(*power, x))).take(n).collect()
}

fn digest(session: SessionId, chi: Block, value: Block) -> blake3::Hash {
    let value = Zeroizing::new(value.to_bytes());
    blake3::Hasher::new_derive_key("vesica noise check v2")
        .update(session.as_bytes())
        .update(&chi.to_bytes())
        .update(&*value)
        .finalize()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    use vesica_net::Error;
    use vesica_params::lpn::{Lpn, NoiseValues, ONES};
    use vesica_primitives::block::sum;

    use super::*;
    use crate::{
        CotSender,
        pcg::{self, PcgDimensions, correction, ots},
        pprf::half_tree::MaskedSums,
        two_party::{Ideal, run},
    };

    const ATTEMPTS: usize = 1000;

    /// 24 blocks of 16 entries, as in silent OT.
    const OTS: Lpn = Lpn { blocks: 24, least: 0, ..ONES };
    /// The same, as in silent VOLE. All values are 1 here, too, so that S's share of a value times Δ is Δ, and R's is
    /// 0.
    const VOLE: Lpn = Lpn { values: NoiseValues::Uniform, ..OTS };

    /// The behaviour of a sender in one attempt.
    #[derive(Clone, Copy, Debug)]
    enum Lie {
        None,
        /// A wrong sum, with an answer that fits if R's place is this.
        Sum {
            tree: usize,
            level: usize,
            guess: Option<u32>,
        },
        /// A different correction, such as for another Δ, with an answer that fits if R's place is this.
        Correction {
            block: usize,
            difference: Block,
            guess: Option<usize>,
        },
        /// A different Δ in the answer.
        AnswerDelta,
        /// A different share of the mask.
        Mask,
        /// The answer to the previous attempt.
        Replay,
    }

    struct Received {
        places: Vec<u32>,
        values: Vec<Block>,
        leaves: ZeroizingVec<Block>,
        is_accepted: bool,
    }

    /// Makes all attempts with such noise; returns Δ, the sender's leaves, and the receiver's shares.
    fn attempt(lpn: Lpn, lies: &[Lie]) -> (Block, Vec<ZeroizingVec<Block>>, Vec<Received>) {
        let dimensions = &PcgDimensions::full(100, lpn);
        assert_eq!([dimensions.blocks, dimensions.block], [24, 16]);
        let ((delta, sent), received) = run(
            |channel| {
                let (mut cot, mut rng) = (Ideal::new(1), StdRng::seed_from_u64(1));
                let mut last = [0; 32];
                let send = |lie| deviate(dimensions, lie, &mut cot, &mut last, channel, &mut rng);
                let leaves: Vec<_> = lies.iter().map(send).collect();
                (CotSender::delta(&cot).expose()[0], leaves)
            },
            |channel| {
                let (mut cot, mut rng) = (Ideal::new(1), StdRng::seed_from_u64(2));
                lies.iter().map(|_| receive(dimensions, &mut cot, channel, &mut rng)).collect()
            },
        );
        (delta, sent, received)
    }

    /// Block `tree` of W(α) for an α with this place, if S sends these sums, and this correction in silent VOLE.
    fn guessed(
        dimensions: &PcgDimensions,
        trees: &Trees<'_>,
        sums: &[Block],
        keys: &[Block],
        (delta, correction): (Block, Block),
        (tree, place): (usize, u32),
    ) -> Vec<Block> {
        let shape = trees.shape();
        let mut places = vec![0; shape.trees()];
        places[tree] = place;
        let choices = shape.choices(&places);
        let received = keys.iter().zip(choices.iter());
        let received: Vec<Block> =
            received.map(|(key, choice)| *key ^ (delta & Block::mask(choice))).collect();
        let (_, mut leaves) = run(
            |channel| trees.send_sums(sums, channel).unwrap(),
            |channel| {
                let mut leaves = vec![Block::ZERO; shape.leaves()];
                let sums = MaskedSums::receive(shape, dimensions.leaves(), channel).unwrap();
                sums.grow_one(tree, &places, &received, &mut leaves);
                leaves
            },
        );
        leaves[place as usize] = Block::ZERO;
        leaves[place as usize] = sum(&leaves) ^ correction ^ delta;
        leaves
    }

    /// The sender's side with values 1.
    fn deviate(
        dimensions: &PcgDimensions,
        lie: &Lie,
        cot: &mut Ideal,
        last: &mut [u8; 32],
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> ZeroizingVec<Block> {
        let trees = dimensions.all_trees();
        let depth = trees.depth();
        let level = std::slice::from_ref(dimensions);
        let ots::Sent { mut keys, shares } = ots::send(level, 1, 128, cot, channel).unwrap();
        let (mut mask, keys) = (shares[0], keys.remove(0));
        let mut delta = CotSender::delta(cot).expose()[0];
        let mut leaves = ZeroizingVec::zeros(trees.total());
        let grown = Trees::new(trees, dimensions.leaves(), delta, &keys, rng);
        let shares = vec![delta; dimensions.corrections()];
        let (mut sums, mut corrections) = (Vec::new(), Vec::new());
        for (i, leaves) in leaves.chunks_exact_mut(dimensions.block).enumerate() {
            sums.extend(grown.grow_one(i, leaves));
            corrections.push(correction(i, leaves, &shares));
        }
        if let Lie::Sum { tree, level, .. } = lie {
            sums[tree * depth + level - 1].0 ^= 1 << 77;
        }
        if let Lie::Correction { block, difference, .. } = lie {
            corrections[*block] ^= *difference;
        }
        grown.send_sums(&sums, channel).unwrap();
        dimensions.send_corrections(&corrections, channel).unwrap();
        let mut challenge = [Block::ZERO; 2];
        channel.recv_slice(CHALLENGE, &mut challenge).unwrap();
        match lie {
            Lie::AnswerDelta => delta.0 ^= 2,
            Lie::Mask => mask.0 ^= 1 << 127,
            _ => {}
        }
        let mut value =
            answer(delta, std::slice::from_ref(&grown), mask, challenge, || Ok(())).unwrap();
        if let Lie::Sum { tree, guess: Some(guess), .. } = lie {
            let secrets = (delta, corrections[*tree]);
            let guessed = guessed(dimensions, &grown, &sums, &keys, secrets, (*tree, *guess));
            let own = &mut leaves[tree * dimensions.block..][..dimensions.block];
            let powers = powers(challenge[0], trees.total());
            let powers = &powers[tree * dimensions.block..][..dimensions.block];
            value ^= inner_product128(powers, own) ^ inner_product128(powers, &guessed);
            own.copy_from_slice(&guessed);
        }
        if let Lie::Correction { block, difference, guess: Some(guess) } = lie {
            let power = powers(challenge[0], trees.total())[block * dimensions.block + guess];
            value ^= multiply128(power, *difference);
        }
        let honest = *digest(channel.session(), challenge[0], value).as_bytes();
        channel.send(ANSWER, if matches!(lie, Lie::Replay) { last } else { &honest }).unwrap();
        channel.flush().unwrap();
        *last = honest;
        leaves
    }

    fn receive(
        dimensions: &PcgDimensions,
        cot: &mut Ideal,
        channel: &mut Channel,
        rng: &mut StdRng,
    ) -> Received {
        let value = Block::random(rng);
        let places = [dimensions.places(rng)];
        let level = std::slice::from_ref(dimensions);
        let ots::Received { mut keys, shares } =
            ots::receive(level, &places, &[value], 128, cot, channel).unwrap();
        let mask = Mask { value, share: shares[0] };
        let places = places[0].to_vec();
        let values = vec![Block(1); dimensions.blocks];
        let zeros = vec![Block::ZERO; dimensions.corrections()];
        let noise = pcg::Receiver::new(dimensions, &places, keys.remove(0));
        let polynomial = Polynomial::new(Block::random(rng), dimensions.block);
        let mut leaves = ZeroizingVec::zeros(dimensions.all_trees().total());
        let keep = |_: usize, leaves: &mut [Block]| polynomial.of_block(leaves);
        let took = noise.take_in(0, &zeros, channel).unwrap();
        let blocks = noise.grow(0, took, &mut leaves, &keep);
        let expected = challenge(&polynomial, &blocks, &places, &values, &mask, channel).unwrap();
        let is_accepted = match verify(&[expected], channel) {
            Ok(()) => true,
            Err(Error::Peer { deviation: Deviation::CheckFailed { check: CHECK }, .. }) => false,
            Err(other) => panic!("{other}"),
        };
        Received { places, values, leaves, is_accepted }
    }

    /// Whether the shares are correct, except for `difference` at the place of `block`.
    fn fits(delta: Block, sent: &[Block], r: &Received, block: usize, difference: Block) -> bool {
        let mut expected = sent.to_vec();
        for (i, place) in r.places.iter().enumerate() {
            expected[16 * i + *place as usize] ^= multiply128(r.values[i], delta);
        }
        expected[16 * block + r.places[block] as usize] ^= difference;
        *expected == *r.leaves
    }

    #[test]
    fn an_honest_sender_passes() {
        for lpn in [OTS, VOLE] {
            let (delta, sent, received) = attempt(lpn, &[Lie::None; 50]);
            for (sent, received) in sent.iter().zip(&received) {
                assert!(received.is_accepted && fits(delta, sent, received, 0, Block::ZERO));
            }
        }
    }

    /// A wrong sum passes only with an answer for a guess of the place. The last bit is open if leaves are correlated:
    /// on either side R then has the sum of the left leaves, as S sent it, and the sum of the right ones, which is Δ
    /// plus the former.
    #[test]
    fn a_wrong_sum_passes_only_with_the_right_guess() {
        for (lpn, expected) in [(OTS, 75..145), (VOLE, 30..85)] {
            let rng = &mut StdRng::seed_from_u64(1);
            let mut lie = |i: usize| Lie::Sum {
                tree: rng.random_range(0..16),
                level: 1 + i % 4,
                guess: (i % 8 < 7).then(|| rng.random_range(0..16)),
            };
            let lies: Vec<Lie> = (0..ATTEMPTS).map(&mut lie).collect();
            let (delta, sent, received) = attempt(lpn, &lies);
            for ((lie, sent), received) in lies.iter().zip(&sent).zip(&received) {
                let Lie::Sum { tree, guess, .. } = *lie else { unreachable!() };
                let open = u32::from(lpn == OTS);
                let is_right =
                    guess.is_some_and(|guess| guess >> open == received.places[tree] >> open);
                assert_eq!(received.is_accepted, is_right, "{lie:?}");
                assert!(!is_right || fits(delta, sent, received, 0, Block::ZERO));
            }
            let accepted = received.iter().filter(|received| received.is_accepted).count();
            assert!(expected.contains(&accepted), "{accepted}");
        }
    }

    /// A different Δ for one block passes only with an answer for a guess of the whole place, which is right in
    /// 1 of 16 cases.
    #[test]
    fn a_wrong_correction_passes_only_with_the_right_guess() {
        let rng = &mut StdRng::seed_from_u64(2);
        let lies: Vec<Lie> = (0..ATTEMPTS)
            .map(|_| Lie::Correction {
                block: rng.random_range(0..16),
                difference: Block::random(rng),
                guess: Some(rng.random_range(0..16)),
            })
            .collect();
        let (delta, sent, received) = attempt(VOLE, &lies);
        for ((lie, sent), received) in lies.iter().zip(&sent).zip(&received) {
            let &Lie::Correction { block, difference, guess } = lie else { unreachable!() };
            let is_right = guess == Some(received.places[block] as usize);
            assert_eq!(received.is_accepted, is_right, "{lie:?}");
            assert!(!is_right || fits(delta, sent, received, block, difference));
        }
        let accepted = received.iter().filter(|received| received.is_accepted).count();
        assert!((30..100).contains(&accepted), "{accepted}");
    }

    #[test]
    fn deviations_other_than_guesses_never_pass() {
        let rng = &mut StdRng::seed_from_u64(3);
        let lies: Vec<Lie> = (0..ATTEMPTS)
            .map(|i| match i % 5 {
                0 => Lie::Correction {
                    block: i % 16,
                    difference: Block(1 << (i % 128)),
                    guess: None,
                },
                1 => {
                    let difference = Block::random(rng);
                    Lie::Correction { block: i % 16, difference, guess: None }
                }
                2 => Lie::AnswerDelta,
                3 => Lie::Mask,
                _ => Lie::Replay,
            })
            .collect();
        let (_, _, received) = attempt(VOLE, &lies);
        assert!(received.iter().all(|received| !received.is_accepted));
    }

    /// The values computed in parts and by places match the definition.
    #[test]
    fn polynomials_equal_their_definition() {
        let rng = &mut StdRng::seed_from_u64(4);
        for (blocks, block) in [(1, 2), (5, 16), (3, 512), (7, 1024), (3, 4096)] {
            let chi = Block::random(rng);
            let entries: Vec<Block> = (0..blocks * block).map(|_| Block::random(rng)).collect();
            let horner = |entries: &[Block]| {
                entries.iter().rev().fold(Block::ZERO, |sum, x| multiply128(sum, chi) ^ *x)
            };
            let polynomial = Polynomial::new(chi, block);
            let values: Vec<Block> =
                entries.chunks(block).map(|entries| polynomial.of_block(entries)).collect();
            assert_eq!(polynomial.of_all(&values), horner(&entries));
            let places: Vec<u32> = (0..blocks).map(|_| rng.random_range(0..block as u32)).collect();
            let mut sparse = vec![Block::ZERO; blocks * block];
            for (i, place) in places.iter().enumerate() {
                sparse[i * block + *place as usize] = entries[i];
            }
            let expected = horner(&sparse);
            assert_eq!(sparse_polynomial(block, &places, &entries[..blocks], chi), expected);
        }
    }
}
