//! The bytes that GMW sends. Their number does not depend on data.

use crate::{Circuit, Level, Product};

/// Payload bytes that each party sends for a circuit in `instances` instances, with one triple for each
/// multiplication of a bit with a vector if `vectors`, otherwise with one for each AND gate.
pub fn bytes(circuit: &Circuit, instances: usize, vectors: bool) -> usize {
    bytes_of_levels(&circuit.levels(), instances, vectors)
}

/// The same for a circuit of these levels.
pub(crate) fn bytes_of_levels(levels: &[Level], instances: usize, vectors: bool) -> usize {
    let words = levels.iter().map(|level| opened_bits(level, instances, vectors).div_ceil(64));
    words.sum::<usize>() * size_of::<u64>()
}

/// Payload bytes that one party sends to reveal `wires` wires in `instances` instances.
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
