//! Hash bins: their number, their capacity, and left-over items.
//!
//! If a bound, or a fit with a source, differs from a paper's figure, both are given: `sound` for real runs,
//! `published` to reproduce the paper.

pub mod balanced;
pub mod cuckoo;
pub mod padded;
pub mod phasing;
pub mod simple;
pub mod two_choice;

mod hall;
