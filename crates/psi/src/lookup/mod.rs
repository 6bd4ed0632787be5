//! Protocols by which clients look items up in a set that a publisher has published.
//!
//! In a [`Protocol`](crate::Protocol) two parties compare two sets once, over a channel, and a party is consumed by its
//! run. Here a publisher keeps its key, and any number of clients send it independent requests, as often as they like.
//! So an entry has no parties to prepare: both sides are functions of bytes in a crate below. It states the same facts
//! as every catalogue entry: its construction, the adversary that it withstands, its leakage, and its cost.

pub mod oprf_list;

use crate::{Adversary, Cost, Limit, Status};

/// All such protocols.
pub static LOOKUPS: &[&LookupProtocol] = &[&oprf_list::LOOKUP];

/// A protocol by which clients look items up.
#[derive(Debug, Clone, Copy)]
pub struct LookupProtocol {
    /// Its name everywhere.
    pub key: &'static str,
    /// A one-line description of its components.
    pub title: &'static str,
    /// Authors, venue and year.
    pub citation: &'static str,
    /// The uses that it is fit for.
    pub status: Status,
    /// The adversary against which it is secure, computed from its parts.
    pub adversary: Adversary,
    /// The client's knowledge after a run, as a clause.
    pub client_learns: &'static str,
    /// The publisher's knowledge after a run, as a clause.
    pub publisher_learns: &'static str,
    /// Predicted cost.
    pub cost: fn(Asking) -> Result<LookupCost, Limit>,
}

/// A client's workload, and the size of the set that it queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asking {
    /// Items of the publisher.
    pub items: usize,
    /// Items that the client looks up each time.
    pub keys: usize,
    /// The number of requests under one key of the publisher.
    pub times: u64,
}

/// The predicted cost of looking items up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookupCost {
    /// The queries for which the list must promise right answers.
    pub queries: u64,
    /// −log2 of the bound on the probability that any of these answers is wrong.
    pub lambda: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// Bytes that a client downloads once.
    pub list_bytes: f64,
    /// Flights of the download.
    pub list_rounds: u32,
    /// Looking the items up once, after the list is downloaded; the publisher is the sender.
    pub asking: Cost,
    /// Tags of the list that a client decodes for it.
    pub reads: f64,
}
