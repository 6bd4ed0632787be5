//! Plain English: turns of phrase that a technical writer avoids, in comments, messages and documents.
//!
//! Each rule names the turn and what to write in its place. A place that is right, or not yet rewritten, is counted in
//! `prose.txt` by rule and file.

use std::collections::BTreeMap;

use super::{Finding, code};
use crate::repository::Tree;

mod rules;
mod text;

use rules::{LONG_LINE, RULES, TEST_NAME};
use text::{Passage, blocks};

/// The places that are allowed, a line for each rule and file: `2 tell crates/a/src/lib.rs`. The list may only shrink.
const ALLOWED: &str = include_str!("prose.txt");

/// Folders with files that people read.
const FOLDERS: [&str; 4] = ["crates/", "bindings/", "docs/", "xtask/"];

/// Documents in the root that people read.
const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md"];

/// Documents that are generated from sources, in which their sentences are checked.
const GENERATED: [&str; 3] =
    ["docs/reference/cli.md", "docs/reference/errors.md", "docs/reference/performance.md"];

/// Maximum number of columns of a line with a comment.
const MAX_COLUMNS: usize = 120;

/// All that people read is in plain English, but for the listed places.
pub(super) fn sentences_are_plain(tree: &Tree) -> Vec<Finding> {
    but_for(ALLOWED, tree)
}

/// A line of the list of allowed places.
struct Allowed<'a> {
    most: usize,
    rule: &'a str,
    path: &'a str,
}

impl<'a> Allowed<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut parts = line.splitn(3, ' ');
        let most = parts.next()?.parse().ok()?;
        Some(Self { most, rule: parts.next()?, path: parts.next()? })
    }
}

/// A place that breaks a rule.
struct Lapse {
    line: usize,
    words: String,
    advice: &'static str,
}

/// Finds places beyond the allowed ones, and allowances that are too high.
fn but_for(allowed: &str, tree: &Tree) -> Vec<Finding> {
    let allowed: Vec<Allowed<'_>> = allowed.lines().filter_map(Allowed::read).collect();
    let mut found: BTreeMap<(&str, &str), Vec<Lapse>> = BTreeMap::new();
    for (path, text) in tree.files().filter(|(path, _)| is_read(path)) {
        for (rule, place) in places(path, text) {
            found.entry((path, rule)).or_default().push(place);
        }
    }
    let mut findings = Vec::new();
    for Allowed { most, rule, path } in &allowed {
        let count = found.get(&(*path, *rule)).map_or(0, Vec::len);
        if count < *most {
            let what = format!("{rule}: {count} places, lower the {most} in prose.txt");
            findings.push(Finding::new(path, 0, what));
        }
    }
    for ((path, rule), places) in &found {
        let listed = allowed.iter().find(|one| one.path == *path && one.rule == *rule);
        if places.len() <= listed.map_or(0, |one| one.most) {
            continue;
        }
        findings.extend(places.iter().map(|Lapse { line, words, advice }| {
            Finding::new(path, *line, format!("{rule}: `{words}`: {advice}"))
        }));
    }
    findings
}

/// Returns whether people read this file, and its sentences are not generated.
fn is_read(path: &str) -> bool {
    let there = FOLDERS.iter().any(|folder| path.starts_with(folder)) || DOCUMENTS.contains(&path);
    let crate_page = path.starts_with("crates/") && path.ends_with("README.md");
    there && !crate_page && !GENERATED.contains(&path)
}

/// Finds the places of a file that break a rule.
fn places(path: &str, text: &str) -> Vec<(&'static str, Lapse)> {
    let mut places = Vec::new();
    for block in blocks(path, text) {
        for at in 0..block.words.len() {
            for rule in RULES {
                if (rule.begins)(&block, at) {
                    places.push((rule.name, lapse(&block, at, rule.advice)));
                }
            }
        }
    }
    if path.ends_with(".rs") {
        places.extend(test_names(text));
        places.extend(long_lines(text));
    }
    places
}

fn lapse(block: &Passage<'_>, at: usize, advice: &'static str) -> Lapse {
    let words = block.words[at..].iter().take(3).map(|word| word.text).collect::<Vec<_>>();
    Lapse { line: block.words[at].line, words: words.join(" "), advice }
}

