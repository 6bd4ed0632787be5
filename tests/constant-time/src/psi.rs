//! Whole protocols of the catalogue between two parties with secret randomness. Items are public here: what depends on
//! them alone is not constant time, see SECURITY.md.

use rand::{SeedableRng, rngs::StdRng};
use vesica_primitives::{Block, declassify};
use vesica_psi::{Protocol, Set, receive, send};

use crate::parties::run;

/// Items of each party; few, because group operations take long under valgrind.
const ITEMS: usize = 20;

/// Items that both have.
const SHARED: u32 = 7;

/// Runs a protocol with both digests of an item, as protocols with long ones need.
pub fn protocol(protocol: &Protocol) {
    let mut rng = StdRng::seed_from_u64(3);
    let mut draw = |n: usize| -> Vec<Block> { (0..n).map(|_| Block::random(&mut rng)).collect() };
    let all = Set::long(draw(2 * ITEMS), draw(2 * ITEMS));
    let positions = |first: u32| -> Vec<u32> { (first..first + ITEMS as u32).collect() };
    let (senders, receivers) =
        (all.items().at(&positions(0)), all.items().at(&positions(ITEMS as u32 - SHARED)));
    let (_, found) = run(
        |channel, rng| send(protocol, senders.items(), 0..=ITEMS, channel, rng),
        |channel, rng| receive(protocol, receivers.items(), 0..=ITEMS, channel, rng),
    );
    let found: Vec<u32> = found.into_iter().map(declassify).collect();
    assert_eq!(found, (0..SHARED).collect::<Vec<_>>(), "the intersection");
}
