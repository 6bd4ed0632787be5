//! Items that at least k of the other parties have: results, lengths of messages, and faults.

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_net::Mesh;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Items,
    joint::{HeldItem, Holders, HoldersPlan},
};
use vesica_testkit::{
    parties::{Ran, among, run},
    two_party::Link,
};

/// The sets of some parties.
struct Sets {
    plan: HoldersPlan,
    leader: usize,
    least: usize,
    sets: Vec<Vec<Block>>,
}

impl Sets {
    /// Sets of these sizes from a few items, so that many parties share each.
    fn new(sizes: &[usize], leader: usize, least: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let most = sizes.iter().max().copied().unwrap_or(0);
        let mut all: Vec<Block> =
            (0..most + most / 2 + 1).map(|_| Block::random(&mut rng)).collect();
        let mut set = |size: usize| {
            all.shuffle(&mut rng);
            all[..size].to_vec()
        };
        let sets = sizes.iter().map(|size| set(*size)).collect();
        let plan =
            HoldersPlan::new(sizes.to_vec(), leader, least, [seed as u8; 32]).expect("few items");
        Self { plan, leader, least, sets }
    }

    fn expected(&self) -> Vec<HeldItem> {
        let held = |(position, item): (u32, &Block)| {
            let others = (0..self.sets.len()).filter(|party| *party != self.leader);
            let holders: Holders =
                others.filter(|party| self.sets[*party].contains(item)).collect();
            let is_held = holders.parties().count() >= self.least;
            is_held.then_some(HeldItem { position, holders })
        };
        (0..).zip(&self.sets[self.leader]).filter_map(held).collect()
    }

    fn items(&self, party: usize) -> Items<'_> {
        Items::from(&self.sets[party][..])
    }

    fn check(&self, link: Link) -> usize {
        let found = run(self.sets.len(), link, |me, channels, rng| {
            self.plan.run(self.items(me), &mut Mesh::new(me, channels), rng)
        });
        let expected = self.expected();
        let count = expected.len();
        for (party, found) in found.into_iter().enumerate() {
            let is_leader = party == self.leader;
            assert_eq!(
                found,
                is_leader.then(|| expected.clone()),
                "party {party}, {:?}",
                self.plan
            );
        }
        count
    }
}

#[test]
fn the_leader_learns_who_has_its_items() {
    let (mut seed, mut found) = (0, 0);
    for sizes in [
        &[0, 0, 0][..],
        &[1, 1, 1],
        &[30, 0, 7],
        &[0, 13, 1],
        &[31, 17, 23],
        &[400, 30, 30],
        &[30, 400, 30, 29],
        &[101, 99, 100, 103],
        &[20, 64, 65, 63, 33],
        &[50, 40, 45, 51, 33, 41],
    ] {
        for least in 2..sizes.len() {
            for leader in [0, sizes.len() - 1] {
                seed += 1;
                found += Sets::new(sizes, leader, least, seed).check(Link::Memory);
            }
        }
    }
    assert!(found > 300, "{found}");
    Sets::new(&[70, 61, 72, 40], 1, 2, 99).check(Link::Tls);
}

/// The lengths of all messages follow from the plan.
#[test]
fn lengths_say_nothing_about_the_sets() {
    let lengths = |sets: &Sets| -> Vec<_> {
        let ran: Vec<Ran<Option<Vec<HeldItem>>, Error>> =
            among(sets.sets.len(), Link::Memory, |me, channels, rng| {
                sets.plan.run(sets.items(me), &mut Mesh::new(me, channels), rng)
            });
        let sent = ran.iter().flat_map(|party| &party.sent);
        let of = |(label, len): (&str, usize)| (label.to_owned(), len);
        sent.map(|sent| sent.shape().into_iter().map(of).collect::<Vec<_>>()).collect()
    };
    let first = Sets::new(&[40, 50, 60, 30], 2, 2, 1);
    let mut rng = StdRng::seed_from_u64(2);
    let mut other = Sets::new(&[40, 50, 60, 30], 2, 2, 1);
    other.sets.iter_mut().flatten().for_each(|item| *item = Block(rng.random()));
    assert!(other.expected().is_empty() && !first.expected().is_empty());
    assert_eq!(lengths(&first), lengths(&other));
    let larger = Sets::new(&[40, 51, 60, 30], 2, 2, 1);
    assert_ne!(lengths(&first), lengths(&larger));
}

#[test]
fn bytes_are_as_predicted() {
    for (sizes, least) in
        [(&[3000, 2000, 2500][..], 2), (&[100, 9000, 20, 300], 2), (&[700, 600, 500, 400, 300], 3)]
    {
        let sets = Sets::new(sizes, 1, least, 4);
        let ran: Vec<Ran<Option<Vec<HeldItem>>, Error>> =
            among(sizes.len(), Link::Memory, |me, channels, rng| {
                sets.plan.run(sets.items(me), &mut Mesh::new(me, channels), rng)
            });
        let sent = ran.iter().flat_map(|ran| &ran.sent);
        let sent = sent.map(|sent| sent.payload_bytes()).sum::<usize>() as f64;
        let predicted = sets.plan.cost();
        let off = (sent / predicted.bytes - 1.0).abs();
        assert!(off < 0.03, "{sent} bytes, {predicted:?}, {sizes:?}");
        assert!(predicted.of_leader <= predicted.bytes);
    }
}

#[test]
fn parties_with_other_plans_or_equal_items_are_refused() {
    let sets = Sets::new(&[10, 11, 12], 0, 2, 1);
    let other = HoldersPlan::new(vec![10, 11, 12], 0, 2, [9; 32]).expect("few items");
    let ran = among(3, Link::Memory, |me, channels, rng| {
        let plan = if me == 2 { &other } else { &sets.plan };
        plan.run(sets.items(me), &mut Mesh::new(me, channels), rng)
    });
    assert!(ran.iter().all(|party| party.outcome.is_err()));
    let mut twice = Sets::new(&[10, 11, 12], 0, 2, 1);
    twice.sets[1][3] = twice.sets[1][4];
    let ran = among(3, Link::Memory, |me, channels, rng| {
        twice.plan.run(twice.items(me), &mut Mesh::new(me, channels), rng)
    });
    assert!(matches!(ran[1].outcome, Err(Error::DuplicateItem { .. })), "{:?}", ran[1].outcome);
}
