//! A published set: few keys looked up against many, again and again.
//!
//! **Must never import** a channel, files, sockets or clocks: both sides are pure functions of bytes, which a browser can
//! run as well.

pub mod voprf;
