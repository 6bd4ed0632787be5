//! Sums, differences and counts.

use super::wires;
use crate::{Builder, Circuit, Wire};

/// The sum of three bits, low and high bit, with one AND gate.
pub fn full_adder(builder: &mut Builder, a: Wire, b: Wire, c: Wire) -> [Wire; 2] {
    let (with_a, with_b) = (builder.xor(a, c), builder.xor(b, c));
    let sum = builder.xor(with_a, b);
    let differs = builder.and(with_a, with_b);
    [sum, builder.xor(differs, c)]
}

/// The sum of two bits, low and high bit, with one AND gate.
pub fn half_adder(builder: &mut Builder, a: Wire, b: Wire) -> [Wire; 2] {
    [builder.xor(a, b), builder.and(a, b)]
}

/// a + b + carry, with as many bits as the longer number, and the carry out. One AND gate per bit; the last one is
/// omitted if the carry out is not used.
///
/// # Panics
/// If one of the numbers has no bits.
pub fn add(
    builder: &mut Builder,
    a: &[Wire],
    b: &[Wire],
    carry: Option<Wire>,
) -> (Vec<Wire>, Wire) {
    assert!(!a.is_empty() && !b.is_empty(), "numbers of some bits");
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut carry = carry;
    let mut sum = Vec::with_capacity(long.len());
    for (i, &bit) in long.iter().enumerate() {
        let [low, high] = match (short.get(i), carry) {
            (Some(&other), Some(carry)) => full_adder(builder, bit, other, carry),
            (Some(&other), None) => half_adder(builder, bit, other),
            (None, carry) => half_adder(builder, bit, carry.expect("a bit below made a carry")),
        };
        sum.push(low);
        carry = Some(high);
    }
    (sum, carry.expect("at least one bit"))
}

