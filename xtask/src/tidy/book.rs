//! The size of the documentation: a reader's time is limited.

use super::Finding;
use crate::repository::Tree;

/// Maximum number of words of all pages together.
const BOOK: usize = 85_000;

/// Maximum numbers of lines and words of the README.
const README_LINES: usize = 115;
const README_WORDS: usize = 750;

/// Pages that do not count: notes, tables that are generated from sources or measurements, and the table of contents.
const OTHERS: [&str; 5] = [
    "docs/notes/",
    "docs/reference/errors.md",
    "docs/security/assurance.md",
    "docs/security/parameters.md",
    "docs/SUMMARY.md",
];

/// Neither the book nor the README grows beyond its limit.
pub(super) fn the_book_is_short(tree: &Tree) -> Vec<Finding> {
    at_most(BOOK, tree)
}

fn at_most(most: usize, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_page = |path: &str| {
        let ours = path.starts_with("docs/") && path.ends_with(".md");
        ours && !OTHERS.iter().any(|other| path.starts_with(other))
    };
    let pages = tree.files().filter(|(path, _)| is_page(path));
    let count: usize = pages.map(|(_, text)| words(text)).sum();
    if count > most {
        let what = format!("{count} words, more than {most}: shorten a page when you add one");
        findings.push(Finding::new("docs", 0, what));
    }
    let readme = tree.text("README.md").unwrap_or_default();
    for (count, most, unit) in
        [(readme.lines().count(), README_LINES, "lines"), (words(readme), README_WORDS, "words")]
    {
        if count > most {
            findings.push(Finding::new(
                "README.md",
                0,
                format!("{count} {unit}, more than {most}"),
            ));
        }
    }
    findings
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
    fn the_readme_has_limits_of_its_own() {
        let found = |text: &str| at_most(0, &Tree::from([("README.md", text)])).len();
        assert_eq!(found(&"a b c d e f\n".repeat(README_LINES)), 0);
        assert_eq!(found(&"\n".repeat(README_LINES + 1)), 1);
        assert_eq!(found(&"a ".repeat(README_WORDS + 1)), 1);
    }
}
