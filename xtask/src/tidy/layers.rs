//! Layers: a crate may import only the crates below it.
//!
//! Cargo refuses an import that a manifest does not name, so this rule checks the manifests.

use super::{
    Finding,
    manifest::{Kind, entries},
};
use crate::repository::Tree;

/// A crate of the workspace, and the crates that it may import.
struct Layer {
    name: &'static str,
    /// Its purpose.
    purpose: &'static str,
    /// The crates that it may import, which are below it.
    below: &'static [&'static str],
    /// Topics that it must not depend on.
    never: &'static str,
}

/// The crates from the bottom to the top. ARCHITECTURE.md shows this table.
const LAYERS: &[Layer] = &[
    Layer {
        name: "params",
        purpose: "all numbers on which security depends, with their bounds",
        below: &[],
        never: "anything that runs",
    },
    Layer {
        name: "primitives",
        purpose: "blocks, AES, hashes, groups, bit matrices, codes, polynomials, secrets, fingerprints, work on all threads",
        below: &[],
        never: "parties and channels",
    },
    Layer {
        name: "net",
        purpose: "connections: identities, TLS, transports, and the channel over them",
        below: &["primitives"],
        never: "the meaning of messages; cryptography other than TLS",
    },
    Layer {
        name: "structures",
        purpose: "hash bins, filters, OKVS, sorted lists: pure data",
        below: &["params", "primitives"],
        never: "a channel",
    },
    Layer {
        name: "normalize",
        purpose: "from the values of key columns to the digest of a key",
        below: &["primitives"],
        never: "tables, files, messages",
    },
    Layer {
        name: "linkage",
        purpose: "rules by which rows match although they are written differently: keys derived from fields",
        below: &["normalize"],
        never: "tables, files, messages",
    },
    Layer {
        name: "select",
        purpose: "the language of queries: a subset of SQL, declared columns, and the sums that answer a query",
        below: &[],
        never: "any other crate; how a query is answered",
    },
    Layer {
        name: "list",
        purpose: "a published set: its OPRF, its format, and both sides as pure functions of bytes",
        below: &["params", "primitives", "structures", "normalize"],
        never: "a channel, files, sockets, clocks",
    },
    Layer {
        name: "ot",
        purpose: "base OT, OT extension, the variants derived from it, VOLE",
        below: &["params", "primitives", "net"],
        never: "hash bins",
    },
    Layer {
        name: "oprf",
        purpose: "oblivious pseudo-random functions",
        below: &["params", "primitives", "structures", "net", "ot"],
        never: "protocols",
    },
    Layer {
        name: "circuit",
        purpose: "circuits of boolean gates on hidden bits: gadgets, triples, GMW, garbling",
        below: &["params", "primitives", "structures", "net", "ot"],
        never: "OPRFs, protocols",
    },
    Layer {
        name: "psi",
        purpose: "one file or folder per protocol, methods that compute numbers, and the catalogues of both",
        below: &["params", "primitives", "structures", "list", "net", "ot", "oprf", "circuit"],
        never: "files, sockets, clocks, configuration, rows",
    },
    Layer {
        name: "planner",
        purpose: "the predicted cost of each protocol, the choice among them, prices",
        below: &["net", "psi"],
        never: "measuring, running",
    },
    Layer {
        name: "core",
        purpose: "errors, refusals, the two sides of a run, its observer, the memory of the machine",
        below: &["normalize", "list", "net", "psi"],
        never: "tables, messages, the terminal",
    },
    Layer {
        name: "lab",
        purpose: "timed runs of protocols and parts over emulated links, the papers' tables, reports",
        below: &[
            "params",
            "primitives",
            "structures",
            "net",
            "ot",
            "oprf",
            "circuit",
            "psi",
            "planner",
        ],
        never: "the product, the terminal",
    },
    Layer {
        name: "table",
        purpose: "tables of every format: typed reading, results that appear only when complete",
        below: &["normalize", "net", "psi", "structures", "core"],
        never: "keys, messages, the terminal",
    },
    Layer {
        name: "keyset",
        purpose: "the distinct keys of a table, in memory or on disk, and the items that protocols compare",
        below: &[
            "select",
            "params",
            "primitives",
            "normalize",
            "linkage",
            "net",
            "psi",
            "core",
            "table",
        ],
        never: "agreements, tasks, runs",
    },
    Layer {
        name: "list-store",
        purpose: "published lists: publishing, fetching and querying them, from a directory or over HTTP",
        below: &["normalize", "list", "net", "psi", "core", "table", "keyset"],
        never: "runs, the terminal",
    },
    Layer {
        name: "task",
        purpose: "the queries that a run can answer, and what each discloses",
        below: &[
            "select",
            "params",
            "primitives",
            "normalize",
            "net",
            "psi",
            "planner",
            "core",
            "table",
            "keyset",
        ],
        never: "offers, sessions, reports",
    },
    Layer {
        name: "agree",
        purpose: "offers, and the terms to which two of them merge",
        below: &[
            "select",
            "normalize",
            "linkage",
            "net",
            "psi",
            "planner",
            "core",
            "table",
            "keyset",
            "task",
        ],
        never: "runs, partners",
    },
    Layer {
        name: "partner",
        purpose: "agreements with partners: policies, ledgers, records",
        below: &["normalize", "list", "net", "psi", "core", "table", "keyset", "task", "agree"],
        never: "runs, the terminal",
    },
    Layer {
        name: "run",
        purpose: "a run: the job of one side, the session with the other, the report",
        below: &[
            "select",
            "net",
            "psi",
            "planner",
            "normalize",
            "core",
            "table",
            "keyset",
            "task",
            "agree",
            "partner",
        ],
        never: "clusters, the terminal",
    },
    Layer {
        name: "gateway",
        purpose: "runs whose partitions are compared by a cluster",
        below: &[
            "normalize",
            "net",
            "psi",
            "core",
            "table",
            "keyset",
            "task",
            "agree",
            "partner",
            "run",
        ],
        never: "tables, the terminal",
    },
    Layer {
        name: "spec",
        purpose: "jobs, projects, lists and services as values: options, defaults, documentation, checks",
        below: &[
            "select",
            "normalize",
            "linkage",
            "list",
            "net",
            "planner",
            "core",
            "table",
            "keyset",
            "list-store",
            "task",
            "agree",
            "partner",
            "run",
        ],
        never: "the terminal, languages",
    },
    Layer {
        name: "vesica",
        purpose: "the library: one interface to the crates below",
        below: &[
            "select",
            "params",
            "primitives",
            "structures",
            "normalize",
            "linkage",
            "list",
            "net",
            "ot",
            "oprf",
            "circuit",
            "psi",
            "planner",
            "core",
            "table",
            "keyset",
            "task",
            "agree",
            "partner",
            "list-store",
            "run",
            "gateway",
            "spec",
        ],
        never: "the terminal",
    },
    Layer {
        name: "list-server",
        purpose: "the service of published lists, over HTTP and WebSocket",
        below: &["net", "list", "list-store", "vesica"],
        never: "protocols, the content of tables",
    },
    Layer {
        name: "cli",
        purpose: "flags, progress, messages, exit codes; the program `vesica`",
        below: &[
            "params",
            "primitives",
            "structures",
            "normalize",
            "list",
            "net",
            "ot",
            "oprf",
            "circuit",
            "psi",
            "planner",
            "lab",
            "vesica",
            "list-server",
        ],
        never: "cryptography, knowledge of tables",
    },
    Layer {
        name: "python",
        purpose: "the package for Python, in bindings/python",
        below: &["net", "vesica", "cli"],
        never: "protocols; anything outside the façade",
    },
    Layer {
        name: "browser",
        purpose: "the client of published lists in a browser, in bindings/browser",
        below: &["primitives", "structures", "normalize", "list"],
        never: "files, sockets and clocks",
    },
    Layer {
        name: "bindgen",
        purpose: "the generator of JavaScript around the module for browsers, a separate workspace in bindings/browser/bindgen",
        below: &[],
        never: "being shipped; anything except calling wasm-bindgen",
    },
    Layer {
        name: TESTKIT,
        purpose: "two-party harness, conformance suites, cheating parties",
        below: &[
            "params",
            "primitives",
            "structures",
            "list",
            "net",
            "ot",
            "oprf",
            "circuit",
            "psi",
        ],
        never: "being shipped: only tests may use it",
    },
    Layer {
        name: "fuzz-targets",
        purpose: "fuzz targets of every decoder and reader, and the replay of their corpus",
        below: &[
            "params",
            "primitives",
            "structures",
            "select",
            "normalize",
            "linkage",
            "list",
            "net",
            "planner",
            "vesica",
            "cli",
        ],
        never: "protocols; being shipped",
    },
    Layer {
        name: "fuzz",
        purpose: "the programs of the fuzz targets, a separate workspace for a nightly toolchain",
        below: &["fuzz-targets"],
        never: "anything except calling a target",
    },
    Layer {
        name: "constant-time",
        purpose: "the constant-time cases that valgrind checks, in tests/constant-time",
        below: &["params", "primitives", "net", "ot", "circuit", "psi"],
        never: "being shipped; the product",
    },
    Layer { name: "xtask", purpose: "the tasks of this repository", below: &["params"], never: "" },
];

