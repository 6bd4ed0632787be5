//! The rules of this repository that no compiler checks. See CONTRIBUTING.md for their reasons.

mod book;
mod circles;
mod citations;
mod claims;
mod code;
mod commits;
mod examples;
mod homonyms;
pub mod layers;
mod lints;
mod manifest;
mod manifests;
mod names;
mod places;
mod prose;
mod shipped;
mod sources;
pub mod supply;
mod tiers;
mod tuples;

use std::fmt;

use crate::{
    Failure,
    repository::{Repository, Tree},
};

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    /// Counted from 1, or 0 for the whole file.
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Finds the violations of a rule.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    layers::imports_go_down,
    circles::files_form_no_circle,
    lints::crates_inherit_lints,
    lints::unsafe_stays_in_its_place,
    manifests::dependencies_come_from_the_workspace,
    manifests::dependencies_have_a_reason,
    supply::the_oldest_rust_is_the_pinned_one,
    supply::dependencies_are_vetted,
    sources::no_file_is_too_long,
    sources::no_catch_all_names,
    sources::libraries_say_what_they_never_import,
    sources::nothing_is_left_to_do,
    places::no_path_of_a_developers_machine,
    places::packages_come_from_crates_io,
    citations::cited_files_are_there,
    names::cited_names_exist,
    claims::documents_agree_with_sources,
    examples::examples_are_in_sources,
    tiers::every_test_is_in_a_tier,
    tuples::no_tuple_is_a_parameter,
    homonyms::few_names_have_many_meanings,
    prose::sentences_are_plain,
    book::the_book_is_short,
    book::pages_are_in_the_contents,
];

/// Applies every rule.
pub fn run(repository: &Repository) -> Result<(), Failure> {
    let tree = repository.tree()?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.extend(commits::subjects_can_be_skimmed(repository));
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => Err(format!("tidy found {n} breach{}", if n == 1 { "" } else { "es" })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the findings of a rule in a tree.
    pub(super) fn says<const N: usize>(rule: Rule, files: [(&str, &str); N]) -> Vec<String> {
        rule(&Tree::from(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_finding_names_its_place() {
        assert_eq!(Finding::new("a/b.rs", 3, "bad").to_string(), "a/b.rs:3: bad");
        assert_eq!(Finding::new("a/b.rs", 0, "bad").to_string(), "a/b.rs: bad");
    }
}
