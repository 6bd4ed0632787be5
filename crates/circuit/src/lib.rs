//! Boolean circuits, computed by two parties on bits that neither may reveal.
//!
//! A [`Circuit`] is small: a comparison, a swap, an addition. An [`Engine`] runs it in many instances at once
//! on values in its own representation: plain bits, shares, or labels. Anything large, such as a sorting
//! network, is a program over any engine that runs small circuits and moves instances around between them. It
//! is therefore written once, its gates are counted by an engine that only counts, and it is tested by the
//! engine that computes in the clear.
//!
//! **Must never import** OPRFs or protocols.

pub mod any;
pub mod arithmetic;
pub mod circuit;
pub mod count;
pub mod engine;
pub mod gadgets;
pub mod garbling;
pub mod gmw;
pub mod lookup;
pub mod plain;
pub mod programs;
#[cfg(test)]
mod random;
pub mod rows;
pub mod scatter;
pub mod triples;
pub mod values;
mod wire_bits;

pub use circuit::{Builder, Circuit, Gate, Level, Product, Wire};
pub use engine::{Engine, Party};
pub use rows::{NumberField, RowLayout, Width};
pub use values::Values;
pub use wire_bits::WireBits;
