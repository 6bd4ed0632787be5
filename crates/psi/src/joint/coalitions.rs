//! For every coalition: the values that it has received, less all that it knows of them, show nothing beyond the ideal.
//!
//! The tests take every item, every set of honest helpers, and two runs, and compare the sum of the values with zero.
//! A sum is zero where it must be, and nowhere else. This finds mistakes of construction, such as keys that are
//! missing or used twice, which statistics of single bits cannot; it says nothing of AES or of noise.

use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng};
use vesica_net::Mesh;
use vesica_oprf::Digests;
use vesica_params::okvs;
use vesica_primitives::{
    Block,
    aes::{Aes128, CorrelationRobust},
    block::add_to,
};
use vesica_structures::okvs::{ByteStrings, Field, Free, Okvs, rr22::Rr22};
use vesica_testkit::{parties::among, transcript::Transcript, two_party::Link};

use super::{
    fold::{Helper, Leader, Pivot},
    malicious,
    plan::{Folding, JointPlan, Place},
    zero_shares::{PairKey, ZeroShares},
};
use crate::{Error, Items, Set};

/// A mistake in the construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// Helpers have keys with the pivot only.
    NoKeysAmongHelpers,
    /// The last helper has no keys.
    HelperWithoutKeys,
    /// All pairs have one key, as if it came from a session that all share.
    OneKey,
    /// The second run has the keys of the first.
    KeysReused,
    /// Shares are sent in an OKVS instead of an OPPRF.
    NoOpprf,
}

/// The parties, and items for every set of parties that can hold one.
struct World {
    plan: JointPlan,
    items: Set,
    /// A bit for each party that has the item.
    holders: Vec<u32>,
}

/// Items of each set of holders.
const ALIKE: usize = 3;

const RUNS: usize = 2;

impl World {
    fn new(parties: usize, folding: Folding) -> Self {
        let mut rng = StdRng::seed_from_u64(parties as u64);
        let holders = (1..1 << parties).flat_map(|holders| [holders; ALIKE]);
        let holders: Vec<u32> = holders.collect();
        let mut random = || holders.iter().map(|_| Block::random(&mut rng)).collect();
        let items = Set::long(random(), random());
        let size = ALIKE << (parties - 1);
        let plan = JointPlan::new(vec![size; parties], 1, 0, [7; 32]).unwrap().made_of(folding);
        Self { plan, items, holders }
    }

    fn has(&self, party: usize, item: usize) -> bool {
        self.holders[item] >> party & 1 == 1
    }

    fn positions(&self, party: usize) -> Vec<usize> {
        (0..self.items.len()).filter(|item| self.has(party, *item)).collect()
    }

    fn set(&self, party: usize) -> Set {
        let positions: Vec<u32> = self.positions(party).iter().map(|item| *item as u32).collect();
        self.items.items().at(&positions)
    }

    /// The keys of some items in the OKVS of a hint with this seed.
    fn okvs_keys(&self, items: Items<'_>, seed: Block) -> Vec<Block> {
        let mut keys = items.high_halves().to_vec();
        match self.plan.folding() {
            Folding::SemiHonest => return items.low_halves().to_vec(),
            Folding::Malicious => {
                let key = Aes128::new(seed).encrypt_block(Block(u128::MAX));
                CorrelationRobust::new(key).apply(&mut keys);
            }
        }
        add_to(&mut keys, items.low_halves());
        keys
    }
}

/// A value for each item of the world, or none.
type Column = Vec<Option<u64>>;

/// The views of all parties in one run.
#[derive(Default)]
struct View {
    /// For each two parties the part of their shares that comes from their key, at all items.
    shared: Vec<Vec<Option<Vec<u64>>>>,
    /// For each helper the values that the leader has read, and what it can decode elsewhere.
    read: Vec<Column>,
}

