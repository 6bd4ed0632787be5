//! For every coalition with the leader: the values that it reads in two runs, less all that it knows of them, vanish
//! under interpolation where enough honest holders have an item, and nowhere else.

use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng};
use vesica_params::okvs;
use vesica_structures::okvs::{ByteStrings, Free, Okvs, rr22::Rr22};
use vesica_testkit::{parties::among, transcript::Transcript, two_party::Link};

use super::*;
use crate::Error;

/// A mistake in the construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// The second run has the keys of the first.
    KeysReused,
    /// All sets have one key.
    OneKey,
    /// The last party lacks the key of one of its sets.
    KeyMissing,
    /// Shares are sent in an OKVS instead of an OPPRF.
    NoOpprf,
    /// Keys of sets are sent as they are.
    NoMasks,
    /// One mask is for the keys of all sets.
    OneMask,
}

/// Items of each set of holders.
const ALIKE: usize = 2;

const RUNS: usize = 2;

/// The leader has number 0; the place of each other party is its number less one.
struct World {
    plan: HoldersPlan,
    items: Vec<Block>,
    /// A bit for each party that has the item.
    holders: Vec<u16>,
}

impl World {
    fn new(parties: usize, least: usize) -> Self {
        let mut rng = StdRng::seed_from_u64(parties as u64);
        let holders: Vec<u16> = (1..1u16 << parties).flat_map(|holders| [holders; ALIKE]).collect();
        let items = holders.iter().map(|_| Block::random(&mut rng)).collect();
        let sizes = vec![ALIKE << (parties - 1); parties];
        Self { plan: HoldersPlan::new(sizes, 0, least, [7; 32]).unwrap(), items, holders }
    }

    fn positions(&self, party: usize) -> Vec<usize> {
        (0..self.items.len()).filter(|item| self.holders[*item] >> party & 1 == 1).collect()
    }

    fn set(&self, party: usize) -> Vec<Block> {
        self.positions(party).iter().map(|item| self.items[*item]).collect()
    }
}

/// All that is seen of one run.
#[derive(Clone)]
struct View {
    /// For each place the keys of its sets.
    keys: Vec<Vec<(Others, Block)>>,
    /// For each place and item the value that the leader read, or can decode.
    read: Vec<Vec<u128>>,
    /// The masks of the keys that were sent.
    masks: Vec<Block>,
}

