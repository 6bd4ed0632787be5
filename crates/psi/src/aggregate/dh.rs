//! The size of an intersection from Diffie–Hellman: Huberman, Franklin and Hogg (EC 1999); De Cristofaro,
//! Gasti and Tsudik (CANS 2012). Semi-honest.
//!
//! Like [`dh`](crate::protocols::dh), with secret exponents α of S and β of R, except that S returns points in
//! another order:
//!
//! 1. R → S: {β·H(x)}.
//! 2. S → R: {α·β·H(x)}, shuffled.
//! 3. S → R: the sorted list of tags {H'(α·H(y))}. R multiplies the points of step 2 by 1/β and counts how
//!    many have their tag on the list.
//!
//! R learns how many items are shared and the size of S's set; S learns the size of R's set. R compares the values of
//! its items in an order that S drew, so it sees how many match, but not which. R always sees the size, so it cannot be
//! withheld, and a minimum is not supported.

use rand::{CryptoRng, seq::SliceRandom};
use vesica_net::Channel;
use vesica_primitives::{
    Declassified,
    group::{Group as _, Ristretto},
};
use zeroize::Zeroizing;

use super::{Aggregate, Method, Output, Query, Valued};
use crate::{
    Adversary, Cost, Leakage, Memory, Result, Status,
    memory::PerItem,
    parts::tags::{Tags, refuse_duplicates},
    protocols::dh::{chunk, hash_all, hash_point, mul_all, own_products, recv_points},
};

/// Its entry among the methods.
pub static COUNT: Method = Method {
    key: "dh-count",
    title: "Diffie–Hellman over ristretto255, returned in another order",
    citation: "Huberman, Franklin, Hogg (EC 1999); De Cristofaro, Gasti, Tsudik (CANS 2012)",
    status: Status::Recommended,
    adversary: Adversary::SemiHonest,
    tells_size: false,
    adds_noise: false,
    counts_people: false,
    supports: |aggregate, minimum| aggregate == Aggregate::Count && minimum == 0,
    learns: |_| Leakage {
        receiver: "the size of the intersection and of the sender's set",
        sender: "the size of the receiver's set",
    },
    cost: |query| {
        let sizes = query.sizes;
        let points = (sizes.receiver * POINT_LEN) as f64;
        let list = Tags::new(query.setting()).list_len(sizes.sender);
        Cost { bytes_to_sender: points, bytes_to_receiver: points + list as f64, rounds: 3 }
    },
    memory: |Query { sizes, .. }| {
        Memory::linear(sizes, PerItem::new([150.0, 150.0], [280.0, 70.0]))
    },
    failures: |query| vec![Tags::new(query.setting()).failure(query.sizes)],
    sender: |query, _, _| Ok(Box::new(Party(query))),
    receiver: |query, _, _| Ok(Box::new(Party(query))),
    partitions: None,
};

const BLINDED: &str = "dh-count/blinded";
const SHUFFLED: &str = "dh-count/shuffled";
const TAGS: &str = "dh-count/tags";

const POINT_LEN: usize = size_of::<<Ristretto as vesica_primitives::group::Group>::Encoded>();

/// Either party; neither needs preparation.
struct Party(Query);

impl crate::Party<Valued<'_>, ()> for Party {
    fn run(
        self: Box<Self>,
        Valued { items, .. }: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        let Query { sizes, .. } = self.0;
        let alpha = Zeroizing::new(Ristretto::random_scalar(rng));
        // 2.
        channel.phase("exponentiate");
        let mut returned = Vec::with_capacity(sizes.receiver);
        while returned.len() < sizes.receiver {
            let count = chunk::<Ristretto>().min(sizes.receiver - returned.len());
            let points = recv_points::<Ristretto>(BLINDED, count, channel)?;
            returned.extend(mul_all::<Ristretto>(&points, &alpha));
            channel.keep_alive()?;
        }
        // Only caches can make time depend on the order.
        returned.shuffle(&mut Declassified(rng));
        for chunk in returned.chunks(chunk::<Ristretto>()) {
            channel.send_slice(SHUFFLED, chunk)?;
        }
        channel.flush()?;
        // 3.
        channel.phase("own-items");
        let own = own_products::<Ristretto>(items.low_halves(), &alpha, channel)?;
        let tags = Tags::new(self.0.setting());
        let list = own.iter().map(|point| tags.of(hash_point::<Ristretto>(point))).collect();
        tags.send_list(TAGS, list, items, channel)
    }
}

impl crate::Party<Valued<'_>, Output> for Party {
    fn run(
        self: Box<Self>,
        Valued { items, .. }: Valued<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Output> {
        refuse_duplicates(items)?;
        let Query { sizes, .. } = self.0;
        let beta = Zeroizing::new(Ristretto::random_scalar(rng));
        // 1.
        channel.phase("exponentiate");
        for chunk in items.low_halves().chunks(chunk::<Ristretto>()) {
            let blinded = mul_all::<Ristretto>(&hash_all::<Ristretto>(chunk), &beta);
            channel.send_slice(BLINDED, &blinded)?;
            channel.flush()?;
        }
        // 2.
        let mut shuffled = Vec::new();
        let mut received = 0;
        while received < items.len() {
            let count = chunk::<Ristretto>().min(items.len() - received);
            shuffled.push(recv_points::<Ristretto>(SHUFFLED, count, channel)?);
            received += count;
        }
        // 3.
        channel.phase("compare");
        let tags = Tags::new(self.0.setting());
        let inverse = Zeroizing::new(Ristretto::invert(&beta));
        let mut mine = Vec::with_capacity(items.len());
        for points in &shuffled {
            for point in mul_all::<Ristretto>(points, &inverse) {
                mine.push(tags.tagged(hash_point::<Ristretto>(&point), mine.len()));
            }
            channel.keep_alive()?;
        }
        let matches = tags.recv_matches(TAGS, sizes.sender, mine, items, channel)?;
        Ok(Output::Count(matches.len() as u64))
    }
}