/// Formats the table of layers, from the top to the bottom, as Markdown.
pub fn markdown() -> String {
    let mut table = String::from("| crate | purpose | imports | never |\n|---|---|---|---|\n");
    for Layer { name, purpose, below, never } in LAYERS.iter().rev() {
        let imports = match below.len() {
            0 => "nothing of the workspace".to_owned(),
            _ => below.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        };
        table += &format!("| `{name}` | {purpose} | {imports} | {never} |\n");
    }
    table
}

/// The crate that only tests may use.
const TESTKIT: &str = "testkit";

/// Imports go down, and nothing that is shipped depends on the test kit.
pub(super) fn imports_go_down(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (package, path, text) in tree.manifests() {
        let Some(Layer { below, .. }) = LAYERS.iter().find(|layer| layer.name == package) else {
            let what = format!("crate `{package}` has no layer yet; give it one in xtask's LAYERS");
            findings.push(Finding::new(path, 0, what));
            continue;
        };
        for entry in entries(text) {
            if entry.section == "package" && entry.key == "name" {
                let name = entry.value.trim_matches('"');
                if crate_of(name).unwrap_or(name) != package {
                    let what = format!("crate `{name}` does not have the name of its folder");
                    findings.push(Finding::new(path, entry.line, what));
                }
            }
            let Some(kind) = entry.dependency() else { continue };
            let Some(needed) = crate_of(entry.name()) else { continue };
            let for_tests = kind == Kind::Dev && needed == TESTKIT;
            if !for_tests && !below.contains(&needed) {
                let what = match needed {
                    TESTKIT => format!("`{package}` may use the test kit only for its tests"),
                    _ => format!("`{package}` must never import `{needed}`"),
                };
                findings.push(Finding::new(path, entry.line, what));
            }
        }
    }
    findings
}

/// Returns the folder of one of the project's crates.
fn crate_of(name: &str) -> Option<&str> {
    if name == "vesica" { Some(name) } else { name.strip_prefix("vesica-") }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn the_layers_have_no_circle() {
        for (i, layer) in LAYERS.iter().enumerate() {
            let earlier: Vec<_> = LAYERS[..i].iter().map(|layer| layer.name).collect();
            assert!(layer.below.iter().all(|name| earlier.contains(name)));
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
    fn a_crate_has_a_layer_and_its_own_name() {
        let said = says(imports_go_down, [("crates/attic/Cargo.toml", "")]);
        assert_eq!(
            said,
            [
                "crates/attic/Cargo.toml: crate `attic` has no layer yet; give it one in xtask's LAYERS"
            ]
        );
        let said =
            says(imports_go_down, [("crates/ot/Cargo.toml", "[package]\nname = \"vesica-oto\"\n")]);
        assert_eq!(
            said,
            ["crates/ot/Cargo.toml:2: crate `vesica-oto` does not have the name of its folder"]
        );
    }
}
