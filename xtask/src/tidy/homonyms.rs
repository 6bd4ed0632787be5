//! Limits the names with many meanings: a reader who sees a name should know which type it is.

use std::collections::BTreeMap;

use super::{Finding, code, shipped};
use crate::repository::Tree;

/// The number of names that at least [`MANY`] types share. It may only shrink. The goal is 20.
const SHARED: usize = 20;

/// The number of types from which a name has too many meanings.
const MANY: usize = 3;

/// Names with one meaning that many files define on purpose: the roles of two parties and their parts in the files of
/// papers, types that every crate or command has, and variants of kernels for other processors.
const BY_DESIGN: [&str; 15] = [
    "Args",
    "Base",
    "Error",
    "Factor",
    "Flags",
    "Keys",
    "Oprf",
    "Points",
    "Public",
    "Receiver",
    "Receiving",
    "Result",
    "Sender",
    "Sending",
    "Workspace",
];

/// Outside tests, the number of names with many meanings must not grow.
pub(super) fn few_names_have_many_meanings(tree: &Tree) -> Vec<Finding> {
    at_most(SHARED, tree)
}

fn at_most(most: usize, tree: &Tree) -> Vec<Finding> {
    let sources = shipped::sources(tree);
    let mut files: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (file, code) in &sources {
        for name in defined(code).filter(|name| !BY_DESIGN.contains(name)) {
            files.entry(name).or_default().push(file);
        }
    }
    files.retain(|_, files| files.len() >= MANY);
    if files.len() == most {
        return Vec::new();
    }
    let mut shared: Vec<_> = files.iter().collect();
    shared.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let shared = shared
        .iter()
        .map(|(name, files)| format!("\n  {name} {}: {}", files.len(), files.join(", ")));
    let what = format!(
        "{} names have {MANY} meanings or more, and SHARED is {most}: rename a type, or lower it.{}",
        files.len(),
        shared.collect::<String>()
    );
    vec![Finding::new("xtask/src/tidy/homonyms.rs", 0, what)]
}

/// Lists the names of the types that some code defines, except in a trait or its implementation.
fn defined(code: &str) -> impl Iterator<Item = &str> {
    code.lines().flat_map(|line| {
        let mut words = code::words(line).map(|(word, _)| word);
        let is_definition = |word: &str| {
            matches!(word, "struct" | "enum" | "union") || word == "type" && !line.starts_with(' ')
        };
        words
            .find(|word| is_definition(word))
            .and_then(|_| words.next())
            .filter(|name| name.starts_with(char::is_uppercase))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_three_meanings_is_found() {
        let [a, b] = [
            "pub struct Place;\nenum Error {}\nfn f() { struct Place(u8); }\nimpl A for B {\n    type Part = u8;\n}",
            "pub(crate) type Place<T> = u8;\nenum Error {}\nstruct Part;\n#[cfg(test)]\nmod tests {\n    struct Part;\n}",
        ];
        let c = "enum Error {}\nenum Part {}\n";
        let tree = Tree::from([
            ("crates/a/src/lib.rs", a),
            ("crates/b/src/b.rs", b),
            ("crates/c/src/c.rs", c),
        ]);
        assert!(at_most(1, &tree).is_empty());
        for other in [0, 2] {
            let said = &at_most(other, &tree)[0].what;
            let list = "\n  Place 3: crates/a/src/lib.rs, crates/a/src/lib.rs, crates/b/src/b.rs";
            assert!(said.starts_with("1 names have 3 meanings") && said.ends_with(list), "{said}");
        }
    }
}
