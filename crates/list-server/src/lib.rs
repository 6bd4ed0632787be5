//! The publisher's service: published lists over HTTP/1.1 and WebSocket.
//!
//! **Must never import** protocols, or depend on the content of a table: it only forwards and counts bytes.

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
pub use limits::{ClientLimits, Rate};
pub use routes::SPACE;
pub use server::{PATIENCE, Serving, serve};
pub use tls::{Certificate, TlsError};
