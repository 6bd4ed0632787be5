//! Hash bins and lists: pure data, no peer.
//!
//! What a protocol builds on its own side before or after it talks: the bins that items fall into,
//! the cuckoo table with at most one item a bin, the sorted list of final values and the filters that may stand in for it. Everything here is
//! a function of its arguments; parameters come from `vesica-params`.
//!
//! **Must never import** `vesica-net` or anything above it: a structure never sees a channel.

pub mod bins;
pub mod filter;
mod fraction;
pub mod okvs;
pub mod slices;
pub mod sort;
pub mod tag_list;
