//! Hash bins: how many there are, how many items one takes, and what is left over.
//!
//! Where a bound, or a fit with a source, differs from what a paper published, both are given: `sound` for
//! real runs, `published` to reproduce the paper.

pub mod balanced;
pub mod cuckoo;
pub mod padded;
pub mod phasing;
pub mod simple;
pub mod two_choice;

mod hall;
