//! The sum of numbers over many instances.
//!
//! Three bits of one weight, from three instances, become one of that weight and one of the next, for all
//! weights at once, until no weight has more than two; the rest is one addition. The depth is therefore
//! logarithmic in the number of instances, and each AND gate removes one bit.

use crate::{
    Builder, Circuit, Engine, Values, Wire,
    gadgets::add::{full_adder, half_adder},
};

/// The exact sum over all instances, in one instance, with as many bits as the largest possible sum needs. For
/// one wire this is the number of ones.
///
/// # Panics
/// If it has zero instances or zero wires.
pub fn sum<E: Engine>(engine: &mut E, numbers: &E::Values) -> Result<E::Values, E::Error> {
    assert!(numbers.instances() > 0 && numbers.wires() > 0, "something to add");
    let mut columns: Vec<E::Values> =
        (0..numbers.wires()).map(|wire| numbers.rows(wire..wire + 1)).collect();
    let circuit = three_to_two();
    while columns.iter().any(|column| column.instances() > 2) {
        columns = reduce(engine, &circuit, &columns)?;
    }
    let heights: Vec<usize> = columns.iter().map(|column| column.instances()).collect();
    let bits: Vec<E::Values> = columns
        .iter()
        .flat_map(|column| {
            (0..column.instances() as u32).map(|instance| column.gather(&[instance]))
        })
        .collect();
    engine.run(&ripple(&heights), &E::Values::stack(&bits.iter().collect::<Vec<_>>()))
}

/// Replaces three bits of a weight by one of it and one of the next, as often as possible.
fn reduce<E: Engine>(
    engine: &mut E,
    circuit: &Circuit,
    columns: &[E::Values],
) -> Result<Vec<E::Values>, E::Error> {
    let part = |values: &E::Values, from: usize, to: usize| {
        values.gather(&(from as u32..to as u32).collect::<Vec<_>>())
    };
    let thirds: Vec<usize> = columns.iter().map(|column| column.instances() / 3).collect();
    let operands = [0, 1, 2].map(|i| {
        let parts: Vec<E::Values> =
            columns.iter().zip(&thirds).map(|(c, &n)| part(c, i * n, (i + 1) * n)).collect();
        E::Values::join(&parts.iter().collect::<Vec<_>>())
    });
    let added = engine.run(circuit, &E::Values::stack(&operands.each_ref()))?;
    let [sums, carries] = [added.rows(0..1), added.rows(1..2)];
    let mut reduced: Vec<Vec<E::Values>> = vec![Vec::new(); columns.len() + 1];
    let mut at = 0;
    for (weight, (column, &n)) in columns.iter().zip(&thirds).enumerate() {
        // Left-over bits go first, so that they are not left over forever.
        reduced[weight].insert(0, part(column, 3 * n, column.instances()));
        reduced[weight].push(part(&sums, at, at + n));
        reduced[weight + 1].push(part(&carries, at, at + n));
        at += n;
    }
    let joined = |parts: &Vec<E::Values>| E::Values::join(&parts.iter().collect::<Vec<_>>());
    let mut columns: Vec<E::Values> = reduced.iter().map(joined).collect();
    columns.pop_if(|highest| highest.instances() == 0);
    Ok(columns)
}

fn three_to_two() -> Circuit {
    let mut builder = Builder::new(3);
    let outputs = full_adder(&mut builder, 0, 1, 2);
    builder.finish(outputs.to_vec())
}

/// Adds one or two bits, or none, of each weight.
fn ripple(heights: &[usize]) -> Circuit {
    let mut builder = Builder::new(heights.iter().sum());
    let (mut sum, mut next, mut carry) = (Vec::new(), 0, None);
    for &height in heights {
        let mut bits: Vec<Wire> = (next..next + height as Wire).collect();
        next += height as Wire;
        bits.extend(carry.take());
        sum.push(match *bits.as_slice() {
            [a] => a,
            [a, b] => {
                let [low, high] = half_adder(&mut builder, a, b);
                carry = Some(high);
                low
            }
            [a, b, c] => {
                let [low, high] = full_adder(&mut builder, a, b, c);
                carry = Some(high);
                low
            }
            // A weight gets a bit from the one below before it can be empty, and keeps one.
            _ => unreachable!("one to three bits of each weight"),
        });
    }
    sum.extend(carry);
    builder.finish(sum)
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{
        WireBits,
        count::{Count, Shape},
        plain::Plain,
    };

    #[test]
    fn sums_are_exact() {
        let mut rng = StdRng::seed_from_u64(1);
        for instances in (1..70).chain([1000, 4095, 4096, 4097]) {
            for wires in [1, 2, 3, 8, 40] {
                let numbers = WireBits::random(wires, instances, &mut rng);
                let Ok(total) = sum(&mut Plain, &numbers);
                let greatest = instances as u64 * ((1 << wires) - 1);
                assert_eq!((total.instances(), total.wires() as u32), (1, greatest.ilog2() + 1));
                assert_eq!(total.to_items()[0], numbers.to_items().iter().sum::<u64>());
            }
        }
        let Ok(total) = sum(&mut Plain, &WireBits::from_items(&[u64::MAX; 1000], 64));
        assert_eq!(total.to_blocks()[0].0, 1000 * u128::from(u64::MAX));
    }

    #[test]
    fn the_cost_is_as_expected() {
        let cost = |wires: usize, instances: usize| {
            let mut count = Count::default();
            let Ok(_) = sum(&mut count, &Shape::new(wires, instances));
            count
        };
        for instances in 1..500usize {
            let ands = instances - instances.count_ones() as usize;
            assert_eq!(cost(1, instances).ands, ands as u64, "{instances}");
            for wires in [2, 7, 30] {
                // Every second bit of a weight produces a carry.
                let (mut height, mut ands) = (0, 0);
                for weight in 0..2 * wires + 20 {
                    height = height / 2 + if weight < wires { instances } else { 0 };
                    ands += height / 2;
                }
                assert_eq!(cost(wires, instances).ands, ands as u64, "{wires} bits, {instances}");
            }
        }
        assert!(cost(1, 1 << 20).rounds < 75, "{}", cost(1, 1 << 20).rounds);
    }
}
