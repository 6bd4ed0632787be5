//! The licences of everything that a package is built from, as one text to ship with it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{Failure, repository::Repository};

/// Prefixes of the names of licence files.
const NAMES: [&str; 5] = ["license", "licence", "copying", "notice", "unlicense"];

/// A package of another author.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    /// The licence in its manifest.
    licence: String,
}

/// Collects the licences of everything that this package of the workspace is built from with these features, for any of
/// these targets.
///
/// # Errors
/// If a package has no licence, or its source is missing.
pub fn text(
    repository: &Repository,
    package: &str,
    features: &str,
    targets: &[&str],
) -> Result<String, Failure> {
    let args = ["tree", "--locked", "-p", package, "--features", features, "-e", "normal"];
    let format = ["--prefix", "none", "--format", "{p}|{l}"];
    let targets: Vec<_> = targets.iter().flat_map(|target| ["--target", target]).collect();
    let tree = output(repository, &[&args[..], &format, &targets].concat())?;
    let packages = packages(&tree)?;
    let metadata =
        output(repository, &["metadata", "--locked", "--all-features", "--format-version", "1"])?;
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Package { name, version, .. } in &packages {
        let folder = folder(&metadata, name, version)
            .ok_or_else(|| format!("the source of {name} {version} is missing"))?;
        for text in licences(&folder)? {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    Ok(rendered(&packages, &texts))
}

fn output(repository: &Repository, args: &[&str]) -> Result<String, Failure> {
    let ran = repository.cargo(args).output();
    let ran = ran.map_err(|error| format!("cargo cannot be started: {error}"))?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).into_owned()),
        false => Err(format!("cargo {}: {}", args[0], String::from_utf8_lossy(&ran.stderr))),
    }
}

/// Parses lines such as `aes v0.9.0|MIT OR Apache-2.0`. Packages of the workspace have a path and are left out.
fn packages(tree: &str) -> Result<BTreeSet<Package>, Failure> {
    let mut packages = BTreeSet::new();
    for line in tree.lines().filter(|line| !line.is_empty() && !line.contains("(/")) {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else { continue };
        let licence = licence.trim_end_matches("(*)").trim();
        if licence.is_empty() {
            return Err(format!("{package} names no licence"));
        }
        let version = version.trim_start_matches('v');
        packages.insert(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
        });
    }
    Ok(packages)
}

/// Returns the folder in which cargo stores the source of a package, according to its metadata.
fn folder(metadata: &str, name: &str, version: &str) -> Option<PathBuf> {
    let end = format!("/{name}-{version}/Cargo.toml\"");
    let at = metadata.find(&end)?;
    let start = metadata[..at].rfind('"')? + 1;
    Some(PathBuf::from(&metadata[start..at + end.len() - "/Cargo.toml\"".len()]))
}

/// Reads the texts of the licences in a folder.
fn licences(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        if path.is_file() && NAMES.iter().any(|beginning| name.starts_with(beginning)) {
            let text = fs::read(&path).map_err(failed)?;
            texts.push(String::from_utf8_lossy(&text).trim().replace("\r\n", "\n"));
        }
    }
    texts.sort();
    Ok(texts)
}

fn rendered(packages: &BTreeSet<Package>, texts: &BTreeMap<String, Vec<String>>) -> String {
    let mut text = "The other software contained in Vesica, and its licences.\n\n".to_owned();
    text += "The standard library of Rust: MIT OR Apache-2.0\n";
    for Package { name, version, licence } in packages {
        text += &format!("{name} {version}: {licence}\n");
    }
    for (licence, packages) in texts {
        text += &format!("\n{}\n{}:\n\n{licence}\n", "-".repeat(72), packages.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_others_are_listed_with_their_licences() {
        let tree = "vesica v0.1.0 (/v/crates/vesica)|MIT OR Apache-2.0\naes v0.9.0|MIT\naes v0.9.0|MIT (*)\n\
                    zlib-rs v0.6.8|Zlib\n";
        let found = packages(tree).unwrap();
        let names: Vec<_> =
            found.iter().map(|package| (&*package.name, &*package.licence)).collect();
        assert_eq!(names, [("aes", "MIT"), ("zlib-rs", "Zlib")]);
        assert!(packages("odd v1.0.0|\n").unwrap_err().contains("names no licence"));
        let metadata = "{\"manifest_path\":\"/r/x-1.0.0/Cargo.toml\",\"manifest_path\":\"/r/aes-0.9.0/Cargo.toml\"}";
        assert_eq!(folder(metadata, "aes", "0.9.0").unwrap(), Path::new("/r/aes-0.9.0"));
        assert_eq!(folder(metadata, "aes", "0.9.1"), None);
        let texts = BTreeMap::from([("Do as you like.".to_owned(), vec!["aes 0.9.0".to_owned()])]);
        let text = rendered(&found, &texts);
        assert!(
            text.contains("\naes 0.9.0: MIT\n")
                && text.ends_with("aes 0.9.0:\n\nDo as you like.\n")
        );
    }
}
