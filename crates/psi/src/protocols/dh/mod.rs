//! PSI from Diffie–Hellman: Meadows (S&P 1986), Huberman, Franklin and Hogg (EC 1999). Semi-honest.
//!
//! Two variants over a group of prime order, with H a hash to the group (constant time):
//!
//! - `dh` (`unblinding.rs`): R blinds each item with a random summand and removes it from S's answer, as Jarecki,
//!   Krawczyk and Xu (PKC 2021) describe. S sends short tags of its own items. `dh-ffc` is the same in the group of a
//!   finite field, where elements are twelve times as long and exponents short.
//! - `dh-classic` (`classic.rs`): R blinds its items with a secret exponent, as S does. S sends whole points.
//!
//! In both, R learns the intersection and the size of S's set; S learns the size of R's set. A point is decoded
//! strictly, and the identity is refused. Semi-honest only: nothing forces S to use one exponent. Points are
//! sent in chunks, so that both parties work at the same time and a silent peer is noticed.

mod classic;
mod unblinding;

use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{
    Block,
    group::{Batch, Ffdhe3072, Group, Ristretto},
    hash::truncate,
    threads,
};

use zeroize::Zeroizing;

use crate::{
    Adversary, DigestLength, Leakage, List, Memory, Parties, Protocol, Result, Setting, Status,
    memory::PerItem, parts::tags::Tags, setting::any_sizes,
};

/// The entry of the variant with random summands.
pub static UNBLINDING: Protocol = Protocol {
    key: "dh",
    title: "Diffie–Hellman over ristretto255, short tags",
    citation: "Huberman, Franklin, Hogg (EC 1999)",
    status: Status::Recommended,
    adversary: Adversary::SemiHonest,
    learns: Leakage::INTERSECTION,
    digest: DigestLength::Short,
    filters: true,
    list: List::Sorted,
    cost: unblinding::cost::<Ristretto>,
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([110.0, 40.0], [300.0, 40.0]))
    },
    failures: |setting| vec![Tags::new(setting).failure(setting.sizes)],
    limits: any_sizes,
    parties: Parties::Carrying {
        lists: 1,
        sender: |setting, _, _| Ok(unblinding::Party::<Ristretto>::boxed(setting)),
        receiver: |setting, _, _| Ok(unblinding::Party::<Ristretto>::boxed(setting)),
    },
};

/// The entry of the variant with random summands over a finite field.
pub static FINITE_FIELD: Protocol = Protocol {
    key: "dh-ffc",
    title: "Diffie–Hellman over ffdhe3072, short tags",
    status: Status::Sound,
    cost: unblinding::cost::<Ffdhe3072>,
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([600.0, 500.0], [1400.0, 120.0]))
    },
    parties: Parties::Carrying {
        lists: 1,
        sender: |setting, _, _| Ok(unblinding::Party::<Ffdhe3072>::boxed(setting)),
        receiver: |setting, _, _| Ok(unblinding::Party::<Ffdhe3072>::boxed(setting)),
    },
    ..UNBLINDING
};

/// The entry of the variant with whole points.
pub static CLASSIC: Protocol = Protocol {
    key: "dh-classic",
    title: "Diffie–Hellman over ristretto255, whole points",
    citation: "Meadows (S&P 1986); Huberman, Franklin, Hogg (EC 1999)",
    status: Status::Sound,
    filters: false,
    cost: |Setting { sizes, .. }| classic::cost::<Ristretto>(sizes),
    memory: |Setting { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([110.0, 40.0], [320.0, 60.0]))
    },
    // Points are compared whole, and two items have different points.
    failures: |_| Vec::new(),
    parties: Parties::Plain {
        sender: |setting, _, _| Ok(classic::Party::<Ristretto>::boxed(setting)),
        receiver: |setting, _, _| Ok(classic::Party::<Ristretto>::boxed(setting)),
    },
    ..UNBLINDING
};

const BLINDED: &str = "dh/blinded";
const RETURNED: &str = "dh/returned";

/// Bytes of points in one message: when both parties send one, neither waits for the other to read.
const CHUNK_BYTES: usize = 1 << 15;

/// Points in one message.
pub(crate) const fn chunk<G: Group>() -> usize {
    CHUNK_BYTES / size_of::<G::Encoded>()
}

/// Points whose products are computed between keep-alive messages to the peer.
pub(crate) const fn round<G: Group>() -> usize {
    chunk::<G>() / 4
}

