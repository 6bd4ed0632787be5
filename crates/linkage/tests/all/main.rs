//! Tests of this crate through its interface.

mod vectors;
