//! The examples of `docs/developing/extending.md` are parts of sources, which tests compile.

use super::Finding;
use crate::repository::Tree;

const DOCUMENT: &str = "docs/developing/extending.md";

/// Every block of Rust code in the document is part of a source, with any indentation.
pub(super) fn examples_are_in_sources(tree: &Tree) -> Vec<Finding> {
    let Some(document) = tree.text(DOCUMENT) else { return Vec::new() };
    let sources: Vec<_> = tree.sources().map(|(_, text)| plain(text.lines())).collect();
    let is_in_source = |code: &str| sources.iter().any(|source| source.contains(code));
    let blocks = blocks(document).into_iter();
    let lost = blocks.filter(|(_, code)| !is_in_source(code));
    lost.map(|(line, _)| Finding::new(DOCUMENT, line, "this code is in no source")).collect()
}

/// Joins lines without their indentation, each with a line feed before and after it.
fn plain<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.fold("\n".to_owned(), |text, line| text + line.trim() + "\n")
}

/// Returns the blocks of Rust code, each with the number of the line before it.
fn blocks(document: &str) -> Vec<(usize, String)> {
    let mut lines = (1..).zip(document.lines());
    let mut blocks = Vec::new();
    while let Some((number, _)) = lines.find(|(_, line)| line.trim() == "```rust") {
        let code = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
        blocks.push((number, plain(code)));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn code_that_is_in_no_source_is_found() {
        let document =
            "text\n\n   ```rust\n   fn a() {\n       b();\n   }\n   ```\n\n```sh\nls\n```\n";
        let says = |source: &str| {
            let files = [(DOCUMENT, document), ("crates/a/src/example.rs", source)];
            says(examples_are_in_sources, files)
        };
        assert!(says("use c;\nfn a() {\n    b();\n}\n").is_empty());
        for other in ["fn a() {\n    c();\n}\n", "fn a() {\n    b();\n    c();\n}\n", ""] {
            assert_eq!(says(other), ["docs/developing/extending.md:3: this code is in no source"]);
        }
    }
}
