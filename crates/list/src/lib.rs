//! A published set: few keys looked up against many, again and again.
//!
//! A publisher evaluates a pseudo-random function on each item of its set, under a key that it keeps for an *epoch*, and
//! publishes the sorted list of the truncated values: a [`head`](head::Head), which it signs, and [parts](part), the first
//! with all values, the others with those removed and added since. Whoever has the list asks the publisher for the values
//! of items of their own by a verifiable oblivious evaluation ([`voprf`], [`exchange`]) and looks them up alone
//! ([`List`](lookup::List)).
//!
//! **Must never import** a channel, files, sockets or clocks: both sides are pure functions of bytes, which a browser can
//! run as well.

pub mod checker;
mod error;
pub mod exchange;
pub mod head;
pub mod hex;
pub mod label;
pub mod log;
pub mod lookup;
pub mod part;
pub mod signed;
pub mod table;
pub mod value;
pub mod voprf;
pub mod writing;

#[cfg(test)]
mod tests;

pub use error::{Error, Fault, Result};
