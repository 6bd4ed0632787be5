//! People with a shared item: the receiver learns who they are, and nobody by which items.

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use vesica_net::Channel;
use vesica_psi::{
    Error, Sizes,
    aggregate::{Valued, linked::LinkedPeople, shares::Outline},
};
use vesica_testkit::{
    assurance,
    conformance::psi::UNCOUNTED_BYTES,
    tamper,
    transcript::{self, Transcripts},
    two_party::{self, Link, PATIENCE, between},
};

use crate::shares::{Input, blame};

/// Both sets, and the receiver's people.
struct Linked {
    of: LinkedPeople,
    input: Input,
}

impl Linked {
    fn random(sizes: Sizes, most: usize, shared: usize, seed: u64) -> Self {
        let people = Some(most);
        let outline =
            Outline { sizes, partitions: 1, of_sender: false, of_receiver: false, people };
        Self { of: LinkedPeople { sizes, most }, input: Input::random(outline, shared, seed) }
    }

    fn send(&self, channel: &mut Channel, rng: &mut StdRng) -> Result<(), Error> {
        let linking = self.of.functionality();
        linking.agree(false, channel)?;
        linking.sender(channel, rng)?.run(self.input.sets.sender.items(), channel, rng)
    }

    fn receive(&self, channel: &mut Channel, rng: &mut StdRng) -> Result<Vec<u32>, Error> {
        let linking = self.of.functionality();
        linking.agree(true, channel)?;
        let input = Valued::new(self.input.sets.receiver.items(), &[]);
        let input = Valued { people: &self.input.people, ..input };
        linking.receiver(channel, rng)?.run(input, channel, rng)
    }

    /// The people with these items.
    fn people(&self, items: impl Iterator<Item = usize>) -> BTreeSet<u32> {
        items.filter_map(|item| self.input.people[item]).collect()
    }

    /// The linked people.
    fn expected(&self) -> BTreeSet<u32> {
        let found = self.input.expected().into_iter().enumerate();
        self.people(found.filter(|(_, (member, ..))| *member).map(|(item, _)| item))
    }

    /// The matches of the receiver, and the rounds of both parties.
    fn run(&self) -> (Vec<u32>, [u64; 2]) {
        let (sent, (found, received)) = two_party::run(
            Link::Memory,
            |channel, rng| {
                self.send(channel, rng)?;
                Ok::<_, Error>(channel.meter().rounds())
            },
            |channel, rng| {
                let found = self.receive(channel, rng)?;
                Ok::<_, Error>((found, channel.meter().rounds()))
            },
        );
        (found, [sent, received])
    }

    fn transcripts(&self) -> Transcripts {
        transcript::of(
            |channel, rng| self.send(channel, rng),
            |channel, rng| self.receive(channel, rng).map(drop),
        )
    }
}

#[test]
fn the_receiver_learns_its_linked_people() {
    for (place, (sender, receiver)) in
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 40), (40, 2), (300, 211), (97, 500)]
            .into_iter()
            .enumerate()
    {
        let numbers = [1, 2, 3, 8, 32].into_iter().enumerate();
        let tried = |(way, _): &(usize, usize)| assurance::tries(place, *way, 3);
        for (_, most) in numbers.filter(tried) {
            let fewer = sender.min(receiver);
            for shared in BTreeSet::from([0, fewer / 2, fewer]) {
                let sizes = Sizes { sender, receiver };
                let linked = Linked::random(sizes, most, shared, place as u64);
                let (found, rounds) = linked.run();
                let expected = linked.expected();
                assert_eq!(found.len(), expected.len(), "one item of each person");
                assert!(found.is_sorted());
                let people = linked.people(found.into_iter().map(|item| item as usize));
                assert_eq!(people, expected, "{sizes:?}, {most}, {shared}");
                assert_eq!(rounds, [u64::from(linked.of.cost().rounds); 2], "{sizes:?}, {most}");
            }
        }
    }
}

