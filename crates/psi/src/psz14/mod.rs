//! The protocols of Pinkas, Schneider and Zohner (USENIX Security 2014) that rest on OT extension:
//! [`gbf`] of §4.3 with a random garbled Bloom filter, and that of §5 and §6 with tests whether an item
//! is in a set.

pub mod gbf;
