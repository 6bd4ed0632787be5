//! Shared by the tests of all layers: two parties in one process, recorded and tampered connections, ideal
//! functionalities, and conformance suites that each implementation runs in one line.
//!
//! - [`assurance`] decides how many cases a test tries: a sample with every change, all of them for a release.
//! - [`two_party`] runs both parties of a protocol in two threads over any kind of link.
//! - [`pipe`] is a link in memory, with a clock that is set forward when both parties wait.
//! - [`course`] is what a bad link does to the bytes of one direction, all of it derived from a seed.
//! - [`transcript`] records what a party sends: for baselines, and to test that inputs of the same size give messages
//!   of the same lengths.
//! - [`replay`] plays to a party what it once received, so that it runs alone.
//! - [`tamper`] is a peer that changes one message without understanding it.
//! - [`adversary`] contains malicious parties that cheat at one chosen step.
//! - [`claimant`] is a peer that claims a set of any size.
//! - [`ideal`] computes the result of a protocol as a trusted party would.
//! - [`vectors`] keeps the test vectors of the specification.
//! - [`conformance`] contains the suites.
//!
//! **Must never import** the product or the command line. Only tests may depend on it, as a `dev-dependency`.
// Everything here is the body of some test: a panic is how it reports.
#![allow(clippy::unwrap_used)]

pub mod adversary;
pub mod assurance;
pub mod claimant;
pub mod conformance;
pub mod course;
pub mod frame;
pub mod ideal;
pub mod pipe;
pub mod replay;
pub mod tamper;
pub mod transcript;
pub mod two_party;
pub mod vectors;
