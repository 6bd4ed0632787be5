//! The hash bins of the catalogue.

use rand::Rng;
use vesica_params::{
    LAMBDA,
    bins::{balanced, cuckoo, phasing, simple, two_choice},
    tag,
};
use vesica_primitives::Block;

use super::{Held, Plan};
use Seats::{Own, Shared};
use vesica_structures::bins::{
    BinMap, Hashed, Mapped, Table,
    cuckoo::CuckooTable,
    phasing::{Phased, Phasing},
};

/// The plan of a table of bins. Each place holds a tag of an item, or the part of an item that phasing leaves.
struct Bins<M, S, const H: usize> {
    map: M,
    seating: S,
    places: usize,
    place_bits: u32,
    strictness: u32,
}

/// Simple hashing into as many bins as the other party's cuckoo table has.
pub(super) fn simple<const H: usize>(n: usize, strictness: u32) -> Box<dyn Plan> {
    let bins = cuckoo::sound::<H>(n, LAMBDA).bins;
    let capacity = simple::max_load(H * n, bins, strictness);
    of_tags::<H>(n, bins, bins * capacity, All { capacity }, strictness)
}

/// Balanced allocation into as many bins as items.
pub(super) fn balanced<const H: usize>(n: usize, strictness: u32) -> Box<dyn Plan> {
    let bins = n.max(H);
    let capacity = balanced::max_load(n, bins, H, strictness);
    of_tags::<H>(n, bins, bins * capacity, Emptiest { capacity }, strictness)
}

/// Bins of nearly equal size.
pub(super) fn two_choice(n: usize, strictness: u32) -> Box<dyn Plan> {
    let two_choice::Shape { bins, capacity } = two_choice::sound(n, strictness);
    of_tags::<2>(n, bins, bins * capacity, Either { capacity }, strictness)
}

/// At most one item per bin.
pub(super) fn cuckoo<const H: usize>(
    n: usize,
    shape: cuckoo::Shape<H>,
    strictness: u32,
) -> Box<dyn Plan> {
    let cuckoo::Shape { bins, stash } = shape;
    of_tags::<H>(n, bins, bins + stash, Alone { stash }, strictness)
}

/// The same without a stash, for the part of an item that the bin does not determine.
pub(super) fn phased<const H: usize>(n: usize, strictness: u32) -> Option<Box<dyn Plan>> {
    let places = cuckoo::sound::<H>(n, strictness).bins;
    let bits = phasing::sound_bits(u128::BITS, n, n, LAMBDA);
    let shape = phasing::Shape::modular(bits, places)?;
    let map = Cut { phasing: Phasing::<H>::new(shape, Block::ZERO), bits };
    let (seating, place_bits) = (Alone { stash: 0 }, shape.stored_bits(H));
    Some(Box::new(Bins { map, seating, places, place_bits, strictness }))
}

fn of_tags<const H: usize>(
    n: usize,
    bins: usize,
    places: usize,
    seating: impl Seat<H> + 'static,
    strictness: u32,
) -> Box<dyn Plan> {
    let (map, place_bits) = (BinMap::<H>::new(bins), tag::bits(n, n, LAMBDA));
    Box::new(Bins { map, seating, places, place_bits, strictness })
}

/// A way to assign items to bins.
trait Spread<const H: usize>: Send + Sync {
    type Hashed<'a>: Hashed<H>
    where
        Self: 'a;

    fn spread<'a>(&'a self, items: &'a [Block]) -> Option<Self::Hashed<'a>>;
}

impl<const H: usize> Spread<H> for BinMap<H> {
    type Hashed<'a> = Mapped<'a, H>;

    fn spread<'a>(&'a self, items: &'a [Block]) -> Option<Mapped<'a, H>> {
        Some(self.of(items))
    }
}

/// Phasing of the first bits of items.
struct Cut<const H: usize> {
    phasing: Phasing<H>,
    bits: u32,
}

