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

use super::{About, FIELD, ShortVariant, recv_list, send_list};
use crate::{
    Adversary, Cost, Digest, Items, Learns, Protocol, Receiver, Result, Sender, Sizes, tags::Tags,
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
        cost: cost::<V>,
        sender: |sizes, channel, rng| match V::bits(sizes) {
            ..=64 => Ok(Box::new(Sending::<V, u64>::prepare(sizes, channel, rng)?)),
            _ => Ok(Box::new(Sending::<V, Block>::prepare(sizes, channel, rng)?)),
        },
        receiver: |sizes, channel, rng| match V::bits(sizes) {
            ..=64 => Ok(Box::new(Receiving::<V, u64>::prepare(sizes, channel, rng)?)),
            _ => Ok(Box::new(Receiving::<V, Block>::prepare(sizes, channel, rng)?)),
        },
    }
}

fn cost<V: ShortVariant>(sizes: Sizes) -> Cost {
    let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
    let ot = extension::setup_bytes(FIELD);
    let vole = silent::bytes(shape.columns(), bits, V::LPN, FIELD);
    let list = Tags::new(sizes).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ot.to_sender + vole.to_sender + oprf::bytes(shape, bits)) as f64,
        bytes_to_receiver: (ot.to_receiver + vole.to_receiver + list) as f64,
        rounds: 8,
    }
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V: ShortVariant, A> {
    sizes: Sizes,
    oprf: oprf::Sender<V::Store, A>,
}

impl<V: ShortVariant, A: Subspace> Sending<V, A> {
    fn prepare(sizes: Sizes, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        channel.phase("base-ot");
        let mut cot = extension::Sender::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
        let oprf = oprf::Sender::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { sizes, oprf })
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
        send_list(Tags::new(self.sizes), evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V: ShortVariant, A: Subspace> {
    sizes: Sizes,
    oprf: oprf::Receiver<V::Store, A>,
}

impl<V: ShortVariant, A: Subspace> Receiving<V, A> {
    fn prepare(sizes: Sizes, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self>
    where
        V::Store: Codec<A>,
    {
        channel.phase("base-ot");
        let mut cot = extension::Receiver::setup(FIELD, channel, rng)?;
        channel.phase("vole");
        let (shape, bits) = (V::shape(sizes.receiver), V::bits(sizes));
        let oprf = oprf::Receiver::setup(shape, bits, V::LPN, &mut cot, channel, rng)?;
        Ok(Self { sizes, oprf })
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
        let tags = Tags::new(self.sizes);
        recv_list(tags, self.sizes.sender, evaluated, items, channel)
    }
}