fn number(bytes: &[u8]) -> u128 {
    let mut whole = [0; 16];
    whole[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(whole)
}

/// The keys of a party in one run, after a mistake.
fn spoil(keys: &mut Vec<(Others, Block)>, last: bool, mistake: Mistake) {
    match mistake {
        Mistake::KeysReused => {
            keys.iter_mut().for_each(|(set, key)| *key = Block((*set).into()));
        }
        Mistake::OneKey => keys.iter_mut().for_each(|(_, key)| *key = Block(1)),
        Mistake::KeyMissing if last => drop(keys.remove(0)),
        _ => {}
    }
}

/// The shares of some items under keys of sets.
fn shares_of(world: &World, place: usize, keys: &[(Others, Block)], items: &[Block]) -> Vec<u8> {
    let with_factor =
        keys.iter().map(|(set, key)| (Aes128::new(*key), world.plan.factor(place, *set)));
    shares(&with_factor.collect::<Vec<_>>(), items, world.plan.share_len()).to_vec()
}

/// The party's own keys, before and after a mistake, or the columns that the leader read.
enum Exported {
    Keys(Vec<(Others, Block)>, Vec<(Others, Block)>),
    Read(Vec<Vec<u128>>),
}

/// Runs all parties [`RUNS`] times on the same channels.
fn views(world: &World, mistake: Mistake) -> Vec<View> {
    let (plan, len, count) = (&world.plan, world.plan.share_len(), world.plan.count());
    let ran = among(count + 1, Link::Memory, |me, channels, rng| {
        let mut mesh = Mesh::new(me, channels);
        let set = world.set(me);
        let items = Items::from(&set[..]);
        let mut exported = Vec::new();
        for _ in 0..RUNS {
            plan.agree(&mut mesh)?;
            if me == plan.leader() {
                let size = |party| plan.opprf(party);
                let readers = fold::readers::<FromVole>(plan.others(), size, &mut mesh, rng)?;
                let mut columns = Vec::new();
                for (party, reader) in plan.others().zip(readers) {
                    let read = fold::read::<FromVole>(party, reader, items, &mut mesh, rng)?;
                    columns.push(read.chunks(len).map(number).collect());
                }
                exported.push(Exported::Read(columns));
                continue;
            }
            let drawn = plan.set_keys(&mut mesh, rng)?.to_vec();
            let mut keys = drawn.clone();
            spoil(&mut keys, me == count, mistake);
            let size = plan.opprf(me);
            let writer = mesh.talk(0, |channel| FromVole::sender(size, channel, rng))?;
            let shares = shares_of(world, me - 1, &keys, &set);
            fold::write::<FromVole>(0, writer, items, &shares, &mut mesh, rng)?;
            exported.push(Exported::Keys(drawn, keys));
        }
        Ok::<_, Error>(exported)
    });
    let empty = View {
        keys: vec![Vec::new(); count],
        read: vec![vec![0; world.items.len()]; count],
        masks: Vec::new(),
    };
    let mut views = vec![empty; RUNS];
    let mut columns = Vec::new();
    for (me, ran) in ran.into_iter().enumerate() {
        for (run, exported) in ran.outcome.unwrap().into_iter().enumerate() {
            let view = &mut views[run];
            match exported {
                Exported::Read(read) => columns.push(read),
                Exported::Keys(drawn, keys) => {
                    let place = me - 1;
                    view.read[place] = decoded(world, me, &ran.sent[0], run, &keys, mistake);
                    view.keys[place] = keys;
                    for partner in plan.others().filter(|partner| *partner != me) {
                        let sent = &ran.sent[partner - usize::from(partner > me)];
                        let blocks = message(sent, KEYS, run).chunks(16);
                        let shared = drawn.iter().filter(|(set, _)| {
                            set.trailing_zeros() as usize == place && set >> (partner - 1) & 1 == 1
                        });
                        view.masks.extend(shared.zip(blocks).map(
                            |((_, key), sent)| match mistake {
                                Mistake::NoMasks => Block::ZERO,
                                Mistake::OneMask => Block(1),
                                _ => *key ^ Block(number(sent)),
                            },
                        ));
                    }
                }
            }
        }
    }
    // The leader removes the pads at its own items.
    for (view, columns) in views.iter_mut().zip(columns) {
        for (read, column) in view.read.iter_mut().zip(columns) {
            world.positions(0).into_iter().zip(column).for_each(|(item, value)| read[item] = value);
        }
    }
    views
}

fn message<'a>(sent: &'a Transcript, label: &str, run: usize) -> &'a [u8] {
    let mut alike = sent.messages.iter().filter(|message| message.label == label);
    alike.nth(run).map_or(&[], |message| &message.payload)
}

/// The values of a party's hint at all items, for somebody who cannot remove the pads.
fn decoded(
    world: &World,
    party: usize,
    sent: &Transcript,
    run: usize,
    keys: &[(Others, Block)],
    mistake: Mistake,
) -> Vec<u128> {
    let (size, len) = (world.plan.opprf(party), world.plan.share_len());
    let seed = Block::from_bytes(message(sent, "opprf/seed", run).try_into().unwrap());
    let mut hint = message(sent, "opprf/hint", run).to_vec();
    let of_store = Aes128::new(seed).encrypt_block(Block::ZERO);
    let store = <Rr22>::new(okvs::shape(size.programmed, 1 << 15, size.lambda), of_store);
    if mistake == Mistake::NoOpprf {
        let set = world.set(party);
        let values = shares_of(world, party - 1, keys, &set);
        let rng = &mut StdRng::seed_from_u64(1);
        hint = store.encode_bytes(&store.place(&set), &values, len, Free::Random, rng).unwrap();
    }
    let placed = store.place(&world.items);
    let mut values = vec![0; world.items.len()];
    let decoded = store.decode_bytes(&placed, &hint, len);
    for (position, value) in placed.positions().iter().zip(decoded.chunks(len)) {
        values[*position as usize] = number(value);
    }
    values
}

