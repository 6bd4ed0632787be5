//! Channels against peers that are played, byte by byte and call by call.

#![allow(clippy::unwrap_used)]

mod patience;
mod played;

/// The header of a message as it travels.
fn header(label: &str, len: usize) -> Vec<u8> {
    [&[label.len() as u8], label.as_bytes(), &(len as u64).to_le_bytes()].concat()
}
