//! The test vectors of the specification equal the code's results.

#![allow(clippy::unwrap_used)]

mod code;
mod connection;
mod lists;
mod okvs;
mod ot;
mod parameters;
mod primitives;
mod protocols;
mod published_lists;
mod trees;
mod vole;
