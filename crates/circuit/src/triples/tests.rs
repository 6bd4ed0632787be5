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

/// Triples from a trusted dealer, for the first party and for the second.
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
        Demand::default().with_strings(Strings::new(301, 61)),
        Demand::of([(1, 77), (32, 500)]).with_strings(Strings::new(33, 64)),
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
    let demand = demand.with_strings(Strings::new(3, 40)) + Demand::singles(1);
    assert_eq!((demand.triples(), demand.strings()), (20, Some(Strings::new(3, 40))));
    assert!(!demand.is_empty() && Demand::of([(9, 0)]).is_empty());
    assert!(!Demand::default().with_strings(Strings::new(0, 40)).is_empty());
}

/// Strings of any length compare as equal exactly if they are: tried with a difference in each of their bits, in all of
/// them, or at random.
#[test]
fn strings_are_equal_where_they_are() {
    let rng = &mut StdRng::seed_from_u64(4);
    for (count, bits) in
        [(0, 40), (1, 8), (77, 1), (70, 2), (200, 15), (301, 61), (130, 62), (65, 64), (64, 128)]
    {
        let strings = Strings::new(count, bits);
        for extension in EXTENSIONS {
            let demand = Demand::singles(70).with_strings(strings);
            let [mut first, mut second] = made(extension, &demand);
            assert_eq!([first.left(1), second.left(1)], [70; 2]);
            let [first, second] = [&mut first, &mut second].map(|t| t.take_digits().unwrap());
            let mask = u128::MAX >> (128 - bits);
            let ours = first.draw(rng).to_blocks();
            let theirs: Vec<Block> = (0..count)
                .map(|i| match i % 4 {
                    // Bits beyond the length do not count.
                    0 => Block(ours[i].0 ^ !mask),
                    1 => Block(ours[i].0 ^ mask),
                    2 => Block(ours[i].0 ^ 1 << (i / 4 % bits)),
                    _ => Block::random(rng),
                })
                .collect();
            assert!(ours.iter().all(|string| string.0 & !mask == 0));
            let compare = |digits: Digits, strings: &[Block]| {
                let strings = WireBits::from_blocks(strings, bits);
                move |channel: &mut Channel, _: &mut StdRng| digits.compare(&strings, channel)
            };
            let (mut first, second) =
                two_party::run(Link::Memory, compare(first, &ours), compare(second, &theirs));
            first.xor_with(&second);
            for i in 0..count {
                let equal = (ours[i].0 ^ theirs[i].0) & mask == 0;
                assert_eq!(first.get(0, i), equal, "{i} of {count}, {bits} bits");
            }
        }
    }
}

/// The first level covers all digits, and the others are as few as three bits at a time allow; each digit leaves two
/// bits fewer.
#[test]
fn levels_and_ots_are_as_few_as_can_be() {
    let depths =
        [(1, 0), (2, 1), (3, 1), (4, 2), (9, 2), (10, 3), (61, 4), (79, 4), (80, 5), (82, 5)];
    for (bits, depth) in depths {
        let strings = Strings::new(7, bits);
        assert_eq!(strings.depth(), depth, "{bits} bits");
        let ots = [Party::First, Party::Second].map(|holder| strings.ots(holder));
        assert_eq!(ots.iter().sum::<usize>(), 7 * (bits - 1).div_ceil(2), "{bits} bits");
    }
    let strings = Strings::new(1, 61);
    assert_eq!([Party::First, Party::Second].map(|holder| strings.ots(holder)), [23, 7]);
}

/// The first party's strings, and all messages while strings are compared, look random for any strings of the second
/// party: single bits, and sums of two of them.
#[test]
fn comparisons_are_masked() {
    const COUNT: usize = 4096;
    const BITS: usize = 29;
    let strings = Strings::new(COUNT, BITS);
    let demand = Demand::default().with_strings(strings);
    let balanced = |what: &str, bytes: &[u8]| {
        let all = 8.0 * bytes.len() as f64;
        for moved in [0, 1, 3, COUNT / 8, 2 * COUNT / 8, 4 * COUNT / 8] {
            let other = |i: usize| if moved > 0 { bytes[(i + moved) % bytes.len()] } else { 0 };
            let ones: u32 = (0..bytes.len()).map(|i| (bytes[i] ^ other(i)).count_ones()).sum();
            let off = (f64::from(ones) - all / 2.0) / (all / 4.0).sqrt();
            assert!(off.abs() < 5.0, "{what}, {moved}: off by {off}");
        }
    };
    let equal = |drawn: &WireBits| drawn.clone();
    let constant = |_: &WireBits| WireBits::zeros(BITS, COUNT);
    for strings_of_second in [equal as fn(&WireBits) -> WireBits, constant] {
        let both = made(Extension::Alsz13, &demand).map(|mut t| t.take_digits().unwrap());
        let [first, second] = both;
        let ours = first.draw(&mut StdRng::seed_from_u64(6));
        balanced("drawn", bytemuck::cast_slice(ours.words()));
        let theirs = strings_of_second(&ours);
        let compare = |digits: Digits, strings: WireBits| {
            move |channel: &mut Channel, _: &mut StdRng| digits.compare(&strings, channel).map(drop)
        };
        let sent = transcript::of(compare(first, ours), compare(second, theirs));
        for (role, sent) in [(Party::First, sent.sender), (Party::Second, sent.receiver)] {
            let messages = sent.messages.iter();
            let bytes: Vec<u8> = messages.flat_map(|message| message.payload.clone()).collect();
            assert_eq!(bytes.len(), strings.bytes(role));
            balanced(&format!("{role:?}"), &bytes);
        }
    }
}
