//! The construction for semi-honest parties.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::rs21::semi_honest as oprf;
use vesica_ot::{
    extension::softspoken::semi_honest as extension,
    vole::{Subspace, silent},
};
use vesica_primitives::Block;
use vesica_structures::okvs::Codec;

use super::{About, FIELD, LIST, ShortVariant, Variant, blame_duplicates};
use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Prepare, Protocol, Receiver,
    Result, Sender, Setting, parts::tags::Tags, protocol::any_sizes,
};

/// The entry of a variant with elements as short as they may be.
pub(crate) const fn protocol<V: ShortVariant>(about: About) -> Protocol {
    entry(
        about,
        |setting| cost::<V>(setting, V::bits(setting.sizes)),
        super::memory::<V>,
        |setting, channel, rng| match V::bits(setting.sizes) {
            bits @ ..=64 => Ok(Box::new(Sending::<V, u64>::prepare(setting, bits, channel, rng)?)),
            bits => Ok(Box::new(Sending::<V, Block>::prepare(setting, bits, channel, rng)?)),
        },
        |setting, channel, rng| match V::bits(setting.sizes) {
            bits @ ..=64 => {
                Ok(Box::new(Receiving::<V, u64>::prepare(setting, bits, channel, rng)?))
            }
            bits => Ok(Box::new(Receiving::<V, Block>::prepare(setting, bits, channel, rng)?)),
        },
    )
}

/// The entry of a variant with elements of GF(2^128), as in the paper.
pub(crate) const fn whole<V: Variant>(about: About) -> Protocol {
    entry(
        about,
        |setting| cost::<V>(setting, 128),
        super::memory::<V>,
        |setting, channel, rng| {
            Ok(Box::new(Sending::<V, Block>::prepare(setting, 128, channel, rng)?))
        },
        |setting, channel, rng| {
            Ok(Box::new(Receiving::<V, Block>::prepare(setting, 128, channel, rng)?))
        },
    )
}

const fn entry(
    about: About,
    cost: fn(Setting) -> Cost,
    memory: fn(Setting) -> Memory,
    sender: Prepare<dyn Sender>,
    receiver: Prepare<dyn Receiver>,
) -> Protocol {
    Protocol {
        key: about.key,
        title: about.title,
        citation: about.citation,
        status: about.status,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, extension::ADVERSARY]),
        learns: Leakage::INTERSECTION,
        digest: DigestLength::Short,
        filters: true,
        list: List::Sorted,
        cost,
        memory,
        limits: any_sizes,
        sender,
        receiver,
    }
}

fn cost<V: Variant>(setting: Setting, bits: u32) -> Cost {
    let sizes = setting.sizes;
    let shape = V::shape(sizes.receiver);
    let ot = extension::setup_bytes(FIELD);
    let vole = silent::bytes(shape.columns(), bits, V::LPN, FIELD);
    let list = Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ot.to_sender + vole.to_sender + oprf::bytes(shape, bits)) as f64,
        bytes_to_receiver: (ot.to_receiver + vole.to_receiver + list) as f64,
        rounds: 8,
    }
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V: Variant, A> {
    setting: Setting,
    oprf: oprf::Sender<V::Store, A>,
}

impl<V: Variant, A: Subspace> Sending<V, A> {
    fn prepare(
        setting: Setting,
        bits: u32,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        channel.phase("base-ot");
        let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let shape = V::shape(setting.sizes.receiver);
        let oprf = oprf::Sender::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { setting, oprf })
    }
}

impl<V: Variant, A: Subspace> Sender for Sending<V, A> {
    fn send(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items.low_halves(), channel)?;
        // 2.
        channel.phase("list");
        Tags::new(self.setting).send_values(LIST, evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V: Variant, A: Subspace> {
    setting: Setting,
    oprf: oprf::Receiver<V::Store, A>,
}

impl<V: Variant, A: Subspace> Receiving<V, A> {
    fn prepare(
        setting: Setting,
        bits: u32,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self>
    where
        V::Store: Codec<A>,
    {
        channel.phase("base-ot");
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let shape = V::shape(setting.sizes.receiver);
        let oprf = oprf::Receiver::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { setting, oprf })
    }
}

impl<V: Variant, A: Subspace> Receiver for Receiving<V, A>
where
    V::Store: Codec<A>,
{
    fn receive(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items.low_halves(), channel, rng);
        let evaluated = evaluated.map_err(|error| blame_duplicates(error, items))?;
        // 3.
        channel.phase("list");
        let sender = self.setting.sizes.sender;
        Tags::new(self.setting).recv_values(LIST, sender, evaluated, items, channel)
    }
}
