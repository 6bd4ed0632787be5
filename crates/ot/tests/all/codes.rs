//! The codes of silent OT and silent VOLE, compared with the bounds that `vesica_params` computes for them.

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_ot::pcg::PcgDimensions;
use vesica_params::lpn::{GUESSED_ONES, Lpn, ONES, UNIFORM, first_moment};
use vesica_primitives::{Block, code::permutation::permutation};

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

/// The columns of the compressing matrix of a piece, by its definition: the image of a one in each entry, for `blocks`
/// blocks of `len` entries.
fn columns(blocks: usize, len: usize, accumulators: u32) -> Vec<Vec<bool>> {
    let n = blocks * len;
    // Running sums over the places of entries, where entry j of block b has place j·t + b.
    let along: Vec<usize> = (0..n).map(|place| place % blocks * len + place / blocks).collect();
    let sums_along = |word: &[bool], order: &[usize]| {
        let mut sums = vec![false; n];
        order.iter().fold(false, |sum, at| {
            sums[*at] = sum ^ word[*at];
            sums[*at]
        });
        sums
    };
    let permuted = |word: &[bool], round: u32| -> Vec<bool> {
        permutation(n, round).iter().map(|place| word[*place as usize]).collect()
    };
    let in_order: Vec<usize> = (0..n).collect();
    let golay = golay();
    let column = |entry: usize| {
        let unit: Vec<bool> = (0..n).map(|i| i == entry).collect();
        let mut word = sums_along(&unit, &along);
        for round in 1..accumulators {
            word = sums_along(&permuted(&word, round), &in_order);
        }
        let word = permuted(&word, 0);
        let of_block = |block: &[bool]| {
            let bits = block.iter().enumerate().map(|(i, bit)| u32::from(*bit) << i).sum::<u32>();
            golay.map(|row| (row & bits).count_ones() % 2 == 1)
        };
        word.chunks_exact(24).flat_map(of_block).collect()
    };
    (0..n).map(column).collect()
}

/// The noise of a run, compressed piece by piece, is the sum of the columns at its places, each times its value.
#[test]
fn noise_is_compressed_by_an_explicit_matrix() {
    let rng = &mut StdRng::seed_from_u64(3);
    for (accumulators, blocks, piece, len) in [
        (1, 24, 150, 150),
        (2, 24, 150, 299),
        (3, 24, 200, 551),
        (3, 48, 400, 401),
        (4, 24, 99, 290),
    ] {
        let lpn = Lpn { accumulators, blocks, least: 0, ..UNIFORM }.with_piece(piece);
        let dimensions = PcgDimensions::new(len, lpn);
        let columns = columns(blocks, dimensions.block, accumulators);
        let places = dimensions.places(rng);
        let values: Vec<Block> = places.iter().map(|_| Block::random(rng)).collect();
        let mut out = vec![Block::ZERO; len];
        dimensions.compress_noise(&places, &values, &mut dimensions.space(), &mut out);
        let pieces = dimensions.blocks / blocks;
        let mut expected = Vec::new();
        for (places, values) in places.chunks(blocks).zip(values.chunks(blocks)) {
            let mut sums = vec![Block::ZERO; columns[0].len()];
            for (block, (place, value)) in places.iter().zip(values).enumerate() {
                let column = &columns[block * dimensions.block + *place as usize];
                let ones = sums.iter_mut().zip(column).filter(|(_, bit)| **bit);
                ones.for_each(|(sum, _)| *sum ^= *value);
            }
            expected.extend_from_slice(&sums[..len.div_ceil(pieces)]);
        }
        expected.truncate(len);
        assert!(out == expected, "{accumulators} accumulators, {blocks} blocks, {len} entries");
        assert!(out.iter().any(|entry| *entry != Block::ZERO));
    }
}
