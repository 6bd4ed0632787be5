//! No circle of files: a file whose imports lead back to it cannot be understood without all files of the circle.
//!
//! Cargo refuses circles between crates, and this rule refuses them within a crate. A file imports the file that
//! *defines* a name it uses, in a `use` declaration or in a path such as `tree::evaluate`, regardless of the modules
//! that re-export the name. Declaring a module or re-exporting a name does not import it. Tests may import anything.
//!
//! One circle is allowed: a module and a module directly in it may import each other, for example a trait's file with
//! the table of its implementations. The two form a unit: the parent counts as importing everything that such a child
//! imports from elsewhere, and no import may lead back from there.

mod paths;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use self::paths::{Module, Path};
use super::{Finding, shipped};
use crate::repository::Tree;

/// Imports that close a circle and are still to be removed. The list may only shrink: a line that no longer closes a
/// circle is an error.
const TO_BE_CUT: &[Edge<'_>] = &[];

/// A file and a file that it imports.
type Edge<'a> = [&'a str; 2];

/// The files that each file imports, each with the children that import it on the file's behalf.
type Imports<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a str>>>;

/// The files of one crate.
#[derive(Default)]
struct Crate<'a> {
    modules: BTreeMap<Path, Module<'a>>,
}

/// Files of a crate import each other in one direction.
pub(super) fn files_form_no_circle(tree: &Tree) -> Vec<Finding> {
    but_for(TO_BE_CUT, tree)
}

/// Finds the circles that remain without these imports, and the lines among them that close none.
fn but_for(to_be_cut: &[Edge<'_>], tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let mut findings: Vec<Finding> = crates
        .values()
        .flat_map(|one| circles(&one.imports(to_be_cut)))
        .map(|circle| {
            let what = format!("imports lead in a circle: {}", circle.join(", "));
            Finding::new(circle[0], 0, what)
        })
        .collect();
    for (i, edge) in to_be_cut.iter().enumerate() {
        let others = [&to_be_cut[..i], &to_be_cut[i + 1..]].concat();
        let closes = |one: &Crate<'_>| {
            one.modules.values().any(|module| module.file == edge[0])
                && !circles(&one.imports(&others)).is_empty()
        };
        if !crates.values().any(closes) {
            let what = format!(
                "its import of {} does not close a circle: remove it from the list",
                edge[1]
            );
            findings.push(Finding::new(edge[0], 0, what));
        }
    }
    findings
}

/// Returns the crates of the repository, by their folders, without their tests.
fn crates(tree: &Tree) -> BTreeMap<&str, Crate<'_>> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    for (file, code) in shipped::sources(tree) {
        let Some((folder, inside)) = file.split_once("/src/") else { continue };
        if inside == "main.rs" && tree.text(&format!("{folder}/src/lib.rs")).is_some() {
            continue;
        }
        let module: Path = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        let module = match module.split_last() {
            Some((last, parents)) if last == "mod" => parents.to_vec(),
            _ if inside == "lib.rs" || inside == "main.rs" => Vec::new(),
            _ => module,
        };
        paths::read(file, code, module, &mut crates.entry(folder).or_default().modules);
    }
    crates
}

