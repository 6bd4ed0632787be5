//! PSI from the oblivious pseudo-random function of Naor and Reingold: Hazay and Lindell (TCC 2008), §5, as
//! PSZ14 and LIANG22 compare with it. Semi-honest.
//!
//! 1. Offline: base OTs, and random OTs for σ bits of each of R's items; S draws the function's key.
//! 2. Both draw a seed. A point is the first σ bits of an item's image under AES with that seed, where σ =
//!    λ + 2 log (n_x + n_y) − 1, so that no two different items have equal points.
//! 3. R gets F(x) for each of its items ([`oprf`]).
//! 4. S → R: the sorted list of tags F(y). R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. The function's key has an
//! exponent for each bit, each of R's items needs an OT with an exponent for each bit, and each item of both
//! needs a power: much computation and many bytes. `hl08` is over ristretto255, `hl08-ffc` over a finite
//! field. Deviations from the papers: see `docs/protocols/public-key.md`.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::hl08 as oprf;
use vesica_params::{Failure, bins::phasing};
use vesica_primitives::group::{Ffdhe3072, Ristretto, Scalars};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes, Status,
    memory::PerItem,
    parts::{
        coin::permute,
        tags::{Tags, refuse_duplicates},
    },
    setting::any_sizes,
};

/// The entry of the variant over a curve.
pub static RISTRETTO: Protocol = Protocol {
    key: "hl08",
    title: "Naor–Reingold OPRF by OT, over ristretto255",
    citation: "Hazay, Lindell (TCC 2008)",
    status: Status::Sound,
    adversary: Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]),
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost: cost::<Ristretto>,
    memory: memory::<Ristretto>,
    failures,
    limits: any_sizes,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            Ok(Box::new(Sender::<Ristretto>::new(setting, channel, rng)?))
        },
        receiver: |setting, channel, rng| {
            Ok(Box::new(Receiver::<Ristretto>::new(setting, channel, rng)?))
        },
    },
};

/// The entry of the variant over a finite field.
pub static FINITE_FIELD: Protocol = Protocol {
    key: "hl08-ffc",
    title: "Naor–Reingold OPRF by OT, over ffdhe3072",
    cost: cost::<Ffdhe3072>,
    memory: memory::<Ffdhe3072>,
    parties: Parties::Plain {
        sender: |setting, channel, rng| {
            Ok(Box::new(Sender::<Ffdhe3072>::new(setting, channel, rng)?))
        },
        receiver: |setting, channel, rng| {
            Ok(Box::new(Receiver::<Ffdhe3072>::new(setting, channel, rng)?))
        },
    },
    ..RISTRETTO
};

const TAGS: &str = "hl08/tags";

/// Points that S evaluates between keep-alive messages.
const CHUNK: usize = 128;

/// σ.
fn point_bits(setting: Setting) -> usize {
    let Sizes { sender, receiver } = setting.sizes;
    phasing::sound_bits(128, receiver, sender, setting.lambda()) as usize
}

fn failures(setting: Setting) -> Vec<Failure> {
    let Sizes { sender, receiver } = setting.sizes;
    let equal = phasing::log2_failure(128, receiver, sender, point_bits(setting) as u32);
    vec![Tags::new(setting).failure(setting.sizes), Failure::new("two items have one point", equal)]
}

fn memory<G: Scalars>(Setting { sizes, .. }: Setting) -> Memory {
    let of_points = |points: f64| points * size_of::<G::Encoded>() as f64;
    let [sender, receiver] = [[26.0, 85.0], [80.0, 22.0]].map(|points| points.map(of_points));
    Memory::linear(sizes, PerItem::new(sender, receiver))
}

fn cost<G: Scalars>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let bits = point_bits(setting);
    let oprf = oprf::setup_bytes(bits, sizes.receiver) + oprf::bytes::<G>(bits, sizes.receiver);
    let list = Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: oprf.to_sender as f64,
        bytes_to_receiver: (oprf.to_receiver + list) as f64,
        rounds: 6,
    }
}

/// The party with the function's key.
struct Sender<G: Scalars> {
    setting: Setting,
    oprf: oprf::Sender<G>,
}

impl<G: Scalars> Sender<G> {
    /// Step 1.
    fn new(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let (bits, points) = (point_bits(setting), setting.sizes.receiver);
        Ok(Self { setting, oprf: oprf::Sender::setup(bits, points, channel, rng)? })
    }
}

impl<G: Scalars> Party<Items<'_>, ()> for Sender<G> {
    fn run(
        mut self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        // 2.
        let points = permute(items.low_halves(), channel, rng)?;
        // 3.
        channel.phase("oprf");
        self.oprf.serve(self.setting.sizes.receiver, channel)?;
        // 4.
        channel.phase("own-items");
        let tags = Tags::new(self.setting);
        let mut list = Vec::with_capacity(points.len());
        for points in points.chunks(CHUNK) {
            list.extend(self.oprf.evaluate(points).into_iter().map(|value| tags.of(value)));
            channel.keep_alive()?;
        }
        tags.send_list(TAGS, list, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiver<G: Scalars> {
    setting: Setting,
    oprf: oprf::Receiver<G>,
}

impl<G: Scalars> Receiver<G> {
    /// Step 1.
    fn new(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let (bits, points) = (point_bits(setting), setting.sizes.receiver);
        Ok(Self { setting, oprf: oprf::Receiver::setup(bits, points, channel, rng)? })
    }
}

impl<G: Scalars> Party<Items<'_>, Vec<u32>> for Receiver<G> {
    fn run(
        mut self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        refuse_duplicates(items)?;
        // 2.
        let points = permute(items.low_halves(), channel, rng)?;
        // 3.
        channel.phase("oprf");
        let values = self.oprf.evaluate(&points, channel)?;
        // 4.
        channel.phase("compare");
        let tags = Tags::new(self.setting);
        let mine = values.iter().enumerate().map(|(i, value)| tags.tagged(*value, i)).collect();
        let sender = self.setting.sizes.sender;
        tags.recv_matches(TAGS, sender, mine, items, channel)
    }
}
