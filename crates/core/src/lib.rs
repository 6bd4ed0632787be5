//! The foundation of the product: errors, refusals and the words in them, the two sides of a run, an observer of its
//! progress, and the memory and the randomness of the machine.
//!
//! **Must never import** a table, a message or a protocol's run: every crate of the product imports this one.

pub mod difference;
pub mod error;
pub mod host;
pub mod input_fault;
pub mod misuse;
pub mod moment;
pub mod observe;
pub mod of_others;
pub mod parties;
pub mod percentage;
pub mod random;
pub mod refusal;
pub mod words;
