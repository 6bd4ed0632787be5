//! Floors: a room may lean only on the rooms below it.
//!
//! Cargo refuses an import that a manifest does not name, so the manifests are where this is decided.

use super::{
    Finding,
    manifest::{Kind, entries},
};
use crate::repository::Tree;

/// A room, and every room of the project that it may import. ARCHITECTURE.md says why.
const FLOORS: &[(&str, &[&str])] = &[
    ("params", &[]),
    ("primitives", &[]),
    ("net", &[]),
    ("structures", &["params", "primitives"]),
    ("ot", &["params", "primitives", "net"]),
    ("oprf", &["params", "primitives", "structures", "net", "ot"]),
    ("circuit", &["params", "primitives", "structures", "net", "ot"]),
    ("psi", &["params", "primitives", "structures", "net", "ot", "oprf", "circuit"]),
    ("planner", &["net", "psi"]),
    (
        "lab",
        &["params", "primitives", "structures", "net", "ot", "oprf", "circuit", "psi", "planner"],
    ),
    (
        "vesica",
        &["params", "primitives", "structures", "net", "ot", "oprf", "circuit", "psi", "planner"],
    ),
    (
        "cli",
        &[
            "params",
            "primitives",
            "structures",
            "net",
            "ot",
            "oprf",
            "circuit",
            "psi",
            "planner",
            "lab",
            "vesica",
        ],
    ),
    ("testkit", &["params", "primitives", "structures", "net", "ot", "oprf", "circuit", "psi"]),
    ("xtask", &["params"]),
];

/// The room that only tests may use.
const TESTKIT: &str = "testkit";

/// Imports go down, and nothing that is shipped needs the test kit.
pub(super) fn imports_go_down(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (room, path, text) in tree.manifests() {
        let Some((_, below)) = FLOORS.iter().find(|(name, _)| *name == room) else {
            let what = format!("room `{room}` has no floor yet; give it one in xtask's FLOORS");
            findings.push(Finding::new(path, 0, what));
            continue;
        };
        for entry in entries(text) {
            if entry.section == "package" && entry.key == "name" {
                let name = entry.value.trim_matches('"');
                if room_of(name).unwrap_or(name) != room {
                    let what = format!("crate `{name}` does not bear the name of its folder");
                    findings.push(Finding::new(path, entry.line, what));
                }
            }
            let Some(kind) = entry.dependency() else { continue };
            let Some(needed) = room_of(entry.name()) else { continue };
            let for_tests = kind == Kind::Dev && needed == TESTKIT;
            if !for_tests && !below.contains(&needed) {
                let what = match needed {
                    TESTKIT => format!("`{room}` may use the test kit only for its tests"),
                    _ => format!("`{room}` must never import `{needed}`"),
                };
                findings.push(Finding::new(path, entry.line, what));
            }
        }
    }
    findings
}

/// The room of one of the project's crates.
fn room_of(name: &str) -> Option<&str> {
    if name == "vesica" { Some(name) } else { name.strip_prefix("vesica-") }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn the_floors_have_no_circle() {
        for (i, (_, below)) in FLOORS.iter().enumerate() {
            let earlier: Vec<_> = FLOORS[..i].iter().map(|(room, _)| *room).collect();
            assert!(below.iter().all(|room| earlier.contains(room)));
        }
    }

    #[test]
    fn an_import_may_not_go_up_or_sideways() {
        let ot = "[package]\nname = \"vesica-ot\"\n[dependencies]\nvesica-net.workspace = true\n\
                  vesica-psi.workspace = true\n[target.'cfg(unix)'.dependencies]\n\
                  vesica-structures.workspace = true\n";
        let net = "[dev-dependencies]\nvesica.workspace = true\n";
        let said =
            says(imports_go_down, [("crates/net/Cargo.toml", net), ("crates/ot/Cargo.toml", ot)]);
        assert_eq!(
            said,
            [
                "crates/net/Cargo.toml:2: `net` must never import `vesica`",
                "crates/ot/Cargo.toml:5: `ot` must never import `psi`",
                "crates/ot/Cargo.toml:7: `ot` must never import `structures`",
            ]
        );
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        let dev = "[dev-dependencies]\nvesica-testkit.workspace = true\n";
        assert!(says(imports_go_down, [("crates/psi/Cargo.toml", dev)]).is_empty());
        for table in ["[dependencies]", "[build-dependencies]"] {
            let shipped = format!("{table}\nvesica-testkit = {{ workspace = true }}\n");
            let said = says(imports_go_down, [("crates/psi/Cargo.toml", &shipped)]);
            let wanted = "crates/psi/Cargo.toml:2: `psi` may use the test kit only for its tests";
            assert_eq!(said, [wanted]);
        }
    }

    #[test]
    fn a_room_has_a_floor_and_its_own_name() {
        let said = says(imports_go_down, [("crates/attic/Cargo.toml", "")]);
        assert_eq!(
            said,
            [
                "crates/attic/Cargo.toml: room `attic` has no floor yet; give it one in xtask's FLOORS"
            ]
        );
        let said =
            says(imports_go_down, [("crates/ot/Cargo.toml", "[package]\nname = \"vesica-oto\"\n")]);
        assert_eq!(
            said,
            ["crates/ot/Cargo.toml:2: crate `vesica-oto` does not bear the name of its folder"]
        );
    }
}
