//! The size of the documentation: a reader's time is limited.

use std::collections::BTreeSet;

use super::Finding;
use crate::repository::Tree;

/// The table of contents.
const CONTENTS: &str = "docs/SUMMARY.md";

/// Maximum number of words of all pages together.
const BOOK: usize = 85_000;

/// Maximum number of lines of the README.
const README_LINES: usize = 115;

/// Maximum numbers of words of the documents in the root, without their generated parts.
const DOCUMENTS: [(&str, usize); 4] = [
    ("README.md", 750),
    ("ARCHITECTURE.md", 1_500),
    ("CONTRIBUTING.md", 900),
    ("SECURITY.md", 1_500),
];

/// Pages that do not count: notes, tables that are generated from sources or measurements, and the table of contents.
const OTHERS: [&str; 5] = [
    "docs/notes/",
    "docs/reference/errors.md",
    "docs/security/assurance.md",
    "docs/security/parameters.md",
    CONTENTS,
];

/// Neither the book nor a document in the root grows beyond its limit.
pub(super) fn the_book_is_short(tree: &Tree) -> Vec<Finding> {
    at_most(BOOK, tree)
}

/// Every page is in the table of contents: mdBook shows no other.
pub(super) fn pages_are_in_the_contents(tree: &Tree) -> Vec<Finding> {
    let contents = tree.text(CONTENTS).unwrap_or_default();
    let links: BTreeSet<&str> =
        contents.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let pages = tree.files().filter_map(|(path, _)| Some((path, page(path)?)));
    let lost = pages.filter(|(path, page)| *path != CONTENTS && !links.contains(page));
    lost.map(|(path, page)| Finding::new(path, 0, format!("{CONTENTS} has no link to {page}")))
        .collect()
}

/// Returns the name of a page in the table of contents.
fn page(path: &str) -> Option<&str> {
    path.strip_prefix("docs/").filter(|page| page.ends_with(".md"))
}

fn at_most(most: usize, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let counts =
        |path: &str| page(path).is_some() && !OTHERS.iter().any(|other| path.starts_with(other));
    let pages = tree.files().filter(|(path, _)| counts(path));
    let count: usize = pages.map(|(_, text)| words(text)).sum();
    if count > most {
        let what = format!("{count} words, more than {most}: shorten a page when you add one");
        findings.push(Finding::new("docs", 0, what));
    }
    let lines = tree.text("README.md").unwrap_or_default().lines().count();
    let words = |path| words(&written(tree.text(path).unwrap_or_default()));
    let documents = DOCUMENTS.map(|(path, most)| (path, words(path), most, "words"));
    let sizes = [("README.md", lines, README_LINES, "lines")].into_iter().chain(documents);
    let longer = sizes.filter(|(_, count, most, _)| count > most);
    findings.extend(longer.map(|(path, count, most, unit)| {
        Finding::new(path, 0, format!("{count} {unit}, more than {most}"))
    }));
    findings
}

/// Returns a document without its generated parts, which are between `<!-- NAME -->` and `<!-- /NAME -->`.
fn written(document: &str) -> String {
    let mut is_generated = false;
    let mut written = String::new();
    for line in document.lines() {
        let is_mark = line.starts_with("<!-- ") && line.ends_with(" -->");
        is_generated = if is_mark { !line.starts_with("<!-- /") } else { is_generated };
        if !is_generated && !is_mark {
            written += line;
            written.push('\n');
        }
    }
    written
}

/// Counts the words of a page, which are sequences of letters, outside blocks of code.
fn words(page: &str) -> usize {
    let mut is_code = false;
    let mut count = 0;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            count +=
                line.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).count();
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_letters_outside_code() {
        assert_eq!(words("# A page\n\n```sh\nnot code\n```\n- `rr22` takes 2^20 rows.\n"), 5);
    }

    #[test]
    fn the_pages_together_have_a_limit() {
        let tree = Tree::from([
            ("docs/a.md", "one two\n"),
            ("docs/guides/b.md", "three\n"),
            ("docs/a.svg", "not a page\n"),
            ("docs/notes/c.md", "a note\n"),
            ("docs/SUMMARY.md", "a table\n"),
        ]);
        assert_eq!(at_most(3, &tree), []);
        let found = at_most(2, &tree);
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["docs: 3 words, more than 2: shorten a page when you add one"]
        );
    }

    #[test]
    fn the_documents_in_the_root_have_limits_of_their_own() {
        let found = |path, text: &str| at_most(0, &Tree::from([(path, text)])).len();
        assert_eq!(found("README.md", &"a b c d e f\n".repeat(README_LINES)), 0);
        assert_eq!(found("README.md", &"\n".repeat(README_LINES + 1)), 1);
        for (path, most) in DOCUMENTS {
            assert_eq!(found(path, &"a ".repeat(most)), 0, "{path}");
            assert_eq!(found(path, &"a ".repeat(most + 1)), 1, "{path}");
        }
    }

    #[test]
    fn generated_parts_do_not_count() {
        assert_eq!(written("a\n<!-- table -->\nb\n<!-- /table -->\nc\n"), "a\nc\n");
    }

    #[test]
    fn a_page_without_a_link_in_the_contents_is_found() {
        let contents = "- [A](a.md)\n- [S](../SECURITY.md)\n";
        let tree = [("docs/SUMMARY.md", contents), ("docs/a.md", ""), ("docs/b/a.md", "")];
        let found = pages_are_in_the_contents(&Tree::from(tree));
        assert_eq!(
            found.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["docs/b/a.md: docs/SUMMARY.md has no link to b/a.md"]
        );
    }
}
