//! One test program, because compiling and linking many takes as long as running them.

mod adversaries;
mod bad_elements;
mod codes;
mod conformance;
mod deviating_peer;
mod one_of_n;
mod softspoken;
mod transcripts;
