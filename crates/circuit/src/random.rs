//! Random netlists, for tests.

use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{Builder, Circuit, Wire};

/// A netlist of ten inputs and three outputs, different for each number; every engine is tested on these.
pub(crate) fn numbered(number: u64) -> Circuit {
    circuit(number, 10, 20 + number as usize % 40, 3)
}

/// A netlist of random gates on random wires.
pub(crate) fn circuit(seed: u64, inputs: usize, gates: usize, outputs: usize) -> Circuit {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut builder = Builder::new(inputs);
    for _ in 0..gates {
        let wires = builder.wires() as Wire;
        let (left, right) = (rng.random_range(0..wires), rng.random_range(0..wires));
        match rng.random_range(0..8) {
            0 => builder.not(left),
            1..=3 => builder.xor(left, right),
            4 => builder.or(left, right),
            _ => builder.and(left, right),
        };
    }
    let wires = builder.wires() as Wire;
    let outputs = (0..outputs).map(|_| rng.random_range(0..wires)).collect();
    builder.finish(outputs)
}
