//! Three and more parties: results, lengths of messages, costs, and faults.

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::SliceRandom};
use vesica_net::Mesh;
use vesica_primitives::Block;
use vesica_psi::{
    Error, Items,
    aggregate::{Aggregate, METHODS, Output, Query, Valued},
    find,
    joint::{Helper, JointPlan, JointRows, Leader, Pivot, Place},
};
use vesica_testkit::{
    parties::{Ran, among, run},
    two_party::Link,
};

/// The sets of some parties.
struct Sets {
    plan: JointPlan,
    sets: Vec<Vec<Block>>,
}

impl Sets {
    /// Sets of these sizes, with up to `alike` items for every set of parties that can share one, as long as all
    /// of them have room, and items of one party otherwise. The first places are the leader's and the pivot's.
    fn new(sizes: &[usize], alike: usize, leader: usize, pivot: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut sets = vec![Vec::new(); sizes.len()];
        for holders in (1u32..1 << sizes.len()).rev() {
            for _ in 0..alike {
                let has = |party: usize| holders >> party & 1 == 1;
                let fits = |party: usize| !has(party) || sets[party].len() < sizes[party];
                if (0..sizes.len()).all(fits) {
                    let item = Block::random(&mut rng);
                    (0..sizes.len()).filter(|p| has(*p)).for_each(|party| sets[party].push(item));
                }
            }
        }
        for (set, size) in sets.iter_mut().zip(sizes) {
            set.resize_with(*size, || Block::random(&mut rng));
            set.shuffle(&mut rng);
        }
        let plan =
            JointPlan::new(sizes.to_vec(), leader, pivot, [seed as u8; 32]).expect("few items");
        Self { plan, sets }
    }

    /// The positions of the leader's items that all have.
    fn expected(&self) -> Vec<u32> {
        let leader = &self.sets[self.plan.leader()];
        let common = |item: &Block| self.sets.iter().all(|set| set.contains(item));
        (0..).zip(leader).filter(|(_, item)| common(item)).map(|(position, _)| position).collect()
    }

    fn items(&self, party: usize) -> Items<'_> {
        Items::from(&self.sets[party][..])
    }

    /// Rows by a protocol.
    fn rows(&self, protocol: &str, link: Link) -> Vec<Option<Vec<u32>>> {
        let protocol = find(protocol).expect("a protocol of the catalogue");
        run(self.plan.parties(), link, |me, channels, rng| {
            let rows = JointRows { plan: &self.plan, protocol };
            rows.run(self.items(me), &mut Mesh::new(me, channels), rng)
        })
    }

    fn check_rows(&self, protocol: &str, link: Link) {
        let leader = self.plan.leader();
        let mut expected = vec![None; self.plan.parties()];
        expected[leader] = Some(self.expected());
        assert_eq!(self.rows(protocol, link), expected, "{protocol}, {:?}", self.plan);
    }

    /// Outcomes and messages of a run for rows.
    fn ran(&self) -> Vec<Ran<Option<Vec<u32>>, Error>> {
        among(self.plan.parties(), Link::Memory, |me, channels, rng| {
            JointRows::new(&self.plan).run(self.items(me), &mut Mesh::new(me, channels), rng)
        })
    }
}

#[test]
fn the_leader_learns_the_items_that_all_have() {
    let mut seed = 0;
    for sizes in [
        &[0, 0, 0][..],
        &[1, 1, 1],
        &[30, 0, 7],
        &[0, 13, 1],
        &[31, 17, 23],
        &[5000, 30, 30],
        &[30, 5000, 30],
        &[30, 30, 5000],
        &[1009, 997, 1000, 1013],
        &[2, 64, 65, 63],
        &[100, 101, 3, 99, 257],
        &[200, 150, 199, 151, 193, 211],
    ] {
        for (leader, pivot) in [(0, 1), (sizes.len() - 1, 0), (1, sizes.len() - 1)] {
            seed += 1;
            Sets::new(sizes, 2, leader, pivot, seed).check_rows("rr22", Link::Memory);
        }
    }
}

#[test]
fn every_leader_and_pivot_and_every_end() {
    for leader in 0..3 {
        for pivot in (0..3).filter(|pivot| *pivot != leader) {
            Sets::new(&[60, 70, 80], 5, leader, pivot, 9).check_rows("rr22", Link::Memory);
        }
    }
    for protocol in ["rs21-circuit", "dh", "rr22-low"] {
        Sets::new(&[50, 61, 72, 40], 2, 2, 3, 10).check_rows(protocol, Link::Memory);
    }
    // Two parties are the two-party run.
    Sets::new(&[50, 61], 11, 1, 0, 11).check_rows("rr22", Link::Memory);
    Sets::new(&[301, 200, 77], 20, 0, 2, 12).check_rows("rr22", Link::Tls);
}

#[test]
fn sets_that_are_equal_or_have_nothing_in_common() {
    let mut rng = StdRng::seed_from_u64(1);
    let mut set: Vec<Block> = (0..777).map(|_| Block::random(&mut rng)).collect();
    let plan = JointPlan::new(vec![777; 4], 3, 1, [1; 32]).unwrap();
    let mut equal = || {
        set.shuffle(&mut rng);
        set.clone()
    };
    let equal = Sets { plan: plan.clone(), sets: vec![equal(), equal(), equal(), equal()] };
    equal.check_rows("rr22", Link::Memory);
    // All pairs of parties share items, and no three do: an item has the number of one of its two holders and the
    // difference to the other's.
    let item = |party: u128, k: u128| {
        let difference = k % 3 + 1;
        Block(party.min(party ^ difference) | (difference << 8) | (k / 3) << 64)
    };
    let pairs: Vec<Vec<Block>> =
        (0..4).map(|party| (0..777).map(|k| item(party, k)).collect()).collect();
    let pairs = Sets { plan, sets: pairs };
    assert!(pairs.expected().is_empty());
    pairs.check_rows("rr22", Link::Memory);
}

