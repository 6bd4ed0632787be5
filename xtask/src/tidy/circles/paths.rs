//! The paths by which the code of a crate refers to names of the same crate.

use std::collections::BTreeMap;

use super::super::code;

/// A path from the root of a crate, without `crate`.
pub type Path = Vec<String>;

/// The code of one module: a file, or a module inside a file.
pub struct Module<'a> {
    pub file: &'a str,
    pub imports: Vec<Import>,
    /// The paths with at least two names outside `use` declarations.
    pub paths: Vec<Path>,
}

/// One name that a `use` declaration adds to a module.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    pub path: Path,
    pub name: String,
    /// Whether the module itself uses it, instead of only re-exporting it.
    pub is_used: bool,
}

/// Reads the code of a file, without comments and tests, and adds its modules to `modules`.
pub fn read<'a>(
    file: &'a str,
    mut code: String,
    module: Path,
    modules: &mut BTreeMap<Path, Module<'a>>,
) {
    while let Some((name, block)) = inner_module(&code) {
        let inner = code[block.clone()].to_owned();
        read(file, inner, [&module[..], &[name]].concat(), modules);
        // The closing brace stays, to end the preceding code.
        code.replace_range(block, "");
    }
    let mut declarations = Vec::new();
    while let Some((start, end)) = declaration(&code) {
        let is_public = is_visibility(&code[..start]);
        declarations.push((code[start + USE.len()..end].to_owned(), is_public));
        code.replace_range(start..end, "");
    }
    let words: Vec<&str> = code::words(&code).map(|(word, _)| word).collect();
    let needs = |name: &str| words.windows(2).any(|pair| pair[0] != "mod" && pair[1] == name);
    let mut imports = Vec::new();
    for (tree, is_public) in declarations {
        expand(tree.trim(), &[], &mut |path| {
            let (path, name) = import(path, &module);
            let is_used = !is_public || needs(&name);
            imports.push(Import { path, name, is_used });
        });
    }
    let paths = paths(&code).iter().map(|path| absolute(path, &module)).collect();
    modules.insert(module, Module { file, imports, paths });
}

/// Finds the first inline module, and returns its name and its code.
fn inner_module(code: &str) -> Option<(String, std::ops::Range<usize>)> {
    let mut words = code::words(code);
    while let Some((word, _)) = words.next() {
        if word != "mod" {
            continue;
        }
        let (name, after) = words.next()?;
        let block = after.trim_start();
        // An empty block was read before.
        if block.starts_with('{') && !block[1..].starts_with('}') {
            let start = code.len() - block.len();
            let end = code::end_of_item(code, start);
            return Some((name.to_owned(), start + 1..end - 1));
        }
    }
    None
}

const USE: &str = "use ";

/// Finds the first `use` declaration, from its first letter to its semicolon.
fn declaration(code: &str) -> Option<(usize, usize)> {
    let is_start = |at: &usize| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let start = code.match_indices(USE).map(|(at, _)| at).find(is_start)?;
    Some((start, start + code[start..].find(';')?))
}

/// Returns whether a text ends with `pub`, restricted or not.
fn is_visibility(before: &str) -> bool {
    let before = before.trim_end();
    let before = match before.strip_suffix(')').and_then(|inner| inner.rsplit_once('(')) {
        Some((before, _)) => before,
        None => before,
    };
    code::words(before).last().is_some_and(|(word, after)| word == "pub" && after.is_empty())
}

/// Returns the path that a `use` declaration imports, and the name that it assigns.
fn import(path: &str, module: &[String]) -> (Path, String) {
    let (path, name) = match path.split_once(" as ") {
        Some((path, name)) => (path.trim(), Some(name.trim())),
        None => (path, None),
    };
    let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
    if parts.last() == Some(&"self") && parts.len() > 1 {
        parts.pop();
    }
    let name = name.unwrap_or(parts[parts.len() - 1]);
    (absolute(&parts, module), name.to_owned())
}

/// Makes a path absolute from the root of the crate. A path that begins with a name is assumed to begin in this module.
/// If it begins with another crate instead, it leads nowhere.
fn absolute(parts: &[&str], module: &[String]) -> Path {
    let mut path = if parts[0] == "crate" { Vec::new() } else { module.to_vec() };
    for part in parts {
        match *part {
            "crate" | "self" => {}
            "super" => drop(path.pop()),
            part => path.push(part.to_owned()),
        }
    }
    path
}

/// Returns each path of a tree of imports.
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

/// Returns every path with at least two names.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    for (word, after) in code::words(code) {
        path.push(word);
        let next = after.trim_start().strip_prefix("::").map(str::trim_start);
        if next.is_some_and(|next| next.starts_with(|c: char| c.is_alphabetic() || c == '_')) {
            continue;
        }
        let path = std::mem::take(&mut path);
        if path.len() > 1 {
            found.push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as_x_y(code: &str) -> BTreeMap<Path, Module<'_>> {
        let mut modules = BTreeMap::new();
        read("y.rs", code.to_owned(), vec!["x".to_owned(), "y".to_owned()], &mut modules);
        modules
    }

    #[test]
    fn a_tree_of_imports_is_its_paths() {
        let code =
            "pub(crate) use super::{a::{B, c::{self, D as E}}, F};\nfn f(_: B) {}\nuse std::io;";
        let modules = read_as_x_y(code);
        let imports = modules.values().flat_map(|module| &module.imports);
        let found: Vec<_> =
            imports.map(|one| (one.path.join("::"), one.name.as_str(), one.is_used)).collect();
        let expected = [
            ("x::a::B", "B", true),
            ("x::a::c", "c", false),
            ("x::a::c::D", "E", false),
            ("x::F", "F", false),
            ("x::y::std::io", "io", true),
        ];
        assert_eq!(found, expected.map(|(path, name, is_used)| (path.to_owned(), name, is_used)));
    }

    #[test]
    fn paths_are_read_in_the_module_that_has_them() {
        let code = "fn f() -> io::Result<crate::A> { a :: b(c.d::<e::F>()) }\n\
                    mod inner { fn g() { super::h(self::i) } }\nfn j() { super::k() }";
        let modules = read_as_x_y(code);
        let found: Vec<_> = modules
            .iter()
            .map(|(module, read)| {
                let paths: Vec<_> = read.paths.iter().map(|path| path.join("::")).collect();
                (module.join("::"), paths.join(" "))
            })
            .collect();
        let expected = [
            ("x::y", "x::y::io::Result A x::y::a::b x::y::e::F x::k"),
            ("x::y::inner", "x::y::h x::y::inner::i"),
        ];
        assert_eq!(found, expected.map(|(module, paths)| (module.to_owned(), paths.to_owned())));
    }
}
