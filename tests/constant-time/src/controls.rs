//! Code that leaks on purpose: a harness that does not report it reports nothing.

use std::hint::black_box;

use rand::Rng;
use vesica_primitives::Block;

use crate::marks::{SecretRng, secret};

/// Branches on a secret bit.
#[inline(never)]
pub fn branch() {
    let bit = SecretRng::new(1).next_u32() & 1;
    if black_box(bit) == 1 {
        black_box(leaked());
    }
}

/// Not inlined, or the compiler could select instead of branching.
#[inline(never)]
fn leaked() -> u32 {
    black_box(7)
}

/// Reads a table at a secret place.
#[inline(never)]
pub fn address() {
    let table = black_box([1u8; 256]);
    let mut place = [3u8];
    secret(&mut place);
    black_box(table[usize::from(place[0])]);
}

/// Compares two secret blocks as slices are compared, which ends at the first difference.
#[inline(never)]
pub fn comparison() {
    let mut rng = SecretRng::new(2);
    let pair = black_box([Block::random(&mut rng), Block::random(&mut rng)]);
    if pair[0] == pair[1] {
        black_box(leaked());
    }
}
