//! Selection between two values by a bit. Each of these gadgets multiplies that bit with one vector.

use super::{
    compare::{Comparison, less},
    wires,
};
use crate::{Builder, Circuit, Wire};

/// `ones` if the bit is 1, otherwise `zeros`.
///
/// # Panics
/// If they are of different lengths.
pub fn choose(builder: &mut Builder, bit: Wire, zeros: &[Wire], ones: &[Wire]) -> Vec<Wire> {
    let changes = changes(builder, bit, zeros, ones);
    zeros.iter().zip(changes).map(|(&zero, change)| builder.xor(zero, change)).collect()
}

/// The two values, swapped if the bit is 1.
///
/// # Panics
/// If they are of different lengths.
pub fn swap(builder: &mut Builder, bit: Wire, a: &[Wire], b: &[Wire]) -> [Vec<Wire>; 2] {
    let changes = changes(builder, bit, a, b);
    [a, b]
        .map(|side| side.iter().zip(&changes).map(|(&x, &change)| builder.xor(x, change)).collect())
}

/// The value if the bit is 1, otherwise 0.
pub fn keep(builder: &mut Builder, bit: Wire, value: &[Wire]) -> Vec<Wire> {
    value.iter().map(|&x| builder.and(bit, x)).collect()
}

/// Two numbers in order, the smaller first.
///
/// # Panics
/// If they differ in length or have no bits.
pub fn sort(builder: &mut Builder, a: &[Wire], b: &[Wire], how: Comparison) -> [Vec<Wire>; 2] {
    let is_wrong = less(builder, b, a, how);
    swap(builder, is_wrong, a, b)
}

/// The differences to add so that `zeros` becomes `ones` if the bit is 1.
fn changes(builder: &mut Builder, bit: Wire, zeros: &[Wire], ones: &[Wire]) -> Vec<Wire> {
    assert_eq!(zeros.len(), ones.len(), "values of one length");
    let differences: Vec<Wire> =
        zeros.iter().zip(ones).map(|(&zero, &one)| builder.xor(zero, one)).collect();
    keep(builder, bit, &differences)
}

/// Two numbers of `width` bits; returns them in order, the smaller first.
pub fn sorter(width: usize, how: Comparison) -> Circuit {
    let mut builder = Builder::new(2 * width);
    let sorted = sort(&mut builder, &wires(0, width), &wires(width, width), how);
    builder.finish(sorted.concat())
}

/// A bit and two values of `width` bits; returns the values, swapped if the bit is 1.
pub fn switch(width: usize) -> Circuit {
    let mut builder = Builder::new(1 + 2 * width);
    let swapped = swap(&mut builder, 0, &wires(1, width), &wires(1 + width, width));
    builder.finish(swapped.concat())
}

/// A bit and two values of `width` bits; returns the second value if the bit is 1, otherwise the first.
pub fn multiplexer(width: usize) -> Circuit {
    let mut builder = Builder::new(1 + 2 * width);
    let chosen = choose(&mut builder, 0, &wires(1, width), &wires(1 + width, width));
    builder.finish(chosen)
}

