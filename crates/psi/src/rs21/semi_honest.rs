//! The machine for parties that follow the protocol.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::rs21::semi_honest as oprf;
use vesica_ot::{
    extension::softspoken::semi_honest as extension,
    vole::{Subspace, silent},
};
use vesica_primitives::Block;
use vesica_structures::okvs::Codec;

use super::{About, FIELD, LIST, ShortVariant};
use crate::{
    Adversary, Cost, Digest, Items, Learns, List, Protocol, Receiver, Result, Sender, Setting,
    tags::Tags,
};

/// The entry of a variant.
pub(crate) const fn protocol<V: ShortVariant>(about: About) -> Protocol {
    Protocol {
        key: about.key,
        title: about.title,
        citation: about.citation,
        status: about.status,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, extension::ADVERSARY]),
        learns: Learns::INTERSECTION,
        digest: Digest::Short,
        filters: true,
        list: List::Sorted,
        cost: cost::<V>,
        sender: |setting, channel, rng| match V::bits(setting.sizes) {
            ..=64 => Ok(Box::new(Sending::<V, u64>::prepare(setting, channel, rng)?)),
            _ => Ok(Box::new(Sending::<V, Block>::prepare(setting, channel, rng)?)),
        },
        receiver: |setting, channel, rng| match V::bits(setting.sizes) {
            ..=64 => Ok(Box::new(Receiving::<V, u64>::prepare(setting, channel, rng)?)),
            _ => Ok(Box::new(Receiving::<V, Block>::prepare(setting, channel, rng)?)),
        },
    }
}

fn cost<V: ShortVariant>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
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
struct Sending<V: ShortVariant, A> {
    setting: Setting,
    oprf: oprf::Sender<V::Store, A>,
}

impl<V: ShortVariant, A: Subspace> Sending<V, A> {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let sizes = setting.sizes;
        let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
        let oprf = oprf::Sender::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { setting, oprf })
    }
}

impl<V: ShortVariant, A: Subspace> Sender for Sending<V, A> {
    fn send(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items.heads(), channel)?;
        // 2.
        channel.phase("list");
        Tags::new(self.setting).send_values(LIST, evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V: ShortVariant, A: Subspace> {
    setting: Setting,
    oprf: oprf::Receiver<V::Store, A>,
}

impl<V: ShortVariant, A: Subspace> Receiving<V, A> {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self>
    where
        V::Store: Codec<A>,
    {
        channel.phase("base-ot");
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let sizes = setting.sizes;
        let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
        let oprf = oprf::Receiver::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { setting, oprf })
    }
}

impl<V: ShortVariant, A: Subspace> Receiver for Receiving<V, A>
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
        let evaluated = self.oprf.evaluate(items.heads(), channel, rng)?;
        // 3.
        channel.phase("list");
        let sender = self.setting.sizes.sender;
        Tags::new(self.setting).recv_values(LIST, sender, evaluated, items, channel)
    }
}
