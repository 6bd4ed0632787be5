//! Every test runs somewhere.

use super::Finding;
use crate::{repository::Tree, tiers};

/// How a manifest keeps a target's tests from running.
const SWITCHES: [&str; 4] = ["autotests", "required-features", "test", "doctest"];

/// Packages for other languages, whose tests are in these languages: cargo cannot run theirs.
const BINDINGS: &str = "bindings/";

/// No test is ignored without a word on who runs it, and no manifest switches tests off, but for bindings, which have none
/// in Rust.
pub(super) fn every_test_is_in_a_tier(tree: &Tree) -> Vec<Finding> {
    let ignored = tiers::ignored(tree).filter_map(|test| {
        let fault = test.fault(tree)?;
        Some(Finding::new(test.path, test.line, fault))
    });
    let lost =
        tree.sources().filter(|(path, _)| path.starts_with(BINDINGS)).flat_map(|(path, text)| {
            (1..).zip(text.lines()).filter_map(move |(line, text)| {
                let what = "cargo runs no tests of bindings: write it in their language";
                text.contains("#[test]").then(|| Finding::new(path, line, what))
            })
        });
    let manifests = tree.manifests().filter(|(_, path, _)| !path.starts_with(BINDINGS));
    let switches = manifests.flat_map(|(_, path, text)| {
        (1..).zip(text.lines()).filter_map(move |(line, text)| {
            let (key, _) = text.split_once('=')?;
            let what = format!("`{}` keeps tests from running", key.trim());
            SWITCHES.contains(&key.trim()).then(|| Finding::new(path, line, what))
        })
    });
    ignored.chain(lost).chain(switches).collect()
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
        let of_bindings = |text| says(every_test_is_in_a_tier, [("bindings/x/Cargo.toml", text)]);
        assert!(of_bindings("[lib]\ntest = false\n").is_empty());
        let test = format!("#[te{}st]\nfn lost() {{}}\n", "");
        let said = says(every_test_is_in_a_tier, [("bindings/x/src/lib.rs", &test)]);
        assert!(said[0].contains("write it in their language"), "{said:?}");
    }
}
