//! Diffie–Hellman with additive blinding and short tags. G generates the group; α is a secret exponent of S,
//! fresh for each run, and r_x one of R for each of its items:
//!
//! 1. R → S: {H(x) + r_x·G} in the order of R's items.
//! 2. S → R: {α·(H(x) + r_x·G)}, the same list in the same order, and then A = α·G.
//! 3. S → R: the sorted list of tags {H'(α·H(y))}. R subtracts r_x·A from the returned points, which leaves α·H(x), and
//!    outputs the x whose tag is on the list. For that it makes a table of multiples of −A.
//!
//! Deviation from the papers, which blind an item by an exponent, β·H(x), and unblind it by 1/β: here R's two
//! products have a fixed base, which makes them cheaper, and none has an inverse as its exponent, which is
//! never short.
//!
//! R's items are hidden from S unconditionally, each by its own uniform element (in groups with [short
//! exponents](Group::random_scalar) computationally, by one that only looks uniform). R's view is secure under the
//! decisional Diffie–Hellman assumption, as with exponents; A is part of that problem.
//!
//! Semi-honest only. R's result is right for the exponent of A, and R cannot verify that S used the same in step 2. A
//! malicious S can choose its answers according to A and a guess of x such that only the right guess gives α·H(x),
//! which multiplicative blinding does not allow: Jarecki, Krawczyk and Xu, "On the (In)Security of the Diffie–Hellman
//! Oblivious PRF with Multiplicative Blinding" (PKC 2021; they write groups multiplicatively).

use std::marker::PhantomData;

use rand::CryptoRng;
use vesica_net::Channel;
use vesica_oprf::Values;
use vesica_primitives::{
    Block,
    group::{Batch, Group},
    threads,
};
use zeroize::Zeroizing;

use super::{
    exchange_points, hash, hash_point, own_products, recv_point, return_products, round, task,
    tasks,
};
use crate::{
    Cost, Items, Result, Setting,
    parts::{
        sealed,
        tags::{Tags, refuse_duplicates},
    },
    payload::{Opened, ReceiverInput, SenderInput},
};

const KEY: &str = "dh/key";
const TAGS: &str = "dh/tags";

pub(super) fn cost<G: Group>(setting: Setting) -> Cost {
    let element = size_of::<G::Encoded>();
    let points = setting.sizes.receiver * element;
    let list = Tags::new(setting).list_len(setting.sizes.sender);
    Cost {
        bytes_to_sender: points as f64,
        bytes_to_receiver: (element + points + list) as f64,
        rounds: 3,
    }
}

/// Either party; neither needs preparation. R could draw its summands in advance, but S has more work in any case.
pub(super) struct Party<G> {
    setting: Setting,
    group: PhantomData<G>,
}

impl<G: Group> Party<G> {
    pub(super) fn boxed(setting: Setting) -> Box<Self> {
        Box::new(Self { setting, group: PhantomData })
    }
}

impl<G: Group> Party<G> {
    /// Steps 1 to 3 of S, up to its list: H' of each of its items' points.
    fn evaluate_own(
        &self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values> {
        refuse_duplicates(items)?;
        let own_factor = Zeroizing::new(G::random_scalar(rng));
        let alpha = alpha::<G>(&own_factor);
        // 2.
        channel.phase("exponentiate");
        return_products::<G>(self.setting.sizes.receiver, &alpha, channel)?;
        channel.send_slice(KEY, &[G::encode(&G::mul_generator(&alpha))])?;
        channel.flush()?;
        // 3.
        channel.phase("own-items");
        let own = own_products::<G>(items.low_halves(), &own_factor, channel)?;
        Ok(in_order(own.iter().map(hash_point::<G>).collect()))
    }
}

/// The values of items in the order of the set.
fn in_order(values: Vec<Block>) -> Values {
    Values { positions: (0..values.len() as u32).collect(), values }
}

impl<G: Group> crate::Party<Items<'_>, ()> for Party<G> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let values = self.evaluate_own(items, channel, rng)?;
        Tags::new(self.setting).send_values(TAGS, values, items, channel)
    }
}

impl<G: Group> crate::Party<SenderInput<'_>, ()> for Party<G> {
    fn run(
        self: Box<Self>,
        input: SenderInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        let values = self.evaluate_own(input.items, channel, rng)?;
        let tags = Tags::new(self.setting);
        sealed::send_values(tags, TAGS, values, input, channel)
    }
}

/// α, computed from the factor by which S multiplies its own items. The latter includes the square of the
/// group's factor, because R encodes multiples by the factor in steps 1 and 3.
fn alpha<G: Group>(own_factor: &G::Scalar) -> Zeroizing<G::Scalar> {
    Zeroizing::new(G::divide(&Zeroizing::new(G::divide(own_factor))))
}

