//! The tests that run with every change, and the tests that run only with `cargo xtask assure`.
//!
//! A test runs with every change unless it is marked in one of three ways, which this module finds in the sources:
//!
//! - `#[ignore = "assure: REASON"]`: only `assure` runs it.
//! - a call into `assurance`: it uses a sample of its cases, and `assure` uses all.
//! - `#[ignore = "started by TEST: REASON"]`: not a test by itself; TEST, in the same file, runs it in a process.

use crate::{repository::Tree, step::Step};

/// The variable that makes tests use all cases instead of a sample.
pub const IN_FULL: (&str, &str) = ("VESICA_ASSURE", "1");

/// The mark of a test that only `assure` runs.
const ASSURE: &str = "assure: ";

/// The mark of a test that another test starts.
const STARTED_BY: &str = "started by ";

/// The call by which a test selects a sample of its cases.
const SAMPLES: &str = "assurance::";

/// A marked test, or a marked function that tests share.
#[derive(Debug, PartialEq, Eq)]
pub struct Marked<'a> {
    pub path: &'a str,
    pub line: usize,
    pub function: &'a str,
    /// The reason for ignoring the test.
    pub reason: &'a str,
}

/// Iterates over all ignored tests.
pub fn ignored(tree: &Tree) -> impl Iterator<Item = Marked<'_>> {
    tree.sources().flat_map(|(path, text)| {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let marks = (0..lines.len()).filter_map({
            let lines = lines.clone();
            move |i| Some((i, lines[i].strip_prefix(concat!("#[ign", "ore"))?))
        });
        marks.map(move |(i, mark)| {
            let reason = mark.strip_prefix(" = \"").and_then(|rest| rest.strip_suffix("\"]"));
            let function = lines[i..].iter().find_map(|line| function(line)).unwrap_or_default();
            Marked { path, line: i + 1, function, reason: reason.unwrap_or_default() }
        })
    })
}

/// Iterates over the functions that use a sample.
fn sampling(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.sources().filter(|(path, _)| !path.starts_with("xtask/")).flat_map(|(path, text)| {
        let mut inside = "";
        let mut found = Vec::new();
        for line in text.lines().map(str::trim) {
            inside = function(line).unwrap_or(inside);
            let samples =
                line.contains(SAMPLES) && !line.starts_with("use ") && !line.starts_with("//");
            if samples && found.last() != Some(&(path, inside)) {
                found.push((path, inside));
            }
        }
        found
    })
}

/// Returns the name of the function that begins on a line.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_signature =
        before.split_whitespace().all(|word| word.starts_with("pub") || word == "const");
    let name = rest.split(['(', '<']).next()?;
    is_signature.then_some(name)
}

impl<'a> Marked<'a> {
    /// Returns the reason why only `assure` runs it, if so.
    fn assured(&self) -> Option<&'a str> {
        self.reason.strip_prefix(ASSURE)
    }

    /// Returns the test that starts it, if any.
    fn starter(&self) -> Option<&'a str> {
        Some(self.reason.strip_prefix(STARTED_BY)?.split_once(':')?.0)
    }

    /// Returns whether names of other tests contain this one's. A test's name consists of its modules and its function.
    fn is_part_of_others(&self, tree: &Tree) -> bool {
        let names = tree.sources().flat_map(|(_, text)| text.lines().map(str::trim));
        let names = names.filter_map(|line| function(line).or(line.strip_prefix("mod ")));
        let has_it = |name: &str| name.contains(self.function);
        names.filter(|name| has_it(name)).count() > 1
            || tree.sources().any(|(path, _)| has_it(path))
    }

    /// Describes the fault of a mark: an ignored test is in neither tier unless its reason says so.
    pub fn fault(&self, tree: &Tree) -> Option<String> {
        let calls = |starter: &str| {
            let text = tree.text(self.path).unwrap_or_default();
            text.contains(&format!("fn {starter}(")) && text.contains("--ignored")
        };
        match (self.assured(), self.starter()) {
            (Some(why), _) if !why.is_empty() => None,
            (_, Some(starter)) if calls(starter) && self.is_part_of_others(tree) => Some(format!(
                "`{}` needs a name that is not part of another function's, module's or file's name: `assure` skips every test \
                 whose name contains it",
                self.function
            )),
            (_, Some(starter)) if calls(starter) => None,
            _ => Some(format!(
                "`{}` runs in no tier: the reason to ignore it is `{ASSURE}WHY`, or `{STARTED_BY}TEST: WHY` \
                 with a test of this file",
                self.function
            )),
        }
    }
}

/// Returns the ignored functions that other tests start. [`Marked::fault`] refuses a name that is part of other tests'
/// names, because `--skip` would leave these out, too.
pub fn started_by_others(tree: &Tree) -> impl Iterator<Item = String> {
    let started = ignored(tree).filter(|test| test.starter().is_some());
    started.map(|test| test.function.to_owned())
}

/// A table of long runs, whose details are on other pages.
const AT_LENGTH: &str = "
## What was run at length, and what it found

