//! A suite that accepts everything is worthless, so these protocols have one defect each, which a suite must find.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_psi::{
    Cost, DigestLength, Items, List, Parties, Party, Prepare, Protocol, Receiver, Result, Sender,
    Setting, protocols::naive,
};
use vesica_testkit::conformance::psi::{self, Budget};

/// The receiver of a correct protocol, whose output is corrupted.
struct Spoilt {
    right: Box<Receiver>,
    spoil: fn(Vec<u32>) -> Vec<u32>,
}

impl Party<Items<'_>, Vec<u32>> for Spoilt {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        self.right.run(items, channel, rng).map(self.spoil)
    }
}

const SENDER: Prepare<Sender> =
    |setting, channel, rng| naive::PROTOCOL.sender(setting, channel, rng);

const RECEIVER: Prepare<Receiver> =
    |setting, channel, rng| naive::PROTOCOL.receiver(setting, channel, rng);

const fn naive_with(receiver: Prepare<Receiver>) -> Protocol {
    Protocol { parties: Parties::Plain { sender: SENDER, receiver }, ..RIGHT }
}

/// The fields of `naive`, repeated: a constant cannot read a static.
const RIGHT: Protocol = Protocol {
    key: "spoilt",
    title: "naive hashing with a flaw",
    citation: "none",
    status: vesica_psi::Status::Insecure,
    adversary: vesica_psi::Adversary::None,
    learns: vesica_psi::Leakage { receiver: "", sender: "" },
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost: |setting| (naive::PROTOCOL.cost)(setting),
    memory: |setting| (naive::PROTOCOL.memory)(setting),
    failures: |setting| (naive::PROTOCOL.failures)(setting),
    limits: |sizes| (naive::PROTOCOL.limits)(sizes),
    parties: Parties::Plain { sender: SENDER, receiver: RECEIVER },
};

fn right(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Box<Receiver> {
    RECEIVER(setting, channel, rng).expect("it has nothing to prepare")
}

static LOSES_ONE_OF_MANY: Protocol = naive_with(|setting, channel, rng| {
    let spoil = |mut matches: Vec<u32>| {
        (matches.len() > 2_000).then(|| matches.pop());
        matches
    };
    Ok(Box::new(Spoilt { right: right(setting, channel, rng), spoil }))
});

static UNSORTED: Protocol = naive_with(|setting, channel, rng| {
    let spoil = |matches: Vec<u32>| matches.into_iter().rev().collect();
    Ok(Box::new(Spoilt { right: right(setting, channel, rng), spoil }))
});

static FORGETS_THE_EMPTY_SET: Protocol = naive_with(|setting, channel, rng| {
    let spoil = if setting.sizes.sender == 0 { |_| vec![0] } else { |matches| matches };
    Ok(Box::new(Spoilt { right: right(setting, channel, rng), spoil }))
});

static CHEAPER_THAN_IT_IS: Protocol = Protocol {
    cost: |setting| {
        let cost = (naive::PROTOCOL.cost)(setting);
        Cost { bytes_to_receiver: cost.bytes_to_receiver * 0.95, ..cost }
    },
    ..RIGHT
};

/// Claims to compare whole digests.
static LOOKS_AT_HEADS_ALONE: Protocol = Protocol { digest: DigestLength::Long, ..RIGHT };

/// A sender whose message is as long as the bits of its smallest item.
struct Talkative(Box<Sender>);

impl Party<Items<'_>, ()> for Talkative {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let least = items.low_halves().iter().min().map_or(0, |item| 128 - item.0.leading_zeros());
        channel.send("talk", &vec![0; least as usize])?;
        self.0.run(items, channel, rng)
    }
}

static TALKATIVE: Protocol = Protocol {
    parties: Parties::Plain {
        sender: |setting, channel, rng| Ok(Box::new(Talkative(SENDER(setting, channel, rng)?))),
        receiver: |setting, channel, rng| {
            channel.recv_len("talk", 128)?;
            RECEIVER(setting, channel, rng)
        },
    },
    ..RIGHT
};

#[test]
fn the_right_one_passes() {
    psi::equal_sizes(&RIGHT, Budget::Symmetric);
    psi::uneven_sizes(&RIGHT, Budget::Symmetric);
    psi::costs(&RIGHT, Budget::Symmetric);
    psi::equal_lengths(&RIGHT, Budget::Symmetric);
}

#[test]
#[should_panic(expected = "matches instead of")]
fn a_lost_match_among_many_is_noticed() {
    psi::equal_sizes(&LOSES_ONE_OF_MANY, Budget::Symmetric);
}

#[test]
#[should_panic(expected = "spoilt on random items")]
fn a_wrong_order_is_noticed() {
    psi::equal_sizes(&UNSORTED, Budget::GroupOperations);
}

#[test]
#[should_panic(expected = "spoilt on uneven sets")]
fn a_match_with_an_empty_set_is_noticed() {
    psi::uneven_sizes(&FORGETS_THE_EMPTY_SET, Budget::GroupOperations);
}

#[test]
#[should_panic(expected = "spoilt on items that share low halves")]
fn a_forgotten_half_is_noticed() {
    psi::odd_items(&LOOKS_AT_HEADS_ALONE, Budget::Symmetric);
}

#[test]
#[should_panic(expected = "the catalogue says")]
fn a_cost_that_is_off_by_five_percent_is_noticed() {
    psi::costs(&CHEAPER_THAN_IT_IS, Budget::GroupOperations);
}

#[test]
#[should_panic(expected = "assertion `left == right` failed: spoilt at Sizes")]
fn a_length_that_depends_on_an_item_is_noticed() {
    psi::equal_lengths(&TALKATIVE, Budget::Symmetric);
}
