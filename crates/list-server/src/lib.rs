//! Published lists over HTTP/1.1 and WebSocket: the publisher's service.
//!
//! **Must never import** protocols, or know what is in a table: it passes on bytes, and counts them.

mod answers;
mod asking;
mod assets;
mod clients;
mod counts;
mod files;
mod forwarded;
mod frames;
mod limits;
mod pace;
mod patient;
mod queue;
mod refused;
mod routes;
mod server;
mod service;
mod socket;
mod tls;
mod visitors;

pub use assets::{Asset, AssetError};
pub use clients::{ClientsError, Tokens};
pub use counts::Counts;
pub use limits::{Limits, Rate};
pub use routes::SPACE;
pub use server::{PATIENCE, Serving, serve};
pub use tls::{Certificate, TlsError};
