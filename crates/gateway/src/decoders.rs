//! The readers of messages between a gateway and its cluster, for the fuzz targets (`crates/fuzz-targets`).

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use crate::message::{Ask, GatewayReply};

/// Reads a request of a cluster and returns its canonical form; `None` for anything else.
pub fn question(bytes: &[u8]) -> Option<Vec<u8>> {
    again::<Ask>(bytes)
}

/// Reads an answer of a gateway and returns its canonical form; `None` for anything else.
pub fn answer(bytes: &[u8]) -> Option<Vec<u8>> {
    again::<GatewayReply>(bytes)
}

fn again<T: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) -> Option<Vec<u8>> {
    let value: T = serde_json::from_slice(bytes).ok()?;
    serde_json::to_vec(&value).ok()
}