| what | how much | what it found |
|---|---|---|
| whole runs over links and disks that fail ([how](../developing/testing.md#links-and-disks-that-fail)) | 1,011,135 attempts at a run | 4 defects, fixed |
| messages in which bits or structure are changed ([adversaries.md](adversaries.md#mutations-that-have-been-run)) | a million, with 100,000 of each of several protocols | no wrong row, no panic, no hang |
| [fuzzing](../developing/testing.md#fuzzing) | 108 million executions of 32 targets, 8.0 hours of processor time | 5 defects, fixed, and 5 mistakes of targets and their corpora |
| [mutations of code](../developing/testing.md#mutations-of-code) | 2,508 changes of bounds, lists, packed numbers, terms, journals, messages and checks | missing tests, since added |
| constant time on compiled code ([constant-time.md](constant-time.md)) | 194 cases, each with the vector instructions and without | 7 places: 6 fixed, one harmless |
| stores that fail more often, at a probability that can be seen (`clusters_of_a_run_fail_no_more_often_than_promised`) | 2^20 stores at 2^-20, 2^18 at 2^-15, 2^12 at 2^-8 | the bounds held |
| the program of a release, built in two folders ([supply-chain.md](supply-chain.md#the-same-bytes-again)) | two builds | the bytes are the same |
| every test, with all of its cases (the first step of `assure`, crate by crate) | 2,239 tests, 2.6 hours of processor time | an unused key on the wire, removed; 4 mistakes in tests, fixed |
| the second implementation ([tests/interop](../../tests/interop/README.md)) | all test vectors; runs with 0, 1, 257, 10,000 and 70,000 keys | 7 questions, each answered in the specification |
";

/// Generates docs/security/assurance.md, with the steps of `cargo xtask assure`.
pub fn document(tree: &Tree, assure: &[Step]) -> String {
    let mut text = "\
# Which tests run when

*For developers and for anyone who wants to know how far the tests go.* Generated by `cargo xtask docs`; do not edit.

`cargo xtask test` runs with every change: format, rules, licences, lints, documents, and every test that is not in the first
table below. The tests of the second table try a sample of their cases, which is the same each time and covers every step of a protocol
and every kind of attack. From an empty target directory, on two free processors, it took 18 minutes, more than half for
compilation; the goal is 15.

`cargo xtask assure` runs before a release: every test with all of its cases, the tests of `primitives`, `ot`, `oprf`, `circuit` and `psi`
again without the processor's vector instructions, and the steps below. [Testing](../developing/testing.md) says what they need.
Four of these run in part with every change: constant time, some cases, most of them on one backend; the package for Python, without
optional features; the package for browsers, built fast, so that the size of the download is not checked; the second implementation,
its vectors.

The minutes that each step may take on two processors; one that takes longer says so:

| step of `assure` | minutes |
|---|---|
"
    .to_owned();
    for Step { name, minutes, .. } in assure {
        text += &format!("| {name} | {minutes} |\n");
    }
    text += AT_LENGTH;
    text += "
## Only with `assure`

| test | why |
|---|---|
";
    let assured = ignored(tree).filter_map(|test| Some((test.assured()?, test)));
    for (why, Marked { path, function, .. }) in assured {
        text += &format!("| `{function}` in `{}` | {why} |\n", path.trim_start_matches("crates/"));
    }
    text += "
## A sample with every change, everything with `assure`

| by | in |
|---|---|
";
    for (path, function) in sampling(tree) {
        text += &format!("| `{function}` | `{}` |\n", path.trim_start_matches("crates/"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contains `@` instead of `#`, so that this file is not itself read as marked.
    const MARKED: &str = r#"
mod tests {
    @[test]
    @[ignore = "assure: takes long"]
    fn long() {}

    @[test]
    @[ignore = "started by parent: it panics"]
    fn child() {}

    @[test]
    fn parent() { run("--ignored"); }

    pub fn sampled() {
        let few = assurance::trials(3, 100);
    }
}
"#;

    fn tree(text: &str) -> Tree {
        Tree::from([("crates/a/src/lib.rs", text.replace('@', "#").as_str())])
    }

    #[test]
    fn both_tiers_are_listed() {
        let tree = tree(MARKED);
        assert!(ignored(&tree).all(|test| test.fault(&tree).is_none()));
        assert_eq!(started_by_others(&tree).collect::<Vec<_>>(), ["child"]);
        let document = document(&tree, &[]);
        assert!(document.contains("| `long` in `a/src/lib.rs` | takes long |\n"), "{document}");
        assert!(document.contains("| `sampled` | `a/src/lib.rs` |\n"), "{document}");
        assert!(!document.contains("`child`") && !document.contains("`parent`"), "{document}");
    }

    #[test]
    fn a_test_that_is_in_no_tier_is_found() {
        for bad in [
            MARKED.replace("assure: takes long", "takes long"),
            MARKED.replace("assure: takes long", "assure: "),
            MARKED.replace(" = \"assure: takes long\"", ""),
            MARKED.replace("started by parent", "started by nobody"),
            MARKED.replace("fn sampled", "fn grandchildren"),
            MARKED.replace("pub fn sampled", "mod children"),
        ] {
            let tree = tree(&bad);
            let faults: Vec<String> = ignored(&tree).filter_map(|test| test.fault(&tree)).collect();
            assert_eq!(faults.len(), 1, "{bad}");
        }
    }
}
