//! Checks that every test runs in some tier.

use super::Finding;
use crate::{repository::Tree, tiers};

/// Keys of a manifest that keep a target's tests from running.
const SWITCHES: [&str; 4] = ["autotests", "required-features", "test", "doctest"];

/// The folder of packages for other languages. Some have no tests in Rust, as their manifest says.
const BINDINGS: &str = "bindings/";

/// The line by which a manifest says so.
const NONE_IN_RUST: &str = "test = false";

/// Every ignored test says which task runs it, and no manifest disables tests, except for bindings without tests in
/// Rust.
pub(super) fn every_test_is_in_a_tier(tree: &Tree) -> Vec<Finding> {
    let ignored = tiers::ignored(tree).filter_map(|test| {
        let fault = test.fault(tree)?;
        Some(Finding::new(test.path, test.line, fault))
    });
    let has_none = |path: &str, manifest: &str| {
        path.starts_with(BINDINGS) && manifest.lines().any(|line| line == NONE_IN_RUST)
    };
    let without: Vec<_> = tree
        .manifests()
        .filter(|(_, path, text)| has_none(path, text))
        .filter_map(|(_, path, _)| path.strip_suffix("Cargo.toml"))
        .collect();
    let is_lost = |path: &str| without.iter().any(|folder| path.starts_with(folder));
    let lost = tree.sources().filter(|(path, _)| is_lost(path)).flat_map(|(path, text)| {
        (1..).zip(text.lines()).filter_map(move |(line, text)| {
            let what = "cargo does not run tests of this package: write them in its language";
            text.contains("#[test]").then(|| Finding::new(path, line, what))
        })
    });
    let manifests = tree.manifests().filter(|(_, path, text)| !has_none(path, text));
    let switches = manifests.flat_map(|(_, path, text)| {
        (1..).zip(text.lines()).filter_map(move |(line, text)| {
            let (key, _) = text.split_once('=')?;
            let what = format!("`{}` disables tests", key.trim());
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
        assert_eq!(said, ["crates/a/Cargo.toml:3: `autotests` disables tests"]);
        let of_bindings = |text| says(every_test_is_in_a_tier, [("bindings/x/Cargo.toml", text)]);
        assert!(of_bindings("[lib]\ntest = false\n").is_empty());
        let test = format!("#[te{}st]\nfn lost() {{}}\n", "");
        let source = ("bindings/x/src/lib.rs", test.as_str());
        let manifest = ("bindings/x/Cargo.toml", "[lib]\ntest = false\n");
        let said = says(every_test_is_in_a_tier, [manifest, source]);
        assert!(said[0].contains("write them in its language"), "{said:?}");
        let manifest = ("bindings/x/Cargo.toml", "[lib]\n");
        assert!(says(every_test_is_in_a_tier, [manifest, source]).is_empty());
    }
}
