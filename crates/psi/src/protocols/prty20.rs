//! PSI from a multi-point OPRF: Pinkas, Rosulek, Trieu and Yanai (EUROCRYPT 2020), with the OPRF of
//! `vesica_oprf::prty20`.
//!
//! Offline: base OTs.
//!
//! 1. The OPRF: R gets F(x) for each of its items, S can compute F anywhere. R → S: the rows of an OKVS of R's
//!    items, as words of an OT extension under a linear code; in the malicious form S then checks them.
//! 2. S → R: the sorted list of {F(y)}, truncated to tags, or whole in the malicious form.
//! 3. R outputs the x whose tag is on the list.
//!
//! R learns the intersection and the size of S's set; S learns the size of R's set. There are entries with
//! PaXoS, as in the paper, and with the OKVS of RR22, which has little more than half as many rows.
//! Deviations from the paper: see `docs/protocols/multi-point.md`.

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::{
    Digests,
    prty20::{self as oprf, Construction, Malicious, SemiHonest, Store},
};
use vesica_params::{
    Failure,
    okvs::{Shape, paxos, shape},
};
use vesica_structures::okvs::{paxos::Paxos, rr22::Rr22};

use crate::{
    Adversary, Cost, DigestLength, Items, Leakage, List, Memory, Parties, Party, Protocol, Result,
    Setting, Status, memory::PerItem, parts::tags::Tags, setting::any_sizes,
};

const CITATION: &str = "Pinkas, Rosulek, Trieu, Yanai (EUROCRYPT 2020)";

/// The protocol with an OKVS that is smaller and stays near the cache.
pub static CLUSTERED: Protocol = Protocol {
    key: "prty20",
    title: "OKVS in an OT extension under a linear code",
    ..entry::<Clustered>()
};

/// The protocol with the paper's own OKVS.
pub static WITH_PAXOS: Protocol = Protocol {
    key: "prty20-paxos",
    title: "PaXoS in an OT extension under a linear code",
    ..entry::<WithPaxos>()
};

/// Against malicious parties.
pub static MALICIOUS: Protocol = Protocol {
    key: "prty20-malicious",
    title: "OKVS in an OT extension under a linear code, all steps checked",
    ..entry::<Prty20Checked>()
};

/// Against malicious parties, with the paper's own OKVS.
pub static MALICIOUS_WITH_PAXOS: Protocol = Protocol {
    key: "prty20-malicious-paxos",
    title: "PaXoS in an OT extension under a linear code, all steps checked",
    ..entry::<CheckedWithPaxos>()
};

/// The components of the protocol.
trait Variant: Send + 'static {
    /// Memory for each item.
    const MEMORY: PerItem;

    /// The parties of the OPRF.
    type Construction: Construction;

    /// The OKVS.
    type Store: Store<Self::Construction>;

    /// Its shape for this many items of the receiver, such that it fails with probability at most 2^-λ.
    fn shape(items: usize, lambda: u32) -> Shape;

    /// Its shape for a run.
    fn shape_for(setting: Setting) -> Shape {
        Self::shape(setting.sizes.receiver, setting.lambda())
    }
}

struct Clustered;

/// Approximate number of keys per cluster: its rows, 64 or 80 bytes each, take some megabytes.
const CLUSTER: usize = 1 << 15;

impl Variant for Clustered {
    const MEMORY: PerItem = PerItem::new([78.0, 22.0], [118.0, 16.0]);

    type Construction = SemiHonest;

    type Store = Rr22;

    fn shape(items: usize, lambda: u32) -> Shape {
        shape(items, CLUSTER, lambda)
    }
}

struct WithPaxos;

impl Variant for WithPaxos {
    const MEMORY: PerItem = PerItem::new([78.0, 168.0], [360.0, 16.0]);

    type Construction = SemiHonest;

    type Store = Paxos;

    fn shape(items: usize, lambda: u32) -> Shape {
        paxos(items, lambda)
    }
}

struct Prty20Checked;

impl Variant for Prty20Checked {
    const MEMORY: PerItem = PerItem::new([102.0, 120.0], [270.0, 26.0]);

    type Construction = Malicious;

    type Store = Rr22;

    fn shape(items: usize, lambda: u32) -> Shape {
        Clustered::shape(items, lambda)
    }
}

