//! Hash bins: the other side finds every item, failures and loads are as frequent as the parameters predict,
//! and placements reveal no order. Everything is seeded.

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_params::bins::{
    balanced,
    cuckoo::{self, Published, Shape},
    phasing, simple, two_choice,
};
use vesica_primitives::Block;
use vesica_structures::bins::{
    BinMap, Entry, Error, Hashed, Table, cuckoo::CuckooTable, phasing::Phasing,
};

const SIZES: [usize; 10] = [0, 1, 2, 3, 41, 81, 100, 257, 1013, 10_007];

fn random_items(n: usize, rng: &mut StdRng) -> Vec<Block> {
    (0..n).map(|_| Block::random(rng)).collect()
}

/// Each item is in exactly one bin (or the stash), and simple hashing puts it into the same bin by the same
/// function.
fn assert_found<const H: usize>(
    items: &impl Hashed<H>,
    seats: impl Iterator<Item = (usize, Entry)>,
    stash: &[usize],
) {
    let everywhere = Table::simple(items);
    let mut times = vec![0; items.count()];
    for (bin, entry) in seats {
        assert!(everywhere.bin(bin).contains(&entry));
        times[entry.position()] += 1;
    }
    stash.iter().for_each(|position| times[*position] += 1);
    assert!(times.iter().all(|times| *times == 1));
}

fn seats(table: &Table) -> impl Iterator<Item = (usize, Entry)> {
    (0..table.bin_count()).flat_map(|bin| table.bin(bin).iter().map(move |entry| (bin, *entry)))
}

fn cuckoo_seats(table: &CuckooTable) -> impl Iterator<Item = (usize, Entry)> {
    table.bins().iter().enumerate().filter_map(|(bin, entry)| Some((bin, (*entry)?)))
}

/// The number that λ allows, plus four standard deviations.
fn allowed(trials: usize, lambda: u32) -> usize {
    let mean = trials as f64 / f64::from(1 << lambda);
    (mean + 4.0 * mean.sqrt()) as usize
}

fn cuckoo_finds<const H: usize>(n: usize, rng: &mut StdRng) {
    let published = [Published::Stash, Published::NoStash];
    let published = published.into_iter().filter_map(|which| cuckoo::published::<H>(n, which));
    let sound = [cuckoo::sound::<H>(n, 40), cuckoo::proved::<H>(n, 2, 40)];
    for shape in published.chain(sound) {
        let items = random_items(n, rng);
        let hashed = BinMap::<H>::new(shape.bins).of(&items);
        let in_order_given = CuckooTable::new(&items, shape).expect("shapes have room");
        let of_set = CuckooTable::of_set(&hashed, shape.stash).expect("shapes have room");
        for table in [in_order_given, of_set] {
            assert_found(&hashed, cuckoo_seats(&table), table.stash());
            assert!(table.stash().len() <= shape.stash);
        }
    }
}

#[test]
fn cuckoo_items_are_where_the_other_side_looks() {
    let mut rng = StdRng::seed_from_u64(1);
    for n in SIZES {
        cuckoo_finds::<2>(n, &mut rng);
        cuckoo_finds::<3>(n, &mut rng);
        cuckoo_finds::<4>(n, &mut rng);
        cuckoo_finds::<5>(n, &mut rng);
    }
}

fn balanced_finds<const H: usize>(n: usize, rng: &mut StdRng) {
    for bins in [n.max(H), (n / 7).max(H), 2 * n + H] {
        let items = random_items(n, rng);
        let hashed = BinMap::<H>::new(bins).of(&items);
        let table = Table::balanced(&hashed).expect("items are distinct");
        assert_found(&hashed, seats(&table), &[]);
        assert!(table.max_load() <= balanced::max_load(n, bins, H, 40), "{n} items, {bins} bins");
    }
}

#[test]
fn balanced_items_are_where_the_other_side_looks() {
    let mut rng = StdRng::seed_from_u64(2);
    for n in SIZES {
        balanced_finds::<1>(n, &mut rng);
        balanced_finds::<2>(n, &mut rng);
        balanced_finds::<3>(n, &mut rng);
        balanced_finds::<5>(n, &mut rng);
    }
}

#[test]
fn two_choice_items_are_where_the_other_side_looks() {
    let mut rng = StdRng::seed_from_u64(3);
    for n in SIZES.into_iter().chain([1 << 16]) {
        for shape in [two_choice::sound(n, 40), two_choice::published(n)] {
            let items = random_items(n, &mut rng);
            let hashed = BinMap::<2>::new(shape.bins).of(&items);
            let table = Table::two_choice(&hashed, shape.capacity).unwrap();
            assert_found(&hashed, seats(&table), &[]);
            assert!(table.max_load() <= shape.capacity);
        }
    }
}

