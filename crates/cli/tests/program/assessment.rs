//! The template for a data protection impact assessment.

use std::fs;

use crate::partners::{
    Projects,
    Side::{Accepter, Inviter},
    free_port, print_of,
};

/// Two projects with an agreement, proposed with these flags and accepted with those.
fn agreed(invite: &[&str], accept: &[&str]) -> Projects {
    let projects = Projects::new(30);
    for side in [Inviter, Accepter] {
        projects.succeeds(side, &["init"]);
    }
    let address = format!("127.0.0.1:{}", free_port());
    let table = ["invite", "acme", "--input", "customers.csv", "--key", "email"];
    let rest = ["--normalize", "email", "--address", &address, "--partner", "Club"];
    projects.succeeds(Inviter, &[&table[..], &rest, invite].concat());
    projects.send(Inviter, "acme.invite");
    let table = ["accept", "acme.invite", "--yes", "--input", "members.csv", "--key", "mail"];
    projects.succeeds(Accepter, &[&table[..], accept].concat());
    projects.send(Accepter, "acme.reply");
    projects.succeeds(Inviter, &["confirm", "acme.reply", "--yes"]);
    projects
}

const DPIA: [&str; 3] = ["preview", "acme", "--dpia"];

#[test]
fn assessment_has_the_facts_of_the_agreement() {
    let limits = ["--learns", "both", "--answer", "count", "--min-result", "20", "--max-runs", "5"];
    let projects = agreed(&limits, &[]);
    let text = projects.succeeds(Inviter, &DPIA).out;
    for part in [
        "# Data protection impact assessment: runs under the agreement `acme`",
        "## 1. The processing",
        "| Purpose | [",
        "Art. 4(7) GDPR",
        "| `email` | key, normalised as `email` | [category] |",
        "The table of this side is `customers.csv`",
        "- This side will learn how many keys the two sides share",
        "- The other side will learn how many keys the two sides share",
        "- Neither side will learn ",
        "| ledger: `vesica.ledger` |",
        "| record: `acme-{time}.record` |",
        "- At most 5 runs in all.",
        "λ = 40",
        "κ = 128",
        "secure against semi-honest parties",
        "Nothing is revealed if fewer than 20 are shared.",
        "The number of runs is limited.",
        "Guessable keys",
        "## 9. Consultation and sign-off",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!text.contains("Membership"), "a count shows no member: {text}");
    let identity = |side| projects.path(side, "vesica.identity");
    let prints = [Inviter, Accepter].map(|side| print_of(&identity(side)));
    assert!(prints.iter().all(|print| text.contains(print)), "{prints:?}: {text}");
    assert!(text.contains("Club"), "{text}");
}

#[test]
fn assessment_names_columns_that_are_sent() {
    let projects = agreed(&["--learns", "me", "--receive"], &["--send", "n"]);
    let sender = projects.succeeds(Accepter, &DPIA).out;
    assert!(sender.contains("| `n` | sent for matching rows | [category] |"), "{sender}");
    assert!(sender.contains("the values of `n`, padded to 64 bytes a row"), "{sender}");
    let receiver = projects.succeeds(Inviter, &DPIA).out;
    assert!(
        receiver.contains("| `n` of the other side | received for matching rows |"),
        "{receiver}"
    );
    assert!(receiver.contains("Membership") && sender.contains("Membership"), "{receiver}{sender}");
}

#[test]
fn assessment_needs_no_agreement_and_warns_of_insecure_protocols() {
    let projects = Projects::new(3);
    projects.succeeds(Inviter, &["init"]);
    let job = ["--identity", "vesica.identity", "--input", "customers.csv", "--key", "email"];
    let rest = ["--learns", "both", "--protocol", "naive", "--allow-research", "--dpia"];
    let text = projects.succeeds(Inviter, &[&["preview"], &job[..], &rest].concat()).out;
    for part in
        [": a planned run", "do not use it for personal data", "Digests of the keys", "`email` |"]
    {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(!fs::exists(projects.path(Inviter, "vesica.ledger")).unwrap());
}
