//! Items that not all parties have and that count as common, with shares so short that it happens.

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Mesh;
use vesica_primitives::Block;
use vesica_testkit::{parties, two_party::Link};

use super::{JointPlan, JointRows};
use crate::{Error, Items};

/// Items of each party.
const ITEMS: usize = 1 << 15;

/// Returns the number of items that the leader finds, with shares of one byte. `alike` says which parties have the
/// leader's items.
fn found(alike: &[bool]) -> usize {
    let mut rng = StdRng::seed_from_u64(alike.len() as u64);
    let mut set = || (0..ITEMS).map(|_| Block::random(&mut rng)).collect::<Vec<_>>();
    let common = set();
    let sets: Vec<_> =
        alike.iter().map(|same| if *same { common.clone() } else { set() }).collect();
    let plan =
        JointPlan::new(vec![ITEMS; alike.len()], 0, 1, [0; 32]).unwrap().with_short_shares(1);
    let found = parties::run(alike.len(), Link::Memory, |me, channels, rng| {
        let mut mesh = Mesh::new(me, channels);
        let found = JointRows::new(&plan).run(Items::from(&sets[me][..]), &mut mesh, rng)?;
        Ok::<_, Error>(found.map_or(0, |found| found.len()))
    });
    found[0]
}

/// A byte of T(x) equals the byte of the pivot's share for one item in 256, whether one helper lacks all items or
/// several do.
#[test]
fn they_are_as_rare_as_the_length_of_shares_says() {
    let expected = ITEMS as f64 / 256.0;
    for alike in [&[true, true, false][..], &[true, true, false, true], &[true, true, false, false]]
    {
        let found = found(alike) as f64;
        // Six standard deviations: keys are random.
        assert!(
            (found - expected).abs() <= 6.0 * expected.sqrt(),
            "{found} for {expected}, {alike:?}"
        );
    }
}

/// The whole item is hashed beside the share, so those that the pivot lacks do not count.
#[test]
fn items_that_the_pivot_lacks_are_never_found() {
    assert_eq!(found(&[true, false, true]), 0);
}
