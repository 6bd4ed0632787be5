//! Published lists over HTTP/1.1 and WebSocket: the publisher's service, and a client's connection to it.
//!
//! **Must never import** protocols, or know what is in a table: it passes on bytes, and counts them.

mod answers;
mod asking;
mod assets;
mod client;
mod clients;
mod counts;
mod files;
mod forwarded;
mod frames;
mod limits;
mod pace;
mod patient;
mod place;
mod queue;
mod rate;
mod refused;
mod routes;
mod server;
mod service;
mod socket;
mod tls;
mod visitors;

pub use assets::{Asset, AssetError};
pub use client::Remote;
pub use clients::{ClientsError, Tokens};
pub use counts::Counts;
pub use limits::{Limits, Rate};
pub use place::Place;
pub use routes::SPACE;
pub use server::{PATIENCE, Serving, serve};
pub use tls::{Certificate, TlsError};
