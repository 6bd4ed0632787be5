//! Private set intersection: one file or folder per protocol in [`protocols`], and the [`CATALOGUE`] of them
//! all.
//!
//! A protocol takes items and returns positions. It knows nothing of rows, names, files, sockets, clocks or
//! configuration: those live in `vesica` above. Below are the OPRFs and OTs from which it is built.
//!
//! Use [`send`] and [`receive`] with an entry of the [`CATALOGUE`]: they agree on the set sizes, refuse duplicates and
//! run the protocol's two phases. [`payload`] does the same with bytes that travel with the sender's items, and
//! [`reveal`] adds the step by which a sender learns the intersection too. [`lookup`] lists the protocols in which a
//! set is published once and queried many times. [`joint`] folds three and more parties to two. Every computation of
//! two parties is a [`Functionality`], from which callers that have agreed on sizes elsewhere prepare their parties.
//!
//! **Must never import** `vesica`, the command line, files, sockets, clocks or configuration.

pub mod aggregate;
mod carrying;
pub mod catalogue;
pub mod circuit_psi;
pub mod error;
pub mod functionality;
pub mod intersection;
pub mod joint;
pub mod lookup;
pub mod memory;
mod parts;
pub mod payload;
pub mod protocol;
pub mod protocols;
pub mod select;
mod setting;

pub use catalogue::{CATALOGUE, find};
pub use error::{Error, Result};
pub use functionality::{Functionality, Party, Prepare, Receiver, Sender};
pub use intersection::{Intersection, receive, send};
pub use memory::Memory;
pub use parts::{
    items::{DigestLength, Items, Set},
    reveal,
};
pub use protocol::{Leakage, Parties, Protocol, Status};
pub use setting::{Cost, Limit, List, MAX_ITEMS, Setting, Sizes};
pub use vesica_params::Adversary;
