//! The protocol that `docs/developing/extending.md` shows: hashes of the sender's items. **Insecure**, as its status
//! says.
//!
//! 1. S → R: the list of {H(y)}, sorted, each λ + log n_x + log n_y bits.
//! 2. R outputs the x with H(x) on the list.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_primitives::{Block, hash::truncate};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Status,
    memory::PerItem,
    parts::tags::{Tags, refuse_duplicates},
    setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "abc27",
    title: "what it is made of, in one line",
    citation: "Authors (Venue 2027)",
    status: Status::Insecure,
    adversary: Adversary::None,
    learns: Leakage { receiver: "the sender's set", sender: "the size of the receiver's set" },
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost,
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([75.0, 10.0], [105.0, 20.0]))
    },
    failures: |setting| vec![Tags::new(setting).failure(setting.sizes)],
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, _, _| Ok(Box::new(Sender { setting })),
        receiver: |setting, _, _| Ok(Box::new(Receiver { setting })),
    },
};

const LIST: &str = "abc27/list";

fn cost(setting: Setting) -> Cost {
    let list = Tags::new(setting).list_len(setting.sizes.sender);
    Cost { bytes_to_sender: 0.0, bytes_to_receiver: list as f64, rounds: 1 }
}

/// H of an item, because items need not look random.
fn hash(item: &Block) -> Block {
    truncate(&blake3::hash(&item.to_bytes()))
}

struct Sender {
    setting: Setting,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let tags = Tags::new(self.setting);
        refuse_duplicates(items)?;
        // 1.
        let list = items.low_halves().iter().map(|item| tags.of(hash(item))).collect();
        tags.send_list(LIST, list, items, channel)
    }
}

struct Receiver {
    setting: Setting,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let tags = Tags::new(self.setting);
        refuse_duplicates(items)?;
        // 2.
        let mine = items.low_halves().iter().enumerate();
        let mine = mine.map(|(position, item)| tags.tagged(hash(item), position)).collect();
        tags.recv_matches(LIST, self.setting.sizes.sender, mine, items, channel)
    }
}

#[test]
fn the_example_finds_what_is_shared() {
    use vesica_testkit::two_party::{Link, run};

    let [mine, theirs] =
        [0..700, 600..1_000].map(|all: std::ops::Range<u128>| all.map(Block).collect::<Vec<_>>());
    let shared = run(
        Link::Memory,
        |channel, rng| crate::send(&PROTOCOL, Items::from(&theirs[..]), 0..=700, channel, rng),
        |channel, rng| crate::receive(&PROTOCOL, Items::from(&mine[..]), 0..=400, channel, rng),
    );
    assert_eq!(shared.1, (600..700).collect::<Vec<u32>>());
}
