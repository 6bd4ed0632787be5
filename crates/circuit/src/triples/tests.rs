use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Channel;
use vesica_ot::{Result, extension::softspoken::SmallField};
use vesica_params::lpn::{self, Lpn};
use vesica_primitives::Block;
use vesica_testkit::{
    tamper::{Tamper, tamper},
    transcript,
    two_party::{self, Link, PATIENCE, between},
};

use super::*;
use crate::{Party, WireBits};

/// Every extension; silent OT with little noise and several pieces.
const EXTENSIONS: [Extension; 3] = [
    Extension::Alsz13,
    Extension::SoftSpoken(SmallField::new(4)),
    Extension::Silent(SmallField::new(4), Lpn { blocks: 24, least: 0, piece: 1500, ..lpn::ONES }),
];

/// Triples from a trusted dealer: those of the first party and of the second.
pub(crate) fn dealt(demand: &Demand) -> [Triples; 2] {
    let mut rng = StdRng::seed_from_u64(8);
    let mut both = [Triples::default(), Triples::default()];
    for (bits, count) in demand.counts() {
        let mut random = |wires| WireBits::random(wires, count, &mut rng);
        let [mut a, mut b, mut c] = [1, bits, bits].map(&mut random);
        let shares = [&a, &b, &c].map(tapes);
        both[0].stock.insert(bits, of_tapes(shares));
        let [other_a, other_b] = [1, bits].map(&mut random);
        for bit in 0..bits {
            for word in 0..a.row_words() {
                let a = a.row(0)[word] ^ other_a.row(0)[word];
                let b = b.row(bit)[word] ^ other_b.row(bit)[word];
                c.row_mut(bit)[word] ^= a & b;
            }
        }
        (a, b) = (other_a, other_b);
        both[1].stock.insert(bits, of_tapes([&a, &b, &c].map(tapes)));
    }
    both
}

fn tapes(instances: &WireBits) -> Vec<Tape> {
    let tape = |wire| Tape::of_words(instances.row(wire).to_vec(), instances.instances());
    (0..instances.wires()).map(tape).collect()
}

fn of_tapes([mut a, b, c]: [Vec<Tape>; 3]) -> Shares {
    Shares { a: a.remove(0), b, c }
}

/// Both parties' triples, after checking the bytes sent.
fn made(extension: Extension, demand: &Demand) -> [Triples; 2] {
    let make = |role| {
        move |channel: &mut Channel, rng: &mut StdRng| extension.make(role, demand, channel, rng)
    };
    let (first, second) = two_party::run(Link::Memory, make(Party::First), make(Party::Second));
    [first, second]
}

fn bit(row: &[u64], i: usize) -> bool {
    row[i / 64] >> (i % 64) & 1 == 1
}

/// Takes all triples, in parts of uneven lengths, and checks each.
fn assert_products(mut both: [Triples; 2], demand: &Demand) {
    let parts = [1, 0, 63, 64, 65, 500, usize::MAX];
    for (bits, count) in demand.counts() {
        let mut left = count;
        for part in parts {
            let part = part.min(left);
            left -= part;
            let taken = both.each_mut().map(|triples| triples.take(bits, part).unwrap());
            let [first, second] = &taken;
            assert_eq!([first.b.len(), second.b.len(), first.c.len()], [bits; 3]);
            for i in 0..part {
                let of = |x: &[u64], y: &[u64]| bit(x, i) != bit(y, i);
                let a = of(&first.a, &second.a);
                for j in 0..bits {
                    let b = of(&first.b[j], &second.b[j]);
                    let c = of(&first.c[j], &second.c[j]);
                    assert_eq!(c, a && b, "triple {i}, bit {j} of {bits}");
                }
            }
        }
        for triples in &mut both {
            let error = OutOfTriples { bits, needed: 1, left: 0 };
            assert_eq!(triples.take(bits, 1).err(), Some(error));
        }
    }
}

#[test]
fn products_are_products() {
    let demands = [
        Demand::default(),
        Demand::singles(1),
        Demand::singles(10_001),
        Demand::of([(1, 63), (2, 65), (3, 1000), (64, 64)]),
        Demand::of([(32, 9000), (127, 1), (128, 129), (129, 127), (300, 70)]),
    ];
    for extension in EXTENSIONS {
        for demand in &demands {
            assert_products(made(extension, demand), demand);
        }
    }
    for demand in &demands {
        assert_products(dealt(demand), demand);
    }
}

