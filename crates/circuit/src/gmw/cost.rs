//! What GMW sends. Nothing of it depends on data.

use crate::{Circuit, Level, Product};

/// Payload bytes that each party sends for a circuit in so many instances; with a triple for each
/// multiplication of a bit with a vector where `vectors`, else with one for each AND gate.
pub fn bytes(circuit: &Circuit, instances: usize, vectors: bool) -> usize {
    bytes_of_levels(&circuit.levels(), instances, vectors)
}

/// The same for a circuit of these levels.
pub(crate) fn bytes_of_levels(levels: &[Level], instances: usize, vectors: bool) -> usize {
    let words = levels.iter().map(|level| opened_bits(level, instances, vectors).div_ceil(64));
    words.sum::<usize>() * size_of::<u64>()
}

/// Payload bytes that one party sends to reveal so many wires in so many instances.
pub fn reveal_bytes(wires: usize, instances: usize) -> usize {
    (wires * instances).div_ceil(64) * size_of::<u64>()
}

/// Bits that each party sends for a level.
fn opened_bits(level: &Level, instances: usize, vectors: bool) -> usize {
    let of = |product: &Product| match vectors {
        true => 1 + product.right.len(),
        false => 2 * product.right.len(),
    };
    instances * level.products.iter().map(of).sum::<usize>()
}
