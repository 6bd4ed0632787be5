//! Merging two sorted lists, with Batcher's bitonic network.
//!
//! One list reversed, followed by the other, falls and then rises. If such a sequence is compared at a distance of half
//! its length, the smaller elements and the larger ones form two sequences of the same kind. If the length is not a
//! power of two, the network for the next one is used, and missing elements count as larger than everything: they would
//! never move, so their comparators are left out.

use super::exchange::{Pair, Placed};
use crate::{
    Engine, Values,
    count::Count,
    gadgets::{Comparison, log2, select},
};

/// Merges two ascending lists of numbers, one per instance, into one. The choice of comparisons does not depend on
/// secrets.
///
/// # Panics
/// If the numbers of the two lists differ in length or have no bits.
pub fn merge<E: Engine>(
    engine: &mut E,
    a: &E::Values,
    b: &E::Values,
    how: Comparison,
) -> Result<E::Values, E::Error> {
    assert_eq!(a.wires(), b.wires(), "numbers of one length");
    let backwards: Vec<u32> = (0..a.instances() as u32).rev().collect();
    let mut placed = Placed::new(E::Values::join(&[&a.gather(&backwards), b]));
    let circuit = select::sorter(a.wires(), how);
    for layer in layers(a.instances() + b.instances()) {
        placed.exchange(engine, &circuit, &layer, None)?;
    }
    Ok(placed.into_values())
}

/// Counts the cost of [`merge`] for lists of `n` numbers in all, of `width` bits each.
pub(super) fn count(count: &mut Count, width: usize, n: usize, how: Comparison) {
    count.add_runs(&select::sorter(width, how), comparators(n));
}

/// The network for `n` numbers, ⌈log n⌉ layers of comparators.
fn layers(n: usize) -> Vec<Vec<Pair>> {
    let mut layers = Vec::new();
    let whole = 0..n as u32;
    let mut sequences = vec![whole];
    while sequences.iter().any(|sequence| sequence.len() > 1) {
        let (mut layer, mut halves) = (Vec::new(), Vec::new());
        for sequence in sequences.into_iter().filter(|sequence| sequence.len() > 1) {
            let distance = sequence.len().next_power_of_two() as u32 / 2;
            let middle = sequence.start + distance;
            layer.extend((middle..sequence.end).map(|greater| [greater - distance, greater]));
            halves.extend([sequence.start..middle, middle..sequence.end]);
        }
        layers.push(layer);
        sequences = halves;
    }
    layers
}

/// The number of comparators in each of the [`layers`].
fn comparators(n: usize) -> Vec<usize> {
    let mut layers = vec![0; log2(n)];
    let (mut left, mut first) = (n, 0);
    while left > 1 {
        let distance = left.next_power_of_two() / 2;
        layers[first] += left - distance;
        first += 1;
        // Of the two resulting sequences, the one with the smaller numbers has a power of two of them.
        let below = distance.ilog2() as usize;
        layers[first..][..below].iter_mut().for_each(|layer| *layer += distance / 2);
        left -= distance;
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WireBits, count::Shape, plain::Plain};

    /// By the zero-one principle, lists of two values represent all lists.
    #[test]
    fn lists_of_all_lengths_are_merged() {
        for (n, m) in (0..20).flat_map(|n| (0..20).map(move |m| (n, m))) {
            for (zeros, others) in (0..=n).flat_map(|i| (0..=m).map(move |j| (i, j))) {
                let list = |zeros: usize, n: usize| -> Vec<u64> {
                    (0..n).map(|i| u64::from(i >= zeros)).collect()
                };
                let [a, b] = [(zeros, n), (others, m)]
                    .map(|(zeros, n)| WireBits::from_items(&list(zeros, n), 1));
                let Ok(merged) = merge(&mut Plain, &a, &b, Comparison::Small);
                assert_eq!(merged.to_items(), list(zeros + others, n + m), "{n} and {m}");
            }
        }
    }

    #[test]
    fn numbers_are_merged() {
        for (n, m) in [(1000, 1), (700, 700), (1024, 1024), (333, 2000), (333_333, 666_667)] {
            let list = |n: u64, factor: u64| (0..n).map(move |i| i * factor % (1 << 40));
            let (mut a, mut b): (Vec<u64>, Vec<u64>) =
                (list(n, 0x12_3456_789b).collect(), list(m, 0x9a_bcde_f013).collect());
            a.sort_unstable();
            b.sort_unstable();
            let [x, y] = [&a, &b].map(|list| WireBits::from_items(list, 40));
            a.extend(b);
            a.sort_unstable();
            for how in [Comparison::Small, Comparison::Shallow] {
                let Ok(merged) = merge(&mut Plain, &x, &y, how);
                assert_eq!(merged.to_items(), a);
            }
        }
    }

    #[test]
    fn a_merge_has_as_many_comparators_as_it_should() {
        for log in 0..12 {
            let n = 1 << log;
            let mut count = Count::default();
            let list = Shape::new(32, n);
            let Ok(_) = merge(&mut count, &list, &list, Comparison::Small);
            assert_eq!(count.ands, (n * (log + 1) * 64) as u64);
            assert_eq!(count.rounds, (log as u64 + 1) * 33);
            assert_eq!(count.products[&32], (n * (log + 1)) as u64);
        }
        for n in (0..600).chain([1023, 1024, 1025, 3000]) {
            let layers = layers(n);
            assert_eq!(layers.len(), log2(n));
            assert_eq!(comparators(n), layers.iter().map(Vec::len).collect::<Vec<_>>());
        }
    }
}