impl<const H: usize> Spread<H> for Cut<H> {
    type Hashed<'a> = Phased<H>;

    fn spread<'a>(&'a self, items: &'a [Block]) -> Option<Phased<H>> {
        let cut: Vec<Block> =
            items.iter().map(|item| Block(item.0 >> (u128::BITS - self.bits))).collect();
        self.phasing.phase(&cut)
    }
}

/// A way to place items in their bins.
trait Seat<const H: usize>: Send + Sync {
    /// Returns the table, unless an item does not fit.
    fn seat(&self, items: &impl Hashed<H>) -> Option<Seats>;
}

/// Places each item in all of its bins.
struct All {
    capacity: usize,
}

impl<const H: usize> Seat<H> for All {
    fn seat(&self, items: &impl Hashed<H>) -> Option<Seats> {
        Some(Table::simple(items)).filter(|table| table.max_load() <= self.capacity).map(Shared)
    }
}

/// Places each item in the emptiest of its bins.
struct Emptiest {
    capacity: usize,
}

impl<const H: usize> Seat<H> for Emptiest {
    fn seat(&self, items: &impl Hashed<H>) -> Option<Seats> {
        Table::balanced(items).ok().filter(|table| table.max_load() <= self.capacity).map(Shared)
    }
}

/// Places each item in either of its two bins, such that all fit.
struct Either {
    capacity: usize,
}

impl Seat<2> for Either {
    fn seat(&self, items: &impl Hashed<2>) -> Option<Seats> {
        Table::two_choice(items, self.capacity).ok().map(Shared)
    }
}

/// Places each item by itself in one of its bins, or in the stash.
struct Alone {
    stash: usize,
}

impl<const H: usize> Seat<H> for Alone {
    fn seat(&self, items: &impl Hashed<H>) -> Option<Seats> {
        CuckooTable::of_set(items, self.stash).ok().map(Own)
    }
}

/// The positions of the items.
enum Seats {
    Shared(Table),
    Own(CuckooTable),
}

impl Seats {
    /// Returns whether a position that satisfies `is` occurs in one of the bins or in the stash.
    fn any(&self, bins: &[u32], is: impl Fn(usize) -> bool) -> bool {
        let mut bins = bins.iter().map(|bin| *bin as usize);
        match self {
            Shared(table) => bins.any(|bin| table.bin(bin).iter().any(|seat| is(seat.position()))),
            Own(table) => {
                bins.any(|bin| table.bins()[bin].is_some_and(|seat| is(seat.position())))
                    || table.stash().iter().any(|position| is(*position))
            }
        }
    }
}

impl<M: Spread<H>, S: Seat<H>, const H: usize> Plan for Bins<M, S, H> {
    fn log2_risk(&self) -> Option<f64> {
        Some(-f64::from(self.strictness))
    }

    fn bytes(&self) -> usize {
        (self.places as u128 * u128::from(self.place_bits)).div_ceil(8) as usize
    }

    fn build<'a>(&'a self, items: &'a [Block], _: &mut dyn Rng) -> Option<Box<dyn Held + 'a>> {
        let items = self.map.spread(items)?;
        let seats = self.seating.seat(&items)?;
        Some(Box::new(Seated { map: &self.map, items, seats }))
    }
}

/// A table, and the items in it.
struct Seated<'a, M: Spread<H>, const H: usize> {
    map: &'a M,
    items: M::Hashed<'a>,
    seats: Seats,
}

impl<M: Spread<H>, const H: usize> Held for Seated<'_, M, H> {
    fn found(&self, values: &[Block]) -> usize {
        let Some(values) = self.map.spread(values) else { return 0 };
        let is_item = |position: &usize| {
            let name = values.name(*position);
            self.seats.any(&values.bins(*position), |item| self.items.name(item) == name)
        };
        (0..values.count()).filter(is_item).count()
    }
}