#[test]
fn phased_items_are_where_the_other_side_looks() {
    let mut rng = StdRng::seed_from_u64(4);
    for n in SIZES {
        let bits = phasing::sound_bits(128, n, n, 40);
        let sound = cuckoo::sound::<3>(n, 40);
        let modular = phasing::Shape::modular(bits, sound.bins).unwrap();
        let xor = phasing::Shape::xor(bits, sound.bins.next_power_of_two().ilog2()).unwrap();
        let items: Vec<Block> =
            (0..n).map(|_| Block(rng.random::<u128>() >> (128 - bits))).collect();
        for shape in [modular, xor] {
            let phasing = Phasing::<3>::new(shape, Block::random(&mut rng));
            let phased = phasing.phase(&items).unwrap();
            let table = CuckooTable::of_set(&phased, 0).unwrap();
            assert_found(&phased, cuckoo_seats(&table), &[]);
            for (bin, entry) in cuckoo_seats(&table) {
                let item = items[entry.position()];
                let stored = phasing.store(item, entry.hash());
                assert!(phasing.item(bin as u32, stored) == Some(item));
            }
        }
    }
}

/// A placement is a function of the set: another order changes only positions.
#[test]
fn placements_do_not_tell_the_order_of_items() {
    let mut rng = StdRng::seed_from_u64(5);
    for n in [2, 3, 100, 1013] {
        let items = random_items(n, &mut rng);
        let mut turned = items.clone();
        turned.reverse();
        turned.rotate_left(n / 3);
        let seen = |items: &[Block]| {
            let named = |seats: &mut dyn Iterator<Item = (usize, Entry)>| -> Vec<_> {
                let name = |entry: Entry| (items[entry.position()], entry.hash());
                seats.map(|(bin, entry)| (bin, name(entry))).collect()
            };
            // So full that items must move, and some find no place.
            let map = BinMap::<2>::new(n + n / 3);
            let cuckoo = CuckooTable::of_set(&map.of(items), n).unwrap();
            let stash: Vec<Block> = cuckoo.stash().iter().map(|at| items[*at]).collect();
            let balanced = Table::balanced(&map.of(items)).unwrap();
            let bins = BinMap::<2>::new(two_choice::published(n).bins);
            let capacity = two_choice::sound(n, 40).capacity;
            let two_choice = Table::two_choice(&bins.of(items), capacity).unwrap();
            let tables = [&balanced, &two_choice].map(|table| named(&mut seats(table)));
            assert!(n < 100 || !stash.is_empty());
            (named(&mut cuckoo_seats(&cuckoo)), stash, tables)
        };
        assert!(seen(&items) == seen(&turned));
    }
}

#[test]
fn equal_items_are_named() {
    let mut rng = StdRng::seed_from_u64(6);
    for n in [2, 100, 1013] {
        let mut items = random_items(n, &mut rng);
        items[n - 1] = items[n / 2 - 1];
        let expected = Error::Duplicate { first: n / 2 - 1, second: n - 1 };
        let hashed = BinMap::<2>::new(n + 2).of(&items);
        assert_eq!(Table::balanced(&hashed).unwrap_err(), expected);
        assert_eq!(Table::two_choice(&hashed, n).unwrap_err(), expected);
        assert_eq!(CuckooTable::of_set(&hashed, n).unwrap_err(), expected);
        assert_eq!(
            CuckooTable::new(&items, Shape::<5> { bins: 2 * n + 5, stash: 0 }).unwrap_err(),
            expected
        );
    }
}

/// Impossible placements are refused; the search terminates.
#[test]
fn too_few_places_are_an_error() {
    let mut rng = StdRng::seed_from_u64(7);
    let items = random_items(100, &mut rng);
    let two = BinMap::<2>::new(9).of(&items);
    assert_eq!(Table::two_choice(&two, 11).unwrap_err(), Error::NoTable);
    for stash in [0, 1, 10] {
        let shape = Shape::<4> { bins: 99 - stash, stash };
        assert_eq!(CuckooTable::new(&items, shape).unwrap_err(), Error::NoTable);
    }
    // As many bins as items, and the search finds a placement.
    let ten = BinMap::<2>::new(10).of(&items);
    assert_eq!(Table::two_choice(&ten, 10).unwrap().max_load(), 10);
}

/// 64 items, three functions, ⌊1.27 · 64⌋ = 81 bins: 1755 of 3 · 10^6 exact matchings fail, as measured
/// independently (in C, with another generator and search). The result must be within four standard deviations
/// of both samples, and below the bound.
#[test]
#[ignore = "assure: 400,000 tables, to see how often one fails"]
fn cuckoo_failures_are_as_measured_independently() {
    let mut rng = StdRng::seed_from_u64(8);
    let (trials, rate) = (400_000, 1755.0 / 3e6);
    let fails = |_: &usize| {
        CuckooTable::new(&random_items(64, &mut rng), Shape::<3> { bins: 81, stash: 0 }).is_err()
    };
    let failures = (0..trials).filter(fails).count() as f64;
    let expected = trials as f64 * rate;
    // The reference is itself a sample of 1755.
    let deviation = (expected + expected * expected / 1755.0).sqrt();
    assert!((failures - expected).abs() < 4.0 * deviation, "{failures} of {trials}, {expected}");
}

