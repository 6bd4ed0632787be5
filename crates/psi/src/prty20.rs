//! PSI from a multi-point OPRF: Pinkas, Rosulek, Trieu and Yanai (EUROCRYPT 2020), §5, semi-honest, with
//! the OPRF of `vesica_oprf::prty20`.
//!
//! Without input but the sizes: base OTs.
//!
//! 1. The OPRF: R gets F(x) for each of its items, S can compute F anywhere. R → S: the rows of an OKVS of
//!    R's items, as words of an OT extension under a linear code.
//! 2. S → R: the sorted list of {F(y)}, cut to tags.
//! 3. R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set, S the size of R's set. There is an entry with
//! PaXoS, as in the paper, and one with the OKVS of RR22, which has little more than half as many rows.

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::prty20::{self as oprf, Store};
use vesica_params::{
    LAMBDA,
    okvs::{Shape, paxos, shape},
};
use vesica_structures::okvs::{paxos::Paxos, rr22::Rr22};

use crate::{
    Adversary, Cost, Digest, Items, Learns, List, Protocol, Receiver, Result, Sender, Setting,
    Status, tags::Tags,
};

/// With an OKVS that is smaller and stays near the cache.
pub static CLUSTERED: Protocol = Protocol {
    key: "prty20",
    title: "OKVS in an OT extension under a linear code",
    citation: "Pinkas, Rosulek, Trieu, Yanai (EUROCRYPT 2020)",
    ..entry::<Clustered>()
};

/// With the paper's own OKVS.
pub static WITH_PAXOS: Protocol = Protocol {
    key: "prty20-paxos",
    title: "PaXoS in an OT extension under a linear code",
    citation: "Pinkas, Rosulek, Trieu, Yanai (EUROCRYPT 2020)",
    ..entry::<WithPaxos>()
};

/// An OKVS for the protocol.
trait Variant: Send + 'static {
    /// The OKVS.
    type Store: Store;

    /// Its shape for as many items of the receiver.
    fn shape(items: usize) -> Shape;
}

struct Clustered;

/// Keys in a cluster, about: its rows, 64 bytes each, take some megabytes.
const CLUSTER: usize = 1 << 15;

impl Variant for Clustered {
    type Store = Rr22;

    fn shape(items: usize) -> Shape {
        shape(items, CLUSTER, LAMBDA)
    }
}

struct WithPaxos;

impl Variant for WithPaxos {
    type Store = Paxos;

    fn shape(items: usize) -> Shape {
        paxos(items, LAMBDA)
    }
}

/// What the entries have in common.
const fn entry<V: Variant>() -> Protocol {
    Protocol {
        key: "",
        title: "",
        citation: "",
        status: Status::Sound,
        adversary: Adversary::weakest(&[oprf::ADVERSARY, Adversary::SemiHonest]),
        learns: Learns::INTERSECTION,
        digest: Digest::Short,
        filters: true,
        list: List::Sorted,
        cost: cost::<V>,
        sender: |setting, channel, rng| {
            channel.phase("base-ot");
            let shape = V::shape(setting.sizes.receiver);
            let oprf = oprf::Sender::setup(shape, channel, rng)?;
            Ok(Box::new(Sending { setting, oprf, variant: PhantomData::<V> }))
        },
        receiver: |setting, channel, rng| {
            channel.phase("base-ot");
            let shape = V::shape(setting.sizes.receiver);
            let oprf = oprf::Receiver::setup(shape, channel, rng)?;
            Ok(Box::new(Receiving { setting, oprf, variant: PhantomData::<V> }))
        },
    }
}

const LIST: &str = "prty20/list";

fn cost<V: Variant>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let setup = oprf::setup_bytes();
    let list = Tags::new(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: (setup.to_sender + oprf::bytes(V::shape(sizes.receiver))) as f64,
        bytes_to_receiver: (setup.to_receiver + list) as f64,
        rounds: 4,
    }
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V> {
    setting: Setting,
    oprf: oprf::Sender,
    variant: PhantomData<V>,
}

impl<V: Variant> Sender for Sending<V> {
    fn send(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate::<V::Store>(items.heads(), channel)?;
        // 2.
        channel.phase("list");
        Tags::new(self.setting).send_values(LIST, evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V> {
    setting: Setting,
    oprf: oprf::Receiver,
    variant: PhantomData<V>,
}

impl<V: Variant> Receiver for Receiving<V> {
    fn receive(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate::<V::Store>(items.heads(), channel, rng)?;
        // 3.
        channel.phase("list");
        let sender = self.setting.sizes.sender;
        Tags::new(self.setting).recv_values(LIST, sender, evaluated, items, channel)
    }
}
