//! Challenges that are bound to a session.

use vesica_net::SessionId;
use vesica_primitives::{Block, hash::truncate};

/// The challenge of a check in this session, derived from the block that was sent. An answer from one session is
/// therefore wrong in another.
pub(crate) fn of_session(context: &'static str, session: SessionId, sent: Block) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    truncate(&hasher.update(session.as_bytes()).update(&sent.to_bytes()).finalize())
}
