//! Tests of polynomials as stores.

#![allow(clippy::unwrap_used)]

use rand::{SeedableRng, rngs::StdRng};
use vesica_params::okvs::{Shape, mega_bin, polynomial};
use vesica_primitives::Block;
use vesica_structures::okvs::{Codec, Error, Free, Okvs, polynomial::Polynomial};

fn random(n: usize, rng: &mut StdRng) -> Vec<Block> {
    (0..n).map(|_| Block::random(rng)).collect()
}

/// One polynomial; mega-bins of about ln n keys; and a few large ones.
fn shapes(n: usize) -> [Shape; 3] {
    [usize::MAX, mega_bin(n), 300].map(|target| polynomial(n, target, 40))
}

#[test]
fn every_key_decodes_to_its_value() {
    let mut rng = StdRng::seed_from_u64(1);
    for n in [0, 1, 2, 3, 31, 32, 33, 64, 65, 66, 100, 1000, 4097] {
        for shape in shapes(n) {
            let (keys, values) = (random(n, &mut rng), random(n, &mut rng));
            let store = Polynomial::new(shape, Block::random(&mut rng));
            let placed = store.place(&keys);
            for free in [Free::Zero, Free::Random] {
                let value = |position: u32, _| values[position as usize];
                let columns = store.encode(&placed, value, free, &mut rng).unwrap();
                assert_eq!(columns.len(), shape.columns());
                let decoded = store.decode(&placed, &columns);
                let expected = placed.positions().iter().map(|i| values[*i as usize]);
                assert!(expected.eq(decoded), "{n} keys");
            }
        }
    }
}

#[test]
fn equal_keys_and_too_many_are_refused() {
    let mut rng = StdRng::seed_from_u64(2);
    for n in [2, 50, 500, 5000] {
        let mut keys = random(n, &mut rng);
        keys[n - 1] = keys[0];
        for shape in shapes(n) {
            let store = Polynomial::new(shape, Block(1));
            let same_value = |_, key| key;
            let placed = store.place(&keys);
            let error = store.encode(&placed, same_value, Free::Zero, &mut rng).unwrap_err();
            assert_eq!(error, Error::NoSolution);
            let placed = store.place(&vec![Block(1); shape.capacity + 1]);
            let error = store.encode(&placed, same_value, Free::Zero, &mut rng).unwrap_err();
            assert_eq!(error, Error::Overflow);
        }
    }
}

/// With fewer keys than columns, each column of repeated encodings of the same values falls into both halves of
/// the field about equally often.
#[test]
fn free_columns_are_random_in_every_place() {
    let mut rng = StdRng::seed_from_u64(3);
    let store =
        Polynomial::new(Shape { capacity: 6, dense: 6, ..polynomial(6, usize::MAX, 40) }, Block(1));
    let placed = store.place(&random(5, &mut rng));
    let mut ones = [0; 6];
    for _ in 0..2000 {
        let columns = store.encode(&placed, |_, key| key, Free::Random, &mut rng).unwrap();
        ones.iter_mut().zip(columns).for_each(|(ones, column)| *ones += (column.0 & 1) as u32);
    }
    // Expected 1000 each, standard deviation 22.
    assert!(ones.iter().all(|ones| (840..1160).contains(ones)), "{ones:?}");
}

#[test]
fn decoding_is_linear() {
    let mut rng = StdRng::seed_from_u64(4);
    for shape in shapes(1000) {
        let store = Polynomial::new(shape, Block(7));
        let placed = store.place(&random(1000, &mut rng));
        let [a, b] = [(); 2].map(|()| random(store.columns(), &mut rng));
        let sum: Vec<Block> = a.iter().zip(&b).map(|(a, b)| *a ^ *b).collect();
        let [a, b, sum] = [a, b, sum].map(|columns| store.decode(&placed, &columns));
        assert!((0..1000).all(|i| a[i] ^ b[i] == sum[i]));
    }
}
