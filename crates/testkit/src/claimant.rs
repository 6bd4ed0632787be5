//! A well-behaved peer that claims a set of any size, but never runs the protocol.

use vesica_net::{Channel, Error, Result};

/// The labels of the messages at the beginning of a run, written out rather than imported, so that a change on the wire
/// is noticed.
const TERMS: &str = "vesica/terms";
const READY: &str = "vesica/ready";
const RESUME: &str = "vesica/resume";
const COMMIT: &str = "vesica/commit";
const OPEN: &str = "vesica/open";
const ROOM: &str = "vesica/room";

/// The longest message that the other side may send before a protocol begins.
const MOST: usize = 1 << 12;

/// The commitment of the connecting side, number 0, to its part of the seed.
pub fn commitment(part: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("vesica 1 seed commitment");
    *hasher.update(&[0]).update(part).finalize().as_bytes()
}

/// Agrees on these terms, and claims `items` items and enough memory. Returns the reason why the other side stopped, or
/// `None` if it was ready to continue.
pub fn claim(terms: &str, items: u64, channel: &mut Channel) -> Option<Error> {
    let mut begin = || -> Result<()> {
        channel.send(TERMS, terms.as_bytes())?;
        channel.recv_len(TERMS, MOST)?;
        channel.send(READY, &items.to_le_bytes())?;
        channel.send(RESUME, &[0; 41])?;
        channel.send(COMMIT, &commitment(&[0; 32]))?;
        channel.recv_into(READY, &mut [0; 8])?;
        channel.recv_into(RESUME, &mut [0; 41])?;
        channel.recv_into(COMMIT, &mut [0; 32])?;
        channel.send(OPEN, &[0; 32])?;
        // One answer, for the only candidate, which fits as a whole.
        channel.send(ROOM, &[0])?;
        channel.recv_into(OPEN, &mut [0; 32])?;
        channel.recv_into(ROOM, &mut [0])?;
        // The other side may now only stop, or send the first message of the run.
        channel.recv_len(ROOM, MOST).map(drop)
    };
    begin().err().filter(|error| matches!(error, Error::Aborted { .. } | Error::Closed { .. }))
}