struct CheckedWithPaxos;

impl Variant for CheckedWithPaxos {
    const MEMORY: PerItem = PerItem::new([102.0, 208.0], [445.0, 26.0]);

    type Construction = Malicious;

    type Store = Paxos;

    fn shape(items: usize, lambda: u32) -> Shape {
        WithPaxos::shape(items, lambda)
    }
}

/// The fields that the entries share.
const fn entry<V: Variant>() -> Protocol {
    let adversary = V::Construction::ADVERSARY;
    let is_malicious = is_malicious::<V>();
    Protocol {
        key: "",
        title: "",
        citation: CITATION,
        status: Status::Sound,
        adversary,
        learns: if is_malicious { Leakage::EXTRACTED } else { Leakage::INTERSECTION },
        digest: if is_malicious { DigestLength::Long } else { DigestLength::Short },
        filters: !is_malicious,
        list: List::Sorted,
        cost: cost::<V>,
        memory: memory::<V>,
        failures: failures::<V>,
        limits: any_sizes,
        parties: Parties::Plain {
            sender: |setting, channel, rng| {
                channel.phase("base-ot");
                let shape = V::shape_for(setting);
                let oprf = oprf::Sender::setup(shape, channel, rng)?;
                Ok(Box::new(Sending::<V> { setting, oprf }))
            },
            receiver: |setting, channel, rng| {
                channel.phase("base-ot");
                let shape = V::shape_for(setting);
                let oprf = oprf::Receiver::setup(shape, channel, rng)?;
                Ok(Box::new(Receiving::<V> { setting, oprf }))
            },
        },
    }
}

const fn is_malicious<V: Variant>() -> bool {
    matches!(V::Construction::ADVERSARY, Adversary::Malicious)
}

const LIST: &str = "prty20/list";

fn tags<V: Variant>(setting: Setting) -> Tags {
    if is_malicious::<V>() { Tags::whole() } else { Tags::new(setting) }
}

fn memory<V: Variant>(setting: Setting) -> Memory {
    Memory::linear(setting.sizes, V::MEMORY)
}

fn failures<V: Variant>(setting: Setting) -> Vec<Failure> {
    let okvs = V::shape_for(setting).log2_failure(setting.sizes.receiver);
    let tags = tags::<V>(setting).failure(setting.sizes);
    let mut failures = vec![tags, Failure::new("the OKVS has no solution", okvs)];
    failures.extend(is_malicious::<V>().then_some(oprf::WRONG_ROWS_PASS));
    failures
}

fn cost<V: Variant>(setting: Setting) -> Cost {
    let sizes = setting.sizes;
    let all = oprf::setup_bytes::<V::Construction>()
        + oprf::bytes::<V::Construction>(V::shape_for(setting));
    let list = tags::<V>(setting).list_len(sizes.sender);
    Cost {
        bytes_to_sender: all.to_sender as f64,
        bytes_to_receiver: (all.to_receiver + list) as f64,
        rounds: if is_malicious::<V>() { 10 } else { 4 },
    }
}

fn digests(items: Items<'_>) -> Digests<'_> {
    Digests { low_halves: items.low_halves(), high_halves: items.high_halves() }
}

/// The party that can evaluate the OPRF everywhere.
struct Sending<V: Variant> {
    setting: Setting,
    oprf: oprf::Sender<V::Construction>,
}

impl<V: Variant> Party<Items<'_>, ()> for Sending<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate::<V::Store>(digests(items), channel, rng)?;
        // 2.
        channel.phase("list");
        tags::<V>(self.setting).send_values(LIST, evaluated, items, channel)
    }
}

/// The party that learns the intersection.
struct Receiving<V: Variant> {
    setting: Setting,
    oprf: oprf::Receiver<V::Construction>,
}

impl<V: Variant> Party<Items<'_>, Vec<u32>> for Receiving<V> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        // 1.
        channel.phase("oprf");
        let evaluated = self.oprf.evaluate::<V::Store>(digests(items), channel, rng)?;
        // 3.
        channel.phase("list");
        let sender = self.setting.sizes.sender;
        tags::<V>(self.setting).recv_values(LIST, sender, evaluated, items, channel)
    }
}
