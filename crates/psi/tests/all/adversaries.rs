//! docs/security/adversaries.md goes through every protocol that holds against a malicious party.

use std::collections::BTreeSet;

use vesica_psi::{Adversary, CATALOGUE};

#[test]
fn every_malicious_protocol_has_a_section() {
    let document = include_str!("../../../../docs/security/adversaries.md");
    let headings = document.lines().filter_map(|line| line.strip_prefix("## "));
    // Keys are between backticks.
    let keys = headings.flat_map(|heading| heading.split('`').skip(1).step_by(2));
    let keys: BTreeSet<&str> = keys.collect();
    let holds = |adversary| matches!(adversary, Adversary::Malicious | Adversary::MaliciousSender);
    let protocols = CATALOGUE.iter().filter(|protocol| holds(protocol.adversary));
    assert_eq!(keys, protocols.map(|protocol| protocol.key).collect());
}
