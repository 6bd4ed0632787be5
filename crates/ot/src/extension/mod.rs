//! OT extension: millions of OTs from the base OTs, with symmetric cryptography only.
//!
//! | | adversary | bits sent per OT | base OTs |
//! |---|---|---|---|
//! | [`iknp03`] | semi-honest | 256 | 128 |
//! | [`alsz13`] | semi-honest | 128 | 128 |
//! | [`kos15`], with a repaired check | malicious | 128 | 128 |
//! | [`softspoken`] for k from 1 to 8 | either | ⌈128/k⌉ | k·⌈128/k⌉ |
//! | [`silent`] over any of these | that one's | 1 for a choice, and little more | that one's |
//! | [`precomputed`] over any of these | that one's | 1 online | that one's |
//!
//! All but the last two are ways to obtain the columns of a bit matrix ([`columns`]), from which [`unchecked`]
//! makes semi-honest OT, and [`checked`] malicious OT.

pub mod alsz13;
pub mod checked;
pub mod columns;
mod flips;
pub mod iknp03;
pub mod kos15;
pub mod precomputed;
pub mod silent;
pub mod softspoken;
pub mod unchecked;

use vesica_primitives::Block;

use crate::{Bytes, base::BaseOt};

/// Payload bytes of `base_ots` base OTs with the parties' roles exchanged, and of the session's key.
fn setup_bytes<B: BaseOt>(base_ots: usize) -> Bytes {
    let base = B::bytes(base_ots);
    Bytes { to_sender: base.to_receiver, to_receiver: base.to_sender + size_of::<Block>() }
}
