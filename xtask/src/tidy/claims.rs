//! Checks that statements in documents agree with the sources.
//!
//! A statement consists of a part of a document, word for word, and the part of a source that makes it true. If either
//! changes, the other must follow. Statements about the whole tree are computed from it.

use super::{Finding, lints, manifest::entries};
use crate::repository::Tree;

/// A statement in a document, and the part of a source that makes it true.
struct Statement {
    document: &'static str,
    says: &'static str,
    source: &'static str,
    has: &'static str,
}

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const SECURITY: &str = "SECURITY.md";
const ASSUMPTIONS: &str = "docs/security/assumptions.md";
const TESTING: &str = "docs/developing/testing.md";

const STATEMENTS: &[Statement] = &[
    Statement {
        document: ARCHITECTURE,
        says: "There are 256 places for callers that have not authenticated",
        source: "crates/net/src/places.rs",
        has: "const PLACES: usize = 256;",
    },
    Statement {
        document: ARCHITECTURE,
        says: "sends a keep-alive message once a second",
        source: "crates/net/src/channel.rs",
        has: "const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(1);",
    },
    Statement {
        document: ARCHITECTURE,
        says: "a byte stream that returns within 100 ms",
        source: "crates/net/src/transport/mod.rs",
        has: "const POLL_INTERVAL: Duration = Duration::from_millis(100);",
    },
    Statement {
        document: ARCHITECTURE,
        says: "as many as there are threads, and one more",
        source: "crates/run/src/session.rs",
        has: "(threads + 1).min(count - done)",
    },
    Statement {
        document: ARCHITECTURE,
        says: "A task is a file in `task/src/` and a line of the list `TASKS`: rows, linked rows, joins, numbers, shares, queries",
        source: "crates/task/src/lib.rs",
        has: "TASKS: &[&[&QueryKind]] = &[rows::KINDS, linked::KINDS, joins::KINDS, aggregates::KINDS, shares::KINDS, select::KINDS]",
    },
    Statement {
        document: ARCHITECTURE,
        says: "| 256 bits that depend only on the key | `Digest` |",
        source: "crates/normalize/src/digest.rs",
        has: "pub struct Digest([u8; 32]);",
    },
    Statement {
        document: ARCHITECTURE,
        says: "| 256 bits that depend on the run's seed, too | `Image` |",
        source: "crates/keyset/src/seed.rs",
        has: "pub struct Image([u8; 32]);",
    },
    Statement {
        document: ARCHITECTURE,
        says: "the trait `Content`",
        source: "crates/table/src/content.rs",
        has: "trait Content: Send {",
    },
    Statement {
        document: ARCHITECTURE,
        says: "`VESICA_PORTABLE=1` selects the portable kernels",
        source: "crates/primitives/src/arch/mod.rs",
        has: "\"VESICA_PORTABLE\"",
    },
    Statement {
        document: ARCHITECTURE,
        says: "logarithms come from `libm`",
        source: "crates/params/Cargo.toml",
        has: "libm.workspace = true",
    },
    Statement {
        document: SECURITY,
        says: "all of them together a probability below 2^-37",
        source: "crates/psi/tests/all/bounds.rs",
        has: "= -37.0;",
    },
    Statement {
        document: SECURITY,
        says: "There are 256 places for callers that have not authenticated",
        source: "crates/net/src/places.rs",
        has: "const PLACES: usize = 256;",
    },
    Statement {
        document: SECURITY,
        says: "fewer if the system lets the program open fewer than 1,024 files",
        source: "crates/net/src/places.rs",
        has: "usize::try_from(files / 4)",
    },
    Statement {
        document: SECURITY,
        says: "κ = 128 bits of computational",
        source: "crates/params/src/lib.rs",
        has: "pub const KAPPA: u32 = 128;",
    },
    Statement {
        document: SECURITY,
        says: "λ = 40 bits of statistical security",
        source: "crates/params/src/lib.rs",
        has: "pub const LAMBDA: u32 = 40;",
    },
    Statement {
        document: SECURITY,
        says: "data from a pipe beyond 64 MiB",
        source: "crates/table/src/spool.rs",
        has: "const IN_MEMORY: usize = 1 << 26;",
    },
    Statement {
        document: ASSUMPTIONS,
        says: "PBKDF2-HMAC-SHA-256 (2^17 rounds)",
        source: "crates/partner/src/phrase.rs",
        has: "NonZeroU32::new(1 << 17)",
    },
    Statement {
        document: ASSUMPTIONS,
        says: "For t = 768",
        source: "crates/params/src/lpn/mod.rs",
        has: "blocks: 768,",
    },
    Statement {
        document: TESTING,
        says: "memory stays below 2 GiB, an allocation below 512 MiB, and an input takes at most a minute",
        source: "xtask/src/fuzz.rs",
        has: "[\"-rss_limit_mb=2048\", \"-malloc_limit_mb=512\", \"-timeout=60\"]",
    },
];

/// A statement in a document that is computed from the tree.
struct Computed {
    document: &'static str,
    says: fn(&Tree) -> String,
}

