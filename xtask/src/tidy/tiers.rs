//! Every test runs somewhere.

use super::Finding;
use crate::{repository::Tree, tiers};

/// How a manifest keeps a target's tests from running.
const SWITCHES: [&str; 4] = ["autotests", "required-features", "test", "doctest"];

/// No test is ignored without a word on who runs it, and no manifest switches tests off.
pub(super) fn every_test_is_in_a_tier(tree: &Tree) -> Vec<Finding> {
    let ignored = tiers::ignored(tree).filter_map(|test| {
        let fault = test.fault(tree)?;
        Some(Finding::new(test.path, test.line, fault))
    });
    let switches = tree.manifests().flat_map(|(_, path, text)| {
        (1..).zip(text.lines()).filter_map(move |(line, text)| {
            let (key, _) = text.split_once('=')?;
            let what = format!("`{}` keeps tests from running", key.trim());
            SWITCHES.contains(&key.trim()).then(|| Finding::new(path, line, what))
        })
    });
    ignored.chain(switches).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn a_test_that_runs_nowhere_is_found() {
        let with = |reason: &str| format!("#[test]\n#[ign{}ore{reason}]\nfn lost() {{}}\n", "");
        let good = with(" = \"assure: an hour\"");
        assert!(says(every_test_is_in_a_tier, [("crates/a/src/lib.rs", &good)]).is_empty());
        for reason in ["", " = \"slow\""] {
            let said = says(every_test_is_in_a_tier, [("crates/a/src/lib.rs", &with(reason))]);
            assert_eq!(said.len(), 1);
            assert!(
                said[0].starts_with("crates/a/src/lib.rs:2: `lost` runs in no tier"),
                "{said:?}"
            );
        }
    }

    #[test]
    fn a_manifest_that_switches_tests_off_is_found() {
        let manifest = "[package]\nname = \"a\"\nautotests = false\n";
        let said = says(every_test_is_in_a_tier, [("crates/a/Cargo.toml", manifest)]);
        assert_eq!(said, ["crates/a/Cargo.toml:3: `autotests` keeps tests from running"]);
    }
}
