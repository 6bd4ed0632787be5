//! Private set intersection: one file a protocol, and the catalogue of them all.
//!
//! A protocol sees items and gives positions. It knows nothing of rows, names, files, sockets, clocks
//! or configuration: those live in `vesica` above. Below it stand the OPRFs and OTs it is made of.
//!
//! Use [`send`] and [`receive`] with an entry of the [`CATALOGUE`]: they agree on the set sizes,
//! refuse duplicates and run the protocol's two phases. [`reveal`] adds the step by which a sender
//! learns the intersection too.
//!
//! **Must never import** `vesica`, the command line, files, sockets, clocks or configuration.

pub mod answer;
pub mod blind_rsa;
pub mod catalogue;
mod cells;
pub mod circuit;
pub mod cm20;
mod coin;
pub mod dcw13;
pub mod dh;
pub mod error;
pub mod hek12;
pub mod hl08;
pub mod items;
pub mod kkrt16;
pub mod naive;
pub mod plan;
pub mod protocol;
pub mod prty19;
pub mod prty20;
pub mod pssz15;
pub mod psty19;
pub mod psz14;
pub mod reveal;
pub mod rr16;
pub mod rr17;
pub mod rr22;
pub mod rs21;
mod session;
mod tags;

pub use catalogue::{CATALOGUE, find};
pub use error::{Error, Result};
pub use items::{Digest, Items, Set};
pub use protocol::{
    Cost, Learns, List, Prepare, Protocol, Receiver, Sender, Setting, Sizes, Status,
};
pub use session::{MAX_ITEMS, prepare_receiver, prepare_sender, receive, send};
pub use vesica_params::Adversary;
