//! The OKVS of the catalogue.

use std::marker::PhantomData;

use rand::Rng;
use vesica_params::okvs::Shape;
use vesica_primitives::Block;

use super::{Held, Plan};
use vesica_structures::okvs::{Codec, Free};

/// The plan of a store for values of 128 bits.
struct EncodedOkvs<S> {
    shape: Shape,
    free: Free,
    log2_risk: Option<f64>,
    store: PhantomData<fn() -> S>,
}

/// A store with a shape that has no encoding with probability at most 2^-strictness.
pub(super) fn encoded<S: Codec<Block> + 'static>(
    shape: Shape,
    free: Free,
    strictness: u32,
) -> Box<dyn Plan> {
    let log2_risk = Some(-f64::from(strictness));
    Box::new(EncodedOkvs::<S> { shape, free, log2_risk, store: PhantomData })
}

/// The same for a store that always has an encoding.
pub(super) fn always_encoded<S: Codec<Block> + 'static>(shape: Shape) -> Box<dyn Plan> {
    Box::new(EncodedOkvs::<S> { shape, free: Free::Zero, log2_risk: None, store: PhantomData })
}

/// The value of a key that is an item.
fn value(key: Block) -> Block {
    Block(!key.0.rotate_left(32))
}

impl<S: Codec<Block>> Plan for EncodedOkvs<S> {
    fn log2_risk(&self) -> Option<f64> {
        self.log2_risk
    }

    fn bytes(&self) -> usize {
        self.shape.columns() * size_of::<Block>()
    }

    fn build<'a>(&'a self, items: &'a [Block], rng: &mut dyn Rng) -> Option<Box<dyn Held + 'a>> {
        let store = S::new(self.shape, Block::random(rng));
        let keys = store.place(items);
        let columns = store.encode(&keys, |_, key| value(key), self.free, rng).ok()?;
        Some(Box::new(OkvsColumns { store, columns }))
    }
}

struct OkvsColumns<S> {
    store: S,
    columns: Vec<Block>,
}

impl<S: Codec<Block>> Held for OkvsColumns<S> {
    fn found(&self, values: &[Block]) -> usize {
        let keys = self.store.place(values);
        let decoded = self.store.decode(&keys, &self.columns);
        keys.all().iter().zip(decoded).filter(|(key, decoded)| value(**key) == *decoded).count()
    }
}
