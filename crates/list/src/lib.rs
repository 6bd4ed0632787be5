//! Published lists: repeated private lookups of a few keys in a large set.
//!
//! A publisher evaluates a pseudo-random function on each item of its set, under a key that it uses for one *epoch*,
//! and publishes the sorted list of the truncated values: a signed [`head`](head::Head) and [parts](part). The first
//! part has all values, and each later part has the values removed and added since. A client that has the list asks the
//! publisher for the values of its own items by a verifiable oblivious evaluation ([`voprf`], [`exchange`]), and looks
//! them up locally ([`List`](lookup::List)).
//!
//! **Must never import** a channel, files, sockets or clocks: both sides are pure functions of bytes, which also run in
//! a browser.

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
