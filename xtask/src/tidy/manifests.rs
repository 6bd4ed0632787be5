//! Manifests: every dependency is named once, in the workspace, with its purpose.

use super::{Finding, manifest::entries};
use crate::repository::Tree;

/// The workspace's own manifest.
const ROOT: &str = "Cargo.toml";

/// Crates do not name versions themselves.
pub(super) fn dependencies_come_from_the_workspace(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, path, text) in tree.manifests() {
        for entry in entries(text) {
            if entry.dependency().is_some() && !entry.is_inherited() {
                let what = format!("write `{}.workspace = true`", entry.name());
                findings.push(Finding::new(path, entry.line, what));
            }
        }
    }
    findings
}

/// External dependencies have a comment with their purpose.
pub(super) fn dependencies_have_a_reason(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(ROOT).unwrap_or_default();
    let mut findings = Vec::new();
    for entry in entries(text) {
        if entry.section.starts_with("workspace.dependencies.") {
            let what = "write the dependency on one line, followed by a comment with its purpose";
            findings.push(Finding::new(ROOT, entry.line, what));
        }
        let external = entry.section == "workspace.dependencies"
            && !entry.key.is_empty()
            && !entry.value.contains("path =");
        if external && entry.comment.is_empty() {
            let what = format!("add a comment after `{}` with its purpose", entry.key);
            findings.push(Finding::new(ROOT, entry.line, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn a_version_in_a_crate_is_found() {
        let good =
            "[dependencies]\na.workspace = true\nb = { workspace = true, optional = true }\n";
        let check = dependencies_come_from_the_workspace;
        assert!(says(check, [("crates/ot/Cargo.toml", good)]).is_empty());
        for bad in [
            "[dependencies]\na = \"1\"\n",
            "[dependencies]\na = { version = \"1\" }\n",
            "[dependencies]\na.path = \"../a\"\n",
            "[dev-dependencies]\na.workspace = false\n",
            "[build-dependencies]\na = { workspace = false }\n",
            "[target.'cfg(unix)'.dependencies]\na.version = \"1\"\n",
        ] {
            let said = says(check, [("crates/ot/Cargo.toml", bad)]);
            assert_eq!(said, ["crates/ot/Cargo.toml:2: write `a.workspace = true`"], "{bad}");
        }
        let table = "[dependencies.a]\nversion = \"1\"\n";
        assert!(!says(check, [("xtask/Cargo.toml", table)]).is_empty());
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let good =
            "[workspace.dependencies]\nvesica = { path = \"crates/vesica\" }\na = \"1\" # b\n";
        assert!(says(dependencies_have_a_reason, [("Cargo.toml", good)]).is_empty());
        let bad = "[workspace.dependencies]\na = \"1\"\nb = { version = \"1\" } #\n";
        let said = says(dependencies_have_a_reason, [("Cargo.toml", bad)]);
        let wanted = [
            "Cargo.toml:2: add a comment after `a` with its purpose",
            "Cargo.toml:3: add a comment after `b` with its purpose",
        ];
        assert_eq!(said, wanted);
        let table = "[workspace.dependencies.a] # b\n";
        assert!(!says(dependencies_have_a_reason, [("Cargo.toml", table)]).is_empty());
    }
}
