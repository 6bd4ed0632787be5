//! One test program, because compiling and linking many takes as long as running them.

mod conformance;
mod deviating_peer;
mod greedy_receiver;
mod opprf;
mod parties;
mod programmable;
mod psty19;
mod rs21;
mod statistics;
mod transcripts;
