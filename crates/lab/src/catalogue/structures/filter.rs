//! The filters of the catalogue.

use std::marker::PhantomData;

use rand::Rng;
use vesica_params::{
    Adversary, LAMBDA,
    filter::{BloomShape, Rate, Refused, Shape},
};
use vesica_primitives::Block;

use super::{Held, Plan};
use vesica_structures::filter::Filter;

/// The plan of a filter.
struct Filled<F: Filter> {
    shape: F::Shape,
    filter: PhantomData<fn() -> F>,
}

/// A filter whose shape has a rate of 2^-strictness, if there is one.
pub(super) fn filled<F: Filter + 'static>(
    n: usize,
    strictness: u32,
    shape: impl Fn(usize, Rate) -> Result<F::Shape, Refused>,
) -> Option<Box<dyn Plan>> {
    let rate = Rate::sound(Adversary::SemiHonest, 1, strictness).ok()?;
    let shape = shape(n, rate).ok()?;
    Some(Box::new(Filled::<F> { shape, filter: PhantomData }))
}

/// RR16's filter, whose rate is fixed. If a larger rate is requested than any protocol uses, so that false
/// positives are visible, this is an equally full filter with fewer positions per item.
pub(super) fn sparse(n: usize, rate: Rate) -> BloomShape {
    let whole = BloomShape::sparse(n);
    if rate.log2() <= -f64::from(LAMBDA) {
        return whole;
    }
    let hashes = (rate.log2() / whole.fill().log2()).ceil() as usize;
    BloomShape { hashes, bits: whole.bits * hashes / whole.hashes, ..whole }
}

impl<F: Filter> Plan for Filled<F> {
    fn log2_risk(&self) -> Option<f64> {
        Some(self.shape.log2_rate())
    }

    fn bytes(&self) -> usize {
        F::encoded_len(&self.shape)
    }

    fn build<'a>(&'a self, items: &'a [Block], _: &mut dyn Rng) -> Option<Box<dyn Held + 'a>> {
        let filter = F::build(items, self.shape).ok()?;
        let encoding = filter.encode();
        (encoding.len() == self.bytes()).then(|| Box::new(SentFilter { filter }) as _)
    }
}

struct SentFilter<F> {
    filter: F,
}

impl<F: Filter> Held for SentFilter<F> {
    fn found(&self, values: &[Block]) -> usize {
        values.iter().filter(|value| self.filter.contains(**value)).count()
    }
}
