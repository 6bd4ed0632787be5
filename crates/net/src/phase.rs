//! Words for the phases of a run.
//!
//! A phase has a short name, which [meters](crate::Meter) and reports use. Messages have the words of [`doing`].

/// The purposes of the steps of protocols, each with the phases that serve it.
const STEPS: [(&str, &[&str]); 3] = [
    (
        "preparing the comparison",
        &[
            "assignment",
            "base-ot",
            "cells",
            "circuit",
            "commitments",
            "cut-and-choose",
            "hash",
            "key",
            "keys",
            "ot",
            "plan",
            "roots",
            "setup",
            "sizes",
            "triples",
            "vole",
        ],
    ),
    (
        "comparing the tables",
        &[
            "compare",
            "download",
            "exponentiate",
            "filter",
            "joint",
            "list",
            "lists",
            "match",
            "online",
            "opprf",
            "oprf",
            "own-items",
            "partition",
            "receiver",
            "sender",
            "upload",
        ],
    ),
    (
        "computing the result",
        &["answer", "encrypt", "groups", "look-up", "people", "reveal", "sum", "sums", "values"],
    ),
];

/// The steps of a run around its protocol.
const AROUND: [(&str, &str); 14] = [
    ("connect", "connecting"),
    ("tls handshake", "connecting"),
    ("terms", "agreeing on terms"),
    ("agreement", "signing the agreement"),
    ("read", "reading the table"),
    ("seed", "getting ready to compare"),
    ("choice", "choosing a protocol"),
    ("partitions", "sorting keys into partitions"),
    ("finish", "writing the result"),
    ("gateway", "talking to the gateway"),
    ("here", "talking to the other side"),
    ("evaluate", "evaluating the function on new items"),
    ("fetch", "bringing the list up to date"),
    ("ask", "asking for the values of keys"),
];

/// Returns the activity in a phase, in words that follow "while", from the tables above; for a step of a protocol, the
/// phase's name follows in parentheses. A phase that has no words is the protocol of that name.
pub fn doing(phase: &str) -> String {
    if let Some((_, words)) = AROUND.iter().find(|(name, _)| *name == phase) {
        return (*words).to_owned();
    }
    let step = STEPS.iter().find(|(_, names)| names.contains(&phase));
    let words = step.map_or("comparing the tables", |(words, _)| words);
    format!("{words} ({phase})")
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The phases that the sources below a directory enter.
    fn entered(directory: &Path, phases: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                entered(&path, phases);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let after = text.split(".phase(\"").skip(1);
                phases.extend(after.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            }
        }
    }

    #[test]
    fn every_phase_that_a_crate_enters_has_words() {
        let mut phases = Vec::new();
        for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap() {
            let sources = entry.unwrap().path().join("src");
            if sources.is_dir() {
                entered(&sources, &mut phases);
            }
        }
        assert!(phases.len() > 50, "{phases:?}");
        let known = AROUND.iter().map(|(name, _)| *name);
        let known: Vec<_> =
            known.chain(STEPS.iter().flat_map(|(_, names)| *names).copied()).collect();
        for phase in phases {
            assert!(known.contains(&phase.as_str()), "{phase}");
        }
    }

    #[test]
    fn a_step_of_a_protocol_has_words_and_its_name() {
        for (phase, words) in [
            ("terms", "agreeing on terms"),
            ("vole", "preparing the comparison (vole)"),
            ("own-items", "comparing the tables (own-items)"),
            ("reveal", "computing the result (reveal)"),
            ("rr22", "comparing the tables (rr22)"),
        ] {
            assert_eq!(doing(phase), words);
        }
    }

    #[test]
    fn a_phase_has_one_place_in_the_tables() {
        let steps = STEPS.iter().flat_map(|(_, names)| names.iter().copied());
        let mut all: Vec<_> = AROUND.iter().map(|(name, _)| *name).chain(steps).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