impl<'a> Crate<'a> {
    /// Collects the imports of its files, except some. The parent of a unit has the imports of its children, too.
    fn imports(&self, but_for: &[Edge<'_>]) -> Imports<'a> {
        let mut imports: Imports<'a> = BTreeMap::new();
        for module in self.modules.values() {
            let imported = imports.entry(module.file).or_default();
            let files = self
                .imported(module)
                .filter(|file| *file != module.file && !but_for.contains(&[module.file, file]));
            imported.extend(files.map(|file| (file, Vec::new())));
        }
        // The deepest first, because an import from elsewhere counts in every unit around it.
        let mut parents: Vec<_> = self.modules.iter().collect();
        parents.sort_by_key(|(path, _)| Reverse(path.len()));
        for (path, Module { file: parent, .. }) in parents {
            let children = self.children_of_whole(path, parent, &imports);
            for child in &children {
                let mut from_elsewhere = imports[child].clone();
                from_elsewhere.retain(|file, _| file != parent && !children.contains(file));
                let imported = imports.entry(parent).or_default();
                imported.remove(child);
                for file in from_elsewhere.into_keys() {
                    imported.entry(file).or_insert_with(|| vec![child]);
                }
            }
        }
        imports
    }

    /// Lists the files of the modules directly in a module that import it and that it imports.
    fn children_of_whole(&self, path: &Path, parent: &str, imports: &Imports<'a>) -> Vec<&'a str> {
        let is_child = |child: &Path| child.split_last().is_some_and(|(_, above)| above == path);
        let is_direct = |from: &str, to: &str| imports[from].get(to).is_some_and(Vec::is_empty);
        let children = self.modules.iter().filter(|(child, _)| is_child(child));
        children
            .map(|(_, child)| child.file)
            .filter(|child| is_direct(parent, child) && is_direct(child, parent))
            .collect()
    }

    /// Iterates over the files that define the names that a module uses.
    fn imported(&self, module: &Module<'a>) -> impl Iterator<Item = &'a str> {
        let imports = module.imports.iter().filter(|one| one.is_used).map(|one| &one.path);
        imports.chain(&module.paths).filter_map(|path| self.definition(path, 0))
    }

    /// Returns the file that defines the last name of this path, or `None` for a module or a name of another crate.
    fn definition(&self, path: &[String], depth: usize) -> Option<&'a str> {
        let mut ends = (0..=path.len()).rev();
        let (known, module) = ends.find_map(|n| self.modules.get_key_value(&path[..n]))?;
        let (name, rest) = path[known.len()..].split_first()?;
        let passed_on = module.imports.iter().find(|one| one.name == *name);
        match passed_on.filter(|_| depth < 8) {
            Some(one) => self.definition(&[&one.path[..], rest].concat(), depth + 1),
            None => Some(module.file),
        }
    }
}

/// Returns the circles, each beginning with the first of its files.
fn circles<'a>(imports: &Imports<'a>) -> Vec<Vec<&'a str>> {
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for file in imports.keys() {
        if seen.contains(file) {
            continue;
        }
        if let Some(circle) = way_back(imports, file) {
            seen.extend(circle.iter().copied());
            circles.push(circle);
        }
    }
    circles
}

/// Returns the shortest circle through a file, beginning with it.
fn way_back<'a>(imports: &Imports<'a>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for (next, over) in &imports[way[way.len() - 1]] {
                if *next == start {
                    return Some([way, over.clone()].concat());
                }
                if seen.insert(*next) {
                    longer.push([&way[..], over, &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDER: &str = "crates/a/src/";

    /// Builds a crate from one line: its files, each with its code after a colon, separated by `|`.
    fn crate_of(files: &str) -> Tree {
        let files = files.split(" | ").map(|file| file.split_once(": ").unwrap());
        files.map(|(name, code)| (format!("{FOLDER}{name}"), code.to_owned())).collect()
    }

    /// Returns the circles of such a crate, each in braces.
    fn circles_of(files: &str) -> String {
        let findings = but_for(&[], &crate_of(files));
        let circles = findings.iter().map(|found| found.what.rsplit(": ").next().unwrap());
        circles.map(|circle| format!("{{{}}}", circle.replace(FOLDER, ""))).collect()
    }

    #[test]
    fn imports_that_lead_in_a_circle_are_refused() {
        for (files, circles) in [
            // Two files, by declarations and by paths.
            ("b.rs: use crate::c::C; | c.rs: use super::b::{self, B};", "{b.rs, c.rs}"),
            ("b.rs: fn f() { crate::c::f() } | c.rs: fn f() { super::b::f() }", "{b.rs, c.rs}"),
            ("b.rs: use crate::c; fn f() { c::f() } | c.rs: use crate::b::B;", "{b.rs, c.rs}"),
            ("b.rs: mod i { use crate::c::C; } | c.rs: use crate::b::i::I;", "{b.rs, c.rs}"),
            // Through re-exports of modules.
            (
                "lib.rs: pub use b::B; | b.rs: use crate::c::C; | c.rs: use crate::B;",
                "{b.rs, c.rs}",
            ),
            (
                "x/mod.rs: pub use self::{b::B, c::C}; | x/b.rs: use super::C; | x/c.rs: use crate::x::B;",
                "{x/b.rs, x/c.rs}",
            ),
            (
                "lib.rs: pub use x::B as D; | x/mod.rs: pub use b::B; | x/b.rs: use crate::c::C; | c.rs: use crate::D;",
                "{c.rs, x/b.rs}",
            ),
            (
                "x/mod.rs: use b::B; | x/b.rs: use super::c::C; | x/c.rs: use super::B;",
                "{x/b.rs, x/c.rs}",
            ),
            // From a module through its parts.
            (
                "x/mod.rs: fn f() { y::b::f() } | x/y/mod.rs: mod b; | x/y/b.rs: use crate::c::C; | c.rs: use crate::x::X;",
                "{c.rs, x/mod.rs, x/y/b.rs}",
            ),
            (
                "x/mod.rs: use b::B; | x/b.rs: use crate::c::C; | c.rs: use crate::x::X;",
                "{c.rs, x/mod.rs, x/b.rs}",
            ),
            (
                "x.rs: fn f() { b::f(); } | x/b.rs: use super::X; use crate::c::C; | c.rs: use crate::x::X;",
                "{c.rs, x.rs, x/b.rs}",
            ),
            (
                "x.rs: use y::b::B; | x/y/mod.rs: mod b; | x/y/b.rs: use super::super::X;",
                "{x.rs, x/y/b.rs}",
            ),
            (
                "x.rs: use y::Y; | x/y.rs: use b::B; | x/y/b.rs: use crate::x::X; use super::Y;",
                "{x.rs, x/y.rs, x/y/b.rs}",
            ),
            // Between the parts of a unit.
            (
                "x.rs: use b::B; use c::C; | x/b.rs: use super::{X, C}; | x/c.rs: use super::{X, B};",
                "{x/b.rs, x/c.rs}",
            ),
            // In a program.
            (
                "main.rs: use b::B; | b.rs: use crate::c::C; | c.rs: use crate::Main;",
                "{b.rs, c.rs, main.rs}",
            ),
        ] {
            assert_eq!(circles_of(files), circles, "{files}");
        }
    }

    #[test]
    fn imports_in_one_direction_are_none() {
        for files in [
            // A module with re-exports, and parts that use each other in one direction.
            "x/mod.rs: mod b; pub(crate) use b::B; pub use c::C; | x/b.rs: use super::C; | x/c.rs: use std::fmt; fn f() {}",
            // A trait, its implementations, and the table of them.
            "x.rs: fn f() { b::f(); c::f() } | x/b.rs: use super::X; | x/c.rs: use super::{X, b::B};",
            "x.rs: mod b; pub use b::b; | x/b.rs: use super::c::C; | x/c.rs: use super::X;",
            "x.rs: fn f() { y::f() } | x/y.rs: use super::X; use b::B; | x/y/b.rs: use super::{super::X, Y};",
            // Names of other crates, which may also be modules of this one.
            "b.rs: use net::c::C; | c.rs: use crate::b::B; | net.rs: use crate::c::C;",
            // A program beside its library, and tests.
            "main.rs: use crate::b::B; | lib.rs: fn f() {} | b.rs: use crate::f;",
            "b.rs: use crate::c::C; | c.rs: fn f() {}\n#[cfg(test)]\nmod tests { use crate::b::B; }",
            "b.rs: use crate::c::C; | c.rs: #[cfg(test)]\nmod d; | c/d.rs: use crate::b::B; | e.rs: use crate::c::d::D;",
        ] {
            assert_eq!(circles_of(files), "", "{files}");
        }
    }

    #[test]
    fn an_import_to_be_cut_is_one_that_closes_a_circle() {
        let [b, c, d] = ["b", "c", "d"].map(|name| format!("{FOLDER}{name}.rs"));
        let tree =
            crate_of("b.rs: use crate::c::C; | c.rs: use crate::b::B; | d.rs: use crate::b::B;");
        assert_eq!(but_for(&[[&b, &c]], &tree), []);
        let said = but_for(&[[&b, &c], [&d, &b]], &tree);
        let closes_none =
            format!("its import of {b} does not close a circle: remove it from the list");
        assert_eq!(said, [Finding::new(&d, 0, closes_none)]);
    }
}
