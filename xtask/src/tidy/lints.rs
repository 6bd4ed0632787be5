//! Lints, and the two places where `unsafe` is allowed.

use super::{
    Finding, code,
    manifest::{Entry, entries},
};
use crate::repository::Tree;

/// The workspace's own manifest.
const ROOT: &str = "Cargo.toml";

/// The crates with their own lints, which deny `unsafe` unless it is expressly allowed, and the place in each where it
/// is allowed: kernels for a processor's instructions, and the capsules in which Python passes tables.
pub(super) const FENCES: [(&str, &str); 2] =
    [("primitives", "crates/primitives/src/arch/"), ("python", "bindings/python/src/capsule.rs")];

/// Every crate takes the workspace's lints, which forbid `unsafe`.
pub(super) fn crates_inherit_lints(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut demand = |path: &str, text: &str, section: &str, key: &str, value: &str| {
        let meant = |e: &Entry<'_>| e.section == section && e.key == key && e.value == value;
        if !entries(text).iter().any(meant) {
            let what = format!("[{section}] must have `{key} = {value}`");
            findings.push(Finding::new(path, 0, what));
        }
    };
    let root = tree.text(ROOT).unwrap_or_default();
    demand(ROOT, root, "workspace.lints.rust", "unsafe_code", "\"forbid\"");
    for (name, path, text) in tree.manifests() {
        if FENCES.iter().any(|(fenced, _)| *fenced == name) {
            demand(path, text, "lints.rust", "unsafe_code", "\"deny\"");
        } else {
            demand(path, text, "lints", "workspace", "true");
        }
    }
    findings
}

/// No `unsafe` outside of these places.
pub(super) fn unsafe_stays_in_its_place(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        if FENCES.iter().any(|(_, place)| path.starts_with(place)) {
            continue;
        }
        for (line, code) in (1..).zip(code::without_words(text).lines()) {
            if code::words(code).any(|(word, _)| word == "unsafe") {
                let places = FENCES.map(|(_, place)| place).join(" and ");
                let what = format!("`unsafe` may stand only in {places}");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    const FORBID: &str = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n";

    #[test]
    fn a_crate_with_lints_of_its_own_is_found() {
        let good = [
            ("Cargo.toml", FORBID),
            ("crates/ot/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/primitives/Cargo.toml", "[lints.rust]\nunsafe_code = \"deny\"\n"),
        ];
        assert!(says(crates_inherit_lints, good).is_empty());
        let bad = [
            ("Cargo.toml", "[workspace.lints.rust]\nunsafe_code = \"warn\"\n"),
            ("crates/ot/Cargo.toml", "[lints.rust]\nunsafe_code = \"deny\"\n"),
            ("crates/primitives/Cargo.toml", "[lints.rust]\nunsafe_code = \"warn\"\n"),
            ("xtask/Cargo.toml", "[dependencies]\n"),
        ];
        assert_eq!(
            says(crates_inherit_lints, bad),
            [
                "Cargo.toml: [workspace.lints.rust] must have `unsafe_code = \"forbid\"`",
                "crates/ot/Cargo.toml: [lints] must have `workspace = true`",
                "crates/primitives/Cargo.toml: [lints.rust] must have `unsafe_code = \"deny\"`",
                "xtask/Cargo.toml: [lints] must have `workspace = true`",
            ]
        );
    }

    #[test]
    fn unsafe_outside_the_fence_is_found() {
        let code = "//! Never unsafe.\n#![deny(unsafe_code)]\nfn f() { unsafe { g() } }\n";
        assert!(
            says(unsafe_stays_in_its_place, [("crates/primitives/src/arch/x.rs", code)]).is_empty()
        );
        for path in ["crates/primitives/src/aes.rs", "crates/ot/src/arch/x.rs", "xtask/src/main.rs"]
        {
            let said = says(unsafe_stays_in_its_place, [(path, code)]);
            let places = "crates/primitives/src/arch/ and bindings/python/src/capsule.rs";
            let wanted = format!("{path}:3: `unsafe` may stand only in {places}");
            assert_eq!(said, [wanted]);
        }
    }
}