/// No statistic of a party's shares, or of these together with the other party's, is off by more than five
/// standard deviations: single bits, sums of two kinds, and sums of neighbours.
#[test]
fn bits_are_balanced_and_independent() {
    const COUNT: usize = 1 << 15;
    for extension in EXTENSIONS {
        let demand = Demand::of([(1, COUNT), (3, COUNT)]);
        let mut both = made(extension, &demand);
        for bits in [1, 3] {
            let taken = both.each_mut().map(|triples| triples.take(bits, COUNT).unwrap());
            let rows: Vec<Vec<u64>> = taken
                .iter()
                .flat_map(|t| [&t.a].into_iter().chain(&t.b).chain(&t.c[..1]).cloned())
                .collect();
            let balanced = |what: &str, ones: u32| {
                let off = (f64::from(ones) - COUNT as f64 / 2.0) / (COUNT as f64 / 4.0).sqrt();
                assert!(off.abs() < 5.0, "{extension:?}, {bits} bits: {what} is off by {off}");
            };
            for (i, row) in rows.iter().enumerate() {
                balanced(&format!("row {i}"), row.iter().map(|w| w.count_ones()).sum());
                for shift in [1, 2, 7, 64] {
                    let moved = |k: usize| bit(row, k) != bit(row, (k + shift) % COUNT);
                    let ones = (0..COUNT).filter(|&k| moved(k)).count() as u32;
                    balanced(&format!("row {i} and {shift} further"), ones);
                }
                for (j, other) in rows[..i].iter().enumerate() {
                    let ones: u32 = row.iter().zip(other).map(|(x, y)| (x ^ y).count_ones()).sum();
                    // Shares of one product, which is 1 in a quarter of the cases.
                    if (i, j) == (rows.len() - 1, rows.len() / 2 - 1) {
                        assert!(ones.abs_diff(COUNT as u32 / 4) < 400, "{ones} products are 1");
                        continue;
                    }
                    balanced(&format!("rows {i} and {j}"), ones);
                }
            }
        }
    }
}

#[test]
fn bytes_are_those_of_the_formula() {
    let demands = [
        Demand::default(),
        Demand::singles(1),
        Demand::singles(20_000),
        Demand::of([(1, 100), (32, 5000)]),
        Demand::default().with_distances(Strings::new(301, 61)),
        Demand::of([(1, 77), (32, 500)]).with_distances(Strings::new(33, 64)),
    ];
    for extension in EXTENSIONS {
        for demand in &demands {
            let make = |role| {
                move |channel: &mut Channel, rng: &mut StdRng| -> Result<()> {
                    extension.make(role, demand, channel, rng).map(drop)
                }
            };
            let sent = transcript::of(make(Party::First), make(Party::Second));
            let sent = [sent.sender.payload_bytes(), sent.receiver.payload_bytes()];
            let bytes = [Party::First, Party::Second].map(|role| extension.bytes(demand, role));
            assert_eq!(sent, bytes, "{extension:?}, {demand:?}");
        }
    }
}

/// With vector triples, AND gates that share a wire also share their OTs.
#[test]
fn a_vector_costs_what_a_bit_does() {
    for extension in EXTENSIONS {
        let bytes = |demand: &Demand| extension.bytes(demand, Party::First);
        let of = |demand: Demand| bytes(&demand) - bytes(&Demand::default());
        assert_eq!(of(Demand::of([(32, 5000)])), of(Demand::singles(5000)));
    }
    let ands = |demand: Demand| demand.ands() as f64;
    let alsz13 =
        |demand: &Demand| Extension::Alsz13.of_ots(demand.triples()).to_sender as f64 * 8.0;
    let singles = Demand::singles(32 << 16);
    // Two OTs of 128 bits; each party sends one of them.
    assert!((alsz13(&singles) / ands(singles) - 128.0).abs() < 1.0);
}

/// A malformed message ends the run with an error, in each of the two sessions.
#[test]
fn a_message_of_another_form_is_refused() {
    let demand = Demand::of([(1, 300), (8, 300)]);
    let extension = Extension::Alsz13;
    for role in [Party::First, Party::Second] {
        let honest = |channel: &mut Channel, rng: &mut StdRng| {
            extension.make(role, &demand, channel, rng).map(drop)
        };
        let malicious = |channel: &mut Channel, rng: &mut StdRng| {
            extension.make(role.other(), &demand, channel, rng).map(drop)
        };
        let messages = transcript::of(malicious, honest).sender.messages.len();
        for number in 0..messages {
            for how in [Tamper::Shorten, Tamper::Relabel("another/step".into()), Tamper::Close] {
                let (left, right) = Link::Memory.connect();
                let left = tamper(left, number, how.clone());
                let (_, outcome) = between((left, right), PATIENCE, malicious, honest);
                let error = outcome.expect_err("noticed");
                assert!(
                    error.is_peer_fault() == (how != Tamper::Close),
                    "message {number}, {how:?}: {error}"
                );
            }
        }
    }
}