/// At 1024 items and 1.20 bins per item nothing fails, although a walk of 200 steps by itself sometimes does.
#[test]
fn the_search_succeeds_where_walks_do_not() {
    let mut rng = StdRng::seed_from_u64(9);
    for _ in 0..5_000 {
        let items = random_items(1024, &mut rng);
        CuckooTable::new(&items, Shape::<3> { bins: 1228, stash: 0 }).unwrap();
    }
}

fn tables_fail_rarely<const H: usize>(n: usize, lambda: u32, trials: usize, rng: &mut StdRng) {
    let shape = cuckoo::sound::<H>(n, lambda);
    let fails = |_: &usize| CuckooTable::new(&random_items(n, rng), shape).is_err();
    let failures = (0..trials).filter(fails).count();
    assert!(
        failures <= allowed(trials, lambda),
        "{H} functions, {n} items: {failures} of {trials}"
    );
}

#[test]
fn cuckoo_tables_fail_no_more_often_than_promised() {
    let mut rng = StdRng::seed_from_u64(10);
    for n in [5, 8, 31, 64, 257] {
        for lambda in [4, 7] {
            let trials = 4_000;
            tables_fail_rarely::<2>(n, lambda, trials, &mut rng);
            tables_fail_rarely::<3>(n, lambda, trials, &mut rng);
            tables_fail_rarely::<4>(n, lambda, trials, &mut rng);
            tables_fail_rarely::<5>(n, lambda, trials, &mut rng);
        }
    }
}

/// The bound is not vacuous: small sets in half as many bins fail too often.
#[test]
fn far_fewer_bins_would_not_do() {
    let mut rng = StdRng::seed_from_u64(11);
    let (n, lambda, trials) = (31, 7, 10_000);
    let mut failures = |shape: Shape<4>| {
        let fails = |_: &usize| CuckooTable::new(&random_items(n, &mut rng), shape).is_err();
        (0..trials).filter(fails).count()
    };
    let sound = cuckoo::sound::<4>(n, lambda);
    assert!(failures(Shape { bins: sound.bins * 17 / 20, ..sound }) > allowed(trials, lambda));
}

/// Loads of 10,000 tables, compared with the bound for a λ at which violations are visible.
#[test]
fn loads_exceed_their_bounds_no_more_often_than_promised() {
    let mut rng = StdRng::seed_from_u64(12);
    let (n, bins, trials) = (300, 100, 10_000);
    let mut loads = [const { Vec::new() }; 4];
    for _ in 0..trials {
        let items = random_items(n, &mut rng);
        let one = BinMap::<1>::new(bins).of(&items);
        let two = BinMap::<2>::new(bins).of(&items);
        let three = BinMap::<3>::new(bins).of(&items);
        loads[0].push(Table::simple(&one).max_load());
        loads[1].push(Table::simple(&three).max_load());
        loads[2].push(Table::balanced(&two).unwrap().max_load());
        loads[3].push(Table::balanced(&three).unwrap().max_load());
    }
    for lambda in [3, 6] {
        let bounds = [
            simple::max_load(n, bins, lambda),
            simple::max_load(3 * n, bins, lambda),
            balanced::max_load(n, bins, 2, lambda),
            balanced::max_load(n, bins, 3, lambda),
        ];
        for (loads, bound) in loads.iter().zip(bounds) {
            let over = |bound: usize| loads.iter().filter(|load| **load > bound).count();
            assert!(over(bound) <= allowed(trials, lambda), "λ = {lambda}: {}", over(bound));
        }
        // The bounds of simple hashing are tight: two less would be exceeded.
        for (loads, bound) in loads.iter().zip(bounds).take(2) {
            let over = loads.iter().filter(|load| **load > bound - 2).count();
            assert!(over > allowed(trials, lambda), "λ = {lambda}: {over} of {trials}");
        }
    }
}

/// Two-choice hashing fails no more often than the bound says, at a capacity where failures are visible.
#[test]
fn two_choice_tables_fail_no_more_often_than_promised() {
    let mut rng = StdRng::seed_from_u64(13);
    let (n, lambda, trials) = (81, 4, 10_000);
    let sound = two_choice::sound(n, lambda);
    let mut failures = |capacity: usize| {
        let fails = |_: &usize| {
            let items = random_items(n, &mut rng);
            Table::two_choice(&BinMap::<2>::new(sound.bins).of(&items), capacity).is_err()
        };
        (0..trials).filter(fails).count()
    };
    assert!(failures(sound.capacity) <= allowed(trials, lambda));
    assert_eq!(failures(n.div_ceil(sound.bins) - 1), trials);
}

/// Consecutive items share rests, and are distributed all the more evenly.
#[test]
fn phased_items_in_a_row_do_not_crowd() {
    let mut rng = StdRng::seed_from_u64(14);
    for (n, bins) in [(1000usize, 1000), (10_000, 700)] {
        let shape = phasing::Shape::modular(32, bins).unwrap();
        let phasing = Phasing::<1>::new(shape, Block::random(&mut rng));
        let items: Vec<Block> = (0..n as u128).map(|i| Block(i + 123_456)).collect();
        let table = Table::simple(&phasing.phase(&items).unwrap());
        assert!(table.max_load() <= n.div_ceil(bins) + 1, "{}", table.max_load());
    }
}
