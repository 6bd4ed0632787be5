//! Checks that nothing depends on one developer's machine, and that packages come from the usual registry.

use super::Finding;
use crate::repository::Tree;

/// Folders that exist on a developer's machine, written in two parts so that this file does not violate its own rule.
const MACHINE: [&str; 3] = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];

/// The only allowed registry, as written in a lock file.
const CRATES_IO: &str = concat!("regis", "try+https://github.com/rust-lang/crates.io-index\"");

/// Ways in which a text names or redirects a registry.
const REGISTRIES: [&str; 6] = [
    concat!("regis", "try+"),
    concat!("spar", "se+"),
    concat!("replace-", "with"),
    concat!("[regis", "tries"),
    concat!("index-", "url"),
    concat!("GOPRO", "XY="),
];

/// No absolute path that exists on only one machine.
pub(super) fn no_path_of_a_developers_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, line, text) in lines(tree) {
        for folder in MACHINE {
            // As part of a longer path or an address, it is something else.
            let stands_alone = |(at, _): (usize, &str)| {
                let before = text[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || "._-~}".contains(c))
            };
            if text.match_indices(folder).any(stands_alone) {
                let what = format!("`{folder}` exists only on one machine");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// No registry but crates.io.
pub(super) fn packages_come_from_crates_io(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, line, text) in lines(tree) {
        let named = REGISTRIES.iter().any(|registry| text.contains(registry));
        if named && !text.ends_with(CRATES_IO) {
            let what = "only crates.io may be named as a source of packages";
            findings.push(Finding::new(path, line, what));
        }
    }
    findings
}

/// Iterates over every line: its file, its number and its text.
fn lines(tree: &Tree) -> impl Iterator<Item = (&str, usize, &str)> {
    tree.files().flat_map(|(path, text)| {
        (1..).zip(text.lines()).map(move |(line, text)| (path, line, text))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn a_path_of_one_machine_is_found() {
        let good = "https://example.org/home/ docs/work/x $HOME/root/ `network/`\n";
        assert!(says(no_path_of_a_developers_machine, [("a.md", good)]).is_empty());
        for folder in MACHINE {
            for text in [format!("{folder}x"), format!("see `{folder}x`"), format!("\"{folder}x\"")]
            {
                let said = says(no_path_of_a_developers_machine, [("a.md", &text)]);
                assert_eq!(said, [format!("a.md:1: `{folder}` exists only on one machine")]);
            }
        }
    }

    #[test]
    fn another_registry_is_found() {
        let lock = format!("source = \"{CRATES_IO}\n");
        assert!(says(packages_come_from_crates_io, [("Cargo.lock", &lock)]).is_empty());
        for registry in REGISTRIES {
            let text = format!("\n{registry} https://mirror.example.org\n");
            let said = says(packages_come_from_crates_io, [("a.toml", &text)]);
            let wanted = "a.toml:2: only crates.io may be named as a source of packages";
            assert_eq!(said, [wanted], "{registry}");
        }
    }
}
