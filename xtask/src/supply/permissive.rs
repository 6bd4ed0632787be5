//! Checks that `deny.toml` allows the licences of all packages. `cargo deny` could check this, too, but takes minutes
//! to install, which is too long for every change.

use std::{collections::BTreeSet, fs, iter::Peekable};

use serde_json::Value;

use crate::{Failure, repository::Repository};

const RULES: &str = "deny.toml";

/// Checks every package that `Cargo.lock` names, for all systems and features.
pub fn check(repository: &Repository) -> Result<(), Failure> {
    let rules = fs::read_to_string(repository.path(RULES)).map_err(|e| format!("{RULES}: {e}"))?;
    let args = ["metadata", "--locked", "--all-features", "--format-version", "1"];
    let ran = repository.cargo(&args).output();
    let ran = ran.map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !ran.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&ran.stderr)));
    }
    let metadata =
        serde_json::from_slice(&ran.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    match refused(&metadata, &Allowed::read(&rules))?.as_slice() {
        [] => Ok(()),
        refused => Err(format!("{RULES} does not allow: {}", refused.join(", "))),
    }
}

/// Returns the packages of a workspace whose licences are not allowed, with these licences.
fn refused(metadata: &Value, allowed: &Allowed<'_>) -> Result<Vec<String>, Failure> {
    let packages = metadata["packages"].as_array().filter(|packages| !packages.is_empty());
    let packages = packages.ok_or("cargo's metadata has no packages")?;
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or("none").to_owned();
    let mut refused = Vec::new();
    for package in packages {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        if !allowed.by(&name, &licence) {
            refused.push(format!("{name} ({licence})"));
        }
    }
    Ok(refused)
}

/// The allowed licences.
struct Allowed<'a> {
    /// Licences allowed for any package.
    of_all: BTreeSet<&'a str>,
    /// Licences allowed for single packages: the package and the licence.
    exceptions: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Allowed<'a> {
    /// Parses the two forms of the rules, each in one line: `allow = ["A", "B"]`, and `{ allow = ["A"], crate = "NAME"
    /// }`. Other forms allow nothing.
    fn read(rules: &'a str) -> Self {
        let mut read = Self { of_all: BTreeSet::new(), exceptions: BTreeSet::new() };
        for line in rules.lines().map(str::trim) {
            let (licences, named) = line.split_once("], crate = ").unwrap_or((line, ""));
            let mut quoted = licences.split('"').skip(1).step_by(2);
            if licences.starts_with("allow = [") {
                read.of_all.extend(quoted);
            } else if licences.starts_with("{ allow = [")
                && let (Some(licence), Some(name)) = (quoted.next(), named.split('"').nth(1))
            {
                read.exceptions.insert((name, licence));
            }
        }
        read
    }

    /// Returns whether a package may have this SPDX expression. `/` is an older form of `OR`.
    fn by(&self, package: &str, expression: &str) -> bool {
        let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words = expression.split_whitespace().peekable();
        let allows = |licence: &str| {
            self.of_all.contains(licence) || self.exceptions.contains(&(package, licence))
        };
        any(&mut words, &allows) == Some(true) && words.next().is_none()
    }
}

/// Parses alternatives. Returns `None` if they are malformed.
fn any<'a>(
    words: &mut Peekable<impl Iterator<Item = &'a str>>,
    allows: &dyn Fn(&str) -> bool,
) -> Option<bool> {
    let mut allowed = all(words, allows)?;
    while words.next_if_eq(&"OR").is_some() {
        allowed |= all(words, allows)?;
    }
    Some(allowed)
}

/// Parses licences that apply together.
fn all<'a>(
    words: &mut Peekable<impl Iterator<Item = &'a str>>,
    allows: &dyn Fn(&str) -> bool,
) -> Option<bool> {
    let mut allowed = one(words, allows)?;
    while words.next_if_eq(&"AND").is_some() {
        allowed &= one(words, allows)?;
    }
    Some(allowed)
}

/// Parses a licence, with its exception if it has one, or an expression in parentheses.
fn one<'a>(
    words: &mut Peekable<impl Iterator<Item = &'a str>>,
    allows: &dyn Fn(&str) -> bool,
) -> Option<bool> {
    let word = words.next()?;
    if word == "(" {
        let allowed = any(words, allows)?;
        return (words.next()? == ")").then_some(allowed);
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => Some(allows(&format!("{word} WITH {}", words.next()?))),
        None => Some(allows(word)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = "
[licenses]
allow = [\"MIT\", \"Apache-2.0\"]
exceptions = [
    { allow = [\"CC0-1.0\"], crate = \"a\" },
    { allow = [\"Apache-2.0 WITH LLVM-exception\"], crate = \"b\" },
]
";

    #[test]
    fn an_expression_is_allowed_if_what_it_asks_for_can_be_chosen() {
        let allowed = Allowed::read(RULES);
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(GPL-3.0 OR MIT) AND Apache-2.0",
            "GPL-3.0 AND GPL-2.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception OR MIT",
        ] {
            assert!(allowed.by("c", good), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "GPL-3.0 AND MIT",
            "GPL-3.0 AND (MIT OR Apache-2.0)",
            "Apache-2.0 WITH LLVM-exception",
            "CC0-1.0",
            "none",
            "",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "MIT OR",
        ] {
            assert!(!allowed.by("c", bad), "{bad}");
        }
        assert!(allowed.by("a", "CC0-1.0") && !allowed.by("b", "CC0-1.0"));
        assert!(allowed.by("b", "Apache-2.0 WITH LLVM-exception"));
    }

    #[test]
    fn a_package_whose_licence_is_not_allowed_is_named() {
        let package = |name: &str, licence: Value| json!({"name": name, "license": licence});
        let metadata = json!({"packages": [
            package("a", "CC0-1.0".into()), package("c", "CC0-1.0".into()), package("d", Value::Null),
        ]});
        let refused = |metadata| refused(metadata, &Allowed::read(RULES));
        let wanted = ["c (CC0-1.0)", "d (none)"].map(str::to_owned);
        assert_eq!(refused(&metadata), Ok(wanted.to_vec()));
        assert!(refused(&json!({"packages": []})).is_err());
    }
}
