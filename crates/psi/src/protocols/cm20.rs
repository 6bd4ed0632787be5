//! PSI from a multi-point OPRF: Chase and Miao (CRYPTO 2020), Figure 3, with the OPRF of `vesica_oprf::cm20`.
//!
//! Offline: base OTs.
//!
//! 1. The OPRF: R gets F(x) for each of its items, S can compute F anywhere. R → S: a key, and the bit matrix
//!    with R's items, masked.
//! 2. S → R: the sorted list of {F(y)}.
//! 3. R outputs the x whose value is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. There is an entry for
//! semi-honest parties, and one for a malicious sender (Theorem 3.2). The latter has malicious base OTs,
//! digests of 256 bits that go through H1, and a list of whole values, because a sender could invent short
//! ones that match. In both, the key of the OPRF leaves R once S's choices in the base OTs are fixed.
//!
//! Deviations from the paper, above all 1.5 rows per item, in blocks: see `docs/protocols/multi-point.md`.

use std::{borrow::Cow, marker::PhantomData};

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::cm20::{self as oprf, Points};
use vesica_ot::base::{BaseOt, extended::Extended, np01::Np01};
use vesica_params::{
    Failure,
    matrix::{Matrix, matrix},
};
use vesica_primitives::{
    Block,
    group::Ristretto,
    hash::{ShortHash, ShortInput},
};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status, memory::PerItem, parts::tags::Tags, setting::any_sizes,
};

/// For semi-honest parties.
pub static SEMI_HONEST: Protocol = Protocol {
    key: "cm20",
    title: "multi-point OPRF from a bit matrix",
    digest: DigestLength::Short,
    filters: true,
    ..entry::<SemiHonest>()
};

/// Against a malicious sender.
pub static MALICIOUS_SENDER: Protocol = Protocol {
    key: "cm20-malicious-sender",
    title: "multi-point OPRF from a bit matrix, whole values",
    digest: DigestLength::Long,
    filters: false,
    ..entry::<MaliciousSender>()
};

/// The parts that depend on the adversary.
trait Model: Send + 'static {
    /// Memory for each item.
    const MEMORY: PerItem;

    /// The base OTs underneath.
    type Base: BaseOt;

    /// The adversary against which the rest of the protocol is secure.
    const ADVERSARY: Adversary;

    /// Flights of a run.
    const ROUNDS: u32;

    /// Returns the truncation of values.
    fn tags(setting: Setting) -> Tags;

    /// The inputs of the OPRF.
    fn inputs(items: Items<'_>) -> Inputs<'_>;
}

struct SemiHonest;

impl Model for SemiHonest {
    const MEMORY: PerItem = PerItem::new([132.0, 14.0], [118.0, 14.0]);

    type Base = Np01<Ristretto>;

    const ADVERSARY: Adversary = Adversary::SemiHonest;

    const ROUNDS: u32 = 4;

    fn tags(setting: Setting) -> Tags {
        Tags::new(setting)
    }

    fn inputs(items: Items<'_>) -> Inputs<'_> {
        Inputs { low_halves: Cow::Borrowed(items.low_halves()), high_halves: Vec::new() }
    }
}

struct MaliciousSender;

impl Model for MaliciousSender {
    const MEMORY: PerItem = PerItem::new([182.0, 12.0], [168.0, 28.0]);

    type Base = Extended;

    const ADVERSARY: Adversary = Adversary::MaliciousSender;

    const ROUNDS: u32 = 7;

    fn tags(_: Setting) -> Tags {
        Tags::whole()
    }

    /// H1: BLAKE3 of each digest, because the key of the OPRF must not help in choosing its inputs.
    fn inputs(items: Items<'_>) -> Inputs<'_> {
        let mut low_halves = Vec::with_capacity(items.len());
        let mut high_halves = Vec::with_capacity(items.len());
        let digests = items.low_halves().iter().zip(items.high_halves()).map(|(low, high)| {
            ShortInput::new(bytemuck::cast_slice(&[*low, *high])).expect("32 bytes are few")
        });
        ShortHash::keyed(&H1_KEY).hash(digests, |digest| {
            let [low, high]: [Block; 2] = bytemuck::cast(digest);
            low_halves.push(low);
            high_halves.push(high);
        });
        Inputs { low_halves: low_halves.into(), high_halves }
    }
}

const H1_KEY: [u8; 32] = *b"vesica cm20 item hash v1, public";

/// The inputs of the OPRF.
struct Inputs<'a> {
    low_halves: Cow<'a, [Block]>,
    high_halves: Vec<Block>,
}

impl Inputs<'_> {
    fn points(&self) -> Points<'_> {
        Points { low_halves: &self.low_halves, high_halves: &self.high_halves }
    }
}

