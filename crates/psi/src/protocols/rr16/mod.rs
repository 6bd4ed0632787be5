//! PSI from a garbled Bloom filter of OTs, with some OTs opened: Rindal and Rosulek (EUROCRYPT 2017).
//! Malicious.
//!
//! Offline: the base OTs of the OT extension, and
//!
//! 1. N random OTs. R chooses ones in as many of them as its items may set cells in a Bloom filter, and in a
//!    few more.
//! 2. S → R: a seed of the set C of OTs to be opened.
//! 3. R → S: in which OTs of C it chose zero, with the sum of the strings that it has of them. S refuses if
//!    there are too few, or if the sum is wrong.
//!
//! Online:
//!
//! 4. R commits to its share of a seed, S sends its own, R opens: the hash functions of the filter.
//! 5. R → S: a permutation that gives each cell an OT that was not opened, such that R chose one for the cells
//!    that its items set. S refuses anything that is not a permutation.
//! 6. S → R: the sorted list of H(sum of the strings for a one of y's cells, y), κ bits each.
//! 7. R outputs the x whose value is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. A malicious receiver may
//! use more items, up to the number [`Shape::effective_inputs`]. Deviations from the paper, above all a
//! challenge of fixed size: see `docs/protocols/garbled-bloom.md`.

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_ot::extension::softspoken::malicious as extension;
use vesica_params::{Failure, cut_and_choose::Shape};
use vesica_primitives::{
    Block,
    hash::{IndexedRow, RowHash},
};
use zeroize::Zeroizing;

use crate::{
    Adversary, Cost, DigestLength, Error, Items, Leakage, Limit, List, Memory, Parties, Party,
    Protocol, Result, Setting, Sizes, Status,
    memory::PerItem,
    parts::{
        coin,
        tags::{self, Tags},
    },
    setting::OF_RECEIVER,
};

#[cfg(test)]
mod adversary;
mod assignment;
mod cut_and_choose;
mod draw;
mod filter;

use cut_and_choose::{FIELD, Hand};
use filter::Filter;

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "rr16",
    title: "garbled Bloom filter from OTs with cut and choose",
    citation: "Rindal, Rosulek (EUROCRYPT 2017)",
    status: Status::Sound,
    adversary: Adversary::weakest(&[cut_and_choose::ADVERSARY, coin::ADVERSARY]),
    learns: Leakage::EXTRACTED,
    digest: DigestLength::Long,
    filters: false,
    list: List::Sorted,
    cost,
    memory,
    failures,
    limits,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            let shape = shape(setting);
            channel.phase("base-ot");
            let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
            channel.phase("ot");
            let ones = cut_and_choose::send(shape, &mut cot, channel, rng)?;
            Ok(Box::new(Sender { shape, ones }))
        },
        receiver: |setting, channel, rng| {
            let shape = shape(setting);
            channel.phase("base-ot");
            let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
            channel.phase("ot");
            let hand = cut_and_choose::receive(shape, &mut cot, channel, rng)?;
            Ok(Box::new(Receiver { sizes: setting.sizes, shape, hand }))
        },
    },
};

/// The maximal number of items of R: 200 million OTs, for which both parties hold a string each, and as many as
/// [`draw`] can select uniformly.
const MAX_ITEMS: usize = 1 << 20;

const LIST: &str = "rr16/list";

/// Values that are hashed together.
const BATCH: usize = 64;

fn memory(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, PerItem::new([85.0, 8900.0], [8200.0, 65.0]))
}

fn limits(sizes: Sizes) -> std::result::Result<(), Limit> {
    Limit::check(OF_RECEIVER, sizes.receiver, MAX_ITEMS)
}

fn shape(setting: Setting) -> Shape {
    Shape::new(setting.sizes.receiver, setting.lambda())
}

fn failures(setting: Setting) -> Vec<Failure> {
    let [set, refused, kept] = shape(setting).log2_failures(setting.sizes.receiver);
    vec![
        Tags::whole().failure(setting.sizes),
        Failure::new("items set too many cells", set),
        Failure::new("a receiver that follows the protocol is refused", refused),
        Failure::new("a receiver that deviates keeps too many ones", kept),
    ]
}

