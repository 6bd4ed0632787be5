//! Hash bins, lists, filters and key-value stores: pure data, without a peer.
//!
//! A protocol builds these locally before or after it communicates: the bins that items fall into, the
//! cuckoo table with at most one item per bin, oblivious key-value stores, the sorted list of final values,
//! and the filters that may replace it. Everything here is a function of its arguments; parameters come from
//! `vesica-params`.
//!
//! **Must never import** `vesica-net` or anything above it: a structure never sees a channel.

pub mod bins;
mod buckets;
pub mod filter;
mod fraction;
pub mod okvs;
pub mod packed;
pub mod slices;
pub mod sort;
pub mod tag_list;
