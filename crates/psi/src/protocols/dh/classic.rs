//! Diffie–Hellman with whole points, as in the papers. α of S and β of R are secret exponents, fresh for each
//! run:
//!
//! 1. R → S: {β·H(x)} in the order of R's items.
//! 2. S → R: {α·β·H(x)}, the same list in the same order.
//! 3. S → R: {α·H(y)} as whole points, sorted. R multiplies them by β and outputs the x whose returned point
//!    is among them.

use std::marker::PhantomData;

use rand::CryptoRng;
use rayon::prelude::*;
use vesica_net::Channel;
use vesica_primitives::{
    declassify_all,
    group::{Batch, Group},
};
use zeroize::Zeroizing;

use super::{
    chunk, exchange_points, hash_all, mul_all, own_products, recv_points, return_products,
};
use crate::{Cost, Items, Result, Setting, Sizes, parts::tags::refuse_duplicates};

const POINTS: &str = "dh/points";

pub(super) fn cost<G: Group>(sizes: Sizes) -> Cost {
    let points = |count: usize| (count * size_of::<G::Encoded>()) as f64;
    Cost {
        bytes_to_sender: points(sizes.receiver),
        bytes_to_receiver: points(sizes.receiver + sizes.sender),
        rounds: 3,
    }
}

/// Either party; neither needs preparation.
pub(super) struct Party<G> {
    sizes: Sizes,
    group: PhantomData<G>,
}

impl<G: Group> Party<G> {
    pub(super) fn boxed(setting: Setting) -> Box<Self> {
        Box::new(Self { sizes: setting.sizes, group: PhantomData })
    }
}

impl<G: Group> crate::Party<Items<'_>, ()> for Party<G> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<()> {
        refuse_duplicates(items)?;
        let alpha = Zeroizing::new(G::random_scalar(rng));
        // 2.
        channel.phase("exponentiate");
        return_products::<G>(self.sizes.receiver, &alpha, channel)?;
        // 3.
        channel.phase("own-items");
        let mut own = own_products::<G>(items.low_halves(), &alpha, channel)?;
        // It is about to be sent.
        declassify_all(&mut own);
        own.sort_unstable();
        for chunk in own.chunks(chunk::<G>()) {
            channel.send_slice(POINTS, chunk)?;
        }
        Ok(())
    }
}

impl<G: Group> crate::Party<Items<'_>, Vec<u32>> for Party<G> {
    fn run(
        self: Box<Self>,
        items: Items<'_>,
        channel: &mut Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<u32>> {
        refuse_duplicates(items)?;
        let beta = Zeroizing::new(G::random_scalar(rng));
        // 1. and 2.
        channel.phase("exponentiate");
        let blind = |low_halves: &_| mul_all::<G>(&hash_all::<G>(low_halves), &beta);
        let returned = exchange_points::<G>(items.low_halves(), blind, channel)?;
        // 3.
        channel.phase("compare");
        self.compare(&returned, &beta, channel)
    }
}

impl<G: Group> Party<G> {
    /// Step 3 of R.
    fn compare(
        &self,
        returned: &[G::Batch],
        beta: &G::Scalar,
        channel: &mut Channel,
    ) -> Result<Vec<u32>> {
        let mut encoded: Vec<_> = returned.par_iter().flat_map_iter(Batch::encode).collect();
        declassify_all(&mut encoded);
        let mut mine: Vec<(G::Encoded, u32)> = encoded.into_iter().zip(0..).collect();
        mine.sort_unstable();
        let mut matches = Vec::new();
        let mut received = 0;
        while received < self.sizes.sender {
            let count = chunk::<G>().min(self.sizes.sender - received);
            let points = recv_points::<G>(POINTS, count, channel)?;
            let mut points = mul_all::<G>(&points, beta);
            declassify_all(&mut points);
            for point in points {
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