fn cost(setting: Setting) -> Cost {
    let (sizes, shape) = (setting.sizes, shape(setting));
    let ots = extension::setup_bytes(FIELD) + cut_and_choose::bytes(shape);
    let assignment = assignment::bytes(shape.cells());
    let list = Tags::whole().list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ots.to_sender + coin::BYTES_OF_FIRST + assignment) as f64,
        bytes_to_receiver: (ots.to_receiver + coin::BYTES_OF_SECOND + list) as f64,
        rounds: 10,
    }
}

/// For each item, the hash of the sum of its cells' strings and of the whole item. κ bits are enough: a
/// sender's value is attributed to the item for which it queried the hash, and matches another item with
/// probability 2^-κ for each of R's items.
fn values(
    filter: &Filter,
    seed: Block,
    items: Items<'_>,
    string: impl Fn(usize) -> Block + Sync,
    channel: &mut Channel,
) -> Result<Vec<Block>> {
    let hash = RowHash::new(seed);
    let mut values = Vec::with_capacity(items.len());
    let chunks =
        items.low_halves().chunks(filter::CHUNK).zip(items.high_halves().chunks(filter::CHUNK));
    for (low_halves, high_halves) in chunks {
        let first = values.len();
        filter.sums(low_halves, high_halves, &string, &mut values);
        let items = low_halves.par_chunks(BATCH).zip(high_halves.par_chunks(BATCH));
        values[first..].par_chunks_mut(BATCH).zip(items).for_each(
            |(sums, (low_halves, high_halves))| {
                let mut rows = [IndexedRow::default(); BATCH];
                for ((row, sum), (low, high)) in
                    rows.iter_mut().zip(&*sums).zip(low_halves.iter().zip(high_halves))
                {
                    *row = IndexedRow::new(0, &[*sum, *low, *high, Block::ZERO]);
                }
                hash.hash(&rows[..sums.len()], sums);
            },
        );
        channel.keep_alive()?;
    }
    Ok(values)
}

/// The party that has both strings of every OT.
struct Sender {
    shape: Shape,
    /// The strings for a one of the unopened OTs.
    ones: Zeroizing<Vec<Block>>,
}

impl Party<Items<'_>, ()> for Sender {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 4.
        channel.phase("hash");
        let seed = coin::toss_second(channel, rng)?;
        let filter = Filter::new(self.shape, seed);
        // 5.
        channel.phase("assignment");
        let assignment = assignment::receive(self.shape.cells(), channel)?;
        // 6.
        channel.phase("list");
        let string = |cell: usize| self.ones[assignment[cell] as usize];
        let values = values(&filter, seed, items, string, channel)?;
        let tags = Tags::whole();
        let list = values.into_iter().map(|value| tags.of(value)).collect();
        tags.send_list(LIST, list, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiver {
    sizes: Sizes,
    shape: Shape,
    hand: Hand,
}

impl Party<Items<'_>, Vec<u32>> for Receiver {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // S is done once it has sent its list, so R must refuse duplicates before that.
        tags::refuse_duplicates(items)?;
        // 4.
        channel.phase("hash");
        let seed = coin::toss_first(channel, rng)?;
        let filter = Filter::new(self.shape, seed);
        // 5.
        channel.phase("assignment");
        let is_set = filter.of(items);
        let assignment = assignment::draw(&is_set, &self.hand.choices, rng);
        let assignment = assignment.ok_or(Error::HashingFailure)?;
        assignment::send(&assignment, channel)?;
        // 7.
        channel.phase("list");
        let string = |cell: usize| self.hand.strings[assignment[cell] as usize];
        let values = values(&filter, seed, items, string, channel)?;
        let tags = Tags::whole();
        let mine = values.into_iter().enumerate();
        let mine = mine.map(|(position, value)| tags.tagged(value, position)).collect();
        tags.recv_matches(LIST, self.sizes.sender, mine, items, channel)
    }
}

