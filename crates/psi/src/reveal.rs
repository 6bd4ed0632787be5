//! The step by which a sender learns the intersection too.
//!
//! After a run, the receiver tells the sender which items they share. What travels says nothing
//! about any other item: it is computed from the intersection alone. A dishonest receiver may leave
//! out items or end the run instead; a sender that must not depend on it has to swap the roles.

use vesica_net::Channel;

use crate::{Item, Result, Sizes};

/// The receiver's side: tells the sender which items they share.
pub fn tell(_shared: &[Item], _sizes: Sizes, _channel: &mut Channel) -> Result<()> {
    unimplemented!()
}

/// The sender's side: the positions in `items` of the shared ones, ascending.
pub fn learn(_items: &[Item], _sizes: Sizes, _channel: &mut Channel) -> Result<Vec<u32>> {
    unimplemented!()
}