/// The fields that the entries share; names, digests and filters differ.
const fn entry<M: Model>() -> Protocol {
    Protocol {
        key: "",
        title: "",
        citation: "Chase, Miao (CRYPTO 2020)",
        status: Status::Sound,
        adversary: Adversary::weakest(&[M::Base::ADVERSARY, M::ADVERSARY]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: false,
        list: List::Sorted,
        cost: cost::<M>,
        memory: memory::<M>,
        failures: failures::<M>,
        limits: any_sizes,
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Sender::setup::<M::Base>(shape(setting), channel, rng)?;
                Ok(Box::new(Sender { setting, oprf, model: PhantomData::<M> }))
            },
            receiver: |setting, channel, rng| {
                channel.phase("base-ot");
                let oprf = oprf::Receiver::setup::<M::Base>(shape(setting), channel, rng)?;
                Ok(Box::new(Receiver { setting, oprf, model: PhantomData::<M> }))
            },
        },
    }
}

const LIST: &str = "cm20/list";

fn shape(setting: Setting) -> Matrix {
    matrix(setting.sizes.receiver, setting.sizes.sender, setting.lambda())
}

fn failures<M: Model>(setting: Setting) -> Vec<Failure> {
    let Sizes { sender, receiver } = setting.sizes;
    let few = shape(setting).log2_failure(receiver, sender);
    let tags = M::tags(setting).failure(setting.sizes);
    vec![tags, Failure::new("an item meets too few unmarked cells", few)]
}

fn memory<M: Model>(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, M::MEMORY)
}

fn cost<M: Model>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let matrix = shape(setting);
    let setup = oprf::setup_bytes::<M::Base>(matrix);
    let list = M::tags(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (setup.to_sender + oprf::bytes(matrix)) as f64,
        bytes_to_receiver: (setup.to_receiver + list) as f64,
        rounds: M::ROUNDS,
    }
}

/// The party that can evaluate the OPRF everywhere.
struct Sender<M> {
    setting: Setting,
    oprf: oprf::Sender,
    model: PhantomData<M>,
}

