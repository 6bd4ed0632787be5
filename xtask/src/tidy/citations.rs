//! Checks that everything cited by a document or a comment exists.

use std::collections::BTreeSet;

use super::Finding;
use crate::repository::Tree;

/// Endings of paths of cited files.
const ENDINGS: [&str; 7] = [".rs", ".md", ".toml", ".json", ".svg", ".tsv", ".lock"];

/// Endings of names without a folder that cite a file. Other names may be files that the program writes.
const ALONE: [&str; 3] = [".rs", ".md", ".toml"];

/// Folders that, as the first or second part of a path, mark it as a path of the repository.
const FOLDERS: [&str; 4] = ["crates", "docs", "src", "tests"];

/// Finds files and folders between backticks, or targets of Markdown links, that do not exist.
pub(super) fn cited_files_are_there(tree: &Tree) -> Vec<Finding> {
    let places = Places::of(tree);
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        let is_document = path.ends_with(".md");
        if !is_document && !path.ends_with(".rs") {
            continue;
        }
        for (line, text) in (1..).zip(text.lines()) {
            let Some(prose) = prose(text, is_document) else { continue };
            let linked = links(prose).filter(|link| is_document && !places.leads(path, link));
            let quoted = quoted(prose).filter(|cited| is_path(cited) && !places.has(path, cited));
            findings.extend(linked.chain(quoted).map(|cited| {
                Finding::new(path, line, format!("`{cited}` is not in the repository"))
            }));
        }
    }
    findings
}

/// Returns the readable part of a line: the whole line of a document, and the comments of a source.
fn prose(line: &str, is_document: bool) -> Option<&str> {
    if is_document { Some(line) } else { line.trim_start().strip_prefix("//") }
}

/// Returns the texts between backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Returns the targets of links.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next())
}

/// Returns whether a text between backticks names a file or a folder of the repository.
fn is_path(text: &str) -> bool {
    let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
    let endings = if parts.len() > 1 { &ENDINGS[..] } else { &ALONE[..] };
    let is_file = endings.iter().any(|ending| text.ends_with(ending) && text != *ending);
    let is_folder = parts.len() > 1 && parts.iter().take(2).any(|part| FOLDERS.contains(part));
    parts.iter().all(|part| is_name(part)) && (is_file || is_folder)
}

/// Returns whether a part of a path may be a name. Capitals stand for a placeholder, such as KEY, except in README and
/// the like.
fn is_name(part: &str) -> bool {
    let stem = part.trim_end_matches(".md");
    let is_capital = |c: char| c.is_ascii_uppercase();
    let stands_for_one = part.starts_with("KEY") || stem == part && part.contains(is_capital);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    !part.is_empty() && part.chars().all(is_plain) && !stands_for_one
}

/// All files and folders.
struct Places<'a>(BTreeSet<&'a str>);

impl<'a> Places<'a> {
    fn of(tree: &'a Tree) -> Self {
        let ends = |path: &'a str| path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        Self(tree.files().flat_map(|(path, _)| ends(path).map(|end| &path[..end])).collect())
    }

    /// Returns whether the target of a link exists in the repository or is outside of it.
    fn leads(&self, document: &str, link: &str) -> bool {
        link.is_empty() || link.contains(':') || self.0.contains(beside(document, link).as_str())
    }

    /// Returns whether a cited path exists relative to the root, to the crates, or to the citing file or, for a name
    /// without a folder, whether any file has that name.
    fn has(&self, from: &str, cited: &str) -> bool {
        let cited = cited.trim_end_matches('/');
        let somewhere = || self.0.iter().any(|place| place.rsplit('/').next() == Some(cited));
        let mut folder = from;
        let near = std::iter::from_fn(|| {
            folder = folder.rsplit_once('/')?.0;
            Some(format!("{folder}/{cited}"))
        });
        let mut seen =
            near.chain([cited.to_owned(), format!("crates/{cited}"), beside(from, cited)]);
        seen.any(|path| self.0.contains(path.as_str())) || !cited.contains('/') && somewhere()
    }
}

/// Resolves a path relative to the folder of a file.
fn beside(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    const THERE: [(&str, &str); 3] =
        [("crates/ot/src/base/co15.rs", ""), ("docs/work.md", ""), ("deny.toml", "")];

    fn of(path: &'static str, text: &str) -> Vec<String> {
        says(cited_files_are_there, [THERE[0], THERE[1], THERE[2], (path, text)])
    }

    #[test]
    fn existing_files_may_be_cited() {
        let text = "`ot/src/base/co15.rs`, `crates/ot/src/base/`, `co15.rs`, `deny.toml`, [a](docs/work.md#x), \
                    [b](https://example.org/x.md), [c](#d), `ot/co15`, `docs/KEY.md`, `1/2`, `out.csv`, `a::b`\n";
        assert!(of("README.md", text).is_empty(), "{:?}", of("README.md", text));
        assert!(of("docs/a.md", "[a](work.md) [b](../deny.toml)\n").is_empty());
        assert!(
            of("crates/ot/src/lib.rs", "//! See `base/co15.rs`.\nlet a = \"`b.rs`\";\n").is_empty()
        );
    }

    #[test]
    fn missing_files_are_found() {
        for (path, text, cited) in [
            ("SECURITY.md", "`ot/src/base/co16.rs`", "ot/src/base/co16.rs"),
            ("SECURITY.md", "`ot/src/pprf/`", "ot/src/pprf/"),
            ("SECURITY.md", "see [x](docs/gone.md#y)", "docs/gone.md"),
            ("docs/a.md", "[x](deny.toml)", "deny.toml"),
            ("docs/a.md", "`gone.toml`", "gone.toml"),
            ("crates/ot/src/lib.rs", "    // As `co16.rs` has it.", "co16.rs"),
        ] {
            assert_eq!(of(path, text), [format!("{path}:1: `{cited}` is not in the repository")]);
        }
    }
}
