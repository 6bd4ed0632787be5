//! PSI from VOLE and OKVS: Rindal and Schoppmann (EUROCRYPT 2021) with the OKVS and the short VOLE of
//! Raghuraman and Rindal (CCS 2022). Semi-honest.
//!
//! Without input but the sizes: OT extension and a silent VOLE.
//!
//! 1. The OPRF of `vesica_oprf::rs21`: R gets F(x) for each of its items, S can compute F anywhere.
//!    R → S: the OKVS of R's items, masked by the VOLE.
//! 2. S → R: the sorted list of {F(y)}, cut to tags.
//! 3. R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set, S the size of R's set. What differs from the
//! paper, and why the entries may be as short as λ + log n_y bits, is in `docs/protocols/rr22.md`.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::rs21 as oprf;
use vesica_ot::{
    extension::softspoken::{SmallField, semi_honest},
    vole::{Subspace, silent},
};
use vesica_params::{LAMBDA, lpn, okvs, subfield};
use vesica_primitives::{Block, packed::packed_len};

use crate::{Adversary, Cost, Error, Item, Learns, Protocol, Result, Sizes, Status, tags::Tags};

/// Its entry in the catalogue.
pub static PROTOCOL: Protocol = Protocol {
    key: "rr22",
    title: "VOLE-based OPRF with a clustered OKVS",
    citation: "Raghuraman, Rindal (CCS 2022); Rindal, Schoppmann (EUROCRYPT 2021)",
    status: Status::Research,
    adversary: Adversary::weakest(&[oprf::ADVERSARY, semi_honest::ADVERSARY]),
    learns: Learns::INTERSECTION,
    cost,
    sender: |sizes, channel, rng| match subfield::bits(sizes.sender) {
        ..=64 => Ok(Box::new(Sender::<u64>::prepare(sizes, channel, rng)?)),
        _ => Ok(Box::new(Sender::<Block>::prepare(sizes, channel, rng)?)),
    },
    receiver: |sizes, channel, rng| match subfield::bits(sizes.sender) {
        ..=64 => Ok(Box::new(Receiver::<u64>::prepare(sizes, channel, rng)?)),
        _ => Ok(Box::new(Receiver::<Block>::prepare(sizes, channel, rng)?)),
    },
};

/// Keys in a cluster, about: as many as let a cluster's columns stay in the second-level cache.
const CLUSTER: usize = 1 << 15;

/// The field of the OT extension: the largest, for few OTs are needed and bytes count.
const FIELD: SmallField = SmallField::new(8);

const LIST: &str = "rr22/list";

fn shape(sizes: Sizes) -> okvs::Shape {
    okvs::shape(sizes.receiver, CLUSTER, LAMBDA)
}

fn cost(sizes: Sizes) -> Cost {
    let (shape, bits) = (shape(sizes), subfield::bits(sizes.sender));
    let (ot, vole) = (FIELD.setup_bytes(), silent::bytes(shape.columns(), bits, lpn::FAST, FIELD));
    let clusters = shape.clusters * packed_len(shape.cluster_columns(), bits);
    let list = Tags::new(sizes).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ot.to_sender + vole.to_sender + size_of::<Block>() + clusters) as f64,
        bytes_to_receiver: (ot.to_receiver + vole.to_receiver + list) as f64,
        rounds: 8,
    }
}

/// The party that can evaluate the OPRF everywhere.
struct Sender<A> {
    sizes: Sizes,
    oprf: oprf::Sender<A>,
}

impl<A: Subspace> Sender<A> {
    fn prepare(sizes: Sizes, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let mut cot = semi_honest::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let bits = subfield::bits(sizes.sender);
        let oprf = oprf::Sender::setup(shape(sizes), bits, lpn::FAST, &mut cot, channel, rng)?;
        Ok(Self { sizes, oprf })
    }
}

impl<A: Subspace> crate::Sender for Sender<A> {
    fn send(
        self: Box<Self>,
        items: &[Item],
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items, channel)?;
        // 2.
        channel.phase("list");
        let tags = Tags::new(self.sizes);
        let list = evaluated.values.into_iter().map(|value| tags.of(value)).collect();
        tags.send_list(LIST, list, items, channel)?;
        Ok(channel.flush()?)
    }
}

/// The party that learns the intersection.
struct Receiver<A: Subspace> {
    sizes: Sizes,
    oprf: oprf::Receiver<A>,
}

impl<A: Subspace> Receiver<A> {
    fn prepare(sizes: Sizes, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let mut cot = semi_honest::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let bits = subfield::bits(sizes.sender);
        let shape = shape(sizes);
        let oprf = oprf::Receiver::setup(shape, bits, lpn::FAST, &mut cot, channel, rng)?;
        Ok(Self { sizes, oprf })
    }
}

impl<A: Subspace> crate::Receiver for Receiver<A> {
    fn receive(
        self: Box<Self>,
        items: &[Item],
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items, channel, rng)?;
        // 3.
        channel.phase("list");
        let tags = Tags::new(self.sizes);
        let values = evaluated.values.into_iter().zip(evaluated.positions);
        let mine = values.map(|(value, position)| tags.tagged(value, position as usize)).collect();
        let mut matches = tags.recv_matches(LIST, self.sizes.sender, mine, items, channel)?;
        matches.sort_unstable();
        Ok(matches)
    }
}

impl From<vesica_oprf::Error> for Error {
    fn from(error: vesica_oprf::Error) -> Self {
        match error {
            vesica_oprf::Error::Channel(error) => error.into(),
            _ => Self::HashingFailure,
        }
    }
}
