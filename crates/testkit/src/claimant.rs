//! A peer that speaks as it should and claims a set of any size: what the other side prepares for it, it would prepare
//! in vain.

use vesica_net::{Channel, Error, Result};

/// How a whole run begins, from the messages' labels down to their bytes. It is written out here and not imported, so
/// that a change of what travels is noticed.
const TERMS: &str = "vesica/terms";
const READY: &str = "vesica/ready";
const ROOM: &str = "vesica/room";

/// The longest message that the other side may send before a protocol begins.
const MOST: usize = 1 << 12;

/// Agrees on these terms, says that it has so many items and all the memory that it takes, and returns why the other
/// side stopped: nothing if it was ready to go on.
pub fn claim(terms: &str, items: u64, channel: &mut Channel) -> Option<Error> {
    let mut begin = || -> Result<()> {
        channel.send(TERMS, terms.as_bytes())?;
        channel.recv_len(TERMS, MOST)?;
        channel.send(READY, &items.to_le_bytes())?;
        channel.recv_into(READY, &mut [0; 8])?;
        // One answer, for the only candidate.
        channel.send(ROOM, &[1])?;
        channel.recv_into(ROOM, &mut [0])?;
        // The other side has nothing to say now but that it stops, or what belongs to the run.
        channel.recv_len(ROOM, MOST).map(drop)
    };
    begin().err().filter(|error| matches!(error, Error::Aborted { .. } | Error::Closed { .. }))
}
