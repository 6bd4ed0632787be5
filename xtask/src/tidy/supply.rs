//! The checks of the supply chain that need no other program; see `cargo xtask supply`.

use std::collections::BTreeSet;

use super::{
    Finding,
    manifest::{Entry, entries},
};
use crate::repository::Tree;

const MANIFEST: &str = "Cargo.toml";
const TOOLCHAIN: &str = "rust-toolchain.toml";
const LOCK: &str = "Cargo.lock";

/// The records of packages' versions that we audited, that others audited, or that are exempted.
const RECORDS: [&str; 3] =
    ["supply-chain/audits.toml", "supply-chain/imports.lock", "supply-chain/config.toml"];

/// The oldest Rust that manifests promise is the one that every test uses.
pub(super) fn the_oldest_rust_is_the_pinned_one(tree: &Tree) -> Vec<Finding> {
    let value = |path: &str, section: &str, key: &str| {
        let text = tree.text(path).unwrap_or_default();
        let entry = entries(text).into_iter().find(|e| e.section == section && e.key == key)?;
        Some((entry.line, entry.value.trim_matches('"')))
    };
    let pinned = value(TOOLCHAIN, "toolchain", "channel").map(|(_, channel)| channel);
    let oldest = value(MANIFEST, "workspace.package", "rust-version");
    let (line, oldest) = oldest.unwrap_or_default();
    let is_of = |channel: &str| channel == oldest || channel.starts_with(&format!("{oldest}."));
    match pinned.is_some_and(is_of) && !oldest.is_empty() {
        true => Vec::new(),
        false => {
            let what = format!("`rust-version` must equal the `channel` in {TOOLCHAIN}");
            vec![Finding::new(MANIFEST, line, what)]
        }
    }
}

/// Each package in the lock file has a record for its version. `cargo vet` checks whether the record suffices.
pub(super) fn dependencies_are_vetted(tree: &Tree) -> Vec<Finding> {
    let recorded = RECORDS.map(|path| recorded(tree, path));
    let unknown =
        |package: &Package<'_>| !recorded.iter().any(|recorded| recorded.contains(package));
    let unknown = locked(tree).into_iter().filter(unknown);
    let finding = |(name, version)| {
        let what = format!(
            "{name} {version} has no record under `supply-chain/`: see docs/developing/extending.md"
        );
        Finding::new(LOCK, 0, what)
    };
    unknown.map(finding).collect()
}

/// Describes how many packages we audited, others audited, and are exempted.
pub fn counts(tree: &Tree) -> String {
    let locked = locked(tree);
    let [ours, _, exempted] = RECORDS.map(|path| &recorded(tree, path) & &locked);
    let (all, ours, exempted) = (locked.len(), ours.len(), exempted.len());
    let others = all - ours - exempted;
    format!(
        "Of the {all} packages in `Cargo.lock`, which includes packages for tests and for other systems, {ours} were read by \
         us and {others}\nby others, and {exempted} are exempted.\n"
    )
}

/// A package and its version.
type Package<'a> = (&'a str, &'a str);

/// Returns the external packages.
fn locked(tree: &Tree) -> BTreeSet<Package<'_>> {
    let sections = tree.text(LOCK).unwrap_or_default().split("[[package]]").skip(1);
    let package = |section| {
        let entries = entries(section);
        let value =
            |key: &str| entries.iter().find(|e| e.key == key).map(|e| e.value.trim_matches('"'));
        // Crates of the workspace have no source.
        value("source").and_then(|_| Some((value("name")?, value("version")?)))
    };
    sections.filter_map(package).collect()
}

/// Returns the packages and versions in sections such as `[[audits.NAME]]`, `[[audits.WHO.audits.NAME]]` and
/// `[[exemptions.NAME]]`. A delta records its target version.
fn recorded<'a>(tree: &'a Tree, path: &str) -> BTreeSet<Package<'a>> {
    let entries = entries(tree.text(path).unwrap_or_default()).into_iter();
    let package = |entry: Entry<'a>| {
        let name = entry.section.rsplit('.').next()?.trim_matches('"');
        let value = entry.value.trim_matches('"');
        match entry.key {
            "version" => Some((name, value)),
            "delta" => Some((name, value.rsplit(' ').next()?)),
            _ => None,
        }
    };
    entries.filter_map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn an_oldest_rust_that_no_test_runs_with_is_found() {
        let check = the_oldest_rust_is_the_pinned_one;
        let manifest =
            |version: &str| format!("[workspace.package]\nrust-version = \"{version}\"\n");
        let toolchain = "[toolchain]\nchannel = \"1.95.0\"\n";
        for good in ["1.95", "1.95.0"] {
            let files = [(MANIFEST, &*manifest(good)), (TOOLCHAIN, toolchain)];
            assert!(says(check, files).is_empty(), "{good}");
        }
        for bad in ["1.9", "1.94", "1.96", "1.95.1", ""] {
            let said = says(check, [(MANIFEST, &*manifest(bad)), (TOOLCHAIN, toolchain)]);
            let wanted =
                "Cargo.toml:2: `rust-version` must equal the `channel` in rust-toolchain.toml";
            assert_eq!(said, [wanted], "{bad}");
        }
        assert_eq!(
            says(check, [(MANIFEST, "[workspace.package]\n"), (TOOLCHAIN, toolchain)]).len(),
            1
        );
        assert_eq!(says(check, [(MANIFEST, &*manifest("1.95"))]).len(), 1);
    }

    #[test]
    fn a_package_that_nobody_recorded_is_found() {
        let lock = "[[package]]\nname = \"ours\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"s\"\n";
        let check = dependencies_are_vetted;
        for (path, record) in [
            (RECORDS[0], "[[audits.a]]\nwho = \"x\"\nversion = \"1.0.0\"\n"),
            (RECORDS[1], "[[audits.them.audits.a]]\ndelta = \"0.9.0 -> 1.0.0\"\n"),
            (RECORDS[2], "[[exemptions.a]]\nversion = \"1.0.0\"\n"),
        ] {
            assert!(says(check, [(LOCK, lock), (path, record)]).is_empty(), "{record}");
            for other in [record.replace("1.0.0", "1.0.1"), record.replace("a]]", "b]]")] {
                let said = says(check, [(LOCK, lock), (path, &other)]);
                assert_eq!(said.len(), 1, "{other}");
                assert!(said[0].starts_with("Cargo.lock: a 1.0.0 has no record"), "{said:?}");
            }
        }
    }
    #[test]
    fn packages_are_counted_by_who_read_them() {
        let package = |name: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"s\"\n\n")
        };
        let lock: String = ["a", "b", "c", "d"].map(package).concat();
        let tree = Tree::from([
            (LOCK, &*lock),
            (
                RECORDS[0],
                "[[audits.a]]\nversion = \"1.0.0\"\n\n[[audits.gone]]\nversion = \"1.0.0\"\n",
            ),
            (
                RECORDS[2],
                "[[exemptions.c]]\nversion = \"1.0.0\"\n\n[[exemptions.d]]\nversion = \"1.0.0\"\n",
            ),
        ]);
        let counts = counts(&tree);
        assert!(counts.starts_with("Of the 4 packages"), "{counts}");
        assert!(
            counts.contains("1 were read by us and 1\nby others, and 2 are exempted"),
            "{counts}"
        );
    }
}