const COMPUTED: &[Computed] = &[
    Computed { document: ARCHITECTURE, says: places_of_unsafe },
    Computed { document: ARCHITECTURE, says: asynchronous_crates },
    Computed { document: ARCHITECTURE, says: imports_of_runs },
];

/// Finds statements that a document no longer makes, or that are no longer true.
pub(super) fn documents_agree_with_sources(tree: &Tree) -> Vec<Finding> {
    check(tree, STATEMENTS, COMPUTED)
}

fn check(tree: &Tree, claims: &[Statement], computed: &[Computed]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Statement { document, says, source, has } in claims {
        let Some(text) = tree.text(document) else { continue };
        if !is_in(text, says) {
            let what = format!("no longer says `{says}`: change `xtask/src/tidy/claims.rs`, too");
            findings.push(Finding::new(document, 0, what));
        }
        if !tree.text(source).is_some_and(|text| is_in(text, has)) {
            let what = format!("says `{says}`, but {source} has no `{has}`");
            findings.push(Finding::new(document, 0, what));
        }
    }
    for Computed { document, says } in computed {
        let Some(text) = tree.text(document) else { continue };
        let says = says(tree);
        if !is_in(text, &says) {
            findings.push(Finding::new(document, 0, format!("does not say `{says}`")));
        }
    }
    findings
}

/// Returns whether a text contains a part, regardless of line breaks.
fn is_in(text: &str, part: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    words(text).contains(&words(part))
}

/// Formats names between backticks: `a`, `b` and `c`.
fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match &quoted[..] {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        names => names.concat(),
    }
}

/// Returns the places where `unsafe` is allowed.
fn places_of_unsafe(_: &Tree) -> String {
    format!("`unsafe` stands only in {}", list(&lints::FENCES.map(|(_, place)| place)))
}

/// Returns the asynchronous crates, which depend on tokio.
fn asynchronous_crates(tree: &Tree) -> String {
    let depends = |text: &str| {
        let mut entries = entries(text).into_iter();
        entries.any(|entry| entry.section == "dependencies" && entry.key.starts_with("tokio"))
    };
    let crates = tree.manifests().filter(|(_, _, text)| depends(text));
    let names: Vec<&str> = crates.map(|(name, _, _)| name).collect();
    format!("{} use tokio", list(&names))
}

/// Returns the order of the crates of a run, if their manifests agree with it.
fn imports_of_runs(tree: &Tree) -> String {
    let imports = |of: &str, other: &str| {
        let manifest = tree.text(&format!("crates/{of}/Cargo.toml")).unwrap_or_default();
        entries(manifest).iter().any(|entry| entry.key.starts_with(&format!("vesica-{other}")))
    };
    let down = imports("run", "agree") && imports("agree", "task");
    let up = imports("task", "agree") || imports("agree", "run") || imports("task", "run");
    let not = if down && !up { "" } else { "not " };
    format!("`run` {not}imports `agree`, and `agree` imports `task`, never the other way round")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENT: &[Statement] = &[Statement {
        document: "A.md",
        says: "There are 64 places",
        source: "a.rs",
        has: "const PLACES: usize = 64;",
    }];

    fn of(document: &str, source: &str) -> Vec<String> {
        let tree = Tree::from([("A.md", document), ("a.rs", source)]);
        check(&tree, STATEMENT, &[]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn statement_that_holds_passes() {
        assert_eq!(of("So. There are\n64 places.\n", "const PLACES: usize =\n    64;\n"), [""; 0]);
    }

    #[test]
    fn statement_that_does_not_hold_is_found() {
        assert_eq!(
            of("There are 64 places", "const PLACES: usize = 256;"),
            ["A.md: says `There are 64 places`, but a.rs has no `const PLACES: usize = 64;`"]
        );
    }

    #[test]
    fn statement_that_is_gone_is_found() {
        assert_eq!(
            of("There are 256 places", "const PLACES: usize = 64;"),
            ["A.md: no longer says `There are 64 places`: change `xtask/src/tidy/claims.rs`, too"]
        );
    }

    #[test]
    fn computed_statements_follow_the_tree() {
        let says = |says: fn(&Tree) -> String, document: &str| {
            let manifest = "[dependencies]\ntokio.workspace = true\n";
            let tree = Tree::from([
                ("A.md", document),
                ("crates/a/Cargo.toml", manifest),
                ("crates/b/Cargo.toml", manifest),
                ("crates/c/Cargo.toml", "[dependencies]\n"),
            ]);
            check(&tree, &[], &[Computed { document: "A.md", says }]).len()
        };
        assert_eq!(says(asynchronous_crates, "`a` and `b` use tokio"), 0);
        assert_eq!(says(asynchronous_crates, "`a` use tokio"), 1);
        assert_eq!(says(imports_of_runs, "`run` imports `agree`, and `agree` imports `task`"), 1);
        assert_eq!(says(places_of_unsafe, "`unsafe` stands only in `src/`"), 1);
    }
}
