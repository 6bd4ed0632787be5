//! The values on wires, as an engine has them.

use std::ops::Range;

/// An engine's representation of some wires in many instances.
pub trait Values: Clone {
    /// The number of wires.
    fn wires(&self) -> usize;

    /// The number of instances.
    fn instances(&self) -> usize;

    /// The instances with these indices, in this order. The indices are public, like all data movement between
    /// circuits.
    fn gather(&self, instances: &[u32]) -> Self;

    /// The wires of all parts, one after another, in the same instances.
    fn stack(parts: &[&Self]) -> Self;

    /// The instances of all parts, one after another, of the same wires.
    fn join(parts: &[&Self]) -> Self;

    /// Some of the wires.
    fn rows(&self, wires: Range<usize>) -> Self;
}