/// A count between leader and pivot runs on derived items as it does on others.
#[test]
fn numbers_over_derived_items() {
    let sets = Sets::new(&[90, 80, 70, 60], 3, 1, 2, 5);
    let plan = &sets.plan;
    let query = Query {
        sizes: plan.setting().sizes,
        aggregate: Aggregate::Count,
        minimum: 0,
        noise: None,
        partitions: 1,
        people: None,
    };
    let found = run(plan.parties(), Link::Memory, |me, channels, rng| {
        let (mut mesh, items) = (Mesh::new(me, channels), sets.items(me));
        plan.agree(&mut mesh)?;
        let method = METHODS[0].on(query);
        match plan.place(me) {
            Place::Leader => {
                let derived = Leader::prepare(plan, &mut mesh, rng)?.fold(items, &mut mesh, rng)?;
                let channel = mesh.to(plan.pivot());
                let receiver = method.receiver(channel, rng)?;
                let input = Valued::new(derived.items(), &[]);
                receiver.run(input, channel, rng).map(Some)
            }
            Place::Pivot => {
                let derived = Pivot::prepare(plan, &mut mesh, rng)?.fold(items);
                let channel = mesh.to(plan.leader());
                let sender = method.sender(channel, rng)?;
                let input = Valued::new(derived.items(), &[]);
                sender.run(input, channel, rng)?;
                Ok::<_, Error>(None)
            }
            Place::Helper => {
                Helper::prepare(plan, &mut mesh, rng)?.fold(items, &mut mesh, rng)?;
                Ok(None)
            }
        }
    });
    assert_eq!(found, [None, Some(Output::Count(sets.expected().len() as u64)), None, None]);
}

#[test]
fn lengths_depend_on_sizes_and_places_only() {
    let shapes = |sets: &Sets| -> Vec<Vec<(String, usize)>> {
        let of = |(label, len): (&str, usize)| (label.to_owned(), len);
        let ran = sets.ran();
        assert!(ran.iter().all(|ran| ran.outcome.is_ok()));
        let sent = ran.iter().flat_map(|ran| &ran.sent);
        sent.map(|sent| sent.shape().into_iter().map(of).collect()).collect()
    };
    for sizes in [&[400, 300, 350][..], &[100, 20, 130, 77]] {
        let reference = shapes(&Sets::new(sizes, 0, 0, 1, 1));
        for alike in [1, 7, 400] {
            let other = shapes(&Sets::new(sizes, alike, 0, 1, 2));
            assert_eq!(reference, other, "{alike} of {sizes:?}");
        }
    }
}

#[test]
fn bytes_are_as_predicted() {
    for sizes in [&[3000, 2000, 2500][..], &[100, 9000, 20, 300], &[700, 600, 500, 400, 300]] {
        let sets = Sets::new(sizes, 3, 1, 0, 4);
        let sent: Vec<usize> = sets
            .ran()
            .into_iter()
            .map(|ran| ran.sent.iter().map(|sent| sent.payload_bytes()).sum())
            .collect();
        let (sent, predicted) =
            (sent.iter().sum::<usize>() as f64, JointRows::new(&sets.plan).cost());
        let off = (sent / predicted.bytes - 1.0).abs();
        assert!(off < 0.03, "{sent} bytes, {predicted:?}, {sizes:?}");
        assert!(predicted.of_leader <= predicted.bytes);
    }
}

#[test]
fn equal_items_are_named_by_their_positions() {
    for party in 0..3 {
        let mut sets = Sets::new(&[50, 60, 70], 2, 0, 1, 6);
        sets.sets[party][41] = sets.sets[party][13];
        let outcomes = sets.ran();
        let named = &outcomes[party].outcome;
        let expected = matches!(named, Err(Error::DuplicateItem { first: 13, second: 41 }));
        assert!(expected, "party {party}: {named:?}");
    }
}

#[test]
fn parties_with_other_plans_are_refused() {
    let sets = Sets::new(&[50, 60, 70], 2, 0, 1, 7);
    let others = [
        sets.plan.clone().one_of(2),
        JointPlan::new(vec![50, 60, 70], 0, 1, [8; 32]).unwrap(),
        JointPlan::new(vec![50, 60, 71], 0, 1, [7; 32]).unwrap(),
        JointPlan::new(vec![50, 60, 70], 1, 0, [7; 32]).unwrap(),
    ];
    for other in others {
        let ran = among(3, Link::Memory, |me, channels, _| {
            let plan = if me == 2 { &other } else { &sets.plan };
            plan.agree(&mut Mesh::new(me, channels))
        });
        for (me, ran) in ran.into_iter().enumerate() {
            let error = ran.outcome.unwrap_err().to_string();
            assert!(me != 2 || error.contains("another plan"), "party {me}: {error}");
        }
    }
}

/// Random places, sizes and shares of common items.
#[test]
fn random_cases() {
    let mut rng = StdRng::seed_from_u64(0x101);
    for seed in 0..8 {
        let parties = rng.random_range(3..=10);
        let sizes: Vec<usize> = (0..parties).map(|_| rng.random_range(0..300)).collect();
        let leader = rng.random_range(0..parties);
        let pivot = (leader + rng.random_range(1..parties)) % parties;
        Sets::new(&sizes, rng.random_range(0..6), leader, pivot, seed)
            .check_rows("rr22", Link::Memory);
    }
}
