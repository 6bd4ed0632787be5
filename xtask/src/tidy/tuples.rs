//! No tuple parameters: values that belong together form a type with named fields.

use super::{Finding, code, shipped};
use crate::repository::Tree;

/// The files with functions that still take tuples, each with the number of these functions. The list may only shrink.
const STILL_TAKEN: &str = include_str!("tuples.txt");

/// Functions outside tests take no tuples. Closures may, and a parameter may contain tuples, as `&[(u32, u32)]` does.
pub(super) fn no_tuple_is_a_parameter(tree: &Tree) -> Vec<Finding> {
    but_for(STILL_TAKEN, tree)
}

/// Finds functions that take tuples in files with more of them than listed, and listed numbers that are too high.
fn but_for(listed: &str, tree: &Tree) -> Vec<Finding> {
    let listed: Vec<(&str, usize)> = listed.lines().filter_map(line_of_list).collect();
    let mut findings = Vec::new();
    let sources = shipped::sources(tree);
    for (file, code) in &sources {
        let takers: Vec<_> = function_heads(code).filter(|one| one.takes_tuple()).collect();
        let most = listed.iter().find(|(path, _)| path == file).map_or(0, |(_, most)| *most);
        if takers.len() > most {
            findings.extend(takers.iter().map(|FunctionHead { name, line, .. }| {
                let what =
                    format!("`{name}` takes a tuple: give it a type whose fields have names");
                Finding::new(file, *line, what)
            }));
        } else if takers.len() < most {
            let what =
                format!("{} functions take tuples: lower the {most} in tuples.txt", takers.len());
            findings.push(Finding::new(file, 0, what));
        }
    }
    let is_gone = |(path, _): &&(&str, usize)| !sources.contains_key(path);
    let gone = listed.iter().filter(is_gone);
    findings.extend(
        gone.map(|(path, _)| Finding::new(path, 0, "does not exist: remove it from tuples.txt")),
    );
    findings
}

/// Parses a line such as `2 crates/net/src/lib.rs`.
fn line_of_list(line: &str) -> Option<(&str, usize)> {
    let (count, path) = line.split_once(' ')?;
    Some((path, count.parse().ok()?))
}

/// The name and the parameters of a function.
struct FunctionHead<'a> {
    name: &'a str,
    /// Counted from 1.
    line: usize,
    parameters: Vec<&'a str>,
}

/// Finds the named functions.
fn function_heads(code: &str) -> impl Iterator<Item = FunctionHead<'_>> {
    let mut words = code::words(code);
    std::iter::from_fn(move || {
        loop {
            let (word, after) = words.next()?;
            // A function pointer has no name.
            if word != "fn" || after.trim_start().starts_with('(') {
                continue;
            }
            let line = code[..code.len() - after.len()].lines().count();
            let (name, after) = words.next()?;
            let after = match after.trim_start() {
                generic if generic.starts_with('<') => bracketed(generic)?.1,
                after => after,
            };
            let parameters = parts(bracketed(after.trim_start())?.0);
            return Some(FunctionHead { name, line, parameters });
        }
    })
}

impl FunctionHead<'_> {
    fn takes_tuple(&self) -> bool {
        self.parameters.iter().any(|parameter| {
            let Some((pattern, taken)) = pattern_and_type(parameter) else { return false };
            is_tuple(pattern) || is_tuple(taken)
        })
    }
}

/// Splits a parameter at the colon that does not belong to a path. `self` does not have one.
fn pattern_and_type(parameter: &str) -> Option<(&str, &str)> {
    let without_paths = parameter.replace("::", "..");
    let colon = without_paths.find(':')?;
    Some((&parameter[..colon], &parameter[colon + 1..]))
}