#[cfg(test)]
mod tests {
    use vesica_params::LAMBDA;
    use vesica_primitives::{Bits, Seed};
    use vesica_testkit::two_party::{Link, PATIENCE, between};

    use super::*;
    use crate::Set;

    /// An event that an honest R meets with a probability below 2^-λ ends its run before S can mistake it for
    /// cheating or learn anything about its items.
    #[test]
    fn bad_luck_is_an_error_of_its_own() {
        let shape = Shape { threshold: 0, ..Shape::new(1, LAMBDA) };
        let (_, received) = between::<_, _, Error>(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
                cut_and_choose::send(shape, &mut cot, channel, rng).map(|_| ())
            },
            |channel, rng| {
                let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
                cut_and_choose::receive(shape, &mut cot, channel, rng).map(|_| ())
            },
        );
        assert!(matches!(received, Err(Error::CutAndChooseFailure)), "{received:?}");

        let choices = draw::subset(shape.cells(), 100, &Seed::new(Block(1)));
        let strings = Zeroizing::new(vec![Block::ZERO; shape.cells()]);
        let sizes = Sizes { sender: 1, receiver: 1 };
        let receiver = Box::new(Receiver { sizes, shape, hand: Hand { choices, strings } });
        let set = Set::long(vec![Block(1)], vec![Block(2)]);
        let (sent, received) = between::<_, _, Error>(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                coin::toss_second(channel, rng)?;
                Ok(assignment::receive(shape.cells(), channel)?)
            },
            |channel, rng| receiver.run(set.items(), channel, rng),
        );
        assert!(matches!(received, Err(Error::HashingFailure)), "{received:?}");
        assert!(sent.is_err());
    }

    #[test]
    fn the_largest_set_takes_no_more_ots_than_can_be_drawn_from() {
        assert!(Shape::new(MAX_ITEMS, LAMBDA).ots() < 1 << 28);
    }

    /// With correlated OT, sums of an even number of strings that R lacks would be sums of strings that it has;
    /// the strings must be independent.
    #[test]
    fn strings_that_the_receiver_lacks_have_no_common_difference() {
        let shape = Shape { weight: 1, part: 200, opened: 1, threshold: 1, set: 0, most: 0 };
        let (ones, hand) = between::<_, _, Error>(
            Link::Memory.connect(),
            PATIENCE,
            |channel, rng| {
                let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
                cut_and_choose::send(shape, &mut cot, channel, rng)
            },
            |channel, rng| {
                let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
                let choices = Bits::zeros(shape.ots());
                let hand = Hand::receive(shape, choices, &mut cot, channel)?;
                let opened = cut_and_choose::receive_challenge(shape, channel)?;
                hand.open(&opened).send(channel)?;
                Ok(hand.without(&opened))
            },
        );
        let (ones, hand) = (ones.unwrap(), hand.unwrap());
        let mut differences: Vec<Block> =
            ones.iter().zip(&*hand.strings).map(|(one, zero)| *one ^ *zero).collect();
        differences.sort_unstable();
        differences.dedup();
        assert_eq!(differences.len(), shape.cells());
    }

    /// The same string with two items; the same item with two strings.
    #[test]
    fn a_value_is_of_strings_and_of_the_whole_item() {
        let shape = Shape::new(1, LAMBDA);
        let filter = Filter::new(shape, Block(1));
        let (end, _other_end) = vesica_net::transport::memory::pair();
        let mut channel = Channel::new(end);
        let mut of = |low, high, string: u128| {
            let set = Set::long(vec![Block(low)], vec![Block(high)]);
            let string = |cell: usize| Block(if cell < shape.part { string } else { 0 });
            values(&filter, Block(1), set.items(), string, &mut channel).unwrap()[0]
        };
        let base = of(1, 2, 3);
        assert_eq!(base, of(1, 2, 3));
        assert!([of(4, 2, 3), of(1, 4, 3), of(1, 2, 4)].iter().all(|other| *other != base));
    }
}
