//! Numbers about people who have several of T's items each.

use std::collections::BTreeSet;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_psi::aggregate::{self, Aggregate, Output, Query, Valued};
use vesica_psi::select::MAX_ITEMS_OF_PERSON;

use super::*;

/// A person's number, label and items.
#[derive(Debug, Clone)]
struct Person {
    value: i64,
    label: u32,
    items: Vec<Block>,
}

/// Two sets, where T's belongs to people.
struct People {
    plan: Plan,
    /// S's items.
    other: Set,
    people: Vec<Person>,
    /// T's items, with the position of the person of each, if it has one.
    items: Vec<(Block, Option<usize>)>,
    table: Set,
}

impl People {
    /// `linked` says for each person which of its items S has.
    fn new(
        plan: Plan,
        people: Vec<Person>,
        linked: impl Fn(usize, usize) -> bool,
        seed: u64,
    ) -> Self {
        let rng = &mut StdRng::seed_from_u64(1000 + seed);
        let Sizes { sender, receiver } = plan.sizes;
        let mut items: Vec<_> = Vec::new();
        let mut other = Vec::new();
        for (number, person) in people.iter().enumerate() {
            for (nth, item) in person.items.iter().enumerate() {
                items.push((*item, Some(number)));
                if linked(number, nth) {
                    other.push(*item);
                }
            }
        }
        // The rest is nobody's, and S has one of two.
        while items.len() < receiver {
            let item = Block::random(rng);
            items.push((item, None));
            if items.len() % 2 == 0 && other.len() < sender {
                other.push(item);
            }
        }
        other.resize_with(sender, || Block::random(rng));
        assert_eq!(items.len(), receiver, "people have no more items than T");
        items.sort_unstable_by_key(|(item, _)| item.0);
        let table = Set::short(items.iter().map(|(item, _)| *item).collect());
        Self { plan, other: Set::short(other), people, items, table }
    }

    fn random(plan: Plan, seed: u64) -> Self {
        let rng = &mut StdRng::seed_from_u64(seed);
        let most = plan.people.expect("a plan for people");
        let mut left = plan.sizes.receiver;
        let mut people = Vec::new();
        while left > 0 && rng.random_range(0..20) > 0 {
            let count = rng.random_range(1..=most).min(left);
            left -= count;
            people.push(Person {
                value: rng.random_range(-1000..1000),
                label: rng.random_range(0..plan.groups as u32),
                items: (0..count).map(|_| Block::random(rng)).collect(),
            });
        }
        let mut links = plan.sizes.sender;
        let mut linked = BTreeSet::new();
        for (number, person) in people.iter().enumerate() {
            for nth in 0..person.items.len() {
                if links > 0 && rng.random_range(0..3) == 0 {
                    links -= 1;
                    linked.insert((number, nth));
                }
            }
        }
        Self::new(plan, people, |number, nth| linked.contains(&(number, nth)), seed)
    }

    /// The linked people of each group: their number, and the sum of their values.
    fn cells(&self) -> Vec<(u64, i128)> {
        let other: BTreeSet<_> =
            self.other.items().low_halves().iter().map(|item| item.0).collect();
        let mut cells = vec![(0, 0); self.plan.groups];
        for person in &self.people {
            if person.items.iter().any(|item| other.contains(&item.0)) {
                let (count, sum) = &mut cells[person.label as usize];
                *count += 1;
                *sum += i128::from(person.value);
            }
        }
        cells
    }

    fn values(&self) -> Vec<i64> {
        self.items.iter().map(|(_, person)| person.map_or(77, |at| self.people[at].value)).collect()
    }

    /// Sparse numbers of people.
    fn persons(&self) -> Vec<Option<u32>> {
        self.items.iter().map(|(_, person)| person.map(|at| 1_000_003 * (at as u32 + 1))).collect()
    }