/// The item that stands for a person depends on its place in the table, and not on which of them matches. So the first
/// position says nothing to the receiver about the rule by which a person matches.
#[test]
fn the_item_that_stands_for_a_person_says_nothing() {
    let mut stood = [0; 2];
    for seed in 0..30 {
        let sizes = Sizes { sender: 1, receiver: 2 };
        let mut linked = Linked::random(sizes, 2, 1, seed);
        linked.input.people = vec![Some(5); 2];
        let matching = linked.input.sets.expected()[0];
        let (found, _) = linked.run();
        stood[usize::from(found == [matching])] += 1;
    }
    assert!(stood.iter().all(|times| *times >= 5), "{stood:?}");
}

#[test]
fn lengths_say_nothing() {
    let sizes = Sizes { sender: 60, receiver: 90 };
    for most in [1, 4] {
        let reference = Linked::random(sizes, most, 30, 1).transcripts();
        for (shared, seed) in [(0, 2), (60, 3), (29, 4)] {
            let mut other = Linked::random(sizes, most, shared, seed);
            if shared == 0 {
                other.input.people.fill(None);
            }
            assert_eq!(reference.shape(), other.transcripts().shape(), "{most}, {shared}");
        }
    }
}

#[test]
fn costs() {
    for n in [1 << 8, 1 << 12] {
        for most in [1, 8] {
            let linked = Linked::random(Sizes { sender: n, receiver: n }, most, 10, 5);
            let (sent, cost) = (linked.transcripts(), linked.of.cost());
            for (sent, predicted) in
                [(sent.sender, cost.bytes_to_receiver), (sent.receiver, cost.bytes_to_sender)]
            {
                let off = sent.payload_bytes() as f64 - predicted;
                let most_off = 0.05 * predicted + UNCOUNTED_BYTES;
                assert!(-0.05 * predicted <= off && off <= most_off, "{off} beyond {predicted}");
            }
        }
    }
}

/// Parties that disagree on the most items of a person do not run.
#[test]
fn other_people_are_another_run() {
    let sizes = Sizes { sender: 10, receiver: 10 };
    let [one, other] = [2, 3].map(|most| Linked::random(sizes, most, 5, 7));
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| other.send(channel, rng),
        |channel, rng| one.receive(channel, rng),
    );
    assert!(sent.is_err() && received.is_err());
}

/// A gate that refuses keeps the sender's shares back.
#[test]
fn the_sender_asks_before_it_opens() {
    let linked = Linked::random(Sizes { sender: 30, receiver: 20 }, 2, 9, 8);
    let (sent, received) = between(
        Link::Memory.connect(),
        PATIENCE,
        |channel, rng| {
            channel.set_gate(Some(Box::new(|| Err(std::io::Error::other("closed")))));
            linked.send(channel, rng)
        },
        |channel, rng| linked.receive(channel, rng),
    );
    assert!(matches!(sent, Err(Error::Channel(vesica_net::Error::Io { .. }))), "{sent:?}");
    assert!(received.is_err());
}

/// A deviating peer is noticed, or spoils the answer: the items that the receiver names are its own.
#[test]
fn a_peer_that_deviates_does_no_more_than_spoil_the_answer() {
    let linked = Linked::random(Sizes { sender: 4, receiver: 6 }, 3, 2, 11);
    let sending =
        |channel: &mut Channel, rng: &mut StdRng| linked.send(channel, rng).map_err(blame);
    let receiving =
        |channel: &mut Channel, rng: &mut StdRng| linked.receive(channel, rng).map_err(blame);
    let is_step = |label: &str| {
        label.starts_with("any/") || ["gmw/reveal", "lookup/entries"].contains(&label)
    };
    tamper::against_at(is_step, sending, receiving, |case, found| {
        assert!(found.is_sorted() && found.iter().all(|item| *item < 6), "{case:?}");
    });
    tamper::against_at(is_step, receiving, sending, |_, ()| {});
}
