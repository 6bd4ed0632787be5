//! What tests of every layer share: two parties in one process, recorded and tampered wires, ideal
//! functionalities, and the conformance suites that each implementation runs in one line.
//!
//! - [`assurance`] says how much a test tries: a sample with every change, everything for a release.
//! - [`two_party`] runs both sides of a protocol in two threads over any kind of link.
//! - [`pipe`] is the link in memory, on a clock that is set forward when both parties wait.
//! - [`transcript`] records what a party sends, for baselines and for "equal lengths for different
//!   inputs of one size".
//! - [`tamper`] is a peer that deviates at one message.
//! - [`adversary`] holds peers that cheat and know what they do.
//! - [`claimant`] is a peer that claims a set of any size.
//! - [`ideal`] is what a protocol ought to compute, by a party that everybody trusts.
//! - [`conformance`] holds the suites.
//!
//! **Must never import** the product or the command line; and nothing but tests may depend on it: it
//! is a `dev-dependency` or it is a mistake.
// Everything here is the body of some test: a panic is how it reports.
#![allow(clippy::unwrap_used)]

pub mod adversary;
pub mod assurance;
pub mod claimant;
pub mod conformance;
pub mod frame;
pub mod ideal;
pub mod pipe;
pub mod tamper;
pub mod transcript;
pub mod two_party;
