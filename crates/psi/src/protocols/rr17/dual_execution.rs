//! `rr17-de`: the OPRF in both directions.
//!
//! Offline: the base OTs of both OPRFs, one after the other.
//!
//! 1. Both toss a seed, hash their items into bins, and put them into random slots.
//! 2. R gets the values of S's functions F^S at the points of its slots; S refuses rows that are not codewords.
//! 3. S gets the values of R's functions F^R at the points of its slots; R refuses rows that are not codewords.
//! 4. S → R, for each item y in slot j and each slot i of R in y's bin: H(F^R_j(y), F^S_i(y), y), all of them
//!    in one sorted list.
//! 5. R outputs the x in slot i for which H(F^R_j(x), F^S_i(x), x) is on the list, for any slot j of S.
//!
//! S can compute a value that R looks for only at the point it has in slot j, because F^R_j is random to it elsewhere,
//! and R can compute one that S sends only at the point it has in slot i. For any other item S must therefore guess the
//! values, all of them at once and before it learns anything: with n_y·μ_x values against the n_x·μ_y of R it succeeds
//! with probability n_y·μ_x·n_x·μ_y·2^-ℓ, and ℓ = λ + log(n_y·μ_x) + log(n_x·μ_y) bits are enough. With more time S
//! could prepare two equal values of its own, but that gains it nothing, because its inputs are bounded by its slots
//! and not by the list.
//!
//! Deviations from the paper: values are hashed with the whole item, in the order of the roles, instead of
//! being added. Items are thus compared by all of their bits, and values of R cannot stand for values of S. (A
//! party that returned the other's own messages would have two equal functions, which add up to 0. It cannot:
//! the base OTs of the second OPRF begin after the base OTs of the first have ended.)

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::oos17 as oprf;
use vesica_params::{Failure, KAPPA, bins::padded::Shape};
use vesica_primitives::{Block, hash::ShortHash, threads};

use super::{Binned, CHUNK, CITATION, Effort, Hashing, first, item, short};
use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{coin, tags::Tags},
    setting::any_sizes,
};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "rr17-de",
    title: "checked OPRF in both directions, all slots of a bin",
    citation: CITATION,
    status: Status::Sound,
    adversary: Adversary::weakest(&[oprf::ADVERSARY, coin::ADVERSARY]),
    learns: Leakage::EXTRACTED,
    digest: DigestLength::Long,
    filters: false,
    list: List::Sorted,
    cost: |setting| cost(setting, shape(setting)),
    memory,
    failures,
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            channel.phase("base-ot");
            let own = oprf::Sender::setup(channel, rng)?;
            let other = oprf::Receiver::setup(channel, rng)?;
            Ok(Box::new(Sender { setting, own, other }))
        },
        receiver: |setting, channel, rng| {
            channel.phase("base-ot");
            let other = oprf::Receiver::setup(channel, rng)?;
            let own = oprf::Sender::setup(channel, rng)?;
            Ok(Box::new(Receiver { setting, own, other }))
        },
    },
};

const LIST: &str = "rr17/list";

/// The bins of a run.
pub fn shape(setting: impl Into<Setting>) -> Shape {
    let setting = setting.into();
    super::fastest(setting, |shape| {
        let values = values(setting.sizes, shape);
        // A hash has no more.
        (tags(setting, shape).bits() <= KAPPA).then(|| Effort {
            cost: cost(setting, shape),
            values: values.sender + values.receiver,
            instances: shape.receiver_slots() + shape.sender_slots(),
        })
    })
}

/// Numbers of S's values on the list, and of R's values compared with them.
fn values(sizes: Sizes, shape: Shape) -> Sizes {
    Sizes { sender: sizes.sender * shape.receiver, receiver: sizes.receiver * shape.sender }
}

fn tags(setting: Setting, shape: Shape) -> Tags {
    Tags::new(Setting { sizes: values(setting.sizes, shape), ..setting })
}

fn failures(setting: Setting) -> Vec<Failure> {
    let (sizes, shape) = (setting.sizes, shape(setting));
    let mut failures = super::overflows(sizes, shape).to_vec();
    let equal = tags(setting, shape).failure(values(sizes, shape));
    failures.extend([equal, oprf::WRONG_ROWS_PASS]);
    failures
}

fn memory(Setting { sizes, .. }: Setting) -> Memory {
    Memory::linear(sizes, PerItem::new([1150.0, 750.0], [1300.0, 850.0]))
}