    /// The cells, and each party's meter.
    fn run(&self) -> (OpenedCells, [Meter; 2]) {
        let (values, persons) = (self.values(), self.persons());
        let label =
            |(_, person): &(Block, Option<usize>)| person.map_or(0, |at| self.people[at].label);
        let labels: Vec<u32> = match self.plan.groups {
            1 => Vec::new(),
            _ => self.items.iter().map(label).collect(),
        };
        let party = |owner, channel: &mut Channel, rng: &mut dyn CryptoRng| {
            let is_table = owner == Owner::Table;
            let selection = self.plan.on_sets();
            selection.agree(is_table, channel)?;
            let party = selection.party(is_table, channel, rng)?;
            let opened = match owner {
                Owner::Table => {
                    let input = Input {
                        columns: &[&values],
                        labels: &labels,
                        people: &persons,
                        ..Input::new(self.table.items())
                    };
                    party.run(input, channel, rng)?
                }
                Owner::Other => party.run(Input::new(self.other.items()), channel, rng)?,
            };
            Ok::<_, Error>((opened, channel.meter().clone()))
        };
        let (other, table) = two_party::run(
            Link::Memory,
            |channel, rng| party(Owner::Other, channel, rng),
            |channel, rng| party(Owner::Table, channel, rng),
        );
        let opened = match self.plan.cells.learner {
            Owner::Table => table.0,
            Owner::Other => other.0,
        };
        (opened.expect("shown to its learner"), [other.1, table.1])
    }

    fn assert_right(&self) {
        let Cells { least, threshold, .. } = self.plan.cells;
        let has_sum = !self.plan.terms.is_empty();
        let cell = |(count, sum): (u64, i128)| {
            (count >= least).then(|| OpenedCell {
                count: threshold.is_none().then_some(i128::from(count)),
                reaches: threshold.map(|threshold| count >= threshold),
                // The sum of the values, and of ones.
                sums: if has_sum { vec![sum, i128::from(count)] } else { Vec::new() },
                text: Vec::new(),
            })
        };
        let cells = self.cells().into_iter().map(cell).collect();
        assert_eq!(self.run().0, OpenedCells { cells, remainder: None }, "{:?}", self.plan);
    }
}

fn terms() -> Vec<Term> {
    let term =
        |column| Term { column, times: None, is_of_item: false, width: Width::Bits64, noise: None };
    vec![term(Some(Column { owner: Owner::Table, index: 0 })), term(None)]
}

fn of_people(most: usize, sender: usize, receiver: usize) -> Plan {
    Plan { people: Some(most), terms: terms(), ..plan(sender, receiver) }
}

#[test]
fn people_count_once() {
    for (sender, receiver) in [(0, 0), (0, 5), (5, 0), (1, 1), (40, 63), (200, 129), (70, 400)] {
        for most in [1, 2, 3, 8] {
            let groups = if most == 3 { 5 } else { 1 };
            let plan = Plan { groups, ..of_people(most, sender, receiver) };
            People::random(plan, most as u64).assert_right();
        }
    }
}

#[test]
fn either_side_learns_and_circuits_judge() {
    for learner in [Owner::Table, Owner::Other] {
        for (least, threshold) in
            [(0, None), (10, None), (1000, None), (0, Some(10)), (5, Some(900))]
        {
            let cells = Cells { learner, least, threshold, ..Cells::default() };
            let terms = if threshold.is_some() { Vec::new() } else { terms() };
            let plan = Plan { cells, terms, ..of_people(5, 100, 120) };
            People::random(plan, 7).assert_right();
        }
    }
}

/// People whose items all match, or only the first or the last one, and a person who has all items.
#[test]
fn extreme_people_are_right() {
    let rng = &mut StdRng::seed_from_u64(3);
    let mut person = |count: usize| Person {
        value: 5,
        label: 0,
        items: (0..count).map(|_| Block::random(rng)).collect(),
    };
    let cases: [fn(usize, usize) -> bool; 4] =
        [|_, _| true, |_, nth| nth == 0, |_, nth| nth == 7, |at, _| at == 3];
    for linked in cases {
        let people: Vec<_> = (0..10).map(|_| person(8)).collect();
        People::new(of_people(8, 100, 100), people, linked, 1).assert_right();
    }
    let all = vec![person(32)];
    People::new(of_people(32, 40, 32), all.clone(), |_, nth| nth > 2, 2).assert_right();
    People::new(of_people(32, 40, 32), all, |_, _| false, 2).assert_right();
}

