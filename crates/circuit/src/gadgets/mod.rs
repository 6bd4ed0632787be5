//! Small circuits, the building blocks of everything else.
//!
//! Each is a function that adds gates to a [`Builder`](crate::Builder), for use in larger circuits, and, if
//! programs run it on its own, another that returns the whole [`Circuit`](crate::Circuit). Numbers are wires
//! from the lowest bit to the highest. Each states its cost, and tests check it.
//!
//! | gadget, on σ bits | AND gates | depth |
//! |---|---|---|
//! | [`compare::equal`] | σ − 1 | ⌈log σ⌉ |
//! | [`compare::less`], few gates | σ | σ |
//! | [`compare::less`], shallow | 3σ − ⌈log σ⌉ − 2 | ⌈log σ⌉ + 1 |
//! | [`compare::at_least`] a public number | ≤ σ − 1 | ≤ σ − 1 |
//! | [`compare::below`] a public number | ≤ 2σ − 2 | ≤ ⌈log σ⌉ |
//! | [`add::add`], without and with the carry | σ − 1, σ | the same |
//! | [`add::subtract`], [`add::negate`] | σ − 1, σ − 2 | the same |
//! | [`add::popcount`] of m bits | m − (ones of m in binary) | O(log² m) |
//! | [`laplace::add_noise`] of n digits, each from ρ bits, to σ bits | ≤ 4n(ρ − 1) + 2σ − 2 | ≤ ⌈log ρ⌉ + σ |
//! | [`select::choose`], [`select::swap`], [`select::keep`] | σ, as one vector | 1 |
//! | [`select::sort`], few gates; shallow | 2σ; 4σ − ⌈log σ⌉ − 2 | one more than comparing |

pub mod add;
pub mod compare;
pub mod laplace;
pub mod select;

pub use compare::Comparison;

use crate::Wire;

/// `count` wires from `first` on.
pub fn wires(first: usize, count: usize) -> Vec<Wire> {
    (first..first + count).map(|wire| wire as Wire).collect()
}

/// ⌈log2 n⌉, and 0 for 0.
pub fn log2(n: usize) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}
