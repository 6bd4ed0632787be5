//! The client's side of lists over HTTP.

mod client;
mod place;
mod rate;
mod tls;

pub use client::Remote;
pub use place::ListOrigin;
