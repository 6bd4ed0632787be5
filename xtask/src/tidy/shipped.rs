//! The code of crates without their tests.

use std::collections::BTreeMap;

use super::code;
use crate::repository::Tree;

/// Reads the sources of all crates without tests, benchmarks, examples, comments and literals, with the same lines.
pub(super) fn sources(tree: &Tree) -> BTreeMap<&str, String> {
    let mut sources = BTreeMap::new();
    let mut tests = Vec::new();
    for (file, text) in tree.sources().filter(|(file, _)| file.contains("/src/")) {
        let code = code::without_words(text);
        let folder = match file.rsplit_once('/') {
            Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
            _ => file.trim_end_matches(".rs"),
        };
        tests.extend(test_modules(&code).map(|module| format!("{folder}/{module}")));
        sources.insert(file, code::without_tests(&code));
    }
    sources.retain(|file, _| {
        let ends = |rest: &str| rest == ".rs" || rest.starts_with('/');
        !tests.iter().any(|test| file.strip_prefix(test.as_str()).is_some_and(ends))
    });
    sources
}

/// Lists the modules that a file declares only for tests.
fn test_modules(code: &str) -> impl Iterator<Item = &str> {
    let is_mark = |line: &str| line.starts_with("#[cfg(test") || line.starts_with("#[cfg(all(test");
    let pairs = code.lines().zip(code.lines().skip(1));
    let declared = pairs.filter(move |(mark, _)| is_mark(mark)).map(|(_, declared)| declared);
    declared.filter_map(|line| Some(line.trim_end().strip_suffix(';')?.split_once("mod ")?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_left_out() {
        let tree = Tree::from([
            ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod c;\n#[cfg(test)]\nmod tests {}\n"),
            ("crates/a/src/b.rs", "// b\n#[cfg(all(test, unix))]\npub(crate) mod d;\nfn f() {}"),
            ("crates/a/src/b/d.rs", ""),
            ("crates/a/src/c/mod.rs", ""),
            ("crates/a/src/c/e.rs", ""),
            ("crates/a/src/cc.rs", ""),
            ("crates/a/tests/all.rs", ""),
        ]);
        let sources = sources(&tree);
        let files: Vec<_> = sources.keys().map(|file| &file["crates/a/src/".len()..]).collect();
        assert_eq!(files, ["b.rs", "cc.rs", "lib.rs"]);
        assert_eq!(
            sources["crates/a/src/lib.rs"].split_whitespace().collect::<Vec<_>>(),
            ["mod", "b;"]
        );
        assert_eq!(sources["crates/a/src/b.rs"].lines().last(), Some("fn f() {}"));
    }
}
