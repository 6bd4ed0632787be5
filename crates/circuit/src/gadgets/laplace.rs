//! Noise from random bits; [`Laplace`](vesica_params::Laplace) describes its distribution.

use super::{add::add, compare::below};
use crate::{Builder, Wire};

/// A number plus a geometric number and minus another, modulo 2^σ. Digit i of either is 1 if `precision` of the random
/// bits are below `thresholds[i]`; of both together, `random` has that many for each digit.
///
/// # Panics
/// If the number has fewer bits than there are thresholds, or `random` has another length.
pub fn add_noise(
    builder: &mut Builder,
    number: &[Wire],
    random: &[Wire],
    precision: usize,
    thresholds: &[u128],
) -> Vec<Wire> {
    let digits = thresholds.len();
    assert!(digits > 0 && number.len() >= digits, "noise that fits");
    assert_eq!(random.len(), 2 * digits * precision, "random bits for every digit");
    let mut uniform = random.chunks_exact(precision);
    let mut geometric = || -> Vec<Wire> {
        let bound = thresholds.iter().zip(&mut uniform);
        bound.map(|(&bound, uniform)| below(builder, uniform, bound)).collect()
    };
    let [plus, minus] = [geometric(), geometric()];
    let (more, _) = add(builder, number, &plus, None);
    // x − y is ¬(¬x + y), since ¬x is −x − 1.
    let not_more: Vec<Wire> = more.into_iter().map(|bit| builder.not(bit)).collect();
    let (not_less, _) = add(builder, &not_more, &minus, None);
    not_less.into_iter().map(|bit| builder.not(bit)).collect()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_params::{Laplace, laplace::PRECISION};

    use super::*;
    use crate::{
        Circuit, WireBits,
        gadgets::{log2, wires},
        plain,
    };

    /// Takes a number of `bits` bits, and then the random bits.
    fn circuit(bits: usize, precision: usize, thresholds: &[u128]) -> Circuit {
        let random = 2 * thresholds.len() * precision;
        let mut builder = Builder::new(bits + random);
        let (number, random) = (wires(0, bits), wires(bits, random));
        let noisy = add_noise(&mut builder, &number, &random, precision, thresholds);
        builder.finish(noisy)
    }

    /// With few bits, every one of their values is tried: the frequency of each noise matches the thresholds exactly.
    #[test]
    fn every_noise_comes_as_often_as_it_should() {
        for (precision, thresholds) in [(1, &[1][..]), (4, &[7, 3]), (3, &[4, 2, 1]), (5, &[15, 1])]
        {
            let (bits, random) = (6, 2 * thresholds.len() * precision);
            let circuit = circuit(bits, precision, thresholds);
            for number in [0_u64, 5, 63] {
                let items: Vec<u64> =
                    (0..1 << random).map(|bits_| bits_ << bits | number).collect();
                let noisy = plain::run(&circuit, &WireBits::from_items(&items, bits + random));
                let mut found = vec![0_u64; 64];
                noisy.to_items().iter().for_each(|noisy| found[*noisy as usize] += 1);
                let ways = |geometric: u64| -> u64 {
                    let of_digit = |(i, bound): (usize, &u128)| match geometric >> i & 1 {
                        1 => *bound as u64,
                        _ => (1 << precision) - *bound as u64,
                    };
                    thresholds.iter().enumerate().map(of_digit).product()
                };
                let mut right = vec![0; 64];
                for plus in 0..1 << thresholds.len() {
                    for minus in 0..1 << thresholds.len() {
                        let noisy = (number + plus).wrapping_sub(minus) & 63;
                        right[noisy as usize] += ways(plus) * ways(minus);
                    }
                }
                assert_eq!(found, right);
            }
        }
    }

    #[test]
    fn noise_costs_as_documented() {
        for (bits, epsilon, sensitivity) in [(64, 1_000_000, 1), (80, 100_000, 1 << 50)] {
            let thresholds = Laplace::new(epsilon, sensitivity).unwrap().thresholds();
            let circuit = circuit(bits, PRECISION, &thresholds);
            let digits = thresholds.len();
            assert!(circuit.ands() <= 4 * digits * (PRECISION - 1) + 2 * bits - 2);
            assert!(circuit.depth() <= log2(PRECISION) + bits, "{}", circuit.depth());
        }
    }

    /// With half a million samples, every value has the share that the distribution gives it, up to six standard
    /// deviations.
    #[test]
    fn samples_have_the_shares_of_the_distribution() {
        const SAMPLES: usize = 1 << 19;
        for (epsilon, sensitivity) in [(1_000_000, 1), (250_000, 3), (10_000_000, 1)] {
            let noise = Laplace::new(epsilon, sensitivity).unwrap();
            let thresholds = noise.thresholds();
            let circuit = circuit(20, PRECISION, &thresholds);
            let mut rng = StdRng::seed_from_u64(u64::from(epsilon));
            let mut inputs = WireBits::random(circuit.inputs(), SAMPLES, &mut rng);
            (0..20).for_each(|bit| inputs.row_mut(bit).fill(0));
            let found = plain::run(&circuit, &inputs).to_items();
            let q = (-f64::from(epsilon) / 1e6 / sensitivity as f64).exp();
            for value in -60_i32..=60 {
                let share = (1.0 - q) / (1.0 + q) * q.powi(value.abs());
                let expected = share * SAMPLES as f64;
                let is_value = |noisy: &&u64| **noisy == value as u64 & 0xF_FFFF;
                let count = found.iter().filter(is_value).count() as f64;
                assert!(
                    (count - expected).abs() <= 6.0 * expected.sqrt() + 6.0,
                    "{value}: {count}, {expected}"
                );
            }
        }
    }
}