/// Returns whether this is a tuple, or a reference to one. Parentheses around a single type do not make a tuple.
fn is_tuple(of: &str) -> bool {
    let mut rest = of.trim_start();
    while let Some(referred) = rest.strip_prefix('&').or(rest.strip_prefix("mut ")) {
        rest = referred.trim_start();
        if let Some(lifetime) = rest.strip_prefix('\'') {
            rest =
                lifetime.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').trim_start();
        }
    }
    rest.starts_with('(') && bracketed(rest).is_some_and(|(inside, _)| parts(inside).len() > 1)
}

/// Splits code at the end of the bracket with which it begins: the code inside it, and the code after it.
fn bracketed(code: &str) -> Option<(&str, &str)> {
    let (mut depth, mut before) = (0, ' ');
    for (at, c) in code.char_indices() {
        depth += step(c, before);
        if depth == 0 {
            return (at > 0).then(|| (&code[1..at], &code[at + 1..]));
        }
        before = c;
    }
    None
}

/// Splits code at the commas outside brackets.
fn parts(code: &str) -> Vec<&str> {
    let (mut depth, mut before, mut start) = (0, ' ', 0);
    let mut parts = Vec::new();
    for (at, c) in code.char_indices() {
        depth += step(c, before);
        if depth == 0 && c == ',' {
            parts.push(&code[start..at]);
            start = at + 1;
        }
        before = c;
    }
    parts.push(&code[start..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Returns by how much a character changes the depth of brackets. The `>` of an arrow does not.
fn step(c: char, before: char) -> i32 {
    match c {
        '(' | '[' | '{' | '<' => 1,
        '>' if matches!(before, '-' | '=') => 0,
        ')' | ']' | '}' | '>' => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "crates/a/src/lib.rs";

    fn found(listed: &str, code: &str) -> Vec<String> {
        let findings = but_for(listed, &Tree::from([(FILE, code)]));
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tuple_as_a_parameter_is_found() {
        for code in [
            "fn f((a, b): (u8, u8)) {}",
            "pub(crate) fn f(self, pair: (u8, u8)) -> u8 {}",
            "impl A { async fn f<'a, T: Fn(u8) -> Vec<u8>>(&self, c: a::B, pair: &'a mut (T, u8),) {} }",
            "trait A { fn f(pair: &(impl Copy, [u8; 2])); }",
            "fn f(&(a, ref b): &A) {}",
            "fn f(\n    mut a: u8,\n    (mut b, _): A,\n) {}",
        ] {
            let expected =
                format!("{FILE}:1: `f` takes a tuple: give it a type whose fields have names");
            assert_eq!(found("", code), [expected], "{code}");
        }
    }

    #[test]
    fn other_parameters_are_none() {
        for code in [
            "fn f(&self, rng: &mut (impl Rng + ?Sized), unit: ()) -> (u8, u8) {}",
            "fn f(pairs: &[(u8, u8)], more: impl Iterator<Item = (u8, u8)>) {}",
            "fn f(g: fn((u8, u8)), h: &dyn Fn((u8, u8)) -> u8, A(a, b): A, [(c, d)]: [E; 1]) {}",
            "fn f() { let g = |(a, b): (u8, u8)| a; }",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g((a, b): (u8, u8)) {}\n}",
        ] {
            assert_eq!(found("", code), [""; 0], "{code}");
        }
    }

    #[test]
    fn the_list_is_exact() {
        let code = "fn f(a: (u8, u8)) {}\nfn g() {}\nfn h(a: (u8, u8)) {}";
        assert_eq!(found(&format!("2 {FILE}"), code), [""; 0]);
        let lines = |listed: &str| {
            let found = found(listed, code);
            found.iter().map(|one| one.split(": ").next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(lines(&format!("1 {FILE}")), [format!("{FILE}:1"), format!("{FILE}:3")]);
        let expected = format!("{FILE}: 2 functions take tuples: lower the 3 in tuples.txt");
        assert_eq!(found(&format!("3 {FILE}"), code), [expected]);
        let expected = "crates/b/src/lib.rs: does not exist: remove it from tuples.txt";
        assert_eq!(found(&format!("2 {FILE}\n1 crates/b/src/lib.rs"), code), [expected]);
    }
}