/// a − b modulo 2^σ, and whether b is greater than a. One AND gate per bit; the last one is omitted if the
/// comparison is not used.
///
/// # Panics
/// If the numbers differ in length or have no bits.
pub fn subtract(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> (Vec<Wire>, Wire) {
    assert!(a.len() == b.len() && !a.is_empty(), "numbers of one length, and of some");
    // ¬(¬a + b), since ¬x is −x − 1.
    let not_a: Vec<Wire> = a.iter().map(|&bit| builder.not(bit)).collect();
    let (sum, borrow) = add(builder, &not_a, b, None);
    (sum.into_iter().map(|bit| builder.not(bit)).collect(), borrow)
}

/// −a modulo 2^σ: inverts the bits above the lowest 1.
pub fn negate(builder: &mut Builder, a: &[Wire]) -> Vec<Wire> {
    let mut below: Option<Wire> = None;
    let mut negated = Vec::with_capacity(a.len());
    for &bit in a {
        negated.push(below.map_or(bit, |below| builder.xor(bit, below)));
        below = Some(below.map_or(bit, |below| builder.or(bit, below)));
    }
    negated
}

/// The number of ones (Boyar and Peralta, 2005). AND gates: m minus the number of ones in the binary
/// representation of m; depth O(log² m).
///
/// # Panics
/// If `bits` is empty.
pub fn popcount(builder: &mut Builder, bits: &[Wire]) -> Vec<Wire> {
    let m = bits.len();
    assert!(m > 0, "some bits");
    let log = m.ilog2();
    if log == 0 {
        return bits.to_vec();
    }
    // Two counts and one more bit, which is added as the carry.
    let (left, rest) = bits.split_at((1 << log) - 1);
    let left = popcount(builder, left);
    let (carry, right) = rest.split_first().expect("2^log bits or more");
    let (mut sum, carry) = if right.is_empty() {
        add_carry(builder, &left, *carry)
    } else {
        let right = popcount(builder, right);
        add(builder, &left, &right, Some(*carry))
    };
    sum.push(carry);
    sum
}

/// a + carry, with its carry out.
fn add_carry(builder: &mut Builder, a: &[Wire], mut carry: Wire) -> (Vec<Wire>, Wire) {
    let mut sum = Vec::with_capacity(a.len());
    for &bit in a {
        let [low, high] = half_adder(builder, bit, carry);
        sum.push(low);
        carry = high;
    }
    (sum, carry)
}

/// Two numbers of `width` bits; their sum, with the carry as its highest bit or modulo 2^width.
pub fn adder(width: usize, with_carry: bool) -> Circuit {
    let mut builder = Builder::new(2 * width);
    let (mut sum, carry) = add(&mut builder, &wires(0, width), &wires(width, width), None);
    if with_carry {
        sum.push(carry);
    }
    builder.finish(sum)
}

/// Two numbers of `width` bits; their difference modulo 2^width.
pub fn subtractor(width: usize) -> Circuit {
    let mut builder = Builder::new(2 * width);
    let (difference, _) = subtract(&mut builder, &wires(0, width), &wires(width, width));
    builder.finish(difference)
}

/// Returns the number of ones among `bits` bits.
pub fn counter(bits: usize) -> Circuit {
    let mut builder = Builder::new(bits);
    let count = popcount(&mut builder, &wires(0, bits));
    builder.finish(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        WireBits,
        gadgets::{
            log2,
            select::tests::{every_pair, mask, million_pairs},
        },
        plain,
    };

    fn negation(width: usize) -> Circuit {
        let mut builder = Builder::new(2 * width);
        let negated = negate(&mut builder, &wires(width, width));
        builder.finish(negated)
    }

    fn borrow(width: usize) -> Circuit {
        let mut builder = Builder::new(2 * width);
        let (_, borrow) = subtract(&mut builder, &wires(0, width), &wires(width, width));
        builder.finish(vec![borrow])
    }

    fn carry(width: usize) -> Circuit {
        let mut builder = Builder::new(2 * width);
        let (_, carry) = add(&mut builder, &wires(0, width), &wires(width, width), None);
        builder.finish(vec![carry])
    }

    #[test]
    fn sums_and_differences_cost_what_they_say() {
        for width in 1..=70 {
            for (circuit, ands) in [
                (adder(width, false), width - 1),
                (adder(width, true), width),
                (subtractor(width), width - 1),
                (borrow(width), width),
                (negation(width), width.saturating_sub(2)),
            ] {
                assert_eq!((circuit.ands(), circuit.depth()), (ands, ands));
            }
        }
    }

    #[test]
    fn sums_and_differences_are_right() {
        type Case = (fn(usize) -> Circuit, fn(u64, u64, usize) -> u64);
        let cases: [Case; 5] = [
            (|width| adder(width, false), |a, b, width| a.wrapping_add(b) & mask(width)),
            (carry, |a, b, width| u64::from(u128::from(a) + u128::from(b) > mask(width).into())),
            (subtractor, |a, b, width| a.wrapping_sub(b) & mask(width)),
            (borrow, |a, b, _| u64::from(a < b)),
            (negation, |_, b, width| b.wrapping_neg() & mask(width)),
        ];
        for (circuit, oracle) in cases {
            every_pair(circuit, oracle);
            million_pairs(circuit, oracle);
        }
        every_pair(|width| adder(width, true), |a, b, _| a + b);
    }

    #[test]
    fn numbers_of_different_lengths_are_added() {
        for (long, short) in [(5, 1), (4, 3), (1, 6)] {
            let mut builder = Builder::new(long + short);
            let (mut sum, carry) = add(&mut builder, &wires(0, long), &wires(long, short), None);
            sum.push(carry);
            let circuit = builder.finish(sum);
            let items: Vec<u64> = (0..1 << (long + short)).collect();
            let out = plain::run(&circuit, &WireBits::from_items(&items, long + short)).to_items();
            let right = |&i: &u64| out[i as usize] == (i & mask(long)) + (i >> long);
            assert!(items.iter().all(right));
        }
    }

    #[test]
    fn ones_are_counted() {
        for bits in 1..=200 {
            let circuit = counter(bits);
            assert_eq!(circuit.ands(), bits - bits.count_ones() as usize, "{bits}");
            assert_eq!(circuit.outputs().len(), log2(bits + 1));
            assert!(circuit.depth() <= log2(bits + 1).pow(2));
        }
        for bits in 1..=16 {
            let items: Vec<u64> = (0..1 << bits).collect();
            let out = plain::run(&counter(bits), &WireBits::from_items(&items, bits)).to_items();
            assert!(items.iter().all(|&i| out[i as usize] == u64::from(i.count_ones())));
        }
        million_pairs(
            |width| counter(2 * width),
            |a, b, _| u64::from(a.count_ones() + b.count_ones()),
        );
    }
}
