//! Private set intersection: one file or folder a protocol in [`protocols`], and the [`CATALOGUE`] of them all.
//!
//! A protocol sees items and gives positions. It knows nothing of rows, names, files, sockets, clocks
//! or configuration: those live in `vesica` above. Below it stand the OPRFs and OTs it is made of.
//!
//! Use [`send`] and [`receive`] with an entry of the [`CATALOGUE`]: they agree on the set sizes,
//! refuse duplicates and run the protocol's two phases. [`reveal`] adds the step by which a sender
//! learns the intersection too.
//!
//! **Must never import** `vesica`, the command line, files, sockets, clocks or configuration.

pub mod aggregate;
pub mod catalogue;
pub mod circuit_psi;
pub mod error;
mod parts;
pub mod protocol;
pub mod protocols;

pub use catalogue::{CATALOGUE, find};
pub use error::{Error, Result};
pub use parts::{
    items::{Digest, Items, Set},
    reveal,
    session::{
        MAX_ITEMS, bind_sizes, prepare_receiver, prepare_sender, receive, receiver_for, send,
        sender_for,
    },
};
pub use protocol::{
    Cost, Learns, List, Prepare, Protocol, Receiver, Sender, Setting, Sizes, Status,
};
pub use vesica_params::Adversary;