/// Runs that differ in people and matches send equally many bytes, and as many as predicted.
#[test]
fn lengths_do_not_depend_on_people() {
    for most in [2, 8] {
        let plan = of_people(most, 700, 900);
        let mut sent = Vec::new();
        for (size, seed) in [(1, 1), (most, 2), (most, 3)] {
            let rng = &mut StdRng::seed_from_u64(seed);
            let person = |_| Person {
                value: 3,
                label: 0,
                items: (0..size).map(|_| Block::random(rng)).collect(),
            };
            let people: Vec<_> = (0..30 * seed).map(person).collect();
            let meters = People::new(plan.clone(), people, |at, _| at % 2 == 0, seed).run().1;
            let flights = meters[0].rounds().abs_diff(plan.cost().rounds.into());
            assert!(flights <= 4, "{} flights, {}", meters[0].rounds(), plan.cost().rounds);
            sent.push(meters.map(|meter| meter.sent()));
        }
        assert!(sent.iter().all(|bytes| *bytes == sent[0]), "{sent:?}");
        let cost = plan.cost();
        for (real, predicted) in sent[0].iter().zip([cost.bytes_to_receiver, cost.bytes_to_sender])
        {
            let off = *real as f64 / predicted;
            assert!((1.0..1.05).contains(&off), "{real} bytes, {predicted}: {plan:?}");
        }
    }
}

/// The queries of a run: the receiver or the sender has the people, and the receiver learns.
#[test]
fn aggregates_count_people() {
    let people = People::random(of_people(6, 150, 200), 11);
    let (count, sum) = people.cells()[0];
    let (values, persons) = (people.values(), people.persons());
    let sizes = Sizes { sender: 150, receiver: 200 };
    let cases = [
        (Aggregate::Count, 0, Output::Count(count)),
        (Aggregate::Count, count + 1, Output::TooFew),
        (Aggregate::SumOfReceiver, 0, Output::Sum(sum)),
        (Aggregate::SumOfSender, 0, Output::Sum(sum)),
        (Aggregate::SumOfSender, count, Output::Sum(sum)),
        (Aggregate::AtLeast(count), 0, Output::AtLeast(true)),
        (Aggregate::AtLeast(count + 1), 0, Output::AtLeast(false)),
    ];
    for (aggregate, minimum, expected) in cases {
        let turned = aggregate == Aggregate::SumOfSender;
        let sizes = match turned {
            true => Sizes { sender: sizes.receiver, receiver: sizes.sender },
            false => sizes,
        };
        let query =
            Query { sizes, aggregate, minimum, noise: None, partitions: 1, people: Some(6) };
        let inquiry = aggregate::circuit::RS21.on(query);
        let takes_values = aggregate.takes_senders_values() || aggregate.takes_receivers_values();
        let input = |receives| match query.has_people(receives) {
            true => {
                let values = if takes_values { &values[..] } else { &[] };
                let input = Valued::new(people.table.items(), values);
                Valued { people: &persons, ..input }
            }
            false => Valued::new(people.other.items(), &[]),
        };
        let (_, found) = two_party::run(
            Link::Memory,
            |channel, rng| aggregate::send(&inquiry, input(false), channel, rng),
            |channel, rng| aggregate::receive(&inquiry, input(true), channel, rng),
        );
        assert_eq!(found, expected, "{query:?}");
    }
}

#[test]
fn only_whole_sets_and_numbers_of_t_are_of_people() {
    let of_other = Column { owner: Owner::Other, index: 0 };
    let term = Term { column: Some(of_other), ..terms()[1] };
    let people = of_people(4, 10, 10);
    for plan in [
        Plan { partitions: 2, ..people.clone() },
        Plan { other_groups: 2, ..people.clone() },
        Plan { terms: vec![term], ..people.clone() },
        Plan { lookup: Some(Lookup { positions: 2, labels: 1, rows: 1 }), ..people.clone() },
        Plan { people: Some(MAX_ITEMS_OF_PERSON + 1), ..people.clone() },
        Plan { people: Some(0), ..people },
    ] {
        let refused = std::panic::catch_unwind(|| plan.on_partition());
        assert!(refused.is_err(), "{plan:?}");
    }
    let query = Query {
        sizes: Sizes { sender: 9, receiver: 9 },
        aggregate: Aggregate::Count,
        minimum: 0,
        noise: None,
        partitions: 1,
        people: Some(3),
    };
    let answers =
        |query: &Query| aggregate::METHODS.iter().filter(|method| method.answers(query)).count();
    assert_eq!(answers(&query), 1);
    assert_eq!(answers(&Query { partitions: 2, ..query }), 0);
    assert_eq!(answers(&Query { aggregate: Aggregate::Products, ..query }), 0);
}
