//! Equality and order.

use super::wires;
use crate::{Builder, Circuit, Wire};

/// The method of comparing two numbers: rounds cost time on a slow link, gates cost bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Bit by bit: σ AND gates in sequence (Kolesnikov, Sadeghi and Schneider, CANS 2009). For garbling, where
    /// depth costs nothing.
    Small,
    /// By recursive halving: 3σ − ⌈log σ⌉ − 2 AND gates, depth ⌈log σ⌉ + 1 (Garay, Schoenmakers and Villegas,
    /// PKC 2007). For GMW.
    Shallow,
}

/// Whether two numbers of the same length are equal.
///
/// # Panics
/// If they differ in length or have no bits.
pub fn equal(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Wire {
    assert_eq!(a.len(), b.len(), "numbers of one length");
    let same = a.iter().zip(b).map(|(&a, &b)| {
        let differ = builder.xor(a, b);
        builder.not(differ)
    });
    let same = same.collect();
    all(builder, same)
}

/// Whether all bits are 1. AND gates: one fewer than bits; depth ⌈log⌉.
///
/// # Panics
/// If `bits` is empty.
pub fn all(builder: &mut Builder, mut bits: Vec<Wire>) -> Wire {
    while bits.len() > 1 {
        let pair = |pair: &[Wire]| match *pair {
            [a, b] => builder.and(a, b),
            _ => pair[0],
        };
        bits = bits.chunks(2).map(pair).collect();
    }
    bits.pop().expect("at least one bit")
}

/// Whether a < b, for unsigned numbers of the same length.
///
/// # Panics
/// If they differ in length or have no bits.
pub fn less(builder: &mut Builder, a: &[Wire], b: &[Wire], how: Comparison) -> Wire {
    assert!(a.len() == b.len() && !a.is_empty(), "numbers of one length, and of some");
    match how {
        Comparison::Small => less_small(builder, a, b),
        Comparison::Shallow => less_shallow(builder, a, b),
    }
}

/// If the bits differ, this position decides; otherwise the lower ones do.
fn less_small(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Wire {
    let not_a = builder.not(a[0]);
    let mut less = builder.and(not_a, b[0]);
    for (&a, &b) in a.iter().zip(b).skip(1) {
        let (a, b) = (builder.xor(a, less), builder.xor(b, less));
        // less ⊕ ¬(a ⊕ less) ∧ (b ⊕ less): b if the bits differ, less if they are equal.
        let not_a = builder.not(a);
        let changes = builder.and(not_a, b);
        less = builder.xor(less, changes);
    }
    less
}

/// Combines halves for which it is known which is less and whether they are equal; the latter is not needed for
/// the lowest part.
fn less_shallow(builder: &mut Builder, a: &[Wire], b: &[Wire]) -> Wire {
    struct Part {
        less: Wire,
        equal: Option<Wire>,
    }
    let mut parts: Vec<Part> = Vec::with_capacity(a.len());
    for (&a, &b) in a.iter().zip(b) {
        let not_a = builder.not(a);
        let equal = builder.xor(not_a, b);
        parts.push(Part { less: builder.and(not_a, b), equal: Some(equal) });
    }
    parts[0].equal = None;
    while parts.len() > 1 {
        let mut next = Vec::with_capacity(parts.len().div_ceil(2));
        let mut parts_left = parts.into_iter();
        while let Some(low) = parts_left.next() {
            let Some(high) = parts_left.next() else {
                next.push(low);
                break;
            };
            let high_equal = high.equal.expect("only the lowest part does not know");
            let below = builder.and(high_equal, low.less);
            next.push(Part {
                less: builder.xor(high.less, below),
                equal: low.equal.map(|low_equal| builder.and(high_equal, low_equal)),
            });
        }
        parts = next;
    }
    parts[0].less
}

/// Whether an unsigned number is at least a public bound. `None` if the number of bits decides it: always true
/// for 0, never for 2^σ and above.
pub fn at_least(builder: &mut Builder, number: &[Wire], bound: u128) -> Option<Wire> {
    let bits = number.len() as u32;
    if bound == 0 || bits < u128::BITS && bound >> bits != 0 {
        return None;
    }
    // number > bound − 1: in the highest bit in which they differ, the number has the 1.
    let below = bound - 1;
    let mut more: Option<Wire> = None;
    for (i, &bit) in number.iter().enumerate() {
        let bound_bit = i < 128 && below >> i & 1 == 1;
        more = match (more, bound_bit) {
            (None, false) => Some(bit),
            (None, true) => None,
            (Some(more), false) => Some(builder.or(bit, more)),
            (Some(more), true) => Some(builder.and(bit, more)),
        };
    }
    more
}

/// Whether an unsigned number is below a public bound, by recursive halving. AND gates: at most 2σ − 2; depth at most
/// ⌈log σ⌉.
///
/// # Panics
/// If the number of bits decides it: for 0, and for 2^σ and above.
pub fn below(builder: &mut Builder, number: &[Wire], bound: u128) -> Wire {
    struct Part {
        /// `None` if it cannot be.
        less: Option<Wire>,
        equal: Wire,
    }
    assert!(bound > 0 && (number.len() >= 128 || bound >> number.len() == 0), "no public answer");
    let leaf = |(i, &bit): (usize, &Wire)| {
        let opposite = builder.not(bit);
        match i < 128 && bound >> i & 1 == 1 {
            true => Part { less: Some(opposite), equal: bit },
            false => Part { less: None, equal: opposite },
        }
    };
    let mut parts: Vec<Part> = number.iter().enumerate().map(leaf).collect();
    while parts.len() > 1 {
        let join = |pair: &[Part]| {
            let [low, high] = pair else { return Part { ..pair[0] } };
            let below = low.less.map(|less| builder.and(high.equal, less));
            let less = match (high.less, below) {
                (Some(less), Some(below)) => Some(builder.xor(less, below)),
                (less, below) => less.or(below),
            };
            Part { less, equal: builder.and(high.equal, low.equal) }
        };
        parts = parts.chunks(2).map(join).collect();
    }
    parts[0].less.expect("the bound has a 1")
}

/// Two numbers of `width` bits; whether they are equal.
pub fn equality(width: usize) -> Circuit {
    let mut builder = Builder::new(2 * width);
    let equal = equal(&mut builder, &wires(0, width), &wires(width, width));
    builder.finish(vec![equal])
}

/// Two numbers of `width` bits; whether the first is less.
pub fn comparison(width: usize, how: Comparison) -> Circuit {
    let mut builder = Builder::new(2 * width);
    let less = less(&mut builder, &wires(0, width), &wires(width, width), how);
    builder.finish(vec![less])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gadgets::{
        log2,
        select::tests::{every_pair, million_pairs},
    };

    #[test]
    fn equality_is_equality() {
        for width in 1..=70 {
            let circuit = equality(width);
            assert_eq!((circuit.ands(), circuit.depth()), (width - 1, log2(width)));
        }
        every_pair(equality, |a, b, _| u64::from(a == b));
        million_pairs(equality, |a, b, _| u64::from(a == b));
    }

    #[test]
    fn order_is_order() {
        for width in 1..=70 {
            let circuit = comparison(width, Comparison::Small);
            assert_eq!((circuit.ands(), circuit.depth()), (width, width));
            let circuit = comparison(width, Comparison::Shallow);
            let ands = 3 * width - log2(width) - 2;
            assert_eq!((circuit.ands(), circuit.depth()), (ands, log2(width) + 1), "{width}");
        }
        for how in [Comparison::Small, Comparison::Shallow] {
            every_pair(|width| comparison(width, how), |a, b, _| u64::from(a < b));
            million_pairs(|width| comparison(width, how), |a, b, _| u64::from(a < b));
        }
    }

    #[test]
    fn a_public_bound_is_met_or_not() {
        for width in 1..=6 {
            for bound in 0..=(1u128 << width) + 1 {
                let mut builder = Builder::new(width);
                let found = at_least(&mut builder, &wires(0, width), bound);
                assert_eq!(found.is_none(), bound == 0 || bound > (1 << width) - 1);
                let Some(found) = found else { continue };
                let circuit = builder.finish(vec![found]);
                assert!(circuit.ands() < width);
                let items: Vec<u64> = (0..1 << width).collect();
                let numbers = crate::WireBits::from_items(&items, width);
                let out = crate::plain::run(&circuit, &numbers);
                assert!(items.iter().all(|&i| (u128::from(i) >= bound) == out.get(0, i as usize)));
                let mut builder = Builder::new(width);
                let found = below(&mut builder, &wires(0, width), bound);
                let circuit = builder.finish(vec![found]);
                assert!(circuit.ands() <= 2 * width - 2 && circuit.depth() <= log2(width));
                let out = crate::plain::run(&circuit, &numbers);
                assert!(items.iter().all(|&i| (u128::from(i) < bound) == out.get(0, i as usize)));
            }
        }
    }
}
