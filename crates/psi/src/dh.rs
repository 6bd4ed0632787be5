//! PSI from Diffie–Hellman: Meadows (S&P 1986), Huberman, Franklin and Hogg (EC 1999). Semi-honest.
//!
//! Two variants over a group of prime order, with H a hash to the group (constant time) and secret
//! exponents α of S and β of R, fresh for each run:
//!
//! 1. R → S: {β·H(x)} in the order of R's items.
//! 2. S → R: {α·β·H(x)}, the same list in the same order.
//! 3. `dh` (unblinding): S → R: the sorted list of tags {H'(α·H(y))}. R multiplies the returned list
//!    by 1/β and outputs the x whose tag is on the list.
//!    `dh-classic`: S → R: {α·H(y)} as whole points, sorted. R multiplies them by β and outputs the
//!    x whose returned point is among them.
//!
//! `dh-ffc` is `dh` in the group of a finite field, where elements are twelve times as long. There β is a
//! short exponent, and 1/β, the only one that is not, costs eleven times as much.
//!
//! R learns the intersection and the size of S's set, S the size of R's set. A point is decoded
//! strictly, and 0 and the identity are refused. Semi-honest only: nothing forces S to use one α.
//! Points travel in chunks, so that both parties work at once and a peer that fell silent is noticed.

use std::marker::PhantomData;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{
    Block,
    group::{Ffdhe3072, Group, Ristretto},
    hash::truncate,
};
use zeroize::Zeroizing;

use crate::{
    Adversary, Cost, Digest, Items, Learns, List, Protocol, Result, Setting, Sizes, Status,
    tags::{Tags, refuse_duplicates},
};

/// The entry of the variant with unblinding.
pub static UNBLINDING: Protocol = Protocol {
    key: "dh",
    title: "Diffie–Hellman over ristretto255, short tags",
    citation: "Huberman, Franklin, Hogg (EC 1999)",
    status: Status::Recommended,
    adversary: Adversary::SemiHonest,
    learns: Learns::INTERSECTION,
    digest: Digest::Short,
    filters: true,
    list: List::Sorted,
    cost: |setting| {
        let sizes = setting.sizes;
        cost::<Ristretto>(sizes, Tags::new(setting).list_len(sizes.sender))
    },
    sender: |setting, _, _| Ok(Party::<Ristretto>::boxed(setting, Variant::Unblinding)),
    receiver: |setting, _, _| Ok(Party::<Ristretto>::boxed(setting, Variant::Unblinding)),
};

/// The entry of the variant with whole points.
pub static CLASSIC: Protocol = Protocol {
    key: "dh-classic",
    title: "Diffie–Hellman over ristretto255, whole points",
    citation: "Meadows (S&P 1986); Huberman, Franklin, Hogg (EC 1999)",
    status: Status::Sound,
    adversary: Adversary::SemiHonest,
    learns: Learns::INTERSECTION,
    digest: Digest::Short,
    filters: false,
    list: List::Sorted,
    cost: |Setting { sizes, .. }| {
        cost::<Ristretto>(sizes, sizes.sender * size_of::<<Ristretto as Group>::Encoded>())
    },
    sender: |setting, _, _| Ok(Party::<Ristretto>::boxed(setting, Variant::Classic)),
    receiver: |setting, _, _| Ok(Party::<Ristretto>::boxed(setting, Variant::Classic)),
};

/// The entry of the variant with unblinding over a finite field.
pub static FINITE_FIELD: Protocol = Protocol {
    key: "dh-ffc",
    title: "Diffie–Hellman over ffdhe3072, short tags",
    status: Status::Sound,
    cost: |setting| {
        let sizes = setting.sizes;
        cost::<Ffdhe3072>(sizes, Tags::new(setting).list_len(sizes.sender))
    },
    sender: |setting, _, _| Ok(Party::<Ffdhe3072>::boxed(setting, Variant::Unblinding)),
    receiver: |setting, _, _| Ok(Party::<Ffdhe3072>::boxed(setting, Variant::Unblinding)),
    ..UNBLINDING
};

const BLINDED: &str = "dh/blinded";
const RETURNED: &str = "dh/returned";
const TAGS: &str = "dh/tags";
const POINTS: &str = "dh/points";

/// Bytes of points in one message: while both parties send one, neither waits for the other to read.
const CHUNK_BYTES: usize = 1 << 15;

/// Points in one message.
pub(crate) const fn chunk<G: Group>() -> usize {
    CHUNK_BYTES / size_of::<G::Encoded>()
}

/// Points whose products are made without telling the peer that this party is still there.
pub(crate) const fn round<G: Group>() -> usize {
    chunk::<G>() / 4
}

/// Points that one thread takes at a time.
const fn task<G: Group>() -> usize {
    chunk::<G>() / 16
}

fn cost<G: Group>(sizes: Sizes, last_message: usize) -> Cost {
    let points = (sizes.receiver * size_of::<G::Encoded>()) as f64;
    Cost { bytes_to_sender: points, bytes_to_receiver: points + last_message as f64, rounds: 3 }
}

#[derive(Debug, Clone, Copy)]
enum Variant {
    Unblinding,
    Classic,
}

/// Either party: neither has anything to prepare.
struct Party<G> {
    setting: Setting,
    variant: Variant,
    group: PhantomData<G>,
}

impl<G: Group> Party<G> {
    fn boxed(setting: Setting, variant: Variant) -> Box<Self> {
        Box::new(Self { setting, variant, group: PhantomData })
    }
}

