//! The list of everything that the program is built from, for other programs: a software bill of materials in CycloneDX 1.5.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Map, Value, json};

use super::{
    folder,
    program::{FEATURES, TARGET},
    tool,
};
use crate::{Failure, repository::Repository};

/// Writes the list.
pub fn write(repository: &Repository, version: &str, out: &Path) -> Result<usize, Failure> {
    let metadata = metadata(repository)?;
    let lock = repository.path("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(tool::at(&lock))?;
    let bom = bom(&metadata, &lock)?;
    let count = bom["components"].as_array().map_or(0, Vec::len);
    folder::write(&out.join(format!("vesica-{version}.cdx.json")), format!("{bom:#}\n"))?;
    Ok(count)
}

fn metadata(repository: &Repository) -> Result<Value, Failure> {
    let args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET];
    // The features of the package that is in this folder, and no other's.
    let manifest = ["--manifest-path", "crates/cli/Cargo.toml", "--features", FEATURES];
    let text = tool::run(&mut repository.cargo(&[&args[..], &manifest].concat()), "Rust")?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// Makes the list of cargo's metadata and of the text of `Cargo.lock`.
fn bom(metadata: &Value, lock: &str) -> Result<Value, Failure> {
    let packages = list(metadata, "packages")?;
    let package = |id: &Value| packages.iter().find(|package| package["id"] == *id);
    let root = packages.iter().find(|package| package["name"] == "vesica-cli");
    let root = root.ok_or("cargo's metadata has no vesica-cli")?;
    let nodes = list(&metadata["resolve"], "nodes")?;
    let mut components = Vec::new();
    let mut edges = Vec::new();
    for id in reached(nodes, &root["id"]) {
        let id = Value::from(id);
        let found = package(&id).ok_or_else(|| format!("cargo's metadata has no package {id}"))?;
        let needed = normal(nodes, &id);
        let needed: BTreeSet<_> = needed.iter().filter_map(package).map(purl).collect();
        edges.push(json!({"ref": purl(found), "dependsOn": needed}));
        if found["id"] != root["id"] {
            components.push(component(found, lock)?);
        }
    }
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": purl(root),
            "name": "vesica",
            "version": root["version"],
            "licenses": [{"expression": root["license"]}],
        }},
        "components": components,
        "dependencies": edges,
    }))
}

/// The packages that are linked into the program, itself included, in the order of their ids.
fn reached(nodes: &[Value], root: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![root.clone()];
    while let Some(id) = next.pop() {
        if found.insert(id.as_str().unwrap_or_default().to_owned()) {
            next.extend(normal(nodes, &id));
        }
    }
    found
}

/// What a package depends on when it runs or while it is built, but not what its tests do.
fn normal(nodes: &[Value], id: &Value) -> Vec<Value> {
    let node = nodes.iter().find(|node| node["id"] == *id);
    let dependencies = node.and_then(|node| node["deps"].as_array());
    let in_use = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
    };
    let dependencies = dependencies.into_iter().flatten().filter(in_use);
    dependencies.map(|dependency| dependency["pkg"].clone()).collect()
}

fn component(package: &Value, lock: &str) -> Result<Value, Failure> {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut component = Map::new();
    component.insert("type".to_owned(), json!("library"));
    component.insert("bom-ref".to_owned(), json!(purl(package)));
    component.insert("name".to_owned(), json!(name));
    component.insert("version".to_owned(), json!(version));
    let licence = package["license"].as_str();
    let licence = licence.ok_or_else(|| format!("{name} {version} names no licence"))?;
    // The older form of a choice is no SPDX expression.
    let licence = licence.replace('/', " OR ");
    component.insert("licenses".to_owned(), json!([{"expression": licence}]));
    // A package of the workspace comes from no registry.
    if !package["source"].is_null() {
        let sum = checksum(lock, name, version)
            .ok_or_else(|| format!("Cargo.lock has no checksum of {name} {version}"))?;
        component.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": sum}]));
        component.insert("purl".to_owned(), json!(purl(package)));
    }
    Ok(Value::Object(component))
}

/// How other programs call a package of Rust.
fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

/// The digest of a package's archive, as `Cargo.lock` has it.
fn checksum<'a>(lock: &'a str, name: &str, version: &str) -> Option<&'a str> {
    let head = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let entry = lock.split("[[package]]\n").find(|entry| entry.starts_with(&head))?;
    entry.lines().find_map(|line| line.strip_prefix("checksum = \"")?.strip_suffix('"'))
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> Result<&'a [Value], Failure> {
    let list = value[field].as_array().map(Vec::as_slice);
    list.ok_or_else(|| format!("cargo's metadata has no list `{field}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_that_the_program_is_built_from_is_listed_once_with_its_checksum() {
        let repository = Repository::here().unwrap();
        let lock = fs::read_to_string(repository.path("Cargo.lock")).unwrap();
        let bom = bom(&metadata(&repository).unwrap(), &lock).unwrap();
        let listed: Vec<_> = bom["components"].as_array().unwrap().iter().map(purl).collect();
        let once: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(once.len(), listed.len());
        // Cargo's own account of the same, from another command.
        let args = ["tree", "--locked", "-p", "vesica-cli", "--features", FEATURES];
        let form = ["--target", TARGET, "-e", "normal,build", "--prefix", "none"];
        let mut cargo = repository.cargo(&[&args[..], &form].concat());
        let tree = tool::run(&mut cargo, "Rust").unwrap();
        let mut expected = BTreeSet::new();
        for line in tree.lines().filter(|line| !line.starts_with("vesica-cli ")) {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                expected.insert(format!("pkg:cargo/{name}@{}", &version[1..]));
            }
        }
        assert!(expected.len() > 100, "cargo tree printed {} packages", expected.len());
        assert_eq!(expected.difference(&once).collect::<Vec<_>>(), Vec::<&String>::new());
        for component in bom["components"].as_array().unwrap() {
            let from_registry = component["hashes"][0]["content"].as_str();
            let ours = text(component, "name").starts_with("vesica");
            assert_eq!(from_registry.map(str::len), (!ours).then_some(64), "{component}");
        }
        let refs: BTreeSet<_> =
            bom["dependencies"].as_array().unwrap().iter().map(|edge| text(edge, "ref")).collect();
        assert_eq!(refs.len(), listed.len() + 1);
    }

    #[test]
    fn a_package_without_a_licence_or_a_checksum_is_refused() {
        let package = json!({"name": "odd", "version": "1.0.0", "source": "registry", "license": "MIT/Apache-2.0"});
        let lock = "[[package]]\nname = \"odd\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let made = component(&package, lock).unwrap();
        assert_eq!(made["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(made["hashes"][0]["content"], "ab");
        assert!(component(&package, "").unwrap_err().contains("no checksum of odd"));
        let none =
            json!({"name": "odd", "version": "1.0.0", "source": "registry", "license": null});
        assert!(component(&none, lock).unwrap_err().contains("names no licence"));
    }
}
