//! The construction for semi-honest parties.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::{Values, rs21::semi_honest as oprf};
use vesica_ot::{
    extension::softspoken::semi_honest as extension,
    vole::{Subspace, silent},
};
use vesica_params::{Failure, subfield};
use vesica_primitives::Block;
use vesica_structures::okvs::Codec;

use super::{About, FIELD, LIST, ShortVariant, Variant, blame_duplicates};
use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Sizes,
    parts::{sealed, session::with_ots, tags::Tags},
    payload::{CarryingReceiver, CarryingSender, Opened, ReceiverInput, SenderInput},
    setting::any_sizes,
};

/// The entry of a variant with elements of minimal length.
pub(crate) const fn short<V: ShortVariant>(about: About) -> Protocol {
    entry(
        about,
        |setting| cost::<V>(setting, V::bits(setting)),
        short_memory::<V>,
        |setting| failures::<V>(setting, V::bits(setting)),
        Parties::Carrying { lists: 1, sender: short_sender::<V>, receiver: short_receiver::<V> },
    )
}

/// The memory of a run. Elements that do not fit 64 bits take 128: in the sender's columns, in the receiver's, and in
/// the OKVS and its values.
fn short_memory<V: ShortVariant>(setting: Setting) -> Memory {
    let memory = super::memory::<V>(setting);
    if V::bits(setting) <= u64::BITS {
        return memory;
    }
    let more = (size_of::<Block>() - size_of::<u64>()) as f64;
    let columns = V::shape_for(setting).columns() as f64;
    memory.and(more * columns, more * (2.0 * columns + setting.sizes.receiver as f64))
}

fn short_sender<V: ShortVariant>(
    setting: Setting,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn CarryingSender>> {
    match V::bits(setting) {
        bits @ ..=u64::BITS => {
            Ok(Box::new(Sending::<V, u64>::prepare(setting, bits, channel, rng)?))
        }
        bits => Ok(Box::new(Sending::<V, Block>::prepare(setting, bits, channel, rng)?)),
    }
}

fn short_receiver<V: ShortVariant>(
    setting: Setting,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn CarryingReceiver>> {
    match V::bits(setting) {
        bits @ ..=u64::BITS => {
            Ok(Box::new(Receiving::<V, u64>::prepare(setting, bits, channel, rng)?))
        }
        bits => Ok(Box::new(Receiving::<V, Block>::prepare(setting, bits, channel, rng)?)),
    }
}

/// The entry of a variant with elements of GF(2^128), as in the paper.
pub(crate) const fn whole<V: Variant>(about: About) -> Protocol {
    entry(
        about,
        |setting| cost::<V>(setting, 128),
        super::memory::<V>,
        |setting| failures::<V>(setting, 128),
        Parties::Carrying {
            lists: 1,
            sender: |setting, channel, rng| {
                Ok(Box::new(Sending::<V, Block>::prepare(setting, 128, channel, rng)?))
            },
            receiver: |setting, channel, rng| {
                Ok(Box::new(Receiving::<V, Block>::prepare(setting, 128, channel, rng)?))
            },
        },
    )
}

const fn entry(
    about: About,
    cost: fn(Setting) -> Cost,
    memory: fn(Setting) -> Memory,
    failures: fn(Setting) -> Vec<Failure>,
    parties: Parties,
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
        failures,
        limits: any_sizes,
        parties,
    }
}

fn cost<V: Variant>(setting: Setting, bits: u32) -> Cost {
    let sizes = setting.sizes;
    let shape = V::shape_for(setting);
    let ot = extension::setup_bytes(FIELD);
    let vole = silent::bytes(shape.columns(), bits, V::LPN, FIELD);
    let list = Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ot.to_sender + vole.to_sender + oprf::bytes(shape, bits)) as f64,
        bytes_to_receiver: (ot.to_receiver + vole.to_receiver + list) as f64,
        rounds: if V::LPN.is_short(shape.columns()) { 4 } else { 6 },
    }
}

fn failures<V: Variant>(setting: Setting, bits: u32) -> Vec<Failure> {
    let Sizes { sender, .. } = setting.sizes;
    let entry = subfield::log2_failure(sender, bits);
    vec![
        Tags::new(setting).failure(setting.sizes),
        Failure::new("an entry of the OPRF fits another item", entry),
        V::failure(setting),
    ]
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
        let setup = |channel: &mut Channel, rng: &mut dyn CryptoRng| {
            extension::Sender::setup(FIELD, channel, rng)
        };
        let oprf = with_ots(setting.runs, channel, rng, setup, |cot, channel, rng| {
            channel.phase("vole");
            let shape = V::shape_for(setting);
            Ok(oprf::Sender::setup(shape, bits, V::LPN, cot, channel, rng)?)
        })?;
        Ok(Self { setting, oprf })
    }

    /// Step 1.
    fn evaluate(self, items: Items<'_>, channel: &mut Channel) -> Result<Values> {
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items.low_halves(), channel)?;
        channel.phase("list");
        Ok(evaluated)
    }
}

impl<V: Variant, A: Subspace> Party<Items<'_>, ()> for Sending<V, A> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let tags = Tags::new(self.setting);
        let evaluated = self.evaluate(items, channel)?;
        // 2.
        tags.send_values(LIST, evaluated, items, channel)
    }
}

impl<V: Variant, A: Subspace> Party<SenderInput<'_>, ()> for Sending<V, A> {
    fn run(
        self: Box<Self>,
        input: SenderInput<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let tags = Tags::new(self.setting);
        let evaluated = self.evaluate(input.items, channel)?;
        // 2.
        sealed::send_values(tags, LIST, evaluated, input, channel)
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
        let setup = |channel: &mut Channel, rng: &mut dyn CryptoRng| {
            extension::Receiver::setup(FIELD, channel, rng)
        };
        let oprf = with_ots(setting.runs, channel, rng, setup, |cot, channel, rng| {
            channel.phase("vole");
            let shape = V::shape_for(setting);
            Ok(oprf::Receiver::setup(shape, bits, V::LPN, cot, channel, rng)?)
        })?;
        Ok(Self { setting, oprf })
    }

    /// Step 1.
    fn evaluate(
        self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values>
    where
        V::Store: Codec<A>,
    {
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(items.low_halves(), channel, rng);
        let evaluated = evaluated.map_err(|error| blame_duplicates(error, items))?;
        channel.phase("list");
        Ok(evaluated)
    }
}

impl<V: Variant, A: Subspace> Party<Items<'_>, Vec<u32>> for Receiving<V, A>
where
    V::Store: Codec<A>,
{
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let (tags, count) = (Tags::new(self.setting), self.setting.sizes.sender);
        let evaluated = self.evaluate(items, channel, rng)?;
        // 3.
        tags.recv_values(LIST, count, evaluated, items, channel)
    }
}

impl<V: Variant, A: Subspace> Party<ReceiverInput<'_>, Opened> for Receiving<V, A>
where
    V::Store: Codec<A>,
{
    fn run(
        self: Box<Self>,
        input: ReceiverInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opened> {
        let (tags, count) = (Tags::new(self.setting), self.setting.sizes.sender);
        let evaluated = self.evaluate(input.items, channel, rng)?;
        // 3.
        sealed::receive_values(tags, LIST, count, evaluated, input, channel)
    }
}
