//! The construction against malicious parties: malicious components throughout, digests of 256 bits, and tags
//! of κ bits.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::{Values, rs21::malicious as oprf};
use vesica_ot::{extension::softspoken::malicious as extension, vole::silent};
use vesica_params::{
    Failure,
    okvs::{Shape, shape_over_field},
};
use vesica_structures::okvs::{Field, rr22::Rr22};

use super::{About, FIELD, LIST, Variant};
use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Parties, Party, Protocol, Result, Setting,
    Sizes,
    memory::PerItem,
    parts::{sealed, session::with_ots, tags::Tags},
    payload::{CarryingReceiver, CarryingSender, Opened, ReceiverInput, SenderInput},
    setting::any_sizes,
};

/// The entry of a variant.
pub(crate) const fn protocol<V: Variant>(about: About) -> Protocol {
    Protocol {
        key: about.key,
        title: about.title,
        citation: about.citation,
        status: about.status,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, extension::ADVERSARY]),
        learns: Leakage::EXTRACTED,
        digest: DigestLength::Long,
        filters: false,
        list: List::Sorted,
        cost: cost::<V>,
        memory: super::memory::<V>,
        failures: failures::<V>,
        limits: any_sizes,
        parties: Parties::Carrying { lists: 1, sender: sender::<V>, receiver: receiver::<V> },
    }
}

fn sender<V: Variant>(
    setting: Setting,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn CarryingSender>> {
    match setting.sizes.receiver {
        ..=FEW => Ok(Box::new(Sending::<Few>::prepare(setting, channel, rng)?)),
        _ => Ok(Box::new(Sending::<V>::prepare(setting, channel, rng)?)),
    }
}

fn receiver<V: Variant>(
    setting: Setting,
    channel: &mut Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Box<dyn CarryingReceiver>> {
    match setting.sizes.receiver {
        ..=FEW => Ok(Box::new(Receiving::<Few>::prepare(setting, channel, rng)?)),
        _ => Ok(Box::new(Receiving::<V>::prepare(setting, channel, rng)?)),
    }
}

/// The maximal number of items of a receiver for which every column is dense.
pub(crate) const FEW: usize = 64;

/// An OKVS with as many columns as keys: with binary coefficients there would be 128 columns, and a deviating
/// receiver could use each of them for another item.
struct Few;

impl Variant for Few {
    const MEMORY: PerItem = PerItem::new([200.0, 200.0], [400.0, 100.0]);

    type Store = Rr22<Field>;

    fn shape(items: usize, lambda: u32) -> Shape {
        shape_over_field(items, FEW, lambda)
    }
}

fn shape<V: Variant>(setting: Setting) -> Shape {
    match setting.sizes.receiver {
        ..=FEW => Few::shape_for(setting),
        _ => V::shape_for(setting),
    }
}

fn failures<V: Variant>(setting: Setting) -> Vec<Failure> {
    let okvs = match setting.sizes.receiver {
        ..=FEW => Few::failure(setting),
        _ => V::failure(setting),
    };
    let columns = shape::<V>(setting).columns();
    let wrong = silent::malicious::log2_error(columns, V::LPN);
    let tags = Tags::whole().failure(setting.sizes);
    vec![tags, okvs, Failure::new("wrong noise passes the check", wrong)]
}

fn cost<V: Variant>(setting: Setting) -> Cost {
    let (sizes, shape) = (setting.sizes, shape::<V>(setting));
    let ot = extension::setup_bytes(FIELD);
    let vole = silent::malicious::bytes(shape.columns(), V::LPN, FIELD);
    let oprf = oprf::bytes(shape);
    let list = Tags::whole().list_len(sizes.sender);
    Cost {
        bytes_to_sender: (ot.to_sender + vole.to_sender + oprf.to_sender) as f64,
        bytes_to_receiver: (ot.to_receiver + vole.to_receiver + oprf.to_receiver + list) as f64,
        rounds: if V::LPN.is_short(shape.columns()) { 6 } else { 8 },
    }
}

fn digests(items: Items<'_>) -> oprf::Digests<'_> {
    oprf::Digests { low_halves: items.low_halves(), high_halves: items.high_halves() }
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V: Variant> {
    oprf: oprf::Sender<V::Store>,
}

impl<V: Variant> Sending<V> {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let setup = |channel: &mut Channel, rng: &mut dyn CryptoRng| {
            extension::Sender::setup(FIELD, channel, rng)
        };
        let own = oprf::Share::commit(channel, rng)?;
        let oprf = with_ots(setting.runs, channel, rng, setup, |cot, channel, rng| {
            channel.phase("vole");
            let shape = V::shape_for(setting);
            Ok(oprf::Sender::setup(own, shape, V::LPN, cot, channel, rng)?)
        })?;
        Ok(Self { oprf })
    }

    /// Step 1.
    fn evaluate(self, items: Items<'_>, channel: &mut Channel) -> Result<Values> {
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(digests(items), channel)?;
        channel.phase("list");
        Ok(evaluated)
    }
}

impl<V: Variant> Party<Items<'_>, ()> for Sending<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let evaluated = self.evaluate(items, channel)?;
        // 2.
        Tags::whole().send_values(LIST, evaluated, items, channel)
    }
}

impl<V: Variant> Party<SenderInput<'_>, ()> for Sending<V> {
    fn run(
        self: Box<Self>,
        input: SenderInput<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        let evaluated = self.evaluate(input.items, channel)?;
        // 2.
        sealed::send_values(Tags::whole(), LIST, evaluated, input, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V: Variant> {
    sizes: Sizes,
    oprf: oprf::Receiver<V::Store>,
}

impl<V: Variant> Receiving<V> {
    fn prepare(setting: Setting, channel: &mut Channel, rng: &mut dyn CryptoRng) -> Result<Self> {
        let setup = |channel: &mut Channel, rng: &mut dyn CryptoRng| {
            extension::Receiver::setup(FIELD, channel, rng)
        };
        let commitment = oprf::Commitment::receive(channel)?;
        let oprf = with_ots(setting.runs, channel, rng, setup, |cot, channel, rng| {
            channel.phase("vole");
            let shape = V::shape_for(setting);
            Ok(oprf::Receiver::setup(commitment, shape, V::LPN, cot, channel, rng)?)
        })?;
        Ok(Self { sizes: setting.sizes, oprf })
    }

    /// Step 1.
    fn evaluate(
        self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values> {
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate(digests(items), channel, rng)?;
        channel.phase("list");
        Ok(evaluated)
    }
}

impl<V: Variant> Party<Items<'_>, Vec<u32>> for Receiving<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let count = self.sizes.sender;
        let evaluated = self.evaluate(items, channel, rng)?;
        // 3.
        Tags::whole().recv_values(LIST, count, evaluated, items, channel)
    }
}

impl<V: Variant> Party<ReceiverInput<'_>, Opened> for Receiving<V> {
    fn run(
        self: Box<Self>,
        input: ReceiverInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opened> {
        let count = self.sizes.sender;
        let evaluated = self.evaluate(input.items, channel, rng)?;
        // 3.
        sealed::receive_values(Tags::whole(), LIST, count, evaluated, input, channel)
    }
}