impl<G: Group> crate::Sender for Party<G> {
    fn send(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        let alpha = Zeroizing::new(G::random_scalar(rng));
        // 2.
        channel.phase("exponentiate");
        let mut returned = 0;
        while returned < self.setting.sizes.receiver {
            let count = chunk::<G>().min(self.setting.sizes.receiver - returned);
            let points = recv_points::<G>(BLINDED, count, channel)?;
            channel.send_slice(RETURNED, &mul_all::<G>(&points, &alpha))?;
            channel.flush()?;
            returned += count;
        }
        // 3.
        channel.phase("own-items");
        let mut own = Vec::with_capacity(items.len());
        for chunk in items.heads().chunks(round::<G>()) {
            own.extend(mul_all::<G>(&hash_all::<G>(chunk), &alpha));
            channel.busy()?;
        }
        match self.variant {
            Variant::Unblinding => {
                let tags = Tags::new(self.setting);
                let list = own.iter().map(|point| tags.of(hash_point::<G>(point))).collect();
                tags.send_list(TAGS, list, items, channel)
            }
            Variant::Classic => {
                own.sort_unstable();
                for chunk in own.chunks(chunk::<G>()) {
                    channel.send_slice(POINTS, chunk)?;
                }
                Ok(())
            }
        }
    }
}

impl<G: Group> crate::Receiver for Party<G> {
    fn receive(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        refuse_duplicates(items)?;
        let beta = Zeroizing::new(G::random_scalar(rng));
        // 1. and 2.: one chunk is always under way, so that both parties work at once.
        channel.phase("exponentiate");
        let mut returned = Vec::with_capacity(items.len());
        let mut under_way = 0;
        for chunk in items.heads().chunks(chunk::<G>()) {
            channel.send_slice(BLINDED, &mul_all::<G>(&hash_all::<G>(chunk), &beta))?;
            channel.flush()?;
            if under_way > 0 {
                returned.extend(recv_points::<G>(RETURNED, under_way, channel)?);
            }
            under_way = chunk.len();
        }
        if under_way > 0 {
            returned.extend(recv_points::<G>(RETURNED, under_way, channel)?);
        }
        // 3.
        channel.phase("compare");
        let mut matches = match self.variant {
            Variant::Unblinding => self.compare_tags(items, &returned, &beta, channel)?,
            Variant::Classic => self.compare_points(&returned, &beta, channel)?,
        };
        matches.sort_unstable();
        Ok(matches)
    }
}

impl<G: Group> Party<G> {
    /// Step 3 of `dh`.
    fn compare_tags(
        &self,
        items: Items<'_>,
        returned: &[G::Element],
        beta: &G::Scalar,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        let tags = Tags::new(self.setting);
        let inverse = Zeroizing::new(G::invert(beta));
        let mut mine = Vec::with_capacity(returned.len());
        for chunk in returned.chunks(round::<G>()) {
            for point in mul_all::<G>(chunk, &inverse) {
                mine.push(tags.tagged(hash_point::<G>(&point), mine.len()));
            }
            channel.busy()?;
        }
        tags.recv_matches(TAGS, self.setting.sizes.sender, mine, items, channel)
    }

    /// Step 3 of `dh-classic`.
    fn compare_points(
        &self,
        returned: &[G::Element],
        beta: &G::Scalar,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        let mut mine: Vec<(G::Encoded, u32)> =
            returned.par_iter().map(G::encode).zip(0..returned.len() as u32).collect();
        mine.sort_unstable();
        let mut matches = Vec::new();
        let mut received = 0;
        while received < self.setting.sizes.sender {
            let count = chunk::<G>().min(self.setting.sizes.sender - received);
            let points = recv_points::<G>(POINTS, count, channel)?;
            for point in mul_all::<G>(&points, beta) {
                if let Ok(found) = mine.binary_search_by_key(&point, |(mine, _)| *mine) {
                    matches.push(mine[found].1);
                }
            }
            received += count;
        }
        // A sender that follows the protocol sends no point twice.
        matches.sort_unstable();
        matches.dedup();
        Ok(matches)
    }
}

/// Receives and decodes `count` points.
pub(crate) fn recv_points<G: Group>(
    label: &'static str,
    count: usize,
    channel: &mut Channel,
) -> Result<Vec<G::Element>> {
    let mut encoded = vec![<G::Encoded as bytemuck::Zeroable>::zeroed(); count];
    channel.recv_slice(label, &mut encoded)?;
    let points: Option<Vec<_>> =
        encoded.par_iter().with_min_len(task::<G>()).map(G::decode).collect();
    Ok(points.ok_or_else(|| channel.malformed(label, "not a group element"))?)
}

/// H of each item.
pub(crate) fn hash_all<G: Group>(heads: &[Block]) -> Vec<G::Element> {
    let hash = |head: &Block| G::hash("vesica dh item v1", &head.to_bytes());
    heads.par_iter().with_min_len(task::<G>()).map(hash).collect()
}

/// The encodings of s · P for each P.
pub(crate) fn mul_all<G: Group>(points: &[G::Element], scalar: &G::Scalar) -> Vec<G::Encoded> {
    points.par_chunks(task::<G>()).flat_map_iter(|chunk| G::mul_encode_all(chunk, scalar)).collect()
}

/// H' of a point.
pub(crate) fn hash_point<G: Group>(point: &G::Encoded) -> Block {
    let mut hasher = blake3::Hasher::new_derive_key("vesica dh tag v1");
    truncate(&hasher.update(bytemuck::bytes_of(point)).finalize())
}
