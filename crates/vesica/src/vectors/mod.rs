//! The test vectors of the specification that concern the product: `docs/spec/vectors.md`.

mod keys;
mod runs;
mod terms;
