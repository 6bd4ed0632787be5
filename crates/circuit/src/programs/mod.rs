//! Computations too large for one circuit: programs over any [`Engine`](crate::Engine) that run small circuits
//! in many instances and move instances around in between. All shapes and positions are public.
//!
//! | program | AND gates |
//! |---|---|
//! | [`merge`] of two sorted lists of n numbers of σ bits | n·log 2n comparators |
//! | [`duplicates`] of a sorted list of m | (2σ − 1)(m/2 − 1) + σ − 1, and σ·m/2 to keep them |
//! | [`waksman`], a secret permutation of n | σ·Σ⌈log i⌉ for i ≤ n: σ(n·log n − n + 1) for a power of two |
//! | [`sum`] of m numbers of σ bits | about m·σ; for σ = 1, m less one for each 1 of m in binary |
//! | [`scs`]: sort, compare, shuffle | σ(3n·log n + 4n) − n with small comparators |

pub mod duplicates;
mod exchange;
pub mod merge;
pub mod scs;
pub mod sum;
pub mod waksman;
