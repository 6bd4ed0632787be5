//! Tests of this crate through its interface.

// All code here is tests, which report failures by panics.
#![allow(clippy::unwrap_used)]

mod population;
mod presets;
mod rules;
mod vectors;