/// Points that one thread takes at a time, as a batch; a message has whole batches, up to the last one.
const fn task<G: Group>() -> usize {
    chunk::<G>() / 16
}

/// Returns the number of batches of this many points.
const fn tasks<G: Group>(points: usize) -> usize {
    points.div_ceil(task::<G>())
}

/// R: sends its items blinded by `blind`, and returns S's answers in the same order.
fn exchange_points<G: Group>(
    low_halves: &[Block],
    mut blind: impl FnMut(&[Block]) -> Vec<G::Encoded>,
    channel: &mut Channel,
) -> Result<Vec<G::Batch>> {
    let mut returned = Vec::with_capacity(tasks::<G>(low_halves.len()));
    // One chunk is always in flight, so that both parties work at the same time.
    let mut under_way = 0;
    for chunk in low_halves.chunks(chunk::<G>()) {
        channel.send_slice(BLINDED, &blind(chunk))?;
        channel.flush()?;
        if under_way > 0 {
            returned.extend(recv_points::<G>(RETURNED, under_way, channel)?);
        }
        under_way = chunk.len();
    }
    if under_way > 0 {
        returned.extend(recv_points::<G>(RETURNED, under_way, channel)?);
    }
    Ok(returned)
}

/// S: receives R's `count` points in chunks and returns their products with `alpha`.
fn return_products<G: Group>(count: usize, alpha: &G::Scalar, channel: &mut Channel) -> Result<()> {
    let mut returned = 0;
    while returned < count {
        let now = chunk::<G>().min(count - returned);
        let points = recv_points::<G>(BLINDED, now, channel)?;
        channel.send_slice(RETURNED, &mul_all::<G>(&points, alpha))?;
        channel.flush()?;
        returned += now;
    }
    Ok(())
}

/// The products of `factor` and H of each of a party's own items.
pub(crate) fn own_products<G: Group>(
    low_halves: &[Block],
    factor: &G::Scalar,
    channel: &mut Channel,
) -> Result<Vec<G::Encoded>> {
    let mut own = Vec::with_capacity(low_halves.len());
    for low_halves in low_halves.chunks(round::<G>()) {
        own.extend(mul_all::<G>(&hash_all::<G>(low_halves), factor));
        channel.keep_alive()?;
    }
    Ok(own)
}

/// Receives and decodes `count` points, in batches.
pub(crate) fn recv_points<G: Group>(
    label: &'static str,
    count: usize,
    channel: &mut Channel,
) -> Result<Vec<G::Batch>> {
    let mut encoded = vec![<G::Encoded as bytemuck::Zeroable>::zeroed(); count];
    channel.recv_slice(label, &mut encoded)?;
    let points: Option<Vec<_>> = encoded.par_chunks(task::<G>()).map(G::Batch::decode).collect();
    Ok(points.ok_or_else(|| channel.malformed(label, NO_ELEMENT))?)
}

/// Receives and decodes a point.
fn recv_point<G: Group>(label: &'static str, channel: &mut Channel) -> Result<G::Element> {
    let mut encoded = [<G::Encoded as bytemuck::Zeroable>::zeroed()];
    channel.recv_slice(label, &mut encoded)?;
    Ok(G::decode(&encoded[0]).ok_or_else(|| channel.malformed(label, NO_ELEMENT))?)
}

const NO_ELEMENT: &str = "not a group element";

/// H of some items.
fn hash<G: Group>(low_halves: &[Block]) -> G::Batch {
    let inputs: Vec<_> = low_halves.iter().map(|low| low.to_bytes()).collect();
    G::Batch::hash("vesica dh item v1", &inputs)
}

/// H of each item, in batches.
pub(crate) fn hash_all<G: Group>(low_halves: &[Block]) -> Vec<G::Batch> {
    low_halves.par_chunks(task::<G>()).map(hash::<G>).collect()
}

/// H' of a point.
pub(crate) fn hash_point<G: Group>(point: &G::Encoded) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica dh tag v1");
    truncate(&hasher.update(bytemuck::bytes_of(point)).finalize())
}

/// The encodings of s · P for each P.
pub(crate) fn mul_all<G: Group>(points: &[G::Batch], scalar: &G::Scalar) -> Vec<G::Encoded> {
    let part = Zeroizing::new(G::divide(scalar));
    threads::map(points, |points| points.mul(&part).encode_multiples()).concat()
}
