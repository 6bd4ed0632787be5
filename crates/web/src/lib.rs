//! Published lists over HTTP/1.1 and WebSocket: the publisher's service, and a client's connection to it.
//!
//! **Must never import** protocols, or know what is in a table: it passes on bytes, and counts them.

mod answers;
mod asking;
mod client;
mod clients;
mod files;
mod limits;
mod place;
mod queue;
mod server;
mod service;
mod socket;
mod tls;

pub use client::Remote;
pub use clients::{ClientsError, Tokens};
pub use limits::{Limits, Rate};
pub use place::Place;
pub use server::{Serving, serve};
pub use service::{Asset, SPACE};
pub use tls::{Certificate, TlsError};
