//! Lists at an address: the client's side of HTTP.

mod client;
mod place;
mod rate;
mod tls;

pub use client::Remote;
pub use place::ListOrigin;
