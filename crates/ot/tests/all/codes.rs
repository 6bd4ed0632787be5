//! The codes of silent OT and silent VOLE, compared with the bounds that `vesica_params` computes for them.

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_params::lpn::{GUESSED_ONES, ONES, first_moment};

/// Length of a code of two Golay blocks, short enough to count all words.
const LENGTH: usize = 48;

/// The rows of the extended Golay code, (I ‖ P), by its definition.
fn golay() -> [u32; 12] {
    let squares: Vec<usize> = (1..11).map(|i| i * i % 11).collect();
    std::array::from_fn(|i| {
        let parity = (0..12).filter(|j| match (i, j) {
            (11, 11) => false,
            (11, _) | (_, 11) => true,
            _ => !squares.contains(&((j + 11 - i) % 11)),
        });
        parity.fold(1 << i, |row, j| row | 1 << (12 + j))
    })
}

/// The image of a word under random permutations with an accumulator after each.
fn accumulated(mut word: u64, permutations: &[Vec<usize>]) -> u64 {
    for places in permutations {
        let mut sum = 0;
        let bits = places.iter().enumerate().map(|(i, place)| {
            sum ^= word >> place & 1;
            sum << i
        });
        word = bits.sum();
    }
    word
}

/// The weight distribution of a code: all 2^24 words, by sums of rows.
fn weights(generator: &[u64]) -> [u32; LENGTH + 1] {
    let mut weights = [0; LENGTH + 1];
    let mut word: u64 = 0;
    // In Gray code order, consecutive words differ by one row.
    for number in 1u32..1 << generator.len() {
        word ^= generator[number.trailing_zeros() as usize];
        weights[word.count_ones() as usize] += 1;
    }
    weights
}

/// Monte Carlo: over random permutations, the numbers of light and heavy words agree with the first moment.
#[test]
fn the_first_moment_is_the_mean() {
    const TRIALS: usize = 16;
    let rng = &mut StdRng::seed_from_u64(1);
    let blocks = golay().map(u64::from);
    let rows: Vec<u64> = blocks.into_iter().chain(blocks.map(|row| row << 24)).collect();
    for accumulators in 1..=3 {
        let mut counted = [0.0; LENGTH + 1];
        for _ in 0..TRIALS {
            let permutations: Vec<Vec<usize>> = (0..accumulators)
                .map(|_| {
                    let mut places: Vec<usize> = (0..LENGTH).collect();
                    places.shuffle(rng);
                    places
                })
                .collect();
            // Permutations and accumulators are linear.
            let generator: Vec<u64> =
                rows.iter().map(|row| accumulated(*row, &permutations)).collect();
            let of_code = weights(&generator);
            counted.iter_mut().zip(of_code).for_each(|(sum, words)| *sum += f64::from(words));
        }
        for most in [8, 10, 13] {
            let expected = first_moment::words(LENGTH, accumulators, most);
            let mean = |weights: &[f64]| weights.iter().sum::<f64>() / TRIALS as f64;
            let (light, heavy) = (mean(&counted[1..=most]), mean(&counted[LENGTH - most..]));
            for (mean, expected) in [(light, expected.light), (heavy, expected.heavy)] {
                let ratio = mean / expected.exp2();
                assert!((0.8..1.25).contains(&ratio), "{accumulators}, {most}: {mean}, {ratio}");
            }
        }
    }
}

/// The bias of a word against noise of ones, in bits: −log2 of Π |1 − 2·w_b/B|, where `block(p)` is the block
/// of place p.
fn bias_bits(
    runs: &[[usize; 2]],
    blocks: usize,
    len: usize,
    block: impl Fn(usize) -> usize,
) -> f64 {
    let mut weights = vec![0u32; blocks];
    runs.iter().flat_map(|[start, end]| *start..*end).for_each(|p| weights[block(p)] += 1);
    weights.iter().map(|w| -(1.0 - 2.0 * f64::from(*w) / len as f64).abs().log2()).sum()
}

/// No word of few runs escapes: with strided blocks, words that are neither too light nor too heavy have a bias
/// below 2^-128. With contiguous blocks, most do not.
#[test]
fn words_of_few_runs_meet_every_block() {
    let rng = &mut StdRng::seed_from_u64(2);
    for (lpn, len, most) in [(ONES, 64, 5), (ONES, 1024, 45), (GUESSED_ONES, 512, 30)] {
        let (t, n) = (lpn.blocks, lpn.blocks * len);
        let (mut tried, mut escaping) = (0, 0);
        while tried < 40 {
            let count = rng.random_range(1..=most);
            let mut ends: Vec<usize> = (0..2 * count).map(|_| rng.random_range(0..=n)).collect();
            ends.sort_unstable();
            let runs: Vec<[usize; 2]> = ends.as_chunks().0.to_vec();
            let weight: usize = runs.iter().map(|[start, end]| end - start).sum();
            let part = weight as f64 / n as f64;
            if part < ONES.distance() || part > 1.0 - ONES.distance() {
                continue;
            }
            tried += 1;
            let strided = bias_bits(&runs, t, len, |place| place % t);
            let contiguous = bias_bits(&runs, t, len, |place| place / len);
            assert!(strided > 127.9, "{count} runs, {part}: {strided}");
            escaping += u32::from(contiguous < 128.0);
        }
        assert!(escaping > 20, "{escaping} of contiguous blocks escape");
    }
}
