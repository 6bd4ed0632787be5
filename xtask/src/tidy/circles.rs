//! No circle of files: a file whose imports lead back to it cannot be understood without all files of the circle.
//!
//! Between crates cargo refuses circles; within one, this does. It reads `use` declarations and follows re-exports to the
//! file that defines a name. A module and the modules in it are one whole, whose parts may import what the module defines:
//! what it takes of its parts does not count. So a name that a crate's root exports may be used anywhere in it. Tests may
//! import what they like.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, code::without_words};
use crate::repository::Tree;

/// A path from the root of a crate, without `crate`.
type Path = Vec<String>;

/// The files of one crate.
#[derive(Default)]
struct Crate<'a> {
    modules: BTreeMap<Path, Module<'a>>,
}

struct Module<'a> {
    file: &'a str,
    uses: Vec<Use>,
}

/// One imported name.
#[derive(Debug, PartialEq, Eq)]
struct Use {
    path: Path,
    name: String,
}

/// Files of a crate import each other in one direction.
pub(super) fn files_form_no_circle(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    let mut tests = Vec::new();
    for (file, text) in tree.sources() {
        let Some((folder, inside)) = file.split_once("/src/") else { continue };
        if inside == "main.rs" {
            continue;
        }
        let module: Path = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let module = match module.split_last() {
            Some((last, parents)) if last == "mod" || inside == "lib.rs" => parents.to_vec(),
            _ => module,
        };
        let code = without_words(text);
        for test in test_modules(&code) {
            tests.push((folder, [&module[..], &[test]].concat()));
        }
        let uses = uses(&before_tests(&code), &module);
        crates.entry(folder).or_default().modules.insert(module, Module { file, uses });
    }
    for (folder, test) in tests {
        let modules = &mut crates.entry(folder).or_default().modules;
        modules.retain(|module, _| !module.starts_with(&test));
    }
    crates.values().flat_map(Crate::circles).collect()
}

impl<'a> Crate<'a> {
    /// Each circle, at the first of its files.
    fn circles(&self) -> Vec<Finding> {
        let imports: BTreeMap<&str, BTreeSet<&str>> =
            self.modules.iter().map(|(path, module)| (module.file, self.imports(path))).collect();
        let mut seen = BTreeSet::new();
        let mut findings = Vec::new();
        for file in imports.keys() {
            if seen.contains(file) {
                continue;
            }
            if let Some(circle) = way_back(&imports, file) {
                seen.extend(circle.iter().copied());
                let what = format!("imports lead in a circle: {}", circle.join(", "));
                findings.push(Finding::new(file, 0, what));
            }
        }
        findings
    }

    /// The files that define what a module imports, but those of the modules in it.
    fn imports(&self, importer: &Path) -> BTreeSet<&'a str> {
        let definitions =
            self.modules[importer].uses.iter().filter_map(|one| self.definition(&one.path, 0));
        definitions
            .filter(|(path, _)| !path.starts_with(importer))
            .map(|(_, module)| module.file)
            .collect()
    }

    /// The module that defines what this path names; `None` where it is of another crate.
    fn definition(&self, path: &[String], depth: usize) -> Option<(&Path, &Module<'a>)> {
        let mut ends = (0..=path.len()).rev();
        let (known, module) = ends.find_map(|n| self.modules.get_key_value(&path[..n]))?;
        let Some((name, rest)) = path[known.len()..].split_first() else {
            return Some((known, module));
        };
        let exported = module.uses.iter().find(|one| one.name == *name);
        match exported.filter(|_| depth < 8 && !known.is_empty()) {
            Some(one) => self.definition(&[&one.path[..], rest].concat(), depth + 1),
            None => Some((known, module)),
        }
    }
}

