//! Source files: their size, their names, their first comment, and no unfinished work.

use super::{Finding, code};
use crate::repository::Tree;

/// Maximum number of lines in a source file, including tests.
const MAX_LINES: usize = 600;

/// Names that say nothing about the content, and so attract everything.
const NAMES_FOR_ANYTHING: [&str; 6] = ["utils", "util", "common", "helpers", "helper", "misc"];

/// Macros that mark unfinished work.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// The words with which a library's documentation names forbidden dependencies.
const NEVER: &str = "Must never import";

pub(super) fn no_file_is_too_long(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            let what =
                format!("{lines} lines, more than {MAX_LINES}: it contains more than one concept");
            findings.push(Finding::new(path, 0, what));
        }
    }
    findings
}

pub(super) fn no_catch_all_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.files() {
        let stem = |part: &str| part.split('.').next().unwrap_or_default().to_ascii_lowercase();
        if path.split('/').any(|part| NAMES_FOR_ANYTHING.contains(&stem(part).as_str())) {
            let what = "name it after its content, or move the content to where it belongs";
            findings.push(Finding::new(path, 0, what));
        }
    }
    for (path, text) in tree.sources() {
        for (line, code) in (1..).zip(code::without_words(text).lines()) {
            let words: Vec<&str> = code::words(code).map(|(word, _)| word).collect();
            let named = |pair: &&[&str]| pair[0] == "mod" && NAMES_FOR_ANYTHING.contains(&pair[1]);
            if let Some(pair) = words.windows(2).find(named) {
                let what =
                    format!("module `{}` has a name that says nothing about its content", pair[1]);
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

pub(super) fn libraries_say_what_they_never_import(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, path, _) in tree.manifests() {
        let library = path.replace("Cargo.toml", "src/lib.rs");
        let Some(text) = tree.text(&library) else { continue };
        let top: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if top.is_empty() {
            findings.push(Finding::new(&library, 1, "begin with the crate's purpose, after `//!`"));
        } else if !top.iter().any(|line| line.contains(NEVER)) {
            let what = format!("state in the first comment what this crate \"{NEVER}\"");
            findings.push(Finding::new(&library, 1, what));
        }
    }
    findings
}

pub(super) fn nothing_is_left_to_do(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.sources() {
        for (line, code) in (1..).zip(code::without_words(text).lines()) {
            let is_macro = |(word, after): &(&str, &str)| {
                let after = after.trim_start();
                UNFINISHED.contains(word) && after.starts_with('!') && !after.starts_with("!=")
            };
            if let Some((word, _)) = code::words(code).find(is_macro) {
                findings.push(Finding::new(path, line, format!("`{word}!` is left in the code")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn a_long_file_is_found() {
        let (fits, long) = ("\n".repeat(MAX_LINES), "\n".repeat(MAX_LINES + 1));
        assert!(says(no_file_is_too_long, [("a.rs", &fits), ("a.md", &long)]).is_empty());
        let said = says(no_file_is_too_long, [("a.rs", &long)]);
        assert_eq!(said, ["a.rs: 601 lines, more than 600: it contains more than one concept"]);
    }

    #[test]
    fn a_name_for_anything_is_found() {
        let good = [("crates/ot/src/miscarry.rs", "mod commons; // mod util\n")];
        assert!(says(no_catch_all_names, good).is_empty());
        for path in [
            "crates/ot/src/utils.rs",
            "crates/ot/src/util/mod.rs",
            "crates/ot/tests/common/mod.rs",
            "docs/Misc.md",
            "bench/helpers.py",
            "crates/helper/Cargo.toml",
        ] {
            let said = says(no_catch_all_names, [(path, "")]);
            assert_eq!(said.len(), 1, "{path}");
        }
        let said = says(no_catch_all_names, [("a.rs", "fn f() {}\npub(crate) mod  util {}\n")]);
        assert_eq!(said, ["a.rs:2: module `util` has a name that says nothing about its content"]);
    }

    #[test]
    fn a_library_without_its_first_words_is_found() {
        let check = libraries_say_what_they_never_import;
        let with = |library| [("crates/ot/Cargo.toml", ""), ("crates/ot/src/lib.rs", library)];
        assert!(says(check, with("//! OT.\n//!\n//! **Must never import** psi.\n")).is_empty());
        let said = says(check, with("//! OT.\n\n// Must never import psi.\n"));
        let wanted = "crates/ot/src/lib.rs:1: state in the first comment what this crate \
                      \"Must never import\"";
        assert_eq!(said, [wanted]);
        let said = says(check, with("pub mod a;\n"));
        assert_eq!(said, ["crates/ot/src/lib.rs:1: begin with the crate's purpose, after `//!`"]);
    }

    #[test]
    fn unfinished_work_is_found() {
        let good = "// todo!()\nfn dbg() -> bool { todo != a }\nlet a = \"dbg!(x)\";\n";
        assert_eq!(says(nothing_is_left_to_do, [("a.rs", good)]), Vec::<String>::new());
        for macro_name in UNFINISHED {
            let bad = format!("fn f() {{\n    std::{macro_name}!(x)\n}}\n");
            let said = says(nothing_is_left_to_do, [("a.rs", &bad)]);
            assert_eq!(said, [format!("a.rs:2: `{macro_name}!` is left in the code")]);
        }
    }
}
