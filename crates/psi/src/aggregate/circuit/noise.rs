//! Step 5 for a number with noise.
//!
//! A random bit is the sum of two bits. Each party chooses one and does not know the other, so the sum is uniform if at
//! least one party draws its bits uniformly. A party therefore cannot change the distribution of the noise by its
//! choice. It can by deviating from GMW, which is secure only against semi-honest parties.

use vesica_circuit::{
    Builder, Circuit, WireBits,
    gadgets::{add::add, laplace::add_noise, wires},
};
use vesica_params::{Laplace, laplace::PRECISION};

/// Random bits that make the noise.
pub(super) fn random_bits(noise: Laplace) -> usize {
    2 * noise.digits() * PRECISION
}

/// Returns the circuit of step 5. Inputs: both parties' shares of a number modulo 2^`bits`, whose magnitude is below
/// 2^(bits − 1), and random bits. Output: the noisy number, in enough bits that it does not wrap.
pub(super) fn circuit(bits: usize, noise: Laplace) -> Circuit {
    let thresholds = noise.thresholds();
    // Sums of products are below 2^126, and the noise is below 2^88.
    let wide = (bits.max(thresholds.len()) + 2).min(u128::BITS as usize);
    let mut builder = Builder::new(2 * bits + random_bits(noise));
    let (ours, theirs) = (wires(0, bits), wires(bits, bits));
    let random = wires(2 * bits, random_bits(noise));
    let (mut number, _) = add(&mut builder, &ours, &theirs, None);
    number.resize(wide, number[bits - 1]);
    let noisy = add_noise(&mut builder, &number, &random, PRECISION, &thresholds);
    builder.finish(noisy)
}

/// The noisy number of an instance.
pub(super) fn read(shown: &WireBits, instance: usize) -> i128 {
    let bit = |wire| i128::from(shown.get(wire, instance));
    let sign = -bit(shown.wires() - 1);
    (0..shown.wires()).rev().fold(sign, |number, wire| number << 1 | bit(wire))
}

#[cfg(test)]
mod tests {
    use rand::CryptoRng;
    use vesica_circuit::{Engine, Party, gmw::Gmw, triples::Demand};
    use vesica_net::Channel;
    use vesica_testkit::two_party::{self, Link};

    use super::*;
    use crate::{Result, aggregate::circuit::Silent, circuit_psi::Construction};

    const BITS: usize = 64;

    /// Each party's shares of the number −3: the second one's are as in additive shares.
    fn inputs(circuit: &Circuit, role: Party, instances: usize, random: &WireBits) -> WireBits {
        let mut inputs = WireBits::zeros(circuit.inputs(), instances);
        let (first, share) = match role {
            Party::First => (0, 1_u64 << 63 | 5),
            Party::Second => (BITS, (1_u64 << 63).wrapping_sub(8)),
        };
        for instance in 0..instances {
            (0..BITS).for_each(|bit| inputs.set(first + bit, instance, share >> bit & 1 == 1));
        }
        for wire in 0..random.wires() {
            inputs.row_mut(2 * BITS + wire).copy_from_slice(random.row(wire));
        }
        inputs
    }

    /// Returns noisy numbers that both parties compute; one of them may use this bit instead of drawing its random
    /// bits.
    fn sample(noise: Laplace, instances: usize, stuck: Option<(Party, bool)>) -> Vec<i128> {
        let circuit = circuit(BITS, noise);
        let party = |role, channel: &mut Channel, rng: &mut dyn CryptoRng| -> Result<Vec<i128>> {
            let triples =
                Silent::TRIPLES.make(role, &Demand::of_ands(&circuit, instances), channel, rng)?;
            let mut random = WireBits::random(random_bits(noise), instances, rng);
            if let Some((_, bit)) = stuck.filter(|(who, _)| *who == role) {
                let word = if bit { u64::MAX } else { 0 };
                (0..random.wires()).for_each(|wire| random.row_mut(wire).fill(word));
            }
            let mut engine = Gmw::new(role, triples, channel);
            let outputs = engine.run(&circuit, &inputs(&circuit, role, instances, &random))?;
            let shown = engine.reveal(&outputs, Party::Second)?;
            channel.flush()?;
            Ok(shown.iter().flat_map(|shown| (0..instances).map(|i| read(shown, i))).collect())
        };
        let ran = two_party::run(
            Link::Memory,
            |channel, rng| party(Party::First, channel, rng),
            |channel, rng| party(Party::Second, channel, rng),
        );
        ran.1
    }

    /// Neither party changes the distribution by choosing its bits: each value has its expected frequency, up to six
    /// standard deviations.
    #[test]
    fn a_party_that_does_not_draw_its_bits_changes_nothing() {
        const INSTANCES: usize = 512;
        let noise = Laplace::new(1_000_000, 1).unwrap();
        let q = (-1.0_f64).exp();
        let stuck = [None, Some((Party::First, false)), Some((Party::Second, true))];
        for stuck in stuck {
            let found = sample(noise, INSTANCES, stuck);
            assert_eq!(found.len(), INSTANCES);
            for value in -20_i32..=20 {
                let share = (1.0 - q) / (1.0 + q) * q.powi(value.abs());
                let expected = share * INSTANCES as f64;
                let count = found.iter().filter(|noisy| **noisy == i128::from(value) - 3).count();
                let off = (count as f64 - expected).abs();
                assert!(off <= 6.0 * expected.sqrt() + 6.0, "{value}: {count}, {expected}");
            }
        }
    }
}