impl<M: Model> Party<Items<'_>, ()> for Sender<M> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(M::inputs(items).points(), channel)?;
        // 2.
        channel.phase("list");
        M::tags(self.setting).send_values(LIST, evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiver<M> {
    setting: Setting,
    oprf: oprf::Receiver,
    model: PhantomData<M>,
}

impl<M: Model> Party<Items<'_>, Vec<u32>> for Receiver<M> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("oprf");
        let inputs = M::inputs(items);
        let evaluated = self.oprf.evaluate(inputs.points(), channel, rng)?;
        // 3.
        channel.phase("list");
        let sender = self.setting.sizes.sender;
        M::tags(self.setting).recv_values(LIST, sender, evaluated, items, channel)
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_testkit::{
        assurance,
        two_party::{Link, run},
    };

    use super::*;
    use crate::{Error, Set};

    /// The protocol with tags of a few bits.
    struct Short<const BITS: u32>;

    impl<const BITS: u32> Model for Short<BITS> {
        const MEMORY: PerItem = SemiHonest::MEMORY;

        type Base = Np01<Ristretto>;

        const ADVERSARY: Adversary = Adversary::SemiHonest;

        const ROUNDS: u32 = SemiHonest::ROUNDS;

        fn tags(_: Setting) -> Tags {
            Tags::of_bits(BITS)
        }

        fn inputs(items: Items<'_>) -> Inputs<'_> {
            SemiHonest::inputs(items)
        }
    }

    /// The number of R's items that a run finds, of sets that share none.
    fn found<const BITS: u32>(sizes: Sizes, seed: u64) -> usize {
        let rng = &mut StdRng::seed_from_u64(seed);
        // 128 random bits are not drawn twice.
        let [theirs, mine] = [sizes.sender, sizes.receiver]
            .map(|n| Set::short((0..n).map(|_| Block::random(rng)).collect()));
        let setting = Setting::from(sizes);
        let (_, found) = run(
            Link::Memory,
            |channel, _| {
                let mut rng = StdRng::seed_from_u64(seed);
                let oprf =
                    oprf::Sender::setup::<Np01<Ristretto>>(shape(setting), channel, &mut rng)?;
                let party = Sender { setting, oprf, model: PhantomData::<Short<BITS>> };
                Box::new(party).run(theirs.items(), channel, &mut rng)?;
                Ok::<_, Error>(channel.flush()?)
            },
            |channel, _| {
                let mut rng = StdRng::seed_from_u64(!seed);
                let oprf =
                    oprf::Receiver::setup::<Np01<Ristretto>>(shape(setting), channel, &mut rng)?;
                let party = Receiver { setting, oprf, model: PhantomData::<Short<BITS>> };
                Ok(Box::new(party).run(mine.items(), channel, &mut rng)?.len())
            },
        );
        found
    }

    /// Runs with tags of some length: S has a sixteenth as many items as there are tags.
    struct Runs {
        count: usize,
        sizes: Sizes,
    }

    impl Runs {
        fn with_tags_of(bits: u32) -> Self {
            let sizes = Sizes { sender: 1 << (bits - 4), receiver: 1 << 12 };
            Self { count: assurance::trials(6, 60), sizes }
        }

        /// The mean number of false matches with tags of `bits` bits: each of R's items has the tag of one of S's n
        /// with probability 1 − (1 − 2^-ℓ)^n.
        fn mean(&self, bits: u32) -> f64 {
            let missed = (1.0 - 0.5f64.powi(bits as i32)).powf(self.sizes.sender as f64);
            (self.count * self.sizes.receiver) as f64 * (1.0 - missed)
        }

        /// A distance from the mean that is exceeded with a probability below 10^-9: Freedman's inequality for S's tags
        /// one after another (each coincides with an earlier one or makes about n_x · 2^-ℓ more matches), and then R's.
        fn tolerance(&self, bits: u32) -> f64 {
            let Sizes { sender, receiver } = self.sizes;
            let [listed, step] = [sender, receiver].map(|n| n as f64 * 0.5f64.powi(bits as i32));
            let variance = (self.count * sender) as f64 * step * (1.0 + step * listed);
            let (most, nats) = (step.max(1.0), f64::ln(2e9));
            let linear = most * nats / 3.0;
            linear + (linear * linear + 2.0 * nats * variance).sqrt()
        }
    }

    fn false_matches_are_as_many_as_tags_of<const BITS: u32>() {
        let runs = Runs::with_tags_of(BITS);
        let all = (1..=runs.count as u64).map(|seed| found::<BITS>(runs.sizes, seed));
        let found = all.sum::<usize>() as f64;
        let off = |bits: u32| (found - runs.mean(bits)).abs();
        assert!(off(BITS) <= runs.tolerance(BITS), "{found}, not {}", runs.mean(BITS));
        // The test distinguishes ℓ from ℓ − 1.
        assert!(off(BITS - 1) > runs.tolerance(BITS - 1), "{found} at {BITS} bits");
    }

    /// End to end, with tags so short that there are false matches: n_x · n_y · 2^-ℓ of them, less where S's own tags
    /// coincide. The length of a tag, ⌈λ + log n_x + log n_y⌉, makes this improbable.
    #[test]
    fn false_matches_are_as_many_as_the_length_of_tags_says() {
        false_matches_are_as_many_as_tags_of::<8>();
        false_matches_are_as_many_as_tags_of::<9>();
        false_matches_are_as_many_as_tags_of::<10>();
        false_matches_are_as_many_as_tags_of::<11>();
        false_matches_are_as_many_as_tags_of::<12>();
    }
}
