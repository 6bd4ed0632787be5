//! Tools for the tests of all layers: two parties in one process, recorded and tampered connections, ideal
//! functionalities, and conformance suites that test an implementation in one line.
//!
//! - [`assurance`] decides how many cases a test tries: a sample with every change, and all of them for a release.
//! - [`two_party`] runs both parties of a protocol in two threads over any kind of link.
//! - [`parties`] runs three and more parties, with a link between each pair.
//! - [`pipe`] is a link in memory, whose clock advances when both parties wait.
//! - [`course`] describes a bad link in one direction, derived from a seed.
//! - [`transcript`] records the messages that a party sends, for baselines, and to test that inputs of the same size
//!   give messages of the same lengths.
//! - [`replay`] replays received bytes to a party, so that it can run without its peer.
//! - [`tamper`] is a peer that changes one message without understanding it.
//! - [`adversary`] contains malicious parties that cheat at one chosen step.
//! - [`claimant`] is a peer that claims a set of any size.
//! - [`ideal`] computes the result of a protocol like a trusted party.
//! - [`population`] makes up two tables of people, who overlap by half.
//! - [`vectors`] compares code with the test vectors of the specification.
//! - [`conformance`] contains the suites.
//!
//! **Must never import** the product or the command line. Only tests may depend on it, as a `dev-dependency`.
// All code here is called by tests, and reports failures by panics.
#![allow(clippy::unwrap_used)]

pub mod adversary;
pub mod assurance;
pub mod claimant;
pub mod conformance;
pub mod course;
pub mod frame;
pub mod ideal;
pub mod parties;
pub mod pipe;
pub mod population;
pub mod replay;
pub mod tamper;
pub mod transcript;
pub mod two_party;
pub mod vectors;