fn number(bytes: &[u8]) -> u64 {
    let mut whole = [0; 8];
    let len = bytes.len().min(8);
    whole[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(whole)
}

/// Replaces the keys of a party by wrong ones.
fn spoil(shares: &mut ZeroShares, world: &World, me: usize, mistake: Mistake) {
    let key = |partner: usize| Block((me.min(partner) << 8 | me.max(partner)) as u128);
    let pivot = world.plan.pivot();
    let last = world.plan.helpers().last().unwrap();
    let partners = (0..world.plan.parties()).filter(|p| *p != me && *p != world.plan.leader());
    let keys: Vec<Option<Block>> = partners
        .map(|partner| match mistake {
            Mistake::NoKeysAmongHelpers => (me == pivot || partner == pivot).then(|| key(partner)),
            Mistake::HelperWithoutKeys => (me != last && partner != last).then(|| key(partner)),
            Mistake::OneKey => Some(Block(1)),
            _ => Some(key(partner)),
        })
        .collect();
    if !matches!(mistake, Mistake::None | Mistake::NoOpprf) {
        let keys = keys.into_iter().flatten();
        *shares = ZeroShares::from_keys(world.plan.folding().digest(), keys);
    }
}

/// The partners with which `me` has keys, in their order.
fn partners(world: &World, me: usize, mistake: Mistake) -> Vec<usize> {
    let (plan, last) = (&world.plan, world.plan.helpers().last().unwrap());
    let has = |partner: &usize| {
        let (among, of_last) =
            (me != plan.pivot() && *partner != plan.pivot(), me == last || *partner == last);
        let missing = among && mistake == Mistake::NoKeysAmongHelpers
            || of_last && mistake == Mistake::HelperWithoutKeys;
        *partner != me && *partner != plan.leader() && !missing
    };
    (0..plan.parties()).filter(has).collect()
}

/// The data of one party from one run: the parts of its shares by key, or the columns that it read.
enum Exported {
    Parts(Vec<Vec<u64>>),
    Read(Vec<Vec<u64>>),
}

/// Runs all parties [`RUNS`] times on the same channels.
fn views(world: &World, mistake: Mistake) -> Vec<View> {
    let (plan, len) = (&world.plan, world.plan.share_len());
    let parts = |shares: &ZeroShares| {
        let part = |key: &PairKey| {
            let items = world.items.items();
            let mut values = vec![Block::ZERO; items.len()];
            let items =
                Digests { low_halves: items.low_halves(), high_halves: items.high_halves() };
            key.add(items, &mut values);
            values.iter().map(|value| number(&value.to_bytes()[..len])).collect()
        };
        Exported::Parts(shares.0.iter().map(part).collect())
    };
    let ran = among(plan.parties(), Link::Memory, |me, channels, rng| {
        let mut mesh = Mesh::new(me, channels);
        let set = world.set(me);
        let items = set.items();
        let mut exported = Vec::new();
        for _ in 0..RUNS {
            plan.agree(&mut mesh)?;
            exported.push(match plan.place(me) {
                Place::Leader => {
                    let mut read = Vec::new();
                    Leader::prepare(plan, &mut mesh, rng)?.read(
                        items,
                        &mut mesh,
                        rng,
                        |_, column| {
                            read.push(column.chunks(len).map(number).collect());
                        },
                    )?;
                    Exported::Read(read)
                }
                Place::Pivot => {
                    let mut pivot = Pivot::prepare(plan, &mut mesh, rng)?;
                    spoil(&mut pivot.shares, world, me, mistake);
                    parts(&pivot.shares)
                }
                Place::Helper => {
                    let mut helper = Helper::prepare(plan, &mut mesh, rng)?;
                    spoil(&mut helper.shares, world, me, mistake);
                    let exported = parts(&helper.shares);
                    helper.fold(items, &mut mesh, rng)?;
                    exported
                }
            });
        }
        Ok::<_, Error>(exported)
    });
    let mut views: Vec<View> = (0..RUNS).map(|_| View::default()).collect();
    for view in &mut views {
        view.shared = vec![vec![None; plan.parties()]; plan.parties()];
        view.read = vec![vec![None; world.items.len()]; plan.parties()];
    }
    for (me, ran) in ran.into_iter().enumerate() {
        for (run, exported) in ran.outcome.unwrap().into_iter().enumerate() {
            match exported {
                Exported::Parts(parts) => {
                    for (partner, part) in partners(world, me, mistake).into_iter().zip(parts) {
                        views[run].shared[me][partner] = Some(part);
                    }
                }
                Exported::Read(columns) => {
                    for (helper, column) in plan.helpers().zip(columns) {
                        for (item, value) in world.positions(me).into_iter().zip(column) {
                            views[run].read[helper][item] = Some(value);
                        }
                    }
                }
            }
        }
        if plan.place(me) == Place::Helper {
            // The leader's number is 1, so its channel is the first but for the pivot's.
            for (run, view) in views.iter_mut().enumerate() {
                let decoded = decoded(world, me, &ran.sent[1], run, &view.shared[me], mistake);
                for (value, decoded) in view.read[me].iter_mut().zip(decoded) {
                    *value = value.or(Some(decoded));
                }
            }
        }
    }
    views
}

/// The values that a helper's hint of this run has at all items, for somebody who cannot remove the pads.
fn decoded(
    world: &World,
    helper: usize,
    sent: &Transcript,
    run: usize,
    shared: &[Option<Vec<u64>>],
    mistake: Mistake,
) -> Vec<u64> {
    let size = world.plan.opprf(helper);
    let message = |label: &str| {
        let mut alike = sent.messages.iter().filter(|message| message.label == label);
        &alike.nth(run).unwrap().payload
    };
    let seed = Block::from_bytes(message("opprf/seed")[..].try_into().unwrap());
    let of_store = Aes128::new(seed).encrypt_block(Block::ZERO);
    let hint = message("opprf/hint").clone();
    match world.plan.folding() {
        Folding::SemiHonest => {
            let store = <Rr22>::new(okvs::shape(size.programmed, 1 << 15, size.lambda), of_store);
            decoded_by(&store, world, helper, seed, hint, shared, mistake)
        }
        Folding::Malicious => {
            let store =
                Rr22::<Field>::new(malicious::shape(size.programmed, size.lambda), of_store);
            decoded_by(&store, world, helper, seed, hint, shared, mistake)
        }
    }
}

/// The same with this store.
fn decoded_by(
    store: &impl ByteStrings,
    world: &World,
    helper: usize,
    seed: Block,
    mut hint: Vec<u8>,
    shared: &[Option<Vec<u64>>],
    mistake: Mistake,
) -> Vec<u64> {
    let len = world.plan.share_len();
    if mistake == Mistake::NoOpprf {
        let share = |item: usize| shared.iter().flatten().fold(0, |sum, part| sum ^ part[item]);
        let positions = world.positions(helper).into_iter();
        let values: Vec<u8> =
            positions.flat_map(|i| (u128::from(share(i))).to_le_bytes()[..len].to_vec()).collect();
        let placed = store.place(&world.okvs_keys(world.set(helper).items(), seed));
        let rng = &mut StdRng::seed_from_u64(1);
        hint = store.encode_bytes(&placed, &values, len, Free::Random, rng).unwrap();
    }
    let placed = store.place(&world.okvs_keys(world.items.items(), seed));
    let decoded = store.decode_bytes(&placed, &hint, len);
    let mut values = vec![0; world.items.len()];
    for (position, value) in placed.positions().iter().zip(decoded.chunks(len)) {
        values[*position as usize] = number(value);
    }
    values
}

/// The number of sums that are zero and must not be, or that must be and are not; and of values that repeat.
fn faults(world: &World, views: &[View]) -> usize {
    let plan = &world.plan;
    let (leader, pivot) = (plan.leader(), plan.pivot());
    let mut faults = 0;
    for coalition in 0..1u32 << plan.parties() {
        let corrupt = |party: usize| coalition >> party & 1 == 1;
        let honest: Vec<usize> = plan.helpers().filter(|helper| !corrupt(*helper)).collect();
        if !corrupt(leader) || honest.is_empty() {
            // Only the leader receives values.
            continue;
        }
        // All that a coalition knows of a helper's share, at one item.
        let known = |view: &View, helper: usize, item: usize| {
            let members = (0..plan.parties()).filter(|party| corrupt(*party) && *party != leader);
            let parts = members.filter_map(|member| view.shared[helper][member].as_ref());
            parts.fold(0, |sum, part| sum ^ part[item])
        };
        let rest = |run: usize, helper: usize, item: usize| {
            let view = &views[run];
            view.read[helper][item].unwrap() ^ known(view, helper, item)
        };
        let all = (1u32 << honest.len()) - 1;
        for chosen in 1u32..1 << (RUNS * honest.len()) {
            let of_run = |run: usize| chosen >> (run * honest.len()) & all;
            let whole = (0..RUNS).all(|run| of_run(run) == 0 || of_run(run) == all);
            let mut seen = HashSet::new();
            for item in 0..world.items.len() {
                let mut sum = 0;
                for run in 0..RUNS {
                    for (i, helper) in honest.iter().enumerate() {
                        if of_run(run) >> i & 1 == 1 {
                            sum ^= rest(run, *helper, item);
                        }
                    }
                }
                let common = honest.iter().chain([&leader]).all(|party| world.has(*party, item));
                let must = whole && corrupt(pivot) && common;
                faults += usize::from((sum == 0) != must);
                faults += usize::from(sum != 0 && !seen.insert(sum));
            }
        }
    }
    faults
}

#[test]
fn coalitions_learn_what_the_ideal_tells_them() {
    for folding in [Folding::SemiHonest, Folding::Malicious] {
        for parties in 3..=5 {
            let world = World::new(parties, folding);
            let faults = faults(&world, &views(&world, Mistake::None));
            assert_eq!(faults, 0, "{parties} parties, {folding:?}");
        }
    }
}

/// The same test finds each mistake.
#[test]
fn mistakes_are_found() {
    for folding in [Folding::SemiHonest, Folding::Malicious] {
        let world = World::new(4, folding);
        for mistake in [
            Mistake::NoKeysAmongHelpers,
            Mistake::HelperWithoutKeys,
            Mistake::OneKey,
            Mistake::KeysReused,
            Mistake::NoOpprf,
        ] {
            let faults = faults(&world, &views(&world, mistake));
            assert!(faults >= ALIKE, "{mistake:?}, {folding:?}");
        }
    }
}