/// Finds functions that are named by a clause instead of what they show.
fn test_names(source: &str) -> Vec<(&'static str, Lapse)> {
    let code = code::without_words(source);
    let mut places = Vec::new();
    for (line, text) in (1..).zip(code.lines()) {
        let mut words = code::words(text).map(|(word, _)| word).skip_while(|word| *word != "fn");
        let Some(name) = words.nth(1) else { continue };
        if TEST_NAME.iter().any(|start| name.starts_with(start)) {
            let advice = "name a test by what it shows: `empty_input_is_refused`";
            places.push(("test-name", Lapse { line, words: name.to_owned(), advice }));
        }
    }
    places
}

/// Finds comments that are not wrapped.
fn long_lines(source: &str) -> Vec<(&'static str, Lapse)> {
    let is_long =
        |line: &str| line.chars().count() > MAX_COLUMNS && line.trim_start().starts_with("//");
    let long = (1..).zip(source.lines()).filter(|(_, text)| is_long(text));
    long.map(|(line, text)| {
        let words = text.trim().chars().take(30).collect();
        (LONG_LINE, Lapse { line, words, advice: "wrap comments at 120 columns" })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sentence for each case of each rule, beside the rule: `so-many | with so many keys`. The rule `none` marks
    /// sentences that are fine. They stand in a file because this one is checked, too.
    const CASES: &str = include_str!("prose/cases.txt");

    const FILE: &str = "crates/a/src/lib.rs";

    fn found(allowed: &str, path: &str, text: &str) -> Vec<String> {
        let findings = but_for(allowed, &Tree::from([(path, text)]));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_rule_finds_its_cases_and_no_others() {
        let mut cases: BTreeMap<&str, usize> = BTreeMap::new();
        for line in CASES.lines() {
            let (rule, sentence) = line.split_once(" | ").unwrap();
            *cases.entry(rule).or_default() += 1;
            let rules: Vec<_> =
                places(FILE, &format!("{sentence}\n")).into_iter().map(|(rule, _)| rule).collect();
            let expected: &[&str] = if rule == "none" { &[] } else { &[rule] };
            assert_eq!(rules, expected, "{sentence}");
        }
        for rule in RULES.iter().map(|rule| rule.name).chain(["test-name", LONG_LINE, "none"]) {
            assert!(cases.contains_key(rule), "{rule} has no case");
        }
    }

    #[test]
    fn sentences_are_found_in_all_that_people_read() {
        for (path, text) in [
            (FILE, "/// Takes s\u{6f}\n/// many keys.\n"),
            (FILE, "fn f() { g(\"with s\u{6f} \\\n    many keys\") }\n"),
            ("crates/a/Cargo.toml", "# with s\u{6f} many keys\n"),
            ("bindings/a.py", "    # with s\u{6f} many keys\n"),
            ("bindings/a.pyi", "    \"\"\"With s\u{6f}\n    many keys.\n    \"\"\"\n"),
            ("bindings/a.mjs", "// with s\u{6f} many keys\n"),
            ("docs/a.md", "A run with s\u{6f}\nmany keys.\n"),
            ("README.md", "| s\u{6f} many keys |\n"),
        ] {
            let found = found("", path, text);
            assert_eq!(found.len(), 1, "{path}: {text}");
            assert!(found[0].starts_with(&format!("{path}:1: so-many: ")), "{found:?}");
        }
        for (path, text) in [
            ("docs/a.md", "```\ns\u{6f} many\n```\n`s\u{6f} many` so\n\nmany\n"),
            (FILE, "fn so() { many(\"so\") }\n// so\nfn g() {}\n// many\n"),
            (FILE, "/// ```\n/// so many keys\n/// ```\nfn f() { g(\"{so} many {so:?}\") }\n"),
            ("bindings/a.py", "\"\"\"Keys.\"\"\"\nso = many\nf(so, many)\n"),
            ("docs/reference/cli.md", "with s\u{6f} many keys\n"),
            ("tests/a.md", "with s\u{6f} many keys\n"),
        ] {
            assert_eq!(found("", path, text), [""; 0], "{path}: {text}");
        }
    }

    #[test]
    fn the_list_is_exact() {
        let text = "// with s\u{6f} many keys\n\n// and s\u{6f} many rows\n";
        let lines = |allowed: &str| found(allowed, FILE, text);
        assert_eq!(lines(&format!("2 so-many {FILE}")), [""; 0]);
        assert_eq!(lines(&format!("1 so-many {FILE}")).len(), 2);
        assert_eq!(lines(&format!("2 old {FILE}")).len(), 3);
        let expected = format!("{FILE}: so-many: 2 places, lower the 3 in prose.txt");
        assert_eq!(lines(&format!("3 so-many {FILE}")), [expected]);
    }
}