/// The number of interpolations that are zero and must not be, or that must be and are not; of values that repeat;
/// and of masks that are zero or used twice.
fn faults(world: &World, views: &[View]) -> usize {
    let (plan, len) = (&world.plan, world.plan.share_len());
    let all: Others = (1 << plan.count()) - 1;
    let places = |set: Others| (0..plan.count()).filter(move |place| set >> place & 1 == 1);
    let mut masks = HashSet::from([Block::ZERO]);
    let mut faults = 0;
    for mask in views.iter().flat_map(|view| &view.masks) {
        faults += usize::from(!masks.insert(*mask));
    }
    for coalition in 0..all {
        let honest = all & !coalition;
        let enough = plan.least.saturating_sub(coalition.count_ones() as usize).max(1);
        let of_run = |view: &View| -> Vec<Vec<u128>> {
            let own = places(coalition).flat_map(|member| view.keys[member].iter());
            let known: HashSet<Block> = own.map(|(_, key)| *key).collect();
            let rest = |place: usize| {
                let keys = view.keys[place].iter().filter(|(_, key)| known.contains(key));
                let keys: Vec<_> = keys.copied().collect();
                let parts = shares_of(world, place, &keys, &world.items);
                let parts = parts.chunks(len).map(number);
                view.read[place].iter().zip(parts).map(|(read, part)| read ^ part).collect()
            };
            (0..plan.count()).map(rest).collect()
        };
        let rests: Vec<_> = views.iter().map(of_run).collect();
        // The value at 0 of the polynomial through the chosen values that is 0 at the coalition's points.
        let at_zero = |run: usize, chosen: Others, item: usize| {
            places(chosen).fold(0, |sum, i| {
                let others = places(chosen | coalition).filter(|j| *j != i);
                let weight = others.fold(1, |product, j| {
                    times(product, times(point(j), inverse(point(j) ^ point(i))))
                });
                sum ^ scaled(rests[run][i][item], weight)
            })
        };
        let subsets: Vec<Others> = (0..=all)
            .filter(|set| set & !honest == 0 && set.count_ones() as usize <= enough)
            .collect();
        let table: Vec<Vec<Vec<u128>>> = (0..RUNS)
            .map(|run| {
                let of_set = |set: &Others| {
                    (0..world.items.len()).map(|item| at_zero(run, *set, item)).collect()
                };
                subsets.iter().map(of_set).collect()
            })
            .collect();
        for (first, one) in subsets.iter().zip(&table[0]) {
            for (second, two) in subsets.iter().zip(&table[1]) {
                if first | second == 0 {
                    continue;
                }
                let mut seen = HashSet::new();
                for (item, holders) in world.holders.iter().enumerate() {
                    let vanishes = |set: Others| {
                        let hold = holders & 1 == 1 && holders >> 1 & set == set;
                        set == 0 || set.count_ones() as usize == enough && hold
                    };
                    let sum = one[item] ^ two[item];
                    faults += usize::from((sum == 0) != (vanishes(*first) && vanishes(*second)));
                    faults += usize::from(sum != 0 && !seen.insert(sum));
                }
            }
        }
    }
    faults
}

#[test]
fn coalitions_learn_only_items_with_enough_holders() {
    for parties in 4..=5 {
        for least in 2..parties {
            let world = World::new(parties, least);
            let faults = faults(&world, &views(&world, Mistake::None));
            assert_eq!(faults, 0, "{least} of the others of {parties} parties");
        }
    }
}

/// The same test finds each mistake.
#[test]
fn mistakes_are_found() {
    let world = World::new(5, 3);
    for mistake in [
        Mistake::KeysReused,
        Mistake::OneKey,
        Mistake::KeyMissing,
        Mistake::NoOpprf,
        Mistake::NoMasks,
        Mistake::OneMask,
    ] {
        let faults = faults(&world, &views(&world, mistake));
        assert!(faults >= ALIKE, "{mistake:?}: {faults}");
    }
}