impl<G: Group> Party<G> {
    /// Steps 1 to 3 of R, up to S's list: H' of each of its items' points.
    fn evaluate_blinded(
        &self,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Values> {
        refuse_duplicates(items)?;
        let low_halves = items.low_halves();
        let mut summands = Zeroizing::new(Vec::with_capacity(low_halves.len()));
        // 1. and 2.
        channel.phase("exponentiate");
        let blind = |low_halves: &[Block]| {
            let start = summands.len();
            summands.extend(low_halves.iter().map(|_| G::random_scalar(rng)));
            blind_all::<G>(low_halves, &summands[start..])
        };
        let returned = exchange_points::<G>(low_halves, blind, channel)?;
        let key = recv_point::<G>(KEY, channel)?;
        // 3.
        channel.phase("compare");
        let key = G::table(&G::negate(&key));
        let mut values = Vec::with_capacity(low_halves.len());
        let rounds = returned.chunks(tasks::<G>(round::<G>()));
        for (returned, summands) in
            rounds.zip(summands.chunks(tasks::<G>(round::<G>()) * task::<G>()))
        {
            for point in unblind_all::<G>(returned, summands, &key) {
                values.push(hash_point::<G>(&point));
            }
            channel.keep_alive()?;
        }
        Ok(in_order(values))
    }
}

impl<G: Group> crate::Party<Items<'_>, Vec<u32>> for Party<G> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        let values = self.evaluate_blinded(items, channel, rng)?;
        let (tags, count) = (Tags::new(self.setting), self.setting.sizes.sender);
        tags.recv_values(TAGS, count, values, items, channel)
    }
}

impl<G: Group> crate::Party<ReceiverInput<'_>, Opened> for Party<G> {
    fn run(
        self: Box<Self>,
        input: ReceiverInput<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Opened> {
        let values = self.evaluate_blinded(input.items, channel, rng)?;
        let (tags, count) = (Tags::new(self.setting), self.setting.sizes.sender);
        sealed::receive_values(tags, TAGS, count, values, input, channel)
    }
}

/// The encodings of the group's factor times H(x), plus r_x·G, for each item x.
fn blind_all<G: Group>(low_halves: &[Block], summands: &[G::Scalar]) -> Vec<G::Encoded> {
    let tasks = low_halves.chunks(task::<G>()).zip(summands.chunks(task::<G>()));
    let blind_some = |(low_halves, summands): (&[Block], &[G::Scalar])| {
        let parts: Vec<_> =
            summands.iter().map(|summand| Zeroizing::new(G::divide(summand))).collect();
        let blinds = G::Batch::mul_generator(parts.iter().map(|part| &**part));
        hash::<G>(low_halves).add(&blinds).encode_multiples()
    };
    threads::map(tasks, blind_some).concat()
}

/// The encodings of the group's factor times P − r·A for each returned P, by the table of −A.
fn unblind_all<G: Group>(
    returned: &[G::Batch],
    summands: &[G::Scalar],
    key: &G::Table,
) -> Vec<G::Encoded> {
    let tasks = returned.iter().zip(summands.chunks(task::<G>()));
    let unblind_some = |(points, summands): (&G::Batch, &[G::Scalar])| {
        points.add(&G::Batch::mul_table(key, summands.iter())).encode_multiples()
    };
    threads::map(tasks, unblind_some).concat()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_primitives::group::{Ffdhe3072, Ristretto};

    use super::*;

    /// Steps 1 to 3 yield the same products as for S's own items, and no item is blinded to the same element
    /// twice.
    fn blinding_leaves_products<G: Group>() {
        let mut rng = StdRng::seed_from_u64(1);
        let own_factor = G::random_scalar(&mut rng);
        let alpha = alpha::<G>(&own_factor);
        let key = G::table(&G::negate(&G::mul_generator(&alpha)));
        let low_halves = [3, 1, 4, 1, 5].map(Block);
        let mut draw = || [(); 5].map(|()| G::random_scalar(&mut rng));
        let [summands, others] = [draw(), draw()];
        let blinded = blind_all::<G>(&low_halves, &summands);
        assert_ne!(blinded[1], blinded[3]);
        let again = blind_all::<G>(&low_halves, &others);
        assert!(blinded.iter().all(|point| !again.contains(point)));
        let returned = [G::Batch::decode(&blinded).unwrap().mul(&alpha)];
        let own = hash::<G>(&low_halves).mul(&own_factor).encode();
        assert_eq!(unblind_all::<G>(&returned, &summands, &key), own);
        assert_ne!(unblind_all::<G>(&returned, &others, &key), own);
    }

    #[test]
    fn blinding_over_ristretto() {
        blinding_leaves_products::<Ristretto>();
    }

    #[test]
    fn blinding_over_ffdhe3072() {
        blinding_leaves_products::<Ffdhe3072>();
    }
}