fn cost(setting: Setting, shape: Shape) -> Cost {
    let values = values(setting.sizes, shape);
    let setup = oprf::setup_bytes();
    let forward = setup + oprf::bytes(shape.receiver_slots());
    let back = setup + oprf::bytes(shape.sender_slots());
    let list = tags(setting, shape).list_len(values.sender);
    let to_receiver = forward.to_receiver + back.to_sender + coin::BYTES_OF_FIRST + list;
    Cost {
        bytes_to_sender: (forward.to_sender + back.to_receiver) as f64,
        bytes_to_receiver: to_receiver as f64,
        rounds: 20,
    }
}

/// The hash of step 4 over the value of R's function, the value of S's function, and the item.
struct DualExecutionComparison<'a> {
    hash: ShortHash,
    binned: &'a Binned,
    items: Items<'a>,
}

impl<'a> DualExecutionComparison<'a> {
    fn new(hashing: &Hashing, binned: &'a Binned, items: Items<'a>) -> Self {
        Self { hash: hashing.keyed("vesica rr17 dual execution v1"), binned, items }
    }

    /// Hashes some slots' values at all entries. Given an entry and one of the values, `both` returns the
    /// values of R's function and of S's, in this order.
    fn of(&self, values: &[Block], both: impl Fn(usize, Block) -> [Block; 2] + Sync) -> Vec<Block> {
        let n = self.binned.len();
        let mut hashed = vec![Block::ZERO; values.len()];
        let chunks = hashed.chunks_mut(CHUNK).zip(values.chunks(CHUNK)).enumerate();
        threads::for_each(chunks, |(chunk, (hashed, values))| {
            let inputs = values.iter().zip(chunk * CHUNK..).map(|(value, i)| {
                let entry = i % n;
                let item = item(self.items, self.binned.position(entry));
                short(&[bytemuck::cast_slice(&both(entry, *value)), &item])
            });
            let mut hashed = hashed.iter_mut();
            self.hash.hash(inputs, |digest| {
                *hashed.next().expect("a place for each value") = first(&digest);
            });
        });
        hashed
    }
}

/// The party that sends values.
struct Sender {
    setting: Setting,
    own: oprf::Sender,
    other: oprf::Receiver,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let shape = shape(self.setting);
        // 1.
        channel.phase("hash");
        let hashing = Hashing::new(shape.bins, coin::toss_first(channel, rng)?);
        let binned = hashing.bin(&hashing.images(items)?);
        let slots = binned.fill(shape.sender, rng)?;
        // 2 and 3.
        channel.phase("oprf");
        let functions = self.own.functions(shape.receiver_slots(), channel, rng)?;
        let learned = slots.pick(&self.other.evaluate(&slots.points, channel, rng)?);
        // 4.
        channel.phase("list");
        let values = values(self.setting.sizes, shape);
        let tags = tags(self.setting, shape);
        let comparison = DualExecutionComparison::new(&hashing, &binned, items);
        let mut list = Vec::with_capacity(values.sender);
        binned.evaluate(&functions, shape.receiver, channel, |_, values| {
            let hashed = comparison.of(values, |entry, own| [learned[entry], own]);
            list.extend(hashed.into_iter().map(|value| tags.of(value)));
        })?;
        tags.send_list(LIST, list, items, channel)?;
        Ok(channel.flush()?)
    }
}

/// The party that learns the intersection.
struct Receiver {
    setting: Setting,
    own: oprf::Sender,
    other: oprf::Receiver,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let shape = shape(self.setting);
        // 1.
        channel.phase("hash");
        let hashing = Hashing::new(shape.bins, coin::toss_second(channel, rng)?);
        let binned = hashing.bin(&hashing.images(items)?);
        let slots = binned.fill(shape.receiver, rng)?;
        // 2 and 3.
        channel.phase("oprf");
        let learned = slots.pick(&self.other.evaluate(&slots.points, channel, rng)?);
        let functions = self.own.functions(shape.sender_slots(), channel, rng)?;
        // 5.
        channel.phase("list");
        let values = values(self.setting.sizes, shape);
        let tags = tags(self.setting, shape);
        let comparison = DualExecutionComparison::new(&hashing, &binned, items);
        let mut mine = Vec::with_capacity(values.receiver);
        binned.evaluate(&functions, shape.sender, channel, |_, values| {
            let hashed = comparison.of(values, |entry, own| [own, learned[entry]]);
            let entries = (0..binned.len()).cycle();
            let tagged = hashed.into_iter().zip(entries);
            mine.extend(tagged.map(|(value, i)| tags.tagged(value, binned.position(i))));
        })?;
        // A malicious sender may have an item in two slots: it counts once.
        tags.recv_matches(LIST, values.sender, mine, items, channel)
    }
}