#[test]
fn demands_add_up() {
    let demand = Demand::of([(1, 5), (3, 7), (1, 2), (9, 0)]) + Demand::of([(3, 1), (2, 4)]);
    assert_eq!(demand.counts().collect::<Vec<_>>(), [(1, 7), (2, 4), (3, 8)]);
    assert_eq!((demand.triples(), demand.ands()), (19, 7 + 8 + 24));
    let demand = demand.with_distances(Strings::new(3, 40)) + Demand::singles(1);
    assert_eq!([Party::First, Party::Second].map(|role| demand.ots(role)), [20 + 120, 20]);
}

/// Distances are correct for strings of any length that are equal, far apart or random.
#[test]
fn strings_are_equal_where_what_is_left_of_them_is() {
    let rng = &mut StdRng::seed_from_u64(4);
    for (count, bits) in [(0, 40), (1, 8), (200, 15), (301, 61), (130, 63), (77, 64), (64, 127)] {
        let strings = Strings::new(count, bits);
        for extension in EXTENSIONS {
            let demand = Demand::singles(70).with_distances(strings);
            let [mut first, mut second] = made(extension, &demand);
            let [first, second] = [&mut first, &mut second].map(|t| t.take_distances().unwrap());
            let mask = (1 << bits) - 1;
            let drawn: Vec<Block> = first.strings().collect();
            assert!(drawn.len() == count && drawn.iter().all(|string| string.0 & !mask == 0));
            let brought: Vec<Block> = (0..count)
                .map(|i| match i % 4 {
                    0 => drawn[i],
                    1 => Block(drawn[i].0 ^ mask),
                    2 => Block(drawn[i].0 ^ 1 << (i % bits)),
                    // Bits beyond the length do not count.
                    _ => Block::random(rng),
                })
                .collect();
            let (first, second) = two_party::run(
                Link::Memory,
                |channel: &mut Channel, _: &mut StdRng| first.first(channel),
                |channel: &mut Channel, _: &mut StdRng| second.second(&brought, channel),
            );
            assert_eq!([first.wires(), second.wires()], [strings.distance_bits(); 2]);
            let (first, second) = (first.to_items(), second.to_items());
            for i in 0..count {
                let distance = ((drawn[i].0 ^ brought[i].0) & mask).count_ones();
                let shared = first[i].wrapping_sub(second[i]) % (1 << strings.distance_bits());
                assert_eq!(shared, u64::from(distance), "{i} of {count}, {bits} bits");
            }
        }
    }
}

/// What the first party draws and sends, and what the second party sends, looks random: single bits, and sums
/// of two adjacent ones.
#[test]
fn strings_and_shares_are_balanced() {
    const COUNT: usize = 2000;
    const BITS: usize = 61;
    let demand = Demand::default().with_distances(Strings::new(COUNT, BITS));
    let both = made(Extension::Alsz13, &demand);
    let [first, second] = both.map(|mut triples| triples.take_distances().unwrap());
    for strings in [first.strings(), second.strings()] {
        let strings: Vec<u128> = strings.map(|string| string.0).collect();
        for moved in [0, 1, 7] {
            let sum =
                |i: usize| strings[i] ^ if moved > 0 { strings[(i + moved) % COUNT] } else { 0 };
            let ones: u32 = (0..COUNT).map(|i| sum(i).count_ones()).sum();
            let all = (COUNT * BITS) as f64;
            let off = (f64::from(ones) - all / 2.0) / (all / 4.0).sqrt();
            assert!(off.abs() < 5.0, "{moved}: off by {off}");
        }
    }
    let pairs = first.strings().zip(second.strings()).map(|(s, a)| (s.0 ^ a.0).count_ones());
    let off = (f64::from(pairs.sum::<u32>()) - 61_000.0) / (122_000f64 / 4.0).sqrt();
    assert!(off.abs() < 5.0, "off by {off}");
}
