//! The entries that occur twice in a sorted list in which nothing occurs more than twice.
//!
//! One of two neighbours has an odd position, so it is enough to compare each odd position with both its
//! neighbours (Huang, Evans and Katz, NDSS 2012, §5.2).

use crate::{
    Builder, Circuit, Engine, Values, Wire,
    count::Count,
    gadgets::{compare::equal, select::keep, wires},
};

/// For each odd position of a sorted list: the number, and whether it occurs twice.
pub struct Candidates<V> {
    /// The numbers, which are all different.
    pub numbers: V,
    /// One bit per number.
    pub twice: V,
}

/// Compares each number at an odd position with its neighbours.
pub fn find<E: Engine>(
    engine: &mut E,
    sorted: &E::Values,
) -> Result<Candidates<E::Values>, E::Error> {
    let (width, m) = (sorted.wires(), sorted.instances() as u32);
    let at = |first: u32| sorted.gather(&(first..m).step_by(2).collect::<Vec<_>>());
    let [before, numbers, after] = [at(0), at(1), at(2)];
    // In a list of even length the last number has no right neighbour.
    let between: Vec<u32> = (0..after.instances().min(numbers.instances()) as u32).collect();
    let last: Vec<u32> = (between.len() as u32..numbers.instances() as u32).collect();
    let sides = [&before, &numbers, &after].map(|side| side.gather(&between));
    let sides = E::Values::stack(&sides.each_ref());
    let of_two = engine.run(&twice(width, 2), &sides)?;
    let last = [&before, &numbers].map(|side| side.gather(&last));
    let last = E::Values::stack(&last.each_ref());
    let of_one = engine.run(&twice(width, 1), &last)?;
    Ok(Candidates { numbers, twice: E::Values::join(&[&of_two, &of_one]) })
}

/// The numbers that occur twice, with 0 in place of the others.
pub fn kept<E: Engine>(
    engine: &mut E,
    candidates: &Candidates<E::Values>,
) -> Result<E::Values, E::Error> {
    let inputs = E::Values::stack(&[&candidates.twice, &candidates.numbers]);
    engine.run(&keeper(candidates.numbers.wires()), &inputs)
}

/// Counts the cost of [`find`] and [`kept`] in a list of `m` numbers of `width` bits.
pub(super) fn count(count: &mut Count, width: usize, m: usize) {
    let (odd, with_two) = (m / 2, m.saturating_sub(1) / 2);
    count.add_runs(&twice(width, 2), [with_two]);
    count.add_runs(&twice(width, 1), [odd - with_two]);
    count.add_runs(&keeper(width), [odd]);
}

/// Adjacent numbers; whether the second equals one of its one or two neighbours.
fn twice(width: usize, neighbours: usize) -> Circuit {
    let mut builder = Builder::new((1 + neighbours) * width);
    let number = |i: usize| wires(i * width, width);
    let mut same: Vec<Wire> =
        (0..neighbours).map(|i| equal(&mut builder, &number(2 * i), &number(1))).collect();
    // As published. Since nothing occurs three times, an XOR would do and save an AND gate.
    let mut any = same.remove(0);
    for other in same {
        any = builder.or(any, other);
    }
    builder.finish(vec![any])
}

/// A bit and a number; returns the number if the bit is 1, otherwise 0.
fn keeper(width: usize) -> Circuit {
    let mut builder = Builder::new(1 + width);
    let kept = keep(&mut builder, 0, &wires(1, width));
    builder.finish(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WireBits, count::Shape, plain::Plain};

    #[test]
    fn duplicates_are_found_wherever_they_are() {
        for m in 0..=12u32 {
            // Bit i: whether number i repeats the one before it.
            for pattern in 0..1u32 << m {
                if pattern & 1 == 1 || pattern & pattern >> 1 != 0 {
                    continue;
                }
                let mut list: Vec<u64> = Vec::new();
                for i in 0..m {
                    let again = pattern >> i & 1;
                    list.push(list.last().copied().unwrap_or(0) + 3 * u64::from(1 - again));
                }
                let Ok(found) = find(&mut Plain, &WireBits::from_items(&list, 7));
                let Ok(kept) = kept(&mut Plain, &found);
                assert_eq!(kept.instances(), m as usize / 2);
                let mut kept = kept.to_items();
                kept.retain(|&number| number != 0);
                let expected: Vec<u64> =
                    list.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
                assert_eq!(kept, expected, "{list:?}");
            }
        }
    }

    #[test]
    fn the_cost_is_as_expected() {
        for (width, n) in [(32, 1), (32, 256), (61, 100), (1, 3)] {
            let mut count = Count::default();
            let Ok(found) = find(&mut count, &Shape::new(width, 2 * n));
            let Ok(_) = kept(&mut count, &found);
            assert_eq!(count.ands, ((3 * width - 1) * (n - 1) + 2 * width - 1) as u64);
        }
    }
}