/// The shortest circle through a file, beginning with it.
fn way_back<'a>(
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    start: &'a str,
) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for next in &imports[way[way.len() - 1]] {
                if *next == start {
                    return Some(way);
                }
                if seen.insert(*next) {
                    longer.push([&way[..], &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

/// The modules that a file declares for tests alone.
fn test_modules(code: &str) -> Vec<String> {
    let lines: Vec<&str> = code.lines().collect();
    let declared = lines.windows(2).filter(|pair| is_for_tests(pair[0]));
    let names =
        declared.filter_map(|pair| pair[1].trim_end().strip_suffix(';')?.split_once("mod "));
    names.map(|(_, name)| name.to_owned()).collect()
}

/// What stands before the module with a file's own tests.
fn before_tests(code: &str) -> String {
    let lines: Vec<&str> = code.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| is_for_tests(pair[0]) && pair[1].trim_end().ends_with("mod tests {"));
    lines[..tests.unwrap_or(lines.len())].join("\n")
}

fn is_for_tests(line: &str) -> bool {
    line.starts_with("#[cfg(test") || line.starts_with("#[cfg(all(test")
}

/// Every name that the declarations of a module import from its own crate.
fn uses(code: &str, module: &[String]) -> Vec<Use> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        // What stands before `use` is its visibility, or the end of an item before it.
        let Some(at) = statement.rfind("use ").filter(|at| starts_a_word(statement, *at)) else {
            continue;
        };
        expand(statement[at + 4..].trim(), &[], &mut |path| {
            let (name, path) = match path.split_once(" as ") {
                Some((path, name)) => (name.trim().to_owned(), path.trim()),
                None => (String::new(), path),
            };
            let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
            if parts.last() == Some(&"self") && parts.len() > 1 {
                parts.pop();
            }
            let name = if name.is_empty() { parts[parts.len() - 1].to_owned() } else { name };
            let mut base = match parts[0] {
                "crate" => Vec::new(),
                // A name of this module's own, if it has one; otherwise a crate, which leads nowhere.
                _ => module.to_vec(),
            };
            for part in parts {
                match part {
                    "crate" | "self" => {}
                    "super" => drop(base.pop()),
                    part => base.push(part.to_owned()),
                }
            }
            found.push(Use { path: base, name });
        });
    }
    found
}

fn starts_a_word(text: &str, at: usize) -> bool {
    !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Each path of a tree of imports.
fn expand(tree: &str, before: &[&str], found: &mut dyn FnMut(&str)) {
    let Some((prefix, group)) = tree.split_once('{') else {
        let path = [before, &[tree]].concat().concat();
        return found(&path);
    };
    let before = [before, &[prefix]].concat();
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let one = group[start..at].trim();
                if !one.is_empty() {
                    expand(one, &before, found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::says, *};

    #[test]
    fn a_tree_of_imports_is_its_paths() {
        let code = "pub(crate) use super::{a::{B, c::{self, D as E}}, F};\nfn f() {}\nuse std::io;";
        let module = ["x".to_owned(), "y".to_owned()];
        let found: Vec<_> =
            uses(code, &module).into_iter().map(|one| (one.path.join("::"), one.name)).collect();
        let expected = [
            ("x::a::B", "B"),
            ("x::a::c", "c"),
            ("x::a::c::D", "E"),
            ("x::F", "F"),
            ("x::y::std::io", "io"),
        ];
        assert_eq!(found, expected.map(|(path, name)| (path.to_owned(), name.to_owned())));
    }

    #[test]
    fn a_circle_is_found_through_re_exports() {
        let said = says(
            files_form_no_circle,
            [
                ("crates/a/src/lib.rs", "mod x;"),
                ("crates/a/src/x/mod.rs", "mod b;\nmod c;\npub use self::{b::B, c::C};"),
                ("crates/a/src/x/b.rs", "use super::C;\npub struct B;"),
                ("crates/a/src/x/c.rs", "use crate::x::B;\npub struct C;"),
            ],
        );
        let circle = "crates/a/src/x/b.rs: imports lead in a circle: \
                      crates/a/src/x/b.rs, crates/a/src/x/c.rs";
        assert_eq!(said, [circle]);
    }

    #[test]
    fn imports_in_one_direction_are_none() {
        let said = says(
            files_form_no_circle,
            [
                ("crates/a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod e;\npub use self::b::B;"),
                (
                    "crates/a/src/b/mod.rs",
                    "mod c;\nmod d;\npub use c::f;\nuse d::D;\npub struct B;",
                ),
                ("crates/a/src/b/c.rs", "use super::d::D;\nuse std::fmt;\npub fn f() {}"),
                (
                    "crates/a/src/b/d.rs",
                    "pub struct D;\n#[cfg(test)]\nmod tests {\n    use crate::B;\n}",
                ),
                ("crates/a/src/e.rs", "use crate::f::F;"),
                ("crates/a/src/f.rs", "use crate::e::E;"),
            ],
        );
        assert_eq!(said, [""; 0]);
    }
}
