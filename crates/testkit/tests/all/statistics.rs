//! Failure models, tested at a λ so small that failures are visible. Everything is seeded.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_params::{KAPPA, bins::cuckoo, code, tag};
use vesica_primitives::{Block, Seed, code::PseudoRandomCode};
use vesica_structures::bins::{Error, cuckoo::CuckooTable};

/// The number of `trials` tables of `n` items and `bins` bins that cannot be built.
fn failures(n: usize, bins: usize, trials: usize) -> usize {
    let mut rng = StdRng::seed_from_u64(n as u64);
    let shape = cuckoo::Shape::<3> { bins, stash: 0 };
    let fails = |_: &usize| {
        let items: Vec<Block> = (0..n).map(|_| Block::random(&mut rng)).collect();
        matches!(CuckooTable::new(&items, shape), Err(Error::NoTable))
    };
    (0..trials).filter(fails).count()
}

/// The number that λ allows, plus four standard deviations.
fn allowed(trials: usize, lambda: u32) -> usize {
    let mean = trials as f64 / f64::from(1 << lambda);
    (mean + 4.0 * mean.sqrt()) as usize
}

#[test]
#[ignore = "assure: 400,000 tables, to see how often one fails"]
fn cuckoo_tables_fail_no_more_often_than_promised() {
    for (sizes, trials) in [
        (&[4, 5, 8, 13, 31, 64, 127, 255][..], 20_000),
        (&[256, 300, 511, 512, 700, 1024][..], 3_000),
    ] {
        for n in sizes {
            for lambda in [4, 7] {
                let failed = failures(*n, cuckoo::sound::<3>(*n, lambda).bins, trials);
                let most = allowed(trials, lambda);
                assert!(failed <= most, "{n} items, λ = {lambda}: {failed} of {trials}");
            }
        }
    }
}

/// The model is not vacuous: where it is tight, a slightly smaller table fails too often.
#[test]
fn fewer_bins_would_not_do() {
    let trials = 20_000;
    for (n, lambda) in [(4, 7), (5, 7), (8, 7)] {
        let failed = failures(n, cuckoo::sound::<3>(n, lambda).bins - 2, trials);
        assert!(failed > allowed(trials, lambda), "{n} items: {failed} of {trials}");
    }
    // The fits are tight at the smallest size for which they are made.
    assert!(failures(512, cuckoo::sound::<3>(512, 7).bins - 14, 3_000) > allowed(3_000, 7));
}

#[test]
fn tags_meet_no_more_often_than_promised() {
    let (trials, lambda) = (6_000, 4);
    let mut rng = StdRng::seed_from_u64(1);
    for (receiver, sender) in [(1, 1000), (30, 30), (100, 7)] {
        let bits = tag::bits(receiver, sender, lambda);
        let mut meets = |bits: u32| {
            let mut draw = |n: usize| -> Vec<u64> {
                (0..n).map(|_| rng.random::<u64>() >> (64 - bits)).collect()
            };
            let theirs: std::collections::HashSet<u64> = draw(sender).into_iter().collect();
            draw(receiver).iter().any(|tag| theirs.contains(tag))
        };
        let met = (0..trials).filter(|_| meets(bits)).count();
        assert!(met <= allowed(trials, lambda), "{receiver} × {sender}: {met} of {trials}");
        // Two bits less would fail the test.
        let met = (0..trials).filter(|_| meets(bits - 2)).count();
        assert!(met > allowed(trials, lambda), "{receiver} × {sender}: {met} of {trials}");
    }
}

/// Over fresh keys, some pair of codewords is closer than κ no more often than promised, at the width for that λ. A
/// width smaller by two dozen bits fails the test.
#[test]
fn codewords_are_close_no_more_often_than_promised() {
    let (trials, lambda, pairs) = (3_000, 4, 16);
    let width = code::width(pairs, lambda);
    let close = |width: usize| {
        let mut rng = StdRng::seed_from_u64(2);
        let some_pair_is_close = |_: &i32| {
            let code = PseudoRandomCode::new(&Seed::random(&mut rng), width);
            // Words that differ in one bit, the smallest difference.
            let words: Vec<Block> = (0..2 * pairs as u128).map(Block).collect();
            let mut rows = vec![[Block::ZERO; 4]; words.len()];
            code.encode(&words, &mut rows);
            let distance = |pair: &[[Block; 4]]| -> u32 {
                pair[0].iter().zip(&pair[1]).map(|(a, b)| (*a ^ *b).0.count_ones()).sum()
            };
            rows.chunks(2).any(|pair| distance(pair) < KAPPA)
        };
        (0..trials).filter(some_pair_is_close).count()
    };
    let most = allowed(trials as usize, lambda);
    assert!(close(width) <= most, "width {width}: {} of {trials}", close(width));
    assert!(close(width - 24) > most, "width {}: {}", width - 24, close(width - 24));
}
