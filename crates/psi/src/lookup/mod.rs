//! Protocols by which clients look items up in a set that a publisher has published.
//!
//! In a [`Protocol`](crate::Protocol) two parties compare two sets once, over a channel, and a party is consumed by its run.
//! Here a publisher has a key that lives on, and any number of clients ask it, as often as they like, by requests that know
//! nothing of each other. So an entry has no parties to prepare: both sides are functions of bytes in a crate below. It says
//! what all entries of the catalogues say: what it is, against whom it is secure, who learns what, and what it costs.

pub mod oprf_list;

use crate::{Adversary, Cost, Limit, Status};

/// All such protocols.
pub static LOOKUPS: &[&Lookup] = &[&oprf_list::LOOKUP];

/// A protocol by which clients look items up.
#[derive(Debug, Clone, Copy)]
pub struct Lookup {
    /// Its name everywhere.
    pub key: &'static str,
    /// A one-line description of its components.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// What it may be used for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// What a client learns, as a clause.
    pub client_learns: &'static str,
    /// What the publisher learns, as a clause.
    pub publisher_learns: &'static str,
    /// Predicted cost.
    pub cost: fn(Asking) -> Result<LookupCost, Limit>,
}

/// What a client asks, and of how large a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Items of the publisher.
    pub items: usize,
    /// Items that the client looks up each time.
    pub keys: usize,
    /// How often it does, under one key of the publisher.
    pub times: u64,
}

/// What looking up is expected to cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookupCost {
    /// The queries for which the list has to promise right answers.
    pub queries: u64,
    /// −log2 of the probability with which some one of these answers may be wrong.
    pub lambda: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Bytes that a client downloads once.
    pub list_bytes: f64,
    /// Flights of that.
    pub list_rounds: u32,
    /// Looking the items up once, with the list at hand; the publisher is the sender.
    pub asking: Cost,
    /// Tags of the list that a client decodes for it.
    pub reads: f64,
}