#[cfg(test)]
pub(super) mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{Values, WireBits, gadgets::log2, plain};

    pub fn mask(width: usize) -> u64 {
        if width == 64 { u64::MAX } else { (1 << width) - 1 }
    }

    /// Compares a circuit on two numbers with an oracle, for all numbers of few bits.
    pub fn every_pair(circuit: impl Fn(usize) -> Circuit, oracle: impl Fn(u64, u64, usize) -> u64) {
        for width in 1..=6 {
            let items: Vec<u64> = (0..1 << (2 * width)).collect();
            let out =
                plain::run(&circuit(width), &WireBits::from_items(&items, 2 * width)).to_items();
            for (item, out) in items.into_iter().zip(out) {
                let (a, b) = (item & mask(width), item >> width);
                assert_eq!(out, oracle(a, b, width), "{a} and {b} of {width} bits");
            }
        }
    }

    /// The same for a million random pairs of wider numbers, some of them nearly equal.
    pub fn million_pairs(
        circuit: impl Fn(usize) -> Circuit,
        oracle: impl Fn(u64, u64, usize) -> u64,
    ) {
        const PAIRS: usize = 250_000;
        let mut rng = StdRng::seed_from_u64(7);
        for width in [13, 32, 61, 64] {
            let a = WireBits::random(width, PAIRS, &mut rng);
            let mut b = WireBits::random(width, PAIRS, &mut rng);
            // The second numbers of the last half differ in at most a few bits.
            let words = PAIRS.div_ceil(64);
            for wire in 0..width {
                let from = a.row(wire).to_vec();
                let row = b.row_mut(wire);
                for i in words / 2..words {
                    let differs = (wire + i) % 29 == 0;
                    row[i] = if differs { row[i] } else { from[i] };
                }
            }
            let out = plain::run(&circuit(width), &WireBits::stack(&[&a, &b])).to_items();
            for ((a, b), out) in a.to_items().into_iter().zip(b.to_items()).zip(out) {
                assert_eq!(out, oracle(a, b, width), "{a} and {b} of {width} bits");
            }
        }
    }

    /// The width of the only vector in the last level of AND gates.
    fn last_vector(circuit: &Circuit) -> usize {
        let levels = circuit.levels();
        let products = &levels[levels.len() - 2].products;
        assert_eq!(products.len(), 1);
        products[0].out.len()
    }

    #[test]
    fn values_are_chosen_and_swapped_by_a_bit() {
        for width in 1..=70 {
            for circuit in [switch(width), multiplexer(width)] {
                assert_eq!((circuit.ands(), circuit.depth()), (width, 1));
                assert_eq!(last_vector(&circuit), width);
            }
        }
        for width in 1..=5 {
            let items: Vec<u64> = (0..1 << (1 + 2 * width)).collect();
            let inputs = WireBits::from_items(&items, 1 + 2 * width);
            let chosen = plain::run(&multiplexer(width), &inputs).to_items();
            let swapped = plain::run(&switch(width), &inputs).to_items();
            for (i, item) in items.into_iter().enumerate() {
                let (a, b) = (item >> 1 & mask(width), item >> (1 + width));
                let is_one = item & 1 == 1;
                assert_eq!(chosen[i], if is_one { b } else { a });
                assert_eq!(swapped[i], if is_one { b | a << width } else { a | b << width });
            }
        }
        // The bit is the lowest bit of the first number; it selects between the remaining bits of the two.
        let values = |width: usize| [wires(1, width - 1), wires(width + 1, width - 1)];
        let chosen = |width: usize| {
            let (mut builder, [a, b]) = (Builder::new(2 * width), values(width));
            let chosen = choose(&mut builder, 0, &a, &b);
            builder.finish(chosen)
        };
        let swapped = |which: usize| {
            move |width: usize| {
                let (mut builder, [a, b]) = (Builder::new(2 * width), values(width));
                let sides = swap(&mut builder, 0, &a, &b);
                builder.finish(sides[which].clone())
            }
        };
        let second_by_bit = |a: u64, b: u64, _| if a & 1 == 1 { b >> 1 } else { a >> 1 };
        million_pairs(chosen, second_by_bit);
        million_pairs(swapped(0), second_by_bit);
        million_pairs(swapped(1), |a, b, _| if a & 1 == 1 { a >> 1 } else { b >> 1 });
    }

    #[test]
    fn two_numbers_are_sorted() {
        for width in 1..=70 {
            let small = sorter(width, Comparison::Small);
            assert_eq!((small.ands(), small.depth()), (2 * width, width + 1));
            let shallow = sorter(width, Comparison::Shallow);
            let ands = 4 * width - log2(width) - 2;
            assert_eq!((shallow.ands(), shallow.depth()), (ands, log2(width) + 2));
            assert_eq!([last_vector(&small), last_vector(&shallow)], [width; 2]);
        }
        for how in [Comparison::Small, Comparison::Shallow] {
            let half = |which: usize| {
                move |width: usize| {
                    let mut builder = Builder::new(2 * width);
                    let [a, b] = [wires(0, width), wires(width, width)];
                    let sides = sort(&mut builder, &a, &b, how);
                    builder.finish(sides[which].clone())
                }
            };
            every_pair(half(0), |a, b, _| a.min(b));
            every_pair(half(1), |a, b, _| a.max(b));
            million_pairs(half(0), |a, b, _| a.min(b));
            million_pairs(half(1), |a, b, _| a.max(b));
        }
    }
}
