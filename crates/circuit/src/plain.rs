//! The engine that computes in the clear: the reference for all others.

use std::convert::Infallible;

use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::{Circuit, Engine, Gate, Party, WireBits, engine};

/// Words of a row that one thread computes at once: all slots of a small circuit stay in the cache.
const WORDS: usize = 64;

/// Both parties together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl Engine for Plain {
    type Values = WireBits;
    type Error = Infallible;

    fn input(
        &mut self,
        _: Party,
        wires: usize,
        instances: usize,
        bits: Option<&WireBits>,
    ) -> Result<WireBits, Infallible> {
        Ok(engine::known(bits, wires, instances).clone())
    }

    fn run(&mut self, circuit: &Circuit, inputs: &WireBits) -> Result<WireBits, Infallible> {
        Ok(run(circuit, inputs))
    }

    fn reveal(&mut self, values: &WireBits, _: Party) -> Result<Option<WireBits>, Infallible> {
        Ok(Some(values.clone()))
    }
}

/// Runs a circuit in all instances.
///
/// # Panics
/// If the circuit has another number of inputs.
pub fn run(circuit: &Circuit, inputs: &WireBits) -> WireBits {
    assert_eq!(inputs.wires(), circuit.inputs(), "as many inputs as the circuit has");
    let width = inputs.row_words();
    let parts: Vec<Zeroizing<Vec<u64>>> = (0..width.div_ceil(WORDS))
        .into_par_iter()
        .map(|i| run_part(circuit, inputs, i * WORDS, WORDS.min(width - i * WORDS)))
        .collect();
    let outputs = circuit.outputs().len();
    let mut words = Vec::with_capacity(outputs * width);
    for output in 0..outputs {
        for (i, part) in parts.iter().enumerate() {
            let n = WORDS.min(width - i * WORDS);
            words.extend_from_slice(&part[output * n..][..n]);
        }
    }
    WireBits::from_words(outputs, inputs.instances(), words)
}

/// The outputs for `n` words of each row from word `first` on.
fn run_part(circuit: &Circuit, inputs: &WireBits, first: usize, n: usize) -> Zeroizing<Vec<u64>> {
    let slots = circuit.slots();
    let mut held = Zeroizing::new(vec![0; slots.count() * n]);
    for (wire, slot) in held.chunks_exact_mut(n).take(circuit.inputs()).enumerate() {
        slot.copy_from_slice(&inputs.row(wire)[first..first + n]);
    }
    for (wire, gate) in (circuit.inputs()..).zip(circuit.gates()) {
        let out = slots.of(wire as u32) * n;
        let [left, right] = gate.operands().map(|wire| slots.of(wire) * n);
        for i in 0..n {
            let (left, right) = (held[left + i], held[right + i]);
            held[out + i] = match gate {
                Gate::Xor(..) => left ^ right,
                Gate::Not(_) => !left,
                Gate::And(..) => left & right,
            };
        }
    }
    let mut out = Zeroizing::new(Vec::with_capacity(circuit.outputs().len() * n));
    for &wire in circuit.outputs() {
        out.extend_from_slice(&held[slots.of(wire) * n..][..n]);
    }
    out
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;
    use crate::{Values, random};

    /// Gate by gate and instance by instance.
    fn by_hand(circuit: &Circuit, inputs: &WireBits, instance: usize) -> Vec<bool> {
        let mut wires: Vec<bool> = (0..circuit.inputs()).map(|i| inputs.get(i, instance)).collect();
        for gate in circuit.gates() {
            let of = |wire: u32| wires[wire as usize];
            wires.push(match *gate {
                Gate::Xor(left, right) => of(left) != of(right),
                Gate::Not(wire) => !of(wire),
                Gate::And(left, right) => of(left) && of(right),
            });
        }
        circuit.outputs().iter().map(|&wire| wires[wire as usize]).collect()
    }

    #[test]
    fn a_circuit_is_computed_as_it_says() {
        let mut rng = StdRng::seed_from_u64(1);
        for seed in 0..300 {
            let circuit = random::circuit(seed, 1 + seed as usize % 12, 50, 6);
            let instances = [0, 1, 63, 64, 65, 200, 5000][seed as usize % 7];
            let inputs = WireBits::random(circuit.inputs(), instances, &mut rng);
            let outputs = run(&circuit, &inputs);
            assert_eq!(
                (outputs.wires(), outputs.instances()),
                (circuit.outputs().len(), instances)
            );
            for instance in (0..instances).step_by(7) {
                let expected = by_hand(&circuit, &inputs, instance);
                assert!((0..expected.len()).all(|i| outputs.get(i, instance) == expected[i]));
            }
            assert!(outputs.gather(&(0..instances as u32).collect::<Vec<_>>()) == outputs);
        }
    }
}
