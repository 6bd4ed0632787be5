//! Sort, compare and shuffle by GMW: correct results with triples of each kind, as many bytes as counted
//! beforehand, and the savings of vector triples.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng, rngs::StdRng};
use vesica_circuit::{
    Party,
    count::Count,
    gadgets::Comparison,
    gmw::{self, Gmw},
    programs::{
        scs::{self, KnownInputs, Parameters, SortedItems},
        waksman,
    },
    triples::{Demand, Extension},
};
use vesica_net::Channel;
use vesica_primitives::Block;
use vesica_testkit::{transcript, two_party, two_party::Link};

const WIDTH: usize = 32;

fn terms(sizes: [usize; 2], receiver: Party, comparison: Comparison) -> Parameters {
    Parameters { width: WIDTH, sizes, receiver, comparison }
}

fn count(terms: &Parameters) -> Count {
    let mut count = Count::default();
    let Ok(_) = scs::intersect(&mut count, terms, KnownInputs::default());
    count
}

/// One party of the intersection; it uses all of its triples.
fn party<'a>(
    role: Party,
    items: &'a SortedItems,
    terms: &'a Parameters,
    extension: Extension,
    vectors: bool,
) -> impl Fn(&mut Channel, &mut StdRng) -> gmw::Result<Option<Vec<Block>>> + 'a {
    move |channel, rng| {
        let demand = Demand::of_count(&count(terms), vectors);
        let triples = extension.make(role, &demand, channel, rng)?;
        let mut gmw = Gmw::new(role, triples, channel);
        let permutation = waksman::random(terms.places(), rng);
        let mut known = KnownInputs::default();
        known.items[role as usize] = Some(items);
        known.permutation = (role != terms.receiver).then_some(&permutation[..]);
        let shown = scs::intersect(&mut gmw, terms, known)?;
        assert!(demand.counts().all(|(bits, _)| gmw.triples().left(bits) == 0));
        Ok(shown)
    }
}

fn sets(sizes: [usize; 2]) -> [BTreeSet<u128>; 2] {
    let mut rng = StdRng::seed_from_u64(1);
    sizes.map(|n| {
        let mut set = BTreeSet::new();
        while set.len() < n {
            set.insert(rng.random_range(1..1 << 9));
        }
        set
    })
}

fn items(set: &BTreeSet<u128>) -> SortedItems {
    SortedItems::new(set.iter().copied().map(Block).collect(), WIDTH)
        .expect("items that can be put in")
}

#[test]
fn the_intersection_comes_out() {
    for (sizes, receiver, comparison) in [
        ([0, 0], Party::First, Comparison::Small),
        ([1, 0], Party::Second, Comparison::Small),
        ([64, 64], Party::First, Comparison::Shallow),
        ([100, 233], Party::Second, Comparison::Shallow),
    ] {
        let sets = sets(sizes);
        let own = sets.each_ref().map(items);
        let terms = terms(sizes, receiver, comparison);
        for (extension, vectors) in
            [(Extension::Alsz13, false), (Extension::Alsz13, true), (Extension::SILENT, true)]
        {
            let (first, second) = two_party::run(
                Link::Memory,
                party(Party::First, &own[0], &terms, extension, vectors),
                party(Party::Second, &own[1], &terms, extension, vectors),
            );
            let (shown, other) = match receiver {
                Party::First => (first, second),
                Party::Second => (second, first),
            };
            assert!(other.is_none());
            let shown: BTreeSet<u128> = shown.unwrap().into_iter().map(|item| item.0).collect();
            assert_eq!(shown, sets[0].intersection(&sets[1]).copied().collect());
        }
    }
}

/// Bits sent by both parties, by formula from the count: OTs, d and e, and revealed bits.
fn bits_by_formula(count: &Count, vectors: bool) -> f64 {
    let demand = Demand::of_count(count, vectors);
    let opened: usize = demand.counts().map(|(bits, n)| (2 * bits + 2) * n).sum();
    let offline = 2 * 8 * Extension::Alsz13.bytes(&demand, Party::First);
    (offline + opened) as f64 + count.revealed.iter().sum::<u64>() as f64
}

#[test]
fn as_many_bytes_travel_as_the_count_says_whatever_the_items_are() {
    let sizes = [256, 256];
    for vectors in [false, true] {
        let terms = terms(sizes, Party::Second, Comparison::Shallow);
        let shapes = [0, 1].map(|other: u128| {
            let own = [(1..=256).collect(), (1 + 300 * other..=256 + 300 * other).collect()];
            let own = own.each_ref().map(items);
            let sent = transcript::of(
                party(Party::First, &own[0], &terms, Extension::Alsz13, vectors),
                party(Party::Second, &own[1], &terms, Extension::Alsz13, vectors),
            );
            let bytes = sent.sender.payload_bytes() + sent.receiver.payload_bytes();
            let off = 8.0 * bytes as f64 / bits_by_formula(&count(&terms), vectors) - 1.0;
            assert!(off.abs() < 0.03, "{bytes} bytes, off by {off}");
            sent.shape().map(|shape| format!("{shape:?}"))
        });
        assert!(shapes[0] == shapes[1], "lengths depend on the items");
    }
}

/// PSZ14 §5: savings of about 40 % with shallow comparators, where multiplexers make up two gates in five, and
/// more with small ones, where they make up two in three.
#[test]
fn vector_triples_save_as_much_as_in_the_paper() {
    for log in [10, 12, 14] {
        let saved = |comparison| {
            let count = count(&terms([1 << log; 2], Party::First, comparison));
            1.0 - bits_by_formula(&count, true) / bits_by_formula(&count, false)
        };
        let (shallow, small) = (saved(Comparison::Shallow), saved(Comparison::Small));
        assert!((0.37..0.45).contains(&shallow), "2^{log}: {shallow}");
        assert!((0.57..0.66).contains(&small), "2^{log}: {small}");
    }
}
